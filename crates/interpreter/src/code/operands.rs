//! What instructions are about: ids, elements and parts of memrefs, copies.

use super::{Queue, Reg};
use serde::{Deserialize, Serialize};

/// Which id an instruction reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Id {
    /// `gpu.thread_id`
    Thread,
    /// `gpu.block_id`
    Block,
    /// `gpu.block_dim`
    BlockDim,
    /// `gpu.grid_dim`
    GridDim,
    /// `gpu.global_id`
    Global,
    /// `gpu.lane_id`
    Lane,
    /// `gpu.subgroup_id`
    Subgroup,
    /// `gpu.num_subgroups`
    Subgroups,
    /// The lanes that are this one, before it, up to it, after it, or from it on, as bits: `nvvm.read.ptx.sreg.lanemask.eq`, `lt`,
    /// `le`, `gt` and `ge`, which its dimension tells.
    Lanes,
    /// `nvvm.read.ptx.sreg.dynamic.smem.size`
    DynamicWorkgroup,
}

/// An element of a memref, or several in a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Access {
    /// The memref.
    pub view: Reg,
    /// One index for each dimension.
    pub indices: Box<[Reg]>,
}

/// A part of a memref that a vector covers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tile {
    /// The sizes of the vector.
    pub sizes: Box<[i64]>,
    /// Which dimension of the memref each of them goes along; `None` if it stands still.
    pub dims: Box<[Option<usize>]>,
    /// Whether each of them is known to be in bounds.
    pub in_bounds: Box<[bool]>,
    /// Which elements are accessed, if not all.
    pub mask: Option<Mask>,
    /// How far each element is from where the tile starts, in the last dimension; and the bits of such a number.
    pub offsets: Option<(Reg, u8)>,
}

impl Tile {
    /// A vector of these sizes, all of whose elements are accessed.
    #[must_use]
    pub fn whole(sizes: Box<[i64]>, dims: Box<[Option<usize>]>) -> Self {
        Self {
            in_bounds: vec![true; sizes.len()].into(),
            sizes,
            dims,
            mask: None,
            offsets: None,
        }
    }
}

/// Which elements of a vector are accessed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mask {
    /// Truth values.
    pub bits: Reg,
    /// Which of them each element has, row by row.
    pub of: Box<[u32]>,
}

/// An asynchronous copy to be issued.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Copy {
    /// From where: an element, or a pointer.
    pub from: Target,
    /// To where.
    pub to: Target,
    /// How many bytes.
    pub bytes: Index,
    /// What both addresses are a multiple of.
    pub align: u32,
    /// How many elements, or bytes, are read; the rest is zero.
    pub read: Option<Reg>,
    /// The bytes that `read` counts in.
    pub unit: u32,
    /// True if it goes through the asynchronous proxy, and one thread issues it for others.
    pub bulk: bool,
    /// How it is seen to be complete.
    pub issued: Issued,
}

/// How an operation that a thread issues is seen to be complete.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Issued {
    /// The queue that it is in.
    pub queue: Queue,
    /// Its token.
    pub token: Option<Reg>,
    /// True if that can be awaited; else it is complete with its group alone.
    pub awaitable: bool,
}

/// A constant or a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Index {
    /// A constant.
    Const(i64),
    /// A register.
    Reg(Reg),
}

/// Where a copy starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Target {
    /// At an element.
    Element(Access),
    /// At an address.
    Pointer(Reg),
}

/// A member of the struct that a memref is lowered to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Member {
    /// The aligned pointer.
    Pointer,
    /// The offset.
    Offset,
    /// The size of a dimension.
    Size(usize),
    /// The stride of a dimension.
    Stride(usize),
}
