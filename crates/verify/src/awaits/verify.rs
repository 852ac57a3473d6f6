//! Checks a queue of a function that was put into token form.

use super::check::{Fault, Refusal, check};
use super::infer::infer;
use super::read::{Reading, read};
use crate::groups;
use async_dialects::completion::{Completion, GroupQueue};
use async_dialects::types::is_token;
use async_mlir::ir::Op;
use rustc_hash::FxHashSet;

pub use super::read::Written;

/// Something wrong with what was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure<'c> {
    /// The operation.
    pub op: Op<'c>,
    /// What is wrong with it, after its name.
    pub what: &'static str,
    /// The asynchronous operation that it is about.
    pub issue: Option<Op<'c>>,
}

/// Checks that awaits complete no more than the waits in their places, and all that is accessed before a later await.
///
/// # Errors
///
/// The first operation where that is not so.
pub fn verify<'c>(written: &Written<'_, 'c>) -> Result<(), Failure<'c>> {
    let replaced: FxHashSet<Op> = written.replaced.iter().copied().collect();
    let lost = |op: &&Op<'c>| !is_replaced(**op, written.queue, &replaced);
    if let Some(op) = written.replaced.iter().find(lost) {
        return Err(Failure {
            op: *op,
            what: "is replaced by nothing that does the same",
            issue: None,
        });
    }
    let reading = read(written);
    if reading.code.groups.blocks.is_empty() {
        return Ok(());
    }
    waits_for_no_more(written, &reading)?;
    let certificate = infer(&reading.code);
    let conflicts = |access, memory| reading.conflicts(access, memory);
    check(&reading.code, &certificate, &conflicts).map_err(|refusal| failure(written, &reading, refusal))
}

/// Returns true if what comes right before `op` does to the queue what `op` does, and has a token.
fn is_replaced<'c>(op: Op<'c>, queue: GroupQueue, replaced: &FxHashSet<Op<'c>>) -> bool {
    let new = op.prev().filter(|new| !replaced.contains(new));
    let Some((new, old)) = new.and_then(Completion::of).zip(Completion::of(op)) else {
        return false;
    };
    let has_token = new.done.is_some_and(|token| is_token(token.ty()));
    has_token && new.queue == Some(queue) && old.queue == Some(queue) && new.effect == old.effect
}

/// Checks that what is awaited is complete there by the counts.
fn waits_for_no_more<'c>(written: &Written<'_, 'c>, reading: &Reading<'c>) -> Result<(), Failure<'c>> {
    let certificate = groups::infer(&reading.code.groups);
    groups::check(&reading.code.groups, &certificate).map_err(|refusal| {
        let refused = reading.groups.refused_await(&certificate, &refusal);
        Failure {
            op: refused.unwrap_or(written.function),
            what: "waits for more than the wait in its place",
            issue: None,
        }
    })
}

fn failure<'c>(written: &Written<'_, 'c>, reading: &Reading<'c>, refusal: Refusal) -> Failure<'c> {
    let Refusal::Broken { block, event, fault } = refusal else {
        return Failure {
            op: written.function,
            what: "has no certificate",
            issue: None,
        };
    };
    let op = event.and_then(|event| reading.op(block.0 as usize, event));
    let (what, memory) = match fault {
        Fault::Accessed(memory) => (
            "accesses memory of an asynchronous operation that is complete here in counted form, and is not awaited",
            memory,
        ),
        Fault::AccessedByOthers(memory) => (
            "accesses memory of an asynchronous operation that another thread may not have awaited, with no barrier between",
            memory,
        ),
        Fault::Told(memory) => (
            "may tell other threads of an asynchronous operation that is complete here in counted form, and is not awaited",
            memory,
        ),
        Fault::Left(memory) => ("may end while an asynchronous operation is not awaited", memory),
    };
    Failure {
        op: op.unwrap_or(written.function),
        what,
        issue: reading.issue(memory),
    }
}
