//! The lowering of `gpux.elect`: decided once, where the function starts and its warps have not diverged.
//!
//! It is true in the thread of the first warp, or of the one that is named, that `elect.sync` picks, which is the same one whenever all of the warp
//! take part. A block that is known to have fewer threads than a warp can't have them all take part; there it is the
//! first thread.

use crate::utils::builders::{compare, constant};
use async_dialects::names::gpux_attr;
use async_mlir::arith::Predicate;
use async_mlir::gpu::{Dimension, block_threads};
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value};
use async_mlir::melior::Context;
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{arith, attr, gpu, nvvm, scf};
use rustc_hash::FxHashMap;

/// Threads of a warp.
const WARP: i64 = 32;

/// Makes the value that all of `elects`, which stand in `function`, become.
pub(super) fn lower<'c>(function: Op<'c>, elects: &[Op<'c>]) {
    let entry = function.regions().next().and_then(Region::first);
    let first = entry.and_then(Block::first);
    let first = first.expect("a function with operations has a first one");
    let at = InsertionPoint {
        context: function.context(),
        location: elects[0].location(),
        before: first,
    };
    let small_block = block_threads(function).is_some_and(|threads| threads < WARP.unsigned_abs());
    let mut leaders: FxHashMap<i64, Value> = FxHashMap::default();
    for elect in elects {
        let warp = elect.int_attr(gpux_attr::WARP).unwrap_or(0);
        let leader = *leaders
            .entry(warp)
            .or_insert_with(|| at.leader(warp, small_block));
        elect.replace_with(&[leader]);
    }
}

/// Where operations are made.
struct InsertionPoint<'c> {
    context: &'c Context,
    location: Location<'c>,
    before: Op<'c>,
}

impl<'c> InsertionPoint<'c> {
    fn leader(&self, warp: i64, small_block: bool) -> Value<'c> {
        let thread = self.linear_thread();
        if small_block {
            return self.compare(Predicate::Equal, thread, self.index(warp * WARP));
        }
        let in_warp = if warp == 0 {
            self.compare(Predicate::UnsignedLess, thread, self.index(WARP))
        } else {
            let its = self.compute(arith::DIVUI, thread, self.index(WARP));
            self.compare(Predicate::Equal, its, self.index(warp))
        };
        let branch = OpBuilder::new(scf::IF, self.location)
            .operands(&[in_warp])
            .results(&[self.i1()])
            .regions(2)
            .before(self.before);
        let (elected, other) = (Block::new(&[]), Block::new(&[]));
        branch.region(0).append(elected);
        branch.region(1).append(other);
        let elect = OpBuilder::new(nvvm::ELECT_SYNC, self.location).results(&[self.i1()]);
        let no = constant(self.location, self.i1(), 0);
        for (block, value) in [(elected, elect), (other, no)] {
            let value = value.at_end(block).result(0);
            OpBuilder::new(scf::YIELD, self.location)
                .operands(&[value])
                .at_end(block);
        }
        branch.result(0)
    }

    /// `x + size_x * (y + size_y * z)`
    fn linear_thread(&self) -> Value<'c> {
        let [x, y, z] = Dimension::ALL.map(|dim| self.dimension(gpu::THREAD_ID, dim));
        let [size_x, size_y] = [Dimension::X, Dimension::Y].map(|dim| self.dimension(gpu::BLOCK_DIM, dim));
        let rows = self.compute(arith::MULI, size_y, z);
        let rows = self.compute(arith::ADDI, y, rows);
        let threads = self.compute(arith::MULI, size_x, rows);
        self.compute(arith::ADDI, x, threads)
    }

    fn dimension(&self, name: &str, dim: Dimension) -> Value<'c> {
        OpBuilder::new(name, self.location)
            .results(&[Type::index(self.context)])
            .attr(attr::DIMENSION, dim.attribute(self.context))
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

    fn compare(&self, predicate: Predicate, left: Value<'c>, right: Value<'c>) -> Value<'c> {
        compare(self.location, predicate, left, right)
            .before(self.before)
            .result(0)
    }

    fn index(&self, value: i64) -> Value<'c> {
        constant(self.location, Type::index(self.context), value)
            .before(self.before)
            .result(0)
    }

    fn i1(&self) -> Type<'c> {
        IntegerType::new(self.context, 1).into()
    }
}
