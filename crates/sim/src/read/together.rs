//! What the threads of a warp or a block do together.

use super::asynchronous::segments;
use super::vectors::combining;
use super::{Done, Reader, Unknown};
use crate::code::{
    Cluster, Elect, Id, Index, NamedBarrier, Op as Instruction, Reg, Shuffle, ShuffleMode, ShuffleSync,
    VectorOp, Vote, VoteKind, WarpReduce,
};
use crate::machine::WARP;
use crate::scalar::{IntPredicate, Math, Scalar};
use crate::value::{Elem, Value as Constant};
use async_mlir::ir::Op;
use async_mlir::names::{attr, gpu, nvvm};
use async_mlir::types;

impl<'c> Reader<'c> {
    /// Reads `op` if several threads do it together; returns false if not.
    pub(super) fn together(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            gpu::BARRIER | nvvm::BARRIER0 => self.emit(op, Instruction::Barrier),
            nvvm::BARRIER => self.barrier(op)?,
            nvvm::BARRIER_ARRIVE => {
                let count = op.num_operands() - 1;
                let barrier = NamedBarrier {
                    number: (count > 0).then(|| self.operand(op, 0)),
                    count: Some(self.operand(op, count)),
                    waits: false,
                };
                self.emit(op, Instruction::NamedBarrier(barrier));
            }
            nvvm::BAR_WARP_SYNC => {
                let mask = self.operand(op, 0);
                self.emit(op, Instruction::WarpBarrier { mask });
            }
            gpu::SHUFFLE => self.shuffle_lanes(op)?,
            nvvm::SHFL_SYNC => self.shuffle_sync(op)?,
            nvvm::VOTE_SYNC | nvvm::MATCH_SYNC => {
                let kind = match (op.name(), keyword(op, attr::KIND)) {
                    (nvvm::VOTE_SYNC, "any") => VoteKind::Any,
                    (nvvm::VOTE_SYNC, "all") => VoteKind::All,
                    (nvvm::VOTE_SYNC, "uni") => VoteKind::Uniform,
                    (nvvm::VOTE_SYNC, "ballot") => VoteKind::Ballot,
                    (nvvm::MATCH_SYNC, "any") => VoteKind::MatchAny,
                    (nvvm::MATCH_SYNC, "all") => VoteKind::MatchAll,
                    _ => return Err(Unknown::operation(op)),
                };
                let [mask, value] = [0, 1].map(|i| self.operand(op, i));
                self.vote(op, mask, value, kind);
            }
            nvvm::REDUX_SYNC => self.redux(op)?,
            gpu::SUBGROUP_REDUCE => self.warp_reduce(op)?,
            gpu::ALL_REDUCE => self.block_reduce(op)?,
            _ => return Ok(self.matrices(op)? || self.fragments(op)? || self.wmma(op)?),
        }
        Ok(true)
    }

    /// Without a number of threads, barrier 0 is that of `gpu.barrier`.
    fn barrier(&mut self, op: Op<'c>) -> Done<'c> {
        // The verifier lets that be of all threads only.
        if op.has_attr(attr::REDUCTION_OP) {
            return self.barrier_reduction(op);
        }
        let [number, count] = segments(op, [0, 1])?;
        let is_zero = |i: usize| op.operand(i).as_constant_int() == Some(0);
        if count.is_empty() && number.clone().all(is_zero) {
            self.emit(op, Instruction::Barrier);
            return Ok(());
        }
        let barrier = NamedBarrier {
            number: number.map(|i| self.operand(op, i)).next(),
            count: count.map(|i| self.operand(op, i)).next(),
            waits: true,
        };
        self.emit(op, Instruction::NamedBarrier(barrier));
        Ok(())
    }

    /// A barrier where all threads get whether the predicates of all, or of some, are true, or of how many (PTX ISA,
    /// `barrier.red`).
    fn barrier_reduction(&mut self, op: Op<'c>) -> Done<'c> {
        let i32 = Elem::Int(32);
        let (f, is_count) = match keyword(op, attr::REDUCTION_OP) {
            "popc" => (Scalar::Add, true),
            "and" => (Scalar::And, false),
            "or" => (Scalar::Or, false),
            _ => return Err(Unknown::operation(op)),
        };
        let predicate = self.operand(op, op.num_operands() - 1);
        let (zero, bit, vector) = (self.fresh(), self.fresh(), self.fresh());
        let value = Constant::int(0);
        self.emit(op, Instruction::Set { to: zero, value });
        let is_true = Scalar::CmpI(IntPredicate::Ne);
        self.scalar(op, is_true, i32, bit, &[predicate, zero]);
        self.emit(op, Instruction::Barrier);
        let to = if op.num_results() > 0 {
            self.reg(op.result(0))
        } else {
            self.fresh()
        };
        self.emit(
            op,
            Instruction::Gather {
                to: vector,
                value: bit,
            },
        );
        let elem = if is_count { i32 } else { Elem::Int(1) };
        self.in_one_thread(op, &mut |reader| {
            let reduce = VectorOp::Reduce {
                to,
                vector,
                start: None,
                mask: None,
                f,
                elem,
            };
            reader.emit(op, Instruction::Vector(reduce));
            Ok(())
        })?;
        self.emit(op, Instruction::Share { to, from: to });
        Ok(())
    }

    /// What the thread does that has what all threads bring.
    fn in_one_thread(&mut self, op: Op<'c>, body: &mut dyn FnMut(&mut Self) -> Done<'c>) -> Done<'c> {
        let elected = self.fresh();
        let of = Elect::Block;
        self.emit(op, Instruction::Elect { to: elected, of });
        let (computes, end) = (self.label(), self.label());
        self.emit(
            op,
            Instruction::Branch {
                condition: elected,
                then: computes,
                other: end,
            },
        );
        self.bind(computes);
        body(self)?;
        self.bind(end);
        Ok(())
    }

    fn shuffle_lanes(&mut self, op: Op<'c>) -> Done<'c> {
        let mode = match op.attr(attr::MODE).and_then(types::keyword) {
            Some("xor") => ShuffleMode::Xor,
            Some("up") => ShuffleMode::Up,
            Some("down") => ShuffleMode::Down,
            Some("idx") => ShuffleMode::Index,
            _ => return Err(Unknown::operation(op)),
        };
        let [value, offset, width] = [0, 1, 2].map(|i| self.operand(op, i));
        let shuffle = Shuffle {
            to: self.reg(op.result(0)),
            valid: self.reg(op.result(1)),
            value,
            offset,
            width,
            mode,
        };
        self.emit(op, Instruction::Shuffle(shuffle));
        Ok(())
    }

    fn shuffle_sync(&mut self, op: Op<'c>) -> Done<'c> {
        let mode = match op.attr(attr::KIND).and_then(types::keyword) {
            Some("bfly") => ShuffleMode::Xor,
            Some("up") => ShuffleMode::Up,
            Some("down") => ShuffleMode::Down,
            Some("idx") => ShuffleMode::Index,
            _ => return Err(Unknown::operation(op)),
        };
        let [mask, value, offset, clamp] = [0, 1, 2, 3].map(|i| self.operand(op, i));
        let shuffle = ShuffleSync {
            to: self.reg(op.result(0)),
            mask,
            value,
            offset,
            clamp,
            mode,
            valid: op.has_attr(attr::RETURN_VALUE_AND_IS_VALID),
        };
        self.emit(op, Instruction::ShuffleSync(shuffle));
        Ok(())
    }

    /// `op` makes a number of `value`, for the lanes in `mask`.
    fn vote(&mut self, op: Op<'c>, mask: Reg, value: Reg, kind: VoteKind) {
        let to = self.reg(op.result(0));
        let vote = Vote {
            to,
            mask,
            value,
            kind,
        };
        self.emit(op, Instruction::Vote(vote));
    }

    fn redux(&mut self, op: Op<'c>) -> Done<'c> {
        let flag = |name| op.bool_attr(name).unwrap_or(false);
        let f = match (keyword(op, attr::KIND), flag(attr::NAN)) {
            ("add", _) => Scalar::Add,
            ("and", _) => Scalar::And,
            ("max", _) => Scalar::MaxS,
            ("min", _) => Scalar::MinS,
            ("or", _) => Scalar::Or,
            ("umax", _) => Scalar::MaxU,
            ("umin", _) => Scalar::MinU,
            ("xor", _) => Scalar::Xor,
            ("fmin", true) => Scalar::MinF,
            ("fmin", false) => Scalar::MinNumF,
            ("fmax", true) => Scalar::MaxF,
            ("fmax", false) => Scalar::MaxNumF,
            _ => return Err(Unknown::operation(op)),
        };
        let elem = Self::elem(op, op.result(0).ty())?;
        let [mut value, mask] = [0, 1].map(|i| self.operand(op, i));
        if flag(attr::ABS) {
            let to = self.fresh();
            self.scalar(op, Scalar::Math(Math::Abs), elem, to, &[value]);
            value = to;
        }
        self.vote(op, mask, value, VoteKind::Reduce(f, elem));
        Ok(())
    }

    fn warp_reduce(&mut self, op: Op<'c>) -> Done<'c> {
        let number = |name| op.int_attr(name).and_then(|number| usize::try_from(number).ok());
        let cluster = Cluster {
            size: number(attr::CLUSTER_SIZE).unwrap_or(WARP).max(1),
            stride: number(attr::CLUSTER_STRIDE).unwrap_or(1).max(1),
        };
        let (f, elem) = Self::reduction_of(op)?;
        let reduce = WarpReduce {
            value: self.operand(op, 0),
            to: self.reg(op.result(0)),
            f,
            elem,
            cluster,
        };
        self.emit(op, Instruction::WarpReduce(reduce));
        Ok(())
    }

    /// How a reduction that says so by a keyword makes one number of two, and the type of the numbers.
    fn reduction_of(op: Op<'c>) -> Result<(Scalar, Elem), Unknown<'c>> {
        let elem = Self::elem(op, op.result(0).ty())?;
        let kind = op.attr(attr::OP).and_then(types::keyword).unwrap_or_default();
        let f = combining(kind, elem).ok_or_else(|| Unknown::operation(op))?;
        Ok((f, elem))
    }

    /// One thread computes what all get, of what all bring.
    fn block_reduce(&mut self, op: Op<'c>) -> Done<'c> {
        let vector = self.fresh();
        let (value, result) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(op, Instruction::Gather { to: vector, value });
        self.in_one_thread(op, &mut |reader| {
            if !op.has_attr(attr::OP) {
                return reader.fold(op, vector);
            }
            let (f, elem) = Self::reduction_of(op)?;
            let reduce = Instruction::Vector(VectorOp::Reduce {
                to: result,
                vector,
                start: None,
                mask: None,
                f,
                elem,
            });
            reader.emit(op, reduce);
            Ok(())
        })?;
        let (to, from) = (result, result);
        self.emit(op, Instruction::Share { to, from });
        Ok(())
    }

    /// Makes one number of all in `vector`, which has one for each thread of the block, by the region of `op`.
    fn fold(&mut self, op: Op<'c>, vector: Reg) -> Done<'c> {
        let Some(entry) = op.region(0).first().filter(|entry| entry.num_args() == 2) else {
            return Err(Unknown::operation(op));
        };
        let (sum, next) = (self.reg(entry.arg(0)), self.reg(entry.arg(1)));
        let (first, threads, i) = (self.fresh(), self.fresh(), self.fresh());
        let value = Constant::int(0);
        self.emit(op, Instruction::Set { to: first, value });
        let extract = |to, index| Instruction::Vector(VectorOp::Extract { to, vector, index });
        self.emit(op, extract(sum, first));
        let value = Constant::int(1);
        self.emit(op, Instruction::Set { to: threads, value });
        for dim in 0..3 {
            let (to, id) = (self.fresh(), Id::BlockDim);
            self.emit(op, Instruction::Id { to, id, dim });
            self.scalar(op, Scalar::Mul, Elem::INDEX, threads, &[threads, to]);
        }
        let numbers = [Index::Const(1), Index::Reg(threads), Index::Const(1)];
        self.nest(op, &[(i, numbers)], &mut |reader| {
            reader.emit(op, extract(next, i));
            reader.returning(op.region(0), &[entry.arg(0)])
        })?;
        self.moves(op, &[entry.arg(0)], &[op.result(0)]);
        Ok(())
    }
}

/// The keyword in an attribute; nothing if there is none.
fn keyword(op: Op<'_>, name: &str) -> &'static str {
    op.attr(name).and_then(types::keyword).unwrap_or_default()
}
