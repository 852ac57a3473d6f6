//! Rewrites values of type `!async.value<T>` as pairs of a token and a `T`.
//!
//! A value stays where it is, as a `T`; its token is appended to what it is among: results, arguments, operands. First everything
//! that defines a token is made, then all uses.

use crate::utils::region_values::pass_on;
use crate::utils::signature::Signature;
use async_dialects::names::{async_, upstream_async};
use async_dialects::types::{async_value_element, is_token, token};
use async_mlir::control_flow::{append, append_to_branch, branch_edges};
use async_mlir::ir::{Op, OpBuilder, Region, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::{arith, attr};
use rustc_hash::FxHashMap;

/// Rewrites all values in `module`.
pub(super) fn to_tokens(module: Op<'_>) {
    let mut tokens = Tokens {
        ty: token(module.context()),
        of: FxHashMap::default(),
        selects: Vec::new(),
    };
    for op in module.self_and_nested() {
        tokens.arguments(op);
        tokens.results(op);
    }
    // What is awaited is used as a `T` from then on, so these come last.
    let (last, first): (Vec<Op>, Vec<Op>) = module.self_and_nested().into_iter().partition(|op| unwraps(*op));
    for op in first.into_iter().chain(last) {
        tokens.uses(op);
    }
}

/// Returns true if `op` makes a `T` of values.
fn unwraps(op: Op<'_>) -> bool {
    matches!(op.name(), async_::AWAIT | upstream_async::EXECUTE)
}

/// The token of each value.
struct Tokens<'c> {
    ty: Type<'c>,
    of: FxHashMap<Value<'c>, Value<'c>>,
    /// The tokens of those that `arith.select` returns, whose operands are still those of the other operation.
    selects: Vec<Op<'c>>,
}

impl<'c> Tokens<'c> {
    /// Makes `value` a `T`, with this token.
    fn define(&mut self, value: Value<'c>, token: Value<'c>) {
        if let Some(element) = async_value_element(value.ty()) {
            value.set_type(element);
            self.of.insert(value, token);
        }
    }

    /// Makes tokens of the arguments of blocks in `op`.
    fn arguments(&mut self, op: Op<'c>) {
        for block in op.regions().flat_map(Region::blocks) {
            let args: Vec<Value> = block.args().collect();
            for arg in args {
                if async_value_element(arg.ty()).is_some() {
                    let token = block.add_arg(self.ty, arg.location());
                    self.define(arg, token);
                }
            }
        }
        if let Some(mut signature) = Signature::of(op) {
            let expanded = expand(&mut signature.inputs, self.ty);
            let is_task = op.is(async_::FUNC);
            if is_task {
                signature.results.retain(|ty| !is_token(*ty));
            }
            let values = expand(&mut signature.results, self.ty);
            if is_task {
                // One token for all.
                signature.results.truncate(signature.results.len() - values);
                signature.results.push(self.ty);
            }
            if expanded + values > 0 || is_task {
                signature.set(op);
            }
        }
    }

    /// Makes tokens of the results of `op`.
    fn results(&mut self, op: Op<'c>) {
        let count = op
            .results()
            .filter(|value| async_value_element(value.ty()).is_some())
            .count();
        match op.name() {
            upstream_async::EXECUTE => {
                for value in op.results().skip(1) {
                    self.define(value, op.result(0));
                }
            }
            async_::CALL => self.call(op),
            _ if count == 0 => {}
            arith::SELECT => {
                let operands: Vec<Value> = op.operands().collect();
                let select = OpBuilder::new(arith::SELECT, op.location())
                    .operands(&operands)
                    .results(&[self.ty])
                    .after(op);
                self.define(op.result(0), select.result(0));
                self.selects.push(select);
            }
            _ => {
                let first = op.num_results();
                let op = append(op, &[], &vec![self.ty; count]);
                let values: Vec<Value> = op.results().take(first).collect();
                let values = values
                    .into_iter()
                    .filter(|value| async_value_element(value.ty()).is_some());
                for (i, value) in values.enumerate() {
                    self.define(value, op.result(first + i));
                }
            }
        }
    }

    /// Makes a call of one that returns what is wrapped, and a token for all of it.
    fn call(&mut self, op: Op<'c>) {
        let (tokens, values): (Vec<Value>, Vec<Value>) =
            op.results().partition(|result| is_token(result.ty()));
        let mut types: Vec<Type> = values
            .iter()
            .filter_map(|value| async_value_element(value.ty()))
            .collect();
        types.push(self.ty);
        let operands: Vec<Value> = op.operands().collect();
        let mut call = OpBuilder::new(async_::CALL, op.location())
            .operands(&operands)
            .results(&types);
        for name in [attr::CALLEE, attr::ARG_ATTRS] {
            if let Some(attribute) = op.attr(name) {
                call = call.attr(name, attribute);
            }
        }
        let call = call.before(op);
        call.copy_discardable_attrs(op);
        let token = call.result(values.len());
        for (i, value) in values.into_iter().enumerate() {
            value.replace_all_uses_with(call.result(i));
            self.of.insert(call.result(i), token);
        }
        for old in tokens {
            old.replace_all_uses_with(token);
        }
        op.erase();
    }

    /// Passes tokens on wherever `op` uses values.
    fn uses(&mut self, op: Op<'c>) {
        if self.selects.contains(&op) {
            let operands: Vec<Value> = op.operands().collect();
            let tokens = operands.iter().map(|value| self.of.get(value).unwrap_or(value));
            op.set_operands(&tokens.copied().collect::<Vec<_>>());
            return;
        }
        let tokens: Vec<Value> = op
            .operands()
            .filter_map(|value| self.of.get(&value).copied())
            .collect();
        if tokens.is_empty() {
            return;
        }
        match op.name() {
            async_::AWAIT => {
                let value = op.operand(0);
                OpBuilder::new(async_::AWAIT, op.location())
                    .operands(&tokens)
                    .before(op)
                    .copy_discardable_attrs(op);
                op.replace_with(&[value]);
            }
            upstream_async::ADD_TO_GROUP => op.set_operand(0, tokens[0]),
            upstream_async::EXECUTE => self.execute(op, &tokens),
            arith::SELECT => {}
            _ if op.successors().len() > 0 => self.branch(op),
            // Loops, what ends regions and functions, calls.
            _ => pass_on(op, &tokens),
        }
    }

    /// Has a task depend on `tokens`, and use what it takes directly.
    fn execute(&mut self, op: Op<'c>, tokens: &[Value<'c>]) {
        let (values, mut dependencies): (Vec<Value>, Vec<Value>) =
            op.operands().partition(|value| self.of.contains_key(value));
        dependencies.extend(tokens);
        if let Some(body) = op.region(0).first() {
            for (i, value) in values.into_iter().enumerate() {
                body.arg(i).replace_all_uses_with(value);
            }
            (0..body.num_args()).rev().for_each(|i| body.erase_arg(i));
        }
        op.set_operands(&dependencies);
    }

    fn branch(&self, op: Op<'c>) {
        let edges = branch_edges(op).unwrap_or_default();
        for (i, edge) in edges.iter().enumerate() {
            let passed = edge.bindings.iter();
            let tokens: Vec<Value> = passed
                .filter_map(|(from, _)| self.of.get(from).copied())
                .collect();
            append_to_branch(op, i, &tokens);
        }
    }
}

/// Has `types` be what is wrapped, and the tokens come after. Returns how many there are.
fn expand<'c>(types: &mut Vec<Type<'c>>, token: Type<'c>) -> usize {
    let mut count = 0;
    for ty in types.iter_mut() {
        if let Some(element) = async_value_element(*ty) {
            *ty = element;
            count += 1;
        }
    }
    types.extend(std::iter::repeat_n(token, count));
    count
}
