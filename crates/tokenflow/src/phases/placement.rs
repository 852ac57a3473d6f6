//! Step 2: places phases: finds the block in which the phase of each load is opened, by hoisting.
//!
//! **In:** the simplified tree. **Out:** for each load, the outermost block in which its phase can be opened; which tokens of
//! blocks inside need no phi, since what they stand for was hoisted.
//!
//! A phase collects loads. It is opened in a block, takes in loads there and in region ops further down the block, and is
//! awaited after the last of them. From the block it stands in, a load is hoisted out of a region op if within that
//!
//! - neither its token nor what that flows into is awaited, and
//! - its token flows to results of the op, together with nothing but tokens of the same kind: other loads that are hoisted
//!   with it, loads of the outer block that have not been awaited so far, and complete tokens.
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
use super::tree::{Inst, Tree};
use super::webs::WebSummary;
use crate::program::{Token, ensure_sufficient_stack};
use rustc_hash::{FxHashMap, FxHashSet};

/// What is known of each token and load.
pub(super) struct Placement {
    /// The block in which the phase of each load is opened.
    pub open_block: IndexVec<LoadId, BlockId>,
    /// Where each token is defined.
    pub defs: Vec<Def>,
    /// True for tokens that are complete from the start.
    pub complete: Vec<bool>,
    /// The loads that the result of a region op stands for, if they are hoisted.
    pub result_loads: FxHashMap<Token, Vec<LoadId>>,
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
    let mut refuted = FxHashSet::default();
    for round in 0.. {
        let known = refuted.len();
        let mut hoister = Hoister {
            tree,
            local: vec![false; tokens],
            pinned: vec![false; tokens],
            summaries: FxHashMap::default(),
            is_optimistic: round < ROUNDS,
            assumed: FxHashSet::default(),
            refuted: std::mem::take(&mut refuted),
            out: Placement {
                open_block: IndexVec::filled(BlockId(0), tree.loads.len()),
                defs: defs.clone(),
                complete: vec![false; tokens],
                result_loads: FxHashMap::default(),
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

/// Finds the blocks to hoist loads to.
pub(super) struct Hoister<'t> {
    pub tree: &'t Tree,
    /// True for tokens that are local to their block.
    local: Vec<bool>,
    /// True for tokens that can't be hoisted out of their block's region op.
    pub pinned: Vec<bool>,
    /// The webs that were hoisted out of each region op.
    pub summaries: FxHashMap<RegionOpId, Vec<WebSummary>>,
    /// True if arguments may be assumed to belong to webs that are hoisted.
    is_optimistic: bool,
    /// Those that are.
    assumed: FxHashSet<Token>,
    /// Those that are not, since that was wrong before.
    refuted: FxHashSet<Token>,
    pub out: Placement,
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
                    ensure_sufficient_stack(|| {
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

    pub fn def(&self, token: Token) -> Def {
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
            // A live-in that is awaited separately has a phase of its own.
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
            summaries.push(WebSummary {
                live_ins: web.live_ins,
                results,
            });
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
                ensure_sufficient_stack(|| of.iter().for_each(|&of| self.add_loads(of, loads)));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phases::test_trees::Build;
    use crate::phases::tree::Trips;

    const BODY: BlockId = BlockId(0);

    /// The block in which the phase of each load is opened.
    fn open_blocks(b: &Build) -> Vec<BlockId> {
        place_phases(&b.tree).open_block.to_vec()
    }

    #[test]
    fn loads_of_branches_are_hoisted_if_their_tokens_come_out_together() {
        let mut b = Build::new();
        let out = b.if_(|b| vec![b.load()], |b| vec![b.load()]);
        b.wait(&out);
        let placement = place_phases(&b.tree);
        assert_eq!(placement.open_block.to_vec(), [BODY, BODY]);
        assert_eq!(placement.result_loads[&out[0]], [LoadId(0), LoadId(1)]);

        let mut b = Build::new();
        let awaited_inside = |b: &mut Build| {
            let load = b.load();
            b.wait(&[load]);
            vec![load]
        };
        let out = b.if_(awaited_inside, |b| vec![b.join(&[])]);
        b.wait(&out);
        assert_eq!(open_blocks(&b), [BlockId(1)]);
    }

    #[test]
    fn a_load_is_not_hoisted_with_what_was_awaited_so_far() {
        for is_awaited in [true, false] {
            let mut b = Build::new();
            let outer = b.load();
            if is_awaited {
                b.wait(&[outer]);
            }
            let out = b.if_(|b| vec![b.load()], |_| vec![outer]);
            b.wait(&out);
            let inner = if is_awaited { BlockId(1) } else { BODY };
            let placement = place_phases(&b.tree);
            assert_eq!(placement.open_block.to_vec(), [BODY, inner]);
            let loads = placement.result_loads.get(&out[0]).map(Vec::as_slice);
            assert_eq!(loads, (!is_awaited).then_some(&[LoadId(0), LoadId(1)][..]));
        }
    }

    #[test]
    fn a_loop_that_joins_its_loads_up_is_hoisted_and_a_rotation_is_not() {
        let around = |body: fn(&mut Build, Token) -> Token| {
            let mut b = Build::new();
            let complete = b.join(&[]);
            let mut param = complete;
            let out = b.for_(Trips::Counted, &[complete], |b, params| {
                param = params[0];
                vec![body(b, params[0])]
            });
            b.wait(&out);
            let placement = place_phases(&b.tree);
            (
                placement.open_block[LoadId(0)],
                placement.hoisted_params[param.0 as usize],
            )
        };
        let joins = |b: &mut Build, param| {
            let load = b.load();
            b.join(&[param, load])
        };
        assert_eq!(around(joins), (BODY, true));
        let rotates = |b: &mut Build, param| {
            b.wait(&[param]);
            b.load()
        };
        assert_eq!(around(rotates), (BlockId(1), false));
        // What comes out is of the last iteration, and each one has a phase.
        assert_eq!(around(|b, _| b.load()), (BlockId(1), false));
    }

    #[test]
    fn loops_in_loops_are_hoisted_together_or_not_at_all() {
        for is_awaited in [false, true] {
            let mut b = Build::new();
            let complete = b.join(&[]);
            let out = b.for_(Trips::Counted, &[complete], |b, params| {
                let inner = b.for_(Trips::Counted, params, |b, params| {
                    let load = b.load();
                    vec![b.join(&[params[0], load])]
                });
                if is_awaited {
                    b.wait(&inner);
                }
                inner
            });
            b.wait(&out);
            // That the outer web is hoisted was assumed when the inner one was.
            assert_eq!(open_blocks(&b), [if is_awaited { BlockId(2) } else { BODY }]);
        }
    }
}
