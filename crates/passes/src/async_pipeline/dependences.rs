//! Checks that a schedule keeps memory dependences, and computes how many versions of its buffers a loop
//! needs.
//!
//! Iterations may have versions of a buffer that is *privatizable* ([`privatization`](super::privatization)).
//! All other memory is the same for all iterations, and accesses to it stay in order as far as they may meet.

mod after_awaits;

use super::accesses::{Access, Accesses, Buffer, footprint, number_loops};
use super::body::{Body, executed_first};
use super::buffer_liveness::BufferLiveness;
use super::never_awaited::never_awaited;
use super::privatization::Privatization;
use super::storage::Storage;
use super::unawaited_reads::{UnawaitedRead, unawaited_reads};
use crate::analysis::footprints::{Footprints, Mask};
use crate::insert_barriers::note_what_it_orders;
use async_mlir::gpu::{block_size, is_barrier};
use async_mlir::ir::{Op, Value};
use async_mlir::pass::PassError;
use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;
use tokenflow::barriers::{Footprint, Span};
use tokenflow::pipeline::{Lifetime, StatementId};

/// How many versions buffers need, by what they come from.
pub(super) type Versions<'c> = Vec<(Value<'c>, u32)>;

/// What is known of a function before any of its loops is pipelined.
pub(super) struct FunctionInfo<'c> {
    pub op: Op<'c>,
    /// All threads, if it is known how many there are.
    threads: Mask,
    pub liveness: BufferLiveness<'c>,
}

impl<'c> FunctionInfo<'c> {
    pub fn new(op: Op<'c>) -> Self {
        let threads = block_size(op).and_then(|_| Footprints::new(op).values.num_threads());
        let threads: Mask = threads.map(|threads| vec![true; threads as usize].into());
        Self {
            op,
            liveness: BufferLiveness::of(op, &threads),
            threads,
        }
    }
}

/// Checks that accesses stay in order. Returns how many versions buffers need, and the reads that are
/// unawaited in the loop as it is written.
pub(super) fn check<'c>(
    body: &Body<'c>,
    accesses: &Accesses<'c>,
    storage: &Storage<'c>,
    function: &FunctionInfo<'c>,
) -> Result<(Versions<'c>, Vec<UnawaitedRead<'c>>), PassError<'c>> {
    let footprints = Footprints::new(function.op);
    let threads = function.threads.clone();
    let mut checker = Checker {
        body,
        footprints,
        threads,
        trips: Vec::new(),
    };
    checker.trips = number_loops(body, &mut checker.footprints);
    let privatization = Privatization {
        body,
        all: checker.threads.clone(),
        liveness: &function.liveness,
    };
    let (mut versions, mut unawaited) = (Vec::new(), Vec::new());
    for buffer in accesses
        .buffers
        .iter()
        .filter(|buffer| buffer.accesses.iter().any(|access| access.writes))
    {
        if let Some(never) = buffer.accesses.iter().find(|access| access.end.is_none()) {
            return Err(never_awaited(body.block, never.op));
        }
        unawaited.extend(checker.unawaited_reads(buffer));
        match privatization.check(buffer, storage, &mut checker.footprints) {
            Ok(()) => {
                checker.check_iteration(&buffer.accesses)?;
                // Two iterations can't access the same version if there are no more of them than versions.
                let count = body
                    .problem
                    .versions(&lifetime(buffer))
                    .min(checker.num_iterations());
                if count > 1 {
                    versions.push((buffer.base, count));
                }
            }
            Err(why) => checker.check_shared(buffer).map_err(|error| {
                let note = format!("iterations can't have versions of this buffer: {why}");
                error.note(buffer.base.location(), note)
            })?,
        }
    }
    checker.check_fences(accesses)?;
    checker.check_after_awaits(accesses)?;
    Ok((versions, unawaited))
}

/// When accesses to a buffer begin and end.
fn lifetime(buffer: &Buffer<'_>) -> Lifetime {
    let writes = buffer.accesses.iter().filter(|access| access.writes);
    let ends = buffer.accesses.iter().filter_map(|access| access.end);
    let ends = ends.map(|end| (end.statement, end.later));
    Lifetime {
        writes: writes.map(|access| access.statement).collect(),
        ends: ends.collect(),
    }
}

struct Checker<'a, 'c> {
    body: &'a Body<'c>,
    footprints: Footprints<'c>,
    /// All threads, if it is known how many there are.
    threads: Mask,
    /// How often each loop runs, where that is known; the first is the loop itself.
    trips: Vec<Option<u64>>,
}

/// The latest access so far: when it is executed, and by what.
#[derive(Default)]
struct Latest<'c>(Option<((u32, u32), Op<'c>)>);

impl<'c> Latest<'c> {
    fn add(&mut self, at: (u32, u32), op: Op<'c>) {
        if self.0.is_none_or(|(known, _)| known < at) {
            self.0 = Some((at, op));
        }
    }
}

/// Returns true if an access is awaited by an operation of the same iteration.
fn is_awaited_later(access: &Access<'_>) -> bool {
    access
        .end
        .is_some_and(|end| end.later == 0 && end.place > access.place)
}

/// Accesses to one buffer beyond these are taken to meet each other.
const MAX_PAIRED: usize = 256;

impl<'c> Checker<'_, 'c> {
    /// The most iterations that there may be.
    fn num_iterations(&self) -> u32 {
        self.trips[0].map_or(u32::MAX, |trips| u32::try_from(trips).unwrap_or(u32::MAX))
    }

    /// The distances from `nearest` to `most` at which there are two iterations.
    fn distances(&self, nearest: u32, most: u32) -> RangeInclusive<u32> {
        nearest..=most.min(self.num_iterations().saturating_sub(1))
    }

    /// When a statement is executed, so many iterations later.
    fn key(&self, statement: StatementId, later: u32) -> (u32, u32) {
        let statement = self.body.problem.statements[statement];
        (statement.stage + later, statement.order)
    }

    /// When an access is over.
    fn end(&self, access: &Access<'c>) -> (u32, u32) {
        access
            .end
            .map_or((u32::MAX, u32::MAX), |end| self.key(end.statement, end.later))
    }

    /// Checks that reads come after the writes before them, and writes after all accesses before them, within an iteration.
    fn check_iteration(&self, accesses: &[Access<'c>]) -> Result<(), PassError<'c>> {
        // Those that have been issued, and those that have been awaited.
        let (mut written, mut read) = (Latest::default(), Latest::default());
        let mut awaited: Vec<&Access<'c>> = accesses
            .iter()
            .filter(|access| is_awaited_later(access))
            .collect();
        awaited.sort_by_key(|access| std::cmp::Reverse(access.end.map(|end| end.place)));
        for access in accesses {
            while let Some(ended) =
                awaited.pop_if(|ended| ended.end.is_some_and(|end| end.place < access.place))
            {
                let latest = if ended.writes { &mut written } else { &mut read };
                latest.add(self.end(ended), ended.op);
            }
            self.step(access, 0, &mut written, &mut read)?;
        }
        Ok(())
    }

    fn step(
        &self,
        access: &Access<'c>,
        later: u32,
        written: &mut Latest<'c>,
        read: &mut Latest<'c>,
    ) -> Result<(), PassError<'c>> {
        let at = self.key(access.statement, later);
        let before = [written.0, read.0.filter(|_| access.writes)];
        for (earlier, op) in before.into_iter().flatten() {
            if earlier > at {
                return Err(out_of_order(op, access.op, later));
            }
        }
        let latest = if access.writes { written } else { read };
        latest.add(at, access.op);
        Ok(())
    }

    /// Checks memory that is the same for all iterations.
    fn check_shared(&mut self, buffer: &Buffer<'c>) -> Result<(), PassError<'c>> {
        if buffer.accesses.len() > MAX_PAIRED {
            let (mut written, mut read) = (Latest::default(), Latest::default());
            for later in self.distances(0, 1) {
                for access in &buffer.accesses {
                    self.step(access, later, &mut written, &mut read)?;
                    let latest = if access.writes { &mut written } else { &mut read };
                    let (stage, order) = self.end(access);
                    latest.add((stage.saturating_add(later), order), access.op);
                }
            }
            return Ok(());
        }
        let touched: Vec<Option<Footprint>> = buffer
            .accesses
            .iter()
            .map(|access| footprint(&mut self.footprints, access, &self.threads))
            .collect();
        let last = self.body.problem.last_stage();
        for (i, first) in buffer.accesses.iter().enumerate() {
            for (j, second) in buffer.accesses.iter().enumerate() {
                if !first.writes && !second.writes {
                    continue;
                }
                let meets = |distance: u32| match (&touched[i], &touched[j]) {
                    (Some(a), Some(b)) => self.may_meet(a, b, distance),
                    _ => true,
                };
                let most = last + 1 + first.end.map_or(0, |end| end.later);
                let mut distances = self.distances(u32::from(i >= j), most);
                let Some(distance) = distances.find(|distance| meets(*distance)) else {
                    continue;
                };
                if self.end(first) > self.key(second.statement, distance) {
                    return Err(out_of_order(first.op, second.op, distance));
                }
            }
        }
        Ok(())
    }

    /// The reads of `buffer` that come while it is being copied to.
    fn unawaited_reads(&mut self, buffer: &Buffer<'c>) -> Vec<UnawaitedRead<'c>> {
        let mut touched = vec![None; buffer.accesses.len()];
        unawaited_reads(buffer, |copy, read, distance| {
            let footprints = [copy, read].map(|number| {
                let access = &buffer.accesses[number];
                let known: &mut Option<Option<Footprint>> = &mut touched[number];
                known
                    .get_or_insert_with(|| footprint(&mut self.footprints, access, &self.threads))
                    .clone()
            });
            let [Some(copied), Some(read)] = footprints else {
                return false;
            };
            let (Some(a), Some(b)) = (&copied.bytes, &read.bytes) else {
                return false;
            };
            let [Some(first), Some(second)] =
                [&copied, &read].map(|footprint| Span::of(footprint, &self.trips))
            else {
                return false;
            };
            let shifts = first.shifts(&second, distance);
            shifts.is_some_and(|mut shifts| shifts.any(|shift| a.overlaps(b, shift)))
        })
    }

    /// Whether two accesses may touch the same byte, the second one so many iterations later.
    fn may_meet(&self, first: &Footprint, second: &Footprint, distance: u32) -> bool {
        match [first, second].map(|footprint| Span::of(footprint, &self.trips)) {
            [Some(a), Some(b)] => a.may_meet(&b, distance),
            _ => true,
        }
    }

    /// Checks that nothing crosses operations of which it is not known what they access.
    fn check_fences(&self, accesses: &Accesses<'c>) -> Result<(), PassError<'c>> {
        if accesses.fences.is_empty() {
            return Ok(());
        }
        let position: FxHashMap<Op<'c>, usize> =
            self.body.around.self_and_nested().into_iter().zip(0..).collect();
        let others = accesses.buffers.iter().flat_map(|buffer| &buffer.accesses);
        let others = others.map(|access| (access.statement, access.op, false));
        let awaits = accesses.awaits.iter();
        let others = others.chain(awaits.map(|(statement, op)| (*statement, *op, false)));
        let fences = accesses.fences.iter();
        let fences = fences.map(|fence| (fence.statement, fence.op, true));
        let mut all: Vec<(StatementId, Op, bool)> = others.chain(fences).collect();
        all.sort_by_key(|(_, op, _)| position.get(op).copied());
        let (mut fence, mut other) = (Latest::default(), Latest::default());
        for later in self.distances(0, 1) {
            for &(statement, op, is_fence) in &all {
                let at = self.key(statement, later);
                let before = [fence.0, other.0.filter(|_| is_fence)];
                for (earlier, first) in before.into_iter().flatten() {
                    if earlier > at {
                        let error = out_of_order(first, op, later);
                        let barrier = if is_barrier(op) { op } else { first };
                        return Err(note_what_it_orders(error, barrier));
                    }
                }
                let latest = if is_fence { &mut fence } else { &mut other };
                latest.add(at, op);
            }
        }
        Ok(())
    }
}

/// An error about two accesses, of which the schedule executes the second one first.
fn out_of_order<'c>(first: Op<'c>, second: Op<'c>, later: u32) -> PassError<'c> {
    let when = match later {
        0 => String::new(),
        1 => " an iteration before".to_owned(),
        later => format!(" {later} iterations before"),
    };
    let message = "may access the same memory, but the schedule executes this one first";
    executed_first(second, message, first, &format!("what comes first{when}"))
}
