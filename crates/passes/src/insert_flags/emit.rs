//! Writes the flags of a plan.

use super::program::Reader;
use crate::engines::Engines;
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::ir::{Op, OpBuilder, int_attr, str_attr};
use tokenflow::flags::{EngineId, Node, Plan, Step};

/// Writes a plan's flags into the function.
pub(super) fn emit<'c>(read: &Reader<'c>, plan: &Plan, engines: &Engines<'c>) {
    let emitter = Emitter { plan, engines };
    let blocks = read.program.blocks.len();
    for (block, steps) in plan.steps(blocks).with_ids() {
        let ops = &read.ops[block];
        // What stands after an operation is built from the last to the first.
        for &(point, step) in steps.iter().filter(|(point, _)| point.is_before()) {
            emitter.build(step, ops[point.node()]).before(ops[point.node()]);
        }
        for &(point, step) in steps.iter().rev().filter(|(point, _)| !point.is_before()) {
            emitter.build(step, ops[point.node()]).after(ops[point.node()]);
        }
    }
    // Next to the loop, inside of what stands there already.
    let carried = plan.carried(blocks);
    for (block, ops) in read.ops.with_ids() {
        for (node, op) in read.program.blocks[block].nodes.iter().zip(ops) {
            let Node::Loop(body) = node else {
                continue;
            };
            let carried = &carried[*body];
            for &event in carried {
                emitter.build(Step::Set(event), *op).before(*op);
            }
            for &event in carried.iter().rev() {
                emitter.build(Step::Wait(event), *op).after(*op);
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
