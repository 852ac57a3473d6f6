//! `nvvm.wmma.*`. Which elements a lane has is up to the implementation, as in `gpu.subgroup_mma_*`, which they are lowered from.
//! Where its registers have room for more elements than that, they hold each of them several times.
//!
//! **Refusals.** Numbers of less than 8 bits.

use super::aggregates::numbers_in;
use super::{Done, Reader, Unknown};
use crate::code::{Fragment, Index, Matrix, Op as Instruction, Place, Reg, Target, VectorOp};
use crate::machine::WARP;
use crate::value::Elem;
use async_mlir::ir::Op;
use async_mlir::melior::ir::Type;
use async_mlir::names::{attr, nvvm};
use async_mlir::{llvm, types};

impl<'c> Reader<'c> {
    /// Reads `op` if it is about such matrices; returns false if not.
    pub(super) fn wmma(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            nvvm::WMMA_LOAD => self.wmma_load(op)?,
            nvvm::WMMA_STORE => self.wmma_store(op)?,
            nvvm::WMMA_MMA => self.wmma_multiply(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn wmma_load(&mut self, op: Op<'c>) -> Done<'c> {
        let fragment = op.attr(attr::FRAG).and_then(types::keyword);
        let shape = fragment
            .zip(shape(op))
            .and_then(|(fragment, shape)| sizes(fragment, shape));
        let matrix = Self::wmma_matrix(op, shape, attr::ELTYPE)?;
        let to = self.fresh();
        let from = self.wmma_place(op, 1);
        let load = Fragment::Load { to, from, matrix };
        self.emit(op, Instruction::Fragment(Box::new(load)));
        self.fill_registers(op, to, matrix)
    }

    /// The stride comes last.
    fn wmma_store(&mut self, op: Op<'c>) -> Done<'c> {
        let matrix = Self::wmma_matrix(op, shape(op).and_then(|shape| sizes("c", shape)), attr::ELTYPE)?;
        let last = op.num_operands() - 1;
        let value = self.part_in(op, 1, last, matrix)?;
        let to = self.wmma_place(op, last);
        let store = Fragment::Store { value, to, matrix };
        self.emit(op, Instruction::Fragment(Box::new(store)));
        Ok(())
    }

    /// Operands are the registers of A, of B and of C.
    fn wmma_multiply(&mut self, op: Op<'c>) -> Done<'c> {
        let shape = shape(op);
        let [left, right] = ["a", "b"].map(|fragment| {
            Self::wmma_matrix(op, shape.and_then(|shape| sizes(fragment, shape)), attr::ELTYPE_A)
        });
        let (left, right) = (left?, right?);
        let [a, b] = [left, right].map(registers_of);
        if a + b >= op.num_operands() {
            return Err(Unknown::operation(op));
        }
        let [rows, columns] = shape
            .and_then(|shape| sizes("c", shape))
            .ok_or_else(|| Unknown::operation(op))?;
        let sum = Matrix {
            rows,
            columns,
            elem: Self::elem(op, op.operand(a + b).ty())?,
            unsigned: false,
        };
        let operands = [
            self.part_in(op, 0, a, left)?,
            self.part_in(op, a, a + b, right)?,
            self.part_in(op, a + b, op.num_operands(), sum)?,
        ];
        let to = self.fresh();
        let multiply = Fragment::Multiply {
            to,
            operands,
            matrices: [left, right, sum],
        };
        self.emit(op, Instruction::Fragment(Box::new(multiply)));
        self.fill_registers(op, to, sum)
    }

    /// A matrix of these sizes, whose numbers are of the type that an attribute names.
    fn wmma_matrix(op: Op<'c>, sizes: Option<[usize; 2]>, name: &str) -> Result<Matrix, Unknown<'c>> {
        let [rows, columns] = sizes.ok_or_else(|| Unknown::operation(op))?;
        let keyword = op.attr(name).and_then(types::keyword).unwrap_or_default();
        let elem = match keyword {
            "f16" => Elem::F16,
            "f32" | "tf32" => Elem::F32,
            "f64" => Elem::F64,
            "s8" | "u8" => Elem::Int(8),
            "s32" => Elem::Int(32),
            other => {
                let message = format!("the interpreter has no matrices of {other}");
                return Err(Unknown::new(op, message));
            }
        };
        Ok(Matrix {
            rows,
            columns,
            elem,
            unsigned: keyword == "u8",
        })
    }

    /// The matrix begins at operand 0, and operand `lead` says how far the next row is, or column.
    fn wmma_place(&mut self, op: Op<'c>, lead: usize) -> Place {
        Place {
            first: Target::Pointer(self.operand(op, 0)),
            lead: Index::Reg(self.extended(op, lead)),
            transposed: op.attr(attr::LAYOUT).and_then(types::keyword) == Some("col"),
        }
    }

    /// The part of a matrix that a lane has in its registers: operands `from` to `to`.
    fn part_in(&mut self, op: Op<'c>, from: usize, to: usize, matrix: Matrix) -> Result<Reg, Unknown<'c>> {
        let held: Option<u32> = (from..to).map(|i| bytes_in(op.operand(i).ty())).sum();
        let needed = Self::part_of(matrix) * u32::try_from(matrix.elem.bytes()).unwrap_or(1);
        if held.is_none_or(|held| held < needed) {
            return Err(Unknown::operation(op));
        }
        self.registers(op, from..to, matrix.elem)
    }

    /// Fills the result with a lane's part of a matrix, as often as it fits.
    fn fill_registers(&mut self, op: Op<'c>, part: Reg, matrix: Matrix) -> Done<'c> {
        let result = op.result(0);
        let (all, count) = (bytes_in(result.ty()), Self::part_of(matrix));
        let each = u32::try_from(matrix.elem.bytes()).unwrap_or(1);
        let (Some(all), Some(held)) = (all, held_in(result.ty())) else {
            return Err(Unknown::operation(op));
        };
        if count == 0 || all < count * each {
            return Err(Unknown::operation(op));
        }
        let (copies, to) = (self.fresh(), self.reg(result));
        let pick = VectorOp::Pick {
            to: copies,
            from: [part].into(),
            picks: (0..all / each).map(|i| (0, i % count)).collect(),
            number: false,
        };
        self.emit(op, Instruction::Vector(pick));
        let cast = VectorOp::Bitcast {
            to,
            vector: copies,
            from: matrix.elem,
            into: held,
            number: super::number(result.ty()).is_some(),
        };
        self.emit(op, Instruction::Vector(cast));
        Ok(())
    }
}

/// M, N and K.
fn shape(op: Op<'_>) -> Option<[usize; 3]> {
    let size = |name| usize::try_from(op.int_attr(name)?).ok();
    Some([size(attr::M)?, size(attr::N)?, size(attr::K)?])
}

/// The rows and columns of A, B or C. A matrix is divided among the lanes of a warp.
fn sizes(fragment: &str, [m, n, k]: [usize; 3]) -> Option<[usize; 2]> {
    let sizes = match fragment {
        "a" => [m, k],
        "b" => [k, n],
        "c" => [m, n],
        _ => return None,
    };
    let count = sizes[0].saturating_mul(sizes[1]);
    // As many as there are of WMMA, and more.
    ((1..=1 << 16).contains(&count) && count.is_multiple_of(WARP)).then_some(sizes)
}

/// How many registers a lane has of A or B: eight of f16 whatever the shape (PTX ISA, "Matrix Fragments for WMMA").
fn registers_of(matrix: Matrix) -> usize {
    let bytes = matrix.rows * matrix.columns / WARP * matrix.elem.bytes();
    match matrix.elem {
        Elem::F16 => 8,
        Elem::F64 => 1,
        _ => bytes.div_ceil(4),
    }
}

/// The type of the numbers in a number, a vector, or a struct of one type of these.
fn held_in(ty: Type<'_>) -> Option<Elem> {
    match llvm::aggregate(ty) {
        Some(llvm::Aggregate::Struct(members)) => {
            let first = held_in(*members.first()?)?;
            members
                .iter()
                .all(|member| held_in(*member) == Some(first))
                .then_some(first)
        }
        Some(llvm::Aggregate::Array(_, element)) => held_in(element),
        None => super::number(types::vector_shape(ty).map_or(ty, |shape| shape.element)),
    }
}

/// How many bytes a value of type `ty` has.
fn bytes_in(ty: Type<'_>) -> Option<u32> {
    let each = u32::try_from(held_in(ty)?.bytes()).ok()?;
    numbers_in(ty)?.checked_mul(each)
}
