//! Computes which kinds of accesses conflict with the operations of each token, as bit masks: a fixed point
//! over phis and joins.

use super::flow_graph::FlowGraph;
use super::phis::Phis;
use super::{Accesses, LiftedToken, Register};

/// By join, and by set of phis and register; of a set all nodes together.
#[derive(Clone, Default)]
pub(super) struct AccessMasks {
    joins: Vec<u64>,
    params: rustc_hash::FxHashMap<(usize, usize), usize>,
    results: Vec<Option<usize>>,
    sets: Vec<Vec<u64>>,
}

impl AccessMasks {
    /// The masks of all tokens of `phis`, those in `self` added.
    pub fn grown(&self, flow: &FlowGraph, accesses: &Accesses, phis: &Phis) -> Self {
        let mut masks = self.clone();
        masks.joins.resize(phis.joins.all.len(), 0);
        if masks.sets.is_empty() {
            masks.params.clone_from(&flow.block_sets);
            masks.results = flow.graphs.iter().map(|graph| graph.set).collect();
            masks.sets = phis.sets.iter().map(|set| vec![0; set.len()]).collect();
        }
        while masks.grow(flow, accesses, phis) {}
        masks
    }

    /// Passes masks on once; returns true if that changed anything.
    fn grow(&mut self, flow: &FlowGraph, accesses: &Accesses, phis: &Phis) -> bool {
        let mut changed = false;
        for (number, join) in phis.joins.all.iter().enumerate() {
            let mask = join
                .of
                .iter()
                .fold(0, |mask, token| mask | self.of(accesses, *token));
            changed |= mask & !self.joins[number] != 0;
            self.joins[number] |= mask;
        }
        for (set, nodes) in flow.sets.iter().enumerate() {
            let preds = nodes.iter().flat_map(|&node| &flow.nodes[node].preds);
            for end in preds.filter_map(|&pred| phis.ends[pred].as_ref()) {
                for (register, &token) in end.iter().enumerate() {
                    let mask = self.of(accesses, token);
                    changed |= phis.sets[set][register] && mask & !self.sets[set][register] != 0;
                    self.sets[set][register] |= mask;
                }
            }
        }
        changed
    }

    /// The kinds of accesses that `token` is about.
    pub fn of(&self, accesses: &Accesses, token: LiftedToken) -> u64 {
        let set = |set: Option<usize>, register: Register| {
            set.and_then(|set| self.sets.get(set))
                .map_or(0, |set| set[register])
        };
        match token {
            LiftedToken::Ready => 0,
            LiftedToken::Done(site) => accesses.done[site.0 as usize],
            LiftedToken::Read(site) => accesses.read[site.0 as usize],
            // Nothing is known of the operations in it.
            LiftedToken::Group(_) => u64::MAX,
            LiftedToken::Joined(number) => self.joins.get(number).copied().unwrap_or(0),
            LiftedToken::Param {
                graph,
                block,
                register,
            } => {
                let own = self.params.get(&(graph, block)).copied();
                set(own.or(self.results.get(graph).copied().flatten()), register)
            }
            LiftedToken::Result { graph, register } => {
                set(self.results.get(graph).copied().flatten(), register)
            }
        }
    }

    /// Returns true if all of `other` is in `self`.
    pub fn covers(&self, other: &Self) -> bool {
        let all = |masks: &Self| -> Vec<u64> {
            masks
                .joins
                .iter()
                .chain(masks.sets.iter().flatten())
                .copied()
                .collect()
        };
        let (own, other) = (all(self), all(other));
        own.len() == other.len() && own.iter().zip(&other).all(|(own, other)| other & !own == 0)
    }
}
