//! Random token programs: lowered, they report nothing under any schedule, leave the memory that the token form leaves when
//! every copy happens at once, and wait for all that it waits for.
//!
//! The programs are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod kernel;
mod programs;

use async_sim::adversary::Adversary;
use async_sim::refine;
use kernel::{Call, context, count, lower, run};
use programs::{THREADS, config, options, program, statements};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn lowered_programs_are_clean_and_right(stmts in statements(), options in options(), seed in any::<u64>()) {
        let context = context();
        let call = Call { seed, ..Call::of(THREADS) };
        let tokens = program(&stmts);
        let meant = run(&context, &tokens, &call, Adversary::Early);
        prop_assert!(meant.is_clean(), "{}\n{tokens}", meant.findings);
        let counted = count(&context, &tokens, &options);
        let lowered = lower(&context, &counted, "builtin.module(gpux-to-nvvm)");
        for (form, source) in [("tokens", &tokens), ("counted", &counted), ("lowered", &lowered)] {
            for adversary in [Adversary::Late, Adversary::Random(seed)] {
                let outcome = run(&context, source, &call, adversary);
                prop_assert!(outcome.is_clean(), "{form}: {}\n{source}", outcome.findings);
                prop_assert!(outcome.memory == meant.memory, "{form}: other memory\n{source}");
                let difference = refine::compare(&meant.trace, &outcome.trace);
                prop_assert!(difference.is_none(), "{form}: {difference:?}\n{source}");
            }
        }
    }
}
