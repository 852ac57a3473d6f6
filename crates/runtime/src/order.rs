//! What comes before what, for the simulated device: vector clocks of tasks and tokens.
//!
//! Whoever calls an operation of the device knows all that comes before it: code outside of tasks what it has awaited, a task what its token was told
//! until it ran and what it has awaited since. A token is told
//!
//! - by whoever ends its open end or its body: what that one knows;
//! - by each token that it depends on: what that one was told until it was complete.
//!
//! An await, and a question for the state of a token that is complete, tell the caller what the token was told. All code outside of tasks counts as one.
//!
//! Without the simulated device, all this is a look at a flag.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ptr::NonNull,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use async_device::Clock;

use crate::token::Token;

static IS_ON: AtomicBool = AtomicBool::new(false);

/// What tokens were told, by their addresses; not those that were told nothing.
static TOLD: Mutex<BTreeMap<usize, Clock>> = Mutex::new(BTreeMap::new());

/// What code outside of tasks knows.
static OUTSIDE: Mutex<Clock> = Mutex::new(Clock::new());

thread_local! {
    /// What the task knows that this thread runs.
    static TASK: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

/// From now on clocks are kept. No operation of a device has begun, and no task runs.
pub fn start() {
    IS_ON.store(true, Ordering::SeqCst);
}

fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

fn told() -> MutexGuard<'static, BTreeMap<usize, Clock>> {
    TOLD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with what the caller knows.
pub fn with_caller<T>(what: impl FnOnce(&mut Clock) -> T) -> T {
    TASK.with_borrow_mut(|task| match task {
        Some(clock) => what(clock),
        None => what(&mut OUTSIDE.lock().unwrap_or_else(PoisonError::into_inner)),
    })
}

fn tell(token: NonNull<Token>, clock: &Clock) {
    if !clock.is_empty() {
        told().entry(token.addr().get()).or_default().join(clock);
    }
}

/// What the token was told.
fn told_to(token: NonNull<Token>) -> Clock {
    told().get(&token.addr().get()).cloned().unwrap_or_default()
}

/// The caller ends the open end of a token, or its body.
pub fn caller_tells(token: NonNull<Token>) {
    if is_on() {
        with_caller(|caller| tell(token, caller));
    }
}

/// A token is complete, and another one depends on it.
pub fn token_tells(on: NonNull<Token>, dependent: NonNull<Token>) {
    if is_on() {
        let mut told = told();
        if let Some(clock) = told.get(&on.addr().get()).cloned() {
            told.entry(dependent.addr().get()).or_default().join(&clock);
        }
    }
}

/// The caller knows that a token is complete.
pub fn caller_learns(token: NonNull<Token>) {
    if is_on() {
        let known = told_to(token);
        with_caller(|caller| caller.join(&known));
    }
}

/// The token is gone.
pub fn forget(token: NonNull<Token>) {
    if is_on() {
        told().remove(&token.addr().get());
    }
}

/// While this lives, the thread runs the body of a task.
pub struct Body {
    is_kept: bool,
    /// What the task knows in which it was called, if it was in one.
    outer: Option<Clock>,
}

/// The body of a token's task begins.
pub fn begin_body(token: NonNull<Token>) -> Body {
    let is_kept = is_on();
    let outer = if is_kept {
        TASK.replace(Some(told_to(token)))
    } else {
        None
    };
    Body { is_kept, outer }
}

impl Drop for Body {
    fn drop(&mut self) {
        if self.is_kept {
            TASK.set(self.outer.take());
        }
    }
}
