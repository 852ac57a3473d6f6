//! Computes what a pipelined loop computes beside the plain loop: numbers of iterations, conditions, slots of versions.

use super::number::{Affine, Facts, Number};
use super::plain::Plain;
use async_locations::integers::{Computation, bits_of, predicate};
use async_mlir::arith::Predicate;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{arith, attr};

/// `(of mod versions + plus) * scale`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub versions: i64,
    pub of: Affine,
    pub plus: i64,
    pub scale: i64,
}

impl Slot {
    /// `of mod versions`.
    pub fn of<'c>(of: Affine, versions: i64) -> Known<'c> {
        match of.as_constant() {
            Some(constant) => Known::Number(Number::constant(constant.rem_euclid(versions.max(1)))),
            None => Known::Slot(Self {
                versions,
                of,
                plus: 0,
                scale: 1,
            }),
        }
    }

    /// Returns true if no number of this kind wraps around in the result of `op`.
    fn fits(self, op: Op<'_>) -> bool {
        let most = bits_of(op.result(0).ty()).map(|bits| 1_i128 << bits);
        let end = i128::from(self.versions)
            .checked_add(self.plus.into())
            .and_then(|end| end.checked_mul(self.scale.into()));
        self.scale >= 0 && matches!((end, most), (Some(end), Some(most)) if end <= most)
    }

    /// Returns true if `other` is the same.
    fn is(self, other: Self) -> bool {
        let is_same_number = || {
            let ahead = self.of.minus(other.of).and_then(Affine::as_constant);
            ahead.is_some_and(|ahead| ahead.rem_euclid(self.versions.max(1)) == 0)
        };
        let is_same = self.versions == other.versions && self.plus == other.plus && self.scale == other.scale;
        is_same && is_same_number()
    }
}

/// What is known of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known<'c> {
    /// This value of the plain loop, in this iteration; or the version for it, of one from before the loop.
    Instance(Value<'c>, Affine),
    Number(Number),
    /// A number, of which only low bits are left.
    LowBits(Affine),
    Bool(bool),
    Slot(Slot),
    /// Whether the slot after this one is the first one again.
    Wraps(Slot),
    /// The part of these bytes that begins there, in bytes.
    Part(Value<'c>, Place),
    /// One from before the loop.
    Outside(Value<'c>),
    /// Nothing that may be used.
    Nothing,
}

/// Where a part of a buffer begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Constant(i64),
    Slot(Slot),
}

impl Place {
    /// Returns true if version `of mod count` begins here.
    pub fn is_version(self, of: Affine, count: u32, stride: i64) -> bool {
        match (self, Slot::of(of, count.into())) {
            (Self::Constant(offset), Known::Number(slot)) => {
                slot.as_constant().and_then(|slot| slot.checked_mul(stride)) == Some(offset)
            }
            (Self::Slot(slot), Known::Slot(wanted)) => slot.is(Slot {
                scale: stride,
                ..wanted
            }),
            _ => false,
        }
    }
}

impl<'c> Known<'c> {
    /// What is known of `value`, which is from before the loop.
    pub fn outside(plain: &Plain<'c>, value: Value<'c>) -> Self {
        let [lower, step] = [0, 2].map(|i| plain.around.operand(i));
        match plain.constant(value) {
            Some(constant) => Self::Number(Number::constant(constant)),
            None if value == lower => Self::Number(plain.bounds.lower),
            None if value == step => Self::Number(plain.bounds.step),
            None => Self::Outside(value),
        }
    }

    /// The number that this is, if it is one.
    pub fn as_number(self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns true if this is certainly `other`, in 64 bits.
    pub fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Instance(a, i), Self::Instance(b, j)) => a == b && i == j,
            (Self::Number(a), Self::Number(b)) => a.equals(b, 64),
            (Self::Slot(a), Self::Slot(b)) => a.is(b),
            (Self::Outside(a), Self::Outside(b)) => a == b,
            _ => false,
        }
    }
}

/// What is known of the loop where something is computed.
#[derive(Clone, Copy)]
pub(super) struct Skeleton<'a, 'c> {
    pub plain: &'a Plain<'c>,
    pub facts: Facts,
}

impl<'c> Skeleton<'_, 'c> {
    /// What `op` computes of `operands`; `None` if it is nothing that a skeleton has.
    pub fn compute(self, op: Op<'c>, operands: &[Known<'c>]) -> Option<Known<'c>> {
        if is_trip_count(self.plain.around, op.results().next()?) {
            return Some(Known::Number(Number::of(self.facts.trips())));
        }
        if let (arith::CMPI, &[a, b]) = (op.name(), operands)
            && let Some(known) = self.compare(predicate(op)?, a, b)
        {
            return Some(known);
        }
        let constants = operands.iter().map(|known| known.as_number()?.as_constant());
        if let Some(constants) = constants.collect::<Option<Vec<i64>>>() {
            let result = Computation::of(op)?.result(&constants)?;
            return Some(match op.name() {
                arith::CMPI => Known::Bool(result != 0),
                _ => Known::Number(Number::constant(result)),
            });
        }
        Some(match (op.name(), operands) {
            (arith::ADDI, &[a, b]) => sum(a, b),
            (arith::SUBI, &[Known::Number(a), Known::Number(b)]) => Known::Number(a.minus(b)),
            (arith::MULI, &[a, b]) => product(op, a, b),
            (arith::ANDI, &[a, b]) => masked(a, b.as_number()?.as_constant()?),
            (arith::SELECT, &[condition, yes, no]) => selected(condition, yes, no),
            (arith::INDEX_CASTUI, &[Known::Slot(slot)]) if slot.fits(op) => Known::Slot(slot),
            (arith::INDEX_CAST | arith::TRUNCI, &[Known::Number(number)]) => {
                number.as_affine().map_or(Known::Nothing, Known::LowBits)
            }
            (
                arith::ADDI
                | arith::SUBI
                | arith::MULI
                | arith::DIVUI
                | arith::ANDI
                | arith::SELECT
                | arith::CMPI
                | arith::INDEX_CAST
                | arith::INDEX_CASTUI
                | arith::TRUNCI,
                _,
            ) => Known::Nothing,
            _ => return None,
        })
    }

    /// A comparison of numbers of iterations, or of variables of iterations that exist, or of the one after.
    fn compare(self, predicate: Predicate, a: Known<'c>, b: Known<'c>) -> Option<Known<'c>> {
        if let (Predicate::Equal, Known::Slot(slot), Some(number)) = (predicate, a, b.as_number()) {
            let is_last = slot.plus == 1 && slot.scale == 1 && number.as_constant() == Some(slot.versions);
            return is_last.then_some(Known::Wraps(slot));
        }
        let (a, b) = (a.as_number()?, b.as_number()?);
        if predicate == Predicate::UnsignedGreater {
            let (a, b) = (a.as_affine()?, b.as_constant()?);
            let is_count = a == self.facts.trips() && b >= 0;
            return Some(Known::Bool(
                self.facts.is_less(Affine::constant(b), a).filter(|_| is_count)?,
            ));
        }
        let less = if is_unsigned(self.plain.around) {
            Predicate::UnsignedLess
        } else {
            Predicate::SignedLess
        };
        let [a, b] = [a, b].map(|number| {
            self.plain
                .bounds
                .iteration(number)
                .filter(|at| self.may_be_reached(*at))
        });
        let is_less = self.facts.is_less(a?, b?).filter(|_| predicate == less)?;
        Some(Known::Bool(is_less))
    }

    /// Whether the loop's variable in iteration `at`, or after the last one, is `at` steps after the first, without wrapping around.
    pub fn may_be_reached(self, at: Affine) -> bool {
        let is_after_last = || self.facts.is_less(self.facts.trips(), at);
        self.facts.is_negative(at) == Some(false) && is_after_last() == Some(false)
    }
}

fn is_unsigned(around: Op<'_>) -> bool {
    around.has_attr(attr::UNSIGNED_CMP)
}

fn sum<'c>(a: Known<'c>, b: Known<'c>) -> Known<'c> {
    match (a, b) {
        (Known::Number(a), Known::Number(b)) => Known::Number(a.plus(b)),
        (Known::Slot(slot), Known::Number(one)) if slot.scale == 1 && one.as_constant() == Some(1) => {
            Known::Slot(Slot {
                plus: slot.plus + 1,
                ..slot
            })
        }
        (Known::LowBits(of), Known::Number(more)) => {
            let more = more.as_constant();
            more.map_or(Known::Nothing, |more| Known::LowBits(of.plus(more)))
        }
        _ => Known::Nothing,
    }
}

fn product<'c>(op: Op<'c>, a: Known<'c>, b: Known<'c>) -> Known<'c> {
    match (a, b) {
        (Known::Number(a), Known::Number(b)) => a.times(b).map_or(Known::Nothing, Known::Number),
        (Known::Slot(slot), Known::Number(factor)) if slot.plus == 0 => {
            let scale = factor
                .as_constant()
                .and_then(|factor| slot.scale.checked_mul(factor));
            let scaled = scale.map(|scale| Slot { scale, ..slot });
            scaled
                .filter(|slot| slot.fits(op))
                .map_or(Known::Nothing, Known::Slot)
        }
        _ => Known::Nothing,
    }
}

/// The low bits of a number: a remainder, if `mask` has ones alone.
fn masked<'c>(a: Known<'c>, mask: i64) -> Known<'c> {
    let versions = mask + 1;
    if !(1..=1 << 31).contains(&versions) || !(versions.cast_unsigned()).is_power_of_two() {
        return Known::Nothing;
    }
    match a {
        Known::LowBits(of) => Slot::of(of, versions),
        Known::Number(number) => number
            .as_affine()
            .map_or(Known::Nothing, |of| Slot::of(of, versions)),
        Known::Slot(slot) if slot.versions == versions && slot.scale == 1 => {
            Slot::of(slot.of.plus(slot.plus), versions)
        }
        _ => Known::Nothing,
    }
}

fn selected<'c>(condition: Known<'c>, yes: Known<'c>, no: Known<'c>) -> Known<'c> {
    match condition {
        Known::Bool(true) => yes,
        Known::Bool(false) => no,
        Known::Wraps(slot) => {
            let is_first =
                no.is(Known::Slot(slot)) && yes.as_number().and_then(Number::as_constant) == Some(0);
            if is_first {
                Slot::of(slot.of.plus(1), slot.versions)
            } else {
                Known::Nothing
            }
        }
        _ => Known::Nothing,
    }
}

/// Returns true if `value` is computed as the number of iterations of `around`: `ceil((upper - lower) / step)`, or 0 if the upper bound is not
/// after the lower one.
fn is_trip_count<'c>(around: Op<'c>, value: Value<'c>) -> bool {
    let [lower, upper] = [0, 1].map(|i| around.operand(i));
    let Some(op) = value.defining_op() else {
        return false;
    };
    if !op.is(arith::SELECT) {
        let bounds = (lower.as_constant_int(), upper.as_constant_int());
        let runs = matches!(bounds, (Some(lower), Some(upper)) if !is_unsigned(around) && lower < upper);
        return runs && is_count(around, value);
    }
    let less = if is_unsigned(around) {
        Predicate::UnsignedLess
    } else {
        Predicate::SignedLess
    };
    let runs = op.operand(0).defining_op().is_some_and(|op| {
        op.is(arith::CMPI)
            && predicate(op) == Some(less)
            && is_same(op.operand(0), lower)
            && is_same(op.operand(1), upper)
    });
    runs && op.operand(2).as_constant_int() == Some(0) && is_count(around, op.operand(1))
}

/// Returns true if `value` is `ceil((upper - lower) / step)`.
fn is_count<'c>(around: Op<'c>, value: Value<'c>) -> bool {
    let step = around.operand(2);
    if step.as_constant_int() == Some(1) {
        return is_length(around, value);
    }
    let Some(quotient) = less_one(value, arith::ADDI) else {
        return false;
    };
    quotient.defining_op().is_some_and(|op| {
        op.is(arith::DIVUI) && is_same(op.operand(1), step) && is_before_last(around, op.operand(0))
    })
}

/// Returns true if `value` is `upper - lower - 1`.
fn is_before_last<'c>(around: Op<'c>, value: Value<'c>) -> bool {
    let [lower, upper] = [0, 1].map(|i| around.operand(i).as_constant_int());
    match (lower, upper, value.as_constant_int()) {
        (Some(lower), Some(upper), Some(constant)) => {
            // Computed as the machine does, in the bits of the type.
            let before_last = upper.wrapping_sub(lower).wrapping_sub(1);
            let bits = bits_of(value.ty()).unwrap_or(64);
            Number::constant(before_last).equals(Number::constant(constant), bits)
        }
        _ => less_one(value, arith::SUBI).is_some_and(|length| is_length(around, length)),
    }
}

/// Returns true if `value` is `upper - lower`.
fn is_length<'c>(around: Op<'c>, value: Value<'c>) -> bool {
    let [lower, upper] = [0, 1].map(|i| around.operand(i));
    lower.as_constant_int() == Some(0) && is_same(value, upper)
        || value.defining_op().is_some_and(|op| {
            op.is(arith::SUBI) && is_same(op.operand(0), upper) && is_same(op.operand(1), lower)
        })
}

/// What an operation of this name adds 1 to, or subtracts 1 from.
fn less_one<'c>(value: Value<'c>, name: &str) -> Option<Value<'c>> {
    let op = value.defining_op().filter(|op| op.is(name))?;
    (op.operand(1).as_constant_int() == Some(1)).then(|| op.operand(0))
}

fn is_same<'c>(a: Value<'c>, b: Value<'c>) -> bool {
    a == b || a.ty() == b.ty() && a.as_constant_int().is_some() && a.as_constant_int() == b.as_constant_int()
}
