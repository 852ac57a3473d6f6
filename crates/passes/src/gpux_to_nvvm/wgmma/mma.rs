//! Splits a `gpux.wgmma` into `wgmma.mma_async` instructions of 64 rows and 32 bytes of K.
//!
//! A matrix lies in boxes with rows of 128 bytes, one after the other. Where K is contiguous there is one box, and an
//! instruction goes on in its rows; else a box has all of K and 64 rows of A (columns of B), and an instruction goes on with
//! more of its rows. (PTX ISA, "Asynchronous warpgroup level matrix multiply-accumulate instructions", Shared memory matrix
//! layout.)

use super::ROWS;
use super::descriptors::{Descriptors, UNIT};
use super::fragments::writes_zeros;
use super::registers::{Accumulators, constraint, members};
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::ir::{Op, OpBuilder, Value};
use async_mlir::melior::Context;
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::melior::ir::{Attribute, Type, TypeLike};
use async_mlir::names::{attr, builtin, llvm, nvgpu, nvvm};
use async_mlir::nvgpu::{accumulated_matrix, described_matrix};
use async_mlir::types::{bit_width, is_tf32, known_attribute, memref_shape, vector_shape};

/// The bytes of a row in memory.
const ROW_BYTES: i64 = 128;
/// The bytes of K that an instruction multiplies.
const STEP_BYTES: i64 = 32;
/// The registers of A that it multiplies, where A is in registers, whatever it has as elements.
const STEP_REGISTERS: i64 = 4;

/// A or B.
struct MmaOperand<'c> {
    element: Type<'c>,
    /// True if K is contiguous in memory.
    is_k_major: bool,
    k: i64,
    /// The rows of A, or columns of B.
    size: i64,
    in_registers: bool,
}

impl<'c> MmaOperand<'c> {
    fn of(matrix: Value<'c>, is_k_major: bool) -> Self {
        let registers = accumulated_matrix(matrix.ty()).and_then(vector_shape);
        let in_registers = registers.is_some();
        let shape = registers.or_else(|| described_matrix(matrix.ty()).and_then(memref_shape));
        let shape = shape.expect("a verified multiplication is of matrices");
        let [Some(first), Some(second)] = shape.sizes[..] else {
            unreachable!("a verified matrix has a static shape");
        };
        let (size, k) = if is_k_major {
            (first, second)
        } else {
            (second, first)
        };
        let is_tf32 = is_tf32(shape.element);
        Self {
            // As in memory.
            element: if is_tf32 {
                Type::float32(matrix.context())
            } else {
                shape.element
            },
            is_k_major,
            k,
            size,
            in_registers,
        }
    }

    fn bytes(&self) -> i64 {
        let bits = bit_width(self.element).expect("a verified matrix is of numbers");
        i64::from(bits / 8)
    }

    /// Where the part begins that has block `block` of 64 rows of A, and step `step` along K, in units of a descriptor.
    fn offset(&self, block: i64, step: i64) -> i64 {
        let bytes = if self.is_k_major {
            block * ROWS * ROW_BYTES + step * STEP_BYTES
        } else {
            let rows = STEP_BYTES / self.bytes();
            (block * self.k + step * rows) * ROW_BYTES
        };
        bytes / UNIT
    }

    /// What PTX calls the type of the elements.
    fn ptx_type(&self, context: &Context) -> &'static str {
        let known = [
            (Type::float16(context), "f16"),
            (Type::bfloat16(context), "bf16"),
            (Type::float32(context), "tf32"),
            (Type::float8_e4m3fn(context), "e4m3"),
            (Type::float8_e5m2(context), "e5m2"),
            (IntegerType::new(context, 8).into(), "s8"),
            (IntegerType::signed(context, 8).into(), "s8"),
            (IntegerType::unsigned(context, 8).into(), "u8"),
        ];
        let known = known.into_iter().find(|(ty, _)| *ty == self.element);
        known
            .expect("a verified matrix has elements that can be multiplied")
            .1
    }
}

/// The operands of a `gpux.wgmma`.
pub(super) struct Mma<'c> {
    context: &'c Context,
    a: MmaOperand<'c>,
    b: MmaOperand<'c>,
    /// The columns of B.
    pub columns: usize,
}

impl<'c> Mma<'c> {
    pub fn of(op: Op<'c>) -> Self {
        let a = MmaOperand::of(op.operand(0), !op.has_attr(gpux_attr::TRANSPOSE_A));
        let b = MmaOperand::of(op.operand(1), op.has_attr(gpux_attr::TRANSPOSE_B));
        let count = |size: i64| usize::try_from(size).expect("a verified matrix has a size");
        Self {
            context: op.context(),
            columns: count(b.size),
            a,
            b,
        }
    }

    /// The K of an instruction.
    pub fn instruction_k(&self) -> i64 {
        STEP_BYTES / self.a.bytes()
    }

    /// Where the parts of A and B begin that instructions multiply one after the other for a block of 64 rows: of a matrix in
    /// memory, in units of a descriptor, and else the first register.
    fn steps(&self, block: usize) -> impl Iterator<Item = [i64; 2]> {
        let block = i64::try_from(block).expect("a verified matrix has a size");
        let steps = self.a.k * self.a.bytes() / STEP_BYTES;
        (0..steps).map(move |step| {
            let a = if self.a.in_registers {
                step * STEP_REGISTERS
            } else {
                self.a.offset(block, step)
            };
            [a, self.b.offset(0, step)]
        })
    }

    /// Makes an instruction that adds the product of A and B, which is given by a descriptor, to `sum`, or to nothing.
    fn step(&self, op: Op<'c>, a: &OperandA<'c>, b: Value<'c>, sum: Value<'c>, adds: bool) -> Value<'c> {
        match a {
            OperandA::Memory(a) => self.step_from_memory(op, [*a, b], sum, adds),
            OperandA::Registers(a) => self.step_from_registers(op, a, b, sum, adds),
        }
    }

    /// What PTX calls the type of what the registers of `sum` hold.
    fn type_of_sum(&self, sum: Value<'c>) -> &'static str {
        if self.is_of_integers() {
            return "s32";
        }
        // Two of 16 bits are in a register of bits.
        if members(sum.ty())[0].is_integer() {
            "f16"
        } else {
            "f32"
        }
    }

    fn is_of_integers(&self) -> bool {
        self.a.element.is_integer()
    }

    /// The operands behind the one that says whether an instruction adds to D: integers are multiplied as they are; A and B of other types are
    /// not negated, and B is transposed or not, which only elements of 16 bits can be.
    fn modifiers(&self) -> &'static str {
        match self.a.bytes() {
            _ if self.is_of_integers() => "",
            2 if self.b.is_k_major => ", 1, 1, 0",
            2 => ", 1, 1, 1",
            _ => ", 1, 1",
        }
    }

    fn step_from_memory(&self, op: Op<'c>, [a, b]: [Value<'c>; 2], sum: Value<'c>, adds: bool) -> Value<'c> {
        let kind = |kind: &str, value: &str| known_attribute(self.context, &format!("#nvvm.{kind}<{value}>"));
        let k = self.instruction_k();
        let shape = format!("m = {ROWS}, n = {}, k = {k}", self.columns);
        let layout = |is_row| kind("mma_layout", if is_row { "row" } else { "col" });
        let attributes: [(&str, Attribute); 9] = [
            (attr::SHAPE, kind("shape", &shape)),
            (attr::TYPE_A, kind("wgmma_type", self.a.ptx_type(self.context))),
            (attr::TYPE_B, kind("wgmma_type", self.b.ptx_type(self.context))),
            (attr::TYPE_D, kind("wgmma_type", self.type_of_sum(sum))),
            (attr::SCALE_A, kind("wgmma_scale_in", "one")),
            (attr::SCALE_B, kind("wgmma_scale_in", "one")),
            (
                attr::SCALE_D,
                kind("wgmma_scale_out", if adds { "one" } else { "zero" }),
            ),
            // What these call row and column is where K is contiguous in A, and in B.
            (attr::LAYOUT_A, layout(self.a.is_k_major)),
            (attr::LAYOUT_B, layout(!self.b.is_k_major)),
        ];
        let multiplication = OpBuilder::new(nvvm::WGMMA_MMA_ASYNC, op.location())
            .operands(&[sum, a, b])
            .results(&[sum.ty()]);
        let multiplication = attributes
            .into_iter()
            .fold(multiplication, |builder, (name, attribute)| {
                builder.attr(name, attribute)
            });
        multiplication.before(op).result(0)
    }

    /// The same as inline PTX: `nvvm.wgmma.mma_async` takes descriptors only. Operands of an `asm` are numbered, the results first, then
    /// what they begin with, the registers of A, and the descriptor of B.
    fn step_from_registers(
        &self,
        op: Op<'c>,
        a: &[Value<'c>],
        b: Value<'c>,
        sum: Value<'c>,
        adds: bool,
    ) -> Value<'c> {
        let accumulators = Accumulators {
            context: self.context,
        };
        let numbers = members(sum.ty());
        let count = numbers.len();
        let list = |first: usize, count: usize| {
            let names: Vec<String> = (first..first + count).map(|i| format!("${i}")).collect();
            names.join(", ")
        };
        let [of_a, of_b] = [&self.a, &self.b].map(|operand| operand.ptx_type(self.context));
        let instructions = format!(
            "{{\n.reg .pred p;\nsetp.ne.b32 p, {}, 0;\nwgmma.mma_async.sync.aligned.m{ROWS}n{}k{}.{}.{of_a}.{of_b} {{{}}}, {{{}}}, \
             ${}, p{};\n}}",
            i32::from(adds),
            self.columns,
            self.instruction_k(),
            self.type_of_sum(sum),
            list(0, count),
            list(2 * count, a.len()),
            2 * count + a.len(),
            self.modifiers(),
        );
        let outputs = vec![format!("={}", constraint(numbers[0])); count];
        let inputs = (0..count).map(|i| i.to_string());
        let rest = a.iter().map(|_| "r".to_owned()).chain(["l".to_owned()]);
        let constraints: Vec<String> = outputs.into_iter().chain(inputs).chain(rest).collect();
        let numbers = numbers.into_iter().enumerate();
        let numbers = numbers.map(|(i, ty)| accumulators.extract(op, sum, i, ty));
        let operands: Vec<Value> = numbers.chain(a.iter().copied()).chain([b]).collect();
        accumulators
            .asm(op, &instructions, &constraints.join(","))
            .operands(&operands)
            .results(&[sum.ty()])
            .before(op)
            .result(0)
    }
}

/// A part of A.
enum OperandA<'c> {
    /// In workgroup memory: its descriptor.
    Memory(Value<'c>),
    /// In these registers.
    Registers(Vec<Value<'c>>),
}

impl<'c> Accumulators<'c> {
    /// Lowers a multiplication.
    pub fn multiply(&self, op: Op<'c>, mma: &Mma<'c>, descriptors: &mut Descriptors<'c>) {
        let [a, b, accumulator] = [0, 1, 2].map(|i| op.operand(i));
        let in_memory = (!mma.a.in_registers).then(|| descriptors.of(op, a));
        let b = descriptors.of(op, b);
        let is_zero = is_zero(accumulator);
        let sum = op.result(0).ty();
        let rows = members(sum);
        let blocks: Vec<Value> = (0..)
            .zip(rows)
            .map(|(i, block)| {
                let (sum, mut adds) = if is_zero {
                    let none = OpBuilder::new(llvm::MLIR_UNDEF, op.location()).results(&[block]);
                    (none.before(op).result(0), false)
                } else {
                    (self.extract(op, accumulator, i, block), true)
                };
                let registers = mma.a.in_registers.then(|| self.rows(op, a, i));
                mma.steps(i).fold(sum, |sum, [offset, offset_b]| {
                    let adds = std::mem::replace(&mut adds, true);
                    let a = match in_memory {
                        Some(a) => OperandA::Memory(descriptors.advanced(op, a, offset)),
                        None => {
                            let first = usize::try_from(offset).unwrap_or(0);
                            let step = usize::try_from(STEP_REGISTERS).unwrap_or(0);
                            let registers = registers.iter().flatten().skip(first).take(step);
                            OperandA::Registers(registers.copied().collect())
                        }
                    };
                    let b = descriptors.advanced(op, b, offset_b);
                    mma.step(op, &a, b, sum, adds)
                })
            })
            .collect();
        let result = self.gather(op, &blocks, sum);
        op.replace_with(&[result]);
    }
}

/// Returns true if `accumulator`, a struct, is one of zeros.
fn is_zero(accumulator: Value<'_>) -> bool {
    let Some(op) = accumulator.defining_op() else {
        return false;
    };
    if op.is(gpux::WRITE_FRAGMENT) {
        return writes_zeros(op);
    }
    let cast = Some(op).filter(|cast| cast.is(builtin::UNREALIZED_CONVERSION_CAST));
    let init = cast.and_then(|cast| cast.operand(0).defining_op());
    init.is_some_and(|init| init.is(nvgpu::WARPGROUP_MMA_INIT_ACCUMULATOR))
}
