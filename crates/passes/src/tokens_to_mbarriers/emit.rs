//! Writes a plan into the IR.
//!
//! The number of a phase of its ring says all ([`super::mbarriers`]). Where that costs little, it is computed from induction
//! variables where it is needed. Of the other rings, the running program counts; [`super::thread`] carries the
//! counter and the tokens' numbers through control flow. A token that is complete has number -1 there.

use super::War;
use super::mbarriers::{Mbarriers, Number};
use crate::analysis::tree::Read;
use crate::utils::block_wide;
use crate::utils::builders;
use async_dialects::arith::Predicate;
use async_dialects::ir::{Block, Op, OpBuilder, Value};
use async_dialects::llvm::{AddressSpace, pointer};
use async_dialects::melior::Context;
use async_dialects::melior::ir::Type;
use async_dialects::names::{async_, gpu, gpux, llvm, nvgpu, nvvm, scf};
use async_dialects::nvgpu::mbarrier_token;
use async_dialects::pass::PassError;
use std::collections::HashMap;
use tokenflow::Token;
use tokenflow::phases::{Guard, Phase, Plan, Step};

/// Writes `plan`, of what was read from `function`.
pub(super) fn emit<'c>(function: Op<'c>, read: Read<'c>, plan: &Plan, war: War) -> Result<(), PassError<'c>> {
    let Some(entry) = function.region(0).first() else {
        return Ok(());
    };
    let vars = plan.vars.iter().enumerate();
    let mut emitter = Emitter {
        types: Types::new(function.context()),
        function,
        entry,
        constants: HashMap::new(),
        leader: None,
        var_of: vars
            .flat_map(|(v, var)| var.tokens.iter().map(move |&token| (token, v)))
            .collect(),
        places: Places::new(plan),
        read,
        plan,
        war,
        rings: Vec::new(),
        reached: None,
        counters: vec![None; plan.rings.len()],
        reached_counter: None,
        opened: vec![None; plan.bundles.len()],
        values: vec![None; plan.vars.len()],
    };
    emitter.function()
}

/// Where what of a plan is to be written.
struct Places {
    /// The bundles whose phases are opened before a step, by block and step.
    opens: HashMap<(usize, usize), Vec<usize>>,
    /// Those on whose mbarriers the issuing thread arrives behind a step.
    closes: HashMap<(usize, usize), Vec<usize>>,
    /// The bundle of each load.
    bundle_of: HashMap<usize, usize>,
    /// The place in [`Plan::syncs`] of the barrier before a load (true), or before a phase is opened.
    syncs: HashMap<(bool, usize), usize>,
}

impl Places {
    fn new(plan: &Plan) -> Self {
        let mut places = Self {
            opens: HashMap::new(),
            closes: HashMap::new(),
            bundle_of: HashMap::new(),
            syncs: HashMap::new(),
        };
        for (b, bundle) in plan.bundles.iter().enumerate() {
            places
                .opens
                .entry((bundle.home, bundle.first))
                .or_default()
                .push(b);
            if bundle.bytes.is_none() {
                places
                    .closes
                    .entry((bundle.home, bundle.last))
                    .or_default()
                    .push(b);
            }
            places
                .bundle_of
                .extend(bundle.loads.iter().map(|&load| (load, b)));
        }
        for (i, sync) in plan.syncs.iter().enumerate() {
            places.syncs.insert((sync.load, sync.of), i);
        }
        places
    }
}

/// The types and attributes that are written.
pub(super) struct Types<'c> {
    pub context: &'c Context,
    pub index: Type<'c>,
    pub i32: Type<'c>,
}

impl<'c> Types<'c> {
    fn new(context: &'c Context) -> Self {
        let integer = |width| async_dialects::melior::ir::r#type::IntegerType::new(context, width).into();
        Self {
            context,
            index: Type::index(context),
            i32: integer(32),
        }
    }
}

/// Where a phase is.
#[derive(Clone)]
pub(super) struct Opened<'c> {
    pub slot: Value<'c>,
    pub number: Number<'c>,
}

pub(super) struct Emitter<'a, 'c> {
    pub types: Types<'c>,
    pub function: Op<'c>,
    entry: Block<'c>,
    constants: HashMap<(i64, bool), Value<'c>>,
    leader: Option<Value<'c>>,
    pub var_of: HashMap<Token, usize>,
    places: Places,
    pub read: Read<'c>,
    pub plan: &'a Plan,
    pub war: War,
    /// The mbarriers of each ring.
    pub rings: Vec<Mbarriers<'c>>,
    /// The mbarriers at which threads arrive before a load, in turn.
    pub reached: Option<Mbarriers<'c>>,
    /// How often each carried ring has been armed, modulo twice its depth.
    pub counters: Vec<Option<Value<'c>>>,
    /// How often threads have met at `reached`, modulo twice their number, if that is carried.
    pub reached_counter: Option<Value<'c>>,
    /// The phases that are open.
    pub opened: Vec<Option<Opened<'c>>>,
    /// The number of each variable of a carried ring.
    pub values: Vec<Option<Value<'c>>>,
}

impl<'c> Emitter<'_, 'c> {
    fn function(&mut self) -> Result<(), PassError<'c>> {
        let (first, last) = self.plan.range;
        let scope = self.plan.scope;
        let before = self.step_op(scope, first);
        let behind = self.step_op(scope, last).next();
        self.initialise(before);
        self.block(scope)?;
        if let Some(behind) = behind {
            self.finish(behind);
        }
        // What still uses the tokens is for other engines, for which a load is complete.
        for &load in &self.read.loads {
            let token = load.result(0);
            let ready = OpBuilder::new(async_::READY, load.location()).results(&[token.ty()]);
            token.replace_all_uses_with(ready.before(load).result(0));
            load.erase();
        }
        Ok(())
    }

    /// The operation of a step, as it is by now.
    pub(super) fn step_op(&self, block: usize, step: usize) -> Op<'c> {
        match self.read.tree.blocks[block].steps[step] {
            Step::Region(region) => self.read.regions[region],
            _ => self.read.steps[block][step],
        }
    }

    /// A constant, made once where the function starts.
    pub(super) fn constant(&mut self, value: i64, is_index: bool) -> Value<'c> {
        let (entry, location, types) = (self.entry, self.function.location(), &self.types);
        *self.constants.entry((value, is_index)).or_insert_with(|| {
            let ty = if is_index { types.index } else { types.i32 };
            builders::constant(location, ty, value).at_start(entry).result(0)
        })
    }

    pub(super) fn index(&mut self, value: u64) -> Value<'c> {
        self.constant(i64::try_from(value).unwrap_or(i64::MAX), true)
    }

    pub(super) fn small(&mut self, value: u64) -> Value<'c> {
        self.constant(i64::try_from(value).unwrap_or(i64::MAX), false)
    }

    /// True in the thread that issues.
    pub(super) fn leader(&mut self) -> Value<'c> {
        let function = self.function;
        *self.leader.get_or_insert_with(|| block_wide::leader(function))
    }

    pub(super) fn block(&mut self, block: usize) -> Result<(), PassError<'c>> {
        for step in 0..self.read.tree.blocks[block].steps.len() {
            let op = self.step_op(block, step);
            let behind = op.next();
            let opened = self.places.opens.get(&(block, step)).cloned().unwrap_or_default();
            for bundle in opened {
                self.open(bundle, op)?;
            }
            match self.read.tree.blocks[block].steps[step] {
                Step::Load { load, .. } => self.load(load, op)?,
                Step::Await { id, .. } => self.await_phases(id, op)?,
                // Loads behind it rely on that; whoever issues the store finds it done.
                Step::Store { store, .. } => {
                    block_wide::guard_issue(self.types.context, op, self.plan.guards.stores[store]);
                }
                Step::Region(region) => self.region(region)?,
                _ => {}
            }
            let closed = self
                .places
                .closes
                .get(&(block, step))
                .cloned()
                .unwrap_or_default();
            for bundle in closed {
                let behind = behind.ok_or_else(|| bug(op, "ends a block"))?;
                self.close(bundle, behind)?;
            }
        }
        Ok(())
    }

    /// The terminator of a block that only the thread that issues runs, right before `before`.
    pub(super) fn as_leader(&mut self, before: Op<'c>) -> Op<'c> {
        let leader = self.leader();
        if let Some(last) = before.prev()
            && last.is(scf::IF)
            && last.operand(0) == leader
            && last.num_results() == 0
            && let Some(end) = last.region(0).first().and_then(Block::terminator)
        {
            return end;
        }
        block_wide::only_if(leader, before)
    }

    /// Writes what a guard asks for before `before`, with a wait for the last phase of a slot before threads meet. Where they
    /// meet at an mbarrier, its phase is returned, which the issuing thread has yet to wait for.
    fn guard(
        &mut self,
        guard: Guard,
        of: (bool, usize),
        last: Option<(Mbarriers<'c>, Opened<'c>)>,
        before: Op<'c>,
    ) -> Result<Option<Opened<'c>>, PassError<'c>> {
        if guard.fence {
            block_wide::fence(self.types.context, before.location()).before(before);
        }
        if let Some((ring, last)) = last {
            self.wait_for_last(ring, last.slot, &last.number, before);
        }
        if !guard.barrier {
            return Ok(None);
        }
        let Some(reached) = self.reached else {
            write(gpu::BARRIER, &[], &[], before);
            return Ok(None);
        };
        let sync = self.places.syncs.get(&of).map(|&sync| &self.plan.syncs[sync]);
        let known = sync.and_then(|sync| sync.number.clone());
        let counted = || self.reached_counter.map(Number::Counted);
        let number = known.map(Number::Known).or_else(counted);
        let number = number.ok_or_else(|| bug(before, "has a guard without a number"))?;
        if let Number::Counted(counter) = number {
            self.reached_counter = Some(self.next(reached, counter, before));
        }
        let slot = self.slot(reached, &number, before);
        // Who is ahead of the others must not arrive for them: not on a slot where some have yet to.
        if sync.is_none_or(|sync| sync.waits) {
            self.wait_for_last(reached, slot, &number, before);
        }
        let token = mbarrier_token(self.types.context);
        write(nvgpu::MBARRIER_ARRIVE, &[reached.group, slot], &[token], before);
        Ok(Some(Opened { slot, number }))
    }

    /// Opens a phase before `before`.
    fn open(&mut self, b: usize, before: Op<'c>) -> Result<(), PassError<'c>> {
        let bundle = &self.plan.bundles[b];
        let (of_ring, ring) = (&self.plan.rings[bundle.ring], self.rings[bundle.ring]);
        let number = match (self.counters[bundle.ring], &bundle.number) {
            (Some(counter), _) => Number::Counted(self.shifted(ring, counter, bundle.shift, before)),
            (None, Some(number)) => Number::Known(number.clone()),
            (None, None) => return Err(bug(before, "opens a phase without a number")),
        };
        let slot = self.slot(ring, &number, before);
        if let Some(counter) = self.counters[bundle.ring] {
            self.counters[bundle.ring] = Some(self.next(ring, counter, before));
        }
        let opened = Opened { slot, number };
        self.opened[b] = Some(opened.clone());
        let last = (!of_ring.sure && !self.plan.is_first(bundle)).then_some((ring, opened));
        let met = self.guard(self.plan.guards.phases[b], (false, b), last, before)?;
        let bytes = bundle.bytes.map(|bytes| self.index(bytes));
        let parity = self.parity_of(met.as_ref(), before);
        let inside = self.as_leader(before);
        self.wait_until_reached(met.as_ref(), parity, inside);
        if let Some(bytes) = bytes {
            write(
                nvgpu::MBARRIER_ARRIVE_EXPECT_TX,
                &[ring.group, bytes, slot],
                &[],
                inside,
            );
        }
        Ok(())
    }

    /// The parity of the phase in which all threads have come so far.
    fn parity_of(&mut self, met: Option<&Opened<'c>>, before: Op<'c>) -> Option<Value<'c>> {
        let reached = self.reached?;
        met.map(|met| self.parity(reached, &met.number, false, before))
    }

    fn wait_until_reached(&mut self, met: Option<&Opened<'c>>, parity: Option<Value<'c>>, before: Op<'c>) {
        if let (Some(met), Some(parity), Some(reached)) = (met, parity, self.reached) {
            self.wait(reached, met.slot, parity, before);
        }
    }

    /// Arrives on the mbarrier of a phase whose bytes were expected load by load.
    fn close(&mut self, bundle: usize, before: Op<'c>) -> Result<(), PassError<'c>> {
        let slot = self.slot_of(bundle, before)?;
        let group = self.rings[self.plan.bundles[bundle].ring].group;
        let token = mbarrier_token(self.types.context);
        let inside = self.as_leader(before);
        write(nvgpu::MBARRIER_ARRIVE, &[group, slot], &[token], inside);
        Ok(())
    }

    /// The slot of a phase that is open.
    fn slot_of(&self, bundle: usize, at: Op<'c>) -> Result<Value<'c>, PassError<'c>> {
        let opened = self.opened[bundle].as_ref();
        opened
            .map(|opened| opened.slot)
            .ok_or_else(|| bug(at, "comes before its phase is opened"))
    }

    fn load(&mut self, load: usize, op: Op<'c>) -> Result<(), PassError<'c>> {
        let bundles = &self.plan.bundles;
        let b = self.places.bundle_of.get(&load).copied();
        let b = b.ok_or_else(|| bug(op, "has no phase"))?;
        let slot = self.slot_of(b, op)?;
        let group = self.rings[bundles[b].ring].group;
        let met = self.guard(self.plan.guards.loads[load], (true, load), None, op)?;
        let bytes = bundles[b]
            .bytes
            .is_none()
            .then(|| self.small(self.read.tree.loads[load].bytes));
        let parity = self.parity_of(met.as_ref(), op);
        let inside = self.as_leader(op);
        self.wait_until_reached(met.as_ref(), parity, inside);
        if let Some(bytes) = bytes {
            let address = value(nvgpu::MBARRIER_GET, &[group, slot], self.types.i32, inside);
            let pointer = value(
                llvm::INTTOPTR,
                &[address],
                pointer(self.types.context, AddressSpace::Shared),
                inside,
            );
            write(nvvm::MBARRIER_EXPECT_TX, &[pointer, bytes], &[], inside);
        }
        issue(op, group, slot, inside);
        Ok(())
    }

    fn await_phases(&mut self, id: usize, op: Op<'c>) -> Result<(), PassError<'c>> {
        let phases = self.plan.awaits[id].iter();
        phases.copied().try_for_each(|phase| self.await_phase(phase, op))
    }

    fn await_phase(&mut self, phase: Phase, before: Op<'c>) -> Result<(), PassError<'c>> {
        let (ring, known, counted, may_be_ready) = match phase {
            Phase::Bundle(b) => {
                let number = self.opened[b].as_ref().map(|opened| opened.number.clone());
                (self.plan.bundles[b].ring, None, number, false)
            }
            Phase::Var(v) => {
                let var = &self.plan.vars[v];
                let carried = self.plan.rings[var.ring].carried;
                let known = var.number.clone().filter(|_| !carried);
                (
                    var.ring,
                    known.map(Number::Known),
                    self.values[v].map(Number::Counted),
                    var.may_be_ready,
                )
            }
        };
        let number = known
            .or(counted)
            .ok_or_else(|| bug(before, "awaits a phase without a number"))?;
        let before = match number {
            Number::Counted(number) if may_be_ready => self.if_pending(number, before),
            _ => before,
        };
        let ring = self.rings[ring];
        let slot = self.slot(ring, &number, before);
        let parity = self.parity(ring, &number, false, before);
        self.wait(ring, slot, parity, before);
        Ok(())
    }

    /// The end of what is run only if `number` is that of a phase, and not of a complete token.
    fn if_pending(&mut self, number: Value<'c>, before: Op<'c>) -> Op<'c> {
        let zero = self.small(0);
        let pending = compare(Predicate::SignedGreaterOrEqual, number, zero, before);
        block_wide::only_if(pending, before)
    }
}

/// An error that only a plan that does not fit its program makes.
pub(super) fn bug<'c>(op: Op<'c>, what: &str) -> PassError<'c> {
    PassError::new(op, format!("{what} (this is a bug in async-opt)"))
}

/// Writes an operation before `before`.
pub(super) fn write<'c>(name: &str, operands: &[Value<'c>], results: &[Type<'c>], before: Op<'c>) -> Op<'c> {
    OpBuilder::new(name, before.location())
        .operands(operands)
        .results(results)
        .before(before)
}

/// Writes an operation of one result before `before`.
pub(super) fn value<'c>(name: &str, operands: &[Value<'c>], ty: Type<'c>, before: Op<'c>) -> Value<'c> {
    write(name, operands, &[ty], before).result(0)
}

/// Writes a comparison before `before`.
pub(super) fn compare<'c>(predicate: Predicate, a: Value<'c>, b: Value<'c>, before: Op<'c>) -> Value<'c> {
    builders::compare(before.location(), predicate, a, b)
        .before(before)
        .result(0)
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
