//! Schedules held against all orders, on random blocks; and blocks by hand.
//!
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` make it more cases, or others; `SCHEDULE_OPERATIONS` larger blocks.
#![allow(missing_docs)]

mod by_hand;
mod generate;
mod oracle;

use generate::{numbers, options, problem};
use oracle::Oracle;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tokenflow::ids::Id;
use tokenflow::schedule::{
    InvalidOrder, OperationId, Options, Problem, Proven, infeasible_subset, measure, solve,
};

fn config() -> ProptestConfig {
    let from_env = ProptestConfig::default();
    let cases = std::env::var_os("PROPTEST_CASES").map_or(2000, |_| from_env.cases);
    ProptestConfig {
        cases,
        // A fixed number would be too few for many cases.
        max_global_rejects: from_env.max_global_rejects.max(cases),
        rng_seed: match from_env.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            seed @ RngSeed::Fixed(_) => seed,
        },
        failure_persistence: None,
        ..from_env
    }
}

fn most_operations() -> usize {
    let from_env = std::env::var("SCHEDULE_OPERATIONS").ok();
    from_env.and_then(|number| number.parse().ok()).unwrap_or(6)
}

/// Checks that what is left is not kept from its limits by fewer operations.
fn check_unmet(problem: &Problem, options: &Options) -> Result<(), TestCaseError> {
    let (best, _) = Oracle::new(problem, options).optimum();
    let infeasible_subset = infeasible_subset(problem, options).expect("it is valid");
    prop_assert_eq!(infeasible_subset.is_some(), best.excess > 0);
    let Some(infeasible_subset) = infeasible_subset else {
        return Ok(());
    };
    prop_assert!(infeasible_subset.is_minimal);
    prop_assert!(
        excess_of(problem, options, &infeasible_subset.operations) > 0,
        "{:?}",
        infeasible_subset
    );
    for left_out in 0..infeasible_subset.operations.len() {
        let mut fewer = infeasible_subset.operations.clone();
        fewer.remove(left_out);
        prop_assert_eq!(excess_of(problem, options, &fewer), 0, "{:?}", fewer);
    }
    Ok(())
}

/// The least excess of the events that `kept` alone produce and consume, in the orders that the whole allows.
fn excess_of(problem: &Problem, options: &Options, kept: &[OperationId]) -> u64 {
    let mut part = problem.clone();
    let groups = part.dependences.clone();
    part.dependences.retain(|edge| {
        let same = groups.iter().filter(|other| {
            let is_same = other.from == edge.from && other.pair == edge.pair;
            is_same && (options.events == tokenflow::schedule::EventModel::Pair || *other == edge)
        });
        let nearest = same.clone().map(|other| other.distance).min();
        let mut counted = same.filter(|other| Some(other.distance) == nearest);
        kept.contains(&edge.from) && counted.all(|other| kept.contains(&other.to))
    });
    for edge in groups.iter().filter(|edge| edge.distance == 0) {
        part.order.push((edge.from, edge.to));
    }
    for (id, operation) in (0..).map(OperationId).zip(part.operations.iter_mut()) {
        if !kept.contains(&id) {
            operation.inner_peaks.clear();
        }
    }
    Oracle::new(&part, options).optimum().0.excess
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn small_blocks_are_optimal(problem in problem(most_operations()), options in options()) {
        let schedule = solve(&problem, &options).expect("it is valid");
        let (cost, order) = Oracle::new(&problem, &options).optimum();
        prop_assert_eq!(schedule.cost, cost);
        prop_assert_eq!(numbers(&schedule.order), order);
        prop_assert_eq!(schedule.proven, Proven::Order);
        prop_assert_eq!(schedule.bound, cost);
    }

    #[test]
    fn orders_are_measured_as_defined(problem in problem(12), options in options(), budget in 0..100_u64) {
        let schedule = solve(&problem, &Options { budget, ..options }).expect("it is valid");
        let oracle = Oracle::new(&problem, &options);
        let unchanged: Vec<usize> = (0..problem.operations.len()).collect();
        prop_assert_eq!(oracle.cost(&unchanged), schedule.cost_before);
        prop_assert_eq!(oracle.cost(&numbers(&schedule.order)), schedule.cost);
        prop_assert_eq!(measure(&problem, &options, &schedule.order).map(|all| all.cost), Ok(schedule.cost));
        let criteria = |cost: tokenflow::schedule::Cost| cost.criteria(options.objective);
        prop_assert!(criteria(schedule.cost) <= criteria(schedule.cost_before));
        prop_assert!(criteria(schedule.bound) <= criteria(schedule.cost));
        prop_assert!(budget >= schedule.nodes);
    }

    #[test]
    fn bounds_hold_without_a_search(problem in problem(most_operations()), options in options()) {
        let schedule = solve(&problem, &Options { budget: 0, ..options }).expect("it is valid");
        let (best, _) = Oracle::new(&problem, &options).optimum();
        for (bound, best) in schedule.bound.criteria(options.objective).into_iter().zip(best.criteria(options.objective)) {
            prop_assert!(bound <= best, "{:?}", schedule);
        }
    }

    #[test]
    fn what_can_not_be_met_is_shown_by_a_minimal_set(problem in problem(most_operations().min(7)), options in options()) {
        check_unmet(&problem, &options)?;
    }

    #[test]
    fn broken_orders_are_faults(problem in problem(8), options in options(), a in any::<usize>(), b in any::<usize>()) {
        let number = problem.operations.len();
        prop_assume!(number > 1);
        let mut order: Vec<OperationId> = problem.operations.ids().collect();
        order.swap(a % number, b % number);
        let place = |op: OperationId| order.iter().position(|other| *other == op);
        let waits = problem.dependences.iter().filter(|edge| edge.distance == 0).map(|edge| (edge.from, edge.to));
        let mut pairs = waits.chain(problem.order.iter().copied());
        let is_broken = pairs.any(|(from, to)| place(from) > place(to));
        prop_assert_eq!(measure(&problem, &options, &order).is_err(), is_broken);
        order[0] = order[number - 1];
        prop_assert_eq!(measure(&problem, &options, &order), Err(InvalidOrder::NoPermutation));
    }
}

proptest! {
    // These take longer.
    #![proptest_config(ProptestConfig { cases: config().cases / 10, ..config() })]

    #[test]
    fn windows_make_nothing_worse(problem in problem(150), options in options(), budget in 0..20_000_u64) {
        // What each window gains is checked within.
        let schedule = solve(&problem, &Options { budget, ..options }).expect("it is valid");
        let unsearched = solve(&problem, &Options { budget: 0, ..options }).expect("it is valid");
        let criteria = |cost: tokenflow::schedule::Cost| cost.criteria(options.objective);
        prop_assert_eq!(measure(&problem, &options, &schedule.order).map(|all| all.cost), Ok(schedule.cost));
        prop_assert!(criteria(schedule.cost) <= criteria(unsearched.cost));
        prop_assert!(budget >= schedule.nodes);
    }
}

#[test]
fn a_hundred_thousand_operations() {
    for number in [50_000, 100_000] {
        let problem = by_hand::layered(number);
        let start = std::time::Instant::now();
        let schedule = solve(&problem, &Options::default()).expect("it is valid");
        println!("{number} operations: {:?}, {:?}", start.elapsed(), schedule.cost);
        println!("  before {:?}, bound {:?}", schedule.cost_before, schedule.bound);
        assert_eq!(
            measure(&problem, &Options::default(), &schedule.order).map(|all| all.cost),
            Ok(schedule.cost)
        );
        assert!(schedule.order.iter().map(|op| op.index()).max() < Some(number));
    }
}
