//! Random kernels through `--gpux-tokens-to-groups`: what comes out reports nothing under any schedule, leaves the memory that the
//! token form leaves, and waits for all that it waits for.
//!
//! The kernels are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod kernel;
mod programs;
mod token_kernels;

use async_sim::adversary::Adversary;
use async_sim::code::{Code, Op};
use async_sim::refine;
use kernel::{context, count, execute, parse};
use programs::config;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use token_kernels::judge::{Case, call};
use token_kernels::{Profile, kernels};

/// Options of the pass.
fn options() -> impl Strategy<Value = String> {
    let limit = prop_oneof![2 => Just(8), 1 => Just(0), 1 => Just(3), 1 => Just(64)];
    let padding = prop_oneof![2 => Just(4), 1 => Just(0), 1 => Just(1)];
    let default_is_on = || prop::bool::weighted(0.7);
    let switches = (default_is_on(), default_is_on(), default_is_on());
    (switches, limit, padding).prop_map(|((groups, balance, drop), limit, padding)| {
        format!(
            "gpux-tokens-to-groups{{form-groups={groups} balance={balance} drop-implied={drop} unroll-limit={limit} max-padding={padding}}}"
        )
    })
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn kernels_of_threads_keep_their_meaning(
        kernel in kernels(Profile::THREADS),
        options in options(),
        seed in any::<u64>(),
    ) {
        Case::of(&kernel, &options).hold(&context(), seed)?;
    }

    #[test]
    fn kernels_of_blocks_keep_their_meaning(
        kernel in kernels(Profile::BLOCK),
        options in options(),
        seed in any::<u64>(),
    ) {
        Case::of(&kernel, &options).hold(&context(), seed)?;
    }
}

/// What no condition or number of iterations tells of another one.
const INDEPENDENT: Profile = Profile {
    independent: true,
    counted: false,
    ..Profile::THREADS
};

/// A relaxed wait is looked for in so many runs.
const DRAWS: u64 = 300;

/// The kernel with its wait number `which` relaxed by one; `None` if it has fewer.
fn relaxed(code: &Code, which: usize) -> Option<Code> {
    let mut code = code.clone();
    let waits = code.instrs.iter_mut().filter_map(|instr| match &mut instr.op {
        Op::Wait { n, .. } => Some(n),
        _ => None,
    });
    *waits.into_iter().nth(which)? += 1;
    Some(code)
}

#[test]
fn few_waits_can_be_relaxed() {
    let context = context();
    let config = config(30);
    let cases = config.cases;
    let mut runner = TestRunner::new(config);
    let (mut tried, mut unneeded) = (0, Vec::new());
    for _ in 0..cases {
        let drawn = kernels(INDEPENDENT).new_tree(&mut runner);
        let source = drawn.expect("a kernel").current().text();
        let tokens = parse(&context, &source);
        let text = count(&context, &source, "");
        let code = parse(&context, &text);
        for which in 0.. {
            let Some(mutant) = relaxed(&code, which) else {
                break;
            };
            let shows = |seed: &u64| {
                let outcome = execute(&mutant, &call(*seed), Adversary::Late);
                let meant = execute(&tokens, &call(*seed), Adversary::Late);
                !outcome.is_clean() || refine::compare(&meant.trace, &outcome.trace).is_some()
            };
            tried += 1;
            if !(0..DRAWS).any(|seed| shows(&seed)) {
                unneeded.push(format!("wait {which} of\n{text}"));
            }
        }
    }
    println!(
        "{tried} waits relaxed by one, {} of them unnoticed",
        unneeded.len()
    );
    // Some ways are never drawn, since the bits of a thread are few.
    assert!(unneeded.len() * 20 <= tried, "{}", unneeded.join("\n"));
}
