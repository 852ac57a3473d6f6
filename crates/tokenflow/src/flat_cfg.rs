//! Flattens a program into one control-flow graph without nesting, for questions about which paths exist.
//!
//! It has the paths of the program and, at constant-trip loops, more of them: such a loop runs any
//! number of times there, but at least once.

use crate::program::{Await, Graph, Item, Program, Target, ensure_sufficient_stack};
use rustc_hash::FxHashMap;

/// A program without nesting; execution starts at block 0.
#[derive(Clone, Debug, Default)]
pub struct FlatCfg<'p> {
    /// The blocks.
    pub blocks: Vec<FlatBlock<'p>>,
}

/// A straight line of items, none of which holds a graph.
#[derive(Clone, Debug, Default)]
pub struct FlatBlock<'p> {
    /// What happens, in order.
    pub items: Vec<&'p Item>,
    /// The blocks where control may go next.
    pub next: Vec<usize>,
    /// True if the program may end here.
    pub ends: bool,
}

impl<'p> FlatCfg<'p> {
    /// Takes the nesting out of `program`.
    #[must_use]
    pub fn new(program: &'p Program) -> Self {
        let mut flat = Self::default();
        let entry = flat.block();
        let body = flat.graph(&program.body, None);
        flat.blocks[entry].next.push(body);
        flat
    }

    /// Returns the block and the place in it of every await.
    #[must_use]
    pub fn awaits(&self) -> FxHashMap<Await, (usize, usize)> {
        let mut awaits = FxHashMap::default();
        for (b, block) in self.blocks.iter().enumerate() {
            for (i, item) in block.items.iter().enumerate() {
                if let Item::Await { site, .. } = item {
                    awaits.insert(*site, (b, i));
                }
            }
        }
        awaits
    }

    fn block(&mut self) -> usize {
        self.blocks.push(FlatBlock::default());
        self.blocks.len() - 1
    }

    /// Adds `graph`, which leads to block `next` or, if there is none, to the program's end.
    /// Returns the block where it is entered.
    fn graph(&mut self, graph: &'p Graph, next: Option<usize>) -> usize {
        let heads: Vec<usize> = graph.blocks.iter().map(|_| self.block()).collect();
        for (block, &head) in graph.blocks.iter().zip(&heads) {
            let mut at = head;
            for item in &block.items {
                at = self.item(item, at);
            }
            self.blocks[at].ends = block.edges.is_empty();
            for edge in &block.edges {
                match (edge.to, next) {
                    (Target::Block(to), _) => self.blocks[at].next.push(heads[to]),
                    (Target::Exit, Some(next)) => self.blocks[at].next.push(next),
                    (Target::Exit, None) => self.blocks[at].ends = true,
                }
            }
        }
        heads.first().copied().unwrap_or_else(|| {
            let empty = self.block();
            self.blocks[empty].next.extend(next);
            self.blocks[empty].ends = next.is_none();
            empty
        })
    }

    /// Adds `item` after block `at`; returns the block where control goes on.
    fn item(&mut self, item: &'p Item, at: usize) -> usize {
        let Some(graph) = item.graph() else {
            self.blocks[at].items.push(item);
            return at;
        };
        let trip = match item {
            Item::Repeat(repeat) => repeat.trip,
            _ => 1,
        };
        if trip == 0 {
            return at;
        }
        let end = self.block();
        let entry = ensure_sufficient_stack(|| self.graph(graph, Some(end)));
        self.blocks[at].next.push(entry);
        if trip == 1 {
            return end;
        }
        let after = self.block();
        self.blocks[end].next.extend([entry, after]);
        after
    }
}
