//! The checker of groups against the oracle of `tokenflow`, which follows all executions: it accepts what is sound, and nothing else.
#![allow(missing_docs)]

mod flatten;
#[path = "../../tokenflow/tests/oracle/mod.rs"]
mod oracle;

use async_verify::groups::{check, check_and_find_superfluous, infer};
use flatten::{flatten, flatten_with_waits};
use oracle::blocks::text;
use oracle::execute::Emitted;
use oracle::generate::{Recipe, Style, any_program, config, long};
use oracle::lower::{Lowered, lower, lower_counted};
use oracle::{Fault, MOST, loose, unsound};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeSet;
use tokenflow::{Options, Program};

fn options() -> impl Strategy<Value = Options> {
    let limit = prop_oneof![Just(0_u64), Just(8)];
    (any::<bool>(), any::<bool>(), any::<bool>(), limit).prop_map(
        |(form_groups, balance, drop_implied, unroll_limit)| Options {
            form_groups,
            balance,
            drop_implied,
            unroll_limit,
            ..Options::default()
        },
    )
}

/// The checker accepts if and only if no execution awaits what is in flight.
fn agrees(program: &Program, emitted: &[Emitted]) -> Result<bool, TestCaseError> {
    let code = flatten(program, emitted);
    let certificate = infer(&code);
    let verdict = check(&code, &certificate);
    let faults = unsound(program, emitted);
    prop_assert!(
        verdict.is_ok() == faults.is_empty(),
        "{verdict:?}\n{faults:#?}\n{}\n{code:#?}\n{certificate:#?}",
        text(program, emitted)
    );
    Ok(verdict.is_ok())
}

/// The waits that are said to be superfluous are those whose number could be larger, for all executions.
fn agrees_on_needs(program: &Program, emitted: &[Emitted]) -> Result<(), TestCaseError> {
    let (code, waits) = flatten_with_waits(program, emitted);
    let superfluous = check_and_find_superfluous(&code, &infer(&code), |_| MOST, usize::MAX);
    let superfluous = superfluous.expect("what is sound is accepted");
    let superfluous: BTreeSet<_> = superfluous
        .iter()
        .filter_map(|place| waits.get(place))
        .copied()
        .collect();
    let loose = loose(program, emitted)
        .into_iter()
        .filter_map(|fault| match fault {
            Fault::Loose { queue, site, .. } => Some((queue, site)),
            _ => None,
        });
    prop_assert_eq!(
        superfluous,
        loose.collect(),
        "{}\n{:#?}",
        text(program, emitted),
        code
    );
    Ok(())
}

/// One commit or wait more, less or other.
fn spoil(lowered: &Lowered, what: u8, at: Index, queue: Index) -> Option<Vec<Emitted>> {
    let mut emitted = lowered.emitted.clone();
    let of = emitted.get_mut(queue.index(lowered.emitted.len().max(1)))?;
    if what < 2 {
        let places = 0..of.commits.len();
        let places: Vec<usize> = places.filter(|&slot| what == 0 || of.commits[slot] > 0).collect();
        let slot = *places.get(at.index(places.len().max(1)))?;
        of.commits[slot] = if what == 0 {
            of.commits[slot] + 1
        } else {
            of.commits[slot] - 1
        };
    } else {
        let waits: Vec<usize> = (0..of.waits.len())
            .filter(|&site| of.waits[site].is_some())
            .collect();
        let site = *waits.get(at.index(waits.len().max(1)))?;
        of.waits[site] = if what == 2 {
            None
        } else {
            of.waits[site].map(|n| n + 1)
        };
    }
    Some(emitted)
}

fn programs() -> impl Strategy<Value = Recipe> {
    prop_oneof![
        any_program(Style::Tokens),
        any_program(Style::Mixed),
        any_program(Style::Stores),
        long(Style::Tokens),
    ]
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn accepts_exactly_what_no_execution_refutes(
        recipe in programs(),
        options in options(),
        what in 0_u8..4,
        at in any::<Index>(),
        queue in any::<Index>(),
    ) {
        let lowered = lower(&recipe.program(), &options);
        if agrees(&lowered.program, &lowered.emitted)? {
            agrees_on_needs(&lowered.program, &lowered.emitted)?;
        }
        if let Some(spoiled) = spoil(&lowered, what, at, queue)
            && agrees(&lowered.program, &spoiled)?
        {
            agrees_on_needs(&lowered.program, &spoiled)?;
        }
    }

    #[test]
    fn accepts_exactly_what_no_execution_refutes_of_counted_code(recipe in any_program(Style::Counted)) {
        let lowered = lower_counted(&recipe.program(), true);
        agrees(&lowered.program, &lowered.emitted)?;
    }
}
