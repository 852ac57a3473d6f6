//! Who decides when device work runs.
//!
//! Between two calls of the host, any work that is ready may run, in any order. While the host waits, what it waits for has to
//! run, and the rest may.

use std::str::FromStr;

/// How the adversary answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Adversary {
    /// Nothing runs before something forces it, and then no more than that needs.
    Late,
    /// Everything runs at once.
    Early,
    /// A coin, from a seed.
    Random(u64),
    /// Given answers first, then the first option; what was asked is kept, to try the other answers.
    Exhaustive {
        /// The answers so far, and how many options each had.
        answers: Vec<(usize, usize)>,
        /// How many of them were used.
        used: usize,
    },
}

impl Adversary {
    /// The first run of an exhaustive search.
    pub fn exhaustive() -> Self {
        Self::Exhaustive {
            answers: Vec::new(),
            used: 0,
        }
    }

    /// Which of `ready` works runs now, where none has to.
    pub fn volunteer(&mut self, ready: usize) -> Option<usize> {
        match self {
            Self::Late => None,
            Self::Early => Some(0),
            Self::Random(_) | Self::Exhaustive { .. } => self.choose(ready + 1).checked_sub(1),
        }
    }

    /// Which of `options` works runs, where one has to; there is one at least.
    pub fn choose(&mut self, options: usize) -> usize {
        match self {
            Self::Late | Self::Early => 0,
            Self::Random(state) => {
                let options = options as u64;
                usize::try_from(next_random(state) % options).unwrap_or_default()
            }
            Self::Exhaustive { answers, used } => {
                if *used == answers.len() {
                    answers.push((0, options));
                }
                *used += 1;
                answers[*used - 1].0
            }
        }
    }

    /// The next run of an exhaustive search, or `None` if all answers were tried.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        let Self::Exhaustive { mut answers, used } = self else {
            return None;
        };
        answers.truncate(used);
        while answers
            .pop_if(|(answer, options)| *answer + 1 == *options)
            .is_some()
        {}
        answers.last_mut()?.0 += 1;
        Some(Self::Exhaustive { answers, used: 0 })
    }
}

impl FromStr for Adversary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':').unwrap_or((text, "")) {
            ("late", "") => Ok(Self::Late),
            ("early", "") => Ok(Self::Early),
            ("random", "") => Ok(Self::Random(0)),
            ("random", seed) => match seed.parse() {
                Ok(seed) => Ok(Self::Random(seed)),
                Err(_) => Err(format!("'{seed}' is no seed: give a number, as in random:1")),
            },
            _ => Err(format!(
                "'{text}' is no schedule: give late, early or random:SEED"
            )),
        }
    }
}

/// `splitmix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
