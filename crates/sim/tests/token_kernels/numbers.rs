//! Conditions and numbers of iterations.

use super::stmt::{Bound, Condition};
use super::write::{Scope, Writer};

/// The number by which an odd one has to be multiplied to get 1, modulo 2^64.
fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
    }
    inverse
}

/// A number as a signed one of a type.
pub(super) fn literal(number: u64, ty: &str) -> i64 {
    let number = number.cast_signed();
    match ty {
        "i8" => number << 56 >> 56,
        "i16" => number << 48 >> 48,
        "i32" => number << 32 >> 32,
        _ => number,
    }
}

impl Writer {
    /// A number that the kernel was called with, from other bits in each iteration.
    fn bits(&mut self, at: u8, mask: u32, scope: &Scope) -> String {
        let at = self.def(&format!("arith.constant {at} : index"));
        let seven = self.def(&format!("arith.muli {}, %c7 : index", scope.clock));
        let at = self.def(&format!("arith.addi {at}, {seven} : index"));
        let at = self.def(&format!("arith.andi {at}, %c63 : index"));
        let at = self.def(&format!("arith.index_cast {at} : index to i64"));
        let bits = self.def(&format!("arith.shrui %bits, {at} : i64"));
        let bits = self.def(&format!("arith.index_castui {bits} : i64 to index"));
        self.def(&format!("arith.andi {bits}, %c{mask} : index"))
    }

    pub(super) fn condition(&mut self, condition: Condition, scope: &Scope) -> String {
        match condition {
            Condition::Constant(value) => format!("%{value}"),
            Condition::Narrow(value) => {
                let a = self.def("arith.constant 64 : i8");
                let b = self.def("arith.constant 5 : i8");
                let product = self.def(&format!("arith.muli {a}, {b} : i8"));
                let predicate = if value { "eq" } else { "ne" };
                self.def(&format!("arith.cmpi {predicate}, {product}, {a} : i8"))
            }
            Condition::Drawn(bit) => {
                let bit = self.bits(bit, 1, scope);
                self.def(&format!("arith.cmpi eq, {bit}, %c1 : index"))
            }
            Condition::Flag(flag) => scope.flags[flag].clone(),
            Condition::Iteration(n) => {
                let n = self.def(&format!("arith.constant {n} : index"));
                self.def(&format!("arith.cmpi eq, {}, {n} : index", scope.iteration))
            }
        }
    }

    /// A number of a type.
    pub(super) fn bound(&mut self, bound: Bound, ty: &str, scope: &Scope) -> String {
        match bound {
            Bound::Constant(n) => self.def(&format!("arith.constant {n} : {ty}")),
            Bound::Product(n) => {
                let factor = 77_u64;
                let other = u64::from(n).wrapping_mul(inverse(factor));
                let (a, b) = (literal(factor, ty), literal(other, ty));
                let a = self.def(&format!("arith.constant {a} : {ty}"));
                let b = self.def(&format!("arith.constant {b} : {ty}"));
                self.def(&format!("arith.muli {a}, {b} : {ty}"))
            }
            Bound::Drawn(_) | Bound::Counted | Bound::Iteration => {
                let number = match bound {
                    Bound::Drawn(at) => self.bits(at, 7, scope),
                    Bound::Counted => scope.count.clone(),
                    _ => scope.iteration.clone(),
                };
                if ty == "index" {
                    return number;
                }
                self.def(&format!("arith.index_cast {number} : index to {ty}"))
            }
        }
    }
}
