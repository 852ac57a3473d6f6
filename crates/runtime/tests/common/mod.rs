//! The C interface for tests in Rust: tokens that count themselves, tasks from closures.

#![allow(dead_code, reason = "each test file uses a part")]

use std::{
    ffi::{CStr, c_char, c_void},
    ptr,
    sync::{Mutex, MutexGuard},
};

use asyncopt_rt::{Census, Token, Type, interface::*};

pub const DONE: i32 = 0;
pub const SUSPENDED: i32 = 1;
pub const PENDING: i32 = 0;
pub const COMPLETE: i32 = 1;
pub const FAILED: i32 = 2;

/// The runtime of this process, for one test at a time. At the end, everything must have been freed.
pub struct Session(#[allow(dead_code)] MutexGuard<'static, ()>);

pub fn session(workers: i32) -> Session {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    assert_eq!(
        asyncopt_rt_set_num_threads(workers),
        0,
        "workers of another test are left"
    );
    Session(guard)
}

impl Drop for Session {
    fn drop(&mut self) {
        asyncopt_rt_shutdown();
        if !std::thread::panicking() {
            assert_eq!(
                Census {
                    unobserved_errors: 0,
                    ..census()
                },
                Census::default()
            );
        }
    }
}

pub fn census() -> Census {
    let mut census = Census::default();
    // SAFETY: it is a place for a census.
    unsafe { asyncopt_rt_take_census(&raw mut census) };
    census
}

/// A reference to a token.
pub struct Tok(pub *mut Token);

// SAFETY: the interface is for all threads.
unsafe impl Send for Tok {}
// SAFETY: as above.
unsafe impl Sync for Tok {}

impl Clone for Tok {
    fn clone(&self) -> Self {
        // SAFETY: the token is alive.
        unsafe { asyncopt_rt_retain(self.0) };
        Self(self.0)
    }
}

impl Drop for Tok {
    fn drop(&mut self) {
        // SAFETY: this reference is given away.
        unsafe { asyncopt_rt_release(self.0) };
    }
}

// SAFETY of all: the token is alive, and used as the header says.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Tok {
    pub fn of_type(kind: Option<&'static Type>) -> Self {
        Self(unsafe { asyncopt_rt_create(kind.map_or(ptr::null(), ptr::from_ref)) })
    }

    /// A join or promise, with an open end.
    pub fn open() -> Self {
        Self::of_type(None)
    }

    pub fn depend(&self, on: &Tok) -> &Self {
        unsafe { asyncopt_rt_depend(self.0, on.0) };
        self
    }

    pub fn submit(&self) {
        unsafe { asyncopt_rt_submit(self.0) };
    }

    pub fn complete(&self) {
        unsafe { asyncopt_rt_complete(self.0) };
    }

    pub fn wait(&self) -> i32 {
        unsafe { asyncopt_rt_await(self.0) }
    }

    pub fn state(&self) -> i32 {
        unsafe { asyncopt_rt_state(self.0) }
    }

    pub fn fail(&self, location: &CStr, message: &CStr) {
        unsafe { asyncopt_rt_fail(self.0, location.as_ptr(), message.as_ptr()) };
    }

    pub fn fail_from(&self, cause: &Tok) {
        unsafe { asyncopt_rt_fail_from(self.0, cause.0) };
    }

    pub fn frame<T>(&self) -> *mut T {
        unsafe { asyncopt_rt_frame(self.0) }.cast()
    }

    /// `location: message`, if there is an error.
    pub fn error(&self) -> Option<String> {
        let text = |text: *const c_char| unsafe {
            (!text.is_null()).then(|| CStr::from_ptr(text).to_str().unwrap().to_owned())
        };
        let location = text(unsafe { asyncopt_rt_error_location(self.0) }).unwrap_or_default();
        let message = text(unsafe { asyncopt_rt_error_message(self.0) })?;
        Some(format!("{location}: {message}"))
    }

    /// Runs `resumed` when this token is complete, as if it were a coroutine.
    pub fn then(&self, resumed: impl FnOnce() + Send + 'static) {
        unsafe extern "C" fn resume(handle: *mut c_void) {
            let resumed = unsafe { Box::from_raw(handle.cast::<Box<dyn FnOnce() + Send>>()) };
            resumed();
        }
        let resumed: Box<dyn FnOnce() + Send> = Box::new(resumed);
        unsafe {
            asyncopt_rt_resume_after(self.0, Box::into_raw(Box::new(resumed)).cast(), resume);
        }
    }
}

type Body = Box<dyn FnOnce(&Tok) -> i32 + Send>;

/// The captures of a task are a closure, which `run` or `skip` takes.
static CLOSURE: Type = Type {
    run: Some(run),
    skip: Some(skip),
    drop: None,
    // Two pointers.
    frame_size: 16,
    frame_align: 8,
    name: c"closure".as_ptr(),
};

unsafe extern "C" fn run(token: *mut Token, frame: *mut c_void) -> i32 {
    // SAFETY: `task` has written it, and it is read once.
    let body = unsafe { frame.cast::<Body>().read() };
    // A reference that is borrowed.
    let this = std::mem::ManuallyDrop::new(Tok(token));
    body(&this)
}

unsafe extern "C" fn skip(frame: *mut c_void) {
    // SAFETY: as above.
    drop(unsafe { frame.cast::<Body>().read() });
}

/// A task that is not yet submitted.
pub fn open_task(body: impl FnOnce(&Tok) -> i32 + Send + 'static) -> Tok {
    let token = Tok::of_type(Some(&CLOSURE));
    let body: Body = Box::new(body);
    // SAFETY: the frame is for it.
    unsafe { token.frame::<Body>().write(body) };
    token
}

/// A task that runs after others.
pub fn task(after: &[&Tok], body: impl FnOnce(&Tok) -> i32 + Send + 'static) -> Tok {
    let token = open_task(body);
    for on in after {
        token.depend(on);
    }
    token.submit();
    token
}

pub fn join(tokens: &[&Tok]) -> Tok {
    let token = Tok::open();
    for on in tokens {
        token.depend(on);
    }
    token.submit();
    token
}
