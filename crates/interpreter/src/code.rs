//! A kernel as the interpreter runs it: structured control flow is flattened to jumps, SSA values are registers of a
//! thread, calls are inlined.

mod bulk;
mod fragment;
mod host;
mod op;
mod operands;
mod print;
mod task;
mod together;
mod vector;
mod warpgroup;

pub use self::bulk::{Arrival, Bulk, Completion, Describe, Elect, GlobalSide, MBarrierOp, Phase, Slot};
pub use self::fragment::{Fragment, Matrix, Place};
pub use self::host::{HostOp, HostPrint, LaunchOp, Owner};
pub use self::op::Op;
pub use self::operands::{Access, Copy, Id, Index, Issued, Mask, Member, Target, Tile};
pub use self::print::{Piece, Spec};
pub use self::task::{MOST_TASKS, TaskOp};
pub use self::together::{
    Cluster, LdMatrix, Mma, NamedBarrier, Shuffle, ShuffleMode, ShuffleSync, Sparsity, StMatrix, Vote,
    VoteKind, WarpReduce,
};
pub use self::vector::{Contraction, Part, Term, VectorOp};
pub use self::warpgroup::{Factor, Left, LeftFragment, Warpgroup, Wgmma};
use crate::value::{Elem, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A register of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reg(pub u32);

/// A place in [`Code::instrs`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Label(pub u32);

/// A kernel.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The name of the function.
    pub name: String,
    /// What is run, from 0 on.
    pub instrs: Vec<Instr>,
    /// How many registers a thread has.
    pub regs: u32,
    /// The parameters, which the launch fills in.
    pub params: Vec<Param>,
    /// Buffers of the block: made when it starts.
    pub workgroup: Vec<BufferDecl>,
    /// Buffers that all blocks share: `memref.global` outside of workgroup memory.
    pub global: Vec<BufferDecl>,
    /// The threads of a block, if the kernel says how many it has.
    pub block: Option<[u32; 3]>,
    /// The blocks of a launch, if the kernel says how many there are.
    pub grid: Option<[u32; 3]>,
    /// The bytes of dynamic workgroup memory, if the launch says how many there are.
    pub dynamic_workgroup: Option<usize>,
    /// True if it is host code: its regions are tasks.
    pub is_host: bool,
    /// The `gpu.module` that it is in.
    pub module: String,
    /// True if it is host code of a whole program, which runs kernels.
    pub is_program: bool,
    /// The kernels that it launches.
    pub kernels: Vec<Code>,
    /// What the queues are called.
    pub queues: Vec<Arc<str>>,
    /// The loops of the text; their counters are in [`Instr::loops`].
    pub loops: Vec<OpLocation>,
}

impl Code {
    /// How many threads memory has to tell apart, where a kernel's blocks are of so many.
    #[must_use]
    pub fn threads(&self, block: [u32; 3]) -> u32 {
        if self.is_host {
            MOST_TASKS
        } else {
            block.iter().product()
        }
    }

    /// Returns true if threads arrive on mbarriers.
    #[must_use]
    pub fn has_arrivals(&self) -> bool {
        let arrives = |op: &Op| {
            matches!(
                op,
                Op::MBarrier {
                    does: MBarrierOp::Arrive(_),
                    ..
                }
            )
        };
        self.instrs.iter().any(|instr| arrives(&instr.op))
    }

    /// Returns true if it accesses memory atomically, as kernels do that run at a time and share some.
    #[must_use]
    pub fn has_atomics(&self) -> bool {
        let mut ops = self.instrs.iter().map(|instr| &instr.op);
        ops.any(|op| {
            matches!(
                op,
                Op::Atomic { .. } | Op::AtomicLoad { .. } | Op::AtomicStore { .. }
            )
        })
    }

    /// Returns true if some threads of a block meet at barriers of their own.
    #[must_use]
    pub fn has_named_barriers(&self) -> bool {
        let mut ops = self.instrs.iter().map(|instr| &instr.op);
        ops.any(|op| matches!(op, Op::NamedBarrier(_)))
    }

    /// Returns true if some of the threads meet without the others: at barriers with numbers, or at mbarriers that count nothing but
    /// threads.
    #[must_use]
    pub fn has_roles(&self) -> bool {
        let counts_threads = |op: &Op| {
            let Op::MBarrier { does, .. } = op else {
                return false;
            };
            matches!(does, MBarrierOp::Arrive(how) if how.bytes.is_none())
        };
        self.has_named_barriers() || self.instrs.iter().any(|instr| counts_threads(&instr.op))
    }

    /// Returns true if copies of a thread may be complete for those who wait for an mbarrier.
    #[must_use]
    pub fn has_arrivals_after_copies(&self) -> bool {
        let arrives = |op: &Op| {
            matches!(
                op,
                Op::MBarrier {
                    does: MBarrierOp::ArriveAfterCopies { .. },
                    ..
                }
            )
        };
        self.instrs.iter().any(|instr| arrives(&instr.op))
    }

    /// Returns true if some barrier of a warp may be of some of its threads.
    #[must_use]
    pub fn has_partial_barriers(&self) -> bool {
        let ops = || self.instrs.iter().map(|instr| &instr.op);
        let is_whole = |mask: Reg| {
            let mut constants = ops().filter_map(|op| match op {
                Op::Set { to, value } if *to == mask => Some(value),
                _ => None,
            });
            constants.next() == Some(&Value::Bits(u64::from(u32::MAX)))
        };
        let mut masks = ops().filter_map(|op| match op {
            Op::WarpBarrier { mask } => Some(*mask),
            _ => None,
        });
        masks.any(|mask| !is_whole(mask))
    }
}

/// An operation's name and where it stands.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct OpLocation {
    /// The operation's name.
    pub op: Arc<str>,
    /// Its location: file, line and column where they are known.
    pub location: Arc<str>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Instr {
    /// What it does.
    pub op: Op,
    /// The operation that it was made from.
    pub place: OpLocation,
    /// The loops around it, outermost first, as places in [`Code::loops`].
    pub loops: Arc<[u32]>,
}

/// A parameter of the kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Param {
    /// Where it goes.
    pub to: Reg,
    /// What it is.
    pub kind: ParamKind,
    /// The host's operation that makes it, if it is no argument of a function.
    pub made_by: Option<OpLocation>,
}

/// The type of a parameter.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ParamKind {
    /// A number.
    Number(Elem),
    /// A buffer of these sizes, of which those that are `None` are up to the launch. Strides are in elements.
    MemRef {
        /// The sizes.
        sizes: Vec<Option<i64>>,
        /// The strides; row by row if they are `None`.
        strides: Option<Vec<i64>>,
        /// Where element (0, …, 0) is.
        offset: i64,
        /// The type of the elements.
        elem: Elem,
        /// How many numbers an element has.
        lanes: u32,
        /// True if it lies in workgroup memory.
        workgroup: bool,
    },
    /// A descriptor of a tensor; its sizes are up to the launch.
    Tensor(Arc<crate::value::Tile>),
    /// Something that nothing uses.
    Unused,
}

impl ParamKind {
    /// Returns true if it is an integer.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        matches!(self, Self::Number(Elem::Int(_)))
    }
}

/// A buffer of a size that is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BufferDecl {
    /// Where its view goes.
    pub to: Reg,
    /// What to call it.
    pub name: String,
    /// The view, but for the buffer.
    pub view: crate::value::View,
    /// What it is aligned to.
    pub align: u32,
    /// The initial bytes, or how many there are.
    pub init: Init,
}

/// What a buffer holds at first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Init {
    /// So many bytes that nobody has written.
    Unwritten(usize),
    /// These bytes.
    Bytes(Vec<u8>),
    /// What the launch gives for dynamic workgroup memory.
    Dynamic,
}

/// A FIFO of groups, as a place in [`Code::queues`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Queue(pub u32);
