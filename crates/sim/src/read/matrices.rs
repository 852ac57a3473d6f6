//! Matrices that the threads of a warp have parts of: `ldmatrix`, `mma.sync` and `mma.sp.sync`, of `nvgpu` and of `nvvm`.
//!
//! **Refusals.** Single bits, `ldmatrix` and `stmatrix` of other shapes than 8×8, and layouts other than row by column.

use super::{Done, Reader, Unknown, ints};
use crate::code::{Index, LdMatrix, Mma, Op as Instruction, Reg, Sparsity, StMatrix, Target, VectorOp};
use crate::value::Elem;
use async_mlir::ir::Op;
use async_mlir::names::{attr, llvm, nvgpu, nvvm};
use async_mlir::nvvm::mma_shape;
use async_mlir::types;
use std::ops::Range;

/// The type of a matrix's numbers, as instructions have it.
#[derive(Clone, Copy)]
pub(super) struct Multiplicand {
    pub elem: Elem,
    pub unsigned: bool,
}

impl Multiplicand {
    /// The numbers of a PTX type; `None` if the interpreter has no matrices of them.
    pub fn named(ptx: &str) -> Option<Self> {
        let elem = match ptx {
            "f16" => Elem::F16,
            "bf16" => Elem::BF16,
            "tf32" => Elem::F32,
            "f64" => Elem::F64,
            "s8" | "u8" => Elem::Int(8),
            "s4" | "u4" => Elem::Int(4),
            "e4m3" => Elem::F8E4M3FN,
            "e5m2" => Elem::F8E5M2,
            _ => return None,
        };
        let unsigned = matches!(ptx, "u8" | "u4");
        Some(Self { elem, unsigned })
    }
}

/// A multiplication, as an operation says it.
pub(super) struct Multiplication {
    /// A, B and C: all numbers of a lane.
    pub operands: [Reg; 3],
    /// The types of A and B.
    pub inputs: [Multiplicand; 2],
    /// The type of C and D.
    pub output: Elem,
    /// M, N and K, if it says them.
    pub shape: Option<[usize; 3]>,
    /// True if integers that are too large wrap around, and don't saturate.
    pub wraps: bool,
    /// Where the numbers of A stand, if it is sparse.
    pub sparsity: Option<Sparsity>,
}

impl<'c> Reader<'c> {
    /// Reads `op` if it is about such a matrix; returns false if not.
    pub(super) fn matrices(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            nvgpu::LDMATRIX => self.ldmatrix(op)?,
            nvgpu::MMA_SYNC | nvgpu::MMA_SP_SYNC => self.mma(op)?,
            nvvm::LDMATRIX => self.pointer_ldmatrix(op)?,
            nvvm::STMATRIX => self.stmatrix(op)?,
            nvvm::MMA_SYNC | nvvm::MMA_SP_SYNC => self.register_mma(op)?,
            llvm::INLINE_ASM => return self.sparse_assembly(op),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn ldmatrix(&mut self, op: Op<'c>) -> Done<'c> {
        let elem = Self::elem(op, op.result(0).ty())?;
        let tiles = Self::tiles(op, attr::NUM_TILES)?;
        let transpose = op.bool_attr(attr::TRANSPOSE).unwrap_or(false);
        if elem.bytes() > 4 || (transpose && elem.bytes() != 2) {
            return Err(Unknown::new(op, "no ldmatrix has numbers of this size"));
        }
        let load = LdMatrix {
            from: Target::Element(self.access(op, 0, 1)),
            to: self.reg(op.result(0)),
            tiles,
            transpose,
            elem,
        };
        self.emit(op, Instruction::LdMatrix(load));
        Ok(())
    }

    /// How many matrices are loaded at once.
    fn tiles(op: Op<'c>, name: &str) -> Result<usize, Unknown<'c>> {
        match op.int_attr(name) {
            Some(1) => Ok(1),
            Some(2) => Ok(2),
            Some(4) => Ok(4),
            _ => Err(Unknown::operation(op)),
        }
    }

    /// Each matrix is a register of 32 bits.
    fn pointer_ldmatrix(&mut self, op: Op<'c>) -> Done<'c> {
        let keyword = |name| op.attr(name).and_then(types::keyword);
        if keyword(attr::ELT_TYPE) != Some("b16") {
            return Err(Unknown::new(
                op,
                "the interpreter knows an ldmatrix of 8×8 numbers of 16 bits only",
            ));
        }
        let load = LdMatrix {
            from: Target::Pointer(self.operand(op, 0)),
            to: self.reg(op.result(0)),
            tiles: Self::tiles(op, attr::NUM)?,
            transpose: keyword(attr::LAYOUT) == Some("col"),
            elem: Elem::Int(32),
        };
        self.emit(op, Instruction::LdMatrix(load));
        Ok(())
    }

    /// The address comes first, then a register for each matrix.
    fn stmatrix(&mut self, op: Op<'c>) -> Done<'c> {
        let keyword = |name| op.attr(name).and_then(types::keyword);
        if keyword(attr::ELT_TYPE) != Some("b16") {
            return Err(Unknown::new(
                op,
                "the interpreter knows an stmatrix of 8×8 numbers of 16 bits only",
            ));
        }
        let store = StMatrix {
            values: (1..op.num_operands()).map(|i| self.operand(op, i)).collect(),
            to: self.operand(op, 0),
            transpose: keyword(attr::LAYOUT) == Some("col"),
        };
        self.emit(op, Instruction::StMatrix(store));
        Ok(())
    }

    fn mma(&mut self, op: Op<'c>) -> Done<'c> {
        let input = Multiplicand {
            elem: Self::elem(op, op.operand(0).ty())?,
            unsigned: false,
        };
        let output = Self::elem(op, op.result(0).ty())?;
        let shape = shape_of(&ints(op, attr::MMA_SHAPE).unwrap_or_default());
        let operands = [0, 1, 2].map(|i| self.operand(op, i));
        let sparsity = if op.is(nvgpu::MMA_SP_SYNC) {
            Some(self.sparsity(op)?)
        } else {
            None
        };
        let mma = Multiplication {
            operands,
            inputs: [input; 2],
            output,
            shape,
            // nvgpu has no other overflow of integers.
            wraps: false,
            sparsity,
        };
        self.multiply(op, mma)
    }

    /// Every operand is a register of 32 bits, or an f64: of A, of B and of C. Those of a sparse multiplication come after
    /// them, and it has no other layouts.
    fn register_mma(&mut self, op: Op<'c>) -> Done<'c> {
        let keyword = |name| op.attr(name).and_then(types::keyword);
        let layouts = [attr::LAYOUT_A, attr::LAYOUT_B].map(keyword);
        let is_sparse = op.is(nvvm::MMA_SP_SYNC);
        if !is_sparse && layouts != [Some("row"), Some("col")] {
            return Err(Unknown::new(
                op,
                "the interpreter knows an mma.sync of row by column only",
            ));
        }
        let sizes = ints(op, attr::OPERAND_SEGMENT_SIZES).unwrap_or_default();
        let sizes: Vec<usize> = sizes.iter().filter_map(|&n| usize::try_from(n).ok()).collect();
        let ((&[a, b, c], false) | (&[a, b, c, 1, 1], true)) = (&sizes[..], is_sparse) else {
            return Err(Unknown::operation(op));
        };
        if a == 0 || b == 0 || c == 0 || sizes.iter().sum::<usize>() != op.num_operands() {
            return Err(Unknown::operation(op));
        }
        let first = a + b + c;
        let sparsity = is_sparse.then(|| Sparsity {
            metadata: self.operand(op, first),
            selector: Index::Reg(self.operand(op, first + 1)),
            ordered: op.has_attr(attr::ORDERED_METADATA),
        });
        let shape = op.attr(attr::SHAPE).and_then(mma_shape).unwrap_or_default();
        let left = Self::multiplicand(op, attr::MULTIPLICAND_A, 0)?;
        let right = Self::multiplicand(op, attr::MULTIPLICAND_B, a)?;
        let output = Self::elem(op, op.operand(a + b).ty())?;
        let operands = [
            self.registers(op, 0..a, left.elem)?,
            self.registers(op, a..a + b, right.elem)?,
            self.registers(op, a + b..a + b + c, output)?,
        ];
        // What comes out has to be of the type of what it is added to.
        let parts = super::aggregates::numbers_in(op.result(0).ty());
        let wraps = keyword(attr::INT_OVERFLOW_BEHAVIOR) != Some("satfinite");
        let members = async_mlir::llvm::aggregate(op.result(0).ty());
        let Some(async_mlir::llvm::Aggregate::Struct(members)) = members.filter(|_| parts.is_some()) else {
            return Err(Unknown::operation(op));
        };
        for member in members {
            if Self::elem(op, member)? != output {
                return Err(Unknown::new(
                    op,
                    "the interpreter knows an mma.sync with C and D of one type only",
                ));
            }
        }
        let mma = Multiplication {
            operands,
            inputs: [left, right],
            output,
            shape: shape_of(&shape),
            wraps,
            sparsity,
        };
        self.multiply(op, mma)
    }

    /// The numbers of A or B: what the attribute says, or what its registers, from operand `first` on, are made of.
    fn multiplicand(op: Op<'c>, name: &str, first: usize) -> Result<Multiplicand, Unknown<'c>> {
        let Some(ptx) = op.attr(name).and_then(types::keyword) else {
            let elem = Self::elem(op, op.operand(first).ty())?;
            let unsigned = false;
            return Ok(Multiplicand { elem, unsigned });
        };
        let unknown = || Unknown::new(op, format!("the interpreter has no matrices of {ptx}"));
        Multiplicand::named(ptx).ok_or_else(unknown)
    }

    /// The numbers that operands of `op` hold, as a vector.
    pub(super) fn registers(
        &mut self,
        op: Op<'c>,
        operands: Range<usize>,
        elem: Elem,
    ) -> Result<Reg, Unknown<'c>> {
        let ty = op.operand(operands.start).ty();
        let held = Self::elem(op, ty)?;
        let each = super::aggregates::numbers_in(ty).unwrap_or(0);
        let from: Box<[Reg]> = operands.map(|i| self.operand(op, i)).collect();
        let count = u32::try_from(from.len()).unwrap_or(0);
        let picks = (0..count).flat_map(|operand| (0..each).map(move |i| (operand, i)));
        let (packed, unpacked) = (self.fresh(), self.fresh());
        let pick = VectorOp::Pick {
            to: packed,
            from,
            picks: picks.collect(),
            number: false,
        };
        self.emit(op, Instruction::Vector(pick));
        let cast = VectorOp::Bitcast {
            to: unpacked,
            vector: packed,
            from: held,
            into: elem,
            number: false,
        };
        self.emit(op, Instruction::Vector(cast));
        Ok(unpacked)
    }

    pub(super) fn multiply(&mut self, op: Op<'c>, of: Multiplication) -> Done<'c> {
        let [input, other] = of.inputs.map(|input| input.elem);
        let is_sparse = of.sparsity.is_some();
        let known = matches!(
            (input, is_sparse, of.shape),
            (Elem::F16 | Elem::BF16, false, Some([16, 8, 8 | 16]))
                | (Elem::F32, false, Some([16, 8, 4 | 8]))
                | (Elem::F64, false, Some([8, 8, 4]))
                | (Elem::Int(8), false, Some([16, 8, 16 | 32] | [8, 8, 16]))
                | (Elem::Int(4), false, Some([16, 8, 32 | 64] | [8, 8, 32]))
                | (Elem::F16 | Elem::BF16, true, Some([16, 8, 16 | 32]))
                | (Elem::F32, true, Some([16, 8, 8 | 16]))
                | (Elem::Int(8), true, Some([16, 8, 32 | 64]))
        );
        let fits = of.output.is_float() == input.is_float() && input == other;
        let Some(shape) = of.shape.filter(|_| known && fits) else {
            return Err(Unknown::new(
                op,
                "the interpreter knows no multiplication of this shape and type",
            ));
        };
        let [a, b, c] = of.operands;
        let mma = Mma {
            to: self.reg(op.result(0)),
            a,
            b,
            c,
            shape,
            input,
            output: of.output,
            unsigned: of.inputs.map(|input| input.unsigned),
            wraps: of.wraps,
            sparsity: of.sparsity,
        };
        self.emit(op, Instruction::Mma(mma));
        Ok(())
    }
}

/// M, N and K.
pub(super) fn shape_of(sizes: &[i64]) -> Option<[usize; 3]> {
    let sizes: Result<Vec<usize>, _> = sizes.iter().map(|&size| usize::try_from(size)).collect();
    sizes.ok()?.try_into().ok()
}
