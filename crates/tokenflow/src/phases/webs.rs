//! Step 2: computes the webs of a region op: which of its tokens are hoisted together or not at all.
//!
//! **In:** the graph of tokens of a region op. **Out:** the webs that are hoisted, each with what is left to know of it outside.

use super::ids::{BlockId, LoadId, RegionOpId};
use super::placement::{DefinedBy, Hoister};
use super::token_graph::TokenGraph;
use super::tree::{Inst, RegionOp};
use crate::program::Token;
use rustc_hash::{FxHashMap, FxHashSet};

/// What is left to know of a web that was hoisted out of a region op.
pub(super) struct WebSummary {
    pub live_ins: Vec<Token>,
    /// Each with the live-ins that it stands for on every path.
    pub results: Vec<(Token, Vec<Token>)>,
}

/// A web of a region op.
#[derive(Default)]
pub(super) struct Web {
    pub pinned: bool,
    pub params: Vec<Token>,
    pub live_ins: Vec<Token>,
    pub results: Vec<WebResult>,
}

/// A result of a region op.
pub(super) struct WebResult {
    pub token: Token,
    /// The loads in the region op that it stands for.
    pub loads: Vec<LoadId>,
    /// The live-ins that it stands for.
    pub live_ins: Vec<Token>,
    /// Those of them that it stands for on every path.
    pub on_all_paths: Vec<Token>,
}

impl Hoister<'_> {
    /// The webs of the tokens of a region op's own blocks, up to its results.
    pub fn webs(&self, op: RegionOpId) -> Vec<Web> {
        let it = &self.tree.region_ops[op];
        let mut graph = TokenGraph::default();
        for &b in &it.blocks {
            let block = &self.tree.blocks[b];
            for &param in &block.params {
                graph.local_node(param);
            }
            for inst in &block.insts {
                self.add_inst(&mut graph, &it.blocks, inst);
            }
        }
        for edge in &it.edges {
            for &(from, to) in &edge.bindings {
                let to = if edge.to.is_none() {
                    graph.result_node(to)
                } else {
                    graph.local_node(to)
                };
                graph.incoming_edges[to] += 1;
                self.add_flow(&mut graph, &it.blocks, from, to);
            }
        }
        let non_accumulating = if it.repeats() {
            self.non_accumulating(it, &mut graph)
        } else {
            FxHashSet::default()
        };
        self.collect_webs(graph, &non_accumulating)
    }

    /// Adds what an instruction defines, in a region op with the blocks `own`, and what flows into it.
    fn add_inst(&self, graph: &mut TokenGraph, own: &[BlockId], inst: &Inst) {
        match inst {
            Inst::Load { token, .. } => {
                graph.local_node(*token);
            }
            Inst::Join { token, of } => {
                let to = graph.local_node(*token);
                for &of in of {
                    self.add_flow(graph, own, of, to);
                }
            }
            Inst::RegionOp(inner) => {
                for &result in &self.tree.region_ops[*inner].results {
                    graph.local_node(result);
                }
                for web in self.summaries.get(inner).into_iter().flatten() {
                    add_hoisted_web(graph, web);
                }
            }
            _ => {}
        }
    }

    /// The webs of a loop that don't accumulate: what goes around does not stand for all that went before. Their results are for
    /// the loads of the last iteration, and each iteration opens a phase of its own.
    fn non_accumulating(&self, op: &RegionOp, graph: &mut TokenGraph) -> FxHashSet<usize> {
        let mut non_accumulating = FxHashSet::default();
        let around = op
            .edges
            .iter()
            .filter(|edge| edge.from.is_some() && edge.to.is_some());
        let around: Vec<(Token, Token)> = around.flat_map(|edge| edge.bindings.iter().copied()).collect();
        for (from, to) in around {
            let to = graph.local_node(to);
            let keeps = op.blocks.contains(&self.def(from).block) && {
                let from = graph.local_node(from);
                graph.backward_slice(from).contains(&to)
            };
            if !keeps {
                non_accumulating.insert(graph.union.find(to));
            }
        }
        non_accumulating
    }

    /// Notes that `from` flows into the node `to` of a region op with the blocks `own`.
    fn add_flow(&self, graph: &mut TokenGraph, own: &[BlockId], from: Token, to: usize) {
        if self.out.complete[from.0 as usize] {
            return;
        }
        if own.contains(&self.def(from).block) {
            let from = graph.local_node(from);
            graph.union.union(from, to);
            graph.predecessors[to].push(from);
        } else {
            graph.live_ins.push((from, to));
        }
    }

    /// The webs of a region op, from its graph.
    fn collect_webs(&self, mut graph: TokenGraph, non_accumulating: &FxHashSet<usize>) -> Vec<Web> {
        let mut web_of_root: FxHashMap<usize, usize> = FxHashMap::default();
        let mut webs: Vec<Web> = Vec::new();
        let mut web_index = |root: usize, webs: &mut Vec<Web>| {
            *web_of_root.entry(root).or_insert_with(|| {
                webs.push(Web::default());
                webs.len() - 1
            })
        };
        let mut live_ins_of: FxHashMap<usize, Vec<Token>> = FxHashMap::default();
        for &(live_in, node) in &graph.live_ins {
            live_ins_of.entry(node).or_default().push(live_in);
            let i = web_index(graph.union.find(node), &mut webs);
            webs[i].live_ins.push(live_in);
        }
        for node in 0..graph.nodes.len() {
            let (token, is_result) = graph.nodes[node];
            let i = web_index(graph.union.find(node), &mut webs);
            let web = &mut webs[i];
            if is_result {
                let (loads, live_ins) = self.sources(&graph, &live_ins_of, node);
                let on_all_paths = self.on_all_paths(&graph, &live_ins_of, node);
                web.results.push(WebResult {
                    token,
                    loads,
                    live_ins,
                    on_all_paths,
                });
                continue;
            }
            web.pinned |= self.pinned[token.0 as usize] || non_accumulating.contains(&graph.union.find(node));
            match self.def(token).by {
                DefinedBy::Edges => web.params.push(token),
                DefinedBy::RegionOp(_) => web.pinned |= !self.out.result_loads.contains_key(&token),
                DefinedBy::Load(_) | DefinedBy::Join | DefinedBy::Nothing => {}
            }
        }
        webs
    }

    /// The live-ins that flow into the result `node` on every path.
    fn on_all_paths(
        &self,
        graph: &TokenGraph,
        live_ins_of: &FxHashMap<usize, Vec<Token>>,
        node: usize,
    ) -> Vec<Token> {
        let direct = live_ins_of.get(&node).into_iter().flatten();
        let mut paths: Vec<Vec<Token>> = direct.map(|&live_in| vec![live_in]).collect();
        let own = graph.predecessors[node].iter();
        paths.extend(own.map(|&from| self.sources(graph, live_ins_of, from).1));
        // A path that binds a complete token brings nothing.
        if paths.len() < graph.incoming_edges[node] {
            return Vec::new();
        }
        let mut paths = paths.into_iter();
        let first = paths.next().unwrap_or_default();
        paths.fold(first, |mut on_all_paths, path| {
            on_all_paths.retain(|live_in| path.contains(live_in));
            on_all_paths
        })
    }

    /// The loads and live-ins that flow into `node`.
    fn sources(
        &self,
        graph: &TokenGraph,
        live_ins_of: &FxHashMap<usize, Vec<Token>>,
        node: usize,
    ) -> (Vec<LoadId>, Vec<Token>) {
        let (mut loads, mut live_ins) = (Vec::new(), Vec::new());
        for node in graph.backward_slice(node) {
            live_ins.extend(live_ins_of.get(&node).into_iter().flatten());
            let (token, is_result) = graph.nodes[node];
            match self.def(token).by {
                _ if is_result => {}
                DefinedBy::Load(load) => loads.push(load),
                DefinedBy::RegionOp(_) => {
                    loads.extend(self.out.result_loads.get(&token).into_iter().flatten());
                }
                _ => {}
            }
        }
        live_ins.sort_unstable();
        live_ins.dedup();
        (loads, live_ins)
    }
}

/// Adds a web that was hoisted out of a region op inside.
fn add_hoisted_web(graph: &mut TokenGraph, web: &WebSummary) {
    // The results have loads in common, and are hoisted together or not at all.
    let to = graph.local_node(web.results[0].0);
    let others = web.results[1..].iter().map(|(result, _)| result);
    for &other in others.chain(&web.live_ins) {
        let other = graph.local_node(other);
        graph.union.union(other, to);
    }
    for (result, on_all_paths) in &web.results {
        let to = graph.local_node(*result);
        for &live_in in on_all_paths {
            let live_in = graph.local_node(live_in);
            graph.predecessors[to].push(live_in);
        }
    }
}
