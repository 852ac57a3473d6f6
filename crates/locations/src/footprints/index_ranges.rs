//! Over-approximates accesses at indices that are not known by the ranges of those indices.
//!
//! An index is in bounds, so whatever it is, it is one of its dimension's. What is known of the other indices
//! of the same access, such as its slot, holds all the same. So an access has a larger set of bytes beside
//! what is known of all of its indices together: the one where some may be any of their dimension's, or of a
//! smaller range that is known.

use super::extent::{Extent, extent, span};
use super::{Footprints, Mask};
use crate::thread_values::ThreadValue;
use async_mlir::ir::{Op, Value};
use async_overlap::{BufferId, LoopId, Offset, Symbol, ThreadBytes};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Which indices are taken to be any of their dimension's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RangedIndices {
    None,
    /// Those that are not known, or hinge on values of which nothing is known.
    Unknown,
    /// Those that change with the iteration of a loop, too: where that ends may not be known.
    Iterating,
}

/// How the indices of one access are taken.
pub(super) struct IndexRanges {
    indices: RangedIndices,
    /// Of each index that is any of its dimension's: how many it may be, and how many bytes one more adds.
    pub any_of: Vec<(i64, i64)>,
}

/// So many ranges of bytes are told apart in one thread, and in all of them.
const MAX_RANGES: usize = 256;
const MAX_ALL_RANGES: usize = 1 << 16;

impl IndexRanges {
    pub fn new(indices: RangedIndices) -> Self {
        Self {
            indices,
            any_of: Vec::new(),
        }
    }
}

impl<'c> Footprints<'c> {
    /// `sum` and what `index` adds to it, of which one more adds so many `bytes`, and which is one of `count`, as far as that is
    /// known.
    pub(super) fn with_index(
        &mut self,
        sum: &ThreadValue,
        (index, value): (Option<ThreadValue>, Option<Value<'c>>),
        (bytes, count): (Option<i64>, Option<i64>),
        ranges: &mut IndexRanges,
    ) -> Option<ThreadValue> {
        let is_kept = |index: &ThreadValue| is_kept(&self.divergent_loops, index, ranges.indices);
        let Some(index) = index.filter(is_kept) else {
            if ranges.indices == RangedIndices::None {
                return None;
            }
            let partially_known = value.and_then(|value| self.values.partially_known(value, &is_kept));
            // If it may be any number anyway, what is known of it is of no use.
            let numbers = |any_of: &[(i64, i64)]| {
                let further = any_of
                    .iter()
                    .map(|(count, factor)| (count - 1).saturating_mul(factor.saturating_abs()));
                further.fold(1, i64::saturating_add)
            };
            let smaller =
                partially_known.filter(|part| count.is_none_or(|count| numbers(&part.any_of) < count));
            let Some(part) = smaller else {
                ranges.any_of.push((count?, bytes?));
                return Some(sum.clone());
            };
            for (count, factor) in part.any_of {
                ranges.any_of.push((count, factor.checked_mul(bytes?)?));
            }
            let term = self.values.scaled(&part.known, bytes?)?;
            return self.values.plus(sum, &term);
        };
        if index.as_constant() == Some(0) {
            return Some(sum.clone());
        }
        let term = self.values.scaled(&index, bytes?)?;
        self.values.plus(sum, &term)
    }

    /// Larger sets of bytes that what `op` touches of `memory` is in.
    pub(super) fn within(
        &mut self,
        op: Op<'c>,
        memory: Value<'c>,
        buffer: BufferId,
        mask: &Mask,
    ) -> Vec<(Rc<ThreadBytes>, Offset)> {
        let mut sets = Vec::new();
        let somewhere = || span(memory).map(Extent::somewhere_in);
        let Some(extent) = extent(op, memory).or_else(somewhere) else {
            return sets;
        };
        let mut last = Vec::new();
        for indices in [RangedIndices::Unknown, RangedIndices::Iterating] {
            let mut index_ranges = IndexRanges::new(indices);
            let Some(at) = self.place(op, memory, &extent, &mut index_ranges) else {
                continue;
            };
            if index_ranges.any_of != last {
                sets.extend(self.anywhere_in(op, memory, (at, &extent, &index_ranges), buffer, mask));
                last = index_ranges.any_of;
            }
        }
        sets
    }

    /// The bytes of each thread from `at` on, wherever the indices are that may be any; `None` if those are all of the buffer.
    fn anywhere_in(
        &mut self,
        op: Op<'c>,
        memory: Value<'c>,
        (at, extent, index_ranges): (ThreadValue, &Extent, &IndexRanges),
        buffer: BufferId,
        mask: &Mask,
    ) -> Option<(Rc<ThreadBytes>, Offset)> {
        let threads = self
            .values
            .num_threads()
            .map_or(2, |threads| threads.max(1) as usize);
        let most = MAX_RANGES.min(MAX_ALL_RANGES / threads);
        let ranges = anywhere(&extent.ranges, &index_ranges.any_of, most)?;
        if let (Some(start), [(first, bytes)]) = (at.as_constant(), ranges.as_slice()) {
            let first = start.checked_add(*first)?;
            let size = i64::try_from(self.buffers[buffer]).unwrap_or(i64::MAX);
            if first <= 0 && first.checked_add(*bytes)? >= size {
                return None;
            }
        }
        let in_bounds = self.in_bounds(op, memory, extent.indices, mask);
        let comes = if in_bounds.is_some() { &in_bounds } else { mask };
        let extent = Extent {
            ranges,
            ..extent.clone()
        };
        let bytes = self.thread_bytes(&at, &extent, comes)?;
        Some((bytes, at.offset))
    }
}

/// Returns true if an index is taken as it is.
fn is_kept(divergent_loops: &FxHashMap<LoopId, Op<'_>>, index: &ThreadValue, indices: RangedIndices) -> bool {
    index.offset.terms.iter().all(|(_, symbol)| match symbol {
        Symbol::Value(..) => indices == RangedIndices::None,
        // One thread may be ahead of another in a divergent loop.
        Symbol::Iteration(of) => {
            indices == RangedIndices::None
                || indices == RangedIndices::Unknown && !divergent_loops.contains_key(of)
        }
        _ => true,
    })
}

/// The bytes of `ranges`, each with where it begins and how many it has, moved by any number of each of `any_of`; more, if
/// they were more than `most` ranges.
fn anywhere(ranges: &[(i64, i64)], any_of: &[(i64, i64)], most: usize) -> Option<Vec<(i64, i64)>> {
    let mut any_of = any_of.to_vec();
    // Rows without a gap become one range.
    any_of.sort_unstable_by_key(|(_, stride)| stride.unsigned_abs());
    let mut ranges = joined(ranges.to_vec())?;
    for (count, stride) in any_of {
        let all = usize::try_from(count).ok()?.checked_mul(ranges.len());
        if all.is_some_and(|all| all <= most) {
            let moved = (0..count).flat_map(|n| {
                ranges
                    .iter()
                    .map(move |(start, bytes)| Some((start.checked_add(stride.checked_mul(n)?)?, *bytes)))
            });
            ranges = joined(moved.collect::<Option<_>>()?)?;
            continue;
        }
        let (Some((start, _)), Some((last, bytes))) = (ranges.first(), ranges.last()) else {
            return Some(ranges);
        };
        let end = last.checked_add(*bytes)?;
        let further = stride.checked_mul(count - 1)?;
        let start = start.checked_add(further.min(0))?;
        let end = end.checked_add(further.max(0))?;
        ranges = vec![(start, end.checked_sub(start)?)];
    }
    Some(ranges)
}

/// Ranges in order, those without a gap between as one.
fn joined(mut ranges: Vec<(i64, i64)>) -> Option<Vec<(i64, i64)>> {
    ranges.sort_unstable();
    let mut all: Vec<(i64, i64)> = Vec::new();
    for (start, bytes) in ranges {
        match all.last_mut() {
            Some((first, length)) if start - *first <= *length => {
                *length = (*length).max(start.checked_sub(*first)?.checked_add(bytes)?);
            }
            _ => all.push((start, bytes)),
        }
    }
    Some(all)
}
