//! Vectors made of the numbers of others.

use super::{Index, Reg};
use crate::scalar::Scalar;
use crate::value::Elem;
use serde::{Deserialize, Serialize};

/// What makes a vector, or a number, of the numbers of others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum VectorOp {
    /// A part of a vector: `vector.extract` at a position that is no constant
    ExtractPart {
        /// Where to.
        to: Reg,
        /// The vector.
        vector: Reg,
        /// Where the part is.
        part: Part,
        /// True if the result is a number and no vector.
        number: bool,
    },
    /// A vector with a part changed: `vector.insert` at a position that is no constant
    InsertPart {
        /// Where to.
        to: Reg,
        /// The part.
        value: Reg,
        /// The vector.
        vector: Reg,
        /// Where the part is.
        part: Part,
        /// How many numbers the vector has.
        count: u32,
    },
    /// One number of a vector: `llvm.extractelement` at an index that is no constant
    Extract {
        /// Where to.
        to: Reg,
        /// The vector.
        vector: Reg,
        /// Which number.
        index: Reg,
    },
    /// A vector with one number changed: `llvm.insertelement` at an index that is no constant
    Insert {
        /// Where to.
        to: Reg,
        /// The number.
        value: Reg,
        /// The vector.
        vector: Reg,
        /// Which number.
        index: Reg,
        /// How many numbers the vector has.
        count: u32,
    },
    /// `vector.bitcast`
    Bitcast {
        /// Where to.
        to: Reg,
        /// The vector.
        vector: Reg,
        /// The type of its numbers.
        from: Elem,
        /// The type of the result's.
        into: Elem,
        /// True if the result is a number and no vector.
        number: bool,
    },
    /// Truth values, which hold where each index is below the bound of its dimension: `vector.create_mask`
    Mask {
        /// Where to.
        to: Reg,
        /// The sizes of the vector.
        sizes: Box<[i64]>,
        /// The bounds.
        bounds: Box<[Index]>,
    },
    /// Adds up, or the like, the numbers of a vector: `vector.reduction`
    Reduce {
        /// Where to.
        to: Reg,
        /// The vector.
        vector: Reg,
        /// What it starts with, if not with the first number.
        start: Option<Reg>,
        /// Which numbers count, if not all.
        mask: Option<Reg>,
        /// How two numbers make one.
        f: Scalar,
        /// The type of the numbers.
        elem: Elem,
    },
    /// How many truth values before each are true: where `vector.expandload` and `compressstore` access memory
    Ranks {
        /// Where to.
        to: Reg,
        /// The truth values.
        mask: Reg,
    },
    /// Sums, or the like: `vector.contract`, `outerproduct` and `multi_reduction`, `nvvm.dot.accumulate`
    Contract(Box<Contraction>),
    /// A vector made of the numbers of others: `vector.extract`, `insert`, `shuffle`, `broadcast`, …
    Pick {
        /// Where to.
        to: Reg,
        /// The others.
        from: Box<[Reg]>,
        /// For each number, which of `from` and which number of it.
        picks: Box<[(u32, u32)]>,
        /// True if the result is a number and no vector.
        number: bool,
    },
}

/// Adds up, or the like, numbers of a vector or products of those of two.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Contraction {
    /// Where to.
    pub to: Reg,
    /// One vector, or two whose numbers are multiplied, and how their numbers get the type of the sums.
    pub factors: Box<[(Reg, Scalar)]>,
    /// What the sums start with, if not with the first term.
    pub start: Option<Reg>,
    /// Which terms count, if not all.
    pub mask: Option<Reg>,
    /// The terms of each sum, in order.
    pub sums: Box<[Box<[Term]>]>,
    /// How two numbers make one.
    pub f: Scalar,
    /// The type of the sums.
    pub elem: Elem,
    /// True if the result is a number and no vector.
    pub number: bool,
}

/// What is added up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Term {
    /// The number of each factor.
    pub of: [u32; 2],
    /// The bit of the mask.
    pub bit: u32,
}

/// A part of a vector that is computed where it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// For each leading dimension of the vector the index, and the size.
    pub position: Box<[(Index, u32)]>,
    /// How many numbers there are.
    pub count: u32,
}

impl Part {
    /// The first of its numbers, if the indices are constants in bounds.
    #[must_use]
    pub fn constant(&self) -> Option<u32> {
        self.first(|index| match index {
            Index::Const(index) => Some(*index),
            Index::Reg(_) => None,
        })
    }

    /// The first of its numbers; `None` if an index is out of bounds, or `value` has none.
    pub fn first(&self, mut value: impl FnMut(&Index) -> Option<i64>) -> Option<u32> {
        let mut first = 0_u32;
        for (index, size) in &self.position {
            let index = u32::try_from(value(index)?).ok().filter(|index| index < size)?;
            first = first.checked_mul(*size)?.checked_add(index)?;
        }
        first.checked_mul(self.count)
    }
}
