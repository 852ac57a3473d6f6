//! Writes a plan into the IR.
//!
//! The number of a phase on its ring says all ([`super::mbarrier_ring`]). Where that costs little, it is
//! computed from induction variables where it is needed. Of the other rings, the running program counts: the
//! counter and the tokens' numbers ([`super::state`]) are carried through control flow
//! ([`super::carried_values`]). A token that is complete has number -1 there.

mod init_inval;
mod region_ops;

use super::WarProtection;
use super::builder::{Builder, compare, write};
use super::mbarrier_ring::{MbarrierRing, Number, OpenPhase, WhichPhase};
use super::state::{State, bug};
use crate::analysis::phase_skeleton::PhaseSkeleton;
use crate::utils::block_wide;
use async_dialects::names::{async_, gpux};
use async_mlir::arith::Predicate;
use async_mlir::ir::{Op, OpBuilder, Value};
use async_mlir::names::{gpu, nvgpu, nvvm};
use async_mlir::pass::PassError;
use rustc_hash::FxHashMap;
use tokenflow::Token;
use tokenflow::phases::{
    AwaitId, BlockId, IndexVec, Inst, LoadId, PhaseId, PhaseValue, PhiId, Plan, Rendezvous, RequiredSync,
    RingId, RoleSet, SyncPoint,
};

/// What was written beside tokens and awaits.
pub(super) struct Emitted<'c> {
    /// The loads in token form, right before each of which it is issued.
    pub loads: Vec<Op<'c>>,
    /// The operations that create mbarriers.
    pub rings: Vec<Op<'c>>,
}

impl Emitted<'_> {
    /// Takes the loads in token form away. What still uses their tokens is for other engines, for which a load is complete.
    pub fn erase_loads(self) {
        for load in self.loads {
            let token = load.result(0);
            let ready = OpBuilder::new(async_::READY, load.location()).results(&[token.ty()]);
            token.replace_all_uses_with(ready.before(load).result(0));
            load.erase();
        }
    }
}

/// Writes `plan`, of what was read from `function`; its tokens stay.
pub(super) fn emit<'c>(
    function: Op<'c>,
    read: PhaseSkeleton<'c>,
    plan: &Plan,
    war: WarProtection,
    issuer: Option<u32>,
) -> Result<Emitted<'c>, PassError<'c>> {
    let Some(entry) = function.region(0).first() else {
        let (loads, rings) = (Vec::new(), Vec::new());
        return Ok(Emitted { loads, rings });
    };
    let mut emitter = Emitter {
        builder: Builder::new(function, entry, issuer),
        read,
        plan,
        index: PlanIndex::new(plan),
        war,
        rings: IndexVec::default(),
        rendezvous: Vec::new(),
        state: State::new(plan),
    };
    emitter.function()?;
    let rings = emitter.rings.iter().chain(&emitter.rendezvous);
    Ok(Emitted {
        rings: rings.filter_map(|ring| ring.group.defining_op()).collect(),
        loads: emitter.read.loads.iter().copied().collect(),
    })
}

/// Where what of a plan is to be written.
struct PlanIndex<'a> {
    /// The phases that are opened before an instruction, by block and instruction.
    opens: FxHashMap<(BlockId, usize), Vec<PhaseId>>,
    /// Those on whose mbarriers the issuing thread arrives after an instruction.
    closes: FxHashMap<(BlockId, usize), Vec<PhaseId>>,
    /// The phase of each load.
    phase_of: FxHashMap<LoadId, PhaseId>,
    /// The phi of a token.
    phi_of: FxHashMap<Token, PhiId>,
    /// The rendezvous before an operation.
    rendezvous: FxHashMap<SyncPoint, &'a Rendezvous>,
}

impl<'a> PlanIndex<'a> {
    fn new(plan: &'a Plan) -> Self {
        let mut index = Self {
            opens: FxHashMap::default(),
            closes: FxHashMap::default(),
            phase_of: FxHashMap::default(),
            phi_of: FxHashMap::default(),
            rendezvous: plan.rendezvous.iter().map(|it| (it.before, it)).collect(),
        };
        for (id, phase) in plan.phases.with_ids() {
            let first = (phase.open_block, phase.first);
            index.opens.entry(first).or_default().push(id);
            if phase.bytes.is_none() {
                let last = (phase.open_block, phase.last);
                index.closes.entry(last).or_default().push(id);
            }
            index.phase_of.extend(phase.loads.iter().map(|&load| (load, id)));
        }
        for (id, phi) in plan.phis.with_ids() {
            index.phi_of.extend(phi.tokens.iter().map(|&token| (token, id)));
        }
        index
    }
}

struct Emitter<'a, 'c> {
    builder: Builder<'c>,
    read: PhaseSkeleton<'c>,
    plan: &'a Plan,
    index: PlanIndex<'a>,
    war: WarProtection,
    /// The mbarriers of each ring.
    rings: IndexVec<RingId, MbarrierRing<'c>>,
    /// The mbarriers at which threads meet before a load, in turn, if they don't meet at a barrier of the block; of each set of
    /// roles.
    rendezvous: Vec<MbarrierRing<'c>>,
    state: State<'c>,
}

/// A rendezvous at an mbarrier that the issuing thread has yet to wait for.
struct PendingRendezvous<'c> {
    ring: MbarrierRing<'c>,
    slot: Value<'c>,
    /// The parity of the phase that is over when all threads have come so far.
    parity: Value<'c>,
}

impl<'c> PendingRendezvous<'c> {
    fn wait(&self, builder: &mut Builder<'c>, before: Op<'c>) {
        self.ring.wait(builder, self.slot, self.parity, before);
    }
}

impl<'c> Emitter<'_, 'c> {
    fn function(&mut self) -> Result<(), PassError<'c>> {
        let (first, last) = self.plan.extent;
        let scope = self.plan.scope;
        let before = self.op_of(scope, first);
        let after = self.op_of(scope, last).next();
        self.initialize(before);
        self.block(scope)?;
        if let Some(after) = after {
            self.finish(after);
        }
        Ok(())
    }

    /// The operation of an instruction, as it is by now.
    fn op_of(&self, block: BlockId, inst: usize) -> Op<'c> {
        match self.read.tree.blocks[block].insts[inst] {
            Inst::RegionOp(op) => self.read.region_ops[op],
            _ => self.read.insts[block][inst],
        }
    }

    fn block(&mut self, block: BlockId) -> Result<(), PassError<'c>> {
        for inst in 0..self.read.tree.blocks[block].insts.len() {
            let op = self.op_of(block, inst);
            let after = op.next();
            let opens = self.index.opens.get(&(block, inst)).cloned();
            for phase in opens.into_iter().flatten() {
                self.open(phase, op)?;
            }
            match self.read.tree.blocks[block].insts[inst] {
                Inst::Load { load, .. } => self.load(load, op)?,
                Inst::Await { id, .. } => self.await_phases(id, op)?,
                // Loads after it rely on that; whoever issues the store finds it done.
                Inst::Store { store, .. } => {
                    let _ = block_wide::guard_issue(self.builder.context, op, self.plan.syncs.stores[store]);
                }
                Inst::RegionOp(op) => self.region_op(op)?,
                _ => {}
            }
            let closes = self.index.closes.get(&(block, inst)).cloned();
            for phase in closes.into_iter().flatten() {
                let after = after.ok_or_else(|| bug(op, "ends a block"))?;
                self.close(phase, after)?;
            }
        }
        Ok(())
    }

    /// Opens a phase before `before`.
    fn open(&mut self, id: PhaseId, before: Op<'c>) -> Result<(), PassError<'c>> {
        let phase = &self.plan.phases[id];
        let ring = self.rings[phase.ring];
        let number = match (self.state.counters[phase.ring], &phase.number) {
            (Some(counter), _) => {
                Number::Counted(ring.shifted(&mut self.builder, counter, phase.shift, before))
            }
            (None, Some(number)) => Number::Known(number.clone()),
            (None, None) => return Err(bug(before, "opens a phase without a number")),
        };
        let slot = ring.slot(&mut self.builder, &self.read, &number, before);
        self.state.count(&mut self.builder, phase.ring, ring, before);
        let opened = OpenPhase { slot, number };
        self.state.opened[id] = Some(opened.clone());
        let always_awaited = self.plan.rings[phase.ring].always_awaited;
        let last = (!always_awaited && !self.plan.is_first(phase)).then_some((ring, opened));
        // Threads that have other roles than those of the last phase don't wait for it.
        let (by_all, by_leader) = if self.has_roles() {
            (None, last)
        } else {
            (last, None)
        };
        let sync = self.plan.syncs.phases[id];
        let met = self.sync(sync, SyncPoint::Phase(id), by_all, before)?;
        let bytes = phase.bytes.map(|bytes| self.builder.const_index(bytes));
        let met = self.met(met, before);
        let inside = self.builder.as_leader(before);
        if let Some((ring, last)) = by_leader {
            ring.wait_for_previous(&mut self.builder, &self.read, &last, inside);
        }
        if let Some(met) = met {
            met.wait(&mut self.builder, inside);
        }
        if let Some(bytes) = bytes {
            let operands = [ring.group, bytes, slot];
            write(nvgpu::MBARRIER_ARRIVE_EXPECT_TX, &operands, &[], inside);
        }
        Ok(())
    }

    fn has_roles(&self) -> bool {
        self.read.tree.has_roles()
    }

    /// The terminator of a block that threads of `roles` execute before `before`, or `before` itself if all do.
    fn as_roles(&mut self, roles: RoleSet, before: Op<'c>) -> Op<'c> {
        match &self.read.roles {
            Some(of) if self.has_roles() && roles != self.read.tree.all_roles() => {
                let warps = of.warps_of(roles);
                self.builder.as_warps(warps, before)
            }
            _ => before,
        }
    }

    /// Writes a fence and a barrier before `before`, with a wait for the last phase of a slot before threads meet. Where they
    /// meet at an mbarrier, its phase is returned, which the issuing thread has yet to wait for.
    fn sync(
        &mut self,
        sync: RequiredSync,
        of: SyncPoint,
        last: Option<(MbarrierRing<'c>, OpenPhase<'c>)>,
        before: Op<'c>,
    ) -> Result<Option<(MbarrierRing<'c>, OpenPhase<'c>)>, PassError<'c>> {
        let who = self.plan.syncs.participants.get(&of).copied().unwrap_or_default();
        if sync.fence {
            let at = self.as_roles(who.fence, before);
            block_wide::fence(self.builder.context, before.location()).before(at);
        }
        if let Some((ring, last)) = last {
            ring.wait_for_previous(&mut self.builder, &self.read, &last, before);
        }
        if !sync.barrier {
            return Ok(None);
        }
        if self.rendezvous.is_empty() {
            write(gpu::BARRIER, &[], &[], before);
            return Ok(None);
        }
        let rendezvous = self.index.rendezvous.get(&of).copied();
        let rendezvous = rendezvous.ok_or_else(|| bug(before, "has a guard that is on no ring"))?;
        let ring = self.rendezvous[rendezvous.ring];
        let counter = self.state.rendezvous_counters[rendezvous.ring];
        let known = rendezvous.number.clone().map(Number::Known);
        let number = known.or(counter.map(Number::Counted));
        let number = number.ok_or_else(|| bug(before, "has a guard without a number"))?;
        if let Number::Counted(counter) = number {
            let next = ring.next(&mut self.builder, counter, before);
            self.state.rendezvous_counters[rendezvous.ring] = Some(next);
        }
        let slot = ring.slot(&mut self.builder, &self.read, &number, before);
        let opened = OpenPhase { slot, number };
        let at = self.as_roles(who.barrier, before);
        // Who is ahead of the others must not arrive for them: not on a slot where some have yet to.
        if rendezvous.waits {
            ring.wait_for_previous(&mut self.builder, &self.read, &opened, at);
        }
        ring.arrive(&self.builder, slot, at);
        if self.plan.rendezvous_rings[rendezvous.ring].issuer_arrives {
            let at = self.builder.as_leader(before);
            ring.arrive(&self.builder, slot, at);
        }
        Ok(Some((ring, opened)))
    }

    /// A rendezvous, with the parity that is waited for.
    fn met(
        &mut self,
        met: Option<(MbarrierRing<'c>, OpenPhase<'c>)>,
        before: Op<'c>,
    ) -> Option<PendingRendezvous<'c>> {
        let (ring, OpenPhase { slot, number }) = met?;
        let parity = ring.parity(&mut self.builder, &self.read, &number, WhichPhase::This, before);
        Some(PendingRendezvous { ring, slot, parity })
    }

    /// Arrives on the mbarrier of a phase whose bytes were expected load by load.
    fn close(&mut self, id: PhaseId, before: Op<'c>) -> Result<(), PassError<'c>> {
        let slot = self.state.slot_of(id, before)?;
        let ring = self.rings[self.plan.phases[id].ring];
        let inside = self.builder.as_leader(before);
        ring.arrive(&self.builder, slot, inside);
        Ok(())
    }

    fn load(&mut self, load: LoadId, op: Op<'c>) -> Result<(), PassError<'c>> {
        let id = self.index.phase_of.get(&load).copied();
        let id = id.ok_or_else(|| bug(op, "has no phase"))?;
        let phase = &self.plan.phases[id];
        let slot = self.state.slot_of(id, op)?;
        let ring = self.rings[phase.ring];
        let met = self.sync(self.plan.syncs.loads[load], SyncPoint::Load(load), None, op)?;
        let bytes = phase.bytes.is_none().then(|| self.read.tree.loads[load].bytes);
        let bytes = bytes.map(|bytes| self.builder.const_count(bytes));
        let met = self.met(met, op);
        let inside = self.builder.as_leader(op);
        if let Some(met) = met {
            met.wait(&mut self.builder, inside);
        }
        if let Some(bytes) = bytes {
            let address = ring.address(&self.builder, slot, inside);
            write(nvvm::MBARRIER_EXPECT_TX, &[address, bytes], &[], inside);
        }
        issue(op, ring.group, slot, inside);
        Ok(())
    }

    fn await_phases(&mut self, id: AwaitId, op: Op<'c>) -> Result<(), PassError<'c>> {
        let phases = self.plan.awaits[id].iter();
        phases.copied().try_for_each(|phase| self.await_phase(phase, op))
    }

    fn await_phase(&mut self, phase: PhaseValue, before: Op<'c>) -> Result<(), PassError<'c>> {
        let (ring, number) = match phase {
            PhaseValue::Opened(id) => {
                let opened = self.state.opened[id].as_ref();
                (
                    self.plan.phases[id].ring,
                    opened.map(|opened| opened.number.clone()),
                )
            }
            PhaseValue::Phi(id) => {
                let phi = &self.plan.phis[id];
                let has_counter = self.plan.rings[phi.ring].has_counter;
                let known = phi.number.clone().filter(|_| !has_counter);
                let counted = || self.state.phis[id].map(Number::Counted);
                (phi.ring, known.map(Number::Known).or_else(counted))
            }
        };
        let number = number.ok_or_else(|| bug(before, "awaits a phase without a number"))?;
        let before = match (&number, phase) {
            (Number::Counted(number), PhaseValue::Phi(phi)) if self.plan.phis[phi].may_be_complete => {
                self.if_pending(*number, before)
            }
            _ => before,
        };
        let ring = self.rings[ring];
        let slot = ring.slot(&mut self.builder, &self.read, &number, before);
        let parity = ring.parity(&mut self.builder, &self.read, &number, WhichPhase::This, before);
        ring.wait(&mut self.builder, slot, parity, before);
        Ok(())
    }

    /// The end of what is run only if `number` is that of a phase, and not of a complete token.
    fn if_pending(&mut self, number: Value<'c>, before: Op<'c>) -> Op<'c> {
        let zero = self.builder.const_count(0);
        let pending = compare(Predicate::SignedGreaterOrEqual, number, zero, before);
        block_wide::only_if(pending, before)
    }
}

/// Writes the issued form of a load before `before`; the token form stays, for its token.
fn issue<'c>(load: Op<'c>, group: Value<'c>, slot: Value<'c>, before: Op<'c>) {
    let operands: Vec<Value> = load.operands().collect();
    // Dependencies were awaited; then come the operands of the token form, the mbarriers and the slot.
    let [first, rest @ .., last] = &operands[..] else {
        unreachable!("a verified load has a source and a destination");
    };
    let (first, last, group, slot) = ([*first], [*last], [group], [slot]);
    let issued = OpBuilder::new(load.name(), load.location());
    let issued = if load.is(gpux::TMA_LOAD) {
        issued.operand_groups(&[&[], &first, rest, &last, &group, &slot])
    } else {
        issued.operand_groups(&[&[], &first, &last, &group, &slot])
    };
    issued.before(before).copy_discardable_attrs(load);
}
