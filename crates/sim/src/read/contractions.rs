//! Sums of numbers of vectors, and of products of them: `vector.contract`, `outerproduct` and `multi_reduction`, and
//! `nvvm.dot.accumulate`.
//!
//! The terms of a sum are added in the order of their positions, to what is there before. Numbers of a narrower type are
//! extended before, integers with their sign, as upstream's lowerings do it.
//!
//! **Refusals.** Contractions of very many terms.

use super::vectors::{combining, positions};
use super::{Done, Reader, Unknown};
use crate::code::{Contraction, Op as Instruction, Reg, Term, VectorOp};
use crate::scalar::{Rounding, Scalar};
use crate::value::Elem;
use async_mlir::ir::Op;
use async_mlir::melior::ir::Type;
use async_mlir::names::{attr, nvvm, vector};
use async_mlir::types::{self, MapResult};

/// More terms than a thread would add in one operation.
const MOST_TERMS: u64 = 1 << 20;

impl<'c> Reader<'c> {
    /// Reads `op` if it adds up numbers of vectors; returns false if it does not.
    pub(super) fn contractions(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        match op.name() {
            vector::CONTRACT => self.contract(op, None)?,
            vector::OUTERPRODUCT => self.outer_product(op, None)?,
            vector::MULTI_REDUCTION => self.multi_reduction(op, None)?,
            nvvm::DOT_ACCUMULATE_2WAY | nvvm::DOT_ACCUMULATE_4WAY => self.dot(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The dimensions of the operation are those of its maps; each position of all of them is a term.
    pub(super) fn contract(&mut self, op: Op<'c>, mask: Option<Reg>) -> Done<'c> {
        let unknown = || Unknown::operation(op);
        let maps = op.attr(attr::INDEXING_MAPS).and_then(types::array_elements);
        let maps = maps.unwrap_or_default().into_iter().map(dimensions);
        let maps: Vec<Vec<usize>> = maps.collect::<Option<_>>().ok_or_else(unknown)?;
        let [left, right, sum] = maps.as_slice() else {
            return Err(unknown());
        };
        let mut sizes = Vec::new();
        for (operand, map) in [left, right].into_iter().enumerate() {
            for (&dim, size) in map.iter().zip(Self::sizes(op, op.operand(operand).ty())?) {
                sizes.resize(sizes.len().max(dim + 1), 0);
                sizes[dim] = size;
            }
        }
        if sum.iter().any(|&dim| dim >= sizes.len()) {
            return Err(unknown());
        }
        if sizes.iter().map(|&size| u64::from(size)).product::<u64>() > MOST_TERMS {
            return Err(Unknown::new(
                op,
                "a contraction of so many terms is not run: make it several",
            ));
        }
        let number_at =
            |map: &[usize], position: &[u32]| map.iter().fold(0, |at, &dim| at * sizes[dim] + position[dim]);
        let count = sum.iter().map(|&dim| sizes[dim] as usize).product();
        let mut sums = vec![Vec::new(); count];
        for (position, bit) in positions(&sizes).zip(0..) {
            let of = [number_at(left, &position), number_at(right, &position)];
            sums[number_at(sum, &position) as usize].push(Term { of, bit });
        }
        self.add_up(op, 2, Some(2), (sums, mask))
    }

    /// The second factor may be a number.
    pub(super) fn outer_product(&mut self, op: Op<'c>, mask: Option<Reg>) -> Done<'c> {
        let rows = Self::sizes(op, op.operand(0).ty())?;
        let columns = Self::sizes(op, op.operand(1).ty())?;
        let columns = columns.first().copied().unwrap_or(1);
        let places = (0..rows.iter().product()).flat_map(|row| (0..columns).map(move |column| [row, column]));
        let sums = places.zip(0..).map(|(of, bit)| vec![Term { of, bit }]);
        let start = (op.num_operands() > 2).then_some(2);
        self.add_up(op, 2, start, (sums.collect(), mask))
    }

    pub(super) fn multi_reduction(&mut self, op: Op<'c>, mask: Option<Reg>) -> Done<'c> {
        let sizes = Self::sizes(op, op.operand(0).ty())?;
        let reduced = super::ints(op, attr::REDUCTION_DIMS).ok_or_else(|| Unknown::operation(op))?;
        let is_kept = |dim: &usize| !i64::try_from(*dim).is_ok_and(|dim| reduced.contains(&dim));
        let kept: Vec<usize> = (0..sizes.len()).filter(is_kept).collect();
        let count = kept.iter().map(|&dim| sizes[dim] as usize).product();
        let mut sums = vec![Vec::new(); count];
        for (position, i) in positions(&sizes).zip(0..) {
            let to = kept.iter().fold(0, |at, &dim| at * sizes[dim] + position[dim]);
            sums[to as usize].push(Term { of: [i, 0], bit: i });
        }
        self.add_up(op, 1, Some(1), (sums, mask))
    }

    /// The first operands are the factors; another one is what the sums start with.
    fn add_up(
        &mut self,
        op: Op<'c>,
        factors: usize,
        start: Option<usize>,
        (sums, mask): (Vec<Vec<Term>>, Option<Reg>),
    ) -> Done<'c> {
        let elem = Self::elem(op, op.result(0).ty())?;
        let kind = op.attr(attr::KIND).and_then(types::keyword).unwrap_or("add");
        let f = combining(kind, elem).ok_or_else(|| Unknown::operation(op))?;
        let factors = (0..factors).map(|i| {
            let from = Self::elem(op, op.operand(i).ty())?;
            Ok((self.operand(op, i), extension(from, elem)))
        });
        let contraction = Contraction {
            factors: factors.collect::<Result<_, Unknown<'c>>>()?,
            to: self.reg(op.result(0)),
            start: start.map(|start| self.operand(op, start)),
            mask,
            sums: sums.into_iter().map(Into::into).collect(),
            f,
            elem,
            number: is_number(op.result(0).ty()),
        };
        self.emit(op, Instruction::Vector(VectorOp::Contract(Box::new(contraction))));
        Ok(())
    }

    /// A sum of integers that wraps around, of products of what two vectors hold; `b_hi` asks for the upper half of the second
    /// one (PTX ISA, `dp4a` and `dp2a`).
    fn dot(&mut self, op: Op<'c>) -> Done<'c> {
        let mut factors = Vec::new();
        for (i, name) in [attr::A_TYPE, attr::B_TYPE].into_iter().enumerate() {
            let Elem::Int(width) = Self::elem(op, op.operand(i).ty())? else {
                return Err(Unknown::operation(op));
            };
            let extension = match op.attr(name).and_then(types::keyword) {
                Some("signed") => Scalar::SignExtend(width),
                Some("unsigned") => Scalar::ZeroExtend,
                _ => return Err(Unknown::operation(op)),
            };
            factors.push((self.operand(op, i), extension));
        }
        let (count, first) = match op.name() {
            nvvm::DOT_ACCUMULATE_4WAY => (4, 0),
            _ => (
                2,
                if op.bool_attr(attr::B_HI).unwrap_or(false) {
                    2
                } else {
                    0
                },
            ),
        };
        let terms = (0..count).map(|i| Term {
            of: [i, first + i],
            bit: i,
        });
        let contraction = Contraction {
            to: self.reg(op.result(0)),
            factors: factors.into(),
            start: Some(self.operand(op, 2)),
            mask: None,
            sums: [terms.collect()].into(),
            f: Scalar::Add,
            elem: Elem::Int(32),
            number: true,
        };
        self.emit(op, Instruction::Vector(VectorOp::Contract(Box::new(contraction))));
        Ok(())
    }
}

/// How a factor gets the type of the sums.
fn extension(from: Elem, to: Elem) -> Scalar {
    match from {
        _ if from == to => Scalar::Same,
        Elem::Int(width) => Scalar::SignExtend(width),
        _ => Scalar::Convert(from, Rounding::NearestEven),
    }
}

fn is_number(ty: Type<'_>) -> bool {
    super::number(ty).is_some()
}

/// The dimensions that the results of a map are; `None` if some result is none.
fn dimensions(map: async_mlir::melior::ir::Attribute<'_>) -> Option<Vec<usize>> {
    let results = types::map_results(map)?.into_iter();
    results
        .map(|result| match result {
            MapResult::Dim(dim) => Some(dim),
            _ => None,
        })
        .collect()
}
