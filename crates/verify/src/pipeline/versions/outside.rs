//! Accesses outside of the loop to a buffer that its iterations have versions of.

use super::super::Failure;
use super::super::accesses::Spans;
use super::access::{Access, accesses_of};
use super::path::{Guard, Path, runs};
use super::{Checked, cover, may_diverge_in};
use async_locations::footprints::BufferKey;
use async_locations::views::view_source;
use async_mlir::ir::{Op, Value};
use rustc_hash::FxHashSet;

/// The accesses of the function outside of the loop, but for those to versions that other loops have made for themselves.
pub(super) struct Outside<'c> {
    plain: Path<'c>,
    accesses: Vec<Access<'c>>,
    /// Whether the function has several blocks: what is outside may come before and after the loop.
    is_graph: bool,
}

impl<'c> Outside<'c> {
    /// Those to `buffer`.
    pub fn of(around: Op<'c>, buffer: Value<'c>, checked: &Checked<'c>) -> Self {
        let function = around.ancestors().find(|op| op.is_function()).unwrap_or(around);
        let is_outside = |op: &Op<'c>| *op != around && !around.is_ancestor_of(*op);
        let mut spans = None;
        let mut accesses = Vec::new();
        for op in users(function, buffer).into_iter().filter(is_outside) {
            let spans = spans.get_or_insert_with(|| Spans::of(function));
            let own = accesses_of(op, function, spans, checked);
            let is_meant =
                |access: &Access<'c>| BufferKey::of(access.base()) == BufferKey::of(buffer) && !access.is_own;
            accesses.extend(own.into_iter().filter(is_meant));
        }
        Self {
            plain: Path::of(function, around),
            accesses,
            is_graph: function.regions().any(|region| region.blocks().len() > 1),
        }
    }

    /// A write that may come before the loop.
    pub fn write_before(&self) -> Option<Op<'c>> {
        let mut writes = self.accesses.iter().filter(|access| access.writes());
        let first = writes.find(|write| {
            write.path.is_before(&self.plain) || self.is_graph || !self.loops_with(write).is_empty()
        });
        first.map(|write| write.op)
    }

    /// Checks that no read finds what the loop has written.
    pub fn check_reads_after(&self) -> Result<(), Failure<'c>> {
        let mut reads = self.accesses.iter().filter(|access| !access.writes());
        let exposed = reads.find(|read| {
            let is_after =
                self.plain.is_before(&read.path) || self.is_graph || !self.loops_with(read).is_empty();
            is_after && !self.is_covered(read)
        });
        exposed.map_or(Ok(()), |read| {
            let what = "may read what a loop has written before, each iteration of which has a version of the buffer";
            Err(Failure {
                op: read.op,
                what: what.to_owned(),
                first: None,
            })
        })
    }

    fn loops_with(&self, access: &Access<'c>) -> Vec<Op<'c>> {
        self.plain.shared_loops(&access.path)
    }

    /// Returns true if all that `read` reads is written between the loop and it, or before it in the iteration of the loop around both.
    fn is_covered(&self, read: &Access<'c>) -> bool {
        if self.is_graph {
            return false;
        }
        let innermost = self.loops_with(read).pop();
        let is_after = self.plain.is_before(&read.path);
        let writes = self.accesses.iter().filter(|access| access.writes());
        let writes = writes.filter(|write| {
            let holds = |guard: Guard<'c>| match guard {
                Guard::Sure => true,
                Guard::Loop(around) => runs(around),
                Guard::Condition(condition, arm) => read.conditions.contains(&(condition, arm)),
                Guard::Unknown => false,
            };
            write.path.is_before(&read.path)
                && write.path.guards_from(&read.path).all(holds)
                && innermost.is_none_or(|around| write.path.is_in(around))
                && (!is_after || self.plain.is_before(&write.path))
        });
        let writes: Vec<&Access> = writes.collect();
        let is_alike = |write: &&Access<'c>| write.is_alike(read);
        let is_sure = |write: &&Access<'c>| !may_diverge_in(write, read);
        writes.iter().any(is_alike) || cover(read, writes.into_iter().filter(is_sure), |_| false)
    }
}

/// The operations of `function` that use `buffer`, or a view of it.
fn users<'c>(function: Op<'c>, buffer: Value<'c>) -> Vec<Op<'c>> {
    if let BufferKey::Global(_) = BufferKey::of(buffer) {
        return function.self_and_nested();
    }
    let (mut users, mut seen) = (Vec::new(), FxHashSet::default());
    let mut work = vec![buffer];
    while let Some(value) = work.pop() {
        let owners = value.uses().into_iter().map(|used| used.owner);
        for owner in owners.filter(|owner| seen.insert(*owner)) {
            if view_source(owner).is_some() {
                work.extend(owner.results());
            }
            users.push(owner);
        }
    }
    users
}
