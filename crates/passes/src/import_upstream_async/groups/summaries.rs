//! Computes which operations and functions add to groups or await them (interprocedural summaries).

use super::super::legality::callee;
use async_dialects::names::upstream_async;
use async_dialects::types::is_async_group;
use async_mlir::ir::{Definition, Op, Region, Value};
use async_mlir::names::func;
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};

/// What functions do with the groups that they take, also in what they call.
pub(super) struct Summaries<'c>(FxHashMap<(Op<'c>, usize), Effect>);

/// What is done with a group.
#[derive(Clone, Copy, Default, PartialEq)]
struct Effect {
    adds: bool,
    awaits: bool,
}

/// The operations that use a group, with those around them.
#[derive(Default)]
pub(super) struct Uses<'c> {
    /// All of them.
    pub touching: FxHashSet<Op<'c>>,
    /// Those that add to it.
    pub adding: FxHashSet<Op<'c>>,
    /// Those that await it.
    pub awaiting: FxHashSet<Op<'c>>,
    /// The tasks among these.
    pub awaiting_tasks: Vec<Op<'c>>,
    /// Those that add to it themselves.
    pub adds: Vec<Op<'c>>,
}

impl<'c> Summaries<'c> {
    /// Those of the functions in `module`. Returns an error if one gets a group twice.
    pub(super) fn of(module: Op<'c>) -> Result<Self, PassError<'c>> {
        let mut arguments = Vec::new();
        for op in module.self_and_nested() {
            if op.is(func::CALL) {
                check_call(op)?;
            }
            let entry = op
                .is(func::FUNC)
                .then(|| op.regions().find_map(Region::first))
                .flatten();
            for (i, argument) in entry
                .into_iter()
                .flat_map(|entry| entry.args().enumerate().collect::<Vec<_>>())
            {
                if is_async_group(argument.ty()) {
                    arguments.push((op, i, argument));
                }
            }
        }
        let mut summaries = Self(FxHashMap::default());
        loop {
            let mut changed = false;
            for &(function, i, argument) in &arguments {
                let mut all = Effect::default();
                for used in argument.uses() {
                    let effect = summaries.effect(used.owner, used.index);
                    all.adds |= effect.adds;
                    all.awaits |= effect.awaits;
                }
                changed |= summaries.0.insert((function, i), all) != Some(all);
            }
            if !changed {
                return Ok(summaries);
            }
        }
    }

    /// What `op` does with the group that is its operand `index`.
    fn effect(&self, op: Op<'c>, index: usize) -> Effect {
        match op.name() {
            upstream_async::ADD_TO_GROUP => Effect {
                adds: true,
                awaits: false,
            },
            upstream_async::AWAIT_ALL => Effect {
                adds: false,
                awaits: true,
            },
            _ => callee(op)
                .and_then(|function| self.0.get(&(function, index)).copied())
                .unwrap_or_default(),
        }
    }

    /// Returns true if `function` may add to the group that is its argument `index`.
    pub(super) fn adds(&self, function: Op<'c>, index: usize) -> bool {
        self.0.get(&(function, index)).is_some_and(|effect| effect.adds)
    }

    /// The uses of `group`.
    pub(super) fn uses(&self, group: Value<'c>) -> Uses<'c> {
        let around = match group.definition() {
            Definition::Result(op, _) => op.parent(),
            Definition::Argument(block, _) => block.parent_op(),
        };
        let mut uses = Uses::default();
        for used in group.uses() {
            let effect = self.effect(used.owner, used.index);
            if effect.adds {
                uses.adds.push(used.owner);
            }
            let owner = std::iter::once(used.owner);
            for op in owner
                .chain(used.owner.ancestors())
                .take_while(|op| Some(*op) != around)
            {
                uses.touching.insert(op);
                if effect.adds {
                    uses.adding.insert(op);
                }
                if effect.awaits && uses.awaiting.insert(op) && op.is(upstream_async::EXECUTE) {
                    uses.awaiting_tasks.push(op);
                }
            }
        }
        uses
    }
}

fn check_call(call: Op<'_>) -> Result<(), PassError<'_>> {
    let groups: Vec<Value> = call
        .operands()
        .filter(|value| is_async_group(value.ty()))
        .collect();
    let twice = groups
        .iter()
        .enumerate()
        .any(|(i, group)| groups[..i].contains(group));
    if twice {
        let message = "passes the same group twice, and what is added to one would not be known of the other";
        return Err(PassError::new(call, message).note(call, "pass it once"));
    }
    Ok(())
}
