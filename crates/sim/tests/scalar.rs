//! Arithmetic, where it is easy to get wrong.
#![allow(missing_docs)]

use async_sim::scalar::{IntPredicate, Scalar, ScalarError, eval, from_f64, to_f64};
use async_sim::value::Elem;

fn int(f: Scalar, width: u8, a: i64, b: i64) -> Result<u64, ScalarError> {
    let elem = Elem::Int(width);
    let bits = |value: i64| elem.wrap(value.cast_unsigned());
    eval(f, elem, [bits(a), bits(b), 0])
}

fn float(f: Scalar, elem: Elem, args: [f64; 3]) -> f64 {
    to_f64(
        elem,
        eval(f, elem, args.map(|arg| from_f64(elem, arg))).expect("a number"),
    )
}

#[test]
fn integers_wrap_at_their_width() {
    assert_eq!(int(Scalar::Add, 8, 127, 1), Ok(0x80));
    assert_eq!(int(Scalar::Mul, 32, 1 << 31, 2), Ok(0));
    assert_eq!(int(Scalar::Sub, 64, 0, 1), Ok(u64::MAX));
}

#[test]
fn divisions_round_as_their_names_say() {
    let quotients = |a, b| {
        [Scalar::DivS, Scalar::FloorDivS, Scalar::CeilDivS]
            .map(|f| int(f, 64, a, b).expect("a quotient").cast_signed())
    };
    assert_eq!(quotients(7, 2), [3, 3, 4]);
    assert_eq!(quotients(-7, 2), [-3, -4, -3]);
    assert_eq!(quotients(7, -2), [-3, -4, -3]);
    assert_eq!(quotients(-7, -2), [3, 3, 4]);
    assert_eq!(quotients(-6, 2), [-3, -3, -3]);
}

#[test]
fn what_is_not_defined_is_an_error() {
    assert_eq!(int(Scalar::DivU, 32, 1, 0), Err(ScalarError::DivisionByZero));
    assert_eq!(int(Scalar::DivS, 8, -128, -1), Err(ScalarError::Overflow));
    assert_eq!(int(Scalar::Shl, 8, 1, 8), Err(ScalarError::Shift));
}

#[test]
fn signs_count_in_signed_comparisons_alone() {
    let less = |predicate| int(Scalar::CmpI(predicate), 8, -1, 1);
    assert_eq!(less(IntPredicate::Slt), Ok(1));
    assert_eq!(less(IntPredicate::Ult), Ok(0));
}

#[test]
fn a_nan_is_unordered() {
    let compare = |predicate, x: f64, y: f64| {
        eval(
            Scalar::CmpF(predicate),
            Elem::F32,
            [x, y, 0.0].map(|x| from_f64(Elem::F32, x)),
        ) == Ok(1)
    };
    let all = |x, y| -> Vec<u8> { (0..16).filter(|&predicate| compare(predicate, x, y)).collect() };
    // oeq oge ole ord ueq uge ule true, and so on.
    assert_eq!(all(1.0, 1.0), [1, 3, 5, 7, 8, 10, 12, 15]);
    assert_eq!(all(1.0, 2.0), [4, 5, 6, 7, 11, 12, 13, 15]);
    assert_eq!(all(f64::NAN, 1.0), [8, 9, 10, 11, 12, 13, 14, 15]);
}

#[test]
fn results_are_rounded_to_their_type() {
    // 2048 + 1 is no half; ties go to even.
    assert!((float(Scalar::AddF, Elem::F16, [2048.0, 1.0, 0.0]) - 2048.0).abs() < f64::EPSILON);
    assert!((float(Scalar::AddF, Elem::F16, [2050.0, 1.0, 0.0]) - 2052.0).abs() < f64::EPSILON);
    assert!((float(Scalar::AddF, Elem::BF16, [256.0, 1.0, 0.0]) - 256.0).abs() < f64::EPSILON);
    assert!((float(Scalar::AddF, Elem::F32, [16_777_216.0, 1.0, 0.0]) - 16_777_216.0).abs() < f64::EPSILON);
    assert!(float(Scalar::MulF, Elem::F16, [256.0, 256.0, 0.0]).is_infinite());
}

#[test]
fn a_fused_multiply_add_rounds_once() {
    // (1 + 2^-12)^2 - 1 - 2^-11 is 2^-24: rounding the product first would lose it.
    let x = 1.0 + 2_f64.powi(-12);
    let fused = float(Scalar::Fma, Elem::F32, [x, x, -1.0 - 2_f64.powi(-11)]);
    assert!((fused - 2_f64.powi(-24)).abs() < f64::EPSILON * f64::EPSILON);
}
