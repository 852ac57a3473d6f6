//! What is wrong with what warps do.

use super::{Problem, Spot};
use crate::machine::WARP;

impl Problem {
    /// A thread comes to an operation of some lanes of its warp, and does not name itself.
    #[must_use]
    pub fn not_in_mask(at: Spot) -> Self {
        Self {
            kind: "divergent-warp",
            note: false,
            rank: 0,
            at,
            other: None,
            message: "the thread is not in the mask that it waits with".into(),
            advice: "let the mask name all threads that come to it together",
        }
    }

    /// Threads of a warp stand at an operation of the whole warp that others don't come to.
    #[must_use]
    pub fn divergent_warp(at: Spot, other: Option<Spot>) -> Self {
        Self {
            kind: "divergent-warp",
            note: false,
            rank: 0,
            at,
            other,
            message: "this is an operation of a whole warp, and not all of its threads come to it".into(),
            advice: "let all threads of the warp reach it: take it out of the condition",
        }
    }

    /// A warp is to issue a load or to elect a thread, and there is no such one in the block.
    #[must_use]
    pub fn no_such_warp(at: Spot, warp: u32, threads: usize) -> Self {
        let warps = threads.div_ceil(WARP);
        Self {
            kind: "no-such-warp",
            note: false,
            rank: 0,
            at,
            other: None,
            message: format!(
                "names warp {warp}, but the block has {warps}, which are counted from 0: no thread does it"
            ),
            advice: "name a warp of the block, or let the block have more threads",
        }
    }
}
