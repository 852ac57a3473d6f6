//! Where operations are in a loop or a function, and which of two is executed first.

use super::super::accesses::Conditions;
use async_mlir::control_flow::{constant_trip_count, may_repeat};
use async_mlir::ir::{Block, Definition, Op, Value};
use async_mlir::names::scf;
use rustc_hash::FxHashSet;

/// An operation, and what it is nested in: operations with their blocks, from the outermost one to itself.
#[derive(Clone)]
pub(super) struct Path<'c>(Vec<(Block<'c>, Op<'c>)>);

/// A condition for an operation to be executed, by one of the operations around it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Guard<'c> {
    /// None: it is executed.
    Sure,
    /// This loop runs.
    Loop(Op<'c>),
    /// This condition is true, or false.
    Condition(Value<'c>, bool),
    /// That is not known.
    Unknown,
}

impl<'c> Path<'c> {
    /// The path to `op` from `root`, which it is in.
    pub fn of(root: Op<'c>, op: Op<'c>) -> Self {
        let inside = op.ancestors().take_while(|around| *around != root);
        let mut steps: Vec<(Block, Op)> = std::iter::once(op)
            .chain(inside)
            .filter_map(|op| Some((op.block()?, op)))
            .collect();
        steps.reverse();
        Self(steps)
    }

    /// The first operation, directly in the root.
    pub fn outermost(&self) -> Option<Op<'c>> {
        self.0.first().map(|(_, op)| *op)
    }

    /// How many operations are around both.
    fn shared(&self, other: &Self) -> usize {
        let both = self.0.iter().zip(&other.0);
        both.take_while(|((_, a), (_, b))| a == b).count()
    }

    /// Returns true if this operation is executed before `other`, if both are, each time that the innermost block that both are in is executed.
    pub fn is_before(&self, other: &Self) -> bool {
        let shared = self.shared(other);
        match (self.0.get(shared), other.0.get(shared)) {
            (Some((block, op)), Some((other_block, other))) => {
                block == other_block && op.is_before_in_block(*other)
            }
            _ => false,
        }
    }

    /// The operations around both that may repeat what is in them.
    pub fn shared_loops(&self, other: &Self) -> Vec<Op<'c>> {
        let around = &self.0[..self.shared(other)];
        around
            .iter()
            .map(|(_, op)| *op)
            .filter(|op| repeats(*op))
            .collect()
    }

    /// The guards of this operation where `other` is executed.
    pub fn guards_from(&self, other: &Self) -> impl Iterator<Item = Guard<'c>> {
        self.guards().skip(self.shared(other))
    }

    /// The guards of all operations around it in the root.
    pub fn guards(&self) -> impl Iterator<Item = Guard<'c>> {
        self.0.windows(2).map(|step| {
            let ((_, around), (block, _)) = (step[0], step[1]);
            match around.name() {
                scf::IF => Guard::Condition(around.operand(0), Some(block) == around.region(0).first()),
                scf::FOR => Guard::Loop(around),
                scf::EXECUTE_REGION if !repeats(around) => Guard::Sure,
                _ => Guard::Unknown,
            }
        })
    }

    /// The conditions of the `scf.if`s around it.
    pub fn conditions(&self) -> Conditions<'c> {
        let guards = self.guards().filter_map(|guard| match guard {
            Guard::Condition(condition, arm) => Some((condition, arm)),
            _ => None,
        });
        guards.collect()
    }

    /// Returns true if `op` is around it.
    pub fn is_in(&self, op: Op<'c>) -> bool {
        self.0.iter().rev().skip(1).any(|(_, around)| *around == op)
    }
}

/// Returns true if what is in `op` may be executed several times.
fn repeats(op: Op<'_>) -> bool {
    op.regions()
        .any(|region| region.blocks().len() > 1 || region.first().is_some_and(may_repeat))
}

/// Returns true if `op`, an `scf.for`, is known to run.
pub(super) fn runs(op: Op<'_>) -> bool {
    constant_trip_count(op).is_some_and(|trips| trips > 0)
}

/// Returns true if `values` are the same in all iterations of `loops`, the first of which is around the others, in the same iterations of other
/// loops. What changes in a loop may be used after it.
pub(super) fn is_same_in_all<'c>(values: impl IntoIterator<Item = Value<'c>>, loops: &[Op<'c>]) -> bool {
    let mut work: Vec<Value> = values.into_iter().collect();
    let mut seen = FxHashSet::default();
    while let Some(value) = work.pop() {
        let inside = match value.definition() {
            Definition::Result(op, _) => Some(op),
            Definition::Argument(block, _) => block.parent_op(),
        };
        let is_outside = |inside: Op<'c>| {
            let is_argument = matches!(value.definition(), Definition::Argument(..));
            loops
                .iter()
                .all(|around| !(around.is_ancestor_of(inside) || is_argument && *around == inside))
        };
        if inside.is_none_or(is_outside) || !seen.insert(value) {
            continue;
        }
        let carried = |around: Op<'c>, number: usize| {
            let end = around.region(0).first().and_then(Block::terminator);
            let next = end.map(|end| end.operand(number));
            std::iter::once(around.operand(3 + number)).chain(next)
        };
        match value.definition() {
            Definition::Result(op, _) if op.is_pure() && op.num_regions() == 0 => work.extend(op.operands()),
            // What another loop carries starts and goes on in the same guard each time.
            Definition::Result(op, number) if op.is(scf::FOR) && !loops.contains(&op) => {
                work.extend(op.operands().take(3));
                work.extend(carried(op, number));
            }
            Definition::Argument(block, number) => {
                let Some(around) = block
                    .parent_op()
                    .filter(|op| op.is(scf::FOR) && !loops.contains(op))
                else {
                    return false;
                };
                work.extend(around.operands().take(3));
                work.extend(
                    number
                        .checked_sub(1)
                        .into_iter()
                        .flat_map(|number| carried(around, number)),
                );
            }
            Definition::Result(..) => return false,
        }
    }
    true
}
