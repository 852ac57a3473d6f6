//! Checks a certificate: one look at each block, and at each of its edges. This is the part to trust, with `state.rs`.
//!
//! **Claim.** If [`check`] accepts, the rules that [`super`] lists hold on every path of the code.

use super::certificate::Certificate;
use super::code::{Access, Code, Memory};
use super::infer::lost;
pub use super::state::Fault;
use super::state::State;
use crate::groups::code::BlockId;
use crate::groups::infer::liveness::Liveness;
use std::fmt;

/// A reason to refuse a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A rule is broken.
    Broken {
        /// In this block.
        block: BlockId,
        /// At this event of it; `None` for its end.
        event: Option<usize>,
        /// The rule.
        fault: Fault,
    },
    /// The certificate has no set for the block, or that lacks what arrives on an edge.
    Missing(BlockId),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken { block, fault, .. } => write!(f, "block {}: {fault:?}", block.0),
            Self::Missing(block) => write!(f, "block {}: an operation that arrives is not claimed", block.0),
        }
    }
}

/// Checks that `certificate` holds for `code`, in which an access and operations of some memory may conflict if `conflicts` says so.
///
/// # Errors
///
/// The first rule that is broken, or block of which the certificate does not say all.
pub fn check(
    code: &Code,
    certificate: &Certificate,
    conflicts: &dyn Fn(Access, Memory) -> bool,
) -> Result<(), Refusal> {
    let live = Liveness::new(&code.groups);
    let mut state = State::new(code, &live, conflicts);
    let claimed = |id: BlockId| certificate.blocks.get(id.0 as usize)?.as_ref();
    if !code.groups.blocks.is_empty() && claimed(BlockId(0)).is_none() {
        return Err(Refusal::Missing(BlockId(0)));
    }
    for (id, block) in (0..).map(BlockId).zip(&code.groups.blocks) {
        // Control comes where it is claimed to come: edges show that this is all.
        let Some(pending) = claimed(id) else { continue };
        state.begin(pending.iter());
        let mut broken = None;
        state.run(id, |event, fault| {
            broken.get_or_insert(Refusal::Broken {
                block: id,
                event: Some(event),
                fault,
            });
        });
        if let Some(refusal) = broken {
            return Err(refusal);
        }
        let edges = block.edges.of(&code.groups.edges);
        let ends = edges.is_empty() || edges.iter().any(|edge| edge.to.is_none());
        if let Some(left) = state.left().filter(|_| ends) {
            return Err(Refusal::Broken {
                block: id,
                event: None,
                fault: Fault::Left(left),
            });
        }
        for (edge, arriving) in edges.iter().zip(state.follow(edges)) {
            let Some(to) = edge.to else { continue };
            let claimed = claimed(to).ok_or(Refusal::Missing(to))?;
            let mut arriving = arriving.into_iter();
            if !arriving.all(|pending| claimed.contains(&pending) || claimed.contains(&lost(pending))) {
                return Err(Refusal::Missing(to));
            }
        }
    }
    Ok(())
}
