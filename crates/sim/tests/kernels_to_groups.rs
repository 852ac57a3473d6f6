//! Random kernels through `--gpux-tokens-to-groups`: what comes out reports nothing under any schedule, leaves the memory that the
//! token form leaves, and waits for all that it waits for.
//!
//! The kernels are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod kernel;
mod programs;
mod token_kernels;

use kernel::context;
use programs::config;
use proptest::prelude::*;
use token_kernels::{Profile, judge, kernels};

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
    #![proptest_config(config(300))]

    #[test]
    fn kernels_of_threads_keep_their_meaning(
        kernel in kernels(Profile::THREADS),
        options in options(),
        seed in any::<u64>(),
    ) {
        judge::keeps_its_meaning(&context(), &kernel, &options, seed)?;
    }

    #[test]
    fn kernels_of_blocks_keep_their_meaning(
        kernel in kernels(Profile::BLOCK),
        options in options(),
        seed in any::<u64>(),
    ) {
        judge::keeps_its_meaning(&context(), &kernel, &options, seed)?;
    }
}

#[test]
fn stats() {
    use proptest::strategy::ValueTree;
    let context = context();
    for profile in [Profile::THREADS, Profile::BLOCK] {
        let mut runner = proptest::test_runner::TestRunner::new(config(1));
        let mut by: std::collections::BTreeMap<String, usize> = Default::default();
        let mut add = |k: &str, n: usize| *by.entry(k.to_owned()).or_default() += n;
        for _ in 0..200 {
            let k = kernels(profile).new_tree(&mut runner).unwrap().current();
            let text = k.text();
            add("lines", text.lines().count());
            for w in ["gpux.copy async", "async.await", "scf.for", "scf.if", "scf.while", "index_switch", "cf.cond_br", "bulk_store", "async.region", "execute_region"] {
                add(w, text.matches(w).count());
            }
            let code = kernel::parse(&context, &text);
            let o = kernel::execute(&code, &judge::call(3), async_sim::adversary::Adversary::Late);
            if !o.is_clean() {
                add("unclean", 1);
                let kinds: Vec<_> = o.places.iter().map(|p| p.0).collect();
                add(&format!("{kinds:?} {}", if o.stopped {o.findings.clone()} else {String::new()}), 1);
            }
            let t = judge::lowered(&context, &text, "gpux-tokens-to-groups").unwrap();
            if t.matches("scf.for").count() < text.matches("scf.for").count() { add("peeled", 1); }
            for w in ["wait_group", "commit_group"] { add(w, t.matches(w).count()); }
        }
        println!("{by:#?}");
    }
}
