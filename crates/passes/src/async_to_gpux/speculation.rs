//! Checks whether an operation is speculatable: may be executed where it need not have been.

use async_mlir::affine::{self, Expr, Operator};
use async_mlir::ir::Op;
use async_mlir::names::{affine as affine_ops, arith, attr, index};

/// Returns true if `op` has no effects, and gives a value whatever its operands are. Upstream calls some operations pure and speculatable that
/// divide by zero, shift by more bits than there are, or view what is beyond a buffer.
pub(super) fn is_speculatable(op: Op<'_>) -> bool {
    let constant = || op.operand(1).as_constant_int();
    let has_value = || match op.name() {
        arith::CEILDIVSI
        | arith::CEILDIVUI
        | arith::DIVSI
        | arith::DIVUI
        | arith::FLOORDIVSI
        | arith::REMSI
        | arith::REMUI
        | index::CEILDIVS
        | index::CEILDIVU
        | index::DIVS
        | index::DIVU
        | index::FLOORDIVS
        | index::REMS
        | index::REMU => constant().is_some_and(|by| by > 0),
        // Addresses are made of integers of 8 bits and more.
        arith::SHLI | arith::SHRSI | arith::SHRUI | index::SHL | index::SHRS | index::SHRU => {
            constant().is_some_and(|by| (0..8).contains(&by))
        }
        affine_ops::APPLY | affine_ops::MAX | affine_ops::MIN => {
            let results = op.attr(attr::MAP).and_then(affine::results);
            results.is_some_and(|results| results.iter().all(divides_by_constants))
        }
        _ => op.view_source().is_none(),
    };
    op.num_regions() == 0 && op.is_pure() && has_value()
}

fn divides_by_constants(expr: &Expr) -> bool {
    match expr {
        Expr::Constant(_) | Expr::Operand(_) => true,
        Expr::Binary(operator, operands) => {
            let is_fine = match operator {
                Operator::Add | Operator::Mul => true,
                Operator::Mod | Operator::FloorDiv | Operator::CeilDiv => {
                    matches!(operands[1], Expr::Constant(by) if by > 0)
                }
            };
            is_fine && operands.iter().all(divides_by_constants)
        }
    }
}
