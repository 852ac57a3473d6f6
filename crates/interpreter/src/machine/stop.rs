//! Why a run ends before its end.

use super::{Machine, State};
use crate::memory::Fault;
use crate::report::Spot;
use crate::scalar::ScalarError;
use crate::value::{BufferId, CopyId, NoSuchNumber};

/// What ends a run.
#[derive(Clone, Debug)]
pub struct Stop {
    /// Where.
    pub spot: Spot,
    /// Why.
    pub reason: Reason,
    /// True if it may be so only since a value was read too early, or that nobody had written.
    pub after_misread: bool,
}

impl Stop {
    /// The same where entry `i` of the table of iterations is `entries[i]`, and each buffer another one.
    pub(super) fn adopted(self, entries: &[u32], buffer: impl Fn(BufferId) -> BufferId) -> Self {
        let reason = match self.reason {
            Reason::Fault(fault) => Reason::Fault(fault.in_buffers(buffer)),
            reason => reason,
        };
        Self {
            spot: self.spot.in_iterations(entries),
            reason,
            ..self
        }
    }
}

impl Machine<'_> {
    /// The block ends with `stop`. Where a value was read too early that may be why, the other threads come to what they wait for
    /// next: one of them may write what was read, and so say why it was too early.
    pub(super) fn ended_by(&mut self, stop: Stop, each: &mut dyn FnMut(u64)) -> Stop {
        if !stop.reason.follows_from_values() || !self.memory.reports.misread(self.first_thread) {
            return stop;
        }
        if stop.reason != Reason::Budget {
            self.leave_out(&stop);
            for warp in self.turns() {
                while let Err(stop) = self.run_warp(&warp, each) {
                    self.leave_out(&stop);
                }
            }
        }
        Stop {
            after_misread: true,
            ..stop
        }
    }

    /// A thread does nothing any more.
    fn leave_out(&mut self, stop: &Stop) {
        let t = (stop.spot.thread - self.first_thread) as usize;
        self.threads[t].state = State::Done;
    }
}

/// Why a run ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// A memory access that can't be made.
    Fault(Fault),
    /// A number that is not defined.
    Scalar(ScalarError),
    /// A register that holds nothing.
    Poison,
    /// An instruction got what it can't use; the reader should not have let it through.
    Operand(&'static str),
    /// The budget is used up.
    Budget,
    /// A loop whose step is 0 or less.
    Step,
    /// A failed assertion.
    Assert(String),
    /// A thread waits at a barrier of its warp that is not for it.
    NotInMask,
    /// Threads of a warp wait for each other at barriers of different threads.
    OtherMask,
    /// Threads of a warp name different places for a matrix that they access together.
    OtherPlace,
    /// Threads of a warp come to different barriers together.
    OtherBarrier,
    /// A block has no barrier of this number.
    BarrierNumber(u64),
    /// A barrier can't be of so many threads.
    BarrierCount(u64),
    /// The warp is not complete.
    PartialWarp,
    /// The warpgroup is not complete.
    PartialWarpgroup,
    /// The metadata of a sparse matrix that says nothing.
    Metadata {
        /// The row.
        row: usize,
        /// The first and the last column that it is about.
        columns: [usize; 2],
        /// What it is.
        bits: u64,
        /// What it has to be.
        help: &'static str,
    },
    /// A sparsity selector that is too large.
    Selector {
        /// What it is.
        selector: i64,
        /// How many there are.
        choices: usize,
    },
    /// Threads of a warp name different sparsity selectors.
    OtherSelector,
    /// A matrix descriptor that can't be used, and why.
    Descriptor(&'static str),
    /// A copy that is to read less than nothing, or more than it writes; both in elements or bytes.
    Count {
        /// How many it is to read.
        read: i64,
        /// How many it writes.
        written: i64,
    },
    /// A memref has another size than its type says.
    Mismatch {
        /// The dimension.
        dim: usize,
        /// Its size.
        size: i64,
        /// What the type says.
        expected: i64,
    },
    /// A tensor whose stride no tensor map can have.
    Pitch {
        /// The dimension.
        dim: usize,
        /// Its stride.
        bytes: i64,
    },
    /// A value that is used before the task has ended that yields it: the thread waits for that.
    Pending(CopyId),
    /// More tasks than can be told apart.
    Tasks,
    /// Tasks that wait for each other.
    Stuck,
    /// A launch that no device takes.
    Launch(String),
    /// A kernel has stopped; what is wrong is found there.
    Kernel,
    /// Buffers of different sizes that data is transferred between.
    Transfer {
        /// The dimension.
        dim: usize,
        /// Its size where data goes to.
        size: i64,
        /// Its size where it comes from.
        expected: i64,
    },
    /// Buffers of more bytes than an interpreter has room for.
    Room,
    /// A copy of a size that can't be copied.
    Size {
        /// How many bytes.
        bytes: i64,
        /// What they have to be a multiple of.
        of: u32,
    },
}

impl Reason {
    /// Returns true if other values might not have ended the run.
    pub(super) fn follows_from_values(&self) -> bool {
        !matches!(
            self,
            Self::Operand(_)
                | Self::PartialWarp
                | Self::PartialWarpgroup
                | Self::Tasks
                | Self::Stuck
                | Self::Kernel
                | Self::Fault(Fault::Freed { .. } | Fault::Accesses)
        )
    }
}

impl From<Fault> for Reason {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<NoSuchNumber> for Reason {
    fn from(_: NoSuchNumber) -> Self {
        Self::Operand("a number, or as long a vector")
    }
}

impl From<ScalarError> for Reason {
    fn from(error: ScalarError) -> Self {
        Self::Scalar(error)
    }
}
