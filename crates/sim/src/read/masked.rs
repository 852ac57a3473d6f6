//! Transfers between memory and vectors, gathers and scatters; and masks, which say what of a vector is accessed.
//!
//! **Refusals.** Tensors; a `vector.mask` of anything but a transfer, a reduction or a contraction, or with a pass-through value.

use super::tiles::sizes;
use super::vectors::positions;
use super::views::permutation;
use super::{Done, Reader, Unknown, number};
use crate::code::{Access, Index, Mask, Op as Instruction, Reg, Tile, VectorOp};
use crate::value::Elem;
use async_mlir::ir::{Block, Op};
use async_mlir::melior::ir::Type;
use async_mlir::names::{attr, vector};
use async_mlir::types;

impl<'c> Reader<'c> {
    /// Reads `op` if it is such an access, or makes a mask; returns false if not.
    pub(super) fn masked(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            vector::TRANSFER_READ => self.transfer_read(op, None)?,
            vector::TRANSFER_WRITE => self.transfer_write(op, None)?,
            vector::MASKEDLOAD | vector::MASKEDSTORE => self.masked_access(op)?,
            vector::GATHER | vector::SCATTER => self.scattered_access(op)?,
            vector::EXPANDLOAD | vector::COMPRESSSTORE => self.packed_access(op)?,
            vector::CREATE_MASK => {
                let bounds = op.operands().map(|bound| Index::Reg(self.reg(bound))).collect();
                self.mask(op, bounds)?;
            }
            vector::CONSTANT_MASK => {
                let bounds = super::ints(op, attr::MASK_DIM_SIZES).unwrap_or_default();
                self.mask(op, bounds.into_iter().map(Index::Const).collect())?;
            }
            vector::MASK => self.mask_of(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn mask(&mut self, op: Op<'c>, bounds: Box<[Index]>) -> Done<'c> {
        let mut sizes = sizes(op, op.result(0).ty())?;
        // A vector without dimensions has one number, and a bound for it.
        if sizes.is_empty() {
            sizes = [1].into();
        }
        if sizes.len() != bounds.len() {
            return Err(Unknown::operation(op));
        }
        let to = self.reg(op.result(0));
        self.emit(op, Instruction::Vector(VectorOp::Mask { to, sizes, bounds }));
        Ok(())
    }

    /// `vector.mask`, whose region has one operation.
    fn mask_of(&mut self, op: Op<'c>) -> Done<'c> {
        let ops = op.region(0).first().map_or_else(Vec::new, Block::ops);
        let ([inner, end], 1) = (ops.as_slice(), op.num_operands()) else {
            let message =
                "the interpreter knows a vector.mask of one operation, without a pass-through value";
            return Err(Unknown::new(op, message));
        };
        let mask = Some(self.operand(op, 0));
        match inner.name() {
            vector::TRANSFER_READ => self.transfer_read(*inner, mask)?,
            vector::TRANSFER_WRITE => self.transfer_write(*inner, mask)?,
            vector::REDUCTION => self.reduction(*inner, mask)?,
            vector::CONTRACT => self.contract(*inner, mask)?,
            vector::OUTERPRODUCT => self.outer_product(*inner, mask)?,
            vector::MULTI_REDUCTION => self.multi_reduction(*inner, mask)?,
            name => {
                return Err(Unknown::new(
                    *inner,
                    format!("the interpreter knows no masked '{name}'"),
                ));
            }
        }
        let yielded: Vec<_> = end.operands().collect();
        self.moves(op, &yielded, &op.results().collect::<Vec<_>>());
        Ok(())
    }

    fn transfer_read(&mut self, op: Op<'c>, mask: Option<Reg>) -> Done<'c> {
        let tile = self.transfer(op, (op.result(0).ty(), op.operand(0).ty()), mask)?;
        let from = self.access(op, 0, 1);
        let padding = self.operand(op, 1 + from.indices.len());
        self.load_tile(op, from, tile, Some(padding));
        Ok(())
    }

    fn transfer_write(&mut self, op: Op<'c>, mask: Option<Reg>) -> Done<'c> {
        let tile = self.transfer(op, (op.operand(0).ty(), op.operand(1).ty()), mask)?;
        let (value, to) = (self.operand(op, 0), self.access(op, 1, 2));
        self.emit(op, Instruction::StoreTile { value, to, tile });
        Ok(())
    }

    pub(super) fn load_tile(&mut self, op: Op<'c>, from: Access, tile: Tile, padding: Option<Reg>) {
        let to = self.reg(op.result(0));
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

    /// Which part of a memref a transfer is of. Its mask, if it has one, is its last operand.
    fn transfer(
        &mut self,
        op: Op<'c>,
        (vector, memref): (Type<'c>, Type<'c>),
        mask: Option<Reg>,
    ) -> Result<Tile, Unknown<'c>> {
        if types::memref_shape(memref).is_none() {
            return Err(Unknown::new(
                op,
                "the interpreter knows transfers of memrefs only",
            ));
        }
        let dims = op.attr(attr::PERMUTATION_MAP).and_then(permutation);
        let dims = dims.ok_or_else(|| Unknown::new(op, "the interpreter does not know this map"))?;
        let sizes = sizes(op, vector)?;
        if dims.len() != sizes.len() {
            return Err(Unknown::operation(op));
        }
        let mut in_bounds = op.attr(attr::IN_BOUNDS).map(types::booleans).unwrap_or_default();
        in_bounds.resize(sizes.len(), false);
        let segments = super::ints(op, attr::OPERAND_SEGMENT_SIZES).unwrap_or_default();
        let own = (segments.last() == Some(&1)).then(|| self.operand(op, op.num_operands() - 1));
        let mask = match (own, mask) {
            (Some(_), Some(_)) => return Err(Unknown::new(op, "the interpreter knows one mask only")),
            (own, mask) => own.or(mask),
        };
        let mask = mask.map(|bits| Mask {
            bits,
            of: masked_by(&sizes, &dims),
        });
        Ok(Tile {
            in_bounds: in_bounds.into(),
            mask,
            ..Tile::whole(sizes, dims.into())
        })
    }

    /// Operands are the memref, its indices, the mask, and the vector: what is stored, or what stands for elements that are
    /// not loaded.
    fn masked_access(&mut self, op: Op<'c>) -> Done<'c> {
        let count = op.num_operands();
        let place = self.access(op, 0, 1);
        let [mask, vector] = [2, 1].map(|i| self.operand(op, count - i));
        let sizes = sizes(op, op.operand(count - 1).ty())?;
        let rank = place.indices.len();
        let first = rank
            .checked_sub(sizes.len())
            .ok_or_else(|| Unknown::operation(op))?;
        let tile = Tile::whole(sizes, (first..rank).map(Some).collect());
        self.access_by_mask(op, place, tile, [mask, vector])
    }

    /// The same, with a vector of offsets before the mask.
    fn scattered_access(&mut self, op: Op<'c>) -> Done<'c> {
        if types::memref_shape(op.operand(0).ty()).is_none_or(|shape| shape.sizes.is_empty()) {
            return Err(Unknown::new(
                op,
                "the interpreter knows accesses of memrefs with dimensions only",
            ));
        }
        let count = op.num_operands();
        let place = self.access(op, 0, 1);
        let [offsets, mask, vector] = [3, 2, 1].map(|i| self.operand(op, count - i));
        let Elem::Int(width) = Self::elem(op, op.operand(count - 3).ty())? else {
            return Err(Unknown::operation(op));
        };
        let sizes = sizes(op, op.operand(count - 1).ty())?;
        let mut tile = Tile::whole(sizes.clone(), vec![None; sizes.len()].into());
        tile.offsets = Some((offsets, width));
        self.access_by_mask(op, place, tile, [mask, vector])
    }

    /// The elements of memory lie in a row, one for each that the mask names.
    fn packed_access(&mut self, op: Op<'c>) -> Done<'c> {
        let count = op.num_operands();
        let place = self.access(op, 0, 1);
        let [mask, vector] = [2, 1].map(|i| self.operand(op, count - i));
        let ranks = self.fresh();
        self.emit(op, Instruction::Vector(VectorOp::Ranks { to: ranks, mask }));
        let sizes = sizes(op, op.operand(count - 1).ty())?;
        let mut tile = Tile::whole(sizes.clone(), vec![None; sizes.len()].into());
        tile.offsets = Some((ranks, 64));
        self.access_by_mask(op, place, tile, [mask, vector])
    }

    fn access_by_mask(
        &mut self,
        op: Op<'c>,
        place: Access,
        mut tile: Tile,
        [bits, vector]: [Reg; 2],
    ) -> Done<'c> {
        let element = types::memref_shape(op.operand(0).ty()).map(|shape| shape.element);
        if element.and_then(number).is_none() {
            return Err(Unknown::new(
                op,
                "the interpreter knows masked accesses of numbers only",
            ));
        }
        let count = u32::try_from(tile.sizes.iter().product::<i64>()).unwrap_or(0);
        let of = (0..count).collect();
        tile.mask = Some(Mask { bits, of });
        if op.num_results() > 0 {
            self.load_tile(op, place, tile, Some(vector));
        } else {
            let (value, to) = (vector, place);
            self.emit(op, Instruction::StoreTile { value, to, tile });
        }
        Ok(())
    }
}

/// Which bit of its mask each element of a transfer has: the mask has the dimensions of memory, in their order.
fn masked_by(sizes: &[i64], dims: &[Option<usize>]) -> Box<[u32]> {
    let sizes: Vec<u32> = sizes
        .iter()
        .map(|&size| u32::try_from(size).unwrap_or(0))
        .collect();
    let mut of_memory: Vec<(usize, usize)> = dims
        .iter()
        .enumerate()
        .filter_map(|(i, dim)| Some(((*dim)?, i)))
        .collect();
    of_memory.sort_unstable();
    let bit = |position: Vec<u32>| {
        of_memory
            .iter()
            .fold(0, |at, &(_, i)| at * sizes[i] + position[i])
    };
    positions(&sizes).map(bit).collect()
}
