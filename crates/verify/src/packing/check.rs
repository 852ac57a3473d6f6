//! Checks that buffers that share bytes are never in use at once. This is the part to trust, with `contents.rs` and `in_flight.rs`.
//!
//! **Claim.** If [`check()`] accepts, then on every path and at each of its steps, no two buffers that share a byte are in use: what they hold
//! is wanted, they are accessed, or an asynchronous access to them is in flight. So no write to one of them is seen through the other, if
//! threads meet at a barrier between the last use of the one and the first of the other.
//!
//! Cost: that of what it asks, and for each step as many words as buffers have bits.

use super::buffer_set::BufferSet;
use super::code::{BlockId, BufferId, Code, Place, Sharing, Step};
use super::contents::Contents;
use super::in_flight::{InFlight, in_flight};
use async_overlap::ids::IndexVec;

/// A reason to refuse where buffers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// What is wrong.
    pub fault: Fault,
    /// The block and the number of the step where it is.
    pub at: (BlockId, usize),
    /// The buffer that it is about.
    pub buffer: BufferId,
    /// The other one.
    pub other: BufferId,
}

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Two buffers that share bytes are in use.
    InUse,
    /// The one is accessed after the other, with no barrier between.
    NoBarrier,
    /// A buffer is allocated while an access to what it was may be in flight.
    InFlight,
}

/// Checks that buffers of `code` that share bytes are not in use at once, where `places` says where each is. With [`Sharing::Barriers`], there
/// has to be a barrier between their accesses, too.
///
/// # Errors
///
/// The first step at which two are.
pub fn check(code: &Code, places: &IndexVec<BufferId, Place>, sharing: Sharing) -> Result<(), Refusal> {
    let meets = meeting(places);
    let in_flight = in_flight(code);
    let contents = Contents::of(code, places.len());
    let touched = (sharing == Sharing::Barriers).then(|| touched(code, &in_flight, places.len()));
    for (id, block) in code.blocks.with_ids() {
        let mut before = BufferSet::none_of(places.len());
        let mut touched = touched.as_ref().map(|touched| touched[id].clone());
        let wanted = contents.at_steps(id, &block.steps);
        for (number, (step, mut in_use)) in block.steps.iter().zip(wanted).enumerate() {
            let flying = &in_flight[id][number];
            let refused = |fault, buffer, other| Refusal {
                fault,
                at: (id, number),
                buffer,
                other,
            };
            if let Some(buffer) = step.allocates().find(|buffer| flying.contains(buffer)) {
                return Err(refused(Fault::InFlight, buffer, buffer));
            }
            let accessed = step.accesses().chain(flying.iter().copied());
            accessed.for_each(|buffer| in_use.insert(buffer));
            // Of those that were in use at the step before, nothing is new.
            for buffer in in_use.without(&before).iter() {
                if let Some(other) = meets[buffer].first_common(&in_use) {
                    return Err(refused(Fault::InUse, buffer, other));
                }
            }
            if let Some(touched) = &mut touched {
                for buffer in step.accesses() {
                    if let Some(other) = meets[buffer].first_common(touched) {
                        return Err(refused(Fault::NoBarrier, buffer, other));
                    }
                }
                touch(step, flying, touched);
            }
            before = in_use;
        }
    }
    Ok(())
}

/// For each buffer, those that it shares bytes with.
fn meeting(places: &IndexVec<BufferId, Place>) -> IndexVec<BufferId, BufferSet> {
    let mut meets = IndexVec::filled(BufferSet::none_of(places.len()), places.len());
    let mut by_start: Vec<(BufferId, Place)> = places.with_ids().map(|(id, place)| (id, *place)).collect();
    by_start.sort_by_key(|(_, place)| place.start);
    for (number, &(buffer, place)) in by_start.iter().enumerate() {
        let later = by_start[number + 1..].iter();
        for &(other, _) in later
            .take_while(|(_, other)| other.start < place.end)
            .filter(|(_, other)| place.meets(*other))
        {
            meets[buffer].insert(other);
            meets[other].insert(buffer);
        }
    }
    meets
}

/// The buffers that may have been accessed, where a block begins, with no barrier of the block since.
fn touched(code: &Code, in_flight: &InFlight, buffers: usize) -> IndexVec<BlockId, BufferSet> {
    let mut begins = IndexVec::filled(BufferSet::none_of(buffers), code.blocks.len());
    let mut is_new = true;
    while is_new {
        is_new = false;
        for (id, block) in code.blocks.with_ids() {
            let mut set: BufferSet = begins[id].clone();
            for (step, flying) in block.steps.iter().zip(&in_flight[id]) {
                touch(step, flying, &mut set);
            }
            for edge in &block.edges {
                is_new |= begins[edge.to].add_all(&set);
            }
        }
    }
    begins
}

/// Turns what may have been accessed since a barrier before `step` into what may have been after it. What is in flight at a barrier is
/// accessed after it.
fn touch(step: &Step, flying: &[BufferId], touched: &mut BufferSet) {
    if step.is_barrier() {
        touched.clear();
    }
    step.accesses()
        .chain(flying.iter().copied())
        .for_each(|buffer| touched.insert(buffer));
}
