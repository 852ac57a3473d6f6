//! Runs kernels of bytes through passes, and panics where one does not keep its meaning. AFL++ says which bytes.

#[path = "../../crates/sim/tests/kernel/mod.rs"]
mod kernel;
#[path = "../../crates/sim/tests/token_kernels/mod.rs"]
mod token_kernels;

use proptest::test_runner::TestCaseError;

fn main() {
    let context = kernel::context();
    afl::fuzz!(|bytes: &[u8]| {
        if let Err(TestCaseError::Fail(why)) = token_kernels::bytes::hold(bytes, &context) {
            panic!("{why}");
        }
    });
}
