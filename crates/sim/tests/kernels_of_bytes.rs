//! What a coverage-guided fuzzer has kept: inputs whose kernels take the passes where those of no other input take them. `tools/fuzz-coverage`
//! finds them.
#![allow(missing_docs)]

mod kernel;
mod token_kernels;

use kernel::context;
use proptest::test_runner::TestCaseError;
use std::path::Path;

#[test]
fn kernels_of_bytes_keep_their_meaning() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/token_kernels/corpus");
    let context = context();
    let (mut held, mut rejected) = (0, 0);
    for entry in std::fs::read_dir(corpus).expect("a folder") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a file");
        match token_kernels::bytes::hold(&bytes, &context) {
            Ok(()) => held += 1,
            Err(TestCaseError::Reject(_)) => rejected += 1,
            Err(TestCaseError::Fail(why)) => panic!("{}: {why}", path.display()),
        }
    }
    assert!(
        held > rejected && held >= 40,
        "only {held} kernels, and {rejected} that are rejected"
    );
}
