//! Allocates the versions of buffers: a buffer becomes bytes, in which each version is a `memref.view` of its
//! own type.

use super::body::{Body, is_inside};
use super::folding::{Arithmetic, Constants, FoldedInt, InsertionPoint};
use super::multi_buffering::{Slots, Versioned, version};
use crate::analysis::memory::{BufferOrigin, buffer_origin, is_descriptor};
use crate::analysis::views::{base, view_source};
use crate::utils::alignment::{COPY_ALIGNMENT, SWIZZLED_TILE_ALIGNMENT, TILE_ALIGNMENT, tile_alignment};
use async_dialects::completion::{Completion, ExecutionScope};
use async_mlir::ir::{Block, Definition, Op, Region, Use, Value, int_attr};
use async_mlir::melior::Context;
use async_mlir::melior::ir::attribute::TypeAttribute;
use async_mlir::melior::ir::r#type::{IntegerType, MemRefType};
use async_mlir::melior::ir::{Type, TypeLike};
use async_mlir::names::{attr, memref, scf};
use async_mlir::nvgpu::tensor_map;
use async_mlir::pass::PassError;
use async_mlir::types::{bit_width, memory_space, memref_layout, memref_shape, symbol};
use async_verify::pipeline::{Checked, Versions};
use rustc_hash::{FxHashMap, FxHashSet};

/// How many bytes of each buffer the loops inside of a loop have versions in.
pub(super) type Inner<'c> = FxHashMap<Value<'c>, i64>;

/// The buffers of a function that have versions.
#[derive(Default)]
pub(super) struct Storage<'c> {
    /// Buffers that have become bytes, each with what stands for its first version, if anything uses that.
    first: FxHashMap<Value<'c>, Option<Value<'c>>>,
    inner: FxHashMap<Op<'c>, Inner<'c>>,
    /// What the check of what was written has accepted of them.
    pub checked: Checked<'c>,
}

/// Which versions the operations of a loop access.
pub(super) struct Uses<'c> {
    /// The buffers, or the first versions of them: what iterations have versions of.
    buffers: FxHashMap<Value<'c>, Versioned<'c>>,
    in_order: Vec<Value<'c>>,
    /// The buffers, or views of them from outside of the loop, that operations use.
    by_op: FxHashMap<Op<'c>, Vec<Value<'c>>>,
    lags: FxHashSet<(Value<'c>, u32)>,
}

impl<'c> Storage<'c> {
    /// The versions that a loop needs of its buffers. Where loops inside of it have versions, it has versions of all those.
    pub fn plan(&self, body: &Body<'c>, versions: &[(Value<'c>, u32)]) -> Result<Uses<'c>, PassError<'c>> {
        let mut uses = Uses {
            buffers: FxHashMap::default(),
            in_order: Vec::new(),
            by_op: FxHashMap::default(),
            lags: FxHashSet::default(),
        };
        let tiles = tiles(body, versions);
        for &(storage, versions) in versions {
            let inner = self.inner.get(&body.around).and_then(|inner| inner.get(&storage));
            let first = self.first.get(&storage).copied().flatten().unwrap_or(storage);
            let (what, ty) = match inner {
                Some(&bytes) => (storage, bytes_type(storage.context(), storage.ty(), bytes)),
                None => (first, first.ty()),
            };
            let stated = storage.defining_op().and_then(|op| op.int_attr(attr::ALIGNMENT));
            let tile = tiles.get(&storage).copied();
            let alignment = tile.into_iter().chain(stated).fold(COPY_ALIGNMENT, i64::max);
            let stride = stride(body, storage, (ty, alignment), versions)?;
            let versioned = Versioned {
                versions,
                stride,
                storage,
                ty,
            };
            uses.buffers.insert(what, versioned);
            uses.in_order.push(what);
        }
        uses.find(body);
        Ok(uses)
    }

    /// Returns true if `memory` is a version of `buffer` that a loop has made for itself: it writes what it reads of it.
    pub fn is_own_version(&self, buffer: Value<'c>, memory: Value<'c>) -> bool {
        let Some(first) = self.first.get(&buffer) else {
            return false;
        };
        let mut view = memory;
        while let Some(source) = view
            .defining_op()
            .and_then(view_source)
            .filter(|source| *source != buffer)
        {
            view = source;
        }
        view != buffer && Some(view) != *first
    }

    /// Notes what `around` will use, for the loops around it, and forgets what is inside of it.
    pub fn enter(&mut self, around: Op<'c>, uses: &Uses<'c>) {
        self.inner.remove(&around);
        for outer in around.ancestors().filter(|op| op.is(scf::FOR)) {
            let inner = self.inner.entry(outer).or_default();
            for versioned in uses.buffers.values() {
                let bytes = inner.entry(versioned.storage).or_default();
                *bytes = (*bytes).max(versioned.bytes());
            }
        }
        for buffer in around.self_and_nested().into_iter().flat_map(Op::results) {
            self.first.remove(&buffer);
        }
    }

    /// Forgets which versions loops inside of `around` have, before it is erased.
    pub fn take_inner(&mut self, around: Op<'c>) -> Inner<'c> {
        self.inner.remove(&around).unwrap_or_default()
    }

    /// Notes what [`take_inner`](Self::take_inner) returned of what is `around` now.
    pub fn set_inner(&mut self, around: Op<'c>, inner: Inner<'c>) {
        self.inner.insert(around, inner);
    }

    /// Makes bytes of the buffers that a loop has been given versions of. What else uses them uses the first version.
    pub fn make_bytes(&mut self, uses: &Uses<'c>, made: &[Op<'c>]) {
        let made: FxHashSet<Op> = made.iter().copied().collect();
        for what in &uses.in_order {
            let versioned = uses.buffers[what];
            let Versioned { storage, .. } = versioned;
            let bytes = versioned.bytes();
            let ty = storage.ty();
            if self.first.contains_key(&storage) {
                if bytes_of(ty).is_some_and(|known| known < bytes) {
                    resize(storage, bytes);
                }
                continue;
            }
            let others: Vec<Use> = storage
                .uses()
                .into_iter()
                .filter(|used| !made.contains(&used.owner) && !used.owner.is(memref::DEALLOC))
                .collect();
            resize(storage, bytes);
            let first = (!others.is_empty()).then(|| {
                let next = after(storage);
                let constants = Constants::new(next, []);
                let at = InsertionPoint::Before(next);
                let arithmetic = Arithmetic::of_index(&constants, storage);
                version(at, arithmetic, (storage, ty), FoldedInt::Constant(0)).result(0)
            });
            if let Some(first) = first {
                for Use { owner, index } in others {
                    owner.set_operand(index, first);
                }
            }
            self.first.insert(storage, first);
        }
    }

    /// Erases first versions that nothing uses any more.
    pub fn finish(&mut self) {
        let views = std::mem::take(&mut self.first)
            .into_values()
            .flatten()
            .filter(|view| !view.has_uses());
        views.filter_map(Value::defining_op).for_each(Op::erase);
    }
}

/// Makes `buffer` so many bytes.
fn resize(buffer: Value<'_>, bytes: i64) {
    buffer.set_type(bytes_type(buffer.context(), buffer.ty(), bytes));
    match (buffer.defining_op(), buffer_origin(buffer)) {
        (Some(op), BufferOrigin::Global(name)) => {
            if let Some(global) = global_of(op, name) {
                global.set_attr(attr::TYPE, TypeAttribute::new(buffer.ty()).into());
                align(global);
            }
        }
        (Some(op), _) => align(op),
        (None, _) => {}
    }
}

impl<'c> Uses<'c> {
    fn find(&mut self, body: &Body<'c>) {
        if self.buffers.is_empty() {
            return;
        }
        let demands = body.demands();
        let whats = self
            .buffers
            .iter()
            .map(|(what, versioned)| (versioned.storage, *what));
        let whats: FxHashMap<Value, Value> = whats.collect();
        for op in body.block.ops() {
            let operands = op
                .self_and_nested()
                .into_iter()
                .flat_map(|op| op.operands().collect::<Vec<Value>>());
            let mut seen = FxHashSet::default();
            let used: Vec<(Value, Value)> = operands
                .filter(|value| (value.ty().is_mem_ref() || is_descriptor(*value)) && seen.insert(*value))
                .filter(|value| !is_inside(body.around, *value))
                .filter_map(|value| Some((value, *whats.get(&base(value))?)))
                .collect();
            if used.is_empty() {
                continue;
            }
            let lags: Vec<u32> = match body.statement_of.get(&op) {
                Some(statement) => vec![body.problem.statements[*statement].stage],
                None => {
                    let demands = op.results().filter_map(|result| demands.get(&result));
                    demands.flat_map(|demands| demands.keys().copied()).collect()
                }
            };
            for (_, buffer) in &used {
                self.lags.extend(lags.iter().map(|lag| (*buffer, *lag)));
            }
            self.by_op
                .insert(op, used.into_iter().map(|(value, _)| value).collect());
        }
    }

    /// The same, for the check of what is written.
    pub fn versions(&self) -> FxHashMap<Value<'c>, Versions<'c>> {
        let versions = self.buffers.iter().map(|(buffer, versioned)| {
            let versions = Versions {
                storage: versioned.storage,
                count: versioned.versions,
                stride: versioned.stride,
            };
            (*buffer, versions)
        });
        versions.collect()
    }

    /// The buffers that have versions.
    pub fn versioned(&self) -> impl Iterator<Item = Versioned<'c>> {
        self.in_order.iter().map(|what| self.buffers[what])
    }

    /// The slots that the rounds of `around` access.
    pub fn slots<'a>(&'a self, around: Op<'c>, constants: &'a Constants<'c>) -> Slots<'a, 'c> {
        Slots::new(around, constants, &self.buffers, &self.by_op, &self.lags)
    }
}

/// Has each global of fast memory one operation that gets it, at the start of `function`, so that it is one value.
pub(super) fn unite_globals(function: Op<'_>) {
    let Some(start) = function.region(0).first().and_then(Block::first) else {
        return;
    };
    let mut first: FxHashMap<&str, Op> = FxHashMap::default();
    for op in function.self_and_nested() {
        let name = op
            .attr(attr::NAME)
            .filter(|_| op.is(memref::GET_GLOBAL))
            .and_then(symbol);
        let Some(name) = name else { continue };
        if let Some(known) = first.get(name) {
            op.replace_with(&[known.result(0)]);
            continue;
        }
        first.insert(name, op);
        if op != start {
            op.move_before(start);
        }
    }
}

/// How many bytes each version, of this type and alignment, is after the one before.
fn stride<'c>(
    body: &Body<'c>,
    buffer: Value<'c>,
    (ty, alignment): (Type<'c>, i64),
    count: u32,
) -> Result<i64, PassError<'c>> {
    let refuse = |why: &str, help: &str| {
        let message = format!("needs {count} versions of a buffer {why}");
        PassError::new(body.around, message).note(buffer.location(), format!("this one; {help}"))
    };
    let function = body.around.ancestors().find(|op| op.is_function());
    match (buffer_origin(buffer), function) {
        (BufferOrigin::Dynamic, _) => {
            let help = "allocate it by memref.alloc, and run --gpux-pack-workgroup-memory later";
            return Err(refuse(
                "in dynamic memory, where it is not known what is free",
                help,
            ));
        }
        (BufferOrigin::Global(name), Some(function)) if !is_only_in(function, name) => {
            let help = "use a memref.alloc or a workgroup attribution";
            return Err(refuse("that other functions use, too", help));
        }
        _ => {}
    }
    bytes_of(ty)
        .and_then(|bytes| round_up(bytes, alignment))
        .ok_or_else(|| {
            let help = "its size has to be known, its layout plain, and its elements whole bytes";
            refuse("of a type that they can't be made of", help)
        })
}

/// How large a buffer is, if that is known and it has no gaps.
fn bytes_of(ty: Type<'_>) -> Option<i64> {
    let shape = memref_shape(ty)?;
    let layout = memref_layout(ty)?;
    let bits = i64::from(bit_width(shape.element)?);
    let mut elements = 1_i64;
    for (size, stride) in shape.sizes.iter().zip(&layout.strides).rev() {
        if *stride != Some(elements) {
            return None;
        }
        elements = elements.checked_mul((*size)?)?;
    }
    let is_plain = bits % 8 == 0 && layout.offset == Some(0);
    elements.checked_mul(bits / 8).filter(|_| is_plain)
}

/// The next multiple of `of`, which is not 0.
fn round_up(number: i64, of: i64) -> Option<i64> {
    let of = of.max(1);
    Some(number.checked_add(of - 1)? / of * of)
}

/// What the tiles have to be aligned to that a loop copies from and to its buffers.
fn tiles<'c>(body: &Body<'c>, versions: &[(Value<'c>, u32)]) -> FxHashMap<Value<'c>, i64> {
    let mut alignments = FxHashMap::default();
    if versions.is_empty() {
        return alignments;
    }
    for op in body.around.self_and_nested() {
        let Some(completion) = Completion::of(op) else {
            continue;
        };
        for matrix in completion.matrices.into_iter().flatten() {
            alignments.insert(base(matrix), SWIZZLED_TILE_ALIGNMENT);
        }
        if completion.scope != ExecutionScope::Block {
            continue;
        }
        let tensor = op.operands().find(|operand| tensor_map(operand.ty()).is_some());
        let alignment = tensor.map_or(TILE_ALIGNMENT, tile_alignment);
        for buffer in op.operands().filter(|operand| operand.ty().is_mem_ref()) {
            let known = alignments.entry(base(buffer)).or_insert(alignment);
            *known = alignment.max(*known);
        }
    }
    alignments
}

/// Raises the alignment of what allocates `buffer`, which was of another type before.
fn align(op: Op<'_>) {
    let alignment = op.int_attr(attr::ALIGNMENT).unwrap_or(1).max(COPY_ALIGNMENT);
    op.set_attr(attr::ALIGNMENT, int_attr(op.context(), 64, alignment));
}

/// Bytes in the memory space of `ty`.
fn bytes_type<'c>(context: &'c Context, ty: Type<'c>, bytes: i64) -> Type<'c> {
    let byte = IntegerType::new(context, 8).into();
    MemRefType::new(byte, &[bytes], None, memory_space(ty)).into()
}

/// What comes right after `buffer` is made.
fn after(buffer: Value<'_>) -> Op<'_> {
    match buffer.definition() {
        Definition::Result(op, _) => op.next(),
        Definition::Argument(block, _) => block.first(),
    }
    .unwrap_or_else(|| unreachable!("something uses the buffer"))
}

/// The global of this name that `op` refers to.
fn global_of<'c>(op: Op<'c>, name: &str) -> Option<Op<'c>> {
    let tables = op.ancestors().filter(|outer| !outer.is_function());
    let mut globals = tables.flat_map(|table| {
        table
            .regions()
            .filter_map(Region::first)
            .flat_map(Block::ops)
            .collect::<Vec<_>>()
    });
    globals.find(|op| op.is(memref::GLOBAL) && op.str_attr(attr::SYM_NAME) == Some(name))
}

/// Returns true if no other function than `function` uses the global of this name.
fn is_only_in(function: Op<'_>, name: &str) -> bool {
    let Some(table) = function.parent() else {
        return true;
    };
    let others = table
        .regions()
        .flat_map(Region::blocks)
        .flat_map(Block::ops)
        .filter(|op| *op != function);
    others.flat_map(Op::self_and_nested).all(|op| {
        let global = op
            .attr(attr::NAME)
            .filter(|_| op.is(memref::GET_GLOBAL))
            .and_then(symbol);
        global != Some(name)
    })
}
