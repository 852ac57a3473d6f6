//! The checkers beside those that are extracted from their proofs: they say the same of every certificate, good or spoiled.
//!
//! `tools/test-proofs` runs this, and names the executables of the others in `PROVEN_CHECKER` and `PROVEN_MBARRIER_CHECKER`.
#![allow(missing_docs)]

mod extracted;
mod flatten;
mod lines;
mod mbarrier_lines;
mod numbers;
#[path = "../../tokenflow/tests/oracle/mod.rs"]
mod oracle;
#[path = "rings/generate.rs"]
mod rings;

use async_verify::groups::{check, infer};
use async_verify::mbarriers;
use extracted::{Spoil, compare, spoil, spoils};
use flatten::flatten;
use oracle::generate::{Style, any_program, config};
use oracle::lower::{PLAIN, lower};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tokenflow::Options;

/// A certificate, and changes of it.
type Case = (Vec<u64>, Vec<Vec<Spoil>>);

/// The certificates of a program.
fn groups() -> impl Strategy<Value = Case> {
    let programs = prop_oneof![
        any_program(Style::Tokens),
        any_program(Style::Mixed),
        any_program(Style::Stores)
    ];
    (programs, any::<bool>(), spoils()).prop_map(|(recipe, plain, spoils)| {
        let options = if plain { PLAIN } else { Options::default() };
        let lowered = lower(&recipe.program(), &options);
        let code = flatten(&lowered.program, &lowered.emitted);
        (lines::write(&code, &infer(&code)), spoils)
    })
}

/// The certificates of a ring.
fn rings() -> impl Strategy<Value = Case> {
    let changes = proptest::collection::vec(rings::changes(), 0..2);
    let certificates = (rings::pipelines(), changes).prop_filter_map("has none", |(pipeline, changes)| {
        let mut draft = pipeline.draft();
        for change in &changes {
            change.apply(&mut draft);
        }
        mbarriers::check(&draft.code()).ok()?.1.certificate
    });
    (certificates, spoils()).prop_map(|(certificate, spoils)| (mbarrier_lines::write(&certificate), spoils))
}

/// Lines of cases, good and spoiled, each with the verdict of `check`: `None` about numbers that the types here can't hold.
fn lines(
    cases: impl Strategy<Value = Case>,
    check: impl Fn(&[u64]) -> Option<bool>,
) -> Vec<(Vec<u64>, bool)> {
    let config = config(200);
    let cases_to_run = config.cases;
    let mut runner = TestRunner::new(config);
    let mut all: Vec<(Vec<u64>, bool)> = Vec::new();
    for _ in 0..cases_to_run {
        let (good, spoils) = cases.new_tree(&mut runner).expect("a case").current();
        let spoiled = spoils.iter().map(|spoils| spoil(&good, spoils));
        for line in spoiled.chain([good.clone()]) {
            all.extend(check(&line).map(|verdict| (line, verdict)));
        }
    }
    all
}

/// FIFOs beyond those that hardware has are not compared.
#[test]
#[ignore = "needs the extracted checker: tools/test-proofs"]
fn says_what_the_proven_checker_says() {
    let all = lines(groups(), |line| {
        let (code, certificate) = lines::read(line)?;
        Some(check(&code, &certificate).is_ok())
    });
    compare("PROVEN_CHECKER", &all);
}

#[test]
#[ignore = "needs the extracted checker: tools/test-proofs"]
fn says_the_same_of_mbarriers() {
    let all = lines(rings(), |line| {
        let certificate = mbarrier_lines::read(line)?;
        Some(mbarriers::check_certificate(&certificate).is_ok())
    });
    compare("PROVEN_MBARRIER_CHECKER", &all);
}
