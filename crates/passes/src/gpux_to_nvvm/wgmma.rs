//! The lowering of `gpux.wgmma` in counted form, and the fences that it needs (PTX ISA, `wgmma.mma_async` and `wgmma.fence`).
//!
//! **Accumulators**, and other matrices in registers, become structs of registers in all of the function, as upstream's
//! conversion of `nvgpu` makes them; upstream's own operations get casts ([`registers`]). What reads one gets it from an empty
//! volatile `asm` that takes all of its registers and returns them: LLVM moves no such `asm` above a wait, while it was seen to
//! hoist what takes registers out of a struct. What is written goes to its registers by volatile moves, so that they are written
//! where the program says, and not before a wait for what still reads them ([`fragments`]).
//!
//! **A from registers** is read until a wait, which takes its registers as well: they are not given to other values before.
//!
//! **Fences** stand before the first multiplication of several in a row, between which nothing else accesses
//! accumulators or branches, and where an instruction of another shape adds to the same registers ([`fences`]). What begins with
//! zeros is not added to them (`scale-d`): LLVM would write them right before the instruction, after the fence.
//!
//! **Refusals.** Matrices that are no matrices of a warpgroup's registers, accumulators and descriptors that functions hand to each other,
//! accumulators that upstream would store elsewhere, A in registers that a loop hands on while it is read, and multiplications,
//! commits and waits that a part of a warpgroup executes.

mod descriptors;
mod fences;
mod fragments;
mod function_boundaries;
mod mma;
mod modulo_variable_expansion;
mod ptxas_serialization;
mod registers;
mod store;

use self::descriptors::Descriptors;
pub(super) use self::function_boundaries::{defines_descriptor, refuse_descriptors};
use self::mma::Mma;
pub(super) use self::modulo_variable_expansion::unroll;
use self::registers::{Accumulators, MOST_REGISTERS, Registers};
use super::buffer_alignment::BufferAligner;
use crate::analysis::accumulator_uses;
use crate::analysis::uniformity::Uniformity;
use crate::utils::alignment::SWIZZLED_TILE_ALIGNMENT;
use async_dialects::completion::ExecutionScope;
use async_dialects::names::{gpux, gpux_attr};
use async_dialects::types::queue_attribute;
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value};
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{builtin, nvgpu};
use async_mlir::nvgpu::accumulated_matrix;
use async_mlir::pass::PassError;
use async_mlir::types::vector_shape;

/// The rows of A that an instruction multiplies.
const ROWS: i64 = 64;

/// Returns an error if one of `multiplications`, or a commit or wait of theirs among `groups`, is known to be executed by a part of a
/// warpgroup: the instructions are `.sync.aligned`, and `ptxas` does not check that.
pub(super) fn check_convergence<'c>(
    multiplications: &[Op<'c>],
    groups: &[Op<'c>],
) -> Result<(), PassError<'c>> {
    let mut in_warpgroup = Uniformity::of(ExecutionScope::Warpgroup);
    let multiplications = multiplications.iter().filter(|op| op.is(gpux::WGMMA));
    let queue = groups.first().map(|op| queue_attribute(op.context(), "wgmma"));
    let groups = groups.iter().filter(|op| op.attr(gpux_attr::QUEUE) == queue);
    multiplications
        .chain(groups)
        .try_for_each(|op| in_warpgroup.check(*op))
}

/// Lowers the multiplications of `function`, in program order.
pub(super) fn lower<'c>(
    function: Op<'c>,
    multiplications: &[Op<'c>],
    aligner: &mut BufferAligner<'c>,
) -> Result<(), PassError<'c>> {
    let ops = function.self_and_nested();
    refuse_sizes(&ops)?;
    let inits = ops
        .into_iter()
        .filter(|op| op.is(nvgpu::WARPGROUP_MMA_INIT_ACCUMULATOR));
    let zeros: Vec<Op> = inits.filter_map(fragments::zeros).collect();
    let ops = function.self_and_nested();
    function_boundaries::refuse_accumulators(&ops)?;
    accumulator_uses::check(function, "wait for its group before")?;
    refuse_stores(&ops)?;
    for &op in &ops {
        if op.is(nvgpu::WARPGROUP_GENERATE_DESCRIPTOR) {
            aligner.align(op, op.operand(0), SWIZZLED_TILE_ALIGNMENT);
        }
    }
    let blocks = ops.iter().flat_map(|op| op.regions()).flat_map(Region::blocks);
    let mut reads = Vec::new();
    for block in blocks {
        fences::insert(block);
        modulo_variable_expansion::remark(block);
        ptxas_serialization::remark(block);
        reads.extend(fragments::reads(block)?);
    }
    let accumulators = Accumulators {
        context: function.context(),
    };
    let (mmas, others): (Vec<Op>, Vec<Op>) = multiplications
        .iter()
        .chain(&zeros)
        .partition(|op| op.is(gpux::WGMMA));
    // While operands have the types of matrices.
    let mmas: Vec<(Op, Mma)> = mmas.into_iter().map(|op| (op, Mma::of(op))).collect();
    let others: Vec<(Op, Registers)> = others
        .into_iter()
        .filter_map(|op| Some((op, Registers::of(fragment(op).ty(), function.context())?)))
        .collect();
    accumulators.convert(&ops);
    for read in reads {
        accumulators.keep(&read);
    }
    // First: what begins with zeros that are written looks at what writes them.
    let mut descriptors = Descriptors::new(function.context());
    for (op, mma) in mmas {
        accumulators.multiply(op, &mma, &mut descriptors);
    }
    for (op, registers) in others {
        if op.is(gpux::READ_FRAGMENT) {
            accumulators.read_fragment(op, &registers);
        } else {
            accumulators.write_fragment(op, &registers);
        }
    }
    Ok(())
}

/// The matrix in registers that `op` reads or writes.
fn fragment(op: Op<'_>) -> Value<'_> {
    if op.is(gpux::READ_FRAGMENT) {
        op.operand(0)
    } else {
        op.result(0)
    }
}

/// Returns an error if `ops` define a matrix that the registers of a warpgroup can't be: upstream makes zeros of any size.
fn refuse_sizes<'c>(ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    for &op in ops {
        let args = op.regions().flat_map(Region::blocks).flat_map(Block::args);
        let mut types = op.results().chain(args).map(Value::ty);
        let is_other = |ty: &Type<'c>| {
            let registers = accumulated_matrix(*ty).map(|_| Registers::of(*ty, op.context()));
            registers.is_some_and(|registers| !registers.is_some_and(|registers| registers.fit()))
        };
        if let Some(ty) = types.find(is_other) {
            let message = format!(
                "has {ty}, which the registers of a warpgroup can't be, {MOST_REGISTERS} of 32 bits in each thread"
            );
            return Err(PassError::new(op, message));
        }
    }
    Ok(())
}

/// Returns an error if upstream stores an accumulator elsewhere than where it belongs: of several blocks of 64 rows, all are where
/// they should be only if there are 128 columns.
fn refuse_stores<'c>(ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let stores = ops.iter().filter(|op| op.is(nvgpu::WARPGROUP_MMA_STORE));
    for &op in stores.filter(|op| !store::is_of_several(**op)) {
        let shape = accumulated_matrix(op.operand(0).ty()).and_then(vector_shape);
        let Some([Some(rows), Some(columns)]) = shape.as_ref().map(|shape| &shape.sizes[..]) else {
            continue;
        };
        if *rows > ROWS && *columns != 2 * ROWS {
            let message = format!(
                "stores {rows}x{columns}, of which upstream puts all but the first {ROWS} rows elsewhere: it does so \
                 unless there are {} columns",
                2 * ROWS
            );
            return Err(PassError::new(op, message).note(op, "multiply 64 rows of A at a time"));
        }
    }
    Ok(())
}

/// What a chain of multiplications adds to, of which `value` is the sum.
fn first_addend(mut value: Value<'_>) -> Value<'_> {
    while let Some(op) = value.defining_op().filter(|op| op.is(gpux::WGMMA)) {
        value = op.operand(op.num_operands() - 1);
    }
    value
}

fn is_accumulator(value: Value<'_>) -> bool {
    accumulated_matrix(value.ty()).is_some()
}

fn cast<'c>(value: Value<'c>, ty: Type<'c>, location: Location<'c>) -> OpBuilder<'c> {
    OpBuilder::new(builtin::UNREALIZED_CONVERSION_CAST, location)
        .operands(&[value])
        .results(&[ty])
}
