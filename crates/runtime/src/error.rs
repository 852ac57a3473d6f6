//! Errors of tokens.

use std::{
    ffi::{CStr, CString},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::census::{self, Count};

/// Why a task failed. Its token and all tokens after it share it.
#[derive(Debug)]
pub struct Error {
    location: Option<CString>,
    message: CString,
    /// Whether somebody has asked for it.
    observed: AtomicBool,
}

/// The first error that nobody has awaited, for the report at the end.
static FIRST_UNOBSERVED: Mutex<Option<String>> = Mutex::new(None);

impl Error {
    /// An error at a location such as `file.mlir:3:5`.
    pub fn new(location: Option<&CStr>, message: &CStr) -> Self {
        Self {
            location: location.map(CStr::to_owned),
            message: message.to_owned(),
            observed: AtomicBool::new(false),
        }
    }

    /// Where it happened.
    pub fn location(&self) -> Option<&CStr> {
        self.location.as_deref()
    }

    /// What happened.
    pub fn message(&self) -> &CStr {
        &self.message
    }

    /// Notes that somebody knows of it.
    pub fn observe(&self) {
        self.observed.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(location) = &self.location {
            write!(f, "{}: ", location.to_string_lossy())?;
        }
        write!(f, "error: {}", self.message.to_string_lossy())
    }
}

impl Drop for Error {
    fn drop(&mut self) {
        if *self.observed.get_mut() {
            return;
        }
        census::add(Count::UnobservedErrors, 1);
        if let Ok(mut first) = FIRST_UNOBSERVED.lock() {
            first.get_or_insert_with(|| self.to_string());
        }
    }
}

/// The first error that was freed before somebody awaited it.
pub fn first_unobserved() -> Option<String> {
    FIRST_UNOBSERVED.lock().ok()?.clone()
}
