//! What `gpu.printf` prints: text and numbers, as C formats them.

use super::Reg;
use crate::scalar::{signed, to_f64};
use crate::value::Elem;
use serde::{Deserialize, Serialize};

/// A part of what is printed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Piece {
    /// Text.
    Text(String),
    /// A number.
    Number {
        /// Where it is.
        value: Reg,
        /// Its type.
        elem: Elem,
        /// How it is written.
        spec: Spec,
    },
}

/// A conversion specification, such as `%-8.3f`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // C has as many flags.
pub struct Spec {
    /// `-`: what fills the width comes after the number.
    pub left: bool,
    /// `+`: positive numbers have a sign.
    pub plus: bool,
    /// ` `: positive numbers have a space for it.
    pub space: bool,
    /// `0`: zeros fill the width.
    pub zeros: bool,
    /// `#`: `0x` before hexadecimal numbers.
    pub alternate: bool,
    /// The least that is written.
    pub width: usize,
    /// The digits: after the point, or at least, or of all.
    pub precision: Option<usize>,
    /// One of `d`, `u`, `x`, `X`, `o`, `c`, `f`, `e`, `g` and the latter's capitals.
    pub conversion: char,
}

impl Spec {
    /// Returns true if it writes numbers of this type.
    #[must_use]
    pub fn takes(&self, elem: Elem) -> bool {
        matches!(self.conversion.to_ascii_lowercase(), 'f' | 'e' | 'g') == elem.is_float()
    }

    /// Writes a number.
    #[must_use]
    pub fn format(&self, elem: Elem, bits: u64) -> String {
        if self.conversion == 'c' {
            let text = char::from(bits.to_le_bytes()[0]).to_string();
            return self.pad("", &text, false);
        }
        let (negative, digits) = match elem {
            Elem::Int(width) if self.conversion == 'd' => {
                // A truth value has no sign.
                let number = if width == 1 {
                    bits.cast_signed()
                } else {
                    signed(width, bits)
                };
                (number < 0, self.digits(number.unsigned_abs()))
            }
            Elem::Int(_) => (false, self.digits(bits)),
            _ => {
                let number = to_f64(elem, bits);
                (
                    number.is_sign_negative() && !number.is_nan(),
                    self.float(number.abs()),
                )
            }
        };
        let has_sign = elem.is_float() || self.conversion == 'd';
        let sign = match (negative, has_sign) {
            (true, _) => "-",
            (false, true) if self.plus => "+",
            (false, true) if self.space => " ",
            _ => "",
        };
        // Of integers, a precision says how many zeros there are.
        let is_finite = digits.starts_with(|first: char| first.is_ascii_hexdigit());
        let zeros = self.zeros && is_finite && (elem.is_float() || self.precision.is_none());
        let prefix = match (self.alternate && bits != 0, self.conversion) {
            (true, 'x') => "0x",
            (true, 'X') => "0X",
            (true, 'o') => "0",
            _ => sign,
        };
        self.pad(prefix, &digits, zeros)
    }

    fn digits(&self, number: u64) -> String {
        let digits = match self.conversion {
            'x' => format!("{number:x}"),
            'X' => format!("{number:X}"),
            'o' => format!("{number:o}"),
            _ => number.to_string(),
        };
        let least = self.precision.unwrap_or(1);
        if number == 0 && least == 0 {
            return String::new();
        }
        format!("{digits:0>least$}")
    }

    fn float(&self, number: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let text = if number.is_nan() {
            "nan".to_owned()
        } else if number.is_infinite() {
            "inf".to_owned()
        } else {
            match self.conversion.to_ascii_lowercase() {
                'f' => format!("{number:.precision$}"),
                'e' => scientific(number, precision),
                _ => self.shorter(number, precision.max(1)),
            }
        };
        if self.conversion.is_ascii_uppercase() {
            text.to_ascii_uppercase()
        } else {
            text
        }
    }

    /// `%g`: so many digits, with an exponent if that is shorter, and without zeros at the end.
    fn shorter(&self, number: f64, digits: usize) -> String {
        let text = scientific(number, digits - 1);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i64 = exponent.parse().unwrap_or(0);
        let trim = |text: &str| {
            if text.contains('.') && !self.alternate {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text.to_owned()
            }
        };
        match usize::try_from(i64::try_from(digits).unwrap_or(i64::MAX) - 1 - exponent) {
            Ok(after) if exponent >= -4 => trim(&format!("{number:.after$}")),
            _ => text.replacen(mantissa, &trim(mantissa), 1),
        }
    }

    fn pad(&self, prefix: &str, text: &str, zeros: bool) -> String {
        let room = self.width.saturating_sub(prefix.len() + text.chars().count());
        if self.left {
            format!("{prefix}{text}{}", " ".repeat(room))
        } else if zeros {
            format!("{prefix}{}{text}", "0".repeat(room))
        } else {
            format!("{}{prefix}{text}", " ".repeat(room))
        }
    }
}

/// `1.25e+02`
fn scientific(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::from_f64;

    fn spec(conversion: char) -> Spec {
        Spec {
            conversion,
            ..Spec::default()
        }
    }

    #[test]
    fn integers_are_written_as_c_does() {
        let int =
            |spec: Spec, number: i64| spec.format(Elem::Int(32), Elem::Int(32).wrap(number.cast_unsigned()));
        let d = spec('d');
        assert_eq!(int(d, -7), "-7");
        assert_eq!(int(Spec { width: 5, ..d }, -7), "   -7");
        assert_eq!(
            int(
                Spec {
                    width: 5,
                    zeros: true,
                    ..d
                },
                -7
            ),
            "-0007"
        );
        assert_eq!(
            int(
                Spec {
                    width: 5,
                    left: true,
                    plus: true,
                    ..d
                },
                7
            ),
            "+7   "
        );
        assert_eq!(
            int(
                Spec {
                    precision: Some(3),
                    zeros: true,
                    width: 6,
                    ..d
                },
                7
            ),
            "   007"
        );
        assert_eq!(int(spec('u'), -1), "4294967295");
        assert_eq!(
            int(
                Spec {
                    alternate: true,
                    ..spec('x')
                },
                255
            ),
            "0xff"
        );
        assert_eq!(int(spec('c'), 65), "A");
        assert_eq!(d.format(Elem::Int(1), 1), "1");
    }

    #[test]
    fn floats_are_written_as_c_does() {
        let float = |spec: Spec, number: f64| spec.format(Elem::F64, from_f64(Elem::F64, number));
        let [f, e, g] = ['f', 'e', 'g'].map(spec);
        assert_eq!(float(f, -1.5), "-1.500000");
        assert_eq!(
            float(
                Spec {
                    precision: Some(0),
                    ..f
                },
                2.5
            ),
            "2"
        );
        assert_eq!(float(e, 125.0), "1.250000e+02");
        assert_eq!(
            float(
                Spec {
                    precision: Some(0),
                    ..e
                },
                0.001
            ),
            "1e-03"
        );
        let all = [0.0, 0.1, 100_000.0, 1e6, 1.25e-5, 123.456_789].map(|number| float(g, number));
        assert_eq!(all, ["0", "0.1", "100000", "1e+06", "1.25e-05", "123.457"]);
        assert_eq!(
            float(
                Spec {
                    width: 6,
                    zeros: true,
                    ..f
                },
                f64::NEG_INFINITY
            ),
            "  -inf"
        );
        assert_eq!(float(spec('G'), f64::NAN), "NAN");
    }
}
