//! Random kernels whose threads read what others have copied, through `--gpux-insert-barriers`: with the barriers that it inserts, they
//! report nothing under any schedule, and leave the memory that they leave with barriers everywhere.
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
    fn inserted_barriers_are_enough(kernel in kernels(Profile::LANES), counted in any::<bool>(), seed in any::<u64>()) {
        let context = context();
        let pipeline = if counted { "gpux-insert-barriers,gpux-tokens-to-groups" } else { "gpux-insert-barriers" };
        let case = Case {
            meant: kernel.with_barriers(),
            source: kernel.text(),
            pipeline,
            waits: false,
            may_refuse: false,
        };
        case.hold(&context, seed)?;
    }
}
