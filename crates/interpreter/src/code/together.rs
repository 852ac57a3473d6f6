//! What the threads of a warp or block do together.

use super::{Index, Reg, Target};
use crate::scalar::Scalar;
use crate::value::Elem;
use serde::{Deserialize, Serialize};

/// `nvvm.barrier` with a number or a number of threads, `nvvm.barrier.arrive`
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NamedBarrier {
    /// Which barrier; 0 if there is no number.
    pub number: Option<Reg>,
    /// How many threads it is of; all if there is no number.
    pub count: Option<Reg>,
    /// True if the threads wait there.
    pub waits: bool,
}

/// `gpu.shuffle`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shuffle {
    /// Where the number goes.
    pub to: Reg,
    /// Where it goes whether there was one.
    pub valid: Reg,
    /// The number handed over.
    pub value: Reg,
    /// The offset.
    pub offset: Reg,
    /// The width.
    pub width: Reg,
    /// Which lane.
    pub mode: ShuffleMode,
}

/// Which lane a shuffle gets its number from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ShuffleMode {
    /// The lane whose number differs in these bits.
    Xor,
    /// The lane so much below.
    Up,
    /// The lane so much above.
    Down,
    /// That lane.
    Index,
}

/// `nvvm.shfl.sync`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShuffleSync {
    /// Where the number goes; with `valid`, as a vector of the number and of whether there was one.
    pub to: Reg,
    /// The lanes that take part, as bits.
    pub mask: Reg,
    /// The number handed over.
    pub value: Reg,
    /// The offset, or the lane.
    pub offset: Reg,
    /// The last lane in its low bits, and from bit 8 on, which bits of a lane say what segment it is in.
    pub clamp: Reg,
    /// Which lane.
    pub mode: ShuffleMode,
    /// True if the result says whether there was such a lane.
    pub valid: bool,
}

/// `nvvm.vote.sync`, `nvvm.match.sync`, `nvvm.redux.sync`: all lanes that take part get what all of them make.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Vote {
    /// Where to.
    pub to: Reg,
    /// The lanes that take part, as bits.
    pub mask: Reg,
    /// The number that each lane brings.
    pub value: Reg,
    /// What is made of the numbers.
    pub kind: VoteKind,
}

/// What lanes make of their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum VoteKind {
    /// Whether one is true.
    Any,
    /// Whether all are true.
    All,
    /// Whether all are the same truth value.
    Uniform,
    /// The lanes whose number is true, as bits.
    Ballot,
    /// The lanes that have the same number, as bits.
    MatchAny,
    /// The same if all have it, or else 0; and whether they do.
    MatchAll,
    /// One number of this type.
    Reduce(Scalar, Elem),
}

/// `gpu.subgroup_reduce`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WarpReduce {
    /// Where to.
    pub to: Reg,
    /// The number, or vector, that each thread brings.
    pub value: Reg,
    /// How two numbers make one.
    pub f: Scalar,
    /// The type of the numbers.
    pub elem: Elem,
    /// Which lanes share a result.
    pub cluster: Cluster,
}

/// Lanes that a reduction is done over: `size` of them, `stride` apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cluster {
    /// How many lanes.
    pub size: usize,
    /// From one to the next.
    pub stride: usize,
}

impl Cluster {
    /// What the lanes of a cluster have in common, and with no lane outside.
    #[must_use]
    pub fn of(self, lane: usize) -> (usize, usize) {
        (lane / (self.size * self.stride), lane % self.stride)
    }
}

/// `nvgpu.ldmatrix`, `nvvm.ldmatrix`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LdMatrix {
    /// Where to.
    pub to: Reg,
    /// The row of 16 bytes that this lane addresses.
    pub from: Target,
    /// How many 8×8 matrices.
    pub tiles: usize,
    /// True if they are transposed.
    pub transpose: bool,
    /// The type of the numbers.
    pub elem: Elem,
}

/// `nvvm.stmatrix`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StMatrix {
    /// A register of 32 bits for each 8×8 matrix.
    pub values: Box<[Reg]>,
    /// The row of 16 bytes that this lane addresses.
    pub to: Reg,
    /// True if they are transposed.
    pub transpose: bool,
}

/// `nvgpu.mma.sync`, `nvvm.mma.sync`, and the same of a sparse A
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mma {
    /// Where to.
    pub to: Reg,
    /// The left matrix's part.
    pub a: Reg,
    /// The right matrix's part.
    pub b: Reg,
    /// The part of what is added to.
    pub c: Reg,
    /// M, N and K.
    pub shape: [usize; 3],
    /// The type of A and B.
    pub input: Elem,
    /// The type of C and D.
    pub output: Elem,
    /// Whether the integers of A and B have no sign.
    pub unsigned: [bool; 2],
    /// True if integers that are too large wrap around, and don't saturate.
    pub wraps: bool,
    /// Where the numbers of A stand, if it is sparse.
    pub sparsity: Option<Sparsity>,
}

/// What tells which half of its columns a sparse matrix has numbers for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Sparsity {
    /// 4 bits for each two of four columns, or for each one of two; 32 in a lane.
    pub metadata: Reg,
    /// Which lanes of each four have it.
    pub selector: Index,
    /// True if the columns of two numbers are in ascending order.
    pub ordered: bool,
}
