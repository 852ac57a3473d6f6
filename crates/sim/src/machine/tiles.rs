//! Accesses of several elements that don't lie in a row, and those that read and write at once.

use super::{Machine, Reason};
use crate::code::{Access, Reg, Tile};
use crate::memory::Fault;
use crate::refine::Kind;
use crate::scalar::{self, Scalar};
use crate::value::{Elem, Pointer, Value, View};
use std::rc::Rc;

impl Machine<'_> {
    /// The index in the last dimension, if there is one.
    pub(super) fn last_index(&self, t: usize, access: &Access) -> Result<i64, Reason> {
        let last = access.indices.last();
        last.map_or(Ok(0), |index| self.int(t, *index))
    }

    /// Checks that so many elements in a row from index `first` on are all of the memref's last dimension.
    pub(super) fn in_row(view: &View, first: i64, count: u32) -> Result<(), Fault> {
        let Some(&size) = view.sizes.last() else {
            return Ok(());
        };
        let last = first.saturating_add(i64::from(count) - 1);
        if count > 1 && last >= size {
            return Err(Fault::Index {
                buffer: view.buffer,
                index: last,
                dim: view.sizes.len() - 1,
                size,
            });
        }
        Ok(())
    }

    /// The addresses of a tile's elements, row by row; `None` for those that may be out of bounds, and are.
    fn elements(
        &self,
        t: usize,
        access: &Access,
        tile: &Tile,
    ) -> Result<(Rc<View>, Vec<Option<Pointer>>), Reason> {
        let view = self.view(t, access.view)?;
        let first: Vec<i64> = access
            .indices
            .iter()
            .map(|index| self.int(t, *index))
            .collect::<Result<_, _>>()?;
        let count = tile.sizes.iter().product::<i64>();
        let mut elements = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
        for number in 0..count {
            elements.push(element(&view, &first, tile, number)?);
        }
        Ok((view, elements))
    }

    pub(super) fn load_tile(
        &mut self,
        t: usize,
        from: &Access,
        tile: &Tile,
        padding: Option<Reg>,
    ) -> Result<Value, Reason> {
        let (view, elements) = self.elements(t, from, tile)?;
        let padding = match padding {
            Some(padding) => self.numbers(t, padding)?,
            None => vec![0; view.lanes as usize],
        };
        let size = view.elem.bytes();
        let actor = self.actor(t);
        let mut numbers = Vec::with_capacity(elements.len() * view.lanes as usize);
        for at in elements {
            let Some(at) = at else {
                numbers.extend_from_slice(&padding);
                continue;
            };
            self.note_step(t, Kind::Load, Some(at));
            let bytes = size * view.lanes as usize;
            let bytes = self.memory.read(actor, at, bytes, view.elem_align())?;
            numbers.extend(
                bytes
                    .chunks_exact(size)
                    .map(|number| view.elem.from_bytes(number)),
            );
        }
        Ok(Value::Vector(numbers.into()))
    }

    pub(super) fn store_tile(
        &mut self,
        t: usize,
        value: Reg,
        to: &Access,
        tile: &Tile,
    ) -> Result<(), Reason> {
        let (view, elements) = self.elements(t, to, tile)?;
        let numbers = self.numbers(t, value)?;
        let size = view.elem.bytes();
        let actor = self.actor(t);
        for (at, numbers) in elements
            .into_iter()
            .zip(numbers.chunks_exact(view.lanes as usize))
        {
            let Some(at) = at else { continue };
            let bytes: Vec<u8> = numbers
                .iter()
                .flat_map(|number| number.to_le_bytes().into_iter().take(size))
                .collect();
            self.note_step(t, Kind::Store, Some(at));
            self.memory.write(actor, at, &bytes, view.elem_align())?;
        }
        Ok(())
    }

    /// Returns what was there. Atomic accesses of one address don't race with each other.
    pub(super) fn atomic(
        &mut self,
        t: usize,
        at: &Access,
        value: Reg,
        (f, elem): (Scalar, Elem),
    ) -> Result<Value, Reason> {
        let (at, _) = self.address(t, at)?;
        let value = self.bits(t, value)?;
        let mut actor = self.actor(t);
        actor.atomic = true;
        self.note_step(t, Kind::Load, Some(at));
        let (size, mut next) = (elem.bytes(), value);
        let old = elem.from_bytes(self.memory.read(actor, at, size, size)?);
        if f != Scalar::Same {
            next = scalar::eval(f, elem, [old, value, 0])?.ok_or(Reason::Poison)?;
        }
        self.note_step(t, Kind::Store, Some(at));
        self.memory.write(actor, at, &next.to_le_bytes()[..size], size)?;
        Ok(Value::Bits(old))
    }
}

/// Where element `number` of a tile is, counted row by row.
fn element(view: &View, first: &[i64], tile: &Tile, mut number: i64) -> Result<Option<Pointer>, Reason> {
    let mut indices = first.to_vec();
    let mut may_miss = vec![false; first.len()];
    for ((size, dim), in_bounds) in tile.sizes.iter().zip(&tile.dims).zip(&tile.in_bounds).rev() {
        if let Some(dim) = *dim {
            indices[dim] = indices[dim].saturating_add(number % size);
            may_miss[dim] |= !in_bounds;
        }
        number /= size;
    }
    let mut at = view.offset;
    for (dim, &index) in indices.iter().enumerate() {
        let size = view.sizes[dim];
        if !(0..size).contains(&index) {
            if may_miss[dim] {
                return Ok(None);
            }
            return Err(Reason::Fault(Fault::Index {
                buffer: view.buffer,
                index,
                dim,
                size,
            }));
        }
        at = at.wrapping_add(index.wrapping_mul(view.strides[dim]));
    }
    Ok(Some(view.element(at)))
}
