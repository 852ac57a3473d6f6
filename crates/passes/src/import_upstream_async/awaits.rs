//! Drops redundant awaits, of which imported programs have many: each value was awaited on its own.

use crate::utils::complete_tokens::CompleteTokens;
use crate::utils::region_values::pass_on;
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value};

/// Drops awaits and dependencies that others in `module` imply, and makes one await of several that stand together.
pub(super) fn simplify(module: Op<'_>) {
    let mut complete = CompleteTokens::new();
    for block in module.regions().flat_map(Region::blocks) {
        simplify_block(block, &mut complete);
    }
}

fn simplify_block<'c>(block: Block<'c>, complete: &mut CompleteTokens<'c>) {
    complete.enter();
    let mut last: Option<Op> = None;
    for op in block.ops() {
        if op.is(async_::AWAIT) {
            last = simplify_await(op, last, complete);
            continue;
        }
        last = None;
        complete.enter();
        if op.is(async_::REGION) {
            simplify_dependencies(op);
            op.operands().for_each(|token| complete.learn(token));
        }
        for inner in op.regions().flat_map(Region::blocks) {
            simplify_block(inner, complete);
        }
        if op.is(async_::REGION) {
            yield_last_tokens(op);
        }
        complete.leave();
    }
    complete.leave();
}

/// Leaves of `op` what is not known to be complete, in `last` if that is the await right before. Returns the await.
fn simplify_await<'c>(op: Op<'c>, last: Option<Op<'c>>, complete: &mut CompleteTokens<'c>) -> Option<Op<'c>> {
    let mut tokens: Vec<Value> = last
        .into_iter()
        .flat_map(|last| last.operands().collect::<Vec<_>>())
        .collect();
    let before = tokens.len();
    for token in op.operands() {
        if !complete.contains(token) {
            complete.learn(token);
            tokens.push(token);
        }
    }
    let new = (tokens.len() > before).then(|| {
        let new = OpBuilder::new(async_::AWAIT, op.location())
            .operands(&tokens)
            .before(op);
        new.copy_discardable_attrs(op);
        new
    });
    op.erase();
    match (new, last) {
        (Some(new), Some(last)) => {
            last.erase();
            Some(new)
        }
        (new, last) => new.or(last),
    }
}

/// Has `region` yield the tokens that it awaits at its end: its own token waits for them, and no task has to.
fn yield_last_tokens(region: Op<'_>) {
    let end = region.region(0).first().and_then(Block::terminator);
    let Some((end, last)) = end.and_then(|end| Some((end, end.prev()?))) else {
        return;
    };
    if last.is(async_::AWAIT) {
        pass_on(end, &last.operands().collect::<Vec<_>>());
        last.erase();
    }
}

/// Drops dependencies that are complete when one before them is.
fn simplify_dependencies(region: Op<'_>) {
    let mut implied = CompleteTokens::new();
    let mut dependencies: Vec<Value> = region.operands().filter(|token| is_token(token.ty())).collect();
    dependencies.retain(|&token| {
        let is_new = !implied.contains(token);
        implied.learn(token);
        is_new
    });
    region.set_operands(&dependencies);
}
