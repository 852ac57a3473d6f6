//! Determines which values control flow has to carry: counters, and the numbers that tokens stand for. These
//! follow the tokens, which are removed in the end.

use super::state::State;
use crate::analysis::phase_skeleton::PhaseSkeleton;
use crate::utils::region_values::{RegionOpKind, region_op_kind};
use rustc_hash::FxHashMap;
use tokenflow::Token;
use tokenflow::phases::{PhaseValue, PhiId, Plan, RegionOpId, RingId};

/// A value that goes through an operation with regions.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Carried {
    /// How often a ring has been armed.
    Counter(RingId),
    /// How often threads have met at a ring of mbarriers.
    RendezvousCounter(usize),
    /// What a token stands for: the phis of the blocks' arguments and of the result.
    Token {
        blocks: Vec<Option<PhiId>>,
        result: Option<PhiId>,
    },
}

impl Carried {
    /// What an edge of an operation binds it to, from the end of a block or from where the operation is entered.
    pub fn incoming(
        &self,
        read: &PhaseSkeleton,
        plan: &Plan,
        op: RegionOpId,
        from: Option<usize>,
    ) -> Option<PhaseValue> {
        let Self::Token { blocks, result } = self else {
            return None;
        };
        let edges = read.tree.region_ops[op].edges.iter().enumerate();
        edges.filter(|(_, edge)| edge.from == from).find_map(|(e, edge)| {
            let phi = edge.to.map_or(*result, |to| blocks[to])?;
            plan.incoming(phi, op, e)
        })
    }
}

/// Marks the operations through which nothing can be carried.
pub(super) fn mark_closed(read: &mut PhaseSkeleton) {
    for (region_op, &op) in read.tree.region_ops.iter_mut().zip(&read.region_ops) {
        region_op.closed = !region_op.blocks.is_empty() && region_op_kind(op).is_none();
    }
}

/// What goes through an operation: counters of what is counted inside, and tokens.
pub(super) fn carried_through(
    read: &PhaseSkeleton,
    plan: &Plan,
    phi_of: &FxHashMap<Token, PhiId>,
    state: &State,
    op: RegionOpId,
) -> Vec<Carried> {
    let counters = plan.armed_rings[op].iter().copied();
    let mut all: Vec<Carried> = counters
        .filter(|&ring| state.counters[ring].is_some())
        .map(Carried::Counter)
        .collect();
    let rendezvous_rings = plan.rendezvous_rings.iter().enumerate();
    let counted =
        rendezvous_rings.filter(|(ring, it)| state.rendezvous_counters[*ring].is_some() && it.within[op]);
    all.extend(counted.map(|(ring, _)| Carried::RendezvousCounter(ring)));
    for token in tokens_through(read, plan, phi_of, op) {
        if !all.contains(&token) {
            all.push(token);
        }
    }
    all
}

/// The tokens of rings with counters that go through an operation.
fn tokens_through(
    read: &PhaseSkeleton,
    plan: &Plan,
    phi_of: &FxHashMap<Token, PhiId>,
    op: RegionOpId,
) -> Vec<Carried> {
    let phi = |token: Option<&Token>| {
        let phi = token.and_then(|token| phi_of.get(token)).copied();
        phi.filter(|&phi| plan.rings[plan.phis[phi].ring].has_counter)
    };
    let region_op = &read.tree.region_ops[op];
    let params: Vec<&[Token]> = region_op
        .blocks
        .iter()
        .map(|&block| read.tree.blocks[block].params.as_slice())
        .collect();
    let most = params.iter().map(|params| params.len()).max().unwrap_or(0);
    let is_loop = region_op_kind(read.region_ops[op]) == Some(RegionOpKind::Loop);
    let mut tokens = Vec::new();
    for i in 0..most.max(region_op.results.len()) {
        let result = phi(region_op.results.get(i));
        if !is_loop {
            tokens.push((vec![None; params.len()], result));
            continue;
        }
        for place in 0..params.len() {
            let mut blocks = vec![None; params.len()];
            blocks[place] = phi(params[place].get(i));
            // In a loop of one block, and after a condition, results are what the arguments would be next.
            let is_last = place + 1 == params.len();
            tokens.push((blocks, result.filter(|_| is_last)));
        }
    }
    tokens
        .into_iter()
        .filter(|(blocks, result)| result.is_some() || blocks.iter().any(Option::is_some))
        .map(|(blocks, result)| Carried::Token { blocks, result })
        .collect()
}
