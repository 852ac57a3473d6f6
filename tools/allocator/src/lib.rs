//! The allocator of the command line tools.
//!
//! The algorithms and the interpreter make and drop many small values beside MLIR's large heap, which the C library's allocator is
//! slow at. This crate links mimalloc's `malloc` in its place, for Rust and C++ alike; as Rust's global allocator it would take a
//! slower path, which checks the alignment of every block.

use libmimalloc_sys::{mi_option_set_default, mi_option_t};
use std::fs;

/// `mi_option_purge_delay` of `mimalloc.h`, which has no name in Rust: after so many milliseconds, memory that was freed goes back to
/// the system; never, if negative.
pub const PURGE_DELAY: mi_option_t = 15;

/// Keeps what is freed for later allocations, until the process ends: for processes that end soon.
///
/// What goes back to the system has to be cleared, page by page, when it is needed again: that was a fifth to a third of the time of
/// conversions of 100 000 copies.
///
/// The environment variable `MIMALLOC_PURGE_DELAY` decides where it is set. Nothing is done if other threads are running, which may
/// be reading the option.
pub fn keep_freed_memory() {
    let threads = fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count);
    if threads == 1 {
        // SAFETY: an option of mimalloc, and no other thread.
        unsafe { mi_option_set_default(PURGE_DELAY, -1) }
    }
}
