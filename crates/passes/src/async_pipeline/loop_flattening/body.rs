//! Builds the body of the flattened loop.

use super::super::body::is_inside;
use super::super::bounds::Bounds;
use super::super::folding::{Arithmetic, FoldedInt, InsertionPoint};
use super::super::rounds::nothing;
use super::{Branch, handed_on};
use crate::utils::builders::compare;
use async_dialects::names::gpux_attr;
use async_mlir::arith::Predicate;
use async_mlir::ir::{Block, Mapping, Op, OpBuilder, Value, int_attr};
use async_mlir::melior::ir::{Type, TypeLike};
use async_mlir::names::{arith, scf};
use rustc_hash::FxHashSet;

/// A nest that becomes a loop.
pub(super) struct Flattening<'a, 'c> {
    pub outer: Op<'c>,
    pub inner: Op<'c>,
    /// What is outside of the nest is made here.
    pub before: InsertionPoint<'c>,
    pub rounds: Bounds<'a, 'c>,
    pub bounds: Bounds<'a, 'c>,
    pub index: Arithmetic<'a, 'c>,
    pub trips: FoldedInt<'c>,
    /// What the loop carries: where it starts, and what it becomes.
    pub carried: Vec<(Value<'c>, Value<'c>)>,
    /// Which of these are the results of the outer loop.
    pub results: Vec<usize>,
    pub block: Block<'c>,
}

impl<'c> Flattening<'_, 'c> {
    /// A value that the loop carries, which starts as `initial`; what it becomes is set later.
    fn carry(&mut self, initial: Value<'c>) -> (usize, Value<'c>) {
        let value = self.block.add_arg(initial.ty(), self.inner.location());
        self.carried.push((initial, value));
        (self.carried.len() - 1, value)
    }

    /// A carried value whose first contents nobody reads.
    fn carry_nothing(&mut self, like: Value<'c>) -> (usize, Value<'c>) {
        let initial = nothing(self.before, self.inner.location(), like);
        self.carry(initial)
    }

    fn is(&self, value: Value<'c>, other: FoldedInt<'c>) -> Value<'c> {
        let other = self.index.value(other);
        let test = compare(self.index.location, Predicate::Equal, value, other);
        test.at_end(self.block).result(0)
    }

    fn select(&self, condition: Value<'c>, yes: Value<'c>, no: Value<'c>) -> Value<'c> {
        if yes == no {
            return yes;
        }
        let select = OpBuilder::new(arith::SELECT, self.inner.location());
        let select = select.operands(&[condition, yes, no]).results(&[yes.ty()]);
        select.at_end(self.block).result(0)
    }

    /// Steps 1 to 3.
    pub fn body(&mut self, above: &[Op<'c>], below: &[Op<'c>]) {
        let at = InsertionPoint::AtEnd(self.block);
        let is_outside = |initial: Value<'c>| !is_inside(self.outer, initial);
        let outside: Vec<bool> = self.inner.operands().skip(3).map(is_outside).collect();
        let (counter, count) = self.carry(self.index.value(FoldedInt::Constant(0)));
        let first = self.is(count, FoldedInt::Constant(0));
        let next = FoldedInt::Value(count);
        let next = self.index.value(self.index.add(at, next, FoldedInt::Constant(1)));
        let last = self.is(next, self.trips);
        let zero = self.index.value(FoldedInt::Constant(0));
        self.carried[counter].1 = self.select(last, zero, next);
        for (outer, bounds) in [(true, self.rounds), (false, self.bounds)] {
            let start = bounds.arithmetic.value(bounds.lower);
            let (number, variable) = self.carry(start);
            let next = bounds.arithmetic.add(at, FoldedInt::Value(variable), bounds.step);
            let next = bounds.arithmetic.value(next);
            let (around, yes, no) = if outer {
                (self.outer, next, variable)
            } else {
                (self.inner, start, next)
            };
            self.carried[number].1 = self.select(last, yes, no);
            if let Some(old) = around.region(0).first().map(|block| block.arg(0)) {
                old.replace_all_uses_with(variable);
            }
        }
        self.results = self.carry_outer();
        self.before(first, above);
        let of_inner = self.enter(first, &outside);
        self.after(last, below, &of_inner);
    }

    /// What the outer loop carries.
    fn carry_outer(&mut self) -> Vec<usize> {
        let initial: Vec<Value> = self.outer.operands().skip(3).collect();
        let arguments = self.outer.region(0).first();
        let arguments = arguments.into_iter().flat_map(|block| block.args().skip(1));
        let carry = arguments.zip(initial).map(|(argument, initial)| {
            let (number, value) = self.carry(initial);
            argument.replace_all_uses_with(value);
            number
        });
        carry.collect()
    }

    /// Step 1.
    fn before(&mut self, first: Value<'c>, above: &[Op<'c>]) {
        let with_effects: Vec<Op> = above.iter().copied().filter(|op| !op.is_pure()).collect();
        if !with_effects.is_empty() {
            let results: Vec<Value> = with_effects
                .iter()
                .flat_map(|op| handed_on(*op, above).collect::<Vec<Value>>())
                .collect();
            let carried: Vec<(usize, Value)> =
                results.iter().map(|result| self.carry_nothing(*result)).collect();
            let kept: Vec<Value> = carried.iter().map(|(_, value)| *value).collect();
            let [then, other] = [0, 1].map(|_| Block::new(&[]));
            let mut mapping = Mapping::new();
            for op in above {
                then.append(op.clone_mapped(&mut mapping));
            }
            let new: Vec<Value> = results.iter().map(|result| mapping.lookup(*result)).collect();
            let branch = self.branch(first, (then, &new), (other, &kept));
            for ((old, (number, _)), new) in results.iter().zip(&carried).zip(branch.results()) {
                old.replace_uses_if(new, |used| !with_effects.contains(&used.owner));
                self.carried[*number].1 = new;
            }
        }
        for op in above.iter().filter(|op| op.is_pure()) {
            op.move_to_end(self.block);
        }
        with_effects.into_iter().rev().for_each(Op::erase);
    }

    /// Step 2. Returns for what the inner loop carries where it is carried, and what it starts as in the last iteration, unless
    /// it is given that in the first one.
    fn enter(&mut self, first: Value<'c>, outside: &[bool]) -> Vec<(usize, Option<Value<'c>>)> {
        let Some(body) = self.inner.region(0).first() else {
            return Vec::new();
        };
        let initial: Vec<Value> = self.inner.operands().skip(3).collect();
        let mut carried = Vec::new();
        for ((argument, initial), is_outside) in body.args().skip(1).zip(initial).zip(outside) {
            // Sums stay in their registers if they start anew where the round ends, but what addresses are computed from must
            // not wait for that.
            let is_sum = !initial.ty().is_integer() && !initial.ty().is_index();
            if is_sum && *is_outside {
                let (number, value) = self.carry(initial);
                argument.replace_all_uses_with(value);
                carried.push((number, Some(initial)));
            } else {
                let (number, value) = self.carry_nothing(initial);
                let value = self.select(first, initial, value);
                argument.replace_all_uses_with(value);
                carried.push((number, None));
            }
        }
        let end = body.terminator();
        for op in body.ops().into_iter().filter(|op| Some(*op) != end) {
            op.move_to_end(self.block);
        }
        let yielded: Vec<Value> = end.map_or(Vec::new(), |end| end.operands().collect());
        for (result, value) in self.inner.results().zip(yielded) {
            result.replace_all_uses_with(value);
        }
        carried
    }

    /// Step 3.
    fn after(&mut self, last: Value<'c>, below: &[Op<'c>], of_inner: &[(usize, Option<Value<'c>>)]) {
        let mut inside: Vec<Op> = Vec::new();
        let mut found = FxHashSet::default();
        for &op in below {
            let mut inputs = op.self_and_nested().into_iter().flat_map(Op::operands);
            let depends = inputs.any(|value| value.defining_op().is_some_and(|by| found.contains(&by)));
            if depends || !op.is_pure() {
                found.extend(op.self_and_nested());
                inside.push(op);
            } else {
                op.move_to_end(self.block);
            }
        }
        let yields = |around: Op<'c>| {
            let end = around.region(0).first().and_then(Block::terminator);
            end.map_or(Vec::new(), |end| end.operands().collect::<Vec<Value>>())
        };
        // Which value is carried, in the last iteration and in others.
        let mut ends: Vec<(usize, Value, Value)> = Vec::new();
        for (number, value) in self.results.clone().into_iter().zip(yields(self.outer)) {
            let stays = self.carried[number].1;
            if value.defining_op().is_some_and(|by| found.contains(&by)) {
                ends.push((number, value, stays));
            } else {
                self.carried[number].1 = self.select(last, value, stays);
            }
        }
        for (&(number, anew), value) in of_inner.iter().zip(yields(self.inner)) {
            match anew {
                Some(initial) => ends.push((number, initial, value)),
                None => self.carried[number].1 = value,
            }
        }
        if inside.is_empty() && ends.is_empty() {
            return;
        }
        let [then, other] = [0, 1].map(|_| Block::new(&[]));
        for op in &inside {
            op.move_to_end(then);
        }
        let anew: Vec<Value> = ends.iter().map(|(_, value, _)| *value).collect();
        let on: Vec<Value> = ends.iter().map(|(_, _, value)| *value).collect();
        let branch = self.branch(last, (then, &anew), (other, &on));
        for ((number, ..), result) in ends.iter().zip(branch.results()) {
            self.carried[*number].1 = result;
        }
        if !inside.is_empty() {
            self.schedule_last(branch);
        }
    }

    /// A branch with these blocks, which yield these values.
    fn branch(
        &self,
        condition: Value<'c>,
        then: (Block<'c>, &[Value<'c>]),
        other: (Block<'c>, &[Value<'c>]),
    ) -> Op<'c> {
        let location = self.inner.location();
        let types: Vec<Type> = then.1.iter().map(|value| value.ty()).collect();
        let branch = OpBuilder::new(scf::IF, location).operands(&[condition]);
        let branch = branch.results(&types).regions(2).at_end(self.block);
        for (number, (block, values)) in [then, other].into_iter().enumerate() {
            OpBuilder::new(scf::YIELD, location)
                .operands(values)
                .at_end(block);
            branch.region(number).append(block);
        }
        branch
    }

    /// Has `op` executed in the last stage, if others say when they are executed.
    fn schedule_last(&self, op: Op<'c>) {
        let ops = self.block.ops();
        let latest = |name: &str| ops.iter().filter_map(|op| op.int_attr(name)).max();
        if let (Some(stage), Some(order)) = (latest(gpux_attr::STAGE), latest(gpux_attr::ORDER)) {
            op.set_attr(gpux_attr::STAGE, int_attr(op.context(), 64, stage));
            op.set_attr(gpux_attr::ORDER, int_attr(op.context(), 64, order + 1));
        }
    }

    /// Makes the loop, with so many iterations, and erases the nest. Returns it, and what the results of the nest are now.
    pub fn finish(self, branch: Option<&Branch<'c>>, total: FoldedInt<'c>) -> (Op<'c>, Vec<Value<'c>>) {
        let location = self.inner.location();
        let next: Vec<Value> = self.carried.iter().map(|(_, next)| *next).collect();
        OpBuilder::new(scf::YIELD, location)
            .operands(&next)
            .at_end(self.block);
        let initial: Vec<Value> = self.carried.iter().map(|(initial, _)| *initial).collect();
        let types: Vec<Type> = initial.iter().map(|value| value.ty()).collect();
        let bounds =
            [FoldedInt::Constant(0), total, FoldedInt::Constant(1)].map(|bound| self.index.value(bound));
        let around = OpBuilder::new(scf::FOR, location)
            .operands(&bounds)
            .operands(&initial);
        let around = around.results(&types).regions(1);
        let around = branch
            .map_or(self.before, |branch| InsertionPoint::AtEnd(branch.then))
            .make(around);
        around.region(0).append(self.block);
        around.copy_discardable_attrs(self.inner);
        around.remove_attr(gpux_attr::ACROSS_ROUNDS);
        let results: Vec<Value> = self.results.iter().map(|number| around.result(*number)).collect();
        let results = match branch {
            Some(branch) => {
                OpBuilder::new(scf::YIELD, location)
                    .operands(&results)
                    .at_end(branch.then);
                branch.op.results().collect()
            }
            None => {
                for (old, new) in self.outer.results().zip(&results) {
                    old.replace_all_uses_with(*new);
                }
                results
            }
        };
        self.outer.erase();
        (around, results)
    }
}
