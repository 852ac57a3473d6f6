//! Operations of a whole warp. The layouts of their parts are those of the PTX ISA, "Warp-level matrix instructions".

use super::access::note_loaded;
use super::{Machine, Reason, State, Stop, WARP};
use crate::code::{Access, Op, Reg, Shuffle};
use crate::refine::Kind;
use crate::scalar::{self, Scalar, from_f64, signed, to_f64};
use crate::value::{Elem, Pointer, Value};
use std::rc::Rc;

impl Machine<'_> {
    /// Does the operations of the warp of thread `first` whose threads have all come to them. Returns false if there are
    /// none.
    pub(super) fn warp_operations(&mut self, first: usize) -> Result<bool, Stop> {
        let mut any = false;
        let all: Vec<usize> = (first..(first + WARP).min(self.threads.len())).collect();
        // Parts of a warp may stand at operations of their own.
        for &leader in &all {
            if self.threads[leader].state == State::Warp {
                any |= self.warp_of(leader, &all)?;
            }
        }
        Ok(any)
    }

    /// Does the operation that thread `leader` stands at, if all that take part stand there. Returns false if not.
    fn warp_of(&mut self, leader: usize, all: &[usize]) -> Result<bool, Stop> {
        let pc = self.threads[leader].pc;
        let op = &self.code.instrs[pc].op;
        let mask = match self.participants(leader, op, all) {
            Ok(mask) => mask,
            Err(reason) => return Err(self.stop(leader, reason)),
        };
        let stands_here = |t: &usize| self.threads[*t].state == State::Warp && self.threads[*t].pc == pc;
        let takes_part = |t: &usize| mask >> (t % WARP) & 1 == 1;
        if !all.iter().filter(|t| takes_part(t)).all(stands_here) {
            return Ok(false);
        }
        let mut lanes: Vec<usize> = all.iter().copied().filter(|t| stands_here(t)).collect();
        if matches!(op, Op::WarpBarrier { .. }) {
            lanes.retain(takes_part);
        }
        if let Err((lane, reason)) = self.warp(op, &lanes) {
            return Err(self.stop(lane, reason));
        }
        self.note_early(leader);
        self.note_reads(leader);
        for t in lanes {
            self.threads[t].state = State::Running;
            self.threads[t].pc += 1;
        }
        Ok(true)
    }

    /// The lanes that have to come to an operation, as bits.
    fn participants(&self, leader: usize, op: &Op, all: &[usize]) -> Result<u32, Reason> {
        Ok(match op {
            // "The first `width` invocations" (MLIR, gpu.shuffle).
            Op::Shuffle { width, .. } => match self.int(leader, *width)? {
                width @ 0..32 => (1 << width) - 1,
                _ => u32::MAX,
            },
            Op::WarpBarrier { mask } => {
                let mask = self.bits(leader, *mask)?;
                let named = u32::try_from(mask & u64::from(u32::MAX)).unwrap_or(u32::MAX);
                if named >> (leader % WARP) & 1 == 0 {
                    return Err(Reason::NotInMask);
                }
                // Threads that have ended are not waited for.
                let here = all.iter().filter(|t| self.threads[**t].state != State::Done);
                let alive = here.fold(0_u32, |mask, t| mask | 1 << (t % WARP));
                named & alive
            }
            _ if all.len() < WARP && !matches!(op, Op::WarpReduce { .. }) => return Err(Reason::PartialWarp),
            _ => u32::MAX,
        })
    }

    /// Fails with the thread at fault.
    fn warp(&mut self, op: &Op, lanes: &[usize]) -> Result<(), (usize, Reason)> {
        match op {
            Op::Shuffle {
                to,
                valid,
                value,
                offset,
                width,
                mode,
            } => self.shuffle(lanes, (*to, *valid), *value, (*offset, *width), *mode),
            Op::LdMatrix {
                to,
                from,
                tiles,
                transpose,
                elem,
            } => self.ldmatrix(lanes, (*to, *elem), from, *tiles as usize, *transpose),
            Op::Mma {
                to,
                a,
                b,
                c,
                shape,
                input,
                output,
            } => self.mma(lanes, *to, [*a, *b, *c], *shape, (*input, *output)),
            Op::WarpReduce { to, value, f, elem } => self.warp_reduce(lanes, (*to, *value), (*f, *elem)),
            Op::WarpBarrier { mask } => self.warp_barrier(lanes, *mask),
            _ => Err((lanes[0], Reason::Operand("an instruction of a warp"))),
        }
    }

    fn shuffle(
        &mut self,
        lanes: &[usize],
        (to, valid): (Reg, Reg),
        value: Reg,
        (offset, width): (Reg, Reg),
        mode: Shuffle,
    ) -> Result<(), (usize, Reason)> {
        let mut results = Vec::with_capacity(lanes.len());
        for &t in lanes {
            let int = |reg| self.int(t, reg).map_err(|reason| (t, reason));
            let (offset, width) = (int(offset)?, int(width)?);
            let lane = i64::try_from(t % WARP).unwrap_or(0);
            let segment = lane / width.max(1) * width.max(1);
            let from = match mode {
                Shuffle::Xor => lane ^ offset,
                Shuffle::Up => lane - offset,
                Shuffle::Down => lane + offset,
                Shuffle::Index => segment + offset,
            };
            let inside = from >= segment && from < segment + width;
            let source = usize::try_from(from).ok().filter(|_| inside);
            let source = source.map(|lane| t / WARP * WARP + lane);
            let source = source.filter(|source| lanes.contains(source));
            let from = source.unwrap_or(t);
            let result = self.value(from, value).map_err(|reason| (from, reason))?;
            results.push((result.clone(), source.is_some()));
        }
        for (&t, (result, inside)) in lanes.iter().zip(results) {
            self.set(t, to, result);
            self.set(t, valid, Value::flag(inside));
        }
        Ok(())
    }

    /// Only lanes that name the same ones meet.
    fn warp_barrier(&mut self, lanes: &[usize], mask: Reg) -> Result<(), (usize, Reason)> {
        let named = self.bits(lanes[0], mask).map_err(|reason| (lanes[0], reason))?;
        let mut met = 0;
        for &t in lanes {
            if self.bits(t, mask).map_err(|reason| (t, reason))? != named {
                return Err((t, Reason::OtherMask));
            }
            met |= 1 << (t % WARP);
            self.note_step(t, Kind::WarpBarrier, None);
        }
        self.memory.warp_barrier(self.spot(lanes[0]).thread, met);
        Ok(())
    }

    /// All lanes get what the numbers of all make.
    fn warp_reduce(
        &mut self,
        lanes: &[usize],
        (to, value): (Reg, Reg),
        (f, elem): (Scalar, Elem),
    ) -> Result<(), (usize, Reason)> {
        let mut all: Option<Vec<u64>> = None;
        for &t in lanes {
            let fail = |reason| (t, reason);
            let numbers = self.numbers(t, value).map_err(fail)?;
            let Some(all) = &mut all else {
                all = Some(numbers);
                continue;
            };
            for (sum, number) in all.iter_mut().zip(numbers) {
                let next = scalar::eval(f, elem, [*sum, number, 0]).map_err(|error| fail(error.into()))?;
                *sum = next.ok_or_else(|| fail(Reason::Poison))?;
            }
        }
        let all = all.unwrap_or_default();
        for &t in lanes {
            let is_vector = matches!(self.value(t, value), Ok(Value::Vector(_)));
            let result = match all.as_slice() {
                [number] if !is_vector => Value::Bits(*number),
                numbers => Value::Vector(numbers.into()),
            };
            self.set(t, to, result);
        }
        Ok(())
    }

    /// Lane 8m + r addresses row r of matrix m, of 16 bytes. Of each matrix, lane l gets four bytes of row l/4, or two
    /// numbers of 16 bits of column l/4 if it is transposed.
    fn ldmatrix(
        &mut self,
        lanes: &[usize],
        (to, elem): (Reg, Elem),
        from: &Access,
        tiles: usize,
        transpose: bool,
    ) -> Result<(), (usize, Reason)> {
        let mut rows = Vec::with_capacity(8 * tiles);
        for &t in &lanes[..8 * tiles] {
            rows.push(self.row(t, from).map_err(|reason| (t, reason))?);
        }
        for (lane, &t) in lanes.iter().enumerate() {
            let (group, pair) = (lane / 4, 2 * (lane % 4));
            let mut bytes = Vec::with_capacity(4 * tiles);
            for tile in (0..tiles).map(|tile| &rows[8 * tile..8 * tile + 8]) {
                // Who gets a number has read it, whoever gave its address.
                let parts = if transpose {
                    vec![(tile[pair], 2 * group, 2), (tile[pair + 1], 2 * group, 2)]
                } else {
                    vec![(tile[group], 2 * pair, 4)]
                };
                for (row, start, count) in parts {
                    let at = Pointer {
                        offset: row.offset + i64::try_from(start).unwrap_or(0),
                        ..row
                    };
                    let actor = self.actor(t);
                    let part = self.memory.read(actor, at, count, count);
                    let part = part.map_err(|fault| (t, fault.into()))?;
                    note_loaded(self.loaded.as_mut(), actor.spot.thread, part);
                    bytes.extend_from_slice(part);
                }
            }
            let numbers = bytes.chunks_exact(elem.bytes());
            let numbers: Rc<[u64]> = numbers.map(|number| elem.from_bytes(number)).collect();
            self.set(t, to, Value::Vector(numbers));
        }
        Ok(())
    }

    /// The address of a row of 16 bytes, which has to be there.
    fn row(&mut self, t: usize, access: &Access) -> Result<Pointer, Reason> {
        let (at, _) = self.address(t, access)?;
        self.memory.check(at, 16, 16)?;
        self.note_step(t, Kind::Load, Some((at, 16)));
        Ok(at)
    }

    /// D = A B + C. The products are summed up in double precision and rounded once.
    fn mma(
        &mut self,
        lanes: &[usize],
        to: Reg,
        [left, right, sum]: [Reg; 3],
        shape: [u32; 3],
        (input, output): (Elem, Elem),
    ) -> Result<(), (usize, Reason)> {
        let [m, n, k] = shape.map(|size| size as usize);
        // How many numbers of a row of A a register holds.
        let pack = (4 / input.bytes()).max(1);
        let left = gather(self, lanes, left, m, k, |lane, i| place_a(lane, i, pack))?;
        let right = gather(self, lanes, right, k, n, |lane, i| place_b(lane, i, pack))?;
        let sum = gather(self, lanes, sum, m, n, place_c)?;
        // Integers of 32 bits and sums of them are exact in double precision, too.
        let numbers = |elem, bits: &Vec<u64>| -> Vec<f64> {
            #[allow(clippy::cast_precision_loss)] // Of 32 bits at most.
            let number = |bits: &u64| match elem {
                Elem::Int(width) => signed(width, *bits) as f64,
                // The PTX ISA grants 10 bits of fraction at least; the tensor cores that there are have no more.
                Elem::F32 if elem == input => to_f64(elem, *bits & !0x1FFF),
                _ => to_f64(elem, *bits),
            };
            bits.iter().map(number).collect()
        };
        let (left, right) = (numbers(input, &left), numbers(input, &right));
        let mut sum: Vec<f64> = match output {
            Elem::F32 => sum.iter().map(|&bits| to_f64(output, bits)).collect(),
            _ => numbers(output, &sum),
        };
        for i in 0..m {
            for j in 0..n {
                let products = (0..k).map(|l| left[i * k + l] * right[l * n + j]);
                sum[i * n + j] += products.sum::<f64>();
            }
        }
        for (lane, &t) in lanes.iter().enumerate() {
            let part: Vec<u64> = (0..m * n / WARP)
                .map(|i| {
                    let (row, column) = place_c(lane, i);
                    let number = sum[row * n + column];
                    #[allow(clippy::cast_possible_truncation)]
                    // A sum that does not fit 32 bits saturates, as nvgpu lowers it.
                    match output {
                        Elem::Int(_) => output
                            .wrap((number.clamp(-2_147_483_648.0, 2_147_483_647.0) as i64).cast_unsigned()),
                        _ => from_f64(output, number),
                    }
                })
                .collect();
            self.set(t, to, Value::Vector(part.into()));
        }
        Ok(())
    }
}

/// Puts the parts of all lanes into one matrix of `rows` by `columns`.
fn gather(
    machine: &Machine,
    lanes: &[usize],
    reg: Reg,
    rows: usize,
    columns: usize,
    place: impl Fn(usize, usize) -> (usize, usize),
) -> Result<Vec<u64>, (usize, Reason)> {
    let mut matrix = vec![0; rows * columns];
    for (lane, &t) in lanes.iter().enumerate() {
        let part = machine.numbers(t, reg).map_err(|reason| (t, reason))?;
        for (i, &bits) in part.iter().enumerate() {
            let (row, column) = place(lane, i);
            matrix[row * columns + column] = bits;
        }
    }
    Ok(matrix)
}

/// The row and column of number `i` of a lane's part of A, 16 rows high: registers go down first, then right.
fn place_a(lane: usize, i: usize, pack: usize) -> (usize, usize) {
    let (register, within) = (i / pack, i % pack);
    let row = lane / 4 + 8 * (register % 2);
    let column = pack * (lane % 4) + within + 4 * pack * (register / 2);
    (row, column)
}

/// The row and column of number `i` of a lane's part of B, 8 columns wide.
fn place_b(lane: usize, i: usize, pack: usize) -> (usize, usize) {
    let (register, within) = (i / pack, i % pack);
    (pack * (lane % 4) + within + 4 * pack * register, lane / 4)
}

/// The row and column of number `i` of a lane's part of C and D, 16 by 8.
fn place_c(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)
}
