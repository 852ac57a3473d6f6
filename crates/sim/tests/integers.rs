//! Integer arithmetic, where it is easy to get wrong.
#![allow(missing_docs)]

use async_sim::scalar::{IntPredicate, Scalar, ScalarError, eval};
use async_sim::value::Elem;

fn int(f: Scalar, width: u8, a: i64, b: i64) -> Result<Option<u64>, ScalarError> {
    let elem = Elem::Int(width);
    let bits = |value: i64| elem.wrap(value.cast_unsigned());
    eval(f, elem, [bits(a), bits(b), 0])
}

#[test]
fn integers_wrap_at_their_width() {
    assert_eq!(int(Scalar::Add, 8, 127, 1), Ok(Some(0x80)));
    assert_eq!(int(Scalar::Mul, 32, 1 << 31, 2), Ok(Some(0)));
    assert_eq!(int(Scalar::Sub, 64, 0, 1), Ok(Some(u64::MAX)));
    assert_eq!(int(Scalar::AbsI, 8, -128, 0), Ok(Some(0x80)));
    assert_eq!(int(Scalar::PowI, 8, -3, 5), Ok(Some(13))); // -243
}

#[test]
fn divisions_round_as_their_names_say() {
    let quotients = |a, b| {
        [Scalar::DivS, Scalar::FloorDivS, Scalar::CeilDivS].map(|f| {
            let quotient = int(f, 64, a, b).expect("defined").expect("a quotient");
            quotient.cast_signed()
        })
    };
    assert_eq!(quotients(7, 2), [3, 3, 4]);
    assert_eq!(quotients(-7, 2), [-3, -4, -3]);
    assert_eq!(quotients(7, -2), [-3, -4, -3]);
    assert_eq!(quotients(-7, -2), [3, 3, 4]);
    assert_eq!(quotients(-6, 2), [-3, -3, -3]);
    // Nor does it matter that the smallest number can't be negated.
    assert_eq!(quotients(i64::MIN, 1), [i64::MIN; 3]);
    assert_eq!(quotients(i64::MIN, 2), [i64::MIN / 2; 3]);
    assert_eq!(
        quotients(i64::MIN, 3),
        [i64::MIN / 3, i64::MIN / 3 - 1, i64::MIN / 3]
    );
    assert_eq!(quotients(i64::MIN, i64::MIN), [1; 3]);
    assert_eq!(quotients(i64::MAX, i64::MIN), [0, -1, 0]);
    assert_eq!(quotients(-1, i64::MIN), [0, 0, 1]);
}

#[test]
fn undefined_behaviour_is_an_error() {
    for f in [Scalar::DivU, Scalar::RemU, Scalar::CeilDivU] {
        assert_eq!(int(f, 32, 1, 0), Err(ScalarError::DivisionByZero));
    }
    for f in [Scalar::DivS, Scalar::RemS, Scalar::CeilDivS, Scalar::FloorDivS] {
        assert_eq!(int(f, 32, 1, 0), Err(ScalarError::DivisionByZero));
        assert_eq!(int(f, 64, i64::MIN, -1), Err(ScalarError::Overflow));
        assert_eq!(int(f, 8, -128, -1), Err(ScalarError::Overflow));
        // An i1 is 0 or -1.
        assert_eq!(int(f, 1, -1, -1), Err(ScalarError::Overflow));
    }
    assert_eq!(int(Scalar::PowI, 32, 0, -1), Err(ScalarError::DivisionByZero));
}

#[test]
fn a_shift_by_the_width_or_more_is_poison() {
    for f in [Scalar::Shl, Scalar::ShrS, Scalar::ShrU] {
        assert_eq!(int(f, 8, 1, 8), Ok(None));
        assert_eq!(int(f, 64, 1, 64), Ok(None));
        assert_eq!(int(f, 64, 1, -1), Ok(None));
        assert!(matches!(int(f, 8, 1, 7), Ok(Some(_))));
    }
}

#[test]
fn signs_count_in_signed_comparisons_alone() {
    let less = |predicate| int(Scalar::CmpI(predicate), 8, -1, 1);
    assert_eq!(less(IntPredicate::Slt), Ok(Some(1)));
    assert_eq!(less(IntPredicate::Ult), Ok(Some(0)));
}

#[test]
fn predicates_have_names() {
    assert_eq!(IntPredicate::from_name("eq"), Some(IntPredicate::Eq));
    assert_eq!(IntPredicate::from_name("sge"), Some(IntPredicate::Sge));
    assert_eq!(IntPredicate::from_name("uge"), Some(IntPredicate::Uge));
    assert_eq!(IntPredicate::from_name("oeq"), None);
}

/// `f` of integers, from its definition; `None` where there is no result.
fn by_definition(f: Scalar, width: u8, a: i128, b: i128) -> Option<i128> {
    let size = 1_i128 << width;
    let unsigned = |x: i128| x.rem_euclid(size);
    let (ua, ub) = (unsigned(a), unsigned(b));
    let some = |cond: bool, result: fn(i128, i128) -> i128| cond.then(|| result(a, b));
    let defined = b != 0 && !(a == -size / 2 && b == -1);
    // The remainder of a division that rounds down has the sign of the divisor.
    let floor = |a: i128, b: i128| (a - ((a % b) + b) % b) / b;
    match f {
        Scalar::Add => Some(a + b),
        Scalar::Sub => Some(a - b),
        Scalar::Mul => Some(a * b),
        Scalar::DivS => some(defined, |a, b| a / b),
        Scalar::RemS => some(defined, |a, b| a % b),
        Scalar::FloorDivS => defined.then(|| floor(a, b)),
        Scalar::CeilDivS => defined.then(|| -floor(-a, b)),
        Scalar::DivU => (b != 0).then(|| ua / ub),
        Scalar::RemU => (b != 0).then(|| ua % ub),
        Scalar::CeilDivU => (b != 0).then(|| -floor(-ua, ub)),
        Scalar::And => Some(a & b),
        Scalar::Or => Some(a | b),
        Scalar::Xor => Some(a ^ b),
        Scalar::Shl => (ub < width.into()).then(|| a << ub),
        Scalar::ShrS => (ub < width.into()).then(|| a >> ub),
        Scalar::ShrU => (ub < width.into()).then(|| ua >> ub),
        Scalar::MinS => Some(a.min(b)),
        Scalar::MaxS => Some(a.max(b)),
        Scalar::MinU => Some(ua.min(ub)),
        Scalar::MaxU => Some(ua.max(ub)),
        Scalar::AbsI => Some(a.abs()),
        Scalar::CtPop => Some((0..width).map(|i| ua >> i & 1).sum()),
        Scalar::CtLz => Some((0..width).take_while(|i| ua >> (width - 1 - i) & 1 == 0).count() as i128),
        Scalar::CtTz => Some((0..width).take_while(|i| ua >> i & 1 == 0).count() as i128),
        Scalar::PowI if b >= 0 => Some((0..b).fold(1, |power, _| power * a % size)),
        Scalar::PowI => (a != 0).then(|| {
            if a.abs() == 1 {
                a.pow(ub.rem_euclid(2).try_into().unwrap())
            } else {
                0
            }
        }),
        _ => unreachable!("not one of the functions below"),
    }
}

#[test]
fn integers_of_few_bits_are_as_defined() {
    use Scalar::{
        AbsI, Add, And, CeilDivS, CeilDivU, CtLz, CtPop, CtTz, DivS, DivU, FloorDivS, MaxS, MaxU, MinS, MinU,
        Mul, Or, PowI, RemS, RemU, Shl, ShrS, ShrU, Sub, Xor,
    };
    let functions = [
        AbsI, Add, And, CeilDivS, CeilDivU, CtLz, CtPop, CtTz, DivS, DivU, FloorDivS, MaxS, MaxU, MinS, MinU,
        Mul, Or, PowI, RemS, RemU, Shl, ShrS, ShrU, Sub, Xor,
    ];
    for width in 1..=5_u8 {
        let elem = Elem::Int(width);
        let half = 1_i64 << (width - 1);
        for (a, b) in (-half..half).flat_map(|a| (-half..half).map(move |b| (a, b))) {
            for f in functions {
                let expected = by_definition(f, width, a.into(), b.into());
                let expected =
                    expected.map(|x| elem.wrap(i64::try_from(x).expect("a small number").cast_unsigned()));
                let computed = int(f, width, a, b).ok().flatten();
                assert_eq!(computed, expected, "{f:?} of {a} and {b}, i{width}");
            }
        }
    }
}
