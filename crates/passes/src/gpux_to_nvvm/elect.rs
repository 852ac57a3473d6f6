//! Lowers `gpux.elect`: it is decided once, where the function starts and its warps have not diverged.
//!
//! It is true in the thread of the first warp, or of the one that is named, that `elect.sync` picks, which is the same one whenever all of the warp
//! take part. A block that is known to have fewer threads than a warp can't have them all take part; there it is the
//! first thread.
//!
//! In a loop, a branch on it asks again, since it is the same thread: inside a branch that the whole warp takes. `ptxas` then
//! knows that one thread executes what is in there, and needs no loop over those that might (`BRA.U.ANY`) around each transfer.

use crate::analysis::warps::WARP_THREADS;
use crate::utils::block_wide::{next_with_effect, only_if};
use crate::utils::builders::{compare, constant, of_first_lane};
use async_dialects::names::gpux_attr;
use async_mlir::arith::Predicate;
use async_mlir::gpu::{Dimension, block_threads};
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value};
use async_mlir::melior::Context;
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{arith, attr, gpu, nvvm, scf};
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Makes the value that all of `elects`, which stand in `function`, become. Returns an error if one names a warp that the block is
/// known not to have.
pub(super) fn lower<'c>(function: Op<'c>, elects: &[Op<'c>]) -> Result<(), PassError<'c>> {
    check_warps(function, elects)?;
    let entry = function.regions().next().and_then(Region::first);
    let first = entry.and_then(Block::first);
    let first = first.expect("a function with operations has a first one");
    let at = LeaderBuilder {
        context: function.context(),
        location: elects[0].location(),
        before: first,
    };
    let threads = block_threads(function);
    if threads.is_some_and(|threads| threads.is_multiple_of(u64::from(WARP_THREADS))) {
        let mut in_loops: BTreeMap<i64, Vec<Op>> = BTreeMap::new();
        for elect in elects {
            in_loops
                .entry(warp_of(*elect))
                .or_default()
                .extend(branches_in_loops(*elect));
        }
        for (warp, branches) in in_loops.into_iter().filter(|(_, branches)| !branches.is_empty()) {
            let in_warp = at.is_warp(warp);
            for branch in joined(branches) {
                elect_again(branch, in_warp);
            }
        }
    }
    let small_block = threads.is_some_and(|threads| threads < u64::from(WARP_THREADS));
    let mut leaders: FxHashMap<i64, Value> = FxHashMap::default();
    for elect in elects {
        let warp = warp_of(*elect);
        let leader = *leaders
            .entry(warp)
            .or_insert_with(|| at.leader(warp, small_block));
        elect.replace_with(&[leader]);
    }
    Ok(())
}

fn check_warps<'c>(function: Op<'c>, elects: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let Some(warps) = block_threads(function).map(|threads| threads.div_ceil(u64::from(WARP_THREADS))) else {
        return Ok(());
    };
    let is_none = |elect: &&Op| warp_of(**elect).unsigned_abs() >= warps;
    let Some(&elect) = elects.iter().find(is_none) else {
        return Ok(());
    };
    let message = format!(
        "elects a thread of warp {}, but the block has {warps}, which are counted from 0",
        warp_of(elect)
    );
    Err(PassError::new(elect, message).note(function, "known_block_size is here"))
}

/// The number of the warp that elects.
fn warp_of(elect: Op<'_>) -> i64 {
    elect.int_attr(gpux_attr::WARP).unwrap_or(0)
}

/// The branches on `elect` that are in loops, and have nothing for the others to do.
fn branches_in_loops(elect: Op<'_>) -> Vec<Op<'_>> {
    let branches = elect.result(0).uses().into_iter().map(|used| used.owner);
    let is_loop = |op: Op| matches!(op.name(), scf::FOR | scf::WHILE);
    let is_one_way = |branch: Op| {
        let others = branch.regions().nth(1);
        branch.is(scf::IF) && others.is_none_or(|others| others.first().is_none())
    };
    branches
        .filter(|branch| is_one_way(*branch) && branch.num_results() == 0 && branch.ancestors().any(is_loop))
        .collect()
}

/// Makes one of branches between which nothing but computation happens; returns those that are left.
fn joined(branches: Vec<Op<'_>>) -> Vec<Op<'_>> {
    let all: FxHashSet<Op> = branches.iter().copied().collect();
    let next = branches.iter().filter_map(|branch| {
        let next = next_with_effect(*branch).filter(|next| all.contains(next));
        Some((*branch, next?))
    });
    let next: FxHashMap<Op, Op> = next.collect();
    let followers: FxHashSet<Op> = next.values().copied().collect();
    let mut left = Vec::new();
    for first in branches.into_iter().filter(|branch| !followers.contains(branch)) {
        let mut row: Vec<Op> =
            std::iter::successors(Some(first), |branch| next.get(branch).copied()).collect();
        let Some(last) = row.pop() else { continue };
        left.push(last);
        let start = last.region(0).first().and_then(Block::first);
        for branch in row {
            let body = branch.region(0).first().map_or(Vec::new(), Block::ops);
            for op in body.into_iter().filter(|op| !op.is_terminator()) {
                if let Some(start) = start {
                    op.move_before(start);
                }
            }
            branch.erase();
        }
    }
    left
}

/// Has a warp elect a thread at `branch`, which that alone takes; `in_warp` is true in all of the warp.
fn elect_again<'c>(branch: Op<'c>, in_warp: Value<'c>) {
    let location = branch.location();
    let warp = only_if(in_warp, branch);
    let elect = OpBuilder::new(nvvm::ELECT_SYNC, location)
        .results(&[IntegerType::new(branch.context(), 1).into()])
        .before(warp);
    branch.move_before(warp);
    branch.set_operand(0, elect.result(0));
}

/// Where operations are made.
struct LeaderBuilder<'c> {
    context: &'c Context,
    location: Location<'c>,
    before: Op<'c>,
}

impl<'c> LeaderBuilder<'c> {
    fn leader(&self, warp: i64, small_block: bool) -> Value<'c> {
        let thread = self.linear_thread();
        if small_block {
            return self.compare(
                Predicate::Equal,
                thread,
                self.index(warp * i64::from(WARP_THREADS)),
            );
        }
        let in_warp = if warp == 0 {
            self.compare(
                Predicate::UnsignedLess,
                thread,
                self.index(i64::from(WARP_THREADS)),
            )
        } else {
            let its = self.compute(arith::DIVUI, thread, self.index(i64::from(WARP_THREADS)));
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

    /// Whether it is a warp, in a register that the warp shares.
    fn is_warp(&self, number: i64) -> Value<'c> {
        let i32 = IntegerType::new(self.context, 32).into();
        let warp = self.compute(
            arith::DIVUI,
            self.linear_thread(),
            self.index(i64::from(WARP_THREADS)),
        );
        let cast = OpBuilder::new(arith::INDEX_CAST, self.location).operands(&[warp]);
        let warp = cast.results(&[i32]).before(self.before).result(0);
        let warp = of_first_lane(warp, self.before);
        let number = constant(self.location, i32, number).before(self.before).result(0);
        self.compare(Predicate::Equal, warp, number)
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
