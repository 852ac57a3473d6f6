//! What the threads of a warpgroup do together: matrix multiplication, and what goes with it.

use super::{Op, Queue, Reg};
use crate::value::Elem;
use crate::wgmma::Major;
use serde::{Deserialize, Serialize};

/// Instructions of warpgroups.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Warpgroup {
    /// All threads of a warpgroup come to an instruction, where the kernel multiplies: `.sync.aligned`.
    Meet,
    /// `nvvm.wgmma.fence.aligned`
    Fence,
    /// `nvvm.wgmma.mma_async`
    Multiply(Box<Wgmma>),
    /// A matrix descriptor of a memref: `nvgpu.warpgroup.generate.descriptor`
    Describe {
        /// Where to.
        to: Reg,
        /// The matrix.
        view: Reg,
        /// The descriptor, but for the address.
        rest: u64,
    },
    /// `nvgpu.warpgroup.mma.store`
    Store {
        /// The accumulator: those of 64 rows each, one after the other.
        value: Reg,
        /// Where to.
        view: Reg,
        /// How many columns it has.
        columns: usize,
        /// True if threads are counted in their warpgroup, false if in the block, as upstream does.
        in_warpgroup: bool,
    },
    /// Copies a matrix from registers to others: `gpux.read_fragment`, `gpux.write_fragment`
    Copy {
        /// Where to.
        to: Reg,
        /// What is to be complete.
        from: Reg,
    },
}

/// D = A B + D, or D = A B.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wgmma {
    /// Where a thread's part of D goes.
    pub to: Reg,
    /// What is added to.
    pub accumulator: Reg,
    /// A, of 64 rows.
    pub a: Left,
    /// B.
    pub b: Factor,
    /// The columns of B and D.
    pub n: usize,
    /// The type of D.
    pub output: Elem,
    /// The type of the registers that hold it.
    pub held: Elem,
    /// True if D is not added to.
    pub zero: bool,
    /// True if integers that are too large saturate, and don't wrap around.
    pub saturates: bool,
    /// The queue that it is in.
    pub queue: Queue,
    /// Where the token that it can be awaited by goes.
    pub token: Option<Reg>,
}

/// A.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Left {
    /// In shared memory.
    Memory(Factor),
    /// In the registers of the threads.
    Registers(LeftFragment),
}

impl Left {
    /// The type of the elements.
    #[must_use]
    pub fn elem(&self) -> Elem {
        match self {
            Self::Memory(factor) => factor.elem,
            Self::Registers(fragment) => fragment.elem,
        }
    }
}

/// A in registers: the part of a thread. As many of its elements as a register of 32 bits holds are side by side.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LeftFragment {
    /// The registers that hold it, one after the other.
    pub regs: Box<[Reg]>,
    /// Where it begins, in elements.
    pub first: usize,
    /// The type of the numbers in the registers.
    pub held: Elem,
    /// The type of the elements.
    pub elem: Elem,
    /// True if they are integers without a sign.
    pub unsigned: bool,
    /// True if it is negated.
    pub negative: bool,
}

/// A or B, in shared memory.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Factor {
    /// Its descriptor.
    pub descriptor: Reg,
    /// What is contiguous.
    pub major: Major,
    /// The type of the elements.
    pub elem: Elem,
    /// True if they are integers without a sign.
    pub unsigned: bool,
    /// True if it is negated.
    pub negative: bool,
}

impl Op {
    /// Returns true if a warpgroup multiplies.
    #[must_use]
    pub fn is_wgmma(&self) -> bool {
        matches!(self, Self::Warpgroup(Warpgroup::Multiply(_)))
    }
}
