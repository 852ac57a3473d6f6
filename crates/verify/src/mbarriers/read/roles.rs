//! Roles of warps: which of them take which way where conditions depend on the number of a thread.
//!
//! A condition that is the same in all threads of a warp is computed for each thread. Warps that take the same way everywhere have
//! the same role. Other conditions may be true or false.

use super::arithmetic;
use super::flow::without_casts;
use crate::mbarriers::code::{Roles, SOME_THREADS};
use crate::mbarriers::int::{Int, UNKNOWN};
use async_dialects::names::async_;
use async_mlir::gpu::{Dimension, block_size, block_threads};
use async_mlir::ir::{Op, Value, Walk};
use async_mlir::names::{arith, attr, gpu, scf};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The threads of a warp.
const WARP: usize = 32;

/// The most warps of a block.
const MOST_WARPS: usize = 32;

/// A number in each thread of a block.
type Numbers = Rc<[i64]>;

/// The roles of the warps of a function.
pub(super) struct WarpRoles<'c> {
    /// How many threads have each role.
    pub threads: Vec<i64>,
    /// The roles for which conditions are true.
    where_true: FxHashMap<Value<'c>, Roles>,
}

impl<'c> WarpRoles<'c> {
    /// All threads have one role.
    pub fn none(function: Op<'c>) -> Self {
        let threads = block_threads(function).and_then(|threads| i64::try_from(threads).ok());
        Self {
            threads: vec![threads.unwrap_or(SOME_THREADS)],
            where_true: FxHashMap::default(),
        }
    }

    /// The roles that warps have by the conditions around `users` of mbarriers and around awaits. If they don't `differ`, all have one role, but
    /// conditions that are the same for all of them are known.
    pub fn of(function: Op<'c>, users: &[Op<'c>], differ: bool) -> Self {
        let warps = match block_size(function) {
            Some([x, 1, 1]) if x as usize <= MOST_WARPS * WARP && (x as usize).is_multiple_of(WARP) => {
                x as usize / WARP
            }
            _ => return Self::none(function),
        };
        let mut evaluator = Evaluator {
            threads: warps * WARP,
            known: FxHashMap::default(),
        };
        let all = u32::MAX >> (MOST_WARPS - warps.max(1));
        let conditions = conditions(function, users);
        let known = conditions.into_iter().filter_map(|condition| {
            let warps = evaluator.warps(condition)?;
            (differ || warps == 0 || warps == all).then_some((condition, warps))
        });
        let known: Vec<(Value, u32)> = known.collect();
        // Warps of one role are those that are together everywhere.
        let mut roles: Vec<u32> = vec![all];
        for (_, warps) in &known {
            let parts = roles.iter().flat_map(|role| [role & warps, role & !warps]);
            roles = parts.filter(|role| *role != 0).collect();
        }
        let where_true = known.into_iter().map(|(condition, warps)| {
            let with = (0..).zip(&roles).filter(|(_, role)| **role & warps != 0);
            (condition, with.fold(0, |all, (role, _)| all | 1 << role))
        });
        let where_true = where_true.collect();
        let threads = roles.iter().map(|role| i64::from(role.count_ones()) * 32);
        Self {
            threads: threads.collect(),
            where_true,
        }
    }

    /// All roles.
    pub fn all(&self) -> Roles {
        (0..self.threads.len()).fold(0, |all, role| all | 1 << role)
    }

    /// The roles for which `op`, an `scf.if`, takes its first way; `None` if that does not depend on the role.
    pub fn divides(&self, op: Op<'c>) -> Option<Roles> {
        if !op.is(scf::IF) {
            return None;
        }
        self.divides_by(op.operand(0))
    }

    /// The roles for which `condition` is true; `None` if that does not depend on the role.
    pub fn divides_by(&self, condition: Value<'c>) -> Option<Roles> {
        let roles = self.where_true.get(&condition).copied()?;
        (roles != 0 && roles != self.all()).then_some(roles)
    }

    /// What `condition` is for all roles, if that is the same and known.
    pub fn always(&self, condition: Value<'c>) -> Option<bool> {
        let roles = self.where_true.get(&condition).copied()?;
        (roles == 0 || roles == self.all()).then_some(roles != 0)
    }
}

/// The conditions around `users` and awaits in `function`.
fn conditions<'c>(function: Op<'c>, users: &[Op<'c>]) -> Vec<Value<'c>> {
    let mut ops = users.to_vec();
    function.walk(|op| {
        if op.is(async_::AWAIT) {
            ops.push(op);
        }
        Walk::Advance
    });
    let mut seen = FxHashSet::default();
    let mut conditions = Vec::new();
    for op in ops {
        for outer in op.ancestors() {
            if !seen.insert(outer) {
                break;
            }
            if outer.is(scf::IF) && !conditions.contains(&outer.operand(0)) {
                conditions.push(outer.operand(0));
            }
        }
    }
    conditions
}

/// Computes numbers for each thread.
struct Evaluator<'c> {
    threads: usize,
    known: FxHashMap<Value<'c>, Option<Numbers>>,
}

impl<'c> Evaluator<'c> {
    /// How deep an expression may be.
    const DEPTH: usize = 32;

    /// The warps in all of whose threads `condition` is true, if it is false in all threads of the others.
    fn warps(&mut self, condition: Value<'c>) -> Option<u32> {
        let numbers = self.numbers(condition, Self::DEPTH)?;
        let mut warps = 0;
        for (warp, numbers) in numbers.chunks(WARP).enumerate() {
            let truth = numbers[0] & 1;
            if numbers.iter().any(|number| number & 1 != truth) {
                return None;
            }
            warps |= u32::from(truth == 1) << warp;
        }
        Some(warps)
    }

    fn numbers(&mut self, value: Value<'c>, depth: usize) -> Option<Numbers> {
        let value = without_casts(value);
        if let Some(constant) = value.as_constant_int() {
            return Some(vec![constant; self.threads].into());
        }
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        let numbers = self.compute(value.defining_op()?, depth.checked_sub(1)?);
        self.known.insert(value, numbers.clone());
        numbers
    }

    fn compute(&mut self, op: Op<'c>, depth: usize) -> Option<Numbers> {
        let threads = 0..i64::try_from(self.threads).ok()?;
        match op.name() {
            gpu::THREAD_ID if op.attr(attr::DIMENSION) == Some(Dimension::X.attribute(op.context())) => {
                return Some(threads.collect());
            }
            gpu::SUBGROUP_ID => return Some(threads.map(|thread| thread / 32).collect()),
            arith::EXTUI | arith::EXTSI | arith::TRUNCI | arith::INDEX_CASTUI => {
                return self.numbers(op.operand(0), depth);
            }
            _ => {}
        }
        let operation = arithmetic::operation(op)?;
        let mut of = Vec::new();
        for operand in op.operands() {
            of.push(self.numbers(operand, depth)?);
        }
        let width = arithmetic::width(op);
        let numbers = threads.map(|thread| {
            let mut operands = [UNKNOWN; 3];
            for (operand, numbers) in operands.iter_mut().zip(&of) {
                *operand = Int::exact(numbers[usize::try_from(thread).ok()?]);
            }
            operation.compute(width, operands).value()
        });
        numbers.collect()
    }
}
