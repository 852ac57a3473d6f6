//! Lowers `nvgpu.warpgroup.mma.store` in blocks of several warpgroups.
//!
//! Upstream counts the threads of a block, as if there were one warpgroup: the second one would store below the matrix. Here, a
//! thread's number in its warpgroup says which elements it has (PTX ISA, "Register Fragments and Shared Memory Matrix Layouts"): of
//! each 8 columns, two in each of two rows.

use super::ROWS;
use super::registers::Registers;
use crate::analysis::warps::{WARP_THREADS, WARPGROUP_THREADS};
use crate::utils::builders::constant;
use async_mlir::gpu::{Dimension, block_size};
use async_mlir::ir::{Op, OpBuilder, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::{arith, attr, gpu, memref};

/// The threads that share a row.
const QUAD: i64 = 4;
/// The rows of a warp, and of half of its registers.
const WARP_ROWS: i64 = 16;
const HALF_ROWS: i64 = 8;

/// Returns true if upstream would not store what `op` does where it belongs.
pub(super) fn is_of_several(op: Op<'_>) -> bool {
    let function = op.ancestors().find(|outer| outer.is_function());
    let size = function.and_then(block_size);
    size.is_some_and(|[x, ..]| x > WARPGROUP_THREADS)
}

/// Makes the stores that `op` consists of. `register` is what a thread has in a block of 64 rows, by its number.
pub(super) fn lower<'c>(op: Op<'c>, registers: &Registers<'c>, register: impl Fn(usize, usize) -> Value<'c>) {
    let at = At { op };
    let (row, column) = at.first_element();
    let groups = registers.count / 4;
    for block in 0..registers.blocks {
        // In the order of upstream: the upper rows first.
        let numbers = (0..2).flat_map(|half| (0..groups).map(move |group| 4 * group + 2 * half));
        for i in numbers.flat_map(|i| [i, i + 1]) {
            let number = |number: usize| i64::try_from(number).expect("a matrix has few elements");
            let rows = number(block) * ROWS + number(i / 2 % 2) * HALF_ROWS;
            let columns = number(i / 4) * 8 + number(i % 2);
            let (row, column) = (at.plus(row, rows), at.plus(column, columns));
            OpBuilder::new(memref::STORE, op.location())
                .operands(&[register(block, i), op.operand(1), row, column])
                .before(op);
        }
    }
    op.erase();
}

/// Where operations are made.
struct At<'c> {
    op: Op<'c>,
}

impl<'c> At<'c> {
    /// The row and the column of a thread's first element.
    fn first_element(&self) -> (Value<'c>, Value<'c>) {
        let thread = OpBuilder::new(gpu::THREAD_ID, self.op.location())
            .results(&[self.index()])
            .attr(attr::DIMENSION, Dimension::X.attribute(self.op.context()))
            .before(self.op)
            .result(0);
        let thread = self.compute(arith::REMUI, thread, i64::from(WARPGROUP_THREADS));
        let warp = self.compute(arith::DIVUI, thread, i64::from(WARP_THREADS));
        let lane = self.compute(arith::REMUI, thread, i64::from(WARP_THREADS));
        let quad = self.compute(arith::DIVUI, lane, QUAD);
        let rows = self.compute(arith::MULI, warp, WARP_ROWS);
        let row = self.make(arith::ADDI, rows, quad);
        let pair = self.compute(arith::REMUI, lane, QUAD);
        (row, self.compute(arith::MULI, pair, 2))
    }

    fn plus(&self, value: Value<'c>, number: i64) -> Value<'c> {
        if number == 0 {
            return value;
        }
        self.compute(arith::ADDI, value, number)
    }

    fn compute(&self, name: &str, value: Value<'c>, number: i64) -> Value<'c> {
        let number = constant(self.op.location(), self.index(), number);
        self.make(name, value, number.before(self.op).result(0))
    }

    fn make(&self, name: &str, left: Value<'c>, right: Value<'c>) -> Value<'c> {
        OpBuilder::new(name, self.op.location())
            .operands(&[left, right])
            .results(&[self.index()])
            .before(self.op)
            .result(0)
    }

    fn index(&self) -> Type<'c> {
        Type::index(self.op.context())
    }
}
