//! Tokens: reference counts, dependencies, completion.
//!
//! A token is an allocation with a frame behind it. Two counts decide its life:
//!
//! - `references`: it is freed when that reaches zero. One reference belongs to the runtime until the token is complete.
//! - `pending`: what delays the token: its open end until [`Ref::settle`], and each dependency. At zero, the token's body is ready to run,
//!   or if there is none or it has run, the token is complete. While the body runs, `pending` has one for it.
//!
//! The runtime's reference belongs to whoever brings `pending` to zero, and travels with the ready task.
//!
//! Completion closes the list of dependents, see `dependents`.

mod dependents;
mod kind;

use std::{
    alloc::{alloc, dealloc, handle_alloc_error},
    ffi::c_void,
    mem::ManuallyDrop,
    ptr::NonNull,
    sync::{Arc, OnceLock},
};

use dependents::{Dependents, Link};
use kind::{NO_TYPE, RESUME, Resume};
pub use kind::{SUSPENDED, Type};

use crate::{
    census::{self, Count},
    error::Error,
    order,
    sync::{AtomicBool, AtomicUsize, Ordering, thread::Thread},
};

/// A token, always behind a `Ref` or a pointer of the C interface. The frame follows it.
pub struct Token {
    references: AtomicUsize,
    pending: AtomicUsize,
    dependents: Dependents,
    kind: &'static Type,
    error: OnceLock<Arc<Error>>,
    /// Whether the body is called although a dependency has failed.
    always: AtomicBool,
    /// Whether the body has been called.
    started: AtomicBool,
    /// Whether the body has failed, so that there are no results.
    failed: AtomicBool,
    /// Whether what devices do for the body may go on after it.
    trailing: AtomicBool,
    /// Whether `link` is taken.
    linked: AtomicBool,
    /// For the first dependency.
    link: Link,
}

/// An owned reference to a token.
pub struct Ref(NonNull<Token>);

// SAFETY: all that threads share is atomic; frames are ordered by dependencies.
unsafe impl Send for Ref {}
// SAFETY: as above.
unsafe impl Sync for Ref {}

impl Ref {
    /// A token with an open end, and a reference for the caller.
    ///
    /// # Safety
    ///
    /// The functions of the type must do what `asyncopt_rt.h` says.
    pub unsafe fn new(kind: Option<&'static Type>) -> Self {
        let kind = kind.unwrap_or(&NO_TYPE);
        let (layout, _) = kind.layout();
        // SAFETY: a token is not empty.
        let Some(token) = NonNull::new(unsafe { alloc(layout) }).map(NonNull::cast::<Token>) else {
            handle_alloc_error(layout)
        };
        // SAFETY: it is freshly allocated.
        unsafe {
            token.write(Token {
                references: AtomicUsize::new(2),
                pending: AtomicUsize::new(1),
                dependents: Dependents::new(),
                kind,
                error: OnceLock::new(),
                always: AtomicBool::new(false),
                started: AtomicBool::new(false),
                failed: AtomicBool::new(false),
                trailing: AtomicBool::new(false),
                linked: AtomicBool::new(false),
                link: Link::inside(token),
            });
        }
        kind.count(1);
        if kind.is_task() {
            census::add(Count::Tasks, 1);
        }
        Self(token)
    }

    /// A task that resumes a coroutine.
    ///
    /// # Safety
    ///
    /// It must be right to call `resume(handle)` once, on any thread, once the task runs.
    pub unsafe fn resumption(handle: *mut c_void, resume: unsafe extern "C" fn(*mut c_void)) -> Self {
        // SAFETY: `RESUME` is such a type.
        let task = unsafe { Self::new(Some(&RESUME)) };
        // SAFETY: the frame has this type, and nobody else knows it yet.
        unsafe { task.frame().cast::<Resume>().write(Resume { handle, resume }) };
        task
    }

    /// Gives the reference to C.
    pub fn into_raw(self) -> *mut Token {
        ManuallyDrop::new(self).0.as_ptr()
    }

    /// Takes a reference from C.
    ///
    /// # Safety
    ///
    /// The caller owned a reference to `token`, and no longer does.
    pub unsafe fn from_raw(token: NonNull<Token>) -> Self {
        Self(token)
    }

    /// The token, for as long as it is sure to live.
    ///
    /// # Safety
    ///
    /// The result must not be used after the last reference is gone.
    pub unsafe fn borrow(token: NonNull<Token>) -> ManuallyDrop<Self> {
        ManuallyDrop::new(Self(token))
    }

    fn token(&self) -> &Token {
        // SAFETY: this reference keeps it alive.
        unsafe { self.0.as_ref() }
    }

    /// The frame.
    pub fn frame(&self) -> *mut c_void {
        let (_, offset) = self.token().kind.layout();
        // SAFETY: the frame is a part of the allocation, or empty at its end.
        unsafe { self.0.as_ptr().cast::<u8>().add(offset) }.cast()
    }

    /// What it was made with.
    pub fn kind(&self) -> &'static Type {
        self.token().kind
    }

    /// Whether it is complete, with or without an error.
    pub fn is_complete(&self) -> bool {
        self.token().dependents.are_closed()
    }

    /// Whether it is complete, and its frame holds results.
    pub fn has_results(&self) -> bool {
        self.is_complete() && self.token().has_results()
    }

    /// Its body is to be called although a dependency fails.
    ///
    /// # Safety
    ///
    /// The open end of this token is still due.
    pub unsafe fn run_always(&self) {
        self.token().always.store(true, Ordering::Relaxed);
    }

    /// What devices do for its body from now on may go on after it, and delays the token.
    pub fn set_trailing(&self) {
        self.token().trailing.store(true, Ordering::Relaxed);
    }

    /// Whether what devices do for its body may go on after it.
    pub fn is_trailing(&self) -> bool {
        self.token().trailing.load(Ordering::Relaxed)
    }

    /// The caller knows that it is complete.
    pub fn learn(&self) {
        order::caller_learns(self.0);
    }

    /// Its error so far.
    pub fn error(&self) -> Option<&Arc<Error>> {
        self.token().error.get()
    }

    /// Its body fails; or who delivers it does. The first error wins.
    pub fn fail(&self, error: Arc<Error>) {
        self.token().failed.store(true, Ordering::Relaxed);
        let _ = self.token().error.set(error);
    }

    /// `on` delays this token.
    ///
    /// # Safety
    ///
    /// The open end of this token, or its body, is still due.
    pub unsafe fn depend(&self, on: &Self) {
        let me = self.token();
        me.pending.fetch_add(1, Ordering::Relaxed);
        let link = if me.linked.swap(true, Ordering::Relaxed) {
            Link::of_token(self.0)
        } else {
            NonNull::from(&me.link)
        };
        // SAFETY: `pending` keeps this token, and so the link in it, until `on` is complete.
        if !unsafe { on.token().dependents.push(link) } {
            if let Some(error) = on.error() {
                let _ = me.error.set(error.clone());
            }
            order::token_tells(on.0, self.0);
            me.pending.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Wakes `thread` when this token is complete. False if it is already.
    pub fn wake(&self, thread: Thread) -> bool {
        // SAFETY: the link is the list's own.
        unsafe { self.token().dependents.push(Link::of_thread(thread)) }
    }

    /// Ends the open end of a token, or its body. `ready` gets all tasks that can run now.
    ///
    /// # Safety
    ///
    /// The caller adds no dependency afterwards, and calls this once for the open end and once for the body.
    pub unsafe fn settle(&self, ready: &mut impl FnMut(Ref)) {
        order::caller_tells(self.0);
        // SAFETY: it is still due.
        let Some(token) = (unsafe { Self::release_pending(self.0) }) else {
            return;
        };
        token.advance(ready);
    }

    /// Takes one from `pending`. At zero, the caller has the runtime's reference.
    ///
    /// # Safety
    ///
    /// The caller, or the dependency that is complete, is a part of `pending`.
    unsafe fn release_pending(token: NonNull<Token>) -> Option<Ref> {
        // SAFETY: while something is pending, the runtime's reference keeps the token alive.
        let before = unsafe { token.as_ref() }.pending.fetch_sub(1, Ordering::AcqRel);
        (before == 1).then(|| Self(token))
    }

    /// Nothing is pending any more: the token is ready to run, or complete.
    fn advance(self, ready: &mut impl FnMut(Ref)) {
        if self.is_ready() {
            return ready(self);
        }
        // Joins are completed here and now, one after another, so that chains of them take no stack.
        let mut complete = vec![];
        self.complete(ready, &mut complete);
        while let Some(token) = complete.pop() {
            token.complete(ready, &mut complete);
        }
    }

    /// Whether the body is still to be run.
    fn is_ready(&self) -> bool {
        self.token().kind.run.is_some() && !self.token().started.load(Ordering::Relaxed)
    }

    /// Completes the token. Its dependents go to `ready` if they can run, and to `complete` if they have nothing to run.
    fn complete(self, ready: &mut impl FnMut(Ref), complete: &mut Vec<Ref>) {
        if self.token().kind.is_task() {
            census::add(Count::Tasks, -1);
        }
        self.token().dependents.close(|dependent| {
            if let Some(error) = self.error() {
                // SAFETY: this dependency is still pending, which keeps it alive.
                let _ = unsafe { dependent.as_ref() }.error.set(error.clone());
            }
            order::token_tells(self.0, dependent);
            // SAFETY: this dependency is complete, and its link is gone.
            if let Some(token) = unsafe { Self::release_pending(dependent) } {
                if token.is_ready() {
                    ready(token);
                } else {
                    complete.push(token);
                }
            }
        });
    }

    /// Runs a ready task. What gets ready when it is complete goes to `ready`.
    pub fn run(self, ready: &mut impl FnMut(Ref)) {
        // Until its body has ended, the runtime's reference belongs to `pending` again.
        let this = ManuallyDrop::new(self);
        let token = this.token();
        token.pending.store(1, Ordering::Relaxed);
        token.started.store(true, Ordering::Relaxed);
        let _body = order::begin_body(this.0);
        // One of `run` and `skip` is called, once, as `asyncopt_rt.h` promises.
        if token.error.get().is_some() && !token.always.load(Ordering::Relaxed) {
            // It has no results.
            token.failed.store(true, Ordering::Relaxed);
            if let Some(skip) = token.kind.skip {
                // SAFETY: the type promises that it may be called.
                unsafe { skip(this.frame()) };
            }
        } else if let Some(run) = token.kind.run {
            // SAFETY: as above.
            if unsafe { run(this.0.as_ptr(), this.frame()) } == SUSPENDED {
                return;
            }
        }
        // SAFETY: the body has ended, and is a part of `pending`.
        unsafe { this.settle(ready) };
    }
}

impl Token {
    /// Whether the frame of a token that is complete holds results.
    fn has_results(&self) -> bool {
        let delivered = self.kind.run.is_none() || self.started.load(Ordering::Relaxed);
        delivered && !self.failed.load(Ordering::Relaxed)
    }
}

impl Clone for Ref {
    fn clone(&self) -> Self {
        self.token().references.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }
}

impl Drop for Ref {
    fn drop(&mut self) {
        // Not Release and a fence, which the thread sanitizer doesn't know.
        if self.token().references.fetch_sub(1, Ordering::AcqRel) == 1 {
            free(self.0);
        }
    }
}

#[cfg(loom)]
use loom::thread_local;
#[cfg(not(loom))]
use std::thread_local;

#[allow(clippy::missing_const_for_thread_local, reason = "loom's are not constant")]
mod freeing {
    use super::{NonNull, Token, thread_local};

    thread_local! {
        /// Tokens to free, while `drop` of another is called: results may own tokens, whose results own tokens, and so on.
        pub static FREEING: std::cell::RefCell<Option<Vec<NonNull<Token>>>> = std::cell::RefCell::new(None);
    }
}
use freeing::FREEING;

/// Frees a token that nobody refers to.
fn free(token: NonNull<Token>) {
    // SAFETY: it is still there, and this thread's own.
    let kind = unsafe { token.as_ref() }.kind;
    if kind.drop.is_none() {
        return free_now(token);
    }
    let nested = FREEING.with(|freeing| {
        let mut freeing = freeing.borrow_mut();
        match &mut *freeing {
            Some(others) => others.push(token),
            None => *freeing = Some(vec![]),
        }
        freeing.as_ref().is_some_and(|others| !others.is_empty())
    });
    if nested {
        return;
    }
    free_now(token);
    loop {
        let next = FREEING.with(|freeing| freeing.borrow_mut().as_mut().and_then(Vec::pop));
        let Some(token) = next else { break };
        free_now(token);
    }
    FREEING.with(|freeing| *freeing.borrow_mut() = None);
}

fn free_now(token: NonNull<Token>) {
    // SAFETY: nobody else refers to it.
    let this = unsafe { token.as_ref() };
    let kind = this.kind;
    let (layout, offset) = kind.layout();
    order::forget(token);
    if let Some(drop) = kind.drop
        && this.has_results()
    {
        // SAFETY: the frame is a part of the allocation, and has results.
        unsafe { drop(token.as_ptr().cast::<u8>().add(offset).cast()) };
    }
    kind.count(-1);
    // SAFETY: it was written and allocated in `Ref::new`, with this layout.
    unsafe {
        token.drop_in_place();
        dealloc(token.as_ptr().cast(), layout);
    }
}

#[cfg(all(test, loom))]
#[path = "token_loom.rs"]
mod loom_tests;
