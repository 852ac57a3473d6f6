//! What goes wrong with bulk copies and mbarriers.

use super::{Problem, Spot, StaleWait};
use std::fmt::Write;

/// The most bytes that a phase counts (PTX ISA, tx-count: up to 2^20 - 1).
pub const MAX_TX: i64 = (1 << 20) - 1;

impl Problem {
    /// The same with another rank.
    #[must_use]
    pub fn ranked(self, rank: u64) -> Self {
        Self { rank, ..self }
    }

    fn new(
        kind: &'static str,
        (at, other): (Spot, Option<Spot>),
        message: impl Into<String>,
        advice: &'static str,
    ) -> Self {
        Self {
            kind,
            note: false,
            rank: 0,
            at,
            other,
            message: message.into(),
            advice,
        }
    }

    /// Threads of a block stand at a copy of the whole block that others don't come to.
    #[must_use]
    pub fn divergent_block(at: Spot, other: Spot, ended: bool, copies: bool) -> Self {
        let others = if ended {
            "have ended"
        } else if at.instr == other.instr {
            "are there in another iteration"
        } else {
            "stand elsewhere"
        };
        Self::new(
            if copies {
                "divergent-copy"
            } else {
                "divergent-barrier"
            },
            (at, Some(other)),
            format!("this is an operation of the whole block, and some of its threads {others}"),
            "let all threads of the block reach it: take it out of the condition",
        )
    }

    /// Threads of a block come to a copy of the whole block with different operands.
    #[must_use]
    pub fn divergent_operands(at: Spot, other: Spot) -> Self {
        Self::new(
            "divergent-copy",
            (at, Some(other)),
            "this is an operation of the whole block, and its threads have different operands",
            "let addresses and indices be the same in all threads of the block",
        )
    }

    /// A warp comes to a barrier with another number of threads than those before it.
    #[must_use]
    pub fn other_count(at: Spot, other: Spot, number: usize, [count, before]: [usize; 2]) -> Self {
        Self::new(
            "divergent-barrier",
            (at, Some(other)),
            format!(
                "comes to barrier {number} with {count} threads, and others wait for {before} threads there"
            ),
            "let all that come to a barrier name the same number of threads, or give these another barrier",
        )
    }

    /// A warp that comes to a barrier may be counted for the round before.
    #[must_use]
    pub fn other_round(at: Spot, other: Spot, number: usize) -> Self {
        Self::new(
            "phase-overrun",
            (at, Some(other)),
            format!(
                "comes to barrier {number}, and may be counted for its last round: nothing orders it after the threads that \
                 came then"
            ),
            "let the threads meet before the barrier is used again, or take another number",
        )
    }

    /// Threads wait at a barrier that not enough threads come to.
    #[must_use]
    pub fn named_deadlock(
        at: Spot,
        other: Option<Spot>,
        ended: bool,
        number: usize,
        [came, all]: [usize; 2],
    ) -> Self {
        let others = match (other, ended) {
            (None, _) => "",
            (_, true) => ", and others have ended",
            (_, false) => ", and others stand elsewhere",
        };
        Self::new(
            "deadlock",
            (at, other),
            format!("waits forever at barrier {number}: {came} of {all} threads have come{others}"),
            "let as many threads come to it as it is of, in whole warps",
        )
    }

    /// A load that is still in flight when its block ends.
    #[must_use]
    pub fn in_flight_at_end(at: Spot) -> Self {
        Self::new(
            "undrained",
            (at, None),
            "the kernel ends and this may still write workgroup memory, which goes with the block",
            "wait for its phase before the kernel ends",
        )
    }

    /// Threads wait for a phase that nothing completes; of the arrivals and the bytes so many are missing.
    #[must_use]
    pub fn deadlock(at: Spot, armed: Spot, phase: u64, missing: (i64, i64, i64), name: &str) -> Self {
        let (pending, expected, bytes) = missing;
        let bytes = match bytes {
            0 => String::new(),
            bytes => format!(", and {bytes} bytes"),
        };
        Self::new(
            "deadlock",
            (at, Some(armed)),
            format!(
                "waits forever for phase {phase} of {name}: {pending} of its {expected} arrivals are missing{bytes}"
            ),
            if phase == 0 && pending == expected {
                "let as many threads arrive as the mbarrier was initialized with; if there is nothing to wait for yet, as for a \
                 slot that is empty at first, begin with parity 1, which passes at once"
            } else {
                "let as many threads arrive as the mbarrier was initialized with, in every phase that is waited for"
            },
        )
    }

    /// A wait that waits for nothing, and what comes after it relies on it.
    #[must_use]
    pub fn passes_at_once(wait: &StaleWait) -> Self {
        let name = &wait.mbarrier;
        let next = wait.phase.map_or(0, |phase| phase + 1);
        let phase = match (wait.phase, wait.before) {
            (Some(phase), _) => {
                format!("phase {phase} of {name}, after which this thread has gone on before")
            }
            (None, Some(_)) => format!(
                "the phase before the first of {name}, which counts as complete and after which this thread has gone on before"
            ),
            (None, None) => format!("the phase before the first of {name}, which counts as complete"),
        };
        Self::new(
            "wrong-parity",
            (wait.at, wait.before),
            format!(
                "passes at once: parity {} is that of {phase}; phase {next} is not complete",
                (next + 1) % 2
            ),
            match wait.before {
                Some(_) => {
                    "let the parity flip each time that the thread waits for this mbarrier again: count the uses of the \
                     mbarrier, over all loops around"
                }
                None => {
                    "wait for the parity of the phase: 0 for the first, and the other one each time the mbarrier is used again"
                }
            },
        )
    }

    /// A thread waits for the phase after `phase`, which is complete and which it has not waited for.
    #[must_use]
    pub fn wrong_parity(at: Spot, armed: Spot, phase: u64, name: &str) -> Self {
        let (is, waits) = (phase % 2, (phase + 1) % 2);
        Self::new(
            "wrong-parity",
            (at, Some(armed)),
            format!(
                "waits forever for parity {waits} of {name}: phase {phase}, which is complete and which this thread has not \
                 waited for, has parity {is}, and nobody arrives on the next one"
            ),
            "wait for the parity of the phase: 0 for the first, and the other one each time the mbarrier is used again",
        )
    }

    /// A phase expects other bytes than are in flight; so many too many, or too few if it is negative. `opposite` is the phase of
    /// another mbarrier beside it of which the opposite is true, and its name.
    #[must_use]
    pub fn wrong_bytes(
        (at, other): (Spot, Spot),
        left: i64,
        (phase, name): (u64, &str),
        opposite: Option<&(u64, String)>,
    ) -> Self {
        let bytes = left.abs();
        let mut message = if left > 0 {
            format!("phase {phase} of {name} expects {bytes} bytes more than the copies on it bring")
        } else {
            format!("the copies on phase {phase} of {name} bring {bytes} bytes more than it expects")
        };
        let advice = if let Some((phase, name)) = opposite {
            let more = if left > 0 { "more" } else { "fewer" };
            let _ = write!(
                message,
                ", and those on phase {phase} of {name} bring as many {more}"
            );
            "let each load complete on the mbarrier that expects its bytes: one of them seems to name the other mbarrier"
        } else {
            "let expect_tx name all bytes of the loads on the phase, out-of-bounds elements included"
        };
        Self::new("wrong-bytes", (at, Some(other)), message, advice)
    }

    /// A phase counts more bytes than an mbarrier can.
    #[must_use]
    pub fn beyond_count(at: Spot, phase: u64, bytes: i64, name: &str) -> Self {
        Self::new(
            "wrong-bytes",
            (at, None),
            format!(
                "phase {phase} of {name} expects {bytes} bytes, of which none may have landed, and an mbarrier counts at most \
                 {MAX_TX}"
            ),
            "spread the loads over several phases",
        )
    }

    /// Something is added to a phase that has all its arrivals: it may be complete, and that be the next one.
    #[must_use]
    pub fn overrun(at: Spot, armed: Spot, phase: u64, arrives: bool, name: &str) -> Self {
        let does = if arrives { "arrives on" } else { "expects bytes of" };
        Self::new(
            "phase-overrun",
            (at, Some(armed)),
            format!("{does} phase {phase} of {name}, which has all its arrivals already and may be complete"),
            "wait for the phase before the next one begins",
        )
    }

    /// An arrival that counts for so many, where fewer are missing of all.
    #[must_use]
    pub fn too_many_arrivals(
        at: Spot,
        armed: Spot,
        phase: u64,
        (count, missing, all): (i64, i64, i64),
        name: &str,
    ) -> Self {
        Self::new(
            "phase-overrun",
            (at, Some(armed)),
            format!(
                "makes {count} arrivals on phase {phase} of {name}, and only {missing} of its {all} arrivals are missing"
            ),
            "arrive as often as the mbarrier was initialized with",
        )
    }

    /// An arrival without completing the phase is its last one.
    #[must_use]
    pub fn completes(at: Spot, armed: Spot, phase: u64, name: &str) -> Self {
        Self::new(
            "phase-overrun",
            (at, Some(armed)),
            format!("arrives without completing phase {phase} of {name}, and is its last arrival"),
            "let the last arrival be one that may complete the phase",
        )
    }

    /// An arrival that comes unordered after one for the last phase, by another thread at the same time: one of them is too many.
    #[must_use]
    pub fn one_too_many(at: Spot, other: Spot, phase: u64, expected: i64, name: &str) -> Self {
        let last = phase.saturating_sub(1);
        let plural = if expected == 1 { "" } else { "s" };
        Self::new(
            "phase-overrun",
            (at, Some(other)),
            format!(
                "is one arrival too many: phase {last} of {name} has {expected} arrival{plural}, others have made them, and nothing \
                 orders this after them"
            ),
            "initialize the mbarrier with as many arrivals as threads make in each phase, or let fewer threads arrive",
        )
    }

    /// An arrival that may come before the last phase is complete.
    #[must_use]
    pub fn misplaced(at: Spot, other: Spot, phase: u64, name: &str) -> Self {
        let last = phase.saturating_sub(1);
        Self::new(
            "phase-overrun",
            (at, Some(other)),
            format!(
                "arrives on phase {phase} of {name}, and may count for phase {last}: nothing orders it after what \
                 completes that one"
            ),
            "wait for the phase before the next one begins, or pass a gpu.barrier after another thread's wait",
        )
    }

    /// A phase is complete before all threads have waited for the last one.
    #[must_use]
    pub fn overtaken(at: Spot, armed: Spot, phase: u64, name: &str) -> Self {
        let last = phase.saturating_sub(1);
        Self::new(
            "phase-overrun",
            (at, Some(armed)),
            format!(
                "waits for phase {last} of {name}, and nothing keeps phase {phase} from being complete before: the \
                 parity then says that it is not"
            ),
            "let all threads wait for a phase before the next one is armed: put a gpu.barrier, or an mbarrier on which \
             they arrive, between",
        )
    }

    /// An mbarrier is used that was not initialized, or not for this thread.
    #[must_use]
    pub fn use_before_init(at: Spot, init: Option<Spot>, name: &str) -> Self {
        let message = match init {
            None => format!("{name} was not initialized"),
            Some(_) => format!(
                "{name} was initialized by another thread, and no nvvm.fence.mbarrier.init and gpu.barrier lie between"
            ),
        };
        Self::new(
            "use-before-init",
            (at, init),
            message,
            "let one thread initialize it and execute nvvm.fence.mbarrier.init, and put a gpu.barrier after that",
        )
    }

    /// An mbarrier is used that was invalidated.
    #[must_use]
    pub fn use_after_inval(at: Spot, inval: Spot, name: &str) -> Self {
        Self::new(
            "use-after-inval",
            (at, Some(inval)),
            format!("{name} was invalidated before"),
            "invalidate it after its last use, or initialize it again",
        )
    }

    /// An mbarrier is invalidated that is in use.
    #[must_use]
    pub fn inval_in_use(at: Spot, other: Spot, flies: bool, name: &str) -> Self {
        let use_ = if flies {
            "a load in flight completes on it"
        } else {
            "another thread may still use it"
        };
        Self::new(
            "inval-in-use",
            (at, Some(other)),
            format!("{name} is invalidated, and {use_}"),
            "wait for its last phase in all threads, and put a gpu.barrier after that",
        )
    }

    /// Something other than an operation of mbarriers accesses the bytes of one.
    #[must_use]
    pub fn mbarrier_accessed(at: Spot, init: Spot, byte: usize, buffer: &str) -> Self {
        Self::new(
            "mbarrier-accessed",
            (at, Some(init)),
            format!("accesses the bytes of the mbarrier at byte {byte} of {buffer}"),
            "invalidate it before its memory is used for something else, or put it elsewhere",
        )
    }

    /// An mbarrier is initialized that is one already.
    #[must_use]
    pub fn init_twice(at: Spot, before: Spot, name: &str) -> Self {
        Self::new(
            "init-twice",
            (at, Some(before)),
            format!("{name} is an mbarrier already"),
            "let one thread initialize it, once, or invalidate it before",
        )
    }
}
