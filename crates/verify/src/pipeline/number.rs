//! Numbers in a pipelined loop, as sums: of constants, the number of a round, the number of iterations, the lower bound and the step.

/// `fixed + round * t + trips * n`, where `t` is the number of a round of the kernel, and `n` that of the loop's iterations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Affine {
    /// The constant.
    pub fixed: i64,
    /// How often the number of the round is in it.
    pub round: i64,
    /// How often the number of iterations is in it.
    pub trips: i64,
}

impl Affine {
    /// The constant `fixed`.
    #[must_use]
    pub fn constant(fixed: i64) -> Self {
        Self {
            fixed,
            ..Self::default()
        }
    }

    /// The number of the round.
    #[must_use]
    pub fn round() -> Self {
        Self {
            round: 1,
            ..Self::default()
        }
    }

    /// The constant that this is, if it is one.
    #[must_use]
    pub fn as_constant(self) -> Option<i64> {
        (self.round == 0 && self.trips == 0).then_some(self.fixed)
    }

    /// The sum with a constant.
    #[must_use]
    pub fn plus(self, more: i64) -> Self {
        Self {
            fixed: self.fixed.wrapping_add(more),
            ..self
        }
    }

    fn map(self, other: Self, of: impl Fn(i64, i64) -> Option<i64>) -> Option<Self> {
        Some(Self {
            fixed: of(self.fixed, other.fixed)?,
            round: of(self.round, other.round)?,
            trips: of(self.trips, other.trips)?,
        })
    }

    /// The difference; `None` if it is too large.
    #[must_use]
    pub fn minus(self, other: Self) -> Option<Self> {
        self.map(other, i64::checked_sub)
    }
}

/// What is known of the number of iterations, and of that of a round.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The last stage: so many rounds come before the kernel. A round `t` of the kernel that is meant has `last <= t < n`.
    pub last: i64,
    /// How many iterations there are; more than `last` if that is not known.
    pub trips: Option<i64>,
}

impl Facts {
    /// The number of iterations.
    #[must_use]
    pub fn trips(self) -> Affine {
        self.trips.map_or(
            Affine {
                trips: 1,
                ..Affine::default()
            },
            Affine::constant,
        )
    }

    /// The least and the greatest value of `number`, where it has one.
    #[must_use]
    pub fn range(self, number: Affine) -> (Option<i64>, Option<i64>) {
        let Affine { fixed, round, trips } = number;
        let least = |a: i64, b: i64| {
            round
                .checked_mul(a)?
                .checked_add(trips.checked_mul(b)?)?
                .checked_add(fixed)
        };
        if let Some(known) = self.trips {
            // Between the first and the last round.
            let ends = [least(self.last, known), least(known - 1, known)];
            let [Some(a), Some(b)] = ends else {
                return (None, None);
            };
            return if round == 0 {
                (Some(a), Some(a))
            } else {
                (Some(a.min(b)), Some(a.max(b)))
            };
        }
        // The two grow from where they are least: `t` alone takes `n` with it.
        let start = least(self.last, self.last + 1);
        let both = round.checked_add(trips);
        let (Some(start), Some(both)) = (start, both) else {
            return (None, None);
        };
        let grows = both > 0 && round != 0 || trips > 0;
        let shrinks = both < 0 && round != 0 || trips < 0;
        ((!shrinks).then_some(start), (!grows).then_some(start))
    }

    /// Whether `number` is less than 0, if that is known.
    #[must_use]
    pub fn is_negative(self, number: Affine) -> Option<bool> {
        match self.range(number) {
            (_, Some(greatest)) if greatest < 0 => Some(true),
            (Some(least), _) if least >= 0 => Some(false),
            _ => None,
        }
    }

    /// Whether `a` is less than `b`, if that is known.
    #[must_use]
    pub fn is_less(self, a: Affine, b: Affine) -> Option<bool> {
        self.is_negative(a.minus(b)?)
    }
}

/// `affine + lower * L + steps * S`, where `L` is the loop's lower bound and `S` its step, if they are not constants. Computed as the machine
/// does, modulo a power of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Number {
    /// What is no multiple of the bounds.
    pub affine: Affine,
    /// How often the lower bound is in it, and
    pub lower: i64,
    /// how often the step.
    pub steps: Affine,
}

impl Number {
    /// A constant.
    #[must_use]
    pub fn constant(fixed: i64) -> Self {
        Self::of(Affine::constant(fixed))
    }

    /// A number of iterations or rounds.
    #[must_use]
    pub fn of(affine: Affine) -> Self {
        Self {
            affine,
            ..Self::default()
        }
    }

    /// The constant that this is, if it is one.
    #[must_use]
    pub fn as_constant(self) -> Option<i64> {
        (self.lower == 0 && self.steps == Affine::default())
            .then_some(self.affine)?
            .as_constant()
    }

    /// The number of iterations or rounds that this is.
    #[must_use]
    pub fn as_affine(self) -> Option<Affine> {
        (self.lower == 0 && self.steps == Affine::default()).then_some(self.affine)
    }

    fn map(self, other: Self, of: impl Fn(i64, i64) -> i64) -> Self {
        let affine = |a: Affine, b: Affine| a.map(b, |a, b| Some(of(a, b))).unwrap_or_default();
        Self {
            affine: affine(self.affine, other.affine),
            lower: of(self.lower, other.lower),
            steps: affine(self.steps, other.steps),
        }
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.map(other, i64::wrapping_add)
    }

    /// The difference.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.map(other, i64::wrapping_sub)
    }

    /// The product, if it is such a sum.
    #[must_use]
    pub fn times(self, other: Self) -> Option<Self> {
        if let Some(factor) = other.as_constant() {
            return Some(self.map(Self::default(), |a, _| a.wrapping_mul(factor)));
        }
        if self.as_constant().is_some() {
            return other.times(self);
        }
        // A number of iterations, times the step.
        let is_step = other.affine == Affine::default() && other.lower == 0;
        match (self.as_affine(), other.steps.as_constant()) {
            (Some(affine), Some(factor)) if is_step => {
                let steps = affine.map(affine, |a, _| Some(a.wrapping_mul(factor)));
                Some(Self {
                    steps: steps?,
                    ..Self::default()
                })
            }
            _ if self.steps != Affine::default() && other.as_affine().is_some() => other.times(self),
            _ => None,
        }
    }

    /// Returns true if this is `other` in `bits` bits.
    #[must_use]
    pub fn equals(self, other: Self, bits: u32) -> bool {
        let cut = |number: i64| number & low_bits(bits);
        self.map(Self::default(), |a, _| cut(a)) == other.map(Self::default(), |a, _| cut(a))
    }
}

/// A mask of so many bits.
#[must_use]
pub fn low_bits(bits: u32) -> i64 {
    1_i64.checked_shl(bits).map_or(-1, |first| first.wrapping_sub(1))
}

/// Bounds of a loop.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The lower bound.
    pub lower: Number,
    /// The step.
    pub step: Number,
    /// The bits of the loop's variable.
    pub bits: u32,
}

impl Bounds {
    /// How many iterations there are at most: the last value of the variable plus the step fits into its type.
    #[must_use]
    pub fn most_trips(self, is_unsigned: bool) -> i64 {
        let bits = if is_unsigned { self.bits } else { self.bits - 1 };
        let unsigned = |number: i64| i128::from((number & low_bits(self.bits)).cast_unsigned());
        let (greatest, all) = ((1_i128 << bits) - 1, 1_i128 << self.bits);
        let lower = match self.lower.as_constant().map(unsigned) {
            Some(lower) if lower > greatest => lower - all,
            Some(lower) => lower,
            None => greatest + 1 - all,
        };
        let step = self.step.as_constant().map_or(1, unsigned);
        i64::try_from((greatest - lower) / step.max(1)).unwrap_or(i64::MAX)
    }

    /// The loop's variable in iteration `number`.
    #[must_use]
    pub fn variable(self, number: Affine) -> Option<Number> {
        Some(self.lower.plus(Number::of(number).times(self.step)?))
    }

    /// The iteration that `variable` is the loop's variable in.
    #[must_use]
    pub fn iteration(self, variable: Number) -> Option<Affine> {
        let ahead = variable.minus(self.lower);
        let Some(step) = self.step.as_constant() else {
            let is_steps = ahead.affine == Affine::default() && ahead.lower == 0;
            return is_steps.then_some(ahead.steps);
        };
        let ahead = ahead.as_affine()?;
        if let Some(constant) = ahead.as_constant() {
            let [ahead, step] = [constant, step].map(|number| (number & low_bits(self.bits)).cast_unsigned());
            let whole = ahead.checked_rem(step)? == 0;
            return whole.then_some(Affine::constant(i64::try_from(ahead / step).ok()?));
        }
        ahead.map(Affine::constant(0), |ahead, _| {
            (ahead.checked_rem(step)? == 0).then_some(ahead / step)
        })
    }
}
