//! Lays out the frames of tokens, and emits the constants that describe them to the runtime
//! (`asyncopt_rt_type`).

use super::layout::{Extent, Layout, MAX_ALIGN};
use crate::utils::llvm_builder::{self, At, LlvmBuilder, is_scalable, rt};
use async_dialects::types::is_token;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::llvm::structure;
use async_mlir::melior::ir::attribute::DenseI64ArrayAttribute;
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{attr, llvm};
use async_mlir::pass::PassError;

/// The body of a task, in the `llvm` dialect.
pub(super) const RUN: &str = "!llvm.func<i32 (ptr, ptr)>";
const CLEAN_UP: &str = "!llvm.func<void (ptr)>";

/// The most bytes that a frame has: offsets are constants of 32 bits.
const MAX_SIZE: u64 = i32::MAX.cast_unsigned() as u64;

/// What a frame holds: what the task takes, and then what it delivers.
#[derive(Clone, Debug)]
pub(super) struct Frame<'c> {
    inputs: Vec<Type<'c>>,
    results: Vec<Type<'c>>,
    layout: Layout,
}

impl<'c> Frame<'c> {
    /// A frame of these types.
    ///
    /// # Errors
    ///
    /// If one of them has no counterpart in the `llvm` dialect, or none that a frame can hold; the message is for `op`.
    pub(super) fn new(
        inputs: Vec<Type<'c>>,
        results: Vec<Type<'c>>,
        op: Op<'c>,
        builder: &LlvmBuilder<'c>,
    ) -> Result<Self, PassError<'c>> {
        let lower = |ty: &Type<'c>| {
            let lowered = builder.lowered(*ty).filter(|lowered| !is_scalable(*lowered));
            lowered.ok_or_else(|| {
                let help = "on the host, a memref has a plain layout and no memory space, a vector a fixed length, and nothing is a tensor";
                let message =
                    format!("takes or returns a value of type '{ty}', which has no counterpart in LLVM");
                PassError::new(op, message).note(op, help)
            })
        };
        let mut members = Vec::new();
        for ty in inputs.iter().chain(&results) {
            let member = lower(ty)?;
            if Extent::of(member).is_none_or(|extent| extent.align > MAX_ALIGN) {
                let message =
                    format!("takes or returns a value of type '{ty}', which the frame of a task can't hold");
                let help = format!(
                    "hand it on in a buffer; values in frames are of a known size, and aligned to {MAX_ALIGN} bytes at most"
                );
                return Err(PassError::new(op, message).note(op, help));
            }
            members.push(member);
        }
        let too_large = || PassError::new(op, "takes and returns more than memory holds");
        let layout = Layout::of(&members).filter(|layout| layout.extent.size <= MAX_SIZE);
        Ok(Self {
            inputs,
            results,
            layout: layout.ok_or_else(too_large)?,
        })
    }

    /// What the task delivers.
    pub(super) fn results(&self) -> &[Type<'c>] {
        &self.results
    }

    /// The address of an input in the frame at `pointer`.
    pub(super) fn input(
        &self,
        pointer: Value<'c>,
        index: usize,
        location: Location<'c>,
        at: At<'c>,
        builder: &LlvmBuilder<'c>,
    ) -> Value<'c> {
        self.member(pointer, index, location, at, builder)
    }

    /// The address of a result in the frame at `pointer`.
    pub(super) fn result(
        &self,
        pointer: Value<'c>,
        index: usize,
        location: Location<'c>,
        at: At<'c>,
        builder: &LlvmBuilder<'c>,
    ) -> Value<'c> {
        self.member(pointer, self.inputs.len() + index, location, at, builder)
    }

    fn member(
        &self,
        pointer: Value<'c>,
        index: usize,
        location: Location<'c>,
        at: At<'c>,
        builder: &LlvmBuilder<'c>,
    ) -> Value<'c> {
        let offset = i32::try_from(self.layout.offsets[index]).expect("a frame is not that large");
        builder.element(pointer, builder.int(8), &[offset], location, at)
    }

    /// Makes the constant that describes tasks with this frame, whose body is the function `run`, and returns its name.
    pub(super) fn describe(
        &self,
        name: &str,
        run: Option<&str>,
        location: Location<'c>,
        builder: &LlvmBuilder<'c>,
    ) -> String {
        let symbol = builder.unused_name(&format!("{name}_type"));
        let tokens = |types: &[Type<'c>], first: usize| -> Vec<usize> {
            let numbered = types.iter().zip(first..);
            numbered
                .filter(|(ty, _)| is_token(**ty))
                .map(|(_, index)| index)
                .collect()
        };
        let skip = self.release(
            &format!("{name}_skip"),
            &tokens(&self.inputs, 0),
            location,
            builder,
        );
        let held = tokens(&self.results, self.inputs.len());
        let drop = self.release(&format!("{name}_drop"), &held, location, builder);
        let (ptr, i64) = (builder.ptr, builder.int(64));
        let ty = structure(builder.context(), &[ptr, ptr, ptr, i64, i64, ptr]);
        let text = run.map(|run| builder.task_name(run, location));
        let global = builder.global(&symbol, ty, None, location);
        let block = Block::new(&[]);
        global.region(0).append(block);
        let at = At::End(block);
        let mut value = llvm_builder::op(llvm::MLIR_ZERO, &[], &[ty], location, at).result(0);
        let mut insert = |member: i64, with: Value<'c>| {
            let position = DenseI64ArrayAttribute::new(builder.context(), &[member]).into();
            let op = OpBuilder::new(llvm::INSERTVALUE, location)
                .operands(&[value, with])
                .results(&[ty])
                .attr(attr::POSITION, position);
            value = op.at_end(block).result(0);
        };
        for (member, function) in [
            (0, run),
            (1, skip.as_deref()),
            (2, drop.as_deref()),
            (5, text.as_deref()),
        ] {
            if let Some(function) = function {
                insert(member, builder.address_of(function, location, at));
            }
        }
        let Extent { size, align } = self.layout.extent;
        for (member, number) in [(3, size), (4, align)] {
            let number = i64::try_from(number).expect("a frame is not that large");
            insert(member, builder.constant(64, number, location, at));
        }
        llvm_builder::op(llvm::RETURN, &[value], &[], location, at);
        symbol
    }

    /// A function that releases these members of a frame; `None` if there are none.
    fn release(
        &self,
        name: &str,
        members: &[usize],
        location: Location<'c>,
        builder: &LlvmBuilder<'c>,
    ) -> Option<String> {
        if members.is_empty() {
            return None;
        }
        let name = builder.unused_name(name);
        let function = builder.function(&name, CLEAN_UP, location);
        let block = Block::new(&[(builder.ptr, location)]);
        function.region(0).append(block);
        let at = At::End(block);
        for &member in members {
            let place = self.member(block.arg(0), member, location, at, builder);
            let token = builder.load(place, builder.ptr, location, at);
            builder.call(rt::RELEASE, &[token], None, location, at);
        }
        llvm_builder::op(llvm::RETURN, &[], &[], location, at);
        Some(name)
    }
}
