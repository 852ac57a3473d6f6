//! Checks that engines keep every dependence with the flags that were written, and that flags are set and waited for as the machine has it.
//!
//! *The machine.* Each engine executes its own instructions in program order, as fast or slow as it likes. `gpux.set_flag <a, b, id>` is one of
//! engine `a`: the flag is set when all before it on `a` is finished. `gpux.wait_flag <a, b, id>` is one of `b`: nothing after it on `b` begins
//! before the flag is set, and it takes the flag back. All engines take the same way through control flow.
//!
//! *The rules.* On every path,
//!
//! - an operation begins when all is finished that it depends on: accesses that may meet its own, one of which writes, and values. An engine
//!   knows of another one what it waited for, and what that one knew when it set the flag;
//! - an engine knows the condition where it branches;
//! - each wait has its setting earlier in program order, and as many flags are set on all paths that meet, and none at the end: so no wait
//!   hangs, since all that an instruction waits for is before it;
//! - a binary flag is clear where it is set, and the engine that sets it knows that the last wait for it is over.
//!
//! [`mod@read`] turns a function into [`Code`]: engines, [facts](code::FactId) that they do and need, and flags. [`check()`] walks through it with
//! what each engine may not know yet.

pub mod check;
pub mod code;
mod fact_set;
pub mod read;
mod state;
mod values;

pub use check::{Refusal, check};
pub use code::{Code, FlagKind};
pub use read::{Failure, Machine, is_flag, verify};
