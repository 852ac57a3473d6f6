//! What host code does with a device, and what it prints.

use super::{Index, Reg};
pub use crate::memory::Owner;
use crate::value::Elem;

/// An instruction of host code that is about a device, or prints.
#[derive(Clone, Debug)]
pub enum HostOp {
    /// Says who has allocated a buffer just now.
    Own {
        /// A view of it.
        view: Reg,
        /// Who.
        owner: Owner,
    },
    /// Page-locks memory of the host, or ends that: `gpu.host_register`, `gpu.host_unregister`
    Register {
        /// A view of it.
        view: Reg,
        /// True if it is locked from now on.
        locked: bool,
    },
    /// Frees memory that the device has allocated, or page-locked memory: `gpux.dealloc`
    Dealloc {
        /// A view of it.
        view: Reg,
    },
    /// Allocates the memory of a buffer, which accesses have to come after: `gpux.alloc`
    Claim {
        /// A view of it.
        view: Reg,
    },
    /// Copies from one buffer to another one of the same shape: `gpux.transfer`
    Transfer {
        /// From where.
        from: Reg,
        /// Where to.
        to: Reg,
        /// True if elements go one by one, each by a call of the device: a type does not say that they lie in a row.
        one_by_one: bool,
    },
    /// Makes a buffer like another one, and copies to it: `gpux.transfer` with a result
    TransferToNew {
        /// From where.
        from: Reg,
        /// The new one.
        to: Reg,
        /// Who may access that.
        owner: Owner,
        /// As for other transfers.
        one_by_one: bool,
    },
    /// Stores one number everywhere: `gpux.memset`
    Fill {
        /// Where.
        view: Reg,
        /// The number.
        value: Reg,
    },
    /// Runs a kernel: `gpux.async_launch`
    Launch(Box<LaunchOp>),
    /// Prints something.
    Print(HostPrint),
}

/// A launch.
#[derive(Clone, Debug)]
pub struct LaunchOp {
    /// The place of the kernel in [`Code::kernels`](super::Code::kernels).
    pub kernel: usize,
    /// How many blocks, in x, y and z.
    pub grid: [Index; 3],
    /// How many threads a block has.
    pub block: [Index; 3],
    /// How many bytes of dynamic workgroup memory.
    pub dynamic_workgroup: Index,
    /// The arguments.
    pub args: Box<[Reg]>,
}

impl HostOp {
    /// Returns true if a device does it, and so may fail to.
    #[must_use]
    pub fn is_of_device(&self) -> bool {
        match self {
            Self::Dealloc { .. }
            | Self::Claim { .. }
            | Self::Transfer { .. }
            | Self::TransferToNew { .. }
            | Self::Fill { .. }
            | Self::Register { .. }
            | Self::Launch(_) => true,
            Self::Own { .. } | Self::Print(_) => false,
        }
    }
}

/// What host code prints.
#[derive(Clone, Debug)]
pub enum HostPrint {
    /// Some text.
    Text(String),
    /// A number, as `vector.print` and the functions of MLIR's runner libraries do.
    Number {
        /// Which.
        value: Reg,
        /// Its type.
        elem: Elem,
        /// True if it has no sign.
        unsigned: bool,
    },
    /// A vector, in parentheses.
    Vector {
        /// Which.
        value: Reg,
        /// The type of its numbers.
        elem: Elem,
        /// True if they have no sign.
        unsigned: bool,
        /// Its sizes.
        sizes: Box<[i64]>,
    },
    /// A memref with its descriptor, as `printMemrefF32` does.
    MemRef {
        /// The memref.
        view: Reg,
        /// True if its numbers have no sign.
        unsigned: bool,
    },
}
