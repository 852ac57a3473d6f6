//! Random kernels in the `nvgpu` dialect through `--nvgpu-exact-waits`: with the counts that it writes, they wait for all that the
//! tokens of their waits are for.
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

const PASS: &str = "nvgpu-exact-waits";

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn counted_waits_wait_for_their_tokens(kernel in kernels(Profile::NVGPU), seed in any::<u64>()) {
        Case::of(&kernel, PASS).hold(&context(), seed)?;
    }

    #[test]
    fn explicit_counts_are_needed_or_become_exact(
        kernel in kernels(Profile { explicit: true, counted: false, ..Profile::NVGPU }),
        seed in any::<u64>(),
    ) {
        let case = Case { waits: false, ..Case::of(&kernel, PASS) };
        case.hold(&context(), seed)?;
    }
}
