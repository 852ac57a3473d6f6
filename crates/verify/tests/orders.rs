//! The checker of orders against brute force, which looks at every two steps: it accepts a permutation if and only if no two have passed
//! each other that may not.
#![allow(missing_docs)]

use async_verify::orders::{Access, Fence, Refusal, Step, Timing, check};
use proptest::prelude::*;

const PLACES: usize = 5;

/// Places are the same or not, at random but in both directions; what is complete may be at any place near.
fn meets(table: u64, a: Access, b: Access) -> bool {
    let (low, high) = (a.place.min(b.place), a.place.max(b.place));
    let is_complete = [a, b].iter().any(|access| access.timing == Timing::Completed);
    low == high || table >> (low * PLACES + high) & 1 == 1 || is_complete && low + 1 == high
}

/// Returns true if `later` may not come before `earlier`, which it followed.
fn has_to_stay(number: usize, earlier: &Step, later: &Step, table: u64) -> bool {
    let does_any = |step: &Step| step.fence != Fence::None || step.stays || !step.accesses.is_empty();
    let only_copies = |step: &Step| {
        step.fence == Fence::None
            && !step.stays
            && !step.accesses.is_empty()
            && step.accesses.iter().all(|access| access.timing == Timing::Issued)
    };
    let is_fenced = match (earlier.fence, later.fence) {
        (Fence::All | Fence::Barrier, _) => does_any(later),
        (_, Fence::All) => does_any(earlier),
        (_, Fence::Barrier) => does_any(earlier) && !only_copies(earlier),
        (Fence::None, Fence::None) => false,
    };
    let conflict = |a: &Access, b: &Access| {
        (a.writes || b.writes)
            && a.timing != Timing::Issued
            && b.timing != Timing::Completed
            && meets(table, *a, *b)
    };
    let conflicts = earlier
        .accesses
        .iter()
        .any(|a| later.accesses.iter().any(|b| conflict(a, b)));
    let is_of_class = earlier.class.is_some() && earlier.class == later.class;
    is_fenced || conflicts || is_of_class || later.uses.contains(&number)
}

fn brute_force(steps: &[Step], now: &[usize], table: u64) -> bool {
    (0..steps.len()).all(|later| {
        (0..later).all(|earlier| {
            now[earlier] < now[later] || !has_to_stay(earlier, &steps[earlier], &steps[later], table)
        })
    })
}

fn access() -> impl Strategy<Value = Access> {
    let timing = prop_oneof![
        3 => Just(Timing::Now),
        2 => Just(Timing::Issued),
        1 => Just(Timing::Completed)
    ];
    (0..PLACES, any::<bool>(), timing).prop_map(|(place, writes, timing)| Access {
        place,
        writes,
        timing,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let fence = prop_oneof![12 => Just(Fence::None), 1 => Just(Fence::Barrier), 1 => Just(Fence::All)];
    (
        prop::collection::vec(0..12_usize, 0..2),
        fence,
        prop::bool::weighted(0.1),
        prop::collection::vec(access(), 0..3),
        prop::option::weighted(0.2, 0..2_u32),
    )
        .prop_map(|(uses, fence, stays, accesses, class)| Step {
            uses,
            fence,
            stays,
            accesses,
            class,
        })
}

/// Steps, and where a few swaps of neighbors have brought each.
fn reordered() -> impl Strategy<Value = (Vec<Step>, Vec<usize>, u64)> {
    let steps = prop::collection::vec(step(), 2..10);
    let swaps = prop::collection::vec(any::<prop::sample::Index>(), 1..8);
    // A quarter of the pairs of places.
    let table = (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a & b);
    (steps, swaps, table).prop_map(|(mut steps, swaps, table)| {
        for (number, step) in steps.iter_mut().enumerate() {
            step.uses.retain(|used| *used < number);
        }
        let mut order: Vec<usize> = (0..steps.len()).collect();
        for swap in swaps {
            let at = swap.index(order.len() - 1);
            order.swap(at, at + 1);
        }
        let mut now = vec![0; order.len()];
        for (position, number) in order.into_iter().enumerate() {
            now[number] = position;
        }
        (steps, now, table)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn an_order_is_accepted_if_and_only_if_nothing_passes_what_it_depends_on((steps, now, table) in reordered()) {
        let verdict = check(&steps, &now, &|a, b| meets(table, a, b));
        prop_assert_eq!(verdict.is_ok(), brute_force(&steps, &now, table), "{:?}", verdict);
        if let Err(Refusal { earlier, later }) = verdict {
            prop_assert!(earlier < later && now[earlier] > now[later]);
            prop_assert!(has_to_stay(earlier, &steps[earlier], &steps[later], table));
        }
    }

    #[test]
    fn an_order_that_stays_is_accepted((steps, _, table) in reordered()) {
        let now: Vec<usize> = (0..steps.len()).collect();
        prop_assert_eq!(check(&steps, &now, &|a, b| meets(table, a, b)), Ok(()));
    }
}

/// Stores that change places with their neighbors cost what they move, not what there is.
#[test]
fn the_cost_is_what_moves() {
    const NUMBER: usize = 100_000;
    let store = |place| Step {
        accesses: vec![Access {
            place,
            writes: true,
            timing: Timing::Now,
        }],
        ..Step::default()
    };
    let steps: Vec<Step> = (0..NUMBER).map(store).collect();
    let now: Vec<usize> = (0..NUMBER).map(|number| number ^ 1).collect();
    let compared = std::cell::Cell::new(0);
    let meets = |a: Access, b: Access| {
        compared.set(compared.get() + 1);
        a.place == b.place
    };
    assert_eq!(check(&steps, &now, &meets), Ok(()));
    assert_eq!(compared.get(), NUMBER / 2);
}
