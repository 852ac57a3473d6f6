//! Finds a certificate for code. Nothing here is believed: [`check`](super::check()) looks at what comes out.
//!
//! What is pending is handed from block to block until nothing new arrives anywhere. What happens to it does not depend on what else is
//! pending, so a block runs with what is new alone.

use super::bytes::Bytes;
use super::certificate::{Certificate, Pending};
use super::check::lost;
use super::code::{BlockId, ClassId, Code};
use super::state::{State, follow};
use async_overlap::ids::IndexVec;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// So many states of one asynchronous access are told apart where a block begins; of others, the tokens are forgotten.
const MAX_STATES: u32 = 256;

/// Finds what may be pending where each block of `code` begins.
#[must_use]
pub fn infer(code: &Code) -> Certificate {
    let blocks = code.blocks.len();
    let mut certificate = Certificate {
        blocks: IndexVec::filled(FxHashSet::default(), blocks),
    };
    let mut states: FxHashMap<(BlockId, ClassId), u32> = FxHashMap::default();
    let mut fresh: IndexVec<BlockId, Vec<Pending>> = IndexVec::filled(Vec::new(), blocks);
    let mut has_run = IndexVec::filled(false, blocks);
    let mut work: BTreeSet<BlockId> = code.blocks.ids().collect();
    let bytes = Bytes::new(code);
    let mut state = State::new(code, &bytes);
    while let Some(id) = work.pop_first() {
        let block = &code.blocks[id];
        state.begin(block, std::mem::take(&mut fresh[id]));
        let is_first = !std::mem::replace(&mut has_run[id], true);
        for instr in &block.instrs {
            if is_first {
                state.run(block, instr);
            } else {
                state.carry(block, instr);
            }
        }
        let left = state.finish();
        for edge in &block.edges {
            for pending in left
                .iter()
                .filter_map(|pending| follow(code, &bytes, block, edge, pending))
            {
                let pending = match &pending {
                    Pending::InFlight(flight) if !certificate.blocks[edge.to].contains(&pending) => {
                        let states = states.entry((edge.to, flight.class)).or_default();
                        *states += 1;
                        if *states > MAX_STATES {
                            lost(pending)
                        } else {
                            pending
                        }
                    }
                    _ => pending,
                };
                if !certificate.blocks[edge.to].contains(&pending) {
                    certificate.blocks[edge.to].insert(pending.clone());
                    fresh[edge.to].push(pending);
                    work.insert(edge.to);
                }
            }
        }
    }
    certificate
}
