//! Removes dead phis and joins, those that no wait needs (mark and sweep), and puts together what is left.

use super::flow_graph::FlowGraph;
use super::phis::Phis;
use super::{LiftedBlock, LiftedGraph, LiftedQueue, LiftedToken, Register};

/// What is needed: by join, and by set and register.
struct Needed {
    joins: Vec<bool>,
    sets: Vec<Vec<bool>>,
    work: Vec<LiftedToken>,
}

/// The program that `phis` describes, without what nobody needs.
pub(super) fn without_dead_phis(flow: &FlowGraph, phis: Phis) -> LiftedQueue {
    let needed = needed(flow, &phis);
    let registers = |set: Option<usize>| -> Vec<Register> {
        let needed = set.map(|set| needed.sets[set].iter().enumerate());
        let needed = needed.into_iter().flatten();
        needed.filter(|(_, needed)| **needed).map(|(r, _)| r).collect()
    };
    let end = |node: Option<usize>| node.and_then(|node| phis.ends[node].clone()).unwrap_or_default();
    let mut graphs = Vec::with_capacity(flow.graphs.len());
    for (extent, ends) in flow.graphs.iter().zip(&flow.ends) {
        let blocks = ends.iter().map(|&last| LiftedBlock {
            params: Vec::new(),
            end: end(last),
        });
        graphs.push(LiftedGraph {
            carried: registers(extent.set),
            before: end(extent.before),
            blocks: blocks.collect(),
        });
    }
    for (&(graph, block), &set) in &flow.block_sets {
        graphs[graph].blocks[block].params = registers(Some(set));
    }
    let mut joins = phis.joins.all;
    for (join, needed) in joins.iter_mut().zip(needed.joins) {
        if !needed {
            join.of.clear();
        }
    }
    LiftedQueue {
        waits: phis.waits,
        joins,
        graphs,
        of_groups: flow.of_groups,
    }
}

fn needed(flow: &FlowGraph, phis: &Phis) -> Needed {
    let mut needed = Needed {
        joins: vec![false; phis.joins.all.len()],
        sets: phis.sets.iter().map(|set| vec![false; set.len()]).collect(),
        work: phis.waits.iter().flatten().copied().collect(),
    };
    while let Some(token) = needed.work.pop() {
        match token {
            LiftedToken::Joined(number) => {
                if !std::mem::replace(&mut needed.joins[number], true) {
                    needed.work.extend(&phis.joins.all[number].of);
                }
            }
            LiftedToken::Param {
                graph,
                block,
                register,
            } => {
                let own = flow.block_sets.get(&(graph, block)).copied();
                needed.phi(flow, phis, own.or(flow.graphs[graph].set), register);
            }
            LiftedToken::Result { graph, register } => {
                needed.phi(flow, phis, flow.graphs[graph].set, register);
            }
            LiftedToken::Ready | LiftedToken::Done(_) | LiftedToken::Read(_) | LiftedToken::Group(_) => {}
        }
    }
    needed
}

impl Needed {
    /// A phi needs what all nodes of its set are passed.
    fn phi(&mut self, flow: &FlowGraph, phis: &Phis, set: Option<usize>, register: Register) {
        let Some(set) = set else { return };
        if std::mem::replace(&mut self.sets[set][register], true) {
            return;
        }
        let preds = flow.sets[set].iter().flat_map(|&node| &flow.nodes[node].preds);
        let ends = preds.filter_map(|&pred| phis.ends[pred].as_ref());
        self.work.extend(ends.map(|end| end[register]));
    }
}
