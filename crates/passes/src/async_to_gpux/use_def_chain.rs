//! Follows the use-def chain from a store to the load of what it stores: through casts, and through choices
//! between what is loaded and zeros.
//!
//! A choice is an `arith.select`, or a result of an `scf.if` that does nothing but read: what is loaded under
//! a condition, and is zeros otherwise, is a copy that reads nothing otherwise.

use super::reason::Reason;
use super::sides::{self, FILL, Source, is_zero};
use super::speculation::is_speculatable;
use super::transfer_nests::only_reads;
use crate::analysis::memory::{Effects, effects};
use async_mlir::ir::{Block, Definition, Op, Value};
use async_mlir::names::{arith, scf, vector};
use async_mlir::types::vector_shape;

/// A condition, and what it is where something is read.
pub(super) type Guard<'c> = (Value<'c>, bool);

/// An operation, and the branch that it is moved out of.
pub(super) type Moved<'c> = (Op<'c>, Op<'c>);

/// The use-def chain from a store back to the load.
pub(super) struct UseDefChain<'c> {
    /// Each operation after those that use it; the last one is the load.
    pub ops: Vec<Op<'c>>,
    /// What is handed on.
    values: Vec<Value<'c>>,
    guards: Vec<Guard<'c>>,
    /// Masks of vectors, each with the number of operations up to the choice.
    masks: Vec<(Value<'c>, usize)>,
    /// Branches that the value comes out of, outermost first.
    branches: Vec<Op<'c>>,
}

impl<'c> UseDefChain<'c> {
    /// The way back from `value`, which `store` stores, to what may be a load; `None` if it does not begin with an operation.
    pub fn to(store: Op<'c>, mut value: Value<'c>) -> Result<Option<Self>, Reason<'c>> {
        let mut chain = Self {
            ops: vec![store],
            values: Vec::new(),
            guards: Vec::new(),
            masks: Vec::new(),
            branches: Vec::new(),
        };
        loop {
            let Definition::Result(op, number) = value.definition() else {
                return Ok(None);
            };
            chain.values.push(value);
            chain.ops.push(op);
            let choice = match op.name() {
                arith::BITCAST | vector::BITCAST | vector::SHAPE_CAST => {
                    value = op.operand(0);
                    continue;
                }
                arith::SELECT => [op.operand(1), op.operand(2)],
                scf::IF => {
                    let yielded = |i| Some(op.region(i).first()?.terminator()?.operand(number));
                    let (Some(then), Some(other)) = (yielded(0), yielded(1)) else {
                        return Ok(None);
                    };
                    chain.branches.push(op);
                    [then, other]
                }
                _ => return Ok(Some(chain)),
            };
            let when = match choice.map(is_zero) {
                [_, true] => true,
                [true, false] => false,
                [false, false] => return not_zeros(op, choice),
            };
            value = choice[usize::from(!when)];
            let condition = op.operand(0);
            if vector_shape(condition.ty()).is_none() {
                chain.guards.push((condition, when));
            } else if when {
                chain.masks.push((condition, chain.ops.len()));
            } else {
                return Err(Reason::new(
                    "reads where a mask is off, but a copy leaves the last elements out",
                ));
            }
        }
    }

    /// The last operation.
    pub fn load(&self) -> Op<'c> {
        self.ops[self.ops.len() - 1]
    }

    /// Returns an error if something else uses what is handed on, or a branch does more than to read.
    pub fn check_uses(&self) -> Result<(), Reason<'c>> {
        let is_own = |user: Op<'c>| {
            let masked = |own: &Op<'c>| own.is(vector::MASK) && own.is_ancestor_of(user);
            let is_yield =
                || user.is_terminator() && user.parent().is_some_and(|op| self.branches.contains(&op));
            self.ops.iter().any(|own| *own == user || masked(own)) || is_yield()
        };
        let mut users = self
            .values
            .iter()
            .flat_map(|value| value.uses())
            .map(|it| it.owner);
        if let Some(other) = users.find(|user| !is_own(*user)) {
            let message = "stores what is also used otherwise, so it has to be loaded anyway";
            return Err(Reason::new(message).note(other, "it is used here"));
        }
        for branch in &self.branches {
            let nested = branch.self_and_nested().into_iter();
            let mut others = nested.filter(|op| op != branch && !only_reads(*op) && !only_computes(*op));
            if let Some(other) = others.next() {
                let message = "is loaded in a branch that does more than to load";
                return Err(Reason::new(message).note(other, "move this out of it"));
            }
        }
        Ok(())
    }

    /// Has `source` read what the choices choose.
    pub fn add_choices(&self, source: &mut Source<'c>) -> Result<(), Reason<'c>> {
        source.guards.extend(&self.guards);
        for (mask, position) in &self.masks {
            if self.ops[*position..].len() > 1 {
                let message = "has a mask of elements that are cast or chosen among before";
                return Err(Reason::new(message).help("mask the load itself"));
            }
            sides::add_mask(&mut source.bounds, *mask)?;
        }
        Ok(())
    }

    /// What is read first of all, in the block of `store`: the load, or the branch that it is in.
    pub fn first_in_block_of(&self, store: Op<'c>) -> Option<Op<'c>> {
        let load = self.load();
        if load.block() == store.block() {
            return Some(load);
        }
        let mut around = load.ancestors();
        let around = around.find(|op| op.block() == store.block());
        around.filter(|op| self.branches.contains(op))
    }

    /// What the address in `source` is computed by in branches, in order.
    pub fn moved(&self, source: &Source<'c>) -> Result<Vec<Moved<'c>>, Reason<'c>> {
        let mut moved = Vec::new();
        for value in source.values() {
            for branch in &self.branches {
                find_moved(value, *branch, &mut moved)?;
            }
        }
        Ok(moved)
    }
}

/// Returns true if `op` does nothing to memory, though it may have to be executed under a condition, as a division.
fn only_computes(op: Op<'_>) -> bool {
    op.num_regions() == 0 && matches!(effects(op), Effects::Known(effects) if effects.is_empty())
}

/// Nothing is chosen if neither is zeros; an error if one of them is loaded from elsewhere than memory of the workgroup.
fn not_zeros<'c>(op: Op<'c>, choice: [Value<'c>; 2]) -> Result<Option<UseDefChain<'c>>, Reason<'c>> {
    let loads = choice.into_iter().filter_map(Value::defining_op);
    let mut loads = loads.filter(|op| sides::loaded_memory(*op).is_some());
    match loads.next() {
        Some(load) => Err(Reason::new(FILL)
            .note(op, "chosen here")
            .note(load, "it is loaded here")),
        None => Ok(None),
    }
}

/// Adds to `moved` what `value` is computed by in `branch`, each operation after its operands.
pub(super) fn find_moved<'c>(
    value: Value<'c>,
    branch: Op<'c>,
    moved: &mut Vec<Moved<'c>>,
) -> Result<(), Reason<'c>> {
    let op = match value.definition() {
        Definition::Result(op, _) => op,
        Definition::Argument(block, _) => {
            let around = block.parent_op();
            if around.is_some_and(|around| branch.is_ancestor_of(around)) {
                return Err(Reason::new("has an address that only its branch knows"));
            }
            return Ok(());
        }
    };
    if !branch.is_ancestor_of(op) || moved.iter().any(|(known, _)| *known == op) {
        return Ok(());
    }
    if !is_speculatable(op) {
        let message = "has an address that may be computed in its branch only";
        let reason = Reason::new(message).note(op, "compute this before the branch");
        return Err(reason);
    }
    for operand in op.operands() {
        find_moved(operand, branch, moved)?;
    }
    moved.push((op, branch));
    Ok(())
}

/// The two arms of an `scf.if`, of which one stores zeros.
pub(super) struct Arms<'c> {
    /// True if the first arm is the one that transfers.
    pub when: bool,
    /// What the arm that transfers does.
    ops: Vec<Op<'c>>,
    /// The stores of that arm.
    pub stores: Vec<Op<'c>>,
    /// The stores of zeros.
    pub zeros: Vec<Op<'c>>,
}

impl<'c> Arms<'c> {
    /// The arms of `op`; `None` if it is no `scf.if` that stores in both, and zeros in one.
    pub fn of(op: Op<'c>) -> Option<Self> {
        if !op.is(scf::IF) || op.num_results() > 0 {
            return None;
        }
        let [then, other] = [0, 1].map(|i| op.region(i).first().map(Block::ops));
        let (then, other) = (then?, other?);
        let (when, ops, zeros) = match (zeros(&then), zeros(&other)) {
            (None, Some(zeros)) => (true, then, zeros),
            (Some(zeros), None) => (false, other, zeros),
            _ => return None,
        };
        let stores = ops.iter().copied().filter(|op| sides::stored(*op).is_some());
        let stores: Vec<Op> = stores.collect();
        (!stores.is_empty()).then_some(Self {
            when,
            ops,
            stores,
            zeros,
        })
    }

    /// What the arm that transfers does besides `parts`.
    pub fn other(&self, parts: &[Op<'c>]) -> Option<Op<'c>> {
        let is_part = |op: &Op<'c>| parts.contains(op) || op.is_pure() || op.is_terminator();
        self.ops.iter().copied().find(|op| !is_part(op))
    }
}

/// The stores of an arm that does nothing but to store zeros.
fn zeros<'c>(arm: &[Op<'c>]) -> Option<Vec<Op<'c>>> {
    let mut found = Vec::new();
    for &op in arm {
        match sides::stored(op) {
            Some((value, _)) if is_zero(value) => found.push(op),
            None if op.is_pure() || op.is_terminator() => {}
            _ => return None,
        }
    }
    (!found.is_empty()).then_some(found)
}
