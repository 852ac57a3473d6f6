//! Finds the launches of a kernel in host code, and sets their size of dynamic memory.

use crate::utils::builders::constant;
use async_mlir::ir::{Op, OpBuilder, Value};
use async_mlir::melior::ir::Attribute;
use async_mlir::melior::ir::attribute::DenseI32ArrayAttribute;
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::names::{attr, gpu};

/// Which group of operands of a `gpu.launch_func` the size of dynamic memory is.
const SIZE: usize = 10;

/// The launches of `kernel` in `root`.
pub(super) fn launches<'c>(root: Op<'c>, kernel: Op<'c>) -> Vec<Op<'c>> {
    let module = kernel.parent().and_then(|module| module.str_attr(attr::SYM_NAME));
    let reference = module
        .zip(kernel.str_attr(attr::SYM_NAME))
        .and_then(|(module, kernel)| {
            let text = format!("@{}::@{}", quoted(module), quoted(kernel));
            Attribute::parse(root.context(), &text)
        });
    let ops = root.self_and_nested().into_iter();
    ops.filter(|op| op.is(gpu::LAUNCH_FUNC) && reference.is_some() && op.attr(attr::KERNEL) == reference)
        .collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Makes `launch` ask for so many bytes of dynamic memory.
pub(super) fn set_size(launch: Op<'_>, bytes: u64) {
    let sizes = launch.attr(attr::OPERAND_SEGMENT_SIZES);
    let Some(sizes) = sizes.and_then(|sizes| DenseI32ArrayAttribute::try_from(sizes).ok()) else {
        return;
    };
    let mut operands = launch.operands();
    let mut groups: Vec<Vec<Value>> = Vec::new();
    for i in 0..sizes.len() {
        let size = sizes.element(i).ok().and_then(|size| usize::try_from(size).ok());
        groups.push(operands.by_ref().take(size.unwrap_or(0)).collect());
    }
    if groups.len() <= SIZE || (bytes == 0 && groups[SIZE].is_empty()) {
        return;
    }
    let i32 = IntegerType::new(launch.context(), 32).into();
    let size = i64::try_from(bytes).unwrap_or(i64::MAX);
    groups[SIZE] = match bytes {
        0 => Vec::new(),
        _ => vec![constant(launch.location(), i32, size).before(launch).result(0)],
    };
    let groups: Vec<&[Value]> = groups.iter().map(Vec::as_slice).collect();
    let types: Vec<_> = launch.results().map(Value::ty).collect();
    let mut new = OpBuilder::new(gpu::LAUNCH_FUNC, launch.location())
        .operand_groups(&groups)
        .results(&types);
    if let Some(kernel) = launch.attr(attr::KERNEL) {
        new = new.attr(attr::KERNEL, kernel);
    }
    let new = new.before(launch);
    new.copy_discardable_attrs(launch);
    launch.replace_with(&new.results().collect::<Vec<_>>());
}
