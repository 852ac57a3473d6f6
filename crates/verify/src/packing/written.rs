//! Reads from what was written where each buffer is, and checks that nothing else has changed: part of what is trusted.
//!
//! *The pool* is one allocation of bytes: a global, or dynamic memory. What was a root is a `memref.view` of it at a constant offset, where
//! some type asks for it through a `memref.cast`.

use super::alignment::COPY;
use super::before::{Before, Operand, Root, Wrong, find_global, is_workgroup_global};
use super::check::{Fault, Refusal, check};
use super::code::{BufferId, Place, Sharing};
use async_dialects::names::gpux_attr;
use async_locations::buffer_parts::bytes_of;
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::Location;
use async_mlir::melior::ir::attribute::DenseI32ArrayAttribute;
use async_mlir::names::{arith, attr, gpu, memref, nvgpu};
use async_mlir::types::{is_row_major, memref_shape, symbol, symbol_path};
use async_overlap::ids::IndexVec;
use rustc_hash::{FxHashMap, FxHashSet};

/// How many bytes of workgroup memory a block gets without asking when it is launched (CUDA Programming Guide, "Compute Capabilities").
const STATIC_BYTES: u64 = 48 << 10;
/// The most bytes that a block can have on any GPU (the same).
const MOST_BYTES: u64 = 227 << 10;
/// The bytes of an mbarrier.
const MBARRIER: u64 = 8;
/// Which group of operands of a `gpu.launch_func` the size of dynamic memory is.
const DYNAMIC_SIZE: usize = 10;

/// What a root became.
enum Found<'c> {
    /// The bytes from an offset of a pool.
    View(Value<'c>, u64),
    /// The global of this name, as it was.
    Global(&'c str),
}

/// Where roots are in the pool.
struct Written<'c> {
    pool: Option<Value<'c>>,
    /// The offset of each root that something uses.
    offsets: Vec<Option<u64>>,
    /// Globals that something uses as they were.
    unmoved: FxHashSet<BufferId>,
}

impl<'c> Before<'c> {
    /// Checks what became of the function: buffers are in a pool of so many `bytes`, aligned, those that share some are never in use at once,
    /// launches in `root` ask for enough, and all else is as it was.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub fn check(&self, root: Op<'c>, sharing: Sharing, bytes: u64) -> Result<(), Wrong<'c>> {
        let written = self.compare()?;
        let places = self.places(&written)?;
        if let Some(pool) = written.pool {
            let end = places.iter().map(|place| place.end).max().unwrap_or(0);
            if end > bytes.min(MOST_BYTES) {
                return Err(self.wrong(
                    "has buffers that end after the bytes that it is said to need, or that a block can have",
                ));
            }
            self.check_pool(pool, end)?;
            self.check_alignment(pool, &written)?;
            if pool
                .defining_op()
                .is_some_and(|op| op.is(gpu::DYNAMIC_SHARED_MEMORY))
            {
                self.check_launches(root, end)?;
            }
        }
        self.check_followed(&places, sharing)?;
        check(&self.reading.code, &places, sharing).map_err(|refusal| self.refused(refusal))
    }

    fn wrong(&self, what: &str) -> Wrong<'c> {
        wrong_at(self.function, what)
    }

    fn refused(&self, refusal: Refusal) -> Wrong<'c> {
        let (block, step) = refusal.at;
        let what = match refusal.fault {
            Fault::InUse => "two buffers that share bytes may be in use here",
            Fault::NoBarrier => {
                "a buffer is accessed here after another one that it shares bytes with, with no barrier between"
            }
            Fault::InFlight => "a buffer is allocated here while a copy of what it was may be in flight",
        };
        let buffer = self.buffers[refusal.buffer].location;
        let other = self.buffers[refusal.other].location;
        Wrong {
            op: None,
            location: self.reading.places[block][step],
            what: what.to_owned(),
            notes: vec![(buffer, "this buffer"), (other, "this other one")],
        }
    }

    /// Compares the operations with what they were, and reads where roots are.
    fn compare(&self) -> Result<Written<'c>, Wrong<'c>> {
        let mut written = Written {
            pool: None,
            offsets: vec![None; self.roots.len()],
            unmoved: FxHashSet::default(),
        };
        let known: FxHashSet<Op> = self.kept.iter().map(|noted| noted.op).collect();
        let mut kept = self.kept.iter();
        for op in self.function.self_and_nested() {
            if !known.contains(&op) {
                if !is_new(op) {
                    return Err(wrong_at(op, "was not there before"));
                }
                continue;
            }
            let Some(noted) = kept.next().filter(|noted| noted.op == op) else {
                return Err(wrong_at(op, "is in another place than before"));
            };
            if op.block() != noted.block || op.num_operands() != noted.operands.len() {
                return Err(wrong_at(
                    op,
                    "is in another block than before, or has other operands",
                ));
            }
            for (operand, value) in noted.operands.iter().zip(op.operands()) {
                match operand {
                    Operand::Value(before) if *before == value => {}
                    Operand::Value(_) => return Err(wrong_at(op, "has another operand than before")),
                    Operand::Root(root) => {
                        self.place(&mut written, *root, value)
                            .map_err(|what| wrong_at(op, what))?;
                    }
                }
            }
        }
        match kept.next() {
            Some(_) => Err(self.wrong("lacks operations that it had")),
            None => Ok(written),
        }
    }

    /// Notes where `root` is, which is `value` now.
    fn place(&self, written: &mut Written<'c>, root: usize, value: Value<'c>) -> Result<(), &'static str> {
        let was = &self.roots[root];
        let (pool, offset) = match find(was, value)? {
            Found::Global(name) if was.global == Some(name) => {
                written.unmoved.insert(was.buffer);
                return Ok(());
            }
            Found::Global(_) => return Err("uses another buffer than before"),
            Found::View(pool, offset) => (pool, offset),
        };
        if *written.pool.get_or_insert(pool) != pool {
            return Err("uses memory that is not in the one allocation");
        }
        if *written.offsets[root].get_or_insert(offset) != offset {
            return Err("uses a buffer in another place than others");
        }
        Ok(())
    }

    /// Where each buffer is; those that are not in the pool have no bytes.
    fn places(&self, written: &Written<'c>) -> Result<IndexVec<BufferId, Place>, Wrong<'c>> {
        let mut starts: IndexVec<BufferId, Option<u64>> = IndexVec::filled(None, self.buffers.len());
        for (root, offset) in self.roots.iter().zip(&written.offsets) {
            let Some(offset) = offset else { continue };
            let location = self.buffers[root.buffer].location;
            if written.unmoved.contains(&root.buffer) {
                return Err(wrong_in(location, "a buffer was moved for some of its uses"));
            }
            let start = offset
                .checked_sub(root.first)
                .filter(|start| start.checked_add(self.buffers[root.buffer].bytes).is_some());
            let Some(start) = start else {
                return Err(wrong_in(
                    location,
                    "a view begins before the buffer that it is of",
                ));
            };
            if *starts[root.buffer].get_or_insert(start) != start {
                return Err(wrong_in(
                    location,
                    "views of a buffer are not as far from each other as before",
                ));
            }
        }
        let places = starts.iter().zip(self.buffers.iter()).map(|(start, buffer)| {
            let bytes = start.map_or(0, |_| buffer.bytes);
            let start = start.unwrap_or(0);
            Place {
                start,
                end: start + bytes,
            }
        });
        Ok(places.collect())
    }

    /// Checks that `pool` has the bytes up to `end`, and is no larger than a block's static memory if it is that.
    fn check_pool(&self, pool: Value<'c>, end: u64) -> Result<(), Wrong<'c>> {
        let Some(get) = pool.defining_op().filter(|op| is_workgroup_global(*op)) else {
            return Ok(());
        };
        let bytes = bytes_of(pool.ty()).unwrap_or(0);
        if bytes < end {
            return Err(wrong_at(get, "is smaller than the buffers that it has to hold"));
        }
        let name = get.attr(attr::NAME);
        let mut others: FxHashMap<&str, u64> = FxHashMap::default();
        let mut mbarriers = 0;
        for op in self.function.self_and_nested() {
            if op.is(nvgpu::MBARRIER_CREATE) {
                mbarriers +=
                    u64::from(async_mlir::nvgpu::mbarriers(op.result(0).ty()).unwrap_or(1)) * MBARRIER;
            } else if is_workgroup_global(op) && op != get {
                if op.attr(attr::NAME) == name {
                    return Err(wrong_at(op, "gets the one allocation for something else"));
                }
                let other = op.attr(attr::NAME).and_then(symbol).unwrap_or_default();
                others.insert(other, bytes_of(op.result(0).ty()).unwrap_or(0));
            }
        }
        let all = others.into_values().chain([mbarriers, bytes]);
        if all.fold(0, u64::saturating_add) > STATIC_BYTES {
            return Err(wrong_at(
                get,
                "is more memory than a block gets without asking for it",
            ));
        }
        Ok(())
    }

    /// Checks that each root is aligned as its uses need it.
    fn check_alignment(&self, pool: Value<'c>, written: &Written<'c>) -> Result<(), Wrong<'c>> {
        let base = alignment_of(pool);
        for (root, offset) in self.roots.iter().zip(&written.offsets) {
            let Some(offset) = offset else { continue };
            let is_aligned = offset.is_multiple_of(root.alignment)
                && base.is_none_or(|base| base.is_multiple_of(root.alignment));
            if !is_aligned {
                let location = self.buffers[root.buffer].location;
                return Err(wrong_in(
                    location,
                    "a buffer is not aligned as it is said to be, or as its uses need it",
                ));
            }
        }
        Ok(())
    }

    /// Checks that each launch of the function in `root` asks for so many bytes of dynamic memory.
    fn check_launches(&self, root: Op<'c>, bytes: u64) -> Result<(), Wrong<'c>> {
        let module = self
            .function
            .parent()
            .and_then(|module| module.str_attr(attr::SYM_NAME));
        let path = [module, self.function.str_attr(attr::SYM_NAME)];
        let launches = root.self_and_nested().into_iter().filter(|op| {
            let kernel = op.attr(attr::KERNEL).and_then(symbol_path);
            op.is(gpu::LAUNCH_FUNC) && kernel.is_some_and(|kernel| kernel.into_iter().map(Some).eq(path))
        });
        for launch in launches {
            let size = dynamic_size(launch).and_then(|size| u64::try_from(size.as_constant_int()?).ok());
            if bytes > 0 && size.is_none_or(|size| size < bytes) {
                return Err(wrong_at(
                    launch,
                    "asks for less dynamic memory than the kernel needs",
                ));
            }
        }
        Ok(())
    }

    /// Checks that buffers that can't be followed, and all if none may, share no bytes with others.
    fn check_followed(&self, places: &IndexVec<BufferId, Place>, sharing: Sharing) -> Result<(), Wrong<'c>> {
        let mut by_start: Vec<(BufferId, Place)> = places
            .with_ids()
            .map(|(id, place)| (id, *place))
            .filter(|(_, place)| place.start < place.end)
            .collect();
        by_start.sort_by_key(|(_, place)| place.start);
        let may_share = |buffer: BufferId| sharing != Sharing::None && self.buffers[buffer].is_followed;
        // Those that end last of all so far, and of those that share with none.
        let mut last: [Option<(BufferId, u64)>; 2] = [None; 2];
        for (buffer, place) in by_start {
            let other = last[usize::from(may_share(buffer))].filter(|(_, end)| place.start < *end);
            if let Some((other, _)) = other {
                let mut wrong = wrong_in(
                    self.buffers[buffer].location,
                    "a buffer shares bytes with another one, and it is not known when both are in use",
                );
                wrong.notes.push((self.buffers[other].location, "this other one"));
                return Err(wrong);
            }
            let ends = [true, !may_share(buffer)];
            for (last, _) in last.iter_mut().zip(ends).filter(|(_, counts)| *counts) {
                if last.is_none_or(|(_, end)| end < place.end) {
                    *last = Some((buffer, place.end));
                }
            }
        }
        Ok(())
    }
}

fn wrong_at<'c>(op: Op<'c>, what: &str) -> Wrong<'c> {
    Wrong {
        op: Some(op),
        ..wrong_in(op.location(), what)
    }
}

fn wrong_in<'c>(location: Location<'c>, what: &str) -> Wrong<'c> {
    Wrong {
        op: None,
        location,
        what: what.to_owned(),
        notes: Vec::new(),
    }
}

/// Returns true if `op` may be new: it says where a buffer is, and does nothing else.
fn is_new(op: Op<'_>) -> bool {
    matches!(
        op.name(),
        arith::CONSTANT | memref::VIEW | memref::CAST | gpu::DYNAMIC_SHARED_MEMORY
    ) || is_workgroup_global(op)
}

/// What `value` is, which was `root`.
fn find<'c>(root: &Root<'c>, value: Value<'c>) -> Result<Found<'c>, &'static str> {
    if value.ty() != root.ty {
        return Err("uses a buffer of another type than before");
    }
    let not_in_pool = "uses memory that is not in the one allocation";
    let op = value.defining_op().ok_or(not_in_pool)?;
    if is_workgroup_global(op) {
        let name = op.attr(attr::NAME).and_then(symbol).ok_or(not_in_pool)?;
        return Ok(Found::Global(name));
    }
    let view = if op.is(memref::CAST) {
        op.operand(0).defining_op().ok_or(not_in_pool)?
    } else {
        op
    };
    if !view.is(memref::VIEW) || view.num_operands() != 2 {
        return Err(not_in_pool);
    }
    let (shape, before) = (memref_shape(view.result(0).ty()), memref_shape(root.ty));
    let is_same = shape.zip(before).is_some_and(|(shape, before)| {
        shape.sizes == before.sizes && shape.element == before.element && is_row_major(view.result(0).ty())
    });
    let offset = view.operand(1).as_constant_int();
    let offset = offset.and_then(|offset| u64::try_from(offset).ok());
    let pool = view.operand(0);
    let is_pool = pool
        .defining_op()
        .is_some_and(|op| is_workgroup_global(op) || op.is(gpu::DYNAMIC_SHARED_MEMORY));
    match offset.filter(|_| is_same && is_pool) {
        Some(offset) => Ok(Found::View(pool, offset)),
        None => Err(not_in_pool),
    }
}

/// What the first byte of `pool` is aligned to; `None` if whoever launches the kernel says it.
fn alignment_of(pool: Value<'_>) -> Option<u64> {
    let op = pool.defining_op()?;
    let stated = if op.is(gpu::DYNAMIC_SHARED_MEMORY) {
        let module = op.ancestors().find(|op| op.is(gpu::MODULE))?;
        let stated = module.int_attr(gpux_attr::DYNAMIC_ALIGNMENT);
        return Some(
            stated
                .and_then(|bytes| u64::try_from(bytes).ok())
                .unwrap_or(0)
                .max(COPY),
        );
    } else {
        let global = op
            .attr(attr::NAME)
            .and_then(symbol)
            .and_then(|name| find_global(op, name));
        global.and_then(|global| global.int_attr(attr::ALIGNMENT))
    };
    Some(stated.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(1))
}

/// How many bytes of dynamic memory `launch` asks for, if it does.
fn dynamic_size(launch: Op<'_>) -> Option<Value<'_>> {
    let sizes = DenseI32ArrayAttribute::try_from(launch.attr(attr::OPERAND_SEGMENT_SIZES)?).ok()?;
    let mut first = 0;
    for group in 0..DYNAMIC_SIZE {
        first += usize::try_from(sizes.element(group).ok()?).ok()?;
    }
    (sizes.element(DYNAMIC_SIZE).ok()? == 1).then(|| launch.operand(first))
}
