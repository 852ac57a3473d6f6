//! `--async-lower-to-cpu`: the pipeline from host code with regions to the `llvm` dialect.

use crate::async_to_runtime::ON_ERROR;
use crate::utils::verify_result::{VERIFY_RESULT, verify_result};
use async_mlir::pipeline::{PassList, Pipeline, PipelineInfo, PipelineOptions};

/// The pipeline.
pub struct LowerToCpu;

impl Pipeline for LowerToCpu {
    const INFO: PipelineInfo = PipelineInfo {
        flag: "async-lower-to-cpu",
        summary: "lowers host code with regions to the llvm dialect, with calls of the runtime",
        description: include_str!("lower_to_cpu/description.md"),
        options: &[ON_ERROR, VERIFY_RESULT],
    };

    fn passes(options: &PipelineOptions) -> Result<PassList, String> {
        Ok(PassList::new()
            // First: what devices do becomes regions, too.
            .pass_with("gpux-host-to-runtime", &[("erase-kernels", "true")])
            // While bodies are structured, and can be divided.
            .pass_with("async-split-awaits", &[("remarks", "false")])
            .pass("convert-linalg-to-loops")
            .pass("lower-affine")
            .pass("scf-forall-to-for")
            // Control flow in regions is structured; in functions it need not be.
            .pass("async-outline")
            .pass("convert-vector-to-scf")
            .pass("convert-scf-to-cf")
            // Subviews and reshapes become arithmetic on strides; in affine.apply, hence the next one.
            .pass("expand-strided-metadata")
            .pass("lower-affine")
            .pass("arith-expand")
            .pass("memref-expand")
            .pass_with(
                "async-to-runtime",
                &[("on-error", options.str("on-error")), verify_result(options)],
            )
            // What only tasks call is left in forms that nobody calls.
            .pass("symbol-dce")
            .pass("convert-vector-to-llvm")
            .pass("convert-math-to-llvm")
            .pass("convert-math-to-libm")
            .pass("convert-to-llvm")
            .pass("reconcile-unrealized-casts"))
    }
}
