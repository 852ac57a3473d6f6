//! How much of a buffer one access spans.

use crate::buffer_parts;
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::gpu::mma_matrix;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{affine, attr, gpu, memref, nvgpu, vector};
use async_mlir::types::{MapResult, bit_width, map_results, memref_layout, memref_shape, vector_shape};

/// What one access spans, from the address of its indices on.
#[derive(Clone)]
pub(super) struct Extent {
    /// Where ranges begin, and how many bytes they have.
    pub ranges: Vec<(i64, i64)>,
    /// How many indices say where.
    pub indices: usize,
    /// How many elements of each of the last dimensions it has, if more than one.
    pub elements: Vec<i64>,
    /// True if a warp does it together.
    pub together: bool,
    /// False if it may access less.
    pub certain: bool,
}

impl Extent {
    /// Perhaps any of so many bytes.
    pub fn somewhere_in(bytes: i64) -> Self {
        Self {
            ranges: vec![(0, bytes)],
            indices: 0,
            elements: Vec::new(),
            together: false,
            certain: false,
        }
    }

    /// How many numbers index `i` may be, of a dimension of so many elements, so that all that is accessed is in bounds.
    pub fn positions(&self, i: usize, size: i64) -> i64 {
        let place = (i + self.elements.len()).checked_sub(self.indices);
        let elements = place.and_then(|place| self.elements.get(place).copied());
        size.saturating_sub(elements.unwrap_or(1).max(1) - 1).max(1)
    }
}

/// Rows of a vector or matrix beyond these are not told apart.
const MAX_ROWS: i64 = 256;

/// How many bytes there are from one element of a memref to the next.
pub(super) fn element_bytes(memory: Value<'_>) -> Option<i64> {
    let element = memref_shape(memory.ty())?.element;
    i64::try_from(buffer_parts::element_bytes(element)?).ok()
}

/// How many bytes there are from the first element of a memref to after the last, if no other lies before the first.
pub(super) fn span(memory: Value<'_>) -> Option<i64> {
    let shape = memref_shape(memory.ty())?;
    let strides = memref_layout(memory.ty())?.strides;
    let mut last = 0_i64;
    for (size, stride) in shape.sizes.iter().zip(strides) {
        let steps = (*size)?.checked_sub(1)?;
        let stride = stride.filter(|stride| *stride >= 0)?;
        last = last.checked_add(steps.max(0).checked_mul(stride)?)?;
    }
    (last + 1).checked_mul(element_bytes(memory)?)
}

/// What `op` accesses of `memory` from the address of its indices on.
pub(super) fn extent(op: Op<'_>, memory: Value<'_>) -> Option<Extent> {
    let element = element_bytes(memory)?;
    let indices = memref_shape(memory.ty())?.sizes.len();
    let alone = |bytes: i64| Extent {
        ranges: vec![(0, bytes)],
        indices,
        elements: vec![bytes / element.max(1)],
        together: false,
        certain: true,
    };
    match op.name() {
        memref::LOAD | memref::STORE | memref::ATOMIC_RMW | affine::LOAD | affine::STORE => {
            Some(alone(element))
        }
        vector::LOAD | affine::VECTOR_LOAD => rows_of_vector(op.result(0), memory, indices),
        vector::STORE | affine::VECTOR_STORE => rows_of_vector(op.operand(0), memory, indices),
        vector::MASKEDLOAD => uncertain(rows_of_vector(op.result(0), memory, indices)),
        vector::MASKEDSTORE => uncertain(rows_of_vector(op.operand(op.num_operands() - 1), memory, indices)),
        vector::TRANSFER_READ if is_minor_identity(op, indices) => {
            uncertain(rows_of_vector(op.result(0), memory, indices))
        }
        vector::TRANSFER_WRITE if is_minor_identity(op, indices) => {
            uncertain(rows_of_vector(op.operand(0), memory, indices))
        }
        nvgpu::LDMATRIX => Some(Extent {
            together: true,
            ..alone(16)
        }),
        gpu::SUBGROUP_MMA_LOAD_MATRIX => matrix(op, op.result(0), element, indices),
        gpu::SUBGROUP_MMA_STORE_MATRIX => matrix(op, op.operand(0), element, indices),
        gpux::COPY => Some(alone(op.int_attr(gpux_attr::ELEMENTS)?.checked_mul(element)?)),
        nvgpu::DEVICE_ASYNC_COPY => Some(alone(op.int_attr(attr::NVGPU_ELEMENTS)?.checked_mul(element)?)),
        _ => None,
    }
}

fn uncertain(extent: Option<Extent>) -> Option<Extent> {
    extent.map(|extent| Extent {
        certain: false,
        ..extent
    })
}

/// Returns true if a transfer's vector spans the last dimensions, in order.
fn is_minor_identity(op: Op<'_>, rank: usize) -> bool {
    let Some(results) = op.attr(attr::PERMUTATION_MAP).and_then(map_results) else {
        return false;
    };
    let first = rank.checked_sub(results.len());
    first.is_some_and(|first| {
        results
            .iter()
            .enumerate()
            .all(|(i, result)| *result == MapResult::Dim(first + i))
    })
}

/// The rows of a vector that lies in the last dimensions of `memory`.
fn rows_of_vector(vector: Value<'_>, memory: Value<'_>, indices: usize) -> Option<Extent> {
    let shape = vector_shape(vector.ty())?;
    let element = i64::from(bit_width(shape.element)?.div_ceil(8));
    let sizes = shape.sizes.into_iter().collect::<Option<Vec<i64>>>()?;
    let strides = memref_layout(memory.ty())?.strides;
    // The elements of the memref may be vectors themselves.
    if bit_width(memref_shape(memory.ty())?.element) != bit_width(shape.element) {
        return None;
    }
    let mut rows = vec![0_i64];
    let (inner, outer) = sizes.split_last()?;
    let strides = strides.get(strides.len().checked_sub(sizes.len())?..)?;
    if *strides.last()? != Some(1) {
        return None;
    }
    for (size, stride) in outer.iter().zip(strides) {
        let stride = (*stride)?;
        if i64::try_from(rows.len()).ok()?.checked_mul(*size)? > MAX_ROWS {
            return None;
        }
        rows = rows
            .iter()
            .flat_map(|row| (0..*size).map(move |i| row + i * stride))
            .collect();
    }
    Some(Extent {
        ranges: rows
            .into_iter()
            .map(|row| (row * element, inner * element))
            .collect(),
        indices,
        elements: sizes,
        together: false,
        certain: true,
    })
}

/// The rows of a matrix that a warp loads or stores.
fn matrix(op: Op<'_>, value: Value<'_>, element: i64, indices: usize) -> Option<Extent> {
    let ([rows, columns], _) = mma_matrix(value.ty())?;
    let (rows, columns) = if op.has_attr(attr::TRANSPOSE) {
        (columns, rows)
    } else {
        (rows, columns)
    };
    let distance = op.int_attr(attr::LEAD_DIMENSION)?.checked_mul(element)?;
    if rows > MAX_ROWS {
        return None;
    }
    Some(Extent {
        ranges: (0..rows).map(|row| (row * distance, columns * element)).collect(),
        indices,
        elements: Vec::new(),
        together: true,
        certain: true,
    })
}
