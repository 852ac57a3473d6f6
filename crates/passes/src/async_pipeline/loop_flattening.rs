//! Loop flattening: makes one loop of a loop and the one around it, so that copies for the next outer
//! iteration (*round*) start while the last tiles of this one are in use.
//!
//! **Condition.** An `scf.for` with `async.across_rounds` in another `scf.for`, whose iterations are the
//! *rounds*. How often the inner loop runs is the same in all rounds.
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

mod body;

use self::body::Flattening;
use super::body::is_inside;
use super::bounds::Bounds;
use super::folding::{Arithmetic, Constants, FoldedBool, FoldedInt, InsertionPoint};
use async_dialects::types::is_token;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::ir::{Type, TypeLike};
use async_mlir::names::{arith, memref, scf};
use rustc_hash::FxHashSet;

/// What a nest has become.
pub(super) struct FlattenedLoop<'c> {
    /// The loop.
    pub around: Op<'c>,
    /// What stands where the nest stood.
    pub whole: Op<'c>,
    /// What its results are now.
    pub results: Vec<Value<'c>>,
}

/// Why `outer` and `inner`, which is directly in it, can't be one loop.
pub(super) fn refusal<'c>(outer: Op<'c>, inner: Op<'c>, is_annotated: bool) -> Option<&'static str> {
    let is_fixed = |bound: Value<'c>| bound.as_constant_int().is_some() || !is_inside(outer, bound);
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
pub(super) fn flatten<'c>(outer: Op<'c>, inner: Op<'c>) -> FlattenedLoop<'c> {
    let (above, below) = beside(inner);
    for op in above.iter().filter(|op| is_static(**op)) {
        op.move_before(outer);
    }
    let above: Vec<Op> = above.into_iter().filter(|op| !is_static(*op)).collect();
    let constants = Constants::new(outer, []);
    let before = InsertionPoint::Before(outer);
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
        FoldedBool::If(runs) if has_more => Some(without_inner(outer, inner, runs)),
        _ => None,
    };
    let mut flattening = Flattening {
        outer,
        inner,
        before: branch
            .as_ref()
            .map_or(before, |branch| InsertionPoint::Before(branch.op)),
        rounds,
        bounds,
        index,
        trips,
        carried: Vec::new(),
        results: Vec::new(),
        block: Block::new(&[(index.ty, inner.location())]),
    };
    flattening.body(&above, &below);
    let (around, results) = flattening.finish(branch.as_ref(), total);
    FlattenedLoop {
        around,
        whole: branch.map_or(around, |branch| branch.op),
        results,
    }
}

/// How often a loop runs, as an index.
fn to_index<'c>(at: InsertionPoint<'c>, index: Arithmetic<'_, 'c>, bounds: &Bounds<'_, 'c>) -> FoldedInt<'c> {
    match bounds.trips {
        FoldedInt::Value(trips) if trips.ty() != index.ty => {
            let cast = OpBuilder::new(arith::INDEX_CASTUI, index.location);
            FoldedInt::Value(at.make(cast.operands(&[trips]).results(&[index.ty])).result(0))
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
