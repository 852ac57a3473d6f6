//! Collapses an operation in which threads may diverge to a single node. What whole warps await there is
//! known to be awaited by them.

use super::super::cfg::{RegionFlow, values_inside};
use super::super::warps::warps_of_arm;
use super::Reader;
use crate::utils::tokens::joined_tokens;
use async_dialects::completion::Completion;
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::ir::{Block, Op, Use, Value};
use tokenflow::packing::flow_graph::{NodeId, TokenOrigin};

impl<'c> Reader<'_, 'c> {
    /// Reads `op` and all that is in it into `node`. Nothing that waits inside is known to wait for all threads; what an `scf.if` on
    /// the number of a warp awaits, all threads of these warps do.
    pub(super) fn divergent_op(&mut self, node: NodeId, op: Op<'c>) {
        let nested: Vec<Op> = op.self_and_nested();
        for &inner in &nested {
            self.access(node, inner);
        }
        for (number, region) in op.regions().enumerate() {
            let warps = warps_of_arm(op, number).filter(|warps| *warps != 0);
            let (Some(block), Some(warps)) = (region.first(), warps) else {
                continue;
            };
            for wait in block.ops().into_iter().filter(|inner| inner.is(async_::AWAIT)) {
                let awaited = self
                    .tokens(joined_tokens(wait).into_iter())
                    .into_iter()
                    .map(|token| (token, warps));
                self.at(node).awaits_of_warps.extend(awaited);
            }
        }
        let mut inside = values_inside(op);
        inside.retain(|(_, token)| is_token(token.ty()));
        let is_taken =
            op.is(async_::REGION) || inside.iter().all(|&(block, token)| is_taken_in(block, token));
        let inside: Vec<_> = inside.into_iter().map(|(_, token)| self.token(token)).collect();
        if is_taken {
            for &token in &inside {
                self.out.flow.tokens[token] = TokenOrigin::Inside(node);
            }
        }
        for result in self.tokens(op.results()) {
            self.out.flow.tokens[result] = TokenOrigin::Node(node);
            self.at(node).joins.push((result, inside.clone()));
        }
    }
}

/// Returns true if something in `block`, where `token` is made, takes it over: it awaits it or hands it on. Conservative:
/// what is deeper inside may not be run.
fn is_taken_in<'c>(block: Block<'c>, token: Value<'c>) -> bool {
    token.uses().into_iter().any(|Use { owner, .. }| {
        if owner.block() != Some(block) {
            return false;
        }
        if owner.is(async_::AWAIT) || owner.is(async_::JOIN) {
            return true;
        }
        if owner.is_terminator() {
            return owner.successors().len() <= 1
                && owner.parent().is_some_and(|around| !around.is_function());
        }
        if owner.num_regions() > 0 {
            let flow = RegionFlow::new(owner);
            let is_bound = |entries: &[super::IrEdge]| {
                let hands_over = |edge: &super::IrEdge| edge.bindings.iter().any(|(from, _)| *from == token);
                entries.iter().all(hands_over)
            };
            return flow.known_entries().is_some_and(is_bound);
        }
        Completion::of(owner).is_some()
    })
}
