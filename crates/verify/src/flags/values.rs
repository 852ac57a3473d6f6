//! Finds the operations of engines that make a value, through whatever runs on none.

use async_dialects::completion::engine_name;
use async_mlir::ir::{Block, Definition, Op, Region, Value};
use async_mlir::names::{memref, scf};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::rc::Rc;

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

/// Finds sources, and keeps what it has found: each value is looked at once, and what arguments of blocks are made of once for all
/// values that are made of the same ones.
#[derive(Default)]
pub(super) struct Sources<'c> {
    parts: Vec<Part<'c>>,
    numbers: FxHashMap<Part<'c>, usize>,
    parts_of: FxHashMap<Value<'c>, Rc<[usize]>>,
    /// By the parts, the operations that make what is made of them.
    made: FxHashMap<Rc<[usize]>, Rc<[Source<'c>]>>,
}

/// What a value is made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part<'c> {
    /// The operation of an engine.
    Op(Op<'c>),
    /// An argument of a block, or what is made of itself.
    Value(Value<'c>),
}

impl<'c> Sources<'c> {
    /// The operations of engines that `value` is made by.
    pub fn of(&mut self, value: Value<'c>) -> Rc<[Source<'c>]> {
        let parts = self.parts_of(value);
        if let Some(known) = self.made.get(&parts) {
            return Rc::clone(known);
        }
        let mut found = Vec::new();
        let mut seen = FxHashSet::default();
        let mut work: Vec<(usize, Option<Op>)> = parts.iter().map(|part| (*part, None)).collect();
        while let Some((part, carried)) = work.pop() {
            if !seen.insert((part, carried)) {
                continue;
            }
            match self.parts[part] {
                Part::Op(op) => found.push(Source { op, carried }),
                Part::Value(value) => {
                    for (value, next) in made_by(value) {
                        let carried = outer(carried, next);
                        work.extend(self.parts_of(value).iter().map(|part| (*part, carried)));
                    }
                }
            }
        }
        let found: Rc<[Source]> = found.into();
        self.made.insert(parts, Rc::clone(&found));
        found
    }

    /// The numbers of what `value` is made of, in order.
    fn parts_of(&mut self, value: Value<'c>) -> Rc<[usize]> {
        let mut work = vec![value];
        // Those whose parts are being looked for.
        let mut open = FxHashSet::default();
        while let Some(&value) = work.last() {
            if self.parts_of.contains_key(&value) {
                work.pop();
                continue;
            }
            let made_by = match value.definition() {
                Definition::Result(op, index) if engine_name(op).is_none() => made_of(op, index),
                _ => Vec::new(),
            };
            if open.insert(value) {
                let unknown = made_by.into_iter();
                work.extend(
                    unknown.filter(|value| !open.contains(value) && !self.parts_of.contains_key(value)),
                );
                continue;
            }
            let parts = self.unite(value, &made_by);
            self.parts_of.insert(value, parts);
            work.pop();
        }
        Rc::clone(&self.parts_of[&value])
    }

    /// What `value` is made of, where that is known of `made_by`, but for what is made of itself.
    fn unite(&mut self, value: Value<'c>, made_by: &[Value<'c>]) -> Rc<[usize]> {
        let own = match value.definition() {
            Definition::Result(op, _) if engine_name(op).is_some() => Some(Part::Op(op)),
            Definition::Argument(block, index) if !handed_to(block, index).is_empty() => {
                Some(Part::Value(value))
            }
            _ => None,
        };
        let mut parts: Vec<Rc<[usize]>> = Vec::new();
        parts.extend(own.map(|own| Rc::from([self.number(own)])));
        for value in made_by {
            let known = self.parts_of.get(value).cloned();
            let known = known.unwrap_or_else(|| Rc::from([self.number(Part::Value(*value))]));
            if !known.is_empty() && !parts.contains(&known) {
                parts.push(known);
            }
        }
        if let [one] = &parts[..] {
            return Rc::clone(one);
        }
        let all: BTreeSet<usize> = parts.iter().flat_map(|parts| parts.iter().copied()).collect();
        all.into_iter().collect()
    }

    fn number(&mut self, part: Part<'c>) -> usize {
        let next = self.parts.len();
        let number = *self.numbers.entry(part).or_insert(next);
        if number == next {
            self.parts.push(part);
        }
        number
    }
}

/// What makes `value`, which no engine does, and if that is of an earlier iteration, of which loop.
fn made_by(value: Value<'_>) -> Vec<(Value<'_>, Option<Op<'_>>)> {
    match value.definition() {
        Definition::Result(op, index) => made_of(op, index)
            .into_iter()
            .map(|value| (value, None))
            .collect(),
        Definition::Argument(block, index) => handed_to(block, index),
    }
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
