//! Recognizes transfers from global memory to memory of the workgroup.

use super::bulk::Bulk;
use super::copies::Copies;
use super::read_motion::ReadMotion;
use super::reason::Reason;
use super::sides::{self, Side, Source};
use super::use_def_chain::{Arms, Moved, UseDefChain, find_moved};
use super::{Engine, Options};
use crate::analysis::addresses::{Address, Addresses};
use crate::analysis::alias::Root;
use crate::analysis::linear_expr::LinearExpr;
use crate::analysis::uniformity::{all_threads_reach, is_uniform};
use crate::analysis::views::base;
use async_mlir::gpu::{MemorySpace, block_threads, is_workgroup};
use async_mlir::ir::{Mapping, Op, Value};
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::{linalg, memref, scf, vector};
use async_mlir::types::memory_space;
use std::rc::Rc;

/// Recognizes transfers in one function. It remembers what it has met, so no operation may be changed as long as it is in use.
pub struct Recognizer<'c> {
    pub(super) options: Options,
    function: Op<'c>,
    addresses: Addresses<'c>,
    read_motion: ReadMotion<'c>,
}

/// A synchronous transfer that can be asynchronous: from where its last operation stands.
#[derive(Clone, Debug)]
pub struct Transfer<'c> {
    /// What it is made of: each operation after those that use it.
    ops: Vec<Op<'c>>,
    /// Where its asynchronous form goes.
    place: Op<'c>,
    /// What its addresses are computed by in a branch: moved out of it.
    moved: Vec<Moved<'c>>,
    means: Means<'c>,
    source: Root<'c>,
    destination: Root<'c>,
    /// The first byte that is written, and how many from there on may be.
    extent: Option<(Address<'c>, i64)>,
}

/// How it is done.
#[derive(Clone, Debug)]
enum Means<'c> {
    Copies(Copies<'c>),
    Bulk(Bulk<'c>),
}

/// How far to look for what a stored value is computed from.
const MAX_COMPUTATIONS: usize = 8;

impl<'c> Recognizer<'c> {
    /// For the operations of `function`.
    #[must_use]
    pub fn new(function: Op<'c>, options: Options) -> Self {
        Self {
            options,
            function,
            addresses: Addresses::new(options.base_alignment),
            read_motion: ReadMotion::new(options.distinct_arguments),
        }
    }

    /// The transfer that ends with `op`, a store or a copy of memrefs, or why it has to stay synchronous. `None` if it is no
    /// transfer from global memory to memory of the workgroup.
    pub fn recognize(&mut self, op: Op<'c>) -> Option<Result<Transfer<'c>, Reason<'c>>> {
        match op.name() {
            memref::COPY | linalg::COPY => self.copy(op),
            _ => self.store(op),
        }
    }

    /// `index` as a sum.
    pub(super) fn linear(&mut self, index: Value<'c>) -> Rc<LinearExpr<'c>> {
        self.addresses.linear(index)
    }

    /// A load and a store of what is loaded.
    fn store(&mut self, store: Op<'c>) -> Option<Result<Transfer<'c>, Reason<'c>>> {
        let (value, memory) = sides::stored(store)?;
        // What a mask is around is part of it.
        let is_part = store.parent().is_some_and(|parent| parent.is(vector::MASK));
        if is_part || !is_workgroup(memory.ty()) || !memory.ty().is_mem_ref() {
            return None;
        }
        let chain = match UseDefChain::to(store, value) {
            Ok(chain) => chain?,
            Err(reason) => return Some(Err(reason)),
        };
        let load = chain.load();
        let Some(source) = sides::source(load) else {
            return computed(load).map(Err);
        };
        let memory = sides::loaded_memory(load).filter(|memory| memory.ty().is_mem_ref())?;
        let root = Root::of(memory);
        if matches!(root.space, Some(MemorySpace::Workgroup | MemorySpace::Private)) {
            return None;
        }
        Some(source.and_then(|source| self.load_and_store(chain, source)))
    }

    fn load_and_store(
        &mut self,
        chain: UseDefChain<'c>,
        mut source: Source<'c>,
    ) -> Result<Transfer<'c>, Reason<'c>> {
        let (store, load) = (chain.ops[0], chain.load());
        let destination = sides::destination(store)?;
        let from = check_source(source.side.memory)?;
        chain.check_uses()?;
        chain.add_choices(&mut source)?;
        let first = chain.first_in_block_of(store);
        let Some(first) = first else {
            return Err(Reason::new("stores what another block loads").note(load, "it is loaded here"));
        };
        self.read_motion.check_read(from, first, store)?;
        let moved = chain.moved(&source)?;
        let copies = Copies::new(source, destination, &mut self.addresses, &self.options)?;
        let extent = copies.destination(&mut self.addresses);
        Ok(Transfer {
            source: from,
            destination: Root::of(sides::stored(store).expect("it is a store").1),
            extent: extent
                .filter(|_| copies.is_contiguous())
                .map(|start| (start, copies.bytes())),
            means: Means::Copies(copies),
            ops: chain.ops,
            place: store,
            moved,
        })
    }

    /// The transfers that `op`, an `scf.if`, does in one of its arms while the other one stores zeros to the same places. `None` if it is
    /// none. An error comes with the operation that it is about.
    pub(super) fn branch(&mut self, op: Op<'c>) -> Option<Result<Vec<Transfer<'c>>, (Op<'c>, Reason<'c>)>> {
        let mut arms = Arms::of(op)?;
        let mut transfers: Vec<Transfer> = Vec::new();
        let mut parts = Vec::new();
        let first = *arms.stores.first()?;
        for &store in &arms.stores {
            let mut transfer = match self.store(store)? {
                Ok(transfer) => transfer,
                Err(reason) => return Some(Err((store, reason))),
            };
            let same = arms
                .zeros
                .iter()
                .position(|zero| self.is_same_place(store, *zero));
            let Some(same) = same else {
                let message = "is in a branch whose other arm does not store zeros to the same place";
                let help = "store zeros of the same type at the same indices there, or leave that arm out";
                return Some(Err((store, Reason::new(message).help(help))));
            };
            arms.zeros.swap_remove(same);
            if let Err(reason) = transfer.lift_out_of(op, arms.when) {
                return Some(Err((store, reason)));
            }
            parts.append(&mut transfer.ops);
            transfers.push(transfer);
        }
        if let Some(zero) = arms.zeros.first() {
            let message = "is in a branch whose other arm stores zeros to another place, too";
            return Some(Err((first, Reason::new(message).note(*zero, "here"))));
        }
        if let Some(other) = arms.other(&parts) {
            let reason = Reason::new("is in a branch that does not only transfer");
            let reason = reason.note(other, "this is no transfer: move it out of the branch");
            return Some(Err((first, reason)));
        }
        // The last one takes the branch with it.
        transfers.last_mut()?.ops.push(op);
        Some(Ok(transfers))
    }

    /// Returns true if two stores are known to write the same elements.
    fn is_same_place(&mut self, one: Op<'c>, other: Op<'c>) -> bool {
        let (Ok(a), Ok(b)) = (sides::destination(one), sides::destination(other)) else {
            return false;
        };
        let mut same = |a: Option<Value<'c>>, b: Option<Value<'c>>| match (a, b) {
            (Some(a), Some(b)) => a == b || self.linear(a) == self.linear(b),
            _ => a == b,
        };
        let mut indices = a.indices.iter().zip(&b.indices);
        a.memory == b.memory && a.sizes == b.sizes && indices.all(|(a, b)| same(*a, *b))
    }

    /// `memref.copy`, or `linalg.copy`, which each thread executes.
    fn copy(&mut self, op: Op<'c>) -> Option<Result<Transfer<'c>, Reason<'c>>> {
        let [from, to] = [0, 1].map(|i| op.operand(i));
        if !from.ty().is_mem_ref() || !to.ty().is_mem_ref() || !is_workgroup(to.ty()) {
            return None;
        }
        let elsewhere = [Some(MemorySpace::Workgroup), Some(MemorySpace::Private)];
        if elsewhere.contains(&Root::of(from).space) {
            return None;
        }
        Some(self.copy_of_memrefs(op, [from, to]))
    }

    fn copy_of_memrefs(
        &mut self,
        op: Op<'c>,
        [from, to]: [Value<'c>; 2],
    ) -> Result<Transfer<'c>, Reason<'c>> {
        let source = check_source(from)?;
        let [from_side, to_side] = [Side::whole(from)?, Side::whole(to)?];
        let is_of_block = all_threads_reach(op) && is_uniform(from) && is_uniform(to);
        let (means, start, bytes) = if is_of_block && self.options.engine == Engine::Tma {
            let sides = [from_side, to_side];
            let bulk = Bulk::new(sides, self.function, &mut self.addresses, &mut self.read_motion)?;
            let (start, bytes) = (bulk.destination(&mut self.addresses), bulk.bytes());
            (Means::Bulk(bulk), start, bytes)
        } else {
            if is_of_block && block_threads(self.function) != Some(1) {
                let message = "is executed by all threads of the block, each of which copies all of it";
                let help = "give each thread a part of its own, or run with engine=tma, which copies it once";
                return Err(Reason::new(message).help(help));
            }
            if op.is(linalg::COPY) {
                return Err(
                    Reason::new("is a loop that is not written out").help("run --convert-linalg-to-loops")
                );
            }
            let bounds = vec![Vec::new(); from_side.sizes.len()];
            let source = Source {
                side: from_side,
                bounds,
                guards: Vec::new(),
            };
            let copies = Copies::new(source, to_side, &mut self.addresses, &self.options)?;
            let start = copies.destination(&mut self.addresses);
            let start = start.filter(|_| copies.is_contiguous());
            let bytes = copies.bytes();
            (Means::Copies(copies), start, bytes)
        };
        Ok(Transfer {
            ops: vec![op],
            place: op,
            moved: Vec::new(),
            means,
            source,
            destination: Root::of(to),
            extent: start.map(|start| (start, bytes)),
        })
    }
}

impl<'c> Transfer<'c> {
    /// What it is made of: the store or copy that ends it, and before that what it takes.
    #[must_use]
    pub fn ops(&self) -> &[Op<'c>] {
        &self.ops
    }

    /// The store, the copy of memrefs, or the branch around them: all operands of the asynchronous form are known here, but for what is
    /// moved out of branches.
    #[must_use]
    pub fn last(&self) -> Op<'c> {
        self.place
    }

    /// The buffer that is written, where a branch is around the store.
    pub(crate) fn buffer_in_branch(&self) -> Option<Value<'c>> {
        self.place
            .is(scf::IF)
            .then(|| self.stored().map(|side| base(side.memory)))?
    }

    /// What a store writes, also one in a branch around it.
    pub(super) fn stored(&self) -> Option<Side<'c>> {
        match &self.means {
            Means::Copies(copies) if self.place.is(scf::IF) => Some(copies.written()),
            _ => sides::destination(self.place).ok(),
        }
    }

    /// The buffer that is read.
    #[must_use]
    pub fn source(&self) -> Root<'c> {
        self.source
    }

    /// The buffer that is written.
    #[must_use]
    pub fn destination(&self) -> Root<'c> {
        self.destination
    }

    /// Where the first byte is that is written, and how many there are, without gaps; `None` if that is not known.
    #[must_use]
    pub fn extent(&self) -> Option<(&Address<'c>, i64)> {
        self.extent.as_ref().map(|(start, bytes)| (start, *bytes))
    }

    /// Makes the asynchronous form before `place`, with the values that `mapping` has for those of this transfer. Each
    /// operation awaits `dependencies`. Returns their tokens, which nobody awaits yet.
    #[must_use = "somebody has to await the tokens"]
    pub fn emit(&self, place: Op<'c>, mapping: &Mapping<'c>, dependencies: &[Value<'c>]) -> Vec<Value<'c>> {
        for (op, branch) in &self.moved {
            // Another transfer may have moved it.
            if branch.is_ancestor_of(*op) {
                let is_here = branch.block() == place.block();
                op.move_before(if is_here { *branch } else { place });
            }
        }
        match &self.means {
            Means::Copies(copies) => copies.emit(place, mapping, dependencies),
            Means::Bulk(bulk) => bulk.emit(place, mapping, dependencies),
        }
    }

    /// Erases the synchronous form.
    pub fn erase(&self) {
        let is_inside = |op: &Op<'c>| {
            self.ops
                .iter()
                .any(|other| other != op && other.is_ancestor_of(*op))
        };
        let outer: Vec<Op> = self.ops.iter().copied().filter(|op| !is_inside(op)).collect();
        for op in outer {
            // A branch may have results that other transfers store.
            if !op.has_uses() {
                op.erase();
            }
        }
    }

    /// Makes it a transfer that `branch` is the place of: it reads nothing unless the condition is `when`.
    fn lift_out_of(&mut self, branch: Op<'c>, when: bool) -> Result<(), Reason<'c>> {
        let Means::Copies(copies) = &mut self.means else {
            return Err(Reason::new("is in a branch, and a bulk copy leaves nothing out"));
        };
        copies.guard((branch.operand(0), when));
        let mut moved = Vec::new();
        for value in copies.values() {
            find_moved(value, branch, &mut moved)?;
        }
        self.moved = moved;
        self.place = branch;
        Ok(())
    }
}

/// Returns the buffer of `memory`, or an error if that may not be global memory.
fn check_source<'c>(memory: Value<'c>) -> Result<Root<'c>, Reason<'c>> {
    let root = Root::of(memory);
    let says_global = match MemorySpace::of(memory.ty()) {
        Some(space) => space == MemorySpace::Global,
        None => memory_space(memory.ty()).is_none() && root.space == Some(MemorySpace::Global),
    };
    if says_global {
        return Ok(root);
    }
    let reason = Reason::new("has a source that may be in another memory than global memory");
    Err(reason.help("give its type #gpu.address_space<global>"))
}

/// Why a value that is computed by `last` is no transfer, if it is computed from one load of global memory.
fn computed<'c>(last: Op<'c>) -> Option<Reason<'c>> {
    let mut work = vec![last];
    for _ in 0..MAX_COMPUTATIONS {
        let op = work.pop()?;
        if let Some(memory) = sides::loaded_memory(op) {
            if Root::of(memory).space != Some(MemorySpace::Global) {
                continue;
            }
            let message = format!(
                "stores what '{}' computes of what is loaded, but a copy does not change it",
                last.name()
            );
            return Some(Reason::new(message).note(op, "it is loaded here"));
        }
        if op.is_pure() {
            work.extend(op.operands().filter_map(Value::defining_op));
        }
    }
    None
}
