//! Lowers reads and writes of matrices in registers (fragments), and keeps A's registers alive while read.
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
use async_mlir::calls::is_call;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::ir::attribute::{
    Attribute, DenseElementsAttribute, DenseI64ArrayAttribute, FloatAttribute, IntegerAttribute,
};
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::melior::ir::{Type, TypeLike};
use async_mlir::names::{arith, attr, scf, vector};
use async_mlir::nvgpu::accumulated_matrix;
use async_mlir::pass::PassError;
use async_mlir::types::{bit_width, constant_numbers, vector_shape};
use rustc_hash::FxHashMap;
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
    /// The others, with how many groups are committed after theirs: -1 if theirs is not.
    pub left: FxHashMap<Op<'c>, i64>,
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
        } else if is_commit(op) {
            groups.push_back(std::mem::take(&mut open));
        } else if is_wait(op) {
            let pending = op.int_attr(gpux_attr::PENDING).unwrap_or(i64::MAX);
            let pending = usize::try_from(pending).unwrap_or(usize::MAX);
            let done = groups.len().saturating_sub(pending);
            let done = groups.drain(..done).flatten();
            found
                .complete
                .extend(done.map(|multiplication| (multiplication, op)));
        }
    }
    groups.push_back(open);
    for (younger, group) in (-1..).zip(groups.into_iter().rev()) {
        found.left.extend(group.into_iter().map(|op| (op, younger)));
    }
    found
}

/// What reads A from registers in `block`. Returns an error if something reads A while a loop or branch hands it on, or while the next
/// iteration makes it: the registers are then written again.
pub(super) fn reads(block: Block<'_>) -> Result<Vec<Read<'_>>, PassError<'_>> {
    let in_registers = |op: &Op| op.is(gpux::WGMMA) && accumulated_matrix(op.operand(0).ty()).is_some();
    let multiplications: Vec<Op> = block.ops().into_iter().filter(in_registers).collect();
    if multiplications.is_empty() {
        return Ok(Vec::new());
    }
    let InFlight { complete, left } = in_flight(block);
    let mut handed_on = multiplications.into_iter();
    if let Some(op) = handed_on.find(|op| left.contains_key(op) && op.operand(0).defining_op().is_none()) {
        let message = "reads A from registers that a loop or branch hands on, and is not known to be complete at the end of this \
                       block: they would be written while it reads";
        let help = "await it in the block that it is in, or write the fragment there";
        return Err(PassError::new(op, message).note(op, help));
    }
    let mut rewritten = left.iter().filter(|(op, _)| in_registers(op));
    if let Some((&op, _)) = rewritten.find(|(op, younger)| writes_while_read(block, **op, **younger)) {
        let message = "reads A from registers that the next iteration writes, where it is not complete";
        return Err(PassError::new(op, message).note(op, "await it before the fragment is written again"));
    }
    let complete = complete.into_iter().filter(|(op, _)| in_registers(op));
    let reads = complete.map(|(multiplication, wait)| Read { multiplication, wait });
    Ok(reads.collect())
}

/// Returns true if `block`, the body of a loop, makes A of the multiplication `op` again while the one of the iteration before certainly is
/// in flight, with `younger` groups committed after its own at the end of the iteration (-1: its own is not).
fn writes_while_read<'c>(block: Block<'c>, op: Op<'c>, mut younger: i64) -> bool {
    let made = op
        .operand(0)
        .defining_op()
        .filter(|made| made.block() == Some(block));
    let body = block.parent_op().and_then(loop_body);
    let Some(made) = made.filter(|_| body == Some(block)) else {
        return false;
    };
    for op in block.ops().into_iter().take_while(|op| *op != made) {
        if is_commit(op) {
            younger += 1;
        } else if is_wait(op) {
            if op
                .int_attr(gpux_attr::PENDING)
                .is_none_or(|pending| younger >= pending)
            {
                return false;
            }
        } else if is_call(op)
            || op.num_regions() > 0 && op.self_and_nested().into_iter().any(is_of_wgmma_queue)
        {
            // It may wait.
            return false;
        }
    }
    true
}

/// The block that an iteration of the loop `op` executes and ends with. `None` for what is no loop, and for a loop whose condition
/// multiplies or awaits.
pub(super) fn loop_body(op: Op<'_>) -> Option<Block<'_>> {
    if op.is(scf::FOR) {
        return op.region(0).first();
    }
    let condition = op.is(scf::WHILE).then(|| op.region(0).first())??;
    if condition.ops().into_iter().any(is_of_wgmma_queue) {
        return None;
    }
    op.region(1).first()
}

/// Returns true if `op` commits a group of multiplications.
pub(super) fn is_commit(op: Op<'_>) -> bool {
    op.is(gpux::COMMIT_GROUP) && is_of_wgmma_queue(op)
}

/// Returns true if `op` waits for groups of multiplications.
pub(super) fn is_wait(op: Op<'_>) -> bool {
    op.is(gpux::WAIT_GROUP) && is_of_wgmma_queue(op)
}

/// Returns true if `op` waits until nothing is in flight.
pub(super) fn is_full_wait(op: Op<'_>) -> bool {
    is_wait(op) && op.int_attr(gpux_attr::PENDING) == Some(0)
}

/// Returns true if `op`, a commit or a wait, is one of the queue `wgmma`.
pub(super) fn is_of_wgmma_queue(op: Op<'_>) -> bool {
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

    /// Lowers a `gpux.read_fragment` of such registers.
    pub fn read_fragment(&self, op: Op<'c>, registers: &Registers<'c>) {
        let ty = op.result(0).ty();
        let matrix = self.read(op, op.operand(0), registers);
        let mut numbers = Vec::new();
        for block in 0..registers.blocks {
            for register in self.rows(op, matrix, block) {
                numbers.extend(unpacked(op, register, registers));
            }
        }
        let vector = OpBuilder::new(vector::FROM_ELEMENTS, op.location())
            .operands(&numbers)
            .results(&[ty])
            .before(op);
        op.replace_with(&[vector.result(0)]);
    }

    /// Lowers a `gpux.write_fragment` to such registers, once the multiplications are that begin with zeros.
    pub fn write_fragment(&self, op: Op<'c>, registers: &Registers<'c>) {
        if !op.result(0).has_uses() {
            op.erase();
            return;
        }
        let constraints = format!("={0},{0}", registers.constraint());
        let written: Vec<Value> = rows(op, registers)
            .into_iter()
            .flat_map(|row| packed(op, row, registers))
            .map(|register| {
                self.asm(op, "mov.b32 $0, $1;", &constraints)
                    .operands(&[register])
                    .results(&[registers.register_type])
                    .before(op)
                    .result(0)
            })
            .collect();
        let blocks: Vec<Value> = written
            .chunks(registers.count)
            .map(|rows| self.gather(op, rows, registers.block(self.context)))
            .collect();
        let matrix = self.assemble(op, &blocks, registers);
        op.replace_with(&[matrix]);
    }
}

/// Returns true if `op` writes zeros.
pub(super) fn writes_zeros(op: Op<'_>) -> bool {
    if !op.is(gpux::WRITE_FRAGMENT) {
        return false;
    }
    let constant = op.operand(0).defining_op().filter(|op| op.is(arith::CONSTANT));
    let numbers = constant
        .and_then(|constant| constant.attr(attr::VALUE))
        .and_then(constant_numbers);
    numbers.is_some_and(|numbers| numbers.into_iter().all(|bits| bits == 0))
}

/// Writes zeros in the place of `op`, upstream's operation for them, which it lowers for `f32` alone; returns what does.
pub(super) fn zeros<'c>(op: Op<'c>) -> Option<Op<'c>> {
    let context = op.context();
    let ty = op.result(0).ty();
    let shape = accumulated_matrix(ty).and_then(vector_shape)?;
    let [Some(rows), Some(columns)] = shape.sizes[..] else {
        return None;
    };
    let registers = Registers::new([rows, columns], shape.element, context)?;
    let sizes = registers.sizes().map(|size| size as u64);
    let [blocks, groups, _, neighbors] = sizes;
    // Others are no matrices that anything reads or writes.
    if [blocks * ROWS.unsigned_abs(), 4 * groups * neighbors] != [rows, columns].map(i64::unsigned_abs) {
        return None;
    }
    let numbers = registers.fragment();
    let zeros = constant_zeros(op, &sizes, registers.element_type)?;
    let zeros = if zeros.ty() == numbers {
        zeros
    } else {
        bitcast(op, zeros, numbers)
    };
    let write = OpBuilder::new(gpux::WRITE_FRAGMENT, op.location())
        .operands(&[zeros])
        .results(&[ty])
        .before(op);
    op.replace_with(&[write.result(0)]);
    Some(write)
}

/// A vector of zeros, of integers without a sign in the place of those that have one or have none: no constant is of these.
fn constant_zeros<'c>(op: Op<'c>, sizes: &[u64], number: Type<'c>) -> Option<Value<'c>> {
    let context = op.context();
    let (element, zero): (Type, Attribute) = if number.is_integer() {
        let element = IntegerType::new(context, bit_width(number)?).into();
        (element, IntegerAttribute::new(element, 0).into())
    } else {
        (number, FloatAttribute::new(context, number, 0.0).into())
    };
    let numbers = Type::vector(sizes, element);
    let value = DenseElementsAttribute::new(numbers, &[zero]).ok()?;
    let constant = OpBuilder::new(arith::CONSTANT, op.location())
        .results(&[numbers])
        .attr(attr::VALUE, value.into())
        .before(op);
    Some(constant.result(0))
}

/// The numbers in a register.
fn unpacked<'c>(op: Op<'c>, register: Value<'c>, registers: &Registers<'c>) -> Vec<Value<'c>> {
    if !registers.is_packed() {
        return vec![register];
    }
    let single = OpBuilder::new(vector::FROM_ELEMENTS, op.location())
        .operands(&[register])
        .results(&[registers.single()])
        .before(op);
    let numbers = bitcast(op, single.result(0), registers.unpacked());
    elements(
        op,
        numbers,
        &vec![registers.element_type; registers.elements_per_register],
    )
}

/// The neighbors that `op` writes.
fn rows<'c>(op: Op<'c>, registers: &Registers<'c>) -> Vec<Value<'c>> {
    let [blocks, groups, halves, _] = registers.sizes().map(|size| i64::try_from(size).unwrap_or(0));
    let positions =
        (0..blocks).flat_map(|b| (0..groups).flat_map(move |n| (0..halves).map(move |h| [b, n, h])));
    let extract = |position: [i64; 3]| {
        OpBuilder::new(vector::EXTRACT, op.location())
            .operands(&[op.operand(0)])
            .results(&[registers.row()])
            .attr(
                attr::STATIC_POSITION,
                DenseI64ArrayAttribute::new(op.context(), &position).into(),
            )
            .before(op)
            .result(0)
    };
    positions.map(extract).collect()
}

/// What the registers hold of neighbors.
fn packed<'c>(op: Op<'c>, row: Value<'c>, registers: &Registers<'c>) -> Vec<Value<'c>> {
    if !registers.is_packed() {
        return elements(op, row, &vec![registers.register_type; registers.neighbors]);
    }
    // All of them are in one register.
    let single = bitcast(op, row, registers.single());
    elements(op, single, &[registers.register_type])
}

/// The same bits as other numbers. It takes any of them, while those of 8 bits are no types of the LLVM dialect.
fn bitcast<'c>(op: Op<'c>, value: Value<'c>, into: Type<'c>) -> Value<'c> {
    OpBuilder::new(vector::BITCAST, op.location())
        .operands(&[value])
        .results(&[into])
        .before(op)
        .result(0)
}

fn elements<'c>(op: Op<'c>, vector: Value<'c>, types: &[Type<'c>]) -> Vec<Value<'c>> {
    OpBuilder::new(vector::TO_ELEMENTS, op.location())
        .operands(&[vector])
        .results(types)
        .before(op)
        .results()
        .collect()
}
