//! Kernels on memory that is not the interpreter's: what a launch of a program, or of a simulated device, comes down to.

mod arguments;
mod kernel;
mod launch;

pub use self::arguments::{Arguments, Decoded};
pub use self::kernel::Running;
pub use self::launch::checked;

/// Memory by its addresses. What addresses a program gives is believed.
pub trait Outside {
    /// Reads bytes.
    fn read(&self, from: u64, into: &mut [u8]);

    /// Writes bytes.
    fn write(&mut self, to: u64, bytes: &[u8]);
}
