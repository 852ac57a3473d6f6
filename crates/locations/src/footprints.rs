//! Computes the memory footprint of an operation: which bytes of which buffers of the workgroup it accesses
//! in each thread.

mod divergent_loops;
mod extent;
mod index_ranges;
mod rotating_buffers;

use self::extent::{Extent, element_bytes, extent, span};
use self::index_ranges::{IndexRanges, RangedIndices};
use self::rotating_buffers::{RotatingBuffers, Rotation};
use super::memory::{Access, BufferOrigin, Effect, buffer_origin, described, is_descriptor};
use super::thread_values::{ThreadValue, ThreadValues};
use super::views::{self, base};
use async_dialects::completion::{Completion, GroupEffect};
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{affine, attr, memref};
use async_mlir::types::{DYNAMIC, dense_numbers, is_row_major, memref_layout, memref_shape};
use async_overlap::ids::IndexVec;
use async_overlap::{BufferId, Footprint, LoopId, Offset, ThreadBytes};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The threads that come by: for each whether it does, or `None` if that is not known.
pub type Mask = Option<Rc<[bool]>>;

/// What makes a buffer different from others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BufferKey<'c> {
    /// What allocates it, or the argument that it is.
    Value(Value<'c>),
    /// A global.
    Global(&'c str),
    /// The dynamic memory of the workgroup.
    Dynamic,
    /// All buffers that the function does not mention: they are other functions'.
    Foreign,
}

impl<'c> BufferKey<'c> {
    /// That of the buffer `base`, which is no view. Of one that is not known, it is the value.
    #[must_use]
    pub fn of(base: Value<'c>) -> Self {
        match buffer_origin(base) {
            BufferOrigin::Global(name) => Self::Global(name),
            BufferOrigin::Dynamic => Self::Dynamic,
            _ => Self::Value(base),
        }
    }
}

/// The buffers of the workgroup, and what is accessed of them.
pub struct Footprints<'c> {
    /// What values are.
    pub values: ThreadValues<'c>,
    /// The bytes of each buffer.
    pub buffers: IndexVec<BufferId, u64>,
    /// What each buffer is.
    pub keys: IndexVec<BufferId, BufferKey<'c>>,
    numbers: FxHashMap<BufferKey<'c>, BufferId>,
    interned: FxHashSet<Rc<ThreadBytes>>,
    masks: FxHashSet<Rc<[bool]>>,
    /// The bytes of threads. Each entry also holds the tables whose addresses are in its key, so that no other table is allocated there.
    known: FxHashMap<TableKey, (Rc<ThreadBytes>, Made)>,
    rotating: RotatingBuffers<'c>,
    /// The divergent loops: threads may be in different iterations.
    divergent_loops: FxHashMap<LoopId, Op<'c>>,
}

/// What the bytes of threads are made of: a table of numbers, the ranges that are added to each, who comes by, and whether a
/// warp accesses them together.
type TableKey = (Option<*const i64>, Vec<(i64, i64)>, Option<*const bool>, bool);

/// A table of numbers, and who comes by.
type Made = (Option<Rc<[i64]>>, Mask);

/// A size that stands for one that is not known.
const ASSUMED_SIZE: i64 = 1 << 16;

impl<'c> Footprints<'c> {
    /// For the operations of `function`.
    #[must_use]
    pub fn new(function: Op<'c>) -> Self {
        Self {
            values: ThreadValues::new(function),
            buffers: IndexVec::default(),
            keys: IndexVec::default(),
            numbers: FxHashMap::default(),
            interned: FxHashSet::default(),
            masks: FxHashSet::default(),
            known: FxHashMap::default(),
            rotating: RotatingBuffers::default(),
            divergent_loops: FxHashMap::default(),
        }
    }

    /// For the operations of `function`. Buffers that rotate in a loop are one.
    #[must_use]
    pub fn with_rotating_buffers(function: Op<'c>) -> Self {
        Self {
            rotating: RotatingBuffers::new(function),
            ..Self::new(function)
        }
    }

    /// Says that the loop `around` is divergent: each thread runs as many iterations as it likes.
    pub fn add_divergent_loop(&mut self, around: Op<'c>, number: LoopId) {
        self.divergent_loops.insert(number, around);
    }

    /// The number of the buffer that `memory` is in, if it is one of the workgroup and known which.
    pub fn buffer(&mut self, memory: Value<'c>) -> Option<BufferId> {
        let mut buffer = base(memory);
        if let Some((_, [first, ..])) = self.rotating.of(buffer) {
            buffer = base(*first);
        }
        let (key, before) = self.rotating.place(key(buffer)?);
        let bytes = span(buffer).and_then(|bytes| u64::try_from(bytes.checked_add(before)?).ok());
        Some(self.number(key, bytes.unwrap_or(u64::MAX)))
    }

    /// The number of all buffers that the function does not mention.
    pub fn foreign(&mut self) -> BufferId {
        self.number(BufferKey::Foreign, u64::MAX)
    }

    /// The number of a buffer that has so many bytes, or more.
    fn number(&mut self, key: BufferKey<'c>, bytes: u64) -> BufferId {
        let id = *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.buffers.push(0)
        });
        self.buffers[id] = self.buffers[id].max(bytes);
        id
    }

    /// What `op` touches of `effect.memory`, which is in a buffer of the workgroup, in the threads of `mask`.
    pub fn of(&mut self, op: Op<'c>, effect: Effect<'c>, buffer: BufferId, mask: &Mask) -> Footprint {
        let memory = described(effect.memory);
        // Of a matrix, all is accessed.
        let known = self.in_view(op, memory, is_descriptor(effect.memory), mask);
        let known = known.or_else(|| self.around(memory, mask));
        let (bytes, offset, certain) = match known {
            Some((bytes, offset, certain)) => (Some(bytes), offset, certain),
            None => (None, Offset::default(), false),
        };
        Footprint {
            buffer,
            bytes,
            offset,
            within: self.within(op, memory, buffer, mask),
            certain,
        }
    }

    /// What `op` touches of `memory`, as if each of its sizes that are not known were `ASSUMED_SIZE`: elements that lie apart there
    /// have different indices, and so they lie apart, whatever the sizes. `None` if that isn't known, as where `memory` is a view,
    /// whose rows may overlap.
    pub fn by_indices(
        &mut self,
        op: Op<'c>,
        memory: Value<'c>,
        buffer: BufferId,
        mask: &Mask,
    ) -> Option<Footprint> {
        let is_whole = base(memory) == memory && is_row_major(memory.ty());
        if !is_whole || !matches!(op.name(), memref::LOAD | memref::STORE) {
            return None;
        }
        let extent = extent(op, memory)?;
        let first = op.operands().position(|operand| operand == memory)? + 1;
        let mut at = ThreadValue::constant(0);
        let mut stride = element_bytes(memory)?;
        for (i, size) in memref_shape(memory.ty())?.sizes.into_iter().enumerate().rev() {
            let index = self.values.of(op.operand(first + i))?;
            let term = self.values.scaled(&index, stride)?;
            at = self.values.plus(&at, &term)?;
            stride = stride.checked_mul(size.unwrap_or(ASSUMED_SIZE).max(1))?;
        }
        Some(Footprint {
            buffer,
            bytes: Some(self.thread_bytes(&at, &extent, mask)?),
            offset: at.offset,
            within: Vec::new(),
            certain: false,
        })
    }

    /// What `op` touches of the view `memory`, perhaps all of it, and whether it is sure to.
    fn in_view(
        &mut self,
        op: Op<'c>,
        memory: Value<'c>,
        all: bool,
        mask: &Mask,
    ) -> Option<(Rc<ThreadBytes>, Offset, bool)> {
        let view = self.view_offset(memory, &mut IndexRanges::new(RangedIndices::None))?;
        if let Some((bytes, offset)) = self.in_all_iterations(op, memory, &view, mask) {
            return Some((bytes, offset, false));
        }
        let exact = extent(op, memory).and_then(|extent| {
            let at = self.place(op, memory, &extent, &mut IndexRanges::new(RangedIndices::None))?;
            Some((at, extent))
        });
        let (at, extent) = match exact {
            Some(exact) => exact,
            None => {
                let somewhere = Extent::somewhere_in(span(memory)?);
                let certain = all;
                (view, Extent { certain, ..somewhere })
            }
        };
        let in_bounds = self.in_bounds(op, memory, extent.indices, mask);
        let comes = if in_bounds.is_some() { &in_bounds } else { mask };
        let bytes = self.thread_bytes(&at, &extent, comes)?;
        Some((bytes, at.offset, extent.certain && mask.is_some()))
    }

    /// The bytes of the innermost `memref.view` that `memory` is in: other views may begin anywhere in that.
    fn around(&mut self, memory: Value<'c>, mask: &Mask) -> Option<(Rc<ThreadBytes>, Offset, bool)> {
        for op in views::enclosing(memory).filter(|op| op.is(memref::VIEW)) {
            let view = op.result(0);
            let at = self.view_offset(view, &mut IndexRanges::new(RangedIndices::None));
            if let (Some(bytes), Some(at)) = (span(view), at) {
                let bytes = self.thread_bytes(&at, &Extent::somewhere_in(bytes), mask)?;
                return Some((bytes, at.offset, false));
            }
        }
        None
    }

    /// The bytes of each thread that comes by.
    fn thread_bytes(&mut self, at: &ThreadValue, extent: &Extent, mask: &Mask) -> Option<Rc<ThreadBytes>> {
        let key = (
            at.threads.as_ref().map(|threads| threads.as_ptr()),
            extent.ranges.clone(),
            mask.as_ref().map(|mask| mask.as_ptr()),
            extent.together,
        );
        if let Some((known, _)) = self.known.get(&key) {
            return Some(known.clone());
        }
        // Without an index it does not matter how many threads there are, as long as there are two.
        let threads = match (self.values.num_threads(), &at.threads) {
            (Some(threads), _) => threads,
            (None, None) => 2,
            (None, Some(_)) => return None,
        };
        let comes = |thread: u32| {
            mask.as_ref()
                .is_none_or(|mask| mask.get(thread as usize).copied().unwrap_or(true))
        };
        let mut ranges = Vec::new();
        for thread in (0..threads).filter(|thread| comes(*thread)) {
            let own = at.threads.as_ref().map_or(0, |threads| threads[thread as usize]);
            for &(start, bytes) in &extent.ranges {
                let start = own.checked_add(start)?;
                let owner = (!extent.together).then_some(thread);
                ranges.push((start..start.checked_add(bytes)?, owner));
            }
        }
        let bytes = self.intern(ThreadBytes::new(ranges));
        self.known
            .insert(key, (bytes.clone(), (at.threads.clone(), mask.clone())));
        Some(bytes)
    }

    fn intern(&mut self, bytes: ThreadBytes) -> Rc<ThreadBytes> {
        if let Some(known) = self.interned.get(&bytes) {
            return known.clone();
        }
        let bytes = Rc::new(bytes);
        self.interned.insert(bytes.clone());
        bytes
    }

    /// Index `number` of `op`, whose indices are operands from `first` on, or are made of them.
    fn index(&mut self, op: Op<'c>, first: usize, number: usize) -> Option<ThreadValue> {
        match index_value(op, first, number) {
            Some(index) => self.values.of(index),
            None => self.values.mapped_index(op, first, number),
        }
    }

    /// How many bytes what `op` accesses of `memory` is from the start of the buffer.
    fn place(
        &mut self,
        op: Op<'c>,
        memory: Value<'c>,
        extent: &Extent,
        ranges: &mut IndexRanges,
    ) -> Option<ThreadValue> {
        let mut sum = self.view_offset(memory, ranges)?;
        let first = op.operands().position(|operand| operand == memory)? + 1;
        let sizes = memref_shape(memory.ty())?.sizes;
        let strides = memref_layout(memory.ty())?.strides;
        let element = element_bytes(memory)?;
        for (i, (stride, size)) in strides.into_iter().zip(sizes).take(extent.indices).enumerate() {
            let index = (self.index(op, first, i), index_value(op, first, i));
            let bytes = stride.and_then(|stride| stride.checked_mul(element));
            let count = size.map(|size| extent.positions(i, size));
            sum = self.with_index(&sum, index, (bytes, count), ranges)?;
        }
        Some(sum)
    }

    /// The threads of `mask` whose indices are in bounds: if it is not known how many threads there are, others need not be.
    fn in_bounds(&mut self, op: Op<'c>, memory: Value<'c>, indices: usize, mask: &Mask) -> Mask {
        let threads = self.values.num_threads().filter(|_| mask.is_none())? as usize;
        let first = op.operands().position(|operand| operand == memory)? + 1;
        let sizes = memref_shape(memory.ty())?.sizes;
        let mut comes = vec![true; threads];
        for (i, size) in sizes.into_iter().take(indices).enumerate() {
            let (Some(size), Some(index)) = (size, self.index(op, first, i)) else {
                continue;
            };
            if let (Some(table), []) = (&index.threads, index.offset.terms.as_slice()) {
                let numbers = table.iter().map(|own| own.wrapping_add(index.offset.constant));
                comes
                    .iter_mut()
                    .zip(numbers)
                    .for_each(|(comes, number)| *comes &= (0..size).contains(&number));
            }
        }
        if comes.iter().all(|comes| *comes) {
            return None;
        }
        let comes: Rc<[bool]> = comes.into();
        if let Some(known) = self.masks.get(&comes) {
            return Some(known.clone());
        }
        self.masks.insert(comes.clone());
        Some(comes)
    }

    /// How many bytes the first element of `memory` is from the start of its buffer.
    fn view_offset(&mut self, memory: Value<'c>, ranges: &mut IndexRanges) -> Option<ThreadValue> {
        let mut sum = ThreadValue::constant(0);
        let mut view = memory;
        // A view that is left counts from the pointer of its source, which no subview moves.
        let mut from_pointer = false;
        for op in views::chain(memory) {
            let source = op.operand(0);
            let own = match op.name() {
                memref::SUBVIEW | memref::REINTERPRET_CAST if from_pointer => ThreadValue::constant(0),
                memref::REINTERPRET_CAST => self.cast_offset(op)?,
                memref::CAST
                | memref::MEMORY_SPACE_CAST
                | memref::ASSUME_ALIGNMENT
                | memref::EXPAND_SHAPE
                | memref::COLLAPSE_SHAPE
                | memref::TRANSPOSE
                | memref::EXTRACT_STRIDED_METADATA => ThreadValue::constant(0),
                memref::VIEW => self.values.of(op.operand(1))?,
                memref::SUBVIEW => self.subview_offset(op, source, ranges)?,
                _ => return None,
            };
            from_pointer |= views::leaves_source(op);
            sum = self.values.plus(&sum, &own)?;
            view = source;
        }
        let starts_at_0 = memref_layout(view.ty())?.offset == Some(0);
        if let Some((rotation, firsts)) = self.rotating.of(view).filter(|_| starts_at_0 || !from_pointer) {
            let firsts = firsts.to_vec();
            let begins = firsts.into_iter().map(|first| {
                self.view_offset(first, &mut IndexRanges::new(RangedIndices::None))?
                    .as_constant()
            });
            let begins = begins.collect::<Option<Vec<i64>>>()?;
            let begins = match rotation {
                Rotation::In(around) => self.values.periodic(around, begins)?,
                Rotation::After(around) => self.values.periodic_after(around, begins)?,
            };
            return self.values.plus(&sum, &begins);
        }
        let before = key(view).map_or(0, |key| self.rotating.place(key).1);
        self.values
            .plus(&sum, &ThreadValue::constant(before))
            .filter(|_| starts_at_0)
    }

    /// How many bytes the first element of what `op`, a `memref.reinterpret_cast`, shows is from the pointer of its source.
    fn cast_offset(&mut self, op: Op<'c>) -> Option<ThreadValue> {
        let offset = *op.attr(attr::STATIC_OFFSETS).and_then(dense_numbers)?.first()?;
        let offset = match offset {
            DYNAMIC => self.values.of(op.operand(1))?,
            offset => ThreadValue::constant(offset),
        };
        self.values.scaled(&offset, element_bytes(op.result(0))?)
    }

    fn subview_offset(
        &mut self,
        op: Op<'c>,
        source: Value<'c>,
        ranges: &mut IndexRanges,
    ) -> Option<ThreadValue> {
        let numbers = |name| op.attr(name).and_then(dense_numbers);
        let offsets = numbers(attr::STATIC_OFFSETS)?;
        let (sizes, steps) = (numbers(attr::STATIC_SIZES)?, numbers(attr::STATIC_STRIDES)?);
        let strides = memref_layout(source.ty())?.strides;
        let whole = memref_shape(source.ty())?.sizes;
        let element = element_bytes(source)?;
        let mut sum = ThreadValue::constant(0);
        let mut operand = 1;
        for (i, stride) in strides.into_iter().enumerate() {
            let own = if offsets[i] == DYNAMIC {
                operand += 1;
                let offset = op.operand(operand - 1);
                (self.values.of(offset), Some(offset))
            } else {
                (Some(ThreadValue::constant(offsets[i])), None)
            };
            let bytes = stride.and_then(|stride| stride.checked_mul(element));
            let count = whole[i].map(|whole| positions(whole, sizes[i], steps[i]));
            sum = self.with_index(&sum, own, (bytes, count), ranges)?;
        }
        Some(sum)
    }
}

/// Index `number` of `op`, whose indices are operands from `first` on; `None` if a map makes them.
fn index_value(op: Op<'_>, first: usize, number: usize) -> Option<Value<'_>> {
    let is_mapped = matches!(
        op.name(),
        affine::LOAD | affine::STORE | affine::VECTOR_LOAD | affine::VECTOR_STORE
    );
    (!is_mapped).then(|| op.operand(first + number))
}

/// Where a part of so many elements, `step` apart, may begin in a dimension of `whole` elements, in which it has to lie.
fn positions(whole: i64, size: i64, step: i64) -> i64 {
    let is_known = size != DYNAMIC && step != DYNAMIC && step > 0;
    let further = size.saturating_sub(1).max(0).saturating_mul(step);
    let further = if is_known { further } else { 0 };
    whole.saturating_sub(further).max(1)
}

/// What makes the buffer `base`, which is no view, different from others, if it is known which it is.
fn key(base: Value<'_>) -> Option<BufferKey<'_>> {
    (!matches!(buffer_origin(base), BufferOrigin::Unknown)).then(|| BufferKey::of(base))
}

/// Returns true if `memory` is of the workgroup.
#[must_use]
pub fn is_of_workgroup(memory: Value<'_>) -> bool {
    is_workgroup(memory.ty()) || is_descriptor(memory) || is_workgroup(base(memory).ty())
}

/// Returns true if an access goes on when `op` is over.
#[must_use]
pub fn is_asynchronous(op: Op<'_>, access: Access) -> bool {
    let issues = Completion::of(op).is_some_and(|completion| completion.effect == GroupEffect::Issue);
    issues && matches!(access, Access::AsyncRead | Access::AsyncWrite)
}
