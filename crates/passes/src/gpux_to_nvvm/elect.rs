//! The lowering of `gpux.elect`: decided once, where the function starts and its warps have not diverged.
//!
//! It is true in the thread of the first warp that `elect.sync` picks, which is the same one whenever all of the warp
//! take part. A block that is known to have fewer threads than a warp can't have them all take part; there it is the
//! first thread.

use async_dialects::gpu::block_threads;
use async_dialects::ir::{Block, Op, OpBuilder, Region, Value, bool_attr, index_attr, int_attr};
use async_dialects::melior::Context;
use async_dialects::melior::ir::r#type::IntegerType;
use async_dialects::melior::ir::{Location, Type};
use async_dialects::types::known_attribute;

/// Threads of a warp.
const WARP: i64 = 32;
/// `arith.cmpi`'s predicates.
const EQUAL: i64 = 0;
const UNSIGNED_LESS: i64 = 6;

/// Makes the value that all of `elects`, which stand in `function`, become.
pub(super) fn lower<'c>(function: Op<'c>, elects: &[Op<'c>]) {
    let entry = function.regions().next().and_then(Region::first);
    let first = entry.and_then(Block::first);
    let first = first.expect("a function with operations has a first one");
    let at = Place {
        context: function.context(),
        location: elects[0].location(),
        before: first,
    };
    let leader = at.leader(block_threads(function).is_some_and(|threads| threads < WARP.unsigned_abs()));
    for elect in elects {
        elect.replace_with(&[leader]);
    }
}

/// Where operations are made.
struct Place<'c> {
    context: &'c Context,
    location: Location<'c>,
    before: Op<'c>,
}

impl<'c> Place<'c> {
    fn leader(&self, small_block: bool) -> Value<'c> {
        let thread = self.linear_thread();
        if small_block {
            return self.compare(EQUAL, thread, self.index(0));
        }
        let in_first_warp = self.compare(UNSIGNED_LESS, thread, self.index(WARP));
        let branch = OpBuilder::new("scf.if", self.location)
            .operands(&[in_first_warp])
            .results(&[self.i1()])
            .regions(2)
            .before(self.before);
        let (elected, other) = (Block::new(&[]), Block::new(&[]));
        branch.region(0).append(elected);
        branch.region(1).append(other);
        let elect = OpBuilder::new("nvvm.elect.sync", self.location).results(&[self.i1()]);
        let no = OpBuilder::new("arith.constant", self.location)
            .results(&[self.i1()])
            .attr("value", bool_attr(self.context, false));
        for (block, value) in [(elected, elect), (other, no)] {
            let value = value.at_end(block).result(0);
            OpBuilder::new("scf.yield", self.location)
                .operands(&[value])
                .at_end(block);
        }
        branch.result(0)
    }

    /// `x + size_x * (y + size_y * z)`
    fn linear_thread(&self) -> Value<'c> {
        let [x, y, z] = ["x", "y", "z"].map(|dim| self.dimension("gpu.thread_id", dim));
        let [size_x, size_y] = ["x", "y"].map(|dim| self.dimension("gpu.block_dim", dim));
        let rows = self.compute("arith.muli", size_y, z);
        let rows = self.compute("arith.addi", y, rows);
        let threads = self.compute("arith.muli", size_x, rows);
        self.compute("arith.addi", x, threads)
    }

    fn dimension(&self, name: &str, dim: &str) -> Value<'c> {
        let text = format!("#gpu<dim {dim}>");
        OpBuilder::new(name, self.location)
            .results(&[Type::index(self.context)])
            .attr("dimension", known_attribute(self.context, &text))
            .before(self.before)
            .result(0)
    }

    fn compute(&self, name: &str, left: Value<'c>, right: Value<'c>) -> Value<'c> {
        OpBuilder::new(name, self.location)
            .operands(&[left, right])
            .results(&[left.ty()])
            .before(self.before)
            .result(0)
    }

    fn compare(&self, predicate: i64, left: Value<'c>, right: Value<'c>) -> Value<'c> {
        OpBuilder::new("arith.cmpi", self.location)
            .operands(&[left, right])
            .results(&[self.i1()])
            .attr("predicate", int_attr(self.context, 64, predicate))
            .before(self.before)
            .result(0)
    }

    fn index(&self, value: i64) -> Value<'c> {
        OpBuilder::new("arith.constant", self.location)
            .results(&[Type::index(self.context)])
            .attr("value", index_attr(self.context, value))
            .before(self.before)
            .result(0)
    }

    fn i1(&self) -> Type<'c> {
        IntegerType::new(self.context, 1).into()
    }
}
