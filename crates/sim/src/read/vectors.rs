//! Vectors: numbers picked out of other vectors.

use super::{Done, Reader, Unknown, lanes, number};
use crate::code::{Op as Code, Reg};
use async_dialects::ir::Op;
use async_dialects::melior::ir::Type;
use async_dialects::types;

impl<'c> Reader<'c> {
    /// Reads `op` if it picks numbers of vectors; returns false if it does not.
    pub(super) fn vectors(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            "vector.extract" => self.extract(op)?,
            "vector.insert" => self.insert(op)?,
            "vector.shuffle" => self.shuffle(op)?,
            "vector.broadcast" => self.broadcast(op)?,
            "vector.shape_cast" | "vector.bitcast" if same_elements(op) => {
                let count = Self::count(op, op.result(0).ty())?;
                let picks = (0..count).map(|i| (0, i)).collect();
                self.pick(op, picks);
            }
            "vector.from_elements" => {
                let picks = (0..u32::try_from(op.num_operands()).unwrap_or(0)).map(|i| (i, 0));
                self.pick(op, picks.collect());
            }
            "vector.extract_strided_slice" => self.slice(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn pick(&mut self, op: Op<'c>, picks: Vec<(u32, u32)>) {
        let from: Box<[Reg]> = self.operands(op);
        let to = self.reg(op.result(0));
        let number = number(op.result(0).ty()).is_some();
        let picks = picks.into();
        self.emit(
            op,
            Code::Pick {
                to,
                from,
                picks,
                number,
            },
        );
    }

    /// How many numbers a value of type `ty` has.
    fn count(op: Op<'c>, ty: Type<'c>) -> Result<u32, Unknown<'c>> {
        if number(ty).is_some() {
            return Ok(1);
        }
        types::vector_shape(ty)
            .and_then(|shape| lanes(&shape.sizes))
            .ok_or_else(|| Unknown::operation(op))
    }

    /// Where the part that a constant position names starts in a vector of type `ty`.
    fn start(op: Op<'c>, ty: Type<'c>, part: u32) -> Result<u32, Unknown<'c>> {
        let position = super::ints(op, "static_position").unwrap_or_default();
        if position.contains(&i64::MIN) {
            return Err(Unknown::new(op, "a position that is not constant"));
        }
        let sizes = types::vector_shape(ty).map_or_else(Vec::new, |shape| shape.sizes);
        let start = position
            .iter()
            .zip(&sizes)
            .fold(0, |at, (i, size)| at * size.unwrap_or(1) + i);
        Ok(u32::try_from(start).unwrap_or(0) * part)
    }

    fn extract(&mut self, op: Op<'c>) -> Done<'c> {
        let part = Self::count(op, op.result(0).ty())?;
        let start = Self::start(op, op.operand(0).ty(), part)?;
        self.pick(op, (start..start + part).map(|i| (0, i)).collect());
        Ok(())
    }

    /// The value comes first, then the vector it goes into.
    fn insert(&mut self, op: Op<'c>) -> Done<'c> {
        let part = Self::count(op, op.operand(0).ty())?;
        let all = Self::count(op, op.result(0).ty())?;
        let start = Self::start(op, op.result(0).ty(), part)?;
        let picks = (0..all).map(|i| {
            if (start..start + part).contains(&i) {
                (0, i - start)
            } else {
                (1, i)
            }
        });
        self.pick(op, picks.collect());
        Ok(())
    }

    /// The mask counts rows over both vectors.
    fn shuffle(&mut self, op: Op<'c>) -> Done<'c> {
        let mask = super::ints(op, "mask").ok_or_else(|| Unknown::operation(op))?;
        let all = Self::count(op, op.operand(0).ty())?;
        let rows = types::vector_shape(op.operand(0).ty())
            .and_then(|shape| shape.sizes.first().copied().flatten())
            .and_then(|rows| u32::try_from(rows).ok())
            .unwrap_or(1);
        let row = all / rows.max(1);
        let mut picks = Vec::new();
        for i in mask {
            let Ok(i) = u32::try_from(i) else {
                return Err(Unknown::new(op, "a row that is poison"));
            };
            let (source, i) = if i < rows { (0, i) } else { (1, i - rows) };
            picks.extend((i * row..(i + 1) * row).map(|i| (source, i)));
        }
        self.pick(op, picks);
        Ok(())
    }

    /// Trailing dimensions are repeated; stretched ones are not known.
    fn broadcast(&mut self, op: Op<'c>) -> Done<'c> {
        let (part, all) = (
            Self::count(op, op.operand(0).ty())?,
            Self::count(op, op.result(0).ty())?,
        );
        let sizes = |ty| types::vector_shape(ty).map_or_else(Vec::new, |shape| shape.sizes);
        if !sizes(op.result(0).ty()).ends_with(&sizes(op.operand(0).ty())) {
            return Err(Unknown::operation(op));
        }
        self.pick(op, (0..all).map(|i| (0, i % part)).collect());
        Ok(())
    }

    /// Steps are 1.
    fn slice(&mut self, op: Op<'c>) -> Done<'c> {
        let sizes = |ty| types::vector_shape(ty).map_or_else(Vec::new, |shape| shape.sizes);
        let known = |sizes: Vec<Option<i64>>| sizes.into_iter().collect::<Option<Vec<i64>>>();
        let offsets = super::ints(op, "offsets");
        let (Some(from), Some(to), Some(mut offsets)) = (
            known(sizes(op.operand(0).ty())),
            known(sizes(op.result(0).ty())),
            offsets,
        ) else {
            return Err(Unknown::operation(op));
        };
        offsets.resize(from.len(), 0);
        let count = to.iter().product::<i64>();
        let picks = (0..count).map(|mut i| {
            let mut at = 0;
            let mut scale = 1;
            for dim in (0..to.len()).rev() {
                at += (i % to[dim] + offsets[dim]) * scale;
                i /= to[dim];
                scale *= from[dim];
            }
            (0, u32::try_from(at).unwrap_or(0))
        });
        self.pick(op, picks.collect());
        Ok(())
    }
}

fn same_elements(op: Op<'_>) -> bool {
    let element = |ty| types::vector_shape(ty).map(|shape| shape.element);
    element(op.operand(0).ty()) == element(op.result(0).ty())
}
