//! What instructions do.

use super::{
    Access, Bulk, Copy, Describe, Elect, Fragment, HostOp, Id, Index, Issued, Label, LdMatrix, MBarrierOp,
    Member, Mma, NamedBarrier, Piece, Queue, Reg, Shuffle, ShuffleSync, Slot, StMatrix, TaskOp, Tile,
    VectorOp, Vote, WarpReduce, Warpgroup,
};
use crate::scalar::Scalar;
use crate::value::{Elem, Value};
use serde::{Deserialize, Serialize};

/// What an instruction does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Op {
    /// Assigns a constant.
    Set {
        /// Where to.
        to: Reg,
        /// What.
        value: Value,
    },
    /// Assigns all at once.
    Moves(Box<[(Reg, Reg)]>),
    /// Computes, number by number.
    Scalar {
        /// What.
        f: Scalar,
        /// The type it computes in.
        elem: Elem,
        /// Where to.
        to: Reg,
        /// The operands.
        args: Box<[Reg]>,
    },
    /// Reads an id; `dim` is 0 to 2.
    Id {
        /// Where to.
        to: Reg,
        /// Which.
        id: Id,
        /// Of which dimension.
        dim: u8,
    },
    /// Checks the step of a loop: with another one it would not end.
    Positive {
        /// The step.
        step: Reg,
        /// Its type.
        elem: Elem,
    },
    /// Goes elsewhere.
    Jump(Label),
    /// Goes to one of two places.
    Branch {
        /// The condition.
        condition: Reg,
        /// Where to if it is true.
        then: Label,
        /// Where to if it is false.
        other: Label,
    },
    /// Goes to the place of a number.
    Switch {
        /// The number.
        flag: Reg,
        /// The numbers and places.
        cases: Box<[(i64, Label)]>,
        /// Where to else.
        default: Label,
    },
    /// Starts a loop, or its next iteration.
    Count {
        /// Which loop, by its place in the instruction's loops.
        depth: u32,
        /// True if it starts.
        start: bool,
    },
    /// Ends the thread.
    Return,
    /// `memref.load`, `vector.load` of one dimension
    Load {
        /// Where to.
        to: Reg,
        /// From where.
        from: Access,
        /// How many elements in a row.
        count: u32,
        /// True if the result is a vector, even of one.
        vector: bool,
    },
    /// `memref.store`, `vector.store`
    Store {
        /// The number or vector.
        value: Reg,
        /// Where to.
        to: Access,
    },
    /// A vector of several dimensions, or with elements that may be out of bounds: `vector.transfer_read`
    LoadTile {
        /// Where to.
        to: Reg,
        /// Where it starts.
        from: Access,
        /// Its shape.
        tile: Tile,
        /// What stands for elements that are out of bounds.
        padding: Option<Reg>,
    },
    /// `vector.transfer_write`, and `vector.store` of several dimensions
    StoreTile {
        /// The vector.
        value: Reg,
        /// Where it starts.
        to: Access,
        /// Its shape.
        tile: Tile,
    },
    /// Ends the life of a buffer: `memref.dealloc`
    Free {
        /// A view of it.
        view: Reg,
    },
    /// Ends the lives of the buffers that were made: the end of a `memref.alloca_scope`
    EndScope(Box<[Reg]>),
    /// Checks what is said of a memref: sizes that its type tells, and what its start is aligned to.
    Check {
        /// The memref.
        view: Reg,
        /// The sizes.
        sizes: Box<[Option<i64>]>,
        /// The alignment.
        align: usize,
    },
    /// Makes a vector, or a number, of the numbers of others.
    Vector(VectorOp),
    /// A read and a write that nothing comes between: `memref.atomic_rmw`
    Atomic {
        /// Where what was there goes.
        to: Reg,
        /// Where.
        at: Access,
        /// The operand.
        value: Reg,
        /// What is computed of the two.
        f: Scalar,
        /// The type of the numbers.
        elem: Elem,
    },
    /// The read of an update that nothing comes between: `memref.generic_atomic_rmw`
    AtomicLoad {
        /// Where to.
        to: Reg,
        /// From where.
        at: Access,
        /// The type of the number.
        elem: Elem,
    },
    /// The write of such an update.
    AtomicStore {
        /// The number.
        value: Reg,
        /// Where to.
        at: Access,
        /// The type of the number.
        elem: Elem,
    },
    /// `memref.alloc` and `memref.alloca` of a thread.
    Alloc {
        /// Where to.
        to: Reg,
        /// The sizes that are known; the others are in `dynamic`.
        sizes: Box<[Option<i64>]>,
        /// The other sizes, in order.
        dynamic: Box<[Reg]>,
        /// The type of the elements.
        elem: Elem,
        /// How many numbers an element has.
        lanes: u32,
    },
    /// `memref.dim`
    Dim {
        /// Where to.
        to: Reg,
        /// Of which memref.
        view: Reg,
        /// Which dimension.
        index: Reg,
    },
    /// `memref.subview`; sizes, offsets and strides are registers or constants.
    SubView {
        /// Where to.
        to: Reg,
        /// Of which memref.
        view: Reg,
        /// The offsets.
        offsets: Box<[Index]>,
        /// The sizes.
        sizes: Box<[Index]>,
        /// The strides.
        strides: Box<[Index]>,
        /// The dimensions that the result does not have.
        dropped: Box<[usize]>,
    },
    /// `memref.reinterpret_cast`: another window, counted from the buffer's start.
    Reinterpret {
        /// Where to.
        to: Reg,
        /// Of which memref.
        view: Reg,
        /// The offset, in elements.
        offset: Index,
        /// The sizes.
        sizes: Box<[Index]>,
        /// The strides.
        strides: Box<[Index]>,
    },
    /// `memref.transpose`
    Permute {
        /// Where to.
        to: Reg,
        /// Of which memref.
        view: Reg,
        /// Which dimension of it each of the result's is.
        dims: Box<[usize]>,
    },
    /// `memref.collapse_shape`
    Collapse {
        /// Where to.
        to: Reg,
        /// Of which memref.
        view: Reg,
        /// How many dimensions make one.
        groups: Box<[usize]>,
    },
    /// `memref.expand_shape`
    Expand {
        /// Where to.
        to: Reg,
        /// Of which memref.
        view: Reg,
        /// How many dimensions are made of one.
        groups: Box<[usize]>,
        /// The sizes of the result.
        sizes: Box<[Index]>,
    },
    /// `memref.view`: another window of the same bytes.
    Window {
        /// Where to.
        to: Reg,
        /// Of which memref.
        view: Reg,
        /// How many bytes further.
        shift: Reg,
        /// The sizes.
        sizes: Box<[Index]>,
        /// The type of the elements.
        elem: Elem,
        /// How many numbers an element has.
        lanes: u32,
    },
    /// The address that a memref's struct holds.
    Address {
        /// Where to.
        to: Reg,
        /// The memref.
        view: Reg,
        /// Which member of the struct.
        member: Member,
    },
    /// `llvm.getelementptr` with one index.
    Offset {
        /// Where to.
        to: Reg,
        /// The pointer.
        pointer: Reg,
        /// The index.
        index: Index,
        /// The bytes of one step.
        bytes: i64,
    },
    /// Issues a copy.
    Copy(Copy),
    /// Issues an operation that accesses no memory.
    Issue(Issued),
    /// Issues a bulk copy, or does so for all threads of the block.
    Bulk(Box<Bulk>),
    /// Makes a descriptor of a tensor.
    Describe(Box<Describe>),
    /// Does something with an mbarrier.
    MBarrier {
        /// Which.
        slot: Slot,
        /// What.
        does: MBarrierOp,
    },
    /// `nvvm.fence.mbarrier.init`
    FenceInit,
    /// `nvvm.fence.proxy` between the generic and the asynchronous proxy
    FenceProxy,
    /// True in one thread.
    Elect {
        /// Where to.
        to: Reg,
        /// Of which threads.
        of: Elect,
    },
    /// Closes the open group of a queue.
    Commit {
        /// Which queue.
        queue: Queue,
        /// The group's token.
        token: Option<Reg>,
    },
    /// Waits until so many groups are in flight.
    Wait {
        /// Which queue.
        queue: Queue,
        /// How many.
        n: u32,
        /// True if it is enough that the sources of the others were read.
        read: bool,
    },
    /// Completes all that tokens stand for.
    Await(Box<[Reg]>),
    /// A token of what others stand for.
    Join {
        /// Where to.
        to: Reg,
        /// The others.
        from: Box<[Reg]>,
    },
    /// Marks a value of a region: it must not be used before the region's token is complete.
    Guard {
        /// The value.
        value: Reg,
        /// The token.
        token: Reg,
    },
    /// `gpu.barrier`
    Barrier,
    /// `nvvm.barrier` of some threads, `nvvm.barrier.arrive`
    NamedBarrier(NamedBarrier),
    /// `nvvm.bar.warp.sync`
    WarpBarrier {
        /// The lanes that meet, as bits.
        mask: Reg,
    },
    /// `gpu.shuffle`
    Shuffle(Shuffle),
    /// `nvvm.shfl.sync`
    ShuffleSync(ShuffleSync),
    /// `nvvm.vote.sync` and the like
    Vote(Vote),
    /// `gpu.subgroup_reduce`
    WarpReduce(WarpReduce),
    /// Hands one thread of the block a vector of what all of them bring.
    Gather {
        /// Where to, in that thread.
        to: Reg,
        /// The number that each thread brings.
        value: Reg,
    },
    /// Hands all threads of the block what that one has.
    Share {
        /// Where to.
        to: Reg,
        /// What.
        from: Reg,
    },
    /// `nvgpu.ldmatrix`
    LdMatrix(LdMatrix),
    /// `nvvm.stmatrix`
    StMatrix(StMatrix),
    /// `nvgpu.mma.sync`
    Mma(Mma),
    /// `gpu.subgroup_mma_load_matrix`, `store_matrix` and `compute`
    Fragment(Box<Fragment>),
    /// What the threads of a warpgroup do together.
    Warpgroup(Warpgroup),
    /// `gpu.printf`
    Print(Box<[Piece]>),
    /// A failed `cf.assert`.
    Assert {
        /// The condition.
        condition: Reg,
        /// What to say.
        message: String,
    },
    // What only host code has is not kept as bytes. It comes last, since the numbers of the others are.
    /// Makes or ends a task of host code.
    #[serde(skip)]
    Task(TaskOp),
    /// Does something with a device, or prints, in host code.
    #[serde(skip)]
    Host(HostOp),
}

impl Op {
    /// Returns true if it accesses memory, ends the life of some, or prints: what others do before matters.
    #[must_use]
    pub fn is_access(&self) -> bool {
        matches!(
            self,
            Self::Load { .. }
                | Self::Store { .. }
                | Self::LoadTile { .. }
                | Self::StoreTile { .. }
                | Self::Atomic { .. }
                | Self::AtomicLoad { .. }
                | Self::AtomicStore { .. }
                | Self::Free { .. }
                | Self::EndScope(_)
                | Self::Host(
                    HostOp::Transfer { .. }
                        | HostOp::Register { .. }
                        | HostOp::Dealloc { .. }
                        | HostOp::TransferToNew { .. }
                        | HostOp::Fill { .. }
                        | HostOp::Launch(_)
                        | HostOp::Claim { .. }
                        | HostOp::Print(_)
                )
        )
    }

    /// Returns true if a report may name an instance of it.
    #[must_use]
    pub fn is_seen(&self) -> bool {
        !matches!(
            self,
            Self::Set { .. }
                | Self::Moves(_)
                | Self::Scalar { .. }
                | Self::Id { .. }
                | Self::Jump(_)
                | Self::Branch { .. }
                | Self::Switch { .. }
                | Self::Count { .. }
                | Self::Vector(VectorOp::Pick { .. })
                | Self::Dim { .. }
                | Self::Address { .. }
                | Self::Offset { .. }
                | Self::Window { .. }
                | Self::Permute { .. }
                | Self::Expand { .. }
        )
    }
}
