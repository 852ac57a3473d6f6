//! Operations of a whole warp on matrices. The layouts of its threads' parts are those of the PTX ISA, "Warp-level matrix
//! instructions".

use super::warp::Together;
use super::{Machine, Reason, WARP};
use crate::code::{LdMatrix, Mma, Reg, StMatrix, Target};
use crate::refine::Kind;
use crate::scalar::{from_f64, signed, to_f64};
use crate::value::{Elem, Pointer, Value};
use std::sync::Arc;

impl Machine<'_> {
    /// Lane 8m + r addresses row r of matrix m, of 16 bytes. Of each matrix, lane l gets four bytes of row l/4, or two
    /// numbers of 16 bits of column l/4 if it is transposed.
    pub(super) fn ldmatrix(&mut self, lanes: &[usize], load: &LdMatrix) -> Together<()> {
        let tiles = load.tiles;
        let mut rows = Vec::with_capacity(8 * tiles);
        for &t in &lanes[..8 * tiles] {
            rows.push(
                self.row(t, &load.from, Kind::Load)
                    .map_err(|reason| (t, reason))?,
            );
        }
        for (lane, &t) in lanes.iter().enumerate() {
            let (group, pair) = (lane / 4, 2 * (lane % 4));
            let mut bytes = Vec::with_capacity(4 * tiles);
            for tile in (0..tiles).map(|tile| &rows[8 * tile..8 * tile + 8]) {
                // Who gets a number has read it, whoever gave its address.
                let parts = if load.transpose {
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
                    bytes.extend_from_slice(part.map_err(|fault| (t, fault.into()))?);
                }
            }
            let numbers = bytes.chunks_exact(load.elem.bytes());
            let numbers: Arc<[u64]> = numbers.map(|number| load.elem.from_bytes(number)).collect();
            self.set(t, load.to, Value::Vector(numbers));
        }
        Ok(())
    }

    /// The other way around: lane l has two numbers of row l/4 of each matrix, or of column l/4 if it is transposed (PTX ISA,
    /// "Warp-level matrix store instruction: stmatrix").
    pub(super) fn stmatrix(&mut self, lanes: &[usize], store: &StMatrix) -> Together<()> {
        let to = Target::Pointer(store.to);
        let mut rows = Vec::with_capacity(8 * store.values.len());
        for &t in &lanes[..8 * store.values.len()] {
            rows.push(self.row(t, &to, Kind::Store).map_err(|reason| (t, reason))?);
        }
        for (lane, &t) in lanes.iter().enumerate() {
            let (group, pair) = (lane / 4, 2 * (lane % 4));
            let mut written: Vec<Pointer> = Vec::new();
            for (&value, tile) in store.values.iter().zip(rows.chunks_exact(8)) {
                let bits = self.bits(t, value).map_err(|reason| (t, reason))?;
                let bytes = bits.to_le_bytes();
                // Who has a number writes it, whoever gave its address.
                let parts = if store.transpose {
                    vec![
                        (tile[pair], 2 * group, &bytes[..2]),
                        (tile[pair + 1], 2 * group, &bytes[2..4]),
                    ]
                } else {
                    vec![(tile[group], 2 * pair, &bytes[..4])]
                };
                for (row, start, bytes) in parts {
                    let at = Pointer {
                        offset: row.offset + i64::try_from(start).unwrap_or(0),
                        ..row
                    };
                    let actor = self.actor(t);
                    let stored = self.memory.write(actor, at, bytes, bytes.len());
                    stored.map_err(|fault| (t, fault.into()))?;
                    // Other lanes' numbers race with this one; all parts have one size, and are aligned to it.
                    if written.contains(&at) {
                        self.memory.note_written_twice(actor, at, bytes.len());
                    }
                    written.push(at);
                }
            }
        }
        Ok(())
    }

    /// The address of a row of 16 bytes, which has to be there.
    fn row(&mut self, t: usize, target: &Target, kind: Kind) -> Result<Pointer, Reason> {
        let at = self.target(t, target)?;
        self.memory.check(at, 16, 16)?;
        self.note_step(t, kind, Some((at, 16)));
        Ok(at)
    }

    /// D = A B + C. The products are summed up in double precision and rounded once.
    pub(super) fn mma(&mut self, lanes: &[usize], mma: &Mma) -> Together<()> {
        let ([m, n, k], input, output) = (mma.shape, mma.input, mma.output);
        // How many numbers of a row of A a register holds.
        let pack = (32 / input.bits() as usize).max(1);
        let stored = if mma.sparsity.is_some() { k / 2 } else { k };
        let left = gather(self, lanes, mma.a, m, stored, |lane, i| place_a(lane, i, pack))?;
        let right = gather(self, lanes, mma.b, k, n, |lane, i| place_b(lane, i, pack))?;
        let sum = gather(self, lanes, mma.c, m, n, place_c)?;
        let inputs = [(left, mma.unsigned[0]), (right, mma.unsigned[1])];
        let [left, right] = inputs.map(|(bits, unsigned)| {
            bits.into_iter()
                .map(|bits| factor(input, unsigned, bits))
                .collect()
        });
        let mut sum: Vec<f64> = sum.into_iter().map(|bits| summand(output, bits)).collect();
        if let Some(sparsity) = mma.sparsity {
            let columns = self.sparse_columns(lanes, [m, k], input.bytes(), sparsity)?;
            multiply_sparse([m, n, stored], [left, right], &columns, &mut sum);
        } else {
            multiply([m, n, k], [left, right], &mut sum);
        }
        for (lane, &t) in lanes.iter().enumerate() {
            let part = (0..m * n / WARP).map(|i| {
                let (row, column) = place_c(lane, i);
                rounded(output, mma.wraps, sum[row * n + column])
            });
            let part = part.collect();
            self.set(t, mma.to, Value::Vector(part));
        }
        Ok(())
    }
}

/// The value of a number of A or B.
#[allow(clippy::cast_precision_loss)] // Integers are of 8 bits at most.
pub(super) fn factor(elem: Elem, unsigned: bool, bits: u64) -> f64 {
    match elem {
        Elem::Int(_) if unsigned => bits as f64,
        Elem::Int(width) => signed(width, bits) as f64,
        // The PTX ISA grants 10 bits of fraction at least; the tensor cores that there are have no more.
        Elem::F32 => to_f64(elem, bits & !0x1FFF),
        _ => to_f64(elem, bits),
    }
}

/// The value of a number of C. Integers of 32 bits and sums of them are exact in double precision, too.
#[allow(clippy::cast_precision_loss)]
pub(super) fn summand(elem: Elem, bits: u64) -> f64 {
    match elem {
        Elem::Int(width) => signed(width, bits) as f64,
        _ => to_f64(elem, bits),
    }
}

/// Adds the product of a matrix of M rows and K columns and of one of K rows and N columns.
pub(super) fn multiply([m, n, k]: [usize; 3], [left, right]: [Vec<f64>; 2], sum: &mut [f64]) {
    for i in 0..m {
        for j in 0..n {
            let products = (0..k).map(|l| left[i * k + l] * right[l * n + j]);
            sum[i * n + j] += products.sum::<f64>();
        }
    }
}

/// The same where each row of the left matrix has so many numbers, in `columns` of it. What stands in the rows of the right
/// matrix that no number meets does not matter, even if it is infinite or NaN.
fn multiply_sparse(
    [m, n, stored]: [usize; 3],
    [left, right]: [Vec<f64>; 2],
    columns: &[usize],
    sum: &mut [f64],
) {
    for i in 0..m {
        for j in 0..n {
            let row = i * stored..(i + 1) * stored;
            let products = row.map(|l| left[l] * right[columns[l] * n + j]);
            sum[i * n + j] += products.sum::<f64>();
        }
    }
}

/// The bits of a number of D. An integer that does not fit saturates, unless it wraps.
pub(super) fn rounded(elem: Elem, wraps: bool, number: f64) -> u64 {
    #[allow(clippy::cast_possible_truncation)] // Sums of products have less than 64 bits.
    match elem {
        Elem::Int(_) if wraps => elem.wrap((number as i64).cast_unsigned()),
        Elem::Int(_) => elem.wrap((number.clamp(-2_147_483_648.0, 2_147_483_647.0) as i64).cast_unsigned()),
        _ => from_f64(elem, number),
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
) -> Together<Vec<u64>> {
    let mut matrix = vec![0; rows * columns];
    for (lane, &t) in lanes.iter().enumerate() {
        let part = machine.numbers(t, reg).map_err(|reason| (t, reason))?;
        for (i, &bits) in part.iter().enumerate() {
            let (row, column) = place(lane, i);
            if let Some(number) = matrix.get_mut(row * columns + column) {
                *number = bits;
            }
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
