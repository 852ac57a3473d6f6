//! Checks what the passes of async-opt write.
//!
//! Nothing here knows how an answer was found: no code is shared with `tokenflow`, which finds it, nor with the passes, but for where accesses are,
//! which `async-locations` and `async-overlap` say to both.
#![forbid(unsafe_code)]

pub mod awaits;
pub mod barriers;
pub mod certificates;
pub mod flags;
pub mod groups;
pub mod mbarriers;
pub mod orders;
pub mod packing;
pub mod pipeline;
pub mod references;
pub mod roles;
mod thread_numbers;
pub mod tokens;
