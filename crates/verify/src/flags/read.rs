//! Reads functions: part of what is trusted. What operations do, the reader of [orders](crate::orders) says; where that is, `async-locations`.

mod facts;
mod needs;

use super::check::{Fault, Refusal, check};
use super::code::{Code, Flag, FlagKind, Instr, Loop, NeedId};
use super::values::{Sources, is_branch};
use crate::orders::Fence;
use crate::orders::read::Reader as Effects;
use async_dialects::completion::engine_name;
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::ir::{Block, Op, Region, Value, Walk};
use async_mlir::names::scf;
use facts::{Facts, Needed, What};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The machine that flags are for.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// The kind of flags.
    pub kind: FlagKind,
    /// The number of flags from one engine to another.
    pub limit: &'a dyn Fn(&str, &str) -> usize,
}

/// What is wrong with a function.
#[derive(Clone, Debug)]
pub struct Failure<'c> {
    /// Where.
    pub op: Op<'c>,
    /// What, after the name of the operation.
    pub what: String,
    /// What `op` had to wait for.
    pub earlier: Option<Op<'c>>,
}

/// Checks that flags keep every dependence between engines in `function`, that no wait for one hangs, and that none is set while it may be set.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn verify<'c>(function: Op<'c>, machine: Machine) -> Result<(), Failure<'c>> {
    let ops = function.self_and_nested();
    if !ops.iter().any(|op| engine_name(*op).is_some() || is_flag(*op)) {
        return Ok(());
    }
    let mut reader = Reader::new(machine);
    let blocks: Vec<Block> = function.regions().flat_map(Region::blocks).collect();
    let [block] = blocks[..] else {
        return Err(failure(function, "has several blocks"));
    };
    reader.block(block, None)?;
    reader.finish();
    let is_needed = |need, fact| reader.facts.is_needed(need, fact, &reader.effects.places);
    check(&reader.code, machine.kind, &is_needed).map_err(|refusal| reader.failure(function, refusal))
}

/// Returns true if `op` sets a flag or waits for one.
#[must_use]
pub fn is_flag(op: Op<'_>) -> bool {
    op.is(gpux::SET_FLAG) || op.is(gpux::WAIT_FLAG)
}

fn failure<'c>(op: Op<'c>, what: &str) -> Failure<'c> {
    Failure {
        op,
        what: what.to_owned(),
        earlier: None,
    }
}

/// What runs on no engine counts as an engine to which no flag leads.
const NO_ENGINE: usize = 0;

struct Reader<'a, 'c> {
    machine: Machine<'a>,
    code: Code,
    /// The operation of each instruction.
    ops: Vec<Vec<Op<'c>>>,
    engines: FxHashMap<&'c str, usize>,
    flags: FxHashMap<(usize, usize, i64), usize>,
    /// The engines that have anything to do in each block.
    active: Vec<BTreeSet<usize>>,
    effects: Effects<'c, 'c>,
    facts: Facts<'c>,
    loops: FxHashMap<Op<'c>, usize>,
    sources: Sources<'c>,
}

impl<'a, 'c> Reader<'a, 'c> {
    fn new(machine: Machine<'a>) -> Self {
        Self {
            machine,
            code: Code::default(),
            ops: Vec::new(),
            engines: FxHashMap::default(),
            flags: FxHashMap::default(),
            active: Vec::new(),
            effects: Effects::of_any_block(),
            facts: Facts::default(),
            loops: FxHashMap::default(),
            sources: Sources::default(),
        }
    }

    fn engine(&mut self, name: &'c str) -> usize {
        let next = self.engines.len() + 1;
        *self.engines.entry(name).or_insert(next)
    }

    fn add_block(&mut self) -> usize {
        self.code.blocks.push(Vec::new());
        self.ops.push(Vec::new());
        self.active.push(BTreeSet::new());
        self.code.blocks.len() - 1
    }

    fn add(&mut self, block: usize, op: Op<'c>, instr: Instr) {
        self.code.blocks[block].push(instr);
        self.ops[block].push(op);
    }

    /// Reads `block`, which is in the loop of number `around`.
    fn block(&mut self, block: Block<'c>, around: Option<usize>) -> Result<usize, Failure<'c>> {
        let id = self.add_block();
        for op in block.ops() {
            if op.is_function() || op.is_terminator() && op.num_regions() == 0 {
                continue;
            }
            if is_flag(op) {
                self.flag(id, op)?;
            } else if let Some(name) = engine_name(op) {
                let engine = self.engine(name);
                self.operation(id, op, engine, around);
            } else if has_blocks(op)
                || op.num_regions() > 0 && op.self_and_nested().into_iter().any(is_of_engine)
            {
                self.region_op(id, op, around)?;
            } else {
                self.operation(id, op, NO_ENGINE, around);
            }
        }
        Ok(id)
    }

    fn flag(&mut self, block: usize, op: Op<'c>) -> Result<(), Failure<'c>> {
        let ends = op.str_attr(gpux_attr::FROM).zip(op.str_attr(gpux_attr::TO));
        let Some(((from, to), id)) = ends.zip(op.int_attr(gpux_attr::ID)) else {
            return Err(failure(op, "names no flag"));
        };
        if !usize::try_from(id).is_ok_and(|id| id < (self.machine.limit)(from, to)) {
            return Err(failure(op, "is of a flag that there is not"));
        }
        let (from, to) = (self.engine(from), self.engine(to));
        let next = self.flags.len();
        let flag = *self.flags.entry((from, to, id)).or_insert(next);
        if flag == next {
            let waited = self.facts.need(Needed::Waits(flag));
            self.code.flags.push(Flag { from, to, waited });
        }
        let (engine, instr) = if op.is(gpux::SET_FLAG) {
            (from, Instr::Set(flag))
        } else {
            let over = self.facts.add(to, What::Wait(flag), None, op);
            (to, Instr::Wait(flag, over))
        };
        self.active[block].insert(engine);
        self.add(block, op, instr);
        Ok(())
    }

    /// Reads an operation of `engine`, with all that is in it.
    fn operation(&mut self, block: usize, op: Op<'c>, engine: usize, around: Option<usize>) {
        let step = self.effects.step(op);
        let is_fence = step.fence != Fence::None;
        if engine == NO_ENGINE && !is_fence && step.accesses.is_empty() {
            return;
        }
        let (mut needs, mut does) = (Vec::new(), Vec::new());
        let accesses: FxHashSet<(usize, bool)> = step
            .accesses
            .iter()
            .map(|access| (access.place, access.writes))
            .collect();
        for (place, writes) in accesses {
            needs.push(self.need_access(place, writes, around));
            let has_slot = self.effects.places[place].has_slot();
            let what = What::Access(place, writes, has_slot);
            does.push(self.facts.add(engine, what, around, op));
        }
        if step.does_anything() {
            needs.push(self.facts.need(Needed::Fences));
        }
        if is_fence {
            needs.push(self.facts.need(Needed::All));
            does.push(self.facts.add(engine, What::Fence, None, op));
        } else if step.does_anything() && step.accesses.is_empty() {
            does.push(self.facts.add(engine, What::Other, None, op));
        }
        needs.extend(self.values_of(op));
        if engine != NO_ENGINE && op.num_results() > 0 {
            does.push(self.facts.add(engine, What::Value(op), around, op));
        }
        self.active[block].insert(engine);
        self.add(block, op, Instr::Run { engine, needs, does });
    }

    /// What an access to a place needs, in a loop. Only where its index is computed does that depend on the loop.
    fn need_access(&mut self, place: usize, writes: bool, around: Option<usize>) -> NeedId {
        let around = around.filter(|_| self.effects.places[place].has_slot());
        self.facts.need(Needed::Access(place, writes, around))
    }

    /// What `op` needs of the values that it uses, also in its regions.
    fn values_of(&mut self, op: Op<'c>) -> Vec<usize> {
        let mut used = FxHashSet::default();
        op.walk(|inner| {
            used.extend(inner.operands());
            Walk::Advance
        });
        let needs: BTreeSet<usize> = used.into_iter().flat_map(|value| self.value(value)).collect();
        needs.into_iter().collect()
    }

    /// What is needed of `value`.
    fn value(&mut self, value: Value<'c>) -> Vec<usize> {
        let needs = self.sources.of(value);
        let needs = needs.iter().map(|source| {
            // Which loop is numbered how is known where all are.
            self.facts.need(Needed::Value(source.op, source.carried))
        });
        needs.collect()
    }

    /// Reads an operation with regions in which engines have something to do.
    fn region_op(&mut self, block: usize, op: Op<'c>, around: Option<usize>) -> Result<(), Failure<'c>> {
        let is_loop = op.is(scf::FOR) || op.is(scf::WHILE);
        if !is_loop && !is_branch(op) {
            return Err(failure(
                op,
                "has operations of engines inside, and is not known to the check",
            ));
        }
        let inside = if is_loop {
            let number = self.facts.add_loop(around);
            self.loops.insert(op, number);
            Some(number)
        } else {
            around
        };
        let mut blocks = Vec::new();
        for region in op.regions() {
            match region.blocks()[..] {
                [] => blocks.push(self.add_block()),
                [inner] => blocks.push(self.block(inner, inside)?),
                _ => return Err(failure(op, "has several blocks")),
            }
        }
        let active: BTreeSet<usize> = blocks
            .iter()
            .flat_map(|block| self.active[*block].clone())
            .collect();
        self.active[block].extend(&active);
        let conditions = match () {
            () if op.is(scf::WHILE) => Vec::new(),
            () if op.is(scf::FOR) => (0..3).map(|operand| op.operand(operand)).collect(),
            () => op.operands().collect::<Vec<_>>(),
        };
        self.know(block, op, &active, &conditions);
        if let (Some(number), true) = (inside, is_loop) {
            let instr = self.loop_(op, number, &blocks);
            self.add(block, op, Instr::Loop(instr));
        } else {
            self.add(block, op, Instr::Branch(blocks));
        }
        Ok(())
    }

    /// All of `engines` have to know `conditions` where `op` stands.
    fn know(&mut self, block: usize, op: Op<'c>, engines: &BTreeSet<usize>, conditions: &[Value<'c>]) {
        let needs: BTreeSet<usize> = conditions.iter().flat_map(|value| self.value(*value)).collect();
        for engine in engines.iter().filter(|_| !needs.is_empty()) {
            let instr = Instr::Know {
                engine: *engine,
                needs: needs.iter().copied().collect(),
            };
            self.add(block, op, instr);
        }
    }

    /// The loop `op` of `blocks`.
    fn loop_(&mut self, op: Op<'c>, number: usize, blocks: &[usize]) -> Loop {
        let empty = self.add_block();
        let (mut before, mut after, mut due) = (empty, empty, Vec::new());
        if let ([first, second], true) = (blocks, op.is(scf::WHILE)) {
            (before, after) = (*first, *second);
            let ends = op
                .regions()
                .next()
                .and_then(Region::first)
                .and_then(Block::terminator);
            if let Some(condition) = ends
                .filter(|end| end.num_operands() > 0)
                .map(|end| end.operand(0))
            {
                let enters = self.active[after].clone();
                self.know(before, op, &enters, &[condition]);
                let needs = self.value(condition);
                let only_before = self.active[before].difference(&enters);
                due = only_before.map(|engine| (*engine, needs.clone())).collect();
            }
        } else if let [body] = blocks {
            after = *body;
        }
        Loop {
            number,
            before,
            after,
            aged: Vec::new(),
            due,
        }
    }

    /// Fills in what is known once all has been read.
    fn finish(&mut self) {
        self.code.engines = self.engines.len() + 1;
        self.code.loops = self.facts.num_loops();
        self.code.facts = self.facts.number();
        (self.code.lists, self.code.needs) = self.facts.needs(&self.effects.places, &self.loops);
        let mut aged = self.facts.aged();
        for instr in self.code.blocks.iter_mut().flatten() {
            match instr {
                Instr::Run { does, .. } => does
                    .iter_mut()
                    .for_each(|fact| *fact = self.facts.last_number(*fact)),
                Instr::Wait(_, over) => *over = self.facts.last_number(*over),
                Instr::Loop(inner) => inner.aged = std::mem::take(&mut aged[inner.number]),
                Instr::Know { .. } | Instr::Set(_) | Instr::Branch(_) => {}
            }
        }
    }

    fn failure(&self, function: Op<'c>, refusal: Refusal) -> Failure<'c> {
        let op = self.ops[refusal.block].get(refusal.instr).copied();
        let (what, fact) = match refusal.fault {
            Fault::Unordered(fact) => ("may begin before what it depends on is finished", Some(fact)),
            Fault::UnknownCondition(fact) => (
                "is reached by an engine that may not know yet which way to go",
                Some(fact),
            ),
            Fault::SetTwice(_) => ("sets a flag that is set", None),
            Fault::MayBeSet(wait) => ("may set a flag before the last wait for it is over", Some(wait)),
            Fault::Hangs(_) => ("waits for a flag that is not set", None),
            Fault::Unbalanced(_) => ("leaves a flag set on one path, and not on another", None),
            Fault::LeftSet(_) => ("leaves a flag set at its end", None),
        };
        Failure {
            op: op.unwrap_or(function),
            what: what.to_owned(),
            earlier: fact.map(|fact| self.facts.op(fact)),
        }
    }
}

/// Returns true if `op` runs on an engine, or is about a flag.
fn is_of_engine(op: Op<'_>) -> bool {
    engine_name(op).is_some() || is_flag(op)
}

/// Returns true if it is known which way control takes through the regions of `op`, which have a block each.
fn has_blocks(op: Op<'_>) -> bool {
    let is_known = op.is(scf::FOR) || op.is(scf::WHILE) || is_branch(op);
    is_known && op.regions().all(|region| region.blocks().len() <= 1)
}
