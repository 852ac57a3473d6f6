//! A whole program: host code, with the kernels that it launches.

use super::{Kept, Options, Role, run_code};
use crate::sim::arguments::GpuTokens;
use anyhow::{Result, bail};
use async_jit::run_passes;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Op, Walk};
use async_sim::read::{self, UncountedWaits};

/// What is called where nothing else is asked for.
const MAIN: &str = "main";

/// The function of `module` that is to be run as a program, by name; `None` if kernels are to be run.
pub fn entry(module: Op<'_>, options: &Options) -> Result<Option<String>> {
    let function = |name: &str| {
        let block = module.region(0).first()?;
        let mut ops = block.ops().into_iter();
        ops.find(|op| op.is("func.func") && op.str_attr("sym_name") == Some(name))
    };
    let entry_block = |function: Op<'_>| function.region(0).first().map(Block::num_args);
    if let Some(name) = &options.entry {
        let Some(function) = function(name) else {
            bail!("there is no function '{name}' in the module");
        };
        match entry_block(function) {
            None => bail!("'{name}' has no body to run"),
            Some(1..) => bail!("'{name}' takes arguments: --entry is for functions that take none"),
            Some(0) => return Ok(Some(name.clone())),
        }
    }
    let is_program = !options.is_about_kernels()
        && function(MAIN).and_then(entry_block) == Some(0)
        && read::has_device_work(module);
    Ok(is_program.then(|| MAIN.to_owned()))
}

/// Runs the function `entry` of `module`. Returns true if nothing is wrong.
pub fn simulate(
    module: Op<'_>,
    entry: &str,
    options: &Options,
    path: &str,
    kept: &mut Vec<Kept>,
) -> Result<bool> {
    if lower(module, options).is_err() {
        return Ok(false);
    }
    let block = module.region(0).first();
    let mut ops = block.map_or(Vec::new(), Block::ops).into_iter();
    let Some(function) = ops.find(|op| op.str_attr("sym_name") == Some(entry)) else {
        bail!("there is no function '{entry}' any more");
    };
    match read::read_program(function, UncountedWaits::All, path) {
        Ok(code) => run_code(&code, options, path, Role::Judged, kept),
        Err(unknown) => {
            Diagnostic::error(unknown.op.location(), unknown.message).emit();
            Ok(false)
        }
    }
}

/// Lowers what the interpreter does not know.
fn lower(module: Op<'_>, options: &Options) -> Result<(), async_jit::Reported> {
    let has = |is: &dyn Fn(Op<'_>) -> bool| {
        let visit = |op| if is(op) { Walk::Stop } else { Walk::Advance };
        module.walk(visit) == Walk::Stop
    };
    if has(&|op| op.is("gpu.launch")) {
        run_passes(module, "gpu-kernel-outlining")?;
    }
    run_passes(
        module,
        match options.gpu_tokens {
            GpuTokens::Ssa => "async-import-gpu{gpu-tokens=ssa}",
            GpuTokens::Stream => "async-import-gpu{gpu-tokens=stream}",
        },
    )?;
    // This pass also erases what nobody uses, and faults would go with it.
    if has(&|op| op.dialect() == "linalg") {
        run_passes(module, "convert-linalg-to-loops")?;
    }
    run_passes(module, "lower-affine")
}
