//! Inline PTX of warpgroups, as `--gpux-to-nvvm` writes it: what keeps and moves registers of matrices, and the multiplication of A from
//! registers.

use super::matrices::Multiplicand;
use super::{Reader, Unknown};
use crate::code::{Factor, Left, LeftFragment, Op as Instruction, Reg, VectorOp, Wgmma};
use crate::scalar::Scalar;
use crate::value::{Elem, Value as Constant};
use crate::wgmma::Major;
use async_mlir::ir::Op;
use async_mlir::names::attr;

/// The registers of A in a multiplication.
const LEFT: usize = 4;
/// The most columns of D.
const MOST_COLUMNS: usize = 256;

impl<'c> Reader<'c> {
    /// Reads an `asm` about the registers of a warpgroup; returns false if it is another one.
    pub(super) fn warpgroup_assembly(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.str_attr(attr::ASM_STRING).unwrap_or_default() {
            // Registers that are not given to other values before.
            "" if op.num_results() == 0 => Ok(true),
            "" => self.read_accumulator(op),
            "mov.b32 $0, $1;" if op.num_operands() == 1 && op.num_results() == 1 => {
                let bits = Elem::Int(32);
                if Self::elem(op, op.operand(0).ty())?.bytes() != bits.bytes() {
                    return Ok(false);
                }
                let (zero, from, to) = (self.no_bits(op), self.operand(op, 0), self.reg(op.result(0)));
                self.scalar(op, Scalar::Or, bits, to, &[from, zero]);
                Ok(true)
            }
            instructions => self.multiply_registers(op, instructions),
        }
    }

    fn no_bits(&mut self, op: Op<'c>) -> Reg {
        let to = self.fresh();
        let value = Constant::Bits(0);
        self.emit(op, Instruction::Set { to, value });
        to
    }

    /// Reads an `asm` without instructions that returns its operands, which are to be there where it stands; returns false if
    /// it is another one.
    fn read_accumulator(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        let constraints = op.str_attr(attr::CONSTRAINTS).unwrap_or_default().split(',');
        let same = (0..op.num_operands()).map(|i| i.to_string());
        if op.num_results() != 1 || !constraints.skip(op.num_operands()).eq(same) {
            return Ok(false);
        }
        let zero = self.no_bits(op);
        let mut numbers = Vec::new();
        for i in 0..op.num_operands() {
            let bits = Elem::Int(32);
            if Self::elem(op, op.operand(i).ty())?.bytes() != bits.bytes() {
                return Ok(false);
            }
            let (number, to) = (self.operand(op, i), self.fresh());
            self.scalar(op, Scalar::Or, bits, to, &[number, zero]);
            numbers.push(to);
        }
        let count = u32::try_from(numbers.len()).unwrap_or(0);
        let to = self.reg(op.result(0));
        let pick = VectorOp::Pick {
            to,
            from: numbers.into(),
            picks: (0..count).map(|i| (i, 0)).collect(),
            number: count == 1,
        };
        self.emit(op, Instruction::Vector(pick));
        Ok(true)
    }

    /// Reads a multiplication of A from registers; returns false if it is something else.
    fn multiply_registers(&mut self, op: Op<'c>, instructions: &str) -> Result<bool, Unknown<'c>> {
        let Some(product) = Product::parse(instructions, op.num_operands()) else {
            return Ok(false);
        };
        let Product {
            n,
            output,
            types,
            adds,
            major,
        } = product;
        let [Some(a), Some(b)] = types.map(Multiplicand::named) else {
            return Ok(false);
        };
        let held = Self::registers_of(op, n / 2 * output.bytes())?;
        let count = registers_of_sum(n, output);
        let accumulator = self.fresh();
        let from: Box<[Reg]> = (0..count).map(|i| self.operand(op, i)).collect();
        let picks = (0..u32::try_from(count).unwrap_or(0)).map(|i| (i, 0)).collect();
        let pick = VectorOp::Pick {
            to: accumulator,
            from,
            picks,
            number: false,
        };
        self.emit(op, Instruction::Vector(pick));
        let wgmma = Wgmma {
            to: self.reg(op.result(0)),
            accumulator,
            a: Left::Registers(LeftFragment {
                regs: (count..count + LEFT).map(|i| self.operand(op, i)).collect(),
                first: 0,
                held: Elem::Int(32),
                elem: a.elem,
                unsigned: a.unsigned,
                negative: false,
            }),
            b: Factor {
                descriptor: self.operand(op, count + LEFT),
                major,
                elem: b.elem,
                unsigned: b.unsigned,
                negative: false,
            },
            n,
            output,
            held,
            zero: !adds,
            saturates: false,
            queue: self.wgmma_queue(),
            token: None,
        };
        self.emit_wgmma(op, wgmma);
        Ok(true)
    }
}

/// The registers of a thread for D, of so many columns.
fn registers_of_sum(n: usize, output: Elem) -> usize {
    n / 2 * output.bytes() / 4
}

/// What the text of a multiplication says.
struct Product<'t> {
    n: usize,
    /// The type of D.
    output: Elem,
    /// What PTX calls the types of A and B.
    types: [&'t str; 2],
    adds: bool,
    /// What is contiguous in B.
    major: Major,
}

impl<'t> Product<'t> {
    /// Parses the instructions of an `asm` with so many operands; `None` if they are others than the lowering writes.
    fn parse(text: &'t str, operands: usize) -> Option<Self> {
        let text = text.strip_prefix("{\n.reg .pred p;\nsetp.ne.b32 p, ")?;
        let (adds, text) = text.split_once(", 0;\nwgmma.mma_async.sync.aligned.m64n")?;
        let (shape, text) = text.split_once(' ')?;
        let mut shape = shape.split('.');
        let (n, k) = shape.next()?.split_once('k')?;
        let n = n.parse().ok().filter(|n| *n <= MOST_COLUMNS)?;
        let (sum, types) = (shape.next()?, [shape.next()?, shape.next()?]);
        let output = match sum {
            "f32" => Elem::F32,
            "f16" => Elem::F16,
            "s32" => Elem::Int(32),
            _ => return None,
        };
        let modifiers = modifiers(sum, types, k)?;
        let count = registers_of_sum(n, output);
        let list = |first: usize, count: usize| {
            let names: Vec<String> = (first..first + count).map(|i| format!("${i}")).collect();
            names.join(", ")
        };
        let last = 2 * count + LEFT;
        let before = format!(
            "{{{}}}, {{{}}}, ${last}, p{modifiers}",
            list(0, count),
            list(2 * count, LEFT)
        );
        // Only elements of 16 bits can be transposed.
        let major = match (k, text.strip_prefix(&before)?.strip_suffix(";\n}")?) {
            ("16", ", 1") => Major::MN,
            ("16", ", 0") | ("8" | "32", "") => Major::K,
            _ => return None,
        };
        (operands == count + LEFT + 1).then_some(Self {
            n,
            output,
            types,
            adds: adds != "0",
            major,
        })
    }
}

/// What the operands of a multiplication with such types of D, of A and of B, and such a K end with, but for what says that B is transposed; `None`
/// if there is no such multiplication.
fn modifiers(sum: &str, types: [&str; 2], k: &str) -> Option<&'static str> {
    match (sum, types, k) {
        ("f32" | "f16", ["f16", "f16"], "16")
        | ("f32", ["bf16", "bf16"], "16")
        | ("f32", ["tf32", "tf32"], "8")
        | ("f32" | "f16", ["e4m3" | "e5m2", "e4m3" | "e5m2"], "32") => Some(", 1, 1"),
        ("s32", ["s8" | "u8", "s8" | "u8"], "32") => Some(""),
        _ => None,
    }
}
