//! Step 7: computes which number of its ring each phase has, where that is known in closed form.
//!
//! **In:** rings and their arms. **Out:** numbers as affine expressions, or that the running program has to count.
//!
//! The arms of a ring are numbered from 0, in the order in which they happen. A number is an **affine expression**
//! `c + Σ aᵢ·kᵢ + Σ bᵢ·Tᵢ` of the iterations `k` of loops around and the trip counts `T` of loops before, as long as
//!
//! - every path through a region op arms the ring equally often, and
//! - what a loop carries around advances by that in each iteration: its value is guessed from the first iteration and
//!   checked against what the loop passes on.
//!
//! All numbers of a ring are known, or it has a **counter**. It also has one where a number in closed form is expensive: slot and
//! parity are its remainder and quotient by the depth, in 64 bits as indices are. By a power of two that is a shift or a mask.
//! By anything else it is a multiplication, and another one for a coefficient, in each iteration: to count up, compare and
//! select, in 32 bits, costs less.
//!
//! **Cost.** Linear in the size of the tree, times the terms of a number and the rings that each loop arms.

use super::affine::{AffineExpr, Symbol};
use super::arm_counts::UNBOUNDED;
use super::ids::{BlockId, IndexVec, PhaseId, PhiId, RegionOpId, RingId};
use super::partition::{EdgeId, Partition, PhaseValue};
use super::placement::{DefinedBy, Placement};
use super::rings::{MAX_DEPTH, Rings};
use super::tree::{Inst, Tree, Trips};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The numbers of phases; `None` for those of rings that are counted at run time.
pub(super) struct Numbering {
    /// Of each phase, where it is opened.
    pub phase: IndexVec<PhaseId, Option<AffineExpr>>,
    /// Of each phi, where it is defined.
    pub phi: IndexVec<PhiId, Option<AffineExpr>>,
    /// Of each ring, how often it has been armed when everything ends.
    pub end: IndexVec<RingId, Option<AffineExpr>>,
    /// True for rings whose arms are counted, since not all of their numbers are known.
    pub unknown_numbers: IndexVec<RingId, bool>,
    /// True for rings that had better have a counter.
    pub expensive: IndexVec<RingId, bool>,
}

/// Numbers all phases; `always_awaited` are the rings whose phases are always awaited.
pub(super) fn number_phases(
    tree: &Tree,
    placement: &Placement,
    partition: &Partition,
    rings: &Rings,
    always_awaited: &IndexVec<RingId, bool>,
    scope: BlockId,
) -> Numbering {
    let mut work = Numberer {
        tree,
        placement,
        rings,
        partition,
        now: IndexVec::filled(Some(AffineExpr::default()), rings.depth.len()),
        incoming: FxHashMap::default(),
        out: Numbering {
            phase: IndexVec::filled(None, rings.phase.len()),
            phi: IndexVec::filled(None, partition.phis.len()),
            end: IndexVec::default(),
            unknown_numbers: IndexVec::filled(false, rings.depth.len()),
            expensive: IndexVec::default(),
        },
    };
    for (phi, incoming) in partition.incoming.with_ids() {
        for &((op, edge), phase) in incoming {
            work.incoming.entry((op, edge)).or_default().push((phi, phase));
        }
    }
    work.block(scope);
    work.out.end = work.now.clone();
    // Who waits for all phases has nothing to wait for in the end.
    for (ring, end) in work.out.end.with_ids() {
        work.out.unknown_numbers[ring] |= end.is_none() && !always_awaited[ring];
    }
    for (phase, number) in work.out.phase.with_ids() {
        work.out.unknown_numbers[rings.phase[phase]] |= number.is_none();
    }
    for (phi, number) in work.out.phi.with_ids() {
        work.out.unknown_numbers[rings.phi[phi]] |= number.is_none();
    }
    work.out.expensive = expensive(tree, partition, rings, &work.out);
    work.out
}

/// For each ring, whether it had better have a counter although all its numbers are known.
fn expensive(
    tree: &Tree,
    partition: &Partition,
    rings: &Rings,
    numbers: &Numbering,
) -> IndexVec<RingId, bool> {
    let mut expensive = IndexVec::filled(false, rings.depth.len());
    let of_phases = rings.phase.iter().zip(&numbers.phase);
    for (&ring, number) in of_phases.chain(rings.phi.iter().zip(&numbers.phi)) {
        let number = number.as_ref();
        expensive[ring] |= number.is_some_and(|number| number.is_expensive(tree, rings.depth[ring]));
    }
    // Nothing is carried where nothing can be.
    let closed = |op: RegionOpId| tree.region_ops[op].closed;
    for (op, arms) in rings.counts.per_op.with_ids() {
        for &ring in arms.keys() {
            expensive[ring] &= !closed(op);
        }
    }
    for (phi, incoming) in partition.incoming.with_ids() {
        expensive[rings.phi[phi]] &= !incoming.iter().any(|&((op, _), _)| closed(op));
    }
    expensive
}

/// Makes rings deeper that have a counter for the sake of their depth alone: with a power of two of mbarriers, slot and parity are
/// bits of the number.
pub(super) fn deepen(tree: &Tree, rings: &mut Rings, numbers: &mut Numbering) {
    for ring in rings.depth.ids().collect::<Vec<_>>() {
        let deeper = rings.depth[ring].next_power_of_two();
        if !numbers.expensive[ring] || numbers.unknown_numbers[ring] || deeper > MAX_DEPTH {
            continue;
        }
        let phases = rings.phase.iter().zip(&numbers.phase);
        let mut own = phases
            .chain(rings.phi.iter().zip(&numbers.phi))
            .filter(|(of, _)| **of == ring);
        if own.all(|(_, number)| {
            number
                .as_ref()
                .is_some_and(|number| !number.is_expensive(tree, deeper))
        }) {
            rings.depth[ring] = deeper;
            numbers.expensive[ring] = false;
        }
    }
}

struct Numberer<'t> {
    tree: &'t Tree,
    placement: &'t Placement,
    rings: &'t Rings,
    partition: &'t Partition,
    /// How often each ring has been armed by now.
    now: IndexVec<RingId, Option<AffineExpr>>,
    /// What an edge binds.
    incoming: FxHashMap<EdgeId, Vec<(PhiId, Option<PhaseValue>)>>,
    out: Numbering,
}

/// The state where a loop is entered.
struct LoopEntry {
    id: RegionOpId,
    /// How often each ring is armed in an iteration, if always equally often.
    increments: BTreeMap<RingId, Option<u64>>,
    /// How often each was armed before.
    before: FxHashMap<RingId, Option<AffineExpr>>,
    /// What phis are bound to, before the first iteration or after a loop without any.
    initial: FxHashMap<PhiId, Option<AffineExpr>>,
}

impl LoopEntry {
    /// How often a ring is armed in an iteration.
    fn increment(&self, ring: RingId) -> Option<u64> {
        self.increments.get(&ring).copied().unwrap_or(Some(0))
    }
}

impl Numberer<'_> {
    fn block(&mut self, block: BlockId) {
        let opened = self.rings.opened.get(&block).cloned().unwrap_or_default();
        let mut opened = opened.into_iter().peekable();
        for (i, inst) in self.tree.blocks[block].insts.iter().enumerate() {
            while let Some((_, ring, phase)) = opened.next_if(|(inst, ..)| *inst == i) {
                let now = self.now[ring].as_ref();
                self.out.phase[phase] = now.and_then(|now| now.shifted(self.rings.shift[phase]));
                self.now[ring] = self.now[ring].as_ref().and_then(|now| now.plus(1));
            }
            if let Inst::RegionOp(op) = inst {
                crate::program::ensure_sufficient_stack(|| self.region_op(*op));
            }
        }
    }

    fn number(&self, phase: PhaseValue) -> Option<&AffineExpr> {
        match phase {
            PhaseValue::Opened(phase) => self.out.phase[phase].as_ref(),
            PhaseValue::Phi(phi) => self.out.phi[phi].as_ref(),
        }
    }

    /// What an edge binds a phi to, if that has a number.
    fn passed(&self, op: RegionOpId, edge: usize) -> Vec<(PhiId, Option<AffineExpr>)> {
        let incoming = self.incoming.get(&(op, edge)).into_iter().flatten();
        incoming
            .map(|&(phi, phase)| (phi, phase.and_then(|phase| self.number(phase).cloned())))
            .collect()
    }

    fn region_op(&mut self, id: RegionOpId) {
        let counted = match self.tree.region_ops[id].trips {
            Trips::Constant(_) | Trips::Counted => true,
            Trips::FromEdges => false,
        };
        if counted {
            self.counted(id);
        } else {
            self.free(id);
        }
    }

    /// A loop whose iterations are numbered.
    fn counted(&mut self, id: RegionOpId) {
        let body = self.tree.region_ops[id].blocks[0];
        let totals = self.rings.counts.per_block[body].iter();
        let increments = totals.map(|(&ring, arms)| {
            let equal = arms.min == arms.max && arms.max < UNBOUNDED;
            (ring, equal.then_some(arms.max))
        });
        let increments: BTreeMap<RingId, Option<u64>> = increments.collect();
        let before = increments
            .keys()
            .map(|&ring| (ring, self.now[ring].clone()))
            .collect();
        let entered = LoopEntry {
            id,
            initial: self.passed_by(id, |from| from.is_none()).into_iter().collect(),
            increments,
            before,
        };
        self.enter(&entered);
        self.block(body);
        self.check_around(&entered);
        self.leave(&entered);
    }

    /// Guesses what each iteration begins with.
    fn enter(&mut self, entered: &LoopEntry) {
        let iteration = Symbol::Iteration(entered.id);
        for (&ring, &increment) in &entered.increments {
            let start = entered.before[&ring].as_ref().zip(increment);
            self.now[ring] = start.and_then(|(start, increment)| start.plus_times(increment, iteration));
        }
        for (&phi, first) in &entered.initial {
            let start = first.as_ref().zip(entered.increment(self.rings.phi[phi]));
            let is_param = !self.is_result(phi);
            self.out.phi[phi] = start
                .filter(|_| is_param)
                .and_then(|(first, increment)| first.plus_times(increment, iteration));
        }
    }

    /// What is passed on must be what the next iteration was taken to begin with.
    fn check_around(&mut self, entered: &LoopEntry) {
        let iteration = Symbol::Iteration(entered.id);
        for (phi, passed) in self.passed_by(entered.id, |from| from.is_some()) {
            let first = entered.initial.get(&phi);
            if let (None, Trips::Constant(trips)) = (first, self.tree.region_ops[entered.id].trips) {
                // What comes out of a loop that surely runs is what its last iteration passes on.
                let last = trips.saturating_sub(1);
                self.out.phi[phi] = passed.and_then(|passed| passed.at(iteration, last));
                if self.out.phi[phi].is_none() {
                    self.mark_unknown(phi);
                }
                continue;
            }
            let start = first
                .and_then(Option::as_ref)
                .zip(entered.increment(self.rings.phi[phi]));
            let expected =
                start.and_then(|(first, increment)| first.plus_times(increment, iteration)?.plus(increment));
            if expected.is_none() || expected != passed {
                self.mark_unknown(phi);
            }
        }
    }

    /// What comes out of the loop, and how often rings have been armed by then.
    fn leave(&mut self, entered: &LoopEntry) {
        let trips = self.tree.region_ops[entered.id].trips;
        let after = |start: &AffineExpr, increment: u64| match trips {
            Trips::Constant(trips) => start.plus(trips.checked_mul(increment)?),
            _ => start.plus_times(increment, Symbol::TripCount(entered.id)),
        };
        for (&phi, first) in &entered.initial {
            if !self.is_result(phi) {
                continue;
            }
            let ring = self.rings.phi[phi];
            let start = first.as_ref().zip(entered.increment(ring));
            let result = start.and_then(|(first, increment)| after(first, increment));
            self.out.phi[phi] = result.filter(|_| !self.out.unknown_numbers[ring]);
        }
        for (&ring, &increment) in &entered.increments {
            let start = entered.before[&ring].as_ref().zip(increment);
            let after = start.and_then(|(start, increment)| after(start, increment));
            self.now[ring] = after.filter(AffineExpr::is_short);
        }
    }

    /// What edges of a region op bind phis to, if that has a number.
    fn passed_by(
        &self,
        id: RegionOpId,
        from: impl Fn(Option<usize>) -> bool,
    ) -> Vec<(PhiId, Option<AffineExpr>)> {
        let edges = self.tree.region_ops[id].edges.iter().enumerate();
        let edges = edges.filter(|(_, edge)| from(edge.from));
        edges.flat_map(|(e, _)| self.passed(id, e)).collect()
    }

    fn is_result(&self, phi: PhiId) -> bool {
        let token = self.partition.phis[phi][0];
        matches!(self.placement.defs[token.0 as usize].by, DefinedBy::RegionOp(_))
    }

    fn mark_unknown(&mut self, phi: PhiId) {
        self.out.phi[phi] = None;
        self.out.unknown_numbers[self.rings.phi[phi]] = true;
    }

    /// A region op whose blocks are run as the edges say.
    fn free(&mut self, id: RegionOpId) {
        let op = &self.tree.region_ops[id];
        let through = self.rings.counts.per_op[id].clone();
        let before: Vec<Option<AffineExpr>> = through.keys().map(|&ring| self.now[ring].clone()).collect();
        let repeats = op.repeats();
        for (b, &block) in op.blocks.iter().enumerate() {
            // The arms of blocks before it are not counted: a block that comes after another one has no number.
            let known = !repeats && op.edges_to(Some(b)).all(|(_, edge)| edge.from.is_none());
            for (&ring, before) in through.keys().zip(&before) {
                self.now[ring] = before.clone().filter(|_| known);
            }
            self.bind(id, Some(b));
            self.block(block);
        }
        for ((&ring, arms), before) in through.iter().zip(before) {
            let equal = !repeats && arms.min == arms.max;
            self.now[ring] = before.filter(|_| equal).and_then(|before| before.plus(arms.max));
        }
        self.bind(id, None);
    }

    /// Numbers the phis that the edges to a block of a region op, or after it, bind: if all bind the same number.
    fn bind(&mut self, id: RegionOpId, to: Option<usize>) {
        let edges: Vec<usize> = self.tree.region_ops[id].edges_to(to).map(|(e, _)| e).collect();
        let mut found: BTreeMap<PhiId, Option<AffineExpr>> = BTreeMap::new();
        for edge in edges {
            for (phi, number) in self.passed(id, edge) {
                let same = found.entry(phi).or_insert_with(|| number.clone());
                if *same != number {
                    *same = None;
                }
            }
        }
        for (phi, number) in found {
            if number.is_none() {
                self.mark_unknown(phi);
            }
            self.out.phi[phi] = number;
        }
    }
}

#[cfg(test)]
mod tests;
