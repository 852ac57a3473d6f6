//! Splits `scf.if`s on the warp number, so that what the warps of a role await is a statement of its own.
//!
//! **Condition.** An `scf.if` of the loop's body, on the number of a warp. One of its regions awaits
//! something; the other one only computes. A load of the body names the warp that issues it.
//!
//! **Effect.** An `scf.if` for each run of awaits, and one for what is between two of them, all on the same
//! condition. Each computes again what has no side effects, where it needs that: other warps may not, since a
//! view may be out of bounds for them. What a later one needs of what an earlier one does is a result; other
//! warps get what they had got, a complete token, or poison, which they don't read.
//!
//! **Refusals.** Where both regions do something, or awaits are deeper inside, the whole stays one statement.
//!
//! Linear in the size of the body, but for what is computed again.

use super::folding::InsertionPoint;
use super::rounds::nothing;
use crate::analysis::memory::only_computes;
use crate::analysis::warps::warps_of_arm;
use async_dialects::names::{async_, gpux_attr};
use async_mlir::ir::{Block, Mapping, Op, OpBuilder, Region, Value};
use async_mlir::names::scf;
use rustc_hash::{FxHashMap, FxHashSet};

/// The tokens that `op` awaits, if it does nothing else, for all threads or for those of some warps.
pub(super) fn awaited<'c>(op: Op<'c>) -> Option<Vec<Value<'c>>> {
    if op.is(async_::AWAIT) {
        return Some(op.operands().collect());
    }
    if op.num_results() > 0 || !is_for_role(op) {
        return None;
    }
    let ops = op.regions().filter_map(Region::first).flat_map(Block::ops);
    // Upstream's await takes one token: several are joined.
    let (awaits, rest): (Vec<Op>, Vec<Op>) = ops
        .filter(|op| !op.is(scf::YIELD))
        .partition(|op| op.is(async_::AWAIT));
    if awaits.is_empty() || !rest.iter().all(|op| op.is(async_::JOIN)) {
        return None;
    }
    let joined: FxHashSet<Value> = rest.iter().flat_map(|op| op.results()).collect();
    let tokens = awaits.iter().chain(&rest).flat_map(|op| op.operands());
    Some(tokens.filter(|token| !joined.contains(token)).collect())
}

/// Returns true if `op` awaits tokens and does nothing else, for all threads or for those of some warps.
pub(super) fn is_await(op: Op<'_>) -> bool {
    awaited(op).is_some()
}

/// Returns true if the number of a warp decides which region of `op` it executes.
pub(super) fn is_for_role(op: Op<'_>) -> bool {
    warps_of_arm(op, 0).is_some()
}

/// Makes statements of their own of what roles await in `body`.
pub(super) fn split_awaits(body: Block<'_>) {
    if has_roles(body) {
        let branches = body.ops().into_iter().filter(|op| is_for_role(*op));
        branches.filter_map(Branch::of).for_each(Branch::take_apart);
    }
}

/// Returns true if a load in `body` names the warp that issues it, and the number of a warp decides about something else.
pub(super) fn has_roles(body: Block<'_>) -> bool {
    let ops = body.ops();
    ops.iter().any(|op| op.has_attr(gpux_attr::ISSUER)) && ops.into_iter().any(is_for_role)
}

/// What a region does in a row.
enum Part<'c> {
    Awaits(Vec<Op<'c>>),
    Work(Vec<Op<'c>>),
}

/// An `scf.if` that is to be taken apart.
struct Branch<'c> {
    op: Op<'c>,
    /// The number of the region that awaits, and what it does.
    arm: usize,
    parts: Vec<Part<'c>>,
    /// What that yields, and what the other one does.
    yielded: Vec<Value<'c>>,
    otherwise: Vec<Value<'c>>,
    /// What is computed of nothing but that and what is defined outside, in order.
    computed: FxHashMap<Op<'c>, usize>,
}

impl<'c> Branch<'c> {
    /// Reads `op`; `None` if it is to stay as it is.
    fn of(op: Op<'c>) -> Option<Self> {
        let blocks = |arm: usize| op.region(arm).first().map_or(Vec::new(), Block::ops);
        let mut arms = [0, 1]
            .into_iter()
            .filter(|arm| blocks(*arm).iter().any(|op| op.is(async_::AWAIT)));
        let arm = arms.next().filter(|_| arms.next().is_none())?;
        let mut branch = Self {
            op,
            arm,
            parts: Vec::new(),
            yielded: Vec::new(),
            otherwise: Vec::new(),
            computed: FxHashMap::default(),
        };
        branch.yielded = branch.read(&blocks(arm));
        let parts = std::mem::take(&mut branch.parts);
        branch.otherwise = branch.read(&blocks(1 - arm));
        let is_apart = branch.parts.is_empty() && parts.len() > 1;
        branch.parts = parts;
        is_apart.then_some(branch)
    }

    /// Adds what `ops` of a region do; returns what they yield.
    fn read(&mut self, ops: &[Op<'c>]) -> Vec<Value<'c>> {
        let own: FxHashSet<Op> = ops.iter().copied().collect();
        for &op in ops {
            let is_known = |value: Value<'c>| {
                let by = value.defining_op().filter(|by| own.contains(by));
                by.is_none_or(|by| self.computed.contains_key(&by))
            };
            if op.is(scf::YIELD) {
                return op.operands().collect();
            }
            if op.num_regions() == 0 && only_computes(op) && op.operands().all(is_known) {
                self.computed.insert(op, self.computed.len());
                continue;
            }
            match (self.parts.last_mut(), op.is(async_::AWAIT)) {
                (Some(Part::Awaits(ops)), true) | (Some(Part::Work(ops)), false) => ops.push(op),
                (_, true) => self.parts.push(Part::Awaits(vec![op])),
                (_, false) => self.parts.push(Part::Work(vec![op])),
            }
        }
        Vec::new()
    }

    fn take_apart(mut self) {
        let mut places: FxHashMap<Value<'c>, Vec<usize>> = FxHashMap::default();
        for (place, value) in self.yielded.iter().enumerate() {
            places.entry(*value).or_default().push(place);
        }
        let mut results: Vec<Option<Value<'c>>> = vec![None; self.yielded.len()];
        for part in std::mem::take(&mut self.parts) {
            match part {
                Part::Awaits(ops) => {
                    self.branch(&ops, &[]);
                }
                Part::Work(ops) => self.work(&ops, &places, &mut results),
            }
        }
        self.hand_on(results);
        self.op.erase();
    }

    /// Makes an `scf.if` for `ops` that results in what others read of theirs, and notes which results of the whole these are.
    fn work(
        &self,
        ops: &[Op<'c>],
        places: &FxHashMap<Value<'c>, Vec<usize>>,
        results: &mut [Option<Value<'c>>],
    ) {
        let own: FxHashSet<Op<'c>> = ops.iter().copied().collect();
        let is_outside = |user: Op<'c>| {
            let mut outer = std::iter::once(user).chain(user.ancestors());
            !outer.any(|outer| own.contains(&outer))
        };
        let mut exports: Vec<(Value<'c>, Option<usize>)> = Vec::new();
        for value in ops.iter().flat_map(|op| op.results()) {
            match places.get(&value) {
                Some(places) => exports.extend(places.iter().map(|place| (value, Some(*place)))),
                None if value.uses().iter().any(|used| is_outside(used.owner)) => exports.push((value, None)),
                None => {}
            }
        }
        let branch = self.branch(ops, &exports);
        let end = branch.region(self.arm).first().and_then(Block::terminator);
        for ((value, place), result) in exports.iter().zip(branch.results()) {
            value.replace_uses_if(result, |used| Some(used.owner) != end && is_outside(used.owner));
            if let Some(place) = place {
                results[*place] = Some(result);
            }
        }
    }

    /// Makes an `scf.if` that does `ops` where this one does, and results in `values`. Other warps get what this one gives them as
    /// the result of this number.
    fn branch(&self, ops: &[Op<'c>], values: &[(Value<'c>, Option<usize>)]) -> Op<'c> {
        let location = self.op.location();
        let types: Vec<_> = values.iter().map(|(value, _)| value.ty()).collect();
        let branch = OpBuilder::new(scf::IF, location)
            .operands(&[self.op.operand(0)])
            .results(&types)
            .regions(2)
            .before(self.op);
        let block = Block::new(&[]);
        branch.region(self.arm).append(block);
        let mut inputs: Vec<Value> = values.iter().map(|(value, _)| *value).collect();
        for op in ops.iter().flat_map(|op| op.self_and_nested()) {
            inputs.extend(op.operands());
        }
        let again = self.compute_again(inputs, block);
        for &op in ops {
            for inner in op.self_and_nested() {
                for (i, operand) in inner.operands().enumerate() {
                    inner.set_operand(i, again.lookup(operand));
                }
            }
            op.move_to_end(block);
        }
        let yielded: Vec<Value> = values.iter().map(|(value, _)| again.lookup(*value)).collect();
        OpBuilder::new(scf::YIELD, location)
            .operands(&yielded)
            .at_end(block);
        if self.arm == 1 || !values.is_empty() {
            let other = Block::new(&[]);
            branch.region(1 - self.arm).append(other);
            self.yield_otherwise(values, other);
        }
        branch
    }

    /// Yields in `block` what other warps get.
    fn yield_otherwise(&self, values: &[(Value<'c>, Option<usize>)], block: Block<'c>) {
        let location = self.op.location();
        let known = values
            .iter()
            .filter_map(|(_, place)| Some(self.otherwise[(*place)?]));
        let again = self.compute_again(known.collect(), block);
        let otherwise = values.iter().map(|(value, place)| match place {
            Some(place) => again.lookup(self.otherwise[*place]),
            None => nothing(InsertionPoint::AtEnd(block), location, *value),
        });
        let otherwise: Vec<Value> = otherwise.collect();
        OpBuilder::new(scf::YIELD, location)
            .operands(&otherwise)
            .at_end(block);
    }

    /// Computes at the end of `block` those of `values` that are computed; returns what is what.
    fn compute_again(&self, values: Vec<Value<'c>>, block: Block<'c>) -> Mapping<'c> {
        let mut needed: Vec<(usize, Op<'c>)> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut work = values;
        while let Some(value) = work.pop() {
            let by = value.defining_op();
            let number = by.and_then(|by| Some((*self.computed.get(&by)?, by)));
            if let Some((number, by)) = number.filter(|(_, by)| seen.insert(*by)) {
                needed.push((number, by));
                work.extend(by.operands());
            }
        }
        needed.sort_unstable_by_key(|(number, _)| *number);
        let mut again = Mapping::new();
        for (_, op) in needed {
            op.clone_mapped(&mut again).move_to_end(block);
        }
        again
    }

    /// Replaces the results of the whole by `results`; what no part does is chosen again by the number of the warp.
    fn hand_on(&self, results: Vec<Option<Value<'c>>>) {
        let places = (0..results.len()).filter(|place| results[*place].is_none());
        let rest: Vec<(Value, Option<usize>)> =
            places.map(|place| (self.yielded[place], Some(place))).collect();
        let chosen = (!rest.is_empty()).then(|| self.branch(&[], &rest));
        let mut chosen = chosen.into_iter().flat_map(Op::results);
        for (old, new) in self.op.results().zip(results) {
            if let Some(new) = new.or_else(|| chosen.next()) {
                old.replace_all_uses_with(new);
            }
        }
    }
}
