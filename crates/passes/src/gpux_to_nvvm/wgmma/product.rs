//! A multiplication as instructions of 64 rows and 32 bytes of K: which parts of A and B each has.
//!
//! A matrix lies in boxes with rows of 128 bytes, one after the other. Where K is contiguous there is one box, and an
//! instruction goes on in its rows; else a box has all of K and 64 rows of A (columns of B), and an instruction goes on with
//! more of its rows. (PTX ISA, "Asynchronous warpgroup level matrix multiply-accumulate instructions", Shared memory matrix
//! layout.)

use super::ROWS;
use super::descriptors::UNIT;
use async_dialects::names::gpux_attr;
use async_mlir::ir::{Op, OpBuilder, Value};
use async_mlir::melior::Context;
use async_mlir::melior::ir::{Attribute, Type};
use async_mlir::names::{attr, nvvm};
use async_mlir::nvgpu::described_matrix;
use async_mlir::types::{bit_width, known_attribute, memref_shape};

/// The bytes of a row in memory.
const ROW_BYTES: i64 = 128;
/// The bytes of K that an instruction multiplies.
const STEP_BYTES: i64 = 32;

/// A or B.
struct Factor<'c> {
    element: Type<'c>,
    /// True if K is contiguous in memory.
    is_k_major: bool,
    k: i64,
    /// The rows of A, or columns of B.
    size: i64,
}

impl<'c> Factor<'c> {
    fn of(matrix: Value<'c>, is_k_major: bool) -> Self {
        let matrix = described_matrix(matrix.ty()).and_then(memref_shape);
        let matrix = matrix.expect("a verified multiplication is of matrices");
        let [Some(first), Some(second)] = matrix.sizes[..] else {
            unreachable!("a verified matrix has a static shape");
        };
        let (size, k) = if is_k_major {
            (first, second)
        } else {
            (second, first)
        };
        Self {
            element: matrix.element,
            is_k_major,
            k,
            size,
        }
    }

    fn bytes(&self) -> i64 {
        let bits = bit_width(self.element).expect("a verified matrix is of floats");
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
        ];
        let known = known.into_iter().find(|(ty, _)| *ty == self.element);
        known
            .expect("a verified matrix has elements that can be multiplied")
            .1
    }
}

/// What a `gpux.wgmma` multiplies.
pub(super) struct Product<'c> {
    context: &'c Context,
    a: Factor<'c>,
    b: Factor<'c>,
    /// How many times 64 rows A has.
    pub blocks: usize,
    /// The columns of B.
    pub columns: usize,
}

impl<'c> Product<'c> {
    pub fn of(op: Op<'c>) -> Self {
        let a = Factor::of(op.operand(0), !op.has_attr(gpux_attr::TRANSPOSE_A));
        let b = Factor::of(op.operand(1), op.has_attr(gpux_attr::TRANSPOSE_B));
        let count = |size: i64| usize::try_from(size).expect("a verified matrix has a size");
        Self {
            context: op.context(),
            blocks: count(a.size / ROWS),
            columns: count(b.size),
            a,
            b,
        }
    }

    /// The K of an instruction.
    pub fn instruction_k(&self) -> i64 {
        STEP_BYTES / self.a.bytes()
    }

    /// Where the parts of A and B begin that instructions multiply one after the other for a block of 64 rows.
    pub fn steps(&self, block: usize) -> impl Iterator<Item = [i64; 2]> {
        let block = i64::try_from(block).expect("a verified matrix has a size");
        let steps = self.a.k * self.a.bytes() / STEP_BYTES;
        (0..steps).map(move |step| [self.a.offset(block, step), self.b.offset(0, step)])
    }

    /// Makes an instruction that adds the product of two matrices, by their descriptors, to `sum`, or to nothing.
    pub fn step(&self, op: Op<'c>, [a, b]: [Value<'c>; 2], sum: Value<'c>, adds: bool) -> Value<'c> {
        let kind = |kind: &str, value: &str| known_attribute(self.context, &format!("#nvvm.{kind}<{value}>"));
        let k = self.instruction_k();
        let shape = format!("m = {ROWS}, n = {}, k = {k}", self.columns);
        let layout = |is_row| kind("mma_layout", if is_row { "row" } else { "col" });
        let attributes: [(&str, Attribute); 9] = [
            (attr::SHAPE, kind("shape", &shape)),
            (attr::TYPE_A, kind("wgmma_type", self.a.ptx_type(self.context))),
            (attr::TYPE_B, kind("wgmma_type", self.b.ptx_type(self.context))),
            (attr::TYPE_D, kind("wgmma_type", "f32")),
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
}
