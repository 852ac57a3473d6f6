//! Reads blocks into steps, and compares them with what they were: part of what is trusted. Where accesses are, `async-locations` says.

mod copies;

use super::check::check;
use super::code::{Access, Fence, Step, Timing};
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect};
use async_dialects::names::{async_, gpux_attr};
use async_locations::memory::{Access as Kind, Effects, effects};
use async_locations::places::Place;
use async_locations::views::view_source;
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Block, Op, Region, Value, Walk};
use async_mlir::memory_effects::{EffectKind, memory_effects};
use async_mlir::names::{arith, index, math, memref};
use async_mlir::types::{array_numbers, is_unranked_memref};
use copies::{Copies, is_copy};
use rustc_hash::{FxHashMap, FxHashSet};

/// The operations of all blocks, before they are reordered.
pub struct Before<'c> {
    blocks: Vec<(Block<'c>, Vec<Noted<'c>>)>,
}

/// An operation as it was.
#[derive(PartialEq)]
struct Noted<'c> {
    op: Op<'c>,
    operands: Vec<Value<'c>>,
}

impl<'c> Noted<'c> {
    fn of(op: Op<'c>) -> Self {
        Self {
            op,
            operands: op.operands().collect(),
        }
    }
}

/// A reason to refuse what became of blocks.
#[derive(Clone, Copy, Debug)]
pub struct Fault<'c> {
    /// Where it is.
    pub op: Op<'c>,
    /// What it is, after the name of the operation.
    pub what: &'static str,
    /// What `op` had to come after.
    pub earlier: Option<Op<'c>>,
}

impl<'c> Before<'c> {
    /// The operations in `root`.
    #[must_use]
    pub fn of(root: Op<'c>) -> Self {
        let ops = root.self_and_nested().into_iter();
        let blocks = ops.flat_map(|op| op.regions().flat_map(Region::blocks));
        let blocks = blocks.map(|block| (block, block.ops().into_iter().map(Noted::of).collect()));
        Self {
            blocks: blocks.collect(),
        }
    }

    /// Checks that each block has the operations that it had, in the same order, but for those that may be `inserted`.
    ///
    /// # Errors
    ///
    /// What is wrong, of the first block where something is.
    pub fn check_inserted(&self, inserted: impl Fn(Op<'c>) -> bool) -> Result<(), Fault<'c>> {
        for (block, before) in &self.blocks {
            let after = block.ops().into_iter().filter(|op| !inserted(*op));
            let after: Vec<Noted> = after.map(Noted::of).collect();
            if after != *before {
                let around = block.parent_op().expect("a block of an operation");
                return Err(fault(around, "has a block with other operations than before"));
            }
        }
        Ok(())
    }

    /// Checks that each block has the operations that it had, in an order that keeps what has to be kept. `in_threads` is true if blocks
    /// are what a thread of a GPU executes, whose copies are complete where it awaits them; otherwise, awaits are fences, and copies like
    /// other operations.
    ///
    /// # Errors
    ///
    /// What is wrong, of the first block where something is.
    pub fn check(&self, in_threads: bool) -> Result<(), Fault<'c>> {
        let mut copies: FxHashMap<Op<'c>, Copies<'c>> = FxHashMap::default();
        for (block, before) in &self.blocks {
            let after = block.ops();
            let is_same = after.len() == before.len() && after.iter().zip(before).all(|(a, b)| *a == b.op);
            if !is_same {
                let around = block.parent_op().map(function_around);
                let copies = around
                    .filter(|_| in_threads)
                    .map(|function| &*copies.entry(function).or_insert_with(|| Copies::of(function)));
                check_block(*block, before, &after, copies)?;
            }
            let changed = before.iter().find(|noted| **noted != Noted::of(noted.op));
            if let Some(noted) = changed {
                return Err(fault(noted.op, "has other operands than before"));
            }
        }
        Ok(())
    }
}

/// The function that `op` is or is in; if there is none, `op`.
fn function_around(op: Op<'_>) -> Op<'_> {
    let mut around = std::iter::once(op).chain(op.ancestors());
    around.find(|op| op.is_function()).unwrap_or(op)
}

fn fault<'c>(op: Op<'c>, what: &'static str) -> Fault<'c> {
    Fault {
        op,
        what,
        earlier: None,
    }
}

/// Checks `block`, whose operations are in another order `after`.
fn check_block<'c>(
    block: Block<'c>,
    before: &[Noted<'c>],
    after: &[Op<'c>],
    copies: Option<&Copies<'c>>,
) -> Result<(), Fault<'c>> {
    let positions: FxHashMap<Op, usize> = after.iter().copied().zip(0..).collect();
    let now: Option<Vec<usize>> = before
        .iter()
        .map(|noted| positions.get(&noted.op).copied())
        .collect();
    let Some(now) = now.filter(|_| before.len() == after.len()) else {
        let around = block.parent_op().expect("a block of an operation");
        return Err(fault(around, "has a block that lost or got operations"));
    };
    let last = after.last().copied();
    let moved_end = before
        .last()
        .map(|noted| noted.op)
        .filter(|end| Some(*end) != last);
    if let Some(end) = moved_end.filter(|end| end.is_terminator()) {
        return Err(fault(end, "is no longer at the end of its block"));
    }
    let ops: Vec<Op> = before.iter().map(|noted| noted.op).collect();
    let mut reader = Reader::new(&ops, copies);
    let steps: Vec<Step> = ops.iter().map(|op| reader.step(*op)).collect();
    let places = reader.places;
    let meets = |earlier: Access, later: Access| {
        let at_once = earlier.timing != Timing::Completed && later.timing != Timing::Completed;
        places[earlier.place].may_overlap(places[later.place], at_once)
    };
    check(&steps, &now, &meets).map_err(|refusal| Fault {
        op: ops[refusal.later],
        what: "comes before an operation that it has to come after",
        earlier: Some(ops[refusal.earlier]),
    })
}

/// Reads what operations do.
pub(crate) struct Reader<'a, 'c> {
    numbers: FxHashMap<Op<'c>, usize>,
    /// If awaits complete copies.
    copies: Option<&'a Copies<'c>>,
    /// The places of accesses, by number.
    pub(crate) places: Vec<Place<'c>>,
    place_numbers: FxHashMap<Place<'c>, usize>,
    /// The names of queues.
    queues: Vec<&'static str>,
}

impl<'a, 'c> Reader<'a, 'c> {
    fn new(ops: &[Op<'c>], copies: Option<&'a Copies<'c>>) -> Self {
        Self {
            numbers: ops.iter().copied().zip(0..).collect(),
            copies,
            places: Vec::new(),
            place_numbers: FxHashMap::default(),
            queues: Vec::new(),
        }
    }

    /// A reader of operations of no certain block, whose awaits are fences.
    pub(crate) fn of_any_block() -> Self {
        Self::new(&[], None)
    }

    /// What `op` and all that is nested in it does.
    pub(crate) fn step(&mut self, op: Op<'c>) -> Step {
        let mut step = Step {
            uses: self.uses(op),
            class: self.class(op),
            ..Step::default()
        };
        op.walk(|inner| {
            // Functions are not run where they stand. A terminator may have regions of its own, as `scf.reduce` has.
            if inner.is_function() || inner != op && inner.is_terminator() && inner.num_regions() == 0 {
                return Walk::Skip;
            }
            self.add(inner, inner != op, &mut step);
            if has_lists(inner) {
                Walk::Skip
            } else {
                Walk::Advance
            }
        });
        step
    }

    /// The operations of the block whose values `op` uses, also in its regions.
    fn uses(&self, op: Op<'c>) -> Vec<usize> {
        let mut used = FxHashSet::default();
        op.walk(|inner| {
            let makers = inner.operands().filter_map(Value::defining_op);
            used.extend(makers.filter_map(|maker| self.numbers.get(&maker).copied()));
            Walk::Advance
        });
        used.into_iter().collect()
    }

    /// What keeps its order: of what a thread has in flight, the copies of each queue, and awaits.
    fn class(&mut self, op: Op<'c>) -> Option<u32> {
        self.copies?;
        let name = if op.is(async_::AWAIT) {
            async_::AWAIT
        } else {
            Completion::of(op).filter(|_| is_copy(op))?.queue?.name()
        };
        let number = self.queues.iter().position(|queue| *queue == name);
        let number = number.unwrap_or_else(|| {
            self.queues.push(name);
            self.queues.len() - 1
        });
        u32::try_from(number).ok()
    }

    /// Adds to `step` what `op` itself does.
    fn add(&mut self, op: Op<'c>, is_inside: bool, step: &mut Step) {
        let mut own = self.own(op);
        if has_lists(op) {
            // It says what it does, but for what it says in another way.
            (own.fence, own.stays) = (Fence::None, false);
            for (name, writes) in [(gpux_attr::READS, false), (gpux_attr::WRITES, true)] {
                let numbers = op.attr(name).and_then(array_numbers).unwrap_or_default();
                let operands = numbers
                    .into_iter()
                    .filter_map(|number| usize::try_from(number).ok());
                for operand in operands.filter(|number| *number < op.num_operands()) {
                    let access = self.access(Place::of_operand(op, op.operand(operand)), writes, Timing::Now);
                    own.accesses.push(access);
                }
            }
        }
        if is_inside {
            // What is started inside may be awaited there.
            let issued = |access: &&mut Access| access.timing == Timing::Issued;
            own.accesses
                .iter_mut()
                .filter(issued)
                .for_each(|access| access.timing = Timing::Now);
        }
        match own.fence {
            Fence::None => {}
            fence => step.fence = if is_inside { Fence::All } else { fence },
        }
        step.stays |= own.stays;
        step.accesses.extend(own.accesses);
    }

    fn access(&mut self, place: Place<'c>, writes: bool, timing: Timing) -> Access {
        // What is complete now was begun in any iteration.
        let place = match timing {
            Timing::Completed => place.in_any_iteration(),
            _ => place,
        };
        let next = self.places.len();
        let number = *self.place_numbers.entry(place).or_insert(next);
        if number == next {
            self.places.push(place);
        }
        Access {
            place: number,
            writes,
            timing,
        }
    }

    /// What `op` itself does, but for what it lists.
    fn own(&mut self, op: Op<'c>) -> Step {
        let fence = |fence| Step {
            fence,
            ..Step::default()
        };
        if op.is_pure() || view_source(op).is_some() {
            return Step::default();
        }
        if let Some(copies) = self.copies.filter(|_| op.is(async_::AWAIT)) {
            let Some(completed) = copies.completed_by(op) else {
                return fence(Fence::All);
            };
            let accesses = completed.into_iter();
            let accesses = accesses.map(|(place, writes)| self.access(place, writes, Timing::Completed));
            return Step {
                stays: true,
                accesses: accesses.collect(),
                ..Step::default()
            };
        }
        if is_barrier(op) {
            return fence(if self.copies.is_some() {
                Fence::Barrier
            } else {
                Fence::All
            });
        }
        let is_of_thread = |completion: Completion| {
            completion.effect == GroupEffect::Issue && completion.scope == ExecutionScope::Thread
        };
        if op.is(memref::ATOMIC_RMW) || Completion::of(op).is_some_and(|completion| !is_of_thread(completion))
        {
            return fence(Fence::All);
        }
        match effects(op) {
            // Of an operation of an engine, it is known that it says all.
            Effects::Unknown if op.has_attr(gpux_attr::ENGINE) => Step::default(),
            Effects::Unknown => fence(Fence::All),
            Effects::Known(_) if op.operands().any(|operand| is_unranked_memref(operand.ty())) => {
                fence(Fence::All)
            }
            Effects::Known(known) if known.is_empty() => of_no_memory(op),
            Effects::Known(known) => {
                let timing = match self.copies {
                    Some(_) if is_copy(op) => Timing::Issued,
                    _ => Timing::Now,
                };
                let accesses = known.into_iter().map(|effect| {
                    let writes = !matches!(effect.access, Kind::Read | Kind::AsyncRead);
                    self.access(Place::of_operand(op, effect.memory), writes, timing)
                });
                Step {
                    accesses: accesses.collect(),
                    ..Step::default()
                }
            }
        }
    }
}

/// What `op` does, which accesses no memory but is not pure.
fn of_no_memory(op: Op<'_>) -> Step {
    let allocates = memory_effects(op).is_some_and(|effects| {
        !effects.is_empty() && effects.iter().all(|(kind, _)| *kind == EffectKind::Allocate)
    });
    // What regions do is up to the operations in there.
    if allocates || op.num_regions() > 0 {
        return Step::default();
    }
    let may_only_fail = [arith::NAMESPACE, index::NAMESPACE, math::NAMESPACE].contains(&op.dialect());
    Step {
        fence: if may_only_fail { Fence::None } else { Fence::All },
        stays: true,
        ..Step::default()
    }
}

/// Returns true if `op` says which operands it reads and writes, which holds for its regions, too.
fn has_lists(op: Op<'_>) -> bool {
    op.has_attr(gpux_attr::READS) || op.has_attr(gpux_attr::WRITES)
}
