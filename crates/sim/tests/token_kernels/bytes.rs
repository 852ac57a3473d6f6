//! Kernels of the bytes of a fuzzer.

use super::judge::Case;
use super::source::Source;
use super::{Profile, from_bytes};
use async_mlir::melior::Context;
use proptest::prelude::TestCaseError;

/// Has a kernel keep its meaning: the first byte says through which pass it goes, the second with which options, and the others what it is.
pub fn hold(mut bytes: &[u8], context: &Context) -> Result<(), TestCaseError> {
    let (pass, options) = (bytes.below(6), bytes.byte());
    let switch = |bit: u32| options >> bit & 1 == 0;
    let profile = [
        Profile::THREADS,
        Profile::BLOCK,
        Profile::BULK,
        Profile::NVGPU,
        Profile::LANES,
        Profile::LANES,
    ][pass];
    let kernel = from_bytes(bytes, profile);
    let groups = format!(
        "gpux-tokens-to-groups{{form-groups={} balance={} drop-implied={} unroll-limit={} max-padding={}}}",
        switch(0),
        switch(1),
        switch(2),
        if switch(3) { 8 } else { 0 },
        if switch(4) { 4 } else { 1 },
    );
    let war = if switch(5) { "barrier" } else { "mbarrier" };
    let pipeline = match pass {
        0 | 1 => groups,
        2 => format!(
            "gpux-tokens-to-mbarriers{{war={war} round-rings={}}},{groups}",
            switch(6)
        ),
        3 => "nvgpu-exact-waits".to_owned(),
        4 => "gpux-insert-barriers".to_owned(),
        _ => format!("gpux-insert-barriers,{groups}"),
    };
    let case = Case::of(&kernel, &pipeline);
    let case = match pass {
        2 => Case {
            may_refuse: true,
            ..case
        },
        4 | 5 => Case {
            meant: kernel.with_barriers(),
            waits: false,
            ..case
        },
        _ => case,
    };
    case.hold(context, 1)
}
