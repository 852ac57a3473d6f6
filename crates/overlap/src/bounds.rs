//! The bytes that an access may touch in any iteration.

use crate::footprint::{Footprint, ThreadBytes};
use crate::loops::Loops;
use crate::offset::{Offset, Symbol};
use std::ops::Range;

/// The bytes that an access may touch, in whatever iteration; `None` if there are none.
#[must_use]
pub fn bounds(loops: &Loops, footprint: &Footprint) -> Option<Range<i64>> {
    let mut all = i64::MIN..i64::MAX;
    for (bytes, offset) in footprint.sets() {
        let Some(bytes) = bytes else { continue };
        let range = bounds_of_set(loops, bytes, offset)?;
        all = all.start.max(range.start)..all.end.min(range.end);
    }
    (all.start < all.end).then_some(all)
}

/// The same, of one set of bytes.
fn bounds_of_set(loops: &Loops, bytes: &ThreadBytes, offset: &Offset) -> Option<Range<i64>> {
    let Range { mut start, mut end } = bytes.bounds();
    if start == end {
        return None;
    }
    start = start.saturating_add(offset.constant);
    end = end.saturating_add(offset.constant);
    for (coefficient, symbol) in &offset.terms {
        let (least, most) = match symbol {
            Symbol::Iteration(of) => {
                let trips = loops[*of].max_trips;
                let last = trips.map(|trips| i64::try_from(trips.saturating_sub(1)).unwrap_or(i64::MAX));
                (0, last.unwrap_or(i64::MAX))
            }
            Symbol::Periodic { values, .. } | Symbol::Lookup { values, .. } => {
                (values.iter().copied().min()?, values.iter().copied().max()?)
            }
            Symbol::Rotation { modulus, .. } | Symbol::Remainder { modulus, .. } => (0, modulus - 1),
            Symbol::Value(..) => (i64::MIN, i64::MAX),
        };
        let (a, b) = (
            least.saturating_mul(*coefficient),
            most.saturating_mul(*coefficient),
        );
        start = start.saturating_add(a.min(b));
        end = end.saturating_add(a.max(b));
    }
    Some(start..end)
}
