//! What lanes of a warp that a mask names make of a number that each of them brings.

use super::warp::Together;
use super::{Machine, Reason, WARP};
use crate::code::{Vote, VoteKind};
use crate::scalar::{self, Scalar};
use crate::value::{Elem, Value};

impl Machine<'_> {
    pub(super) fn vote(&mut self, lanes: &[usize], vote: Vote) -> Together<()> {
        self.same_mask(lanes, vote.mask)?;
        let mut numbers = Vec::with_capacity(lanes.len());
        for &t in lanes {
            numbers.push(self.bits(t, vote.value).map_err(|reason| (t, reason))?);
        }
        let named = |takes_part: &dyn Fn(u64) -> bool| {
            let lanes = lanes.iter().zip(&numbers);
            let lanes = lanes.filter(|(_, number)| takes_part(**number));
            lanes.fold(0_u64, |bits, (t, _)| bits | 1 << (t % WARP))
        };
        let all = named(&|_| true);
        let set = named(&|number| number & 1 == 1);
        let result = match vote.kind {
            VoteKind::Any => Value::flag(set != 0),
            VoteKind::All => Value::flag(set == all),
            VoteKind::Uniform => Value::flag(set == 0 || set == all),
            VoteKind::Ballot => Value::Bits(set),
            VoteKind::MatchAll => {
                let same = named(&|number| number == numbers[0]) == all;
                Value::Vector(vec![if same { all } else { 0 }, same.into()].into())
            }
            VoteKind::MatchAny => {
                for (&t, number) in lanes.iter().zip(&numbers) {
                    let same = named(&|other| other == *number);
                    self.set(t, vote.to, Value::Bits(same));
                }
                return Ok(());
            }
            VoteKind::Reduce(f, elem) => combined(f, elem, &numbers).map_err(|reason| (lanes[0], reason))?,
        };
        for &t in lanes {
            self.set(t, vote.to, result.clone());
        }
        Ok(())
    }
}

/// One number of several, in their order.
fn combined(f: Scalar, elem: Elem, numbers: &[u64]) -> Result<Value, Reason> {
    let mut sum = numbers[0];
    for &number in &numbers[1..] {
        sum = scalar::eval(f, elem, [sum, number, 0])?.ok_or(Reason::Poison)?;
    }
    Ok(Value::Bits(sum))
}
