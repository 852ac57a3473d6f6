//! Vectors: numbers picked out of other vectors.

use super::{Done, Reader, Unknown, lanes, number};
use crate::code::{Op as Instruction, Part, Reg, VectorOp};
use crate::scalar::Scalar;
use crate::value::{Elem, Value as Constant};
use async_mlir::ir::Op;
use async_mlir::melior::ir::Type;
use async_mlir::names::{attr, vector};
use async_mlir::types;

impl<'c> Reader<'c> {
    /// Reads `op` if it picks numbers of vectors; returns false if it does not.
    pub(super) fn vectors(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            vector::EXTRACT => self.extract(op)?,
            vector::INSERT => self.insert(op)?,
            vector::SHUFFLE => self.shuffle(op)?,
            vector::BROADCAST => self.broadcast(op)?,
            vector::SHAPE_CAST | vector::BITCAST if same_elements(op) => {
                let count = Self::count(op, op.result(0).ty())?;
                let picks = (0..count).map(|i| (0, i)).collect();
                self.pick(op, picks);
            }
            vector::FROM_ELEMENTS => {
                let picks = (0..u32::try_from(op.num_operands()).unwrap_or(0)).map(|i| (i, 0));
                self.pick(op, picks.collect());
            }
            vector::TO_ELEMENTS => (0..op.num_results()).for_each(|i| {
                self.pick_for(op, i, vec![(0, u32::try_from(i).unwrap_or(u32::MAX))]);
            }),
            vector::EXTRACT_STRIDED_SLICE => self.slice(op)?,
            vector::INSERT_STRIDED_SLICE => self.insert_slice(op)?,
            vector::TRANSPOSE => self.transpose(op)?,
            vector::INTERLEAVE => {
                let count = Self::count(op, op.operand(0).ty())?;
                self.pick(op, (0..2 * count).map(|i| (i % 2, i / 2)).collect());
            }
            vector::DEINTERLEAVE => {
                let count = Self::count(op, op.result(0).ty())?;
                for (result, first) in [(0, 0), (1, 1)] {
                    self.pick_for(op, result, (0..count).map(|i| (0, 2 * i + first)).collect());
                }
            }
            vector::STEP => {
                let count = Self::count(op, op.result(0).ty())?;
                let numbers = (0..u64::from(count)).collect();
                self.set(op, op.result(0), Constant::Vector(numbers));
            }
            vector::BITCAST => self.bitcast(op)?,
            vector::REDUCTION => self.reduction(op, None)?,
            _ => return self.contractions(op),
        }
        Ok(true)
    }

    pub(super) fn pick(&mut self, op: Op<'c>, picks: Vec<(u32, u32)>) {
        self.pick_for(op, 0, picks);
    }

    fn pick_for(&mut self, op: Op<'c>, result: usize, picks: Vec<(u32, u32)>) {
        let from: Box<[Reg]> = self.operands(op);
        let to = self.reg(op.result(result));
        let number = number(op.result(result).ty()).is_some();
        let picks = picks.into();
        self.emit(
            op,
            Instruction::Vector(VectorOp::Pick {
                to,
                from,
                picks,
                number,
            }),
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

    /// The part of so many numbers that the position of `op` names in a vector of type `ty`; operands of the position start at
    /// `first`.
    fn vector_part(
        &mut self,
        op: Op<'c>,
        ty: Type<'c>,
        count: u32,
        mut first: usize,
    ) -> Result<Part, Unknown<'c>> {
        let position = self.list(op, attr::STATIC_POSITION, &mut first)?;
        let sizes = Self::sizes(op, ty)?;
        Ok(Part {
            position: position.into_iter().zip(sizes).collect(),
            count,
        })
    }

    fn extract(&mut self, op: Op<'c>) -> Done<'c> {
        let number = number(op.result(0).ty()).is_some();
        let count = Self::count(op, op.result(0).ty())?;
        let part = self.vector_part(op, op.operand(0).ty(), count, 1)?;
        let Some(start) = part.constant() else {
            let (vector, to) = (self.operand(op, 0), self.reg(op.result(0)));
            let extract = VectorOp::ExtractPart {
                to,
                vector,
                part,
                number,
            };
            self.emit(op, Instruction::Vector(extract));
            return Ok(());
        };
        self.pick(op, (start..start + count).map(|i| (0, i)).collect());
        Ok(())
    }

    /// The value comes first, then the vector it goes into.
    fn insert(&mut self, op: Op<'c>) -> Done<'c> {
        let part = Self::count(op, op.operand(0).ty())?;
        let all = Self::count(op, op.result(0).ty())?;
        let place = self.vector_part(op, op.result(0).ty(), part, 2)?;
        let Some(start) = place.constant() else {
            let [value, vector] = [0, 1].map(|i| self.operand(op, i));
            let insert = VectorOp::InsertPart {
                to: self.reg(op.result(0)),
                value,
                vector,
                part: place,
                count: all,
            };
            self.emit(op, Instruction::Vector(insert));
            return Ok(());
        };
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
        let mask = super::ints(op, attr::MASK).ok_or_else(|| Unknown::operation(op))?;
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

    /// Trailing dimensions are repeated, and those of size 1 are stretched.
    fn broadcast(&mut self, op: Op<'c>) -> Done<'c> {
        let (from, to) = (
            Self::sizes(op, op.operand(0).ty())?,
            Self::sizes(op, op.result(0).ty())?,
        );
        let leading = to.len() - from.len().min(to.len());
        let picks = positions(&to).map(|position| {
            let inner = position[leading..].iter().zip(&from);
            (0, inner.fold(0, |at, (i, size)| at * size + i % size))
        });
        let picks = picks.collect();
        self.pick(op, picks);
        Ok(())
    }

    /// The sizes of a vector; none of a number.
    pub(super) fn sizes(op: Op<'c>, ty: Type<'c>) -> Result<Vec<u32>, Unknown<'c>> {
        let sizes = types::vector_shape(ty).map_or_else(Vec::new, |shape| shape.sizes);
        let sizes = sizes
            .into_iter()
            .map(|size| size.and_then(|size| u32::try_from(size).ok()));
        sizes
            .collect::<Option<Vec<u32>>>()
            .ok_or_else(|| Unknown::operation(op))
    }

    fn transpose(&mut self, op: Op<'c>) -> Done<'c> {
        let permutation = super::ints(op, attr::PERMUTATION).ok_or_else(|| Unknown::operation(op))?;
        let permutation: Vec<usize> = permutation
            .iter()
            .filter_map(|&dim| usize::try_from(dim).ok())
            .collect();
        let (from, to) = (
            Self::sizes(op, op.operand(0).ty())?,
            Self::sizes(op, op.result(0).ty())?,
        );
        let picks = positions(&to).map(|position| {
            let mut source = vec![0; from.len()];
            for (&dim, &i) in permutation.iter().zip(&position) {
                source[dim] = i;
            }
            (0, source.iter().zip(&from).fold(0, |at, (i, size)| at * size + i))
        });
        let picks = picks.collect();
        self.pick(op, picks);
        Ok(())
    }

    /// The part comes first, then the vector it goes into; steps are 1.
    fn insert_slice(&mut self, op: Op<'c>) -> Done<'c> {
        let offsets = super::ints(op, attr::OFFSETS).ok_or_else(|| Unknown::operation(op))?;
        let (part, all) = (
            Self::sizes(op, op.operand(0).ty())?,
            Self::sizes(op, op.result(0).ty())?,
        );
        let leading = all.len() - part.len().min(all.len());
        let offsets: Vec<u32> = offsets
            .iter()
            .filter_map(|&offset| u32::try_from(offset).ok())
            .collect();
        let picks = positions(&all).zip(0..).map(|(position, number)| {
            let mut at = 0;
            for (dim, (i, offset)) in position.iter().zip(&offsets).enumerate() {
                let size = if dim < leading { 1 } else { part[dim - leading] };
                match i.checked_sub(*offset) {
                    Some(i) if i < size => at = at * size + i,
                    _ => return (1, number),
                }
            }
            (0, at)
        });
        let picks = picks.collect();
        self.pick(op, picks);
        Ok(())
    }

    /// The same bits as numbers of another width.
    pub(super) fn bitcast(&mut self, op: Op<'c>) -> Done<'c> {
        let (from, to) = (
            Self::elem(op, op.operand(0).ty())?,
            Self::elem(op, op.result(0).ty())?,
        );
        let (vector, result) = (self.operand(op, 0), self.reg(op.result(0)));
        self.emit(
            op,
            Instruction::Vector(VectorOp::Bitcast {
                to: result,
                vector,
                from,
                into: to,
                number: number(op.result(0).ty()).is_some(),
            }),
        );
        Ok(())
    }

    pub(super) fn reduction(&mut self, op: Op<'c>, mask: Option<Reg>) -> Done<'c> {
        let elem = Self::elem(op, op.result(0).ty())?;
        let kind = op.attr(attr::KIND).and_then(types::keyword).unwrap_or_default();
        let f = combining(kind, elem).ok_or_else(|| Unknown::operation(op))?;
        let vector = self.operand(op, 0);
        let start = (op.num_operands() > 1).then(|| self.operand(op, 1));
        let to = self.reg(op.result(0));
        self.emit(
            op,
            Instruction::Vector(VectorOp::Reduce {
                to,
                vector,
                start,
                mask,
                f,
                elem,
            }),
        );
        Ok(())
    }

    /// Steps are 1.
    fn slice(&mut self, op: Op<'c>) -> Done<'c> {
        let sizes = |ty| types::vector_shape(ty).map_or_else(Vec::new, |shape| shape.sizes);
        let known = |sizes: Vec<Option<i64>>| sizes.into_iter().collect::<Option<Vec<i64>>>();
        let offsets = super::ints(op, attr::OFFSETS);
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

/// How a reduction of this name makes one number of two.
pub(super) fn combining(name: &str, elem: Elem) -> Option<Scalar> {
    Some(match (name, elem.is_float()) {
        ("add", true) => Scalar::AddF,
        ("add", false) => Scalar::Add,
        ("mul", true) => Scalar::MulF,
        ("mul", false) => Scalar::Mul,
        ("minui", false) => Scalar::MinU,
        ("minsi", false) => Scalar::MinS,
        ("maxui", false) => Scalar::MaxU,
        ("maxsi", false) => Scalar::MaxS,
        ("and", false) => Scalar::And,
        ("or", false) => Scalar::Or,
        ("xor", false) => Scalar::Xor,
        ("minnumf", true) => Scalar::MinNumF,
        ("maxnumf", true) => Scalar::MaxNumF,
        ("minimumf", true) => Scalar::MinF,
        ("maximumf", true) => Scalar::MaxF,
        _ => return None,
    })
}

/// The positions in a vector of these sizes, row by row.
pub(super) fn positions(sizes: &[u32]) -> impl Iterator<Item = Vec<u32>> {
    let count: u32 = sizes.iter().product();
    (0..count).map(move |mut number| {
        let mut position = vec![0; sizes.len()];
        for (i, size) in position.iter_mut().zip(sizes).rev() {
            *i = number % size;
            number /= size;
        }
        position
    })
}

fn same_elements(op: Op<'_>) -> bool {
    let element = |ty| types::vector_shape(ty).map(|shape| shape.element);
    element(op.operand(0).ty()) == element(op.result(0).ty())
}
