//! Programs as trees, and their lowering to the graphs that barriers are placed on.

use std::collections::HashMap;
use std::rc::Rc;
use tokenflow::Token;
use tokenflow::barriers::{
    Access, AccessKind, Action, BufferId, EdgeKind, Footprint, Issue, Kernel, LoopId, Offset, RegionId,
    RunningCount, StepId, Symbol, ThreadBytes,
};

/// Which byte of the one buffer each thread accesses.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// What the number of the thread is multiplied by.
    pub thread: i64,
    /// What is added.
    pub constant: i64,
    /// What the iteration of a loop is multiplied by; loops are numbered from the innermost one, 0.
    pub iteration: Option<(i64, usize)>,
    /// A coefficient, a loop, and of a rotation the start, the step and the modulus.
    pub rotation: Option<(i64, usize, i64, i64, i64)>,
    /// A coefficient, and of a rotation that goes on when the innermost loop is entered again what is added, the step and the
    /// modulus. It starts anywhere when the loop around that one is entered.
    pub turning: Option<(i64, i64, i64, i64)>,
    /// Where it is in a row of [`ROW`] bytes, beyond all this.
    pub in_row: Option<InRow>,
}

/// An index of which little is known, but that it is in bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InRow {
    /// Of each thread another one, each time.
    Anywhere,
    /// The same number for all threads, at all times, and the number of the thread.
    Shifted,
    /// The iteration of the innermost loop.
    Iteration,
}

/// As many bytes as there are iterations of any loop, or more.
pub const ROW: i64 = 8;

/// What threads do.
#[derive(Clone, Debug)]
pub enum Node {
    Access {
        index: Index,
        kind: AccessKind,
    },
    /// Writes until its token is awaited.
    Copy {
        index: Index,
        token: u32,
    },
    Await(Vec<u32>),
    Barrier,
    If {
        then: Vec<Node>,
        other: Vec<Node>,
        divergent: bool,
    },
    Loop {
        body: Vec<Node>,
        /// Tokens that come in, what they are called inside, and what the next iteration gets.
        carried: Vec<(u32, u32, u32)>,
        min_trips: u64,
        max_trips: Option<u64>,
    },
}

/// A kernel with one buffer.
#[derive(Clone, Debug)]
pub struct Program {
    pub threads: u32,
    pub bytes: u64,
    /// In how many ways rotations may start that go on when their loop is entered again.
    pub starts: i64,
    pub body: Vec<Node>,
}

/// A program's graph, and which step each node is, by its number in program order.
pub struct Lowered {
    pub kernel: Kernel,
    /// The step of each node; of a branch or loop, the one where ways part.
    pub step: Vec<StepId>,
    /// The step after a branch or loop; the one where each block begins.
    pub after: HashMap<usize, StepId>,
    pub starts: HashMap<(usize, usize), StepId>,
}

/// Where control comes from.
type End = (StepId, EdgeKind, Vec<(Token, Token)>);

struct Lowering<'p> {
    program: &'p Program,
    out: Lowered,
    nodes: usize,
    last: Vec<End>,
    loops: Vec<LoopId>,
    divergent: Option<RegionId>,
    bytes: HashMap<(i64, i64), Rc<ThreadBytes>>,
}

pub fn lower(program: &Program) -> Lowered {
    let mut kernel = Kernel::default();
    kernel.buffers.push(program.bytes);
    let mut lowering = Lowering {
        program,
        out: Lowered {
            kernel,
            step: Vec::new(),
            after: HashMap::new(),
            starts: HashMap::new(),
        },
        nodes: 0,
        last: Vec::new(),
        loops: Vec::new(),
        divergent: None,
        bytes: HashMap::new(),
    };
    lowering.step(Action::None);
    lowering.block(&program.body);
    lowering.step(Action::None);
    lowering.out
}

/// The largest modulus.
const COUNTED: u8 = 6;

impl Lowering<'_> {
    fn step(&mut self, action: Action) -> StepId {
        let kernel = &mut self.out.kernel;
        let step = kernel.add_step(action, self.loops.last().copied(), self.divergent);
        for (from, kind, bindings) in self.last.drain(..) {
            kernel.connect(from, step, kind, bindings);
        }
        self.last = vec![(step, EdgeKind::Plain, Vec::new())];
        step
    }

    fn block(&mut self, nodes: &[Node]) {
        for node in nodes {
            let number = self.nodes;
            self.nodes += 1;
            self.out.step.push(StepId(0));
            let step = self.node(node, number);
            self.out.step[number] = step;
        }
    }

    fn node(&mut self, node: &Node, number: usize) -> StepId {
        match node {
            Node::Access { index, kind } => {
                let access = self.access(index, *kind);
                self.step(Action::Access(vec![access]))
            }
            Node::Copy { index, token } => {
                let access = self.access(index, AccessKind::Write);
                let issue = Issue {
                    access,
                    tokens: vec![Token(*token)],
                    queue: None,
                    block_wide: false,
                };
                self.step(Action::Issue(vec![issue]))
            }
            Node::Await(tokens) => {
                self.step(Action::Await(tokens.iter().map(|token| Token(*token)).collect()))
            }
            Node::Barrier => self.step(Action::Barrier),
            Node::If {
                then,
                other,
                divergent,
            } => {
                let head = self.step(Action::None);
                let outer = self.enter_region(*divergent);
                let mut ends = Vec::new();
                for (i, arm) in [then, other].into_iter().enumerate() {
                    self.last = vec![(head, EdgeKind::Plain, Vec::new())];
                    let start = self.step(Action::None);
                    self.out.starts.insert((number, i), start);
                    self.block(arm);
                    ends.append(&mut self.last);
                }
                self.divergent = outer;
                self.last = ends;
                let after = self.step(Action::None);
                self.out.after.insert(number, after);
                head
            }
            Node::Loop {
                body,
                carried,
                min_trips,
                max_trips,
            } => self.lower_loop(number, body, carried, (*min_trips, *max_trips)),
        }
    }

    fn lower_loop(
        &mut self,
        number: usize,
        body: &[Node],
        carried: &[(u32, u32, u32)],
        (min_trips, max_trips): (u64, Option<u64>),
    ) -> StepId {
        let head = self.step(Action::None);
        let inner = self
            .out
            .kernel
            .add_loop(self.loops.last().copied(), COUNTED, max_trips);
        self.out.kernel.loops[inner].min_trips = min_trips;
        self.loops.push(inner);
        let enter = carried.iter().map(|(init, arg, _)| (Token(*init), Token(*arg)));
        let again: Vec<_> = carried
            .iter()
            .map(|(_, arg, next)| (Token(*next), Token(*arg)))
            .collect();
        self.last = vec![(head, EdgeKind::Enter(inner), enter.collect())];
        let start = self.step(Action::None);
        self.out.starts.insert((number, 0), start);
        self.block(body);
        let end = self.step(Action::None);
        self.out.kernel.connect(end, start, EdgeKind::Back(inner), again);
        self.loops.pop();
        // Results have the names that arguments have inside.
        let results: Vec<_> = carried
            .iter()
            .map(|(_, arg, next)| (Token(*next), Token(*arg)))
            .collect();
        self.last = vec![(end, EdgeKind::Leave(inner), results)];
        if min_trips == 0 {
            let skipped = carried.iter().map(|(init, arg, _)| (Token(*init), Token(*arg)));
            self.last.push((head, EdgeKind::Plain, skipped.collect()));
        }
        let after = self.step(Action::None);
        self.out.after.insert(number, after);
        head
    }

    fn enter_region(&mut self, divergent: bool) -> Option<RegionId> {
        let outer = self.divergent;
        if divergent && outer.is_none() {
            self.divergent = Some(self.out.kernel.regions.push(self.loops.len()));
        }
        outer
    }

    fn access(&mut self, index: &Index, kind: AccessKind) -> tokenflow::barriers::AccessId {
        let size = i64::try_from(self.program.bytes).expect("a small buffer");
        let (factor, length) = match index.in_row {
            None | Some(InRow::Iteration) => (index.thread, 1),
            Some(InRow::Shifted) => (1, 1),
            Some(InRow::Anywhere) => (0, size),
        };
        let bytes = self.thread_bytes(factor, length);
        let loops = self.loops.clone();
        let of = |depth: usize| loops[loops.len() - 1 - depth];
        let mut terms = Vec::new();
        if let Some((coefficient, depth)) = index.iteration {
            terms.push((coefficient, Symbol::Iteration(of(depth))));
        }
        if let Some((coefficient, depth, start, step, modulus)) = index.rotation {
            let values = (0..modulus).map(|n| (start + step * n).rem_euclid(modulus));
            let symbol = Symbol::Periodic {
                of: of(depth),
                values: values.collect(),
            };
            terms.push((coefficient, symbol));
        }
        if let Some((coefficient, plus, step, modulus)) = index.turning {
            let inner = of(0);
            let (of, within) = (inner, of(1));
            let symbol = Symbol::Rotation {
                of,
                within,
                start: 0,
                plus,
                step,
                modulus,
            };
            terms.push((coefficient, symbol));
            self.out.kernel.loops[inner].running_count = Some(RunningCount {
                index: 0,
                modulus: u8::try_from(modulus).expect("a small modulus"),
            });
        }
        let mut offset = Offset {
            constant: index.constant,
            terms,
        };
        let mut within = Vec::new();
        if let Some(in_row) = index.in_row {
            within.push((self.thread_bytes(0, ROW), offset.clone()));
            match in_row {
                InRow::Anywhere => offset = Offset::default(),
                InRow::Shifted => offset.terms.push((1, Symbol::Value(0, None))),
                InRow::Iteration => offset.terms.push((1, Symbol::Iteration(of(0)))),
            }
        }
        let footprint = Footprint {
            buffer: BufferId(0),
            bytes: Some(bytes),
            offset,
            within,
            certain: index.in_row != Some(InRow::Anywhere),
        };
        self.out.kernel.accesses.push(Access { footprint, kind })
    }

    /// So many bytes of each thread, from `factor` times its number on.
    fn thread_bytes(&mut self, factor: i64, length: i64) -> Rc<ThreadBytes> {
        let threads = self.program.threads;
        let bytes = self.bytes.entry((factor, length)).or_insert_with(|| {
            let ranges = (0..threads).map(|thread| {
                let at = factor * i64::from(thread);
                (at..at + length, Some(thread))
            });
            Rc::new(ThreadBytes::new(ranges.collect()))
        });
        bytes.clone()
    }
}
