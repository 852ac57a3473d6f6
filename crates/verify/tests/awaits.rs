//! The checker of awaits in the place of waits against brute force, which runs all executions and knows of each operation which tokens stand for
//! it: it accepts code if and only if no execution breaks a rule. And no certificate is accepted with one entry less.
#![allow(missing_docs)]

use async_verify::awaits::certificate::Pending;
use async_verify::awaits::code::{Access, Event, Memory};
use async_verify::awaits::{Code, check, infer};
use async_verify::groups::code::{Block, BlockId, Edge, EdgeKind, Fifo, Instr, Span, Token};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::collections::BTreeSet;

/// An access is to memory of its own number; the last one is to any.
fn conflicts(access: Access, memory: Memory) -> bool {
    access.0 == 3 || access.0 == memory.0
}

/// Builds random code: a block uses its parameters, its own tokens, and those of the first block, from which control comes everywhere.
struct Builder {
    choices: Vec<u32>,
    next: usize,
    tokens: u32,
    code: Code,
    /// Tokens of the first block.
    outer: Vec<Token>,
}

impl Builder {
    fn draw(&mut self, below: usize) -> usize {
        let choice = self.choices[self.next % self.choices.len()] as usize;
        // So that a second round is not like the first.
        let round = self.next / self.choices.len();
        self.next += 1;
        (choice + 7 * round) % below
    }

    fn small(&mut self, below: u32) -> u32 {
        u32::try_from(self.draw(below as usize)).unwrap_or(0)
    }

    fn token(&mut self) -> Token {
        self.tokens += 1;
        Token(self.tokens - 1)
    }

    fn list(&mut self, tokens: &[Token]) -> Span {
        let start = self.code.groups.tokens.len();
        self.code.groups.tokens.extend_from_slice(tokens);
        Span::since(start, &self.code.groups.tokens)
    }

    fn build(mut self) -> Code {
        let blocks = 1 + self.draw(4);
        let params: Vec<Vec<Token>> = (0..blocks)
            .map(|block| {
                let params = if block == 0 { 0 } else { self.draw(3) };
                (0..params).map(|_| self.token()).collect()
            })
            .collect();
        for block in 0..blocks {
            let mut known = self.outer.clone();
            known.extend(&params[block]);
            self.code.events.push(Vec::new());
            let start = self.code.groups.instrs.len();
            for _ in 0..self.draw(14) {
                self.step(block, &mut known);
            }
            let instrs = Span::since(start, &self.code.groups.instrs);
            let edges = self.edges(&params, &known);
            let params = self.list(&params[block]);
            self.code.groups.blocks.push(Block {
                params,
                instrs,
                edges,
            });
            if block == 0 {
                self.outer = known;
            }
        }
        self.code
    }

    fn edges(&mut self, params: &[Vec<Token>], known: &[Token]) -> Span {
        let start = self.code.groups.edges.len();
        for _ in 0..=self.draw(2) {
            let to = self.draw(params.len());
            let args: Vec<Token> = match known.len() {
                0 => vec![Token(u32::MAX >> 8); params[to].len()],
                known_tokens => params[to]
                    .iter()
                    .map(|_| known[self.draw(known_tokens)])
                    .collect(),
            };
            // Tokens that nothing defines stand for nothing.
            let args = if args.contains(&Token(u32::MAX >> 8)) {
                vec![self.token(); args.len()]
            } else {
                args
            };
            let args = self.list(&args);
            self.code.groups.edges.push(Edge {
                kind: EdgeKind::Plain,
                to: (to > 0).then(|| BlockId(u32::try_from(to).unwrap_or(0))),
                args,
            });
        }
        Span::since(start, &self.code.groups.edges)
    }

    fn event(&mut self, block: usize, event: Event) {
        let place = self.code.groups.instrs.len();
        self.code.events[block].push((place, event));
    }

    fn step(&mut self, block: usize, known: &mut Vec<Token>) {
        let fifo = Fifo(u8::from(self.draw(4) == 0));
        match self.draw(17) {
            0..=3 => {
                let token = (self.draw(5) > 0).then(|| self.token());
                let issue = Event::Issue {
                    fifo,
                    memory: Memory(self.small(3)),
                    tokens: token.into_iter().collect(),
                    of_block: self.draw(4) == 0,
                };
                self.event(block, issue);
                if let Some(token) = token {
                    self.code.groups.instrs.push(Instr::Issue(fifo, token));
                    known.push(token);
                }
            }
            4 | 5 => {
                if self.draw(3) == 0 {
                    let token = self.token();
                    self.event(block, Event::Group(fifo, token));
                    self.code.groups.instrs.push(Instr::Issue(fifo, token));
                    known.push(token);
                }
                self.code.groups.instrs.push(Instr::Commit(fifo));
            }
            6 | 7 => {
                let n = self.small(3);
                self.code.groups.instrs.push(Instr::Wait(fifo, n));
            }
            8 | 9 if !known.is_empty() => {
                let tokens: Vec<Token> = (0..=self.draw(3))
                    .map(|_| known[self.draw(known.len())])
                    .collect();
                let tokens = self.list(&tokens);
                self.code.groups.instrs.push(Instr::Await(tokens));
            }
            10 => {
                let of: Vec<Token> = match known.len() {
                    0 => Vec::new(),
                    many => (0..self.draw(3)).map(|_| known[self.draw(many)]).collect(),
                };
                let (token, of) = (self.token(), self.list(&of));
                self.code.groups.instrs.push(Instr::Join(token, of));
                known.push(token);
            }
            11..=14 => {
                let access = Access(self.small(4));
                self.event(block, Event::Access(access));
            }
            15 => self.event(block, Event::Barrier),
            16 if self.draw(4) == 0 => self.event(block, Event::Signal),
            _ => {}
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Phase {
    InFlight(u32),
    Missing { is_told: bool },
    AwaitedLate,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Operation {
    fifo: u8,
    memory: u32,
    of_block: bool,
    phase: Phase,
    tokens: BTreeSet<Token>,
}

/// All executions.
struct Oracle<'a> {
    code: &'a Code,
}

impl Oracle<'_> {
    /// Returns true if some execution breaks a rule.
    fn is_wrong(&self) -> bool {
        let mut seen = BTreeSet::new();
        let mut work = vec![(0_usize, Vec::new())];
        while let Some((block, operations)) = work.pop() {
            if !seen.insert((block, operations.clone())) {
                continue;
            }
            match self.block(block, operations) {
                Some(next) => work.extend(next),
                None => return true,
            }
        }
        false
    }

    /// Runs a block; `None` if a rule is broken.
    fn block(&self, id: usize, mut operations: Vec<Operation>) -> Option<Vec<(usize, Vec<Operation>)>> {
        let block = self.code.groups.blocks[id];
        let instrs = block.instrs.range();
        for place in instrs.start..=instrs.end {
            for (_, event) in self.code.events[id].iter().filter(|(at, _)| *at == place) {
                if breaks(event, &mut operations) {
                    return None;
                }
            }
            if place < instrs.end {
                self.instr(self.code.groups.instrs[place], &mut operations);
            }
            operations.sort();
            operations.dedup();
        }
        let mut next = Vec::new();
        for edge in block.edges.of(&self.code.groups.edges) {
            let Some(to) = edge.to else {
                let is_left = |operation: &Operation| match operation.phase {
                    Phase::InFlight(age) => self.code.returns && age > 0,
                    Phase::Missing { .. } => true,
                    Phase::AwaitedLate => false,
                };
                if operations.iter().any(is_left) {
                    return None;
                }
                continue;
            };
            next.push((to.0 as usize, self.bound(&operations, to, edge)));
        }
        Some(next)
    }

    fn bound(&self, operations: &[Operation], to: BlockId, edge: &Edge) -> Vec<Operation> {
        let tokens = &self.code.groups.tokens;
        let params = self.code.groups.blocks[to.0 as usize].params.of(tokens);
        let args = edge.args.of(tokens);
        let mut bound: Vec<Operation> = operations
            .iter()
            .cloned()
            .map(|mut operation| {
                let stands = |arg: &Token| operation.tokens.contains(arg);
                let new: Vec<Token> = params
                    .iter()
                    .zip(args)
                    .filter(|(_, arg)| stands(arg))
                    .map(|(param, _)| *param)
                    .collect();
                operation.tokens.retain(|token| !params.contains(token));
                operation.tokens.extend(new);
                operation
            })
            .collect();
        bound.sort();
        bound.dedup();
        bound
    }

    fn instr(&self, instr: Instr, operations: &mut Vec<Operation>) {
        let tokens = &self.code.groups.tokens;
        match instr {
            Instr::Issue(..) => {}
            Instr::Commit(fifo) => {
                for operation in operations.iter_mut().filter(|operation| operation.fifo == fifo.0) {
                    if let Phase::InFlight(age) = &mut operation.phase {
                        // No wait is for more than two.
                        *age = (*age + 1).min(3);
                    }
                }
            }
            Instr::Wait(fifo, n) => {
                for operation in operations.iter_mut().filter(|operation| operation.fifo == fifo.0) {
                    if matches!(operation.phase, Phase::InFlight(age) if age > n) {
                        operation.phase = Phase::Missing { is_told: false };
                    }
                }
            }
            Instr::Await(of) => {
                for token in of.of(tokens) {
                    operations.retain_mut(|operation| {
                        if !operation.tokens.contains(token) || operation.phase == Phase::AwaitedLate {
                            return true;
                        }
                        let is_told = operation.phase == Phase::Missing { is_told: true };
                        if is_told && !operation.of_block {
                            operation.phase = Phase::AwaitedLate;
                            return true;
                        }
                        false
                    });
                }
            }
            Instr::Join(token, of) => {
                let of: Vec<Token> = of.of(tokens).to_vec();
                for operation in operations.iter_mut() {
                    let stands = of.iter().any(|token| operation.tokens.contains(token));
                    operation.tokens.remove(&token);
                    if stands {
                        operation.tokens.insert(token);
                    }
                }
            }
        }
    }
}

/// Runs an event; returns true if it breaks a rule.
fn breaks(event: &Event, operations: &mut Vec<Operation>) -> bool {
    let is_missing = |operation: &Operation| matches!(operation.phase, Phase::Missing { .. });
    match event {
        Event::Issue {
            fifo,
            memory,
            tokens,
            of_block,
        } => {
            define(operations, tokens);
            operations.push(Operation {
                fifo: fifo.0,
                memory: memory.0,
                of_block: *of_block,
                phase: Phase::InFlight(0),
                tokens: tokens.iter().copied().collect(),
            });
        }
        Event::Group(fifo, token) => {
            define(operations, &[*token]);
            let open = |operation: &&mut Operation| {
                // What is awaited is no longer there, so that all are in flight, or complete by the counts, which an open group is not.
                operation.fifo == fifo.0 && operation.phase == Phase::InFlight(0)
            };
            operations.iter_mut().filter(open).for_each(|operation| {
                operation.tokens.insert(*token);
            });
        }
        Event::Access(access) => {
            return operations.iter().any(|operation| {
                let is_over = is_missing(operation) || operation.phase == Phase::AwaitedLate;
                is_over && conflicts(*access, Memory(operation.memory))
            });
        }
        Event::Barrier => {
            operations.retain(|operation| operation.phase != Phase::AwaitedLate);
            for operation in operations.iter_mut().filter(|operation| is_missing(operation)) {
                operation.phase = Phase::Missing { is_told: true };
            }
        }
        Event::Signal => return operations.iter().any(is_missing),
    }
    false
}

/// What tokens stood for before they are defined again is forgotten.
fn define(operations: &mut [Operation], tokens: &[Token]) {
    for operation in operations {
        operation.tokens.retain(|token| !tokens.contains(token));
    }
}

fn code() -> impl Strategy<Value = Code> {
    let choices = prop::collection::vec(0..5040_u32, 10..120);
    (choices, any::<bool>()).prop_map(|(choices, returns)| {
        let builder = Builder {
            choices,
            next: 0,
            tokens: 0,
            code: Code {
                returns,
                ..Code::default()
            },
            outer: Vec::new(),
        };
        builder.build()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4 * ProptestConfig::default().cases))]

    #[test]
    fn code_is_accepted_if_and_only_if_no_execution_breaks_a_rule(code in code()) {
        let certificate = infer(&code);
        let verdict = check(&code, &certificate, &conflicts);
        prop_assert_eq!(verdict.is_err(), Oracle { code: &code }.is_wrong(), "{:?}", verdict);
        if verdict.is_err() {
            return Ok(());
        }
        for (block, claimed) in certificate.blocks.iter().enumerate() {
            for entry in claimed.iter().flatten() {
                // The same with no token covers it.
                let lost = Pending { tokens: Vec::new(), ..entry.clone() };
                if lost != *entry && claimed.as_ref().is_some_and(|claimed| claimed.contains(&lost)) {
                    continue;
                }
                let mut spoiled = certificate.clone();
                spoiled.blocks[block].as_mut().expect("claimed").remove(entry);
                prop_assert!(check(&code, &spoiled, &conflicts).is_err(), "{block}: {entry:?}");
            }
            if claimed.is_some() {
                let mut spoiled = certificate.clone();
                spoiled.blocks[block] = None;
                prop_assert!(check(&code, &spoiled, &conflicts).is_err(), "{block} is not reached");
            }
        }
    }
}

#[test]
fn random_code_is_accepted_and_refused() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut accepted, mut pending) = (0, 0);
    for _ in 0..1000 {
        let code = code().new_tree(&mut runner).expect("code").current();
        let certificate = infer(&code);
        if check(&code, &certificate, &conflicts).is_ok() {
            accepted += 1;
            pending += certificate.blocks.iter().flatten().flatten().count();
        }
    }
    println!("{accepted} of 1000 accepted, with {pending} operations pending at blocks");
    assert!((200..900).contains(&accepted), "{accepted}");
    assert!(pending > 200, "{pending}");
}
