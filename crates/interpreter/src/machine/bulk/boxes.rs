//! What bulk copies of tiles move: boxes of a tensor, row by row.

use crate::memory::Piece;
use crate::value::{Pointer, Tensor, Tile, View, row_by_row};
use std::sync::Arc;

/// What a swizzle moves as a whole.
const CHUNK: i64 = 16;

/// A bulk copy that can be issued.
pub(super) struct Issue {
    pub pieces: Vec<Piece>,
    pub fill: Arc<[u8]>,
    /// What lies in workgroup memory and in global memory, box by box.
    pub boxes: Vec<[(Pointer, usize); 2]>,
    pub bytes: usize,
}

/// What lies in workgroup memory from `at` on, if that is one box.
pub(super) fn one_box(at: Pointer, shape: &Tile) -> View {
    View {
        buffer: at.buffer,
        base: at.offset,
        offset: 0,
        sizes: shape.sizes.clone(),
        strides: row_by_row(&shape.sizes),
        elem: shape.elem,
        lanes: 1,
    }
}

/// The boxes of a tile, one after the other in workgroup memory, whose address is checked.
pub(super) fn tiles(tensor: &Tensor, indices: &[i64], (local, at): (&View, Pointer), load: bool) -> Issue {
    let shape = &tensor.shape;
    let bytes =
        |sizes: &[i64]| sizes.iter().product::<i64>() * i64::try_from(shape.elem.bytes()).unwrap_or(1);
    let (box_bytes, all) = (bytes(&shape.sizes).max(1), bytes(&local.sizes));
    // The only dimension in which the memref may be a multiple of the box.
    let along = local
        .sizes
        .iter()
        .zip(&shape.sizes)
        .position(|(all, one)| all != one);
    let mut issue = Issue {
        pieces: Vec::new(),
        fill: Arc::clone(&shape.fill),
        boxes: Vec::new(),
        bytes: usize::try_from(all).unwrap_or(0),
    };
    let mut first = indices.to_vec();
    for number in 0..all / box_bytes {
        let start = Pointer {
            offset: at.offset + number * box_bytes,
            ..at
        };
        rows(tensor, &first, start, load, &mut issue.pieces);
        let bytes = usize::try_from(box_bytes).unwrap_or(0);
        issue
            .boxes
            .push([(start, bytes), (origin(tensor, &first), bytes)]);
        if let Some(along) = along {
            first[along] = first[along].saturating_add(shape.sizes[along]);
        }
    }
    issue
}

/// Where the first element of a box is, or would be if it were in bounds.
fn origin(tensor: &Tensor, first: &[i64]) -> Pointer {
    let view = &tensor.view;
    let distances = first
        .iter()
        .zip(&view.strides)
        .map(|(index, stride)| index.wrapping_mul(*stride));
    view.element(distances.fold(view.offset, i64::wrapping_add))
}

/// The rows of one box.
fn rows(tensor: &Tensor, first: &[i64], start: Pointer, load: bool, pieces: &mut Vec<Piece>) {
    let (shape, view) = (&tensor.shape, &tensor.view);
    let elem = i64::try_from(shape.elem.bytes()).unwrap_or(1);
    let Some((&row, outer)) = shape.sizes.split_last() else {
        return;
    };
    let last = first.len() - 1;
    for number in 0..outer.iter().product::<i64>() {
        let (mut rest, mut inside, mut global) = (number, true, view.offset);
        for dim in (0..last).rev() {
            let index = first[dim].saturating_add(rest % outer[dim]);
            rest /= outer[dim];
            inside &= (0..view.sizes[dim]).contains(&index);
            global = global.wrapping_add(index.wrapping_mul(view.strides[dim]));
        }
        // Chunks of 16 bytes lie in a row whatever the swizzle.
        let step = CHUNK / elem;
        for column in (0..row).step_by(usize::try_from(step).unwrap_or(1)) {
            let local = swizzled(
                shape,
                Pointer {
                    offset: start.offset + (number * row + column) * elem,
                    ..start
                },
            );
            let count = step.min(row - column);
            let index = first[last].saturating_add(column);
            let bounds = 0..if inside { view.sizes[last] } else { 0 };
            chunk(tensor, (index, count), bounds, global, local, load, pieces);
        }
    }
}

/// Some elements of a row: those that are out of bounds on one side or the other are filled, or left out.
fn chunk(
    tensor: &Tensor,
    (index, count): (i64, i64),
    bounds: std::ops::Range<i64>,
    row: i64,
    local: Pointer,
    load: bool,
    pieces: &mut Vec<Piece>,
) {
    let view = &tensor.view;
    let elem = i64::try_from(tensor.shape.elem.bytes()).unwrap_or(1);
    let end = index.saturating_add(count);
    let low = index.max(bounds.start).min(end);
    let high = end.min(bounds.end).max(low);
    for (from, to, inside) in [(index, low, false), (low, high, true), (high, end, false)] {
        // What is stored nowhere need not have been written.
        if from >= to || (!load && !inside) {
            continue;
        }
        let here = Pointer {
            offset: local.offset + (from - index) * elem,
            ..local
        };
        let stride = view.strides.last().copied().unwrap_or(1);
        let there = inside.then(|| view.element(row.wrapping_add(from.wrapping_mul(stride))));
        let (source, destination) = if load {
            (there, Some(here))
        } else {
            (Some(here), there)
        };
        let bytes = usize::try_from((to - from) * elem).unwrap_or(0);
        pieces.push(Piece {
            source,
            destination,
            bytes,
        });
    }
}

/// Where a chunk of 16 bytes lies that would lie at `at` without a swizzle: some bits of its number in a line of 128 bytes
/// are those of the line's number, added without carry.
fn swizzled(shape: &Tile, at: Pointer) -> Pointer {
    let mask = (shape.swizzle / CHUNK - 1).max(0);
    Pointer {
        offset: at.offset ^ (at.offset >> 7 & mask) << 4,
        ..at
    }
}
