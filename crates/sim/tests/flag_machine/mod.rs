//! The machine of `--gpux-insert-flags`: executes a function with flags, with numbers at random, and follows what each engine knows of the
//! others. It shares no code with the pass or its check.

use crate::random::Random;
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::{arith, attr, gpu, memref, scf};
use async_mlir::types::{DYNAMIC, array_numbers, dense_numbers};
use async_verify::flags::FlagKind;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// By engine, up to which of its instructions all is finished.
type Clock = BTreeMap<String, usize>;

/// What runs on no engine: one that no flag leads to.
const NO_ENGINE: &str = "";

/// An execution ends after so many operations.
const MOST_STEPS: usize = 2000;

/// So many rows have buffers at most.
const ROWS: i64 = 8;

/// Why an execution ends early.
enum End {
    Wrong(String),
    /// It takes too long.
    Long,
}

#[derive(Clone, Copy)]
enum Content {
    Number(i64),
    /// A buffer, and one of its rows, or all.
    Buffer(usize, Option<i64>),
}

/// A value, and the instructions that have made it.
type Known = (Content, Clock);

/// The engines that set a flag and wait for it, and its number.
type Flag = (String, String, i64);

struct Machine<'c> {
    random: Random,
    kind: FlagKind,
    values: HashMap<Value<'c>, Known>,
    buffers: usize,
    /// What each engine knows, with what it has done itself.
    knows: BTreeMap<String, Clock>,
    /// What each engine has to know before it does anything.
    due: BTreeMap<String, Clock>,
    set: BTreeMap<Flag, VecDeque<Clock>>,
    waited: BTreeMap<Flag, Clock>,
    /// By buffer and row, what read and wrote it last.
    cells: BTreeMap<(usize, i64), [Clock; 2]>,
    /// The last instruction of each engine that a fence orders, and its last fence.
    ordered: Clock,
    fences: Clock,
    steps: usize,
}

/// Executes `function` once. Returns what goes wrong, if anything does.
pub fn execute(function: Op<'_>, kind: FlagKind, seed: u64) -> Option<String> {
    let mut machine = Machine {
        random: Random(seed),
        kind,
        values: HashMap::new(),
        buffers: 0,
        knows: BTreeMap::new(),
        due: BTreeMap::new(),
        set: BTreeMap::new(),
        waited: BTreeMap::new(),
        cells: BTreeMap::new(),
        ordered: Clock::new(),
        fences: Clock::new(),
        steps: 0,
    };
    match machine.function(function) {
        Ok(()) | Err(End::Long) => None,
        Err(End::Wrong(what)) => Some(what),
    }
}

fn join(clock: &mut Clock, other: &Clock) {
    for (engine, at) in other {
        let known = clock.entry(engine.clone()).or_default();
        *known = (*known).max(*at);
    }
}

fn flag(op: Op<'_>) -> Flag {
    let ends = op.str_attr(gpux_attr::FROM).zip(op.str_attr(gpux_attr::TO));
    let (from, to) = ends.expect("two engines");
    let id = op.int_attr(gpux_attr::ID).expect("an id");
    (from.to_owned(), to.to_owned(), id)
}

/// The engines that have anything to do in `region`.
fn active(region: Region<'_>) -> BTreeSet<String> {
    let ops = region.blocks().into_iter().flat_map(Block::ops);
    let ops = ops.flat_map(Op::self_and_nested);
    let engine = |op: Op| match op.name() {
        gpux::SET_FLAG => Some(flag(op).0),
        gpux::WAIT_FLAG => Some(flag(op).1),
        memref::STORE => Some(NO_ENGINE.to_owned()),
        _ => op.str_attr(gpux_attr::ENGINE).map(str::to_owned),
    };
    ops.filter_map(engine).collect()
}

impl<'c> Machine<'c> {
    fn function(&mut self, function: Op<'c>) -> Result<(), End> {
        let block = function.region(0).first().expect("a body");
        for (number, argument) in block.args().enumerate() {
            let content = if argument.ty().is_mem_ref() {
                // The second one may be the first one.
                let is_new = number != 1 || self.random.below(2) == 0;
                self.buffers += usize::from(is_new);
                Content::Buffer(if is_new { self.buffers } else { 1 }, None)
            } else {
                self.number()
            };
            self.values.insert(argument, (content, Clock::new()));
        }
        self.region(function.region(0))?;
        match self.set.iter().find(|(_, set)| !set.is_empty()) {
            Some((flag, _)) => Err(End::Wrong(format!("{flag:?} is left set"))),
            None => Ok(()),
        }
    }

    fn number(&mut self) -> Content {
        Content::Number([0, 0, 1, 2, 3][self.random.below(5)])
    }

    fn integer(&self, value: Value<'c>) -> i64 {
        match self.values[&value].0 {
            Content::Number(number) => number,
            Content::Buffer(..) => panic!("a number"),
        }
    }

    fn made(&self, values: impl Iterator<Item = Value<'c>>) -> Clock {
        let mut all = Clock::new();
        values.for_each(|value| join(&mut all, &self.values[&value].1));
        all
    }

    fn need(&self, engine: &str, clock: &Clock, op: Op, what: &str) -> Result<(), End> {
        let knows = self.knows.get(engine);
        let is_unknown = |(other, at): &(&String, &usize)| {
            *other != engine
                && knows
                    .and_then(|knows| knows.get(*other))
                    .is_none_or(|known| known < *at)
        };
        match clock.iter().find(is_unknown) {
            Some((other, at)) => {
                let message = format!("{op}: '{engine}' does not know {at} of '{other}' ({what})");
                Err(End::Wrong(message))
            }
            None => Ok(()),
        }
    }

    /// `engine` executes an instruction.
    fn act(&mut self, engine: &str, op: Op) -> Result<usize, End> {
        let due = self.due.remove(engine).unwrap_or_default();
        self.need(engine, &due, op, "the condition of a loop")?;
        Ok(self.tick(engine))
    }

    fn tick(&mut self, engine: &str) -> usize {
        let own = self.knows.entry(engine.to_owned()).or_default();
        let at = own.entry(engine.to_owned()).or_default();
        *at += 1;
        *at
    }

    /// All that have anything to do in `regions` know what decides about them.
    fn decide(
        &self,
        op: Op<'c>,
        regions: impl Iterator<Item = Region<'c>>,
        clock: &Clock,
    ) -> Result<(), End> {
        regions
            .flat_map(active)
            .try_for_each(|engine| self.need(&engine, clock, op, "which way to go"))
    }

    /// Executes the block of a region, and returns the values that it ends with.
    fn region(&mut self, region: Region<'c>) -> Result<Vec<Known>, End> {
        let Some(block) = region.first() else {
            return Ok(Vec::new());
        };
        for op in block.ops() {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(End::Long);
            }
            if op.is_terminator() {
                return Ok(self.known(op.operands()));
            }
            self.op(op)?;
        }
        Ok(Vec::new())
    }

    fn known(&self, values: impl Iterator<Item = Value<'c>>) -> Vec<Known> {
        values.map(|value| self.values[&value].clone()).collect()
    }

    fn bind(&mut self, values: impl Iterator<Item = Value<'c>>, known: Vec<Known>, also: &Clock) {
        for (value, (content, mut made)) in values.zip(known) {
            join(&mut made, also);
            self.values.insert(value, (content, made));
        }
    }

    fn op(&mut self, op: Op<'c>) -> Result<(), End> {
        match op.name() {
            gpux::SET_FLAG => self.set(op),
            gpux::WAIT_FLAG => self.wait(op),
            scf::FOR => self.for_loop(op),
            scf::WHILE => self.while_loop(op),
            scf::IF => {
                let made = self.made(op.operands());
                self.decide(op, op.regions(), &made)?;
                let way = usize::from(self.integer(op.operand(0)) == 0);
                let ends = self.region(op.region(way))?;
                self.bind(op.results(), ends, &made);
                Ok(())
            }
            scf::EXECUTE_REGION => {
                let ends = self.region(op.region(0))?;
                self.bind(op.results(), ends, &Clock::new());
                Ok(())
            }
            memref::STORE => {
                let made = self.made(op.operands());
                self.need(NO_ENGINE, &made, op, "a value")?;
                self.access(NO_ENGINE, op, &[1], true)
            }
            gpu::BARRIER => {
                let engine = op.str_attr(gpux_attr::ENGINE).expect("an engine");
                self.need(engine, &self.ordered, op, "before a fence")?;
                let at = self.act(engine, op)?;
                self.ordered.insert(engine.to_owned(), at);
                self.fences.insert(engine.to_owned(), at);
                Ok(())
            }
            _ => match op.str_attr(gpux_attr::ENGINE) {
                Some(engine) => self.engine_op(op, engine),
                None => {
                    let made = self.made(op.operands());
                    let content = self.pure(op);
                    self.values.insert(op.result(0), (content, made));
                    Ok(())
                }
            },
        }
    }

    /// The row that a view is of.
    fn row(&self, view: Value<'c>) -> i64 {
        match self.values[&view].0 {
            Content::Buffer(_, Some(row)) => row,
            _ => panic!("a row"),
        }
    }

    /// The result of an operation that runs on no engine, and has no effects.
    fn pure(&mut self, op: Op<'c>) -> Content {
        let integer = |index| self.integer(op.operand(index));
        match op.name() {
            arith::CONSTANT => Content::Number(op.result(0).as_constant_int().expect("a number")),
            arith::CMPI => Content::Number(i64::from(integer(0) == integer(1))),
            arith::ADDI => Content::Number(integer(0) + integer(1)),
            arith::REMUI => Content::Number(integer(0) % integer(1)),
            arith::SELECT => self.values[&op.operand(if integer(0) == 0 { 2 } else { 1 })].0,
            memref::ALLOC => {
                self.buffers += 1;
                Content::Buffer(self.buffers, None)
            }
            memref::SUBVIEW | memref::VIEW | memref::REINTERPRET_CAST => {
                let offsets = op.attr(attr::STATIC_OFFSETS).and_then(dense_numbers);
                let row = match offsets.as_deref() {
                    // It counts in bytes from where its view begins.
                    Some([bytes]) => self.row(op.operand(0)) + bytes / 64,
                    Some([row, ..]) if *row != DYNAMIC => *row,
                    Some(_) => integer(1),
                    // A row of so many bytes.
                    None => integer(1) / 64,
                };
                match self.values[&op.operand(0)].0 {
                    Content::Buffer(buffer, _) => Content::Buffer(buffer, Some(row)),
                    Content::Number(_) => panic!("a buffer"),
                }
            }
            other => panic!("{other}"),
        }
    }

    fn engine_op(&mut self, op: Op<'c>, engine: &str) -> Result<(), End> {
        let made = self.made(op.operands());
        self.need(engine, &made, op, "a value")?;
        let list = |name| op.attr(name).and_then(array_numbers).unwrap_or_default();
        let (reads, writes) = (list(gpux_attr::READS), list(gpux_attr::WRITES));
        self.access(engine, op, &reads, false)?;
        self.access(engine, op, &writes, true)?;
        if reads.is_empty() && writes.is_empty() {
            self.act(engine, op)?;
        }
        let made = Clock::from([(engine.to_owned(), self.knows[engine][engine])]);
        for result in op.results() {
            let content = self.number();
            self.values.insert(result, (content, made.clone()));
        }
        Ok(())
    }

    /// `engine` accesses the buffers at operands of these numbers.
    fn access(&mut self, engine: &str, op: Op<'c>, numbers: &[i64], writes: bool) -> Result<(), End> {
        if numbers.is_empty() {
            return Ok(());
        }
        self.need(engine, &self.fences, op, "after a fence")?;
        let at = self.act(engine, op)?;
        for number in numbers {
            let operand = op.operand(usize::try_from(*number).expect("an operand"));
            let Content::Buffer(buffer, row) = self.values[&operand].0 else {
                panic!("a buffer");
            };
            let rows = row.map_or(0..ROWS, |row| row..row + 1);
            for row in rows {
                let [read, written] = self.cells.entry((buffer, row)).or_default().clone();
                self.need(engine, &written, op, "what it accesses is written")?;
                if writes {
                    self.need(engine, &read, op, "what it writes is read")?;
                }
                let cell = self.cells.entry((buffer, row)).or_default();
                cell[usize::from(writes)].insert(engine.to_owned(), at);
            }
        }
        self.ordered.insert(engine.to_owned(), at);
        Ok(())
    }

    fn set(&mut self, op: Op<'c>) -> Result<(), End> {
        let flag = flag(op);
        let is_set = self.set.get(&flag).is_some_and(|set| !set.is_empty());
        if self.kind == FlagKind::Binary {
            if is_set {
                return Err(End::Wrong(format!("{op}: is set")));
            }
            let waited = self.waited.get(&flag).cloned().unwrap_or_default();
            self.need(&flag.0, &waited, op, "the last wait")?;
        }
        self.act(&flag.0, op)?;
        let knows = self.knows[&flag.0].clone();
        self.set.entry(flag).or_default().push_back(knows);
        Ok(())
    }

    fn wait(&mut self, op: Op<'c>) -> Result<(), End> {
        let flag = flag(op);
        let Some(told) = self.set.get_mut(&flag).and_then(VecDeque::pop_front) else {
            return Err(End::Wrong(format!("{op}: is not set")));
        };
        join(self.knows.entry(flag.1.clone()).or_default(), &told);
        let at = self.tick(&flag.1);
        self.waited.insert(flag.clone(), Clock::from([(flag.1, at)]));
        Ok(())
    }

    fn for_loop(&mut self, op: Op<'c>) -> Result<(), End> {
        let made = self.made(op.operands().take(3));
        self.decide(op, op.regions(), &made)?;
        let [mut index, end, step] = [0, 1, 2].map(|operand| self.integer(op.operand(operand)));
        let body = op.region(0);
        let arguments = body.first().expect("a body").args();
        let mut handed = self.known(op.operands().skip(3));
        while index < end {
            let first = (Content::Number(index), made.clone());
            let all = std::iter::once(first).chain(handed).collect();
            self.bind(arguments.clone(), all, &Clock::new());
            handed = self.region(body)?;
            index += step;
        }
        self.bind(op.results(), handed, &made);
        Ok(())
    }

    fn while_loop(&mut self, op: Op<'c>) -> Result<(), End> {
        let [before, after] = [op.region(0), op.region(1)];
        let arguments = |region: Region<'c>| region.first().expect("a body").args();
        let mut handed = self.known(op.operands());
        let all: BTreeSet<String> = op.regions().flat_map(active).collect();
        let in_second = active(after);
        loop {
            self.bind(arguments(before), handed, &Clock::new());
            let mut ends = self.region(before)?;
            let (condition, made) = ends.remove(0);
            self.decide(op, std::iter::once(after), &made)?;
            for engine in all.difference(&in_second) {
                join(self.due.entry(engine.clone()).or_default(), &made);
            }
            if matches!(condition, Content::Number(0)) {
                self.bind(op.results(), ends, &made);
                return Ok(());
            }
            self.bind(arguments(after), ends, &Clock::new());
            handed = self.region(after)?;
        }
    }
}
