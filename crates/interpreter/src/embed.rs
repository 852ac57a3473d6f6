//! Kernels on memory that is not the interpreter's: what a launch of a program, or of a simulated device, comes down to.

mod arguments;
mod kernel;
mod launch;

pub use self::arguments::{Arguments, Decoded};
pub use self::kernel::Running;
pub use self::launch::checked;

use std::ops::Range;

/// Memory by its addresses. What addresses a program gives is believed, but for what is known of where they end.
pub trait Outside {
    /// Reads bytes.
    fn read(&self, from: u64, into: &mut [u8]);

    /// Where that ends which is there of some bytes, as far as that is known.
    ///
    /// # Errors
    ///
    /// A message that goes on from what uses the bytes, if they are not there.
    fn extent(&self, bytes: &Range<u64>) -> Result<u64, String> {
        Ok(bytes.end)
    }

    /// Writes bytes.
    fn write(&mut self, to: u64, bytes: &[u8]);
}
