//! What the threads of a warp or a block do together.

use super::vectors::combining;
use super::{Done, Reader, Unknown, ints};
use crate::code::{Op as Instruction, Shuffle};
use crate::value::Elem;
use async_mlir::ir::Op;
use async_mlir::names::{attr, gpu, nvgpu, nvvm};
use async_mlir::types;

impl<'c> Reader<'c> {
    /// Reads `op` if several threads do it together; returns false if not.
    pub(super) fn together(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            gpu::BARRIER | nvvm::BARRIER0 => self.emit(op, Instruction::Barrier),
            nvvm::BARRIER if op.num_operands() == 0 => self.emit(op, Instruction::Barrier),
            nvvm::BAR_WARP_SYNC => {
                let mask = self.operand(op, 0);
                self.emit(op, Instruction::WarpBarrier { mask });
            }
            gpu::SHUFFLE => self.shuffle_lanes(op)?,
            gpu::SUBGROUP_REDUCE => self.warp_reduce(op)?,
            nvgpu::LDMATRIX => self.ldmatrix(op)?,
            nvgpu::MMA_SYNC => self.mma(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn shuffle_lanes(&mut self, op: Op<'c>) -> Done<'c> {
        let mode = match op.attr(attr::MODE).and_then(types::keyword) {
            Some("xor") => Shuffle::Xor,
            Some("up") => Shuffle::Up,
            Some("down") => Shuffle::Down,
            Some("idx") => Shuffle::Index,
            _ => return Err(Unknown::operation(op)),
        };
        let [value, offset, width] = [0, 1, 2].map(|i| self.operand(op, i));
        let (to, valid) = (self.reg(op.result(0)), self.reg(op.result(1)));
        self.emit(
            op,
            Instruction::Shuffle {
                to,
                valid,
                value,
                offset,
                width,
                mode,
            },
        );
        Ok(())
    }

    fn warp_reduce(&mut self, op: Op<'c>) -> Done<'c> {
        if op.has_attr(attr::CLUSTER_SIZE) {
            return Err(Unknown::new(op, "the interpreter reduces over whole warps only"));
        }
        let elem = Self::elem(op, op.result(0).ty())?;
        let kind = op.attr(attr::OP).and_then(types::keyword).unwrap_or_default();
        let f = combining(kind, elem).ok_or_else(|| Unknown::operation(op))?;
        let (value, to) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(op, Instruction::WarpReduce { to, value, f, elem });
        Ok(())
    }

    fn ldmatrix(&mut self, op: Op<'c>) -> Done<'c> {
        let tiles = op
            .int_attr(attr::NUM_TILES)
            .and_then(|tiles| u32::try_from(tiles).ok());
        let elem = Self::elem(op, op.result(0).ty())?;
        let Some(tiles @ (1 | 2 | 4)) = tiles else {
            return Err(Unknown::operation(op));
        };
        let from = self.access(op, 0, 1);
        let to = self.reg(op.result(0));
        let transpose = op.bool_attr(attr::TRANSPOSE).unwrap_or(false);
        if elem.bytes() > 4 || (transpose && elem.bytes() != 2) {
            return Err(Unknown::new(op, "no ldmatrix has numbers of this size"));
        }
        self.emit(
            op,
            Instruction::LdMatrix {
                to,
                from,
                tiles,
                transpose,
                elem,
            },
        );
        Ok(())
    }

    fn mma(&mut self, op: Op<'c>) -> Done<'c> {
        let (input, output) = (
            Self::elem(op, op.operand(0).ty())?,
            Self::elem(op, op.result(0).ty())?,
        );
        let shape = ints(op, attr::MMA_SHAPE).unwrap_or_default();
        let shape: Vec<u32> = shape.iter().filter_map(|&n| u32::try_from(n).ok()).collect();
        let known = matches!(
            (input, shape.as_slice()),
            (Elem::F16 | Elem::BF16, [16, 8, 8 | 16])
                | (Elem::F32, [16, 8, 4 | 8])
                | (Elem::F64, [8, 8, 4])
                | (Elem::Int(8), [16, 8, 16 | 32])
        );
        let fits = output.is_float() == input.is_float();
        let (Ok(shape), true, true) = (<[u32; 3]>::try_from(shape), known, fits) else {
            return Err(Unknown::new(op, "an mma.sync of this shape and type"));
        };
        let [a, b, c] = [0, 1, 2].map(|i| self.operand(op, i));
        let to = self.reg(op.result(0));
        self.emit(
            op,
            Instruction::Mma {
                to,
                a,
                b,
                c,
                shape,
                input,
                output,
            },
        );
        Ok(())
    }
}
