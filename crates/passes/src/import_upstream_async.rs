//! `async-translate --import-upstream-async`: translates upstream's dialect `async` into ours.
//!
//! **Condition.** A module in a context that has upstream's dialect `async`, and verifies there. What is made of it is read in
//! another context, which has ours.
//!
//! **Effect.** `async.execute` becomes `async.region`, and the body of an `async.func` a region in it. An `!async.value<T>` becomes
//! a token and a `T` that may be used once the token is complete; both go where the value went. A group becomes the tokens that have
//! been added to it: where control flow or a call goes on, their join does. What a task adds to a group, its own token waits for.
//! Awaits of tokens that are complete are dropped.
//!
//! **Refusals.** Values and groups that escape to where they can't be followed; a group that a task awaits while others may still add
//! to it; ranks in groups, which no token has; what the dialect is lowered to (`async.coro`, `async.runtime`).

mod awaits;
mod groups;
mod legality;
mod tasks;
mod values;

use async_mlir::ir::Op;
use async_mlir::pass::PassError;

/// Rewrites `module`.
///
/// # Errors
///
/// If something can't be expressed, with its place.
pub fn import_upstream_async(module: Op<'_>) -> Result<(), PassError<'_>> {
    legality::check(module)?;
    values::to_tokens(module);
    groups::to_joins(module)?;
    tasks::to_regions(module);
    awaits::simplify(module);
    Ok(())
}
