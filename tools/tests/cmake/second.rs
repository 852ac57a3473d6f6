//! Another library in Rust, with a standard library of its own.

use std::{panic::catch_unwind, thread};

#[unsafe(no_mangle)]
pub extern "C" fn secondSum(n: i64) -> i64 {
    let sum = move || {
        assert!(n > 0, "a message of the second library");
        (1..=n).sum()
    };
    catch_unwind(|| thread::spawn(sum).join().unwrap()).unwrap_or(-1)
}
