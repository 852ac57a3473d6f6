//! Writes the flags of a plan.

use super::program::{Place, Reader};
use crate::engines::Engines;
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::ir::{Op, OpBuilder, int_attr, str_attr};
use tokenflow::flags::{EngineId, Node, Plan, Step};

/// Writes a plan's flags into the function.
pub(super) fn emit<'c>(read: &Reader<'c>, plan: &Plan, engines: &Engines<'c>) {
    let emitter = Emitter { plan, engines };
    let blocks = read.program.blocks.len();
    let steps = plan.steps(blocks);
    // Blocks around others come first, so that what inner ones need is next to their operations.
    for (block, steps) in steps.with_ids() {
        let places = &read.places[block];
        for &(point, step) in steps {
            match (places[point.node()], point.is_before()) {
                (Place::Op(op), true) => emitter.build(step, op).before(op),
                (Place::Op(_), false) => continue,
                (Place::Before { first, .. }, true) => emitter.build(step, first).before(first),
                (Place::Before { end, .. } | Place::After { end, .. }, false)
                | (Place::After { condition: end, .. }, true) => emitter.build(step, end).before(end),
            };
        }
        // What stands after an operation is built from the last to the first.
        for &(point, step) in steps.iter().rev().filter(|(point, _)| !point.is_before()) {
            if let Place::Op(op) = places[point.node()] {
                emitter.build(step, op).after(op);
            }
        }
    }
    // Next to the loop, inside of what stands there already.
    let carried = plan.carried(blocks);
    for (block, places) in read.places.with_ids() {
        for (node, place) in read.program.blocks[block].nodes.iter().zip(places) {
            let (Node::Loop(body), Place::Op(op)) = (node, *place) else {
                continue;
            };
            let carried = &carried[*body];
            for &event in carried {
                emitter.build(Step::Set(event), op).before(op);
            }
            for &event in carried.iter().rev() {
                emitter.build(Step::Wait(event), op).after(op);
            }
        }
    }
    // The last iteration of an `scf.while` ends after the loop.
    for (block, steps) in steps.with_ids() {
        for &(point, step) in steps.iter().rev().filter(|(point, _)| !point.is_before()) {
            if let Place::After { end, .. } = read.places[block][point.node()]
                && let Some(around) = end.parent()
            {
                emitter.build(step, around).after(around);
            }
        }
    }
}

struct Emitter<'a, 'c> {
    plan: &'a Plan,
    engines: &'a Engines<'c>,
}

impl<'c> Emitter<'_, 'c> {
    fn build(&self, step: Step, at: Op<'c>) -> OpBuilder<'c> {
        let (name, event) = match step {
            Step::Set(event) => (gpux::SET_FLAG, event),
            Step::Wait(event) => (gpux::WAIT_FLAG, event),
        };
        let context = at.context();
        let engine = |engine: EngineId| str_attr(context, self.engines.name(engine));
        let id = i64::try_from(self.plan.ids[event]).unwrap_or(i64::MAX);
        OpBuilder::new(name, at.location())
            .attr(gpux_attr::FROM, engine(self.plan.events[event].from))
            .attr(gpux_attr::TO, engine(self.plan.events[event].to))
            .attr(gpux_attr::ID, int_attr(context, 64, id))
    }
}
