//! Asynchronous operations in all their forms, and operations that threads do together.

use super::vectors::combining;
use super::{Done, Reader, Unknown, ints};
use crate::code::{Access, Copy, Index, Op as Instruction, Queue, Reg, Shuffle, Target};
use crate::value::{Elem, Value as Constant};
use async_dialects::ir::{Op, Region, Value};
use async_dialects::names::{async_, attr, gpu, gpux, nvgpu, nvvm};
use async_dialects::types;
use std::ops::Range;

impl<'c> Reader<'c> {
    /// Reads `op` if it is asynchronous, or done by several threads together; returns false if it is neither.
    pub(super) fn asynchronous(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            gpux::COPY => self.copy(op)?,
            nvgpu::DEVICE_ASYNC_COPY => self.nvgpu_copy(op)?,
            nvvm::CP_ASYNC_SHARED_GLOBAL => self.nvvm_copy(op)?,
            nvvm::CP_ASYNC_BULK_GLOBAL_SHARED_CTA => self.nvvm_bulk_store(op)?,
            gpux::COMMIT_GROUP => {
                let queue = queue(op)?;
                self.commit(op, queue);
            }
            nvgpu::DEVICE_ASYNC_CREATE_GROUP | nvvm::CP_ASYNC_COMMIT_GROUP => {
                self.commit(op, Queue::CpAsync);
            }
            nvvm::CP_ASYNC_BULK_COMMIT_GROUP => self.commit(op, Queue::Bulk),
            gpux::WAIT_GROUP => {
                let queue = queue(op)?;
                self.wait(op, queue, "pending")?;
            }
            nvgpu::DEVICE_ASYNC_WAIT => self.wait(op, Queue::CpAsync, "numGroups")?,
            nvvm::CP_ASYNC_WAIT_GROUP => self.wait(op, Queue::CpAsync, "n")?,
            nvvm::CP_ASYNC_BULK_WAIT_GROUP => self.wait(op, Queue::Bulk, "group")?,
            async_::AWAIT => {
                let tokens = self.operands(op);
                self.emit(op, Instruction::Await(tokens));
            }
            async_::READY => self.set(op, op.result(0), Constant::Token([].into())),
            async_::JOIN => {
                let (from, to) = (self.operands(op), self.reg(op.result(0)));
                self.emit(op, Instruction::Join { to, from });
            }
            async_::REGION => self.async_region(op)?,
            async_::CALL => self.async_call(op)?,
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
            _ => return self.bulk(op),
        }
        Ok(true)
    }

    fn access_at(&mut self, op: Op<'c>, view: usize, indices: Range<usize>) -> Access {
        Access {
            view: self.operand(op, view),
            indices: indices.map(|i| self.operand(op, i)).collect(),
        }
    }

    /// The bytes of `count` elements of operand `view`.
    fn bytes(op: Op<'c>, view: usize, count: i64) -> Result<(u32, u32), Unknown<'c>> {
        let shape = types::memref_shape(op.operand(view).ty()).ok_or_else(|| Unknown::operation(op))?;
        let (elem, lanes) = Self::element(op, shape.element)?;
        let unit = u32::try_from(elem.bytes()).unwrap_or(0) * lanes;
        Ok((unit, unit * u32::try_from(count).unwrap_or(0)))
    }

    fn copy(&mut self, op: Op<'c>) -> Done<'c> {
        let [deps, source, destination, count] = segments(op, [0, 1, 3, 5])?;
        let (source_indices, destination_indices) =
            (source.end..destination.start, destination.end..count.start);
        if !deps.is_empty() {
            let tokens = deps.map(|i| self.operand(op, i)).collect();
            self.emit(op, Instruction::Await(tokens));
        }
        let (unit, bytes) = Self::bytes(op, source.start, op.int_attr(attr::ELEMENTS).unwrap_or(0))?;
        let from = Target::Element(self.access_at(op, source.start, source_indices));
        let to = Target::Element(self.access_at(op, destination.start, destination_indices));
        let read = count.clone().next().map(|i| self.operand(op, i));
        let token = (op.num_results() > 0).then(|| self.reg(op.result(0)));
        self.issue(op, (from, to), (bytes, unit), read, token);
        Ok(())
    }

    fn nvgpu_copy(&mut self, op: Op<'c>) -> Done<'c> {
        let [destination, source, count] = segments(op, [0, 2, 4])?;
        let (destination_indices, source_indices) = (destination.end..source.start, source.end..count.start);
        let elements = op.int_attr(attr::NVGPU_ELEMENTS).unwrap_or(0);
        let (unit, bytes) = Self::bytes(op, destination.start, elements)?;
        let from = Target::Element(self.access_at(op, source.start, source_indices));
        let to = Target::Element(self.access_at(op, destination.start, destination_indices));
        let read = count.clone().next().map(|i| self.operand(op, i));
        let token = Some(self.reg(op.result(0)));
        self.issue(op, (from, to), (bytes, unit), read, token);
        Ok(())
    }

    fn nvvm_copy(&mut self, op: Op<'c>) -> Done<'c> {
        let to = Target::Pointer(self.operand(op, 0));
        let from = Target::Pointer(self.operand(op, 1));
        let bytes = op.int_attr(attr::SIZE).and_then(|size| u32::try_from(size).ok());
        let bytes = bytes.ok_or_else(|| Unknown::operation(op))?;
        let read = (op.num_operands() > 2).then(|| self.operand(op, 2));
        self.issue(op, (from, to), (bytes, 1), read, None);
        Ok(())
    }

    /// One thread stores as many bytes as an operand says, a multiple of 16 (PTX ISA, `cp.async.bulk`).
    fn nvvm_bulk_store(&mut self, op: Op<'c>) -> Done<'c> {
        let sizes = ints(op, attr::OPERAND_SEGMENT_SIZES).unwrap_or_default();
        if sizes.last() != Some(&0) {
            return Err(Unknown::new(op, "the interpreter does not know byte masks"));
        }
        let [to, from] = [0, 1].map(|i| Target::Pointer(self.operand(op, i)));
        let bytes = Index::Reg(self.operand(op, 2));
        self.emit(
            op,
            Instruction::Copy(Copy {
                from,
                to,
                bytes,
                align: 16,
                read: None,
                unit: 1,
                token: None,
                queue: Queue::Bulk,
            }),
        );
        Ok(())
    }

    fn issue(
        &mut self,
        op: Op<'c>,
        (from, to): (Target, Target),
        (bytes, unit): (u32, u32),
        read: Option<Reg>,
        token: Option<Reg>,
    ) {
        self.emit(
            op,
            Instruction::Copy(Copy {
                from,
                to,
                bytes: Index::Const(i64::from(bytes)),
                align: bytes,
                read,
                unit,
                token,
                queue: Queue::CpAsync,
            }),
        );
    }

    fn commit(&mut self, op: Op<'c>, queue: Queue) {
        let token = (op.num_results() > 0).then(|| self.reg(op.result(0)));
        self.emit(op, Instruction::Commit { queue, token });
    }

    /// A wait without a number is one for everything.
    fn wait(&mut self, op: Op<'c>, queue: Queue, name: &str) -> Done<'c> {
        let n = op.int_attr(name).unwrap_or(0);
        let n = u32::try_from(n).map_err(|_| Unknown::new(op, format!("a wait for {n} groups")))?;
        let read = op.attr(attr::READ).is_some();
        self.emit(op, Instruction::Wait { queue, n, read });
        Ok(())
    }

    /// In device code a region is issued where it stands, and its token is that of what it yields.
    fn async_region(&mut self, op: Op<'c>) -> Done<'c> {
        let dependencies = self.operands(op);
        if !dependencies.is_empty() {
            self.emit(op, Instruction::Await(dependencies));
        }
        let results: Vec<Value> = op.results().collect();
        self.task(op, op.region(0), results[0], &results[1..])
    }

    /// The function's token comes last.
    fn async_call(&mut self, op: Op<'c>) -> Done<'c> {
        let callee = self.callee(op, async_::FUNC)?;
        let results: Vec<Value> = op.results().collect();
        let Some((&token, values)) = results.split_last() else {
            return Err(Unknown::operation(op));
        };
        self.inside(op, callee, &mut |reader| {
            reader.task(op, callee.region(0), token, values)
        })
    }

    /// Runs a region; `token` is complete when what it yields is, and its `values` are to be used no earlier.
    fn task(&mut self, op: Op<'c>, body: Region<'c>, token: Value<'c>, values: &[Value<'c>]) -> Done<'c> {
        let to = self.reg(token);
        let end = self.label();
        self.region(body, &mut |reader, terminator| {
            let yielded: Vec<Value> = terminator.operands().collect();
            reader.moves(terminator, &yielded[..values.len()], values);
            let from = yielded[values.len()..].iter().map(|&token| reader.reg(token));
            let from = from.collect();
            reader.emit(terminator, Instruction::Join { to, from });
            reader.emit(terminator, Instruction::Jump(end));
            Ok(())
        })?;
        self.bind(end);
        for &value in values {
            let value = self.reg(value);
            self.emit(op, Instruction::Guard { value, token: to });
        }
        Ok(())
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

/// The queue of a commit or wait.
fn queue(op: Op<'_>) -> Result<Queue, Unknown<'_>> {
    match op.attr(attr::QUEUE).and_then(types::keyword) {
        Some("cp_async") => Ok(Queue::CpAsync),
        Some("bulk") => Ok(Queue::Bulk),
        Some("wgmma") => Ok(Queue::Wgmma),
        _ => Err(Unknown::operation(op)),
    }
}

/// Which operands those groups of operands are that have these numbers.
pub(super) fn segments<const N: usize>(
    op: Op<'_>,
    which: [usize; N],
) -> Result<[Range<usize>; N], Unknown<'_>> {
    let sizes = ints(op, attr::OPERAND_SEGMENT_SIZES).ok_or_else(|| Unknown::operation(op))?;
    let sizes: Vec<usize> = sizes
        .into_iter()
        .map(|n| usize::try_from(n).unwrap_or(0))
        .collect();
    Ok(which.map(|group| {
        let start: usize = sizes[..group].iter().sum();
        start..start + sizes.get(group).copied().unwrap_or(0)
    }))
}
