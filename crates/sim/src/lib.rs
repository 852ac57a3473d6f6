//! An interpreter of device IR under an adversarial asynchronous memory model.
#![forbid(unsafe_code)]

pub mod adversary;
pub mod code;
pub mod draw;
pub mod inputs;
pub mod machine;
pub mod memory;
pub mod read;
pub mod refine;
pub mod report;
pub mod scalar;
pub mod show;
pub mod timeline;
pub mod value;
pub mod wgmma;
