//! The checker of barriers against brute force, which runs all executions thread by thread and byte by byte: it accepts a set of barriers if
//! and only if that is enough on each of them. And no certificate is accepted with one entry less.
#![allow(missing_docs, dead_code)]

mod from_kernel;
#[path = "../../tokenflow/tests/barriers/generate.rs"]
mod generate;
#[path = "../../tokenflow/tests/barriers/kernels.rs"]
mod kernels;
#[path = "../../tokenflow/tests/barriers/oracle.rs"]
mod oracle;

use async_verify::barriers::{Code, check, infer};
use from_kernel::code_of;
use generate::{counted, persistent, program, rows, straight};
use kernels::Program;
use oracle::Oracle;
use proptest::prelude::*;
use std::collections::BTreeSet;
use tokenflow::barriers::{StepId, place};

fn is_accepted(code: &Code) -> bool {
    check(code, &infer(code)).is_ok()
}

/// The checker agrees with the oracle on what `tokenflow` places, on that with one barrier less, and on `some` places.
fn agrees(program: &Program, some: &[bool]) -> Result<(), TestCaseError> {
    let lowered = kernels::lower(program);
    let kernel = &lowered.kernel;
    let Some(oracle) = Oracle::new(program, &lowered) else {
        return Err(TestCaseError::reject("too many executions"));
    };
    if oracle.races {
        return Ok(());
    }
    let placed: BTreeSet<StepId> = place(kernel).barriers.iter().map(|(step, _)| *step).collect();
    let fewer = placed
        .iter()
        .map(|left_out| placed.iter().copied().filter(|step| step != left_out).collect());
    let may_stand = kernel
        .steps
        .with_ids()
        .filter(|(_, step)| step.divergent.is_none());
    let some = may_stand.zip(some.iter().cycle()).filter(|(_, chosen)| **chosen);
    let some: BTreeSet<StepId> = some.map(|((step, _), _)| step).collect();
    let late = placed
        .iter()
        .map(|step| StepId(step.0 + 1))
        .filter(|step| step.0 < kernel.steps.len());
    let late = late
        .filter(|step| kernel.steps[*step].divergent.is_none())
        .collect();
    let sets: Vec<BTreeSet<StepId>> = fewer.chain([placed.clone(), some, late]).collect();
    for barriers in sets {
        let code = code_of(kernel, &barriers);
        prop_assert_eq!(
            is_accepted(&code),
            oracle.is_enough(&barriers),
            "{:?}\n{:#?}",
            barriers,
            code
        );
    }
    let code = code_of(kernel, &placed);
    let certificate = infer(&code);
    for (id, claimed) in certificate.blocks.with_ids() {
        for entry in claimed {
            let mut spoiled = certificate.clone();
            spoiled.blocks[id].remove(entry);
            prop_assert!(check(&code, &spoiled).is_err(), "{id}: {entry:?}");
        }
    }
    Ok(())
}

fn choices() -> impl Strategy<Value = Vec<bool>> {
    prop::collection::vec(any::<bool>(), 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 1_000_000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_enough_in_a_straight_line_is_accepted_and_nothing_else(program in straight(), some in choices()) {
        agrees(&program, &some)?;
    }

    #[test]
    fn what_is_enough_is_accepted_and_nothing_else(program in program(), some in choices()) {
        agrees(&program, &some)?;
    }

    #[test]
    fn what_is_enough_where_trips_are_known_is_accepted_and_nothing_else(program in counted(), some in choices()) {
        agrees(&program, &some)?;
    }

    #[test]
    fn what_is_enough_where_places_in_rows_are_unknown_is_accepted_and_nothing_else(program in rows(), some in choices()) {
        agrees(&program, &some)?;
    }

    #[test]
    fn what_is_enough_where_slots_go_on_is_accepted_and_nothing_else(program in persistent(), some in choices()) {
        agrees(&program, &some)?;
    }
}
