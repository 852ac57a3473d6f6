//! Footprints in divergent loops, where threads don't run the same iterations: `scf.for %i = %thread to %n
//! step %c64`.
//!
//! How many iterations one thread is ahead of another is not known there. So what counts is what each thread
//! accesses in all of its iterations together, as far as its bounds or the sizes of the memref let it come.

use super::extent::{Extent, element_bytes, extent};
use super::{Footprints, Mask};
use crate::thread_values::ThreadValue;
use async_mlir::ir::{Op, Value};
use async_mlir::types::{memref_layout, memref_shape};
use async_overlap::{Offset, Symbol, ThreadBytes};
use std::rc::Rc;

/// So many iterations are looked at, and so many addresses of one thread and of all.
const MAX_ITERATIONS: i64 = 1024;
const MAX_ADDRESSES: usize = 1024;
const MAX_ALL_ADDRESSES: usize = 1 << 16;

impl<'c> Footprints<'c> {
    /// What `op` touches of `memory`, whose first element is at `view`, in all iterations of divergent loops;
    /// `None` if it is in no such loop, or that is not known.
    pub(super) fn in_all_iterations(
        &mut self,
        op: Op<'c>,
        memory: Value<'c>,
        view: &ThreadValue,
        mask: &Mask,
    ) -> Option<(Rc<ThreadBytes>, Offset)> {
        if self.divergent_loops.is_empty() {
            return None;
        }
        let extent = extent(op, memory).filter(|extent| extent.certain && !extent.together)?;
        let threads = usize::try_from(self.values.num_threads()?).ok()?;
        let first = op.operands().position(|operand| operand == memory)? + 1;
        let (sizes, strides) = (
            memref_shape(memory.ty())?.sizes,
            memref_layout(memory.ty())?.strides,
        );
        let element = element_bytes(memory)?;
        let mut at = view.clone();
        let mut further = None;
        for i in 0..extent.indices {
            let index = self.index(op, first, i)?;
            if index.as_constant() == Some(0) {
                continue;
            }
            let stride = strides[i]?.checked_mul(element)?;
            let Some(own) = self.own_numbers(&index, sizes[i], threads) else {
                let bytes = self.values.scaled(&index, stride)?;
                at = self.values.plus(&at, &bytes)?;
                continue;
            };
            let further = further.get_or_insert_with(|| vec![vec![0_i64]; threads]);
            for (further, own) in further.iter_mut().zip(own) {
                *further = sums(further, &own, stride)?;
            }
        }
        let further = further?;
        let in_bounds = self.in_bounds(op, memory, extent.indices, mask);
        let comes = if in_bounds.is_some() { &in_bounds } else { mask };
        let ranges = ranges(&at, &further, &extent, comes)?;
        Some((self.intern(ThreadBytes::new(ranges)), at.offset))
    }

    /// The numbers that each thread has for `index`, of a dimension of so many elements, in all iterations of a loop that threads run
    /// apart.
    fn own_numbers(
        &mut self,
        index: &ThreadValue,
        size: Option<i64>,
        threads: usize,
    ) -> Option<Vec<Vec<i64>>> {
        let [(step, Symbol::Iteration(of))] = index.offset.terms.as_slice() else {
            return None;
        };
        let trips = self.values.trips(*self.divergent_loops.get(of)?);
        let own = (0..threads).map(|thread| {
            let own = index.threads.as_ref().map_or(0, |threads| threads[thread]);
            let first = own.checked_add(index.offset.constant)?;
            numbers(first, *step, trips.as_ref().map(|trips| trips[thread]), size)
        });
        own.collect()
    }
}

/// The numbers from `first` on, `step` apart, of so many iterations, that are indices of a dimension of so many elements; `None` if
/// there are too many.
fn numbers(first: i64, step: i64, trips: Option<i64>, size: Option<i64>) -> Option<Vec<i64>> {
    let mut numbers = Vec::new();
    for iteration in 0..MAX_ITERATIONS {
        if trips.is_some_and(|trips| iteration >= trips) {
            return Some(numbers);
        }
        let number = first.checked_add(step.checked_mul(iteration)?)?;
        let is_index = number >= 0 && size.is_none_or(|size| number < size);
        // It is on its way out.
        if !is_index && (number >= 0) == (step > 0) {
            return Some(numbers);
        }
        numbers.extend(is_index.then_some(number));
    }
    None
}

/// Each of `addresses` plus each of `numbers` times `stride`.
fn sums(addresses: &[i64], numbers: &[i64], stride: i64) -> Option<Vec<i64>> {
    if addresses.len().checked_mul(numbers.len())? > MAX_ADDRESSES {
        return None;
    }
    let all = addresses.iter().flat_map(|address| {
        numbers
            .iter()
            .map(move |number| address.checked_add(number.checked_mul(stride)?))
    });
    all.collect()
}

/// The bytes of each thread that comes by, at all of its addresses.
fn ranges(
    at: &ThreadValue,
    further: &[Vec<i64>],
    extent: &Extent,
    comes: &Mask,
) -> Option<Vec<(std::ops::Range<i64>, Option<u32>)>> {
    let addresses: usize = further.iter().map(Vec::len).sum();
    if addresses.checked_mul(extent.ranges.len())? > MAX_ALL_ADDRESSES {
        return None;
    }
    let mut ranges = Vec::new();
    for (thread, further) in further.iter().enumerate() {
        if !comes.as_ref().is_none_or(|comes| comes[thread]) {
            continue;
        }
        let own = at.threads.as_ref().map_or(0, |threads| threads[thread]);
        for (address, &(start, bytes)) in further
            .iter()
            .flat_map(|a| extent.ranges.iter().map(move |r| (a, r)))
        {
            let start = own.checked_add(*address)?.checked_add(start)?;
            ranges.push((
                start..start.checked_add(bytes)?,
                Some(u32::try_from(thread).ok()?),
            ));
        }
    }
    Some(ranges)
}
