//! Accesses of several elements that don't lie in a row, and atomic ones.

use super::views::permutation;
use super::{Done, Reader, Unknown};
use crate::code::{Op as Instruction, Tile};
use crate::scalar::Scalar;
use async_mlir::ir::Op;
use async_mlir::melior::ir::attribute::{ArrayAttribute, BoolAttribute};
use async_mlir::melior::ir::{Attribute, Type};
use async_mlir::names::{attr, vector};
use async_mlir::types;

impl<'c> Reader<'c> {
    /// Reads a `vector.load` or `vector.store` of several dimensions; returns false if it is of one.
    pub(super) fn tile_access(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        let loads = op.is(vector::LOAD);
        let (vector, memref) = if loads {
            (op.result(0).ty(), op.operand(0).ty())
        } else {
            (op.operand(0).ty(), op.operand(1).ty())
        };
        let memref = types::memref_shape(memref).ok_or_else(|| Unknown::operation(op))?;
        let sizes = sizes(op, vector)?;
        if sizes.len() <= 1 || types::vector_shape(memref.element).is_some() {
            return Ok(false);
        }
        let rank = memref.sizes.len();
        let first = rank.checked_sub(sizes.len());
        let first = first.ok_or_else(|| Unknown::operation(op))?;
        let tile = Tile {
            dims: (first..rank).map(Some).collect(),
            in_bounds: vec![true; sizes.len()].into(),
            sizes,
        };
        if loads {
            self.load_tile(op, tile, false);
        } else {
            self.store_tile(op, tile);
        }
        Ok(true)
    }

    pub(super) fn transfer_read(&mut self, op: Op<'c>) -> Done<'c> {
        let tile = Self::transfer(op, op.result(0).ty(), op.operand(0).ty())?;
        self.load_tile(op, tile, true);
        Ok(())
    }

    pub(super) fn transfer_write(&mut self, op: Op<'c>) -> Done<'c> {
        let tile = Self::transfer(op, op.operand(0).ty(), op.operand(1).ty())?;
        self.store_tile(op, tile);
        Ok(())
    }

    /// Operands are the memref, its indices, and what stands for elements out of bounds if that `is_padded`.
    fn load_tile(&mut self, op: Op<'c>, tile: Tile, is_padded: bool) {
        let (to, from) = (self.reg(op.result(0)), self.access(op, 0, 1));
        let padding = is_padded.then(|| self.operand(op, 1 + from.indices.len()));
        self.emit(
            op,
            Instruction::LoadTile {
                to,
                from,
                tile,
                padding,
            },
        );
    }

    /// Operands are the vector, the memref and its indices.
    fn store_tile(&mut self, op: Op<'c>, tile: Tile) {
        let (value, to) = (self.operand(op, 0), self.access(op, 1, 2));
        self.emit(op, Instruction::StoreTile { value, to, tile });
    }

    /// Which part of a memref a transfer is of.
    fn transfer(op: Op<'c>, vector: Type<'c>, memref: Type<'c>) -> Result<Tile, Unknown<'c>> {
        let masked =
            super::ints(op, attr::OPERAND_SEGMENT_SIZES).is_none_or(|sizes| sizes.last() != Some(&0));
        if masked || types::memref_shape(memref).is_none() {
            let message = "the interpreter knows transfers of memrefs only, and none with a mask";
            return Err(Unknown::new(op, message));
        }
        let dims = op.attr(attr::PERMUTATION_MAP).and_then(permutation);
        let dims = dims.ok_or_else(|| Unknown::new(op, "the interpreter does not know this map"))?;
        let sizes = sizes(op, vector)?;
        if dims.len() != sizes.len() {
            return Err(Unknown::operation(op));
        }
        let mut in_bounds = op.attr(attr::IN_BOUNDS).map(bools).unwrap_or_default();
        in_bounds.resize(sizes.len(), false);
        Ok(Tile {
            sizes,
            dims: dims.into(),
            in_bounds: in_bounds.into(),
        })
    }

    pub(super) fn atomic(&mut self, op: Op<'c>) -> Done<'c> {
        // In the order of MLIR's AtomicRMWKind.
        const KINDS: [Scalar; 16] = [
            Scalar::AddF,
            Scalar::Add,
            Scalar::And,
            Scalar::Same,
            Scalar::MaxF,
            Scalar::MaxNumF,
            Scalar::MaxS,
            Scalar::MaxU,
            Scalar::MinF,
            Scalar::MinNumF,
            Scalar::MinS,
            Scalar::MinU,
            Scalar::MulF,
            Scalar::Mul,
            Scalar::Or,
            Scalar::Xor,
        ];
        let kind = op
            .int_attr(attr::KIND)
            .and_then(|kind| usize::try_from(kind).ok());
        let f = kind.and_then(|kind| KINDS.get(kind));
        let f = *f.ok_or_else(|| Unknown::operation(op))?;
        let elem = Self::elem(op, op.result(0).ty())?;
        let (value, at) = (self.operand(op, 0), self.access(op, 1, 2));
        let to = self.reg(op.result(0));
        self.emit(
            op,
            Instruction::Atomic {
                to,
                at,
                value,
                f,
                elem,
            },
        );
        Ok(())
    }
}

/// The sizes of a vector.
fn sizes<'c>(op: Op<'c>, vector: Type<'c>) -> Result<Box<[i64]>, Unknown<'c>> {
    let shape = types::vector_shape(vector).ok_or_else(|| Unknown::operation(op))?;
    let sizes: Option<Box<[i64]>> = shape.sizes.into_iter().collect();
    sizes.ok_or_else(|| Unknown::operation(op))
}

/// The elements of an array of booleans; what is none is false.
fn bools(list: Attribute<'_>) -> Vec<bool> {
    let Ok(list) = ArrayAttribute::try_from(list) else {
        return Vec::new();
    };
    let element = |i| BoolAttribute::try_from(list.element(i).ok()?).ok();
    (0..list.len())
        .map(|i| element(i).is_some_and(|element| element.value()))
        .collect()
}
