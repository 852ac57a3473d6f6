//! `gpu.subgroup_mma_*`.
//!
//! **Refusals.** Memrefs of vectors, and matrices that can't be divided among the lanes of a warp.

use super::aggregates::numbers_in;
use super::{Done, Reader, Unknown, number};
use crate::code::{Fragment, Index, Matrix, Op as Instruction, Place, Target, VectorOp};
use crate::machine::WARP;
use crate::scalar::{Rounding, Scalar};
use crate::value::{Elem, Value as Constant};
use async_mlir::gpu::mma_matrix;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{attr, gpu};
use async_mlir::types::{self, Signedness};

impl<'c> Reader<'c> {
    /// Reads `op` if it is about such matrices; returns false if not.
    pub(super) fn fragments(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            gpu::SUBGROUP_MMA_LOAD_MATRIX => {
                let load = Fragment::Load {
                    from: self.matrix_place(op, 0)?,
                    to: self.reg(op.result(0)),
                    matrix: Self::matrix(op, op.result(0))?,
                };
                self.emit(op, Instruction::Fragment(Box::new(load)));
            }
            gpu::SUBGROUP_MMA_STORE_MATRIX => {
                let store = Fragment::Store {
                    value: self.operand(op, 0),
                    to: self.matrix_place(op, 1)?,
                    matrix: Self::matrix(op, op.operand(0))?,
                };
                self.emit(op, Instruction::Fragment(Box::new(store)));
            }
            gpu::SUBGROUP_MMA_COMPUTE => self.multiply_matrices(op)?,
            gpu::SUBGROUP_MMA_CONSTANT_MATRIX => {
                let count = Self::part_of(Self::matrix(op, op.result(0))?);
                self.pick(op, vec![(0, 0); count as usize]);
            }
            gpu::SUBGROUP_MMA_ELEMENTWISE => self.matrix_elementwise(op)?,
            gpu::SUBGROUP_MMA_EXTRACT_THREAD_LOCAL if op.num_operands() == 2 => {
                let [vector, index] = [0, 1].map(|i| self.operand(op, i));
                let to = self.reg(op.result(0));
                let extract = VectorOp::Extract { to, vector, index };
                self.emit(op, Instruction::Vector(extract));
            }
            gpu::SUBGROUP_MMA_INSERT_THREAD_LOCAL if op.num_operands() == 3 => {
                let [value, vector, index] = [0, 1, 2].map(|i| self.operand(op, i));
                let insert = VectorOp::Insert {
                    to: self.reg(op.result(0)),
                    value,
                    vector,
                    index,
                    count: Self::part_of(Self::matrix(op, op.result(0))?),
                };
                self.emit(op, Instruction::Vector(insert));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn matrix(op: Op<'c>, value: Value<'c>) -> Result<Matrix, Unknown<'c>> {
        let unknown = || {
            Unknown::new(
                op,
                format!("the interpreter has no matrices of type {}", value.ty()),
            )
        };
        let ([rows, columns], element) = mma_matrix(value.ty()).ok_or_else(unknown)?;
        let elem = number(element).ok_or_else(unknown)?;
        let [rows, columns] = [rows, columns].map(|size| usize::try_from(size).unwrap_or(0));
        let count = rows.saturating_mul(columns);
        // As many as there are of WMMA, and more.
        if count == 0 || !count.is_multiple_of(WARP) || count > 1 << 16 {
            return Err(unknown());
        }
        Ok(Matrix {
            rows,
            columns,
            elem,
            unsigned: types::signedness(element) == Some(Signedness::Unsigned),
        })
    }

    /// How many elements each lane has.
    pub(super) fn part_of(matrix: Matrix) -> u32 {
        u32::try_from(matrix.rows * matrix.columns / WARP).unwrap_or(0)
    }

    /// Where in operand `view` of `op` the matrix lies; the indices come after it.
    fn matrix_place(&mut self, op: Op<'c>, view: usize) -> Result<Place, Unknown<'c>> {
        let element = types::memref_shape(op.operand(view).ty()).map(|shape| shape.element);
        if element.and_then(numbers_in) != Some(1) {
            return Err(Unknown::new(
                op,
                "the interpreter knows matrices in memrefs of numbers only",
            ));
        }
        Ok(Place {
            first: Target::Element(self.access(op, view, view + 1)),
            lead: Index::Const(
                op.int_attr(attr::LEAD_DIMENSION)
                    .ok_or_else(|| Unknown::operation(op))?,
            ),
            transposed: op.has_attr(attr::TRANSPOSE),
        })
    }

    fn multiply_matrices(&mut self, op: Op<'c>) -> Done<'c> {
        let operands = [0, 1, 2].map(|i| self.operand(op, i));
        let matrix = |i| Self::matrix(op, op.operand(i));
        let matrices = [matrix(0)?, matrix(1)?, matrix(2)?];
        let [a, b, c] = matrices;
        let fits = (a.rows, b.columns, a.columns) == (c.rows, c.columns, b.rows);
        if !fits || a.elem.is_float() != c.elem.is_float() || b.elem.is_float() != c.elem.is_float() {
            return Err(Unknown::operation(op));
        }
        let to = self.reg(op.result(0));
        let multiply = Fragment::Multiply {
            to,
            operands,
            matrices,
        };
        self.emit(op, Instruction::Fragment(Box::new(multiply)));
        Ok(())
    }

    /// Each lane computes with its part alone.
    fn matrix_elementwise(&mut self, op: Op<'c>) -> Done<'c> {
        let (from, into) = (Self::matrix(op, op.operand(0))?, Self::matrix(op, op.result(0))?);
        let kind = op
            .attr(attr::OP_TYPE)
            .and_then(types::keyword)
            .unwrap_or_default();
        let (f, arity) = match (kind, into.elem.is_float()) {
            ("addf", true) => (Scalar::AddF, 2),
            ("subf", true) => (Scalar::SubF, 2),
            ("mulf", true) => (Scalar::MulF, 2),
            ("divf", true) => (Scalar::DivF, 2),
            ("maxf", true) => (Scalar::MaxF, 2),
            ("minf", true) => (Scalar::MinF, 2),
            ("negatef", true) => (Scalar::NegF, 1),
            ("extf", true) if from.elem.is_float() => (Scalar::Convert(from.elem, Rounding::default()), 1),
            ("addi", false) => (Scalar::Add, 2),
            ("subi", false) => (Scalar::Sub, 2),
            ("muli", false) => (Scalar::Mul, 2),
            ("divs", false) => (Scalar::DivS, 2),
            ("divu", false) => (Scalar::DivU, 2),
            ("negates", false) => (Scalar::Sub, 1),
            _ => return Err(Unknown::operation(op)),
        };
        let mut args = self.operands(op).into_vec();
        if args.len() != arity {
            return Err(Unknown::operation(op));
        }
        if f == Scalar::Sub && arity == 1 {
            let zero = self.fresh();
            let value = Constant::int(0);
            self.emit(op, Instruction::Set { to: zero, value });
            args.insert(0, zero);
        }
        let to = self.reg(op.result(0));
        let elem: Elem = into.elem;
        self.scalar(op, f, elem, to, &args);
        Ok(())
    }
}
