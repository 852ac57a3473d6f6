//! Random kernels with bulk loads through `--gpux-tokens-to-mbarriers` and `--gpux-tokens-to-groups`: what comes out reports nothing
//! under any schedule, and leaves the memory that the token form leaves.
//!
//! The kernels are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod kernel;
mod programs;
mod token_kernels;

use kernel::context;
use programs::config;
use proptest::prelude::*;
use token_kernels::judge::Case;
use token_kernels::{Profile, kernels};

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn kernels_with_bulk_loads_keep_their_meaning(
        kernel in kernels(Profile::BULK),
        round in any::<bool>(),
        war in prop_oneof![Just("barrier"), Just("mbarrier")],
        seed in any::<u64>(),
    ) {
        let pipeline = format!("gpux-tokens-to-mbarriers{{war={war} round-rings={round}}},gpux-tokens-to-groups");
        let case = Case { may_refuse: true, ..Case::of(&kernel, &pipeline) };
        case.hold(&context(), seed)?;
    }
}
