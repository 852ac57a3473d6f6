//! Multiplications whose left matrix is sparse, beyond what they have in common with others: metadata, and the inline
//! assembly that `--convert-nvgpu-to-nvvm` makes of `nvgpu.mma.sp.sync`.
//!
//! **Refusals.** Assembly that is written in another way.

use super::matrices::{Multiplicand, Multiplication, shape_of};
use super::{Done, Reader, Unknown};
use crate::code::{Index, Sparsity};
use crate::machine::WARP;
use crate::value::Elem;
use async_mlir::ir::Op;
use async_mlir::names::attr;
use std::fmt::Write;

/// What an instruction says of itself in its name.
struct Mnemonic {
    shape: [usize; 3],
    inputs: [Multiplicand; 2],
    output: Elem,
    saturates: bool,
}

impl Mnemonic {
    /// Reads `mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32` and the like.
    fn parse(name: &str) -> Option<Self> {
        let parts = name.strip_prefix("mma.sp.sync.aligned.")?;
        let (shape, parts) = parts.split_once(".row.col.")?;
        let sizes = shape.split(['m', 'n', 'k']).skip(1).map(str::parse);
        let sizes: Result<Vec<i64>, _> = sizes.collect();
        let (saturates, types) = match parts.strip_prefix("satfinite.") {
            Some(types) => (true, types),
            None => (false, parts),
        };
        let [d, a, b, c] = types.split('.').collect::<Vec<_>>()[..] else {
            return None;
        };
        let output = match c {
            "f16" => Elem::F16,
            "f32" => Elem::F32,
            "s32" => Elem::Int(32),
            _ => return None,
        };
        Some(Self {
            shape: shape_of(&sizes.ok()?).filter(|_| c == d)?,
            inputs: [Multiplicand::named(a)?, Multiplicand::named(b)?],
            output,
            saturates,
        })
    }

    /// How many registers of 32 bits A, B and C have in each lane. A has half of its columns.
    fn registers(&self) -> [usize; 3] {
        let [m, n, k] = self.shape;
        let [left, right] = self.inputs.map(|input| input.elem.bytes());
        [m * k / 2 * left, k * n * right, m * n * self.output.bytes()].map(|bytes| bytes / WARP / 4)
    }

    /// The operands that come after the name: D, A, B, C, the metadata and the selector.
    fn operands(&self, selector: i64) -> String {
        let [a, b, c] = self.registers();
        let mut next = 0;
        let mut text = String::new();
        for count in [c, a, b, c] {
            let names: Vec<String> = (next..next + count).map(|i| format!("${i}")).collect();
            next += count;
            let _ = write!(text, "{{{}}},", names.join(","));
        }
        let _ = write!(text, "${next},0x{selector};");
        text
    }
}

impl<'c> Reader<'c> {
    /// The metadata of `nvgpu.mma.sp.sync`, which is of 32 bits.
    pub(super) fn sparsity(&mut self, op: Op<'c>) -> Result<Sparsity, Unknown<'c>> {
        Ok(Sparsity {
            metadata: self.registers(op, 3..4, Elem::Int(32))?,
            selector: Index::Const(op.int_attr(attr::SPARSITY_SELECTOR).unwrap_or(0)),
            ordered: false,
        })
    }

    /// Reads inline assembly if it is such a multiplication; returns false if not.
    pub(super) fn sparse_assembly(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        let text = op.str_attr(attr::ASM_STRING).unwrap_or_default();
        if !text.starts_with("mma.sp") {
            return Ok(false);
        }
        let unknown = || {
            let message = "the interpreter knows an mma.sp as --convert-nvgpu-to-nvvm writes it only: use nvvm.mma.sp.sync";
            Unknown::new(op, message)
        };
        let (name, operands) = text.split_once(' ').ok_or_else(unknown)?;
        let mnemonic = Mnemonic::parse(name).ok_or_else(unknown)?;
        let selector = (0..4).find(|selector| mnemonic.operands(*selector) == operands);
        let [a, b, c] = mnemonic.registers();
        let first = a + b + c;
        if [a, b, c].contains(&0) || op.num_operands() != first + 1 || op.num_results() != 1 {
            return Err(unknown());
        }
        self.assembled(op, &mnemonic, selector.ok_or_else(unknown)?)?;
        Ok(true)
    }

    fn assembled(&mut self, op: Op<'c>, mnemonic: &Mnemonic, selector: i64) -> Done<'c> {
        let [a, b, c] = mnemonic.registers();
        let [left, right] = mnemonic.inputs;
        let first = a + b + c;
        let multiplication = Multiplication {
            operands: [
                self.registers(op, 0..a, left.elem)?,
                self.registers(op, a..a + b, right.elem)?,
                self.registers(op, a + b..first, mnemonic.output)?,
            ],
            inputs: mnemonic.inputs,
            output: mnemonic.output,
            shape: Some(mnemonic.shape),
            wraps: !mnemonic.saturates,
            sparsity: Some(Sparsity {
                metadata: self.operand(op, first),
                selector: Index::Const(selector),
                ordered: false,
            }),
        };
        self.multiply(op, multiplication)
    }
}
