//! Which operations are transfers from global memory to memory of the workgroup, and of what kind.

use super::bulk::Bulk;
use super::copies::Copies;
use super::order::Orders;
use super::reason::Reason;
use super::sides::{self, Side, Source};
use super::{Engine, Options};
use crate::analysis::addresses::{Address, Addresses};
use crate::analysis::alias::Root;
use crate::analysis::linear::Linear;
use crate::analysis::uniformity::{all_threads_reach, is_uniform};
use async_mlir::gpu::{MemorySpace, block_threads, is_workgroup};
use async_mlir::ir::{Mapping, Op, Value};
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::{arith, linalg, memref, vector};
use async_mlir::types::memory_space;
use std::rc::Rc;

/// Recognizes transfers in one function. It remembers what it has met, so no operation may be changed as long as it is in use.
pub struct Recognizer<'c> {
    pub(super) options: Options,
    function: Op<'c>,
    addresses: Addresses<'c>,
    orders: Orders<'c>,
}

/// A synchronous transfer that can be asynchronous: from where its last operation stands.
#[derive(Clone, Debug)]
pub struct Transfer<'c> {
    /// What it is made of: each operation after those that use it.
    ops: Vec<Op<'c>>,
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
            orders: Orders::new(options.distinct_arguments),
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
    pub(super) fn linear(&mut self, index: Value<'c>) -> Rc<Linear<'c>> {
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
        let mut ops = vec![store];
        let mut value = value;
        let load = loop {
            let op = value.defining_op()?;
            ops.push(op);
            match op.name() {
                arith::BITCAST | vector::BITCAST | vector::SHAPE_CAST => value = op.operand(0),
                _ => break op,
            }
        };
        let Some(source) = sides::source(load) else {
            return computed(load).map(Err);
        };
        let memory = sides::loaded_memory(load).filter(|memory| memory.ty().is_mem_ref())?;
        let root = Root::of(memory);
        if matches!(root.space, Some(MemorySpace::Workgroup | MemorySpace::Private)) {
            return None;
        }
        Some(source.and_then(|source| self.load_and_store(ops, source)))
    }

    /// `ops` are the store, casts, and the load.
    fn load_and_store(&mut self, ops: Vec<Op<'c>>, source: Source<'c>) -> Result<Transfer<'c>, Reason<'c>> {
        let (store, load) = (ops[0], ops[ops.len() - 1]);
        let destination = sides::destination(store)?;
        let from = check_source(source.side.memory)?;
        for op in &ops[1..] {
            let uses = op.results().flat_map(Value::uses);
            let other = uses
                .map(|it| it.owner)
                .find(|user| !ops.iter().any(|own| own == user || own.is_ancestor_of(*user)));
            if let Some(other) = other {
                let message = "stores what is also used otherwise, so it has to be loaded anyway";
                return Err(Reason::new(message).note(other, "it is used here"));
            }
        }
        if load.block() != store.block() {
            return Err(Reason::new("stores what another block loads").note(load, "it is loaded here"));
        }
        self.orders.check_read(from, load, store)?;
        let copies = Copies::new(source, destination, &mut self.addresses, &self.options)?;
        let extent = copies.destination(&mut self.addresses);
        Ok(Transfer {
            source: from,
            destination: Root::of(sides::stored(store).expect("it is a store").1),
            extent: extent
                .filter(|_| copies.is_contiguous())
                .map(|start| (start, copies.bytes())),
            means: Means::Copies(copies),
            ops,
        })
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
            let bulk = Bulk::new(sides, self.function, &mut self.addresses, &mut self.orders)?;
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
            };
            let copies = Copies::new(source, to_side, &mut self.addresses, &self.options)?;
            let start = copies.destination(&mut self.addresses);
            let start = start.filter(|_| copies.is_contiguous());
            let bytes = copies.bytes();
            (Means::Copies(copies), start, bytes)
        };
        Ok(Transfer {
            ops: vec![op],
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

    /// The store, or the copy of memrefs: all operands of the asynchronous form are known here.
    #[must_use]
    pub fn last(&self) -> Op<'c> {
        self.ops[0]
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
        match &self.means {
            Means::Copies(copies) => copies.emit(place, mapping, dependencies),
            Means::Bulk(bulk) => bulk.emit(place, mapping, dependencies),
        }
    }

    /// Erases the synchronous form.
    pub fn erase(&self) {
        for op in &self.ops {
            op.erase();
        }
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
