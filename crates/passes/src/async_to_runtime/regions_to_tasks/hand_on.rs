//! Hands on values that may be pending, to functions, tasks and blocks: as a token and an address.

use super::{Future, Rewriter};
use crate::async_to_runtime::completion_analysis::CompletionAnalysis;
use crate::async_to_runtime::frames::Frame;
use crate::async_to_runtime::futures::successor_operands;
use crate::utils::llvm_builder::{At, rt};
use async_dialects::names::async_;
use async_mlir::control_flow::{append_to_branch, selected_values};
use async_mlir::ir::{Block, Op, Value};
use async_mlir::melior::ir::Location;
use async_mlir::names::func;
use async_mlir::pass::PassError;

impl<'c> Rewriter<'_, 'c> {
    /// Has everything that hands on values to what is marked hand on tokens and addresses.
    pub(super) fn hand_on(&mut self, function: Op<'c>) -> Result<(), PassError<'c>> {
        let mut completion = CompletionAnalysis::with_tokens(function, self.tokens_of_regions());
        for block in function.region(0).blocks() {
            for op in block.ops() {
                if let Some(callee) = self.functions.callee(op) {
                    self.arguments(op, op, callee)?;
                } else if op.is(async_::REGION) {
                    let call = self.functions.task_call(op)?;
                    if let Some(task) = self.functions.callee(call) {
                        self.arguments(call, op, task)?;
                        let arguments = task.region(0).first().into_iter().flat_map(Block::args);
                        for (token, argument) in call.operands().zip(arguments) {
                            if self.futures.contains_key(&argument) && completion.is_complete_in(token, op) {
                                self.complete.insert(argument);
                            }
                        }
                    }
                } else if op.is(func::RETURN) {
                    let marked: Vec<usize> = (0..op.num_operands())
                        .filter(|&index| self.pending.results.contains(&(function, index)))
                        .collect();
                    self.pass(op, op, &marked)?;
                } else if selected_values(op).is_some() {
                    self.selection(op)?;
                } else if op.successors().len() > 0 {
                    for index in 0..op.successors().len() {
                        let operands = successor_operands(op);
                        let Some((first, to)) = operands.get(index) else {
                            continue;
                        };
                        let mut places = Vec::new();
                        for (number, argument) in to.iter().enumerate() {
                            if self.pending.values.contains(argument) {
                                places.push(self.operand(op, first + number, op)?);
                            }
                        }
                        append_to_branch(op, index, &places);
                    }
                }
            }
        }
        Ok(())
    }

    fn arguments(&mut self, call: Op<'c>, at: Op<'c>, callee: Op<'c>) -> Result<(), PassError<'c>> {
        let Some(entry) = callee.region(0).first() else {
            return Ok(());
        };
        let marked: Vec<usize> = (0..call.num_operands())
            .filter(|&index| self.pending.values.contains(&entry.arg(index)))
            .collect();
        self.pass(call, at, &marked)
    }

    /// Has the operands `marked` of `op` be tokens, and appends the addresses.
    fn pass(&mut self, op: Op<'c>, at: Op<'c>, marked: &[usize]) -> Result<(), PassError<'c>> {
        let mut places = Vec::new();
        for &index in marked {
            places.push(self.operand(op, index, at)?);
        }
        if !places.is_empty() {
            let operands: Vec<Value> = op.operands().chain(places).collect();
            op.set_operands(&operands);
        }
        Ok(())
    }

    /// The same for a selection between two values.
    fn selection(&mut self, op: Op<'c>) -> Result<(), PassError<'c>> {
        let Some(place) = self.futures.get(&op.result(0)).map(|future| future.place) else {
            return Ok(());
        };
        if place.defining_op() == Some(op) {
            return Ok(());
        }
        // The copy of the selection for addresses comes right after it.
        let addresses = place.defining_op();
        for index in 1..op.num_operands() {
            let address = self.operand(op, index, op)?;
            if let Some(addresses) = addresses {
                addresses.set_operand(index, address);
                self.handed_on.insert((addresses, index));
            }
        }
        Ok(())
    }

    /// Makes operand `index` of `op` a token, and returns the address.
    fn operand(&mut self, op: Op<'c>, index: usize, at: Op<'c>) -> Result<Value<'c>, PassError<'c>> {
        let value = op.operand(index);
        let future = match self.futures.get(&value) {
            Some(future) => *future,
            None => self.boxed(value, at)?,
        };
        op.set_operand(index, future.owner);
        self.handed_on.insert((op, index));
        Ok(future.place)
    }

    /// A token that is complete, with `value` in its frame.
    fn boxed(&mut self, value: Value<'c>, at: Op<'c>) -> Result<Future<'c>, PassError<'c>> {
        let (builder, ty) = (self.builder, value.ty());
        let frame = Frame::new(Vec::new(), vec![ty], at, builder)?;
        let (location, at) = (at.location(), At::Before(at));
        let name = self.boxes.entry(ty).or_insert_with(|| {
            let place = Location::unknown(builder.context());
            frame.describe("asyncopt_value", None, place, builder)
        });
        let name = name.clone();
        let description = builder.address_of(&name, location, at);
        let (owner, place) = self.create(description, location, at);
        builder.store(value, place, location, at);
        builder.call(rt::SUBMIT, &[owner], None, location, at);
        Ok(Future { owner, place, ty })
    }
}
