//! What may be in flight or missing within a block: part of what is trusted.
//!
//! An operation remembers which group of the block it is in, so that a commit takes constant time, and a wait looks at what it completes.
//! Tokens are joins of others and of operations; what is awaited is looked at once. So a block takes time in proportion to its length and to
//! what is pending at its beginning.

use super::certificate::{Pending, Phase};
use super::code::{Access, Code, Event, Memory, Step};
use crate::groups::code::{BlockId, Edge, Fifo, Instr, Token};
use crate::groups::infer::liveness::Liveness;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A rule that is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An access to what a missing operation accesses.
    Accessed(Memory),
    /// An access to what an operation accesses that other threads don't know to be awaited.
    AccessedByOthers(Memory),
    /// Others are told something while an operation is missing.
    Told(Memory),
    /// An operation is missing, or may be in flight, where execution ends.
    Left(Memory),
}

/// The number of an operation in a block.
type Number = usize;

/// An operation.
struct Operation {
    fifo: Fifo,
    /// Its group, counted from the beginning of the block.
    group: i64,
    memory: Memory,
    of_block: bool,
    phase: Option<Phase>,
}

/// What a token stands for.
#[derive(Default)]
struct Meaning {
    operations: Vec<Number>,
    tokens: Vec<Token>,
    is_awaited: bool,
}

#[derive(Default)]
struct FifoState {
    closed: i64,
    /// The operations in flight, the oldest first.
    in_flight: VecDeque<Number>,
}

/// Whether an access and the operations of some memory conflict.
pub(super) type Conflicts<'a> = &'a dyn Fn(Access, Memory) -> bool;

/// What is known at a point of a block.
pub(super) struct State<'a> {
    code: &'a Code,
    live: &'a Liveness,
    conflicts: Conflicts<'a>,
    /// The largest age that is told apart, by FIFO.
    oldest: Vec<i64>,
    operations: Vec<Operation>,
    tokens: FxHashMap<Token, Meaning>,
    fifos: Vec<FifoState>,
    /// How many operations of each memory are missing, and the memory of those that are awaited late.
    missing: BTreeMap<Memory, usize>,
    late: BTreeSet<Memory>,
    /// Operations that a barrier changes.
    untold: Vec<Number>,
    awaited_late: Vec<Number>,
}

impl<'a> State<'a> {
    pub fn new(code: &'a Code, live: &'a Liveness, conflicts: Conflicts<'a>) -> Self {
        let mut oldest = Vec::new();
        for instr in &code.groups.instrs {
            if let Instr::Wait(fifo, n) = instr {
                let fifo = usize::from(fifo.0);
                oldest.resize(oldest.len().max(fifo + 1), 0);
                oldest[fifo] = oldest[fifo].max(i64::from(*n) + 1);
            }
        }
        Self {
            code,
            live,
            conflicts,
            oldest,
            operations: Vec::new(),
            tokens: FxHashMap::default(),
            fifos: Vec::new(),
            missing: BTreeMap::new(),
            late: BTreeSet::new(),
            untold: Vec::new(),
            awaited_late: Vec::new(),
        }
    }

    /// Begins a block with what is `pending` there.
    pub fn begin<'p>(&mut self, pending: impl Iterator<Item = &'p Pending>) {
        self.operations.clear();
        self.tokens.clear();
        self.fifos.clear();
        self.missing.clear();
        self.late.clear();
        self.untold.clear();
        self.awaited_late.clear();
        let mut pending: Vec<&Pending> = pending.collect();
        // The oldest first.
        pending.sort_by_key(|pending| match pending.phase {
            Phase::InFlight(age) => std::cmp::Reverse(age),
            _ => std::cmp::Reverse(0),
        });
        for Pending {
            fifo,
            memory,
            of_block,
            phase,
            tokens,
        } in pending
        {
            let number = match phase {
                Phase::InFlight(age) => self.issue(*fifo, *memory, *of_block, -i64::from(*age)),
                _ => self.add(*fifo, *memory, *of_block, 0),
            };
            match phase {
                Phase::InFlight(_) => {}
                Phase::Missing { is_told } => self.complete(number, *is_told),
                Phase::AwaitedLate => self.await_late(number),
            }
            for token in tokens {
                self.tokens.entry(*token).or_default().operations.push(number);
            }
        }
    }

    fn fifo(&mut self, fifo: Fifo) -> &mut FifoState {
        let number = usize::from(fifo.0);
        if self.fifos.len() <= number {
            self.fifos.resize_with(number + 1, FifoState::default);
        }
        &mut self.fifos[number]
    }

    /// Adds an operation that is in flight, of a group.
    fn issue(&mut self, fifo: Fifo, memory: Memory, of_block: bool, group: i64) -> Number {
        let number = self.add(fifo, memory, of_block, group);
        self.fifo(fifo).in_flight.push_back(number);
        number
    }

    fn add(&mut self, fifo: Fifo, memory: Memory, of_block: bool, group: i64) -> Number {
        self.operations.push(Operation {
            fifo,
            group,
            memory,
            of_block,
            phase: Some(Phase::InFlight(0)),
        });
        self.operations.len() - 1
    }

    /// The counts say that an operation is complete.
    fn complete(&mut self, number: Number, is_told: bool) {
        let operation = &mut self.operations[number];
        operation.phase = Some(Phase::Missing { is_told });
        *self.missing.entry(operation.memory).or_default() += 1;
        if !is_told {
            self.untold.push(number);
        }
    }

    fn await_late(&mut self, number: Number) {
        let operation = &mut self.operations[number];
        operation.phase = Some(Phase::AwaitedLate);
        self.late.insert(operation.memory);
        self.awaited_late.push(number);
    }

    /// Runs all of a block; `fault` gets each rule that is broken at an event.
    pub fn run(&mut self, id: BlockId, mut fault: impl FnMut(usize, Fault)) {
        for step in self.code.steps(id) {
            match step {
                Step::Event(number, event) => {
                    if let Some(broken) = self.event(event) {
                        fault(number, broken);
                    }
                }
                Step::Instr(instr) => self.instr(instr),
            }
        }
    }

    fn event(&mut self, event: &Event) -> Option<Fault> {
        match event {
            Event::Issue {
                fifo,
                memory,
                tokens,
                of_block,
            } => {
                let closed = self.fifo(*fifo).closed;
                let number = self.issue(*fifo, *memory, *of_block, closed);
                for token in tokens {
                    self.tokens.entry(*token).or_default().operations.push(number);
                }
                None
            }
            Event::Group(fifo, token) => {
                let closed = self.fifo(*fifo).closed;
                let in_flight = self.fifos[usize::from(fifo.0)].in_flight.iter().rev().copied();
                let operations = in_flight.take_while(|number| self.operations[*number].group == closed);
                let operations: Vec<Number> = operations.collect();
                self.tokens.entry(*token).or_default().operations = operations;
                None
            }
            Event::Access(access) => {
                let meets = |memory: &&Memory| (self.conflicts)(*access, **memory);
                let missing = self.missing.keys().find(meets).copied().map(Fault::Accessed);
                missing.or_else(|| self.late.iter().find(meets).copied().map(Fault::AccessedByOthers))
            }
            Event::Barrier => {
                self.barrier();
                None
            }
            Event::Signal => self.missing.keys().next().copied().map(Fault::Told),
        }
    }

    fn barrier(&mut self) {
        for number in std::mem::take(&mut self.untold) {
            if let Some(Phase::Missing { is_told }) = &mut self.operations[number].phase {
                *is_told = true;
            }
        }
        for number in std::mem::take(&mut self.awaited_late) {
            self.operations[number].phase = None;
        }
        self.late.clear();
    }

    fn instr(&mut self, instr: Instr) {
        match instr {
            Instr::Issue(..) => {}
            Instr::Commit(fifo) => self.fifo(fifo).closed += 1,
            Instr::Wait(fifo, n) => self.wait(fifo, n),
            Instr::Await(tokens) => self.await_tokens(tokens.of(&self.code.groups.tokens).to_vec()),
            Instr::Join(token, of) => {
                let tokens = of.of(&self.code.groups.tokens).to_vec();
                self.tokens.insert(
                    token,
                    Meaning {
                        tokens,
                        ..Meaning::default()
                    },
                );
            }
        }
    }

    fn wait(&mut self, fifo: Fifo, n: u32) {
        let first = self.fifo(fifo).closed - i64::from(n);
        while let Some(&number) = self.fifo(fifo).in_flight.front()
            && self.operations[number].group < first
        {
            self.fifo(fifo).in_flight.pop_front();
            if matches!(self.operations[number].phase, Some(Phase::InFlight(_))) {
                self.complete(number, false);
            }
        }
    }

    fn await_tokens(&mut self, mut work: Vec<Token>) {
        while let Some(token) = work.pop() {
            let Some(meaning) = self.tokens.get_mut(&token).filter(|meaning| !meaning.is_awaited) else {
                continue;
            };
            meaning.is_awaited = true;
            work.extend(std::mem::take(&mut meaning.tokens));
            for number in std::mem::take(&mut meaning.operations) {
                self.await_operation(number);
            }
        }
    }

    fn await_operation(&mut self, number: Number) {
        let operation = &mut self.operations[number];
        match operation.phase {
            None | Some(Phase::AwaitedLate) => {}
            // More than the counts say: `groups::check` refuses that.
            Some(Phase::InFlight(_)) => operation.phase = None,
            Some(Phase::Missing { is_told }) => {
                operation.phase = None;
                let (memory, is_late) = (operation.memory, is_told && !operation.of_block);
                if let Some(missing) = self.missing.get_mut(&memory) {
                    *missing -= 1;
                    if *missing == 0 {
                        self.missing.remove(&memory);
                    }
                }
                if is_late {
                    self.await_late(number);
                }
            }
        }
    }

    /// An operation that may not be left where execution ends.
    pub fn left(&self) -> Option<Memory> {
        let is_left = |operation: &&Operation| match operation.phase {
            Some(Phase::Missing { .. }) => true,
            // Where its group is open, a caller may close it, as before.
            Some(Phase::InFlight(_)) => self.code.returns && self.age(operation) > 0,
            Some(Phase::AwaitedLate) | None => false,
        };
        self.operations
            .iter()
            .find(is_left)
            .map(|operation| operation.memory)
    }

    /// What is pending where `edges`, those of the block, lead.
    pub fn follow(&self, edges: &[Edge]) -> Vec<Vec<Pending>> {
        let relevant = edges.iter().flat_map(|edge| self.relevant(edge));
        let relevant: FxHashSet<Token> = relevant.map(|(_, source)| source).collect();
        let standing: FxHashMap<Token, FxHashSet<Number>> = relevant
            .into_iter()
            .map(|token| (token, self.stands_for(token)))
            .collect();
        let pending = edges.iter().map(|edge| {
            let bound = self.relevant(edge);
            let operations = self.operations.iter().enumerate();
            let pending = operations.filter_map(|(number, operation)| {
                let phase = self.phase_at_end(operation)?;
                let is_known = |(_, source): &&(Token, Token)| {
                    phase != Phase::AwaitedLate && standing[source].contains(&number)
                };
                let mut tokens: Vec<Token> = bound.iter().filter(is_known).map(|(token, _)| *token).collect();
                tokens.sort_unstable();
                Some(Pending {
                    fifo: operation.fifo,
                    memory: operation.memory,
                    of_block: operation.of_block,
                    phase,
                    tokens,
                })
            });
            pending.collect()
        });
        pending.collect()
    }

    fn age(&self, operation: &Operation) -> i64 {
        self.fifos[usize::from(operation.fifo.0)].closed - operation.group
    }

    fn phase_at_end(&self, operation: &Operation) -> Option<Phase> {
        let fifo = usize::from(operation.fifo.0);
        Some(match operation.phase? {
            Phase::InFlight(_) => {
                let age = self.age(operation);
                let oldest = self.oldest.get(fifo).copied().unwrap_or(0).max(1);
                Phase::InFlight(u32::try_from(age.min(oldest)).unwrap_or(0))
            }
            phase => phase,
        })
    }

    /// The tokens that are used where `edge` leads, each with what it is here.
    fn relevant(&self, edge: &Edge) -> Vec<(Token, Token)> {
        let Some(to) = edge.to else { return Vec::new() };
        let args = edge.args.of(&self.code.groups.tokens);
        let live = self.live.sources(to);
        let bound = live.filter_map(|(token, param)| {
            let source = param.map_or(Some(token), |param| args.get(param as usize).copied());
            Some((token, source?))
        });
        bound.collect()
    }

    /// The operations that `token` stands for.
    fn stands_for(&self, token: Token) -> FxHashSet<Number> {
        let mut operations = FxHashSet::default();
        let mut seen = FxHashSet::from_iter([token]);
        let mut work = vec![token];
        while let Some(token) = work.pop() {
            if let Some(meaning) = self.tokens.get(&token) {
                operations.extend(&meaning.operations);
                work.extend(meaning.tokens.iter().filter(|token| seen.insert(**token)));
            }
        }
        operations
    }
}
