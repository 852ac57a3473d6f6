//! Checks what `--gpux-split-roles` writes: every role does what it did.
//!
//! Warps take certain ways through `scf.if`s on their number. For all warps that take the same ones, the code is read twice, as it was and as it
//! is, without the ways that they don't take: both have to be the same operations, in the same order, of the same values. Values have
//! numbers (value numbering): what is computed without side effects gets one by what it is computed of, wherever that stands. What threads of a
//! warp compute together, as a shuffle, gets one by where it stands, too: other threads may come to another block. A barrier of the
//! block is also one with number 0 of as many threads as the block has (PTX ISA, `barrier.sync`).
//!
//! Cost: the operations that each kind of warps runs, before and after.

mod ways;

use async_dialects::names::gpux_attr;
use async_mlir::gpu::{block_threads, is_barrier};
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::melior::ir::{AttributeLike, TypeLike};
use async_mlir::names::{gpu, nvvm};
use rustc_hash::{FxHashMap, FxHashSet};
use ways::{Step, Ways};

/// The first operation that is not what it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference<'c> {
    /// As it was; `None` if there was none.
    pub before: Option<Op<'c>>,
    /// As it is; `None` if there is none.
    pub after: Option<Op<'c>>,
}

/// Checks that every warp does in function `after` what it does in `before`, a copy from before it was changed.
///
/// # Errors
///
/// The first difference; that of the functions if it is not known how many warps there are.
pub fn check<'c>(before: Op<'c>, after: Op<'c>) -> Result<(), Difference<'c>> {
    let functions = Difference {
        before: Some(before),
        after: Some(after),
    };
    let ways = Ways::of(before, after).ok_or(functions)?;
    if attributes(before) != attributes(after) {
        return Err(functions);
    }
    let threads = block_threads(before).and_then(|threads| i64::try_from(threads).ok());
    for warp in ways.kinds() {
        let mut comparison = Comparison {
            ways: &ways,
            warp,
            threads: threads.ok_or(functions)?,
            numbers: FxHashMap::default(),
            blocks: FxHashMap::default(),
            computed: FxHashMap::default(),
            next: 0,
            block: 0,
        };
        if !comparison.regions(before, after)? {
            return Err(functions);
        }
    }
    Ok(())
}

/// The attributes of a function, but for the one that has it split.
fn attributes(function: Op<'_>) -> Vec<(&str, usize)> {
    let mut attributes = unique_attributes(function);
    attributes.retain(|(name, _)| *name != gpux_attr::ROLES);
    attributes
}

/// The attributes of `op` by name, each as the address that it alone has in its context.
fn unique_attributes(op: Op<'_>) -> Vec<(&str, usize)> {
    let attributes = op.attrs().into_iter();
    let mut attributes: Vec<_> = attributes
        .map(|(name, attribute)| (name, attribute.to_raw().ptr as usize))
        .collect();
    attributes.sort_unstable();
    attributes
}

/// A number that equal values have.
type Number = u32;

/// An operation, but for its regions. Attributes and types are unique in a context, by address.
#[derive(PartialEq, Eq, Hash)]
struct Description<'c> {
    name: &'c str,
    attributes: Vec<(&'c str, usize)>,
    types: Vec<usize>,
    operands: Vec<Number>,
    successors: Vec<Option<u32>>,
    /// The block in which threads of a warp compute it together.
    together: Option<u32>,
}

/// What one kind of warps does, before and after.
struct Comparison<'a, 'c> {
    ways: &'a Ways<'c>,
    warp: usize,
    threads: i64,
    numbers: FxHashMap<Value<'c>, Number>,
    /// Blocks that come at the same place have the same number.
    blocks: FxHashMap<Block<'c>, u32>,
    /// The number of the first result of each operation without side effects.
    computed: FxHashMap<Description<'c>, Number>,
    next: Number,
    /// The block that is being compared.
    block: u32,
}

impl<'c> Comparison<'_, 'c> {
    /// Compares the regions of two operations; returns false if they don't have as many blocks with as many arguments.
    fn regions(&mut self, before: Op<'c>, after: Op<'c>) -> Result<bool, Difference<'c>> {
        let [old, new] = [before, after].map(|op| op.regions().map(Region::blocks).collect::<Vec<_>>());
        if !old.iter().map(Vec::len).eq(new.iter().map(Vec::len)) {
            return Ok(false);
        }
        let mut pairs: Vec<(Block, Block)> =
            old.into_iter().flatten().zip(new.into_iter().flatten()).collect();
        for (old, new) in &pairs {
            if !old.args().map(Value::ty).eq(new.args().map(Value::ty)) {
                return Ok(false);
            }
            let number = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
            self.blocks.extend([(*old, number), (*new, number)]);
            self.bind(old.args(), new.args());
        }
        let order = reverse_postorder(before);
        let place = |old: &Block<'c>| order.get(old).copied().unwrap_or(usize::MAX);
        pairs.sort_by_key(|(old, _)| place(old));
        let around = self.block;
        for (old, new) in pairs {
            self.block = self.blocks[&old];
            self.block(old, new)?;
        }
        self.block = around;
        Ok(true)
    }

    fn block(&mut self, before: Block<'c>, after: Block<'c>) -> Result<(), Difference<'c>> {
        let [mut old, mut new] = [before, after].map(|block| self.ways.steps(block, self.warp).into_iter());
        loop {
            let (before, after) = (self.next_op(&mut old), self.next_op(&mut new));
            let difference = Difference { before, after };
            match (before, after) {
                (None, None) => return Ok(()),
                (Some(before), Some(after)) if self.is_same(before, after)? => {
                    self.bind(before.results(), after.results());
                }
                _ => return Err(difference),
            }
        }
    }

    /// The next operation whose place matters; what comes before it gets its numbers.
    fn next_op(&mut self, steps: &mut impl Iterator<Item = Step<'c>>) -> Option<Op<'c>> {
        for step in steps {
            match step {
                Step::Op(op) if op.is_pure() && op.num_regions() == 0 && !op.is_terminator() => {
                    let description = self.describe(op);
                    let first = match self.computed.get(&description) {
                        Some(number) => *number,
                        None => {
                            let number = self.fresh(op.num_results());
                            self.computed.insert(description, number);
                            number
                        }
                    };
                    self.numbers.extend(op.results().zip(first..));
                }
                Step::Op(op) => return Some(op),
                Step::Taken { results, values } => {
                    for (result, value) in results.into_iter().zip(values) {
                        let number = self.number(value);
                        self.numbers.insert(result, number);
                    }
                }
            }
        }
        None
    }

    fn is_same(&mut self, before: Op<'c>, after: Op<'c>) -> Result<bool, Difference<'c>> {
        if self.describe(before) == self.describe(after) {
            return self.regions(before, after);
        }
        let is_barrier = is_barrier(before) || before.is(gpu::BARRIER);
        Ok(is_barrier && self.is_numbered_barrier(after))
    }

    /// Returns true if `op` is the barrier with number 0 of all threads of the block.
    fn is_numbered_barrier(&self, op: Op<'c>) -> bool {
        op.is(nvvm::BARRIER)
            && op.num_results() == 0
            && op
                .operands()
                .map(Value::as_constant_int)
                .eq([Some(0), Some(self.threads)])
    }

    fn describe(&mut self, op: Op<'c>) -> Description<'c> {
        Description {
            name: op.name(),
            attributes: unique_attributes(op),
            types: op
                .results()
                .map(|result| result.ty().to_raw().ptr as usize)
                .collect(),
            operands: op.operands().map(|operand| self.number(operand)).collect(),
            successors: op
                .successors()
                .map(|block| self.blocks.get(&block).copied())
                .collect(),
            together: is_together(op).then_some(self.block),
        }
    }

    /// The number of `value`; one that nothing else has, if it is not known.
    fn number(&mut self, value: Value<'c>) -> Number {
        match self.numbers.get(&value) {
            Some(number) => *number,
            None => {
                let number = self.fresh(1);
                self.numbers.insert(value, number);
                number
            }
        }
    }

    /// The first of so many new numbers.
    fn fresh(&mut self, many: usize) -> Number {
        let first = self.next;
        self.next = self.next.saturating_add(u32::try_from(many).unwrap_or(u32::MAX));
        first
    }

    /// Gives values that are the same before and after new numbers.
    fn bind(&mut self, before: impl Iterator<Item = Value<'c>>, after: impl Iterator<Item = Value<'c>>) {
        for (before, after) in before.zip(after) {
            let number = self.fresh(1);
            self.numbers.extend([(before, number), (after, number)]);
        }
    }
}

/// Returns true if threads of a warp may compute `op`, which has no side effects, of values that each other has.
fn is_together(op: Op<'_>) -> bool {
    let is_of_device = [gpu::NAMESPACE, nvvm::NAMESPACE].contains(&op.dialect());
    // What has no operands is the number of a thread, or the like.
    is_of_device && op.num_operands() > 0 && op.is_pure()
}

/// The places of the blocks of each region of `op` in a reverse postorder, in which values are defined before they are used. Blocks that
/// are not reached have none.
fn reverse_postorder<'c>(op: Op<'c>) -> FxHashMap<Block<'c>, usize> {
    let mut postorder = Vec::new();
    let mut seen = FxHashSet::default();
    // The last region first, since the order is turned around.
    let regions: Vec<Region> = op.regions().collect();
    for region in regions.into_iter().rev() {
        let mut work: Vec<(Block, bool)> = region.first().map(|first| (first, false)).into_iter().collect();
        while let Some((block, is_done)) = work.pop() {
            if is_done {
                postorder.push(block);
            } else if seen.insert(block) {
                work.push((block, true));
                let ends = block.terminator().into_iter();
                work.extend(ends.flat_map(Op::successors).map(|successor| (successor, false)));
            }
        }
    }
    postorder.into_iter().rev().zip(0..).collect()
}
