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
//! `dependents` is a list that grows at its head, without locks, until completion takes it and closes it.

use std::{
    alloc::{Layout, alloc, dealloc, handle_alloc_error},
    ffi::{CStr, c_char, c_void},
    mem::ManuallyDrop,
    ptr::{self, NonNull},
    sync::{Arc, OnceLock},
};

use crate::{
    census::{self, Count},
    error::Error,
    order,
    sync::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, thread::Thread},
};

/// What all tasks of one static operation have in common; `asyncopt_rt_type` of the C interface.
#[repr(C)]
pub struct Type {
    /// The body.
    pub run: Option<unsafe extern "C" fn(*mut Token, *mut c_void) -> i32>,
    /// Releases the captures of a body that is not run.
    pub skip: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Releases the results.
    pub drop: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Bytes of the frame.
    pub frame_size: i64,
    /// Their alignment.
    pub frame_align: i64,
    /// For traces.
    pub name: *const c_char,
}

// SAFETY: a type is constant, and its functions may be called by any thread.
unsafe impl Sync for Type {}

/// What `run` returns if the body goes on.
pub const SUSPENDED: i32 = 1;

const MAX_ALIGN: usize = 4096;

/// A token, always behind a `Ref` or a pointer of the C interface. The frame follows it.
pub struct Token {
    references: AtomicUsize,
    pending: AtomicUsize,
    dependents: AtomicPtr<Link>,
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
    /// For the first dependency; others are allocated.
    link: Link,
}

/// An element of a list of dependents.
struct Link {
    /// Written by who owns the link, before it is in the list, and by who has taken the list.
    next: AtomicPtr<Link>,
    target: Target,
}

enum Target {
    /// The token that this link is a part of.
    Inside(NonNull<Token>),
    /// Another token.
    Token(NonNull<Token>),
    /// A thread that waits.
    Thread(Thread),
}

/// An owned reference to a token.
pub struct Ref(NonNull<Token>);

// SAFETY: all that threads share is atomic; frames are ordered by dependencies.
unsafe impl Send for Ref {}
// SAFETY: as above.
unsafe impl Sync for Ref {}

/// The list of dependents of a complete token.
fn closed() -> *mut Link {
    ptr::without_provenance_mut(1)
}

static NO_TYPE: Type = Type {
    run: None,
    skip: None,
    drop: None,
    frame_size: 0,
    frame_align: 1,
    name: ptr::null(),
};

/// A coroutine that waits is a task that resumes it, whether or not the dependency has failed.
static RESUME: Type = Type {
    run: Some(resume_run),
    skip: Some(resume),
    drop: None,
    // Two pointers.
    frame_size: 16,
    frame_align: 8,
    name: c"resume".as_ptr(),
};

const _: () = assert!(size_of::<Resume>() <= 16 && align_of::<Resume>() <= 8);

#[repr(C)]
struct Resume {
    handle: *mut c_void,
    resume: unsafe extern "C" fn(*mut c_void),
}

unsafe extern "C" fn resume_run(_: *mut Token, frame: *mut c_void) -> i32 {
    // SAFETY: as for this function.
    unsafe { resume(frame) };
    0
}

unsafe extern "C" fn resume(frame: *mut c_void) {
    // SAFETY: only `Ref::resumption` makes such frames.
    let Resume { handle, resume } = unsafe { frame.cast::<Resume>().read() };
    // SAFETY: the compiled program promises that it may be called once the token is complete.
    unsafe { resume(handle) };
}

impl Type {
    /// The layout of a token with its frame, and the place of the frame.
    fn layout(&self) -> (Layout, usize) {
        let frame = usize::try_from(self.frame_size).ok().and_then(|size| {
            let align = usize::try_from(self.frame_align)
                .ok()
                .filter(|&align| align <= MAX_ALIGN)?;
            Layout::from_size_align(size, align).ok()
        });
        frame.and_then(|frame| Layout::new::<Token>().extend(frame).ok()).unwrap_or_else(|| {
            panic!(
                "asyncopt_rt: a frame of {} bytes can't be aligned to {}: give a power of two, at most {MAX_ALIGN}",
                self.frame_size, self.frame_align
            )
        })
    }

    fn count(&self, amount: i64) {
        if ptr::eq(self, &raw const RESUME) {
            census::add(Count::Suspended, amount);
        } else {
            census::add(Count::Tokens, amount);
            if self.frame_size > 0 {
                census::add(Count::FrameBytes, self.frame_size * amount);
            }
        }
    }

    fn is_task(&self) -> bool {
        self.run.is_some() && !ptr::eq(self, &raw const RESUME)
    }

    /// The name for traces.
    pub fn name(&self) -> &CStr {
        if self.name.is_null() {
            return c"task";
        }
        // SAFETY: the compiled program promises that it is a string, which lives as long as the type.
        unsafe { CStr::from_ptr(self.name) }
    }
}

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
                dependents: AtomicPtr::new(ptr::null_mut()),
                kind,
                error: OnceLock::new(),
                always: AtomicBool::new(false),
                started: AtomicBool::new(false),
                failed: AtomicBool::new(false),
                trailing: AtomicBool::new(false),
                linked: AtomicBool::new(false),
                link: Link {
                    next: AtomicPtr::new(ptr::null_mut()),
                    target: Target::Inside(token),
                },
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
        self.token().dependents.load(Ordering::Acquire) == closed()
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
            Link::allocate(Target::Token(self.0))
        } else {
            ptr::from_ref(&me.link).cast_mut()
        };
        // SAFETY: `pending` keeps this token, and so the link in it, until `on` is complete.
        if !unsafe { on.push_link(link) } {
            if let Some(error) = on.error() {
                let _ = me.error.set(error.clone());
            }
            order::token_tells(on.0, self.0);
            me.pending.fetch_sub(1, Ordering::Relaxed);
            // SAFETY: the list has not taken it.
            unsafe { Link::free(link) };
        }
    }

    /// Wakes `thread` when this token is complete. False if it is already.
    pub fn wake(&self, thread: Thread) -> bool {
        let link = Link::allocate(Target::Thread(thread));
        // SAFETY: it is allocated.
        let pushed = unsafe { self.push_link(link) };
        if !pushed {
            // SAFETY: the list has not taken it.
            unsafe { Link::free(link) };
        }
        pushed
    }

    /// Adds to the list of dependents. False if the token is complete.
    ///
    /// # Safety
    ///
    /// The link must be valid until the token is complete.
    unsafe fn push_link(&self, link: *mut Link) -> bool {
        let dependents = &self.token().dependents;
        let mut head = dependents.load(Ordering::Acquire);
        loop {
            if head == closed() {
                return false;
            }
            // SAFETY: valid, as the caller promises.
            unsafe { &*link }.next.store(head, Ordering::Relaxed);
            match dependents.compare_exchange_weak(head, link, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => head = now,
            }
        }
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
        let newest = self.token().dependents.swap(closed(), Ordering::AcqRel);
        let mut link = Link::reverse(newest);
        while !link.is_null() {
            // SAFETY: links in a list are valid until `pending` of their tokens is decreased, which is below.
            let next = unsafe { &*link }.next.load(Ordering::Relaxed);
            // SAFETY: as above.
            let target = match unsafe { &(*link).target } {
                Target::Inside(token) | Target::Token(token) => Some(*token),
                Target::Thread(thread) => {
                    thread.unpark();
                    None
                }
            };
            // SAFETY: it is no longer in a list.
            unsafe { Link::free(link) };
            link = next;
            let Some(target) = target else { continue };
            if let Some(error) = self.error() {
                // SAFETY: this dependency is still pending, which keeps it alive.
                let _ = unsafe { target.as_ref() }.error.set(error.clone());
            }
            order::token_tells(self.0, target);
            // SAFETY: this dependency is complete, and its link is gone.
            if let Some(token) = unsafe { Self::release_pending(target) } {
                if token.is_ready() {
                    ready(token);
                } else {
                    complete.push(token);
                }
            }
        }
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

impl Link {
    fn allocate(target: Target) -> *mut Self {
        Box::into_raw(Box::new(Self {
            next: AtomicPtr::new(ptr::null_mut()),
            target,
        }))
    }

    /// Frees a link that was allocated.
    ///
    /// # Safety
    ///
    /// The link is valid, and nobody uses it afterwards.
    unsafe fn free(link: *mut Self) {
        // SAFETY: valid, as the caller promises.
        if !matches!(unsafe { &(*link).target }, Target::Inside(_)) {
            // SAFETY: the others are allocated as boxes.
            drop(unsafe { Box::from_raw(link) });
        }
    }

    /// A list in the other direction, oldest first.
    fn reverse(mut list: *mut Self) -> *mut Self {
        let mut reversed = ptr::null_mut();
        while !list.is_null() {
            // SAFETY: links of a list that was taken are valid, and the taker's own.
            let next = unsafe { &*list }.next.load(Ordering::Relaxed);
            // SAFETY: as above.
            unsafe { &*list }.next.store(reversed, Ordering::Relaxed);
            reversed = list;
            list = next;
        }
        reversed
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
