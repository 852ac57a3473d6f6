//! Finds and checks the roles of warps (warp specialization), where loads name the warp that issues them.
//!
//! **Condition.** A kernel with a block of whole warps in one dimension, of known size. All its loads name the same warp. A role
//! is what warps do that take the same way through `scf.if`s on the number of a warp.
//!
//! **Refusals.** What no roles can have ([`role_rules`]); stores of all threads of a block, in a role; tokens of loads that a role
//! passes on; a role that awaits some phases of a ring and not all.

use crate::analysis::phase_skeleton::{PhaseSkeleton, is_block_wide_store};
use crate::analysis::roles::Roles;
use crate::analysis::warps::num_warps;
use crate::utils::device::own_ops;
use crate::utils::role_rules;
use async_dialects::names::gpux_attr;
use async_mlir::gpu::is_kernel;
use async_mlir::ir::Op;
use async_mlir::pass::PassError;
use tokenflow::phases::Plan;

/// The warp that issues `loads`, if they name one.
pub(super) fn issuer<'c>(function: Op<'c>, loads: &[Op<'c>]) -> Result<Option<u32>, PassError<'c>> {
    let named = |op: Op<'c>| op.int_attr(gpux_attr::ISSUER);
    let Some((first, issuer)) = loads.iter().find_map(|load| Some((*load, named(*load)?))) else {
        return Ok(None);
    };
    if let Some(&other) = loads.iter().find(|load| named(**load) != Some(issuer)) {
        let message = format!(
            "has to be issued by warp {issuer}, too: other warps can't yet issue loads of the same kernel"
        );
        let help = format!("this load names the warp: write {{issuer = {issuer} : i32}} at both");
        return Err(PassError::new(other, message).note(first, help));
    }
    let Some(warps) = num_warps(function).filter(|_| is_kernel(function)) else {
        let message =
            "names the warp that issues it, which takes a kernel that says how many warps a block has";
        let help = "write known_block_size = array<i32: N, 1, 1>, with N a multiple of 32, at the kernel";
        return Err(PassError::new(first, message).note(function, help));
    };
    let issuer = u32::try_from(issuer).ok().filter(|issuer| *issuer < warps);
    issuer.map(Some).ok_or_else(|| {
        let message =
            format!("names a warp that issues it, but the block has {warps}, which are counted from 0");
        PassError::new(first, message).note(function, "known_block_size is here")
    })
}

/// The roles of warps, if there are any.
pub(super) fn roles<'c>(function: Op<'c>, issuer: Option<u32>) -> Result<Option<Roles<'c>>, PassError<'c>> {
    if issuer.is_none() {
        return Ok(None);
    }
    let ops = own_ops(function);
    let Some(roles) = Roles::of(function, &ops).filter(|roles| roles.count() > 1) else {
        return Ok(None);
    };
    for &op in &ops {
        if is_block_wide_store(op) && roles.warps_at(op) != roles.all_warps() {
            let message = "is executed by all threads of the block, but is in a role of some warps";
            let help = "move it after what is for some warps only, where all come together again";
            return Err(PassError::new(op, message).note(op, help));
        }
    }
    role_rules::check(function, &roles, &ops)?;
    role_rules::check_named_barriers(&roles, &ops)?;
    role_rules::warn(function);
    Ok(Some(roles))
}

/// Sets who issues, and looks at what can be seen once tokens have been read.
pub(super) fn check_read<'c>(read: &mut PhaseSkeleton<'c>, issuer: Option<u32>) -> Result<(), PassError<'c>> {
    let (Some(roles), Some(issuer)) = (&read.roles, issuer) else {
        return Ok(());
    };
    let its = roles.roles_of(1 << issuer);
    read.tree.issuer = its.iter().next().unwrap_or(0);
    let loaded = read.tree.loaded();
    let of_load = |token: tokenflow::Token| loaded[token.0 as usize];
    if let Some(&(op, _)) = read.role_results.iter().find(|(_, token)| of_load(*token)) {
        let message = "passes on the token of a load, of which warps of other roles then know nothing";
        let help = "await the token itself, in each role that needs the load";
        return Err(PassError::new(op, message).note(op, help));
    }
    for (region_op, &op) in read.tree.region_ops.iter().zip(&read.region_ops) {
        if region_op.divergent && region_op.results.iter().any(|result| of_load(*result)) {
            let message = "lets threads choose between tokens of loads, which is not supported in a kernel whose warps have roles";
            return Err(PassError::new(op, message).note(op, "await the tokens themselves"));
        }
    }
    Ok(())
}

/// Looks at what can be seen once phases have rings.
pub(super) fn check_plan<'c>(read: &PhaseSkeleton<'c>, plan: &Plan) -> Result<(), PassError<'c>> {
    let Some(&first) = plan.partly_awaited.first() else {
        return Ok(());
    };
    let message = "awaits some loads of a ring, but its warps don't await all of them on every path";
    let help = "a warp that awaits one of the tokens that a loop hands on has to await all: those that are left after the \
                loop, too, and under no other condition than its role";
    Err(PassError::new(read.awaits[first], message).note(read.awaits[first], help))
}
