//! Warp specialization: the roles of warps, that is, which warps take which branch of the `scf.if`s on the
//! warp number.
//!
//! Warps have the same role if they take the same way through all of them. In a kernel that multiplies, warpgroups stay whole: a branch
//! that parts one counts only where what is in it has to do with other threads (an await or another operation that completes
//! asynchronously, an mbarrier, a barrier, registers that are given to others, an end), which is then refused where it has to be.

use super::warps::{num_warps, warps_where};
use async_dialects::completion::Completion;
use async_dialects::names::{async_, gpux};
use async_mlir::ir::{Op, Value};
use async_mlir::names::{gpu, nvgpu, nvvm, scf};
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::phases::RoleSet;

/// The warps of a warpgroup, as bits.
const WARPGROUP_MASK: u32 = 0xF;

fn is_multiplication(op: Op<'_>) -> bool {
    matches!(
        op.name(),
        gpux::WGMMA | nvgpu::WARPGROUP_MMA | nvvm::WGMMA_MMA_ASYNC
    )
}

/// Returns true if some, but not all, warps of a warpgroup are among `warps`, of `all` that there are.
pub(crate) fn splits_warpgroup(warps: u32, all: u32) -> bool {
    (0..32).step_by(4).any(|first| {
        let whole = all >> first & WARPGROUP_MASK;
        !matches!(warps >> first & whole, part if part == 0 || part == whole)
    })
}

/// What has operations in it that have to do with other threads.
fn around_convergent<'c>(ops: &[Op<'c>]) -> FxHashSet<Op<'c>> {
    let mut around = FxHashSet::default();
    for op in ops.iter().filter(|op| is_convergent(**op)) {
        for outer in op.ancestors() {
            if !around.insert(outer) {
                break;
            }
        }
    }
    around
}

/// Returns true if `op` has to do with other threads.
fn is_convergent(op: Op<'_>) -> bool {
    let is_on_mbarrier = || {
        matches!(
            op.name(),
            nvgpu::MBARRIER_ARRIVE
                | nvgpu::MBARRIER_ARRIVE_EXPECT_TX
                | nvgpu::MBARRIER_ARRIVE_NOCOMPLETE
                | nvgpu::MBARRIER_TEST_WAIT
                | nvgpu::MBARRIER_TRY_WAIT_PARITY
                | nvvm::MBARRIER_ARRIVE
                | nvvm::MBARRIER_ARRIVE_EXPECT_TX
                | nvvm::MBARRIER_ARRIVE_NOCOMPLETE
                | nvvm::MBARRIER_TEST_WAIT
                | nvvm::MBARRIER_TRY_WAIT
                | nvvm::MBARRIER_TRY_WAIT_PARITY
        )
    };
    let is_barrier = matches!(
        op.name(),
        gpu::BARRIER | nvvm::BARRIER0 | nvvm::BARRIER | nvvm::BARRIER_ARRIVE
    );
    is_barrier
        || matches!(op.name(), async_::AWAIT | nvvm::SETMAXREGISTER | nvvm::EXIT)
        || is_on_mbarrier()
        || Completion::of(op).is_some()
}

/// The roles of the warps of a kernel.
#[derive(Clone)]
pub struct Roles<'c> {
    /// All warps, as bits.
    all: u32,
    /// The warps of each role, as bits.
    warps: Vec<u32>,
    /// The warps in which each condition is true.
    conditions: FxHashMap<Value<'c>, u32>,
}

impl<'c> Roles<'c> {
    /// The roles in `function`, of which `ops` are all operations; `None` if it is not known what warps a block has.
    #[must_use]
    pub fn of(function: Op<'c>, ops: &[Op<'c>]) -> Option<Self> {
        let all = RoleSet::first(num_warps(function)?).0;
        let mut conditions = FxHashMap::default();
        let multiplies = ops.iter().any(|op| is_multiplication(*op));
        let concerned = if multiplies {
            around_convergent(ops)
        } else {
            FxHashSet::default()
        };
        for op in ops.iter().filter(|op| op.is(scf::IF)) {
            let condition = op.operand(0);
            // Constants are the same for all threads, and what is in there may be for all.
            if conditions.contains_key(&condition) || condition.as_constant_int().is_some() {
                continue;
            }
            let warps = warps_where(condition).map(|warps| warps & all);
            let counts =
                |warps: &u32| !multiplies || concerned.contains(op) || !splits_warpgroup(*warps, all);
            if let Some(warps) = warps.filter(counts) {
                conditions.insert(condition, warps);
            }
        }
        // Each condition splits what the ones before have left together.
        let mut warps = vec![all];
        for &inside in conditions.values() {
            let parts = warps.iter().flat_map(|&role| [role & inside, role & !inside]);
            warps = parts.filter(|&part| part != 0).collect();
        }
        warps.sort_unstable();
        Some(Self {
            all,
            warps,
            conditions,
        })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::try_from(self.warps.len()).unwrap_or(u32::MAX)
    }

    /// The warps of each role, as bits.
    #[must_use]
    pub fn warps(&self) -> &[u32] {
        &self.warps
    }

    /// All warps, as bits.
    #[must_use]
    pub fn all_warps(&self) -> u32 {
        self.all
    }

    /// The warps that run the first block of `op`, if that depends on the number of the warp.
    #[must_use]
    pub fn condition(&self, op: Op<'c>) -> Option<u32> {
        if !op.is(scf::IF) {
            return None;
        }
        self.conditions.get(&op.operand(0)).copied()
    }

    /// The roles that run each block of `op`, if it is up to them.
    #[must_use]
    pub fn of_blocks(&self, op: Op<'c>) -> Vec<RoleSet> {
        let Some(warps) = self.condition(op) else {
            return Vec::new();
        };
        let both = [warps, self.all & !warps].map(|warps| self.roles_of(warps));
        let blocks = op.regions().filter(|region| region.first().is_some()).count();
        both.into_iter().take(blocks).collect()
    }

    /// The warps of some roles.
    #[must_use]
    pub fn warps_of(&self, roles: RoleSet) -> u32 {
        let some = self.warps.iter().zip(0..).filter(|(_, role)| roles.has(*role));
        some.fold(0, |warps, (of_role, _)| warps | of_role)
    }

    /// The roles of some warps.
    #[must_use]
    pub fn roles_of(&self, warps: u32) -> RoleSet {
        let some = self
            .warps
            .iter()
            .zip(0..)
            .filter(|(of_role, _)| *of_role & warps != 0);
        some.fold(RoleSet::default(), |roles, (_, role)| roles.or(RoleSet::of(role)))
    }

    /// The warps that run `op`, as bits.
    #[must_use]
    pub fn warps_at(&self, op: Op<'c>) -> u32 {
        let mut warps = self.all;
        let mut inside = op;
        for outer in op.ancestors().take_while(|outer| !outer.is_function()) {
            if let Some(condition) = self.condition(outer) {
                let is_then = inside.block().and_then(async_mlir::ir::Block::region) == Some(outer.region(0));
                warps &= if is_then { condition } else { !condition };
            }
            inside = outer;
        }
        warps
    }
}
