//! Edges of operations with regions: when they are taken, and what they bind.

use super::emit::Emitter;
use super::flow::{Bounds, Flow};
use crate::mbarriers::code::{BlockId, Bound, Edge, Var, When};
use async_mlir::control_flow::{self, EdgeTarget};
use async_mlir::ir::{Op, Value};
use async_mlir::names::scf;

/// What edges know of the operation with regions that they are of.
pub(super) struct Place<'a, 'c> {
    pub op: Op<'c>,
    pub flow: &'a Flow<'c>,
    /// The block of each region.
    pub blocks: Vec<Option<BlockId>>,
    pub after: BlockId,
}

impl<'c> Emitter<'_, 'c> {
    /// An edge on which `place` is entered, or passed by; `None` if it is never taken.
    pub(super) fn entry(&self, edge: &control_flow::Edge<'c>, place: &Place<'_, 'c>) -> Option<Edge> {
        let is_over = edge.to == EdgeTarget::After;
        if place.flow.trip.is_some_and(|trip| (trip == 0) != is_over) {
            return None;
        }
        let mut result = self.edge(edge, place);
        if place.op.is(scf::IF) {
            let truth = edge.to == EdgeTarget::Index(0);
            let known = self.slice.index.roles.always(place.op.operand(0));
            if known.is_some_and(|known| known != truth) {
                return None;
            }
            result.when = self.when(place.op.operand(0), truth);
        } else if is_over {
            result.when = self.trips(place).map(|trips| When::Trips(trips, None));
        } else if let Some(&counter) = self.slice.counters.get(&place.op) {
            result.vars.push((counter, Bound::First(self.period(place))));
        }
        Some(result)
    }

    /// An edge from the end of a region of `place`; `None` if it is never taken.
    pub(super) fn exit(&self, edge: &control_flow::Edge<'c>, place: &Place<'_, 'c>) -> Option<Edge> {
        let is_over = edge.to == EdgeTarget::After;
        if place.flow.trip == Some(1) && !is_over {
            return None;
        }
        let mut result = self.edge(edge, place);
        let counter = self.slice.counters.get(&place.op).copied();
        let Some(counter) = counter else {
            return Some(result);
        };
        if !is_over {
            result.vars.push((counter, Bound::Next(counter)));
        }
        result.when = match (place.flow.trip, is_over) {
            (Some(trip), false) => Some(When::Again(counter, trip)),
            (Some(trip), true) => Some(When::Last(counter, trip)),
            (None, false) => None,
            (None, true) => self.trips(place).map(|trips| When::Trips(trips, Some(counter))),
        };
        Some(result)
    }

    /// The variable that says how often the loop runs, if it has to do with the ring.
    fn trips(&self, place: &Place<'_, 'c>) -> Option<Var> {
        let bounds = Bounds::of(place.op).filter(|_| place.flow.trip.is_none())?;
        self.slice.trips.get(&bounds).copied()
    }

    /// The number modulo which iterations are told apart: slot and parity are the same after twice as many phases as there are slots.
    fn period(&self, place: &Place<'_, 'c>) -> u32 {
        let phases = 2 * self.code.depth;
        let is_exact = self.slice.exact.contains(&place.op);
        let trip = place.flow.trip.filter(|_| is_exact).unwrap_or(0);
        let trip = u32::try_from(trip).unwrap_or(0);
        (trip + 1).next_multiple_of(phases)
    }

    fn edge(&self, edge: &control_flow::Edge<'c>, place: &Place<'_, 'c>) -> Edge {
        let inside = match edge.to {
            EdgeTarget::Index(region) => place.blocks.get(region).copied().flatten(),
            EdgeTarget::After => None,
        };
        let mut result = Edge {
            to: Some(inside.unwrap_or(place.after)),
            ..Edge::default()
        };
        let block = match (edge.to, inside) {
            (EdgeTarget::Index(region), Some(_)) => place.flow.blocks[region],
            _ => None,
        };
        let (bound, most) = match block {
            Some(block) => (self.slice.args.get(&block), block.args().count()),
            None => (self.slice.results.get(&place.op), place.op.num_results()),
        };
        for &number in bound.into_iter().flatten() {
            let to = block.map_or_else(|| place.op.result(number), |block| block.arg(number));
            let from = source(&edge.bindings, to, number, most);
            self.bind(to, from, &mut result);
        }
        result
    }

    /// Binds `to`, which has to do with the ring, to `from`.
    fn bind(&self, to: Value<'c>, from: Option<Value<'c>>, result: &mut Edge) {
        if let Some(token) = self.slice.tokens.get(&to) {
            let from = from.and_then(|from| self.slice.tokens.get(&from)).copied();
            result.tokens.push((*token, from));
        }
        if let Some(trips) = self.slice.trips_by.get(&to) {
            let unknown = trips.iter().map(|var| (*var, Bound::Unknown));
            result.vars.extend(unknown);
        }
        if let Some(var) = self.slice.vars.get(&to) {
            let is_unknown = self.slice.unknown.contains(&to);
            let from = from.filter(|_| !is_unknown);
            let bound = from.and_then(|from| self.slice.operand(from));
            result.vars.push((*var, bound.map_or(Bound::Unknown, Bound::Is)));
        }
    }
}

/// What `bindings` bind to number `number` of `most` values, `to`. The first ones may be bound to nothing.
fn source<'c>(
    bindings: &[(Value<'c>, Value<'c>)],
    to: Value<'c>,
    number: usize,
    most: usize,
) -> Option<Value<'c>> {
    let is_it = |(_, bound): &&(Value<'c>, Value<'c>)| *bound == to;
    let place = (number + bindings.len()).checked_sub(most);
    let likely = place.and_then(|place| bindings.get(place)).filter(is_it);
    likely
        .or_else(|| bindings.iter().find(is_it))
        .map(|(from, _)| *from)
}
