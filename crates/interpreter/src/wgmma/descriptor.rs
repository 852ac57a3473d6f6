//! Matrix descriptors, by the PTX ISA, sections "Matrix descriptor format", "Strides" and "Canonical layouts" of
//! `wgmma.mma_async`.
//!
//! **Notation.** A *chunk* is 16 bytes, which a swizzle moves as a whole, and T is how many elements it has. *MN* is the
//! dimension of a matrix that is not K: M of A, and N of B. An *atom* is what the swizzle permutes: 8 lines of as many bytes as
//! the mode is called after, or of one chunk without a swizzle.

use serde::{Deserialize, Serialize};

/// The bytes of a chunk.
const CHUNK: u64 = 16;
/// The lines of an atom.
const LINES: u64 = 8;
/// The bytes of K in one multiplication of elements of 8 bits or more ("Matrix shape").
const K_BYTES: u64 = 32;
/// What an address of shared memory has in a descriptor: 14 bits of chunks.
const FIELD: u64 = 0x3FFF;

/// How chunks are permuted, by bits of their address in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swizzle {
    /// Not at all.
    None,
    /// In lines of 32 bytes.
    B32,
    /// In lines of 64 bytes.
    B64,
    /// In lines of 128 bytes.
    B128,
}

impl Swizzle {
    /// How many bytes a line of an atom has.
    #[must_use]
    pub fn line(self) -> u64 {
        match self {
            Self::None => 16,
            Self::B32 => 32,
            Self::B64 => 64,
            Self::B128 => 128,
        }
    }

    /// After how many bytes the pattern repeats: what an atom is aligned to, if the base offset is 0.
    #[must_use]
    pub fn period(self) -> u64 {
        match self {
            Self::None => CHUNK,
            swizzled => swizzled.line() * LINES,
        }
    }

    /// Where a byte lies that would lie at `address` without a swizzle: from bit 7 of the address on, as many bits as number
    /// the chunks of a line are added without carry from bit 4 on.
    #[must_use]
    pub fn apply(self, address: u64) -> u64 {
        let mask = self.line() / CHUNK - 1;
        address ^ (address >> 7 & mask) << 4
    }
}

/// Which dimension of a matrix is contiguous in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Major {
    /// K: rows of A, and columns of B.
    K,
    /// The other one: columns of A, and rows of B.
    MN,
}

/// A matrix in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// The address of the first element, in bytes.
    pub start: u64,
    /// The leading dimension byte offset.
    pub leading: u64,
    /// The stride dimension byte offset.
    pub stride: u64,
    /// Where the pattern of the swizzle starts, if it is at no multiple of its period.
    pub base_offset: u8,
    /// The swizzle.
    pub swizzle: Swizzle,
}

impl Descriptor {
    /// Reads the 64 bits of a descriptor.
    #[must_use]
    pub fn decode(bits: u64) -> Self {
        let field = |low: u32| (bits >> low & FIELD) * CHUNK;
        Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base_offset: u8::try_from(bits >> 49 & 7).unwrap_or(0),
            swizzle: match bits >> 62 {
                0 => Swizzle::None,
                1 => Swizzle::B128,
                2 => Swizzle::B64,
                _ => Swizzle::B32,
            },
        }
    }

    /// The 64 bits.
    #[must_use]
    pub fn encode(self) -> u64 {
        let field = |bytes: u64, low: u32| ((bytes / CHUNK) & FIELD) << low;
        let mode = match self.swizzle {
            Swizzle::None => 0,
            Swizzle::B128 => 1,
            Swizzle::B64 => 2,
            Swizzle::B32 => 3,
        };
        let strides = field(self.leading, 16) | field(self.stride, 32);
        field(self.start, 0) | strides | u64::from(self.base_offset) << 49 | mode << 62
    }

    /// Where the chunk at line `line` of the contiguous dimension, and at chunk `chunk` along it, would lie without a
    /// swizzle. Lines are indices of MN if K is contiguous, and else of K.
    fn linear(self, major: Major, line: u64, chunk: u64) -> u64 {
        let (atom, inside) = (line / LINES, line % LINES);
        let per_line = self.swizzle.line() / CHUNK;
        let offset = match (major, self.swizzle) {
            (Major::K, Swizzle::None) => atom * self.stride + chunk * self.leading,
            (Major::K, _) => atom * self.stride + chunk * CHUNK,
            (Major::MN, Swizzle::None) => atom * self.leading + chunk * self.stride,
            (Major::MN, _) => {
                let (block, within) = (chunk / per_line, chunk % per_line);
                atom * self.stride + block * self.leading + within * CHUNK
            }
        };
        self.start + offset + inside * self.swizzle.line()
    }

    /// The address of every chunk of a matrix with so many elements of `size` bytes along MN, and of which elements it is:
    /// the indices in MN and K of the first of them. The others follow along the contiguous dimension.
    pub fn chunks(self, major: Major, mn: u64, size: u64) -> impl Iterator<Item = (u64, [u64; 2])> {
        let (per_chunk, k) = (CHUNK / size, K_BYTES / size);
        let (lines, along) = match major {
            Major::K => (mn, k / per_chunk),
            Major::MN => (k, mn / per_chunk),
        };
        (0..lines).flat_map(move |line| {
            (0..along).map(move |chunk| {
                let address = self.swizzle.apply(self.linear(major, line, chunk));
                let first = chunk * per_chunk;
                let place = match major {
                    Major::K => [line, first],
                    Major::MN => [first, line],
                };
                (address, place)
            })
        })
    }
}
