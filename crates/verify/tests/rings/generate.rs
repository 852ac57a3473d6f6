//! Random code: pipelines as they are written by `--gpux-tokens-to-mbarriers`, and such in which something is changed.

use async_verify::groups::code::Span;
use async_verify::mbarriers::code::{
    Block, BlockId, Bound, Code, Edge, Gathering, Instr, Operand, Token, Var, When, Who,
};
use async_verify::mbarriers::int::Operation;
use proptest::prelude::*;
use proptest::sample::Index;

pub const THREADS: usize = 2;

/// Without roles, all threads have the same.
const ALL: Who = Who::Roles(1);

/// The ring at which threads gather.
const THERE: Gathering = Gathering(0);

/// How threads are kept from being too far behind where a slot is armed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sync {
    None,
    Barrier,
    Gather,
}

/// A loop that loads ahead.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub depth: u32,
    /// How many phases are in flight where an iteration begins.
    pub ahead: u32,
    /// How many loads a phase has.
    pub loads: u32,
    /// True if an iteration waits before it loads.
    pub waits_first: bool,
    /// What comes before a phase is armed, and at the end of an iteration.
    pub syncs: [Sync; 2],
    /// How often the loop runs, if that is known.
    pub trip: Option<u64>,
    /// True if numbers of phases are computed from the iteration, and not counted.
    pub closed: bool,
    /// True if bytes are expected load by load, and the arrival comes last.
    pub load_by_load: bool,
}

pub fn pipelines() -> impl Strategy<Value = Pipeline> {
    let sync = || prop_oneof![Just(Sync::None), Just(Sync::Barrier), Just(Sync::Gather)];
    let trip = prop_oneof![Just(None), (1_u64..4).prop_map(Some)];
    let shape = (1_u32..4, 0_u32..3, 1_u32..3);
    (
        shape,
        any::<bool>(),
        [sync(), sync()],
        trip,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |((depth, ahead, loads), waits_first, syncs, trip, closed, load_by_load)| Pipeline {
                depth,
                ahead: ahead.min(depth),
                loads,
                waits_first: waits_first && ahead > 0,
                syncs,
                trip,
                closed,
                load_by_load,
            },
        )
}

/// Code under construction, block by block.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub code: Code,
    pub blocks: Vec<(Vec<Instr>, Vec<Edge>)>,
}

impl Draft {
    fn var(&mut self) -> Var {
        self.code.vars += 1;
        Var(self.code.vars - 1)
    }

    fn token(&mut self) -> Token {
        self.code.tokens += 1;
        Token(self.code.tokens - 1)
    }

    fn list(&mut self, tokens: &[Token]) -> Span {
        let start = self.code.lists.len();
        self.code.lists.extend_from_slice(tokens);
        Span::since(start, &self.code.lists)
    }

    fn push(&mut self, instr: Instr) {
        self.blocks.last_mut().expect("a block").0.push(instr);
    }

    fn compute(&mut self, operation: Operation, a: Operand, b: i64) -> Operand {
        let to = self.var();
        self.push(Instr::Compute {
            to,
            operation,
            width: 64,
            of: [a, Operand::Const(b), Operand::Const(0)],
        });
        Operand::Var(to)
    }

    fn slot_and_parity(&mut self, number: Operand, depth: u32) -> (Operand, Operand) {
        let depth = i64::from(depth);
        if let Operand::Const(number) = number {
            let (slot, round) = (number % depth, number / depth);
            return (Operand::Const(slot), Operand::Const(round % 2));
        }
        let slot = self.compute(Operation::RemU, number, depth);
        let round = self.compute(Operation::DivU, number, depth);
        (slot, self.compute(Operation::RemU, round, 2))
    }

    /// The number after `number`, modulo twice the depth.
    fn next(&mut self, number: Operand, depth: u32) -> Operand {
        let more = self.compute(Operation::Add, number, 1);
        self.compute(Operation::RemU, more, 2 * i64::from(depth))
    }

    /// The code.
    pub fn code(&self) -> Code {
        let mut code = self.code.clone();
        for (instrs, edges) in &self.blocks {
            let (first, first_edge) = (code.instrs.len(), code.edges.len());
            code.instrs.extend_from_slice(instrs);
            code.edges.extend_from_slice(edges);
            let instrs = Span::since(first, &code.instrs);
            let edges = Span::since(first_edge, &code.edges);
            code.blocks.push(Block { instrs, edges });
        }
        code
    }
}

impl Pipeline {
    /// The code of the pipeline.
    pub fn draft(&self) -> Draft {
        let mut draft = Draft::default();
        draft.code.depth = self.depth;
        draft.code.most_gathers = 3;
        draft.code.threads = vec![i64::try_from(THREADS).expect("few threads")];
        draft.blocks.push(Default::default());
        for slot in 0..i64::from(self.depth) {
            let (slot, count) = (Operand::Const(slot), Operand::Const(1));
            draft.push(Instr::Init { slot, count });
        }
        draft.push(Instr::InitFence);
        draft.push(Instr::Barrier);
        let mut tokens = Vec::new();
        for number in 0..i64::from(self.ahead) {
            tokens.push(self.arm(&mut draft, Operand::Const(number)));
        }
        self.body(&mut draft, &tokens);
        self.end(&mut draft);
        draft
    }

    /// Arms the phase of `number`; returns the token of its loads.
    fn arm(&self, draft: &mut Draft, number: Operand) -> Token {
        let (slot, _) = draft.slot_and_parity(number, self.depth);
        let by = Who::Issuer;
        if !self.load_by_load {
            let bytes = Operand::Const(i64::from(self.loads));
            draft.push(Instr::Expect { slot, bytes });
            draft.push(Instr::Arrive { slot, by });
        }
        let mut all = Vec::new();
        for _ in 0..self.loads {
            let token = draft.token();
            if self.load_by_load {
                let bytes = Operand::Const(1);
                draft.push(Instr::Expect { slot, bytes });
            }
            draft.push(Instr::Load {
                slot,
                bytes: 1,
                token,
            });
            all.push(token);
        }
        if self.load_by_load {
            draft.push(Instr::Arrive { slot, by });
        }
        let (token, of) = (draft.token(), draft.list(&all));
        draft.push(Instr::Join(token, of));
        token
    }

    fn wait(&self, draft: &mut Draft, number: Operand, token: Token) {
        let (slot, parity) = draft.slot_and_parity(number, self.depth);
        let by = ALL;
        draft.push(Instr::Wait { slot, parity, by });
        let of = draft.list(&[token]);
        draft.push(Instr::Await(of, 1));
    }

    fn sync(&self, draft: &mut Draft, place: usize) {
        match self.syncs[place] {
            Sync::None => {}
            Sync::Barrier => draft.push(Instr::Barrier),
            Sync::Gather => {
                draft.push(Instr::Gather(THERE, 1));
                draft.push(Instr::Gathered(THERE));
            }
        }
    }

    /// The loop: block 1. It carries the iteration, the numbers of the next phase and of the oldest one, and the tokens.
    fn body(&self, draft: &mut Draft, before: &[Token]) {
        let [iteration, next, oldest] = [(); 3].map(|()| draft.var());
        let carried: Vec<Token> = before.iter().map(|_| draft.token()).collect();
        // Trips are few.
        let period = 8_u32.next_multiple_of(2 * self.depth);
        let ahead = i64::from(self.ahead);
        let enter = Edge {
            to: Some(BlockId(1)),
            vars: vec![
                (iteration, Bound::First(period)),
                (
                    next,
                    Bound::Is(Operand::Const(ahead % (2 * i64::from(self.depth)))),
                ),
                (oldest, Bound::Is(Operand::Const(0))),
            ],
            tokens: carried
                .iter()
                .zip(before)
                .map(|(to, from)| (*to, Some(*from)))
                .collect(),
            ..Edge::default()
        };
        draft.blocks[0].1.push(enter);
        draft.blocks.push(Default::default());
        let numbers = if self.closed {
            let iteration = Operand::Var(iteration);
            [draft.compute(Operation::Add, iteration, ahead), iteration]
        } else {
            [next, oldest].map(Operand::Var)
        };
        if self.waits_first {
            self.wait(draft, numbers[1], carried[0]);
        }
        self.sync(draft, 0);
        let new = self.arm(draft, numbers[0]);
        let mut all: Vec<Token> = carried.clone();
        all.push(new);
        if !self.waits_first {
            self.wait(draft, numbers[1], all[0]);
        }
        self.sync(draft, 1);
        let counted = [next, oldest].map(|var| draft.next(Operand::Var(var), self.depth));
        let again = Edge {
            to: Some(BlockId(1)),
            when: self.trip.map(|trip| When::Again(iteration, trip)),
            vars: vec![
                (iteration, Bound::Next(iteration)),
                (next, Bound::Is(counted[0])),
                (oldest, Bound::Is(counted[1])),
            ],
            tokens: carried
                .iter()
                .zip(&all[1..])
                .map(|(to, from)| (*to, Some(*from)))
                .collect(),
        };
        let leave = Edge {
            to: Some(BlockId(2)),
            when: self.trip.map(|trip| When::Last(iteration, trip)),
            ..again.clone()
        };
        draft.blocks[1].1.extend([again, leave]);
        draft.blocks.push(Default::default());
        let mut number = Operand::Var(oldest);
        for token in carried {
            self.wait(draft, number, token);
            number = draft.next(number, self.depth);
        }
    }

    /// The end of block 2.
    fn end(&self, draft: &mut Draft) {
        draft.push(Instr::Barrier);
        for slot in 0..i64::from(self.depth) {
            draft.push(Instr::Inval {
                slot: Operand::Const(slot),
            });
        }
        draft.blocks[2].1.push(Edge::default());
    }
}

/// A change of one instruction.
#[derive(Clone, Debug)]
pub enum Change {
    Drop(Index),
    Repeat(Index),
    Swap(Index),
    /// Adds to the first constant, or to the second.
    Add(Index, bool, i64),
    /// Lets others execute it.
    Who(Index),
}

pub fn changes() -> impl Strategy<Value = Change> {
    let at = || any::<Index>();
    prop_oneof![
        at().prop_map(Change::Drop),
        at().prop_map(Change::Repeat),
        at().prop_map(Change::Swap),
        (at(), any::<bool>(), prop_oneof![Just(1), Just(-1)])
            .prop_map(|(at, second, by)| Change::Add(at, second, by)),
        at().prop_map(Change::Who),
    ]
}

impl Change {
    /// Makes the change, in one of all blocks.
    pub fn apply(&self, draft: &mut Draft) {
        let places: Vec<(usize, usize)> = draft
            .blocks
            .iter()
            .enumerate()
            .flat_map(|(b, (instrs, _))| (0..instrs.len()).map(move |i| (b, i)))
            .collect();
        let (Self::Drop(at) | Self::Repeat(at) | Self::Swap(at) | Self::Add(at, ..) | Self::Who(at)) = self;
        let (block, place) = *at.get(&places);
        let depth = i64::from(draft.code.depth);
        let instrs = &mut draft.blocks[block].0;
        match self {
            Self::Drop(_) => {
                if !matches!(
                    instrs[place],
                    Instr::Compute { .. } | Instr::Load { .. } | Instr::Join(..)
                ) {
                    instrs.remove(place);
                }
            }
            Self::Repeat(_) => {
                let instr = instrs[place];
                if !matches!(instr, Instr::Load { .. } | Instr::Compute { .. }) {
                    instrs.insert(place, instr);
                }
            }
            Self::Swap(_) => {
                let is_fixed = |instr: &Instr| matches!(instr, Instr::Compute { .. } | Instr::Join(..));
                if place + 1 < instrs.len() && !instrs[place..=place + 1].iter().any(is_fixed) {
                    instrs.swap(place, place + 1);
                }
            }
            Self::Add(_, second, by) => add(&mut instrs[place], *second, *by, depth),
            Self::Who(_) => {
                if let Instr::Arrive { by, .. } | Instr::Wait { by, .. } = &mut instrs[place] {
                    *by = if *by == ALL { Who::Issuer } else { ALL };
                }
            }
        }
    }
}

fn add(instr: &mut Instr, second: bool, by: i64, depth: i64) {
    let change = |operand: &mut Operand, least: i64, modulus: i64| {
        if let Operand::Const(value) = operand {
            *value = (*value + by).max(least);
            if modulus > 0 {
                *value = value.rem_euclid(modulus);
            }
        }
    };
    match instr {
        Instr::Init { count, .. } if second => change(count, 1, 0),
        Instr::Expect { bytes, .. } if second => change(bytes, 0, 0),
        Instr::Wait { parity, .. } if second => change(parity, 0, 2),
        Instr::Init { slot, .. }
        | Instr::Expect { slot, .. }
        | Instr::Wait { slot, .. }
        | Instr::Inval { slot }
        | Instr::Arrive { slot, .. }
        | Instr::Load { slot, .. } => change(slot, -1, depth),
        Instr::Compute { operation, of, .. } if *operation == Operation::Add => change(&mut of[1], 0, 0),
        _ => {}
    }
}
