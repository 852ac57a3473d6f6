//! Queries and builds tokens, and rewrites everything that waits as an `async.await`.

use super::device::own_ops;
use async_dialects::completion::{Completion, GroupEffect};
use async_dialects::names::{async_, upstream_async};
use async_dialects::registry::has_upstream_async;
use async_dialects::types::is_token;
use async_mlir::control_flow::erase_operand;
use async_mlir::gpu::function_type;
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value, Walk};
use async_mlir::melior::ir::r#type::FunctionType;
use async_mlir::melior::ir::{Location, Type};
use async_mlir::pass::PassError;
use rustc_hash::FxHashSet;

/// Returns true if `function` takes or returns tokens.
pub(crate) fn has_tokens(function: Op<'_>) -> bool {
    function_type(function).is_some_and(type_has_tokens)
}

/// Returns true if functions of type `ty` take or return tokens.
pub(crate) fn type_has_tokens(ty: FunctionType<'_>) -> bool {
    takes_or_returns(ty, is_token)
}

/// Returns true if functions of type `ty` take or return a value whose type `is_one`.
pub(crate) fn takes_or_returns<'c>(ty: FunctionType<'c>, is_one: impl Fn(Type<'c>) -> bool) -> bool {
    let inputs = (0..ty.input_count()).filter_map(|i| ty.input(i).ok());
    let results = (0..ty.result_count()).filter_map(|i| ty.result(i).ok());
    inputs.chain(results).any(is_one)
}

/// Returns an error if `function` uses a token that it gets as an argument.
pub(crate) fn refuse_token_arguments<'c>(function: Op<'c>) -> Result<(), PassError<'c>> {
    let Some(entry) = function.regions().next().and_then(Region::first) else {
        return Ok(());
    };
    for arg in entry.args() {
        if is_token(arg.ty()) && arg.has_uses() {
            let message = "a token that is a function argument has no known queue";
            let help = "await it in the caller, or run --gpux-inline-calls first";
            return Err(PassError::new(arg.location(), message).note(arg.location(), help));
        }
    }
    Ok(())
}

/// Writes all that waits as awaits: asynchronous regions, joins that are for one await alone, and dependencies. That is one look
/// at the operations if there are no such regions, since there may be a million.
pub(crate) fn write_awaits<'c>(function: Op<'c>) -> Result<(), PassError<'c>> {
    let mut waiting = Waiting::of(function);
    if waiting.has_regions {
        inline_async_regions(function)?;
        waiting = Waiting::of(function);
    }
    waiting.awaits.into_iter().for_each(absorb_joins);
    waiting.dependents.into_iter().for_each(await_dependencies_of);
    Ok(())
}

/// What waits in a function.
struct Waiting<'c> {
    awaits: Vec<Op<'c>>,
    /// What has dependencies.
    dependents: Vec<Op<'c>>,
    has_regions: bool,
}

impl<'c> Waiting<'c> {
    fn of(function: Op<'c>) -> Self {
        let mut waiting = Self {
            awaits: Vec::new(),
            dependents: Vec::new(),
            has_regions: false,
        };
        function.walk(|op| {
            if op != function && op.is_function() {
                return Walk::Skip;
            }
            waiting.has_regions |= is_async_region(op);
            if op.is(async_::AWAIT) {
                waiting.awaits.push(op);
            } else if awaits_dependencies(op) {
                waiting.dependents.push(op);
            }
            Walk::Advance
        });
        waiting
    }
}

fn is_async_region(op: Op<'_>) -> bool {
    matches!(op.name(), async_::REGION | upstream_async::EXECUTE)
}

/// Issues asynchronous regions in place: their dependencies are awaited, and their token is the join of those that they
/// yield. Upstream's are such regions, too, but for the values that they wrap.
pub(crate) fn inline_async_regions<'c>(function: Op<'c>) -> Result<(), PassError<'c>> {
    // A region takes its terminator with it, which is not to be looked at afterwards.
    let mut regions = own_ops(function);
    regions.retain(|op| is_async_region(*op));
    for region in regions {
        if region.is(upstream_async::EXECUTE) && has_values(region) {
            let message = "takes or returns values of type '!async.value', which device code can't have";
            return Err(PassError::new(region, message)
                .note(region, "pass values directly, and return the token alone"));
        }
        let dependencies: Vec<Value> = region.operands().collect();
        if !dependencies.is_empty() {
            await_before(region, &dependencies);
        }
        let Some(block) = region.region(0).first() else {
            continue;
        };
        let mut yielded: Vec<Value> = Vec::new();
        for op in block.ops() {
            if Some(op) == block.terminator() {
                yielded = op.operands().collect();
            } else {
                op.move_before(region);
            }
        }
        let tokens = yielded.split_off(region.num_results() - 1);
        let token_type = region.result(0).ty();
        let join = OpBuilder::new(async_::JOIN, region.location())
            .operands(&tokens)
            .results(&[token_type]);
        let mut results = vec![join.before(region).result(0)];
        results.extend(yielded);
        region.replace_with(&results);
    }
    Ok(())
}

/// Returns true if `region` has operands or results that are no tokens.
fn has_values(region: Op<'_>) -> bool {
    let mut values = region.operands().chain(region.results());
    values.any(|value| !is_token(value.ty()))
}

/// Has an await take what joins join, in the place of joins that are for it alone: what is awaited together is to be seen together.
/// In upstream's dialect, awaits have one operand: [`restore_upstream_awaits`] sees to that.
fn absorb_joins(op: Op<'_>) {
    let (tokens, joins) = without_joins(op.operands());
    if !joins.is_empty() {
        await_all(op, &tokens);
        joins.into_iter().for_each(Op::erase);
    }
}

/// Puts an await of `tokens` in the place of the await `op`, in upstream's dialect as well: [`restore_upstream_awaits`] then is due.
pub(crate) fn await_all<'c>(op: Op<'c>, tokens: &[Value<'c>]) {
    let whole = OpBuilder::new(async_::AWAIT, op.location())
        .operands(tokens)
        .before(op);
    whole.copy_discardable_attrs(op);
    op.erase();
}

/// Makes each await of `function` one of one token if it is one of upstream's dialect.
pub(crate) fn restore_upstream_awaits(function: Op<'_>) {
    if has_upstream_async(function) {
        let awaits = own_ops(function).into_iter().filter(|op| op.is(async_::AWAIT));
        awaits.for_each(await_one);
    }
}

/// Makes `op` an await of one token, as upstream's dialect has it.
pub(crate) fn await_one(op: Op<'_>) {
    let tokens: Vec<Value> = op.operands().collect();
    if tokens.len() > 1 {
        await_join(op, &tokens, |new| new.before(op)).copy_discardable_attrs(op);
    }
    if tokens.len() != 1 {
        op.erase();
    }
}

/// Replaces each token that is a join with no other use by what it joins; returns the tokens, and the joins replaced.
pub(crate) fn without_joins<'c>(tokens: impl Iterator<Item = Value<'c>>) -> (Vec<Value<'c>>, Vec<Op<'c>>) {
    let (mut joined, mut joins) = (Vec::new(), Vec::new());
    for token in tokens {
        match token.defining_op() {
            Some(join) if join.is(async_::JOIN) && token.only_use().is_some() => {
                joined.extend(join.operands());
                joins.push(join);
            }
            _ => joined.push(token),
        }
    }
    (joined, joins)
}

/// The tokens that `op`, an await or a join, stands for, in order: those of joins in the place of the joins, and none that are complete from the
/// beginning.
pub(crate) fn joined_tokens(op: Op<'_>) -> Vec<Value<'_>> {
    let all = joined_tokens_up_to(op, usize::MAX);
    all.map(|(tokens, _)| tokens).unwrap_or_default()
}

/// The same, with the joins, each before those that it joins. `None` if there are more than `most`.
pub(crate) fn joined_tokens_up_to(op: Op<'_>, most: usize) -> Option<(Vec<Value<'_>>, Vec<Op<'_>>)> {
    let mut seen = FxHashSet::default();
    let (mut found, mut joins) = (Vec::new(), Vec::new());
    let mut work: Vec<Value> = op.operands().collect();
    work.reverse();
    while let Some(token) = work.pop() {
        if seen.len() + work.len() >= most {
            return None;
        }
        if !seen.insert(token) {
            continue;
        }
        match token.defining_op() {
            Some(op) if op.is(async_::JOIN) => {
                work.extend(op.operands().rev());
                joins.push(op);
            }
            Some(op) if op.is(async_::READY) => {}
            _ => found.push(token),
        }
    }
    Some((found, joins))
}

/// Awaits the dependencies of operations right before them.
pub(crate) fn await_dependencies(function: Op<'_>) {
    let ops = own_ops(function).into_iter();
    ops.filter(|op| awaits_dependencies(*op))
        .for_each(await_dependencies_of);
}

/// The tokens that `op` takes, if it takes any: they come before its other operands.
fn first_tokens(op: Op<'_>) -> impl Iterator<Item = Value<'_>> {
    op.operands().take_while(|value| is_token(value.ty()))
}

/// Returns true if `op` has dependencies to await.
pub(crate) fn awaits_dependencies(op: Op<'_>) -> bool {
    first_tokens(op).next().is_some()
        && Completion::of(op).is_some_and(|completion| completion.effect == GroupEffect::Issue)
}

fn await_dependencies_of(op: Op<'_>) {
    let dependencies: Vec<Value> = first_tokens(op).collect();
    await_before(op, &dependencies);
    for _ in &dependencies {
        erase_operand(op, 0);
    }
}

/// Awaits `tokens` right before `op`.
pub(crate) fn await_before<'c>(op: Op<'c>, tokens: &[Value<'c>]) -> Op<'c> {
    await_at(op, tokens, |new| new.before(op))
}

/// Awaits `tokens` right after `op`, which is no terminator.
pub(crate) fn await_after<'c>(op: Op<'c>, tokens: &[Value<'c>]) -> Op<'c> {
    let next = op.next().expect("a block ends with a terminator");
    await_at(op, tokens, |new| new.before(next))
}

/// Awaits `tokens` at the end of `block`, with the location of `op`.
pub(crate) fn await_at_end<'c>(block: Block<'c>, op: Op<'c>, tokens: &[Value<'c>]) {
    await_at(op, tokens, |new| new.at_end(block));
}

/// Awaits `tokens` where `insert` puts operations, with the location of `op`. An await of upstream's dialect has one operand.
fn await_at<'c>(op: Op<'c>, tokens: &[Value<'c>], insert: impl Fn(OpBuilder<'c>) -> Op<'c>) -> Op<'c> {
    if tokens.len() > 1 && has_upstream_async(op) {
        await_join(op, tokens, insert)
    } else {
        insert(OpBuilder::new(async_::AWAIT, op.location()).operands(tokens))
    }
}

/// Awaits the join of `tokens`, of which there is at least one; else as [`await_at`].
fn await_join<'c>(op: Op<'c>, tokens: &[Value<'c>], insert: impl Fn(OpBuilder<'c>) -> Op<'c>) -> Op<'c> {
    let token = insert(join(op.location(), tokens)).result(0);
    insert(OpBuilder::new(async_::AWAIT, op.location()).operands(&[token]))
}

/// A token that is complete when all of `tokens` are, of which there is at least one.
pub(crate) fn join<'c>(location: Location<'c>, tokens: &[Value<'c>]) -> OpBuilder<'c> {
    OpBuilder::new(async_::JOIN, location)
        .operands(tokens)
        .results(&[tokens[0].ty()])
}

/// A token that is complete.
pub(crate) fn ready<'c>(location: Location<'c>, ty: Type<'c>) -> OpBuilder<'c> {
    OpBuilder::new(async_::READY, location).results(&[ty])
}
