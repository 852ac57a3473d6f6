//! A builder of integer arithmetic that folds constants.

use crate::utils::builders::{compare, constant};
use async_mlir::arith::Predicate;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::arith;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Where operations are made.
#[derive(Clone, Copy)]
pub(super) enum InsertionPoint<'c> {
    /// Right before an operation.
    Before(Op<'c>),
    /// Right after an operation.
    After(Op<'c>),
    /// After all others of a block.
    AtEnd(Block<'c>),
    /// Before all others of a block.
    AtStart(Block<'c>),
}

impl<'c> InsertionPoint<'c> {
    /// Makes an operation here.
    pub fn make(self, op: OpBuilder<'c>) -> Op<'c> {
        match self {
            Self::Before(next) => op.before(next),
            Self::After(previous) => op.after(previous),
            Self::AtEnd(block) => op.at_end(block),
            Self::AtStart(block) => op.at_start(block),
        }
    }

    /// Moves a detached operation here.
    pub fn put(self, op: Op<'c>) {
        match self {
            Self::Before(next) => op.move_before(next),
            Self::After(previous) => op.move_after(previous),
            Self::AtEnd(block) => block.append(op),
            Self::AtStart(block) => block.prepend(op),
        }
    }
}

/// An integer: a constant, or a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FoldedInt<'c> {
    /// It is known.
    Constant(i64),
    /// It is known when the code runs.
    Value(Value<'c>),
}

impl<'c> FoldedInt<'c> {
    /// What `value` is.
    pub fn of(value: Value<'c>) -> Self {
        value.as_constant_int().map_or(Self::Value(value), Self::Constant)
    }

    /// The constant.
    pub fn as_constant(self) -> Option<i64> {
        match self {
            Self::Constant(constant) => Some(constant),
            Self::Value(_) => None,
        }
    }
}

/// Constants, each made once, before everything that uses it.
pub(super) struct Constants<'c> {
    place: InsertionPoint<'c>,
    known: RefCell<FxHashMap<(i64, Type<'c>), Value<'c>>>,
}

impl<'c> Constants<'c> {
    /// Constants that are made before `op` and all that will be made before it, and those that `known` are.
    pub fn new(op: Op<'c>, known: impl IntoIterator<Item = Value<'c>>) -> Self {
        let known = known
            .into_iter()
            .filter_map(|value| Some(((value.as_constant_int()?, value.ty()), value)));
        let place = op
            .prev()
            .map(InsertionPoint::After)
            .or(op.block().map(InsertionPoint::AtStart));
        Self {
            place: place.unwrap_or(InsertionPoint::Before(op)),
            known: RefCell::new(known.collect()),
        }
    }

    fn value(&self, location: Location<'c>, ty: Type<'c>, number: i64) -> Value<'c> {
        let mut known = self.known.borrow_mut();
        let made = known.entry((number, ty));
        *made.or_insert_with(|| self.place.make(constant(location, ty, number)).result(0))
    }
}

/// Makes arithmetic on integers of one type.
#[derive(Clone, Copy)]
pub(super) struct Arithmetic<'a, 'c> {
    pub constants: &'a Constants<'c>,
    pub location: Location<'c>,
    pub ty: Type<'c>,
    /// Whether numbers have no sign where they are compared.
    pub unsigned: bool,
}

impl<'a, 'c> Arithmetic<'a, 'c> {
    /// Arithmetic on indices, where `value` is.
    pub fn of_index(constants: &'a Constants<'c>, value: Value<'c>) -> Self {
        Self {
            constants,
            location: value.location(),
            ty: Type::index(value.context()),
            unsigned: false,
        }
    }

    /// The value of `int`.
    pub fn value(&self, int: FoldedInt<'c>) -> Value<'c> {
        match int {
            FoldedInt::Value(value) => value,
            FoldedInt::Constant(number) => self.constants.value(self.location, self.ty, number),
        }
    }

    fn binary(
        &self,
        at: InsertionPoint<'c>,
        name: &str,
        a: FoldedInt<'c>,
        b: FoldedInt<'c>,
    ) -> FoldedInt<'c> {
        let operands = [self.value(a), self.value(b)];
        let op = OpBuilder::new(name, self.location)
            .operands(&operands)
            .results(&[self.ty]);
        FoldedInt::Value(at.make(op).result(0))
    }

    /// The sum.
    pub fn add(&self, at: InsertionPoint<'c>, a: FoldedInt<'c>, b: FoldedInt<'c>) -> FoldedInt<'c> {
        match (a, b) {
            (FoldedInt::Constant(a), FoldedInt::Constant(b)) => FoldedInt::Constant(a.wrapping_add(b)),
            (FoldedInt::Constant(0), other) | (other, FoldedInt::Constant(0)) => other,
            _ => self.binary(at, arith::ADDI, a, b),
        }
    }

    /// The difference.
    pub fn sub(&self, at: InsertionPoint<'c>, a: FoldedInt<'c>, b: FoldedInt<'c>) -> FoldedInt<'c> {
        match (a, b) {
            (FoldedInt::Constant(a), FoldedInt::Constant(b)) => FoldedInt::Constant(a.wrapping_sub(b)),
            (_, FoldedInt::Constant(0)) => a,
            _ => self.binary(at, arith::SUBI, a, b),
        }
    }

    /// The product.
    pub fn mul(&self, at: InsertionPoint<'c>, a: FoldedInt<'c>, b: FoldedInt<'c>) -> FoldedInt<'c> {
        match (a, b) {
            (FoldedInt::Constant(a), FoldedInt::Constant(b)) => FoldedInt::Constant(a.wrapping_mul(b)),
            (FoldedInt::Constant(0), _) | (_, FoldedInt::Constant(0)) => FoldedInt::Constant(0),
            (FoldedInt::Constant(1), other) | (other, FoldedInt::Constant(1)) => other,
            _ => self.binary(at, arith::MULI, a, b),
        }
    }

    /// The quotient of numbers without sign, rounded down.
    pub fn div(&self, at: InsertionPoint<'c>, a: FoldedInt<'c>, b: FoldedInt<'c>) -> FoldedInt<'c> {
        match (a, b) {
            (_, FoldedInt::Constant(1)) => a,
            _ => self.binary(at, arith::DIVUI, a, b),
        }
    }

    /// The bits that `a` has in common with `mask`.
    pub fn and(&self, at: InsertionPoint<'c>, a: FoldedInt<'c>, mask: i64) -> FoldedInt<'c> {
        match a {
            FoldedInt::Constant(a) => FoldedInt::Constant(a & mask),
            FoldedInt::Value(_) => self.binary(at, arith::ANDI, a, FoldedInt::Constant(mask)),
        }
    }

    /// Whether `a` is less than `b`, as the loop compares its bounds.
    pub fn less(&self, at: InsertionPoint<'c>, a: FoldedInt<'c>, b: FoldedInt<'c>) -> FoldedBool<'c> {
        let predicate = if self.unsigned {
            Predicate::UnsignedLess
        } else {
            Predicate::SignedLess
        };
        self.compare(at, predicate, a, b)
    }

    /// Whether `count`, a number without sign, is more than `number`.
    pub fn is_more(&self, at: InsertionPoint<'c>, count: FoldedInt<'c>, number: i64) -> FoldedBool<'c> {
        match count {
            FoldedInt::Constant(count) => FoldedBool::Known(count > number),
            FoldedInt::Value(_) => {
                self.compare(at, Predicate::UnsignedGreater, count, FoldedInt::Constant(number))
            }
        }
    }

    fn compare(
        &self,
        at: InsertionPoint<'c>,
        predicate: Predicate,
        a: FoldedInt<'c>,
        b: FoldedInt<'c>,
    ) -> FoldedBool<'c> {
        if let (FoldedInt::Constant(a), FoldedInt::Constant(b), Predicate::SignedLess) = (a, b, predicate) {
            return FoldedBool::Known(a < b);
        }
        let (a, b) = (self.value(a), self.value(b));
        FoldedBool::If(at.make(compare(self.location, predicate, a, b)).result(0))
    }

    /// One of two numbers.
    pub fn select(
        &self,
        at: InsertionPoint<'c>,
        condition: FoldedBool<'c>,
        yes: FoldedInt<'c>,
        no: FoldedInt<'c>,
    ) -> FoldedInt<'c> {
        match condition {
            FoldedBool::Known(true) => yes,
            FoldedBool::Known(false) => no,
            FoldedBool::If(_) if yes == no => yes,
            FoldedBool::If(condition) => {
                let operands = [condition, self.value(yes), self.value(no)];
                let op = OpBuilder::new(arith::SELECT, self.location)
                    .operands(&operands)
                    .results(&[self.ty]);
                FoldedInt::Value(at.make(op).result(0))
            }
        }
    }
}

/// A condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FoldedBool<'c> {
    /// It is known.
    Known(bool),
    /// It is known when the code runs.
    If(Value<'c>),
}
