//! `--gpux-tokens-to-mbarriers`: lowers tokens of loads to phases of mbarriers.
//!
//! **Condition.** A function of device code with structured control flow. Loads in token form stand where all threads of
//! the block execute them.
//!
//! **Effect.** No load is in token form. One thread arms the mbarrier of a phase and issues its loads; an await is a wait
//! for the phases of its tokens, by every thread. Loads that are awaited together share a phase; phases that take turns
//! share a ring, which has as many mbarriers as are live together. The rings are initialized once before, and
//! invalidated after. Where threads could still use what a load overwrites, or wait for the slot that it arms, they
//! meet first. Tokens of other engines stay, with their awaits.
//!
//! **Refusals.** Loads that only some threads reach; branches between blocks; operations through which the state of a
//! ring can't be carried. A token that no ring can follow is awaited where its load is issued, with a remark.
//!
//! **Check.** `crates/verify` looks at what was written while tokens and awaits are still there (`utils/verify_result.rs`).
//!
//! **Roles.** Where loads name the warp that issues them, warps may have roles ([`roles`]): only the threads that use a slot
//! arrive, and only those that await a load wait for it. `--gpux-split-roles` then gives each role code of its own.
//!
//! What to do is decided in `tokenflow::phases`, on plain data; this file and its modules only write it down.

mod awaits;
mod builder;
mod carried_values;
mod closed_form;
mod emit;
mod explain;
mod mbarrier_ring;
mod roles;
mod state;

use crate::analysis::phase_skeleton::{self, PhaseSkeleton};
use crate::analysis::roles::Roles;
use crate::analysis::uniformity::Uniformity;
use crate::utils::certificates::CERTIFICATES;
use crate::utils::device::own_ops;
use crate::utils::tokens::{await_dependencies, inline_async_regions, refuse_token_arguments};
use crate::utils::verify_result::{VERIFY_RESULT, check_mbarriers};
use async_dialects::completion::ExecutionScope;
use async_dialects::names::gpux_attr;
use async_dialects::registry::GPUX;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use async_mlir::melior::ir::Attribute;
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use async_verify::mbarriers::Written;
use tokenflow::phases::{self, Plan};

/// The pass.
pub struct TokensToMbarriers;

/// How the slots of rings are protected from being filled while threads still use them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WarProtection {
    /// All threads wait for all.
    Barrier,
    /// All threads arrive at an mbarrier, and only the one that issues waits for it.
    Mbarrier,
}

/// The values of the option `war`.
pub(crate) const WARS: &[(&str, &str)] =
    &[("barrier", "a barrier of the block"), ("mbarrier", "an mbarrier")];

impl Pass for TokensToMbarriers {
    const INFO: PassInfo = PassInfo {
        description: include_str!("tokens_to_mbarriers/description.md"),
        anchor: Anchor::Functions,
        options: &[
            OptionInfo::choice(
                "war",
                "barrier",
                WARS,
                "what keeps a slot from being filled while it is in use",
            ),
            OptionInfo::bool(
                "fence-reads",
                false,
                "fence earlier reads from asynchronous writes, too, not only earlier writes",
            ),
            OptionInfo::bool(
                "round-rings",
                false,
                "give a ring a power of two of mbarriers where that spares a counter, instead of as few as can be",
            ),
            OptionInfo::bool(
                "explain",
                false,
                "emit remarks that say which tokens each mbarrier carries",
            ),
            VERIFY_RESULT,
            CERTIFICATES,
        ],
        dependent_dialects: &[
            Dialect::ARITH,
            Dialect::GPU,
            GPUX,
            Dialect::LLVM,
            Dialect::NVGPU,
            Dialect::NVVM,
            Dialect::SCF,
        ],
        statistics: &[
            StatisticInfo {
                name: "mbarriers",
                description: "Number of mbarriers",
            },
            StatisticInfo {
                name: "phases",
                description: "Number of places where a phase is opened",
            },
            StatisticInfo {
                name: "barriers",
                description: "Number of places where threads meet before a load",
            },
        ],
        ..PassInfo::new(
            "gpux-tokens-to-mbarriers",
            "translates tokens of loads into phases of mbarriers",
        )
    };

    fn run<'c>(op: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let war = match cx.str("war") {
            "mbarrier" => WarProtection::Mbarrier,
            _ => WarProtection::Barrier,
        };
        let loads: Vec<Op> = own_ops(op)
            .into_iter()
            .filter(|op| phase_skeleton::is_block_wide_load(*op))
            .collect();
        if loads.is_empty() {
            return Ok(());
        }
        let mut uniform = Uniformity::of(ExecutionScope::Block);
        loads.iter().try_for_each(|load| uniform.check(*load))?;
        let issuer = roles::issuer(op, &loads)?;
        refuse_token_arguments(op)?;
        inline_async_regions(op)?;
        await_dependencies(op);
        let roles = roles::roles(op, issuer)?;
        // Threads of different roles never meet at a barrier of the block.
        let war = if roles.is_some() {
            WarProtection::Mbarrier
        } else {
            war
        };
        let options = phases::Options {
            fence_reads: cx.bool("fence-reads"),
            round_rings: cx.bool("round-rings"),
        };
        let (read, plan) = read_and_plan(op, options, roles.as_ref(), issuer)?;
        if cx.bool("explain") {
            explain::explain(&read, &plan, war);
        }
        let rendezvous = if war == WarProtection::Mbarrier {
            plan.rendezvous_mbarriers()
        } else {
            0
        };
        cx.count(
            "mbarriers",
            plan.rings.iter().map(|ring| ring.depth).sum::<u64>() + rendezvous,
        );
        cx.count("phases", plan.phases.len() as u64);
        cx.count("barriers", plan.rendezvous.len() as u64);
        let written = emit::emit(op, read, &plan, war, issuer)?;
        if roles.is_some() {
            op.set_attr(gpux_attr::ROLES, Attribute::unit(op.context()));
        }
        let certificates = cx.str(CERTIFICATES.name);
        if cx.bool(VERIFY_RESULT.name) || !certificates.is_empty() {
            let beside_tokens = Written {
                function: op,
                rings: &written.rings,
                loads: &written.loads,
                has_roles: roles.is_some(),
            };
            cx.check_timer()
                .time(|| check_mbarriers(&beside_tokens, Self::INFO.flag, certificates))?;
        }
        written.erase_loads();
        awaits::erase_complete(op);
        verify_contract(op)
    }
}

/// Reads `function` and plans its phases; loads that no ring can follow are awaited where they are issued.
fn read_and_plan<'c>(
    function: Op<'c>,
    options: phases::Options,
    roles: Option<&Roles<'c>>,
    issuer: Option<u32>,
) -> Result<(PhaseSkeleton<'c>, Plan), PassError<'c>> {
    loop {
        let mut read = phase_skeleton::read_with_roles(function, roles.cloned())?;
        roles::check_read(&mut read, issuer)?;
        carried_values::mark_closed(&mut read);
        if awaits::await_escapes(&read) {
            continue;
        }
        let plan = phases::plan_with(&read.tree, options);
        if plan.unallocated.is_empty() {
            roles::check_plan(&read, &plan)?;
            return Ok((read, plan));
        }
        for &load in &plan.unallocated {
            let op = read.loads[load];
            Diagnostic::remark(
                op.location(),
                "this load is awaited right here: its token outlives any number of later loads of its ring, or is handed \
                 on joined with tokens that are awaited separately",
            )
            .emit();
            awaits::await_at_once(op);
        }
    }
}

/// What holds after the pass: no load has a token.
fn verify_contract<'c>(function: Op<'c>) -> Result<(), PassError<'c>> {
    match own_ops(function)
        .into_iter()
        .find(|op| phase_skeleton::is_block_wide_load(*op))
    {
        None => Ok(()),
        Some(op) => Err(PassError::new(
            op,
            "still has a token after gpux-tokens-to-mbarriers (this is a bug in async-opt)",
        )),
    }
}
