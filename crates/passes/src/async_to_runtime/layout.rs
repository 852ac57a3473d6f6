//! Where the members of a frame lie, whatever data layout the module gets.
//!
//! LLVM takes the offsets in a struct, and its size, from the data layout of the module. A module without one gets the default, in which an
//! `i64` is aligned to 4 bytes, and sizes of constants are folded with that; the machine for which the code that accesses the struct is
//! generated aligns it to 8. So a frame is no struct: its size, its alignment and the offsets of its members are numbers, with as much
//! room for each member as any layout of a machine with pointers of up to 64 bits takes.
//!
//! That is enough: in no layout is a scalar or a vector aligned to more than the power of two that its bits fit in, and the size of a struct
//! never shrinks where alignments grow.

use async_mlir::llvm::{Aggregate, aggregate, is_pointer};
use async_mlir::melior::ir::Type;
use async_mlir::types::{bit_width, vector_rank, vector_shape};

/// The largest alignment that the runtime gives a frame.
pub(super) const MAX_ALIGN: u64 = 4096;

/// How much room something takes at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) size: u64,
    pub(super) align: u64,
}

impl Extent {
    const EMPTY: Self = Self { size: 0, align: 1 };

    /// Of a type of the `llvm` dialect; `None` if that is not known.
    pub(super) fn of(ty: Type<'_>) -> Option<Self> {
        if is_pointer(ty) {
            return Self::of_bits(64);
        }
        if let Some(bits) = bit_width(ty) {
            return Self::of_bits(bits.into());
        }
        if vector_rank(ty).is_some() {
            let shape = vector_shape(ty)?;
            let bits = bit_width(shape.element)
                .or_else(|| is_pointer(shape.element).then_some(64))?
                .into();
            let mut sizes = shape.sizes.into_iter();
            return Self::of_bits(sizes.try_fold(bits, |bits: u64, size| {
                bits.checked_mul(u64::try_from(size?).ok()?)
            })?);
        }
        match aggregate(ty)? {
            Aggregate::Array(count, element) => {
                let Self { size, align } = Self::of(element)?;
                let size = size.checked_mul(count)?;
                Some(Self { size, align })
            }
            Aggregate::Struct(members) => Layout::of(&members).map(|layout| layout.extent),
        }
    }

    /// Of a scalar or a vector.
    fn of_bits(bits: u64) -> Option<Self> {
        let size = bits.div_ceil(8).max(1).checked_next_power_of_two()?;
        Some(Self { size, align: size })
    }
}

/// Where each of several members lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) offsets: Vec<u64>,
    pub(super) extent: Extent,
}

impl Layout {
    /// Of members of these types of the `llvm` dialect, in this order; `None` if the size of one is not known.
    pub(super) fn of(members: &[Type<'_>]) -> Option<Self> {
        let mut offsets = Vec::with_capacity(members.len());
        let mut extent = Extent::EMPTY;
        for member in members {
            let Extent { size, align } = Extent::of(*member)?;
            let offset = extent.size.checked_next_multiple_of(align)?;
            offsets.push(offset);
            extent.size = offset.checked_add(size)?;
            extent.align = extent.align.max(align);
        }
        extent.size = extent.size.checked_next_multiple_of(extent.align)?;
        Some(Self { offsets, extent })
    }
}
