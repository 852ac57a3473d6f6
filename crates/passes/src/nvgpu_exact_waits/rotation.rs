//! Compares rows of a buffer that take turns: in a loop that copies some iterations ahead, which rows may still be written after a wait.
//!
//! Notation: the wait stands in iteration *i* of a loop, with a count of *n*. A copy that was issued *d* iterations before, or before the loop,
//! may be in flight after the wait if at most *n* groups were closed since, its own among them. Each iteration closes as many as stand
//! in the body, at least. So there are few such *d*, and for each the rows are compared.
//!
//! The loop is executed once: it is in no other one. Otherwise nothing is known.

use super::rows::{Counted, Rows};
use crate::analysis::buffer_slices::{BufferSlice, FirstIndex, base_and_first_index};
use crate::analysis::buffer_slots::BufferSlot;
use crate::analysis::integers;
use crate::analysis::memory::{self, Effects};
use async_dialects::completion::Completion;
use async_mlir::ir::{Block, Definition, Op, Value};
use async_mlir::names::{nvgpu, scf};
use rustc_hash::FxHashMap;
use std::iter::successors;

/// How many iterations are looked at, at most.
const MOST_ITERATIONS: u64 = 1 << 12;

/// Which row of which buffer an operation accesses.
struct Row<'c> {
    slice: BufferSlice<'c>,
    slot: Option<BufferSlot<'c>>,
    /// The index, if it is no constant.
    index: Option<Value<'c>>,
}

impl<'c> Row<'c> {
    /// Of the access of `op` to `memory`, an operand.
    fn of(op: Op<'c>, memory: Value<'c>) -> Self {
        let index = match base_and_first_index(op, memory).1 {
            Some(FirstIndex::Value(index)) => Some(index),
            _ => None,
        };
        Self {
            slice: BufferSlice::of_operand(op, memory),
            slot: BufferSlot::of_operand(op, memory),
            index,
        }
    }
}

/// A wait in a loop, or after one, which is as if another iteration began there.
pub(super) struct Rotation<'c> {
    around: Op<'c>,
    body: Block<'c>,
    step: i64,
    /// The loop, if its first iteration is a constant.
    counted: Option<Counted<'c>>,
    wait: Op<'c>,
    /// True if the wait stands in the body.
    is_inside: bool,
    /// The count.
    pending: u64,
    /// Groups that an iteration closes, at least, and those of them before the wait.
    commits: u64,
    commits_before: u64,
    /// How many are closed before each operation of the body, or of the block of the loop, there.
    closed_before: FxHashMap<Op<'c>, u64>,
}

impl<'c> Rotation<'c> {
    /// Of `wait`, which leaves so many groups in flight; `None` if there is no loop of which enough is known.
    pub fn new(wait: Op<'c>, pending: u8) -> Option<Self> {
        let inside = wait.parent().filter(|op| op.is(scf::FOR));
        let before = || successors(wait.prev(), |op| op.prev()).find(|op| op.is(scf::FOR));
        let around = inside.or_else(before)?;
        let body = around.region(0).first()?;
        let mut closed_before = FxHashMap::default();
        count_commits(around.block()?, &mut closed_before);
        let commits = count_commits(body, &mut closed_before);
        let [at_wait, at_loop] = [wait, around].map(|op| closed_before.get(&op).copied().unwrap_or(0));
        let commits_before = if inside.is_some() {
            at_wait
        } else {
            at_wait - at_loop
        };
        (is_executed_once(around) && commits > 0).then_some(())?;
        let [lower, step] = [0, 2].map(|i| integers::constant(around.operand(i)));
        let step = step?;
        Some(Self {
            around,
            body,
            step,
            counted: lower.map(|lower| Counted {
                around,
                body,
                lower,
                step,
            }),
            wait,
            is_inside: inside.is_some(),
            pending: pending.into(),
            commits,
            commits_before,
            closed_before,
        })
    }

    /// Returns true if `op`, which comes after the wait, accesses nothing that `copy` may be writing by then, before the wait comes again.
    pub fn keeps_apart(&self, copy: Op<'c>, op: Op<'c>) -> bool {
        // What comes before the wait is of the next iteration.
        let place = in_block(
            op,
            if self.is_inside {
                Some(self.body)
            } else {
                self.wait.block()
            },
        );
        let (Some(place), Some(memory)) = (place, Completion::of(copy).and_then(|copy| copy.destination))
        else {
            return false;
        };
        let later = u64::from(place.is_before_in_block(self.wait));
        if later > 0 && !self.is_inside {
            return false;
        }
        let written = Row::of(copy, memory);
        let Effects::Known(effects) = memory::effects(op) else {
            return false;
        };
        let reads = effects
            .iter()
            .filter(|effect| effect.access != memory::Access::AsyncWrite);
        let mut accesses = reads.map(|effect| Row::of(op, effect.memory));
        accesses.all(|row| {
            !row.slice.may_alias(written.slice)
                || row.slice.base() == written.slice.base() && self.rows_differ(copy, &written, &row, later)
        })
    }

    /// The rows of an access after the wait, by the iteration that this stands in.
    fn accessed_rows(&self, row: &Row<'c>) -> Option<Rows> {
        let index = row.index?;
        let index = if self.is_inside {
            index
        } else {
            // What the loop has carried by its end.
            match index.definition() {
                Definition::Result(op, place) if op == self.around => self.body.arg(place + 1),
                _ => return None,
            }
        };
        Rows::of(index, self.counted?)
    }

    /// Returns true if `row`, in the iteration of the wait or so many later, differs from all rows that `copy` may be writing.
    fn rows_differ(&self, copy: Op<'c>, written: &Row<'c>, row: &Row<'c>, later: u64) -> bool {
        let Some(place) = in_block(copy, Some(self.body)) else {
            let (Some(constant), Some(iterations), Some(rows)) = (
                written.slice.constant_index(),
                self.first_iterations(copy),
                self.accessed_rows(row),
            ) else {
                return false;
            };
            let mut found = iterations.map(|iteration| rows.row(iteration + later));
            return found.all(|row| row.is_some_and(|row| row != constant));
        };
        let steps = |iterations: u64| i64::try_from(iterations).ok()?.checked_mul(self.step);
        let slots_differ = |a: BufferSlot<'c>, b: BufferSlot<'c>| {
            self.distances(place).all(|distance| {
                let by = steps(distance + later);
                by.is_some_and(|by| a.differs_after(b, self.body.arg(0), by))
            })
        };
        let slots = row.slot.zip(written.slot).filter(|_| self.is_inside);
        if slots.is_some_and(|(a, b)| slots_differ(a, b)) {
            return true;
        }
        let written = written.index.and_then(|index| Rows::of(index, self.counted?));
        let Some((accessed, written)) = self.accessed_rows(row).zip(written) else {
            return false;
        };
        let all = accessed.period().checked_mul(written.period());
        let all = all.filter(|all| *all <= MOST_ITERATIONS);
        all.is_some_and(|all| {
            self.distances(place).all(|distance| {
                let mut iterations = distance..=distance + all;
                iterations.all(|iteration| {
                    let pair = accessed
                        .row(iteration + later)
                        .zip(written.row(iteration - distance));
                    pair.is_some_and(|(a, b)| a != b)
                })
            })
        })
    }

    /// How many iterations before that of the wait a copy in the body may have been issued that is in flight after it.
    fn distances(&self, copy: Op<'c>) -> impl Iterator<Item = u64> + use<'c> {
        let (at_copy, before) = (self.closed_before(copy), self.commits_before);
        let (first, closed) = if self.is_inside && copy.is_before_in_block(self.wait) {
            (0, before - at_copy)
        } else {
            (1, self.commits - at_copy + before)
        };
        let (commits, pending) = (self.commits, self.pending);
        // Of a group that is not closed, no wait completes anything.
        let distances =
            (first..).take_while(move |distance| closed + (distance - first) * commits <= pending);
        distances.skip_while(move |distance| closed + (distance - first) * commits == 0)
    }

    /// The iterations in which a copy before the loop may be in flight after the wait; `None` if it is elsewhere.
    fn first_iterations(&self, copy: Op<'c>) -> Option<impl Iterator<Item = u64> + use<'c>> {
        let place = in_block(copy, self.around.block())?;
        let is_before = place.is_before_in_block(self.around);
        let closed = is_before.then(|| self.closed_before(self.around) - self.closed_before(place))?;
        let (commits, pending, before) = (self.commits, self.pending, self.commits_before);
        Some((0..).take_while(move |iteration| closed + iteration * commits + before <= pending))
    }

    fn closed_before(&self, op: Op<'c>) -> u64 {
        self.closed_before.get(&op).copied().unwrap_or(0)
    }
}

/// Returns true if `op` is executed once each time that its function is called, or not at all.
fn is_executed_once(op: Op<'_>) -> bool {
    for around in op.ancestors() {
        if around.is_function() {
            return around.regions().all(|region| region.blocks().len() == 1);
        }
        if !around.is(scf::IF) {
            return false;
        }
    }
    false
}

/// The operation of `block` that `op` is, or is in.
fn in_block<'c>(op: Op<'c>, block: Option<Block<'c>>) -> Option<Op<'c>> {
    let mut around = std::iter::once(op).chain(op.ancestors());
    around.find(|op| op.block() == block)
}

/// Counts the groups that `block` itself closes, before each operation; returns how many these are.
fn count_commits<'c>(block: Block<'c>, before: &mut FxHashMap<Op<'c>, u64>) -> u64 {
    let mut closed = 0;
    for op in block.ops() {
        before.insert(op, closed);
        closed += u64::from(op.is(nvgpu::DEVICE_ASYNC_CREATE_GROUP));
    }
    closed
}
