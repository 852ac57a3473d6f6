//! `--gpux-tokens-to-groups`: lowers tokens to commits and exactly counted waits.
//!
//! **Condition.** A function of device code. Tokens flow through anything that MLIR's control-flow interfaces describe.
//!
//! **Effect.** No token of a group queue is left. Every await is a `gpux.wait_group` with the largest count that is sound
//! there, or nothing; copies are in counted form and committed as the options say. Tokens of other engines stay, with
//! their awaits.
//!
//! **Refusals.** A token that arrives as a function argument has no known queue: an error. A token that goes where it
//! can't be followed (a call, memory, an unknown operation) is complete by then: its queues are drained, with a remark.
//!
//! The steps, each a module: asynchronous regions, dependencies and escapes ([`drain_escapes`]) are written as
//! awaits; the skeleton is read ([`crate::analysis`]) and solved (`tokenflow`); [`peel`] takes iterations off
//! loops, which are read again; [`emit`] writes the solution; [`mod@erase`] removes the tokens; block-wide
//! stores are issued by one thread ([`block_wide_stores`]). What all threads of a block or warpgroup execute
//! is checked first ([`uniform_execution`]), and so is that no accumulator would have to be copied while it is
//! written ([`copied_accumulators`]); commits of the input are looked at ([`mod@empty_groups`]); fences are put
//! before what multiplications read that threads have written ([`proxy_fences`]). Last, what is counted tells
//! which accumulators are used too early ([`crate::analysis::accumulator_uses`]).

mod block_wide_stores;
mod copied_accumulators;
mod drain_escapes;
mod emit;
mod empty_groups;
mod explain;
mod peel;
mod proxy_fences;
mod uniform_execution;

use crate::analysis::accumulator_uses;
use crate::analysis::op_classifier::AsyncOpClassifier;
use crate::analysis::skeleton::{self, Skeleton};
use crate::analysis::token_origins::TokenOrigins;
use crate::utils::certificates::CERTIFICATES;
use crate::utils::device::{device_code, is_for_device};
use crate::utils::erase;
use crate::utils::tokens::{refuse_token_arguments, restore_upstream_awaits, write_awaits};
use crate::utils::verify_result::{AwaitCheck, VERIFY_RESULT};
use async_dialects::completion::Completion;
use async_dialects::names::{async_, upstream_async};
use async_dialects::registry::GPUX;
use async_dialects::types::is_token;
use async_mlir::ir::{Op, Walk};
use async_mlir::names::{gpu, scf};
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use async_verify::groups::code::Expected;
use block_wide_stores::BlockWideStores;
use emit::EmitStatistics;
use rustc_hash::FxHashSet;
use tokenflow::{Options, Program, Solution, have_same_outline};

/// The pass.
pub struct TokensToGroups;

impl Pass for TokensToGroups {
    const INFO: PassInfo = PassInfo {
        description: include_str!("tokens_to_groups/description.md"),
        anchor: Anchor::Functions,
        options: &[
            OptionInfo::bool(
                "form-groups",
                true,
                "let copies share a group where no await then waits for more",
            ),
            OptionInfo::bool(
                "balance",
                true,
                "add empty groups to make counts equal where paths meet",
            ),
            OptionInfo::int(
                "max-padding",
                4,
                "the most empty groups to add at the start of an arm of a branch",
            ),
            OptionInfo::bool(
                "drop-implied",
                true,
                "emit nothing for awaits that earlier waits imply",
            ),
            OptionInfo::int(
                "unroll-limit",
                8,
                "the most iterations to peel off a loop of constant trip count; 0: never",
            ),
            OptionInfo::bool(
                "explain",
                false,
                "emit remarks that say what each wait waits for, and why",
            ),
            VERIFY_RESULT,
            CERTIFICATES,
        ],
        dependent_dialects: &[Dialect::ARITH, Dialect::GPU, GPUX, Dialect::NVVM, Dialect::SCF],
        statistics: &[
            StatisticInfo {
                name: "waits",
                description: "Number of waits emitted",
            },
            StatisticInfo {
                name: "dropped",
                description: "Number of awaits that need no wait",
            },
            StatisticInfo {
                name: "commits",
                description: "Number of commits inserted",
            },
            StatisticInfo {
                name: "barriers",
                description: "Number of block barriers inserted",
            },
        ],
        ..PassInfo::new(
            "gpux-tokens-to-groups",
            "translates tokens into commits and exactly counted waits",
        )
    };

    fn run<'c>(op: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let options = options(op, cx)?;
        if !has_device_code(op) {
            return Ok(());
        }
        refuse_token_arguments(op)?;
        write_awaits(op)?;
        let mut classifier = AsyncOpClassifier::default();
        let mut skeleton = skeleton::read(op, &classifier, &FxHashSet::default());
        uniform_execution::check(&skeleton)?;
        copied_accumulators::check(&skeleton)?;
        empty_groups::remark(op, &skeleton);
        proxy_fences::insert(op, &skeleton);
        let silent = drain_escapes::drain_escapes(&skeleton);
        if !silent.is_empty() {
            classifier.covered.clone_from(&silent);
            skeleton = skeleton::read(op, &classifier, &FxHashSet::default());
        }
        let Translated {
            mut skeleton,
            origins,
            solution,
        } = translate(op, &classifier, skeleton, &options);
        let stores = BlockWideStores::new(op, &skeleton, &origins, &solution);
        if cx.bool("explain") {
            explain::explain(&skeleton, &solution, &stores, &silent, &options);
        }
        let counts = emit::emit(&skeleton, &solution, &stores, &silent);
        emit::remark_if_spent(op, &solution);
        let expected = expected_code(&skeleton, &counts);
        // The check finds its memory warm.
        drop(solution);
        skeleton.program = Program::default();
        let erase = || {
            emit::remove_awaits(&skeleton, &origins, &silent);
            erase::erase_tokens(op, &skeleton, &|value| !origins.keeps(&skeleton, value), true);
        };
        let file = cx.str("certificates");
        if cx.bool("verify-result") || !file.is_empty() {
            let check = AwaitCheck {
                function: op,
                // Without drop-implied, a wait is the distance in the queue, needed or not.
                waits: if options.drop_implied {
                    &counts.written
                } else {
                    &[]
                },
                expected,
                pass: Self::INFO.flag,
                file,
            };
            check.run(cx.check_timer(), erase)?;
        } else {
            erase();
        }
        cx.count("waits", counts.waits);
        cx.count("dropped", counts.dropped);
        cx.count("commits", counts.commits);
        cx.count("barriers", counts.barriers + stores.issue(op));
        // Of what no queue completes.
        restore_upstream_awaits(op);
        if cfg!(debug_assertions) {
            verify_contract(op)?;
        }
        accumulator_uses::check(op, "await its token before")
    }
}

fn options<'c>(op: Op<'c>, cx: &PassContext<'c>) -> Result<Options, PassError<'c>> {
    let (limit, padding) = (cx.int("unroll-limit"), cx.int("max-padding"));
    let too_small = |message: String| PassError::new(op.location(), message);
    Ok(Options {
        form_groups: cx.bool("form-groups"),
        balance: cx.bool("balance"),
        drop_implied: cx.bool("drop-implied"),
        unroll_limit: u64::try_from(limit).map_err(|_| {
            too_small(format!(
                "unroll-limit is {limit}, but must be at least 0 (never unroll)"
            ))
        })?,
        max_padding: u32::try_from(padding).map_err(|_| {
            too_small(format!(
                "max-padding is {padding}, but must be at least 0 (never pad)"
            ))
        })?,
        ..Options::default()
    })
}

/// A function, solved.
struct Translated<'c> {
    skeleton: Skeleton<'c>,
    origins: TokenOrigins,
    solution: Solution,
}

/// How often a function is solved anew since its peeled loops are others than expected.
const ATTEMPTS: usize = 4;

/// Solves `function`, which `skeleton` was read from, and peels its loops as the solution says.
///
/// A solution speaks of commits and awaits by number. After loops are peeled these are the numbers of what is read then, so that it must be
/// what was expected. Where it is not, since an iteration of its own has made something constant, the function is solved anew.
fn translate<'c>(
    function: Op<'c>,
    classifier: &AsyncOpClassifier<'c>,
    mut skeleton: Skeleton<'c>,
    options: &Options,
) -> Translated<'c> {
    let mut peeled = FxHashSet::default();
    for attempt in 0..=ATTEMPTS {
        let unroll_limit = if attempt == ATTEMPTS {
            0
        } else {
            options.unroll_limit
        };
        let options = Options {
            unroll_limit,
            ..*options
        };
        let solution = tokenflow::solve(&skeleton.program, &options);
        let as_expected = solution.peel.iter().all(|round| {
            let expected = tokenflow::peel(&skeleton.program, round);
            peel::peel(&skeleton, round, &mut peeled);
            skeleton = skeleton::read(function, classifier, &peeled);
            have_same_outline(&expected, &skeleton.program)
        });
        if as_expected {
            return Translated {
                origins: TokenOrigins::new(&skeleton),
                skeleton,
                solution,
            };
        }
    }
    unreachable!("without a limit to unroll, nothing is peeled that could be unexpected")
}

/// About how much there is to check.
fn expected_code(skeleton: &Skeleton, counts: &EmitStatistics) -> Expected {
    let (awaits, waits) = (skeleton.awaits.len(), counts.written.len());
    let commits = usize::try_from(counts.commits).unwrap_or(0) + skeleton.commits.len();
    // Arms of branches are mostly no blocks.
    let loops = skeleton.graphs.iter().filter(|(op, _)| !op.is(scf::IF));
    Expected {
        tokens: skeleton.tokens.len(),
        awaits,
        waits,
        instrs: skeleton.sites.len() + commits + waits + awaits + skeleton.joins.len(),
        blocks: loops.map(|(op, _)| 1 + op.num_regions()).sum(),
    }
}

/// Returns true if there may be something to translate in `function`: it is device code, or launches some with operations that only
/// devices have, or awaits tokens without being asynchronous host code.
fn has_device_code(function: Op<'_>) -> bool {
    let is_own = |code: &Op| !code.is(gpu::LAUNCH) || is_for_device(*code);
    if device_code(function).iter().any(is_own) {
        return true;
    }
    let is_host = |op: &Op| {
        let ours = matches!(op.name(), async_::FUNC | async_::REGION | async_::CALL);
        // In upstream's dialect, host code has these, or awaits values and groups.
        ours || op.is(upstream_async::EXECUTE)
            || op.is(async_::AWAIT) && !op.operands().all(|token| is_token(token.ty()))
    };
    let ops = function.self_and_nested();
    ops.iter().any(|op| op.is(async_::AWAIT)) && !ops.iter().any(is_host)
}

/// What holds after the pass: no operation of a group queue has a token.
fn verify_contract<'c>(function: Op<'c>) -> Result<(), PassError<'c>> {
    let mut left = None;
    function.walk(|op| {
        if op != function && op.is_function() {
            return Walk::Skip;
        }
        let has_token = op.results().any(|result| is_token(result.ty()));
        if has_token && Completion::of(op).is_some_and(|completion| completion.queue.is_some()) {
            left = Some(op);
            return Walk::Stop;
        }
        Walk::Advance
    });
    match left {
        None => Ok(()),
        Some(op) => Err(PassError::new(
            op,
            "still has a token after gpux-tokens-to-groups (this is a bug in async-opt)",
        )),
    }
}
