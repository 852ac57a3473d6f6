//! Which tokens of a region flow together: a graph of them, and the sets that it falls into.

use super::union::Union;
use crate::program::Token;
use std::collections::{BTreeSet, HashMap};

/// The tokens of a region's own blocks, and its results.
#[derive(Default)]
pub(super) struct Together {
    /// The tokens; true for the results of the region itself.
    pub nodes: Vec<(Token, bool)>,
    place: HashMap<(Token, bool), usize>,
    pub union: Union,
    /// What flows into each directly.
    pub before: Vec<Vec<usize>>,
    /// How many edges bind each.
    pub ways: Vec<usize>,
    /// Tokens from outside, and what they run into.
    pub takes: Vec<(Token, usize)>,
}

impl Together {
    pub fn own(&mut self, token: Token) -> usize {
        self.node(token, false)
    }

    /// All that flows into `node`, and the node itself.
    pub fn behind(&self, node: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::from([node]);
        let mut work = vec![node];
        while let Some(node) = work.pop() {
            let before = self.before[node].iter().copied();
            work.extend(before.filter(|&before| seen.insert(before)));
        }
        seen
    }

    pub fn result(&mut self, token: Token) -> usize {
        self.node(token, true)
    }

    fn node(&mut self, token: Token, is_result: bool) -> usize {
        let Self {
            nodes,
            place,
            union,
            before,
            ways,
            ..
        } = self;
        *place.entry((token, is_result)).or_insert_with(|| {
            nodes.push((token, is_result));
            before.push(Vec::new());
            ways.push(0);
            union.add()
        })
    }
}
