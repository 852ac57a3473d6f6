//! `prmt`: bytes picked out of eight.

use serde::{Deserialize, Serialize};

/// How `prmt` picks bytes, of which the selector names the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Permute {
    /// Each by a nibble of the selector, whose first bit asks for the byte's sign instead.
    Index,
    /// Four in a row.
    Forward,
    /// Four in a row, backward.
    Backward,
    /// One, four times.
    Replicate8,
    /// What is left of one is that one.
    ClampLeft,
    /// What is right of one is that one.
    ClampRight,
    /// Two, twice.
    Replicate16,
}

impl Permute {
    /// The mode that is written `default`, `f4e`, …
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "default" => Self::Index,
            "f4e" => Self::Forward,
            "b4e" => Self::Backward,
            "rc8" => Self::Replicate8,
            "ecl" => Self::ClampLeft,
            "ecr" => Self::ClampRight,
            "rc16" => Self::Replicate16,
            _ => return None,
        })
    }

    /// Which of eight bytes each byte of the result is, the last one first: the table of `prmt` in the PTX ISA. `by` is the end of
    /// the selector.
    fn picks(self, by: u64) -> [u64; 4] {
        let by = by & 3;
        [0, 1, 2, 3].map(|i| match self {
            // The caller looks at the whole selector.
            Self::Index => i,
            Self::Forward => by + i,
            Self::Backward => (by + 8 - i) % 8,
            Self::Replicate8 => by,
            Self::ClampLeft => by.max(i),
            Self::ClampRight => by.min(i),
            Self::Replicate16 => 2 * (by % 2) + i % 2,
        })
    }
}

/// `prmt` of eight bytes.
pub(super) fn permute(mode: Permute, bytes: u64, selector: u64) -> u64 {
    let byte = |i: u64| bytes >> (8 * i) & 0xFF;
    let picks = mode.picks(selector);
    (0..4).zip(picks).fold(0, |result, (i, pick)| {
        let nibble = selector >> (4 * i);
        let bits = match mode {
            Permute::Index if nibble & 8 != 0 => 0xFF * (byte(nibble & 7) >> 7),
            Permute::Index => byte(nibble & 7),
            _ => byte(pick),
        };
        result | bits << (8 * i)
    })
}
