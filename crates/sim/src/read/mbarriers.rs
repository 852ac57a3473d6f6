//! mbarriers, what orders accesses around them, and which thread issues for others.

use super::{Done, Reader, Unknown};
use crate::code::{BufferDecl, Elect, Init, MBarrierOp, Op as Instruction, Reg, Slot};
use crate::value::{BufferId, Elem, View};
use async_dialects::names::gpux;
use async_mlir::ir::Op;
use async_mlir::names::{attr, nvgpu, nvvm};
use async_mlir::nvgpu::mbarriers;
use async_mlir::nvvm::is_async_shared_proxy;

/// The bytes of an mbarrier.
const MBARRIER_BYTES: usize = 8;

impl<'c> Reader<'c> {
    /// Reads `op` if it goes with bulk copies and mbarriers, and is none of the former; returns false if not.
    pub(super) fn mbarriers(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
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
        if op.attr(attr::KIND).is_some_and(is_async_shared_proxy) {
            self.emit(op, Instruction::FenceProxy);
        }
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
        let name = self.value_names.at(op.location());
        let name = name.unwrap_or_else(|| format!("the mbarriers of {}", self.place(op).location));
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
            init: Init::Unwritten(MBARRIER_BYTES * count as usize),
        });
        Ok(())
    }
}
