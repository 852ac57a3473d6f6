//! Types of tokens: what all tasks of one static operation have in common.

use std::{
    alloc::Layout,
    ffi::{CStr, c_char, c_void},
    ptr,
};

use super::Token;
use crate::census::{self, Count};

/// `asyncopt_rt_type` of the C interface.
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

impl Type {
    /// The layout of a token with its frame, and the place of the frame.
    pub(super) fn layout(&self) -> (Layout, usize) {
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

    pub(super) fn count(&self, amount: i64) {
        if ptr::eq(self, &raw const RESUME) {
            census::add(Count::Suspended, amount);
        } else {
            census::add(Count::Tokens, amount);
            if self.frame_size > 0 {
                census::add(Count::FrameBytes, self.frame_size * amount);
            }
        }
    }

    pub(super) fn is_task(&self) -> bool {
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

/// Of a token without a body and a frame.
pub(super) static NO_TYPE: Type = Type {
    run: None,
    skip: None,
    drop: None,
    frame_size: 0,
    frame_align: 1,
    name: ptr::null(),
};

/// A coroutine that waits is a task that resumes it, whether or not the dependency has failed.
pub(super) static RESUME: Type = Type {
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
pub(super) struct Resume {
    pub handle: *mut c_void,
    pub resume: unsafe extern "C" fn(*mut c_void),
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
