//! Sets of points in time, as sorted, disjoint ranges.

use std::ops::Range;

/// Of more ranges than these, the earliest become one: to know less is to be safe, and keeps a walk linear.
const MOST_RANGES: usize = 16;

/// A set of points in time, as ranges that are sorted and don't touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TimeSet(Vec<Range<usize>>);

impl TimeSet {
    /// All from `start` on.
    pub(super) fn from(start: usize) -> Self {
        Self(std::iter::once(start..usize::MAX).collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Range<usize>> {
        self.0.iter()
    }

    /// Keeps what is in `other`, too.
    pub(super) fn intersect(&mut self, other: &Self) {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut both = Vec::with_capacity(self.0.len());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            let range = x.start.max(y.start)..x.end.min(y.end);
            let is_x_over = x.end <= y.end;
            if !range.is_empty() {
                both.push(range);
            }
            if is_x_over {
                a.next();
            } else {
                b.next();
            }
        }
        self.0 = both;
    }

    /// Adds what is in `other`, and what lies between ranges if there are too many.
    pub(super) fn unite(&mut self, other: &Self) {
        if self == other {
            return;
        }
        let mut all: Vec<_> = self.0.iter().chain(&other.0).cloned().collect();
        all.sort_unstable_by_key(|range| range.start);
        self.0.clear();
        let start = all.first().map_or(0, |first| first.start);
        for range in all {
            match self.0.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => self.0.push(range),
            }
        }
        if let Some(surplus) = self.0.len().checked_sub(MOST_RANGES) {
            let end = self.0[surplus].end;
            self.0.drain(..surplus);
            self.0[0] = start..end;
        }
    }

    /// Takes `range` out.
    pub(super) fn remove(&mut self, range: &Range<usize>) {
        if range.is_empty() || !self.0.iter().any(|r| r.start < range.end && range.start < r.end) {
            return;
        }
        let parts = self.0.iter().flat_map(|r| {
            let before = r.start..r.end.min(range.start);
            let after = r.start.max(range.end)..r.end;
            [before, after]
        });
        self.0 = parts.filter(|r| !r.is_empty()).collect();
    }

    /// Returns true if one of `points`, which are sorted, is in the set.
    pub(super) fn has_one_of(&self, points: &[usize]) -> bool {
        self.0.iter().any(|range| {
            let next = points.partition_point(|&point| point < range.start);
            points.get(next).is_some_and(|point| range.contains(point))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_agree_with_sets_of_numbers() {
        let sets: Vec<Vec<Range<usize>>> = (0..64_usize)
            .map(|bits| (0..6).filter(|i| bits >> i & 1 == 1).map(|i| i..i + 1).collect())
            .collect();
        let build = |ranges: &[Range<usize>]| {
            let mut set = TimeSet::default();
            for range in ranges {
                set.unite(&TimeSet(Vec::from([range.clone()])));
            }
            set
        };
        let members = |set: &TimeSet| set.iter().flat_map(Clone::clone).collect::<Vec<_>>();
        for a in &sets {
            for b in &sets {
                let (x, y) = (build(a), build(b));
                let mut both = x.clone();
                both.intersect(&y);
                let expected: Vec<_> = members(&x)
                    .into_iter()
                    .filter(|m| members(&y).contains(m))
                    .collect();
                assert_eq!(members(&both), expected);
                let mut rest = x.clone();
                for range in b {
                    rest.remove(range);
                }
                let expected: Vec<_> = members(&x)
                    .into_iter()
                    .filter(|m| !members(&y).contains(m))
                    .collect();
                assert_eq!(members(&rest), expected);
                assert_eq!(x.has_one_of(&members(&y)), !members(&both).is_empty());
            }
        }
    }
}
