//! Workers without work: who looks for some, who sleeps, and whom to wake.
//!
//! A worker *searches*, then sleeps. Whoever makes work wakes a sleeper, unless somebody searches already. No wake-up is lost:
//!
//! - a maker of work pushes it, then (fence) looks at `searching` and `sleeping`;
//! - a worker that gives up writes `sleeping` and `searching`, then (fence) looks for work once more;
//! - a worker that has found work and was the last to search looks whether there is more, and if so wakes another.
//!
//! One of two fences comes first, so either the maker sees the sleeper or the worker sees the work.

use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, fence, thread::Thread};
use std::sync::Arc;

/// The idle workers of a pool.
pub struct Idle {
    /// How many workers search, including those that were woken to do so.
    searching: AtomicUsize,
    /// The length of `sleepers`.
    sleeping: AtomicUsize,
    sleepers: Mutex<Vec<Arc<Sleeper>>>,
}

/// A worker that can sleep.
pub struct Sleeper {
    thread: Thread,
    woken: AtomicBool,
}

impl Sleeper {
    /// The calling worker.
    pub fn current() -> Arc<Self> {
        Arc::new(Self {
            thread: crate::sync::thread::current(),
            woken: AtomicBool::new(false),
        })
    }
}

impl Idle {
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            searching: AtomicUsize::new(0),
            sleeping: AtomicUsize::new(0),
            sleepers: Mutex::new(Vec::new()),
        }
    }

    /// The calling worker has run out of work.
    pub fn begin_search(&self) {
        self.searching.fetch_add(1, Ordering::Relaxed);
    }

    /// The calling worker, which searched, no longer does, for it has found work or ends.
    pub fn end_search(&self, has_work: impl Fn() -> bool) {
        if self.searching.fetch_sub(1, Ordering::Relaxed) == 1 {
            fence(Ordering::SeqCst);
            if self.sleeping.load(Ordering::Relaxed) > 0 && has_work() {
                self.wake_one();
            }
        }
    }

    /// There is new work.
    pub fn notify(&self) {
        fence(Ordering::SeqCst);
        if self.searching.load(Ordering::Relaxed) == 0 && self.sleeping.load(Ordering::Relaxed) > 0 {
            self.wake_one();
        }
    }

    /// Wakes all, so that they see that they should end.
    pub fn wake_all(&self) {
        fence(Ordering::SeqCst);
        while self.sleeping.load(Ordering::Relaxed) > 0 {
            self.wake_one();
        }
    }

    /// The calling worker, which searches, sleeps until there may be work, and searches again.
    pub fn sleep(&self, me: &Arc<Sleeper>, has_work: impl Fn() -> bool) {
        {
            let mut sleepers = self.sleepers.lock().unwrap();
            me.woken.store(false, Ordering::Relaxed);
            sleepers.push(me.clone());
            self.sleeping.store(sleepers.len(), Ordering::Relaxed);
            self.searching.fetch_sub(1, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
        if has_work() && self.get_up(me) {
            return;
        }
        while !me.woken.load(Ordering::Acquire) {
            crate::sync::thread::park();
        }
    }

    /// Takes the calling worker off the list. False if somebody else has done so.
    fn get_up(&self, me: &Arc<Sleeper>) -> bool {
        let mut sleepers = self.sleepers.lock().unwrap();
        let Some(position) = sleepers.iter().position(|sleeper| Arc::ptr_eq(sleeper, me)) else {
            return false;
        };
        sleepers.remove(position);
        self.sleeping.store(sleepers.len(), Ordering::Relaxed);
        self.searching.fetch_add(1, Ordering::Relaxed);
        true
    }

    #[cold]
    fn wake_one(&self) {
        let sleeper = {
            let mut sleepers = self.sleepers.lock().unwrap();
            let Some(sleeper) = sleepers.pop() else { return };
            self.sleeping.store(sleepers.len(), Ordering::Relaxed);
            // On its behalf, so that nobody wakes another for the same work.
            self.searching.fetch_add(1, Ordering::Relaxed);
            sleeper
        };
        sleeper.woken.store(true, Ordering::Release);
        sleeper.thread.unpark();
    }
}

#[cfg(all(test, loom))]
#[path = "idle_loom.rs"]
mod loom_tests;
