//! Vectors made of the numbers of others.

use super::{Machine, Reason};
use crate::code::{Contraction, Index, Part, Reg, VectorOp};
use crate::scalar::{self, Scalar};
use crate::value::{Elem, Value};
use std::sync::Arc;

impl Machine<'_> {
    pub(super) fn vector(&mut self, t: usize, op: &VectorOp) -> Result<(), Reason> {
        let (to, value) = match op {
            VectorOp::ExtractPart {
                to,
                vector,
                part,
                number,
            } => (*to, self.extract_part(t, *vector, part, *number)?),
            VectorOp::InsertPart {
                to,
                value,
                vector,
                part,
                count,
            } => (*to, self.insert_part(t, [*value, *vector], part, *count)?),
            VectorOp::Extract { to, vector, index } => {
                let (vector, index) = (self.value(t, *vector)?, self.int(t, *index)?);
                // An index that is out of bounds makes poison.
                let index = usize::try_from(index).ok();
                let number = index.and_then(|i| vector.part(i).ok().flatten());
                (*to, number.map_or(Value::Poison, Value::Bits))
            }
            VectorOp::Insert {
                to,
                value,
                vector,
                index,
                count,
            } => {
                let (vector, index) = (self.value_or_poison(t, *vector)?, self.int(t, *index)?);
                let mut parts: Vec<Option<u64>> = (0..*count as usize)
                    .map(|i| vector.part(i))
                    .collect::<Result<_, _>>()?;
                let value = self.value_or_poison(t, *value)?.part(0)?;
                let part = usize::try_from(index).ok().and_then(|i| parts.get_mut(i));
                let result = part.map(|part| *part = value);
                (*to, result.map_or(Value::Poison, |()| Value::of_parts(parts)))
            }
            VectorOp::Bitcast {
                to,
                vector,
                from,
                into,
                number,
            } => (*to, self.bitcast(t, *vector, (*from, *into), *number)?),
            VectorOp::Reduce {
                to,
                vector,
                start,
                mask,
                f,
                elem,
            } => (*to, self.reduce(t, *vector, [*start, *mask], (*f, *elem))?),
            VectorOp::Ranks { to, mask } => {
                let bits = self.numbers(t, *mask)?.into_iter();
                let before = bits.scan(0, |sum, bit| {
                    *sum += bit & 1;
                    Some(*sum - (bit & 1))
                });
                (*to, Value::Vector(before.collect()))
            }
            VectorOp::Contract(contraction) => (contraction.to, self.contract(t, contraction)?),
            VectorOp::Mask { to, sizes, bounds } => (*to, self.mask(t, sizes, bounds)?),
            VectorOp::Pick {
                to,
                from,
                picks,
                number,
            } => (*to, self.pick(t, from, picks, *number)?),
        };
        self.set(t, to, value);
        if let VectorOp::Pick { from, .. } = op {
            self.accumulator_made(t, to, from);
        }
        Ok(())
    }

    /// The first number of a part; `None` if it is out of bounds, which makes poison.
    fn first_of(&self, t: usize, part: &Part) -> Result<Option<usize>, Reason> {
        let indices = part.position.iter().map(|(index, _)| self.index(t, *index));
        let mut indices = indices.collect::<Result<Vec<i64>, _>>()?.into_iter();
        let first = part.first(|_| indices.next());
        Ok(first.and_then(|first| usize::try_from(first).ok()))
    }

    fn extract_part(&self, t: usize, vector: Reg, part: &Part, number: bool) -> Result<Value, Reason> {
        let vector = self.value_or_poison(t, vector)?;
        let Some(first) = self.first_of(t, part)? else {
            return Ok(Value::Poison);
        };
        let numbers = (first..first + part.count as usize).map(|i| vector.part(i));
        let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
        Ok(match numbers.as_slice() {
            [one] if number => one.map_or(Value::Poison, Value::Bits),
            _ => Value::of_parts(numbers),
        })
    }

    fn insert_part(
        &self,
        t: usize,
        [value, vector]: [Reg; 2],
        part: &Part,
        count: u32,
    ) -> Result<Value, Reason> {
        let (value, vector) = (self.value_or_poison(t, value)?, self.value_or_poison(t, vector)?);
        let Some(first) = self.first_of(t, part)? else {
            return Ok(Value::Poison);
        };
        let changed = first..first + part.count as usize;
        let numbers = (0..count as usize).map(|i| {
            if changed.contains(&i) {
                value.part(i - first)
            } else {
                vector.part(i)
            }
        });
        Ok(Value::of_parts(numbers.collect::<Result<_, _>>()?))
    }

    fn bitcast(
        &self,
        t: usize,
        vector: Reg,
        (from, into): (Elem, Elem),
        number: bool,
    ) -> Result<Value, Reason> {
        let numbers = self.numbers(t, vector)?;
        let bits = numbers
            .iter()
            .flat_map(|number| (0..from.bits()).map(move |i| number >> i & 1));
        let bits: Vec<u64> = bits.collect();
        let numbers = bits.chunks_exact(into.bits() as usize);
        let together = |bits: &[u64]| bits.iter().rev().fold(0, |number, bit| number << 1 | bit);
        let numbers: Arc<[u64]> = numbers.map(together).collect();
        Ok(match (&*numbers, number) {
            ([bits], true) => Value::Bits(*bits),
            _ => Value::Vector(numbers),
        })
    }

    fn pick(&self, t: usize, from: &[Reg], picks: &[(u32, u32)], number: bool) -> Result<Value, Reason> {
        if let Some(value) = self.pick_of_accumulators(t, from, picks, number)? {
            return Ok(value);
        }
        let sources: Vec<&Value> = from
            .iter()
            .map(|reg| self.value_or_poison(t, *reg))
            .collect::<Result<_, _>>()?;
        Self::picked(&sources, picks, number)
    }

    /// The numbers that are picked, as a vector or as one number.
    pub(super) fn picked(sources: &[&Value], picks: &[(u32, u32)], number: bool) -> Result<Value, Reason> {
        let get = |&(source, i): &(u32, u32)| sources[source as usize].part(i as usize);
        if number {
            return Ok(get(&picks[0])?.map_or(Value::Poison, Value::Bits));
        }
        let parts: Result<Vec<_>, _> = picks.iter().map(get).collect();
        Ok(Value::of_parts(parts?))
    }

    fn mask(&self, t: usize, sizes: &[i64], bounds: &[Index]) -> Result<Value, Reason> {
        let bounds = bounds.iter().map(|bound| self.index(t, *bound));
        let bounds: Vec<i64> = bounds.collect::<Result<_, _>>()?;
        let is_set = |mut number: i64| {
            sizes.iter().zip(&bounds).rev().all(|(size, bound)| {
                let index = number % size;
                number /= size;
                index < *bound
            })
        };
        let bits = (0..sizes.iter().product::<i64>()).map(|number| u64::from(is_set(number)));
        Ok(Value::Vector(bits.collect()))
    }

    fn reduce(
        &self,
        t: usize,
        vector: Reg,
        [start, mask]: [Option<Reg>; 2],
        (f, elem): (Scalar, Elem),
    ) -> Result<Value, Reason> {
        let numbers = self.numbers(t, vector)?;
        let start = start.map(|start| self.bits(t, start)).transpose()?;
        let mask = mask.map(|mask| self.numbers(t, mask)).transpose()?;
        let counts = |i: usize| mask.as_ref().is_none_or(|mask| mask.get(i) != Some(&0));
        let numbers = numbers.into_iter().enumerate().filter(|(i, _)| counts(*i));
        let mut all = start.into_iter().chain(numbers.map(|(_, number)| number));
        let first = all.next().or_else(|| neutral(f, elem));
        let mut result = first.ok_or(Reason::Operand(
            "a mask with a bit set, which this reduction needs",
        ))?;
        for number in all {
            let Some(next) = scalar::eval(f, elem, [result, number, 0])? else {
                return Ok(Value::Poison);
            };
            result = next;
        }
        Ok(Value::Bits(result))
    }
}

impl Machine<'_> {
    /// Products of floating-point numbers that are added up are not rounded before: upstream makes a `vector.fma` of them.
    fn contract(&self, t: usize, of: &Contraction) -> Result<Value, Reason> {
        let factors = of.factors.iter().map(|(factor, _)| self.numbers(t, *factor));
        let factors = factors.collect::<Result<Vec<_>, _>>()?;
        let start = of.start.map(|start| self.numbers(t, start)).transpose()?;
        let mask = of.mask.map(|mask| self.numbers(t, mask)).transpose()?;
        let number = |factor: usize, i: u32| {
            let bits = factors[factor].get(i as usize).copied();
            let bits = bits.ok_or(Reason::Operand("a vector of its type"))?;
            eval(of.factors[factor].1, of.elem, [bits, 0, 0])
        };
        let mut sums = Vec::with_capacity(of.sums.len());
        for (i, terms) in of.sums.iter().enumerate() {
            let mut sum = start.as_ref().and_then(|start| start.get(i).copied());
            for term in terms {
                if mask
                    .as_ref()
                    .is_some_and(|mask| mask.get(term.bit as usize) == Some(&0))
                {
                    continue;
                }
                let first = number(0, term.of[0])?;
                sum = Some(match (sum, factors.len()) {
                    (None, 1) => first,
                    (Some(sum), 1) => eval(of.f, of.elem, [sum, first, 0])?,
                    (Some(sum), _) if of.f == Scalar::AddF => {
                        eval(Scalar::Fma, of.elem, [first, number(1, term.of[1])?, sum])?
                    }
                    (sum, _) => {
                        let times = if of.elem.is_float() {
                            Scalar::MulF
                        } else {
                            Scalar::Mul
                        };
                        let product = eval(times, of.elem, [first, number(1, term.of[1])?, 0])?;
                        match sum {
                            Some(sum) => eval(of.f, of.elem, [sum, product, 0])?,
                            None => product,
                        }
                    }
                });
            }
            sums.push(sum);
        }
        Ok(match sums.as_slice() {
            [one] if of.number => one.map_or(Value::Poison, Value::Bits),
            _ => Value::of_parts(sums),
        })
    }
}

/// What must not be poison.
fn eval(f: Scalar, elem: Elem, args: [u64; 3]) -> Result<u64, Reason> {
    scalar::eval(f, elem, args)?.ok_or(Reason::Poison)
}

/// What a sum, product or the like of no numbers is; `None` for the least and the greatest floating-point number of none,
/// for which MLIR has no value.
fn neutral(f: Scalar, elem: Elem) -> Option<u64> {
    let ones = elem.wrap(u64::MAX);
    Some(match f {
        Scalar::Add | Scalar::Or | Scalar::Xor | Scalar::MaxU => 0,
        Scalar::AddF => scalar::from_f64(elem, 0.0),
        Scalar::Mul => 1,
        Scalar::MulF => scalar::from_f64(elem, 1.0),
        Scalar::And | Scalar::MinU => ones,
        Scalar::MinS => ones >> 1,
        Scalar::MaxS => ones ^ ones >> 1,
        _ => return None,
    })
}
