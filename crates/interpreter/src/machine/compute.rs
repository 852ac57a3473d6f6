//! The instructions that a thread runs on its own; here arithmetic and addresses.

use super::{Machine, Reason};
use crate::code::{Op, Reg};
use crate::scalar::{self, Scalar};
use crate::value::{Elem, Pointer, Value};

impl Machine<'_> {
    pub(super) fn compute(&mut self, t: usize, op: &Op) -> Result<(), Reason> {
        let (to, value) = match op {
            Op::Scalar { f, elem, to, args } => (*to, self.scalar(t, *f, *elem, args)?),
            Op::Positive { step, elem } => {
                let width = if let Elem::Int(width) = elem { *width } else { 64 };
                return match scalar::signed(width, self.bits(t, *step)?) {
                    ..=0 => Err(Reason::Step),
                    _ => Ok(()),
                };
            }
            Op::Dim { to, view, index } => {
                let (view, index) = (self.view(t, *view)?, self.int(t, *index)?);
                let size = usize::try_from(index).ok().and_then(|i| view.sizes.get(i));
                (*to, Value::int(*size.ok_or(Reason::Operand("a dimension"))?))
            }
            Op::SubView { to, .. }
            | Op::Window { to, .. }
            | Op::Reinterpret { to, .. }
            | Op::Permute { to, .. }
            | Op::Collapse { to, .. }
            | Op::Expand { to, .. } => (*to, self.reshape(t, op)?),
            Op::Address { to, view, member } => (*to, Self::member(&*self.view(t, *view)?, *member)),
            Op::Offset {
                to,
                pointer,
                index,
                bytes,
            } => {
                let (mut pointer, index) = (self.pointer(t, *pointer)?, self.index(t, *index)?);
                pointer.offset = pointer.offset.wrapping_add(index.wrapping_mul(*bytes));
                (*to, Value::Pointer(pointer))
            }
            Op::Vector(op) => return self.vector(t, op),
            _ => return self.access(t, op),
        };
        self.set(t, to, value);
        if let Op::Scalar {
            f: Scalar::Same,
            args,
            ..
        } = op
        {
            self.accumulator_made(t, to, args);
        }
        Ok(())
    }

    fn scalar(&self, t: usize, f: Scalar, elem: Elem, args: &[Reg]) -> Result<Value, Reason> {
        // What is chosen need not be a number, and what is not chosen may be anything.
        if f == Scalar::Select
            && let Value::Bits(condition) = self.value(t, args[0])?
        {
            self.chosen_from(t, &args[1..]);
            let chosen = args[if condition & 1 == 1 { 1 } else { 2 }];
            return Ok(self.threads[t].regs[chosen.0 as usize].clone());
        }
        if f == Scalar::Same {
            return Ok(self.threads[t].regs[args[0].0 as usize].clone());
        }
        // What nearly all arguments are.
        if let Some(bits) = self.all_bits(t, args) {
            let result = scalar::eval(f, elem, bits)?;
            return Ok(result.map_or(Value::Poison, Value::Bits));
        }
        if let Some(pointer) = self.pointer_arithmetic(t, f, args)? {
            return Ok(Value::Pointer(pointer));
        }
        let mut bits = [0; 3];
        let vector = args.iter().find_map(|arg| match self.value(t, *arg) {
            Ok(Value::Vector(numbers)) => Some(numbers.len()),
            _ => None,
        });
        let Some(len) = vector else {
            for (bits, arg) in bits.iter_mut().zip(args) {
                *bits = self.bits(t, *arg)?;
            }
            let result = scalar::eval(f, elem, bits)?;
            return Ok(result.map_or(Value::Poison, Value::Bits));
        };
        let args: Vec<&Value> = args
            .iter()
            .map(|arg| self.value(t, *arg))
            .collect::<Result<_, _>>()?;
        let mut out = Vec::with_capacity(len);
        for i in 0..len {
            for (bits, arg) in bits.iter_mut().zip(&args) {
                *bits = arg.part(i)?.ok_or(Reason::Poison)?;
            }
            match scalar::eval(f, elem, bits)? {
                Some(bits) => out.push(bits),
                // Who uses any of it may use this.
                None => return Ok(Value::Poison),
            }
        }
        Ok(Value::Vector(out.into()))
    }

    /// The arguments, if all are numbers.
    fn all_bits(&self, t: usize, args: &[Reg]) -> Option<[u64; 3]> {
        let regs = &self.threads[t].regs;
        let mut all = [0; 3];
        for (bits, arg) in all.iter_mut().zip(args) {
            let Value::Bits(number) = regs[arg.0 as usize] else {
                return None;
            };
            *bits = number;
        }
        Some(all)
    }

    /// An address that goes through integers: converted, or moved by a number of bytes.
    fn pointer_arithmetic(&self, t: usize, f: Scalar, args: &[Reg]) -> Result<Option<Pointer>, Reason> {
        let reg = |i: usize| &self.threads[t].regs[args[i].0 as usize];
        let moved = |pointer: &Pointer, by: i64| {
            let offset = pointer.offset.wrapping_add(by);
            Some(Pointer { offset, ..*pointer })
        };
        Ok(match (f, args.len()) {
            (Scalar::SignExtend(_) | Scalar::ZeroExtend, 1) => match reg(0) {
                Value::Pointer(pointer) => Some(*pointer),
                _ => None,
            },
            (Scalar::Add, 2) => match (reg(0), reg(1)) {
                (Value::Pointer(pointer), _) => moved(pointer, self.int(t, args[1])?),
                (_, Value::Pointer(pointer)) => moved(pointer, self.int(t, args[0])?),
                _ => None,
            },
            _ => None,
        })
    }
}
