//! What environment variables say.

use async_device::{Adversary, Options};
use std::env;

/// `ASYNCOPT_DEVICE_SCHEDULE` and `ASYNCOPT_DEVICE_FAIL_AT`.
pub fn options() -> Options {
    let mut options = Options::default();
    if let Ok(text) = env::var("ASYNCOPT_DEVICE_SCHEDULE") {
        match text.parse::<Adversary>() {
            Ok(schedule) => options.schedule = schedule,
            Err(message) => eprintln!("{}: ASYNCOPT_DEVICE_SCHEDULE: {message}", crate::PREFIX),
        }
    }
    if let Ok(text) = env::var("ASYNCOPT_DEVICE_FAIL_AT") {
        match text.parse() {
            Ok(number) => options.fail_at = Some(number),
            Err(_) => eprintln!(
                "{}: ASYNCOPT_DEVICE_FAIL_AT is '{text}': give the number of a call, counted from 1",
                crate::PREFIX
            ),
        }
    }
    options
}

/// `ASYNCOPT_CENSUS`, as the host runtime reads it, but that the census is printed without it.
pub fn wants_census(is_clean: bool) -> bool {
    !(is_clean && env::var("ASYNCOPT_CENSUS").as_deref() == Ok("0"))
}
