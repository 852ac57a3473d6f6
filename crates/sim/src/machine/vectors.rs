//! Vectors made of the numbers of others.

use super::{Machine, Reason};
use crate::code::{Op, Reg};
use crate::scalar::{self, Scalar};
use crate::value::{Elem, Value};
use std::rc::Rc;

impl Machine<'_> {
    pub(super) fn vector(&mut self, t: usize, op: &Op) -> Result<(), Reason> {
        let (to, value) = match op {
            Op::Extract { to, vector, index } => {
                let (numbers, index) = (self.numbers(t, *vector)?, self.int(t, *index)?);
                let number = usize::try_from(index).ok().and_then(|i| numbers.get(i));
                (*to, number.map_or(Value::Poison, |number| Value::Bits(*number)))
            }
            Op::Insert {
                to,
                value,
                vector,
                index,
            } => {
                let (mut numbers, index) = (self.numbers(t, *vector)?, self.int(t, *index)?);
                let value = self.bits(t, *value)?;
                let number = usize::try_from(index).ok().and_then(|i| numbers.get_mut(i));
                let result = number.map(|number| *number = value);
                (
                    *to,
                    result.map_or(Value::Poison, |()| Value::Vector(numbers.into())),
                )
            }
            Op::Bitcast {
                to,
                vector,
                from,
                into,
            } => {
                let numbers = self.numbers(t, *vector)?;
                let bytes: Vec<u8> = numbers
                    .iter()
                    .flat_map(|number| number.to_le_bytes().into_iter().take(from.bytes()))
                    .collect();
                let numbers = bytes.chunks_exact(into.bytes());
                (
                    *to,
                    Value::Vector(numbers.map(|bytes| into.from_bytes(bytes)).collect()),
                )
            }
            Op::Reduce {
                to,
                vector,
                start,
                f,
                elem,
            } => (*to, self.reduce(t, *vector, *start, (*f, *elem))?),
            Op::Pick {
                to,
                from,
                picks,
                number,
            } => (*to, self.pick(t, from, picks, *number)?),
            _ => return Err(Reason::Operand("an instruction on vectors")),
        };
        self.set(t, to, value);
        Ok(())
    }

    fn pick(&self, t: usize, from: &[Reg], picks: &[(u32, u32)], number: bool) -> Result<Value, Reason> {
        let sources: Vec<&Value> = from
            .iter()
            .map(|reg| self.value(t, *reg))
            .collect::<Result<_, _>>()?;
        let get = |&(source, i): &(u32, u32)| match sources[source as usize] {
            Value::Bits(bits) => Ok(*bits),
            Value::Vector(numbers) => numbers
                .get(i as usize)
                .copied()
                .ok_or(Reason::Operand("as long a vector")),
            _ => Err(Reason::Operand("a vector")),
        };
        if number {
            return Ok(Value::Bits(get(&picks[0])?));
        }
        let picked: Result<Rc<[u64]>, Reason> = picks.iter().map(get).collect();
        Ok(Value::Vector(picked?))
    }

    fn reduce(
        &self,
        t: usize,
        vector: Reg,
        start: Option<Reg>,
        (f, elem): (Scalar, Elem),
    ) -> Result<Value, Reason> {
        let numbers = self.numbers(t, vector)?;
        let start = start.map(|start| self.bits(t, start)).transpose()?;
        let mut all = start.into_iter().chain(numbers);
        let mut result = all.next().ok_or(Reason::Operand("a vector with numbers"))?;
        for number in all {
            let Some(next) = scalar::eval(f, elem, [result, number, 0])? else {
                return Ok(Value::Poison);
            };
            result = next;
        }
        Ok(Value::Bits(result))
    }
}
