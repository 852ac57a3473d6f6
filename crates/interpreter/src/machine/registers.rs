//! What registers hold, and the addresses that they stand for.

use super::{Machine, Reason};
use crate::code::{Access, Index, Member, Reg, Target};
use crate::memory::Fault;
use crate::value::{Pending, Pointer, Value, View};
use std::sync::Arc;

impl Machine<'_> {
    pub(super) fn set(&mut self, t: usize, to: Reg, value: Value) {
        if !self.accumulators.is_empty() && self.accumulators.contains(&to) && value != Value::Poison {
            let thread = &mut self.threads[t];
            thread.written.insert(to, thread.steps);
            self.fragment_written(t, to);
        }
        self.threads[t].regs[to.0 as usize] = value;
    }

    /// What a register holds, to be used and not only handed on.
    pub(super) fn value(&self, t: usize, reg: Reg) -> Result<&Value, Reason> {
        let mut value = &self.threads[t].regs[reg.0 as usize];
        // A region's value may be that of a region inside.
        loop {
            match value {
                Value::Guarded(guarded) => {
                    for guard in &guarded.guards {
                        let mut copies = guard.copies.iter();
                        let is_early = |pending: &&Pending| {
                            !self.is_done(t, **pending) || self.is_added_to(guard, **pending)
                        };
                        if let Some(pending) = copies.find(is_early) {
                            self.early.borrow_mut().push((pending.copy, guard.clone()));
                        }
                    }
                    value = &guarded.value;
                }
                Value::Yielded(task, place) => value = self.yielded(t, *task, *place)?,
                _ => break,
            }
        }
        match value {
            Value::Poison => Err(Reason::Poison),
            value => Ok(value),
        }
    }

    /// Returns true if a thread may rely on it that a copy is done, or a task complete.
    fn is_done(&self, t: usize, pending: Pending) -> bool {
        if self.code.is_host {
            self.knows(t, pending.copy)
        } else {
            self.memory.is_done(pending)
        }
    }

    /// The same of a value that may be poison, and is only made part of another.
    pub(super) fn value_or_poison(&self, t: usize, reg: Reg) -> Result<&Value, Reason> {
        match self.value(t, reg) {
            Err(Reason::Poison) => Ok(&Value::Poison),
            value => value,
        }
    }

    pub(super) fn bits(&self, t: usize, reg: Reg) -> Result<u64, Reason> {
        match self.value(t, reg)? {
            Value::Bits(bits) => Ok(*bits),
            // What is computed of an address in workgroup memory and is none any more, such as a matrix descriptor.
            Value::Pointer(pointer) => self.memory.address(*pointer).ok_or(Reason::Operand("a number")),
            // A vector without dimensions.
            Value::Vector(numbers) if numbers.len() == 1 => Ok(numbers[0]),
            Value::Partial(_) => Err(Reason::Poison),
            _ => Err(Reason::Operand("a number")),
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

    pub(super) fn view(&self, t: usize, reg: Reg) -> Result<Arc<View>, Reason> {
        match self.value(t, reg)? {
            Value::View(view) => Ok(Arc::clone(view)),
            _ => Err(Reason::Operand("a memref")),
        }
    }

    /// A memref of so many dimensions.
    pub(super) fn view_of_rank(&self, t: usize, reg: Reg, rank: usize) -> Result<Arc<View>, Reason> {
        let view = self.view(t, reg)?;
        if view.sizes.len() == rank {
            Ok(view)
        } else {
            Err(Reason::Operand("a memref of this rank"))
        }
    }

    pub(super) fn pointer(&self, t: usize, reg: Reg) -> Result<Pointer, Reason> {
        match self.value(t, reg)? {
            Value::Pointer(pointer) => Ok(*pointer),
            _ => Err(Reason::Operand("a pointer")),
        }
    }

    pub(super) fn numbers(&self, t: usize, reg: Reg) -> Result<Vec<u64>, Reason> {
        match self.value(t, reg)? {
            Value::Bits(bits) => Ok(vec![*bits]),
            Value::Vector(numbers) => Ok(numbers.to_vec()),
            // An address as a number.
            Value::Pointer(_) => Ok(vec![self.bits(t, reg)?]),
            Value::Partial(_) => Err(Reason::Poison),
            _ => Err(Reason::Operand("a vector")),
        }
    }

    pub(super) fn copies(&self, t: usize, regs: &[Reg]) -> Result<Vec<Pending>, Reason> {
        let mut all = Vec::new();
        for &reg in regs {
            match &self.threads[t].regs[reg.0 as usize] {
                Value::Token(copies) => all.extend_from_slice(copies),
                // A token of nothing.
                Value::Poison => {}
                _ => return Err(Reason::Operand("a token")),
            }
        }
        Ok(all)
    }

    /// The address of an element.
    pub(super) fn address(&self, t: usize, access: &Access) -> Result<(Pointer, Arc<View>), Reason> {
        let view = self.view_of_rank(t, access.view, access.indices.len())?;
        let mut at = view.offset;
        for (dim, index) in access.indices.iter().enumerate() {
            let (stride, size) = (&view.strides[dim], &view.sizes[dim]);
            let index = self.int(t, *index)?;
            if index < 0 || index >= *size {
                return Err(Reason::Fault(Fault::Index {
                    buffer: view.buffer,
                    index,
                    dim,
                    size: *size,
                }));
            }
            at = at.wrapping_add(index.wrapping_mul(*stride));
        }
        Ok((view.element(at), view))
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
            Member::Size(dim) => view
                .sizes
                .get(dim)
                .map_or(Value::Poison, |size| Value::int(*size)),
            Member::Stride(dim) => {
                let stride = view.strides.get(dim);
                stride.map_or(Value::Poison, |stride| Value::int(*stride))
            }
        }
    }
}
