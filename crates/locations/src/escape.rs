//! Escape analysis: which buffers are made in a function, and known to nothing outside of it; and which values may lead to those of other
//! functions.

use super::cfg::RegionFlow;
use super::memory::{BufferOrigin, Effects, buffer_origin, effects, is_descriptor};
use super::views::{base, view_source};
use async_dialects::completion::Completion;
use async_mlir::control_flow::selected_values;
use async_mlir::gpu::is_kernel;
use async_mlir::ir::{Definition, Op, Region, Use, Value};
use async_mlir::llvm::is_pointer;
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::{gpu, linalg, memref};
use rustc_hash::FxHashSet;

/// Returns true if nothing can access `buffer` but operations of this function that are handed it or a view of it: the
/// function allocates it, or it is an attribution of a kernel, and it is never passed, stored, returned or carried.
#[must_use]
pub fn is_non_escaping(buffer: Value) -> bool {
    let is_local = matches!(
        buffer_origin(buffer),
        BufferOrigin::Allocation | BufferOrigin::Attribution(_)
    );
    is_local && !is_captured(buffer)
}

/// Returns true if anything but operations that are handed `buffer`, a view of it or an address that leads to it can access
/// it by this value: it is passed, stored, returned or carried, or its address is computed with.
#[must_use]
pub fn is_captured(buffer: Value) -> bool {
    let mut seen = FxHashSet::from_iter([buffer]);
    let mut work = vec![buffer];
    while let Some(value) = work.pop() {
        for Use { owner, index } in value.uses() {
            if view_source(owner).is_some() && index == 0 {
                let only_memrefs = owner.is(memref::EXTRACT_STRIDED_METADATA);
                let views = owner
                    .results()
                    .filter(|result| !only_memrefs || result.ty().is_mem_ref());
                work.extend(views.filter(|view| seen.insert(*view)));
            } else if !is_memory(value) || escapes_by(owner, index) {
                return true;
            }
        }
    }
    false
}

/// How many values are looked at, before one is taken to be foreign.
const MAX_ORIGINS: usize = 256;

/// Returns true if `address`, a memref, a pointer or a number that one is made of, may lead to a buffer that its function does not
/// mention: a call has returned it, it was read from memory, or a caller has handed it over as a number or a pointer.
#[must_use]
pub fn may_be_foreign(address: Value) -> bool {
    let mut seen = FxHashSet::from_iter([address]);
    let mut work = vec![address];
    while let Some(value) = work.pop() {
        let value = base(value);
        let origins = match buffer_origin(value) {
            _ if seen.len() > MAX_ORIGINS => return true,
            BufferOrigin::Argument(function) if value.ty().is_mem_ref() || is_kernel(function) => continue,
            BufferOrigin::Argument(_) => return true,
            BufferOrigin::Unknown => origins(value),
            _ => continue,
        };
        let Some(origins) = origins else { return true };
        work.extend(origins.into_iter().filter(|origin| seen.insert(*origin)));
    }
    false
}

/// The values one of which `value` is, or that it is computed from; `None` if that is not known.
fn origins<'c>(value: Value<'c>) -> Option<Vec<Value<'c>>> {
    let around = match value.definition() {
        Definition::Result(op, _) if op.num_regions() > 0 => op,
        Definition::Result(op, _) => {
            let computes = op.is_pure() || view_source(op).is_some();
            return selected_values(op).or_else(|| computes.then(|| op.operands().collect()));
        }
        Definition::Argument(block, _) => block.parent_op()?,
    };
    let flow = if around.is_function() {
        RegionFlow::of_function(around)
    } else {
        RegionFlow::new(around)
    };
    let blocks = around.regions().flat_map(Region::blocks);
    let edges = blocks.flat_map(|block| flow.exits(block.terminator()));
    let edges = edges.chain(flow.known_entries().unwrap_or_default().iter().cloned());
    let bound = edges.flat_map(|edge| edge.bindings);
    let origins: Vec<Value> = bound
        .filter(|(_, to)| *to == value)
        .map(|(from, _)| from)
        .collect();
    (!origins.is_empty()).then_some(origins)
}

/// Returns true if memory is accessed by `value`.
fn is_memory(value: Value) -> bool {
    value.ty().is_mem_ref() || is_pointer(value.ty()) || is_descriptor(value)
}

/// Returns true if others may know a buffer once `op` has had it at operand `index`.
fn escapes_by(op: Op, index: usize) -> bool {
    if op.is(memref::DEALLOC) || Completion::of(op).is_some() {
        return false;
    }
    let is_stored = op.is(memref::STORE) && index == 0;
    let is_handed_on = op.is_terminator() || op.num_regions() > 0 && op.dialect() != linalg::NAMESPACE;
    let is_made_of_it = !op.is(gpu::SUBGROUP_MMA_LOAD_MATRIX) && !op.results().all(is_data);
    is_stored || is_handed_on || is_made_of_it || matches!(effects(op), Effects::Unknown)
}

/// Returns true if the value is what is stored in buffers, and no address of one.
fn is_data(value: Value) -> bool {
    let ty = value.ty();
    ty.is_integer() || ty.is_float() || ty.is_index() || ty.is_vector()
}
