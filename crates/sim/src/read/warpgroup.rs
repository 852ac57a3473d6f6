//! Matrix multiplication of warpgroups: `nvvm.wgmma.*`. What the lowering writes as inline PTX is in `warpgroup_assembly.rs`.
//!
//! **Refusals.** Matrices of bits. What else the PTX ISA has no instruction for, MLIR's verifier refuses.

use super::aggregates::numbers_in;
use super::matrices::Multiplicand;
use super::{Done, Reader, Unknown};
use crate::code::{Factor, Left, Op as Instruction, Queue, Warpgroup, Wgmma};
use crate::value::Elem;
use crate::wgmma::Major;
use async_mlir::ir::Op;
use async_mlir::llvm::{Aggregate, aggregate};
use async_mlir::names::{attr, llvm, nvvm};
use async_mlir::nvvm::mma_shape;
use async_mlir::types;

/// What the queue of multiplications is called.
pub(super) const QUEUE: &str = "wgmma";

impl<'c> Reader<'c> {
    /// Reads `op` if it belongs to these multiplications; returns false if not. Commits and waits are read by what they do
    /// to their queue.
    pub(super) fn warpgroups(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            nvvm::WGMMA_FENCE_ALIGNED => self.fence_accumulators(op),
            nvvm::WGMMA_MMA_ASYNC => self.mma_async(op)?,
            llvm::INLINE_ASM => return self.warpgroup_assembly(op),
            _ => return self.warpgroup_tiles(op),
        }
        Ok(true)
    }

    /// The queue of multiplications.
    pub(super) fn wgmma_queue(&mut self) -> Queue {
        let queues = &mut self.code.queues;
        let number = queues
            .iter()
            .position(|name| &**name == QUEUE)
            .unwrap_or_else(|| {
                queues.push(QUEUE.into());
                self.queues.push(None);
                queues.len() - 1
            });
        Queue(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// All threads of a warpgroup come to what is done with a queue of multiplications.
    pub(super) fn meet_for(&mut self, op: Op<'c>, queue: Queue) {
        if &*self.code.queues[queue.0 as usize] == QUEUE {
            self.emit(op, Instruction::Warpgroup(Warpgroup::Meet));
        }
    }

    pub(super) fn fence_accumulators(&mut self, op: Op<'c>) {
        self.emit(op, Instruction::Warpgroup(Warpgroup::Meet));
        self.emit(op, Instruction::Warpgroup(Warpgroup::Fence));
    }

    fn mma_async(&mut self, op: Op<'c>) -> Done<'c> {
        let keyword = |name| op.attr(name).and_then(types::keyword).unwrap_or_default();
        let shape = op.attr(attr::SHAPE).and_then(mma_shape).unwrap_or_default();
        let n = usize::try_from(shape[1]).unwrap_or(0);
        let output = match keyword(attr::TYPE_D) {
            "f16" => Elem::F16,
            "f32" => Elem::F32,
            "s32" => Elem::Int(32),
            _ => return Err(Unknown::operation(op)),
        };
        let held = Self::registers_of(op, n / 2 * output.bytes())?;
        // A is K-major by rows, and B by columns.
        let a = self.factor(op, 1, [attr::TYPE_A, attr::SCALE_A, attr::LAYOUT_A], "row")?;
        let b = self.factor(op, 2, [attr::TYPE_B, attr::SCALE_B, attr::LAYOUT_B], "col")?;
        let wgmma = Wgmma {
            to: self.reg(op.result(0)),
            accumulator: self.operand(op, 0),
            a: Left::Memory(a),
            b,
            n,
            output,
            held,
            zero: keyword(attr::SCALE_D) == "zero",
            saturates: keyword(attr::SATFINITE) == "satfinite",
            queue: self.wgmma_queue(),
            token: None,
        };
        self.emit_wgmma(op, wgmma);
        Ok(())
    }

    pub(super) fn emit_wgmma(&mut self, op: Op<'c>, wgmma: Wgmma) {
        let multiply = Warpgroup::Multiply(Box::new(wgmma));
        self.emit(op, Instruction::Warpgroup(multiply));
    }

    /// The type of the numbers in the registers of an accumulator, which have so many bytes in all.
    pub(super) fn registers_of(op: Op<'c>, bytes: usize) -> Result<Elem, Unknown<'c>> {
        let ty = op.result(0).ty();
        let unknown = || {
            let message =
                format!("an accumulator of this shape takes {bytes} bytes of registers, and {ty} are others");
            Unknown::new(op, message)
        };
        let Some(Aggregate::Struct(members)) = aggregate(ty) else {
            return Err(unknown());
        };
        let (Some(&first), Some(count)) = (members.first(), numbers_in(ty)) else {
            return Err(unknown());
        };
        let held = Self::elem(op, first)?;
        let same = members.iter().all(|member| *member == first);
        if !same || count as usize * held.bytes() != bytes {
            return Err(unknown());
        }
        Ok(held)
    }

    /// A or B; `k_major` is the layout in which K is contiguous.
    fn factor(
        &mut self,
        op: Op<'c>,
        operand: usize,
        [ty, scale, layout]: [&str; 3],
        k_major: &str,
    ) -> Result<Factor, Unknown<'c>> {
        let keyword = |name| op.attr(name).and_then(types::keyword).unwrap_or_default();
        let ptx = keyword(ty);
        let unknown = || Unknown::new(op, format!("the interpreter has no matrices of {ptx}"));
        let Multiplicand { elem, unsigned } = Multiplicand::named(ptx).ok_or_else(unknown)?;
        let major = if keyword(layout) == k_major {
            Major::K
        } else {
            Major::MN
        };
        Ok(Factor {
            descriptor: self.operand(op, operand),
            major,
            elem,
            unsigned,
            negative: keyword(scale) == "neg",
        })
    }
}
