//! Vectors made of the numbers of others.

use super::{Index, Reg};
use crate::scalar::Scalar;
use crate::value::Elem;

/// What makes a vector, or a number, of the numbers of others.
#[derive(Clone, Debug)]
pub enum VectorOp {
    /// One number of a vector: `vector.extract` at an index that is no constant
    Extract {
        /// Where to.
        to: Reg,
        /// The vector.
        vector: Reg,
        /// Which number.
        index: Reg,
    },
    /// A vector with one number changed: `vector.insert` at an index that is no constant
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
