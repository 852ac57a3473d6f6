//! Constructs SSA form for a variable whose state is a list of tokens.
//!
//! Something in upstream's programs has tokens as its state, which operations change: a group those that were added to it, a stream
//! the last that was enqueued there. Its state at each place is a list of tokens. Where control goes on in another block, one token that
//! is complete when all of them are goes on.

use super::builders::new_else;
use super::region_values::{self, RegionOpKind, pass_on};
use async_mlir::control_flow::{append, append_to_branch};
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value};
use async_mlir::melior::ir::{Location, Type};
use async_mlir::pass::PassError;
use rustc_hash::FxHashSet;

/// The state of a variable at a place: its tokens there.
pub(crate) type TokenState<'c> = Vec<Value<'c>>;

/// A variable, and what operations do with it: SSA form is constructed for each implementor.
pub(crate) trait TokenVariable<'c> {
    /// The type of its tokens.
    fn ty(&self) -> Type<'c>;

    /// Where it comes from, for messages and for what has no place.
    fn location(&self) -> Location<'c>;

    /// Returns true if `op`, or something in it, uses the variable.
    fn is_touched_by(&self, op: Op<'c>) -> bool;

    /// Returns true if `op`, or something in it, changes the variable.
    fn is_changed_by(&self, op: Op<'c>) -> bool;

    /// A token that is complete when all of `tokens` are.
    fn join(&self, location: Location<'c>, tokens: &[Value<'c>]) -> OpBuilder<'c>;

    /// Rewrites `op` if it uses the variable itself, and returns the state after it. `None` if only operations in `op` use it, and
    /// `op` does no more than to run them.
    fn access(&self, op: Op<'c>, state: &TokenState<'c>) -> Result<Option<TokenState<'c>>, PassError<'c>>;

    /// Why the state can't be passed on through `op`.
    fn refusal(&self, op: Op<'c>) -> PassError<'c>;

    /// One token for `state`, before `op`.
    fn one(&self, op: Op<'c>, state: &[Value<'c>]) -> Value<'c> {
        match state {
            [token] => *token,
            _ => self.join(op.location(), state).before(op).result(0),
        }
    }

    /// Rewrites `ops`, one after the other; returns the state in the end.
    fn ops(&self, ops: Vec<Op<'c>>, mut state: TokenState<'c>) -> Result<TokenState<'c>, PassError<'c>> {
        for op in ops {
            if self.is_touched_by(op) {
                state = match self.access(op, &state)? {
                    Some(state) => state,
                    None => self.inside(op, state)?,
                };
            }
        }
        Ok(state)
    }

    /// Rewrites the operations in `op`.
    fn inside(&self, op: Op<'c>, state: TokenState<'c>) -> Result<TokenState<'c>, PassError<'c>> {
        if !self.is_changed_by(op) {
            for block in op.regions().flat_map(Region::blocks) {
                self.ops(block.ops(), state.clone())?;
            }
            return Ok(state);
        }
        let kind = region_values::region_op_kind(op).ok_or_else(|| self.refusal(op))?;
        let start = self.one(op, &state);
        let inits: &[Value] = if kind == RegionOpKind::Loop { &[start] } else { &[] };
        let op = append(op, inits, &[self.ty()]);
        for first in op.regions().filter_map(Region::first) {
            let start = if kind == RegionOpKind::Loop {
                first.add_arg(self.ty(), op.location())
            } else {
                start
            };
            self.blocks(first, first.ops(), vec![start], true)?;
        }
        if region_values::lacks_else(op) {
            new_else(op, &[start]);
        }
        Ok(vec![op.result(op.num_results() - 1)])
    }

    /// Rewrites the blocks that are reached from `first`, of which `ops` are rewritten. With `leaves`, the state is passed on where
    /// control leaves them.
    fn blocks(
        &self,
        first: Block<'c>,
        ops: Vec<Op<'c>>,
        state: TokenState<'c>,
        leaves: bool,
    ) -> Result<(), PassError<'c>> {
        let dominated = dominated(first);
        let varies = dominated
            .iter()
            .any(|block| block.ops().into_iter().any(|op| self.is_changed_by(op)));
        let end = self.ops(ops, state)?;
        if dominated.is_empty() {
            self.leave(first, &end, leaves);
            return Ok(());
        }
        let end = self.one_at_end(first, &end);
        // An argument for each block, if the state is not the same in all.
        let starts: Vec<(Block, Value)> = dominated
            .into_iter()
            .map(|block| {
                let location = block.first().map_or(self.location(), Op::location);
                (
                    block,
                    if varies {
                        block.add_arg(self.ty(), location)
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
            pass_to(&starts.iter().map(|(block, _)| *block).collect(), &ends);
        }
        Ok(())
    }

    /// Passes the state on where control leaves `block` for what is around it.
    fn leave(&self, block: Block<'c>, state: &[Value<'c>], leaves: bool) {
        let terminator = block
            .terminator()
            .filter(|op| leaves && op.successors().len() == 0);
        if let Some(terminator) = terminator {
            let one = self.one(terminator, state);
            pass_on(terminator, &[one]);
        }
    }

    /// One token for `state`, at the end of `block`.
    fn one_at_end(&self, block: Block<'c>, state: &[Value<'c>]) -> Value<'c> {
        let terminator = block
            .terminator()
            .expect("a block among others ends with a branch");
        self.one(terminator, state)
    }
}

/// Has the branches to `targets` pass on the state; `ends` says what it is at the ends of the blocks that have them.
fn pass_to<'c>(targets: &FxHashSet<Block<'c>>, ends: &[(Block<'c>, Value<'c>)]) {
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

/// The other blocks of the region of `first` that control reaches by way of it alone, or never.
fn dominated(first: Block<'_>) -> Vec<Block<'_>> {
    let Some(region) = first.region() else {
        return Vec::new();
    };
    let mut others: FxHashSet<Block> = FxHashSet::from_iter([first]);
    let mut stack = Vec::from_iter(region.first().filter(|entry| *entry != first));
    while let Some(block) = stack.pop() {
        if others.insert(block) {
            stack.extend(block.terminator().into_iter().flat_map(Op::successors));
        }
    }
    let mut blocks = region.blocks();
    blocks.retain(|block| !others.contains(block));
    blocks
}
