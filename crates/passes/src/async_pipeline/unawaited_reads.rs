//! Finds reads of what a copy is still writing, in the loop as it is written: tokens are trusted, but such a
//! loop is wrong already.
//!
//! Only what is certain is found: where the bytes are known that both access, in iterations so far apart, and
//! no await between completes the copy.

use super::accesses::{Access, Buffer};
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;

/// A read, and the copy that it doesn't wait for.
pub(super) struct UnawaitedRead<'c> {
    read: Op<'c>,
    copy: Op<'c>,
}

impl<'c> UnawaitedRead<'c> {
    /// Says it.
    pub fn warn(&self) {
        let message = "reads what is still being copied: no wait between completes the copy";
        Diagnostic::warning(self.read, message)
            .note(
                self.copy,
                "the copy; await it before it is read, or with a smaller count",
            )
            .emit();
    }
}

/// The reads of `buffer` that come after the start of a copy and before its end, at most one for each copy. `meet` says whether two
/// accesses, by their numbers, are known to touch the same byte, the second one so many iterations later.
pub(super) fn unawaited_reads<'c>(
    buffer: &Buffer<'c>,
    mut meet: impl FnMut(usize, usize, u32) -> bool,
) -> Vec<UnawaitedRead<'c>> {
    let mut found = Vec::new();
    for (i, copy) in buffer.accesses.iter().enumerate() {
        let Some(end) = copy
            .end
            .filter(|end| copy.writes && (end.later, end.place) > (0, copy.place))
        else {
            continue;
        };
        let mut reads = buffer.accesses.iter().enumerate();
        let unawaited = reads.find(|(j, read)| {
            !read.writes
                && !are_exclusive(copy, read)
                && copy.role.is_none_or(|role| read.conditions.contains(&role))
                && (0..=end.later).any(|later| {
                    (0, copy.place) < (later, read.place)
                        && (later, read.place) < (end.later, end.place)
                        && meet(i, *j, later)
                })
        });
        found.extend(unawaited.map(|(_, read)| UnawaitedRead {
            read: read.op,
            copy: copy.op,
        }));
    }
    found
}

/// Returns true if one of two accesses may be executed only where the other is not.
fn are_exclusive(one: &Access<'_>, other: &Access<'_>) -> bool {
    let mut conditions = one.conditions.iter();
    conditions.any(|&(condition, arm)| other.conditions.contains(&(condition, !arm)))
}
