//! `gpu.subgroup_mma_*` and `nvvm.wmma.*`: matrices whose layout among the lanes of a warp is nobody's business.

use super::matrices::{factor, multiply, rounded, summand};
use super::warp::Together;
use super::{Machine, Reason, WARP};
use crate::code::{Fragment, Matrix, Place, Reg};
use crate::refine::Kind;
use crate::value::{Pointer, Value};

impl Machine<'_> {
    pub(super) fn fragment(&mut self, lanes: &[usize], fragment: &Fragment) -> Together<()> {
        match fragment {
            Fragment::Load { to, from, matrix } => self.load_matrix(lanes, *to, from, *matrix),
            Fragment::Store { value, to, matrix } => self.store_matrix(lanes, *value, to, *matrix),
            Fragment::Multiply {
                to,
                operands,
                matrices,
            } => self.multiply_matrices(lanes, *to, *operands, *matrices),
        }
    }

    /// Two lanes read each element: whoever of them has written it, the other one has not. A store of the same matrix writes
    /// each element by the lane that had it, which has read it before.
    fn load_matrix(&mut self, lanes: &[usize], to: Reg, from: &Place, matrix: Matrix) -> Together<()> {
        let size = matrix.elem.bytes();
        let mut parts = vec![Vec::new(); WARP];
        for (i, at) in self
            .elements_of_matrix(lanes, from, matrix)?
            .into_iter()
            .enumerate()
        {
            let (holder, other) = (lanes[i % WARP], lanes[(i + 1) % WARP]);
            self.note_step(holder, Kind::Load, Some((at, size)));
            let (first, second) = (self.actor(other), self.actor(holder));
            let along = self.memory.read_along(first, at, size, size);
            along.map_err(|fault| (other, fault.into()))?;
            let bytes = self.memory.read(second, at, size, size);
            let bits = matrix
                .elem
                .from_bytes(bytes.map_err(|fault| (holder, fault.into()))?);
            parts[i % WARP].push(bits);
        }
        for (&t, part) in lanes.iter().zip(parts) {
            self.set(t, to, Value::Vector(part.into()));
        }
        Ok(())
    }

    fn store_matrix(&mut self, lanes: &[usize], value: Reg, to: &Place, matrix: Matrix) -> Together<()> {
        let size = matrix.elem.bytes();
        let numbers = self.whole(lanes, value, matrix)?;
        let places = self.elements_of_matrix(lanes, to, matrix)?;
        for (i, (at, bits)) in places.into_iter().zip(numbers).enumerate() {
            let t = lanes[i % WARP];
            self.note_step(t, Kind::Store, Some((at, size)));
            let actor = self.actor(t);
            let written = self.memory.write(actor, at, &bits.to_le_bytes()[..size], size);
            written.map_err(|fault| (t, fault.into()))?;
        }
        Ok(())
    }

    /// Where the elements lie, row by row. All lanes have to name the same place.
    fn elements_of_matrix(&self, lanes: &[usize], place: &Place, matrix: Matrix) -> Together<Vec<Pointer>> {
        let mut first: Option<(Pointer, i64)> = None;
        for &t in lanes {
            let at = self.target(t, &place.first).map_err(|reason| (t, reason))?;
            let lead = self.index(t, place.lead).map_err(|reason| (t, reason))?;
            if *first.get_or_insert((at, lead)) != (at, lead) {
                return Err((t, Reason::OtherPlace));
            }
        }
        let Some((first, lead)) = first else {
            return Ok(Vec::new());
        };
        let int = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let size = int(matrix.elem.bytes());
        let elements = (0..matrix.rows).flat_map(|row| (0..matrix.columns).map(move |column| (row, column)));
        let elements = elements.map(|(row, column)| {
            let (outer, inner) = if place.transposed {
                (column, row)
            } else {
                (row, column)
            };
            let at = int(outer).saturating_mul(lead).saturating_add(int(inner));
            Pointer {
                offset: first.offset.saturating_add(at.saturating_mul(size)),
                ..first
            }
        });
        Ok(elements.collect())
    }

    /// The elements that all lanes have, row by row.
    fn whole(&self, lanes: &[usize], value: Reg, matrix: Matrix) -> Together<Vec<u64>> {
        let mut parts = Vec::with_capacity(WARP);
        for &t in lanes {
            parts.push(self.numbers(t, value).map_err(|reason| (t, reason))?);
        }
        let element = |i: usize| {
            let number = parts[i % WARP].get(i / WARP).copied();
            number.ok_or((lanes[i % WARP], Reason::Operand("a matrix of its type")))
        };
        (0..matrix.rows * matrix.columns).map(element).collect()
    }

    fn multiply_matrices(
        &mut self,
        lanes: &[usize],
        to: Reg,
        operands: [Reg; 3],
        [left, right, sum]: [Matrix; 3],
    ) -> Together<()> {
        let factors = |machine: &Self, value, matrix: Matrix| -> Together<Vec<f64>> {
            let bits = machine.whole(lanes, value, matrix)?.into_iter();
            Ok(bits
                .map(|bits| factor(matrix.elem, matrix.unsigned, bits))
                .collect())
        };
        let inputs = [
            factors(self, operands[0], left)?,
            factors(self, operands[1], right)?,
        ];
        let output = self.whole(lanes, operands[2], sum)?.into_iter();
        let mut output: Vec<f64> = output.map(|bits| summand(sum.elem, bits)).collect();
        multiply([left.rows, right.columns, left.columns], inputs, &mut output);
        for (lane, &t) in lanes.iter().enumerate() {
            let part = output.iter().skip(lane).step_by(WARP);
            let part = part.map(|&number| rounded(sum.elem, true, number)).collect();
            self.set(t, to, Value::Vector(part));
        }
        Ok(())
    }
}
