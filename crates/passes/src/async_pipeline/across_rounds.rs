//! A loop and the one around it, made one: so copies for the next round start while the last tiles of this one are in use.
//!
//! **Condition.** An `scf.for` with `async.across_rounds` in another `scf.for`, whose iterations are the *rounds*. How often the
//! inner loop runs is the same in all rounds.
//!
//! **Effect.** One loop, which counts the iterations of a round (`count`):
//!
//! 1. What is before the inner loop is executed where `count` is 0, and hands on its results; what has no side effects is
//!    computed wherever it is needed.
//! 2. Then comes the body of the inner loop.
//! 3. What is after the inner loop is executed where `count` is that of the last iteration. There, what the inner loop carries
//!    starts anew.
//!
//! Where the inner loop may run zero times, and something is before or after it, a second loop has just that.
//!
//! **Refusals.** See [`refusal`].

use super::bounds::Bounds;
use super::integers::{Arithmetic, Constants, Int, Place, Truth};
use super::rounds::nothing;
use crate::utils::builders::compare;
use async_dialects::names::gpux_attr;
use async_dialects::types::is_token;
use async_mlir::arith::Predicate;
use async_mlir::ir::{Block, Mapping, Op, OpBuilder, Value, int_attr};
use async_mlir::melior::ir::{Type, TypeLike};
use async_mlir::names::{arith, memref, scf};
use rustc_hash::FxHashSet;

/// What a nest has become.
pub(super) struct Flat<'c> {
    /// The loop.
    pub around: Op<'c>,
    /// What stands where the nest stood.
    pub whole: Op<'c>,
}

/// Why `outer` and `inner`, which is directly in it, can't be one loop.
pub(super) fn refusal<'c>(outer: Op<'c>, inner: Op<'c>, is_annotated: bool) -> Option<&'static str> {
    let is_fixed = |bound: Value<'c>| bound.as_constant_int().is_some() || !is_in(outer, bound);
    if !inner.operands().take(3).all(is_fixed) {
        return Some("how often it runs depends on the round");
    }
    let carried = outer.results().chain(inner.results());
    if carried.map(Value::ty).any(is_token) {
        return Some("tokens are carried by it or the loop around it");
    }
    let (before, after) = beside(inner);
    for op in before.iter().filter(|op| !op.is_pure() && !is_static(**op)) {
        if is_annotated {
            return Some("what comes before it has no stage");
        }
        if handed_on(*op, &before).any(|value| is_token(value.ty()) || value.ty().is_mem_ref()) {
            return Some("a token or a buffer is made for it in each round");
        }
    }
    let mut all = before.iter().chain(&after);
    all.any(|op| op.is(memref::DEALLOC))
        .then_some("a buffer is made and freed in each round")
}

/// What comes before and after `inner` in its block, apart from the terminator.
fn beside(inner: Op<'_>) -> (Vec<Op<'_>>, Vec<Op<'_>>) {
    let ops = inner.block().map_or(Vec::new(), Block::ops);
    let number = ops.iter().position(|op| *op == inner).unwrap_or(0);
    (ops[..number].to_vec(), ops[number + 1..ops.len() - 1].to_vec())
}

/// Returns true if `op` makes a buffer that is the same in all rounds.
fn is_static(op: Op<'_>) -> bool {
    op.is(memref::ALLOC) && op.num_operands() == 0
}

fn is_in<'c>(outer: Op<'c>, value: Value<'c>) -> bool {
    super::body::is_inside(outer, value)
}

/// The results of `op` that something else than `before` reads, or that something free of side effects reads there.
fn handed_on<'c>(op: Op<'c>, before: &[Op<'c>]) -> impl Iterator<Item = Value<'c>> {
    let before: FxHashSet<Op> = before.iter().copied().filter(|op| !op.is_pure()).collect();
    op.results().filter(move |result| {
        let uses = result.uses();
        uses.iter().any(|used| {
            let around = std::iter::once(used.owner).chain(used.owner.ancestors());
            let mut around = around.filter(|op| before.contains(op));
            around.next().is_none()
        })
    })
}

/// Makes one loop of `outer` and `inner`.
pub(super) fn flatten<'c>(outer: Op<'c>, inner: Op<'c>) -> Flat<'c> {
    let (above, below) = beside(inner);
    for op in above.iter().filter(|op| is_static(**op)) {
        op.move_before(outer);
    }
    let above: Vec<Op> = above.into_iter().filter(|op| !is_static(*op)).collect();
    let constants = Constants::new(outer, []);
    let before = Place::Before(outer);
    let rounds = Bounds::new(outer, &constants);
    let bounds = Bounds::at(inner, before, &constants);
    let index = Arithmetic {
        constants: &constants,
        location: inner.location(),
        ty: Type::index(outer.context()),
        unsigned: true,
    };
    let [trips, number] = [&bounds, &rounds].map(|bounds| to_index(before, index, bounds));
    let total = index.mul(before, number, trips);
    let has_more = above.iter().chain(&below).any(|op| !op.is_pure()) || outer.num_results() > 0;
    let branch = match index.is_more(before, trips, 0) {
        Truth::If(runs) if has_more => Some(without_inner(outer, inner, runs)),
        _ => None,
    };
    let mut flattening = Flattening {
        outer,
        inner,
        before: branch.as_ref().map_or(before, |branch| Place::Before(branch.op)),
        rounds,
        bounds,
        index,
        trips,
        carried: Vec::new(),
        results: Vec::new(),
        block: Block::new(&[(index.ty, inner.location())]),
    };
    flattening.body(&above, &below);
    let around = flattening.finish(branch.as_ref(), total);
    Flat {
        around,
        whole: branch.map_or(around, |branch| branch.op),
    }
}

/// How often a loop runs, as an index.
fn to_index<'c>(at: Place<'c>, index: Arithmetic<'_, 'c>, bounds: &Bounds<'_, 'c>) -> Int<'c> {
    match bounds.trips {
        Int::Value(trips) if trips.ty() != index.ty => {
            let cast = OpBuilder::new(arith::INDEX_CASTUI, index.location);
            Int::Value(at.make(cast.operands(&[trips]).results(&[index.ty])).result(0))
        }
        trips => trips,
    }
}

/// A branch that executes a nest without its inner loop if that does not run.
struct Branch<'c> {
    op: Op<'c>,
    then: Block<'c>,
}

/// Makes a branch in the place of `outer`, which is still where it was.
fn without_inner<'c>(outer: Op<'c>, inner: Op<'c>, runs: Value<'c>) -> Branch<'c> {
    let types: Vec<Type> = outer.results().map(Value::ty).collect();
    let branch = OpBuilder::new(scf::IF, outer.location());
    let branch = branch.operands(&[runs]).results(&types).regions(2).before(outer);
    let [then, other] = [0, 1].map(|i| {
        let block = Block::new(&[]);
        branch.region(i).append(block);
        block
    });
    let rest = outer.clone_detached();
    other.append(rest);
    let number = beside(inner).0.len();
    if let Some(copy) = rest.region(0).first().map(|block| block.ops()[number]) {
        copy.replace_with(&copy.operands().skip(3).collect::<Vec<Value>>());
    }
    let results: Vec<Value> = rest.results().collect();
    OpBuilder::new(scf::YIELD, outer.location())
        .operands(&results)
        .at_end(other);
    for (old, new) in outer.results().zip(branch.results()) {
        old.replace_all_uses_with(new);
    }
    Branch { op: branch, then }
}

struct Flattening<'a, 'c> {
    outer: Op<'c>,
    inner: Op<'c>,
    /// What is outside of the nest is made here.
    before: Place<'c>,
    rounds: Bounds<'a, 'c>,
    bounds: Bounds<'a, 'c>,
    index: Arithmetic<'a, 'c>,
    trips: Int<'c>,
    /// What the loop carries: where it starts, and what it becomes.
    carried: Vec<(Value<'c>, Value<'c>)>,
    /// Which of these are the results of the outer loop.
    results: Vec<usize>,
    block: Block<'c>,
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

    fn is(&self, value: Value<'c>, other: Int<'c>) -> Value<'c> {
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
    fn body(&mut self, above: &[Op<'c>], below: &[Op<'c>]) {
        let at = Place::AtEnd(self.block);
        let is_outside = |initial: Value<'c>| !is_in(self.outer, initial);
        let outside: Vec<bool> = self.inner.operands().skip(3).map(is_outside).collect();
        let (counter, count) = self.carry(self.index.value(Int::Constant(0)));
        let first = self.is(count, Int::Constant(0));
        let next = Int::Value(count);
        let next = self.index.value(self.index.add(at, next, Int::Constant(1)));
        let last = self.is(next, self.trips);
        let zero = self.index.value(Int::Constant(0));
        self.carried[counter].1 = self.select(last, zero, next);
        for (outer, bounds) in [(true, self.rounds), (false, self.bounds)] {
            let start = bounds.arithmetic.value(bounds.lower);
            let (number, variable) = self.carry(start);
            let next = bounds.arithmetic.add(at, Int::Value(variable), bounds.step);
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
        inside.iter().for_each(|op| op.move_to_end(then));
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

    /// Makes the loop, with so many iterations, and erases the nest.
    fn finish(self, branch: Option<&Branch<'c>>, total: Int<'c>) -> Op<'c> {
        let location = self.inner.location();
        let next: Vec<Value> = self.carried.iter().map(|(_, next)| *next).collect();
        OpBuilder::new(scf::YIELD, location)
            .operands(&next)
            .at_end(self.block);
        let initial: Vec<Value> = self.carried.iter().map(|(initial, _)| *initial).collect();
        let types: Vec<Type> = initial.iter().map(|value| value.ty()).collect();
        let bounds = [Int::Constant(0), total, Int::Constant(1)].map(|bound| self.index.value(bound));
        let around = OpBuilder::new(scf::FOR, location)
            .operands(&bounds)
            .operands(&initial);
        let around = around.results(&types).regions(1);
        let around = branch
            .map_or(self.before, |branch| Place::AtEnd(branch.then))
            .make(around);
        around.region(0).append(self.block);
        around.copy_discardable_attrs(self.inner);
        around.remove_attr(gpux_attr::ACROSS_ROUNDS);
        let results: Vec<Value> = self.results.iter().map(|number| around.result(*number)).collect();
        match branch {
            Some(branch) => {
                OpBuilder::new(scf::YIELD, location)
                    .operands(&results)
                    .at_end(branch.then);
            }
            None => {
                for (old, new) in self.outer.results().zip(results) {
                    old.replace_all_uses_with(new);
                }
            }
        }
        self.outer.erase();
        around
    }
}
