//! What is wrong with the multiplications of a warpgroup.

use super::{Problem, Spot};

impl Problem {
    /// Threads of a warpgroup stand at an instruction of all of them that others don't come to.
    #[must_use]
    pub fn divergent_warpgroup(at: Spot, other: Option<Spot>) -> Self {
        Self {
            kind: "divergent-warpgroup",
            note: false,
            rank: 0,
            at,
            other,
            message: "this is an operation of a whole warpgroup, and not all of its 128 threads come to it"
                .into(),
            advice: "let all four warps of the warpgroup reach it: take it out of the condition",
        }
    }

    /// An accumulator that is used while a multiplication may still write it.
    #[must_use]
    pub fn early_accumulator(at: Spot, multiplication: Spot, awaitable: bool) -> Self {
        Self {
            kind: "early-use",
            note: false,
            rank: 0,
            at,
            other: Some(multiplication),
            message:
                "uses an accumulator before the matrix multiplication that writes it has been waited for"
                    .into(),
            advice: if awaitable {
                "await the multiplication's token before this"
            } else {
                "commit a group after the multiplication and wait for it before this, or let the wait there leave fewer \
                 groups in flight"
            },
        }
    }

    /// A multiplication whose accumulator was written with no fence after; or there was none at all.
    #[must_use]
    pub fn unfenced_accumulator(at: Spot, first: bool) -> Self {
        let message = if first {
            "no wgmma.fence comes before the first matrix multiplication of the warpgroup"
        } else {
            "adds to an accumulator that was written after the last wgmma.fence"
        };
        Self {
            kind: "missing-wgmma-fence",
            note: false,
            rank: 0,
            at,
            other: None,
            message: message.into(),
            advice: "put nvvm.wgmma.fence.aligned after the accumulator is written, before this",
        }
    }

    /// A multiplication that nobody has waited for when the kernel ends.
    #[must_use]
    pub fn unfinished_multiplication(at: Spot, committed: bool, awaitable: bool) -> Self {
        let (kind, message, advice) = if committed || awaitable {
            (
                "undrained",
                "the kernel ends and nobody has waited for this",
                if awaitable {
                    "await its token before the kernel ends: it may still read workgroup memory"
                } else {
                    "wait for its group before the kernel ends: it may still read workgroup memory"
                },
            )
        } else {
            (
                "never-committed",
                "no group is committed after this, so that no wait waits for it",
                "put nvvm.wgmma.commit.group.sync.aligned after it, before the wait",
            )
        };
        Self {
            kind,
            note: false,
            rank: 0,
            at,
            other: None,
            message: message.into(),
            advice,
        }
    }
}
