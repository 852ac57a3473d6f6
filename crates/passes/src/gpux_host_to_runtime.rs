//! `--gpux-host-to-runtime`: allocations, transfers and launches of host code become calls of the runtime.
//!
//! **Condition.** A module of bufferized host code.
//!
//! **Effect.** Each asynchronous operation of `gpux` for the host becomes an `async.region` around a synchronous one, and that a call of
//! `asyncopt_rt_device_…` or `asyncopt_rt_host_…`, whose first operand, the token of the task, is null until `--async-to-runtime` puts it in.
//! Types of host code lose the memory space of the device: its memory is a pointer like others there. With `erase-kernels`, `gpu.module`s
//! go: whoever runs the program has them.
//!
//! **Refusals.** Transfers of tensors (bufferize first), buffers of unknown rank or of vectors of unknown length, values whose types have no counterpart in LLVM, and `gpux.memset` of
//! what does not lie in a row.
//!
//! [`lowering`] and [`launches`] lower operations; [`wrappers`] generates functions that take a transfer
//! apart that is not contiguous, and the arguments of a launch; [`memory_spaces`] changes types.

mod launches;
mod lowering;
mod memory_spaces;
mod wrappers;

use self::lowering::Lowering;
use self::memory_spaces::{drop_memory_spaces, without_space};
use self::wrappers::Wrappers;
use crate::utils::device::is_host_operation;
use crate::utils::llvm_builder::{LlvmBuilder, is_scalable};
use async_dialects::names::gpux;
use async_dialects::registry::GPUX;
use async_dialects::types::is_token;
use async_mlir::ir::{Op, Value, Walk};
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::{attr, builtin, gpu};
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo};
use async_mlir::types::{is_contiguous, is_unranked_memref, memref_element, memref_layout, memref_shape};

/// The pass.
pub struct GpuxHostToRuntime;

impl Pass for GpuxHostToRuntime {
    const INFO: PassInfo = PassInfo {
        description: include_str!("gpux_host_to_runtime/description.md"),
        anchor: Anchor::Ops(&[builtin::MODULE]),
        options: &[OptionInfo::bool(
            "erase-kernels",
            false,
            "erase gpu.modules: kernels are run by what is registered with asyncopt_rt_set_launcher",
        )],
        dependent_dialects: &[
            GPUX,
            Dialect::LLVM,
            Dialect::FUNC,
            Dialect::SCF,
            Dialect::ARITH,
            Dialect::CF,
            Dialect::MEMREF,
        ],
        ..PassInfo::new(
            "gpux-host-to-runtime",
            "lowers allocations, transfers and launches of host code to calls of the runtime",
        )
    };

    fn run<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let mut modules = vec![root];
        let mut kernels = Vec::new();
        root.walk(|op| {
            match op.name() {
                gpu::MODULE => {
                    kernels.push(op);
                    return Walk::Skip;
                }
                gpu::LAUNCH => return Walk::Skip,
                builtin::MODULE if op != root => modules.push(op),
                _ => {}
            }
            Walk::Advance
        });
        for module in &modules {
            lower_module(*module)?;
        }
        drop_memory_spaces(root);
        if cx.bool("erase-kernels") {
            kernels.into_iter().for_each(Op::erase);
            for module in modules {
                module.remove_attr(attr::GPU_CONTAINER_MODULE);
            }
        }
        Ok(())
    }
}

/// Lowers the operations of one module, but not of those inside of it: what is made for them, they have to find in their own symbol table.
fn lower_module(module: Op<'_>) -> Result<(), PassError<'_>> {
    let mut ops = Vec::new();
    module.walk(|op| {
        match op.name() {
            gpu::MODULE | gpu::LAUNCH => return Walk::Skip,
            builtin::MODULE if op != module => return Walk::Skip,
            gpu::HOST_REGISTER | gpu::HOST_UNREGISTER => ops.push(op),
            _ if is_host_operation(op) => ops.push(op),
            _ => {}
        }
        Walk::Advance
    });
    let builder = LlvmBuilder::new(module);
    let lowering = Lowering {
        wrappers: Wrappers::new(module, &builder),
        builder: &builder,
    };
    for op in ops {
        check_types(op, &builder)?;
        lowering.lower(op);
    }
    builder.check_declarations()
}

fn check_types<'c>(op: Op<'c>, builder: &LlvmBuilder<'c>) -> Result<(), PassError<'c>> {
    let buffer = op
        .operands()
        .find(|operand| op.is(gpux::MEMSET) && memref_shape(operand.ty()).is_some());
    if let Some(buffer) = buffer.filter(|buffer| !is_contiguous(buffer.ty())) {
        let message = format!("sets elements of '{}', which do not lie in a row", buffer.ty());
        return Err(PassError::new(op, message).note(
            op,
            "set the buffer that this is a view of, or transfer the values",
        ));
    }
    let scalable = op
        .operands()
        .chain(op.results())
        .find(|value| is_scalable(value.ty()));
    if let Some(value) = scalable {
        let message = format!("has a value of type '{}', whose size is not known", value.ty());
        return Err(PassError::new(op, message).note(op, "use vectors of a fixed length"));
    }
    if matches!(op.name(), gpu::HOST_REGISTER | gpu::HOST_UNREGISTER) {
        return Ok(());
    }
    let mut values = op.operands().chain(op.results());
    let is_data = !op.is(gpux::ASYNC_LAUNCH);
    let odd = values.find(|value| {
        let ty = value.ty();
        is_unranked_memref(ty) || is_data && !is_token(ty) && ty.is_ranked_tensor()
    });
    if let Some(value) = odd {
        let message = format!("has a value of type '{}'", value.ty());
        return Err(
            PassError::new(op, message).note(op, "run --one-shot-bufferize first, and give buffers a rank")
        );
    }
    // Of a buffer that no kernel gets, the elements are enough: others are taken apart before.
    let is_unknown = |value: &Value<'c>| {
        let ty = without_space(value.ty());
        let part = memref_element(ty)
            .filter(|_| !op.is(gpux::ASYNC_LAUNCH))
            .unwrap_or(ty);
        // Upstream's conversion says things of its own about other layouts.
        let has_strides = memref_shape(part).is_none() || memref_layout(part).is_some();
        !has_strides || builder.lowered(part).is_none()
    };
    if let Some(value) = op.operands().chain(op.results()).find(is_unknown) {
        let message = format!(
            "has a value of type '{}', which has no counterpart in LLVM",
            value.ty()
        );
        let help = "host code and the kernels that it launches exchange numbers, vectors and buffers with strides; async-sim runs programs with tensor map descriptors";
        return Err(PassError::new(op, message).note(op, help));
    }
    Ok(())
}
