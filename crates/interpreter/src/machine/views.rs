//! Views of views.

use super::{Machine, Reason};
use crate::code::{Index, Op};
use crate::memory::Fault;
use crate::value::{Value, View, row_by_row};
use std::sync::Arc;

impl Machine<'_> {
    fn indices(&self, t: usize, indices: &[Index]) -> Result<Vec<i64>, Reason> {
        indices.iter().map(|index| self.index(t, *index)).collect()
    }

    /// Another view of the bytes of one.
    pub(super) fn reshape(&self, t: usize, op: &Op) -> Result<Value, Reason> {
        let view = match op {
            Op::SubView {
                view,
                offsets,
                sizes,
                strides,
                dropped,
                ..
            } => {
                let mut view = View::clone(&*self.view_of_rank(t, *view, offsets.len())?);
                let (offsets, sizes) = (self.indices(t, offsets)?, self.indices(t, sizes)?);
                let steps = self.indices(t, strides)?;
                inside(&view, &offsets, &sizes, &steps)?;
                for (offset, stride) in offsets.iter().zip(&view.strides) {
                    view.offset = view.offset.wrapping_add(offset.wrapping_mul(*stride));
                }
                let keeps = |i: &usize| !dropped.contains(i);
                view.strides = (0..view.strides.len())
                    .filter(keeps)
                    .map(|i| view.strides[i].wrapping_mul(steps[i]))
                    .collect();
                view.sizes = (0..sizes.len()).filter(keeps).map(|i| sizes[i]).collect();
                view
            }
            Op::Reinterpret {
                view,
                offset,
                sizes,
                strides,
                ..
            } => {
                let mut view = View::clone(&*self.view(t, *view)?);
                view.offset = self.index(t, *offset)?;
                (view.sizes, view.strides) = (self.indices(t, sizes)?, self.indices(t, strides)?);
                view
            }
            Op::Window {
                view,
                shift,
                sizes,
                elem,
                lanes,
                ..
            } => {
                let mut view = View::clone(&*self.view(t, *view)?);
                let base = view.element(view.offset).offset;
                view.base = base.saturating_add(self.int(t, *shift)?);
                view.offset = 0;
                view.sizes = self.indices(t, sizes)?;
                view.strides = row_by_row(&view.sizes);
                (view.elem, view.lanes) = (*elem, *lanes);
                view
            }
            Op::Permute { view, dims, .. } => {
                let mut view = View::clone(&*self.view_of_rank(t, *view, dims.len())?);
                if dims.iter().any(|dim| *dim >= dims.len()) {
                    return Err(Reason::Operand("a memref of this rank"));
                }
                view.sizes = dims.iter().map(|&dim| view.sizes[dim]).collect();
                view.strides = dims.iter().map(|&dim| view.strides[dim]).collect();
                view
            }
            Op::Collapse { view, groups, .. } => {
                collapse(&*self.view_of_rank(t, *view, groups.iter().sum())?, groups)?
            }
            Op::Expand {
                view, groups, sizes, ..
            } => {
                let sizes = self.indices(t, sizes)?;
                expand(&*self.view_of_rank(t, *view, groups.len())?, groups, sizes)
            }
            _ => return Err(Reason::Operand("a view")),
        };
        Ok(Value::View(Arc::new(view)))
    }
}

/// Checks that a part is all inside of a view: "performing an out-of-bounds subview at runtime is undefined behavior"
/// (MLIR, `memref.subview`).
fn inside(view: &View, offsets: &[i64], sizes: &[i64], steps: &[i64]) -> Result<(), Fault> {
    for (dim, &size) in view.sizes.iter().enumerate() {
        let first = offsets[dim];
        let last = first.saturating_add((sizes[dim] - 1).saturating_mul(steps[dim]));
        let outside = [first, last].into_iter().find(|index| !(0..size).contains(index));
        if let Some(index) = outside.filter(|_| sizes[dim] > 0) {
            return Err(Fault::Index {
                buffer: view.buffer,
                index,
                dim,
                size,
            });
        }
    }
    Ok(())
}

/// So many dimensions at a time become one; they must lie without gaps.
fn collapse(view: &View, groups: &[usize]) -> Result<View, Reason> {
    let (mut sizes, mut strides) = (Vec::new(), Vec::new());
    let mut next = 0;
    for &group in groups {
        let dims = next..next + group;
        next += group;
        // Dimensions of size 1 may have any stride.
        let mut inner: Option<(i64, i64)> = None;
        for dim in dims.rev().filter(|&dim| view.sizes[dim] != 1) {
            let (size, stride) = (view.sizes[dim], view.strides[dim]);
            inner = Some(match inner {
                None => (size, stride),
                Some((all, step)) if stride == all.wrapping_mul(step) => (all.wrapping_mul(size), step),
                Some(_) => return Err(Reason::Operand("a memref without gaps in these dimensions")),
            });
        }
        let (size, stride) = inner.unwrap_or((1, 1));
        sizes.push(size);
        strides.push(stride);
    }
    Ok(View {
        sizes,
        strides,
        ..view.clone()
    })
}

/// Each dimension becomes so many, of these sizes.
fn expand(view: &View, groups: &[usize], sizes: Vec<i64>) -> View {
    let mut strides = vec![0; sizes.len()];
    let mut end = sizes.len();
    for (dim, &group) in groups.iter().enumerate().rev() {
        let mut stride = view.strides[dim];
        for inner in (end - group..end).rev() {
            strides[inner] = stride;
            stride = stride.wrapping_mul(sizes[inner]);
        }
        end -= group;
    }
    View {
        sizes,
        strides,
        ..view.clone()
    }
}
