//! Places of a function: what the reading of each ring of mbarriers looks up.

use super::flow::{Bounds, Flow};
use super::roles::WarpRoles;
use super::{Unreadable, Written};
use async_dialects::names::{async_, gpux};
use async_mlir::control_flow::EdgeTarget;
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::names::{nvgpu, nvvm, scf};
use async_mlir::nvgpu::mbarriers;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::rc::Rc;

/// What orders the accesses of threads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    /// A barrier of the block.
    Barrier,
    /// A fence after initializations.
    InitFence,
}

/// A ring at which threads gather.
pub(super) struct GatheringRing<'c> {
    pub create: Op<'c>,
    /// How many mbarriers it has.
    pub depth: u32,
    /// Places where threads arrive, and where the one that issues waits for them.
    pub arrivals: Vec<Op<'c>>,
    pub waits: Vec<Op<'c>>,
}

/// The places of a function.
pub struct Index<'c> {
    pub(super) function: Op<'c>,
    /// The operations that create rings, in the order of the text.
    rings: Vec<Op<'c>>,
    /// The operation that elects the thread that initializes mbarriers: that is the one that issues.
    elect: Option<Op<'c>>,
    /// The operations, numbered in the order of the text, an operation before what is in it.
    places: FxHashMap<Op<'c>, u32>,
    /// What is executed in each block whatever way is taken, in order.
    syncs: FxHashMap<Block<'c>, Vec<(u32, Sync, Op<'c>)>>,
    /// The token form of each load that was issued.
    pub(super) token_forms: FxHashMap<Op<'c>, Op<'c>>,
    /// The bounds of loops.
    pub(super) bounds: FxHashSet<Bounds<'c>>,
    /// The rings at which threads gather.
    pub(super) gatherings: Vec<GatheringRing<'c>>,
    pub(super) roles: WarpRoles<'c>,
    flows: RefCell<FxHashMap<Op<'c>, Option<Rc<Flow<'c>>>>>,
    by_issuer: RefCell<FxHashMap<Op<'c>, bool>>,
}

impl<'c> Index<'c> {
    /// Looks through a function.
    ///
    /// # Errors
    ///
    /// A load that is not issued where its token is made.
    pub fn new(written: &Written<'_, 'c>) -> Result<Self, Unreadable<'c>> {
        let mut index = Self {
            function: written.function,
            rings: written.rings.to_vec(),
            elect: None,
            places: FxHashMap::default(),
            syncs: FxHashMap::default(),
            token_forms: FxHashMap::default(),
            bounds: FxHashSet::default(),
            gatherings: Vec::new(),
            roles: WarpRoles::none(written.function),
            flows: RefCell::default(),
            by_issuer: RefCell::default(),
        };
        let blocks = written.function.regions().flat_map(Region::blocks);
        let blocks: Vec<Block> = blocks.collect();
        let &[body] = blocks.as_slice() else {
            let what = "has branches between blocks";
            return Err(Unreadable {
                op: written.function,
                what,
            });
        };
        index.block(body);
        index
            .rings
            .sort_unstable_by_key(|create| index.places.get(create).copied());
        index.elect = index.elected();
        for &load in written.loads {
            let issued = index.issued(load).ok_or(Unreadable {
                op: load,
                what: "is not issued where its token is made",
            })?;
            index.token_forms.insert(issued, load);
        }
        let mut users = Vec::new();
        for create in index.rings.clone() {
            let of_ring = index.users(create.result(0));
            index.find_gathering(create, &of_ring);
            users.extend(of_ring);
        }
        index.roles = WarpRoles::of(written.function, &users, written.has_roles);
        Ok(index)
    }

    /// Numbers what is in `block`; returns what is executed in it.
    fn block(&mut self, block: Block<'c>) -> (bool, bool) {
        let mut syncs = Vec::new();
        let mut next = block.first();
        while let Some(op) = next {
            next = op.next();
            let place = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
            self.places.insert(op, place);
            if is_barrier(op) {
                syncs.push((place, Sync::Barrier, op));
            } else if op.is(nvvm::FENCE_MBARRIER_INIT) {
                syncs.push((place, Sync::InitFence, op));
            } else if op.num_regions() > 0 && !op.is_function() {
                self.bounds.extend(Bounds::of(op));
                if self.always_meet(op) {
                    syncs.push((place, Sync::Barrier, op));
                }
            }
        }
        let has = |sync| syncs.iter().any(|(_, known, _)| *known == sync);
        let has = (has(Sync::Barrier), has(Sync::InitFence));
        if !syncs.is_empty() {
            self.syncs.insert(block, syncs);
        }
        has
    }

    /// Numbers what is in `op`; returns true if threads meet at a barrier in it whatever way they take.
    fn always_meet(&mut self, op: Op<'c>) -> bool {
        let mut meets = Vec::new();
        for region in op.regions() {
            let mut all = Vec::new();
            for block in region.blocks() {
                all.push(self.block(block).0);
            }
            meets.push(all.len() == 1 && all[0]);
        }
        if !meets.contains(&true) {
            return false;
        }
        let Some(flow) = self.flow(op) else { return false };
        let runs = flow.trip.is_some_and(|trip| trip > 0);
        let entries = flow.entries.iter().filter(|edge| edge.possible);
        let mut targets = entries.filter(|edge| !runs || edge.to != EdgeTarget::After);
        // The first region that runs decides: another one may follow, or not.
        targets.all(|edge| match edge.to {
            EdgeTarget::Index(region) => meets.get(region) == Some(&true),
            EdgeTarget::After => false,
        })
    }

    /// The loads that were issued.
    pub fn issued_loads(&self) -> impl Iterator<Item = Op<'c>> {
        self.token_forms.keys().copied()
    }

    /// The operations that create rings, in the order of the text.
    #[must_use]
    pub fn rings(&self) -> &[Op<'c>] {
        &self.rings
    }

    /// The operations that use `value`, in the order of the text: what is read of a function depends on its text alone.
    pub(super) fn users(&self, value: Value<'c>) -> Vec<Op<'c>> {
        let users = value.uses().into_iter().map(|used| used.owner);
        let mut users: Vec<Op> = users.collect();
        users.sort_by_key(|op| self.place(*op));
        users
    }

    /// The place of `op` in the order of the text.
    pub(in crate::mbarriers) fn place(&self, op: Op<'c>) -> u32 {
        self.places.get(&op).copied().unwrap_or(u32::MAX)
    }

    /// What `block` executes after the place `from` and before the place `to`.
    pub(super) fn syncs(
        &self,
        block: Block<'c>,
        from: Option<u32>,
        to: Option<u32>,
    ) -> &[(u32, Sync, Op<'c>)] {
        let Some(syncs) = self.syncs.get(&block) else {
            return &[];
        };
        let start = from.map_or(0, |from| syncs.partition_point(|(place, ..)| *place <= from));
        let end = to.map_or(syncs.len(), |to| syncs.partition_point(|(place, ..)| *place < to));
        syncs.get(start..end).unwrap_or_default()
    }

    /// How control flows through `op`, if that is known.
    pub(super) fn flow(&self, op: Op<'c>) -> Option<Rc<Flow<'c>>> {
        let mut flows = self.flows.borrow_mut();
        flows
            .entry(op)
            .or_insert_with(|| Flow::of(op).map(Rc::new))
            .clone()
    }

    /// Returns true if only the thread that issues executes `op`: it stands in an `scf.if` on `gpux.elect` without control flow, and
    /// no token is awaited there.
    pub(super) fn is_by_issuer(&self, op: Op<'c>) -> bool {
        op.parent().is_some_and(|parent| self.is_for_issuer(parent))
    }

    /// Returns true if `op` is such an `scf.if`.
    pub(super) fn is_for_issuer(&self, op: Op<'c>) -> bool {
        if !op.is(scf::IF) {
            return false;
        }
        *self.by_issuer.borrow_mut().entry(op).or_insert_with(|| {
            let elects = self.elect.is_some() && op.operand(0).defining_op() == self.elect;
            let block = op.region(0).first();
            let is_plain = |op: &Op| op.num_regions() == 0 && !op.is(async_::AWAIT);
            elects
                && op.num_results() == 0
                && op.region(1).first().is_none()
                && block.is_some_and(|block| block.ops().iter().all(is_plain))
        })
    }

    /// Returns true if the thread that issues executes `init`, an `nvgpu.mbarrier.init`.
    pub(super) fn is_elected(&self, init: Op<'c>) -> bool {
        let predicate = (init.num_operands() == 4).then(|| init.operand(3));
        self.elect.is_some() && predicate.and_then(Value::defining_op) == self.elect
    }

    /// The load that is issued for `load`, which is in token form: right before it, of the same memory.
    fn issued(&self, load: Op<'c>) -> Option<Op<'c>> {
        let branch = load.prev().filter(|op| self.is_for_issuer(*op))?;
        let issued = branch.region(0).first()?.terminator()?.prev()?;
        let of_issued = issued.num_operands().checked_sub(2)?;
        let is_same = issued.name() == load.name()
            && issued.num_results() == 0
            && load.operands().eq(issued.operands().take(of_issued));
        is_same.then_some(issued)
    }

    /// Notes where threads arrive at the mbarriers of `create`, which has these `users`, and where the one that issues waits for them.
    fn find_gathering(&mut self, create: Op<'c>, users: &[Op<'c>]) {
        let find = |name: &str, by_issuer: bool| {
            let found = users
                .iter()
                .filter(|op| op.is(name) && self.is_by_issuer(**op) == by_issuer);
            found.copied().collect::<Vec<Op>>()
        };
        let arrivals = find(nvgpu::MBARRIER_ARRIVE, false);
        if !arrivals.is_empty() {
            let waits = find(nvgpu::MBARRIER_TRY_WAIT_PARITY, true);
            self.gatherings.push(GatheringRing {
                create,
                depth: mbarriers(create.result(0).ty()).unwrap_or(0),
                arrivals,
                waits,
            });
        }
    }

    /// The operation that elects the thread that initializes the first ring.
    fn elected(&self) -> Option<Op<'c>> {
        let users = self.users(self.rings.first()?.result(0));
        let mut users = users.into_iter();
        let init = users.find(|op| op.is(nvgpu::MBARRIER_INIT) && op.num_operands() == 4)?;
        let elect = Value::defining_op(init.operand(3))?;
        elect.is(gpux::ELECT).then_some(elect)
    }
}
