//! mbarriers, what orders accesses around them, and which thread issues for others.

use super::{Done, Reader, Unknown};
use crate::code::{Arrival, BufferDecl, Elect, Init, MBarrierOp, Op as Instruction, Phase, Reg, Slot};
use crate::value::{BufferId, Elem, View};
use async_dialects::names::{gpux, gpux_attr};
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
            // They move nothing, order nothing that is looked at here, or change only how long things take.
            nvgpu::TMA_PREFETCH_DESCRIPTOR
            | nvgpu::TMA_FENCE_DESCRIPTOR
            | nvvm::PREFETCH
            | nvvm::CP_ASYNC_BULK_PREFETCH
            | nvvm::CP_ASYNC_BULK_TENSOR_PREFETCH
            | nvvm::FENCE_PROXY_ACQUIRE
            | nvvm::FENCE_PROXY_RELEASE
            | nvvm::MEMORY_BARRIER
            | nvvm::GRIDDEPCONTROL
            | nvvm::NANOSLEEP
            | nvvm::PMEVENT
            | nvvm::SETMAXREGISTER => {}
            gpux::ELECT => {
                let warp = op
                    .int_attr(gpux_attr::WARP)
                    .and_then(|warp| u32::try_from(warp).ok());
                let (to, of) = (self.reg(op.result(0)), warp.map_or(Elect::Block, Elect::OfWarp));
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
        let (slot, does) = match op.name() {
            nvgpu::MBARRIER_CREATE => {
                self.create_mbarriers(op)?;
                return Ok(true);
            }
            nvgpu::MBARRIER_INIT => {
                let (count, predicate) = (self.operand(op, 1), self.optional(op, 3));
                (self.slot(op, 0, 2), MBarrierOp::Init { count, predicate })
            }
            nvgpu::MBARRIER_ARRIVE_EXPECT_TX => {
                let bytes = Some(self.operand(op, 1));
                let arrive = Arrival {
                    bytes,
                    predicate: self.optional(op, 3),
                    ..Arrival::default()
                };
                (self.slot(op, 0, 2), MBarrierOp::Arrive(arrive))
            }
            nvgpu::MBARRIER_ARRIVE => {
                let arrive = Arrival {
                    token: Some(self.reg(op.result(0))),
                    ..Arrival::default()
                };
                (self.slot(op, 0, 1), MBarrierOp::Arrive(arrive))
            }
            nvgpu::MBARRIER_ARRIVE_NOCOMPLETE => {
                let arrive = Arrival {
                    count: Some(self.operand(op, 2)),
                    leaves_open: true,
                    token: Some(self.reg(op.result(0))),
                    ..Arrival::default()
                };
                (self.slot(op, 0, 1), MBarrierOp::Arrive(arrive))
            }
            nvgpu::MBARRIER_TRY_WAIT_PARITY => {
                let parity = self.operand(op, 1);
                (self.slot(op, 0, 3), MBarrierOp::Wait { parity })
            }
            nvgpu::MBARRIER_TEST_WAIT => {
                let (token, to) = (self.operand(op, 1), self.reg(op.result(0)));
                let phase = Phase::Token(token);
                (self.slot(op, 0, 2), MBarrierOp::Test { phase, to })
            }
            nvgpu::MBARRIER_GET => {
                let to = self.reg(op.result(0));
                (self.slot(op, 0, 1), MBarrierOp::Get { to })
            }
            _ => return self.mbarrier_at(op),
        };
        self.emit(op, Instruction::MBarrier { slot, does });
        Ok(true)
    }

    /// Reads `op` if it has to do with an mbarrier at an address.
    fn mbarrier_at(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        let does = match op.name() {
            nvvm::MBARRIER_INIT => MBarrierOp::Init {
                count: self.operand(op, 1),
                predicate: self.optional(op, 2),
            },
            nvvm::MBARRIER_INVAL => MBarrierOp::Inval,
            nvvm::MBARRIER_EXPECT_TX => MBarrierOp::ExpectTx {
                bytes: self.operand(op, 1),
            },
            nvvm::MBARRIER_ARRIVE
            | nvvm::MBARRIER_ARRIVE_DROP
            | nvvm::MBARRIER_ARRIVE_NOCOMPLETE
            | nvvm::MBARRIER_ARRIVE_DROP_NOCOMPLETE
            | nvvm::MBARRIER_ARRIVE_EXPECT_TX
            | nvvm::MBARRIER_ARRIVE_DROP_EXPECT_TX => MBarrierOp::Arrive(self.arrival(op)),
            nvvm::CP_ASYNC_MBARRIER_ARRIVE => MBarrierOp::ArriveAfterCopies {
                counted: op.bool_attr(attr::NOINC).unwrap_or(false),
            },
            nvvm::MBARRIER_TRY_WAIT_PARITY => MBarrierOp::Wait {
                parity: self.operand(op, 1),
            },
            nvvm::MBARRIER_TEST_WAIT | nvvm::MBARRIER_TRY_WAIT => {
                let phase = self.operand(op, 1);
                // A state is of 64 bits, a parity is of 32.
                let phase = match super::number(op.operand(1).ty()) {
                    Some(Elem::Int(64)) => Phase::Token(phase),
                    _ => Phase::Parity(phase),
                };
                let to = self.reg(op.result(0));
                MBarrierOp::Test { phase, to }
            }
            _ => return Ok(false),
        };
        if op.bool_attr(attr::RELAXED) == Some(true) {
            let message = "the interpreter knows no relaxed operations of mbarriers: leave out the attribute";
            return Err(Unknown::new(op, message));
        }
        let slot = Slot::At(self.operand(op, 0));
        self.emit(op, Instruction::MBarrier { slot, does });
        Ok(true)
    }

    /// How `op` arrives on an mbarrier at an address.
    fn arrival(&mut self, op: Op<'c>) -> Arrival {
        let name = op.name();
        let expects = [
            nvvm::MBARRIER_ARRIVE_EXPECT_TX,
            nvvm::MBARRIER_ARRIVE_DROP_EXPECT_TX,
        ]
        .contains(&name);
        let number = self.optional(op, 1);
        Arrival {
            count: number.filter(|_| !expects),
            bytes: number.filter(|_| expects),
            token: (op.num_results() > 0).then(|| self.reg(op.result(0))),
            predicate: self.optional(op, 2),
            drops: [
                nvvm::MBARRIER_ARRIVE_DROP,
                nvvm::MBARRIER_ARRIVE_DROP_EXPECT_TX,
                nvvm::MBARRIER_ARRIVE_DROP_NOCOMPLETE,
            ]
            .contains(&name),
            leaves_open: [
                nvvm::MBARRIER_ARRIVE_NOCOMPLETE,
                nvvm::MBARRIER_ARRIVE_DROP_NOCOMPLETE,
            ]
            .contains(&name),
        }
    }

    /// Operand `i`, if there is one.
    fn optional(&mut self, op: Op<'c>, i: usize) -> Option<Reg> {
        (op.num_operands() > i).then(|| self.operand(op, i))
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
