//! The C interface. `include/asyncopt_rt.h` documents each function and what callers promise, which all `SAFETY` comments here rely on.

#![allow(missing_docs, clippy::missing_safety_doc)]

mod device;

use std::{
    cell::RefCell,
    ffi::{CStr, c_char, c_void},
    mem::ManuallyDrop,
    ptr::{self, NonNull},
    sync::Arc,
};

use crate::{
    census::{self, Census},
    error::Error,
    pool::POOL,
    token::{Ref, Token, Type},
    trace,
};

pub use device::*;

const PENDING: i32 = 0;
const COMPLETE: i32 = 1;
const FAILED: i32 = 2;

/// The token behind a pointer. A null pointer is a complete token.
///
/// # Safety
///
/// The caller of the C function keeps the token alive until it returns.
unsafe fn borrow(token: *mut Token) -> Option<ManuallyDrop<Ref>> {
    // SAFETY: as the caller promises.
    NonNull::new(token).map(|token| unsafe { Ref::borrow(token) })
}

/// The string behind a pointer.
///
/// # Safety
///
/// It is null or a string that lives until the C function returns.
unsafe fn string<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: as the caller promises.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

fn state(token: &Ref) -> i32 {
    if !token.is_complete() {
        return PENDING;
    }
    token.learn();
    if token.error().is_some() { FAILED } else { COMPLETE }
}

fn push(task: Ref) {
    POOL.push(task);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_create(kind: *const Type) -> *mut Token {
    // SAFETY: the type is null or constant, and its functions are as the header says.
    unsafe { Ref::new(kind.as_ref()) }.into_raw()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_frame(token: *mut Token) -> *mut c_void {
    // SAFETY: the token is alive.
    unsafe { borrow(token) }.map_or(ptr::null_mut(), |token| token.frame())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_depend(task: *mut Token, on: *mut Token) {
    // SAFETY: both are alive.
    if let (Some(task), Some(on)) = unsafe { (borrow(task), borrow(on)) } {
        // SAFETY: the task is new, or its body calls this.
        unsafe { task.depend(&on) };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_run_always(task: *mut Token) {
    // SAFETY: the token is alive, and its open end is due.
    if let Some(task) = unsafe { borrow(task) } {
        // SAFETY: as above.
        unsafe { task.run_always() };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_submit(token: *mut Token) {
    // SAFETY: the token is alive, and its open end is due.
    if let Some(token) = unsafe { borrow(token) } {
        // SAFETY: as above.
        unsafe { token.settle(&mut push) };
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_complete(token: *mut Token) {
    // SAFETY: the body of the token is due, which is the same to the token.
    unsafe { asyncopt_rt_submit(token) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_retain(token: *mut Token) {
    // SAFETY: the token is alive.
    if let Some(token) = unsafe { borrow(token) } {
        let _ = Ref::clone(&token).into_raw();
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_release(token: *mut Token) {
    if let Some(token) = NonNull::new(token) {
        // SAFETY: the caller gives its reference away.
        drop(unsafe { Ref::from_raw(token) });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_state(token: *mut Token) -> i32 {
    // SAFETY: the token is alive.
    unsafe { borrow(token) }.map_or(COMPLETE, |token| state(&token))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_has_results(token: *mut Token) -> i32 {
    // SAFETY: the token is alive.
    unsafe { borrow(token) }.map_or(1, |token| i32::from(token.has_results()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_expect_complete(token: *mut Token, location: *const c_char) {
    // SAFETY: the token is alive.
    let Some(token) = (unsafe { borrow(token) }).filter(|token| !token.has_results()) else {
        return;
    };
    let what = match token.error().filter(|_| token.is_complete()) {
        Some(error) => format!("a value is used whose task has failed\n{error}"),
        None => format!(
            "a value of the task '{}' is used before its token is complete: await the token first, or make it a dependency",
            token.kind().name().to_string_lossy()
        ),
    };
    // SAFETY: the location is a string or null.
    let location = unsafe { string(location) };
    let location = location.map_or(String::new(), |place| format!("{}: ", place.to_string_lossy()));
    abort(&format!("{location}error: {what}"));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_resume_after(
    on: *mut Token,
    handle: *mut c_void,
    resume: unsafe extern "C" fn(*mut c_void),
) {
    // SAFETY: the caller has suspended the coroutine.
    let task = unsafe { Ref::resumption(handle, resume) };
    // SAFETY: the token is alive.
    if let Some(on) = unsafe { borrow(on) } {
        // SAFETY: the task is new.
        unsafe { task.depend(&on) };
    }
    // SAFETY: the task is new.
    unsafe { task.settle(&mut push) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_await(token: *mut Token) -> i32 {
    // SAFETY: the token is alive.
    let Some(token) = (unsafe { borrow(token) }) else {
        return COMPLETE;
    };
    POOL.await_token(&token);
    token.error().inspect(|error| error.observe());
    state(&token)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_await_or_abort(token: *mut Token, location: *const c_char) {
    // SAFETY: the token is alive.
    let (_, token) = unsafe { (asyncopt_rt_await(token), borrow(token)) };
    if let Some(error) = token.as_ref().and_then(|token| token.error()) {
        // SAFETY: the location is a string or null.
        let location = unsafe { string(location) };
        let location = location.map(|place| format!("\n{}: note: awaited here", place.to_string_lossy()));
        abort(&format!("{error}{}", location.unwrap_or_default()));
    }
}

thread_local! {
    /// The last error that compiled code has returned a status for.
    static LAST_ERROR: RefCell<Option<Arc<Error>>> = const { RefCell::new(None) };
}

fn abort(message: &str) -> ! {
    // What the program has printed so far is of interest, too.
    // SAFETY: a null pointer stands for all streams.
    unsafe { libc::fflush(ptr::null_mut()) };
    eprintln!("{message}");
    std::process::abort()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_fail(
    token: *mut Token,
    location: *const c_char,
    message: *const c_char,
) {
    // SAFETY: the strings are strings or null.
    let (location, message) = unsafe { (string(location), string(message)) };
    // SAFETY: the token is alive.
    unsafe { fail(token, Error::new(location, message.unwrap_or(c"failed"))) };
}

/// Sets the error of a token, or if there is none aborts.
///
/// # Safety
///
/// The token is null, or its body or open end is due.
unsafe fn fail(token: *mut Token, error: Error) {
    // SAFETY: as the caller promises.
    match unsafe { borrow(token) } {
        Some(token) => token.fail(Arc::new(error)),
        None => abort(&error.to_string()),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_fail_from(token: *mut Token, cause: *mut Token) {
    // SAFETY: both are alive.
    if let (Some(token), Some(cause)) = unsafe { (borrow(token), borrow(cause)) }
        && let Some(error) = cause.error()
    {
        token.fail(error.clone());
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_error_location(token: *mut Token) -> *const c_char {
    // SAFETY: the token is alive.
    let token = unsafe { borrow(token) };
    let location = token.as_ref().and_then(|token| token.error()?.location());
    location.map_or(ptr::null(), CStr::as_ptr)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_error_message(token: *mut Token) -> *const c_char {
    // SAFETY: the token is alive.
    let token = unsafe { borrow(token) };
    let error = token.as_ref().and_then(|token| token.error());
    error
        .inspect(|error| error.observe())
        .map_or(ptr::null(), |error| error.message().as_ptr())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_note_error(location: *const c_char, message: *const c_char) {
    // SAFETY: the strings are strings or null.
    let (location, message) = unsafe { (string(location), string(message)) };
    let error = Error::new(location, message.unwrap_or(c"failed"));
    error.observe();
    LAST_ERROR.set(Some(Arc::new(error)));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_note_error_of(token: *mut Token) {
    // SAFETY: the token is alive.
    if let Some(error) = unsafe { borrow(token) }.as_ref().and_then(|token| token.error()) {
        error.observe();
        LAST_ERROR.set(Some(error.clone()));
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn asyncopt_rt_last_error_location() -> *const c_char {
    LAST_ERROR.with_borrow(|error| {
        let location = error.as_ref().and_then(|error| error.location());
        location.map_or(ptr::null(), CStr::as_ptr)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn asyncopt_rt_last_error_message() -> *const c_char {
    LAST_ERROR.with_borrow(|error| {
        let message = error.as_ref().map(|error| error.message());
        message.map_or(ptr::null(), CStr::as_ptr)
    })
}

/// What the frames of coroutines are aligned to: what any vector of any processor needs.
const COROUTINE_ALIGNMENT: usize = 128;

#[unsafe(no_mangle)]
pub extern "C" fn asyncopt_rt_allocate(size: i64) -> *mut c_void {
    let mut memory = ptr::null_mut();
    let size = usize::try_from(size).unwrap_or(usize::MAX).max(1);
    // SAFETY: a place for the pointer, and an alignment that is a power of two.
    match unsafe { libc::posix_memalign(&raw mut memory, COROUTINE_ALIGNMENT, size) } {
        0 => memory,
        _ => abort(&format!(
            "error: there is no memory for a coroutine of {size} bytes"
        )),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_deallocate(memory: *mut c_void) {
    // SAFETY: it is from the function above.
    unsafe { libc::free(memory) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_abort(location: *const c_char, message: *const c_char) {
    // SAFETY: a null token aborts.
    unsafe { asyncopt_rt_fail(ptr::null_mut(), location, message) };
}

#[unsafe(no_mangle)]
pub extern "C" fn asyncopt_rt_set_num_threads(workers: i32) -> i32 {
    i32::from(!POOL.set_workers(usize::try_from(workers).unwrap_or(1)))
}

#[unsafe(no_mangle)]
pub extern "C" fn asyncopt_rt_num_threads() -> i32 {
    i32::try_from(POOL.num_workers()).unwrap_or(i32::MAX)
}

#[unsafe(no_mangle)]
pub extern "C" fn asyncopt_rt_blocking_begin() {
    POOL.begin_blocking();
}

#[unsafe(no_mangle)]
pub extern "C" fn asyncopt_rt_blocking_end() {
    POOL.end_blocking();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_take_census(census: *mut Census) {
    // SAFETY: the caller wants it there.
    unsafe { census.write(census::take()) };
}

#[unsafe(no_mangle)]
pub extern "C" fn asyncopt_rt_shutdown() {
    POOL.shut_down();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_trace(path: *const c_char) {
    // SAFETY: it is a string.
    if let Some(path) = unsafe { string(path) } {
        trace::start(&path.to_string_lossy());
    }
}

/// Registers the shutdown at the end of the process, or when this library is unloaded.
pub(crate) fn shut_down_at_exit() {
    // SAFETY: it may be called at exit.
    unsafe { libc::atexit(asyncopt_rt_shutdown) };
}
