//! Flattens a program into a list of steps, so that a point of an execution is a number.

use std::collections::BTreeSet;
use tokenflow::{Await, Graph, Item, Program, Queue, Slot, Target, Token};

/// One step.
#[derive(Clone, Debug)]
pub enum Step {
    /// Issues a copy.
    Issue { queue: Queue, token: Option<Token> },
    /// A commit of the program itself.
    Commit { queue: Queue, token: Option<Token> },
    /// The place of a slot.
    Slot(Slot),
    /// A wait of the program itself.
    Wait {
        queue: Queue,
        n: u32,
        /// False if it comes with an await, see [`super::reads::split`].
        own: bool,
    },
    /// An await.
    Await { site: Await, tokens: Vec<Token> },
    /// Each token on the left becomes the join of those on its right, all at once.
    Bind(Vec<(Token, Vec<Token>)>),
    /// Goes on at a step.
    Jump(usize),
    /// Goes on at any of the steps. Going back is always a choice, even of one.
    Choice(Vec<usize>),
    /// Sets a loop counter.
    Count { counter: usize, trip: u64 },
    /// Takes 1 from a counter, or goes on at a step if it is 0.
    Next { counter: usize, done: usize },
    /// The program ends.
    Halt,
}

/// A flat program.
pub struct Code {
    /// The steps; execution starts at the first.
    pub steps: Vec<Step>,
    /// How many loop counters there are.
    pub counters: usize,
    /// The tokens that may still be used, before each step.
    pub live: Vec<BTreeSet<Token>>,
}

impl Code {
    /// Flattens a program.
    pub fn new(program: &Program) -> Self {
        let mut flat = Flat::default();
        let end = flat.label();
        flat.graph(&program.body, end, &[]);
        flat.place(end);
        flat.steps.push(Step::Halt);
        flat.resolve();
        let live = live(&flat.steps);
        Self {
            steps: flat.steps,
            counters: flat.counters,
            live,
        }
    }

    /// The step at which an execution halts if it reaches the end of the program, and not in a block without edges.
    pub fn end(&self) -> usize {
        self.steps.len() - 1
    }
}

impl Step {
    /// The steps that may come next.
    pub fn next(&self, at: usize) -> Vec<usize> {
        match self {
            Self::Jump(to) => vec![*to],
            Self::Choice(to) => to.clone(),
            Self::Next { done, .. } => vec![at + 1, *done],
            Self::Halt => Vec::new(),
            _ => vec![at + 1],
        }
    }

    /// The tokens that the step defines.
    pub fn defines(&self) -> Vec<Token> {
        match self {
            Self::Issue { token, .. } | Self::Commit { token, .. } => token.iter().copied().collect(),
            Self::Bind(pairs) => pairs.iter().map(|(token, _)| *token).collect(),
            _ => Vec::new(),
        }
    }

    fn uses(&self) -> Vec<Token> {
        match self {
            Self::Await { tokens, .. } => tokens.clone(),
            Self::Bind(pairs) => pairs.iter().flat_map(|(_, of)| of.clone()).collect(),
            _ => Vec::new(),
        }
    }
}

fn live(steps: &[Step]) -> Vec<BTreeSet<Token>> {
    let mut live = vec![BTreeSet::new(); steps.len()];
    loop {
        let mut changed = false;
        for at in (0..steps.len()).rev() {
            let mut now = BTreeSet::new();
            for next in steps[at].next(at) {
                now.extend(live[next].iter().copied());
            }
            for token in steps[at].defines() {
                now.remove(&token);
            }
            now.extend(steps[at].uses());
            changed |= now != live[at];
            live[at] = now;
        }
        if !changed {
            return live;
        }
    }
}

/// Until `resolve`, jumps hold labels.
#[derive(Default)]
struct Flat {
    steps: Vec<Step>,
    labels: Vec<usize>,
    counters: usize,
}

impl Flat {
    fn label(&mut self) -> usize {
        self.labels.push(usize::MAX);
        self.labels.len() - 1
    }

    fn place(&mut self, label: usize) {
        self.labels[label] = self.steps.len();
    }

    fn bind(&mut self, to: &[Token], from: &[Token]) {
        assert_eq!(to.len(), from.len(), "an edge passes what its target takes");
        if !to.is_empty() {
            let pairs = to.iter().zip(from).map(|(&to, &from)| (to, vec![from]));
            self.steps.push(Step::Bind(pairs.collect()));
        }
    }

    fn slot(&mut self, slot: Option<Slot>) {
        self.steps.extend(slot.map(Step::Slot));
    }

    /// The parameters of block 0 are bound already; an exit binds `results` and goes to `exit`.
    fn graph(&mut self, graph: &Graph, exit: usize, results: &[Token]) {
        let labels: Vec<usize> = graph.blocks.iter().map(|_| self.label()).collect();
        for (index, block) in graph.blocks.iter().enumerate() {
            self.place(labels[index]);
            self.slot(block.start);
            for item in &block.items {
                self.item(item);
            }
            let back = |edge: &tokenflow::Edge| matches!(edge.to, Target::Block(to) if to <= index);
            match block.edges.as_slice() {
                [] => self.steps.push(Step::Halt),
                [edge] if !back(edge) => self.edge(graph, edge, &labels, exit, results),
                edges => {
                    let stubs: Vec<usize> = edges.iter().map(|_| self.label()).collect();
                    self.steps.push(Step::Choice(stubs.clone()));
                    for (edge, stub) in edges.iter().zip(stubs) {
                        self.place(stub);
                        self.edge(graph, edge, &labels, exit, results);
                    }
                }
            }
        }
    }

    fn edge(
        &mut self,
        graph: &Graph,
        edge: &tokenflow::Edge,
        labels: &[usize],
        exit: usize,
        results: &[Token],
    ) {
        let to = match edge.to {
            Target::Block(block) => {
                self.bind(&graph.blocks[block].params, &edge.args);
                labels[block]
            }
            Target::Exit => {
                self.bind(results, &edge.args);
                exit
            }
        };
        self.steps.push(Step::Jump(to));
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Issue {
                queue, token, slot, ..
            } => {
                self.steps.push(Step::Issue {
                    queue: *queue,
                    token: *token,
                });
                self.slot(*slot);
            }
            Item::Commit { queue, token } => self.steps.push(Step::Commit {
                queue: *queue,
                token: *token,
            }),
            Item::Wait { queue, n, read } => self.steps.push(Step::Wait {
                queue: *queue,
                n: *n,
                own: !read,
            }),
            Item::Await { site, tokens, .. } => self.steps.push(Step::Await {
                site: *site,
                tokens: tokens.clone(),
            }),
            Item::Point(slot) => self.slot(Some(*slot)),
            Item::Join { token, of } => self.steps.push(Step::Bind(vec![(*token, of.clone())])),
            Item::Nested(nested) => {
                let end = self.label();
                self.bind(&nested.graph.blocks[0].params, &nested.inits);
                self.graph(&nested.graph, end, &nested.results);
                self.place(end);
                self.slot(nested.after);
            }
            Item::Repeat(repeat) => {
                let (head, done) = (self.label(), self.label());
                let counter = self.counters;
                self.counters += 1;
                let carried = &repeat.body.blocks[0].params;
                self.bind(carried, &repeat.inits);
                self.steps.push(Step::Count {
                    counter,
                    trip: repeat.trip,
                });
                self.place(head);
                self.steps.push(Step::Next { counter, done });
                self.graph(&repeat.body, head, carried);
                self.place(done);
                self.bind(&repeat.results, carried);
                self.slot(repeat.after);
            }
        }
    }

    fn resolve(&mut self) {
        for step in &mut self.steps {
            match step {
                Step::Jump(to) | Step::Next { done: to, .. } => *to = self.labels[*to],
                Step::Choice(to) => to.iter_mut().for_each(|to| *to = self.labels[*to]),
                _ => {}
            }
        }
    }
}
