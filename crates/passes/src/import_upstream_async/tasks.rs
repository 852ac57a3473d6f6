//! Rewrites tasks as regions. By now they use and return no values of types that our dialect lacks.

use async_dialects::names::{async_, upstream_async};
use async_dialects::types::token;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::scf;

/// Rewrites all tasks in `module`, and the bodies of asynchronous functions.
pub(super) fn to_regions(module: Op<'_>) {
    let mut ops = module.self_and_nested();
    ops.retain(|op| matches!(op.name(), upstream_async::EXECUTE | async_::FUNC));
    for op in ops {
        if op.is(async_::FUNC) {
            function(op);
        } else {
            execute(op);
        }
    }
}

/// A task that does nothing is complete when its dependencies are.
fn execute(op: Op<'_>) {
    let body = op.region(0).first().expect("a task has a body");
    let mut tokens: Vec<Value> = op.operands().collect();
    let types: Vec<Type> = op.results().map(Value::ty).collect();
    let new = if body.first() == body.terminator() && types.len() == 1 {
        tokens.extend(
            body.terminator()
                .into_iter()
                .flat_map(|end| end.operands().collect::<Vec<_>>()),
        );
        match tokens.as_slice() {
            [] => OpBuilder::new(async_::READY, op.location()),
            [token] => return op.replace_with(&[*token]),
            _ => OpBuilder::new(async_::JOIN, op.location()).operands(&tokens),
        }
    } else {
        OpBuilder::new(async_::REGION, op.location())
            .operands(&tokens)
            .regions(1)
    };
    let new = new.results(&types).before(op);
    new.copy_discardable_attrs(op);
    if new.is(async_::REGION) {
        new.region(0).take_body(op.region(0));
    }
    op.replace_with(&new.results().collect::<Vec<_>>());
}

/// Makes a region of the body of a function.
fn function(op: Op<'_>) {
    let Some(entry) = op.region(0).first() else { return };
    let (location, context) = (op.location(), op.context());
    let Some(last) = returns(op).first().copied() else {
        return;
    };
    let mut types = vec![token(context)];
    types.extend(last.operands().map(Value::ty));
    let region = OpBuilder::new(async_::REGION, location)
        .results(&types)
        .regions(1);

    let body = Block::new(&[]);
    let region = if op.region(0).blocks().len() == 1 {
        entry.move_ops_to(body);
        region.at_end(entry)
    } else {
        // A region has one block, so the blocks go into an operation in it.
        let blocks = OpBuilder::new(scf::EXECUTE_REGION, location)
            .results(&types[1..])
            .regions(1)
            .at_end(body);
        blocks.region(0).take_body(op.region(0));
        let values: Vec<Value> = blocks.results().collect();
        OpBuilder::new(async_::YIELD, location)
            .operands(&values)
            .at_end(body);
        let args: Vec<(Type, Location)> = entry.args().map(|arg| (arg.ty(), arg.location())).collect();
        let new = Block::new(&args);
        op.region(0).append(new);
        for (old, new) in entry.args().zip(new.args()) {
            old.replace_all_uses_with(new);
        }
        (0..entry.num_args()).rev().for_each(|i| entry.erase_arg(i));
        region.at_end(new)
    };
    region.region(0).append(body);
    for end in returns(op) {
        let name = if end.block() == Some(body) {
            async_::YIELD
        } else {
            scf::YIELD
        };
        let values: Vec<Value> = end.operands().collect();
        OpBuilder::new(name, end.location()).operands(&values).before(end);
        end.erase();
    }
    let mut results: Vec<Value> = region.results().skip(1).collect();
    results.push(region.result(0));
    OpBuilder::new(async_::YIELD, location)
        .operands(&results)
        .after(region);
}

/// Where `function` returns.
fn returns(function: Op<'_>) -> Vec<Op<'_>> {
    let mut ops = function.self_and_nested();
    ops.retain(|op| op.is(upstream_async::RETURN));
    ops
}
