//! Finds the operations of engines that make a value, through whatever runs on none.

use async_dialects::completion::engine_name;
use async_mlir::ir::{Block, Definition, Op, Region, Value};
use async_mlir::names::{memref, scf};
use rustc_hash::FxHashSet;

/// Returns true if each region of `op` is executed at most once.
pub(super) fn is_branch(op: Op<'_>) -> bool {
    let names = [
        scf::IF,
        scf::INDEX_SWITCH,
        scf::EXECUTE_REGION,
        memref::ALLOCA_SCOPE,
    ];
    names.into_iter().any(|name| op.is(name))
}

/// An operation of an engine that makes a value. If loops hand it on to their next iterations, it is of an earlier iteration of `carried`, the
/// outermost of these, if it is in there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Source<'c> {
    pub op: Op<'c>,
    pub carried: Option<Op<'c>>,
}

/// The operations of engines that `value` is made by.
pub(super) fn sources(value: Value<'_>) -> Vec<Source<'_>> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    let mut work = vec![(value, None)];
    while let Some((value, carried)) = work.pop() {
        if !seen.insert((value, carried)) {
            continue;
        }
        match value.definition() {
            Definition::Result(op, _) if engine_name(op).is_some() => found.push(Source { op, carried }),
            Definition::Result(op, index) => {
                work.extend(made_of(op, index).into_iter().map(|value| (value, carried)));
            }
            Definition::Argument(block, index) => {
                for (value, next) in handed_to(block, index) {
                    work.push((value, outer(carried, next)));
                }
            }
        }
    }
    found
}

/// The outer one of two loops around an operation.
fn outer<'c>(a: Option<Op<'c>>, b: Option<Op<'c>>) -> Option<Op<'c>> {
    let both = a.into_iter().chain(b);
    both.min_by_key(|op| op.ancestors().count())
}

/// What result `index` of `op`, which runs on no engine, is made of.
fn made_of(op: Op<'_>, index: usize) -> Vec<Value<'_>> {
    let blocks = op.regions().flat_map(Region::blocks);
    let ends = blocks.filter_map(Block::terminator);
    if op.is(scf::FOR) {
        let handed_on = ends.map(|end| end.operand(index));
        let bounds = (0..3).chain([index + 3]).map(|operand| op.operand(operand));
        return handed_on.chain(bounds).collect();
    }
    if op.is(scf::WHILE) {
        let conditions = ends.filter(|end| end.is(scf::CONDITION));
        return conditions
            .flat_map(|end| [end.operand(0), end.operand(index + 1)])
            .collect();
    }
    if is_branch(op) {
        return ends.map(|end| end.operand(index)).chain(op.operands()).collect();
    }
    op.self_and_nested().into_iter().flat_map(Op::operands).collect()
}

/// What argument `index` of `block` may be, and if that is of an earlier iteration, of which loop.
fn handed_to(block: Block<'_>, index: usize) -> Vec<(Value<'_>, Option<Op<'_>>)> {
    let Some(around) = block.parent_op().filter(|op| !op.is_function()) else {
        return Vec::new();
    };
    let blocks = || around.regions().flat_map(Region::blocks);
    if around.is(scf::FOR) {
        if index == 0 {
            return (0..3).map(|operand| (around.operand(operand), None)).collect();
        }
        let end = block
            .terminator()
            .map(|end| (end.operand(index - 1), Some(around)));
        let first = (around.operand(index + 2), None);
        return end.into_iter().chain([first]).collect();
    }
    if around.is(scf::WHILE) {
        let mut ends = blocks().filter_map(Block::terminator);
        if blocks().next() == Some(block) {
            let end = ends.nth(1).map(|end| (end.operand(index), Some(around)));
            return end.into_iter().chain([(around.operand(index), None)]).collect();
        }
        return ends
            .next()
            .map(|end| (end.operand(index + 1), None))
            .into_iter()
            .collect();
    }
    let ends = blocks().filter_map(Block::terminator);
    ends.chain([around])
        .flat_map(Op::operands)
        .map(|value| (value, Some(around)))
        .collect()
}
