//! Writes operations with regions: what is inside, and the values that they carry.

use super::Emitter;
use crate::tokens_to_mbarriers::builder::value;
use crate::tokens_to_mbarriers::carried_values::{Carried, carried_through};
use crate::tokens_to_mbarriers::state::bug;
use crate::utils::builders::new_else;
use crate::utils::region_values::{RegionOpKind, lacks_else, pass_on, region_op_kind};
use async_mlir::control_flow::append;
use async_mlir::ir::{Op, Value};
use async_mlir::names::arith;
use async_mlir::pass::PassError;
use tokenflow::phases::RegionOpId;

impl<'c> Emitter<'_, 'c> {
    /// Writes what is in an operation with regions.
    pub(super) fn region_op(&mut self, id: RegionOpId) -> Result<(), PassError<'c>> {
        let op = self.read.region_ops[id];
        let blocks = self.read.tree.region_ops[id].blocks.clone();
        if blocks.is_empty() {
            return self.select(id, op);
        }
        let all = carried_through(&self.read, self.plan, &self.index.phi_of, &self.state, id);
        if all.is_empty() {
            return blocks.into_iter().try_for_each(|block| self.block(block));
        }
        let Some(kind) = region_op_kind(op) else {
            let message = "has loads in it, and the state of their mbarriers can't be carried through it";
            let help = "around loads, use scf.for, scf.while, scf.if, scf.index_switch, scf.execute_region, affine.for or \
                        affine.if";
            return Err(PassError::new(op, message).note(op, help));
        };
        let counters: Vec<Option<Value>> = all.iter().map(|carried| self.state.counter(carried)).collect();
        let initial = self.all_passed_on(id, None, &all)?;
        let types = vec![self.builder.i32; all.len()];
        let results = op.num_results();
        let op = append(
            op,
            if kind == RegionOpKind::Loop { &initial } else { &[] },
            &types,
        );
        self.read.region_ops[id] = op;
        for (place, &block) in blocks.iter().enumerate() {
            self.state.restore(&all, &counters);
            if kind == RegionOpKind::Loop {
                let args: Vec<Value> = all
                    .iter()
                    .map(|_| self.read.blocks[block].add_arg(self.builder.i32, op.location()))
                    .collect();
                for (carried, arg) in all.iter().zip(args) {
                    self.state.set(carried, Some(place), arg);
                }
            }
            self.block(block)?;
            self.pass_on(id, place, &all)?;
        }
        self.missing_else(op, id, &all, &counters)?;
        for (i, carried) in all.iter().enumerate() {
            self.state.set(carried, None, op.result(results + i));
        }
        Ok(())
    }

    /// What is passed on at the end of a block, or where the operation is entered.
    fn passed_on(
        &mut self,
        id: RegionOpId,
        from: Option<usize>,
        carried: &Carried,
    ) -> Result<Value<'c>, PassError<'c>> {
        if let Some(counter) = self.state.counter(carried) {
            return Ok(counter);
        }
        match carried.incoming(&self.read, self.plan, id, from) {
            Some(phase) => self.state.number_of(phase, self.read.region_ops[id]),
            // A token that is complete, or a value that is not used on this path.
            None => Ok(self.builder.const_i32(-1)),
        }
    }

    fn all_passed_on(
        &mut self,
        id: RegionOpId,
        from: Option<usize>,
        all: &[Carried],
    ) -> Result<Vec<Value<'c>>, PassError<'c>> {
        all.iter()
            .map(|carried| self.passed_on(id, from, carried))
            .collect()
    }

    /// Has the end of a block pass on what is carried.
    fn pass_on(&mut self, id: RegionOpId, place: usize, all: &[Carried]) -> Result<(), PassError<'c>> {
        let block = self.read.tree.region_ops[id].blocks[place];
        let values = self.all_passed_on(id, Some(place), all)?;
        if let Some(terminator) = self.read.blocks[block].terminator() {
            pass_on(terminator, &values);
        }
        Ok(())
    }

    /// Writes the `else` of a branch that has results by now.
    fn missing_else(
        &mut self,
        op: Op<'c>,
        id: RegionOpId,
        all: &[Carried],
        counters: &[Option<Value<'c>>],
    ) -> Result<(), PassError<'c>> {
        if !lacks_else(op) {
            return Ok(());
        }
        self.state.restore(all, counters);
        let values = self.all_passed_on(id, None, all)?;
        new_else(op, &values);
        Ok(())
    }

    /// A selection between tokens: one between their numbers.
    fn select(&mut self, id: RegionOpId, op: Op<'c>) -> Result<(), PassError<'c>> {
        let region_op = &self.read.tree.region_ops[id];
        let result = region_op.results.first();
        let Some(&phi) = result.and_then(|result| self.index.phi_of.get(result)) else {
            return Ok(());
        };
        if !self.plan.rings[self.plan.phis[phi].ring].has_counter {
            return Ok(());
        }
        let mut values = Vec::new();
        for edge in 0..region_op.edges.len() {
            values.push(match self.plan.incoming(phi, id, edge) {
                Some(phase) => self.state.number_of(phase, op)?,
                None => self.builder.const_i32(-1),
            });
        }
        self.state.phis[phi] = Some(match values.as_slice() {
            [only] => *only,
            [if_true, if_false] => {
                let operands = [op.operand(0), *if_true, *if_false];
                value(arith::SELECT, &operands, self.builder.i32, op)
            }
            _ => return Err(bug(op, "selects between other than two phases")),
        });
        Ok(())
    }
}
