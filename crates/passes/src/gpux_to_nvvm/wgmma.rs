//! The lowering of `gpux.wgmma` in counted form, and the fences that it needs (PTX ISA, `wgmma.mma_async` and `wgmma.fence`).
//!
//! **Accumulators** of `f32` become structs of registers in all of the function, as upstream's conversion of `nvgpu` makes
//! them; upstream's own operations get casts. What reads one gets it from an empty volatile `asm` that takes all of its registers
//! and returns them: LLVM moves no such `asm` above a wait, while it was seen to hoist what takes registers out of a struct.
//!
//! **Fences** stand before the first multiplication of several in a row, between which nothing else accesses
//! accumulators, and where an instruction of another shape adds to the same registers. What begins with
//! zeros is not added to them (`scale-d`): LLVM would write them right before the instruction, after the fence.
//!
//! **Refusals.** Accumulators that functions hand to each other, and those that upstream would store elsewhere.

mod descriptors;
mod product;
mod store;

use self::descriptors::Descriptors;
use self::product::Product;
use super::buffers::Buffers;
use crate::utils::alignment::SWIZZLED_TILE_ALIGNMENT;
use async_dialects::names::gpux;
use async_mlir::calls::is_call;
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value};
use async_mlir::llvm::structure;
use async_mlir::melior::Context;
use async_mlir::melior::ir::attribute::{DenseI64ArrayAttribute, StringAttribute};
use async_mlir::melior::ir::{Attribute, Location, Type};
use async_mlir::names::{arith, attr, builtin, llvm, nvgpu, nvvm};
use async_mlir::nvgpu::accumulated_matrix;
use async_mlir::pass::PassError;
use async_mlir::types::vector_shape;

/// The rows of A that an instruction multiplies.
const ROWS: i64 = 64;

/// Lowers the multiplications of `function`, in program order.
pub(super) fn lower<'c>(
    function: Op<'c>,
    multiplications: &[Op<'c>],
    buffers: &mut Buffers<'c>,
) -> Result<(), PassError<'c>> {
    let ops = function.self_and_nested();
    refuse_calls(&ops)?;
    refuse_stores(&ops)?;
    for &op in &ops {
        if op.is(nvgpu::WARPGROUP_GENERATE_DESCRIPTOR) {
            buffers.align(op, op.operand(0), SWIZZLED_TILE_ALIGNMENT);
        }
    }
    let blocks = ops.iter().flat_map(|op| op.regions()).flat_map(Region::blocks);
    blocks.for_each(fence);
    let accumulators = Accumulators {
        context: function.context(),
    };
    accumulators.convert(&ops);
    let mut descriptors = Descriptors::new(function.context());
    for &op in multiplications {
        accumulators.multiply(op, &mut descriptors);
    }
    Ok(())
}

/// Returns an error if an accumulator is an argument or a result of a function.
fn refuse_calls<'c>(ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    for &op in ops {
        let handed_on = if op.is_function() {
            op.region(0)
                .first()
                .is_some_and(|entry| entry.args().any(is_accumulator))
        } else {
            let leaves = op.is_terminator() && op.parent().is_some_and(Op::is_function);
            let hands_on = is_call(op) || leaves && op.successors().len() == 0;
            hands_on && op.operands().chain(op.results()).any(is_accumulator)
        };
        if handed_on {
            let message = "hands an accumulator from function to function, which its registers can't follow";
            return Err(PassError::new(op, message).note(op, "run --gpux-inline-calls first"));
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

/// Puts fences into a block. PTX asks for one before the first multiplication, and after any other access of registers that one
/// adds to; instructions of the same shape need none between them.
fn fence(block: Block<'_>) {
    let mut fenced = false;
    for op in block.ops() {
        if op.is(gpux::WGMMA) {
            if !fenced || adds_to_other_shape(op) {
                OpBuilder::new(nvvm::WGMMA_FENCE_ALIGNED, op.location()).before(op);
            }
            fenced = true;
        } else if op.is(nvvm::WGMMA_FENCE_ALIGNED) {
            fenced = true;
        } else if op.num_regions() > 0 || is_call(op) || op.operands().chain(op.results()).any(is_accumulator)
        {
            // What it does to registers is not known, or it accesses those of an accumulator.
            fenced = false;
        } else if op.is(nvgpu::MBARRIER_TRY_WAIT_PARITY) {
            // It becomes a loop, after which ptxas wants another fence (C7519).
            fenced = false;
        }
    }
}

/// Returns true if `op` adds to the result of a multiplication whose instructions have another K.
fn adds_to_other_shape(op: Op<'_>) -> bool {
    let k = |op: Op<'_>| Product::of(op).instruction_k();
    let before = op
        .operand(2)
        .defining_op()
        .filter(|before| before.is(gpux::WGMMA));
    before.is_some_and(|before| k(before) != k(op))
}

fn is_accumulator(value: Value<'_>) -> bool {
    accumulated_matrix(value.ty()).is_some()
}

/// The registers of a thread for an accumulator: so many for each 64 rows.
struct Registers<'c> {
    element: Type<'c>,
    blocks: usize,
    /// How many there are for a block of rows.
    count: usize,
}

impl<'c> Registers<'c> {
    /// The registers for `ty`, if it is an accumulator of what `gpux.wgmma` adds.
    fn of(ty: Type<'c>, context: &'c Context) -> Option<Self> {
        let shape = vector_shape(accumulated_matrix(ty)?)?;
        let [Some(rows), Some(columns)] = shape.sizes[..] else {
            return None;
        };
        if shape.element != Type::float32(context) {
            return None;
        }
        // The 128 threads of a warpgroup have 64 rows.
        let count = columns / 2;
        Some(Self {
            element: shape.element,
            blocks: usize::try_from(rows / ROWS).ok()?,
            count: usize::try_from(count).ok()?,
        })
    }

    /// The struct for 64 rows.
    fn block(&self, context: &'c Context) -> Type<'c> {
        structure(context, &vec![self.element; self.count])
    }

    /// The struct for all.
    fn all(&self, context: &'c Context) -> Type<'c> {
        structure(context, &vec![self.block(context); self.blocks])
    }
}

/// Converts accumulators, and what computes them.
struct Accumulators<'c> {
    context: &'c Context,
}

/// An operand of one of upstream's operations.
struct Operand<'c> {
    op: Op<'c>,
    index: usize,
    ty: Type<'c>,
    registers: Registers<'c>,
}

impl<'c> Accumulators<'c> {
    /// Makes structs of all accumulators that `ops` define.
    fn convert(&self, ops: &[Op<'c>]) {
        let upstream = ops.iter().filter(|op| is_upstream(**op));
        let operands: Vec<Operand> = upstream.flat_map(|op| accumulators_of(*op)).collect();
        let selects = ops.iter().filter(|op| op.is(arith::SELECT));
        let chosen: Vec<Operand> = selects.flat_map(|op| accumulators_of(*op)).collect();
        for &op in ops {
            for arg in op.regions().flat_map(Region::blocks).flat_map(Block::args) {
                self.retype(arg);
            }
            for result in op.results() {
                if is_upstream(op) {
                    self.cast_result(op, result);
                } else {
                    self.retype(result);
                }
            }
        }
        for operand in operands {
            self.cast_operand(&operand);
        }
        for operand in chosen {
            let value = operand.op.operand(operand.index);
            let read = self.read(operand.op, value, &operand.registers);
            operand.op.set_operand(operand.index, read);
        }
    }

    fn retype(&self, value: Value<'c>) {
        if let Some(registers) = Registers::of(value.ty(), self.context) {
            value.set_type(registers.all(self.context));
        }
    }

    /// Has what uses a result of upstream's operation use a struct.
    fn cast_result(&self, op: Op<'c>, result: Value<'c>) {
        if let Some(registers) = Registers::of(result.ty(), self.context) {
            let cast = cast(result, registers.all(self.context), op.location()).after(op);
            result.replace_uses_if(cast.result(0), |operand| operand.owner != cast);
        }
    }

    /// Gives upstream's operation an accumulator, which another multiplication adds to, and all else reads.
    fn cast_operand(&self, operand: &Operand<'c>) {
        let &Operand {
            op,
            index,
            ty,
            ref registers,
        } = operand;
        let mut value = op.operand(index);
        if !op.is(nvgpu::WARPGROUP_MMA) {
            value = self.read(op, value, registers);
        }
        if op.is(nvgpu::WARPGROUP_MMA_STORE) && store::is_of_several(op) {
            let blocks =
                (0..registers.blocks).map(|i| self.extract(op, value, i, registers.block(self.context)));
            let blocks: Vec<Value> = blocks.collect();
            store::lower(op, registers, |block, i| {
                self.extract(op, blocks[block], i, registers.element)
            });
            return;
        }
        op.set_operand(index, cast(value, ty, op.location()).before(op).result(0));
    }

    /// Takes an accumulator through an `asm`.
    fn read(&self, op: Op<'c>, accumulator: Value<'c>, registers: &Registers<'c>) -> Value<'c> {
        let Registers { element, count, .. } = *registers;
        let outputs = vec!["=f".to_owned(); count];
        let constraints: Vec<String> = outputs
            .into_iter()
            .chain((0..count).map(|i| i.to_string()))
            .collect();
        let text = |text: &str| Attribute::from(StringAttribute::new(self.context, text));
        let blocks: Vec<Value> = (0..registers.blocks)
            .map(|block| {
                let block = self.extract(op, accumulator, block, registers.block(self.context));
                let numbers: Vec<Value> = (0..count).map(|i| self.extract(op, block, i, element)).collect();
                OpBuilder::new(llvm::INLINE_ASM, op.location())
                    .operands(&numbers)
                    .results(&[registers.block(self.context)])
                    .attr(attr::ASM_STRING, text(""))
                    .attr(attr::CONSTRAINTS, text(&constraints.join(",")))
                    .attr(attr::HAS_SIDE_EFFECTS, Attribute::unit(self.context))
                    .before(op)
                    .result(0)
            })
            .collect();
        self.assemble(op, &blocks, registers)
    }

    /// Lowers a multiplication.
    fn multiply(&self, op: Op<'c>, descriptors: &mut Descriptors<'c>) {
        let product = Product::of(op);
        let accumulator = op.operand(2);
        let matrices = [0, 1].map(|i| descriptors.of(op, op.operand(i)));
        let is_zero = is_zero(accumulator);
        let registers = Registers {
            element: Type::float32(self.context),
            blocks: product.blocks,
            count: product.columns / 2,
        };
        let block = registers.block(self.context);
        let blocks: Vec<Value> = (0..registers.blocks)
            .map(|i| {
                let (sum, mut adds) = if is_zero {
                    let none = OpBuilder::new(llvm::MLIR_UNDEF, op.location()).results(&[block]);
                    (none.before(op).result(0), false)
                } else {
                    (self.extract(op, accumulator, i, block), true)
                };
                product.steps(i).fold(sum, |sum, offsets| {
                    let adds = std::mem::replace(&mut adds, true);
                    let matrices = [0, 1].map(|i| descriptors.advanced(op, matrices[i], offsets[i]));
                    product.step(op, matrices, sum, adds)
                })
            })
            .collect();
        let result = self.assemble(op, &blocks, &registers);
        op.replace_with(&[result]);
    }

    /// The struct of all `blocks`.
    fn assemble(&self, op: Op<'c>, blocks: &[Value<'c>], registers: &Registers<'c>) -> Value<'c> {
        let all = registers.all(self.context);
        let none = OpBuilder::new(llvm::MLIR_POISON, op.location())
            .results(&[all])
            .before(op);
        blocks.iter().zip(0..).fold(none.result(0), |sum, (&block, i)| {
            OpBuilder::new(llvm::INSERTVALUE, op.location())
                .operands(&[sum, block])
                .results(&[all])
                .attr(attr::POSITION, self.position(i))
                .before(op)
                .result(0)
        })
    }

    fn extract(&self, op: Op<'c>, from: Value<'c>, index: usize, ty: Type<'c>) -> Value<'c> {
        OpBuilder::new(llvm::EXTRACTVALUE, op.location())
            .operands(&[from])
            .results(&[ty])
            .attr(attr::POSITION, self.position(index))
            .before(op)
            .result(0)
    }

    fn position(&self, index: usize) -> Attribute<'c> {
        let index = i64::try_from(index).expect("a struct has few members");
        DenseI64ArrayAttribute::new(self.context, &[index]).into()
    }
}

/// Returns true if `op` keeps upstream's type of accumulators.
fn is_upstream(op: Op<'_>) -> bool {
    op.dialect() == nvgpu::NAMESPACE || op.is(builtin::UNREALIZED_CONVERSION_CAST)
}

/// Returns true if `accumulator`, a struct, is one of zeros.
fn is_zero(accumulator: Value<'_>) -> bool {
    let cast = accumulator
        .defining_op()
        .filter(|cast| cast.is(builtin::UNREALIZED_CONVERSION_CAST));
    let init = cast.and_then(|cast| cast.operand(0).defining_op());
    init.is_some_and(|init| init.is(nvgpu::WARPGROUP_MMA_INIT_ACCUMULATOR))
}

fn accumulators_of(op: Op<'_>) -> Vec<Operand<'_>> {
    let operands = op.operands().enumerate();
    let accumulators = operands.filter_map(|(index, operand)| {
        let ty = operand.ty();
        let registers = Registers::of(ty, op.context())?;
        Some(Operand {
            op,
            index,
            ty,
            registers,
        })
    });
    accumulators.collect()
}

fn cast<'c>(value: Value<'c>, ty: Type<'c>, location: Location<'c>) -> OpBuilder<'c> {
    OpBuilder::new(builtin::UNREALIZED_CONVERSION_CAST, location)
        .operands(&[value])
        .results(&[ty])
}
