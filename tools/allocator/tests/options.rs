//! Freed memory goes back to the system after a second, unless it is kept.

use async_allocator::{PURGE_DELAY, keep_freed_memory};
use libmimalloc_sys::mi_option_get;
use std::thread;
use std::time::Duration;

fn purge_delay() -> i64 {
    // SAFETY: an option of mimalloc, which nothing is writing.
    unsafe { mi_option_get(PURGE_DELAY) }
}

fn main() {
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_some() {
        return;
    }
    // The default tells that the number is right.
    assert_eq!(purge_delay(), 1000);
    let other = thread::spawn(keep_freed_memory);
    other.join().expect("it returns");
    assert_eq!(purge_delay(), 1000, "another thread was running");
    // A thread that has been joined may still be listed for a moment.
    for _ in 0..1000 {
        keep_freed_memory();
        if purge_delay() == -1 {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("freed memory is not kept");
}
