//! Collects the buffers of a function, with their sizes and alignments.

use super::symbol_table::SymbolTable;
use crate::analysis::buffer_parts::{ByteView, bytes_of, element_bytes, parts};
use crate::analysis::buffer_views::BufferViews;
use crate::analysis::views::LeftBuffers;
use crate::utils::alignment::{COPY_ALIGNMENT, TILE_ALIGNMENT, tile_alignment};
use crate::utils::device::{is_workgroup_alloc, own_ops};
use crate::utils::static_allocs::{IterationOrder, check, is_row_by_row};
use async_dialects::completion::{Completion, GroupEffect};
use async_mlir::gpu::{is_workgroup, num_attributions, num_inputs};
use async_mlir::ir::{Op, Use, Value};
use async_mlir::melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, IntegerAttribute};
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{attr, gpu, memref, nvgpu};
use async_mlir::nvgpu::tensor_map;
use async_mlir::pass::PassError;
use async_mlir::types::{Shape, memref_shape, symbol};

/// A buffer of the workgroup.
pub(super) struct Buffer<'c> {
    pub origin: Origin<'c>,
    pub location: Location<'c>,
    /// The values that it begins as.
    pub roots: Vec<Value<'c>>,
    pub bytes: u64,
    pub alignment: u64,
}

/// What a buffer was.
pub(super) enum Origin<'c> {
    /// An attribution of the function, by number.
    Attribution(usize),
    Alloc(Op<'c>),
    /// A global of this name.
    Global(&'c str),
    /// Views of dynamic memory that overlap, each with its first byte; the buffer begins at that of `first`.
    Views {
        first: u64,
        views: Vec<(Op<'c>, u64)>,
    },
}

impl<'c> Buffer<'c> {
    fn of(origin: Origin<'c>, roots: Vec<Value<'c>>, bytes: u64, alignment: Option<i64>) -> Self {
        let element = memref_shape(roots[0].ty()).and_then(|shape| element_bytes(shape.element));
        let alignment =
            alignment.and_then(|alignment| u64::try_from(alignment).ok()?.checked_next_power_of_two());
        Self {
            origin,
            location: roots[0].location(),
            roots,
            bytes,
            alignment: alignment.unwrap_or(1).max(element.unwrap_or(1)),
        }
    }

    /// What messages call it.
    pub fn name(&self) -> String {
        match &self.origin {
            Origin::Attribution(number) => format!("workgroup attribution {number}"),
            Origin::Alloc(op) => format!("the buffer of this '{}'", op.name()),
            Origin::Global(name) => format!("global @{name}"),
            Origin::Views { first, .. } => format!("dynamic memory from byte {first}"),
        }
    }
}

/// The buffers of `function` that can be moved, in the order of their first mention. Unused ones are left out. `iterations` says
/// what orders uses of one that is allocated again and again.
pub(super) fn collect<'c>(
    function: Op<'c>,
    table: &SymbolTable<'c>,
    iterations: IterationOrder,
) -> Result<Vec<Buffer<'c>>, PassError<'c>> {
    let mut buffers = attributions(function)?;
    let mut dynamic = Vec::new();
    for op in own_ops(function) {
        if is_workgroup_alloc(op) {
            check(function, op, &table.used, iterations)?;
            let root = op.result(0);
            let bytes = size_of(op, root.ty())?;
            buffers.push(Buffer::of(
                Origin::Alloc(op),
                vec![root],
                bytes,
                op.int_attr(attr::ALIGNMENT),
            ));
        } else if op.is(gpu::DYNAMIC_SHARED_MEMORY) {
            dynamic.extend(views(op)?);
        } else if let Some((name, global)) = table.movable_global(op) {
            let root = op.result(0);
            let known =
                |buffer: &&mut Buffer| matches!(buffer.origin, Origin::Global(known) if known == name);
            match buffers.iter_mut().find(known) {
                Some(buffer) => buffer.roots.push(root),
                None => {
                    let bytes = size_of(op, root.ty())?;
                    let alignment = global.int_attr(attr::ALIGNMENT);
                    buffers.push(Buffer::of(Origin::Global(name), vec![root], bytes, alignment));
                }
            }
        }
    }
    let left = LeftBuffers::of(&own_ops(function));
    buffers.extend(parts(dynamic, &left).iter().map(|views| part(views)));
    buffers.retain(|buffer| buffer.roots.iter().any(|root| root.has_uses()));
    Ok(buffers)
}

fn attributions<'c>(function: Op<'c>) -> Result<Vec<Buffer<'c>>, PassError<'c>> {
    let Some(entry) = function.region(0).first() else {
        return Ok(Vec::new());
    };
    let first = num_inputs(function).unwrap_or(0);
    let given = function
        .attr(attr::WORKGROUP_ATTRIB_ATTRS)
        .and_then(|attrs| ArrayAttribute::try_from(attrs).ok());
    let buffers = (0..num_attributions(function)).map(|number| {
        let root = entry.arg(first + number);
        let attrs = given.and_then(|given| given.element(number).ok());
        let alignment = attrs
            .and_then(|attrs| {
                DictionaryAttribute::try_from(attrs)
                    .ok()?
                    .element_by_name(attr::LLVM_ALIGN)
            })
            .and_then(|align| Some(IntegerAttribute::try_from(align).ok()?.value()));
        let bytes = size_of(function, root.ty())?;
        Ok(Buffer::of(
            Origin::Attribution(number),
            vec![root],
            bytes,
            alignment,
        ))
    });
    buffers.collect()
}

/// The views that `dynamic`, dynamic memory, is taken apart by.
fn views<'c>(dynamic: Op<'c>) -> Result<Vec<ByteView<'c>>, PassError<'c>> {
    let uses = dynamic.result(0).uses().into_iter();
    let views = uses.map(|Use { owner, .. }| {
        ByteView::of(owner).ok_or_else(|| {
            let message = "takes a part of dynamic workgroup memory that is not known before the kernel runs";
            let help = "take views of static sizes at constant offsets, or buffers of their own";
            PassError::new(owner, message).note(owner, help)
        })
    });
    views.collect()
}

/// The buffer that `views`, which overlap, are of.
fn part<'c>(views: &[ByteView<'c>]) -> Buffer<'c> {
    let first = views[0].start;
    let end = views.iter().map(|view| view.end).max().unwrap_or(first);
    let origin = Origin::Views {
        first,
        views: views.iter().map(|view| (view.op, view.start)).collect(),
    };
    let roots = views.iter().map(|view| view.op.result(0)).collect();
    Buffer::of(origin, roots, end - first, None)
}

/// Raises the alignments of `buffers` to what is done with them in `function`.
pub(super) fn align<'c>(function: Op<'c>, buffers: &mut [Buffer<'c>], views: &BufferViews<'c>) {
    let mut most = 1;
    for op in own_ops(function) {
        let needed = needed_by(op);
        most = most.max(needed);
        for buffer in op.operands().filter_map(|operand| views.buffer(operand)) {
            buffers[buffer].alignment = buffers[buffer].alignment.max(needed);
        }
    }
    for (buffer, escape) in buffers.iter_mut().zip(&views.escapes) {
        // Vectors of up to 16 bytes are what nearly everything is accessed by.
        let natural = 1 << buffer.bytes.max(1).ilog2().min(COPY_ALIGNMENT.ilog2());
        buffer.alignment = buffer.alignment.max(natural);
        if escape.is_some() {
            buffer.alignment = buffer.alignment.max(most);
        }
        // What overlaps keeps its distances, so the first byte is as aligned as it was.
        if let Origin::Views { first, .. } = &mut buffer.origin {
            let gap = *first % buffer.alignment;
            *first -= gap;
            buffer.bytes += gap;
        }
    }
}

/// What `op` needs the buffers of its operands to be aligned to.
fn needed_by(op: Op<'_>) -> u64 {
    let descriptor = op.operands().find(|operand| tensor_map(operand.ty()).is_some());
    let is_issue = || Completion::of(op).is_some_and(|completion| completion.effect == GroupEffect::Issue);
    let needed = match op.name() {
        _ if let Some(descriptor) = descriptor => tile_alignment(descriptor),
        nvgpu::LDMATRIX | gpu::SUBGROUP_MMA_LOAD_MATRIX | gpu::SUBGROUP_MMA_STORE_MATRIX => TILE_ALIGNMENT,
        _ if is_issue() => COPY_ALIGNMENT,
        _ => 1,
    };
    let stated = op.int_attr(attr::ALIGNMENT).unwrap_or(1);
    u64::try_from(needed.max(stated)).unwrap_or(1)
}

/// The bytes of a memref of type `ty`, or an error at `op`.
fn size_of<'c>(op: Op<'c>, ty: Type<'c>) -> Result<u64, PassError<'c>> {
    if !is_row_by_row(ty) {
        let message = format!("has workgroup memory of type {ty}, with a layout that is not row-major");
        return Err(PassError::new(op, message).note(op, "make it row-major, and take a view"));
    }
    bytes_of(ty).ok_or_else(|| {
        let is_static =
            |shape: Shape| shape.sizes.iter().all(Option::is_some) && element_bytes(shape.element).is_some();
        if memref_shape(ty).is_some_and(is_static) {
            let message = format!("has workgroup memory of type {ty}, which is more than a block has");
            return PassError::new(op, message).note(op, "make it smaller, or process it tile by tile");
        }
        let message = format!("has workgroup memory of type {ty}, whose size is not known");
        PassError::new(op, message).note(op, "give it a static size, of numbers or vectors of numbers")
    })
}

/// Bytes of workgroup memory that stay where they are: globals that are used elsewhere, and mbarriers.
pub(super) fn unmoved_bytes<'c>(function: Op<'c>, table: &SymbolTable<'c>) -> u64 {
    let ops = own_ops(function);
    let mut names: Vec<(&str, u64)> = Vec::new();
    let mut mbarriers = 0;
    for &op in &ops {
        if op.is(nvgpu::MBARRIER_CREATE) {
            mbarriers +=
                u64::from(async_mlir::nvgpu::mbarriers(op.result(0).ty()).unwrap_or(1)) * MBARRIER_BYTES;
        } else if op.is(memref::GET_GLOBAL)
            && is_workgroup(op.result(0).ty())
            && table.movable_global(op).is_none()
        {
            let name = op.attr(attr::NAME).and_then(symbol).unwrap_or_default();
            names.push((name, bytes_of(op.result(0).ty()).unwrap_or(0)));
        }
    }
    if ops.iter().any(|op| async_mlir::calls::is_call(*op)) {
        names.extend(table.unmoved_globals());
    }
    names.sort_unstable();
    names.dedup();
    mbarriers + names.iter().map(|(_, bytes)| bytes).sum::<u64>()
}

const MBARRIER_BYTES: u64 = 8;
