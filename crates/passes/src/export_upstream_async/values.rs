//! Inserts awaits of `!async.value`s where programs use what they wrap.
//!
//! A value may be used once its token is complete, so to await it there does not block. It is awaited once for all that comes after in
//! a block: where its token is awaited, or else before its first use.

use super::Futures;
use crate::utils::complete_tokens::CompleteTokens;
use async_dialects::names::{async_, upstream_async};
use async_dialects::types::{async_value_element, is_token};
use async_mlir::ir::{Block, Definition, Op, OpBuilder, Region, Value};
use async_mlir::melior::ir::attribute::DenseI32ArrayAttribute;
use async_mlir::names::attr;
use rustc_hash::{FxHashMap, FxHashSet};

/// Awaits the values in `module` that are used as what they wrap.
pub(super) fn unwrap<'c>(module: Op<'c>, futures: &Futures<'c>) {
    let mut all: FxHashMap<Value, Vec<Value>> = FxHashMap::default();
    for (&value, &token) in &futures.0 {
        all.entry(token).or_default().push(value);
    }
    let mut unwrapping = Unwrapping {
        futures,
        all,
        complete: CompleteTokens::new(),
        wrapped: vec![FxHashMap::default()],
    };
    for block in module.regions().flat_map(Region::blocks) {
        unwrapping.block(block, &[]);
    }
}

struct Unwrapping<'a, 'c> {
    futures: &'a Futures<'c>,
    /// The values that are complete with each token.
    all: FxHashMap<Value<'c>, Vec<Value<'c>>>,
    complete: CompleteTokens<'c>,
    /// What values wrap, where that is known, for each block around.
    wrapped: Vec<FxHashMap<Value<'c>, Value<'c>>>,
}

impl<'c> Unwrapping<'_, 'c> {
    /// Goes through `block`, where what is in `known` wraps what.
    fn block(&mut self, block: Block<'c>, known: &[(Value<'c>, Value<'c>)]) {
        self.complete.enter();
        self.wrapped.push(known.iter().copied().collect());
        for op in block.ops() {
            match op.name() {
                async_::AWAIT => self.await_tokens(op),
                upstream_async::EXECUTE => self.task(op),
                _ => self.op(op),
            }
        }
        self.wrapped.pop();
        self.complete.leave();
    }

    /// Has `op` use what values wrap, and goes through its regions.
    fn op(&mut self, op: Op<'c>) {
        let operands: Vec<Value> = op.operands().collect();
        for (i, value) in operands.into_iter().enumerate() {
            if self.futures.0.contains_key(&value) {
                let wrapped = self
                    .wrapped_by(value)
                    .unwrap_or_else(|| self.await_value(op, value));
                op.set_operand(i, wrapped);
            }
        }
        for block in op.regions().flat_map(Region::blocks) {
            self.block(block, &[]);
        }
    }

    /// What `value` wraps, if that is known here.
    fn wrapped_by(&self, value: Value<'c>) -> Option<Value<'c>> {
        self.wrapped
            .iter()
            .rev()
            .find_map(|known| known.get(&value).copied())
    }

    /// Awaits `value` before `op`.
    fn await_value(&mut self, op: Op<'c>, value: Value<'c>) -> Value<'c> {
        let element = async_value_element(value.ty()).expect("an async value");
        let wrapped = OpBuilder::new(async_::AWAIT, op.location())
            .operands(&[value])
            .results(&[element])
            .before(op)
            .result(0);
        self.wrapped
            .last_mut()
            .expect("the outermost")
            .insert(value, wrapped);
        wrapped
    }

    /// Upstream's await has one operand. What is complete then and used later is awaited, too.
    fn await_tokens(&mut self, op: Op<'c>) {
        for token in op.operands().collect::<Vec<_>>() {
            OpBuilder::new(async_::AWAIT, op.location())
                .operands(&[token])
                .before(op)
                .copy_discardable_attrs(op);
            for value in self.learn(token) {
                let used = |owner: Op<'c>| {
                    let inside = std::iter::once(owner).chain(owner.ancestors());
                    inside
                        .into_iter()
                        .any(|other| other.block() == op.block() && op.is_before_in_block(other))
                };
                if value.uses().iter().any(|found| used(found.owner)) {
                    self.await_value(op, value);
                }
            }
        }
        op.erase();
    }

    /// Learns that `token` is complete. Returns the values that are by that, and were not known to be.
    fn learn(&mut self, token: Value<'c>) -> Vec<Value<'c>> {
        let mut values = Vec::new();
        let mut stack = vec![token];
        let mut seen: FxHashSet<Value> = FxHashSet::default();
        while let Some(token) = stack.pop() {
            if !seen.insert(token) || self.complete.contains(token) {
                continue;
            }
            let known = self.all.get(&token).into_iter().flatten();
            values.extend(known.copied().filter(|value| self.wrapped_by(*value).is_none()));
            let task = token.defining_op().filter(|op| op.is(upstream_async::EXECUTE));
            // The first is on top.
            let dependencies = task.into_iter().flat_map(|op| op.operands().rev());
            stack.extend(dependencies.filter(|value| is_token(value.ty())));
        }
        self.complete.learn(token);
        // In the order in which they were written.
        values.sort_by_key(|value| match value.definition() {
            Definition::Result(_, index) | Definition::Argument(_, index) => index,
        });
        values
    }

    /// A task takes what its dependencies complete as operands.
    fn task(&mut self, op: Op<'c>) {
        let dependencies: Vec<Value> = op.operands().collect();
        self.complete.enter();
        let mut available: Vec<Value> = Vec::new();
        for &token in &dependencies {
            available.extend(self.learn(token));
        }
        let body = op.region(0).first().expect("a task has a body");
        let is_used = |value: &Value<'c>| {
            value
                .uses()
                .iter()
                .any(|found| op != found.owner && op.is_ancestor_of(found.owner))
        };
        available.retain(is_used);
        let known: Vec<(Value, Value)> = available
            .iter()
            .map(|&value| {
                let element = async_value_element(value.ty()).expect("an async value");
                (value, body.add_arg(element, op.location()))
            })
            .collect();
        set_operands(op, &dependencies, &available);
        self.block(body, &known);
        self.complete.leave();
    }
}

fn set_operands<'c>(task: Op<'c>, dependencies: &[Value<'c>], values: &[Value<'c>]) {
    task.set_operands(&[dependencies, values].concat());
    let sizes =
        [dependencies, values].map(|group| i32::try_from(group.len()).expect("a task has few operands"));
    let sizes = DenseI32ArrayAttribute::new(task.context(), &sizes);
    task.set_attr(attr::OPERAND_SEGMENT_SIZES, sizes.into());
}
