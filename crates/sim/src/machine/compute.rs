//! The instructions that a thread runs on its own: arithmetic, memory accesses, views.

use super::{Machine, Reason, garbage};
use crate::code::{Access, Index, Op, Reg};
use crate::memory::Space;
use crate::refine::Kind;
use crate::scalar::{self, Scalar};
use crate::value::{BufferId, Elem, Pointer, Value, View};
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
            Op::SubView { to, .. } | Op::Window { to, .. } => (*to, self.reshape(t, op)?),
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
        let vector = args
            .iter()
            .find_map(|arg| match &self.threads[t].regs[arg.0 as usize] {
                Value::Vector(numbers) => Some(numbers.len()),
                _ => None,
            });
        let Some(len) = vector else {
            for (bits, arg) in bits.iter_mut().zip(args) {
                *bits = self.bits(t, *arg)?;
            }
            return Ok(Value::Bits(scalar::eval(f, elem, bits)?));
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
            out.push(scalar::eval(f, elem, bits)?);
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
        let actor = self.actor(t);
        self.note_step(t, Kind::Load, Some(at));
        let bytes = self.memory.read(actor, at, numbers * size, size)?;
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
        let actor = self.actor(t);
        self.note_step(t, Kind::Store, Some(at));
        Ok(self.memory.write(actor, at, &bytes, size)?)
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
            known.push(match (size, dynamic.next()) {
                (Some(size), _) => *size,
                (None, Some(reg)) => self.int(t, *reg)?,
                (None, None) => return Err(Reason::Kind("a size")),
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
        let bytes = view
            .span_bytes()
            .ok_or(Reason::Kind("a size that a buffer has"))?;
        view.buffer = self
            .memory
            .add("a private buffer".into(), Space::Private, 16, garbage(bytes));
        Ok(Value::View(Rc::new(view)))
    }

    fn indices(&self, t: usize, indices: &[Index]) -> Result<Vec<i64>, Reason> {
        indices.iter().map(|index| self.index(t, *index)).collect()
    }

    fn reshape(&self, t: usize, op: &Op) -> Result<Value, Reason> {
        let view = match op {
            Op::SubView {
                view,
                offsets,
                sizes,
                strides,
                dropped,
                ..
            } => {
                let mut view = View::clone(&*self.view(t, *view)?);
                let (offsets, sizes) = (self.indices(t, offsets)?, self.indices(t, sizes)?);
                let steps = self.indices(t, strides)?;
                for (offset, stride) in offsets.iter().zip(&view.strides) {
                    view.offset = view.offset.wrapping_add(offset.wrapping_mul(*stride));
                }
                let keeps = |i: &usize| !dropped.contains(i);
                view.strides = (0..view.strides.len())
                    .filter(keeps)
                    .map(|i| view.strides[i].wrapping_mul(steps[i]))
                    .collect();
                view.sizes = (0..sizes.len()).filter(keeps).map(|i| sizes[i]).collect();
                view
            }
            Op::Window {
                view,
                shift,
                sizes,
                strides,
                elem,
                lanes,
                ..
            } => {
                let mut view = View::clone(&*self.view(t, *view)?);
                if let Some(shift) = shift {
                    view.base += view.offset * view.elem_bytes() + self.int(t, *shift)?;
                    view.offset = 0;
                }
                view.sizes = self.indices(t, sizes)?;
                view.strides = match strides {
                    Some(strides) => strides.to_vec(),
                    None => row_by_row(&view.sizes),
                };
                (view.elem, view.lanes) = (*elem, *lanes);
                view
            }
            _ => return Err(Reason::Kind("a view")),
        };
        Ok(Value::View(Rc::new(view)))
    }

    fn pick(&self, t: usize, from: &[Reg], picks: &[(u32, u32)], number: bool) -> Result<Value, Reason> {
        let sources: Vec<&Value> = from
            .iter()
            .map(|reg| self.value(t, *reg))
            .collect::<Result<_, _>>()?;
        let get = |&(source, i): &(u32, u32)| match sources[source as usize] {
            Value::Bits(bits) => Ok(*bits),
            Value::Vector(numbers) => Ok(numbers[i as usize]),
            _ => Err(Reason::Kind("a vector")),
        };
        if number {
            return Ok(Value::Bits(get(&picks[0])?));
        }
        let picked: Result<Rc<[u64]>, Reason> = picks.iter().map(get).collect();
        Ok(Value::Vector(picked?))
    }

    /// The address of the first number of an access, for a check that it is there.
    pub(super) fn row(&mut self, t: usize, access: &Access, bytes: usize) -> Result<Vec<u8>, Reason> {
        let (at, _): (Pointer, _) = self.address(t, access)?;
        let actor = self.actor(t);
        self.note_step(t, Kind::Load, Some(at));
        Ok(self.memory.read(actor, at, bytes, bytes)?.to_vec())
    }
}

/// The strides of a buffer without gaps.
#[must_use]
pub fn row_by_row(sizes: &[i64]) -> Vec<i64> {
    let mut strides = vec![1_i64; sizes.len()];
    for i in (1..sizes.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(sizes[i].max(0));
    }
    strides
}
