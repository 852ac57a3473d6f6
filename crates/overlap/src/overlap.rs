//! Decides whether different threads may touch the same byte with two accesses, at a given iteration distance.

use crate::distance::Distance;
use crate::footprint::{Footprint, ThreadBytes};
use crate::loops::Loops;
use crate::offset::{Offset, OffsetPair};
use crate::value_set::ValueSet;
use std::rc::Rc;

/// Whether different threads may touch the same byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conflict {
    /// They don't.
    None,
    /// That hinges on values of which nothing is known.
    Unknown,
    /// They may, as far as is known.
    Possible,
    /// They do.
    Certain,
}

/// So many shifts are tried before it is taken for granted that one of them lets threads meet.
const MAX_SHIFTS: u64 = 4096;

/// Returns true if different threads may touch the same byte, one as `from` says and one as `to` does, at any two steps whatever.
#[must_use]
pub fn may_overlap_anywhere(loops: &Loops, from: &Footprint, to: &Footprint) -> bool {
    overlap(loops, Distance::none(0), from, to) != Conflict::None
}

/// Whether different threads may touch the same byte, one as `from` says and one as `to` does, `distance` later. Conservative: what is
/// not known may be anything.
#[must_use]
pub fn overlap(loops: &Loops, distance: Distance, from: &Footprint, to: &Footprint) -> Conflict {
    if from.buffer != to.buffer {
        return Conflict::None;
    }
    let pair = &OffsetPair { loops, distance };
    // What each thread touches is in several sets: it takes but two that don't meet to tell accesses apart.
    let certain = from.certain && to.certain;
    let mut pairs = from.sets().flat_map(|x| to.sets().map(move |y| (x, y)));
    let best = pairs.next().map(|(x, y)| sets_overlap(pair, x, y, certain));
    match best {
        None | Some(Conflict::None) => Conflict::None,
        Some(conflict) => {
            let apart = pairs.any(|(x, y)| sets_overlap(pair, x, y, false) == Conflict::None);
            if apart { Conflict::None } else { conflict }
        }
    }
}

/// A set of bytes, with what is added to them.
type Set<'f> = (Option<&'f Rc<ThreadBytes>>, &'f Offset);

/// Whether different threads may touch the same byte of two sets; they do if the sets are `certain` to be touched.
fn sets_overlap(pair: &OffsetPair, (x, from): Set, (y, to): Set, certain: bool) -> Conflict {
    let (Some(x), Some(y)) = (x, y) else {
        return Conflict::Possible;
    };
    let ValueSet {
        values,
        stride,
        range,
        unknown,
    } = pair.difference(from, to);
    let meets = |value: &i64| {
        if stride == 0 {
            x.overlaps_across_threads(y, *value)
        } else {
            overlaps_at_any(x, y, *value, stride, range)
        }
    };
    // Of several differences that are possible, it is not known which one it is.
    let certain = certain && stride == 0;
    match values.iter().filter(|value| meets(value)).count() {
        0 => Conflict::None,
        _ if unknown => Conflict::Unknown,
        n if certain && n == values.len() => Conflict::Certain,
        _ => Conflict::Possible,
    }
}

/// Returns true if threads meet where `y` is shifted by `value` and a multiple of `stride` in `range`.
fn overlaps_at_any(x: &ThreadBytes, y: &ThreadBytes, value: i64, stride: u64, range: (i64, i64)) -> bool {
    let (a, b) = (x.bounds(), y.bounds());
    if a.is_empty() || b.is_empty() {
        return false;
    }
    let Ok(stride) = i64::try_from(stride) else {
        return true;
    };
    // Ranges overlap if the shift is more than `low` and less than `high`.
    let low = a
        .start
        .saturating_sub(b.end)
        .saturating_sub(value)
        .saturating_add(1)
        .max(range.0);
    let high = a
        .end
        .saturating_sub(b.start)
        .saturating_sub(value)
        .saturating_sub(1)
        .min(range.1);
    let first = low.div_euclid(stride) + i64::from(low.rem_euclid(stride) > 0);
    let last = high.div_euclid(stride);
    if last >= first && last.abs_diff(first) > MAX_SHIFTS {
        return true;
    }
    (first..=last).any(|n| x.overlaps_across_threads(y, value.wrapping_add(stride.wrapping_mul(n))))
}
