//! Writes a plan into the IR.
//!
//! The number of a phase of its ring says all: its slot is the number modulo the depth, its parity that of the quotient.
//! Of rings whose numbers are known, it is computed from induction variables where it is needed. Of the others, the
//! running program counts modulo twice the depth ([`super::thread`] carries the counter and the tokens' numbers through
//! control flow), so that slot and parity take a comparison, and nothing overflows. A token that is complete has
//! number -1 there.

use super::War;
use crate::analysis::tree::Read;
use crate::block_wide;
use async_dialects::ir::{Block, Op, OpBuilder, Value, int_attr};
use async_dialects::melior::Context;
use async_dialects::melior::ir::attribute::IntegerAttribute;
use async_dialects::melior::ir::{Attribute, Location, Type};
use async_dialects::pass::PassError;
use std::collections::HashMap;
use tokenflow::Token;
use tokenflow::phases::{Guard, Linear, Phase, Plan, RingId, Step, Unknown};

/// What a wait suspends a thread for at most before it looks again, as upstream's lowerings have it.
const TICKS: i64 = 10_000_000;

/// Writes `plan`, of what was read from `function`.
pub(super) fn emit<'c>(function: Op<'c>, read: Read<'c>, plan: &Plan, war: War) -> Result<(), PassError<'c>> {
    let Some(entry) = function.region(0).first() else {
        return Ok(());
    };
    let vars = plan.vars.iter().enumerate();
    let mut emitter = Emitter {
        types: Types::new(function.context()),
        entry,
        entry_location: function.location(),
        constants: HashMap::new(),
        leader: None,
        var_of: vars
            .flat_map(|(v, var)| var.tokens.iter().map(move |&token| (token, v)))
            .collect(),
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

/// The types and attributes that are written.
pub(super) struct Types<'c> {
    pub context: &'c Context,
    pub index: Type<'c>,
    pub i1: Type<'c>,
    pub i32: Type<'c>,
}

impl<'c> Types<'c> {
    fn new(context: &'c Context) -> Self {
        let integer = |width| async_dialects::melior::ir::r#type::IntegerType::new(context, width).into();
        Self {
            context,
            index: Type::index(context),
            i1: integer(1),
            i32: integer(32),
        }
    }

    fn parse(&self, text: &str) -> Type<'c> {
        Type::parse(self.context, text).unwrap_or_else(|| panic!("`{text}` is a type of a loaded dialect"))
    }

    fn attribute(&self, text: &str) -> Attribute<'c> {
        Attribute::parse(self.context, text)
            .unwrap_or_else(|| panic!("`{text}` is an attribute of a loaded dialect"))
    }
}

/// Where a phase is: its slot, and its parity if it has been computed.
#[derive(Clone, Copy)]
pub(super) struct Opened<'c> {
    pub slot: Value<'c>,
    /// The number, modulo twice the depth, if the ring is carried.
    pub number: Option<Value<'c>>,
}

pub(super) struct Emitter<'a, 'c> {
    pub types: Types<'c>,
    entry: Block<'c>,
    entry_location: Location<'c>,
    constants: HashMap<(i64, bool), Value<'c>>,
    leader: Option<Value<'c>>,
    pub var_of: HashMap<Token, usize>,
    pub read: Read<'c>,
    pub plan: &'a Plan,
    war: War,
    /// The mbarriers of each ring.
    rings: Vec<Value<'c>>,
    /// The mbarrier at which threads arrive before a load.
    reached: Option<Value<'c>>,
    /// How often each carried ring has been armed, modulo twice its depth.
    pub counters: Vec<Option<Value<'c>>>,
    /// How often threads have met at `reached`, modulo 2, if that is carried.
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
            let ready = OpBuilder::new("async.ready", load.location()).results(&[token.ty()]);
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
        let (entry, location, types) = (self.entry, self.entry_location, &self.types);
        *self.constants.entry((value, is_index)).or_insert_with(|| {
            let ty = if is_index { types.index } else { types.i32 };
            OpBuilder::new("arith.constant", location)
                .results(&[ty])
                .attr("value", IntegerAttribute::new(ty, value).into())
                .at_start(entry)
                .result(0)
        })
    }

    pub(super) fn index(&mut self, value: u64) -> Value<'c> {
        self.constant(i64::try_from(value).unwrap_or(i64::MAX), true)
    }

    pub(super) fn small(&mut self, value: u64) -> Value<'c> {
        self.constant(i64::try_from(value).unwrap_or(i64::MAX), false)
    }

    /// True in the thread that issues.
    fn leader(&mut self) -> Value<'c> {
        let (entry, location, i1) = (self.entry, self.entry_location, self.types.i1);
        *self.leader.get_or_insert_with(|| {
            let known = entry.ops().into_iter().find(|op| op.is("gpux.elect"));
            let elect = || {
                OpBuilder::new("gpux.elect", location)
                    .results(&[i1])
                    .at_start(entry)
            };
            known.unwrap_or_else(elect).result(0)
        })
    }

    pub(super) fn op(
        &self,
        name: &str,
        operands: &[Value<'c>],
        results: &[Type<'c>],
        before: Op<'c>,
    ) -> Op<'c> {
        OpBuilder::new(name, before.location())
            .operands(operands)
            .results(results)
            .before(before)
    }

    pub(super) fn value(
        &self,
        name: &str,
        operands: &[Value<'c>],
        ty: Type<'c>,
        before: Op<'c>,
    ) -> Value<'c> {
        self.op(name, operands, &[ty], before).result(0)
    }

    fn compare(&self, predicate: i64, a: Value<'c>, b: Value<'c>, before: Op<'c>) -> Value<'c> {
        OpBuilder::new("arith.cmpi", before.location())
            .operands(&[a, b])
            .results(&[self.types.i1])
            .attr("predicate", int_attr(self.types.context, 64, predicate))
            .before(before)
            .result(0)
    }

    // Start and end.

    /// Makes and initialises the rings before `before`.
    fn initialise(&mut self, before: Op<'c>) {
        let leader = self.leader();
        let one = self.index(1);
        for ring in &self.plan.rings {
            let group = self.create(ring.depth, before);
            self.rings.push(group);
            for slot in 0..ring.depth {
                let slot = self.index(slot);
                self.op("nvgpu.mbarrier.init", &[group, one, slot, leader], &[], before);
            }
        }
        if self.war == War::Mbarrier && !self.plan.syncs.is_empty() {
            let group = self.create(1, before);
            let (threads, slot) = (self.threads(before), self.index(0));
            self.op(
                "nvgpu.mbarrier.init",
                &[group, threads, slot, leader],
                &[],
                before,
            );
            self.reached = Some(group);
            if self.plan.syncs_carried {
                self.reached_counter = Some(self.small(0));
            }
        }
        for (ring, of) in self.plan.rings.iter().enumerate() {
            if of.carried {
                self.counters[ring] = Some(self.small(0));
            }
        }
        self.op("nvvm.fence.mbarrier.init", &[], &[], before);
        self.op("gpu.barrier", &[], &[], before);
    }

    fn create(&self, depth: u64, before: Op<'c>) -> Value<'c> {
        let count = if depth == 1 {
            String::new()
        } else {
            format!(", num_barriers = {depth}")
        };
        let ty = format!("!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>{count}>");
        self.value("nvgpu.mbarrier.create", &[], self.types.parse(&ty), before)
    }

    /// How many threads the block has.
    fn threads(&mut self, before: Op<'c>) -> Value<'c> {
        let function = before.ancestors().find(|op| op.is_function());
        if let Some(threads) = function.and_then(known_threads) {
            return self.index(threads);
        }
        let mut product = None;
        for dimension in ["x", "y", "z"] {
            let size = OpBuilder::new("gpu.block_dim", before.location())
                .results(&[self.types.index])
                .attr(
                    "dimension",
                    self.types.attribute(&format!("#gpu<dim {dimension}>")),
                )
                .before(before)
                .result(0);
            product = Some(product.map_or(size, |product| {
                self.value("arith.muli", &[product, size], self.types.index, before)
            }));
        }
        product.unwrap_or_else(|| self.index(1))
    }

    /// Waits for what nobody may have waited for, and invalidates the rings, before `before`.
    fn finish(&mut self, before: Op<'c>) {
        for ring in 0..self.plan.rings.len() {
            if !self.plan.rings[ring].sure {
                self.drain(ring, before);
            }
        }
        self.op("gpu.barrier", &[], &[], before);
        let groups: Vec<(Value, u64)> = {
            let depths = self.plan.rings.iter().map(|ring| ring.depth);
            let rings = self.rings.iter().copied().zip(depths);
            rings.chain(self.reached.map(|reached| (reached, 1))).collect()
        };
        let address = self.types.i32;
        let pointer = self.types.parse("!llvm.ptr<3>");
        let slots: Vec<(Value, Value)> = groups
            .into_iter()
            .flat_map(|(group, depth)| (0..depth).map(move |slot| (group, slot)))
            .map(|(group, slot)| (group, self.index(slot)))
            .collect();
        let inside = self.as_leader(before);
        for (group, slot) in slots {
            let address = self.value("nvgpu.mbarrier.get", &[group, slot], address, inside);
            let pointer = self.value("llvm.inttoptr", &[address], pointer, inside);
            self.op("nvvm.mbarrier.inval", &[pointer], &[], inside);
        }
    }

    /// Waits for the last phase of each slot of a ring.
    fn drain(&mut self, ring: RingId, before: Op<'c>) {
        let depth = self.plan.rings[ring].depth;
        if let Some(end) = self.plan.rings[ring].end.clone() {
            for later in 0..depth {
                let mut number = end.clone();
                number.constant += later;
                // Slots that were never armed have no last phase.
                if number.factors.is_empty() && number.constant < depth {
                    continue;
                }
                let slot = self.slot(ring, &number, before);
                let parity = self.parity(ring, &number, true, before);
                self.wait(self.rings[ring], slot, parity, before);
            }
        } else if let Some(mut number) = self.counters[ring] {
            for _ in 0..depth {
                self.wait_for_last(ring, number, before);
                number = self.next(ring, number, before);
            }
        }
    }

    /// Waits for the phase before number `number` on its slot.
    fn wait_for_last(&mut self, ring: RingId, number: Value<'c>, before: Op<'c>) {
        let slot = self.carried_slot(ring, number, before);
        let depth = self.small(self.plan.rings[ring].depth);
        // Less than the depth: parity 0, so the phase before has parity 1.
        let parity = self.compare(SLT, number, depth, before);
        self.wait(self.rings[ring], slot, parity, before);
    }

    // Numbers.

    /// A number in closed form.
    fn number(&mut self, number: &Linear, before: Op<'c>) -> Value<'c> {
        let mut sum = None;
        for (&unknown, &factor) in &number.factors {
            let mut term = self.unknown(unknown, before);
            if factor != 1 {
                let factor = self.index(factor);
                term = self.value("arith.muli", &[term, factor], self.types.index, before);
            }
            sum = Some(sum.map_or(term, |sum| {
                self.value("arith.addi", &[sum, term], self.types.index, before)
            }));
        }
        match sum {
            None => self.index(number.constant),
            Some(sum) if number.constant == 0 => sum,
            Some(sum) => {
                let constant = self.index(number.constant);
                self.value("arith.addi", &[sum, constant], self.types.index, before)
            }
        }
    }

    /// The iteration of a loop, or how often it runs.
    fn unknown(&mut self, unknown: Unknown, before: Op<'c>) -> Value<'c> {
        let (Unknown::Iteration(region) | Unknown::Trips(region)) = unknown;
        let op = self.read.regions[region];
        let [lower, upper, step] = [0, 1, 2].map(|i| op.operand(i));
        let zero = self.index(0);
        match unknown {
            Unknown::Iteration(_) => {
                let variable = self.read.blocks[self.read.tree.regions[region].blocks[0]].arg(0);
                let distance = self.distance(variable, lower, before);
                if step.as_constant_int() == Some(1) {
                    return distance;
                }
                let step = self.as_index(step, before);
                self.value("arith.divui", &[distance, step], self.types.index, before)
            }
            Unknown::Trips(_) => {
                let distance = self.distance(upper, lower, before);
                let none = self.value("arith.maxsi", &[distance, zero], self.types.index, before);
                if step.as_constant_int() == Some(1) {
                    return none;
                }
                let step = self.as_index(step, before);
                self.value("arith.ceildivui", &[none, step], self.types.index, before)
            }
        }
    }

    fn distance(&mut self, to: Value<'c>, from: Value<'c>, before: Op<'c>) -> Value<'c> {
        let to = self.as_index(to, before);
        if from.as_constant_int() == Some(0) {
            return to;
        }
        let from = self.as_index(from, before);
        self.value("arith.subi", &[to, from], self.types.index, before)
    }

    fn as_index(&self, value: Value<'c>, before: Op<'c>) -> Value<'c> {
        if value.ty() == self.types.index {
            return value;
        }
        self.value("arith.index_cast", &[value], self.types.index, before)
    }

    fn slot(&mut self, ring: RingId, number: &Linear, before: Op<'c>) -> Value<'c> {
        let depth = self.plan.rings[ring].depth;
        if number.factors.is_empty() || depth == 1 {
            return self.index(number.constant % depth * u64::from(depth > 1));
        }
        let number = self.number(number, before);
        let depth = self.index(depth);
        self.value("arith.remui", &[number, depth], self.types.index, before)
    }

    /// The parity of a phase, or of the one before it on its slot.
    fn parity(&mut self, ring: RingId, number: &Linear, of_last: bool, before: Op<'c>) -> Value<'c> {
        let depth = self.plan.rings[ring].depth;
        let round = if number.factors.is_empty() {
            self.index(number.constant / depth % 2)
        } else {
            let number = self.number(number, before);
            let two = self.index(2);
            let round = if depth == 1 {
                number
            } else {
                let depth = self.index(depth);
                self.value("arith.divui", &[number, depth], self.types.index, before)
            };
            self.value("arith.remui", &[round, two], self.types.index, before)
        };
        let zero = self.index(0);
        self.compare(if of_last { EQ } else { NE }, round, zero, before)
    }

    fn carried_slot(&mut self, ring: RingId, number: Value<'c>, before: Op<'c>) -> Value<'c> {
        let depth = self.plan.rings[ring].depth;
        if depth == 1 {
            return self.index(0);
        }
        let (depth, i32) = (self.small(depth), self.types.i32);
        let odd = self.compare(SGE, number, depth, before);
        let less = self.value("arith.subi", &[number, depth], i32, before);
        let slot = self.value("arith.select", &[odd, less, number], i32, before);
        self.as_index(slot, before)
    }

    /// The number after `number`.
    fn next(&mut self, ring: RingId, number: Value<'c>, before: Op<'c>) -> Value<'c> {
        self.next_modulo(2 * self.plan.rings[ring].depth, number, before)
    }

    fn next_modulo(&mut self, modulus: u64, number: Value<'c>, before: Op<'c>) -> Value<'c> {
        let (zero, one, modulus) = (self.small(0), self.small(1), self.small(modulus));
        let next = self.value("arith.addi", &[number, one], self.types.i32, before);
        let around = self.compare(EQ, next, modulus, before);
        self.value("arith.select", &[around, zero, next], self.types.i32, before)
    }

    // Steps.

    pub(super) fn block(&mut self, block: usize) -> Result<(), PassError<'c>> {
        for step in 0..self.read.tree.blocks[block].steps.len() {
            let op = self.step_op(block, step);
            let behind = op.next();
            let opened: Vec<usize> = {
                let bundles = self.plan.bundles.iter().enumerate();
                bundles
                    .filter(|(_, bundle)| bundle.home == block && bundle.first == step)
                    .map(|(b, _)| b)
                    .collect()
            };
            for bundle in opened {
                self.open(bundle, op);
            }
            match self.read.tree.blocks[block].steps[step].clone() {
                Step::Load { load, .. } => self.load(load, op),
                Step::Await { id, .. } => self.await_phases(id, op),
                Step::Region(region) => self.region(region)?,
                _ => {}
            }
            let closed = self.plan.bundles.iter().enumerate();
            let closed = closed
                .filter(|(_, bundle)| bundle.home == block && bundle.last == step && bundle.bytes.is_none());
            let closed: Vec<usize> = closed.map(|(b, _)| b).collect();
            for bundle in closed {
                if let Some(behind) = behind {
                    self.close(bundle, behind);
                }
            }
        }
        Ok(())
    }

    /// The terminator of a block that only the thread that issues runs, right before `before`.
    fn as_leader(&mut self, before: Op<'c>) -> Op<'c> {
        let leader = self.leader();
        if let Some(last) = before.prev()
            && last.is("scf.if")
            && last.operand(0) == leader
            && last.num_results() == 0
            && let Some(end) = last.region(0).first().and_then(Block::terminator)
        {
            return end;
        }
        let branch = OpBuilder::new("scf.if", before.location())
            .operands(&[leader])
            .regions(2)
            .before(before);
        let block = Block::new(&[]);
        branch.region(0).append(block);
        OpBuilder::new("scf.yield", before.location()).at_end(block)
    }

    /// Writes what a guard asks for before `before`, except for what the issuing thread has to wait for: the parity of
    /// that, if threads meet at an mbarrier.
    fn guard(&mut self, guard: Guard, of: (bool, usize), before: Op<'c>) -> Option<Value<'c>> {
        if guard.fence {
            block_wide::fence(self.types.context, before.location()).before(before);
        }
        if !guard.barrier {
            return None;
        }
        let Some(reached) = self.reached else {
            self.op("gpu.barrier", &[], &[], before);
            return None;
        };
        let (zero, none) = (self.index(0), self.small(0));
        let token = self.types.parse("!nvgpu.mbarrier.token");
        self.op("nvgpu.mbarrier.arrive", &[reached, zero], &[token], before);
        let sync = self.plan.syncs.iter().find(|sync| (sync.load, sync.of) == of);
        if let Some(number) = sync.and_then(|sync| sync.number.clone()) {
            // One mbarrier: the parity is that of the number.
            let two = self.index(2);
            let number = self.number(&number, before);
            let odd = self.value("arith.remui", &[number, two], self.types.index, before);
            return Some(self.compare(NE, odd, zero, before));
        }
        let number = self.reached_counter?;
        self.reached_counter = Some(self.next_modulo(2, number, before));
        Some(self.compare(NE, number, none, before))
    }

    /// Opens a phase before `before`.
    fn open(&mut self, b: usize, before: Op<'c>) {
        let bundle = &self.plan.bundles[b];
        let (ring, group) = (bundle.ring, self.rings[bundle.ring]);
        let met = self.guard(self.plan.guards.phases[b], (false, b), before);
        let opened = match (&bundle.number, self.counters[ring]) {
            (Some(number), _) => Opened {
                slot: self.slot(ring, number, before),
                number: None,
            },
            (None, Some(number)) => {
                let slot = self.carried_slot(ring, number, before);
                self.counters[ring] = Some(self.next(ring, number, before));
                Opened {
                    slot,
                    number: Some(number),
                }
            }
            (None, None) => unreachable!("a ring has numbers, or is carried"),
        };
        self.opened[b] = Some(opened);
        let bytes = bundle.bytes.map(|bytes| self.index(bytes));
        let last = if self.plan.rings[ring].sure {
            None
        } else if let Some(number) = &bundle.number {
            Some(self.parity(ring, number, true, before))
        } else {
            let depth = self.small(self.plan.rings[ring].depth);
            opened
                .number
                .map(|number| self.compare(SLT, number, depth, before))
        };
        let inside = self.as_leader(before);
        self.wait_until_reached(met, inside);
        if let Some(parity) = last {
            self.wait(group, opened.slot, parity, inside);
        }
        if let Some(bytes) = bytes {
            let operands = [group, bytes, opened.slot];
            self.op("nvgpu.mbarrier.arrive.expect_tx", &operands, &[], inside);
        }
    }

    fn wait_until_reached(&mut self, parity: Option<Value<'c>>, before: Op<'c>) {
        if let (Some(parity), Some(reached)) = (parity, self.reached) {
            let zero = self.index(0);
            self.wait(reached, zero, parity, before);
        }
    }

    /// Arrives on the mbarrier of a phase whose bytes were expected load by load.
    fn close(&mut self, bundle: usize, before: Op<'c>) {
        let Some(opened) = self.opened[bundle] else { return };
        let group = self.rings[self.plan.bundles[bundle].ring];
        let token = self.types.parse("!nvgpu.mbarrier.token");
        let inside = self.as_leader(before);
        self.op("nvgpu.mbarrier.arrive", &[group, opened.slot], &[token], inside);
    }

    fn load(&mut self, load: usize, op: Op<'c>) {
        let bundles = &self.plan.bundles;
        let Some(b) = bundles.iter().position(|bundle| bundle.loads.contains(&load)) else {
            return;
        };
        let Some(opened) = self.opened[b] else { return };
        let group = self.rings[bundles[b].ring];
        let met = self.guard(self.plan.guards.loads[load], (true, load), op);
        let bytes = bundles[b]
            .bytes
            .is_none()
            .then(|| self.small(self.read.tree.loads[load].bytes));
        let inside = self.as_leader(op);
        self.wait_until_reached(met, inside);
        if let Some(bytes) = bytes {
            let address = self.value(
                "nvgpu.mbarrier.get",
                &[group, opened.slot],
                self.types.i32,
                inside,
            );
            let pointer = self.value(
                "llvm.inttoptr",
                &[address],
                self.types.parse("!llvm.ptr<3>"),
                inside,
            );
            self.op("nvvm.mbarrier.expect_tx", &[pointer, bytes], &[], inside);
        }
        issue(op, group, opened.slot, inside);
    }

    fn await_phases(&mut self, id: usize, op: Op<'c>) {
        for phase in self.plan.awaits[id].clone() {
            self.await_phase(phase, op);
        }
    }

    fn await_phase(&mut self, phase: Phase, before: Op<'c>) {
        let (ring, number, value, may_be_ready) = match phase {
            Phase::Bundle(b) => {
                let bundle = &self.plan.bundles[b];
                (
                    bundle.ring,
                    bundle.number.clone(),
                    self.opened[b].and_then(|opened| opened.number),
                    false,
                )
            }
            Phase::Var(v) => {
                let var = &self.plan.vars[v];
                (var.ring, var.number.clone(), self.values[v], var.may_be_ready)
            }
        };
        let group = self.rings[ring];
        if let Some(number) = number {
            let slot = self.slot(ring, &number, before);
            let parity = self.parity(ring, &number, false, before);
            self.wait(group, slot, parity, before);
            return;
        }
        let Some(value) = value else { return };
        let (zero, depth) = (self.small(0), self.small(self.plan.rings[ring].depth));
        let before = if may_be_ready {
            let pending = self.compare(SGE, value, zero, before);
            let branch = OpBuilder::new("scf.if", before.location())
                .operands(&[pending])
                .regions(2)
                .before(before);
            let block = Block::new(&[]);
            branch.region(0).append(block);
            OpBuilder::new("scf.yield", before.location()).at_end(block)
        } else {
            before
        };
        let slot = self.carried_slot(ring, value, before);
        let parity = self.compare(SGE, value, depth, before);
        self.wait(group, slot, parity, before);
    }

    fn wait(&mut self, group: Value<'c>, slot: Value<'c>, parity: Value<'c>, before: Op<'c>) {
        let ticks = self.constant(TICKS, true);
        self.op(
            "nvgpu.mbarrier.try_wait.parity",
            &[group, parity, ticks, slot],
            &[],
            before,
        );
    }
}

// Predicates of arith.cmpi.
const EQ: i64 = 0;
const NE: i64 = 1;
const SLT: i64 = 2;
const SGE: i64 = 5;

/// Writes the issued form of a load before `before`; the token form stays, for its token.
fn issue<'c>(load: Op<'c>, group: Value<'c>, slot: Value<'c>, before: Op<'c>) {
    use async_dialects::melior::ir::attribute::DenseI32ArrayAttribute;
    let operands: Vec<Value> = load.operands().collect();
    // Dependencies were awaited; then come the operands of the token form, the mbarriers and the slot.
    let indices = i32::try_from(operands.len()).unwrap_or(i32::MAX) - 2;
    let segments: Vec<i32> = if load.is("gpux.tma_load") {
        vec![0, 1, indices, 1, 1, 1]
    } else {
        vec![0, 1, 1, 1, 1]
    };
    let issued = OpBuilder::new(load.name(), load.location())
        .operands(&operands)
        .operands(&[group, slot])
        .attr(
            "operandSegmentSizes",
            DenseI32ArrayAttribute::new(load.context(), &segments).into(),
        )
        .before(before);
    issued.copy_discardable_attrs(load);
}

/// `known_block_size` of a function, as a number of threads.
fn known_threads(function: Op<'_>) -> Option<u64> {
    use async_dialects::melior::ir::attribute::DenseI32ArrayAttribute;
    let sizes = function
        .attr("known_block_size")
        .or_else(|| function.attr("gpu.known_block_size"))?;
    let sizes = DenseI32ArrayAttribute::try_from(sizes).ok()?;
    (0..sizes.len())
        .map(|i| sizes.element(i).ok().and_then(|size| u64::try_from(size).ok()))
        .product()
}
