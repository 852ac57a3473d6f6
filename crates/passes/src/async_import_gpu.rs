//! `--async-import-gpu`: host code in upstream's `gpu` operations as `gpux` and our tokens.
//!
//! **Condition.** Host code with `gpu.alloc`, `gpu.dealloc`, `gpu.memcpy`, `gpu.memset`, `gpu.launch_func`
//! and `gpu.wait`, with tokens or without.
//!
//! **Effect.** Each becomes the operation of `gpux`, and an await where it had no token. With
//! `gpu-tokens=stream`, dependencies are first made those of the streams that upstream's `--gpu-to-llvm`
//! makes of tokens. Memory that `gpu.alloc` allocates gets the memory space of the device, wherever it goes.
//!
//! **Refusals.** Other operations with tokens; types made of tokens; values that are memory of the host and
//! of the device; with streams, tokens that leave functions or go into tasks.

mod convert;
mod legality;
mod memory_spaces;
mod region_tokens;
mod streams;

use async_dialects::registry::GPUX;
use async_mlir::ir::Op;
use async_mlir::names::builtin;
use async_mlir::pass::{Anchor, Dialect, OptionInfo, OptionValue, Pass, PassContext, PassError, PassInfo};

/// The pass.
pub struct AsyncImportGpu;

const TOKENS: &str = "gpu-tokens";
const DEVICE_SPACE: &str = "device-space";

impl Pass for AsyncImportGpu {
    const INFO: PassInfo = PassInfo {
        description: "Turns the host's operations of upstream's `gpu` dialect into those of `gpux`, and their tokens into \
                      `!async.token`. Nothing of `!gpu.async.token` is left.",
        anchor: Anchor::Ops(&[builtin::MODULE]),
        options: &[
            OptionInfo {
                name: TOKENS,
                description: "what a token of gpu is",
                default: OptionValue::Choice {
                    default: "ssa",
                    words: &[
                        ("ssa", "complete when its operation is"),
                        (
                            "stream",
                            "a stream: what takes it comes after all that was enqueued there before",
                        ),
                    ],
                },
            },
            OptionInfo {
                name: DEVICE_SPACE,
                description: "a memory space of memrefs that are the device's memory, besides that of gpu.alloc",
                default: OptionValue::Int(1),
            },
        ],
        dependent_dialects: &[GPUX, Dialect::ARITH, Dialect::MEMREF],
        ..PassInfo::new(
            "async-import-gpu",
            "turns host code in upstream's gpu dialect into gpux with tokens",
        )
    };

    fn run<'c>(module: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        legality::check(module)?;
        region_tokens::yield_tokens(module);
        if cx.str(TOKENS) == "stream" {
            streams::to_dependencies(module)?;
        }
        memory_spaces::assign(module, cx.int(DEVICE_SPACE))?;
        convert::convert(module)
    }
}
