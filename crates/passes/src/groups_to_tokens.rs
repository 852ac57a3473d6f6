//! `--gpux-groups-to-tokens`: counted groups become tokens; the inverse of `--gpux-tokens-to-groups`.
//!
//! **Condition.** Device code in which nothing is in flight where a function is entered. Groups are those that the hardware
//! makes: a commit closes all that the thread has issued on the queue since its last one.
//!
//! **Effect.** A queue is in token form: its copies have tokens, its commits are gone, and in the place of each wait is an await
//! of what the wait newly completes, or nothing. So on every execution the same is complete after it; with `weaken`, all of that but
//! groups whose memory nobody accesses before a later wait completes them as well ([`accesses`]). Where copies can't have
//! tokens, or where tokens that are counted again would complete more than the counts did, copies and commits stay and
//! each group has a token; a remark says why.
//!
//! **Refusals.** A queue stays as it is, with a remark that says why: it has tokens already; something inside of an operation
//! that tokens can't be carried through has to do with it; a call or inline assembly may have; a function that is no kernel
//! may return with groups in flight; a wait is for reads alone, and groups would have the tokens; a token would go from block to block
//! by a branch that takes no tokens, as those of `llvm`.
//!
//! The steps, each a module: [`warpgroup`] takes upstream's multiplications apart, [`counted_queue`] finds
//! the queues and what is on them, `tokenflow` lifts them, [`convert`] makes the operations that have tokens,
//! [`emit`] writes the rest. Then `async-verify` looks at it, while what was counted is still there.

mod accesses;
mod convert;
mod counted_queue;
mod emit;
mod hoist_stores;
mod pointers;
mod warpgroup;

use crate::utils::device::{device_code, own_ops};
use crate::utils::verify_result::{VERIFY_RESULT, check_lifted_queue, checks};
use async_dialects::completion::{Completion, GroupEffect, GroupQueue};
use async_dialects::registry::GPUX;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::gpu::is_kernel;
use async_mlir::ir::Op;
use async_mlir::pass::{
    Anchor, CheckTimer, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo, StatisticInfo,
};
use convert::{Conversions, TokenSources};
use counted_queue::{CountedQueue, branches_take_tokens};
use emit::Leftovers;
use tokenflow::lift::{LiftedQueue, TokensOf, lift, round_trip_completes_no_more};

/// The pass.
pub struct GroupsToTokens;

impl Pass for GroupsToTokens {
    const INFO: PassInfo = PassInfo {
        description: include_str!("groups_to_tokens/description.md"),
        anchor: Anchor::Functions,
        options: &[
            OptionInfo::bool(
                "group-tokens",
                true,
                "give tokens to groups where operations can't have them",
            ),
            OptionInfo::bool(
                "weaken",
                true,
                "leave groups to later waits if nobody accesses their memory before",
            ),
            VERIFY_RESULT,
        ],
        dependent_dialects: &[Dialect::ARITH, GPUX, Dialect::MEMREF, Dialect::SCF],
        statistics: &[
            StatisticInfo {
                name: "awaits",
                description: "Number of waits that became awaits",
            },
            StatisticInfo {
                name: "dropped",
                description: "Number of waits that had nothing to wait for",
            },
            StatisticInfo {
                name: "queues",
                description: "Number of queues that are in token form",
            },
            StatisticInfo {
                name: "kept",
                description: "Number of queues that stay in counted form",
            },
        ],
        ..PassInfo::new("gpux-groups-to-tokens", "translates counted groups into tokens")
    };

    fn run<'c>(op: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let options = Options {
            group_tokens: cx.bool("group-tokens"),
            weaken: cx.bool("weaken"),
        };
        for code in device_code(op) {
            let imported = warpgroup::import(code);
            if let Err(refusal) = &imported {
                refusal.remark_of(warpgroup::QUEUE, "stays in counted form");
                cx.count("kept", 1);
            }
            // What is left of upstream's also commits and waits.
            let wanted = |queue: GroupQueue| imported.is_ok() || queue.name() != warpgroup::QUEUE;
            let counts = lift_queues(code, options, checks(cx), &wanted)?;
            cx.count("awaits", counts.awaits);
            cx.count("dropped", counts.dropped);
            cx.count("queues", counts.lifted.len() as u64);
            cx.count("kept", counts.kept);
            verify_contract(code, &counts.lifted)?;
        }
        Ok(())
    }
}

/// What the options say.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    pub group_tokens: bool,
    pub weaken: bool,
}

/// What was done.
#[derive(Default)]
pub(crate) struct Counts {
    awaits: u64,
    dropped: u64,
    kept: u64,
    /// The queues that are in token form.
    pub lifted: Vec<GroupQueue>,
}

/// Puts the counted queues of `code` into token form that are `wanted`, as far as that is possible; has them checked if there are `checks`.
pub(crate) fn lift_queues<'c>(
    code: Op<'c>,
    options: Options,
    checks: Option<CheckTimer<'c>>,
    wanted: &dyn Fn(GroupQueue) -> bool,
) -> Result<Counts, PassError<'c>> {
    let mut counts = Counts::default();
    for queue in counted_queue::queues(code)
        .into_iter()
        .filter(|queue| wanted(*queue))
    {
        match lift_queue(code, queue, options) {
            Ok((lifted, leftovers)) => {
                if let Some(timer) = checks {
                    timer.time(|| check_lifted_queue(code, queue, &leftovers.replaced))?;
                }
                leftovers.erase();
                let awaits = lifted.waits.iter().filter(|tokens| !tokens.is_empty()).count();
                counts.awaits += awaits as u64;
                counts.dropped += (lifted.waits.len() - awaits) as u64;
                counts.lifted.push(queue);
            }
            Err(refusal) => {
                refusal.remark(queue, "stays in counted form");
                counts.kept += 1;
            }
        }
    }
    Ok(counts)
}

/// Checks the effect: in a queue that is in token form, nothing waits by a count or closes a group without a token. (Operations
/// without a token of their own may be in a group that has one.)
fn verify_contract<'c>(code: Op<'c>, lifted: &[GroupQueue]) -> Result<(), PassError<'c>> {
    let is_counted = |op: &Op<'c>| {
        Completion::of(*op).is_some_and(|completion| {
            let is_lifted = completion.queue.is_some_and(|queue| lifted.contains(&queue));
            is_lifted
                && match completion.effect {
                    GroupEffect::Commit => !counted_queue::has_token(&completion),
                    GroupEffect::Wait => true,
                    GroupEffect::Issue | GroupEffect::None => false,
                }
        })
    };
    match own_ops(code).iter().find(|op| is_counted(op)) {
        Some(op) => {
            let message = "is still counted after gpux-groups-to-tokens (this is a bug in async-opt)";
            Err(PassError::new(*op, message))
        }
        None => Ok(()),
    }
}

/// Why something is not done.
pub(crate) struct Refusal<'c> {
    at: Op<'c>,
    why: String,
}

impl<'c> Refusal<'c> {
    fn new(at: Op<'c>, why: impl Into<String>) -> Self {
        Self { at, why: why.into() }
    }

    fn remark(&self, queue: GroupQueue, what: &str) {
        self.remark_of(queue.name(), what);
    }

    fn remark_of(&self, queue: &str, what: &str) {
        let message = format!("queue {queue} {what}: {}", self.why);
        Diagnostic::remark(self.at.location(), message).emit();
    }
}

/// A queue in token form, and what it was counted by, which is still there.
type Lifted<'c> = (LiftedQueue, Leftovers<'c>);

/// Puts a queue of `code` into token form.
fn lift_queue(code: Op<'_>, queue: GroupQueue, options: Options) -> Result<Lifted<'_>, Refusal<'_>> {
    counted_queue::check(code, queue)?;
    let refusal = match lift_operations(code, queue, options.weaken) {
        Err(refusal) if options.group_tokens => refusal,
        done => return done,
    };
    let (counted, lifted) = match lift_groups(code, queue) {
        Some(lifted) => lifted?,
        // The first reason is the one to do something about.
        None => return Err(refusal),
    };
    refusal.remark(queue, "has tokens of groups, and not of copies");
    let leftovers = emit::emit(code, &counted, &lifted, TokenSources::Groups);
    Ok((lifted, leftovers))
}

/// Puts a queue into token form, with tokens of its operations.
fn lift_operations(code: Op<'_>, queue: GroupQueue, weaken: bool) -> Result<Lifted<'_>, Refusal<'_>> {
    let hoisted = hoist_stores::hoist(code, queue)?;
    let lifted = CountedQueue::read(code, queue, weaken).and_then(|counted| {
        let (lifted, converted) = with_operations(code, &counted)?;
        Ok((counted, lifted, converted))
    });
    let (counted, lifted, converted) = match lifted {
        Ok(lifted) => lifted,
        Err(refusal) => {
            hoisted.undo();
            return Err(refusal);
        }
    };
    let leftovers = emit::emit(code, &counted, &lifted, TokenSources::Operations(converted));
    hoisted.finish();
    Ok((lifted, leftovers))
}

/// The queue with tokens of its operations.
fn with_operations<'c>(
    code: Op<'c>,
    counted: &CountedQueue<'c>,
) -> Result<(LiftedQueue, Conversions<'c>), Refusal<'c>> {
    let (program, number, shapes) = (&counted.skeleton.program, counted.number, &counted.shapes);
    let converted = Conversions::new(counted)?;
    let weak = counted.accesses.as_ref();
    let mut refusal = None;
    // What is left to later waits may be harder to count.
    for accesses in [weak, None].into_iter().skip(usize::from(weak.is_none())) {
        let lifted = lift(program, number, shapes, TokensOf::Operations, accesses);
        refusal = leaves_nothing(code, counted, &lifted)
            .and_then(|()| branches_take_tokens(counted, &lifted))
            .err();
        if refusal.is_some() {
            continue;
        }
        let counted_again = counted.possible.as_ref().unwrap_or(program);
        if round_trip_completes_no_more(counted_again, number, shapes, &lifted) {
            return Ok((lifted, converted));
        }
    }
    converted.discard();
    let why =
        "counted again, a wait would complete more than it does here, since groups of different sizes meet";
    Err(refusal.unwrap_or_else(|| Refusal::new(code, why)))
}

/// The queue with tokens of its groups, if they can have any; an error if those can't go where they have to.
fn lift_groups<'c>(
    code: Op<'c>,
    queue: GroupQueue,
) -> Option<Result<(CountedQueue<'c>, LiftedQueue), Refusal<'c>>> {
    let counted = CountedQueue::read(code, queue, false).ok()?;
    if !convert::groups_can_have_tokens(&counted) {
        return None;
    }
    let program = &counted.skeleton.program;
    let lifted = lift(program, counted.number, &counted.shapes, TokensOf::Groups, None);
    leaves_nothing(code, &counted, &lifted).ok()?;
    let handed_on = branches_take_tokens(&counted, &lifted);
    Some(handed_on.map(|()| (counted, lifted)))
}

/// Returns an error if `code` is no kernel and may return with something in flight, which a caller may wait for.
fn leaves_nothing<'c>(
    code: Op<'c>,
    counted: &CountedQueue<'c>,
    lifted: &LiftedQueue,
) -> Result<(), Refusal<'c>> {
    if !code.is_function() || is_kernel(code) {
        return Ok(());
    }
    let blocks = lifted.graphs[0].blocks.iter();
    let returns = blocks
        .zip(&counted.skeleton.program.body.blocks)
        .filter(|(_, block)| {
            let mut edges = block.edges.iter();
            edges.all(|edge| edge.to == tokenflow::Target::Exit)
        });
    // A wait for reads says nothing of what is written.
    let mut waits = counted.waits.iter().zip(&lifted.waits);
    let any_wait = waits.any(|(wait, tokens)| !tokens.is_empty() && !convert::is_for_reads(*wait));
    for (block, _) in returns {
        if !any_wait || !block.is_complete() {
            let why = "the function is no kernel, and may return while groups are in flight, which a caller may wait for";
            return Err(Refusal::new(code, why));
        }
    }
    Ok(())
}
