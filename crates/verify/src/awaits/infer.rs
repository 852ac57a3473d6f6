//! Finds a certificate for code. Nothing here is believed: [`check`](super::check()) looks at what comes out.
//!
//! Sets of what is pending go from block to block until nothing new arrives. Cost: blocks x what is pending in each x the ages that shift
//! around loops.

use super::certificate::{Certificate, Pending};
use super::code::Code;
use super::state::State;
use crate::groups::code::BlockId;
use crate::groups::infer::liveness::Liveness;
use crate::groups::infer::order::{Worklist, reverse_postorder};
use rustc_hash::FxHashSet;

/// More than so many at one block are not told apart by their tokens.
const MOST: usize = 1 << 12;

/// Finds a certificate for `code`.
#[must_use]
pub fn infer(code: &Code) -> Certificate {
    let blocks = &code.groups.blocks;
    let mut certificate = Certificate {
        blocks: vec![None; blocks.len()],
    };
    if blocks.is_empty() {
        return certificate;
    }
    let live = Liveness::new(&code.groups);
    let mut state = State::new(code, &live, &|_, _| false);
    let mut work = Worklist::new(reverse_postorder(&code.groups));
    certificate.blocks[0] = Some(FxHashSet::default());
    work.insert(BlockId(0));
    while let Some(id) = work.pop() {
        state.begin(certificate.blocks[id.0 as usize].iter().flatten());
        state.run(id, |_, _| {});
        let edges = blocks[id.0 as usize].edges.of(&code.groups.edges);
        for (edge, pending) in edges.iter().zip(state.follow(edges)) {
            let Some(to) = edge.to else { continue };
            let known = &mut certificate.blocks[to.0 as usize];
            let mut changed = known.is_none();
            let known = known.get_or_insert_default();
            for pending in pending {
                let pending = if known.len() < MOST {
                    pending
                } else {
                    lost(pending)
                };
                changed |= known.insert(pending);
            }
            if changed {
                work.insert(to);
            }
        }
    }
    certificate
}

/// What covers `pending`: the same, which no token is known to stand for.
pub(super) fn lost(mut pending: Pending) -> Pending {
    pending.tokens.clear();
    pending
}
