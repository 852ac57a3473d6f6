//! Liveness of buffers around each loop of a function: whether what a loop reads may be written before it,
//! and what it writes read after it.
//!
//! Positions are numbers of operations in program order. A write is *sure* to come before a read if it is
//! earlier in the block of the read, or of something around that. For each read, the latest position is
//! worked out from which on sure writes are all that it reads; it reads nothing that was written before that
//! position. So one minimum says whether anything after a loop reads what the loop has written, and one for
//! each loop around it whether anything before it does so in the next iteration.
//!
//! This is done once, before any loop changes: pipelined loops write and read what they did before. Linear in
//! the size of the function.

use super::accesses::is_local;
use crate::analysis::footprints::{Footprints, Mask};
use crate::analysis::memory::{Access as Kind, Effect, Effects, effects};
use crate::analysis::views::base;
use async_mlir::control_flow::may_repeat;
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::melior::ir::TypeLike;
use rustc_hash::FxHashMap;
use tokenflow::barriers::Footprint;

/// What a function does to buffers, loop by loop.
#[derive(Default)]
pub(super) struct BufferLiveness<'c> {
    /// The operations that may repeat what is in them, as they were: their position, and that after them.
    loops: FxHashMap<Op<'c>, (usize, usize)>,
    buffers: FxHashMap<Value<'c>, Timeline>,
}

/// The positions of a loop, if it is known.
#[derive(Clone, Copy)]
pub(super) struct Span(Option<(usize, usize)>);

/// The accesses to a buffer.
#[derive(Default)]
struct Timeline {
    /// Where it is written, ascending.
    writes: Vec<usize>,
    /// Where it is read, ascending, and from which position on all that is read there has been written.
    reads: Vec<(usize, usize)>,
    /// For each read and all after it, the minimum of the second number above.
    since: Vec<usize>,
    /// For each loop, by its position, its first read of what may be older than the iteration.
    exposed: FxHashMap<usize, usize>,
}

/// Writes whose bytes are known, by the block that they are in.
type Written<'c> = FxHashMap<(Value<'c>, Block<'c>), Vec<(usize, Footprint)>>;

/// More writes before a read are not looked at.
const MAX_WRITES: usize = 256;

impl<'c> BufferLiveness<'c> {
    /// Reads `function`, in which `all` threads execute everything.
    pub fn of(function: Op<'c>, all: &Mask) -> Self {
        let mut liveness = Self::default();
        let mut footprints = Footprints::new(function);
        let mut written = Written::default();
        for (position, op) in function.self_and_nested().into_iter().enumerate() {
            for outer in op.ancestors() {
                if let Some((_, end)) = liveness.loops.get_mut(&outer) {
                    *end = position + 1;
                }
            }
            if op.regions().any(repeats) {
                liveness.loops.insert(op, (position, position + 1));
            }
            let mut effects = match effects(op) {
                Effects::Known(effects) => effects,
                Effects::Unknown => anything(op),
            };
            // What an operation reads it reads before it writes.
            effects.sort_by_key(|effect| effect.access.writes());
            for effect in effects.into_iter().filter(|effect| effect.access != Kind::Free) {
                liveness.add(position, op, effect, &mut written, (&mut footprints, all));
            }
        }
        for timeline in liveness.buffers.values_mut() {
            let mut least = usize::MAX;
            let since = timeline.reads.iter().rev().map(|(_, from)| {
                least = least.min(*from);
                least
            });
            timeline.since = since.collect();
            timeline.since.reverse();
        }
        liveness
    }

    fn add(
        &mut self,
        position: usize,
        op: Op<'c>,
        effect: Effect<'c>,
        written: &mut Written<'c>,
        (footprints, all): (&mut Footprints<'c>, &Mask),
    ) {
        let buffer = base(effect.memory);
        if !is_local(buffer) {
            return;
        }
        let touched = footprints
            .buffer(effect.memory)
            .map(|number| footprints.of(op, effect, number, all));
        let timeline = self.buffers.entry(buffer).or_default();
        if effect.access.writes() {
            timeline.writes.push(position);
            if let (Some(touched), Some(block)) = (touched, op.block()) {
                written
                    .entry((buffer, block))
                    .or_default()
                    .push((position, touched));
            }
            return;
        }
        let from = touched.map_or(0, |read| written_from(op, buffer, &read, written));
        timeline.reads.push((position, from));
        for outer in op.ancestors() {
            match self.loops.get(&outer) {
                Some((start, _)) if *start >= from => {
                    timeline.exposed.entry(*start).or_insert(position);
                }
                _ => {}
            }
        }
    }

    /// Where a loop is.
    pub fn span(&self, around: Op<'c>) -> Span {
        Span(self.loops.get(&around).copied())
    }

    /// Notes that `around` is where another loop was.
    pub fn set_span(&mut self, around: Op<'c>, span: Span) {
        if let Span(Some(span)) = span {
            self.loops.insert(around, span);
        }
    }

    /// Forgets `around` and what is in it, before it is erased.
    pub fn forget(&mut self, around: Op<'c>) {
        for op in around.self_and_nested() {
            self.loops.remove(&op);
        }
    }

    /// Returns true if `buffer` may be written before `around` is executed, by what is not in it.
    pub fn writes_before(&self, buffer: Value<'c>, around: Op<'c>) -> bool {
        let (Some(timeline), Some(&(start, end))) = (self.buffers.get(&buffer), self.loops.get(&around))
        else {
            return false;
        };
        let again = self.loops_around(around).map(|(_, end)| end).max();
        let number = |position: usize| timeline.writes.partition_point(|write| *write < position);
        number(start) > 0 || again.is_some_and(|again| number(again) > number(end))
    }

    /// Returns true if what `around` writes in `buffer` may be read after it has been executed.
    pub fn reads_after(&self, buffer: Value<'c>, around: Op<'c>) -> bool {
        let (Some(timeline), Some(&(start, end))) = (self.buffers.get(&buffer), self.loops.get(&around))
        else {
            return false;
        };
        let next = timeline.reads.partition_point(|(read, _)| *read < end);
        let below = timeline.since.get(next).is_some_and(|from| *from < end);
        let mut exposed = self
            .loops_around(around)
            .filter_map(|(start, _)| timeline.exposed.get(&start));
        below || exposed.any(|read| *read < start)
    }

    fn loops_around(&self, op: Op<'c>) -> impl Iterator<Item = (usize, usize)> {
        op.ancestors().filter_map(|outer| self.loops.get(&outer).copied())
    }
}

/// Returns true if what is in `region` may be executed several times. Conservative where it is a graph.
fn repeats(region: Region<'_>) -> bool {
    region.blocks().len() > 1 || region.first().is_some_and(may_repeat)
}

/// What an operation may do to the buffers that it is handed.
fn anything(op: Op<'_>) -> Vec<Effect<'_>> {
    let buffers = op.operands().filter(|operand| operand.ty().is_mem_ref());
    let both = |memory| [Kind::Read, Kind::Write].map(|access| Effect { memory, access });
    buffers.flat_map(both).collect()
}

/// The latest position from which on all that `op` reads of `buffer` is sure to have been written; 0 if there is none.
fn written_from<'c>(op: Op<'c>, buffer: Value<'c>, read: &Footprint, written: &Written<'c>) -> usize {
    // From inside out, and so from the latest to the earliest.
    let blocks = std::iter::once(op).chain(op.ancestors()).filter_map(Op::block);
    let writes = blocks.filter_map(|block| written.get(&(buffer, block)));
    let writes = writes.flat_map(|writes| writes.iter().rev()).take(MAX_WRITES);
    let writes: Vec<&(usize, Footprint)> = writes.collect();
    let is_covered = |number: usize| covers(writes[..number].iter().map(|(_, write)| write), read);
    let mut most = 1;
    while most < writes.len() && !is_covered(most) {
        most *= 2;
    }
    let most = most.min(writes.len());
    if !is_covered(most) {
        return 0;
    }
    // Half of them were not enough.
    let numbers: Vec<usize> = (most / 2..=most).collect();
    let number = numbers[numbers.partition_point(|number| !is_covered(*number))];
    // Nothing has to be written for a read of no bytes.
    number.checked_sub(1).map_or(usize::MAX, |last| writes[last].0)
}

/// Returns true if `written` are sure to be all bytes that are `read`.
pub(super) fn covers<'a>(written: impl Iterator<Item = &'a Footprint>, read: &Footprint) -> bool {
    let known = |footprint: &Footprint| footprint.offset.terms.is_empty();
    let Some(bytes) = read.bytes.as_ref().filter(|_| known(read)) else {
        return false;
    };
    let ranges =
        written.filter(|footprint| footprint.certain && known(footprint) && footprint.buffer == read.buffer);
    let ranges =
        ranges.filter_map(|footprint| Some((footprint.bytes.as_deref()?, footprint.offset.constant)));
    bytes.is_covered(read.offset.constant, ranges)
}
