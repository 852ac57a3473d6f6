//! Rewrites groups as the tokens that have been added to them.
//!
//! Where an operation adds a token to a group, there is one more; where control goes on in another block or function, their join
//! goes on. What a task adds, its own token waits for, so that this is what the task adds to the group outside of it.

mod late_additions;
mod summaries;

use self::summaries::{Summaries, Uses};
use super::legality::callee;
use crate::utils::region_values::pass_on;
use crate::utils::signature::Signature;
use crate::utils::token_variable::{TokenState, TokenVariable};
use crate::utils::tokens::{join, ready};
use async_dialects::names::{async_, upstream_async};
use async_dialects::types::{is_async_group, token};
use async_mlir::control_flow::append;
use async_mlir::ir::{Definition, Op, OpBuilder, Region, Value};
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::func;
use async_mlir::pass::PassError;

/// Rewrites all groups in `module`.
pub(super) fn to_joins(module: Op<'_>) -> Result<(), PassError<'_>> {
    let summaries = Summaries::of(module)?;
    let groups: Vec<Value> = module
        .self_and_nested()
        .into_iter()
        .flat_map(|op| {
            let arguments = op
                .regions()
                .filter_map(Region::first)
                .flat_map(|entry| entry.args().collect::<Vec<_>>());
            op.results().chain(arguments).collect::<Vec<_>>()
        })
        .filter(|value| is_async_group(value.ty()))
        .collect();
    for group in groups {
        Group::of(group, &summaries).rewrite()?;
    }
    Ok(())
}

/// One group.
struct Group<'a, 'c> {
    value: Value<'c>,
    uses: Uses<'c>,
    summaries: &'a Summaries<'c>,
    ty: Type<'c>,
}

fn add<'c>(added: &mut TokenState<'c>, token: Value<'c>) {
    if !added.contains(&token) {
        added.push(token);
    }
}

impl<'a, 'c> Group<'a, 'c> {
    fn of(value: Value<'c>, summaries: &'a Summaries<'c>) -> Self {
        Self {
            value,
            uses: summaries.uses(value),
            summaries,
            ty: token(value.context()),
        }
    }

    fn rewrite(self) -> Result<(), PassError<'c>> {
        for &task in &self.uses.awaiting_tasks {
            late_additions::check(self.value, task, &self.uses)?;
        }
        match self.value.definition() {
            Definition::Result(create, _) => {
                let block = create.block().expect("a group is made in a block");
                let rest = std::iter::successors(create.next(), |op| op.next()).collect();
                self.blocks(block, rest, Vec::new(), false)?;
                create.erase();
            }
            Definition::Argument(entry, _) => {
                let function = entry.parent_op().expect("an argument of a function");
                self.value.set_type(self.ty);
                let adds = !self.uses.adding.is_empty();
                self.blocks(entry, entry.ops(), vec![self.value], adds)?;
                let mut signature = Signature::of(function).expect("a function has a type");
                signature.inputs = entry.args().map(Value::ty).collect();
                if adds {
                    signature.results.push(self.ty);
                }
                signature.set(function);
            }
        }
        Ok(())
    }

    fn call(&self, op: Op<'c>, added: &[Value<'c>]) -> TokenState<'c> {
        let one = self.one(op, added);
        let index = op.operands().position(|operand| operand == self.value);
        let index = index.expect("the group is an operand");
        op.set_operand(index, one);
        if callee(op).is_some_and(|function| self.summaries.adds(function, index)) {
            let call = append(op, &[], &[self.ty]);
            vec![call.result(call.num_results() - 1)]
        } else {
            vec![one]
        }
    }

    fn task(&self, op: Op<'c>, mut added: TokenState<'c>) -> Result<TokenState<'c>, PassError<'c>> {
        let awaits = self.uses.awaiting.contains(&op);
        let body = op.region(0).first().expect("a task has a body");
        let start = if awaits { added.clone() } else { Vec::new() };
        let end = self.ops(body.ops(), start.clone())?;
        if self.uses.adding.contains(&op) {
            let own: Vec<Value> = end.into_iter().filter(|token| !start.contains(token)).collect();
            let terminator = body.terminator().expect("a body has a terminator");
            pass_on(terminator, &own);
            add(&mut added, op.result(0));
        }
        Ok(added)
    }
}

impl<'c> TokenVariable<'c> for Group<'_, 'c> {
    fn ty(&self) -> Type<'c> {
        self.ty
    }

    fn location(&self) -> Location<'c> {
        self.value.location()
    }

    fn is_touched_by(&self, op: Op<'c>) -> bool {
        self.uses.touching.contains(&op)
    }

    fn is_changed_by(&self, op: Op<'c>) -> bool {
        self.uses.adding.contains(&op)
    }

    fn join(&self, location: Location<'c>, tokens: &[Value<'c>]) -> OpBuilder<'c> {
        if tokens.is_empty() {
            ready(location, self.ty)
        } else {
            join(location, tokens)
        }
    }

    fn access(&self, op: Op<'c>, added: &TokenState<'c>) -> Result<Option<TokenState<'c>>, PassError<'c>> {
        let mut added = added.clone();
        match op.name() {
            upstream_async::ADD_TO_GROUP => {
                add(&mut added, op.operand(0));
                op.erase();
            }
            upstream_async::AWAIT_ALL => {
                if !added.is_empty() {
                    let awaiting = OpBuilder::new(async_::AWAIT, op.location())
                        .operands(&added)
                        .before(op);
                    awaiting.copy_discardable_attrs(op);
                }
                op.erase();
            }
            func::CALL => added = self.call(op, &added),
            upstream_async::EXECUTE => added = self.task(op, added)?,
            _ => return Ok(None),
        }
        Ok(Some(added))
    }

    fn refusal(&self, op: Op<'c>) -> PassError<'c> {
        let message = "adds to a group that is made outside of it, and its body can't pass on a token";
        PassError::new(op, message)
            .note(self.value.location(), "the group comes from here")
            .note(op, "make a group inside, and await it there")
    }
}
