//! Lowers `gpu.launch_func`: passes sizes, and what kernels take, to the runtime.

use super::lowering::{Lowering, Site};
use super::memory_spaces::without_space;
use crate::utils::llvm_builder;
use async_dialects::names::gpux_attr;
use async_mlir::ir::{Op, Value};
use async_mlir::llvm::aggregate;
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::attribute::DenseI32ArrayAttribute;
use async_mlir::names::{arith, attr};
use async_mlir::types::memref_shape;

impl<'c> Lowering<'_, 'c> {
    pub(super) fn launch(&self, op: Op<'c>, dependencies: usize, site: Site<'c>) {
        let (builder, Site { at, location, .. }) = (self.builder, site);
        let groups = operand_groups(op);
        debug_assert!(groups[0].len() == dependencies);
        let [this, device] = self.task_and_device(site);
        let kernel = op
            .attr(gpux_attr::KERNEL_SYMBOL)
            .map_or(String::new(), |name| name.to_string());
        let kernel = builder.string(&kernel.replace(['@', '"'], ""), location, at);
        let place = builder.location(location, at);
        let mut operands = vec![this, device, kernel, place];
        // Blocks and threads come first there, and clusters of one block are none.
        for group in [&groups[2], &groups[3], &groups[1]] {
            for dimension in 0..3 {
                operands.push(match group.get(dimension) {
                    Some(size) => self.to_i64(*size, site),
                    None => builder.constant(64, 1, location, at),
                });
            }
        }
        operands.push(match groups[4].first() {
            Some(bytes) => {
                llvm_builder::op(arith::EXTUI, &[*bytes], &[builder.int(64)], location, at).result(0)
            }
            None => builder.constant(64, 0, location, at),
        });
        for argument in &groups[5] {
            self.fields(*argument, &mut operands, site);
        }
        let types: Vec<Type> = operands[14..].iter().map(|operand| operand.ty()).collect();
        let function = self.wrappers.launch(&types);
        let status = Some(builder.int(32));
        builder.call(&function, &operands, status, location, at);
    }

    /// What a kernel gets for `argument`: itself, or what its descriptor consists of.
    fn fields(&self, argument: Value<'c>, fields: &mut Vec<Value<'c>>, site: Site<'c>) {
        let (builder, Site { at, location, .. }) = (self.builder, site);
        let ty = without_space(argument.ty());
        let Some(lowered) = builder.lowered(ty) else {
            fields.push(argument);
            return;
        };
        let value = llvm_builder::cast(argument, lowered, location, at);
        let mut work = vec![(value, memref_shape(ty).is_some())];
        while let Some((value, is_descriptor)) = work.pop() {
            let parts = aggregate(value.ty()).filter(|_| is_descriptor);
            let Some(parts) = parts else {
                fields.push(value);
                continue;
            };
            let types = parts.members();
            for (position, ty) in types.into_iter().enumerate().rev() {
                let part = builder.extract(value, position, ty, location, at);
                work.push((part, true));
            }
        }
    }
}

/// The operands of a launch, in groups.
fn operand_groups(op: Op<'_>) -> Vec<Vec<Value<'_>>> {
    let sizes = op.attr(attr::OPERAND_SEGMENT_SIZES);
    let sizes = sizes.and_then(|sizes| DenseI32ArrayAttribute::try_from(sizes).ok());
    let mut operands = op.operands();
    (0..6)
        .map(|group| {
            let size = sizes.and_then(|sizes| sizes.element(group).ok()).unwrap_or(0);
            let size = usize::try_from(size).unwrap_or(0);
            operands.by_ref().take(size).collect()
        })
        .collect()
}
