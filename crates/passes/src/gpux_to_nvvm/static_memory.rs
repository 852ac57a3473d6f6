//! Checks that no kernel has more static workgroup memory than `ptxas` takes.
//!
//! `ptxas` says which kernel has too much, without a line, and only where it is run at all. What is counted here is what a kernel
//! itself names: buffers of functions that it calls come on top.

use crate::analysis::buffer_parts::bytes_of;
use crate::utils::chip::{MemoryLimit, STATIC_WORKGROUP_BYTES};
use crate::utils::device::{device_code, own_ops};
use async_mlir::diagnostic::Diagnostic;
use async_mlir::gpu::{is_kernel, is_workgroup, num_attributions, num_inputs};
use async_mlir::ir::{Block, Op, Region};
use async_mlir::melior::ir::{Attribute, Location};
use async_mlir::names::{attr, memref, nvgpu};
use async_mlir::pass::PassError;
use async_mlir::types::symbol;

const MBARRIER_BYTES: u64 = 8;

/// A buffer of a kernel.
struct Buffer<'c> {
    location: Location<'c>,
    name: String,
    bytes: u64,
}

/// Warns of kernels in `root` with more static workgroup memory than there is without being asked for. An error, if it is more than
/// a block can have on `chip`; if that is empty, on the target of the module.
pub(super) fn check<'c>(root: Op<'c>, chip: &str) -> Result<(), PassError<'c>> {
    for kernel in device_code(root).into_iter().filter(|op| is_kernel(*op)) {
        let buffers = static_buffers(kernel);
        let bytes = buffers
            .iter()
            .fold(0u64, |sum, buffer| sum.saturating_add(buffer.bytes));
        if bytes <= STATIC_WORKGROUP_BYTES {
            continue;
        }
        let limit = MemoryLimit::of(kernel, chip)?;
        let notes = buffers.into_iter().map(|buffer| {
            (
                buffer.location,
                format!("{} bytes: {}", buffer.bytes, buffer.name),
            )
        });
        if bytes > limit.bytes {
            let message = format!(
                "needs {bytes} bytes of workgroup memory, but a block has at most {} on {}",
                limit.bytes, limit.name
            );
            let error = PassError::new(kernel, message);
            return Err(notes.fold(error, |error, (place, text)| error.note(place, text)));
        }
        let message = format!(
            "has {bytes} bytes of static workgroup memory, and ptxas takes at most {STATIC_WORKGROUP_BYTES}: run \
             --gpux-pack-workgroup-memory first, which makes it dynamic"
        );
        let warning = Diagnostic::warning(kernel.location(), message);
        notes
            .fold(warning, |warning, (place, text)| warning.note(place, text))
            .emit();
    }
    Ok(())
}

/// The buffers of `kernel` that are laid out before it runs.
fn static_buffers(kernel: Op<'_>) -> Vec<Buffer<'_>> {
    let mut buffers = Vec::new();
    if let Some(entry) = kernel.region(0).first() {
        let first = num_inputs(kernel).unwrap_or(0);
        buffers.extend((0..num_attributions(kernel)).map(|number| {
            let root = entry.arg(first + number);
            Buffer {
                location: root.location(),
                name: format!("workgroup attribution {number}"),
                bytes: bytes_of(root.ty()).unwrap_or(0),
            }
        }));
    }
    let mut names = Vec::new();
    for op in own_ops(kernel) {
        if op.is(nvgpu::MBARRIER_CREATE) {
            let number = async_mlir::nvgpu::mbarriers(op.result(0).ty()).unwrap_or(1);
            buffers.push(Buffer {
                location: op.location(),
                name: "mbarriers".to_owned(),
                bytes: u64::from(number) * MBARRIER_BYTES,
            });
        } else if op.is(memref::GET_GLOBAL) && is_workgroup(op.result(0).ty()) {
            let name = op.attr(attr::NAME).and_then(symbol).unwrap_or_default();
            let Some(global) = global(kernel, name).filter(|_| !names.contains(&name)) else {
                continue;
            };
            names.push(name);
            buffers.push(Buffer {
                location: global.location(),
                name: format!("global @{name}"),
                bytes: bytes_of(op.result(0).ty()).unwrap_or(0),
            });
        }
    }
    buffers
}

/// The global called `name` beside `kernel`, if it is defined there.
fn global<'c>(kernel: Op<'c>, name: &str) -> Option<Op<'c>> {
    let ops = kernel
        .parent()?
        .regions()
        .flat_map(Region::blocks)
        .flat_map(Block::ops);
    let mut globals = ops.filter(|op| op.is(memref::GLOBAL));
    let global = globals.find(|op| op.str_attr(attr::SYM_NAME) == Some(name))?;
    // One without an initial value, which is none at all, is defined elsewhere.
    let is_defined = global.attr(attr::INITIAL_VALUE) == Some(Attribute::unit(global.context()));
    is_defined.then_some(global)
}
