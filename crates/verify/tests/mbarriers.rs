//! The checker of mbarriers against brute force: threads that are as fast or slow as they like, and loads that land in any order.
//!
//! The programs are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod rings;

use async_verify::mbarriers::{Code, check};
use proptest::prelude::*;
use proptest::test_runner::RngAlgorithm;
use rings::generate::{THREADS, changes, pipelines};
use rings::machine::{Fault, Machine};
use rings::trace::steps;

/// So many states of an execution are looked at.
const BUDGET: usize = 60_000;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: std::env::var("PROPTEST_CASES")
            .ok()
            .and_then(|cases| cases.parse().ok())
            .unwrap_or(cases),
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        ..ProptestConfig::default()
    }
}

/// A fault of an execution of `code` in which its loop runs at most so many times.
fn fault(code: &Code, most: usize) -> Option<Fault> {
    (0..most).find_map(|again| {
        let mut left = again;
        // The first edge is another iteration.
        let choose = |_| {
            let is_over = left == 0;
            left = left.saturating_sub(1);
            usize::from(is_over)
        };
        let steps = steps(code, choose);
        let machine = Machine {
            steps: &steps,
            depth: code.depth as usize,
            threads: THREADS,
        };
        machine.fault(BUDGET).filter(|fault| *fault != Fault::TooLong)
    })
}

proptest! {
    #![proptest_config(config(300))]

    /// What is accepted has no fault. Of pipelines in which nothing is changed, all without a fault are accepted.
    #[test]
    fn what_is_accepted_is_right(pipeline in pipelines(), changes in proptest::collection::vec(changes(), 0..3)) {
        let mut draft = pipeline.draft();
        changes.iter().for_each(|change| change.apply(&mut draft));
        let code = draft.code();
        let verdict = check(&code);
        if verdict.is_err() && !changes.is_empty() {
            return Ok(());
        }
        // After so many iterations, slots and parities are those of the first one.
        let fault = fault(&code, 2 * code.depth as usize + 2);
        prop_assert_eq!(verdict.is_ok(), fault.is_none(), "{:?}, {:?}: {:#?}\n{:#?}", verdict, fault, pipeline, code);
    }
}
