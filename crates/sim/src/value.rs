//! Types and values of the interpreter.

use std::rc::Rc;

/// The type of a number. Numbers are kept as bits, in the low end of a `u64`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
}

impl Elem {
    /// `index`, and the bits of a pointer.
    pub const INDEX: Self = Self::Int(64);

    /// How many bytes the number takes in memory.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Int(bits) => usize::from(bits).div_ceil(8).next_power_of_two(),
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
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
        let width = match self {
            Self::Int(bits) => u32::from(bits),
            Self::F16 | Self::BF16 => 16,
            Self::F32 => 32,
            Self::F64 => 64,
        };
        if width >= 64 {
            bits
        } else {
            bits & ((1 << width) - 1)
        }
    }
}

/// A buffer of [`Memory`](crate::memory::Memory).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// An asynchronous copy that was issued: one dynamic instance, by one thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct CopyId(pub u32);

/// A memref: a strided window of a buffer. Offset and strides are in elements.
#[derive(Clone, PartialEq, Eq, Debug)]
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

/// The most bytes that a buffer has; more is a mistake, or nothing for an interpreter.
const MAX_BYTES: i64 = 1 << 32;

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

    /// The bytes of one element.
    #[must_use]
    pub fn elem_bytes(&self) -> i64 {
        i64::try_from(self.elem.bytes()).unwrap_or(i64::MAX) * i64::from(self.lanes)
    }
}

/// An address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    /// The buffer.
    pub buffer: BufferId,
    /// Bytes from its start.
    pub offset: i64,
}

/// What a register holds.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Value {
    /// Nothing was assigned yet, or `ub.poison`.
    #[default]
    Poison,
    /// A number.
    Bits(u64),
    /// The numbers of a vector, row by row.
    Vector(Rc<[u64]>),
    /// A memref.
    View(Rc<View>),
    /// A pointer of the LLVM dialect.
    Pointer(Pointer),
    /// Copies that are complete when the token is.
    Token(Rc<[CopyId]>),
}

impl Value {
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
