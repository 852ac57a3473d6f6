//! Functions that LLVM calls where the processor has no instruction for an operation, and which the compiler's library of Debian 12
//! lacks: conversions to `bf16` (that of GCC has them since version 13).
//!
//! A `bf16` is returned in the register of an `f32`, whose lower half it is there.

/// Name and address of each.
pub fn symbols() -> [(&'static str, *const ()); 2] {
    [
        ("__truncsfbf2", truncate_f32 as *const ()),
        ("__truncdfbf2", truncate_f64 as *const ()),
    ]
}

extern "C" fn truncate_f32(value: f32) -> f32 {
    f32::from_bits(bf16(value).into())
}

extern "C" fn truncate_f64(value: f64) -> f32 {
    truncate_f32(to_odd(value))
}

/// The nearest number that has 8 bits of significand, of two the even one.
fn bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let upper = (bits >> 16).to_le_bytes();
    let truncated = u16::from_le_bytes([upper[0], upper[1]]);
    if value.is_nan() {
        // A quiet one, whatever the lower half has.
        return truncated | 0x40;
    }
    let half = 0x7fff + u32::from(truncated & 1);
    truncated + u16::from((bits & 0xffff) + half > 0xffff)
}

/// One of the two nearest numbers: `value` itself, or the one with an odd significand. Rounded once more, to fewer bits, it gives what
/// `value` does.
fn to_odd(value: f64) -> f32 {
    #[allow(clippy::cast_possible_truncation)] // It is what this is about.
    let nearest = value as f32;
    let bits = nearest.to_bits();
    let back = f64::from(nearest);
    #[allow(clippy::float_cmp)] // Exact.
    if value.is_nan() || back == value || bits & 1 == 1 {
        return nearest;
    }
    f32::from_bits(if back.abs() > value.abs() {
        bits - 1
    } else {
        bits + 1
    })
}

#[cfg(test)]
mod tests {
    use super::{bf16, to_odd};

    #[test]
    fn numbers_are_rounded_once_and_ties_to_even() {
        let one = f64::from(1u8);
        let ulp = 2f64.powi(-7);
        let tiny = 2f64.powi(-40);
        for (value, expected) in [
            (one, 0x3f80),
            (one + ulp / 2.0, 0x3f80),
            (one + ulp * 1.5, 0x3f82),
            // A tie, but for what an f32 does not have.
            (one + ulp / 2.0 + tiny, 0x3f81),
            (one + ulp * 1.5 - tiny, 0x3f81),
            (-one - ulp / 2.0 - tiny, 0xbf81),
            (0.0, 0),
            (-0.0, 0x8000),
            (f64::MAX, 0x7f80),
            (3.39e38, 0x7f7f),
            (3.4e38, 0x7f80),
            (f64::NEG_INFINITY, 0xff80),
            // Less than half of the smallest.
            (2f64.powi(-135), 0),
            (2f64.powi(-133), 1),
        ] {
            assert_eq!(bf16(to_odd(value)), expected, "{value:e}");
        }
        assert_eq!(bf16(f32::NAN) & 0x7fff, 0x7fc0);
        assert_eq!(bf16(f32::from_bits(0x7f80_0001)), 0x7fc0);
    }
}
