//! Branches whose arms do the same to groups, such as one that copies and one that closes an empty group: they are read as straight-line code.
//!
//! The arms are taken to be run side by side, each between the same two commits as before, and a result of the branch stands for what any of them
//! hands on. So more may be in flight than in an execution, which takes one arm, and nothing less; and claims are of one token each, so
//! that what is known of it after the branch is the same: the least of what is known after each arm.

use super::{Mark, Reader};
use crate::groups::code::{Block, BlockId, Edge, EdgeKind, Instr, Span, Token};
use smallvec::SmallVec;

/// Arms of more instructions stay: these are copied once for each branch around them.
const MOST: usize = 64;

impl Reader<'_, '_> {
    /// Makes the operation with regions that was read since `mark` a part of block `at`, if all its regions are arms of a branch that close
    /// the same groups, and wait for nothing. Returns true if so.
    pub(super) fn merge_arms(&mut self, at: BlockId, after: BlockId, mark: &Mark) -> bool {
        let code = &self.code;
        let arms = &code.blocks[after.0 as usize + 1..];
        let edges = &code.edges[mark.edges..];
        let params = code.blocks[after.0 as usize].params.of(&code.tokens);
        let args = |edge: &Edge| edge.args.of(&code.tokens);
        let end = code.blocks[at.0 as usize].instrs.range().end;
        if self.noted.len() > mark.noted
            || code.instrs.len() - end > MOST
            || !self.are_arms(at, after, arms)
            || !close_the_same(arms, &code.instrs, edges.len() > 2 * arms.len())
            // What an arm hands on is not what others have handed on.
            || edges.iter().any(|edge| args(edge).iter().any(|token| params.contains(token)))
        {
            return false;
        }
        let merged = side_by_side(arms, &code.instrs);
        let joins = params.iter().enumerate().map(|(i, param)| {
            let ends = edges.iter().filter(|edge| edge.to == Some(after));
            (
                *param,
                ends.filter_map(|edge| args(edge).get(i).copied()).collect(),
            )
        });
        let joins: SmallVec<[(Token, SmallVec<[Token; 2]>); 2]> = joins.collect();
        let code = &mut self.code;
        code.instrs.truncate(end);
        code.instrs.extend(merged);
        for (param, of) in joins {
            let start = code.tokens.len();
            code.tokens.extend(of);
            code.instrs
                .push(Instr::Join(param, Span::since(start, &code.tokens)));
        }
        self.go_back_to(mark);
        true
    }

    /// Returns true if control goes from block `at` to each of `arms`, or at once to block `after`, and from each arm there.
    fn are_arms(&self, at: BlockId, after: BlockId, arms: &[Block]) -> bool {
        let is_plain = |edge: &Edge| edge.kind == EdgeKind::Plain;
        let entries = self.code.blocks[at.0 as usize].edges.of(&self.code.edges);
        let entered = entries
            .iter()
            .filter_map(|edge| edge.to.filter(|to| *to != after));
        entries.iter().all(is_plain)
            && entered.eq((after.0 + 1..).map(BlockId).take(arms.len()))
            && arms.iter().all(|arm| {
                let leads_on = |edge: &Edge| is_plain(edge) && edge.to == Some(after);
                arm.params.range().is_empty()
                    && matches!(arm.edges.of(&self.code.edges), [edge] if leads_on(edge))
            })
    }
}

/// Returns true if each of `arms` closes the same groups in the same order, or none if it `may_be_passed_over`, and does nothing else but
/// to issue and to join.
fn close_the_same(arms: &[Block], instrs: &[Instr], may_be_passed_over: bool) -> bool {
    let closed = |arm: &Block| {
        let instrs = arm.instrs.of(instrs).iter();
        instrs.filter(|instr| !matches!(instr, Instr::Issue(..) | Instr::Join(..)))
    };
    let Some((first, others)) = arms.split_first() else {
        return false;
    };
    closed(first).all(|instr| !may_be_passed_over && matches!(instr, Instr::Commit(_)))
        && others.iter().all(|other| closed(other).eq(closed(first)))
}

/// The instructions of all `arms`, which close the same groups: what each does before the first commit, that commit, and so on.
fn side_by_side(arms: &[Block], instrs: &[Instr]) -> SmallVec<[Instr; 8]> {
    let mut rest: SmallVec<[&[Instr]; 2]> = arms.iter().map(|arm| arm.instrs.of(instrs)).collect();
    let mut merged = SmallVec::new();
    loop {
        let mut commit = None;
        for rest in &mut rest {
            let is_commit = |instr: &Instr| matches!(instr, Instr::Commit(_));
            let before = rest.iter().position(is_commit).unwrap_or(rest.len());
            merged.extend_from_slice(&rest[..before]);
            commit = rest.get(before);
            *rest = rest.get(before + 1..).unwrap_or_default();
        }
        match commit {
            Some(commit) => merged.push(*commit),
            None => return merged,
        }
    }
}
