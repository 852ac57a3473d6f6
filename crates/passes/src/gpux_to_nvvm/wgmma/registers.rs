//! Converts matrices in registers from upstream's type to LLVM structs of a thread's registers.

use super::{ROWS, cast, store};
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value};
use async_mlir::llvm::{Aggregate, aggregate, structure};
use async_mlir::melior::Context;
use async_mlir::melior::ir::attribute::{DenseI64ArrayAttribute, StringAttribute};
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::melior::ir::{Attribute, Type, TypeLike};
use async_mlir::names::{arith, attr, builtin, llvm, nvgpu};
use async_mlir::nvgpu::accumulated_matrix;
use async_mlir::types::{bit_width, is_tf32, vector_shape};

/// The bits of a register.
const BITS: u32 = 32;

/// The most registers that a thread has.
pub(super) const MOST_REGISTERS: usize = 255;

/// The registers of a thread for a matrix: so many for each 64 rows.
pub(super) struct Registers<'c> {
    /// The type of a register.
    pub register_type: Type<'c>,
    /// The type of an element of the matrix.
    pub element_type: Type<'c>,
    pub elements_per_register: usize,
    /// How many stand side by side in a row.
    pub neighbors: usize,
    pub blocks: usize,
    /// How many there are for a block of rows.
    pub count: usize,
}

impl<'c> Registers<'c> {
    /// The registers for `ty`, if it is a matrix of what `gpux.wgmma` adds, or multiplies from registers.
    pub fn of(ty: Type<'c>, context: &'c Context) -> Option<Self> {
        let shape = vector_shape(accumulated_matrix(ty)?)?;
        let [Some(rows), Some(columns)] = shape.sizes[..] else {
            return None;
        };
        Self::new([rows, columns], shape.element, context)
    }

    /// The registers for a matrix of such elements.
    pub fn new([rows, columns]: [i64; 2], matrix: Type<'c>, context: &'c Context) -> Option<Self> {
        let bits: Type = IntegerType::new(context, BITS).into();
        let single = Type::float32(context);
        let in_place = [single, bits].contains(&matrix);
        let of_16_bits = [Type::float16(context), Type::bfloat16(context)].contains(&matrix);
        if !in_place && !of_16_bits && !is_of_a_alone(matrix, context) {
            return None;
        }
        let element_type = if is_tf32(matrix) { single } else { matrix };
        let elements_per_register = usize::try_from(BITS / bit_width(element_type)?).ok()?;
        // The 128 threads of a warpgroup have 64 rows.
        let all = usize::try_from(columns / 2).ok()?;
        Some(Self {
            register_type: if in_place { element_type } else { bits },
            element_type,
            elements_per_register,
            neighbors: if in_place { 2 } else { elements_per_register },
            blocks: usize::try_from(rows / ROWS).ok()?,
            count: all / elements_per_register,
        })
    }

    /// Returns true if a thread has so many.
    pub fn fit(&self) -> bool {
        self.blocks.saturating_mul(self.count) <= MOST_REGISTERS
    }

    /// Returns true if numbers have to be put into registers, and taken out of them.
    pub fn is_packed(&self) -> bool {
        self.register_type != self.element_type
    }

    /// The sizes of a thread's numbers: the blocks of rows, the groups of columns, the two rows of a block, and the neighbors.
    pub fn sizes(&self) -> [usize; 4] {
        let groups = self.count * self.elements_per_register / (2 * self.neighbors);
        [self.blocks, groups, 2, self.neighbors]
    }

    /// A thread's numbers.
    pub fn fragment(&self) -> Type<'c> {
        Type::vector(&self.sizes().map(|size| size as u64), self.element_type)
    }

    /// Neighbors.
    pub fn row(&self) -> Type<'c> {
        vector(self.neighbors, self.element_type)
    }

    /// A register, as a vector.
    pub fn single(&self) -> Type<'c> {
        vector(1, self.register_type)
    }

    /// The numbers of a register.
    pub fn unpacked(&self) -> Type<'c> {
        vector(self.elements_per_register, self.element_type)
    }

    /// How the constraints of an `asm` name a register.
    pub fn constraint(&self) -> char {
        constraint(self.register_type)
    }

    /// The struct for 64 rows.
    pub fn block(&self, context: &'c Context) -> Type<'c> {
        structure(context, &vec![self.register_type; self.count])
    }

    /// The struct for all.
    pub fn all(&self, context: &'c Context) -> Type<'c> {
        structure(context, &vec![self.block(context); self.blocks])
    }
}

fn vector(size: usize, element: Type<'_>) -> Type<'_> {
    Type::vector(&[size as u64], element)
}

/// Returns true if matrices of `element` in registers are A alone: they lie there in another way than an accumulator.
fn is_of_a_alone<'c>(element: Type<'c>, context: &'c Context) -> bool {
    let floats = [Type::float8_e4m3fn(context), Type::float8_e5m2(context)];
    let is_byte = element.is_integer() && bit_width(element) == Some(8);
    is_byte || is_tf32(element) || floats.contains(&element)
}

/// The types of the members of a struct.
pub(super) fn members(ty: Type<'_>) -> Vec<Type<'_>> {
    aggregate(ty).map_or_else(Vec::new, Aggregate::members)
}

/// How the constraints of an `asm` name a register of such numbers.
pub(super) fn constraint(element: Type<'_>) -> char {
    if element.is_integer() { 'r' } else { 'f' }
}

/// Converts accumulators, and what computes them.
pub(super) struct Accumulators<'c> {
    pub context: &'c Context,
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
    pub fn convert(&self, ops: &[Op<'c>]) {
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
                self.extract(op, blocks[block], i, registers.register_type)
            });
            return;
        }
        op.set_operand(index, cast(value, ty, op.location()).before(op).result(0));
    }

    /// Takes an accumulator through an `asm`.
    pub fn read(&self, op: Op<'c>, accumulator: Value<'c>, registers: &Registers<'c>) -> Value<'c> {
        let Registers {
            register_type, count, ..
        } = *registers;
        let output = format!("={}", registers.constraint());
        let outputs = vec![output; count];
        let constraints: Vec<String> = outputs
            .into_iter()
            .chain((0..count).map(|i| i.to_string()))
            .collect();
        let blocks: Vec<Value> = (0..registers.blocks)
            .map(|block| {
                let block = self.extract(op, accumulator, block, registers.block(self.context));
                let numbers: Vec<Value> = (0..count)
                    .map(|i| self.extract(op, block, i, register_type))
                    .collect();
                self.asm(op, "", &constraints.join(","))
                    .operands(&numbers)
                    .results(&[registers.block(self.context)])
                    .before(op)
                    .result(0)
            })
            .collect();
        self.assemble(op, &blocks, registers)
    }

    /// A volatile `asm` for `op`.
    pub fn asm(&self, op: Op<'c>, instructions: &str, constraints: &str) -> OpBuilder<'c> {
        let text = |text: &str| Attribute::from(StringAttribute::new(self.context, text));
        OpBuilder::new(llvm::INLINE_ASM, op.location())
            .attr(attr::ASM_STRING, text(instructions))
            .attr(attr::CONSTRAINTS, text(constraints))
            .attr(attr::HAS_SIDE_EFFECTS, Attribute::unit(self.context))
    }

    /// The struct of all `blocks`.
    pub fn assemble(&self, op: Op<'c>, blocks: &[Value<'c>], registers: &Registers<'c>) -> Value<'c> {
        self.gather(op, blocks, registers.all(self.context))
    }

    /// The struct `ty` of `members`.
    pub fn gather(&self, op: Op<'c>, members: &[Value<'c>], ty: Type<'c>) -> Value<'c> {
        let none = OpBuilder::new(llvm::MLIR_POISON, op.location())
            .results(&[ty])
            .before(op);
        members.iter().zip(0..).fold(none.result(0), |sum, (&member, i)| {
            OpBuilder::new(llvm::INSERTVALUE, op.location())
                .operands(&[sum, member])
                .results(&[ty])
                .attr(attr::POSITION, self.position(i))
                .before(op)
                .result(0)
        })
    }

    pub fn extract(&self, op: Op<'c>, from: Value<'c>, index: usize, ty: Type<'c>) -> Value<'c> {
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
