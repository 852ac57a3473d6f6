//! `--gpux-lint`: warns of what is legal and most likely a mistake.
//!
//! **Condition.** None.
//!
//! **Effect.** Nothing is changed. There is a warning for
//!
//! - an asynchronous operation whose tokens nobody awaits, and that do not go anywhere they might be awaited;
//! - a copy of a kernel that no commit follows, and no `nvvm.cp.async.mbarrier.arrive`, so that no wait completes it;
//! - a copy of `nvgpu` in a kernel that no wait follows, so that nobody waits for its token or its group;
//! - an operand of a block-wide operation that differs between threads;
//! - a copy whose address is misaligned for some thread ([`alignment`]).
//!
//! Each is certain from the text: an operation that may be right gets none.
//!
//! **Refusals.** None.
//!
//! It is no verifier, since those run again after every pass, when code may be half rewritten.

mod alignment;

use crate::analysis::op_classifier::AsyncOpClassifier;
use crate::analysis::skeleton::{self, Skeleton};
use crate::analysis::uniformity::find_thread_varying_op;
use crate::utils::device::own_ops;
use crate::utils::multiplications::added_to;
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect};
use async_dialects::types::is_token;
use async_mlir::calls::is_call;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::gpu::is_kernel;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{llvm, nvgpu, nvvm};
use async_mlir::pass::{Anchor, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use rustc_hash::FxHashSet;
use tokenflow::{Item, Site, Token, never_committed, never_waited};

/// The pass.
pub struct Lint;

impl Pass for Lint {
    const INFO: PassInfo = PassInfo {
        description: include_str!("lint/description.md"),
        anchor: Anchor::Functions,
        statistics: &[StatisticInfo {
            name: "warnings",
            description: "Number of warnings",
        }],
        ..PassInfo::new(
            "gpux-lint",
            "warns of copies that nobody waits for, and of addresses that can't be right",
        )
    };

    fn run<'c>(function: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let ops = own_ops(function);
        let issues: Vec<(Op, Completion)> = ops
            .iter()
            .filter_map(|&op| Some((op, Completion::of(op)?)))
            .filter(|(_, completion)| completion.effect == GroupEffect::Issue)
            .collect();
        if issues.is_empty() {
            return Ok(());
        }
        let skeleton = skeleton::read(function, &AsyncOpClassifier::default(), &FxHashSet::default());
        let awaited = Awaited::of(&skeleton, &issues);
        let mut warnings: Vec<Diagnostic> = Vec::new();
        for (op, completion) in &issues {
            warnings.extend(unawaited(*op, completion, &awaited));
            warnings.extend(thread_varying_operand(*op, completion));
        }
        if is_kernel(function) && !ops.iter().any(|&op| completes_otherwise(op)) {
            let uncommitted_sites = never_committed(&skeleton.program);
            let mut unwaited_sites = never_waited(&skeleton.program);
            unwaited_sites.retain(|site| uncommitted_sites.binary_search(site).is_err());
            let uncommitted = uncommitted_sites
                .into_iter()
                .filter_map(|site| uncommitted(&skeleton, site));
            warnings.extend(uncommitted);
            warnings.extend(
                unwaited_sites
                    .into_iter()
                    .filter_map(|site| unwaited(&skeleton, site)),
            );
        }
        warnings.extend(alignment::check(function, &issues));
        cx.count("warnings", warnings.len() as u64);
        for warning in warnings {
            warning.emit();
        }
        Ok(())
    }
}

/// The tokens that somebody awaits, or that go where that can't be seen.
struct Awaited<'a, 'c> {
    skeleton: &'a Skeleton<'c>,
    tokens: Vec<bool>,
}

impl<'a, 'c> Awaited<'a, 'c> {
    fn of(skeleton: &'a Skeleton<'c>, issues: &[(Op<'c>, Completion<'c>)]) -> Self {
        let mut work: Vec<Token> = Vec::new();
        skeleton.program.body.visit(&mut |item| {
            if let Item::Await { tokens, .. } = item {
                work.extend(tokens);
            }
        });
        // What an operation depends on, it awaits.
        let operands = issues.iter().flat_map(|(op, _)| op.operands());
        work.extend(operands.filter_map(|value| skeleton.tokens.get(&value).copied()));
        let mut flows: Vec<Vec<Token>> = vec![Vec::new(); skeleton.program.tokens as usize];
        for &(from, to) in skeleton.bindings.iter().chain(&skeleton.joins) {
            flows[to.0 as usize].push(from);
        }
        // Multiplications that add to one result are complete in order.
        let token_of = |op: Op<'c>| skeleton.tokens.get(&op.result(1)).copied();
        for (op, before) in issues.iter().filter_map(|(op, _)| Some((*op, added_to(*op)?))) {
            if let (Some(last), Some(first)) = (token_of(op), token_of(before)) {
                flows[last.0 as usize].push(first);
            }
        }
        let mut tokens = vec![false; flows.len()];
        while let Some(token) = work.pop() {
            if !std::mem::replace(&mut tokens[token.0 as usize], true) {
                work.extend(&flows[token.0 as usize]);
            }
        }
        Self { skeleton, tokens }
    }

    fn contains(&self, value: Value<'c>) -> bool {
        let token = self.skeleton.tokens.get(&value);
        // What the skeleton does not know may be awaited.
        token.is_none_or(|token| self.tokens[token.0 as usize])
    }
}

/// A warning if nobody awaits a token of `op`.
fn unawaited<'c>(
    op: Op<'c>,
    completion: &Completion<'c>,
    awaited: &Awaited<'_, 'c>,
) -> Option<Diagnostic<'c>> {
    let tokens = [completion.done, completion.read].into_iter().flatten();
    let mut tokens = tokens.filter(|token| is_token(token.ty())).peekable();
    tokens.peek()?;
    let none = tokens.all(|token| !awaited.contains(token));
    none.then(|| {
        Diagnostic::warning(op, "has a token that nobody awaits").note(
            op,
            "nobody can rely on what it writes: await the token, or join it with one that is awaited; if the data is not \
             needed, remove the operation",
        )
    })
}

/// A warning if an operand of `op`, which all threads of a block execute together, is known to differ between them.
fn thread_varying_operand<'c>(op: Op<'c>, completion: &Completion<'c>) -> Option<Diagnostic<'c>> {
    if completion.scope != ExecutionScope::Block {
        return None;
    }
    let (i, source) = op
        .operands()
        .enumerate()
        .find_map(|(i, value)| Some((i, find_thread_varying_op(value)?)))?;
    let message =
        format!("is executed by all threads of the block together, but operand #{i} differs between them");
    Some(Diagnostic::warning(op, message).note(
        source,
        "this differs between threads: compute buffers and coordinates of the operation from the block alone",
    ))
}

/// Returns true if `op` may complete or commit copies in a way that the skeleton does not show.
fn completes_otherwise(op: Op<'_>) -> bool {
    let known = [
        nvvm::CP_ASYNC_MBARRIER_ARRIVE,
        nvvm::INLINE_PTX,
        llvm::CALL_INTRINSIC,
        llvm::INLINE_ASM,
    ];
    is_call(op) || known.contains(&op.name()) || !op.is_registered()
}

/// A warning about an operation without a token that no commit follows.
fn uncommitted<'c>(skeleton: &Skeleton<'c>, site: Site) -> Option<Diagnostic<'c>> {
    let op = skeleton.sites[site.0 as usize];
    let completion = Completion::of(op)?;
    let has_token = completion.done.is_some_and(|token| is_token(token.ty()));
    (completion.effect == GroupEffect::Issue && !has_token).then(|| {
        Diagnostic::warning(op, "is in no group: no commit of its queue follows on any path").note(
            op,
            "no wait for groups completes it: commit a group after it, and wait for that before its data is used",
        )
    })
}

/// A warning about a copy of `nvgpu`, whose token nobody waits for, as a copy or as part of a group: no wait follows. Which group a
/// copy is in, the hardware counts; so whether a token is an operand of the group says nothing.
fn unwaited<'c>(skeleton: &Skeleton<'c>, site: Site) -> Option<Diagnostic<'c>> {
    let op = skeleton.sites[site.0 as usize];
    op.is(nvgpu::DEVICE_ASYNC_COPY).then(|| {
        Diagnostic::warning(op, "is never waited for: no wait for groups follows on any path").note(
            op,
            "nobody can rely on what it writes: wait for its group before its data is used; if the data is not needed, remove \
             the operation",
        )
    })
}
