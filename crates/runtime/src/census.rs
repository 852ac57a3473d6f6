//! Counts of what is alive.
//!
//! Every task changes the counts, so each thread has cells of its own (up to a number of threads), and a census adds them up.

use std::{
    cell::Cell,
    sync::atomic::{AtomicI64, AtomicUsize, Ordering},
};

/// What is counted, in the order of [`Census`].
#[derive(Clone, Copy)]
pub enum Count {
    Tokens,
    Tasks,
    FrameBytes,
    Suspended,
    DeviceAllocations,
    UnobservedErrors,
}

/// What is alive; `asyncopt_rt_census` of the C interface.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Tokens that have not been freed.
    pub tokens: i64,
    /// Tasks that are not complete.
    pub tasks: i64,
    /// Bytes of frames that have not been freed.
    pub frame_bytes: i64,
    /// Coroutines that wait for a token.
    pub suspended: i64,
    /// Allocations by devices that have not been freed.
    pub device_allocations: i64,
    /// Errors that nobody has awaited, since the process started.
    pub unobserved_errors: i64,
}

const COUNTS: usize = 6;
const THREADS: usize = 64;

/// The cells of a thread, on cache lines of their own.
#[repr(align(128))]
struct Cells([AtomicI64; COUNTS]);

static CELLS: [Cells; THREADS] = [const { Cells([const { AtomicI64::new(0) }; COUNTS]) }; THREADS];
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Adds to a count.
pub fn add(count: Count, amount: i64) {
    let mine = MINE.get();
    let mine = if mine == usize::MAX { choose() } else { mine };
    CELLS[mine].0[count as usize].fetch_add(amount, Ordering::Relaxed);
}

#[cold]
fn choose() -> usize {
    let mine = NEXT.fetch_add(1, Ordering::Relaxed) % THREADS;
    MINE.set(mine);
    mine
}

/// Counts what is alive. It is exact while nothing runs.
pub fn take() -> Census {
    let sum = |count: Count| {
        let cells = CELLS.iter().map(|cells| &cells.0[count as usize]);
        cells.map(|cell| cell.load(Ordering::Relaxed)).sum()
    };
    Census {
        tokens: sum(Count::Tokens),
        tasks: sum(Count::Tasks),
        frame_bytes: sum(Count::FrameBytes),
        suspended: sum(Count::Suspended),
        device_allocations: sum(Count::DeviceAllocations),
        unobserved_errors: sum(Count::UnobservedErrors),
    }
}

impl Census {
    /// Whether something is left that a correct program would have freed or awaited.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}
