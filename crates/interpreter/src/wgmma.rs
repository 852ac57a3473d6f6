//! Matrices of warpgroups as plain data, by the PTX ISA, "Asynchronous warpgroup level matrix instructions": where their
//! elements lie in shared memory, and which thread has which element of matrices in registers. It knows no machine.

mod descriptor;
mod fragment;

pub use self::descriptor::{Descriptor, Major, Swizzle};
pub use self::fragment::{ROWS, THREADS, place_a, place_d};
