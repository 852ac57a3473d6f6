//! Compares a function as it was checked with what a pass says to be the same without what was there for the check alone: tokens, loads in
//! token form, or waits that others imply.
//!
//! Both are walked in lockstep. Awaits, and operations that do nothing but to compute tokens, are passed over; so are operands, results and
//! block arguments that are tokens. All else has to be equal: names, attributes, types, blocks, successors, and operands by what defines
//! them. Locations are not compared.
//!
//! A store of a whole block is issued by one of its threads: it stands in an `scf.if` on `gpux.elect`. In functions with such stores there may
//! be more `gpux.elect`, `gpu.barrier` and `nvvm.fence.proxy` than there were, which have no part in groups. What is claimed is true of the
//! threads that don't issue as well, since they have less in flight.

use async_dialects::completion::{Completion, is_block_wide_load, issued_for_block};
use async_dialects::names::{async_, gpux};
use async_dialects::types::is_token;
use async_mlir::ir::{Block, Op, Value};
use async_mlir::melior::ir::Attribute;
use async_mlir::melior::ir::attribute::DenseI32ArrayAttribute;
use async_mlir::names::{gpu, nvvm, scf};
use rustc_hash::{FxHashMap, FxHashSet};

/// A place where two functions differ.
#[derive(Clone, Debug)]
pub struct Difference<'c> {
    /// The operation of the function without tokens, or what stands around the place of one that it lacks.
    pub op: Op<'c>,
    /// What is wrong there.
    pub message: String,
}

/// The operations that a pass takes away from a function once it is checked, beside awaits and what computes tokens.
#[derive(Clone, Copy)]
pub enum Erased<'a, 'c> {
    /// The tokens of operations of queues, which get their counted form.
    Tokens,
    /// Loads in token form, beside each of which is the one that is issued.
    Loads,
    /// These waits, which others imply.
    Waits(&'a FxHashSet<Op<'c>>),
}

/// Checks that `erased` is `function` without what is said to be taken away.
///
/// # Errors
///
/// The first place where they differ.
pub fn compare<'c>(function: Op<'c>, erased: Op<'c>, what: Erased<'_, 'c>) -> Result<(), Difference<'c>> {
    let issues = match what {
        Erased::Tokens => function.self_and_nested().into_iter().any(is_block_wide_store),
        Erased::Loads | Erased::Waits(_) => false,
    };
    let mut pairs = Pairs {
        function,
        what,
        issues,
        ops: Vec::new(),
        values: FxHashMap::default(),
        blocks: FxHashMap::default(),
    };
    pairs.add(function, erased)?;
    // Values may be used before the place where they are defined is come by.
    pairs.ops.iter().try_for_each(|(a, b)| pairs.check_uses(*a, *b))
}

/// What stands for what.
struct Pairs<'a, 'c> {
    function: Op<'c>,
    what: Erased<'a, 'c>,
    /// True if stores are issued by one thread.
    issues: bool,
    ops: Vec<(Op<'c>, Op<'c>)>,
    values: FxHashMap<Value<'c>, Value<'c>>,
    blocks: FxHashMap<Block<'c>, Block<'c>>,
}

fn difference<'c, T>(op: Op<'c>, message: impl Into<String>) -> Result<T, Difference<'c>> {
    let message = message.into();
    Err(Difference { op, message })
}

impl<'c> Pairs<'_, 'c> {
    fn add(&mut self, a: Op<'c>, b: Op<'c>) -> Result<(), Difference<'c>> {
        if a.name() != b.name() {
            return difference(b, format!("is in the place of '{}'", a.name()));
        }
        let is_left = match self.what {
            Erased::Tokens => has_own_token(b),
            Erased::Loads => is_block_wide_load(b),
            Erased::Waits(_) => false,
        };
        if is_left && self.is_own(a) {
            return difference(b, "has a token, so this is not what the pass has written");
        }
        if let Some(name) = other_attribute(a, b) {
            return difference(b, format!("has another '{name}'"));
        }
        self.add_values(b, plain(a.results()), plain(b.results()), "results")?;
        if a.num_regions() != b.num_regions() {
            return difference(b, "has another number of regions");
        }
        self.ops.push((a, b));
        for (inside, inside_b) in a.regions().zip(b.regions()) {
            let (blocks, blocks_b) = (inside.blocks(), inside_b.blocks());
            if blocks.len() != blocks_b.len() {
                return difference(b, "has another number of blocks");
            }
            for (block, block_b) in blocks.into_iter().zip(blocks_b) {
                self.blocks.insert(block, block_b);
                self.add_values(b, plain(block.args()), plain(block_b.args()), "block arguments")?;
                self.add_block(b, block, block_b)?;
            }
        }
        Ok(())
    }

    fn add_block(&mut self, around: Op<'c>, a: Block<'c>, b: Block<'c>) -> Result<(), Difference<'c>> {
        let ops = |block: Block<'c>| block.ops().into_iter().filter(|op| !is_passed_over(*op));
        let mut others = ops(b).peekable();
        for op in ops(a) {
            let is_erased = match self.what {
                Erased::Tokens => false,
                Erased::Loads => is_block_wide_load(op) && self.is_own(op),
                Erased::Waits(waits) => waits.contains(&op),
            };
            if is_erased {
                continue;
            }
            let is_issued = self.issues && is_block_wide_store(op);
            let wanted = if is_issued { scf::IF } else { op.name() };
            let is_more = |other: &Op| self.issues && is_for_issue(*other) && !other.is(wanted);
            while others.next_if(is_more).is_some() {}
            match others.next() {
                Some(other) if is_issued => self.add(op, issued(other)?)?,
                Some(other) => self.add(op, other)?,
                None => return difference(around, format!("lacks '{}' at the end of a block", op.name())),
            }
        }
        match others.find(|other| !(self.issues && is_for_issue(*other))) {
            Some(other) => difference(other, "is not in the function of the certificate"),
            None => Ok(()),
        }
    }

    /// Returns true if `op` is not in a function of its own inside of the function.
    fn is_own(&self, op: Op<'c>) -> bool {
        let mut around = std::iter::once(op).chain(op.ancestors());
        around.find(|op| op.is_function()) == Some(self.function)
    }

    fn add_values(
        &mut self,
        op: Op<'c>,
        a: Vec<Value<'c>>,
        b: Vec<Value<'c>>,
        what: &str,
    ) -> Result<(), Difference<'c>> {
        let types = |values: &[Value<'c>]| values.iter().map(|value| value.ty()).collect::<Vec<_>>();
        if types(&a) != types(&b) {
            return difference(op, format!("has {what} of other types"));
        }
        self.values.extend(a.into_iter().zip(b));
        Ok(())
    }

    fn check_uses(&self, a: Op<'c>, b: Op<'c>) -> Result<(), Difference<'c>> {
        let operands = plain(a.operands());
        let others = operands.iter().map(|value| self.values.get(value).copied());
        if !others.eq(plain(b.operands()).into_iter().map(Some)) {
            return difference(b, "has other operands");
        }
        let successors = a.successors().map(|block| self.blocks.get(&block).copied());
        if !successors.eq(b.successors().map(Some)) {
            return difference(b, "has other successors");
        }
        Ok(())
    }
}

/// Those of `values` that are no tokens.
fn plain<'c>(values: impl Iterator<Item = Value<'c>>) -> Vec<Value<'c>> {
    values.filter(|value| !is_token(value.ty())).collect()
}

/// Returns true if `op` is an await, or has no effect but to compute tokens.
fn is_passed_over(op: Op<'_>) -> bool {
    let computes_tokens = || {
        op.num_results() > 0
            && op.results().all(|result| is_token(result.ty()))
            && op.num_regions() == 0
            && op.is_pure()
    };
    op.is(async_::AWAIT) || computes_tokens()
}

/// Returns true if `op` belongs to a queue and has a token.
fn has_own_token(op: Op<'_>) -> bool {
    op.results().any(|result| is_token(result.ty()))
        && Completion::of(op).is_some_and(|completion| completion.queue.is_some())
}

/// Returns true if `op` is a store of a whole block, which one thread will issue.
fn is_block_wide_store(op: Op<'_>) -> bool {
    issued_for_block(op).is_some_and(|completion| {
        completion.queue.is_some() && (completion.done.is_some() || completion.read.is_some())
    })
}

/// Returns true if `op` is what is needed for one thread to issue.
fn is_for_issue(op: Op<'_>) -> bool {
    matches!(op.name(), gpux::ELECT | gpu::BARRIER | nvvm::FENCE_PROXY)
}

/// The operation that one thread issues, alone in `branch`.
fn issued(branch: Op<'_>) -> Result<Op<'_>, Difference<'_>> {
    let is_elected = branch.is(scf::IF)
        && branch
            .operand(0)
            .defining_op()
            .is_some_and(|op| op.is(gpux::ELECT))
        && branch.num_results() == 0
        && branch.region(1).first().is_none();
    let ops = branch
        .regions()
        .next()
        .and_then(|region| Some(region.first()?.ops()));
    match ops.unwrap_or_default().as_slice() {
        [op, end] if is_elected && end.is(scf::YIELD) => Ok(*op),
        _ => difference(branch, "is not the store of one thread that stands here"),
    }
}

/// The attributes that tell groups of operands and of results apart by their numbers.
const SEGMENTS: [&str; 2] = ["operandSegmentSizes", "resultSegmentSizes"];
/// One that follows from the block arguments of successors.
const CASES: &str = "case_operand_segments";

/// The name of an attribute that only one of two operations has, or that is another.
fn other_attribute<'c>(a: Op<'c>, b: Op<'c>) -> Option<&'c str> {
    let attrs = |op: Op<'c>| -> FxHashMap<&'c str, Attribute<'c>> {
        let attrs = op.attrs().into_iter();
        attrs.filter(|(name, _)| *name != CASES).collect()
    };
    let (of_a, of_b) = (attrs(a), attrs(b));
    let differs = |name: &&str| {
        of_a.get(name) != of_b.get(name)
            && !(SEGMENTS.contains(name) && segments(a, name) == segments(b, name))
    };
    let mut different: Vec<&str> = of_a.keys().chain(of_b.keys()).copied().filter(differs).collect();
    different.sort_unstable();
    different.first().copied()
}

/// How many values that are no tokens each group of operands or results has.
fn segments(op: Op<'_>, name: &str) -> Option<Vec<usize>> {
    let sizes = DenseI32ArrayAttribute::try_from(op.attr(name)?).ok()?;
    let mut values: Vec<Value> = if name == SEGMENTS[0] {
        op.operands().collect()
    } else {
        op.results().collect()
    };
    let mut groups = Vec::new();
    for i in 0..sizes.len() {
        let size = usize::try_from(sizes.element(i).ok()?).ok()?.min(values.len());
        let rest = values.split_off(size);
        groups.push(plain(values.into_iter()).len());
        values = rest;
    }
    Some(groups)
}
