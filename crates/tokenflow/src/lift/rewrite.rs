//! Rewrites a program so that a lifted queue is in token form.

use super::{JoinPlace, LiftedQueue, LiftedToken, RegionStructure, Register};
use crate::clone::{ProgramClone, clone_peeled};
use crate::program::{
    Await, Block, Edge, Graph, Item, Program, Queue, Slot, Target, Token, ensure_sufficient_stack,
};
use rustc_hash::FxHashMap;

/// A program in which a queue is in token form.
pub(super) struct RewrittenProgram {
    pub program: Program,
    /// The slot in the place of each commit that is gone.
    pub commits: Vec<Slot>,
    /// The awaits in the place of waits.
    pub awaits: Vec<ReplacedWait>,
}

/// An await, and the wait that was in its place.
pub(super) struct ReplacedWait {
    pub site: Await,
    pub n: u32,
    pub read: bool,
}

/// The program with `queue` in token form. An await is in the place of each wait.
#[must_use]
pub fn rewrite(
    program: &Program,
    queue: Queue,
    structures: &[RegionStructure],
    lifted: &LiftedQueue,
) -> Program {
    rewritten(program, queue, structures, lifted).program
}

pub(super) fn rewritten(
    program: &Program,
    queue: Queue,
    structures: &[RegionStructure],
    lifted: &LiftedQueue,
) -> RewrittenProgram {
    let mut joins: FxHashMap<JoinPlace, Vec<usize>> = FxHashMap::default();
    for (number, join) in lifted.joins.iter().enumerate() {
        if !join.of.is_empty() {
            joins.entry(join.place).or_default().push(number);
        }
    }
    let mut writer = Rewriter {
        queue,
        lifted,
        structures,
        reads: has_reads(program, queue),
        joins,
        tokens: FxHashMap::default(),
        program: program.clone(),
        graphs: 0,
        commits: Vec::new(),
        number_of_commits: 0,
        awaits: Vec::new(),
    };
    let mut body = std::mem::take(&mut writer.program.body);
    writer.graph(&mut body, false);
    if let Some(first) = body.blocks.first_mut() {
        let token = writer.token(LiftedToken::Ready);
        let of = Vec::new();
        first.items.insert(0, Item::Join { token, of });
    }
    writer.program.body = body;
    writer.in_order()
}

/// Returns true if some wait of the queue is for reads alone.
fn has_reads(program: &Program, queue: Queue) -> bool {
    let mut any = false;
    program.body.visit(&mut |item| {
        any |= matches!(item, Item::Wait { queue: q, read: true, .. } if *q == queue);
    });
    any
}

struct Rewriter<'a> {
    queue: Queue,
    lifted: &'a LiftedQueue,
    structures: &'a [RegionStructure],
    /// True if operations have a token of their reads.
    reads: bool,
    joins: FxHashMap<JoinPlace, Vec<usize>>,
    tokens: FxHashMap<LiftedToken, Token>,
    program: Program,
    graphs: usize,
    commits: Vec<Slot>,
    number_of_commits: usize,
    awaits: Vec<ReplacedWait>,
}

impl<'a> Rewriter<'a> {
    /// The program with numbers in program order.
    fn in_order(self) -> RewrittenProgram {
        let ProgramClone {
            program,
            awaits,
            slots,
            ..
        } = clone_peeled(&self.program, &[]);
        let new_slots: FxHashMap<Slot, u32> = slots.into_iter().zip(0..).collect();
        let new_awaits: FxHashMap<Await, u32> = awaits.into_iter().zip(0..).collect();
        let awaits = self.awaits.into_iter().map(|wait| ReplacedWait {
            site: Await(new_awaits[&wait.site]),
            ..wait
        });
        RewrittenProgram {
            program,
            commits: self.commits.iter().map(|slot| Slot(new_slots[slot])).collect(),
            awaits: awaits.collect(),
        }
    }

    fn token(&mut self, token: LiftedToken) -> Token {
        let program = &mut self.program;
        *self.tokens.entry(token).or_insert_with(|| program.token())
    }

    fn tokens(&mut self, tokens: impl IntoIterator<Item = LiftedToken>) -> Vec<Token> {
        tokens.into_iter().map(|token| self.token(token)).collect()
    }

    fn joins(&mut self, place: JoinPlace) -> Vec<Item> {
        let lifted = self.lifted;
        let here = self.joins.remove(&place).unwrap_or_default().into_iter();
        here.map(|number| Item::Join {
            token: self.token(LiftedToken::Joined(number)),
            of: self.tokens(lifted.joins[number].of.iter().copied()),
        })
        .collect()
    }

    /// The registers that edges to a block pass on.
    fn params(&self, graph: usize, block: usize, is_loop: bool) -> &'a [Register] {
        let lifted = &self.lifted.graphs[graph];
        if !self.structures[graph].starts_region(block) {
            lifted.blocks.get(block).map_or(&[], |block| &block.params)
        } else if is_loop {
            &lifted.carried
        } else {
            &[]
        }
    }

    fn graph(&mut self, graph: &mut Graph, is_loop: bool) {
        let id = self.graphs;
        self.graphs += 1;
        for (index, block) in graph.blocks.iter_mut().enumerate() {
            let params = self.params(id, index, is_loop).iter();
            let params = params.map(|&register| LiftedToken::Param {
                graph: id,
                block: index,
                register,
            });
            let params: Vec<Token> = self.tokens(params.collect::<Vec<_>>());
            block.params.extend(params);
            self.block(block, id, index, is_loop);
        }
    }

    fn block(&mut self, block: &mut Block, id: usize, index: usize, is_loop: bool) {
        for item in std::mem::take(&mut block.items) {
            self.item(item, &mut block.items);
        }
        let place = JoinPlace::End {
            graph: id,
            block: index,
        };
        block.items.extend(self.joins(place));
        let lifted = &self.lifted.graphs[id];
        for Edge { to, args } in &mut block.edges {
            let registers = match to {
                Target::Block(to) => self.params(id, *to, is_loop),
                Target::Exit => &lifted.carried,
            };
            let end = lifted.blocks.get(index);
            let tokens = registers.iter().map(|&register| match end {
                Some(end) => end.end(register),
                None => LiftedToken::Ready,
            });
            args.extend(self.tokens(tokens));
        }
    }

    fn item(&mut self, mut item: Item, items: &mut Vec<Item>) {
        match &mut item {
            Item::Issue {
                site,
                queue,
                token,
                read,
                slot,
            } if *queue == self.queue && !self.lifted.of_groups => {
                *token = Some(self.token(LiftedToken::Done(*site)));
                *read = self.reads.then(|| self.token(LiftedToken::Read(*site)));
                *slot = Some(self.program.slot());
            }
            Item::Commit { queue, token } if *queue == self.queue => {
                let number = self.number_of_commits;
                self.number_of_commits += 1;
                if self.lifted.of_groups {
                    *token = Some(self.token(LiftedToken::Group(number)));
                } else {
                    items.extend(self.joins(JoinPlace::Commit(number)));
                    let slot = self.program.slot();
                    self.commits.push(slot);
                    item = Item::Point(slot);
                }
            }
            Item::Wait { queue, n, read } if *queue == self.queue => {
                let tokens = self.lifted.waits[self.awaits.len()].iter().copied();
                let tokens = self.tokens(tokens);
                let site = self.program.new_await();
                self.awaits.push(ReplacedWait {
                    site,
                    n: *n,
                    read: *read,
                });
                item = Item::Await {
                    site,
                    tokens,
                    covered: false,
                };
            }
            Item::Nested(_) | Item::Repeat(_) => self.inner(&mut item, items),
            _ => {}
        }
        items.push(item);
    }

    fn inner(&mut self, item: &mut Item, items: &mut Vec<Item>) {
        let id = self.graphs;
        let lifted = &self.lifted.graphs[id];
        items.extend(self.joins(JoinPlace::Before(id)));
        let result = |&register: &Register| LiftedToken::Result { graph: id, register };
        let results = self.tokens(lifted.carried.iter().map(result));
        match item {
            Item::Nested(nested) => {
                nested.results.extend(results);
                let is_loop = self.structures[id].is_loop;
                ensure_sufficient_stack(|| self.graph(&mut nested.graph, is_loop));
            }
            Item::Repeat(repeat) => {
                let inits = lifted.carried.iter().map(|&register| lifted.before(register));
                let inits = self.tokens(inits);
                repeat.inits.extend(inits);
                repeat.results.extend(results);
                ensure_sufficient_stack(|| self.graph(&mut repeat.body, true));
            }
            _ => {}
        }
    }
}
