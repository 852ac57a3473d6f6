//! `--gpux-to-nvvm`: the counted form becomes upstream's `nvgpu` and `nvvm` operations.
//!
//! **Condition.** Every operation of the dialect is in counted form: no token is left in device code.
//!
//! **Effect.** No `gpux` operation is left. A copy is an `nvgpu.device_async_copy`, so that strides, dynamic shapes and
//! partial counts go the way that upstream lowers them; commits and waits are `nvvm` operations of their queue. The
//! buffers that copies write are aligned ([`buffers`]). Discardable attributes stay.
//!
//! **Refusals.** Tokens: how many groups a wait leaves in flight is the business of `--gpux-tokens-to-groups`.

mod buffers;

use crate::analysis::vocabulary::HardwareQueue;
use async_dialects::ir::{Block, Op, OpBuilder, Value, index_attr, int_attr};
use async_dialects::melior::Context;
use async_dialects::melior::ir::attribute::{
    DenseI32ArrayAttribute, DenseI64ArrayAttribute, StridedLayoutAttribute,
};
use async_dialects::melior::ir::r#type::MemRefType;
use async_dialects::melior::ir::{Attribute, ShapedTypeLike, Type};
use async_dialects::pass::{Anchor, Dialect, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use buffers::Buffers;
use std::cell::RefCell;
use std::collections::HashSet;

/// What MLIR writes for an offset, size or stride that is not static.
const DYNAMIC: i64 = i64::MIN;
/// How many types to remember: more than programs have, few enough to look through.
const KNOWN_TYPES: usize = 16;

/// The pass.
pub struct GpuxToNvvm;

impl Pass for GpuxToNvvm {
    const INFO: PassInfo = PassInfo {
        description: include_str!("gpux_to_nvvm/description.md"),
        // Not on functions: a buffer may be a global, which functions share.
        anchor: Anchor::Ops(&["builtin.module", "gpu.module"]),
        dependent_dialects: &[
            Dialect::Async,
            Dialect::Gpux,
            Dialect::MemRef,
            Dialect::NvGpu,
            Dialect::Nvvm,
        ],
        statistics: &[
            StatisticInfo {
                name: "copies",
                description: "Number of copies lowered",
            },
            StatisticInfo {
                name: "aligned",
                description: "Number of buffers whose alignment was raised",
            },
        ],
        ..PassInfo::new(
            "gpux-to-nvvm",
            "lowers the counted form of gpux to nvgpu and nvvm",
        )
    };

    fn run<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let ops = root.nested();
        check_counted(&ops)?;
        let lowering = Lowering::new(root.context());
        let mut buffers = Buffers::new(root.context());
        for op in ops {
            match op.name() {
                "gpux.copy" => {
                    buffers.align_destination(op);
                    lowering.copy(op);
                    cx.count("copies", 1);
                }
                "gpux.commit_group" => lowering.commit(op),
                "gpux.wait_group" => lowering.wait(op),
                _ => {}
            }
        }
        cx.count("aligned", buffers.raised());
        Ok(())
    }
}

/// Checks the condition: what is in `gpux` is in counted form, and device code has no tokens.
fn check_counted<'c>(ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let run_before = "run --gpux-tokens-to-groups before --gpux-to-nvvm";
    let Some(context) = ops.first().map(|op| op.context()) else {
        return Ok(());
    };
    let tokens = parse_type(context, "!async.token");
    let mut device = HashSet::new();
    for &op in ops {
        match op.name() {
            "gpux.copy" | "gpux.commit_group" if op.num_results() == 0 => {}
            "gpux.wait_group" => {}
            "gpux.copy" | "gpux.commit_group" => {
                return Err(PassError::new(
                    op,
                    format!("has a token, and the hardware has none: {run_before}"),
                ));
            }
            "gpu.func" => {
                let arguments = op.region(0).first().into_iter().flat_map(Block::args);
                if let Some(token) = arguments.into_iter().find(|argument| argument.ty() == tokens) {
                    let message = "takes a token as an argument, and the hardware has no tokens: await it in the caller";
                    return Err(PassError::new(token.location(), message));
                }
                continue;
            }
            name if name.starts_with("gpux.") => return Err(PassError::new(op, "has no lowering to NVVM")),
            _ => continue,
        }
        device.extend(function_around(op));
    }
    for &op in ops {
        if op.name().starts_with("async.")
            && (op.ancestors().any(|outer| outer.is("gpu.module"))
                || function_around(op).is_some_and(|function| device.contains(&function)))
        {
            return Err(PassError::new(
                op,
                format!("is left in device code, and the hardware has no tokens: {run_before}"),
            ));
        }
    }
    Ok(())
}

/// The outermost function that has `op` inside.
fn function_around(op: Op<'_>) -> Option<Op<'_>> {
    op.ancestors().filter(|outer| outer.is_function()).last()
}

/// Writes single operations anew. What it needs for each of many thousands is made once.
struct Lowering<'c> {
    context: &'c Context,
    unit: Attribute<'c>,
    token: Type<'c>,
    queues: [Attribute<'c>; 3],
    /// Whether the innermost dimension is contiguous, for the types met. A program has many copies of few types, and
    /// MLIR works out strides with affine maps.
    contiguous: RefCell<Vec<(Type<'c>, bool)>>,
}

impl<'c> Lowering<'c> {
    fn new(context: &'c Context) -> Self {
        Self {
            context,
            unit: Attribute::unit(context),
            token: parse_type(context, "!nvgpu.device.async.token"),
            queues: HardwareQueue::ALL.map(|queue| queue.attribute(context)),
            contiguous: RefCell::default(),
        }
    }

    /// Returns true if the innermost dimension of the memref `ty` has stride 1, or there is none.
    fn is_contiguous(&self, ty: Type<'c>) -> bool {
        let mut known = self.contiguous.borrow_mut();
        if let Some(&(_, contiguous)) = known.iter().find(|(other, _)| *other == ty) {
            return contiguous;
        }
        let (strides, _) = memref(ty).strides_and_offset();
        let contiguous = strides.last().is_none_or(|&stride| stride == 1);
        known.truncate(KNOWN_TYPES - 1);
        known.insert(0, (ty, contiguous));
        contiguous
    }

    /// A copy in counted form has the operands source, its indices, destination, its indices, and perhaps a count.
    fn copy(&self, op: Op<'c>) {
        let operands: Vec<Value> = op.operands().collect();
        let (source, rest) = access(&operands);
        let (destination, count) = access(rest);
        let source = self.contiguous(op, source);
        let destination = self.contiguous(op, destination);

        let segments = [1, destination.len() - 1, 1, source.len() - 1, count.len()];
        let segments = segments.map(|size| i32::try_from(size).expect("an operation has few operands"));
        let elements = op
            .int_attr("elements")
            .expect("a verified copy has its number of elements");
        let mut copy = OpBuilder::new("nvgpu.device_async_copy", op.location())
            .operands(&destination)
            .operands(&source)
            .operands(count)
            .results(&[self.token])
            .attr(
                "operandSegmentSizes",
                DenseI32ArrayAttribute::new(self.context, &segments).into(),
            )
            .attr("dstElements", index_attr(self.context, elements));
        if op.has_attr("bypass_l1") {
            copy = copy.attr("bypassL1", self.unit);
        }
        replace(op, copy);
    }

    /// Upstream's copy wants a contiguous innermost dimension, also where it copies a single element: that one is then
    /// addressed as a buffer of rank 0. `access` is a buffer and its indices, and so is the result.
    fn contiguous(&self, copy: Op<'c>, access: &[Value<'c>]) -> Vec<Value<'c>> {
        if self.is_contiguous(access[0].ty()) {
            return access.to_vec();
        }
        let ty = memref(access[0].ty());
        let rank = access.len() - 1;
        let layout = StridedLayoutAttribute::new(self.context, DYNAMIC, &[]);
        let element = MemRefType::new(ty.element(), &[], Some(layout.into()), ty.memory_space());
        let all = |value: i64| DenseI64ArrayAttribute::new(self.context, &vec![value; rank]).into();
        let segments = [1, i32::try_from(rank).expect("ranks are small"), 0, 0];
        let view = OpBuilder::new("memref.subview", copy.location())
            .operands(access)
            .results(&[element.into()])
            .attr(
                "operandSegmentSizes",
                DenseI32ArrayAttribute::new(self.context, &segments).into(),
            )
            .attr("static_offsets", all(DYNAMIC))
            .attr("static_sizes", all(1))
            .attr("static_strides", all(1))
            .before(copy);
        vec![view.result(0)]
    }

    fn commit(&self, op: Op<'c>) {
        let name = match self.queue(op) {
            HardwareQueue::CpAsync => "nvvm.cp.async.commit.group",
            HardwareQueue::Bulk => "nvvm.cp.async.bulk.commit.group",
            HardwareQueue::Wgmma => "nvvm.wgmma.commit.group.sync.aligned",
        };
        replace(op, OpBuilder::new(name, op.location()));
    }

    fn wait(&self, op: Op<'c>) {
        let pending = op.int_attr("pending").expect("a verified wait has its count");
        let (name, attribute, bits) = match self.queue(op) {
            HardwareQueue::CpAsync => ("nvvm.cp.async.wait.group", "n", 32),
            HardwareQueue::Bulk => ("nvvm.cp.async.bulk.wait_group", "group", 32),
            HardwareQueue::Wgmma => ("nvvm.wgmma.wait.group.sync.aligned", "group", 64),
        };
        let mut wait =
            OpBuilder::new(name, op.location()).attr(attribute, int_attr(self.context, bits, pending));
        if op.has_attr("read") {
            wait = wait.attr("read", self.unit);
        }
        replace(op, wait);
    }

    fn queue(&self, op: Op<'c>) -> HardwareQueue {
        let queue = op.attr("queue");
        let index = self.queues.iter().position(|&known| Some(known) == queue);
        HardwareQueue::ALL[index.expect("a verified commit or wait has a queue")]
    }
}

/// The type of a side of a copy.
fn memref(ty: Type<'_>) -> MemRefType<'_> {
    MemRefType::try_from(ty).expect("a verified copy is between memrefs")
}

/// A type of a dialect that the pass has loaded.
fn parse_type<'c>(context: &'c Context, text: &str) -> Type<'c> {
    Type::parse(context, text).unwrap_or_else(|| panic!("`{text}` is a type of a loaded dialect"))
}

/// Splits the operands into a memref with its indices and the rest.
fn access<'a, 'c>(operands: &'a [Value<'c>]) -> (&'a [Value<'c>], &'a [Value<'c>]) {
    let rank = memref(operands[0].ty()).rank();
    operands.split_at(1 + rank)
}

/// Puts what `new` builds in the place of `op`. Whoever marked the one finds the mark on the other.
fn replace<'c>(op: Op<'c>, new: OpBuilder<'c>) {
    new.before(op).copy_discardable_attrs(op);
    op.erase();
}
