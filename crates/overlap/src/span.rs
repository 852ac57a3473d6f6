//! Spans of bytes that an access may touch in an iteration, and whether two meet so many iterations apart.

use crate::footprint::Footprint;
use crate::loops::LoopId;
use crate::offset::Symbol;

/// The bytes from a first to after a last one that all threads touch together in an iteration of a loop, which is loop 0, and how they change
/// from iteration to iteration.
#[derive(Clone, Debug)]
pub struct Span {
    /// The first, and after the last one.
    pub bounds: (i64, i64),
    /// What is added to them,
    pub constant: i64,
    /// how many bytes further each iteration is,
    pub step: i64,
    /// what iterations add in turn,
    pub periods: Vec<i64>,
    /// and multiples of values that are the same in all iterations.
    pub fixed: Vec<(i64, u32)>,
}

impl Span {
    /// The span of `footprint`; `None` if it is not known. Each loop runs as often as `trips` says, by its number.
    #[must_use]
    pub fn of(footprint: &Footprint, trips: &[Option<u64>]) -> Option<Self> {
        let bounds = footprint.bytes.as_ref()?.bounds();
        let mut span = Self {
            bounds: (bounds.start, bounds.end),
            constant: footprint.offset.constant,
            step: 0,
            periods: Vec::new(),
            fixed: Vec::new(),
        };
        for (coefficient, symbol) in &footprint.offset.terms {
            match symbol {
                Symbol::Iteration(LoopId(0)) => span.step += coefficient,
                Symbol::Iteration(LoopId(inner)) => {
                    let trips = i64::try_from((*trips.get(*inner)?)?).ok()?;
                    let last = coefficient.checked_mul((trips - 1).max(0))?;
                    span.bounds.0 = span.bounds.0.checked_add(last.min(0))?;
                    span.bounds.1 = span.bounds.1.checked_add(last.max(0))?;
                }
                Symbol::Periodic {
                    of: LoopId(0),
                    values,
                } if span.periods.is_empty() => {
                    span.periods = values.iter().map(|value| value * coefficient).collect();
                }
                Symbol::Value(number, None) => span.fixed.push((*coefficient, *number)),
                _ => return None,
            }
        }
        span.fixed.sort_unstable();
        Some(span)
    }

    /// How far `other` is ahead, apart from what iterations add; `None` if that is not known, or depends on the iteration.
    fn fixed_ahead(&self, other: &Self) -> Option<i64> {
        (self.step == other.step && self.fixed == other.fixed).then(|| other.constant - self.constant)
    }

    /// How far the bytes of `second`, so many iterations later, are ahead of these: each number that this may be in turn, where loops inside
    /// begin; `None` if that is not known.
    #[must_use]
    pub fn shifts<'s>(
        &'s self,
        second: &'s Self,
        distance: u32,
    ) -> Option<impl Iterator<Item = i64> + use<'s>> {
        let distance = i64::from(distance);
        let ahead = self.fixed_ahead(second)?;
        let period = self.periods.len().max(1) * second.periods.len().max(1);
        let period = i64::try_from(period).unwrap_or(1);
        Some((0..period).map(move |phase| {
            let start = |span: &Self, phase: i64| {
                let phase = usize::try_from(phase).unwrap_or(0);
                let turn = phase.checked_rem(span.periods.len());
                turn.map_or(0, |turn| span.periods[turn])
            };
            ahead + second.step * distance + start(second, phase + distance) - start(self, phase)
        }))
    }

    /// Whether a byte may be of this and of `second`, so many iterations later.
    #[must_use]
    pub fn may_meet(&self, second: &Self, distance: u32) -> bool {
        let (a, b) = (self.bounds, second.bounds);
        let Some(mut shifts) = self.shifts(second, distance) else {
            return true;
        };
        shifts.any(|shift| a.0 < b.1 + shift && b.0 + shift < a.1)
    }
}
