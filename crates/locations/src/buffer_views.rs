//! Follows buffers through their views, and finds those that escape.
//!
//! Conservative: a buffer escapes if anything uses it, or a view of it, that neither makes a view nor says that it accesses
//! memory there. Accesses that are not known then may be accesses to it; to others they are not.

use super::memory::{Effects, effects, is_descriptor};
use super::views::view_source;
use async_mlir::ir::{Op, Use, Value};
use async_mlir::llvm::is_pointer;
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::{memref, nvgpu};
use rustc_hash::FxHashMap;

/// The views of some buffers.
#[derive(Default)]
pub struct BufferViews<'c> {
    buffer_of: FxHashMap<Value<'c>, usize>,
    /// For each buffer, an operation that it can't be followed through.
    pub escapes: Vec<Option<Op<'c>>>,
}

impl<'c> BufferViews<'c> {
    /// Follows the buffers each of which begins as one of `roots`.
    #[must_use]
    pub fn of(roots: &[Vec<Value<'c>>]) -> Self {
        let mut uses = Self::default();
        for (buffer, roots) in roots.iter().enumerate() {
            uses.escapes.push(None);
            for &root in roots {
                uses.follow(buffer, root);
            }
        }
        uses
    }

    /// The buffer that `memory` is, or is a view of.
    #[must_use]
    pub fn buffer(&self, memory: Value<'c>) -> Option<usize> {
        self.buffer_of.get(&memory).copied()
    }

    fn follow(&mut self, buffer: usize, root: Value<'c>) {
        let mut work = vec![root];
        self.buffer_of.insert(root, buffer);
        while let Some(value) = work.pop() {
            for Use { owner, .. } in value.uses() {
                if view_source(owner) == Some(value) && !owner.is(memref::MEMORY_SPACE_CAST) {
                    let views = owner
                        .results()
                        .filter(|result| is_memory(*result) || owner.num_results() == 1);
                    for view in views {
                        if self.buffer_of.insert(view, buffer).is_none() {
                            work.push(view);
                        }
                    }
                } else if !only_accesses(owner, value) {
                    self.escapes[buffer].get_or_insert(owner);
                }
            }
        }
    }
}

/// Returns true if all that `op` does with `memory` is to access it, or to look at its type.
fn only_accesses<'c>(op: Op<'c>, memory: Value<'c>) -> bool {
    // What upstream multiplies is read until some later operation waits.
    if op.is_terminator() || op.results().any(is_memory) || op.is(nvgpu::WARPGROUP_MMA) {
        return false;
    }
    let Effects::Known(effects) = effects(op) else {
        return false;
    };
    let accessed = effects.iter().filter(|effect| effect.memory == memory).count();
    let used = op.operands().filter(|operand| *operand == memory).count();
    accessed >= used || (effects.is_empty() && is_memory(memory) && op.num_regions() == 0)
}

fn is_memory(value: Value<'_>) -> bool {
    value.ty().is_mem_ref() || is_pointer(value.ty()) || is_descriptor(value)
}
