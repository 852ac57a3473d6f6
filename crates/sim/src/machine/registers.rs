//! What registers hold, and the addresses that they stand for.

use super::{Machine, Reason};
use crate::code::{Access, Index, Member, Reg, Target};
use crate::memory::Fault;
use crate::value::{CopyId, Pointer, Value, View};
use std::rc::Rc;

impl Machine<'_> {
    pub(super) fn set(&mut self, t: usize, to: Reg, value: Value) {
        self.threads[t].regs[to.0 as usize] = value;
    }

    pub(super) fn value(&self, t: usize, reg: Reg) -> Result<&Value, Reason> {
        match &self.threads[t].regs[reg.0 as usize] {
            Value::Poison => Err(Reason::Poison),
            value => Ok(value),
        }
    }

    pub(super) fn bits(&self, t: usize, reg: Reg) -> Result<u64, Reason> {
        match self.value(t, reg)? {
            Value::Bits(bits) => Ok(*bits),
            // A vector without dimensions.
            Value::Vector(numbers) if numbers.len() == 1 => Ok(numbers[0]),
            _ => Err(Reason::Kind("a number")),
        }
    }

    pub(super) fn int(&self, t: usize, reg: Reg) -> Result<i64, Reason> {
        Ok(self.bits(t, reg)?.cast_signed())
    }

    pub(super) fn index(&self, t: usize, index: Index) -> Result<i64, Reason> {
        match index {
            Index::Const(value) => Ok(value),
            Index::Reg(reg) => self.int(t, reg),
        }
    }

    pub(super) fn view(&self, t: usize, reg: Reg) -> Result<Rc<View>, Reason> {
        match self.value(t, reg)? {
            Value::View(view) => Ok(Rc::clone(view)),
            _ => Err(Reason::Kind("a memref")),
        }
    }

    pub(super) fn pointer(&self, t: usize, reg: Reg) -> Result<Pointer, Reason> {
        match self.value(t, reg)? {
            Value::Pointer(pointer) => Ok(*pointer),
            _ => Err(Reason::Kind("a pointer")),
        }
    }

    pub(super) fn numbers(&self, t: usize, reg: Reg) -> Result<Vec<u64>, Reason> {
        match self.value(t, reg)? {
            Value::Bits(bits) => Ok(vec![*bits]),
            Value::Vector(numbers) => Ok(numbers.to_vec()),
            _ => Err(Reason::Kind("a vector")),
        }
    }

    pub(super) fn copies(&self, t: usize, regs: &[Reg]) -> Result<Vec<CopyId>, Reason> {
        let mut all = Vec::new();
        for &reg in regs {
            match &self.threads[t].regs[reg.0 as usize] {
                Value::Token(copies) => all.extend_from_slice(copies),
                // A token of nothing.
                Value::Poison => {}
                _ => return Err(Reason::Kind("a token")),
            }
        }
        Ok(all)
    }

    /// The address of an element.
    pub(super) fn address(&self, t: usize, access: &Access) -> Result<(Pointer, Rc<View>), Reason> {
        let view = self.view(t, access.view)?;
        let mut at = view.offset;
        for ((index, stride), size) in access.indices.iter().zip(&view.strides).zip(&view.sizes) {
            let index = self.int(t, *index)?;
            if index < 0 || index >= *size {
                return Err(Reason::Fault(Fault::OutOfBounds {
                    buffer: view.buffer,
                    offset: view.base + (at + index * stride) * view.elem_bytes(),
                    bytes: usize::try_from(view.elem_bytes()).unwrap_or(0),
                }));
            }
            at += index * stride;
        }
        let pointer = Pointer {
            buffer: view.buffer,
            offset: view.base + at * view.elem_bytes(),
        };
        Ok((pointer, view))
    }

    /// The address that a copy starts at.
    pub(super) fn target(&self, t: usize, target: &Target) -> Result<Pointer, Reason> {
        match target {
            Target::Element(access) => Ok(self.address(t, access)?.0),
            Target::Pointer(reg) => self.pointer(t, *reg),
        }
    }

    /// A member of a memref's struct.
    pub(super) fn member(view: &View, member: Member) -> Value {
        match member {
            Member::Pointer => Value::Pointer(Pointer {
                buffer: view.buffer,
                offset: view.base,
            }),
            Member::Offset => Value::int(view.offset),
            Member::Size(dim) => Value::int(view.sizes[dim]),
            Member::Stride(dim) => Value::int(view.strides[dim]),
        }
    }
}
