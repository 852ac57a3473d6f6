//! Rounding against a search among all numbers of the type.
#![allow(missing_docs)]

use async_sim::scalar::{Rounding, Scalar, eval, round, to_f64};
use async_sim::value::Elem;
use proptest::prelude::*;
use std::cmp::Ordering;

/// A number that is not negative: so many times two to the power of that.
type Exact = (u128, i32);

fn compare(a: Exact, b: Exact) -> Ordering {
    if a.0 == 0 || b.0 == 0 {
        return a.0.cmp(&b.0);
    }
    let leading = |x: Exact| x.0.ilog2().cast_signed() + x.1;
    let aligned = |x: Exact| x.0 << (x.1 - a.1.min(b.1));
    leading(a)
        .cmp(&leading(b))
        .then_with(|| aligned(a).cmp(&aligned(b)))
}

/// The bits of the fraction and of the exponent.
fn format(elem: Elem) -> (i32, i32) {
    match elem {
        Elem::F16 => (10, 5),
        Elem::BF16 => (7, 8),
        Elem::F32 => (23, 8),
        Elem::F8E4M3FN => (3, 4),
        Elem::F8E5M2 => (2, 5),
        Elem::F6E2M3FN => (3, 2),
        Elem::F6E3M2FN => (2, 3),
        Elem::F4E2M1FN => (1, 2),
        _ => (52, 11),
    }
}

/// The value of bits without a sign. Those of infinity get the number that would come after the finite ones.
fn decode(elem: Elem, bits: u64) -> Exact {
    let (fraction, exponent) = format(elem);
    let (biased, low) = (bits >> fraction, bits & ((1 << fraction) - 1));
    let normal = u64::from(biased > 0);
    let half = (1 << (exponent - 1)) - 1;
    let power = i32::try_from(biased.max(1)).expect("few bits") - half - fraction;
    (u128::from(low | normal << fraction), power)
}

/// Types of fewer than 8 bits, all of which are finite numbers.
const FINITE: [Elem; 3] = [Elem::F6E2M3FN, Elem::F6E3M2FN, Elem::F4E2M1FN];

/// The bits after those of the largest finite number; an f8E4M3FN has NaN there, and smaller types have nothing.
fn infinity(elem: Elem) -> u64 {
    let (fraction, exponent) = format(elem);
    if elem == Elem::F8E4M3FN {
        return 0x7f;
    }
    if FINITE.contains(&elem) {
        return 1 << (fraction + exponent);
    }
    ((1 << exponent) - 1) << fraction
}

/// The bits that a number is rounded to: those of one of the two numbers around it.
fn search(elem: Elem, negative: bool, value: Exact, rounding: Rounding) -> u64 {
    let (fraction, exponent) = format(elem);
    let sign = u64::from(negative) << (fraction + exponent);
    let (mut below, mut above) = (0, infinity(elem) + 1);
    while above - below > 1 {
        let middle = below.midpoint(above);
        if compare(decode(elem, middle), value).is_le() {
            below = middle;
        } else {
            above = middle;
        }
    }
    let (digits, power) = decode(elem, below);
    let outward = match rounding {
        Rounding::Downward => negative,
        Rounding::Upward => !negative,
        Rounding::TowardZero => false,
        Rounding::NearestEven | Rounding::NearestAway if below == infinity(elem) => true,
        Rounding::NearestEven => match compare(value, (2 * digits + 1, power - 1)) {
            Ordering::Equal => below % 2 == 1,
            order => order.is_gt(),
        },
        Rounding::NearestAway => compare(value, (2 * digits + 1, power - 1)).is_ge(),
    };
    let magnitude = if below == infinity(elem) {
        below - u64::from(!outward)
    } else {
        let inexact = compare((digits, power), value).is_lt();
        below + u64::from(inexact && outward)
    };
    if elem == Elem::F8E4M3FN && magnitude == infinity(elem) {
        return magnitude;
    }
    if FINITE.contains(&elem) {
        return sign | magnitude.min(infinity(elem) - 1);
    }
    sign | magnitude
}

fn exact(value: f64) -> Exact {
    decode(Elem::F64, value.abs().to_bits())
}

const HALVES: [Elem; 2] = [Elem::F16, Elem::BF16];

/// The bits of a half, or of a finite one instead.
fn finite(elem: Elem, bits: u16) -> u64 {
    let bits = u64::from(bits);
    if bits & 0x7fff < infinity(elem) {
        bits
    } else {
        bits ^ 0x4000
    }
}

fn halves() -> impl Strategy<Value = Elem> {
    proptest::sample::select(&HALVES)
}

fn narrow() -> impl Strategy<Value = Elem> {
    proptest::sample::select(&[
        Elem::F16,
        Elem::BF16,
        Elem::F32,
        Elem::F8E4M3FN,
        Elem::F8E5M2,
        Elem::F6E2M3FN,
        Elem::F6E3M2FN,
        Elem::F4E2M1FN,
    ])
}

fn roundings() -> impl Strategy<Value = Rounding> {
    proptest::sample::select(&Rounding::ALL)
}

/// Numbers near those of a type, and near the midpoints between them; few of all f64 are.
fn near(elem: Elem) -> impl Strategy<Value = f64> {
    (0..infinity(elem), 0..5_u32, -3..4_i64, any::<bool>()).prop_map(
        move |(bits, quarter, ulps, negative)| {
            let (digits, power) = decode(elem, bits);
            let digits = u32::try_from(digits).expect("few digits");
            let value = f64::from(4 * digits + quarter) * f64::from(power - 2).exp2();
            let moved = f64::from_bits(value.to_bits().saturating_add_signed(ulps));
            if negative { -moved } else { moved }
        },
    )
}

#[test]
fn halves_have_the_values_that_their_bits_say() {
    for elem in HALVES {
        for bits in 0..infinity(elem) {
            let value = to_f64(elem, bits);
            assert_eq!(
                compare(exact(value), decode(elem, bits)),
                Ordering::Equal,
                "{elem:?} {bits:#x}"
            );
            assert_eq!(to_f64(elem, bits | 0x8000).to_bits(), (-value).to_bits());
        }
        assert_eq!(to_f64(elem, infinity(elem)).to_bits(), f64::INFINITY.to_bits());
        assert!((infinity(elem) + 1..0x8000).all(|bits| to_f64(elem, bits).is_nan()));
    }
}

#[test]
fn floats_of_8_bits_have_the_values_that_their_bits_say() {
    for elem in [Elem::F8E4M3FN, Elem::F8E5M2] {
        for bits in 0..infinity(elem) {
            let value = to_f64(elem, bits);
            assert_eq!(
                compare(exact(value), decode(elem, bits)),
                Ordering::Equal,
                "{elem:?} {bits:#x}"
            );
            assert_eq!(to_f64(elem, bits | 0x80).to_bits(), (-value).to_bits());
            assert_eq!(round(elem, -value, Rounding::TowardZero), bits | 0x80);
        }
    }
    // The largest are 448 and 57344; what is more is NaN where there is no infinity.
    let nearest = |elem, value| round(elem, value, Rounding::NearestEven);
    assert_eq!(
        [448.0, 464.0, 465.0, f64::INFINITY].map(|x| nearest(Elem::F8E4M3FN, x)),
        [0x7e, 0x7e, 0x7f, 0x7f]
    );
    assert_eq!(round(Elem::F8E4M3FN, -1e9, Rounding::TowardZero), 0xfe);
    assert_eq!(
        [57344.0, 61440.0, f64::NAN].map(|x| nearest(Elem::F8E5M2, x)),
        [0x7b, 0x7c, 0x7e]
    );
    assert!(to_f64(Elem::F8E4M3FN, 0xff).is_nan());
}

/// The tables of "OCP Microscaling Formats (MX) Specification", 5.3.
#[test]
fn floats_of_4_and_6_bits_are_finite() {
    let positive = |elem: Elem| -> Vec<f64> { (0..infinity(elem)).map(|bits| to_f64(elem, bits)).collect() };
    assert_eq!(positive(Elem::F4E2M1FN), [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
    for (elem, smallest, largest) in [(Elem::F6E2M3FN, 0.125, 7.5), (Elem::F6E3M2FN, 0.0625, 28.0)] {
        let numbers = positive(elem);
        let bits = |ends: [f64; 2]| ends.map(f64::to_bits);
        assert_eq!(bits([numbers[1], numbers[31]]), bits([smallest, largest]));
    }
    for elem in FINITE {
        let largest = infinity(elem) - 1;
        let sign = infinity(elem);
        let nearest = |value| round(elem, value, Rounding::NearestEven);
        assert_eq!([1e9, f64::INFINITY, f64::NAN].map(nearest), [largest; 3]);
        assert_eq!([-1e9, f64::NEG_INFINITY].map(nearest), [sign | largest; 2]);
        for bits in 0..infinity(elem) {
            assert_eq!(
                to_f64(elem, sign | bits).to_bits(),
                (-to_f64(elem, bits)).to_bits()
            );
            assert_eq!(nearest(-to_f64(elem, bits)), sign | bits);
        }
    }
}

#[test]
fn scales_are_powers_of_two() {
    let scale = Elem::F8E8M0FNU;
    for bits in 0..0xFF_u64 {
        let value = (f64::from(u8::try_from(bits).expect("a byte")) - 127.0).exp2();
        assert_eq!(to_f64(scale, bits).to_bits(), value.to_bits());
        let towards = |factor: f64| Rounding::ALL.map(|rounding| round(scale, value * factor, rounding));
        assert_eq!(towards(1.0), [bits; 5]);
        // To nearest, down, up, to zero, away.
        assert_eq!(towards(1.25), [bits, bits, bits + 1, bits, bits]);
        assert_eq!(towards(1.5), [bits + 1, bits, bits + 1, bits, bits + 1]);
    }
    let nearest = |value| round(scale, value, Rounding::NearestEven);
    assert!(to_f64(scale, 0xFF).is_nan());
    assert_eq!([f64::NAN, f64::INFINITY, -1.0].map(nearest), [0xFF; 3]);
    assert_eq!(nearest(0.0), 0);
}

#[test]
fn a_number_of_the_type_stays_as_it_is() {
    for (elem, rounding) in HALVES
        .into_iter()
        .flat_map(|elem| Rounding::ALL.map(|rounding| (elem, rounding)))
    {
        for bits in (0..=infinity(elem)).chain(0x8000..=0x8000 | infinity(elem)) {
            assert_eq!(
                round(elem, to_f64(elem, bits), rounding),
                bits,
                "{elem:?} {rounding:?}"
            );
        }
        assert!(to_f64(elem, round(elem, f64::NAN, rounding)).is_nan());
    }
}

#[test]
fn what_is_too_large_or_small_goes_where_the_rounding_says() {
    use Rounding::{Downward, NearestAway, NearestEven, TowardZero, Upward};
    let f16 = |value, rounding| round(Elem::F16, value, rounding);
    // The largest f16 is 65504; 65520 is half way to what would come next.
    let all =
        |value| [NearestEven, Downward, Upward, TowardZero, NearestAway].map(|rounding| f16(value, rounding));
    assert_eq!(all(65519.0), [0x7bff, 0x7bff, 0x7c00, 0x7bff, 0x7bff]);
    assert_eq!(all(65520.0), [0x7c00, 0x7bff, 0x7c00, 0x7bff, 0x7c00]);
    assert_eq!(all(-1e300), [0xfc00, 0xfc00, 0xfbff, 0xfbff, 0xfc00]);
    assert_eq!(all(f64::INFINITY), [0x7c00; 5]);
    // The smallest is 2^-24.
    assert_eq!(all(2_f64.powi(-25)), [0, 0, 1, 0, 1]);
    assert_eq!(all(-2_f64.powi(-26)), [0x8000, 0x8001, 0x8000, 0x8000, 0x8000]);
    assert_eq!(all(f64::from_bits(1)), [0, 0, 1, 0, 0]);
    assert_eq!(all(-0.0), [0x8000; 5]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_number_is_rounded_to_the_right_half(elem in halves(), rounding in roundings(), bits: u64) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        let expected = search(elem, value.is_sign_negative(), exact(value), rounding);
        prop_assert_eq!(round(elem, value, rounding), expected);
    }

    #[test]
    fn a_number_between_two_of_the_type_is_rounded_to_the_right_one(
        (elem, value) in narrow().prop_flat_map(|elem| (Just(elem), near(elem))),
        rounding in roundings(),
    ) {
        let expected = search(elem, value.is_sign_negative(), exact(value), rounding);
        prop_assert_eq!(round(elem, value, rounding), expected);
    }

    #[test]
    #[allow(clippy::cast_possible_truncation)] // That is what is compared with.
    fn single_precision_is_rounded_as_the_host_does(near in near(Elem::F32), bits: u64) {
        for value in [near, f64::from_bits(bits)] {
            let ours = round(Elem::F32, value, Rounding::NearestEven);
            prop_assert!(value.is_nan() || ours == u64::from((value as f32).to_bits()));
        }
    }

    #[test]
    fn an_integer_of_any_width_is_rounded_once(bits: u64, width in 1..=64_u8, zeros in 0..64_u32) {
        // With a row of zeros, so that it is often close to a midpoint.
        let low = u64::from(bits & (1 << 63) != 0);
        let bits = Elem::Int(width).wrap((bits >> zeros << zeros) | low);
        let signed = async_sim::scalar::signed(width, bits);
        for elem in [Elem::F16, Elem::BF16, Elem::F32, Elem::F64] {
            let round = |negative, magnitude: u64| {
                Ok(Some(search(elem, negative, (magnitude.into(), 0), Rounding::NearestEven)))
            };
            prop_assert_eq!(eval(Scalar::FromUInt, elem, [bits, 0, 0]), round(false, bits));
            let expected = round(signed < 0, signed.unsigned_abs());
            prop_assert_eq!(eval(Scalar::FromInt(width), elem, [bits, 0, 0]), expected);
        }
    }

    #[test]
    fn a_fused_multiply_add_of_halves_rounds_once(
        elem in halves(),
        x: u16,
        y: u16,
        z: u16,
        small: bool,
        nearly in 0..40_u16,
    ) {
        // Of bf16, exponents that 128 bits are enough for: around 1, or where sums are subnormal.
        let clip = |bits: u16, least: u16, range: u16| {
            bits & 0x807f | (least + (bits >> 7 & 0xff) % range) << 7
        };
        let (x, y, z) = match (elem, small) {
            (Elem::F16, _) => (x, y, z),
            (_, false) => (clip(x, 107, nearly + 1), clip(y, 107, 40), clip(z, 90, 90)),
            (_, true) => (clip(x, 50, nearly + 1), clip(y, 46, 40), clip(z, 0, 50)),
        };
        let [x, y, z] = [x, y, z].map(|bits| finite(elem, bits));
        let [a, b, c] = [x, y, z].map(|bits| decode(elem, bits & 0x7fff));
        let [p, q, r] = [x, y, z].map(|bits| bits & 0x8000 != 0);
        let unit = (a.1 + b.1).min(c.1);
        let with_sign = |negative: bool, (digits, power): Exact| {
            let digits = (digits << (power - unit)).cast_signed();
            if negative { -digits } else { digits }
        };
        let sum = with_sign(p != q, (a.0 * b.0, a.1 + b.1)) + with_sign(r, c);
        let negative = if sum == 0 { p != q && r } else { sum < 0 };
        let expected = search(elem, negative, (sum.unsigned_abs(), unit), Rounding::NearestEven);
        prop_assert_eq!(eval(Scalar::Fma, elem, [x, y, z]), Ok(Some(expected)));
    }

    #[test]
    fn what_two_halves_make_is_rounded_once(elem in halves(), x: u16, y: u16) {
        let (x, y) = (finite(elem, x), finite(elem, y.max(1)));
        prop_assume!(y != 0x8000);
        let ((a, e), (b, f)) = (decode(elem, x & 0x7fff), decode(elem, y & 0x7fff));
        let negative = (x ^ y) & 0x8000 != 0;
        let product = search(elem, negative, (a * b, e + f), Rounding::NearestEven);
        prop_assert_eq!(eval(Scalar::MulF, elem, [x, y, 0]), Ok(Some(product)));
        // A last bit stands for what the division leaves over.
        let quotient = ((a << 64) / b) | u128::from((a << 64) % b != 0);
        let quotient = search(elem, negative, (quotient, e - f - 64), Rounding::NearestEven);
        prop_assert_eq!(eval(Scalar::DivF, elem, [x, y, 0]), Ok(Some(quotient)));
    }

    #[test]
    #[allow(clippy::cast_possible_truncation)] // 32 bits.
    fn single_precision_computes_as_the_host_does(x: u32, y: u32, close in -40..40_i32) {
        // Any other number, and one whose exponent is close enough for sums to be inexact.
        let others = [y, y & 0x807f_ffff | x.wrapping_add_signed(close << 23) & 0x7f80_0000];
        for y in others {
            let (a, b) = (f32::from_bits(x), f32::from_bits(y));
            let root = Scalar::Math(async_sim::scalar::Math::Sqrt);
            for (f, expected) in [
                (Scalar::AddF, a + b),
                (Scalar::SubF, a - b),
                (Scalar::MulF, a * b),
                (Scalar::DivF, a / b),
                (Scalar::RemF, a % b),
                (root, a.sqrt()),
            ] {
                let bits = eval(f, Elem::F32, [x.into(), y.into(), 0]).unwrap().unwrap();
                let computed = f32::from_bits(bits as u32);
                let same = computed.to_bits() == expected.to_bits() || computed.is_nan() && expected.is_nan();
                prop_assert!(same, "{f:?} of {a:e} and {b:e} is {expected:e}, not {computed:e}");
            }
        }
    }
}
