//! Collects the memory accesses of an operation and of all that is nested in it, and when each happens.
//!
//! An operation is a **fence** unless it is known what it does: barriers, awaits, atomic updates, calls, and
//! whatever says nothing. `async.reads` and `async.writes` say it of any operation; one that has an engine
//! and neither of them does nothing but what it says in another way.
//!
//! Where it is known which copies a thread has in flight ([`InFlightCopies`]), an await accesses what they
//! access, and is no fence.

use super::awaits::InFlightCopies;
use super::cost_model::is_copy;
use crate::analysis::memory::{self, Access as Kind};
use crate::analysis::places::Place;
use crate::analysis::views::view_source;
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect};
use async_dialects::names::{async_, gpux_attr};
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::memory_effects::{EffectKind, memory_effects};
use async_mlir::names::{arith, index, math, memref};
use async_mlir::types::{array_numbers, is_unranked_memref};

/// When an access happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Timing {
    /// When the operation is executed.
    #[default]
    Now,
    /// From then on, until it is awaited. What comes later need not come later.
    Issued,
    /// It is complete then. What comes earlier need not come earlier.
    Completed,
}

/// An access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access<'c> {
    pub place: Place<'c>,
    pub writes: bool,
    /// The operation that accesses memory, which may be nested.
    pub op: Op<'c>,
    pub timing: Timing,
}

/// What an operation does, with all that is nested in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects<'c> {
    /// It may not pass anything that has effects.
    pub is_fence: bool,
    /// The fence is one between threads, which a copy may come after as well as before: what is in flight is ordered by its await.
    pub is_barrier: bool,
    /// It touches no memory, but may not pass a fence: it may not be executed where it was not.
    pub stays: bool,
    pub accesses: Vec<Access<'c>>,
}

/// Operations with regions and more accesses than these are fences.
const MOST_ACCESSES: usize = 64;

/// In a block with more accesses to slots than these, slots are not told apart: each is compared with all others.
const MOST_SLOTS: usize = 256;

/// What each of `ops` does, in its block.
pub(crate) fn effects_in_block<'c>(
    ops: &[Op<'c>],
    effects_of: impl Fn(Op<'c>) -> Effects<'c>,
) -> Vec<Effects<'c>> {
    let mut effects: Vec<Effects> = ops.iter().map(|op| effects_of(*op)).collect();
    let accesses = || effects.iter().flat_map(|effects| &effects.accesses);
    if accesses().filter(|access| access.place.has_slot()).count() > MOST_SLOTS {
        for access in effects.iter_mut().flat_map(|effects| &mut effects.accesses) {
            access.place = access.place.in_any_iteration();
        }
    }
    effects
}

impl<'c> Effects<'c> {
    /// Adds what something inside does.
    fn add(&mut self, inner: Self) {
        self.is_fence |= inner.is_fence;
        self.stays |= inner.stays;
        // In a region, a copy may be awaited as well.
        self.accesses
            .extend(inner.accesses.into_iter().map(|access| Access {
                timing: match access.timing {
                    Timing::Issued => Timing::Now,
                    timing => timing,
                },
                ..access
            }));
    }

    /// With too many accesses, it is a fence.
    fn limit(&mut self) {
        if self.accesses.len() > MOST_ACCESSES {
            self.is_fence = true;
            self.accesses.clear();
        }
    }
}

impl<'c> Access<'c> {
    /// The access of `op` to `memory`, an operand.
    pub fn new(op: Op<'c>, memory: Value<'c>, writes: bool) -> Self {
        Self {
            place: Place::of_operand(op, memory),
            writes,
            op,
            timing: Timing::Now,
        }
    }

    /// The same access to all of the buffer.
    pub fn to_all(self) -> Self {
        Self {
            place: self.place.whole(),
            ..self
        }
    }

    /// Returns true if the two have to stay in order. Slots are compared if both accesses are `in_one_iteration`.
    pub fn conflicts(&self, other: &Self, in_one_iteration: bool) -> bool {
        (self.writes || other.writes) && self.may_alias(other, in_one_iteration)
    }

    /// Returns true unless both are known to share no byte.
    fn may_alias(&self, other: &Self, in_one_iteration: bool) -> bool {
        // What is complete now was begun in any iteration.
        let at_once = in_one_iteration && self.orders_earlier() && other.orders_earlier();
        self.place.may_overlap(other.place, at_once)
    }

    /// Returns true if whatever conflicts with `other` conflicts with this, too, and comes before it or after it.
    pub fn covers(&self, other: &Self, in_one_iteration: bool) -> bool {
        let place = self.place;
        self.writes
            && self.orders_earlier()
            && place.in_any_iteration() == other.place.in_any_iteration()
            && (!place.has_slot() || in_one_iteration && place == other.place)
    }
}

impl Access<'_> {
    /// Returns true if what conflicts with it and comes earlier has to.
    pub fn orders_earlier(&self) -> bool {
        self.timing != Timing::Completed
    }
}

/// What `op` does, with all that is nested in it.
pub(crate) fn effects<'c>(op: Op<'c>) -> Effects<'c> {
    effects_in_flight(op, None)
}

/// What `op` does, with all that is nested in it, where it is known what is in flight.
pub(crate) fn effects_in_flight<'c>(op: Op<'c>, in_flight: Option<&InFlightCopies<'c>>) -> Effects<'c> {
    let mut all = own_effects(op, in_flight);
    if has_lists(op) {
        return all;
    }
    let inside = op
        .regions()
        .flat_map(Region::blocks)
        .map(|block| effects_inside(block, in_flight));
    for inner in inside {
        all.add(inner);
    }
    if op.num_regions() > 0 {
        all.limit();
    }
    all
}

/// What the operations of `block`, which is inside of another operation, do.
pub(crate) fn effects_inside<'c>(block: Block<'c>, in_flight: Option<&InFlightCopies<'c>>) -> Effects<'c> {
    let mut all = Effects::default();
    // Functions inside are not run where they stand.
    for op in block
        .ops()
        .into_iter()
        // A terminator may have regions of its own, as `scf.reduce` has.
        .filter(|op| !op.is_function() && (!op.is_terminator() || op.num_regions() > 0))
    {
        all.add(effects_in_flight(op, in_flight));
    }
    all.limit();
    all
}

/// Returns true if `op` says which operands it reads and writes, which holds for its regions, too.
fn has_lists(op: Op<'_>) -> bool {
    op.has_attr(gpux_attr::READS) || op.has_attr(gpux_attr::WRITES)
}

/// What `op` itself does.
fn own_effects<'c>(op: Op<'c>, in_flight: Option<&InFlightCopies<'c>>) -> Effects<'c> {
    let known = match in_flight {
        Some(in_flight) => effects_in_thread(op, in_flight),
        None => known_effects(op),
    };
    if !has_lists(op) {
        // Of an engine's operation, no effects are known only if it has none.
        return known.unwrap_or_else(|| Effects {
            is_fence: !op.has_attr(gpux_attr::ENGINE),
            ..Effects::default()
        });
    }
    let mut effects = known.unwrap_or_default();
    // What it says here is all that it does, but for what it says in another way.
    effects.is_fence = false;
    effects.is_barrier = false;
    effects.stays = false;
    for (name, writes) in [(gpux_attr::READS, false), (gpux_attr::WRITES, true)] {
        let numbers = op.attr(name).and_then(array_numbers).unwrap_or_default();
        let numbers = numbers
            .into_iter()
            .filter_map(|number| usize::try_from(number).ok());
        let operands = numbers.filter(|number| *number < op.num_operands());
        let accesses = operands.map(|number| Access::new(op, op.operand(number), writes));
        effects.accesses.extend(accesses);
    }
    effects
}

/// What `op` does as far as the passes know it, if copies and awaits are told apart from what happens at once.
fn effects_in_thread<'c>(op: Op<'c>, in_flight: &InFlightCopies<'c>) -> Option<Effects<'c>> {
    if op.is(async_::AWAIT) {
        return Some(match in_flight.completed_by(op) {
            Some(accesses) => Effects {
                stays: true,
                accesses,
                ..Effects::default()
            },
            None => Effects {
                is_fence: true,
                ..Effects::default()
            },
        });
    }
    let mut effects = known_effects(op)?;
    effects.is_barrier = is_barrier(op);
    if is_copy(op) {
        for access in &mut effects.accesses {
            access.timing = Timing::Issued;
        }
    }
    Some(effects)
}

/// What `op` does; `None` if nothing is known of it.
fn known_effects<'c>(op: Op<'c>) -> Option<Effects<'c>> {
    let fence = Effects {
        is_fence: true,
        ..Effects::default()
    };
    if op.is_pure() || view_source(op).is_some() {
        return Some(Effects::default());
    }
    let completion = Completion::of(op);
    let is_issued_by_thread = |completion: Completion| {
        completion.effect == GroupEffect::Issue && completion.scope == ExecutionScope::Thread
    };
    let is_of_many = completion.is_some_and(|completion| !is_issued_by_thread(completion));
    if is_of_many || is_barrier(op) || op.is(memref::ATOMIC_RMW) {
        return Some(fence);
    }
    let memory::Effects::Known(known) = memory::effects(op) else {
        return None;
    };
    // Of memrefs of unknown rank, effects say nothing.
    if op.operands().any(|operand| is_unranked_memref(operand.ty())) {
        return Some(fence);
    }
    let accesses = known.into_iter();
    let accesses: Vec<Access> = accesses
        .map(|effect| {
            let writes = !matches!(effect.access, Kind::Read | Kind::AsyncRead);
            Access::new(op, effect.memory, writes)
        })
        .collect();
    let touches_nothing = accesses.is_empty();
    Some(Effects {
        is_fence: touches_nothing && !is_harmless(op) && op.num_regions() == 0,
        stays: touches_nothing && op.num_regions() == 0 && !only_allocates(op),
        accesses,
        ..Effects::default()
    })
}

/// Returns true if `op`, which accesses no memory, orders nothing.
fn is_harmless(op: Op<'_>) -> bool {
    const DIALECTS: &[&str] = &[arith::NAMESPACE, index::NAMESPACE, math::NAMESPACE];
    DIALECTS.contains(&op.dialect()) || only_allocates(op)
}

/// Returns true if `op` makes a buffer, and does nothing else.
fn only_allocates(op: Op<'_>) -> bool {
    memory_effects(op).is_some_and(|effects| {
        !effects.is_empty() && effects.iter().all(|(kind, _)| *kind == EffectKind::Allocate)
    })
}
