//! What host code does that makes and ends tasks.

use super::{Label, Reg};

/// The most tasks that a run of host code has, and what its memory can tell apart.
pub const MOST_TASKS: u32 = 1 << 14;

/// An instruction of host code about tasks.
#[derive(Clone, Debug)]
pub enum TaskOp {
    /// Makes a task of what follows, up to its [`TaskOp::End`]: `async.region`. The task has copies of the registers.
    Start {
        /// Where its token goes.
        token: Reg,
        /// Where the values go that it yields.
        values: Box<[Reg]>,
        /// The tokens that have to be complete before it starts.
        dependencies: Box<[Reg]>,
        /// Where whoever makes it goes on.
        after: Label,
        /// True if it only frees memory of a device: that is due although what it depends on has failed.
        frees: bool,
    },
    /// Ends the task.
    End {
        /// What it yields.
        values: Box<[Reg]>,
        /// The tokens that are complete before its own is.
        tokens: Box<[Reg]>,
    },
}
