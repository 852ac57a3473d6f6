//! Checks a certificate: one look at each block, and at each of its edges. This is the part to trust, with `state.rs`.
//!
//! **Claim.** If [`check`] accepts, every two accesses that meet, by different threads of which one writes, have a barrier between them
//! on every path of the code, but for what `docs/verification.md` says is not looked at.

use super::bytes::Bytes;
use super::certificate::{Certificate, Exposed, Pending};
use super::code::{BlockId, ClassId, Code};
use super::state::{Meeting, State, follow};
use std::fmt;

/// A reason to refuse a certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Two accesses meet, and no barrier came between.
    Unordered {
        /// The block of the later access.
        block: BlockId,
        /// The place of its instruction in there.
        instr: usize,
        /// The later access.
        class: ClassId,
        /// The earlier one.
        earlier: Exposed,
    },
    /// An edge leads to before where the block says that it may.
    Order(BlockId),
    /// The certificate has no set for the block, or that lacks what arrives on an edge.
    Missing(BlockId),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unordered { block, instr, .. } => write!(
                f,
                "block {}, instruction {instr}: an access meets an earlier one, with no barrier between",
                block.0
            ),
            Self::Order(block) => write!(f, "block {}: an edge leads back where none may", block.0),
            Self::Missing(block) => write!(f, "block {}: an access that arrives is not claimed", block.0),
        }
    }
}

/// Checks that `certificate` holds for `code`, and that no two accesses of it meet without a barrier between.
///
/// # Errors
///
/// Two that may, or the first block of which the certificate does not say all.
pub fn check(code: &Code, certificate: &Certificate) -> Result<(), Refusal> {
    let bytes = Bytes::new(code);
    let mut state = State::new(code, &bytes);
    for (id, block) in code.blocks.with_ids() {
        if block.first_after > id {
            return Err(Refusal::Order(id));
        }
        let claimed = certificate.blocks.get(id).ok_or(Refusal::Missing(id))?;
        state.begin(block, claimed.iter().cloned());
        for (i, instr) in block.instrs.iter().enumerate() {
            state
                .check(block, instr)
                .map_err(|Meeting { class, earlier }| Refusal::Unordered {
                    block: id,
                    instr: i,
                    class,
                    earlier,
                })?;
            state.run(block, instr);
        }
        let left = state.finish();
        for edge in &block.edges {
            if code.blocks[edge.to].first_after < block.first_after {
                return Err(Refusal::Order(id));
            }
            let claimed = certificate.blocks.get(edge.to).ok_or(Refusal::Missing(edge.to))?;
            let mut arriving = left
                .iter()
                .filter_map(|pending| follow(code, &bytes, block, edge, pending));
            if !arriving.all(|pending| claimed.contains(&pending) || claimed.contains(&lost(pending))) {
                return Err(Refusal::Missing(edge.to));
            }
        }
    }
    Ok(())
}

/// What covers `pending`: the same, of which it is not known which tokens stand for it.
pub(super) fn lost(mut pending: Pending) -> Pending {
    if let Pending::InFlight(flight) = &mut pending {
        flight.tokens.clear();
        flight.is_lost = true;
    }
    pending
}
