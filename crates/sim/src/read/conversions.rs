//! Conversions that PTX's `cvt` does: `nvvm.convert.*`.
//!
//! The numbers of a packed result are in the order of the instruction: in `cvt d, a, b`, that of `b` is in the low bits of `d`.
//!
//! **Refusals.** Stochastic rounding.

use super::{Done, Reader, Unknown, number};
use crate::code::{Op as Instruction, Reg, VectorOp};
use crate::scalar::{Cvt, Rounding, Scalar};
use crate::value::Elem;
use async_mlir::ir::Op;
use async_mlir::melior::ir::attribute::TypeAttribute;
use async_mlir::names::{attr, nvvm};
use async_mlir::types;

impl<'c> Reader<'c> {
    /// Reads `op` if it is such a conversion; returns false if it is not.
    pub(super) fn conversions(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            nvvm::CONVERT_FLOAT_TO_TF32 => {
                let (value, to) = (self.operand(op, 0), self.reg(op.result(0)));
                let f = Scalar::ToTf32(cvt(op)?);
                self.scalar(op, f, Elem::Int(32), to, &[value]);
            }
            nvvm::CONVERT_F32X2_TO_F16X2 | nvvm::CONVERT_F32X2_TO_BF16X2 => {
                let pair = self.pair(op);
                let (elem, to) = (Self::elem(op, op.result(0).ty())?, self.reg(op.result(0)));
                self.scalar(op, Scalar::Cvt(Elem::F32, cvt(op)?), elem, to, &[pair]);
            }
            nvvm::CONVERT_F32X2_TO_F8X2 | nvvm::CONVERT_F32X2_TO_F6X2 | nvvm::CONVERT_F32X2_TO_F4X2 => {
                let pair = self.pair(op);
                self.packed(op, pair, Elem::F32)?;
            }
            nvvm::CONVERT_F16X2_TO_F8X2 | nvvm::CONVERT_BF16X2_TO_F8X2 => {
                let pair = self.operand(op, 0);
                self.packed(op, pair, Self::elem(op, op.operand(0).ty())?)?;
            }
            nvvm::CONVERT_F8X2_TO_F16X2
            | nvvm::CONVERT_F8X2_TO_BF16X2
            | nvvm::CONVERT_F6X2_TO_F16X2
            | nvvm::CONVERT_F4X2_TO_F16X2 => self.unpacked(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The first two operands as a vector, the second one first.
    fn pair(&mut self, op: Op<'c>) -> Reg {
        let from = [1, 0].map(|i| self.operand(op, i)).into();
        let to = self.fresh();
        let (picks, number) = ([(0, 0), (1, 0)].into(), false);
        let pick = VectorOp::Pick {
            to,
            from,
            picks,
            number,
        };
        self.emit(op, Instruction::Vector(pick));
        to
    }

    /// What numbers of type `from` are as the type that `op` names, in the bits that its result has.
    fn packed(&mut self, op: Op<'c>, pair: Reg, from: Elem) -> Done<'c> {
        let into = named(op, attr::DST_TY)?;
        let converted = self.fresh();
        // Without `.satfinite`, there are none of these instructions; only that to `f8E8M0FNU` says so itself.
        let how = Cvt {
            saturates: true,
            ..cvt(op)?
        };
        self.scalar(op, Scalar::Cvt(from, how), into, converted, &[pair]);
        let held = Self::elem(op, op.result(0).ty())?;
        let cast = VectorOp::Bitcast {
            to: self.reg(op.result(0)),
            vector: converted,
            from: slot(into),
            into: held,
            number: number(op.result(0).ty()).is_some(),
        };
        self.emit(op, Instruction::Vector(cast));
        Ok(())
    }

    /// The other way around, which loses nothing.
    fn unpacked(&mut self, op: Op<'c>) -> Done<'c> {
        let from = named(op, attr::SRC_TYPE)?;
        let (vector, held) = (self.operand(op, 0), Self::elem(op, op.operand(0).ty())?);
        let (numbers, to) = (self.fresh(), self.reg(op.result(0)));
        let cast = VectorOp::Bitcast {
            to: numbers,
            vector,
            from: held,
            into: slot(from),
            number: false,
        };
        self.emit(op, Instruction::Vector(cast));
        let elem = Self::elem(op, op.result(0).ty())?;
        self.scalar(op, Scalar::Cvt(from, cvt(op)?), elem, to, &[numbers]);
        Ok(())
    }
}

/// What holds a number of type `elem` among others: 6 bits are padded to 8.
fn slot(elem: Elem) -> Elem {
    match elem.bits() {
        4 => Elem::Int(4),
        _ => Elem::Int(8),
    }
}

/// The type that an attribute of `op` names.
fn named<'c>(op: Op<'c>, name: &str) -> Result<Elem, Unknown<'c>> {
    let ty = op.attr(name).and_then(|ty| TypeAttribute::try_from(ty).ok());
    let elem = ty.and_then(|ty| number(ty.value()));
    elem.ok_or_else(|| Unknown::operation(op))
}

fn cvt(op: Op<'_>) -> Result<Cvt, Unknown<'_>> {
    let keyword = |name| op.attr(name).and_then(types::keyword).unwrap_or("none");
    let rounding = match keyword(attr::RND) {
        "none" | "rn" => Rounding::NearestEven,
        "rna" => Rounding::NearestAway,
        "rz" => Rounding::TowardZero,
        "rm" => Rounding::Downward,
        "rp" => Rounding::Upward,
        _ => return Err(Unknown::new(op, "the interpreter knows no stochastic rounding")),
    };
    Ok(Cvt {
        rounding,
        saturates: keyword(attr::SAT) == "satfinite",
        relu: op.bool_attr(attr::RELU).unwrap_or(false),
    })
}
