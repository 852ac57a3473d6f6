//! What threads read and write of matrices in registers, and A from registers while it is read.
//!
//! **Writes** are volatile moves, one for each register. A value that is only computed could be put into the registers earlier, before a
//! wait for the multiplication that still reads them. `ptxas` removes the moves.
//!
//! **Reads.** A multiplication reads the registers of A until a wait. LLVM does not know that, and would give them to another
//! value after the multiplication if that value takes its place at the end of an iteration: so an empty volatile `asm` after
//! the wait takes them, too. Counts are followed within a block, where a wait that is not known to complete a multiplication
//! is taken for one that doesn't; a loop or branch in between commits nothing for sure. The cost is linear.

use super::ROWS;
use super::registers::{Accumulators, Registers, members};
use async_dialects::names::{gpux, gpux_attr};
use async_dialects::types::queue_attribute;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::ir::attribute::{
    Attribute, DenseElementsAttribute, DenseI64ArrayAttribute, FloatAttribute, IntegerAttribute,
};
use async_mlir::melior::ir::{Type, TypeLike};
use async_mlir::names::{arith, attr, llvm, vector};
use async_mlir::nvgpu::accumulated_matrix;
use async_mlir::pass::PassError;
use async_mlir::types::{constant_numbers, vector_shape};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// A multiplication that reads A from registers, and the wait that it is complete after.
pub(super) struct Read<'c> {
    multiplication: Op<'c>,
    wait: Op<'c>,
}

/// The multiplications of a block, in counted form.
#[derive(Default)]
pub(super) struct InFlight<'c> {
    /// Each that a wait in the block is known to complete, with that.
    pub complete: Vec<(Op<'c>, Op<'c>)>,
    /// The others.
    pub left: FxHashSet<Op<'c>>,
}

/// Follows counts in `block`.
pub(super) fn in_flight(block: Block<'_>) -> InFlight<'_> {
    let mut found = InFlight::default();
    // The groups in flight, the oldest first, and the open one.
    let mut groups: VecDeque<Vec<Op>> = VecDeque::new();
    let mut open: Vec<Op> = Vec::new();
    for op in block.ops() {
        if op.is(gpux::WGMMA) {
            open.push(op);
        } else if op.is(gpux::COMMIT_GROUP) && is_of_warpgroups(op) {
            groups.push_back(std::mem::take(&mut open));
        } else if op.is(gpux::WAIT_GROUP) && is_of_warpgroups(op) {
            let pending = op.int_attr(gpux_attr::PENDING).unwrap_or(i64::MAX);
            let pending = usize::try_from(pending).unwrap_or(usize::MAX);
            let done = groups.len().saturating_sub(pending);
            let done = groups.drain(..done).flatten();
            found
                .complete
                .extend(done.map(|multiplication| (multiplication, op)));
        }
    }
    found.left.extend(groups.into_iter().flatten().chain(open));
    found
}

/// What reads A from registers in `block`. Returns an error if something reads A while a loop or branch hands it on: the registers are then
/// written again.
pub(super) fn reads(block: Block<'_>) -> Result<Vec<Read<'_>>, PassError<'_>> {
    let in_registers = |op: &Op| op.is(gpux::WGMMA) && accumulated_matrix(op.operand(0).ty()).is_some();
    let multiplications: Vec<Op> = block.ops().into_iter().filter(in_registers).collect();
    if multiplications.is_empty() {
        return Ok(Vec::new());
    }
    let InFlight { complete, left } = in_flight(block);
    let mut handed_on = multiplications.into_iter();
    if let Some(op) = handed_on.find(|op| left.contains(op) && op.operand(0).defining_op().is_none()) {
        let message = "reads A from registers that a loop or branch hands on, and is not known to be complete at the end of this \
                       block: they would be written while it reads";
        let help = "await it in the block that it is in, or write the fragment there";
        return Err(PassError::new(op, message).note(op, help));
    }
    let complete = complete.into_iter().filter(|(op, _)| in_registers(op));
    let reads = complete.map(|(multiplication, wait)| Read { multiplication, wait });
    Ok(reads.collect())
}

fn is_of_warpgroups(op: Op<'_>) -> bool {
    op.attr(gpux_attr::QUEUE) == Some(queue_attribute(op.context(), "wgmma"))
}

impl<'c> Accumulators<'c> {
    /// Keeps the registers of A until the wait.
    pub fn keep(&self, read: &Read<'c>) {
        let (op, wait) = (read.multiplication, read.wait);
        let a = op.operand(0);
        // What is after the wait; a terminator is, at least.
        let Some(after) = wait.next() else { return };
        for block in 0..members(a.ty()).len() {
            let registers = self.rows(after, a, block);
            let constraints = vec!["r"; registers.len()].join(",");
            self.asm(wait, "", &constraints)
                .operands(&registers)
                .before(after);
        }
    }

    /// The registers of 64 rows of `matrix`, a struct.
    pub fn rows(&self, op: Op<'c>, matrix: Value<'c>, block: usize) -> Vec<Value<'c>> {
        let ty = members(matrix.ty())[block];
        let rows = self.extract(op, matrix, block, ty);
        let registers = members(ty).into_iter().enumerate();
        registers.map(|(i, ty)| self.extract(op, rows, i, ty)).collect()
    }

    /// Lowers a `gpux.read_fragment`.
    pub fn read_fragment(&self, op: Op<'c>) {
        let ty = op.result(0).ty();
        let registers = registers_of(op, ty);
        let matrix = self.read(op, op.operand(0), &registers);
        let mut numbers = Vec::new();
        for block in 0..registers.blocks {
            for register in self.rows(op, matrix, block) {
                numbers.extend(unpacked(op, register, &registers));
            }
        }
        let vector = OpBuilder::new(vector::FROM_ELEMENTS, op.location())
            .operands(&numbers)
            .results(&[ty])
            .before(op);
        op.replace_with(&[vector.result(0)]);
    }

    /// Lowers a `gpux.write_fragment`, once the multiplications are that begin with zeros.
    pub fn write_fragment(&self, op: Op<'c>) {
        if !op.result(0).has_uses() {
            op.erase();
            return;
        }
        let ty = op.operand(0).ty();
        let registers = registers_of(op, ty);
        let constraints = format!("={0},{0}", registers.constraint());
        let written: Vec<Value> = pairs(op, &registers)
            .into_iter()
            .flat_map(|pair| packed(op, pair, &registers))
            .map(|register| {
                self.asm(op, "mov.b32 $0, $1;", &constraints)
                    .operands(&[register])
                    .results(&[registers.element])
                    .before(op)
                    .result(0)
            })
            .collect();
        let blocks: Vec<Value> = written
            .chunks(registers.count)
            .map(|rows| self.gather(op, rows, registers.block(self.context)))
            .collect();
        let matrix = self.assemble(op, &blocks, &registers);
        op.replace_with(&[matrix]);
    }
}

/// Returns true if `op` writes zeros.
pub(super) fn writes_zeros(op: Op<'_>) -> bool {
    let constant = op.operand(0).defining_op().filter(|op| op.is(arith::CONSTANT));
    let numbers = constant
        .and_then(|constant| constant.attr(attr::VALUE))
        .and_then(constant_numbers);
    op.is(gpux::WRITE_FRAGMENT) && numbers.is_some_and(|numbers| numbers.into_iter().all(|bits| bits == 0))
}

/// Writes zeros in the place of `op`, upstream's operation for them, which it lowers for `f32` alone; returns what does.
pub(super) fn zeros<'c>(op: Op<'c>) -> Option<Op<'c>> {
    let context = op.context();
    let ty = op.result(0).ty();
    let shape = accumulated_matrix(ty).and_then(vector_shape)?;
    let [Some(rows), Some(columns)] = shape.sizes[..] else {
        return None;
    };
    let element = shape.element;
    if element == Type::float32(context) || rows % ROWS != 0 || columns % 8 != 0 {
        return None;
    }
    Registers::new([rows, columns], element, context)?;
    let zero: Attribute = if element.is_integer() {
        IntegerAttribute::new(element, 0).into()
    } else {
        FloatAttribute::new(context, element, 0.0).into()
    };
    let [blocks, groups] = [rows / ROWS, columns / 8].map(|size| u64::try_from(size).unwrap_or(0));
    let numbers = Type::vector(&[blocks, groups, 2, 2], element);
    let value = DenseElementsAttribute::new(numbers, &[zero]).ok()?;
    let constant = OpBuilder::new(arith::CONSTANT, op.location())
        .results(&[numbers])
        .attr(attr::VALUE, value.into())
        .before(op);
    let write = OpBuilder::new(gpux::WRITE_FRAGMENT, op.location())
        .operands(&[constant.result(0)])
        .results(&[ty])
        .before(op);
    op.replace_with(&[write.result(0)]);
    Some(write)
}

/// The registers that hold a matrix of which a thread has the numbers `ty`.
fn registers_of<'c>(op: Op<'c>, ty: Type<'c>) -> Registers<'c> {
    let shape = vector_shape(ty).expect("a verified operation has a vector");
    let [Some(blocks), Some(groups), ..] = shape.sizes[..] else {
        unreachable!("a verified vector has four dimensions");
    };
    let registers = Registers::new([blocks * ROWS, groups * 8], shape.element, op.context());
    registers.expect("verified numbers fit into registers")
}

/// The numbers in a register.
fn unpacked<'c>(op: Op<'c>, register: Value<'c>, registers: &Registers<'c>) -> Vec<Value<'c>> {
    if registers.numbers() == 1 {
        return vec![register];
    }
    let pair = OpBuilder::new(llvm::BITCAST, op.location())
        .operands(&[register])
        .results(&[registers.pair()])
        .before(op);
    let numbers = OpBuilder::new(vector::TO_ELEMENTS, op.location())
        .operands(&[pair.result(0)])
        .results(&vec![registers.number; registers.numbers()])
        .before(op);
    numbers.results().collect()
}

/// The numbers that `op` writes, two neighbors at a time.
fn pairs<'c>(op: Op<'c>, registers: &Registers<'c>) -> Vec<Value<'c>> {
    let shape = vector_shape(op.operand(0).ty()).expect("a verified operation has a vector");
    let sizes = shape.sizes[..3].iter().map(|size| size.unwrap_or(0));
    let positions = sizes.fold(vec![Vec::new()], |positions, size| {
        let longer = |position: Vec<i64>| {
            (0..size).map(move |i| {
                let mut longer = position.clone();
                longer.push(i);
                longer
            })
        };
        positions.into_iter().flat_map(longer).collect()
    });
    let extract = |position: Vec<i64>| {
        OpBuilder::new(vector::EXTRACT, op.location())
            .operands(&[op.operand(0)])
            .results(&[registers.pair()])
            .attr(
                attr::STATIC_POSITION,
                DenseI64ArrayAttribute::new(op.context(), &position).into(),
            )
            .before(op)
            .result(0)
    };
    positions.into_iter().map(extract).collect()
}

/// What the registers hold of two neighbors.
fn packed<'c>(op: Op<'c>, pair: Value<'c>, registers: &Registers<'c>) -> Vec<Value<'c>> {
    let (name, results) = match registers.numbers() {
        1 => (vector::TO_ELEMENTS, vec![registers.element; 2]),
        _ => (llvm::BITCAST, vec![registers.element]),
    };
    let registers = OpBuilder::new(name, op.location())
        .operands(&[pair])
        .results(&results)
        .before(op);
    registers.results().collect()
}
