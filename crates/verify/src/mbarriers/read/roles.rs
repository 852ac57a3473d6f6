//! Roles of warps: which of them take which way where conditions depend on the number of a thread.
//!
//! A condition that is the same in all threads of a warp is computed for each thread. Warps that take the same way everywhere have
//! the same role. Other conditions may be true or false.

use crate::mbarriers::code::{Roles, SOME_THREADS};
use crate::thread_numbers::{MOST_WARPS, ThreadNumbers};
use async_dialects::names::async_;
use async_mlir::gpu::block_threads;
use async_mlir::ir::{Op, Value, Walk};
use async_mlir::names::scf;
use rustc_hash::{FxHashMap, FxHashSet};

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
        let Some(mut numbers) = ThreadNumbers::new(function) else {
            return Self::none(function);
        };
        let all = u32::MAX >> (MOST_WARPS - numbers.num_warps());
        let conditions = conditions(function, users);
        let known = conditions.into_iter().filter_map(|condition| {
            let warps = numbers.warps_where(condition)?;
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
