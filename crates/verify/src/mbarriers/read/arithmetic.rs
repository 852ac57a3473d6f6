//! Arithmetic on integers.

use crate::mbarriers::int::Operation;
use async_mlir::arith::Predicate;
use async_mlir::ir::Op;
use async_mlir::names::{arith, attr};
use async_mlir::types::bit_width;

/// What `op` computes; `None` if it is not known to compute anything.
pub(super) fn operation(op: Op<'_>) -> Option<Operation> {
    Some(match op.name() {
        arith::ADDI => Operation::Add,
        arith::SUBI => Operation::Sub,
        arith::MULI => Operation::Mul,
        arith::DIVUI => Operation::DivU,
        arith::CEILDIVUI => Operation::CeilDivU,
        arith::REMUI => Operation::RemU,
        arith::MAXSI => Operation::MaxS,
        arith::ANDI => Operation::And,
        arith::ORI => Operation::Or,
        arith::XORI => Operation::Xor,
        arith::SHRUI => Operation::ShrU,
        arith::INDEX_CAST => Operation::Copy,
        arith::SELECT => Operation::Select,
        arith::CMPI => {
            let number = op.int_attr(attr::PREDICATE)?;
            let of_number = |(predicate, _): &(Predicate, &str)| *predicate as i64 == number;
            let (predicate, _) = Predicate::ALL.into_iter().find(of_number)?;
            Operation::Compare(predicate)
        }
        _ => return None,
    })
}

/// The number of bits of the numbers that `op` computes with.
pub(super) fn width(op: Op<'_>) -> u8 {
    let operand = op.operand(op.num_operands() - 1);
    // An index has 64.
    let width = bit_width(operand.ty()).unwrap_or(64);
    u8::try_from(width).unwrap_or(64)
}
