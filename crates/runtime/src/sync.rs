//! What loom replaces when it checks this crate.

#[cfg(not(loom))]
pub use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence},
    },
    thread,
};

#[cfg(loom)]
pub use loom::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence},
    },
    thread,
};
