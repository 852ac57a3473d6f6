//! `--async-split-awaits`: splits regions at their awaits, which become dependencies between regions.
//!
//! **Condition.** Structured control flow.
//!
//! **Effect.** In the body of a region, an await before anything has happened becomes a dependency, and one at the end makes its tokens delay the
//! region. Elsewhere what follows an await becomes a region of its own, which depends on the tokens, also in the arms of an `scf.if`. So no
//! region of host code awaits anything in its body, but under other operations, and in what it calls: there is a remark at each of these.
//!
//! **Refusals.** None. Awaits stay, too, where the body has memory on its stack, and after [`MOST_PARTS`] others in one region.
//!
//! [`remarks`] says what stays.

mod remarks;

use crate::utils::builders::new_else;
use crate::utils::region_values::pass_on;
use crate::utils::tokens::ready;
use async_dialects::names::async_;
use async_dialects::registry::GPUX;
use async_dialects::types::is_token;
use async_mlir::control_flow::append;
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value, Walk};
use async_mlir::melior::ir::Type;
use async_mlir::names::{gpu, memref, scf};
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo};
use rustc_hash::{FxHashMap, FxHashSet};

/// A region is divided at as many awaits. Beyond that, one task that is suspended costs less than many.
const MOST_PARTS: usize = 8;

/// The pass.
pub struct AsyncSplitAwaits;

impl Pass for AsyncSplitAwaits {
    const INFO: PassInfo = PassInfo {
        description: include_str!("async_split_awaits/description.md"),
        anchor: Anchor::Any,
        options: &[OptionInfo::bool(
            "remarks",
            true,
            "a remark at what a task is suspended for: an await that stays, or a call of what awaits something",
        )],
        dependent_dialects: &[GPUX, Dialect::SCF],
        ..PassInfo::new(
            "async-split-awaits",
            "makes dependencies between regions of awaits in regions",
        )
    };

    fn run<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let mut regions = Vec::new();
        root.walk(|op| {
            if op.is(gpu::MODULE) || op.is(gpu::LAUNCH) {
                return Walk::Skip;
            }
            if op.is(async_::REGION) {
                regions.push(op);
            }
            Walk::Advance
        });
        // What is nested first: what an outer region is divided into has it whole.
        for region in regions.into_iter().rev() {
            split(region);
        }
        if cx.bool("remarks") {
            remarks::report(root);
        }
        Ok(())
    }
}

fn split(region: Op<'_>) {
    start_later(region);
    let Some(body) = region.region(0).first() else {
        return;
    };
    // What is on the stack of the body is there until the body ends.
    if has_stack(region) {
        return;
    }
    let mut parts = 0;
    branches(body, &mut parts);
    unite_awaits(body);
    end_later(body);
    // The last await first: what follows an earlier one has it in a region already.
    for op in body.ops().into_iter().rev() {
        if op.is(async_::AWAIT) && parts < MOST_PARTS {
            parts += 1;
            divide(body, op, None);
        }
    }
}

/// Makes dependencies of awaits before which nothing has happened.
fn start_later(region: Op<'_>) {
    let Some(body) = region.region(0).first() else {
        return;
    };
    for op in body.ops() {
        if !op.is(async_::AWAIT) {
            if op.is_pure() && op.num_regions() == 0 {
                continue;
            }
            return;
        }
        let is_outside = |token: Value| token.defining_op().is_none_or(|op| op.block() != Some(body));
        if !op.operands().all(is_outside) {
            return;
        }
        let mut dependencies: Vec<Value> = region.operands().collect();
        for token in op.operands() {
            if !dependencies.contains(&token) {
                dependencies.push(token);
            }
        }
        region.set_operands(&dependencies);
        op.erase();
    }
}

/// Has awaits at the end of `body` delay its region in their place.
fn end_later(body: Block<'_>) {
    let Some(end) = body.terminator() else {
        return;
    };
    while let Some(op) = end.prev().filter(|op| op.is(async_::AWAIT)) {
        let operands: Vec<Value> = end.operands().chain(op.operands()).collect();
        end.set_operands(&operands);
        op.erase();
    }
}

/// Makes one await of those in `block` that nothing is between.
fn unite_awaits(block: Block<'_>) {
    for op in block.ops() {
        if let Some(next) = op
            .next()
            .filter(|next| op.is(async_::AWAIT) && next.is(async_::AWAIT))
        {
            let mut tokens: Vec<Value> = next.operands().collect();
            let earlier = op
                .operands()
                .filter(|token| !tokens.contains(token))
                .collect::<Vec<_>>();
            tokens.extend(earlier);
            next.set_operands(&tokens);
            op.erase();
        }
    }
}

/// Returns true if the body of `region` has memory on its stack.
fn has_stack(region: Op<'_>) -> bool {
    let stopped = region.walk(|op| match op.name() {
        async_::REGION | memref::ALLOCA_SCOPE if op != region => Walk::Skip,
        memref::ALLOCA => Walk::Stop,
        _ => Walk::Advance,
    });
    stopped == Walk::Stop
}

/// Moves awaits out of the arms of branches directly in `body`, to after the branches.
fn branches(body: Block<'_>, parts: &mut usize) {
    for branch in body.ops() {
        if branch.is(scf::IF) {
            leave_branch(branch, parts);
        }
    }
}

/// Has `branch` return a token, if its arms await something, and awaits that after it.
fn leave_branch(branch: Op<'_>, parts: &mut usize) {
    let arms: Vec<Block> = branch.regions().filter_map(Region::first).collect();
    for &arm in &arms {
        branches(arm, parts);
    }
    arms.iter().copied().for_each(unite_awaits);
    let awaits = |arm: Block<'_>| arm.ops().into_iter().filter(|op| op.is(async_::AWAIT)).count();
    let count: usize = arms.iter().map(|arm| awaits(*arm)).sum();
    if count == 0 || *parts + count > MOST_PARTS || arms.iter().any(|arm| yields_late_token(*arm)) {
        return;
    }
    *parts += count;
    let location = branch.location();
    let mut tokens = Vec::new();
    for &arm in &arms {
        let waits = arm.ops().into_iter().rev().filter(|op| op.is(async_::AWAIT));
        tokens.push(waits.fold(None, |rest, wait| Some(divide(arm, wait, rest))));
    }
    let Some(ty) = tokens.iter().flatten().next().map(|token| token.ty()) else {
        return;
    };
    let branch = append(branch, &[], &[ty]);
    if branch.region(1).first().is_none() {
        new_else(branch, &[]);
        tokens.push(None);
    }
    for (arm, token) in branch.regions().filter_map(Region::first).zip(tokens) {
        if let Some(end) = arm.terminator() {
            let token = token.unwrap_or_else(|| ready(location, ty).before(end).result(0));
            pass_on(end, &[token]);
        }
    }
    let token = branch.result(branch.num_results() - 1);
    OpBuilder::new(async_::AWAIT, location)
        .operands(&[token])
        .after(branch);
}

/// Returns true if `arm` yields a token that is made after an await in it: a region can't return it.
fn yields_late_token(arm: Block<'_>) -> bool {
    let Some(wait) = arm.ops().into_iter().find(|op| op.is(async_::AWAIT)) else {
        return false;
    };
    arm.terminator().is_some_and(|end| {
        end.operands().any(|value| {
            let late = value
                .defining_op()
                .filter(|op| op.block() == Some(arm) && wait.is_before_in_block(*op));
            is_token(value.ty()) && late.is_some()
        })
    })
}

/// Puts what follows `wait` in `block` into a region that depends on its tokens, and returns the token of that. It delays the region
/// that `block` is the body of, if it is one; if not, `last`, the token of such a region in what follows, delays the new one.
fn divide<'c>(block: Block<'c>, wait: Op<'c>, last: Option<Value<'c>>) -> Value<'c> {
    let end = block.terminator().expect("a block of structured control flow");
    let region = move_rest(wait, end, last);
    wait.erase();
    hand_on(end, region);
    region.result(0)
}

/// Moves what is between `wait` and the terminator `end` to a new region, which yields what `end` takes of it, and `last`.
fn move_rest<'c>(wait: Op<'c>, end: Op<'c>, last: Option<Value<'c>>) -> Op<'c> {
    let (location, token) = (wait.location(), wait.operand(0).ty());
    let rest = Block::new(&[]);
    while let Some(op) = wait.next().filter(|op| *op != end) {
        op.move_to_end(rest);
    }
    let late = end.operands().filter(|value| is_in(*value, rest));
    let (tokens, mut values): (Vec<Value>, Vec<Value>) = late.partition(|value| is_token(value.ty()));
    let mut seen = FxHashSet::default();
    values.retain(|value| seen.insert(*value));
    let types: Vec<Type> = values.iter().map(|value| value.ty()).collect();
    let dependencies: Vec<Value> = wait.operands().collect();
    let region = OpBuilder::new(async_::REGION, location)
        .operands(&dependencies)
        .results(&[token])
        .results(&types)
        .regions(1)
        .before(wait);
    region.region(0).append(rest);
    let yielded: Vec<Value> = values.into_iter().chain(tokens).chain(last).collect();
    OpBuilder::new(async_::YIELD, location)
        .operands(&yielded)
        .at_end(rest);
    region
}

/// Has the terminator `end` take what `region` yields in place of what is in it, and a region that it ends be delayed by that.
fn hand_on<'c>(end: Op<'c>, region: Op<'c>) {
    let Some(body) = region.region(0).first() else {
        return;
    };
    let yielded = body.terminator().into_iter().flat_map(Op::operands);
    let results: FxHashMap<Value, Value> = yielded.zip(region.results().skip(1)).collect();
    let result = |value: Value<'c>| results.get(&value).copied().unwrap_or(value);
    let operands: Vec<Value> = if end.is(async_::YIELD) {
        // Values come before tokens. Those in the region delay it.
        let (tokens, values): (Vec<Value>, Vec<Value>) =
            end.operands().partition(|value| is_token(value.ty()));
        let early = tokens.into_iter().filter(|token| !is_in(*token, body));
        let delay = region.result(0);
        values
            .into_iter()
            .map(result)
            .chain(early)
            .chain([delay])
            .collect()
    } else {
        end.operands().map(result).collect()
    };
    end.set_operands(&operands);
}

/// Returns true if `value` is a result of an operation directly in `block`.
fn is_in<'c>(value: Value<'c>, block: Block<'c>) -> bool {
    value.defining_op().is_some_and(|op| op.block() == Some(block))
}
