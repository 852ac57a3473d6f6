//! Operations of a whole warp. The layouts of their parts are those of the PTX ISA, "Warp-level matrix instructions".

use super::{Machine, Reason, State, Stop, WARP};
use crate::code::{Access, Op, Reg, Shuffle};
use crate::scalar::{from_f64, to_f64};
use crate::value::{Elem, Value};

impl Machine<'_> {
    /// Does the operation of every warp whose threads all stand at one. Returns false if there is none.
    pub(super) fn warps(&mut self) -> Result<bool, Stop> {
        let code = self.code;
        let mut any = false;
        for first in (0..self.threads.len()).step_by(WARP) {
            let lanes: Vec<usize> = (first..(first + WARP).min(self.threads.len()))
                .filter(|&t| self.threads[t].state != State::Done)
                .collect();
            let Some(&leader) = lanes.first() else { continue };
            let pc = self.threads[leader].pc;
            let together = |t: &usize| self.threads[*t].state == State::Warp && self.threads[*t].pc == pc;
            if !lanes.iter().all(together) {
                continue;
            }
            let op = &code.instrs[pc].op;
            if lanes.len() < WARP && !matches!(op, Op::Shuffle { .. }) {
                return Err(self.stop(leader, Reason::PartialWarp));
            }
            self.warp(op, &lanes)
                .map_err(|reason| self.stop(leader, reason))?;
            self.note_reads(leader);
            for t in lanes {
                self.threads[t].state = State::Running;
                self.threads[t].pc += 1;
            }
            any = true;
        }
        Ok(any)
    }

    fn warp(&mut self, op: &Op, lanes: &[usize]) -> Result<(), Reason> {
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
            } => self.ldmatrix(lanes, *to, from, *tiles as usize, *transpose),
            Op::Mma {
                to,
                a,
                b,
                c,
                shape,
                input,
                output,
            } => self.mma(lanes, *to, [*a, *b, *c], *shape, (*input, *output)),
            _ => Err(Reason::Kind("an instruction of a warp")),
        }
    }

    fn shuffle(
        &mut self,
        lanes: &[usize],
        (to, valid): (Reg, Reg),
        value: Reg,
        (offset, width): (Reg, Reg),
        mode: Shuffle,
    ) -> Result<(), Reason> {
        let mut results = Vec::with_capacity(lanes.len());
        for &t in lanes {
            let (offset, width) = (self.int(t, offset)?, self.int(t, width)?);
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
            results.push((self.value(source.unwrap_or(t), value)?.clone(), source.is_some()));
        }
        for (&t, (result, inside)) in lanes.iter().zip(results) {
            self.set(t, to, result);
            self.set(t, valid, Value::flag(inside));
        }
        Ok(())
    }

    /// Lane 8m + r addresses row r of matrix m. Of each matrix, lane l gets two neighbours: of row l/4, or of column
    /// l/4 if it is transposed.
    fn ldmatrix(
        &mut self,
        lanes: &[usize],
        to: Reg,
        from: &Access,
        tiles: usize,
        transpose: bool,
    ) -> Result<(), Reason> {
        let mut rows = Vec::with_capacity(8 * tiles);
        for &t in &lanes[..8 * tiles] {
            let bytes = self.row(t, from, 16)?;
            let row: Vec<u64> = bytes
                .chunks_exact(2)
                .map(|pair| u64::from(u16::from_le_bytes([pair[0], pair[1]])))
                .collect();
            rows.push(row);
        }
        for (lane, &t) in lanes.iter().enumerate() {
            let (group, pair) = (lane / 4, 2 * (lane % 4));
            let part = (0..tiles).flat_map(|tile| {
                let rows = &rows;
                (0..2).map(move |i| {
                    if transpose {
                        rows[8 * tile + pair + i][group]
                    } else {
                        rows[8 * tile + group][pair + i]
                    }
                })
            });
            let part: Vec<u64> = part.collect();
            self.set(t, to, Value::Vector(part.into()));
        }
        Ok(())
    }

    /// D = A B + C. The products are summed up in double precision and rounded once.
    fn mma(
        &mut self,
        lanes: &[usize],
        to: Reg,
        [left, right, sum]: [Reg; 3],
        shape: [u32; 3],
        (input, output): (Elem, Elem),
    ) -> Result<(), Reason> {
        let [m, n, k] = shape.map(|size| size as usize);
        // How many numbers of a row of A a register holds.
        let pack = 4 / input.bytes().max(1);
        let left = gather(self, lanes, left, m, k, |lane, i| place_a(lane, i, pack))?;
        let right = gather(self, lanes, right, k, n, |lane, i| place_b(lane, i, pack))?;
        let sum = gather(self, lanes, sum, m, n, place_c)?;
        let number =
            |elem, bits: &Vec<u64>| -> Vec<f64> { bits.iter().map(|&bits| to_f64(elem, bits)).collect() };
        let (left, right) = (number(input, &left), number(input, &right));
        let mut sum = number(output, &sum);
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
                    from_f64(output, sum[row * n + column])
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
) -> Result<Vec<u64>, Reason> {
    let mut matrix = vec![0; rows * columns];
    for (lane, &t) in lanes.iter().enumerate() {
        let Value::Vector(part) = machine.value(t, reg)? else {
            return Err(Reason::Kind("a vector"));
        };
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
