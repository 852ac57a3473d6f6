//! The checker beside the one that is extracted from its proof: they say the same of every certificate, good or spoiled.
//!
//! `tools/test-proofs` runs this, and names the executable of the other one in `PROVEN_CHECKER`.
#![allow(missing_docs)]

mod flatten;
mod lines;
#[path = "../../tokenflow/tests/oracle/mod.rs"]
mod oracle;

use async_verify::groups::{check, infer};
use flatten::flatten;
use oracle::generate::{Style, any_program, config};
use oracle::lower::{PLAIN, lower};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::io::Write;
use std::process::{Command, Stdio};
use tokenflow::Options;

/// A number that is changed, and how.
type Spoil = (Index, u8);

/// The certificates of a program, and ones with a few numbers changed.
fn cases() -> impl Strategy<Value = (Vec<Vec<u64>>, Vec<Vec<Spoil>>)> {
    let programs = prop_oneof![
        any_program(Style::Tokens),
        any_program(Style::Mixed),
        any_program(Style::Stores)
    ];
    let spoils = proptest::collection::vec(proptest::collection::vec((any::<Index>(), 0_u8..6), 1..3), 40);
    (programs, any::<bool>(), spoils).prop_map(|(recipe, plain, spoils)| {
        let options = if plain { PLAIN } else { Options::default() };
        let lowered = lower(&recipe.program(), &options);
        let code = flatten(&lowered.program, &lowered.emitted);
        (vec![lines::write(&code, &infer(&code))], spoils)
    })
}

fn spoil(line: &[u64], spoils: &[Spoil]) -> Vec<u64> {
    let mut line = line.to_vec();
    for (at, how) in spoils {
        let at = at.index(line.len());
        match how {
            0 => line[at] += 1,
            1 => line[at] = line[at].saturating_sub(1),
            2 => line[at] = 0,
            3 => line[at] += 64,
            4 => {
                line.remove(at);
            }
            _ => line.insert(at, 0),
        }
    }
    line
}

/// Numbers that the types here can't hold, and FIFOs beyond those that hardware has, are not compared.
fn ours(line: &[u64]) -> Option<bool> {
    let (code, certificate) = lines::read(line)?;
    Some(check(&code, &certificate).is_ok())
}

#[test]
#[ignore = "needs the extracted checker: tools/test-proofs"]
fn says_what_the_proven_checker_says() {
    let proven = std::env::var_os("PROVEN_CHECKER").expect("PROVEN_CHECKER names the extracted checker");
    let config = config(200);
    let cases_to_run = config.cases;
    let mut runner = TestRunner::new(config);
    let mut all: Vec<(Vec<u64>, bool)> = Vec::new();
    for _ in 0..cases_to_run {
        let (good, spoils) = cases().new_tree(&mut runner).expect("a case").current();
        for line in &good {
            let spoiled = spoils.iter().map(|spoils| spoil(line, spoils));
            for line in spoiled.chain([line.clone()]) {
                all.extend(ours(&line).map(|verdict| (line, verdict)));
            }
        }
    }
    let mut child = Command::new(proven)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the extracted checker starts");
    let mut input = child.stdin.take().expect("it reads");
    let text: Vec<String> = all
        .iter()
        .map(|(line, _)| line.iter().map(u64::to_string).collect::<Vec<_>>().join(" "))
        .collect();
    let writer = std::thread::spawn(move || {
        for line in text {
            writeln!(input, "{line}").expect("it reads all");
        }
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("all is written");
    let verdicts = String::from_utf8(output.stdout).expect("it prints words");
    let verdicts: Vec<&str> = verdicts.lines().collect();
    assert_eq!(verdicts.len(), all.len(), "one verdict a line");
    let mut accepted = 0;
    for ((line, ours), theirs) in all.iter().zip(verdicts) {
        assert_eq!(if *ours { "accepted" } else { "refused" }, theirs, "{line:?}");
        accepted += usize::from(*ours);
    }
    println!("{} certificates, {accepted} accepted", all.len());
    assert!(
        accepted * 10 > all.len() && accepted * 10 < all.len() * 9,
        "of both kinds"
    );
}
