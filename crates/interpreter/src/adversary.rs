//! Who decides when asynchronous work happens.
//!
//! Between a copy's issue and the observation of its completion anything may have happened or not. The question comes up
//! only where somebody touches what the copy touches, and each time the answer is free: that is where a schedule has
//! its say.

/// How the adversary answers.
#[derive(Clone, Debug)]
pub enum Adversary {
    /// Nothing happens before it has to.
    Late,
    /// Everything happens at once.
    Early,
    /// A coin, from a seed.
    Random(u64),
    /// Given answers first, then "not yet"; what was asked is kept, to try the other answers.
    Exhaustive {
        /// The answers so far.
        answers: Vec<bool>,
        /// How many of them were used.
        used: usize,
    },
}

impl Adversary {
    /// Answers whether what may have happened has.
    pub fn already(&mut self) -> bool {
        match self {
            Self::Late => false,
            Self::Early => true,
            Self::Random(state) => coin(state),
            Self::Exhaustive { answers, used } => {
                if *used == answers.len() {
                    answers.push(false);
                }
                *used += 1;
                answers[*used - 1]
            }
        }
    }

    /// The coin of a block, where that of the first one has this seed.
    #[must_use]
    pub fn random_for(seed: u64, block: u32) -> Self {
        let mut state = seed;
        if block > 0 {
            state ^= u64::from(block).rotate_left(32);
            state = next_random(&mut state);
        }
        Self::Random(state)
    }

    /// The next run of an exhaustive search, or `None` if all answers were tried.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        let Self::Exhaustive { mut answers, used } = self else {
            return None;
        };
        answers.truncate(used);
        while answers.pop_if(|answer| *answer).is_some() {}
        *answers.last_mut()? = true;
        Some(Self::Exhaustive { answers, used: 0 })
    }
}

fn coin(state: &mut u64) -> bool {
    next_random(state) & 1 == 1
}

/// `splitmix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
pub fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
