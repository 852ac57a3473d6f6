//! What is wrong with the multiplications of a warpgroup.

use super::{Problem, Spot};

/// What a multiplication has no fence for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unfenced {
    /// It is the first of all.
    First,
    /// The accumulator that it adds to was written.
    Accumulator,
    /// The registers of A were.
    Fragment,
}

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

    /// An accumulator that is used though a multiplication has added to it while it was in flight.
    #[must_use]
    pub fn copied_accumulator(at: Spot, first: Spot, awaitable: bool) -> Self {
        Self {
            kind: "copied-accumulator",
            note: false,
            rank: 0,
            at,
            other: Some(first),
            message: "uses an accumulator that another matrix multiplication has added to before it was complete: that \
                      takes a copy of its registers"
                .into(),
            advice: if awaitable {
                "await the token of the multiplication that writes it before the first of the two, or use what the first one \
                 returns"
            } else {
                "wait for the group of the multiplication that writes it before the first of the two, or use what the first \
                 one returns"
            },
        }
    }

    /// Registers of A that are written while a multiplication may still read them.
    #[must_use]
    pub fn overwritten_fragment(at: Spot, multiplication: Spot, awaitable: bool) -> Self {
        Self {
            kind: "overwritten-fragment",
            note: false,
            rank: 0,
            at,
            other: Some(multiplication),
            message: "writes registers that a matrix multiplication may still read as A".into(),
            advice: if awaitable {
                "await the multiplication's token before this"
            } else {
                "wait for the multiplication's group before this"
            },
        }
    }

    /// A multiplication whose registers were written with no fence after; or there was none at all.
    #[must_use]
    pub fn unfenced_registers(at: Spot, what: Unfenced) -> Self {
        let (message, advice) = match what {
            Unfenced::First => (
                "no wgmma.fence comes before the first matrix multiplication of the warpgroup",
                "put nvvm.wgmma.fence.aligned after the accumulator is written, before this",
            ),
            Unfenced::Accumulator => (
                "adds to an accumulator that was written after the last wgmma.fence",
                "put nvvm.wgmma.fence.aligned after the accumulator is written, before this",
            ),
            Unfenced::Fragment => (
                "reads registers of A that were written after the last wgmma.fence",
                "put nvvm.wgmma.fence.aligned after they are written, before this",
            ),
        };
        Self {
            kind: "missing-wgmma-fence",
            note: false,
            rank: 0,
            at,
            other: None,
            message: message.into(),
            advice,
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
                "commit its group before the wait",
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
