//! Programs that others get wrong. The expected numbers come from the definition, by hand.
//!
//! A line like `5 4 - 0` gives the wait of each await in program order; `-` is no wait at all.

#[path = "../oracle/mod.rs"]
mod oracle;

mod branches;
mod given_commits;
mod loops;
mod pipelines;
mod reads;
mod straight_lines;

use oracle::assign::exact_assignments;
use oracle::build::{Build, Q, R, edge, exit};
use oracle::compare::{Side, compare};
use oracle::execute::Emitted;
use oracle::lower::{Lowered, PLAIN, lower, lower_counted, lower_given, one_group_each};
use oracle::{inexact, not_distances, unsound};
use tokenflow::{Options, Program, Token};

fn waits(emitted: &Emitted) -> String {
    let wait = |wait: &Option<u32>| wait.map_or("-".into(), |n| n.to_string());
    emitted.waits.iter().map(wait).collect::<Vec<String>>().join(" ")
}

fn side(lowered: &Lowered) -> Side<'_> {
    Side {
        program: &lowered.program,
        emitted: &lowered.emitted,
    }
}

/// The waits of the first queue, which the oracle finds exact.
fn checked(lowered: &Lowered) -> String {
    assert_eq!(inexact(&lowered.program, &lowered.emitted), []);
    waits(&lowered.emitted[0])
}

/// One group a copy.
fn exact(program: &Program) -> String {
    checked(&lower(program, &PLAIN))
}

/// One group a copy, and empty groups where they help.
fn balanced(program: &Program) -> String {
    checked(&lower(
        program,
        &Options {
            balance: true,
            ..PLAIN
        },
    ))
}

/// Everything that is on by default.
fn by_default(program: &Program) -> String {
    checked(&lower(program, &Options::default()))
}

/// How many commits of the first queue there are in the text.
fn commits(program: &Program, options: &Options) -> u32 {
    lower(program, options).emitted[0].commits.iter().sum()
}
