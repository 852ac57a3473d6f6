//! The kernels of `test/Integration/nvgpu-pipelines`, in upstream's vocabulary: pipelined, they do what they do as they are written,
//! with any number of stages, however often their loops run, whatever the hardware does first.
#![allow(missing_docs)]

mod kernel;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::{Code, ParamKind};
use async_sim::inputs::Argument;
use kernel::lit::{files, root};
use kernel::{Call, Outcome, context, parallel, parse, run, try_lower};

/// Rows of a tile, which is how far a step goes.
const STEP: i128 = 16;

/// How many tiles the operands have.
const TILES: i128 = 8;

const SCHEDULES: [Adversary; 3] = [Adversary::Late, Adversary::Early, Adversary::Random(1)];

/// What passes make of a kernel, in a form that can be run.
fn after(context: &Context, name: &str, source: &str, passes: &str) -> String {
    let pipeline = format!("builtin.module(gpu-kernel-outlining,{passes},lower-affine)");
    let module = try_lower(context, source, &pipeline);
    let module = module.unwrap_or_else(|| panic!("{name}: {passes} fails:\n{source}"));
    module.as_operation().to_string()
}

/// How to call a kernel: with so many tiles, where that is an argument.
fn call(code: &Code, tiles: i128) -> Call {
    let arguments = code.params.iter().map(|param| match param.kind {
        ParamKind::MemRef { .. } => None,
        _ => Some(Argument::Integer(tiles * STEP)),
    });
    Call {
        arguments: arguments.collect(),
        dynamic_workgroup: 4096,
        seed: 7,
        ..Call::of(32)
    }
}

/// Runs `source` after other passes, and compares.
fn compare(context: &Context, what: &str, (source, passes): (&str, &str), call: &Call, meant: &Outcome) {
    let kernel = after(context, what, source, passes);
    for adversary in SCHEDULES {
        let outcome = run(context, &kernel, call, adversary.clone());
        assert!(
            outcome.is_clean(),
            "{what}, {adversary:?}: {}\n{kernel}",
            outcome.findings
        );
        assert!(
            outcome.memory == meant.memory,
            "{what}, {adversary:?}: other memory\n{kernel}"
        );
    }
}

fn check(context: &Context, name: &str, source: &str) {
    let plain = after(context, name, source, "lower-affine");
    let code = parse(context, &plain);
    let is_dynamic = code
        .params
        .iter()
        .any(|param| !matches!(param.kind, ParamKind::MemRef { .. }));
    let unstated = source.replace(" {async.num_stages = 3}", "");
    for tiles in if is_dynamic { 0..=TILES - 2 } else { TILES..=TILES } {
        let call = call(&code, tiles);
        let meant = run(context, &plain, &call, Adversary::Early);
        assert!(
            meant.is_clean(),
            "{name}, as written: {}\n{plain}",
            meant.findings
        );
        for options in [
            "num-stages=2",
            "num-stages=3",
            "num-stages=4 epilogue=predicate",
            "num-stages=3 short-trips=branch",
        ] {
            let what = format!("{name}, {options}, {tiles} tiles");
            let functions = format!("async-pipeline{{{options}}}");
            let pipelined = after(context, &what, &unstated, &functions);
            compare(context, &what, (&pipelined, "canonicalize"), &call, &meant);
            compare(
                context,
                &what,
                (&pipelined, "gpux-tokens-to-groups"),
                &call,
                &meant,
            );
            let upstream = format!("async-pipeline{{{options} emit=nvgpu}}");
            compare(context, &what, (&unstated, &upstream), &call, &meant);
        }
    }
}

#[test]
fn kernels_of_nvgpu_do_what_they_do_as_written() {
    let files = files(&root().join("test/Integration/nvgpu-pipelines"));
    let quiet = || {
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        context
    };
    let checked = parallel::map(&files, quiet, |context, file| {
        let text = std::fs::read_to_string(file).expect("a test");
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        // A function of its own is no kernel that could be run.
        let is_kernel = text.contains("gpu.func") || text.contains("gpu.launch");
        if is_kernel {
            check(context, &name, &text);
        }
        is_kernel
    });
    let kernels = checked.iter().filter(|is_kernel| **is_kernel).count();
    assert!(kernels >= 25, "only {kernels} kernels");
}
