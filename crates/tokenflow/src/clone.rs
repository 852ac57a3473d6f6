//! Clones parts of a program, renumbered: a range of it, or all of it with iterations of a loop peeled off.

use crate::counts::{Count, QueueSolution};
use crate::program::{
    Await, Block, Commits, Edge, Graph, Item, LoopId, Nested, Program, Repeat, Slot, Target, Token,
    ensure_sufficient_stack,
};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The first `iterations` of a loop get bodies of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peel {
    /// Which loop.
    pub id: LoopId,
    /// How many iterations; with all of them no loop is left.
    pub iterations: u64,
}

/// A copy of a program or of a part of it. The vectors give the original of each number.
pub(crate) struct ProgramClone {
    pub program: Program,
    pub awaits: Vec<Await>,
    pub slots: Vec<Slot>,
    pub loops: Vec<LoopId>,
    /// Slots that take the commits of a further slot of the original: where the body of a loop or the loop itself had one, and an
    /// iteration taken out of it has none.
    pub merged: Vec<(Slot, Slot)>,
}

impl ProgramClone {
    /// Returns the commits of the original for the copy.
    pub fn commits(&self, original: &Commits) -> Commits {
        let mut commits: Commits = self.slots.iter().map(|slot| original[slot.0 as usize]).collect();
        for (slot, of) in &self.merged {
            commits[slot.0 as usize] += original[of.0 as usize];
        }
        commits
    }

    /// Returns what a solution of the copy, of which nothing is peeled, says of the original.
    pub fn for_original(&self, original: &Program, solution: QueueSolution) -> QueueSolution {
        let of_awaits = |counts: Vec<Option<Count>>| {
            let mut all = vec![None; original.awaits as usize];
            for (w, count) in self.awaits.iter().zip(counts) {
                all[w.0 as usize] = count;
            }
            all
        };
        let mut commits = vec![0; original.slots as usize];
        for (slot, number) in self.slots.iter().zip(solution.commits) {
            commits[slot.0 as usize] = number;
        }
        let uncovered = solution.uncovered.into_iter();
        QueueSolution {
            commits,
            waits: of_awaits(solution.waits),
            reads: of_awaits(solution.reads),
            uncovered: uncovered.map(|w| self.awaits[w.0 as usize]).collect(),
        }
    }

    /// Returns what is known of each await of the original for those of the copy.
    pub fn pick<T: Copy>(&self, original: &[T]) -> Vec<T> {
        self.awaits.iter().map(|w| original[w.0 as usize]).collect()
    }
}

/// Returns the program with the first iterations of some loops peeled off; those inside of others in
/// every copy of the outer ones. Loops, awaits and slots are numbered in program order again.
#[must_use]
pub fn peel(program: &Program, peels: &[Peel]) -> Program {
    clone_peeled(program, peels).program
}

/// Returns true if the slots, awaits, operations and loops of `a` are those of `b`, in the same places of the same control flow, so that
/// what a solution says of those of `a` by number is said of those of `b`. Tokens may be others.
#[must_use]
pub fn have_same_outline(a: &Program, b: &Program) -> bool {
    same_outline(&a.body, &b.body)
}

fn same_outline(a: &Graph, b: &Graph) -> bool {
    let same_block = |(a, b): (&Block, &Block)| {
        let targets = |block: &Block| block.edges.iter().map(|edge| edge.to).collect::<Vec<_>>();
        // Joins do nothing but to define tokens.
        let is_step = |item: &&Item| !matches!(item, Item::Join { .. });
        let (mut of_a, mut of_b) = (a.items.iter().filter(is_step), b.items.iter().filter(is_step));
        a.start == b.start
            && targets(a) == targets(b)
            && of_a.by_ref().zip(of_b.by_ref()).all(|(a, b)| same_step(a, b))
            && of_a.next().is_none()
            && of_b.next().is_none()
    };
    a.blocks.len() == b.blocks.len() && a.blocks.iter().zip(&b.blocks).all(same_block)
}

fn same_step(a: &Item, b: &Item) -> bool {
    let same_graph = || match (a.graph(), b.graph()) {
        (Some(a), Some(b)) => ensure_sufficient_stack(|| same_outline(a, b)),
        _ => true,
    };
    let same_kind = match (a, b) {
        (
            Item::Issue { site, queue, .. },
            Item::Issue {
                site: s, queue: q, ..
            },
        ) => (site, queue) == (s, q),
        (Item::Commit { queue, .. }, Item::Commit { queue: q, .. }) => queue == q,
        (
            Item::Wait { queue, n, read },
            Item::Wait {
                queue: q,
                n: pending,
                read: reads,
            },
        ) => (queue, n, read) == (q, pending, reads),
        (
            Item::Await { site, covered, .. },
            Item::Await {
                site: s, covered: c, ..
            },
        ) => (site, covered) == (s, c),
        (Item::Repeat(a), Item::Repeat(b)) => (a.id, a.trip) == (b.id, b.trip),
        (Item::Point(_), Item::Point(_)) | (Item::Nested(_), Item::Nested(_)) => true,
        _ => false,
    };
    same_kind && a.after() == b.after() && same_graph()
}

/// Returns true if slots, awaits and loops are numbered in program order.
pub(crate) fn is_in_order(program: &Program) -> bool {
    let ProgramClone {
        awaits, slots, loops, ..
    } = clone_peeled(program, &[]);
    awaits.into_iter().map(|w| w.0).eq(0..program.awaits)
        && slots.into_iter().map(|slot| slot.0).eq(0..program.slots)
        && loops.into_iter().map(|id| id.0).eq(0..program.loops)
}

/// Copies the program, with some loops peeled.
pub(crate) fn clone_peeled(program: &Program, peels: &[Peel]) -> ProgramClone {
    let mut copier = Cloner::new(program, peels);
    copier.out.program.body = copier.graph(&program.body);
    copier.out
}

/// Copies a range of items of the first block, which must not use tokens from before it.
pub(crate) fn clone_items(program: &Program, items: Range<usize>) -> ProgramClone {
    let mut copier = Cloner::new(program, &[]);
    let mut block = Block::default();
    copier.items(&program.body.blocks[0].items[items], &mut block.items);
    block.edges.push(Edge {
        to: Target::Exit,
        args: Vec::new(),
    });
    copier.out.program.body.blocks.push(block);
    copier.out
}

struct Cloner {
    out: ProgramClone,
    peels: FxHashMap<LoopId, u64>,
    tokens: FxHashMap<Token, Token>,
    /// The slot of the current place, if it has one.
    here: Option<Slot>,
}

impl Cloner {
    fn new(program: &Program, peels: &[Peel]) -> Self {
        Self {
            out: ProgramClone {
                program: Program {
                    commit_rules: program.commit_rules.clone(),
                    ..Program::new(program.queues)
                },
                awaits: Vec::new(),
                slots: Vec::new(),
                loops: Vec::new(),
                merged: Vec::new(),
            },
            here: None,
            peels: peels.iter().map(|peel| (peel.id, peel.iterations)).collect(),
            tokens: FxHashMap::default(),
        }
    }

    fn def(&mut self, token: Token) -> Token {
        let new = self.out.program.token();
        self.tokens.insert(token, new);
        new
    }

    fn defs(&mut self, tokens: &[Token]) -> Vec<Token> {
        tokens.iter().map(|&token| self.def(token)).collect()
    }

    /// Returns the copies of used tokens. A block may use a token of a block that stands after it
    /// in the text but before it on every path, so a token is also known from its first use on.
    fn uses(&mut self, tokens: &[Token]) -> Vec<Token> {
        tokens
            .iter()
            .map(|&token| match self.tokens.get(&token) {
                Some(&new) => new,
                None => self.def(token),
            })
            .collect()
    }

    /// Defines a token that an earlier block in the text may have used already.
    fn known_def(&mut self, token: Token) -> Token {
        self.uses(&[token])[0]
    }

    fn slot(&mut self, slot: Option<Slot>) -> Option<Slot> {
        self.here = slot.map(|slot| {
            self.out.slots.push(slot);
            self.out.program.slot()
        });
        self.here
    }

    /// Notes that a slot of the original is where the copy has none of its own.
    fn merge_slot(&mut self, slot: Option<Slot>) {
        self.out.merged.extend(self.here.zip(slot));
    }

    fn graph(&mut self, graph: &Graph) -> Graph {
        ensure_sufficient_stack(|| {
            // Tokens of the graph are new, even if the graph was copied before.
            for block in &graph.blocks {
                self.defs(&block.params);
                for item in &block.items {
                    let defs: Vec<Token> = crate::program_info::defs(item).collect();
                    self.defs(&defs);
                }
            }
            let blocks = graph.blocks.iter().map(|block| self.block(block));
            Graph {
                blocks: blocks.collect(),
            }
        })
    }

    fn block(&mut self, block: &Block) -> Block {
        let mut new = Block {
            params: self.uses(&block.params),
            start: self.slot(block.start),
            items: Vec::with_capacity(block.items.len()),
            divergent: block.divergent,
            edges: Vec::new(),
        };
        self.items(&block.items, &mut new.items);
        new.edges = self.edges(&block.edges);
        new
    }

    fn edges(&mut self, edges: &[Edge]) -> Vec<Edge> {
        let edges = edges.iter().map(|edge| Edge {
            to: edge.to,
            args: self.uses(&edge.args),
        });
        edges.collect()
    }

    fn items(&mut self, items: &[Item], out: &mut Vec<Item>) {
        for item in items {
            if matches!(item, Item::Commit { .. } | Item::Wait { .. } | Item::Await { .. }) {
                self.here = None;
            }
            let new = match item {
                Item::Issue {
                    queue,
                    token,
                    read,
                    slot,
                    ..
                } => Item::Issue {
                    site: self.out.program.site(),
                    queue: *queue,
                    token: token.map(|token| self.known_def(token)),
                    read: read.map(|token| self.known_def(token)),
                    slot: self.slot(*slot),
                },
                Item::Commit { queue, token } => Item::Commit {
                    queue: *queue,
                    token: token.map(|token| self.known_def(token)),
                },
                Item::Wait { queue, n, read } => Item::Wait {
                    queue: *queue,
                    n: *n,
                    read: *read,
                },
                Item::Await {
                    site,
                    tokens,
                    covered,
                } => {
                    self.out.awaits.push(*site);
                    Item::Await {
                        site: self.out.program.new_await(),
                        tokens: self.uses(tokens),
                        covered: *covered,
                    }
                }
                Item::Join { token, of } => Item::Join {
                    of: self.uses(of),
                    token: self.known_def(*token),
                },
                Item::Point(slot) => {
                    let Some(slot) = self.slot(Some(*slot)) else {
                        continue;
                    };
                    Item::Point(slot)
                }
                Item::Nested(nested) => Item::from(Nested {
                    inits: self.uses(&nested.inits),
                    graph: self.graph(&nested.graph),
                    results: self.uses(&nested.results),
                    after: self.slot(nested.after),
                }),
                Item::Repeat(repeat) => {
                    self.repeat(repeat, out);
                    continue;
                }
            };
            out.push(new);
        }
    }

    fn repeat(&mut self, repeat: &Repeat, out: &mut Vec<Item>) {
        let mut inits = self.uses(&repeat.inits);
        let peeled = self.peels.get(&repeat.id).map_or(0, |&n| n.min(repeat.trip));
        for _ in 0..peeled {
            inits = self.iteration(&repeat.body, &inits, out);
        }
        let trip = repeat.trip - peeled;
        if peeled > 0 && trip == 0 {
            // The last iteration's tokens are the results; these have been used before they were known.
            for (&result, of) in repeat.results.iter().zip(inits) {
                let token = self.known_def(result);
                out.push(Item::Join { token, of: vec![of] });
            }
            self.merge_slot(repeat.after);
            return;
        }
        self.out.loops.push(repeat.id);
        let new = Repeat {
            id: self.out.program.new_loop(),
            trip,
            peelable: repeat.peelable && peeled == 0,
            body: self.graph(&repeat.body),
            inits,
            results: self.uses(&repeat.results),
            after: self.slot(repeat.after),
        };
        out.push(new.into());
    }

    /// Copies one iteration of a loop; returns the tokens it hands on.
    fn iteration(&mut self, body: &Graph, inits: &[Token], out: &mut Vec<Item>) -> Vec<Token> {
        if let [block] = body.blocks.as_slice()
            && let [edge] = block.edges.as_slice()
        {
            for item in &block.items {
                let defs: Vec<Token> = crate::program_info::defs(item).collect();
                self.defs(&defs);
            }
            self.merge_slot(block.start);
            self.tokens
                .extend(block.params.iter().copied().zip(inits.iter().copied()));
            self.items(&block.items, out);
            return self.uses(&edge.args);
        }
        let graph = self.graph(body);
        let results: Vec<Token> = inits.iter().map(|_| self.out.program.token()).collect();
        out.push(Item::from(Nested {
            graph,
            inits: inits.to_vec(),
            results: results.clone(),
            after: None,
        }));
        self.here = None;
        results
    }
}
