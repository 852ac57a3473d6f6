//! `--gpux-split-roles`: copies a kernel's body for each role of warps (warp specialization).
//!
//! **Condition.** A kernel that is marked to have roles: warps that take different ways through `scf.if`s on their number. The
//! pass that makes mbarriers marks it.
//!
//! **Effect.** From the first operation of its body with such a condition in it to the last one (and what uses their results) the
//! body is copied for each role. In a copy, these conditions are decided; so are those on whether a thread is the elected one of
//! a warp, where that has another role. All come together again after the copies. A barrier of the block, which is then in several
//! places, becomes the one with number 0 of all threads, to which it does not matter where they come from.
//!
//! **Refusals.** What is there once for a block would be there once for each role: allocations in workgroup memory, mbarriers,
//! reductions of the whole block, stores that all threads of a block execute. In kernels that are not marked, whose roles
//! somebody wrote, what no roles can have ([`role_rules`]).
//!
//! **Cost.** The size of the body times the roles, of which there are at most as many as warps.

use crate::analysis::phase_skeleton::is_block_wide_store;
use crate::analysis::roles::Roles;
use crate::analysis::warps::{WARP_THREADS, warps_where};
use crate::utils::builders::constant;
use crate::utils::device::{is_workgroup_alloc, own_ops};
use crate::utils::role_rules;
use crate::utils::verify_result::{VERIFY_RESULT, check_roles, checks};
use crate::utils::warps::in_warps;
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Block, Mapping, Op, OpBuilder, Region, Value};
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::names::{gpu, nvgpu, nvvm, scf};
use async_mlir::pass::{Anchor, Dialect, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use rustc_hash::FxHashMap;

/// The pass.
pub struct SplitRoles;

impl Pass for SplitRoles {
    const INFO: PassInfo = PassInfo {
        description: include_str!("split_roles/description.md"),
        anchor: Anchor::Functions,
        dependent_dialects: &[Dialect::ARITH, Dialect::GPU, Dialect::NVVM, Dialect::SCF],
        options: &[VERIFY_RESULT],
        statistics: &[StatisticInfo {
            name: "roles",
            description: "Number of copies of code for roles",
        }],
        ..PassInfo::new("gpux-split-roles", "gives each role of warps code of its own")
    };

    fn run<'c>(function: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        if !function.remove_attr(gpux_attr::ROLES) {
            // The pass that marks kernels has checked those.
            role_rules::check_function(function)?;
            role_rules::warn(function);
            return Ok(());
        }
        let ops = own_ops(function);
        let roles = Roles::of(function, &ops).filter(|roles| roles.count() > 1);
        let body = function.regions().next().map(Region::blocks).unwrap_or_default();
        let (Some(roles), [body]) = (roles, body.as_slice()) else {
            return Ok(());
        };
        let Some(mut shared) = shared_by_roles(*body, &roles) else {
            return Ok(());
        };
        shared.iter().try_for_each(|op| refuse_single(*op))?;
        let check = checks(cx).map(|timer| (timer, timer.time(|| function.clone_detached())));
        let threads = WARP_THREADS * roles.all_warps().count_ones();
        number_barriers(&mut shared, threads);
        split(&shared, &roles);
        cx.count("roles", u64::from(roles.count()));
        match check {
            Some((timer, before)) => timer.time(|| check_roles(before, function)),
            None => Ok(()),
        }
    }
}

/// The operations of `body` that roles get copies of: from the first one that roles run differently to the last one, and
/// whatever uses what these compute. What can be computed once before them all is moved there.
fn shared_by_roles<'c>(body: Block<'c>, roles: &Roles<'c>) -> Option<Vec<Op<'c>>> {
    let differs = |op: &Op<'c>| {
        let inside = op.self_and_nested().into_iter();
        inside.into_iter().any(|op| roles.condition(op).is_some())
    };
    let mut ops = body.ops();
    ops.retain(|op| Some(*op) != body.terminator());
    let first = ops.iter().position(differs)?;
    let first_op = ops[first];
    let mut numbers: FxHashMap<Value, usize> = FxHashMap::default();
    let (mut shared, mut last) = (Vec::new(), 0);
    for op in ops.drain(first..) {
        let used = op
            .self_and_nested()
            .into_iter()
            .flat_map(|op| op.operands().collect::<Vec<_>>());
        let used: Vec<usize> = used.filter_map(|value| numbers.get(&value).copied()).collect();
        if used.is_empty() && op.num_regions() == 0 && op.is_pure() {
            op.move_before(first_op);
            continue;
        }
        let number = shared.len();
        numbers.extend(op.results().map(|result| (result, number)));
        shared.push(op);
        if used.into_iter().any(|number| number <= last) || differs(&op) {
            last = number;
        }
    }
    shared.truncate(last + 1);
    Some(shared)
}

/// Returns an error if `op` has something in it that a block has once.
fn refuse_single<'c>(op: Op<'c>) -> Result<(), PassError<'c>> {
    let is_single = |op: &Op| {
        is_workgroup_alloc(*op)
            || is_block_wide_store(*op)
            || matches!(op.name(), nvgpu::MBARRIER_CREATE | gpu::ALL_REDUCE)
    };
    match op.self_and_nested().into_iter().find(is_single) {
        None => Ok(()),
        Some(inner) => {
            let message =
                "is there once for a block, but each role of its warps gets a copy of the code around it";
            let help = "move it before everything that is for some warps only, or after all that";
            Err(PassError::new(inner, message).note(op, help))
        }
    }
}

/// Puts a copy of `shared` for each role in their place.
fn split<'c>(shared: &[Op<'c>], roles: &Roles<'c>) {
    let first = shared[0];
    let mut before = first;
    let (last, others) = roles.warps().split_last().expect("there are at least two roles");
    for &warps in others {
        let condition = in_warps(warps, before);
        let branch = OpBuilder::new(scf::IF, first.location())
            .operands(&[condition])
            .regions(2)
            .before(before);
        let ends = [0, 1].map(|place| {
            let block = Block::new(&[]);
            branch.region(place).append(block);
            OpBuilder::new(scf::YIELD, first.location()).at_end(block)
        });
        copy(shared, warps, ends[0]);
        before = ends[1];
    }
    copy(shared, *last, before);
    shared.iter().rev().for_each(|op| op.erase());
}

/// Writes `shared` as `warps` run it before `before`.
fn copy<'c>(shared: &[Op<'c>], warps: u32, before: Op<'c>) {
    let mut mapping = Mapping::new();
    let copies = shared.iter().map(|op| op.clone_mapped(&mut mapping));
    let copies: Vec<Op> = copies.collect();
    for op in &copies {
        op.move_before(before);
    }
    for op in copies {
        decide(op, warps);
    }
}

/// Writes barriers of the block in `shared` as such of `threads` threads, by number: others may come to them elsewhere.
fn number_barriers(shared: &mut [Op<'_>], threads: u32) {
    // It has an `scf.if` in it, so it stays.
    let first = shared[0];
    let is_barrier = |op: &Op| is_barrier(*op) || op.is(gpu::BARRIER);
    for op in shared {
        for barrier in op.self_and_nested().into_iter().filter(is_barrier) {
            let i32 = IntegerType::new(op.context(), 32).into();
            // Before all copies.
            let [number, threads] = [0, i64::from(threads)].map(|value| {
                let constant = constant(barrier.location(), i32, value);
                constant.before(first).result(0)
            });
            let numbered = OpBuilder::new(nvvm::BARRIER, barrier.location())
                .operand_groups(&[&[number], &[threads], &[]])
                .before(barrier);
            if barrier == *op {
                *op = numbered;
            }
            barrier.erase();
        }
    }
}

/// Takes out of `op` what `warps` don't run.
fn decide(op: Op<'_>, warps: u32) {
    let Some(place) = taken(op, warps) else {
        let blocks = op.regions().flat_map(Region::blocks);
        let inside: Vec<Op> = blocks.flat_map(Block::ops).collect();
        for inner in inside {
            decide(inner, warps);
        }
        return;
    };
    let mut results = Vec::new();
    if let Some(block) = op.region(place).first() {
        for inner in block.ops() {
            if inner.is(scf::YIELD) {
                results = inner.operands().collect();
            } else {
                inner.move_before(op);
                decide(inner, warps);
            }
        }
    }
    op.replace_with(&results);
}

/// Which region of `op` all of `warps` run, if that is known.
fn taken(op: Op<'_>, warps: u32) -> Option<usize> {
    if !op.is(scf::IF) {
        return None;
    }
    let condition = op.operand(0);
    if let Some(elect) = condition.defining_op().filter(|op| op.is(gpux::ELECT)) {
        let issuer = elect.int_attr(gpux_attr::WARP).unwrap_or(0);
        return (warps >> issuer & 1 == 0).then_some(1);
    }
    let inside = warps_where(condition)?;
    match (warps & inside, warps & !inside) {
        (_, 0) => Some(0),
        (0, _) => Some(1),
        _ => None,
    }
}
