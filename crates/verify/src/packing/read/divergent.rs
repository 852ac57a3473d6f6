//! Reads an operation in which threads may take different ways as one step.
//!
//! What is awaited in there is not known to be awaited by all threads, but for tokens that are made in there: who has issued something comes by
//! the await, too. What an `scf.if` on the number of a warp awaits, all threads of these warps do.

use super::super::code::{Instr, Issue, Token};
use super::Reader;
use async_dialects::completion::Completion;
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_locations::cfg::{Edge, RegionFlow, values_inside};
use async_locations::warps::warps_of_arm;
use async_mlir::ir::{Block, Op, Use, Value};
use rustc_hash::FxHashSet;

impl<'c> Reader<'_, 'c> {
    /// Reads `op` and all that is in it as one step.
    pub(super) fn divergent(&mut self, op: Op<'c>) {
        let nested = op.self_and_nested();
        let mut instrs = self.awaits_of_warps(op);
        let results = self.tokens(op.results());
        let mut inside = values_inside(op);
        inside.retain(|(_, token)| is_token(token.ty()));
        let is_taken =
            op.is(async_::REGION) || inside.iter().all(|&(block, token)| is_taken_in(block, token));
        if !results.is_empty() {
            instrs.push(Instr::Define(results.clone()));
        }
        for inner in nested {
            for access in self.accesses(inner) {
                match access {
                    Instr::Issue(issue) if !issue.tokens.is_empty() => {
                        let results = is_taken.then_some(results.as_slice());
                        instrs.extend(handed_on(&issue, results));
                    }
                    access => instrs.push(access),
                }
            }
        }
        self.step(instrs, op);
    }

    /// What `op` awaits, if it is an `scf.if` on the number of a warp.
    fn awaits_of_warps(&mut self, op: Op<'c>) -> Vec<Instr> {
        let mut instrs = Vec::new();
        for (number, region) in op.regions().enumerate() {
            let warps = warps_of_arm(op, number).filter(|warps| *warps != 0);
            let (Some(block), Some(warps)) = (region.first(), warps) else {
                continue;
            };
            for wait in block.ops().into_iter().filter(|inner| inner.is(async_::AWAIT)) {
                for token in joined(wait) {
                    instrs.push(Instr::Await(self.tokens([token]), warps));
                }
            }
        }
        instrs
    }
}

/// What `issue` is after an operation that it is in. If what stands for it is taken in there, it is over, or it is when one of the `results`
/// of the operation is awaited: all of them, since it may have become any. If not, it is never known to be.
fn handed_on(issue: &Issue, results: Option<&[Token]>) -> Vec<Instr> {
    let until = |tokens: Vec<Token>| {
        Instr::Issue(Issue {
            tokens,
            ..issue.clone()
        })
    };
    let Some(results) = results else {
        return vec![until(Vec::new())];
    };
    let over = Instr::access(issue.buffer, issue.writes);
    let later = results.iter().map(|result| until(vec![*result]));
    std::iter::once(over).chain(later).collect()
}

/// The tokens that `wait` awaits, and all that these are joined of.
fn joined(wait: Op<'_>) -> Vec<Value<'_>> {
    let mut seen = FxHashSet::default();
    let mut all = Vec::new();
    let mut work: Vec<Value> = wait.operands().filter(|value| is_token(value.ty())).collect();
    while let Some(token) = work.pop() {
        if seen.insert(token) {
            all.push(token);
            let join = token.defining_op().filter(|op| op.is(async_::JOIN));
            work.extend(join.into_iter().flat_map(Op::operands));
        }
    }
    all
}

/// Returns true if every thread that makes `token`, in `block`, awaits it there, or hands it on. Conservative: what is deeper inside may not
/// be run.
fn is_taken_in<'c>(block: Block<'c>, token: Value<'c>) -> bool {
    let uses = token.uses().into_iter();
    let mut here = uses.filter(|Use { owner, .. }| owner.block() == Some(block));
    here.any(|Use { owner, .. }| {
        if owner.is_terminator() {
            // A branch to one of several blocks may hand it to none.
            return owner.successors().len() <= 1
                && owner.parent().is_some_and(|around| !around.is_function());
        }
        if owner.num_regions() > 0 {
            let hands_over = |edge: &Edge| edge.bindings.iter().any(|(from, _)| *from == token);
            let flow = RegionFlow::new(owner);
            return flow
                .known_entries()
                .is_some_and(|entries| entries.iter().all(hands_over));
        }
        owner.is(async_::AWAIT) || owner.is(async_::JOIN) || Completion::of(owner).is_some()
    })
}
