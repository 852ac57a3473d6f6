//! Step 2: in which block the phase of each load is opened.
//!
//! **In:** the simplified tree. **Out:** for each load, the outermost block in which its phase can be opened; which tokens of
//! blocks inside need no phi, since what they stand for was hoisted.
//!
//! A phase collects loads. It is opened in a block, takes in loads there and in region ops further down the block, and is
//! awaited after the last of them. From the block it stands in, a load is hoisted out of a region op if within that
//!
//! - nobody awaits its token, nor what that flows into, and
//! - its token flows to results of the op, together with nothing but tokens of the same kind: other loads that are hoisted
//!   with it, loads of the outer block that nobody has awaited so far, and complete tokens.
//!
//! So a load under a condition whose token comes out of the `if` opens its phase outside, where it is armed whether the
//! condition holds or not; and the loads of a loop that joins their tokens up share one phase. A rotation is not hoisted:
//! what it carries around is awaited inside.
//!
//! Loops in loops are hoisted together: an inner web that takes an argument of the loop around is let out on the optimistic
//! assumption that the web of the argument is hoisted as well. Where that is refuted, all is done anew without it.
//!
//! **Notation.** A token is *local* to the block that defines it if its loads are placed there. A *web* is a connected component
//! of the tokens of one region op, which is hoisted as a whole or not at all; tokens of outer blocks that flow into it are its
//! *live-ins*. A web that can't be hoisted *pins* them: they are awaited inside.
//!
//! **Cost.** Linear in the size of the tree, in the depth that loads are hoisted, and in how many results of one op stand for the
//! same loads; [`ROUNDS`] times that where assumptions are refuted.

use super::ids::{BlockId, IndexVec, LoadId, RegionOpId};
use super::token_graph::TokenGraph;
use super::tree::{Inst, RegionOp, Tree};
use crate::program::{Token, deep};
use std::collections::{HashMap, HashSet};

/// What is known of each token and load.
pub(super) struct Placement {
    /// The block in which the phase of each load is opened.
    pub open_block: IndexVec<LoadId, BlockId>,
    /// Where each token is defined.
    pub defs: Vec<Def>,
    /// True for tokens that are complete from the start.
    pub complete: Vec<bool>,
    /// The loads that the result of a region op stands for, if they are hoisted.
    pub result_loads: HashMap<Token, Vec<LoadId>>,
    /// The parameters that belong to webs that were hoisted: no phi is needed for them.
    pub hoisted_params: Vec<bool>,
}

/// Where a token is defined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Def {
    /// The block.
    pub block: BlockId,
    /// The instruction, or 0 for parameters.
    pub inst: usize,
    /// By what.
    pub by: DefinedBy,
}

/// What defines a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DefinedBy {
    /// Nothing that is known.
    Nothing,
    /// A load.
    Load(LoadId),
    /// A join.
    Join,
    /// The edges to a block.
    Edges,
    /// An operation with blocks.
    RegionOp(RegionOpId),
}

/// After so many rounds, nothing is assumed of arguments any more.
const ROUNDS: usize = 4;

/// Places the phases of all loads.
pub(super) fn place_phases(tree: &Tree) -> Placement {
    let tokens = tree.tokens as usize;
    let defs = definitions(tree);
    let mut refuted = HashSet::new();
    for round in 0.. {
        let known = refuted.len();
        let mut hoister = Hoister {
            tree,
            local: vec![false; tokens],
            pinned: vec![false; tokens],
            summaries: HashMap::new(),
            is_optimistic: round < ROUNDS,
            assumed: HashSet::new(),
            refuted: std::mem::take(&mut refuted),
            out: Placement {
                open_block: IndexVec::filled(BlockId(0), tree.loads.len()),
                defs: defs.clone(),
                complete: vec![false; tokens],
                result_loads: HashMap::new(),
                hoisted_params: vec![false; tokens],
            },
        };
        hoister.block(BlockId(0));
        if hoister.refuted.len() == known {
            return hoister.out;
        }
        refuted = hoister.refuted;
    }
    unreachable!("without assumptions none is wrong")
}

fn definitions(tree: &Tree) -> Vec<Def> {
    let nothing = Def {
        block: BlockId(0),
        inst: 0,
        by: DefinedBy::Nothing,
    };
    let mut defs = vec![nothing; tree.tokens as usize];
    for (b, block) in tree.blocks.with_ids() {
        let mut define = |token: Token, inst, by| {
            defs[token.0 as usize] = Def { block: b, inst, by };
        };
        block
            .params
            .iter()
            .for_each(|&param| define(param, 0, DefinedBy::Edges));
        for (i, inst) in block.insts.iter().enumerate() {
            match inst {
                Inst::Load { load, token } => define(*token, i, DefinedBy::Load(*load)),
                Inst::Join { token, .. } => define(*token, i, DefinedBy::Join),
                Inst::RegionOp(op) => {
                    let results = tree.region_ops[*op].results.iter();
                    results.for_each(|&result| define(result, i, DefinedBy::RegionOp(*op)));
                }
                _ => {}
            }
        }
    }
    defs
}

struct Hoister<'t> {
    tree: &'t Tree,
    /// True for tokens that are local to their block.
    local: Vec<bool>,
    /// True for tokens that can't be hoisted out of their block's region op.
    pinned: Vec<bool>,
    /// The webs that were hoisted out of each region op.
    summaries: HashMap<RegionOpId, Vec<WebSummary>>,
    /// True if arguments may be assumed to belong to webs that are hoisted.
    is_optimistic: bool,
    /// Those that are.
    assumed: HashSet<Token>,
    /// Those that are not, since that was wrong before.
    refuted: HashSet<Token>,
    out: Placement,
}

/// The live-ins of a web, and its results, each with the live-ins that it stands for on every path.
type WebSummary = (Vec<Token>, Vec<(Token, Vec<Token>)>);

/// A web of a region op.
#[derive(Default)]
struct Web {
    pinned: bool,
    params: Vec<Token>,
    live_ins: Vec<Token>,
    results: Vec<WebResult>,
}

/// A result of a region op.
struct WebResult {
    token: Token,
    /// The loads in the region op that it stands for.
    loads: Vec<LoadId>,
    /// The live-ins that it stands for.
    live_ins: Vec<Token>,
    /// Those of them that it stands for on every path.
    on_all_paths: Vec<Token>,
}

impl Hoister<'_> {
    fn block(&mut self, b: BlockId) {
        for inst in &self.tree.blocks[b].insts {
            match inst {
                Inst::Load { load, token } => {
                    self.out.open_block[*load] = b;
                    self.local[token.0 as usize] = true;
                }
                Inst::Join { token, of } => {
                    self.out.complete[token.0 as usize] =
                        of.iter().all(|of| self.out.complete[of.0 as usize]);
                    self.local[token.0 as usize] = of.iter().all(|of| self.is_local_to(*of, b));
                }
                Inst::Await { tokens, .. } => {
                    for token in tokens {
                        self.pinned[token.0 as usize] = true;
                    }
                }
                Inst::RegionOp(op) => {
                    deep(|| {
                        for &inner in &self.tree.region_ops[*op].blocks {
                            self.block(inner);
                        }
                    });
                    self.hoist(*op);
                }
                _ => {}
            }
        }
    }

    fn def(&self, token: Token) -> Def {
        self.out.defs[token.0 as usize]
    }

    fn is_local_to(&self, token: Token, block: BlockId) -> bool {
        let t = token.0 as usize;
        self.out.complete[t] || (self.local[t] && self.def(token).block == block)
    }

    /// Hoists the webs of a region op that can be.
    fn hoist(&mut self, op: RegionOpId) {
        let parent = self.tree.region_ops[op].parent;
        let mut summaries = Vec::new();
        for web in self.webs(op) {
            // Who awaits a live-in apart from the rest has a phase of its own for it.
            let has_loads = web.results.iter().any(|result| !result.loads.is_empty());
            let hoists = has_loads && !web.pinned && {
                let mut live_ins = web.live_ins.iter();
                live_ins.all(|&live_in| {
                    !self.pinned[live_in.0 as usize]
                        && (self.is_local_to(live_in, parent) || self.assume(live_in, parent))
                })
            };
            if !hoists {
                let wrong = web.params.iter().filter(|param| self.assumed.contains(param));
                self.refuted.extend(wrong);
                web.live_ins
                    .iter()
                    .for_each(|live_in| self.pinned[live_in.0 as usize] = true);
                continue;
            }
            web.params
                .iter()
                .for_each(|param| self.out.hoisted_params[param.0 as usize] = true);
            let mut results = Vec::new();
            for mut result in web.results {
                for &load in &result.loads {
                    self.out.open_block[load] = parent;
                }
                for &live_in in &result.live_ins {
                    self.add_loads(live_in, &mut result.loads);
                }
                result.loads.sort_unstable();
                result.loads.dedup();
                self.local[result.token.0 as usize] = true;
                self.out.result_loads.insert(result.token, result.loads);
                results.push((result.token, result.on_all_paths));
            }
            summaries.push((web.live_ins, results));
        }
        self.summaries.insert(op, summaries);
    }

    /// Assumes, if it may, that `live_in` belongs to a web of the loop around `block` that is hoisted, too.
    fn assume(&mut self, live_in: Token, block: BlockId) -> bool {
        let def = self.def(live_in);
        let may = self.is_optimistic
            && (def.by, def.block) == (DefinedBy::Edges, block)
            && self.tree.blocks[block].parent_op.is_some()
            && !self.refuted.contains(&live_in);
        if may {
            self.assumed.insert(live_in);
        }
        may
    }

    /// Adds the loads that a local token stands for to `loads`.
    fn add_loads(&self, token: Token, loads: &mut Vec<LoadId>) {
        let def = self.def(token);
        match (def.by, &self.tree.blocks[def.block].insts.get(def.inst)) {
            (DefinedBy::Load(load), _) => loads.push(load),
            (DefinedBy::RegionOp(_), _) => {
                loads.extend(self.out.result_loads.get(&token).into_iter().flatten());
            }
            (DefinedBy::Join, Some(Inst::Join { of, .. })) => {
                deep(|| of.iter().for_each(|&of| self.add_loads(of, loads)));
            }
            _ => {}
        }
    }

    /// The webs of the tokens of a region op's own blocks, up to its results.
    fn webs(&self, op: RegionOpId) -> Vec<Web> {
        let it = &self.tree.region_ops[op];
        let mut graph = TokenGraph::default();
        for &b in &it.blocks {
            let block = &self.tree.blocks[b];
            block.params.iter().for_each(|&param| {
                graph.local_node(param);
            });
            for inst in &block.insts {
                match inst {
                    Inst::Load { token, .. } => {
                        graph.local_node(*token);
                    }
                    Inst::Join { token, of } => {
                        let to = graph.local_node(*token);
                        for &of in of {
                            self.add_flow(&mut graph, &it.blocks, of, to);
                        }
                    }
                    Inst::RegionOp(inner) => {
                        self.tree.region_ops[*inner].results.iter().for_each(|&result| {
                            graph.local_node(result);
                        });
                        for (live_ins, results) in self.summaries.get(inner).into_iter().flatten() {
                            // They have loads in common, and are hoisted together or not at all.
                            let to = graph.local_node(results[0].0);
                            let others = results[1..].iter().map(|(result, _)| result);
                            for &other in others.chain(live_ins) {
                                let other = graph.local_node(other);
                                graph.union.union(other, to);
                            }
                            for (result, on_all_paths) in results {
                                let to = graph.local_node(*result);
                                for &live_in in on_all_paths {
                                    let live_in = graph.local_node(live_in);
                                    graph.predecessors[to].push(live_in);
                                }
                            }
                        }
                    }
                    _ => {}
                }
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
            HashSet::new()
        };
        self.collect_webs(graph, &non_accumulating)
    }

    /// The webs of a loop that don't accumulate: what goes around does not stand for all that went before. Their results are for
    /// the loads of the last iteration, and each iteration opens a phase of its own.
    fn non_accumulating(&self, op: &RegionOp, graph: &mut TokenGraph) -> HashSet<usize> {
        let mut non_accumulating = HashSet::new();
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
    fn collect_webs(&self, mut graph: TokenGraph, non_accumulating: &HashSet<usize>) -> Vec<Web> {
        let mut web_of_root: HashMap<usize, usize> = HashMap::new();
        let mut webs: Vec<Web> = Vec::new();
        let mut web_index = |root: usize, webs: &mut Vec<Web>| {
            *web_of_root.entry(root).or_insert_with(|| {
                webs.push(Web::default());
                webs.len() - 1
            })
        };
        let mut live_ins_of: HashMap<usize, Vec<Token>> = HashMap::new();
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
        live_ins_of: &HashMap<usize, Vec<Token>>,
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
        live_ins_of: &HashMap<usize, Vec<Token>>,
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
