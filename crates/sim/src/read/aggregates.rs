//! Arrays, structs and vectors of `llvm`. Those of numbers alone are these numbers in a row, as the vectors are that
//! upstream's lowerings make them of; others are what a memref is lowered to.

use super::{Done, MOST_NUMBERS, Reader, Unknown, lanes, number};
use crate::code::{Op as Instruction, Reg, VectorOp};
use crate::value::Value as Constant;
use async_mlir::ir::Op;
use async_mlir::llvm::{Aggregate, aggregate};
use async_mlir::melior::ir::Type;
use async_mlir::names::{attr, llvm};
use async_mlir::types;
use std::ops::Range;

impl<'c> Reader<'c> {
    /// Reads `op` if it takes such values apart, or puts them together; returns false if it does not.
    pub(super) fn aggregates(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            llvm::EXTRACTVALUE => {
                let Some(part) = part(op.operand(0).ty(), op) else {
                    return Ok(false);
                };
                self.pick(op, part.map(|i| (0, i)).collect());
            }
            llvm::INSERTVALUE => self.insert_value(op)?,
            llvm::EXTRACTELEMENT => {
                let [vector, index] = [0, 1].map(|i| self.operand(op, i));
                let to = self.reg(op.result(0));
                self.emit(op, Instruction::Vector(VectorOp::Extract { to, vector, index }));
            }
            llvm::INSERTELEMENT => {
                let [vector, value, index] = [0, 1, 2].map(|i| self.operand(op, i));
                self.insert_element(op, [value, vector, index])?;
            }
            llvm::BITCAST => self.bitcast(op)?,
            llvm::MLIR_ZERO => self.zero(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The container comes first, then the value that goes into it.
    fn insert_value(&mut self, op: Op<'c>) -> Done<'c> {
        let ty = op.operand(0).ty();
        let (Some(all), Some(part)) = (numbers_in(ty), part(ty, op)) else {
            return Err(Unknown::operation(op));
        };
        let picks = (0..all).map(|i| {
            if part.contains(&i) {
                (1, i - part.start)
            } else {
                (0, i)
            }
        });
        self.pick(op, picks.collect());
        Ok(())
    }

    fn zero(&mut self, op: Op<'c>) -> Done<'c> {
        let ty = op.result(0).ty();
        let count = numbers_in(ty).ok_or_else(|| Unknown::operation(op))?;
        let value = if number(ty).is_some() {
            Constant::Bits(0)
        } else {
            Constant::Vector(vec![0; count as usize].into())
        };
        self.set(op, op.result(0), value);
        Ok(())
    }

    /// Emits `op`, which puts a value into a vector at an index.
    pub(super) fn insert_element(&mut self, op: Op<'c>, [value, vector, index]: [Reg; 3]) -> Done<'c> {
        let count = numbers_in(op.result(0).ty()).ok_or_else(|| Unknown::operation(op))?;
        let to = self.reg(op.result(0));
        self.emit(
            op,
            Instruction::Vector(VectorOp::Insert {
                to,
                value,
                vector,
                index,
                count,
            }),
        );
        Ok(())
    }
}

/// How many numbers a value of type `ty` is; `None` if there is more to it, or too many.
pub(super) fn numbers_in(ty: Type<'_>) -> Option<u32> {
    let count = if number(ty).is_some() {
        1
    } else if let Some(shape) = types::vector_shape(ty) {
        lanes(&shape.sizes)?
    } else {
        match aggregate(ty)? {
            Aggregate::Array(size, element) => u32::try_from(size).ok()?.checked_mul(numbers_in(element)?)?,
            Aggregate::Struct(members) => {
                let mut counts = members.into_iter().map(numbers_in);
                counts.try_fold(0_u32, |sum, count| sum.checked_add(count?))?
            }
        }
    };
    (count <= MOST_NUMBERS).then_some(count)
}

/// The numbers of a value of type `ty` at the position that `op` names.
fn part(ty: Type<'_>, op: Op<'_>) -> Option<Range<u32>> {
    numbers_in(ty)?;
    let (mut start, mut ty) = (0, ty);
    for index in super::ints(op, attr::POSITION)? {
        match aggregate(ty)? {
            Aggregate::Array(_, element) => {
                start += u32::try_from(index).ok()? * numbers_in(element)?;
                ty = element;
            }
            Aggregate::Struct(members) => {
                let index = usize::try_from(index).ok()?;
                for member in members.get(..index)? {
                    start += numbers_in(*member)?;
                }
                ty = *members.get(index)?;
            }
        }
    }
    Some(start..start + numbers_in(ty)?)
}
