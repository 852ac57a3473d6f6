//! Accesses of memory, and what makes buffers and ends them.

use super::{Machine, Reason};
use crate::code::{Access, Op, Reg, Tile};
use crate::memory::{Contents, Fault, Owner, Space};
use crate::refine::Kind;
use crate::scalar::{self, Scalar};
use crate::value::{BufferId, Elem, Pointer, Value, View, row_by_row};
use std::borrow::Cow;
use std::sync::Arc;

/// What the host's buffers are aligned to.
const HOST_ALIGN: u32 = 64;

impl Machine<'_> {
    pub(super) fn access(&mut self, t: usize, op: &Op) -> Result<(), Reason> {
        let (to, value) = match op {
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
            Op::AtomicLoad { to, at, elem } => {
                let at = self.address(t, at)?.0;
                (*to, Value::Bits(self.atomic_load(t, at, *elem)?))
            }
            Op::AtomicStore { value, at, elem } => {
                let (at, value) = (self.address(t, at)?.0, self.bits(t, *value)?);
                return self.atomic_store(t, at, value, *elem);
            }
            Op::Alloc {
                to,
                sizes,
                dynamic,
                elem,
                lanes,
            } => (*to, self.alloc(t, sizes, dynamic, *elem, *lanes)?),
            Op::Free { view } => {
                let view = self.view(t, *view)?;
                if self.code.is_host {
                    if self.code.is_program && self.memory.origin(view.buffer) != Owner::Host {
                        self.misuse(
                            t,
                            view.buffer,
                            "the host has not allocated {}",
                            "free it with gpu.dealloc or gpux.dealloc",
                        );
                    }
                    return self.free(t, view.buffer);
                }
                // What threads share is there until the last of them ends.
                if self.memory.buffer(view.buffer).space == Space::Private {
                    self.memory.free(view.buffer);
                }
                return Ok(());
            }
            Op::EndScope(buffers) => {
                for buffer in buffers {
                    // There is none where control has not come by its allocation.
                    if let Value::View(view) = self.threads[t].regs[buffer.0 as usize].clone() {
                        self.end_of_life(t, view.buffer);
                    }
                }
                return Ok(());
            }
            Op::Check { view, sizes, align } => return self.check(t, *view, sizes, *align),
            _ => return Err(Reason::Operand("an instruction of one thread")),
        };
        self.set(t, to, value);
        Ok(())
    }

    fn load(&mut self, t: usize, from: &Access, count: u32, vector: bool) -> Result<Value, Reason> {
        let (at, view) = self.address(t, from)?;
        let numbers = view.lanes as usize * count as usize;
        let size = view.elem.bytes();
        Self::in_row(&view, self.last_index(t, from)?, count)?;
        let actor = self.actor(t);
        self.note_step(t, Kind::Load, Some((at, numbers * size)));
        let bytes = self.memory.read(actor, at, numbers * size, view.elem_align())?;
        if numbers == 1 && !vector {
            return Ok(Value::Bits(view.elem.from_bytes(bytes)));
        }
        let numbers: Arc<[u64]> = bytes
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
        self.note_step(t, Kind::Store, Some((at, bytes.len())));
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
                None => self.int(t, *dynamic.next().ok_or(Reason::Operand("a size"))?)?,
            });
        }
        if known.iter().any(|size| *size < 0) {
            return Err(Reason::Operand("a size of 0 or more"));
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
        let (contents, array) = (Contents::Unwritten(bytes), view.array());
        if self.code.is_host {
            // Any task may access it.
            let place = &self.code.instrs[self.threads[t].pc].place;
            let name = format!("the buffer of {}", place.location);
            view.buffer = self.memory.add(name, Space::Global, HOST_ALIGN, contents, array);
        } else {
            let name = "a private buffer".into();
            view.buffer = self.memory.add(name, Space::Private, 16, contents, array);
            self.private.push(view.buffer);
        }
        Ok(Value::View(Arc::new(view)))
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

    /// The addresses of a tile's elements, row by row; `None` for those that are not accessed, and for those that may be out of
    /// bounds, and are.
    fn elements(
        &self,
        t: usize,
        access: &Access,
        tile: &Tile,
    ) -> Result<(Arc<View>, Vec<Option<Pointer>>), Reason> {
        let view = self.view_of_rank(t, access.view, access.indices.len())?;
        if tile.dims.iter().flatten().any(|dim| *dim >= view.sizes.len()) {
            return Err(Reason::Operand("a memref of this rank"));
        }
        let first: Vec<i64> = access
            .indices
            .iter()
            .map(|index| self.int(t, *index))
            .collect::<Result<_, _>>()?;
        let count = tile.sizes.iter().product::<i64>();
        let mask = tile.mask.as_ref().map(|mask| self.numbers(t, mask.bits));
        let mask = mask.transpose()?.unwrap_or_default();
        let offsets = tile.offsets.map(|(offsets, _)| self.numbers(t, offsets));
        let offsets = offsets.transpose()?.unwrap_or_default();
        let mut elements = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
        for number in 0..count {
            let i = usize::try_from(number).unwrap_or(0);
            let bit = tile
                .mask
                .as_ref()
                .and_then(|known| mask.get(*known.of.get(i)? as usize));
            if bit == Some(&0) {
                elements.push(None);
                continue;
            }
            let mut first = Cow::Borrowed(&first);
            if let (Some(bits), Some((_, width))) = (offsets.get(i), tile.offsets)
                && let Some(last) = first.to_mut().last_mut()
            {
                *last = last.saturating_add(scalar::signed(width, *bits));
            }
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
        let lanes = view.lanes as usize;
        let padding = match padding {
            Some(padding) => self.numbers(t, padding)?,
            None => vec![0; lanes],
        };
        let size = view.elem.bytes();
        let actor = self.actor(t);
        let mut numbers = Vec::with_capacity(elements.len() * lanes);
        for (i, at) in elements.into_iter().enumerate() {
            let Some(at) = at else {
                // One for all of them, or a vector of the same sizes.
                let own = padding.get(i * lanes..(i + 1) * lanes);
                numbers.extend_from_slice(own.filter(|_| padding.len() > lanes).unwrap_or(&padding));
                continue;
            };
            let bytes = size * lanes;
            self.note_step(t, Kind::Load, Some((at, bytes)));
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
            self.note_step(t, Kind::Store, Some((at, bytes.len())));
            self.memory.write(actor, at, &bytes, view.elem_align())?;
        }
        Ok(())
    }

    /// Returns what was there.
    pub(super) fn atomic(
        &mut self,
        t: usize,
        at: &Access,
        value: Reg,
        (f, elem): (Scalar, Elem),
    ) -> Result<Value, Reason> {
        let (at, value) = (self.address(t, at)?.0, self.bits(t, value)?);
        let old = self.atomic_load(t, at, elem)?;
        let next = if f == Scalar::Same {
            value
        } else {
            scalar::eval(f, elem, [old, value, 0])?.ok_or(Reason::Poison)?
        };
        self.atomic_store(t, at, next, elem)?;
        Ok(Value::Bits(old))
    }

    /// Atomic accesses of one address don't race with each other.
    fn atomic_load(&mut self, t: usize, at: Pointer, elem: Elem) -> Result<u64, Reason> {
        let (mut actor, size) = (self.actor(t), elem.bytes());
        actor.kind = crate::memory::Kind::Atomic;
        self.note_step(t, Kind::Load, Some((at, size)));
        Ok(elem.from_bytes(self.memory.read(actor, at, size, size)?))
    }

    fn atomic_store(&mut self, t: usize, at: Pointer, value: u64, elem: Elem) -> Result<(), Reason> {
        let (mut actor, size) = (self.actor(t), elem.bytes());
        actor.kind = crate::memory::Kind::Atomic;
        self.note_step(t, Kind::Store, Some((at, size)));
        Ok(self.memory.write(actor, at, &value.to_le_bytes()[..size], size)?)
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
