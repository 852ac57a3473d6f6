//! Step 2: builds the dataflow graph of the tokens of one region op, and its connected components.
//!
//! **In:** a region op. **Out:** for each token, what flows into it, and which others it is connected with.

use super::union_find::UnionFind;
use crate::program::Token;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The tokens of a region op's own blocks, and its results.
#[derive(Default)]
pub(super) struct TokenGraph {
    /// The tokens; true for the results of the region op itself.
    pub nodes: Vec<(Token, bool)>,
    index: FxHashMap<(Token, bool), usize>,
    pub union: UnionFind,
    /// What flows into each directly.
    pub predecessors: Vec<Vec<usize>>,
    /// How many edges bind each.
    pub incoming_edges: Vec<usize>,
    /// Tokens from outside, and what they run into.
    pub live_ins: Vec<(Token, usize)>,
}

impl TokenGraph {
    pub fn local_node(&mut self, token: Token) -> usize {
        self.node(token, false)
    }

    /// All that flows into `node`, and the node itself.
    pub fn backward_slice(&self, node: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::from([node]);
        let mut work = vec![node];
        while let Some(node) = work.pop() {
            let predecessors = self.predecessors[node].iter().copied();
            work.extend(predecessors.filter(|&predecessors| seen.insert(predecessors)));
        }
        seen
    }

    pub fn result_node(&mut self, token: Token) -> usize {
        self.node(token, true)
    }

    fn node(&mut self, token: Token, is_result: bool) -> usize {
        let Self {
            nodes,
            index,
            union,
            predecessors,
            incoming_edges,
            ..
        } = self;
        *index.entry((token, is_result)).or_insert_with(|| {
            nodes.push((token, is_result));
            predecessors.push(Vec::new());
            incoming_edges.push(0);
            union.add()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_all_that_flows_into_a_node() {
        let mut graph = TokenGraph::default();
        let nodes: Vec<usize> = (0..5).map(|token| graph.local_node(Token(token))).collect();
        // 0 -> 1 -> 2 -> 1, 3 -> 4.
        for (from, to) in [(0, 1), (1, 2), (2, 1), (3, 4)] {
            graph.predecessors[nodes[to]].push(nodes[from]);
        }
        assert_eq!(
            graph.backward_slice(nodes[2]),
            BTreeSet::from([nodes[0], nodes[1], nodes[2]])
        );
        assert_eq!(graph.backward_slice(nodes[0]), BTreeSet::from([nodes[0]]));
        assert_eq!(
            graph.backward_slice(nodes[4]),
            BTreeSet::from([nodes[3], nodes[4]])
        );
        // A result is another node than the token inside.
        assert_eq!(graph.local_node(Token(0)), nodes[0]);
        assert_ne!(graph.result_node(Token(0)), nodes[0]);
    }
}
