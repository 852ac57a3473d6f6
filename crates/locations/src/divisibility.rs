//! Divisibility analysis: the largest known power of two that divides an integer, in every thread and
//! iteration.
//!
//! Arithmetic that wraps around is exact modulo powers of two, so overflow does no harm. What is not known is divisible by 1.

use async_mlir::affine::{Expr, Operator, only_result};
use async_mlir::ir::{Block, Definition, Op, Value};
use async_mlir::names::{affine, arith, attr, index, llvm, scf};
use rustc_hash::FxHashMap;

/// Exponents are cut off here: nothing needs more.
pub const MAX_LOG2: u32 = 12;

/// How many computations are looked at for one value.
const FUEL: u32 = 256;

/// The exponent of the largest power of two that divides `number`.
#[must_use]
pub fn log2_of(number: i64) -> u32 {
    number.trailing_zeros().min(MAX_LOG2)
}

/// Finds out by which powers of two values are divisible. It remembers what it has met.
#[derive(Default)]
pub struct Divisibility<'c> {
    known: FxHashMap<Value<'c>, u32>,
}

/// What is taken to be known on the way: of one value, a carried one, how it is divisible; and how far to look.
struct Search<'c> {
    carried: Option<(Value<'c>, u32)>,
    fuel: u32,
}

impl<'c> Divisibility<'c> {
    /// The exponent of a power of two that divides `value`.
    pub fn log2(&mut self, value: Value<'c>) -> u32 {
        self.search(
            value,
            &mut Search {
                carried: None,
                fuel: FUEL,
            },
        )
    }

    fn search(&mut self, value: Value<'c>, search: &mut Search<'c>) -> u32 {
        if let Some((carried, log2)) = search.carried
            && carried == value
        {
            return log2;
        }
        if let Some(known) = self.known.get(&value) {
            return *known;
        }
        if search.fuel == 0 {
            return 0;
        }
        search.fuel -= 1;
        let found = self.compute(value, search).unwrap_or(0).min(MAX_LOG2);
        // What is only taken to be known is not remembered.
        if search.carried.is_none() {
            self.known.insert(value, found);
        }
        found
    }

    fn compute(&mut self, value: Value<'c>, search: &mut Search<'c>) -> Option<u32> {
        if let Some(constant) = value.as_constant_int() {
            return Some(log2_of(constant));
        }
        match value.definition() {
            Definition::Result(op, 0) => self.result(op, search),
            Definition::Result(..) => None,
            Definition::Argument(block, number) => {
                let around = block.parent_op().filter(|op| op.is(scf::FOR))?;
                match number {
                    0 => {
                        let [first, step] = [0, 2].map(|i| self.search(around.operand(i), search));
                        Some(first.min(step))
                    }
                    _ => self.carried(value, around, block, number, search),
                }
            }
        }
    }

    /// A value that a loop carries: the first one, and all that follow from it, are divisible.
    fn carried(
        &mut self,
        value: Value<'c>,
        around: Op<'c>,
        block: Block<'c>,
        number: usize,
        search: &mut Search<'c>,
    ) -> Option<u32> {
        if search.carried.is_some() {
            return None;
        }
        let mut log2 = self.search(around.operand(2 + number), search);
        let next = block.terminator()?.operand(number - 1);
        while log2 > 0 {
            let mut inner = Search {
                carried: Some((value, log2)),
                fuel: search.fuel,
            };
            let found = self.search(next, &mut inner);
            search.fuel = inner.fuel;
            if found >= log2 {
                break;
            }
            log2 = found;
        }
        Some(log2)
    }

    fn result(&mut self, op: Op<'c>, search: &mut Search<'c>) -> Option<u32> {
        let mut of = |index: usize| self.search(op.operand(index), search);
        let constant = |index: usize| op.operand(index).as_constant_int();
        Some(match op.name() {
            // Low bits that are 0 in both are 0 in what is computed bit by bit, too.
            arith::ADDI
            | arith::SUBI
            | arith::ORI
            | arith::XORI
            | arith::REMSI
            | arith::REMUI
            | arith::MAXSI
            | arith::MAXUI
            | arith::MINSI
            | arith::MINUI
            | index::ADD
            | index::SUB
            | index::OR
            | index::XOR
            | index::REMS
            | index::REMU
            | index::MAXS
            | index::MAXU
            | index::MINS
            | index::MINU
            | llvm::ADD
            | llvm::SUB
            | llvm::OR
            | llvm::XOR => of(0).min(of(1)),
            arith::ANDI | index::AND | llvm::AND => of(0).max(of(1)),
            arith::MULI | index::MUL | llvm::MUL => of(0) + of(1),
            arith::SHLI | index::SHL | llvm::SHL => of(0).saturating_add(u32::try_from(constant(1)?).ok()?),
            arith::SHRSI | arith::SHRUI | index::SHRS | index::SHRU | llvm::ASHR | llvm::LSHR => {
                of(0).saturating_sub(u32::try_from(constant(1)?).ok()?)
            }
            arith::DIVSI
            | arith::DIVUI
            | arith::FLOORDIVSI
            | index::DIVS
            | index::DIVU
            | index::FLOORDIVS => of_quotient(of(0), constant(1)?)?,
            arith::SELECT | llvm::SELECT => of(1).min(of(2)),
            arith::INDEX_CAST
            | arith::INDEX_CASTUI
            | arith::EXTSI
            | arith::EXTUI
            | arith::TRUNCI
            | index::CASTS
            | index::CASTU
            | llvm::SEXT
            | llvm::TRUNC
            | llvm::ZEXT => of(0),
            affine::APPLY => {
                let expr = only_result(op.attr(attr::MAP)?)?;
                of_affine(&expr, &mut of)?
            }
            _ => return None,
        })
    }
}

/// By a power of two that divides exactly.
fn of_quotient(dividend: u32, divisor: i64) -> Option<u32> {
    let divisor = u64::try_from(divisor).ok().filter(|it| it.is_power_of_two())?;
    dividend.checked_sub(divisor.trailing_zeros())
}

fn of_affine(expr: &Expr, of: &mut impl FnMut(usize) -> u32) -> Option<u32> {
    Some(match expr {
        Expr::Constant(constant) => log2_of(*constant),
        Expr::Operand(index) => of(*index),
        Expr::Binary(operator, sides) => {
            let left = of_affine(&sides[0], of)?;
            let right = of_affine(&sides[1], of)?;
            match (operator, &sides[1]) {
                (Operator::Add | Operator::Mod, _) => left.min(right),
                (Operator::Mul, _) => (left + right).min(MAX_LOG2),
                (Operator::FloorDiv | Operator::CeilDiv, Expr::Constant(divisor)) => {
                    of_quotient(left, *divisor)?
                }
                (Operator::FloorDiv | Operator::CeilDiv, _) => return None,
            }
        }
    })
}
