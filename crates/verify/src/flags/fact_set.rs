//! Sets of facts, as ranges. What an engine does not know of another one is mostly what that did since it told something: one range.

use super::code::FactId;

/// A set of facts: ranges that do not meet, in order.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct FactSet(Vec<(FactId, FactId)>);

impl FactSet {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first fact of the set.
    pub fn first(&self) -> Option<FactId> {
        self.0.first().map(|range| range.0)
    }

    pub fn has(&self, fact: FactId) -> bool {
        let after = self.0.partition_point(|range| range.0 <= fact);
        after > 0 && fact < self.0[after - 1].1
    }

    /// The first fact of `list`, which is in order, that is in the set, and that `filter` accepts.
    pub fn find(&self, list: &[FactId], filter: impl Fn(FactId) -> bool) -> Option<FactId> {
        let (Some(first), Some(last)) = (list.first(), list.last()) else {
            return None;
        };
        let from = self.0.partition_point(|range| range.1 <= *first);
        let near = self.0[from..].iter().take_while(|range| range.0 <= *last);
        let mut both = near.flat_map(|&(start, end)| {
            let list = &list[list.partition_point(|fact| *fact < start)..];
            list.iter().copied().take_while(move |fact| *fact < end)
        });
        both.find(|fact| filter(*fact))
    }

    /// Adds the facts from `start` until before `end`.
    pub fn insert(&mut self, start: FactId, end: FactId) {
        if start >= end {
            return;
        }
        // The ranges that meet it, or are next to it.
        let from = self.0.partition_point(|range| range.1 < start);
        let until = from + self.0[from..].partition_point(|range| range.0 <= end);
        let new = if from < until {
            (start.min(self.0[from].0), end.max(self.0[until - 1].1))
        } else {
            (start, end)
        };
        self.0.splice(from..until, [new]);
    }

    /// Leaves what is in `other`, too.
    pub fn retain(&mut self, other: &Self) {
        let (mut both, mut at) = (Vec::new(), 0);
        for &(start, end) in &self.0 {
            while other.0.get(at).is_some_and(|range| range.1 <= start) {
                at += 1;
            }
            let meeting = other.0[at..].iter().take_while(|range| range.0 < end);
            both.extend(meeting.map(|range| (range.0.max(start), range.1.min(end))));
        }
        self.0 = both;
    }

    /// Adds `other`. Returns true if anything was new.
    pub fn unite(&mut self, other: &Self) -> bool {
        if *self == *other || other.is_empty() {
            return false;
        }
        let mut all: Vec<(FactId, FactId)> = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut own, mut others) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let Some(next) = match (own.peek(), others.peek()) {
            (Some(a), Some(b)) if a <= b => own.next(),
            (Some(_), None) => own.next(),
            _ => others.next(),
        } {
            match all.last_mut() {
                Some(last) if next.0 <= last.1 => last.1 = last.1.max(next.1),
                _ => all.push(*next),
            }
        }
        let is_new = all != self.0;
        self.0 = all;
        is_new
    }

    /// The facts of one iteration in the next one: the first of each pair becomes the second. Pairs are in order.
    pub fn age(&mut self, pairs: &[(FactId, FactId)]) {
        let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else {
            return;
        };
        let (mut kept, mut old) = (Vec::new(), Vec::new());
        for &(start, end) in &self.0 {
            let mut from = start;
            if start <= last.0 && first.0 < end {
                let near = &pairs[pairs.partition_point(|pair| pair.0 < start)..];
                for &(new, becomes) in near.iter().take_while(|pair| pair.0 < end) {
                    push(&mut kept, (from, new));
                    from = new + 1;
                    push(&mut old, (becomes, becomes + 1));
                }
            }
            push(&mut kept, (from, end));
        }
        self.0 = kept;
        for (start, end) in old {
            self.insert(start, end);
        }
    }
}

/// Adds a range after others.
fn push(ranges: &mut Vec<(FactId, FactId)>, range: (FactId, FactId)) {
    if range.0 >= range.1 {
        return;
    }
    match ranges.last_mut() {
        Some(last) if last.1 == range.0 => last.1 = range.1,
        _ => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set(facts: &BTreeSet<FactId>) -> FactSet {
        let mut set = FactSet::default();
        facts.iter().rev().for_each(|fact| set.insert(*fact, fact + 1));
        set
    }

    fn facts() -> impl Strategy<Value = BTreeSet<FactId>> {
        proptest::collection::btree_set(0..24_usize, 0..12)
    }

    proptest! {
        /// All that sets do, as sets of numbers do it.
        #[test]
        fn is_a_set(a in facts(), b in facts(), start in 0..24_usize, length in 0..6_usize) {
            let mut united = set(&a);
            let is_new = united.unite(&set(&b));
            prop_assert_eq!(&united, &set(&(&a | &b)));
            prop_assert_eq!(is_new, !b.is_subset(&a));
            let mut common = set(&a);
            common.retain(&set(&b));
            prop_assert_eq!(&common, &set(&(&a & &b)));
            let mut with = set(&a);
            with.insert(start, start + length);
            prop_assert_eq!(&with, &set(&(&a | &(start..start + length).collect())));
            let list: Vec<FactId> = b.iter().copied().collect();
            let even = |fact: FactId| fact.is_multiple_of(2);
            let found = b.iter().copied().find(|fact| a.contains(fact) && even(*fact));
            prop_assert_eq!(set(&a).find(&list, even), found);
            prop_assert!((0..30).all(|fact| set(&a).has(fact) == a.contains(&fact)));
            prop_assert_eq!(set(&a).first(), a.first().copied());
        }

        /// Those of a loop get older, and others stay.
        #[test]
        fn gets_older(a in facts()) {
            let pairs: Vec<(FactId, FactId)> = (8..16).map(|new| (new, new - 8)).collect();
            let mut aged = set(&a);
            aged.age(&pairs);
            let expected = a.iter().map(|fact| if (8..16).contains(fact) { fact - 8 } else { *fact });
            prop_assert_eq!(aged, set(&expected.collect()));
        }
    }
}
