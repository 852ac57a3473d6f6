//! Precomputes what the evaluator needs to know about a program: where tokens live, which tokens cross
//! blocks, which graphs have loops. Takes time linear in the program plus the tokens that cross blocks.

use crate::age::MAX_COUNT;
use crate::program::{Await, Block, Graph, Item, Program, Target, Token, ensure_sufficient_stack};
use rustc_hash::FxHashSet;
use std::ops::Range;

/// What is known of a whole program.
pub(crate) struct ProgramInfo {
    /// For each token, how many frames lie around the graph that defines it.
    pub depth: Vec<u32>,
    /// The tree of graphs, parallel to the program's.
    pub root: GraphInfo,
    /// How many graphs there are.
    pub graphs: usize,
    /// For each queue, the largest count of the program's own waits that the hardware takes.
    pub largest_wait: Vec<Option<u8>>,
    /// For each queue, whether its reads are looked at: some operation has a token for them, or some wait is for
    /// them alone.
    pub reads: Vec<bool>,
    /// True if some await is covered by waits of the program.
    pub covered: bool,
}

/// What is known of one graph.
pub(crate) struct GraphInfo {
    /// The place of this graph among all.
    pub id: usize,
    /// For each block, its place in reverse postorder, or `None` if it can't be reached.
    pub order: Vec<Option<usize>>,
    /// The blocks that can be reached, in reverse postorder.
    pub sequence: Vec<usize>,
    /// True if some path through the blocks of this very graph comes back to a block.
    pub cyclic: bool,
    /// True if this graph or one inside it has a loop.
    pub has_loop: bool,
    /// The awaits inside, which are numbered without a gap.
    pub awaits: Range<u32>,
    /// The tokens from outside that are used inside.
    pub captured: Vec<Token>,
    /// What is known of each block.
    pub blocks: Vec<BlockInfo>,
}

/// What is known of one block.
#[derive(Default)]
pub(crate) struct BlockInfo {
    /// The graph's own tokens, other than parameters, that are alive when the block starts.
    pub live_in: Vec<Token>,
    /// The graphs of the block's items, in order.
    pub inner: Vec<GraphInfo>,
}

/// Returns how many frames the evaluator pushes for the graph of `item`.
fn frames(item: &Item) -> u32 {
    if matches!(item, Item::Repeat(_)) { 2 } else { 1 }
}

impl ProgramInfo {
    pub fn new(program: &Program) -> Self {
        let mut builder = Builder {
            depth: vec![0; program.tokens as usize],
            block: vec![0; program.tokens as usize],
            next_graph: 0,
            next_await: 0,
            open: Vec::new(),
            largest_wait: vec![None; usize::from(program.queues)],
            reads: vec![false; usize::from(program.queues)],
            covered: false,
        };
        builder.define(&program.body, 0);
        let root = builder.graph(&program.body, 0);
        Self {
            depth: builder.depth,
            root,
            graphs: builder.next_graph,
            largest_wait: builder.largest_wait,
            reads: builder.reads,
            covered: builder.covered,
        }
    }
}

struct Builder {
    depth: Vec<u32>,
    /// For each token, the block of its graph that defines it.
    block: Vec<usize>,
    next_graph: usize,
    next_await: u32,
    /// The graphs around the current one, outermost first.
    open: Vec<OpenGraph>,
    largest_wait: Vec<Option<u8>>,
    reads: Vec<bool>,
    covered: bool,
}

struct OpenGraph {
    depth: u32,
    /// The block being read.
    block: usize,
    /// Uses of this graph's own tokens in other blocks than the defining one.
    uses: Vec<(usize, Token)>,
    captured: FxHashSet<Token>,
}

impl Builder {
    /// Notes where every token is defined.
    fn define(&mut self, graph: &Graph, depth: u32) {
        ensure_sufficient_stack(|| {
            for (b, block) in graph.blocks.iter().enumerate() {
                let mut def = |token: Token| {
                    self.depth[token.0 as usize] = depth;
                    self.block[token.0 as usize] = b;
                };
                block.params.iter().copied().for_each(&mut def);
                for item in &block.items {
                    defs(item).for_each(&mut def);
                }
                for item in &block.items {
                    if let Some(inner) = item.graph() {
                        self.define(inner, depth + frames(item));
                    }
                }
            }
        });
    }

    fn graph(&mut self, graph: &Graph, depth: u32) -> GraphInfo {
        let id = self.next_graph;
        self.next_graph += 1;
        let first_await = self.next_await;
        self.open.push(OpenGraph {
            depth,
            block: 0,
            uses: Vec::new(),
            captured: FxHashSet::default(),
        });
        let mut blocks = Vec::with_capacity(graph.blocks.len());
        for (b, block) in graph.blocks.iter().enumerate() {
            if let Some(open) = self.open.last_mut() {
                open.block = b;
            }
            blocks.push(ensure_sufficient_stack(|| self.block(block, depth)));
        }
        let open = self.open.pop().unwrap_or_else(|| unreachable!("pushed above"));
        let (order, cyclic) = order(graph);
        self.live_in(graph, &open.uses, &mut blocks);
        let has_loop = cyclic
            || graph
                .blocks
                .iter()
                .any(|block| block.items.iter().any(|item| matches!(item, Item::Repeat(_))))
            || blocks
                .iter()
                .any(|block| block.inner.iter().any(|inner| inner.has_loop));
        let mut captured: Vec<Token> = open.captured.into_iter().collect();
        captured.sort_unstable();
        GraphInfo {
            id,
            sequence: sequence(&order),
            order,
            cyclic,
            has_loop,
            awaits: first_await..self.next_await,
            captured,
            blocks,
        }
    }

    fn block(&mut self, block: &Block, depth: u32) -> BlockInfo {
        let mut inner = Vec::new();
        for item in &block.items {
            match item {
                Item::Await {
                    site,
                    tokens,
                    covered,
                } => {
                    self.covered |= covered;
                    debug_assert_eq!(*site, Await(self.next_await), "awaits are in order");
                    self.next_await += 1;
                    self.uses(tokens);
                }
                Item::Join { of, .. } => self.uses(of),
                Item::Nested(nested) => {
                    self.uses(&nested.inits);
                    inner.push(self.graph(&nested.graph, depth + frames(item)));
                }
                Item::Repeat(repeat) => {
                    self.uses(&repeat.inits);
                    inner.push(self.graph(&repeat.body, depth + frames(item)));
                }
                Item::Wait { queue, n, read } => {
                    self.reads[usize::from(queue.0)] |= read;
                    let largest = &mut self.largest_wait[usize::from(queue.0)];
                    let n = u8::try_from(*n).ok().filter(|n| *n <= MAX_COUNT);
                    *largest = (*largest).max(n);
                }
                Item::Issue { queue, read, .. } => self.reads[usize::from(queue.0)] |= read.is_some(),
                Item::Commit { .. } | Item::Point(_) => {}
            }
        }
        for edge in &block.edges {
            self.uses(&edge.args);
        }
        BlockInfo {
            live_in: Vec::new(),
            inner,
        }
    }

    fn uses(&mut self, tokens: &[Token]) {
        for &token in tokens {
            let depth = self.depth[token.0 as usize];
            let block = self.block[token.0 as usize];
            for open in self.open.iter_mut().rev() {
                if open.depth == depth {
                    if open.block != block {
                        open.uses.push((open.block, token));
                    }
                    break;
                }
                open.captured.insert(token);
            }
        }
    }

    /// Walks from each use against the edges up to the definition.
    fn live_in(&self, graph: &Graph, uses: &[(usize, Token)], blocks: &mut [BlockInfo]) {
        if uses.is_empty() {
            return;
        }
        let mut preds = vec![Vec::new(); graph.blocks.len()];
        for (b, block) in graph.blocks.iter().enumerate() {
            for edge in &block.edges {
                if let Target::Block(to) = edge.to {
                    preds[to].push(b);
                }
            }
        }
        let mut live: FxHashSet<(usize, Token)> = FxHashSet::default();
        let mut work: Vec<(usize, Token)> = uses.to_vec();
        while let Some((block, token)) = work.pop() {
            if self.block[token.0 as usize] != block && live.insert((block, token)) {
                work.extend(preds[block].iter().map(|&pred| (pred, token)));
            }
        }
        let mut live: Vec<_> = live.into_iter().collect();
        live.sort_unstable();
        for (block, token) in live {
            blocks[block].live_in.push(token);
        }
    }
}

/// Returns the tokens that `item` defines in the graph that holds it.
pub(crate) fn defs(item: &Item) -> impl Iterator<Item = Token> + '_ {
    let (one, many): (Option<Token>, &[Token]) = match item {
        Item::Issue { token, read, .. } => (*token, read.as_slice()),
        Item::Commit { token, .. } => (*token, &[]),
        Item::Join { token, .. } => (Some(*token), &[]),
        Item::Nested(nested) => (None, &nested.results),
        Item::Repeat(repeat) => (None, &repeat.results),
        Item::Wait { .. } | Item::Await { .. } | Item::Point(_) => (None, &[]),
    };
    one.into_iter().chain(many.iter().copied())
}

/// Returns each block's place in reverse postorder and whether the graph has a cycle.
pub(crate) fn order(graph: &Graph) -> (Vec<Option<usize>>, bool) {
    let n = graph.blocks.len();
    let mut order = vec![None; n];
    let (mut seen, mut on_path) = (vec![false; n], vec![false; n]);
    let (mut postorder, mut cyclic) = (Vec::with_capacity(n), false);
    if n == 0 {
        return (order, false);
    }
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    on_path[0] = true;
    while let Some((block, next)) = stack.last_mut() {
        let b = *block;
        if let Some(edge) = graph.blocks[b].edges.get(*next) {
            *next += 1;
            if let Target::Block(to) = edge.to {
                cyclic |= on_path[to];
                if !seen[to] {
                    seen[to] = true;
                    on_path[to] = true;
                    stack.push((to, 0));
                }
            }
        } else {
            on_path[b] = false;
            postorder.push(b);
            stack.pop();
        }
    }
    for (i, &b) in postorder.iter().rev().enumerate() {
        order[b] = Some(i);
    }
    (order, cyclic)
}

/// Returns the blocks that have a place in `order`, by that place.
fn sequence(order: &[Option<usize>]) -> Vec<usize> {
    let mut sequence: Vec<usize> = (0..order.len()).filter(|&b| order[b].is_some()).collect();
    sequence.sort_by_key(|&b| order[b]);
    sequence
}

/// Calls `f` on every token that `item` uses, also inside.
pub(crate) fn uses(item: &Item, f: &mut dyn FnMut(Token)) {
    match item {
        Item::Await { tokens, .. } => tokens.iter().copied().for_each(f),
        Item::Join { of, .. } => of.iter().copied().for_each(f),
        Item::Nested(nested) => {
            nested.inits.iter().copied().for_each(&mut *f);
            ensure_sufficient_stack(|| graph_uses(&nested.graph, f));
        }
        Item::Repeat(repeat) => {
            repeat.inits.iter().copied().for_each(&mut *f);
            ensure_sufficient_stack(|| graph_uses(&repeat.body, f));
        }
        Item::Issue { .. } | Item::Commit { .. } | Item::Wait { .. } | Item::Point(_) => {}
    }
}

fn graph_uses(graph: &Graph, f: &mut dyn FnMut(Token)) {
    for block in &graph.blocks {
        for item in &block.items {
            uses(item, f);
        }
        for edge in &block.edges {
            edge.args.iter().copied().for_each(&mut *f);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::generate::{Style, any_program, config};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Returns the blocks that edges lead to from each block, in at least one step; those of `without` are not left.
    fn reached(graph: &Graph, from: usize, without: Option<usize>) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut work = vec![from];
        while let Some(b) = work.pop() {
            for edge in &graph.blocks[b].edges {
                if let Target::Block(to) = edge.to
                    && Some(to) != without
                    && reached.insert(to)
                {
                    work.push(to);
                }
            }
        }
        reached
    }

    fn uses_of(block: &Block) -> BTreeSet<Token> {
        let mut found: BTreeSet<Token> = block.edges.iter().flat_map(|edge| edge.args.clone()).collect();
        block
            .items
            .iter()
            .for_each(|item| uses(item, &mut |token| _ = found.insert(token)));
        found
    }

    fn defs_of(block: &Block) -> impl Iterator<Item = Token> + '_ {
        block
            .params
            .iter()
            .copied()
            .chain(block.items.iter().flat_map(defs))
    }

    fn check(program_info: &ProgramInfo, graph: &Graph, info: &GraphInfo, depth: u32) {
        let blocks = 0..graph.blocks.len();
        let reached: Vec<BTreeSet<usize>> = blocks.clone().map(|b| reached(graph, b, None)).collect();
        let is_reached = |b: usize| b == 0 || reached[0].contains(&b);
        assert_eq!(
            info.cyclic,
            blocks.clone().any(|b| is_reached(b) && reached[b].contains(&b))
        );
        assert!(blocks.clone().all(|b| info.order[b].is_some() == is_reached(b)));
        assert!(info.sequence.is_sorted_by_key(|&b| info.order[b]));
        for b in blocks.clone().filter(|&b| is_reached(b) && !info.cyclic) {
            assert!(reached[b].iter().all(|&later| info.order[later] > info.order[b]));
        }
        let uses: Vec<BTreeSet<Token>> = graph.blocks.iter().map(uses_of).collect();
        let mut live_in = vec![BTreeSet::new(); graph.blocks.len()];
        for d in blocks.clone() {
            for token in defs_of(&graph.blocks[d]) {
                assert_eq!(program_info.depth[token.0 as usize], depth);
                for b in blocks.clone().filter(|&b| b != d) {
                    let mut after = super::tests::reached(graph, b, Some(d));
                    after.insert(b);
                    if after.iter().any(|&user| uses[user].contains(&token)) {
                        live_in[b].insert(token);
                    }
                }
            }
        }
        let found = info.blocks.iter().map(|block| block.live_in.clone());
        assert_eq!(
            found.collect::<Vec<_>>(),
            live_in.into_iter().map(Vec::from_iter).collect::<Vec<_>>()
        );
        let mut own: BTreeSet<Token> = graph.blocks.iter().flat_map(defs_of).collect();
        graph.visit(&mut |item| {
            let inner = item.graph().into_iter().flat_map(|graph| &graph.blocks);
            own.extend(inner.flat_map(defs_of));
        });
        let used: BTreeSet<Token> = uses.into_iter().flatten().collect();
        assert_eq!(info.captured, used.difference(&own).copied().collect::<Vec<_>>());
        for (block, block_info) in graph.blocks.iter().zip(&info.blocks) {
            let items = block.items.iter().filter(|item| item.graph().is_some());
            assert_eq!(items.clone().count(), block_info.inner.len());
            for (item, inner) in items.zip(&block_info.inner) {
                check(
                    program_info,
                    item.graph().expect("it has one"),
                    inner,
                    depth + frames(item),
                );
            }
        }
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn is_what_a_search_finds(recipe in any_program(Style::Mixed)) {
            let program = recipe.program();
            let program_info = ProgramInfo::new(&program);
            check(&program_info, &program.body, &program_info.root, 0);
        }
    }
}
