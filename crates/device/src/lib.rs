//! A simulated device, for host code: what it does with streams, events and memory, without a GPU.
//!
//! It is an adversary. Between two calls of the host, work that is ready may run or not, and [`Adversary`] decides: as late as allowed,
//! at once, at random, or in every possible way. Handles have types and are counted, and vector clocks say which accesses nothing
//! orders, also where the run at hand had them in a good order.
//!
//! The model is plain data: what memory is, and what runs kernels, is up to who embeds it ([`Memory`], [`Loader`]).
//!
//! - `device`: the device and its calls; `streams`, `allocations`, `modules`: those of each kind; `run`: when work runs.
//! - `clock`, `history`: what is ordered, and who has accessed which bytes.
//! - `adversary`: schedules. `handles`: typed handles. `findings`, `census`: what is reported.
//! - `memory`, `kernel`: what the embedding gives.
#![forbid(unsafe_code)]

mod adversary;
mod allocations;
mod census;
mod clock;
mod device;
mod findings;
mod handles;
mod history;
mod kernel;
mod memory;
mod modules;
mod run;
mod streams;
#[cfg(test)]
mod tests;

pub use adversary::Adversary;
pub use census::{Census, Made};
pub use clock::Clock;
pub use device::{Device, Options};
pub use findings::{Call, Failure, Finding, Kind};
pub use handles::Handle;
pub use kernel::{Access, Accesses, Extent, Function, Kernel, LaunchSizes, Loader, Module, NoLoader};
pub use memory::{Arena, Memory};
