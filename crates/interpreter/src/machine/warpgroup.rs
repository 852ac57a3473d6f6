//! What the threads of a warpgroup do together, by the PTX ISA, "Asynchronous warpgroup level matrix instructions".
//!
//! A multiplication reads its operands through the asynchronous proxy, from its issue until a thread has waited for its
//! group. All 128 threads come to it, and any of them may be the one that reads: so what is written there has to be known to
//! all. Once one of them has waited, it is done for the whole warpgroup.

use super::matrices::{factor, multiply, rounded, summand};
use super::warp::Together;
use super::{Machine, Next, Reason, State, Stop};
use crate::code::{Factor, Id, Left, LeftFragment, Op, Reg, Warpgroup, Wgmma};
use crate::memory::{Actor, Fault, Kind, Piece, Transfer};
use crate::refine;
use crate::report::Problem;
use crate::value::{CopyId, Elem, Pending, Pointer, Value};
use crate::wgmma::{Descriptor, Major, ROWS, Swizzle, THREADS, place_a, place_d};
use std::ops::Range;
use std::sync::Arc;

/// The bytes that a swizzle moves as a whole.
const CHUNK: usize = 16;
/// The bytes of K in a multiplication.
const K_BYTES: usize = 32;
/// The bytes of a register.
const REGISTER_BYTES: usize = 4;
/// The bytes that a base offset counts.
const LINE: u64 = 128;
/// The bytes of shared memory that a descriptor can address.
const REACH: u64 = 1 << 18;

/// A matrix in workgroup memory: where each chunk lies, and the indices in MN and K of its first element.
struct Chunks(Vec<(Pointer, [u64; 2])>);

impl Machine<'_> {
    pub(super) fn warpgroup(&mut self, t: usize, op: &Warpgroup) -> Result<Next, Reason> {
        match op {
            Warpgroup::Meet if self.accumulators.is_empty() => {}
            Warpgroup::Meet | Warpgroup::Multiply(_) => return Ok(Next::Waits(State::Warpgroup)),
            Warpgroup::Fence => self.threads[t].fenced = Some(self.threads[t].steps),
            Warpgroup::Describe { to, view, rest } => {
                let view = self.view(t, *view)?;
                let at = view.element(view.offset);
                let rest = Descriptor::decode(*rest);
                self.memory.check(at, CHUNK, pattern(rest.swizzle))?;
                let nowhere = Reason::Descriptor("the matrix is not in workgroup memory");
                let start = self.memory.address(at).ok_or(nowhere)?;
                let start = Descriptor { start, ..rest };
                self.set(t, *to, Value::Bits(start.encode()));
            }
            Warpgroup::Store {
                value,
                view,
                columns,
                in_warpgroup,
            } => {
                let thread = usize::try_from(self.id(t, Id::Thread, 0)).unwrap_or(0);
                let thread = if *in_warpgroup { thread % THREADS } else { thread };
                self.store_accumulator((t, thread), *value, *view, *columns)?;
            }
            Warpgroup::Copy { to, from } => {
                let value = self.value_or_poison(t, *from)?.clone();
                self.set(t, *to, value);
            }
        }
        Ok(Next::Goes)
    }

    /// Lets the warpgroups go on whose threads all stand at one instruction. Returns false if there are none.
    pub(super) fn warpgroups(&mut self) -> Result<bool, Stop> {
        let code = self.code;
        let mut any = false;
        for first in (0..self.threads.len()).step_by(THREADS) {
            let all = first..(first + THREADS).min(self.threads.len());
            if self.threads[first].state != State::Warpgroup || self.elsewhere(&all).is_some() {
                continue;
            }
            if all.len() < THREADS {
                return Err(self.stop(first, Reason::PartialWarpgroup));
            }
            if let Op::Warpgroup(Warpgroup::Multiply(wgmma)) = &code.instrs[self.threads[first].pc].op {
                let done = self.multiply_together(&all, wgmma);
                done.map_err(|(t, reason)| self.stop(t, reason))?;
            }
            self.waits_meet(&all);
            for thread in &mut self.threads[all] {
                thread.state = State::Running;
                thread.pc += 1;
            }
            any = true;
        }
        Ok(any)
    }

    /// A thread of a warpgroup that does not stand where its first one does.
    fn elsewhere(&self, all: &Range<usize>) -> Option<usize> {
        let place = |t: usize| {
            let thread = &self.threads[t];
            (thread.state == State::Warpgroup, thread.pc, &thread.counters)
        };
        all.clone().find(|&t| place(t) != place(all.start))
    }

    /// Reports if a thread waits for others of its warpgroup. Returns false if none does.
    pub(super) fn divergent_warpgroup(&mut self) -> bool {
        let waits = |t: &usize| self.threads[*t].state == State::Warpgroup;
        let Some(t) = (0..self.threads.len()).find(waits) else {
            return false;
        };
        let first = t / THREADS * THREADS;
        let all = first..(first + THREADS).min(self.threads.len());
        let place = |t: usize| (self.threads[t].pc, &self.threads[t].counters);
        let other = all.into_iter().find(|&other| place(other) != place(t));
        if let Some(other) = other {
            self.settle(other);
        }
        let other = other.map(|other| self.spot(other));
        let problem = Problem::divergent_warpgroup(self.spot(t), other);
        self.memory.reports.problem(problem);
        true
    }

    /// Issues a multiplication, and computes it: what its operands are until it is done, they are now.
    fn multiply_together(&mut self, all: &Range<usize>, wgmma: &Wgmma) -> Together<()> {
        let first = all.start;
        let a = match &wgmma.a {
            Left::Memory(a) => self.chunks(all, a, ROWS)?,
            Left::Registers(_) => Chunks(Vec::new()),
        };
        let b = self.chunks(all, &wgmma.b, wgmma.n)?;
        let id = self
            .issue_multiplication(first, [&a, &b], wgmma.token.is_some())
            .map_err(|reason| (first, reason))?;
        self.add_in_place(first, wgmma, id);
        let spot = self.spot(first);
        if let Some(timeline) = self.timing() {
            timeline.multiply(first, id, wgmma.n, spot.into());
        }
        for t in all.clone() {
            self.check_fence(t, wgmma, id.into());
            self.threads[t].queues.push(wgmma.queue, id);
            if let Some(token) = wgmma.token {
                self.set(t, token, Value::Token(Arc::new([id.into()])));
            }
            let spot = self.spot(t);
            if let Some(trace) = &mut self.trace {
                trace.issue(id, None, None, spot);
            }
        }
        let k = K_BYTES / wgmma.a.elem().bytes();
        let left = match &wgmma.a {
            Left::Memory(factor) => self.matrix(&a, factor, ROWS),
            Left::Registers(fragment) => self.gather_fragment(all, fragment)?,
        };
        let columns = self.matrix(&b, &wgmma.b, wgmma.n);
        let right = (0..k * wgmma.n).map(|i| columns[i % wgmma.n * k + i / wgmma.n]);
        let mut sum = self.gather_accumulator(all, wgmma)?;
        multiply([ROWS, wgmma.n, k], [left, right.collect()], &mut sum);
        for (index, t) in all.clone().enumerate() {
            let part = (0..wgmma.n / 2).map(|i| {
                let (row, column) = place_d(index, i);
                rounded(wgmma.output, !wgmma.saturates, sum[row * wgmma.n + column])
            });
            let numbers = recast(&part.collect::<Vec<_>>(), wgmma.output, wgmma.held);
            self.accumulate(t, wgmma.to, numbers, Pending::from(id));
        }
        Ok(())
    }

    /// Notes that a warpgroup reads two matrices. Where it is `fenced`, what threads wrote there needs no fence.
    fn issue_multiplication(
        &mut self,
        first: usize,
        matrices: [&Chunks; 2],
        fenced: bool,
    ) -> Result<CopyId, Reason> {
        let chunks = matrices.into_iter().flat_map(|matrix| &matrix.0);
        let pieces: Arc<[Piece]> = chunks
            .map(|(at, _)| Piece {
                source: Some(*at),
                destination: None,
                bytes: CHUNK,
            })
            .collect();
        let actor = Actor {
            kind: Kind::Warpgroup { fenced },
            ..self.actor(first)
        };
        let what = Transfer {
            pieces,
            fill: Arc::new([0]),
            shared: true,
        };
        Ok(self.memory.transfer(actor, what)?)
    }

    /// Where a matrix with so many rows of A, or columns of B, lies. All threads have to have the same descriptor.
    fn chunks(&self, all: &Range<usize>, factor: &Factor, mn: usize) -> Together<Chunks> {
        let bits = |t: usize| self.bits(t, factor.descriptor).map_err(|reason| (t, reason));
        let first = bits(all.start)?;
        for t in all.clone() {
            if bits(t)? != first {
                let message = "the threads of the warpgroup have different descriptors of one matrix";
                return Err((t, Reason::Descriptor(message)));
            }
        }
        let chunks = self.described(Descriptor::decode(first), factor, mn);
        chunks.map_err(|reason| (all.start, reason))
    }

    fn described(&self, matrix: Descriptor, factor: &Factor, mn: usize) -> Result<Chunks, Reason> {
        if matrix.swizzle != Swizzle::None && matrix.base_offset != 0 {
            let message = "the interpreter knows swizzled matrices with a base offset of 0 only";
            return Err(Reason::Descriptor(message));
        }
        if self.memory.window_bytes() > REACH {
            let message = "descriptors reach 256 KiB of workgroup memory, and the block has more";
            return Err(Reason::Descriptor(message));
        }
        let nowhere = Reason::Descriptor("the descriptor's address is not in workgroup memory");
        let start = self.memory.at_address(matrix.start).ok_or(nowhere)?;
        let align = pattern(matrix.swizzle);
        // With a base offset of 0, the pattern begins where the matrix does; steps along K stay in its first line.
        let line = matrix.start % matrix.swizzle.period() / LINE;
        if (self.memory.buffer(start.buffer).align as usize) < align || line > 0 {
            let Pointer { buffer, offset } = start;
            return Err(Reason::Fault(Fault::Misaligned {
                buffer,
                offset,
                align,
            }));
        }
        let chunks = matrix.chunks(factor.major, mn as u64, factor.elem.bytes() as u64);
        let pointer = |address: u64| Pointer {
            offset: start.offset + address.cast_signed() - matrix.start.cast_signed(),
            ..start
        };
        Ok(Chunks(
            chunks.map(|(address, place)| (pointer(address), place)).collect(),
        ))
    }

    /// The numbers of a matrix whose chunks are there: K of them for each row of A, or column of B.
    fn matrix(&self, chunks: &Chunks, of: &Factor, mn: usize) -> Vec<f64> {
        let size = of.elem.bytes();
        let k = K_BYTES / size;
        let mut matrix = vec![0.0; mn * k];
        for (at, [line, column]) in &chunks.0 {
            let start = usize::try_from(at.offset).unwrap_or(0);
            let bytes = &self.memory.buffer(at.buffer).data[start..start + CHUNK];
            for (i, bytes) in bytes.chunks_exact(size).enumerate() {
                let number = factor(of.elem, of.unsigned, of.elem.from_bytes(bytes));
                let (line, column) = match of.major {
                    Major::K => (*line, column + i as u64),
                    Major::MN => (line + i as u64, *column),
                };
                let place = usize::try_from(line).unwrap_or(0) * k + usize::try_from(column).unwrap_or(0);
                matrix[place] = if of.negative { -number } else { number };
            }
        }
        matrix
    }

    /// The numbers of A that the threads have, row by row.
    fn gather_fragment(&self, all: &Range<usize>, fragment: &LeftFragment) -> Together<Vec<f64>> {
        let &LeftFragment {
            held, elem, first, ..
        } = fragment;
        let k = K_BYTES / elem.bytes();
        let pack = REGISTER_BYTES / elem.bytes();
        let mut matrix = vec![0.0; ROWS * k];
        for (index, t) in all.clone().enumerate() {
            let mut numbers = Vec::new();
            for reg in &fragment.regs {
                numbers.extend(self.numbers(t, *reg).map_err(|reason| (t, reason))?);
            }
            let numbers = recast(&numbers, held, elem);
            for (i, bits) in numbers.into_iter().skip(first).take(k / 2).enumerate() {
                let (row, column) = place_a(index, i, pack);
                let number = factor(elem, fragment.unsigned, bits);
                matrix[row * k + column] = if fragment.negative { -number } else { number };
            }
        }
        Ok(matrix)
    }

    /// What a multiplication adds to, row by row.
    fn gather_accumulator(&self, all: &Range<usize>, wgmma: &Wgmma) -> Together<Vec<f64>> {
        let mut sum = vec![0.0; ROWS * wgmma.n];
        if wgmma.zero {
            return Ok(sum);
        }
        for (index, t) in all.clone().enumerate() {
            let held = self
                .accumulated(t, wgmma.accumulator)
                .map_err(|reason| (t, reason))?;
            let part = recast(&held, wgmma.held, wgmma.output);
            for (i, bits) in part.into_iter().take(wgmma.n / 2).enumerate() {
                let (row, column) = place_d(index, i);
                sum[row * wgmma.n + column] = summand(wgmma.output, bits);
            }
        }
        Ok(sum)
    }

    /// Stores a thread's part of accumulators of 64 rows each, one below the other. Which part that is, its number in x says, or in
    /// the warpgroup.
    fn store_accumulator(
        &mut self,
        (t, thread): (usize, usize),
        value: Reg,
        view: Reg,
        columns: usize,
    ) -> Result<(), Reason> {
        let (numbers, view) = (self.numbers(t, value)?, self.view_of_rank(t, view, 2)?);
        let size = view.elem.bytes();
        for (block, part) in numbers.chunks_exact(columns / 2).enumerate() {
            // Upstream stores the upper rows first.
            let order = (0..2).flat_map(|half| (0..columns / 8).map(move |group| 4 * group + 2 * half));
            for i in order.flat_map(|i| [i, i + 1]) {
                let (row, column) = place_d(thread, i);
                let indices =
                    [row + block * ROWS, column].map(|index| i64::try_from(index).unwrap_or(i64::MAX));
                let mut at = view.offset;
                for (dim, index) in indices.into_iter().enumerate() {
                    let (size, buffer) = (view.sizes[dim], view.buffer);
                    if index >= size {
                        return Err(Reason::Fault(Fault::Index {
                            buffer,
                            index,
                            dim,
                            size,
                        }));
                    }
                    at = at.wrapping_add(index.wrapping_mul(view.strides[dim]));
                }
                let (at, actor) = (view.element(at), self.actor(t));
                self.note_step(t, refine::Kind::Store, Some((at, size)));
                self.memory
                    .write(actor, at, &part[i].to_le_bytes()[..size], size)?;
            }
        }
        Ok(())
    }
}

/// What the pattern of a swizzle begins at multiples of.
fn pattern(swizzle: Swizzle) -> usize {
    usize::try_from(swizzle.period()).unwrap_or(usize::MAX)
}

/// The same bits as numbers of another type.
fn recast(numbers: &[u64], from: Elem, into: Elem) -> Vec<u64> {
    let bytes = numbers
        .iter()
        .flat_map(|number| number.to_le_bytes().into_iter().take(from.bytes()));
    let bytes: Vec<u8> = bytes.collect();
    bytes
        .chunks_exact(into.bytes())
        .map(|bytes| into.from_bytes(bytes))
        .collect()
}
