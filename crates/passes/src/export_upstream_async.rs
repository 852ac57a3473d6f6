//! `async-translate --export-upstream-async`: translates our dialect `async` into upstream's.
//!
//! **Condition.** A module that verifies with our dialects, in a context that has upstream's dialect `async` instead.
//!
//! **Effect.** `async.region` becomes `async.execute`, and what it returns `!async.value`s. They are awaited where their token was, or
//! before the first use; a task that depends on the token takes them as operands. Tokens that a region yields are awaited at its end.
//! A join is a task that does nothing. An `async.func` returns its token and values of its results.
//!
//! **Refusals.** An `async.func` that awaits something outside of regions: its callers would go on meanwhile. Functions that return
//! tokens but one at the end; operations of `gpux`.

mod functions;
mod values;

use async_dialects::names::{async_, gpux, upstream_async};
use async_dialects::types::{async_value, is_token};
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::ir::Type;
use async_mlir::pass::PassError;
use rustc_hash::FxHashMap;

/// Rewrites `module`.
///
/// # Errors
///
/// If something can't be expressed, with its place.
pub fn export_upstream_async(module: Op<'_>) -> Result<(), PassError<'_>> {
    module.self_and_nested().into_iter().try_for_each(check)?;
    // Functions first: one that is a single region gives its body to the function.
    for op in named(module, &[async_::FUNC]) {
        functions::function(op);
    }
    let mut futures = Futures::default();
    for op in named(
        module,
        &[async_::REGION, async_::JOIN, async_::READY, async_::CALL],
    ) {
        match op.name() {
            async_::REGION => region(op, &mut futures),
            async_::CALL => functions::call(op, &mut futures),
            _ => task_of_nothing(op),
        }
    }
    values::unwrap(module, &futures);
    Ok(())
}

/// The operations in `module` that have one of `names`.
fn named<'c>(module: Op<'c>, names: &[&str]) -> Vec<Op<'c>> {
    let mut ops = module.self_and_nested();
    ops.retain(|op| names.contains(&op.name()));
    ops
}

/// The values of type `!async.value<T>` that stand where a `T` is used, with the tokens that they are complete with.
#[derive(Default)]
struct Futures<'c>(FxHashMap<Value<'c>, Value<'c>>);

fn check(op: Op<'_>) -> Result<(), PassError<'_>> {
    if op.dialect() == gpux::NAMESPACE {
        let message = "can't be exported: upstream has no such operation";
        let help =
            "lower it first; for device code in a mlir-opt with the plugin, there is --async-to-upstream";
        return Err(PassError::new(op, message).note(op, help));
    }
    if op.is(async_::FUNC) {
        functions::check(op)
    } else {
        Ok(())
    }
}

/// Makes a task of a region, whose results are still used as what they wrap.
fn region<'c>(op: Op<'c>, futures: &mut Futures<'c>) {
    let mut types: Vec<Type> = op.results().map(Value::ty).collect();
    types[1..].iter_mut().for_each(|ty| *ty = async_value(*ty));
    let dependencies: Vec<Value> = op.operands().collect();
    let new = OpBuilder::new(upstream_async::EXECUTE, op.location())
        .operand_groups(&[&dependencies, &[]])
        .results(&types)
        .regions(1)
        .before(op);
    new.copy_discardable_attrs(op);
    new.region(0).take_body(op.region(0));
    let results: Vec<Value> = new.results().collect();
    futures
        .0
        .extend(results[1..].iter().map(|value| (*value, results[0])));
    op.replace_with(&results);
    let end = new.region(0).first().and_then(Block::terminator);
    end_task(end.expect("a region ends with a yield"), upstream_async::YIELD);
}

/// Ends a task with `name` instead of `end`: what that yields after its values is awaited.
fn end_task(end: Op<'_>, name: &str) {
    let mut values: Vec<Value> = end.operands().collect();
    let count = values
        .iter()
        .rposition(|value| !is_token(value.ty()))
        .map_or(0, |last| last + 1);
    for token in values.split_off(count) {
        OpBuilder::new(async_::AWAIT, end.location())
            .operands(&[token])
            .before(end);
    }
    OpBuilder::new(name, end.location())
        .operands(&values)
        .before(end)
        .copy_discardable_attrs(end);
    end.erase();
}

/// Makes a task of a join.
fn task_of_nothing(op: Op<'_>) {
    let dependencies: Vec<Value> = op.operands().collect();
    let types: Vec<Type> = op.results().map(Value::ty).collect();
    let new = OpBuilder::new(upstream_async::EXECUTE, op.location())
        .operand_groups(&[&dependencies, &[]])
        .results(&types)
        .regions(1)
        .before(op);
    new.copy_discardable_attrs(op);
    let body = Block::new(&[]);
    new.region(0).append(body);
    OpBuilder::new(upstream_async::YIELD, op.location()).at_end(body);
    op.replace_with(&new.results().collect::<Vec<_>>());
}
