//! Bulk copies in all their forms, and descriptors of tensors. Which queue a copy is in, its tokens, and the memrefs on both
//! sides are what `AsyncCompletionOpInterface` says; the rest is read by operation.

use super::asynchronous::segments;
use super::{Done, Reader, Unknown};
use crate::code::{Bulk, Completion, Describe, GlobalSide, Op as Instruction, Reg, Slot};
use crate::value::{Elem, Tile};
use async_dialects::completion::Completion as Meaning;
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::{attr, nvgpu, nvvm};
use async_mlir::nvgpu::tensor_map;
use async_mlir::types;
use std::ops::Range;
use std::sync::Arc;

impl<'c> Reader<'c> {
    /// Reads `op` if it is a bulk copy that is known; returns false if not.
    pub(super) fn bulk(&mut self, op: Op<'c>, meaning: &Meaning<'c>) -> Result<bool, Unknown<'c>> {
        let bulk = match op.name() {
            gpux::TMA_LOAD => self.tma_load(op, meaning)?,
            gpux::TMA_STORE => self.tma_store(op, meaning)?,
            gpux::BULK_LOAD => self.bulk_load(op, meaning)?,
            gpux::BULK_STORE => self.bulk_store(op, meaning)?,
            nvgpu::TMA_ASYNC_LOAD => self.nvgpu_load(op)?,
            nvgpu::TMA_ASYNC_STORE => self.nvgpu_store(op, meaning)?,
            nvvm::CP_ASYNC_BULK_SHARED_CLUSTER_GLOBAL => self.nvvm_load(op)?,
            nvvm::CP_ASYNC_BULK_TENSOR_SHARED_CLUSTER_GLOBAL => self.nvvm_tensor_load(op)?,
            nvvm::CP_ASYNC_BULK_TENSOR_GLOBAL_SHARED_CTA => self.nvvm_tensor_store(op, meaning)?,
            nvvm::CP_ASYNC_BULK_SHARED_CLUSTER_SHARED_CTA => return Err(Unknown::cluster(op)),
            _ => return Ok(false),
        };
        self.emit(op, Instruction::Bulk(Box::new(bulk)));
        Ok(true)
    }

    /// How a load is complete: by its token, or by the mbarrier that these operands name.
    fn load_completion(
        &mut self,
        op: Op<'c>,
        meaning: &Meaning<'c>,
        group: usize,
        index: usize,
    ) -> Completion {
        match meaning.done {
            Some(token) => Completion::Token(self.reg(token)),
            None => Completion::MBarrier(self.slot(op, group, index)),
        }
    }

    /// How a store is complete: by its tokens, or by a group.
    fn store_completion(&mut self, op: Op<'c>, meaning: &Meaning<'c>) -> Result<Completion, Unknown<'c>> {
        match (meaning.read, meaning.done, meaning.queue) {
            (Some(read), Some(done), _) => Ok(Completion::Tokens {
                read: self.reg(read),
                done: self.reg(done),
            }),
            (_, _, Some(queue)) => Ok(Completion::Group(self.queue(queue))),
            _ => Err(Unknown::operation(op)),
        }
    }

    pub(super) fn slot(&mut self, op: Op<'c>, group: usize, index: usize) -> Slot {
        Slot::Of {
            group: self.operand(op, group),
            index: self.operand(op, index),
        }
    }

    /// The register of a memref that the interface names.
    fn end(&mut self, op: Op<'c>, memref: Option<Value<'c>>) -> Result<Reg, Unknown<'c>> {
        let memref = memref.ok_or_else(|| Unknown::operation(op))?;
        Ok(self.reg(memref))
    }

    fn tile(&mut self, op: Op<'c>, tensor: usize, indices: impl Iterator<Item = usize>) -> GlobalSide {
        GlobalSide::Tile {
            tensor: self.operand(op, tensor),
            indices: indices.map(|i| self.operand(op, i)).collect(),
        }
    }

    /// The condition under which a copy is issued, if it has one.
    fn predicate(&mut self, op: Op<'c>, mut operands: Range<usize>) -> Option<Reg> {
        operands.next().map(|i| self.operand(op, i))
    }

    fn tma_load(&mut self, op: Op<'c>, meaning: &Meaning<'c>) -> Result<Bulk, Unknown<'c>> {
        let [deps, tensor, indices, barriers, slot] = segments(op, [0, 1, 2, 4, 5])?;
        self.dependencies(op, deps);
        Ok(Bulk {
            load: true,
            global: self.tile(op, tensor.start, indices),
            local: self.end(op, meaning.destination)?,
            completion: self.load_completion(op, meaning, barriers.start, slot.start),
            predicate: None,
            bytes: None,
            issuer: issuer(op),
        })
    }

    fn bulk_load(&mut self, op: Op<'c>, meaning: &Meaning<'c>) -> Result<Bulk, Unknown<'c>> {
        let [deps, barriers, slot] = segments(op, [0, 3, 4])?;
        self.dependencies(op, deps);
        Ok(Bulk {
            load: true,
            global: GlobalSide::Line(self.end(op, meaning.source)?),
            local: self.end(op, meaning.destination)?,
            completion: self.load_completion(op, meaning, barriers.start, slot.start),
            predicate: None,
            bytes: None,
            issuer: issuer(op),
        })
    }

    fn tma_store(&mut self, op: Op<'c>, meaning: &Meaning<'c>) -> Result<Bulk, Unknown<'c>> {
        let [deps, tensor, indices] = segments(op, [0, 2, 3])?;
        self.dependencies(op, deps);
        Ok(Bulk {
            load: false,
            global: self.tile(op, tensor.start, indices),
            local: self.end(op, meaning.source)?,
            completion: self.store_completion(op, meaning)?,
            predicate: None,
            bytes: None,
            issuer: None,
        })
    }

    /// Its dependencies come first, and are the only ones whose number is not known.
    fn bulk_store(&mut self, op: Op<'c>, meaning: &Meaning<'c>) -> Result<Bulk, Unknown<'c>> {
        self.dependencies(op, 0..op.num_operands() - 2);
        Ok(Bulk {
            load: false,
            global: GlobalSide::Line(self.end(op, meaning.destination)?),
            local: self.end(op, meaning.source)?,
            completion: self.store_completion(op, meaning)?,
            predicate: None,
            bytes: None,
            issuer: None,
        })
    }

    /// Coordinates come innermost first here.
    fn nvgpu_load(&mut self, op: Op<'c>) -> Result<Bulk, Unknown<'c>> {
        let [dst, barriers, tensor, indices, slot, multicast, predicate] =
            segments(op, [0, 1, 2, 3, 4, 5, 6])?;
        if !multicast.is_empty() {
            return Err(Unknown::cluster(op));
        }
        Ok(Bulk {
            load: true,
            global: self.tile(op, tensor.start, indices.rev()),
            local: self.operand(op, dst.start),
            completion: Completion::MBarrier(self.slot(op, barriers.start, slot.start)),
            predicate: self.predicate(op, predicate),
            bytes: None,
            issuer: None,
        })
    }

    fn nvgpu_store(&mut self, op: Op<'c>, meaning: &Meaning<'c>) -> Result<Bulk, Unknown<'c>> {
        let [src, tensor, indices, predicate] = segments(op, [0, 1, 2, 3])?;
        Ok(Bulk {
            load: false,
            global: self.tile(op, tensor.start, indices.rev()),
            local: self.operand(op, src.start),
            completion: self.store_completion(op, meaning)?,
            predicate: self.predicate(op, predicate),
            bytes: None,
            issuer: None,
        })
    }

    /// From a pointer to another one.
    fn nvvm_load(&mut self, op: Op<'c>) -> Result<Bulk, Unknown<'c>> {
        // What it says of caches, which comes last, moves nothing.
        let [dst, src, barrier, bytes, multicast] = segments(op, [0, 1, 2, 3, 4])?;
        if !multicast.is_empty() {
            return Err(Unknown::cluster(op));
        }
        Ok(Bulk {
            load: true,
            global: GlobalSide::Line(self.operand(op, src.start)),
            local: self.operand(op, dst.start),
            completion: Completion::MBarrier(Slot::At(self.operand(op, barrier.start))),
            predicate: None,
            bytes: Some(self.operand(op, bytes.start)),
            issuer: None,
        })
    }

    /// From a tensor to a pointer: a tile has the size of the descriptor's box.
    fn nvvm_tensor_load(&mut self, op: Op<'c>) -> Result<Bulk, Unknown<'c>> {
        // What it says of caches, which comes before the predicate, moves nothing.
        let [dst, tensor, indices, barrier, offsets, multicast, predicate] =
            segments(op, [0, 1, 2, 3, 4, 5, 7])?;
        if !multicast.is_empty() {
            return Err(Unknown::cluster(op));
        }
        Self::tiled(op, &offsets)?;
        Ok(Bulk {
            load: true,
            global: self.tile_at(op, tensor.start, indices),
            local: self.operand(op, dst.start),
            completion: Completion::MBarrier(Slot::At(self.operand(op, barrier.start))),
            predicate: self.predicate(op, predicate),
            bytes: None,
            issuer: None,
        })
    }

    fn nvvm_tensor_store(&mut self, op: Op<'c>, meaning: &Meaning<'c>) -> Result<Bulk, Unknown<'c>> {
        let [tensor, src, indices, predicate] = segments(op, [0, 1, 2, 4])?;
        Self::tiled(op, &(0..0))?;
        Ok(Bulk {
            load: false,
            global: self.tile_at(op, tensor.start, indices),
            local: self.operand(op, src.start),
            completion: self.store_completion(op, meaning)?,
            predicate: self.predicate(op, predicate),
            bytes: None,
            issuer: None,
        })
    }

    /// Coordinates are signed numbers of 32 bits, the innermost one first.
    fn tile_at(&mut self, op: Op<'c>, tensor: usize, indices: Range<usize>) -> GlobalSide {
        GlobalSide::Tile {
            tensor: self.operand(op, tensor),
            indices: indices.rev().map(|i| self.extended(op, i)).collect(),
        }
    }

    /// Refuses what copies no box of a tensor.
    fn tiled(op: Op<'c>, offsets: &Range<usize>) -> Done<'c> {
        let mode = op.attr(attr::MODE).and_then(types::keyword).unwrap_or("tile");
        if mode == "tile" && offsets.is_empty() {
            return Ok(());
        }
        let message = format!("the interpreter knows no copies of mode {mode}: copy tiles");
        Err(Unknown::new(op, message))
    }

    pub(super) fn descriptor(&mut self, op: Op<'c>) -> Done<'c> {
        let shape = tensor_tile(op.result(0).ty()).ok_or_else(|| Unknown::operation(op))?;
        let describe = Describe {
            to: self.reg(op.result(0)),
            view: self.operand(op, 0),
            sizes: (1..op.num_operands()).map(|i| self.operand(op, i)).collect(),
            shape: Arc::new(shape),
        };
        self.emit(op, Instruction::Describe(Box::new(describe)));
        Ok(())
    }
}

/// The warp that `op` names.
fn issuer(op: Op<'_>) -> Option<u32> {
    op.int_attr(gpux_attr::ISSUER)
        .and_then(|warp| u32::try_from(warp).ok())
}

/// What the type of a descriptor says; `None` if it is none, or of elements that the interpreter does not have.
pub(super) fn tensor_tile(ty: Type<'_>) -> Option<Tile> {
    let map = tensor_map(ty)?;
    let shape = types::memref_shape(map.tile)?;
    let elem = element(shape.element)?;
    let sizes: Option<Vec<i64>> = shape.sizes.into_iter().collect();
    let nan = map.nan;
    let fill: &[u8] = match elem {
        Elem::F16 | Elem::BF16 if nan => &[0xFF, 0x7F],
        Elem::F32 if nan => &[0xFF, 0xFF, 0xFF, 0x7F],
        Elem::F64 if nan => &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
        _ => &[0],
    };
    Some(Tile {
        sizes: sizes?,
        elem,
        swizzle: map.swizzle.into(),
        fill: fill.into(),
    })
}

/// What an element of type `ty` is. Of floats of 8 bits that nothing computes with here, copies know that they are bits.
fn element(ty: Type<'_>) -> Option<Elem> {
    let bits = types::bit_width(ty).filter(|bits| matches!(bits, 8 | 16 | 32 | 64))?;
    super::number(ty).or_else(|| u8::try_from(bits).ok().map(Elem::Int))
}
