//! Types and values of the interpreter.

use crate::code::OpLocation;
use crate::memory::Array;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// The type of a number. Numbers are kept as bits, in the low end of a `u64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Elem {
    /// An integer of up to 64 bits; `index` is one of 64.
    Int(u8),
    /// IEEE half precision.
    F16,
    /// The upper half of an `F32`.
    BF16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// 8 bits, of which 4 are the exponent's; it has no infinity, and NaN is what all bits but the sign make.
    F8E4M3FN,
    /// The upper half of an `F16`.
    F8E5M2,
    /// A power of two, from 2⁻¹²⁷ on, or NaN: the scale of a block of numbers.
    F8E8M0FNU,
    /// 6 bits, of which 2 are the exponent's; all are finite numbers.
    F6E2M3FN,
    /// 6 bits, of which 3 are the exponent's; all are finite numbers.
    F6E3M2FN,
    /// 4 bits, of which 2 are the exponent's; all are finite numbers.
    F4E2M1FN,
}

impl Elem {
    /// `index`, and the bits of a pointer.
    pub const INDEX: Self = Self::Int(64);

    /// The types of NumPy that have these bits, the closest first.
    #[must_use]
    pub fn npy_kinds(self) -> &'static [&'static str] {
        match self {
            Self::F16 => &["<f2"],
            // NumPy has no such type.
            Self::BF16 => &["<u2", "<V2", "|V2"],
            Self::F32 => &["<f4"],
            Self::F64 => &["<f8"],
            // NumPy has no such types.
            Self::F8E4M3FN
            | Self::F8E5M2
            | Self::F8E8M0FNU
            | Self::F6E2M3FN
            | Self::F6E3M2FN
            | Self::F4E2M1FN => &["|u1", "|V1"],
            Self::Int(1) => &["|b1"],
            Self::Int(..=8) => &["|i1", "|u1"],
            Self::Int(..=16) => &["<i2", "<u2"],
            Self::Int(..=32) => &["<i4", "<u4"],
            Self::Int(_) => &["<i8", "<u8"],
        }
    }

    /// How many bytes the number takes in memory: one at least.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Int(bits) => usize::from(bits).div_ceil(8).next_power_of_two(),
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
            Self::F8E4M3FN
            | Self::F8E5M2
            | Self::F8E8M0FNU
            | Self::F6E2M3FN
            | Self::F6E3M2FN
            | Self::F4E2M1FN => 1,
        }
    }

    /// How many bits the number has.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Int(bits) => u32::from(bits),
            Self::F16 | Self::BF16 => 16,
            Self::F32 => 32,
            Self::F64 => 64,
            Self::F8E4M3FN | Self::F8E5M2 | Self::F8E8M0FNU => 8,
            Self::F6E2M3FN | Self::F6E3M2FN => 6,
            Self::F4E2M1FN => 4,
        }
    }

    /// Returns true if it has a sign, an exponent and a fraction.
    #[must_use]
    pub fn is_float(self) -> bool {
        !matches!(self, Self::Int(_))
    }

    /// The bits of a number that is read from memory.
    #[must_use]
    pub fn from_bytes(self, bytes: &[u8]) -> u64 {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        self.wrap(u64::from_le_bytes(all))
    }

    /// Forgets the bits that the type does not have.
    #[must_use]
    pub fn wrap(self, bits: u64) -> u64 {
        let width = self.bits();
        if width >= 64 {
            bits
        } else {
            bits & ((1 << width) - 1)
        }
    }
}

/// A buffer of [`Memory`](crate::memory::Memory).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BufferId(pub u32);

/// An asynchronous copy that was issued: one dynamic instance, by one thread. In host code, a task.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CopyId(pub u32);

/// What a token stands for: that a copy is complete, or only that it has read its source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Pending {
    /// The copy.
    pub copy: CopyId,
    /// True if it is enough that the source was read.
    pub source: bool,
}

impl From<CopyId> for Pending {
    fn from(copy: CopyId) -> Self {
        Self { copy, source: false }
    }
}

/// A tensor in global memory, as a descriptor describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// All of it.
    pub view: View,
    /// What is copied at once.
    pub shape: Arc<Tile>,
}

/// What the type of a descriptor says: the elements that are copied at once, and how they lie in workgroup memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tile {
    /// The sizes of the box, outermost first.
    pub sizes: Vec<i64>,
    /// The type of the elements.
    pub elem: Elem,
    /// After how many bytes the swizzle repeats: 32, 64 or 128; 0 if there is none.
    pub swizzle: i64,
    /// The bytes of an element that is out of bounds.
    pub fill: Arc<[u8]>,
}

/// A memref: a strided window of a buffer. Offset and strides are in elements.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct View {
    /// The buffer.
    pub buffer: BufferId,
    /// Where the window's base lies, in bytes; `offset` counts from there.
    pub base: i64,
    /// Where element (0, …, 0) is.
    pub offset: i64,
    /// The size of each dimension.
    pub sizes: Vec<i64>,
    /// The distance of neighbours in each dimension.
    pub strides: Vec<i64>,
    /// The type of the elements.
    pub elem: Elem,
    /// How many numbers an element has: more than one if it is a vector.
    pub lanes: u32,
}

/// The strides of a buffer without gaps.
#[must_use]
pub fn row_by_row(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1_i64; sizes.len()];
    for i in (1..sizes.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(sizes[i].max(0));
    }
    strides
}

/// The most bytes that a buffer has; more is a mistake, or nothing for an interpreter.
const MAX_BYTES: i64 = 1 << 30;

impl View {
    /// How many bytes lie between the first and the last element, both included; `None` if no buffer is that large, or
    /// a size is negative.
    #[must_use]
    pub fn span_bytes(&self) -> Option<usize> {
        if self.sizes.iter().any(|&size| size < 0) {
            return None;
        }
        if self.sizes.contains(&0) {
            return Some(0);
        }
        let mut last = 0_i64;
        for (size, stride) in self.sizes.iter().zip(&self.strides) {
            last = last.checked_add((size - 1).checked_mul(*stride)?)?;
        }
        let bytes = last.checked_add(1)?.checked_mul(self.elem_bytes())?;
        usize::try_from(bytes).ok().filter(|_| bytes <= MAX_BYTES)
    }

    /// A dimension, not the innermost one, whose stride no tensor map can have, and its bytes (CUDA, `cuTensorMapEncodeTiled`: each of
    /// `globalStrides` "must be a multiple of 16").
    #[must_use]
    pub fn odd_pitch(&self) -> Option<(usize, i64)> {
        let outer = self.strides.split_last().map_or(&[][..], |(_, outer)| outer);
        let bytes = outer
            .iter()
            .map(|stride| stride.saturating_mul(self.elem_bytes()));
        bytes.enumerate().find(|(_, bytes)| bytes % 16 != 0)
    }

    /// The bytes of each element in its buffer, row by row.
    pub fn elements(&self) -> impl Iterator<Item = Range<usize>> {
        let count = self.sizes.iter().product::<i64>();
        let bytes = usize::try_from(self.elem_bytes()).unwrap_or(0);
        (0..count).map(move |mut number| {
            let mut at = self.offset;
            for (size, stride) in self.sizes.iter().zip(&self.strides).rev() {
                at += number % size * stride;
                number /= size;
            }
            let start = usize::try_from(self.element(at).offset).unwrap_or(0);
            start..start + bytes
        })
    }

    /// What a buffer is that holds just this; `None` if there are gaps.
    #[must_use]
    pub fn array(&self) -> Option<Array> {
        let dense = self.offset == 0 && self.strides == row_by_row(&self.sizes);
        dense.then(|| Array {
            sizes: self.sizes.clone(),
            element: self.elem.bytes() * self.lanes as usize,
        })
    }

    /// The address of the element so far from the base. One that no buffer has is out of every buffer's bounds.
    #[must_use]
    pub fn element(&self, at: i64) -> Pointer {
        let bytes = at.checked_mul(self.elem_bytes());
        Pointer {
            buffer: self.buffer,
            offset: bytes
                .and_then(|bytes| self.base.checked_add(bytes))
                .unwrap_or(i64::MIN),
        }
    }

    /// What the address of an element is a multiple of: all of it, if it is a vector.
    #[must_use]
    pub fn elem_align(&self) -> usize {
        (self.elem.bytes() * self.lanes as usize).next_power_of_two()
    }

    /// The bytes of one element.
    #[must_use]
    pub fn elem_bytes(&self) -> i64 {
        i64::try_from(self.elem.bytes()).unwrap_or(i64::MAX) * i64::from(self.lanes)
    }
}

/// An address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pointer {
    /// The buffer.
    pub buffer: BufferId,
    /// Bytes from its start.
    pub offset: i64,
}

/// What a register holds.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub enum Value {
    /// Nothing was assigned yet, or `ub.poison`.
    #[default]
    Poison,
    /// A number.
    Bits(u64),
    /// The numbers of a vector, row by row.
    Vector(Arc<[u64]>),
    /// What is done when the token is complete.
    Token(Arc<[Pending]>),
    // What no constant is, is not kept as bytes. It comes last, since the numbers of the others are.
    /// The numbers of a vector, of which some are poison.
    #[serde(skip)]
    Partial(Arc<[Option<u64>]>),
    /// A memref.
    #[serde(skip)]
    View(Arc<View>),
    /// A pointer of the LLVM dialect.
    #[serde(skip)]
    Pointer(Pointer),
    /// A tensor map descriptor.
    #[serde(skip)]
    Tensor(Arc<Tensor>),
    /// A value that a task yields, by the task and its place: it is there when the task has ended, and may be used when its
    /// token is complete.
    #[serde(skip)]
    Yielded(CopyId, u32),
    /// A value of an `async.region`, or an accumulator of a warpgroup, which may be handed on but not used before something is
    /// complete.
    #[serde(skip)]
    Guarded(Arc<Guarded>),
}

/// A value is no number or vector, or has fewer numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSuchNumber;

/// A value that is not to be used yet.
#[derive(Clone, PartialEq, Debug)]
pub struct Guarded {
    /// The value.
    pub value: Value,
    /// What has to be complete before.
    pub guards: Vec<Guard>,
}

/// What has to be complete before a value is used.
#[derive(Clone, PartialEq, Debug)]
pub struct Guard {
    /// That these are done.
    pub copies: Arc<[Pending]>,
    /// What makes the value.
    pub by: OpLocation,
    /// The numbers of the value that it is about, if that is an accumulator of a warpgroup; nothing if the value is what a
    /// region yields.
    pub accumulator: Option<Range<usize>>,
}

impl Value {
    /// A vector of these numbers, of which those that are `None` are poison.
    #[must_use]
    pub fn of_parts(parts: Vec<Option<u64>>) -> Self {
        if parts.iter().all(Option::is_none) {
            return Self::Poison;
        }
        let all: Option<Arc<[u64]>> = parts.iter().copied().collect();
        all.map_or_else(|| Self::Partial(parts.into()), Self::Vector)
    }

    /// Number `i` of a number or vector: `None` if it is poison.
    ///
    /// # Errors
    ///
    /// If there is no such number.
    pub fn part(&self, i: usize) -> Result<Option<u64>, NoSuchNumber> {
        match self {
            Self::Poison => Ok(None),
            Self::Bits(bits) => Ok(Some(*bits)),
            Self::Vector(numbers) => numbers.get(i).copied().map(Some).ok_or(NoSuchNumber),
            Self::Partial(parts) => parts.get(i).copied().ok_or(NoSuchNumber),
            _ => Err(NoSuchNumber),
        }
    }

    /// A truth value.
    #[must_use]
    pub fn flag(value: bool) -> Self {
        Self::Bits(u64::from(value))
    }

    /// A signed number.
    #[must_use]
    pub fn int(value: i64) -> Self {
        Self::Bits(value.cast_unsigned())
    }
}
