//! What the checker of software pipelines knows of numbers and of the order of accesses, against brute force: all iterations of a loop, one by
//! one.
#![allow(missing_docs)]

use async_verify::pipeline::number::{Affine, Bounds, Facts, Number};
use async_verify::pipeline::order::{Access, End, When, crossed_fence, violation};
use proptest::prelude::*;

/// More iterations than any two accesses that are out of order lie apart.
const ITERATIONS: u32 = 14;

fn when(when: When, iteration: u32) -> When {
    (when.0 + i64::from(iteration), when.1)
}

/// Accesses of one body. Their places are those in the list; each has an awaited end, or none.
fn accesses() -> impl Strategy<Value = Vec<Access>> {
    let end = (0..3_u32, 0..6_usize, 0..4_i64, 0..3_usize);
    let access = (
        (0..4_i64, any::<bool>()),
        prop_oneof![Just(None), (1..4_u32).prop_map(Some)],
        prop::collection::vec(end, 0..3),
    );
    let order = Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle();
    (prop::collection::vec(access, 1..6), order).prop_map(|(all, order)| {
        let all = all.into_iter().enumerate();
        let all = all.map(|(place, ((stage, writes), versions, ends))| {
            let ends = ends.into_iter().map(|(later, place, stage, conditions)| End {
                later,
                place,
                when: (stage, order[6 + place]),
                conditions: conditions.checked_sub(1),
            });
            Access {
                place,
                when: (stage, order[place]),
                writes,
                versions,
                ends: ends.collect(),
            }
        });
        all.collect()
    })
}

/// Returns true if awaits of `access` in iteration `iteration` say by `by` that it is over: one without conditions, or one of each kind that
/// counts.
fn is_over(access: &Access, iteration: u32, by: When, counts: impl Fn(&End) -> bool) -> bool {
    let kind = |conditions| access.ends.iter().filter(move |end| end.conditions == conditions);
    let is_reached = |conditions| kind(conditions).any(|end| when(end.when, iteration + end.later) <= by);
    let kinds = [None, Some(0), Some(1)]
        .into_iter()
        .filter(|number| kind(*number).any(&counts));
    is_reached(None) || kinds.into_iter().all(is_reached)
}

/// Returns true if two accesses of these iterations are in the order of the plain loop.
fn in_order(first: &Access, i: u32, second: &Access, j: u32, meets: bool) -> bool {
    let begins = when(second.when, j);
    let is_version = first.versions.is_some() && first.versions == second.versions;
    if let (Some(versions), true, true) = (first.versions, is_version, j > i) {
        let same = (j - i).is_multiple_of(versions);
        let is_over = is_over(first, i, begins, |_| true);
        return !same || !second.writes || when(first.when, i) < begins && is_over;
    }
    let is_before = |end: &End| (i + end.later, end.place) <= (j, second.place);
    let is_over = is_over(first, i, begins, is_before);
    !meets && !is_version || when(first.when, i) < begins && is_over
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every pair of accesses in all iterations is in order if and only if the checker says so.
    #[test]
    fn orders_are_those_of_all_iterations(
        accesses in accesses(),
        trips in prop_oneof![Just(None), (0..5_i64).prop_map(Some)],
        meeting in any::<u64>(),
    ) {
        let meets = |i: usize, j: usize, distance: u32| meeting >> ((i * 7 + j * 3 + distance as usize) % 64) & 1 == 1;
        let found = violation(&accesses, trips, meets);
        let iterations = trips.map_or(ITERATIONS, |trips| u32::try_from(trips).unwrap_or(0));
        let mut is_ordered = true;
        for i in 0..iterations {
            for j in i..iterations {
                for (a, first) in accesses.iter().enumerate() {
                    for (b, second) in accesses.iter().enumerate() {
                        let follows = j > i || first.place < second.place;
                        if follows && (first.writes || second.writes) {
                            is_ordered &= in_order(first, i, second, j, meets(a, b, j - i));
                        }
                    }
                }
            }
        }
        prop_assert_eq!(found.is_none(), is_ordered, "{:?}", found);
    }

    /// Nothing crosses a fence in any iterations if and only if the checker says so.
    #[test]
    fn fences_are_those_of_all_iterations(
        all in prop::collection::vec((0..4_i64, any::<bool>()), 1..6),
        order in Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle(),
        trips in prop_oneof![Just(None), (0..5_i64).prop_map(Some)],
    ) {
        let iterations = trips.map_or(ITERATIONS, |trips| u32::try_from(trips).unwrap_or(0));
        let all: Vec<(usize, When, bool)> =
            all.into_iter().enumerate().map(|(place, (stage, is))| (place, (stage, order[place]), is)).collect();
        let mut is_crossed = false;
        for i in 0..iterations {
            for j in i..iterations {
                for (place, first, is_fence) in &all {
                    for (next, second, is_other) in &all {
                        let follows = j > i || place < next;
                        is_crossed |= follows && (*is_fence || *is_other) && when(*first, i) > when(*second, j);
                    }
                }
            }
        }
        prop_assert_eq!(crossed_fence(&all, trips).is_some(), is_crossed);
    }

    /// The range of a sum has all its values, and its ends are among them.
    #[test]
    fn ranges_are_those_of_all_rounds(
        (fixed, round, trips) in (-5..5_i64, -2..3_i64, -2..3_i64),
        last in 0..4_i64,
        known in prop_oneof![Just(None), (0..6_i64).prop_map(Some)],
    ) {
        // A number of a round has to exist.
        let known = known.map(|known: i64| known + last + 1);
        let facts = Facts { last, trips: known };
        let sum = Affine { fixed, round, trips };
        let (least, greatest) = facts.range(sum);
        let counts = known.map_or(last + 1..last + 20, |known| known..known + 1);
        let values: Vec<i64> =
            counts.flat_map(|n| (last..n).map(move |t| fixed + round * t + trips * n)).collect();
        prop_assert!(least.is_none_or(|least| values.iter().min() == Some(&least)), "{least:?}");
        prop_assert!(greatest.is_none_or(|greatest| values.iter().max() == Some(&greatest)), "{greatest:?}");
        prop_assert!(known.is_none() || least.is_some() && greatest.is_some());
    }

    /// The variable of an iteration says which iteration it is, at every width.
    #[test]
    fn variables_are_those_of_their_iterations(
        lower in any::<i8>(), step in 1..40_i64, iteration in 0..40_i64, bits in prop_oneof![Just(8_u32), Just(32), Just(64)],
    ) {
        prop_assume!(bits > 8 || step * iteration < 256);
        let bounds = Bounds { lower: Number::constant(lower.into()), step: Number::constant(step), bits };
        let variable = bounds.variable(Affine::constant(iteration)).unwrap_or_default();
        prop_assert_eq!(bounds.iteration(variable), Some(Affine::constant(iteration)));
    }

    /// No loop of eight bits whose variable does not wrap around has more iterations than it is said to have, and some loop has as many.
    #[test]
    fn the_type_bounds_the_iterations(lower in any::<u8>(), known in any::<bool>(), step in 1..128_u8, is_unsigned in any::<bool>()) {
        let number = |byte: u8| if is_unsigned { i64::from(byte) } else { i64::from(byte.cast_signed()) };
        let unknown = Number { lower: 1, ..Number::default() };
        let first = if known { Number::constant(number(lower)) } else { unknown };
        let bounds = Bounds { lower: first, step: Number::constant(step.into()), bits: 8 };
        let greatest = number(if is_unsigned { u8::MAX } else { i8::MAX.cast_unsigned() });
        let trips = |lower: u8| {
            let mut values = (1..).map(|iterations: i64| number(lower) + iterations * i64::from(step));
            values.position(|end| end > greatest).and_then(|trips| i64::try_from(trips).ok())
        };
        let most = if known { trips(lower) } else { (0..=u8::MAX).filter_map(trips).max() };
        prop_assert_eq!(Some(bounds.most_trips(is_unsigned)), most);
    }
}
