//! Warns of copies whose address is misaligned for some thread.
//!
//! Hardware copies n bytes from and to multiples of n. Let an address be `c * thread_id x + r`, with a constant c and an r that
//! is the same for threads that differ in nothing but `thread_id x`. If c is no multiple of n, two neighbors can't both be
//! aligned, whatever r is. So there is a warning where both are known to execute the copy: the block has two of them, and its
//! threads don't diverge on the way there.

use crate::analysis::uniformity::{all_threads_reach, is_shared, is_thread_varying};
use async_dialects::completion::Completion;
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::affine;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::gpu::{Dimension, block_size};
use async_mlir::ir::{Definition, Op, Value};
use async_mlir::names::{affine as affine_ops, arith, attr, gpu, index, nvgpu, scf};
use async_mlir::types::{bit_width, memref_layout, memref_shape};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Returns warnings about the copies in `issues`, which are of `function`.
pub(super) fn check<'c>(function: Op<'c>, issues: &[(Op<'c>, Completion<'c>)]) -> Vec<Diagnostic<'c>> {
    if block_size(function).is_none_or(|[x, ..]| x < 2) {
        return Vec::new();
    }
    let mut coefficients = Coefficients::default();
    let warnings = issues.iter().filter_map(|(op, completion)| {
        let elements = match op.name() {
            gpux::COPY => op.int_attr(gpux_attr::ELEMENTS)?,
            nvgpu::DEVICE_ASYNC_COPY => op.int_attr(attr::NVGPU_ELEMENTS)?,
            _ => return None,
        };
        let ends = [("source", completion.source), ("destination", completion.destination)];
        let (end, step, bytes) = ends.into_iter().find_map(|(end, memref)| {
            let (step, unit) = coefficients.of_address(*op, memref?)?;
            let bytes = elements.checked_mul(unit)?;
            (bytes > 1 && step % bytes != 0).then_some((end, step, bytes))
        })?;
        all_threads_reach(*op).then(|| {
            let message = format!(
                "copies {bytes} bytes, but its {end} is {step} bytes further for each thread, so it can't be aligned to \
                 {bytes} bytes in all threads"
            );
            Diagnostic::warning(*op, message).note(
                *op,
                "multiply the thread index by the number of elements that each thread copies",
            )
        })
    });
    warnings.collect()
}

/// By how much values grow with `thread_id x`; `None` where that is not known, or not the same everywhere.
#[derive(Default)]
struct Coefficients<'c>(FxHashMap<Value<'c>, Option<i64>>);

impl<'c> Coefficients<'c> {
    /// By how many bytes the address grows that `op` accesses in `memref`, and how many bytes an element has.
    fn of_address(&mut self, op: Op<'c>, memref: Value<'c>) -> Option<(i64, i64)> {
        let shape = memref_shape(memref.ty())?;
        let bytes = i64::from(bit_width(shape.element)? / 8);
        let strides = memref_layout(memref.ty())?.strides;
        // The indices come right after their memref.
        let first = op.operands().position(|operand| operand == memref)? + 1;
        let mut sum = 0_i64;
        for (i, stride) in strides.iter().enumerate() {
            let coefficient = self.of(op.operand(first + i))?;
            if coefficient != 0 {
                sum = sum.checked_add(coefficient.checked_mul((*stride)?)?)?;
            }
        }
        // Of a buffer that each thread has chosen for itself nothing is known.
        (self.of(memref)? == 0).then_some((sum.checked_mul(bytes)?, bytes))
    }

    fn of(&mut self, value: Value<'c>) -> Option<i64> {
        // Chains are as long as the program: no recursion.
        let mut work = vec![(value, false)];
        while let Some((value, is_ready)) = work.pop() {
            if is_ready {
                let found = self.combine(value);
                self.0.insert(value, found);
            } else if let Entry::Vacant(unknown) = self.0.entry(value) {
                // Nothing is known of what depends on itself.
                unknown.insert(None);
                work.push((value, true));
                work.extend(dependences(value).into_iter().map(|value| (value, false)));
            }
        }
        self.0[&value]
    }

    /// The coefficient of `value`, whose dependences are known.
    fn combine(&self, value: Value<'c>) -> Option<i64> {
        let op = match value.definition() {
            Definition::Result(op, _) => op,
            Definition::Argument(block, index) => {
                let around = block.parent_op()?;
                let is_entry = around.region(0).first() == Some(block);
                let uniform = is_entry && around.is_function() && is_shared(around, index)
                    || is_induction_variable(around, index);
                let steers = dependences(value);
                let plain = steers.iter().all(|value| self.get(*value) == Some(0));
                return (uniform && plain).then_some(0);
            }
        };
        // Narrow integers wrap around soon.
        if bit_width(value.ty()).is_some_and(|width| width < 32) {
            return self
                .none_of(op)
                .filter(|_| op.is_pure() && !is_thread_varying(op));
        }
        let of = |i: usize| self.get(op.operand(i));
        let constant = |i: usize| op.operand(i).as_constant_int();
        match op.name() {
            gpu::THREAD_ID => {
                let x = op.attr(attr::DIMENSION) == Some(Dimension::X.attribute(op.context()));
                Some(i64::from(x))
            }
            arith::ADDI | index::ADD => of(0)?.checked_add(of(1)?),
            arith::SUBI | index::SUB => of(0)?.checked_sub(of(1)?),
            arith::MULI | index::MUL => match (constant(0), constant(1)) {
                (_, Some(factor)) => of(0)?.checked_mul(factor),
                (Some(factor), _) => of(1)?.checked_mul(factor),
                _ => self.none_of(op),
            },
            arith::SHLI | index::SHL => match constant(1) {
                Some(shift @ 0..=31) => of(0)?.checked_mul(1 << shift),
                _ => self.none_of(op),
            },
            arith::INDEX_CAST | arith::INDEX_CASTUI | arith::EXTUI | arith::EXTSI => of(0),
            affine_ops::APPLY => affine::growth(op.attr(attr::MAP)?, &of),
            // These differ with the thread's index in ways of their own.
            _ if is_thread_varying(op) => None,
            _ if op.num_regions() == 0 && op.is_pure() => self.none_of(op),
            _ => None,
        }
    }

    fn get(&self, value: Value<'c>) -> Option<i64> {
        self.0.get(&value).copied().flatten()
    }

    /// 0 if no operand of `op` grows with the index.
    fn none_of(&self, op: Op<'c>) -> Option<i64> {
        op.operands().all(|value| self.get(value) == Some(0)).then_some(0)
    }
}

/// The values that `value` is computed from by an operation without regions, or that an induction variable runs from and by.
fn dependences(value: Value<'_>) -> Vec<Value<'_>> {
    match value.definition() {
        Definition::Result(op, _) if op.num_regions() == 0 => op.operands().collect(),
        Definition::Argument(block, index) => match block.parent_op() {
            Some(around) if is_induction_variable(around, index) => {
                vec![around.operand(0), around.operand(2)]
            }
            _ => Vec::new(),
        },
        Definition::Result(..) => Vec::new(),
    }
}

/// Returns true if the argument number `index` of the body of `around` is its induction variable.
fn is_induction_variable(around: Op<'_>, index: usize) -> bool {
    around.is(scf::FOR) && index == 0
}
