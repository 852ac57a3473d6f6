//! Places phis: which registers are phis where, and what all registers hold at the end of each node. An
//! optimistic fixed point.
//!
//! A register is a phi where its nodes bring different tokens, or one that is not visible. It stays one; the nodes run again
//! until there are no more. Tokens that differ in one round differ in all later ones, so no phi is made in vain.

use super::access_masks::AccessMasks;
use super::demand::Demand;
use super::flow_graph::{Begin, FlowGraph};
use super::registers::{Filter, Joins, Registers};
use super::{Accesses, JoinPlace, LiftedToken, Register};

pub(super) struct Phis {
    /// By set: for each register, whether it is a phi.
    pub sets: Vec<Vec<bool>>,
    /// By node that can be reached: what the registers hold at its end.
    pub ends: Vec<Option<Vec<LiftedToken>>>,
    pub waits: Vec<Vec<LiftedToken>>,
    pub joins: Joins,
}

/// How often tokens are looked at again that waits have left to later ones.
const ROUNDS: usize = 8;

impl Phis {
    /// Awaits what each wait completes; with `accesses`, leaves to later waits what nobody accesses before them.
    pub fn new(flow: &FlowGraph, accesses: Option<&Accesses>) -> Self {
        let exact = Self::run(flow, None);
        let Some(accesses) = accesses else {
            return exact;
        };
        let demand = Demand::new(flow, accesses);
        let mut masks = AccessMasks::default().grown(flow, accesses, &exact);
        for _ in 0..ROUNDS {
            let filter = Filter {
                accesses,
                demand: &demand,
                masks: &masks,
            };
            let weak = Self::run(flow, Some(&filter));
            // What waits leave flows on, so tokens may be about more than was known.
            let grown = masks.grown(flow, accesses, &weak);
            if masks.covers(&grown) {
                return weak;
            }
            masks = grown;
        }
        exact
    }

    fn run(flow: &FlowGraph, filter: Option<&Filter>) -> Self {
        let registers = Registers::number(flow);
        let mut phis = Self {
            sets: vec![vec![false; registers]; flow.sets.len()],
            ends: Vec::new(),
            waits: vec![Vec::new(); flow.waits],
            joins: Joins::default(),
        };
        let mut places = vec![0; flow.nodes.len()];
        for (place, &node) in flow.order.iter().enumerate() {
            places[node] = place;
        }
        while phis.round(flow, registers, &places, filter) {}
        phis
    }

    /// Runs all nodes; returns true if there are new phis.
    fn round(
        &mut self,
        flow: &FlowGraph,
        registers: usize,
        places: &[usize],
        filter: Option<&Filter>,
    ) -> bool {
        let mut starts = vec![Vec::new(); flow.nodes.len()];
        self.ends = vec![None; flow.nodes.len()];
        let mut changed = false;
        for &n in &flow.order {
            let node = &flow.nodes[n];
            let (start, new) = self.start(flow, n, registers);
            changed |= new;
            let mut state = Registers::from_tokens(flow, &start);
            for &step in &node.steps {
                state.step(step, &mut self.joins, &mut self.waits, filter);
            }
            self.ends[n] = Some(state.into_tokens(node.end, &mut self.joins));
            starts[n] = start;
        }
        for &n in &flow.order {
            let is_back = |pred: &&usize| places[**pred] >= places[n];
            for &pred in flow.nodes[n].preds.iter().filter(is_back) {
                changed |= self.back_edge(flow, n, pred, &starts[n]);
            }
        }
        changed
    }

    /// What the registers hold at the start of node `n`, and whether there are new phis.
    fn start(&mut self, flow: &FlowGraph, n: usize, registers: usize) -> (Vec<LiftedToken>, bool) {
        let node = &flow.nodes[n];
        let mut start: Option<Vec<LiftedToken>> = None;
        let mut new = vec![false; registers];
        for end in node.preds.iter().filter_map(|&pred| self.ends[pred].as_ref()) {
            for (register, token) in end.iter().enumerate() {
                let same = start.as_ref().is_none_or(|start| start[register] == *token);
                new[register] |= !same || is_hidden(flow, &self.joins, node.hidden, *token);
            }
            start.get_or_insert_with(|| end.clone());
        }
        let mut start = start.unwrap_or_else(|| vec![LiftedToken::Ready; registers]);
        let mut changed = false;
        for (register, token) in start.iter_mut().enumerate() {
            changed |= new[register] && self.add(node.set, register);
            if node.set.is_some_and(|set| self.sets[set][register]) {
                *token = phi(node.begin, register);
            }
        }
        (start, changed)
    }

    /// Compares what a back edge brings with what the registers held at the start of node `n`.
    fn back_edge(&mut self, flow: &FlowGraph, n: usize, pred: usize, start: &[LiftedToken]) -> bool {
        let node = &flow.nodes[n];
        let Some(end) = &self.ends[pred] else {
            return false;
        };
        let differs = |register: &Register| {
            let token = end[*register];
            let is_phi = node.set.is_some_and(|set| self.sets[set][*register]);
            !is_phi && (token != start[*register] || is_hidden(flow, &self.joins, node.hidden, token))
        };
        let new: Vec<Register> = (0..start.len()).filter(differs).collect();
        let mut changed = false;
        for register in new {
            changed |= self.add(node.set, register);
        }
        changed
    }

    /// Makes a register a phi; returns true if it was none.
    fn add(&mut self, set: Option<usize>, register: Register) -> bool {
        debug_assert!(set.is_some(), "where paths meet, there can be phis");
        set.is_some_and(|set| !std::mem::replace(&mut self.sets[set][register], true))
    }
}

fn phi(begin: Begin, register: Register) -> LiftedToken {
    match begin {
        Begin::Block { graph, block } => LiftedToken::Param {
            graph,
            block,
            register,
        },
        Begin::After(graph) => LiftedToken::Result { graph, register },
    }
}

/// Returns true if `token` is defined inside of graph `hidden`.
fn is_hidden(flow: &FlowGraph, joins: &Joins, hidden: Option<usize>, token: LiftedToken) -> bool {
    let Some(hidden) = hidden else { return false };
    let around = |graph: usize| flow.graphs[graph].parent;
    let graph = match token {
        LiftedToken::Ready => return false,
        LiftedToken::Done(site) | LiftedToken::Read(site) => flow.site_graphs[site.0 as usize],
        LiftedToken::Group(commit) => flow.commit_graphs[commit],
        LiftedToken::Joined(number) => match joins.all[number].place {
            JoinPlace::Commit(commit) => flow.commit_graphs[commit],
            JoinPlace::Before(graph) => around(graph),
            JoinPlace::End { graph, .. } => graph,
        },
        LiftedToken::Param { graph, .. } => graph,
        // Results of the body itself are none.
        LiftedToken::Result { graph, .. } => around(graph),
    };
    flow.is_inside(graph, hidden)
}
