//! Floating-point arithmetic and conversions, where it is easy to get wrong.
#![allow(missing_docs)]

use async_sim::scalar::{Class, Math, Rounding, Scalar, eval, from_f64, to_f64};
use async_sim::value::Elem;

const FLOATS: [Elem; 4] = [Elem::F16, Elem::BF16, Elem::F32, Elem::F64];

fn float(f: Scalar, elem: Elem, args: [f64; 3]) -> f64 {
    let args = args.map(|arg| from_f64(elem, arg));
    to_f64(elem, eval(f, elem, args).expect("defined").expect("a number"))
}

/// `f` of numbers, to a type that is not theirs.
fn convert(f: Scalar, to: Elem, bits: u64) -> Option<u64> {
    eval(f, to, [bits, 0, 0]).expect("defined")
}

fn narrowed(from: Elem, to: Elem, value: f64) -> f64 {
    let f = Scalar::Convert(from, Rounding::NearestEven);
    to_f64(to, convert(f, to, from_f64(from, value)).expect("a number"))
}

/// Numbers are equal, and zeros have the same sign.
#[track_caller]
fn same(x: f64, y: f64) {
    assert!(
        x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
        "{x} and {y}"
    );
}

#[test]
fn a_number_that_does_not_fit_an_integer_is_poison() {
    let to = |f: fn(Elem) -> Scalar, elem, width, value| {
        convert(f(elem), Elem::Int(width), from_f64(elem, value)).map(u64::cast_signed)
    };
    for elem in FLOATS {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(to(Scalar::ToInt, elem, 64, value), None);
            assert_eq!(to(Scalar::ToUInt, elem, 64, value), None);
        }
        assert_eq!(to(Scalar::ToInt, elem, 8, 127.5), Some(127));
        assert_eq!(to(Scalar::ToInt, elem, 8, 128.0), None);
        assert_eq!(to(Scalar::ToInt, elem, 8, -128.0), Some(0x80));
        assert_eq!(to(Scalar::ToInt, elem, 8, -130.0), None);
        assert_eq!(to(Scalar::ToUInt, elem, 8, 255.0), Some(255));
        assert_eq!(to(Scalar::ToUInt, elem, 8, 256.0), None);
        assert_eq!(to(Scalar::ToUInt, elem, 8, -0.75), Some(0));
        assert_eq!(to(Scalar::ToUInt, elem, 8, -1.0), None);
    }
    let size = 2_f64.powi(63);
    assert_eq!(to(Scalar::ToInt, Elem::F32, 64, -size), Some(i64::MIN));
    assert_eq!(to(Scalar::ToInt, Elem::F32, 64, size), None);
    assert_eq!(to(Scalar::ToUInt, Elem::F32, 64, size), Some(i64::MIN));
    assert_eq!(to(Scalar::ToUInt, Elem::F64, 64, 2.0 * size), None);
    assert_eq!(
        to(Scalar::ToInt, Elem::F64, 32, 2_147_483_647.9),
        Some(0x7fff_ffff)
    );
}

#[test]
fn a_nan_is_unordered() {
    let compare = |predicate, x: f64, y: f64| {
        let bits = [x, y, 0.0].map(|x| from_f64(Elem::F32, x));
        eval(Scalar::CmpF(predicate), Elem::F32, bits) == Ok(Some(1))
    };
    let all = |x, y| -> Vec<u8> { (0..16).filter(|&predicate| compare(predicate, x, y)).collect() };
    // oeq oge ole ord ueq uge ule true, and so on.
    assert_eq!(all(1.0, 1.0), [1, 3, 5, 7, 8, 10, 12, 15]);
    assert_eq!(all(1.0, 2.0), [4, 5, 6, 7, 11, 12, 13, 15]);
    assert_eq!(all(f64::NAN, 1.0), [8, 9, 10, 11, 12, 13, 14, 15]);
}

#[test]
fn numbers_are_classified_by_their_type() {
    let is = |class, elem, value| {
        let bits = [from_f64(elem, value), 0, 0];
        eval(Scalar::Is(class), elem, bits) == Ok(Some(1))
    };
    for elem in FLOATS {
        let classes = |value| {
            [Class::Finite, Class::Infinite, Class::Nan, Class::Normal].map(|class| is(class, elem, value))
        };
        assert_eq!(classes(-1.0), [true, false, false, true]);
        assert_eq!(classes(-0.0), [true, false, false, false]);
        assert_eq!(classes(f64::NEG_INFINITY), [false, true, false, false]);
        assert_eq!(classes(f64::NAN), [false, false, true, false]);
    }
    // The smallest normal f16 is 2^-14.
    assert!(is(Class::Normal, Elem::F16, 2_f64.powi(-14)));
    assert!(!is(Class::Normal, Elem::F16, 2_f64.powi(-15)));
    assert!(is(Class::Normal, Elem::BF16, 2_f64.powi(-15)));
}

#[test]
fn results_are_rounded_to_their_type() {
    // 2048 + 1 is no half; ties go to even.
    same(float(Scalar::AddF, Elem::F16, [2048.0, 1.0, 0.0]), 2048.0);
    same(float(Scalar::AddF, Elem::F16, [2050.0, 1.0, 0.0]), 2052.0);
    same(float(Scalar::AddF, Elem::BF16, [256.0, 1.0, 0.0]), 256.0);
    let large = 16_777_216.0;
    same(float(Scalar::AddF, Elem::F32, [large, 1.0, 0.0]), large);
    same(float(Scalar::MulF, Elem::F16, [256.0, 256.0, 0.0]), f64::INFINITY);
}

#[test]
fn low_bits_of_a_wide_number_decide_a_tie() {
    let power = |n| 2_f64.powi(n);
    same(
        narrowed(Elem::F32, Elem::BF16, 1.0 + power(-8) + power(-21)),
        1.007_812_5,
    );
    same(
        narrowed(Elem::F64, Elem::BF16, 1.0 + power(-8) + power(-40)),
        1.007_812_5,
    );
    same(
        narrowed(Elem::F64, Elem::F16, 1.0 + power(-11) + power(-40)),
        1.000_976_562_5,
    );
    // Without them it goes to even.
    same(narrowed(Elem::F32, Elem::BF16, 1.0 + power(-8)), 1.0);
    same(narrowed(Elem::F64, Elem::F16, 1.0 + power(-11)), 1.0);
}

#[test]
fn truncation_rounds_as_it_is_told() {
    let all = |value| {
        Rounding::ALL.map(|rounding| {
            let f = Scalar::Convert(Elem::F32, rounding);
            let bits = convert(f, Elem::BF16, from_f64(Elem::F32, value));
            to_f64(Elem::BF16, bits.expect("a number"))
        })
    };
    // To nearest even, down, up, toward zero, to nearest away; a bf16 has steps of 2 here.
    assert_eq!(
        all(257.0).map(f64::to_bits),
        [256.0, 256.0, 258.0, 256.0, 258.0].map(f64::to_bits)
    );
    assert_eq!(
        all(-257.0).map(f64::to_bits),
        [-256.0, -258.0, -256.0, -256.0, -258.0].map(f64::to_bits)
    );
    assert_eq!(
        all(256.5).map(f64::to_bits),
        [256.0, 256.0, 258.0, 256.0, 256.0].map(f64::to_bits)
    );
}

#[test]
fn a_nan_stays_one_and_a_zero_keeps_its_sign() {
    for (from, to) in FLOATS.into_iter().flat_map(|from| FLOATS.map(|to| (from, to))) {
        assert!(narrowed(from, to, f64::NAN).is_nan());
        same(narrowed(from, to, -0.0), -0.0);
        same(narrowed(from, to, f64::NEG_INFINITY), f64::NEG_INFINITY);
    }
    // A NaN whose payload is in the bits that a bf16 does not have.
    let f = Scalar::Convert(Elem::F32, Rounding::NearestEven);
    assert_eq!(convert(f, Elem::BF16, 0x7f80_0001), Some(0x7fc0));
}

#[test]
fn bits_that_are_cast_stay_as_they_are() {
    for (elem, to, bits) in [
        (Elem::F32, Elem::Int(32), 0xffa0_0001),
        (Elem::Int(32), Elem::F32, 0xffa0_0001),
        (Elem::F16, Elem::BF16, 0xfc01),
        (Elem::Int(64), Elem::F64, 0xfff0_0000_0000_0001),
    ] {
        assert_eq!(convert(Scalar::ZeroExtend, to, bits), Some(bits), "{elem:?}");
    }
    // Nor does a sign change the rest of a signaling NaN.
    assert_eq!(convert(Scalar::NegF, Elem::F32, 0x7fa0_0001), Some(0xffa0_0001));
    assert_eq!(
        convert(Scalar::Math(Math::Abs), Elem::F32, 0xffa0_0001),
        Some(0x7fa0_0001)
    );
    let signs = eval(Scalar::CopySign, Elem::F16, [0x7c01, 0x8000, 0]);
    assert_eq!(signs, Ok(Some(0xfc01)));
}

#[test]
fn an_integer_is_rounded_once() {
    // Rounding to an f64 first would make a tie of it.
    let bits = (1 << 60) + (1 << 36) + 1;
    let expected = Some(from_f64(Elem::F32, 2_f64.powi(60) + 2_f64.powi(37)));
    assert_eq!(convert(Scalar::FromInt(64), Elem::F32, bits), expected);
    assert_eq!(convert(Scalar::FromUInt, Elem::F32, bits), expected);
    assert_eq!(convert(Scalar::FromUInt, Elem::F16, u64::MAX), Some(0x7c00));
    assert_eq!(convert(Scalar::FromInt(64), Elem::F16, u64::MAX), Some(0xbc00));
}

#[test]
fn a_fused_multiply_add_rounds_once() {
    // (1 + 2^-12)^2 - 1 - 2^-11 is 2^-24: rounding the product first would lose it.
    let x = 1.0 + 2_f64.powi(-12);
    same(
        float(Scalar::Fma, Elem::F32, [x, x, -1.0 - 2_f64.powi(-11)]),
        2_f64.powi(-24),
    );
    // 387 is a tie, and a little less is not.
    same(float(Scalar::Fma, Elem::BF16, [129.0, 3.0, -1e-30]), 386.0);
    same(float(Scalar::Fma, Elem::BF16, [129.0, 3.0, 0.0]), 388.0);
    same(float(Scalar::Fma, Elem::BF16, [-129.0, 3.0, 1e-30]), -386.0);
    same(
        float(Scalar::Fma, Elem::F64, [1e300, 1e300, f64::NEG_INFINITY]),
        f64::NEG_INFINITY,
    );
    same(float(Scalar::Fma, Elem::F16, [1.0, -1.0, 1.0]), 0.0);
    same(float(Scalar::Fma, Elem::F16, [0.0, -1.0, -0.0]), -0.0);
    same(
        float(Scalar::Fma, Elem::BF16, [f64::INFINITY, 0.0, 1.0]),
        f64::NAN,
    );
}

#[test]
fn minima_and_maxima_order_zeros_and_see_to_nans() {
    for elem in FLOATS {
        let of = |f, x, y| float(f, elem, [x, y, 0.0]);
        for (x, y) in [(0.0, -0.0), (-0.0, 0.0)] {
            same(of(Scalar::MinF, x, y), -0.0);
            same(of(Scalar::MinNumF, x, y), -0.0);
            same(of(Scalar::MaxF, x, y), 0.0);
            same(of(Scalar::MaxNumF, x, y), 0.0);
        }
        for (x, y) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
            same(of(Scalar::MinF, x, y), f64::NAN);
            same(of(Scalar::MaxF, x, y), f64::NAN);
            same(of(Scalar::MinNumF, x, y), 1.0);
            same(of(Scalar::MaxNumF, x, y), 1.0);
        }
        same(of(Scalar::MinF, -2.0, 1.0), -2.0);
        same(of(Scalar::MaxNumF, -2.0, 1.0), 1.0);
        same(of(Scalar::MaxNumF, f64::NAN, f64::NAN), f64::NAN);
    }
}

#[test]
fn a_number_is_clamped_to_a_range() {
    let clamp = |x, low, high| float(Scalar::Clamp, Elem::F32, [x, low, high]);
    same(clamp(0.5, 0.0, 1.0), 0.5);
    same(clamp(-3.0, 0.0, 1.0), 0.0);
    same(clamp(3.0, 0.0, 1.0), 1.0);
    same(clamp(f64::NAN, 0.0, 1.0), f64::NAN);
    let bits = [0.5, 1.0, 0.0].map(|x| from_f64(Elem::F32, x));
    assert_eq!(eval(Scalar::Clamp, Elem::F32, bits), Ok(None));
}

#[test]
fn functions_are_those_of_their_names() {
    let of = |math, x| float(Scalar::Math(math), Elem::F64, [x, 0.0, 0.0]);
    let (round, even, truncate) = (Math::Round, Math::RoundEven, Math::Trunc);
    assert_eq!(
        [round, even, truncate].map(|f| of(f, 2.5).to_bits()),
        [3.0, 2.0, 2.0].map(f64::to_bits)
    );
    assert_eq!(
        [round, even, truncate].map(|f| of(f, -0.5).to_bits()),
        [-1.0, -0.0, -0.0].map(f64::to_bits)
    );
    let about = |math, x, y: f64| assert!((of(math, x) - y).abs() < 1e-15, "{math:?}");
    about(Math::Erf, 0.5, 0.520_499_877_813_046_5);
    about(Math::Erfc, 0.5, 0.479_500_122_186_953_5);
    about(Math::Cbrt, -8.0, -2.0);
    about(Math::Log10, 1000.0, 3.0);
    about(Math::Log1p, 1e-10, 9.999_999_999_5e-11);
    about(Math::ExpM1, 1e-10, 1.000_000_000_05e-10);
    about(Math::Atan, 1.0, std::f64::consts::FRAC_PI_4);
    let power = |x, n: i64| {
        let args = [from_f64(Elem::F32, x), Elem::Int(8).wrap(n.cast_unsigned()), 0];
        to_f64(
            Elem::F32,
            eval(Scalar::PowFI(8), Elem::F32, args).unwrap().unwrap(),
        )
    };
    same(power(-2.0, 3), -8.0);
    same(power(-2.0, -2), 0.25);
    same(power(-0.0, -1), f64::NEG_INFINITY);
    same(float(Scalar::PowF, Elem::F16, [-2.0, 3.0, 0.0]), -8.0);
    same(
        float(Scalar::Atan2, Elem::F64, [-0.0, -1.0, 0.0]),
        -std::f64::consts::PI,
    );
}
