//! Accesses of vectors of several dimensions, and atomic ones.

use super::{Done, Reader, Unknown, number};
use crate::code::{Access, Index, Op as Instruction, Reg, Tile};
use crate::scalar::Scalar;
use crate::value::Value as Constant;
use async_mlir::ir::Op;
use async_mlir::melior::ir::Type;
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
        let tile = Tile::whole(sizes, (first..rank).map(Some).collect());
        if loads {
            let from = self.access(op, 0, 1);
            self.load_tile(op, from, tile, None);
        } else {
            let (value, to) = (self.operand(op, 0), self.access(op, 1, 2));
            self.emit(op, Instruction::StoreTile { value, to, tile });
        }
        Ok(true)
    }

    /// `memref.copy` by the thread that executes it.
    pub(super) fn copy_of_memrefs(&mut self, op: Op<'c>) -> Done<'c> {
        let shapes = [0, 1].map(|i| types::memref_shape(op.operand(i).ty()));
        let [Some(from), Some(to)] = shapes else {
            return Err(Unknown::operation(op));
        };
        let sizes = from.sizes.iter().zip(&to.sizes).map(|(from, to)| (*from).or(*to));
        let sizes = sizes.collect::<Option<Box<[i64]>>>();
        let Some(sizes) = sizes.filter(|sizes| !sizes.is_empty() && number(from.element).is_some()) else {
            return self.copy_by_element(op, from.sizes.len());
        };
        let [zero, value] = [self.fresh(), self.fresh()];
        let bits = Constant::Bits(0);
        self.emit(
            op,
            Instruction::Set {
                to: zero,
                value: bits,
            },
        );
        let rank = sizes.len();
        let tile = Tile::whole(sizes, (0..rank).map(Some).collect());
        let [from, to] = [0, 1].map(|i| Access {
            view: self.operand(op, i),
            indices: vec![zero; rank].into(),
        });
        let load = Instruction::LoadTile {
            to: value,
            from,
            tile: tile.clone(),
            padding: None,
        };
        self.emit(op, load);
        self.emit(op, Instruction::StoreTile { value, to, tile });
        Ok(())
    }

    /// The same of any size, element by element.
    fn copy_by_element(&mut self, op: Op<'c>, rank: usize) -> Done<'c> {
        let vector = types::memref_shape(op.operand(0).ty())
            .is_some_and(|shape| types::vector_shape(shape.element).is_some());
        let [view, other] = [0, 1].map(|i| self.operand(op, i));
        let mut counters = Vec::new();
        for dim in 0..rank {
            let (index, size) = (self.fresh(), self.fresh());
            let value = Constant::int(i64::try_from(dim).unwrap_or(0));
            self.emit(op, Instruction::Set { to: index, value });
            self.emit(
                op,
                Instruction::Dim {
                    to: size,
                    view,
                    index,
                },
            );
            let numbers = [Index::Const(0), Index::Reg(size), Index::Const(1)];
            counters.push((self.fresh(), numbers));
        }
        let indices: Box<[Reg]> = counters.iter().map(|(i, _)| *i).collect();
        let value = self.fresh();
        self.nest(op, &counters, &mut |reader| {
            let place = |view| Access {
                view,
                indices: indices.clone(),
            };
            let load = Instruction::Load {
                to: value,
                from: place(view),
                count: 1,
                vector,
            };
            reader.emit(op, load);
            let to = place(other);
            reader.emit(op, Instruction::Store { value, to });
            Ok(())
        })
    }

    /// The region gets what is there, and yields what is to be there. Nothing comes between, since a thread runs on to where it
    /// waits for others.
    pub(super) fn atomic_region(&mut self, op: Op<'c>) -> Done<'c> {
        let elem = Self::elem(op, op.result(0).ty())?;
        let Some(entry) = op.region(0).first() else {
            return Err(Unknown::operation(op));
        };
        let (at, to) = (self.access(op, 0, 1), self.reg(entry.arg(0)));
        let load = Instruction::AtomicLoad {
            to,
            at: at.clone(),
            elem,
        };
        self.emit(op, load);
        self.returning(op.region(0), &[op.result(0)])?;
        let value = self.reg(op.result(0));
        self.emit(op, Instruction::AtomicStore { value, at, elem });
        Ok(())
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
pub(super) fn sizes<'c>(op: Op<'c>, vector: Type<'c>) -> Result<Box<[i64]>, Unknown<'c>> {
    let shape = types::vector_shape(vector).ok_or_else(|| Unknown::operation(op))?;
    let sizes: Option<Box<[i64]>> = shape.sizes.into_iter().collect();
    sizes.ok_or_else(|| Unknown::operation(op))
}
