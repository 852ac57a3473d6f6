//! Checks that iterations may have versions of a buffer: each reads of it what it has written itself, and nobody else needs what it holds.
//!
//! **In the loop.** Let `r` read the buffer and `w` write it. Where `r` is executed, nothing may be left of what `w` has written in an earlier
//! iteration. That is so if
//!
//! 1. `r` is *covered*: all that it reads is written before it, in the same iteration of all loops around both;
//! 2. they never meet;
//! 3. `w` is covered: all that it may have written in an earlier iteration is written again before `r`;
//! 4. `w` itself is executed again before `r`, if it ever was, and writes to the same bytes: its address, its conditions and the bounds of loops
//!    around it are the same in all iterations. A condition may also be one of `r`, or what it skips is covered where it is false.
//!
//! What comes first is decided in the innermost block that both are in: in a loop around both, `w` in a later iteration of that comes after `r`. So 4
//! asks for the same bytes in all iterations of those loops, too.
//!
//! **Outside of it** (`outside`), no read may find what the loop has written, and what is not covered must not have been written before.
//!
//! Versions that a loop inside has made for itself have been checked when it was ([`Checked`]).

mod access;
mod outside;
mod path;

use super::accesses::Spans;
use super::{Failure, Schedule, Versions};
use access::{Access, accesses_of, is_of_one_thread};
use async_locations::escape::is_captured;
use async_locations::footprints::BufferKey;
use async_locations::memory::{BufferOrigin, buffer_origin};
use async_locations::uniformity::{is_uniform, may_diverge};
use async_locations::views::{chain, view_source};
use async_mlir::gpu::MemorySpace;
use async_mlir::ir::{Op, Value};
use async_mlir::names::scf;
use async_overlap::{LoopId, Symbol};
use outside::Outside;
use path::{Guard, is_same_in_all, runs};
use rustc_hash::{FxHashMap, FxHashSet};

/// The bytes of a function that are versions of buffers, as far as loops with them have been checked.
#[derive(Default)]
pub struct Checked<'c> {
    /// For each, what is no version that a loop has made for itself.
    others: FxHashMap<Value<'c>, FxHashSet<Value<'c>>>,
}

impl<'c> Checked<'c> {
    /// Notes that versions of a buffer have been allocated, in `versions.storage`, for a loop that has been accepted: what
    /// `written`, which is in its place, doesn't make is the buffer as others use it.
    pub(super) fn add(&mut self, versions: &Versions<'c>, written: &[Op<'c>]) {
        self.others.entry(versions.storage).or_insert_with(|| {
            let users = versions.storage.uses().into_iter().map(|used| used.owner);
            let others = users.filter(|op| !written.iter().any(|own| own == op || own.is_ancestor_of(*op)));
            others.flat_map(Op::results).collect()
        });
    }

    /// Returns true if `memory` is a version that a loop has made for itself, or part of one.
    fn is_own(&self, memory: Value<'c>) -> bool {
        let mut views = chain(memory).map(|op| (op.result(0), view_source(op)));
        views.any(|(view, source)| {
            let others = source.and_then(|source| self.others.get(&source));
            others.is_some_and(|others| !others.contains(&view))
        })
    }
}

/// Checks that iterations may have the versions of buffers that `schedule` gives them.
///
/// # Errors
///
/// A read that may find what another iteration has written.
pub(super) fn check<'c>(schedule: &Schedule<'c>, checked: &Checked<'c>) -> Result<(), Failure<'c>> {
    if schedule.versions.is_empty() {
        return Ok(());
    }
    let mut all = Buffers::of(schedule.plain, checked);
    let conditions = schedule.plain.ancestors().take_while(|op| !op.is_function());
    let all_threads = conditions
        .filter(|op| !op.is(scf::FOR))
        .all(|op| !may_diverge(op));
    let mut versioned: Vec<Value> = schedule
        .versions
        .values()
        .map(|versions| versions.storage)
        .collect();
    versioned.sort_by_key(|buffer| all.numbers.get(&BufferKey::of(*buffer)).copied());
    for buffer in versioned {
        let Some(number) = all.numbers.get(&BufferKey::of(buffer)).copied() else {
            continue;
        };
        let accesses = std::mem::take(&mut all.accesses[number]);
        if let Some(access) = accesses.iter().find(|_| !is_local(buffer) || is_captured(buffer)) {
            return failure(
                access,
                None,
                "accesses a buffer that others may access, by another name",
            );
        }
        let outside = Outside::of(schedule.plain, buffer, checked);
        Rules {
            plain: schedule.plain,
            all_threads,
            spans: &mut all.spans,
            accesses: &accesses,
        }
        .check(&outside)?;
        outside.check_reads_after()?;
    }
    Ok(())
}

/// Returns true if it is known which buffer it is, and that other functions don't know where.
fn is_local(buffer: Value<'_>) -> bool {
    match buffer_origin(buffer) {
        BufferOrigin::Allocation | BufferOrigin::Attribution(_) => true,
        BufferOrigin::Global(_) => {
            let space = MemorySpace::of(buffer.ty());
            matches!(space, Some(MemorySpace::Workgroup | MemorySpace::Private))
        }
        _ => false,
    }
}

fn failure<'c, T>(access: &Access<'c>, first: Option<&Access<'c>>, what: &str) -> Result<T, Failure<'c>> {
    Err(Failure {
        op: access.op,
        what: what.to_owned(),
        first: first.map(|first| first.op),
    })
}

/// The accesses of a loop's body, buffer by buffer, in the order in which they are written.
struct Buffers<'c> {
    numbers: FxHashMap<BufferKey<'c>, usize>,
    accesses: Vec<Vec<Access<'c>>>,
    spans: Spans<'c>,
}

impl<'c> Buffers<'c> {
    fn of(around: Op<'c>, checked: &Checked<'c>) -> Self {
        let mut all = Self {
            numbers: FxHashMap::default(),
            accesses: Vec::new(),
            spans: Spans::of(around),
        };
        let nested = around.self_and_nested().into_iter();
        for op in nested.filter(|op| *op != around) {
            for access in accesses_of(op, around, &mut all.spans, checked) {
                let next = all.accesses.len();
                let number = *all.numbers.entry(BufferKey::of(access.base())).or_insert(next);
                if number == next {
                    all.accesses.push(Vec::new());
                }
                all.accesses[number].push(access);
            }
        }
        all
    }
}

/// The accesses of one buffer, and what has to be so of them.
struct Rules<'a, 'c> {
    plain: Op<'c>,
    /// Whether no condition around the loop tells threads apart.
    all_threads: bool,
    spans: &'a mut Spans<'c>,
    accesses: &'a [Access<'c>],
}

impl<'c> Rules<'_, 'c> {
    fn check(&mut self, outside: &Outside<'c>) -> Result<(), Failure<'c>> {
        let accesses = self.accesses;
        // Those that are the same in each iteration, and what comes first in the body of them: rule 4 for most.
        let (same, others): (Vec<&Access>, Vec<&Access>) = accesses
            .iter()
            .filter(|access| access.writes())
            .partition(|write| self.is_same_in_each(write));
        for read in accesses
            .iter()
            .filter(|access| !access.writes() && !access.is_own)
        {
            let before = same.partition_point(|write| {
                let places = write.path.outermost().zip(read.path.outermost());
                places.is_some_and(|(write, read)| write != read && write.is_before_in_block(read))
            });
            let mut covered = None;
            for write in others.iter().chain(&same[before..]) {
                let is_covered = *covered.get_or_insert_with(|| self.is_covered(read, read, &[]));
                if is_covered || self.never_meet(write, read) || self.is_harmless(write, read) {
                    continue;
                }
                let what = "may read what another iteration has written, of a buffer of which each iteration has a version";
                return failure(read, Some(write), what);
            }
            if let Some(write) = outside.write_before()
                && !*covered.get_or_insert_with(|| self.is_covered(read, read, &[]))
            {
                let what = "may read what was written before the loop, of a buffer of which each iteration has a version";
                return Err(Failure {
                    op: read.op,
                    what: what.to_owned(),
                    first: Some(write),
                });
            }
        }
        Ok(())
    }

    /// Returns true if `write` is executed in each iteration or in none, with the same bytes.
    fn is_same_in_each(&self, write: &Access<'c>) -> bool {
        let loops = [self.plain];
        is_same_in_all(write.address.iter().copied(), &loops)
            && write.path.guards().all(|guard| match guard {
                Guard::Sure => true,
                Guard::Loop(around) => is_same_in_all(around.operands().take(3), &loops),
                Guard::Condition(condition, _) => is_same_in_all([condition], &loops),
                Guard::Unknown => false,
            })
    }

    /// Rule 2.
    fn never_meet(&mut self, write: &Access<'c>, read: &Access<'c>) -> bool {
        let is_fixed = |access: &Access<'c>| is_same_in_all(access.address.iter().copied(), &[self.plain]);
        let [write, read] = [write, read].map(|access| (is_fixed(access), (access.op, access.effect)));
        write.0 && read.0 && !self.spans.may_meet(write.1, read.1, 1)
    }

    /// Rules 3 and 4.
    fn is_harmless(&self, write: &Access<'c>, read: &Access<'c>) -> bool {
        let loops = self.loops_around(write, read);
        let mut always = write.conditions.clone();
        always.retain(|(condition, _)| is_same_in_all([*condition], &loops));
        // In the other arm of a condition that is always the same, it is never executed.
        let is_never = |&(condition, arm): &(Value<'c>, bool)| {
            read.conditions.contains(&(condition, !arm))
                && (is_uniform(condition) || is_of_one_thread(write, read))
        };
        always.iter().any(is_never)
            || self.is_covered(write, read, &always)
            || self.is_executed_again(write, read, &loops)
    }

    /// The loop, and those in it that are around both accesses.
    fn loops_around(&self, one: &Access<'c>, other: &Access<'c>) -> Vec<Op<'c>> {
        let shared = one.path.shared_loops(&other.path);
        std::iter::once(self.plain).chain(shared).collect()
    }

    /// Rule 4.
    fn is_executed_again(&self, write: &Access<'c>, read: &Access<'c>, loops: &[Op<'c>]) -> bool {
        if !write.path.is_before(&read.path) || !is_same_in_all(write.address.iter().copied(), loops) {
            return false;
        }
        let mut guards = write.path.guards_from(&read.path);
        guards.all(|guard| match guard {
            Guard::Sure => true,
            Guard::Loop(around) => is_same_in_all(around.operands().take(3), loops),
            Guard::Condition(condition, arm) => {
                let is_of_read = || {
                    read.conditions.contains(&(condition, arm))
                        && (is_uniform(condition) || is_of_one_thread(write, read))
                };
                is_same_in_all([condition], loops)
                    || is_of_read()
                    || self.is_covered(write, read, &[(condition, !arm)])
            }
            Guard::Unknown => false,
        })
    }

    /// Returns true if all that `what` accesses is written before `read`, wherever that is executed and `assumed` conditions hold; `what` is the read
    /// itself, or a write in an earlier iteration.
    fn is_covered(&self, what: &Access<'c>, read: &Access<'c>, assumed: &[(Value<'c>, bool)]) -> bool {
        let is_read = std::ptr::eq(what, read);
        let mut writes = Vec::new();
        for write in self.accesses.iter().filter(|access| access.writes()) {
            if !write.path.is_before(&read.path) {
                continue;
            }
            let holds = |guard: Guard<'c>| match guard {
                Guard::Sure => true,
                Guard::Loop(around) => runs(around),
                Guard::Condition(condition, arm) => {
                    assumed.contains(&(condition, arm)) || read.conditions.contains(&(condition, arm))
                }
                Guard::Unknown => false,
            };
            if !write.path.guards_from(&read.path).all(holds) {
                continue;
            }
            let mut loops = self.loops_around(write, read);
            loops.extend(what.path.shared_loops(&read.path));
            let is_same = || is_same_in_all(what.address.iter().copied(), &loops);
            if write.is_alike(what) && (is_read || is_same()) {
                return true;
            }
            // What all threads write together takes all of them.
            let is_together =
                !loops.iter().any(|around| may_diverge(*around)) && !may_diverge_in(write, read);
            if self.all_threads && is_together || is_of_one_thread(write, what) {
                writes.push(write);
            }
        }
        // In the same iteration of the same loops, the same symbols are the same numbers.
        let is_shared =
            |around: &Op<'c>, write: &Access<'c>| write.path.is_in(*around) && read.path.is_in(*around);
        cover(what, writes.into_iter(), |(write, symbol)| match symbol {
            Symbol::Value(..) | Symbol::Iteration(LoopId(0)) => is_read,
            Symbol::Iteration(number) => {
                let around = self.spans.loops.get(number.0);
                is_read && around.is_some_and(|around| is_shared(around, write))
            }
            _ => false,
        })
    }
}

/// Returns true if `writes` are sure to be of all that `what` accesses, if symbols are the same number for both where `is_same` says so.
fn cover<'a, 'c: 'a>(
    what: &Access<'c>,
    writes: impl Iterator<Item = &'a Access<'c>>,
    is_same: impl Fn((&Access<'c>, &Symbol)) -> bool,
) -> bool {
    let Some((wanted, bytes)) = what
        .footprint
        .as_ref()
        .and_then(|own| Some((own, own.bytes.as_ref()?)))
    else {
        return false;
    };
    let ranges = writes.filter_map(|write| {
        let own = write.footprint.as_ref().filter(|own| own.certain)?;
        let mut symbols = own.offset.terms.iter().map(|(_, symbol)| symbol);
        let is_known =
            own.offset.terms == wanted.offset.terms && symbols.all(|symbol| is_same((write, symbol)));
        Some((own.bytes.as_deref()?, own.offset.constant)).filter(|_| is_known)
    });
    bytes.is_covered(wanted.offset.constant, ranges)
}

/// Returns true unless all threads are known to execute `write` where one executes `read`, as far as their conditions go.
fn may_diverge_in(write: &Access<'_>, read: &Access<'_>) -> bool {
    let mut conditions = write.conditions.iter().chain(&read.conditions);
    conditions.any(|(condition, _)| !is_uniform(*condition))
}
