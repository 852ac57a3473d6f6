//! Bulk copies in all their forms, descriptors, and mbarriers.

use super::asynchronous::segments;
use super::{Done, Reader, Unknown};
use crate::code::{
    BufferDecl, Bulk, Completion, Describe, Elect, GlobalSide, Init, MBarrierOp, Op as Instruction, Reg, Slot,
};
use crate::value::{BufferId, Elem, Tile, View};
use async_dialects::ir::Op;
use async_dialects::melior::ir::Type;
use async_dialects::names::{attr, gpux, nvgpu, nvvm};
use async_dialects::nvgpu::{mbarriers, tensor_map};
use async_dialects::nvvm::fences_workgroup;
use async_dialects::types::{self, Float};
use std::rc::Rc;

/// The bytes of an mbarrier.
const MBARRIER_BYTES: usize = 8;

impl<'c> Reader<'c> {
    /// Reads `op` if it is a bulk copy, or has to do with mbarriers; returns false if not.
    pub(super) fn bulk(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            gpux::TMA_LOAD => self.tma_load(op)?,
            gpux::TMA_STORE => self.tma_store(op)?,
            gpux::BULK_LOAD => self.bulk_load(op)?,
            gpux::BULK_STORE => self.bulk_store(op),
            nvgpu::TMA_ASYNC_LOAD => self.nvgpu_load(op)?,
            nvgpu::TMA_ASYNC_STORE => self.nvgpu_store(op)?,
            nvvm::CP_ASYNC_BULK_SHARED_CLUSTER_GLOBAL => self.nvvm_load(op)?,
            nvgpu::TMA_CREATE_DESCRIPTOR => self.descriptor(op)?,
            // They move nothing.
            nvgpu::TMA_PREFETCH_DESCRIPTOR | nvgpu::TMA_FENCE_DESCRIPTOR => {}
            gpux::ELECT => {
                let (to, of) = (self.reg(op.result(0)), Elect::Block);
                self.emit(op, Instruction::Elect { to, of });
            }
            nvvm::ELECT_SYNC => {
                let mask = (op.num_operands() > 0).then(|| self.operand(op, 0));
                let (to, of) = (self.reg(op.result(0)), Elect::Warp(mask));
                self.emit(op, Instruction::Elect { to, of });
            }
            nvvm::FENCE_MBARRIER_INIT => self.emit(op, Instruction::FenceInit),
            nvvm::FENCE_PROXY => self.fence(op),
            _ => return self.mbarrier(op),
        }
        Ok(true)
    }

    /// Fences for global memory, and those of other proxies, order nothing that is looked at here.
    fn fence(&mut self, op: Op<'c>) {
        if op.attr(attr::KIND).is_some_and(fences_workgroup) {
            self.emit(op, Instruction::FenceProxy);
        }
    }

    fn emit_bulk(&mut self, op: Op<'c>, bulk: Bulk) {
        self.emit(op, Instruction::Bulk(Box::new(bulk)));
    }

    /// Awaits the dependencies of a block-wide operation.
    fn dependencies(&mut self, op: Op<'c>, operands: std::ops::Range<usize>) {
        if !operands.is_empty() {
            let tokens = operands.map(|i| self.operand(op, i)).collect();
            self.emit(op, Instruction::Await(tokens));
        }
    }

    /// How a load is complete: by its token, or by the mbarrier that these operands name.
    fn load_completion(&mut self, op: Op<'c>, group: usize, index: usize) -> Completion {
        if op.num_results() > 0 {
            return Completion::Token(self.reg(op.result(0)));
        }
        Completion::MBarrier(self.slot(op, group, index))
    }

    fn store_completion(&mut self, op: Op<'c>) -> Completion {
        if op.num_results() < 2 {
            return Completion::Group;
        }
        Completion::Tokens {
            read: self.reg(op.result(0)),
            done: self.reg(op.result(1)),
        }
    }

    fn slot(&mut self, op: Op<'c>, group: usize, index: usize) -> Slot {
        Slot::Of {
            group: self.operand(op, group),
            index: self.operand(op, index),
        }
    }

    fn tile(&mut self, op: Op<'c>, tensor: usize, indices: impl Iterator<Item = usize>) -> GlobalSide {
        GlobalSide::Tile {
            tensor: self.operand(op, tensor),
            indices: indices.map(|i| self.operand(op, i)).collect(),
        }
    }

    fn tma_load(&mut self, op: Op<'c>) -> Done<'c> {
        let [deps, tensor, indices, dst, barriers, slot] = segments(op, [0, 1, 2, 3, 4, 5])?;
        self.dependencies(op, deps);
        let bulk = Bulk {
            load: true,
            global: self.tile(op, tensor.start, indices),
            local: self.operand(op, dst.start),
            completion: self.load_completion(op, barriers.start, slot.start),
            predicate: None,
            bytes: None,
        };
        self.emit_bulk(op, bulk);
        Ok(())
    }

    fn bulk_load(&mut self, op: Op<'c>) -> Done<'c> {
        let [deps, src, dst, barriers, slot] = segments(op, [0, 1, 2, 3, 4])?;
        self.dependencies(op, deps);
        let bulk = Bulk {
            load: true,
            global: GlobalSide::Line(self.operand(op, src.start)),
            local: self.operand(op, dst.start),
            completion: self.load_completion(op, barriers.start, slot.start),
            predicate: None,
            bytes: None,
        };
        self.emit_bulk(op, bulk);
        Ok(())
    }

    fn tma_store(&mut self, op: Op<'c>) -> Done<'c> {
        let [deps, src, tensor, indices] = segments(op, [0, 1, 2, 3])?;
        self.dependencies(op, deps);
        let bulk = Bulk {
            load: false,
            global: self.tile(op, tensor.start, indices),
            local: self.operand(op, src.start),
            completion: self.store_completion(op),
            predicate: None,
            bytes: None,
        };
        self.emit_bulk(op, bulk);
        Ok(())
    }

    /// Its dependencies come first, and are the only ones whose number is not known.
    fn bulk_store(&mut self, op: Op<'c>) {
        let src = op.num_operands() - 2;
        self.dependencies(op, 0..src);
        let bulk = Bulk {
            load: false,
            global: GlobalSide::Line(self.operand(op, src + 1)),
            local: self.operand(op, src),
            completion: self.store_completion(op),
            predicate: None,
            bytes: None,
        };
        self.emit_bulk(op, bulk);
    }

    /// Coordinates come innermost first here.
    fn nvgpu_load(&mut self, op: Op<'c>) -> Done<'c> {
        let [dst, barriers, tensor, indices, slot, multicast, predicate] =
            segments(op, [0, 1, 2, 3, 4, 5, 6])?;
        if !multicast.is_empty() {
            return Err(Unknown::new(op, "the interpreter does not know clusters"));
        }
        let bulk = Bulk {
            load: true,
            global: self.tile(op, tensor.start, indices.rev()),
            local: self.operand(op, dst.start),
            completion: Completion::MBarrier(self.slot(op, barriers.start, slot.start)),
            predicate: predicate.clone().next().map(|i| self.operand(op, i)),
            bytes: None,
        };
        self.emit_bulk(op, bulk);
        Ok(())
    }

    fn nvgpu_store(&mut self, op: Op<'c>) -> Done<'c> {
        let [src, tensor, indices, predicate] = segments(op, [0, 1, 2, 3])?;
        let bulk = Bulk {
            load: false,
            global: self.tile(op, tensor.start, indices.rev()),
            local: self.operand(op, src.start),
            completion: Completion::Group,
            predicate: predicate.clone().next().map(|i| self.operand(op, i)),
            bytes: None,
        };
        self.emit_bulk(op, bulk);
        Ok(())
    }

    /// From a pointer to another one.
    fn nvvm_load(&mut self, op: Op<'c>) -> Done<'c> {
        // What it says of caches, which comes last, moves nothing.
        let [dst, src, barrier, bytes, multicast] = segments(op, [0, 1, 2, 3, 4])?;
        if !multicast.is_empty() {
            return Err(Unknown::new(op, "the interpreter does not know clusters"));
        }
        let bulk = Bulk {
            load: true,
            global: GlobalSide::Line(self.operand(op, src.start)),
            local: self.operand(op, dst.start),
            completion: Completion::MBarrier(Slot::At(self.operand(op, barrier.start))),
            predicate: None,
            bytes: Some(self.operand(op, bytes.start)),
        };
        self.emit_bulk(op, bulk);
        Ok(())
    }

    fn descriptor(&mut self, op: Op<'c>) -> Done<'c> {
        let shape = tensor_tile(op.result(0).ty()).ok_or_else(|| Unknown::operation(op))?;
        let describe = Describe {
            to: self.reg(op.result(0)),
            view: self.operand(op, 0),
            sizes: (1..op.num_operands()).map(|i| self.operand(op, i)).collect(),
            shape: Rc::new(shape),
        };
        self.emit(op, Instruction::Describe(Box::new(describe)));
        Ok(())
    }

    /// Reads `op` if it has to do with an mbarrier.
    fn mbarrier(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        let optional = |reader: &mut Self, i: usize| (op.num_operands() > i).then(|| reader.operand(op, i));
        let (slot, does) = match op.name() {
            nvgpu::MBARRIER_CREATE => {
                self.create_mbarriers(op)?;
                return Ok(true);
            }
            nvgpu::MBARRIER_INIT => {
                let (count, predicate) = (self.operand(op, 1), optional(self, 3));
                (self.slot(op, 0, 2), MBarrierOp::Init { count, predicate })
            }
            nvgpu::MBARRIER_ARRIVE_EXPECT_TX => {
                let bytes = Some(self.operand(op, 1));
                let arrive = MBarrierOp::Arrive {
                    bytes,
                    token: None,
                    predicate: optional(self, 3),
                };
                (self.slot(op, 0, 2), arrive)
            }
            nvgpu::MBARRIER_ARRIVE => {
                let arrive = MBarrierOp::Arrive {
                    bytes: None,
                    token: Some(self.reg(op.result(0))),
                    predicate: None,
                };
                (self.slot(op, 0, 1), arrive)
            }
            nvgpu::MBARRIER_TRY_WAIT_PARITY => {
                let parity = self.operand(op, 1);
                (self.slot(op, 0, 3), MBarrierOp::Wait { parity })
            }
            nvgpu::MBARRIER_TEST_WAIT => {
                let (token, to) = (self.operand(op, 1), self.reg(op.result(0)));
                (self.slot(op, 0, 2), MBarrierOp::Test { token, to })
            }
            nvgpu::MBARRIER_GET => {
                let to = self.reg(op.result(0));
                (self.slot(op, 0, 1), MBarrierOp::Get { to })
            }
            nvvm::MBARRIER_EXPECT_TX => {
                let bytes = self.operand(op, 1);
                (Slot::At(self.operand(op, 0)), MBarrierOp::ExpectTx { bytes })
            }
            nvvm::MBARRIER_INVAL => (Slot::At(self.operand(op, 0)), MBarrierOp::Inval),
            _ => return Ok(false),
        };
        self.emit(op, Instruction::MBarrier { slot, does });
        Ok(true)
    }

    /// A group of mbarriers is a buffer of the block.
    fn create_mbarriers(&mut self, op: Op<'c>) -> Done<'c> {
        let count = mbarriers(op.result(0).ty()).ok_or_else(|| Unknown::operation(op))?;
        let to: Reg = self.reg(op.result(0));
        let name = format!("the mbarriers of {}", self.place(op).location);
        let view = View {
            buffer: BufferId(0),
            base: 0,
            offset: 0,
            sizes: vec![count.into()],
            strides: vec![1],
            elem: Elem::Int(64),
            lanes: 1,
        };
        self.code.workgroup.push(BufferDecl {
            to,
            name,
            view,
            align: 16,
            init: Init::Garbage(MBARRIER_BYTES * count as usize),
        });
        Ok(())
    }
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

/// What an element of type `ty` is. Floats of 8 bits are bits, which only copies know here.
fn element(ty: Type<'_>) -> Option<Elem> {
    match (types::float(ty), types::bit_width(ty)?) {
        (Some(Float::F16), _) => Some(Elem::F16),
        (Some(Float::BF16), _) => Some(Elem::BF16),
        (Some(Float::F32), _) => Some(Elem::F32),
        (Some(Float::F64), _) => Some(Elem::F64),
        (None, bits @ (8 | 16 | 32 | 64)) => u8::try_from(bits).ok().map(Elem::Int),
        _ => None,
    }
}
