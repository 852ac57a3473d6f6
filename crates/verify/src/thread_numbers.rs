//! Numbers that are known in each thread of a block.

use async_locations::integers::Computation;
use async_mlir::gpu::{Dimension, block_size};
use async_mlir::ir::{Op, Value};
use async_mlir::names::{attr, gpu, nvvm};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

/// The threads of a warp.
const WARP: usize = 32;

/// The most warps of a block.
pub(crate) const MOST_WARPS: usize = 32;

/// A number in each thread of a block.
type Numbers = Rc<[i64]>;

/// Computes numbers for each thread of a block of whole warps, in one dimension.
///
/// Cost: for each value, the number of threads.
pub(crate) struct ThreadNumbers<'c> {
    threads: usize,
    known: FxHashMap<Value<'c>, Option<Numbers>>,
}

impl<'c> ThreadNumbers<'c> {
    /// Nothing is computed yet; `None` if the blocks of `function` are not known to be of whole warps, in one dimension.
    pub fn new(function: Op<'c>) -> Option<Self> {
        let [x, 1, 1] = block_size(function)? else {
            return None;
        };
        let threads = usize::try_from(x).ok()?;
        let is_whole = (WARP..=MOST_WARPS * WARP).contains(&threads) && threads.is_multiple_of(WARP);
        is_whole.then(|| Self {
            threads,
            known: FxHashMap::default(),
        })
    }

    /// How many warps a block has.
    pub fn num_warps(&self) -> usize {
        self.threads / WARP
    }

    /// The warps in all of whose threads `condition` is true, as bits, if it is false in all threads of the others.
    pub fn warps_where(&mut self, condition: Value<'c>) -> Option<u32> {
        let numbers = self.numbers(condition)?;
        let mut warps = 0;
        for (warp, numbers) in numbers.chunks(WARP).enumerate() {
            let truth = numbers[0] & 1;
            if numbers.iter().any(|number| number & 1 != truth) {
                return None;
            }
            warps |= u32::from(truth == 1) << warp;
        }
        Some(warps)
    }

    /// The numbers that `value` is; `None` if that is not known.
    fn numbers(&mut self, value: Value<'c>) -> Option<Numbers> {
        let mut work = vec![(value, false)];
        while let Some((value, has_operands)) = work.pop() {
            if has_operands {
                let numbers = self.compute(value);
                self.known.insert(value, numbers);
            } else if let Entry::Vacant(place) = self.known.entry(value) {
                // Nothing is known of what is computed of itself.
                place.insert(None);
                work.push((value, true));
                let op = value.defining_op().filter(|op| Computation::of(*op).is_some());
                work.extend(
                    op.into_iter()
                        .flat_map(Op::operands)
                        .map(|operand| (operand, false)),
                );
            }
        }
        self.known.get(&value)?.clone()
    }

    /// The numbers that `value` is, if those of the operands that it is computed of are known.
    fn compute(&self, value: Value<'c>) -> Option<Numbers> {
        if let Some(constant) = value.as_constant_int() {
            return Some(vec![constant; self.threads].into());
        }
        let op = value.defining_op()?;
        let threads = 0..i64::try_from(self.threads).ok()?;
        match op.name() {
            gpu::THREAD_ID if op.attr(attr::DIMENSION) == Some(Dimension::X.attribute(op.context())) => {
                return Some(threads.collect());
            }
            nvvm::READ_PTX_SREG_TID_X => return Some(threads.collect()),
            gpu::SUBGROUP_ID => return Some(threads.map(|thread| thread / 32).collect()),
            _ => {}
        }
        let computation = Computation::of(op)?;
        let of: Option<Vec<&Numbers>> = op
            .operands()
            .map(|operand| self.known.get(&operand)?.as_ref())
            .collect();
        let of = of?;
        let numbers = (0..self.threads).map(|thread| {
            let operands: Vec<i64> = of.iter().map(|numbers| numbers[thread]).collect();
            computation.result(&operands)
        });
        numbers.collect()
    }
}
