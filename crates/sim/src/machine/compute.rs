//! The instructions that a thread runs on its own: arithmetic, memory accesses, views.

use super::{Machine, Reason, garbage};
use crate::code::{Access, Op, Reg};
use crate::memory::Space;
use crate::refine::Kind;
use crate::scalar::{self, Scalar};
use crate::value::{BufferId, Elem, Pointer, Value, View, row_by_row};
use std::rc::Rc;

impl Machine<'_> {
    pub(super) fn compute(&mut self, t: usize, op: &Op) -> Result<(), Reason> {
        let (to, value) = match op {
            Op::Scalar { f, elem, to, args } => (*to, self.scalar(t, *f, *elem, args)?),
            Op::Load {
                to,
                from,
                count,
                vector,
            } => (*to, self.load(t, from, *count, *vector)?),
            Op::Store { value, to } => return self.store(t, *value, to),
            Op::LoadTile {
                to,
                from,
                tile,
                padding,
            } => (*to, self.load_tile(t, from, tile, *padding)?),
            Op::StoreTile { value, to, tile } => return self.store_tile(t, *value, to, tile),
            Op::Atomic {
                to,
                at,
                value,
                f,
                elem,
            } => (*to, self.atomic(t, at, *value, (*f, *elem))?),
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
            Op::Positive { step, elem } => {
                let width = if let Elem::Int(width) = elem { *width } else { 64 };
                return match scalar::signed(width, self.bits(t, *step)?) {
                    ..=0 => Err(Reason::Step),
                    _ => Ok(()),
                };
            }
            Op::Free { view } => {
                let view = self.view(t, *view)?;
                self.memory.free(view.buffer);
                return Ok(());
            }
            Op::Check { view, sizes, align } => return self.check(t, *view, sizes, *align),
            Op::Reduce {
                to,
                vector,
                start,
                f,
                elem,
            } => (*to, self.reduce(t, *vector, *start, (*f, *elem))?),
            Op::Alloc {
                to,
                sizes,
                dynamic,
                elem,
                lanes,
            } => (*to, self.alloc(t, sizes, dynamic, *elem, *lanes)?),
            Op::Dim { to, view, index } => {
                let (view, index) = (self.view(t, *view)?, self.int(t, *index)?);
                let size = usize::try_from(index).ok().and_then(|i| view.sizes.get(i));
                (*to, Value::int(*size.ok_or(Reason::Kind("a dimension"))?))
            }
            Op::SubView { to, .. }
            | Op::Window { to, .. }
            | Op::Reinterpret { to, .. }
            | Op::Permute { to, .. }
            | Op::Collapse { to, .. }
            | Op::Expand { to, .. } => (*to, self.reshape(t, op)?),
            Op::Pick {
                to,
                from,
                picks,
                number,
            } => (*to, self.pick(t, from, picks, *number)?),
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
            _ => return Err(Reason::Kind("an instruction of one thread")),
        };
        self.set(t, to, value);
        Ok(())
    }

    fn scalar(&self, t: usize, f: Scalar, elem: Elem, args: &[Reg]) -> Result<Value, Reason> {
        // What is chosen need not be a number, and what is not chosen may be anything.
        if f == Scalar::Select
            && let Value::Bits(condition) = self.value(t, args[0])?
        {
            let chosen = args[if condition & 1 == 1 { 1 } else { 2 }];
            return Ok(self.threads[t].regs[chosen.0 as usize].clone());
        }
        if f == Scalar::Same {
            return Ok(self.threads[t].regs[args[0].0 as usize].clone());
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
                *bits = match arg {
                    Value::Bits(bits) => *bits,
                    Value::Vector(numbers) => *numbers.get(i).ok_or(Reason::Kind("a vector as long"))?,
                    _ => return Err(Reason::Kind("a number")),
                };
            }
            match scalar::eval(f, elem, bits)? {
                Some(bits) => out.push(bits),
                // Who uses any of it may use this.
                None => return Ok(Value::Poison),
            }
        }
        Ok(Value::Vector(out.into()))
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

    fn load(&mut self, t: usize, from: &Access, count: u32, vector: bool) -> Result<Value, Reason> {
        let (at, view) = self.address(t, from)?;
        let numbers = view.lanes as usize * count as usize;
        let size = view.elem.bytes();
        Self::in_row(&view, self.last_index(t, from)?, count)?;
        let actor = self.actor(t);
        self.note_step(t, Kind::Load, Some(at));
        let bytes = self.memory.read(actor, at, numbers * size, view.elem_align())?;
        if numbers == 1 && !vector {
            return Ok(Value::Bits(view.elem.from_bytes(bytes)));
        }
        let numbers: Rc<[u64]> = bytes
            .chunks_exact(size)
            .map(|number| view.elem.from_bytes(number))
            .collect();
        Ok(Value::Vector(numbers))
    }

    fn store(&mut self, t: usize, value: Reg, to: &Access) -> Result<(), Reason> {
        let (at, view) = self.address(t, to)?;
        let size = view.elem.bytes();
        let mut bytes = Vec::new();
        for number in self.numbers(t, value)? {
            bytes.extend_from_slice(&number.to_le_bytes()[..size]);
        }
        let count = bytes.len() / size / view.lanes.max(1) as usize;
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Self::in_row(&view, self.last_index(t, to)?, count)?;
        let actor = self.actor(t);
        self.note_step(t, Kind::Store, Some(at));
        Ok(self.memory.write(actor, at, &bytes, view.elem_align())?)
    }

    fn alloc(
        &mut self,
        t: usize,
        sizes: &[Option<i64>],
        dynamic: &[Reg],
        elem: Elem,
        lanes: u32,
    ) -> Result<Value, Reason> {
        let mut dynamic = dynamic.iter();
        let mut known = Vec::with_capacity(sizes.len());
        for size in sizes {
            known.push(match size {
                Some(size) => *size,
                None => self.int(t, *dynamic.next().ok_or(Reason::Kind("a size"))?)?,
            });
        }
        let mut view = View {
            buffer: BufferId(0),
            base: 0,
            offset: 0,
            strides: row_by_row(&known),
            sizes: known,
            elem,
            lanes,
        };
        let bytes = view.span_bytes().filter(|bytes| self.memory.has_room(*bytes));
        let bytes = bytes.ok_or(Reason::Room)?;
        let (name, array) = ("a private buffer".into(), view.array());
        view.buffer = self.memory.add(name, Space::Private, 16, garbage(bytes), array);
        Ok(Value::View(Rc::new(view)))
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
                .ok_or(Reason::Kind("as long a vector")),
            _ => Err(Reason::Kind("a vector")),
        };
        if number {
            return Ok(Value::Bits(get(&picks[0])?));
        }
        let picked: Result<Rc<[u64]>, Reason> = picks.iter().map(get).collect();
        Ok(Value::Vector(picked?))
    }

    /// Checks what is said of a memref.
    fn check(&self, t: usize, view: Reg, sizes: &[Option<i64>], align: usize) -> Result<(), Reason> {
        let view = self.view(t, view)?;
        for (dim, (size, expected)) in view.sizes.iter().zip(sizes).enumerate() {
            if let Some(expected) = expected.filter(|expected| expected != size) {
                return Err(Reason::Mismatch {
                    dim,
                    size: *size,
                    expected,
                });
            }
        }
        self.memory.check(view.element(view.offset), 0, align)?;
        Ok(())
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
        let mut result = all.next().ok_or(Reason::Kind("a vector with numbers"))?;
        for number in all {
            let Some(next) = scalar::eval(f, elem, [result, number, 0])? else {
                return Ok(Value::Poison);
            };
            result = next;
        }
        Ok(Value::Bits(result))
    }
}
