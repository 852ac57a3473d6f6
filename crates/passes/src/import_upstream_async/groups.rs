//! Groups as the tokens that have been added to them.
//!
//! Where an operation adds a token to a group, there is one more; where control goes on in another block or function, their join
//! goes on. What a task adds, its own token waits for, so that this is what the task adds to the group outside of it.

mod later;
mod summaries;

use self::summaries::{Summaries, Uses};
use super::refuse::callee;
use crate::utils::builders::new_else;
use crate::utils::carry::{self, Kind, pass_on};
use crate::utils::signature::Signature;
use crate::utils::tokens::{join, ready};
use async_dialects::names::{async_, upstream_async};
use async_dialects::types::{is_async_group, token};
use async_mlir::control_flow::{append, append_to_branch};
use async_mlir::ir::{Block, Definition, Op, OpBuilder, Region, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::func;
use async_mlir::pass::PassError;
use rustc_hash::FxHashSet;

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
        Threading::of(group, &summaries).run()?;
    }
    Ok(())
}

/// The rewriting of one group.
struct Threading<'a, 'c> {
    group: Value<'c>,
    uses: Uses<'c>,
    summaries: &'a Summaries<'c>,
    ty: Type<'c>,
}

/// What has been added to a group, at a place.
type Added<'c> = Vec<Value<'c>>;

fn add<'c>(added: &mut Added<'c>, token: Value<'c>) {
    if !added.contains(&token) {
        added.push(token);
    }
}

impl<'a, 'c> Threading<'a, 'c> {
    fn of(group: Value<'c>, summaries: &'a Summaries<'c>) -> Self {
        Self {
            group,
            uses: summaries.uses(group),
            summaries,
            ty: token(group.context()),
        }
    }

    fn run(self) -> Result<(), PassError<'c>> {
        for &task in &self.uses.awaiting_tasks {
            later::check(self.group, task, &self.uses)?;
        }
        match self.group.definition() {
            Definition::Result(create, _) => {
                let block = create.block().expect("a group is made in a block");
                let rest = std::iter::successors(create.next(), |op| op.next()).collect();
                self.blocks(block, rest, Vec::new(), false)?;
                create.erase();
            }
            Definition::Argument(entry, _) => {
                let function = entry.parent_op().expect("an argument of a function");
                self.group.set_type(self.ty);
                let added = vec![self.group];
                let adds = !self.uses.adding.is_empty();
                self.blocks(entry, entry.ops(), added, adds)?;
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

    /// Rewrites the blocks that are reached from `first`, in which `ops` come after the group is there. With `leaves`, what has been
    /// added is passed on where control leaves them.
    fn blocks(
        &self,
        first: Block<'c>,
        ops: Vec<Op<'c>>,
        added: Added<'c>,
        leaves: bool,
    ) -> Result<(), PassError<'c>> {
        let dominated = later::dominated(first);
        let is_added_to = |block: &Block<'c>| block.ops().iter().any(|op| self.uses.adding.contains(op));
        let varies = dominated.iter().any(is_added_to);
        let end = self.ops(ops, added)?;
        if dominated.is_empty() {
            self.leave(first, &end, leaves);
            return Ok(());
        }
        let end = self.one_at_end(first, &end);
        // An argument for each block, if what has been added is not the same in all.
        let starts: Vec<(Block, Value)> = dominated
            .into_iter()
            .map(|block| {
                let location = block.first().map_or(self.group.location(), Op::location);
                (
                    block,
                    if varies {
                        block.add_arg(self.ty, location)
                    } else {
                        end
                    },
                )
            })
            .collect();
        let mut ends = vec![(first, end)];
        for &(block, start) in &starts {
            let end = self.ops(block.ops(), vec![start])?;
            let has_successors = block.terminator().is_some_and(|op| op.successors().len() > 0);
            if varies && has_successors {
                ends.push((block, self.one_at_end(block, &end)));
            } else {
                self.leave(block, &end, leaves);
            }
        }
        if varies {
            let targets: FxHashSet<Block> = starts.iter().map(|(block, _)| *block).collect();
            Self::pass_to(&targets, &ends);
        }
        Ok(())
    }

    /// Has the branches to `targets` pass on what has been added; `ends` says what that is at the ends of the blocks that have them.
    fn pass_to(targets: &FxHashSet<Block<'c>>, ends: &[(Block<'c>, Value<'c>)]) {
        for &(block, end) in ends {
            let Some(terminator) = block.terminator() else {
                continue;
            };
            let successors: Vec<Block> = terminator.successors().collect();
            for (i, successor) in successors.iter().enumerate() {
                if targets.contains(successor) {
                    append_to_branch(terminator, i, &[end]);
                }
            }
        }
    }

    /// Passes on what has been added where control leaves `block` for what is around it.
    fn leave(&self, block: Block<'c>, added: &[Value<'c>], leaves: bool) {
        let terminator = block
            .terminator()
            .filter(|op| leaves && op.successors().len() == 0);
        if let Some(terminator) = terminator {
            let one = self.one(terminator, added);
            pass_on(terminator, &[one]);
        }
    }

    /// One token for `added`, before `op`.
    fn one(&self, op: Op<'c>, added: &[Value<'c>]) -> Value<'c> {
        match added {
            [] => ready(op.location(), self.ty).before(op).result(0),
            [token] => *token,
            _ => join(op.location(), added).before(op).result(0),
        }
    }

    fn one_at_end(&self, block: Block<'c>, added: &[Value<'c>]) -> Value<'c> {
        let terminator = block
            .terminator()
            .expect("a block among others ends with a branch");
        self.one(terminator, added)
    }

    /// Rewrites `ops`, one after the other; returns what has been added in the end.
    fn ops(&self, ops: Vec<Op<'c>>, mut added: Added<'c>) -> Result<Added<'c>, PassError<'c>> {
        for op in ops {
            if self.uses.touching.contains(&op) {
                added = self.op(op, added)?;
            }
        }
        Ok(added)
    }

    fn op(&self, op: Op<'c>, mut added: Added<'c>) -> Result<Added<'c>, PassError<'c>> {
        let adds = self.uses.adding.contains(&op);
        match op.name() {
            upstream_async::ADD_TO_GROUP => {
                add(&mut added, op.operand(0));
                op.erase();
                Ok(added)
            }
            upstream_async::AWAIT_ALL => {
                if !added.is_empty() {
                    let awaiting = OpBuilder::new(async_::AWAIT, op.location())
                        .operands(&added)
                        .before(op);
                    awaiting.copy_discardable_attrs(op);
                }
                op.erase();
                Ok(added)
            }
            func::CALL => Ok(self.call(op, &added)),
            upstream_async::EXECUTE => self.task(op, added),
            _ if !adds => {
                for block in op.regions().flat_map(Region::blocks) {
                    self.ops(block.ops(), added.clone())?;
                }
                Ok(added)
            }
            _ => match carry::kind(op) {
                Some(Kind::Loop) => self.carrying_loop(op, added),
                Some(Kind::Branch) => self.branch(op, added),
                None => {
                    let message =
                        "adds to a group that is made outside of it, and its body can't pass on a token";
                    let origin = "the group comes from here";
                    let help = "make a group inside, and await it there";
                    Err(PassError::new(op, message)
                        .note(self.group.location(), origin)
                        .note(op, help))
                }
            },
        }
    }

    fn call(&self, op: Op<'c>, added: &[Value<'c>]) -> Added<'c> {
        let one = self.one(op, added);
        let index = op.operands().position(|operand| operand == self.group);
        let index = index.expect("the group is an operand");
        op.set_operand(index, one);
        let adds = callee(op).is_some_and(|function| self.summaries.adds(function, index));
        if adds {
            let call = append(op, &[], &[self.ty]);
            vec![call.result(call.num_results() - 1)]
        } else {
            vec![one]
        }
    }

    fn task(&self, op: Op<'c>, mut added: Added<'c>) -> Result<Added<'c>, PassError<'c>> {
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

    fn carrying_loop(&self, op: Op<'c>, added: Added<'c>) -> Result<Added<'c>, PassError<'c>> {
        let start = self.one(op, &added);
        let op = append(op, &[start], &[self.ty]);
        for block in op.regions().filter_map(Region::first) {
            let start = block.add_arg(self.ty, op.location());
            let end = self.ops(block.ops(), vec![start])?;
            self.leave(block, &end, true);
        }
        Ok(vec![op.result(op.num_results() - 1)])
    }

    fn branch(&self, op: Op<'c>, added: Added<'c>) -> Result<Added<'c>, PassError<'c>> {
        let start = self.one(op, &added);
        let op = append(op, &[], &[self.ty]);
        for first in op.regions().filter_map(Region::first) {
            self.blocks(first, first.ops(), vec![start], true)?;
        }
        if carry::lacks_else(op) {
            new_else(op, &[start]);
        }
        Ok(vec![op.result(op.num_results() - 1)])
    }
}
