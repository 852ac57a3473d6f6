//! Builds the [`tokenflow::phases::Tree`] of a function that phases of mbarriers are planned on: its control
//! flow, with nothing but loads, awaits, barriers and accesses.
//!
//! Control flow is read through MLIR's interfaces. It must be structured: regions of one block each. What is asked of
//! memory is which buffers of the workgroup threads access, and between which barriers.

mod accesses;
mod pending_reads;

use self::accesses::BufferNumbering;
use self::pending_reads::PendingReads;
use super::cfg::{Edge as IrEdge, RegionFlow, Target, how_to_structure, unbound_operands};
use super::roles::Roles;
use super::uniformity::may_diverge;
pub use async_dialects::completion::is_block_wide_load;
use async_dialects::completion::{Completion, GroupEffect, issued_for_block};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::control_flow::{constant_trip_count, selected_values, wraps_around};
use async_mlir::gpu::{is_barrier, is_kernel, is_workgroup};
use async_mlir::ir::{self, Op, Region as IrRegion, Value};
use async_mlir::names::{attr, nvvm, scf, ub};
use async_mlir::nvvm::is_async_shared_proxy;
use async_mlir::pass::PassError;
use async_mlir::types;
use rustc_hash::FxHashMap;
use tokenflow::Token;
use tokenflow::phases::{
    AccessKind, AwaitId, Block, BlockId, Buffer, Edge, IndexVec, Inst, Load, LoadId, RegionOp, RegionOpId,
    StoreId, Tree, Trips,
};

/// A function's skeleton, and what its numbers stand for.
#[derive(Default)]
pub struct PhaseSkeleton<'c> {
    /// The skeleton.
    pub tree: Tree,
    /// The blocks.
    pub blocks: IndexVec<BlockId, ir::Block<'c>>,
    /// The operation of each step of each block.
    pub insts: IndexVec<BlockId, Vec<Op<'c>>>,
    /// The operations with regions, and selections between tokens.
    pub region_ops: IndexVec<RegionOpId, Op<'c>>,
    /// The loads.
    pub loads: IndexVec<LoadId, Op<'c>>,
    /// The awaits.
    pub awaits: IndexVec<AwaitId, Op<'c>>,
    /// The stores in token form.
    pub stores: IndexVec<StoreId, Op<'c>>,
    /// The token of every value.
    pub tokens: FxHashMap<Value<'c>, Token>,
    /// Uses of tokens by operations that can't be followed.
    pub escapes: Vec<Escape<'c>>,
    /// The roles of warps, if that is of interest.
    pub roles: Option<Roles<'c>>,
    /// What operations for some roles pass on, with their tokens.
    pub role_results: Vec<(Op<'c>, Token)>,
}

/// A use of a token by an operation that can't be followed.
#[derive(Clone, Copy)]
pub struct Escape<'c> {
    /// The operation.
    pub op: Op<'c>,
    /// Which of its operands.
    pub operand: usize,
    /// The last operation before which the token can still be followed: `op`, or one around it.
    pub before: Op<'c>,
}

/// Reads the body of `function`.
///
/// # Errors
///
/// Where control flow is not structured, or is not known, and loads or stores in token form are inside.
pub fn read(function: Op<'_>) -> Result<PhaseSkeleton<'_>, PassError<'_>> {
    read_with_roles(function, None)
}

/// The same, of a function whose warps have `roles`.
///
/// # Errors
///
/// As [`read`].
pub fn read_with_roles<'c>(
    function: Op<'c>,
    roles: Option<Roles<'c>>,
) -> Result<PhaseSkeleton<'c>, PassError<'c>> {
    let mut buffers = BufferNumbering::new(function);
    let mut reader = Reader {
        out: PhaseSkeleton {
            roles,
            ..PhaseSkeleton::default()
        },
        pending_reads: PendingReads::of(function, &mut buffers),
        buffers,
    };
    reader.out.tree.roles = reader.out.roles.as_ref().map_or(0, Roles::count);
    let Some(region) = function
        .regions()
        .next()
        .filter(|region| region.first().is_some())
    else {
        return Ok(reader.out);
    };
    let block = single_block(function, region)?;
    reader.out.tree.called = !is_kernel(function);
    let body = reader.new_block(block, None);
    reader.block(body, &RegionFlow::of_function(function))?;
    reader.out.tree.buffers = reader.buffers.count();
    reader.out.tree.awaits = reader.out.awaits.len();
    reader.out.tree.stores = reader.out.stores.len();
    Ok(reader.out)
}

/// Returns true if `op` starts a store in token form.
#[must_use]
pub fn is_block_wide_store(op: Op<'_>) -> bool {
    issued_for_block(op).is_some_and(|completion| completion.queue.is_some())
}

/// Returns true if `op` or something in it is block-wide and in token form.
fn has_block_wide(op: Op<'_>) -> bool {
    op.self_and_nested()
        .into_iter()
        .any(|op| is_block_wide_load(op) || is_block_wide_store(op))
}

/// The one block of a region.
fn single_block<'c>(op: Op<'c>, region: IrRegion<'c>) -> Result<ir::Block<'c>, PassError<'c>> {
    let mut blocks = region.blocks().into_iter();
    match (blocks.next(), blocks.next()) {
        (Some(block), None) => Ok(block),
        _ => {
            let message = "has branches between blocks, in which phases of mbarriers can't be followed";
            Err(PassError::new(op, message).note(op, how_to_structure(op)))
        }
    }
}

struct Reader<'c> {
    out: PhaseSkeleton<'c>,
    buffers: BufferNumbering<'c>,
    pending_reads: PendingReads<'c>,
}

impl<'c> Reader<'c> {
    fn new_block(&mut self, block: ir::Block<'c>, parent_op: Option<RegionOpId>) -> BlockId {
        let params = self.tokens(block.args());
        self.out.tree.blocks.push(Block {
            params,
            insts: Vec::new(),
            parent_op,
        });
        self.out.insts.push(Vec::new());
        self.out.blocks.push(block)
    }

    fn token(&mut self, value: Value<'c>) -> Token {
        let tree = &mut self.out.tree;
        *self.out.tokens.entry(value).or_insert_with(|| tree.token())
    }

    fn tokens(&mut self, values: impl Iterator<Item = Value<'c>>) -> Vec<Token> {
        let values: Vec<Value> = values.filter(|value| is_token(value.ty())).collect();
        values.into_iter().map(|value| self.token(value)).collect()
    }

    fn step(&mut self, block: BlockId, op: Op<'c>, step: Inst) {
        self.out.tree.blocks[block].insts.push(step);
        self.out.insts[block].push(op);
    }

    /// Reads what is in block `b`; returns the edges on which it is left.
    fn block(&mut self, b: BlockId, flow: &RegionFlow<'c>) -> Result<Vec<IrEdge<'c>>, PassError<'c>> {
        let block = self.out.blocks[b];
        let terminator = block.terminator();
        let mut next = block.first();
        while let Some(op) = next.filter(|op| Some(*op) != terminator) {
            next = op.next();
            self.op(b, op)?;
        }
        let edges = flow.exits(terminator);
        if let Some(op) = terminator {
            self.escapes(op, &edges, op);
        }
        Ok(edges)
    }

    fn op(&mut self, b: BlockId, op: Op<'c>) -> Result<(), PassError<'c>> {
        if op.is_function() {
            return Ok(());
        }
        if is_block_wide_load(op) {
            self.load(b, op);
            return Ok(());
        }
        if is_barrier(op) {
            self.step(b, op, Inst::Barrier);
            return Ok(());
        }
        if Completion::of(op).is_some_and(|completion| completion.effect == GroupEffect::Wait) {
            self.step(b, op, Inst::WaitForCopies);
            return Ok(());
        }
        match op.name() {
            async_::AWAIT => {
                self.step(b, op, Inst::WaitForCopies);
                let tokens = self.tokens(op.operands());
                let id = self.out.awaits.push(op);
                self.step(b, op, Inst::Await { id, tokens });
                self.completed_reads(b, op, op);
            }
            async_::READY | async_::JOIN | ub::POISON if is_token(op.result(0).ty()) => {
                let (token, of) = (self.token(op.result(0)), self.tokens(op.operands()));
                self.step(b, op, Inst::Join { token, of });
            }
            nvvm::FENCE_PROXY if is_shared_fence(op) => self.step(b, op, Inst::Fence),
            _ => self.other(b, op)?,
        }
        Ok(())
    }

    /// What `wait`, in or at `op`, completes has been read only now.
    fn completed_reads(&mut self, b: BlockId, op: Op<'c>, wait: Op<'c>) {
        for buffer in self.pending_reads.completed_by(wait) {
            let kind = AccessKind::AsyncRead;
            self.step(b, op, Inst::Access { buffer, kind });
        }
    }

    fn load(&mut self, b: BlockId, op: Op<'c>) {
        let token = self.token(op.result(0));
        let buffer = self.workgroup_side(op);
        let load = self.out.loads.push(op);
        self.out.tree.loads.push(Load {
            bytes: transfer_bytes(op),
            buffer,
        });
        self.step(b, op, Inst::Load { load, token });
    }

    /// What a load writes or a store reads of the workgroup's memory.
    fn workgroup_side(&mut self, op: Op<'c>) -> Buffer {
        let side = op.operands().rfind(|value| is_workgroup(value.ty()));
        side.map_or(Buffer::Any, |memref| self.buffers.of(memref))
    }

    /// An operation that is no business of phases, or holds others.
    fn other(&mut self, b: BlockId, op: Op<'c>) -> Result<(), PassError<'c>> {
        if is_block_wide_store(op) {
            let buffer = self.workgroup_side(op);
            let store = self.out.stores.push(op);
            self.step(b, op, Inst::Store { store, buffer });
        } else if op.num_regions() > 0 {
            return self.regions(b, op);
        } else if let (Some(values), 1) = (selected_values(op), op.num_results())
            && is_token(op.result(0).ty())
        {
            self.select(b, op, &values);
            return Ok(());
        } else {
            self.escapes(op, &[], op);
            for (buffer, kind) in self.buffers.accesses(op) {
                self.step(b, op, Inst::Access { buffer, kind });
            }
        }
        self.complete(b, op);
        Ok(())
    }

    /// The results of `op` are tokens of other engines: complete, as far as phases are concerned.
    fn complete(&mut self, b: BlockId, op: Op<'c>) {
        for token in self.tokens(op.results()) {
            let of = Vec::new();
            self.step(b, op, Inst::Join { token, of });
        }
    }

    /// A selection between tokens: two ways through no block.
    fn select(&mut self, b: BlockId, op: Op<'c>, values: &[Value<'c>]) {
        let result = self.token(op.result(0));
        let edges = values.iter().map(|&value| Edge {
            from: None,
            to: None,
            bindings: vec![(self.token(value), result)],
        });
        let region = RegionOp {
            parent: b,
            edges: edges.collect(),
            results: vec![result],
            divergent: may_diverge(op),
            ..RegionOp::default()
        };
        self.new_region(b, op, region);
    }

    fn new_region(&mut self, b: BlockId, op: Op<'c>, region: RegionOp) -> RegionOpId {
        self.out.region_ops.push(op);
        let id = self.out.tree.region_ops.push(region);
        self.step(b, op, Inst::RegionOp(id));
        id
    }

    fn regions(&mut self, b: BlockId, op: Op<'c>) -> Result<(), PassError<'c>> {
        let flow = RegionFlow::new(op);
        let Some(entries) = flow.known_entries() else {
            return self.opaque(b, op);
        };
        self.escapes(op, entries, op);
        let mut blocks = Vec::new();
        for region in op.regions().filter(|region| region.first().is_some()) {
            match single_block(op, region) {
                Ok(block) => blocks.push(block),
                Err(_) if !has_block_wide(op) => return self.opaque(b, op),
                Err(error) => return Err(error),
            }
        }
        let roles = self
            .out
            .roles
            .as_ref()
            .map_or(Vec::new(), |roles| roles.of_blocks(op));
        let has_roles = !roles.is_empty();
        let id = self.new_region(
            b,
            op,
            RegionOp {
                parent: b,
                roles,
                trips: trips(op),
                divergent: may_diverge(op),
                divides: divides(op),
                ..RegionOp::default()
            },
        );
        if has_roles {
            self.complete(b, op);
        } else {
            let results = self.tokens(op.results());
            self.out.tree.region_ops[id].results = results;
        }
        let places: FxHashMap<ir::Block, usize> = blocks.iter().copied().zip(0..).collect();
        let new = blocks.iter().map(|&block| self.new_block(block, Some(id)));
        let ids: Vec<BlockId> = new.collect();
        self.out.tree.region_ops[id].blocks.clone_from(&ids);
        // A loop that always runs has no edge that skips it, and one of a single iteration has no back edge.
        let trips = self.out.tree.region_ops[id].trips;
        let runs = matches!(trips, Trips::Constant(trips) if trips > 0);
        for edge in entries.iter().filter(|edge| !runs || edge.to != Target::After) {
            self.edge(id, None, edge, &places);
        }
        for (place, &inner) in ids.iter().enumerate() {
            for edge in self.block(inner, &flow)? {
                if trips != Trips::Constant(1) || edge.to == Target::After {
                    self.edge(id, Some(place), &edge, &places);
                }
            }
        }
        Ok(())
    }

    fn edge(
        &mut self,
        region: RegionOpId,
        from: Option<usize>,
        edge: &IrEdge<'c>,
        places: &FxHashMap<ir::Block<'c>, usize>,
    ) {
        if !edge.possible {
            return;
        }
        let to = match edge.to {
            Target::After => None,
            Target::Block(block) => places.get(&block).copied(),
        };
        let tokens = edge.bindings.iter().filter(|(from, _)| is_token(from.ty()));
        let bindings = tokens.map(|&(from, to)| (self.token(from), self.token(to)));
        let mut bindings: Vec<(Token, Token)> = bindings.collect();
        if !self.out.tree.region_ops[region].roles.is_empty() {
            let op = self.out.region_ops[region];
            let passed_on = bindings.drain(..).map(|(from, _)| (op, from));
            self.out.role_results.extend(passed_on);
        }
        self.out.tree.region_ops[region]
            .edges
            .push(Edge { from, to, bindings });
    }

    /// An operation whose control flow is not known: threads may do all that is in it.
    fn opaque(&mut self, b: BlockId, op: Op<'c>) -> Result<(), PassError<'c>> {
        let inside = op.self_and_nested();
        if let Some(&inner) = inside
            .iter()
            .find(|inner| is_block_wide_load(**inner) || is_block_wide_store(**inner))
        {
            let message = format!(
                "has to be executed by all threads of the block, but the '{}' around it is not known to run the same way \
                 for all of them",
                op.name()
            );
            return Err(PassError::new(inner, message).note(op, "move the operation out of it"));
        }
        for inner in inside {
            self.escapes(inner, &[], op);
            for (buffer, kind) in self.buffers.accesses(inner) {
                self.step(b, op, Inst::Access { buffer, kind });
            }
            self.completed_reads(b, op, inner);
        }
        self.complete(b, op);
        Ok(())
    }
}

impl<'c> Reader<'c> {
    /// Notes the tokens that `op`, in or at `before`, uses and none of `edges` hands over. Those that were made where nothing
    /// can be followed are nobody's business.
    fn escapes(&mut self, op: Op<'c>, edges: &[IrEdge<'c>], before: Op<'c>) {
        if !op.operands().any(|value| is_token(value.ty())) {
            return;
        }
        for operand in unbound_operands(op, edges) {
            if self.out.tokens.contains_key(&op.operand(operand)) {
                self.out.escapes.push(Escape { op, operand, before });
            }
        }
    }
}

/// How often the block of `op` runs.
fn trips(op: Op<'_>) -> Trips {
    // What is computed of bounds is signed, and takes it that the variable does not wrap around.
    if op.has_attr(attr::UNSIGNED_CMP) || wraps_around(op) {
        return Trips::FromEdges;
    }
    match constant_trip_count(op) {
        Some(trips) if op.is(scf::FOR) => Trips::Constant(trips),
        None if op.is(scf::FOR) => Trips::Counted,
        _ => Trips::FromEdges,
    }
}

/// Steps up to this one are divided by: multiples of larger ones leave no room for the number of a phase, so that the check would not know it.
const LARGEST_STEP: u64 = 1 << 48;

/// Returns true if it takes a division to know which iteration of a loop runs, or that is not to be computed.
fn divides(op: Op<'_>) -> bool {
    let is_cheap =
        |step: i64| u64::try_from(step).is_ok_and(|step| step.is_power_of_two() && step <= LARGEST_STEP);
    op.is(scf::FOR) && !op.operand(2).as_constant_int().is_some_and(is_cheap)
}

/// Returns true if a fence between proxies is about the workgroup's memory.
fn is_shared_fence(op: Op<'_>) -> bool {
    op.attr(attr::KIND).is_some_and(is_async_shared_proxy)
}

/// How many bytes a block-wide operation transfers: those of its side in the workgroup's memory.
#[must_use]
pub fn transfer_bytes(op: Op<'_>) -> u64 {
    let side = op.operands().rfind(|value| is_workgroup(value.ty()));
    let Some(shape) = side.and_then(|value| types::memref_shape(value.ty())) else {
        return 0;
    };
    let sizes = shape.sizes.iter().map(|size| size.unwrap_or(0).unsigned_abs());
    sizes.product::<u64>() * u64::from(types::bit_width(shape.element).unwrap_or(0) / 8)
}
