//! Represents which bytes of a buffer each thread of a block accesses.

use crate::loops::BufferId;
use crate::offset::Offset;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// What an access touches.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// The buffer.
    pub buffer: BufferId,
    /// The bytes of each thread, before `offset` is added; `None` if it may be any of the buffer's.
    pub bytes: Option<Rc<ThreadBytes>>,
    /// What is added, the same number for all threads.
    pub offset: Offset,
    /// Larger sets of bytes, of which other things are known: what each thread touches is in all of them.
    pub within: Vec<(Rc<ThreadBytes>, Offset)>,
    /// True if each thread is sure to touch its bytes wherever the step is executed.
    pub certain: bool,
}

impl Footprint {
    /// All sets of bytes that what each thread touches is in, with what is added to them.
    pub fn sets(&self) -> impl Iterator<Item = (Option<&Rc<ThreadBytes>>, &Offset)> {
        let within = self.within.iter().map(|(bytes, offset)| (Some(bytes), offset));
        std::iter::once((self.bytes.as_ref(), &self.offset)).chain(within)
    }
}

/// Ranges of bytes, each accessed by one thread or by several together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadBytes {
    /// The ranges, with the thread; `None` for what threads do together, as a warp does when it loads a matrix. Then nothing
    /// is known of which thread it is.
    ranges: Vec<(Range<i64>, Option<u32>)>,
    /// The same, cut where ranges begin and end: where each piece begins, and who accesses it.
    pieces: Vec<(i64, Owner)>,
}

/// Who accesses a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Nobody,
    Thread(u32),
    Several,
}

impl Owner {
    /// Returns true if it may be another thread than `thread`.
    fn may_differ_from(self, thread: Option<u32>) -> bool {
        match self {
            Self::Nobody => false,
            Self::Thread(owner) => thread != Some(owner),
            Self::Several => true,
        }
    }
}

impl ThreadBytes {
    /// What threads access.
    #[must_use]
    pub fn new(mut ranges: Vec<(Range<i64>, Option<u32>)>) -> Self {
        ranges.retain(|(range, _)| !range.is_empty());
        ranges.sort_unstable_by_key(|(range, thread)| (range.start, range.end, *thread));
        ranges.dedup();
        let pieces = pieces(&ranges);
        Self { ranges, pieces }
    }

    /// From the first byte to after the last.
    #[must_use]
    pub fn bounds(&self) -> Range<i64> {
        let start = self.ranges.first().map_or(0, |(range, _)| range.start);
        let end = self.ranges.iter().map(|(range, _)| range.end).max();
        start..end.unwrap_or(start)
    }

    /// Returns true if all bytes that are touched, `start` further on, are among those of `others`, each with where it starts.
    #[must_use]
    pub fn is_covered<'t>(&self, start: i64, others: impl IntoIterator<Item = (&'t Self, i64)>) -> bool {
        let others = others.into_iter();
        let shifted = others.flat_map(|(other, start)| {
            let ranges = other.ranges.iter();
            ranges.map(move |(range, _)| (range.start.saturating_add(start), range.end.saturating_add(start)))
        });
        let mut ranges: Vec<(i64, i64)> = shifted.collect();
        ranges.sort_unstable();
        // What is covered without a gap.
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (from, to) in ranges {
            match joined.last_mut().filter(|(_, end)| *end >= from) {
                Some((_, end)) => *end = (*end).max(to),
                None => joined.push((from, to)),
            }
        }
        self.ranges.iter().all(|(range, _)| {
            let (from, to) = (range.start.saturating_add(start), range.end.saturating_add(start));
            let before = joined.partition_point(|(begin, _)| *begin <= from);
            before > 0 && joined[before - 1].1 >= to
        })
    }

    /// Returns true if two different threads touch the same byte, one as `self` says and one as `other` does, whose bytes are
    /// `shift` further on.
    #[must_use]
    pub fn overlaps_across_threads(&self, other: &Self, shift: i64) -> bool {
        self.any_common(other, shift, Owner::may_differ_from)
    }

    /// Returns true if a byte is touched as `self` says, and as `other` does, whose bytes are `shift` further on.
    #[must_use]
    pub fn overlaps(&self, other: &Self, shift: i64) -> bool {
        self.any_common(other, shift, |owner, _| owner != Owner::Nobody)
    }

    /// Returns true if `wanted` is true of the threads of a byte that both touch: those of the one, and one of the other.
    fn any_common(&self, other: &Self, shift: i64, wanted: impl Fn(Owner, Option<u32>) -> bool) -> bool {
        let (few, many, shift) = if self.ranges.len() < other.ranges.len() {
            (self, other, -shift)
        } else {
            (other, self, shift)
        };
        few.ranges.iter().any(|(range, thread)| {
            let (Some(start), Some(end)) = (range.start.checked_add(shift), range.end.checked_add(shift))
            else {
                return false;
            };
            let first = many.pieces.partition_point(|(begin, _)| *begin <= start);
            let pieces = many.pieces[first.saturating_sub(1)..].iter();
            let mut pieces = pieces.take_while(|(begin, _)| *begin < end);
            pieces.any(|(begin, owner)| (*begin >= start || first > 0) && wanted(*owner, *thread))
        })
    }
}

/// Cuts ranges where others begin and end.
fn pieces(ranges: &[(Range<i64>, Option<u32>)]) -> Vec<(i64, Owner)> {
    // At each end of a range: which threads begin to access, and which stop.
    let mut changes: BTreeMap<i64, Vec<(Option<u32>, bool)>> = BTreeMap::new();
    for (range, thread) in ranges {
        changes.entry(range.start).or_default().push((*thread, true));
        changes.entry(range.end).or_default().push((*thread, false));
    }
    let mut active: BTreeMap<Option<u32>, u32> = BTreeMap::new();
    let mut pieces: Vec<(i64, Owner)> = Vec::new();
    for (at, changed) in changes {
        for (thread, begins) in changed {
            let count = active.entry(thread).or_default();
            *count = if begins { *count + 1 } else { *count - 1 };
            if *count == 0 {
                active.remove(&thread);
            }
        }
        let mut owners = active.keys();
        let owner = match (owners.next(), owners.next()) {
            (None, _) => Owner::Nobody,
            (Some(Some(thread)), None) => Owner::Thread(*thread),
            _ => Owner::Several,
        };
        if pieces.last().is_none_or(|(_, last)| *last != owner) {
            pieces.push((at, owner));
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges() -> impl Strategy<Value = Vec<(Range<i64>, Option<u32>)>> {
        let range = (0..20_i64, 0..6_i64, prop::option::weighted(0.9, 0..3_u32));
        prop::collection::vec(range, 0..6).prop_map(|ranges| {
            let ranges = ranges.into_iter();
            ranges
                .map(|(start, bytes, thread)| (start..start + bytes, thread))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn threads_meet_where_two_of_them_touch_a_byte(a in ranges(), b in ranges(), shift in -25..25_i64) {
            let touch = a.iter().any(|(x, t)| {
                b.iter().any(|(y, u)| {
                    let differ = t.is_none() || u.is_none() || t != u;
                    differ && x.clone().any(|byte| y.contains(&(byte - shift)))
                })
            });
            let (a, b) = (ThreadBytes::new(a), ThreadBytes::new(b));
            prop_assert_eq!(a.overlaps_across_threads(&b, shift), touch);
            prop_assert_eq!(b.overlaps_across_threads(&a, -shift), touch);
        }

        #[test]
        fn ranges_overlap_where_they_have_a_byte_in_common(a in ranges(), b in ranges(), shift in -25..25_i64) {
            let common = a.iter().any(|(x, _)| {
                b.iter().any(|(y, _)| x.clone().any(|byte| y.contains(&(byte - shift))))
            });
            let (a, b) = (ThreadBytes::new(a), ThreadBytes::new(b));
            prop_assert_eq!(a.overlaps(&b, shift), common);
            prop_assert_eq!(b.overlaps(&a, -shift), common);
        }
    }
}
