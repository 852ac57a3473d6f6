//! Matrices of `gpu.subgroup_mma_*` and `nvvm.wmma.*`, of which each lane of a warp has a part.

use super::{Index, Reg, Target};
use crate::value::Elem;
use serde::{Deserialize, Serialize};

/// A matrix. Which of its elements a lane has, row by row counted, is up to the implementation: here, every 32nd one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Matrix {
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub columns: usize,
    /// The type of the elements.
    pub elem: Elem,
    /// True if they are integers without a sign.
    pub unsigned: bool,
}

/// Where a matrix lies in memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Its first element.
    pub first: Target,
    /// How many elements further the next row is, or the next column if it is `transposed`.
    pub lead: Index,
    /// True if it lies column by column.
    pub transposed: bool,
}

/// What a warp does with such matrices.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Fragment {
    /// `gpu.subgroup_mma_load_matrix`, `nvvm.wmma.load`
    Load {
        /// Where to.
        to: Reg,
        /// From where.
        from: Place,
        /// What.
        matrix: Matrix,
    },
    /// `gpu.subgroup_mma_store_matrix`, `nvvm.wmma.store`
    Store {
        /// The matrix.
        value: Reg,
        /// Where to.
        to: Place,
        /// What.
        matrix: Matrix,
    },
    /// `gpu.subgroup_mma_compute`, `nvvm.wmma.mma`
    Multiply {
        /// Where to.
        to: Reg,
        /// A, B and C.
        operands: [Reg; 3],
        /// What they are.
        matrices: [Matrix; 3],
    },
}
