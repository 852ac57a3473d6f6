//! Phase 1: in which block the phase of each load is opened.
//!
//! A phase collects loads. It is opened in a block, takes in loads there and in regions further down the block, and is
//! awaited after the last of them. The **home** of a load is the outermost block in which its phase can be opened. From
//! the block it stands in, a load climbs out of a region if within the region
//!
//! - nobody awaits its token, nor what that flows into, and
//! - its token flows to results of the region, together with nothing but tokens of the same kind: other loads that climb
//!   with it, loads of the outer block that nobody has awaited so far, and complete tokens.
//!
//! So a load under a condition whose token comes out of the `if` opens its phase outside, where it is armed whether the
//! condition holds or not; and the loads of a loop that joins their tokens up share one phase. A rotation does not
//! climb: what it carries around is awaited inside.
//!
//! Loops in loops climb together: an inner flow that takes an argument of the loop around is let out on the assumption that
//! what the argument belongs to climbs as well. Where that turns out wrong, all is done anew without it.
//!
//! **Notation.** A token is *fresh* if it stands for loads whose home is the block that it is defined in. What flows
//! together inside a region is a *flow*, which climbs as a whole; tokens of outer blocks that run into it are its *takes*.
//!
//! **Cost.** Linear in the size of the tree, in the depth that loads climb, and in how many results of one region stand for the
//! same loads; [`ROUNDS`] times that where assumptions turn out wrong.

use super::together::Together;
use super::tree::{BlockId, LoadId, Region, RegionId, Step, Tree};
use crate::program::{Token, deep};
use std::collections::{HashMap, HashSet};

/// What is known of each token and load.
pub(super) struct Homes {
    /// The home of each load.
    pub home: Vec<BlockId>,
    /// Where each token is defined.
    pub defs: Vec<Def>,
    /// True for tokens that are complete from the start.
    pub ready: Vec<bool>,
    /// The loads that the result of a region stands for, if it is fresh.
    pub loads: HashMap<Token, Vec<LoadId>>,
    /// The parameters that belong to flows that have climbed.
    pub inner: Vec<bool>,
}

/// Where a token is defined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Def {
    /// The block.
    pub block: BlockId,
    /// The step, or 0 for parameters.
    pub step: usize,
    /// By what.
    pub by: By,
}

/// What defines a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    /// Nothing that is known.
    Nothing,
    /// A load.
    Load(LoadId),
    /// A join.
    Join,
    /// The edges to a block.
    Edges,
    /// An operation with blocks.
    Region(RegionId),
}

/// After so many rounds, nothing is assumed of arguments any more.
const ROUNDS: usize = 4;

/// Finds the homes of all loads.
pub(super) fn homes(tree: &Tree) -> Homes {
    let tokens = tree.tokens as usize;
    let defs = definitions(tree);
    let mut barred = HashSet::new();
    for round in 0.. {
        let known = barred.len();
        let mut climber = Climber {
            tree,
            fresh: vec![false; tokens],
            stuck: vec![false; tokens],
            links: HashMap::new(),
            assumes: round < ROUNDS,
            assumed: HashSet::new(),
            barred: std::mem::take(&mut barred),
            out: Homes {
                home: vec![0; tree.loads.len()],
                defs: defs.clone(),
                ready: vec![false; tokens],
                loads: HashMap::new(),
                inner: vec![false; tokens],
            },
        };
        climber.block(0);
        if climber.barred.len() == known {
            return climber.out;
        }
        barred = climber.barred;
    }
    unreachable!("without assumptions none is wrong")
}

fn definitions(tree: &Tree) -> Vec<Def> {
    let nothing = Def {
        block: 0,
        step: 0,
        by: By::Nothing,
    };
    let mut defs = vec![nothing; tree.tokens as usize];
    for (b, block) in tree.blocks.iter().enumerate() {
        let mut define = |token: Token, step, by| {
            defs[token.0 as usize] = Def { block: b, step, by };
        };
        block.params.iter().for_each(|&param| define(param, 0, By::Edges));
        for (i, step) in block.steps.iter().enumerate() {
            match step {
                Step::Load { load, token } => define(*token, i, By::Load(*load)),
                Step::Join { token, .. } => define(*token, i, By::Join),
                Step::Region(region) => {
                    let results = tree.regions[*region].results.iter();
                    results.for_each(|&result| define(result, i, By::Region(*region)));
                }
                _ => {}
            }
        }
    }
    defs
}

struct Climber<'t> {
    tree: &'t Tree,
    /// True for tokens that are fresh.
    fresh: Vec<bool>,
    /// True for tokens that can't leave their block's region.
    stuck: Vec<bool>,
    /// What a flow that has climbed out of a region takes from around it, and the results it comes out as.
    links: HashMap<RegionId, Vec<Link>>,
    /// True if arguments may be assumed to belong to flows that climb.
    assumes: bool,
    /// Those that are.
    assumed: HashSet<Token>,
    /// Those that are not, since that was wrong before.
    barred: HashSet<Token>,
    out: Homes,
}

/// What a flow takes, and the results it comes out as, each with those of its takes that it stands for on every way.
type Link = (Vec<Token>, Vec<(Token, Vec<Token>)>);

/// A flow of a region.
#[derive(Default)]
struct Flow {
    stuck: bool,
    params: Vec<Token>,
    takes: Vec<Token>,
    results: Vec<Out>,
}

/// A result of a region.
struct Out {
    token: Token,
    /// The loads in the region that it stands for.
    loads: Vec<LoadId>,
    /// The takes that it stands for.
    takes: Vec<Token>,
    /// Those of them that it stands for on every way.
    kept: Vec<Token>,
}

impl Climber<'_> {
    fn block(&mut self, b: BlockId) {
        for step in &self.tree.blocks[b].steps {
            match step {
                Step::Load { load, token } => {
                    self.out.home[*load] = b;
                    self.fresh[token.0 as usize] = true;
                }
                Step::Join { token, of } => {
                    self.out.ready[token.0 as usize] = of.iter().all(|of| self.out.ready[of.0 as usize]);
                    self.fresh[token.0 as usize] = of.iter().all(|of| self.is_fresh_in(*of, b));
                }
                Step::Await { tokens, .. } => {
                    for token in tokens {
                        self.stuck[token.0 as usize] = true;
                    }
                }
                Step::Region(region) => {
                    deep(|| {
                        for &inner in &self.tree.regions[*region].blocks {
                            self.block(inner);
                        }
                    });
                    self.climb(*region);
                }
                _ => {}
            }
        }
    }

    fn def(&self, token: Token) -> Def {
        self.out.defs[token.0 as usize]
    }

    fn is_fresh_in(&self, token: Token, block: BlockId) -> bool {
        let t = token.0 as usize;
        self.out.ready[t] || (self.fresh[t] && self.def(token).block == block)
    }

    /// Lets the flows of `region` climb that can.
    fn climb(&mut self, region: RegionId) {
        let parent = self.tree.regions[region].parent;
        let mut links = Vec::new();
        for flow in self.flows(region) {
            // Who awaits what it takes apart from the rest has a phase of its own for it.
            let has_loads = flow.results.iter().any(|result| !result.loads.is_empty());
            let climbs = has_loads && !flow.stuck && {
                let mut takes = flow.takes.iter();
                takes.all(|&take| {
                    !self.stuck[take.0 as usize]
                        && (self.is_fresh_in(take, parent) || self.assume(take, parent))
                })
            };
            if !climbs {
                let wrong = flow.params.iter().filter(|param| self.assumed.contains(param));
                self.barred.extend(wrong);
                flow.takes
                    .iter()
                    .for_each(|take| self.stuck[take.0 as usize] = true);
                continue;
            }
            flow.params
                .iter()
                .for_each(|param| self.out.inner[param.0 as usize] = true);
            let mut results = Vec::new();
            for mut result in flow.results {
                for &load in &result.loads {
                    self.out.home[load] = parent;
                }
                for &take in &result.takes {
                    self.add_loads(take, &mut result.loads);
                }
                result.loads.sort_unstable();
                result.loads.dedup();
                self.fresh[result.token.0 as usize] = true;
                self.out.loads.insert(result.token, result.loads);
                results.push((result.token, result.kept));
            }
            links.push((flow.takes, results));
        }
        self.links.insert(region, links);
    }

    /// Assumes, if it may, that `take` belongs to a flow of the loop around `block` that climbs, too.
    fn assume(&mut self, take: Token, block: BlockId) -> bool {
        let def = self.def(take);
        let may = self.assumes
            && (def.by, def.block) == (By::Edges, block)
            && self.tree.blocks[block].region.is_some()
            && !self.barred.contains(&take);
        if may {
            self.assumed.insert(take);
        }
        may
    }

    /// Adds the loads that a fresh token stands for to `loads`.
    fn add_loads(&self, token: Token, loads: &mut Vec<LoadId>) {
        let def = self.def(token);
        match (def.by, &self.tree.blocks[def.block].steps.get(def.step)) {
            (By::Load(load), _) => loads.push(load),
            (By::Region(_), _) => loads.extend(self.out.loads.get(&token).into_iter().flatten()),
            (By::Join, Some(Step::Join { of, .. })) => {
                deep(|| of.iter().for_each(|&of| self.add_loads(of, loads)));
            }
            _ => {}
        }
    }

    /// What flows together among the tokens of the region's own blocks, up to its results.
    fn flows(&self, region: RegionId) -> Vec<Flow> {
        let it = &self.tree.regions[region];
        let mut together = Together::default();
        for &b in &it.blocks {
            let block = &self.tree.blocks[b];
            block.params.iter().for_each(|&param| {
                together.own(param);
            });
            for step in &block.steps {
                match step {
                    Step::Load { token, .. } => {
                        together.own(*token);
                    }
                    Step::Join { token, of } => {
                        let to = together.own(*token);
                        for &of in of {
                            self.flow(&mut together, &it.blocks, of, to);
                        }
                    }
                    Step::Region(inner) => {
                        self.tree.regions[*inner].results.iter().for_each(|&result| {
                            together.own(result);
                        });
                        for (takes, results) in self.links.get(inner).into_iter().flatten() {
                            // They have loads in common, and climb together or not at all.
                            let to = together.own(results[0].0);
                            let others = results[1..].iter().map(|(result, _)| result);
                            for &other in others.chain(takes) {
                                let other = together.own(other);
                                together.union.unite(other, to);
                            }
                            for (result, kept) in results {
                                let to = together.own(*result);
                                for &take in kept {
                                    let take = together.own(take);
                                    together.before[to].push(take);
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
                    together.result(to)
                } else {
                    together.own(to)
                };
                together.ways[to] += 1;
                self.flow(&mut together, &it.blocks, from, to);
            }
        }
        let forgetful = if it.repeats() {
            self.forgetful(it, &mut together)
        } else {
            HashSet::new()
        };
        self.sort_out(together, &forgetful)
    }

    /// The flows of a loop that forget: what goes around does not stand for all that went before. Their results are for
    /// the loads of the last iteration, and each iteration opens a phase of its own.
    fn forgetful(&self, region: &Region, together: &mut Together) -> HashSet<usize> {
        let mut forgetful = HashSet::new();
        let around = region
            .edges
            .iter()
            .filter(|edge| edge.from.is_some() && edge.to.is_some());
        let around: Vec<(Token, Token)> = around.flat_map(|edge| edge.bindings.iter().copied()).collect();
        for (from, to) in around {
            let to = together.own(to);
            let keeps = region.blocks.contains(&self.def(from).block) && {
                let from = together.own(from);
                together.behind(from).contains(&to)
            };
            if !keeps {
                forgetful.insert(together.union.root(to));
            }
        }
        forgetful
    }

    /// Notes that `from` flows into the node `to` of a region with the blocks `own`.
    fn flow(&self, together: &mut Together, own: &[BlockId], from: Token, to: usize) {
        if self.out.ready[from.0 as usize] {
            return;
        }
        if own.contains(&self.def(from).block) {
            let from = together.own(from);
            together.union.unite(from, to);
            together.before[to].push(from);
        } else {
            together.takes.push((from, to));
        }
    }

    /// The flows of a region, from what flows together.
    fn sort_out(&self, mut together: Together, forgetful: &HashSet<usize>) -> Vec<Flow> {
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut flows: Vec<Flow> = Vec::new();
        let mut place = |root: usize, flows: &mut Vec<Flow>| {
            *places.entry(root).or_insert_with(|| {
                flows.push(Flow::default());
                flows.len() - 1
            })
        };
        let mut taken: HashMap<usize, Vec<Token>> = HashMap::new();
        for &(take, node) in &together.takes {
            taken.entry(node).or_default().push(take);
            let i = place(together.union.root(node), &mut flows);
            flows[i].takes.push(take);
        }
        for node in 0..together.nodes.len() {
            let (token, is_result) = together.nodes[node];
            let i = place(together.union.root(node), &mut flows);
            let flow = &mut flows[i];
            if is_result {
                let (loads, takes) = self.behind(&together, &taken, node);
                let kept = self.kept(&together, &taken, node);
                flow.results.push(Out {
                    token,
                    loads,
                    takes,
                    kept,
                });
                continue;
            }
            flow.stuck |= self.stuck[token.0 as usize] || forgetful.contains(&together.union.root(node));
            match self.def(token).by {
                By::Edges => flow.params.push(token),
                By::Region(_) => flow.stuck |= !self.out.loads.contains_key(&token),
                By::Load(_) | By::Join | By::Nothing => {}
            }
        }
        flows
    }

    /// The takes that flow into the result `node` on every way.
    fn kept(&self, together: &Together, taken: &HashMap<usize, Vec<Token>>, node: usize) -> Vec<Token> {
        let direct = taken.get(&node).into_iter().flatten();
        let mut ways: Vec<Vec<Token>> = direct.map(|&take| vec![take]).collect();
        let own = together.before[node].iter();
        ways.extend(own.map(|&from| self.behind(together, taken, from).1));
        // A way that binds a complete token brings nothing.
        if ways.len() < together.ways[node] {
            return Vec::new();
        }
        let mut ways = ways.into_iter();
        let first = ways.next().unwrap_or_default();
        ways.fold(first, |mut kept, way| {
            kept.retain(|take| way.contains(take));
            kept
        })
    }

    /// The loads and takes that flow into `node`.
    fn behind(
        &self,
        together: &Together,
        taken: &HashMap<usize, Vec<Token>>,
        node: usize,
    ) -> (Vec<LoadId>, Vec<Token>) {
        let (mut loads, mut takes) = (Vec::new(), Vec::new());
        for node in together.behind(node) {
            takes.extend(taken.get(&node).into_iter().flatten());
            let (token, is_result) = together.nodes[node];
            match self.def(token).by {
                _ if is_result => {}
                By::Load(load) => loads.push(load),
                By::Region(_) => loads.extend(self.out.loads.get(&token).into_iter().flatten()),
                _ => {}
            }
        }
        takes.sort_unstable();
        takes.dedup();
        (loads, takes)
    }
}
