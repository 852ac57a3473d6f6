//! A test-only pass: `--async-pipeline`, but with a buffer version fewer than needed. Tests show that its
//! results are wrong, so that no version is superfluous.

use super::{AsyncPipeline, Planted, joined, pipeline};
use async_mlir::ir::Op;
use async_mlir::pass::{OptionInfo, Pass, PassContext, PassError, PassInfo};

/// `--async-pipeline`, but one of the buffers gets a version fewer than it needs. Only tests register it.
#[doc(hidden)]
pub struct WithFewerVersions;

const OF_THE_PASS: &[OptionInfo] = AsyncPipeline::INFO.options;
const BUFFER: &[OptionInfo] = &[OptionInfo::int(
    "buffer",
    0,
    "which of the buffers that need several versions",
)];

impl Pass for WithFewerVersions {
    const INFO: PassInfo = PassInfo {
        options: &const { joined::<{ OF_THE_PASS.len() + 1 }>(OF_THE_PASS, BUFFER) },
        ..PassInfo {
            flag: "test-async-pipeline-fewer-versions",
            ..AsyncPipeline::INFO
        }
    };

    fn run<'c>(function: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let buffer = usize::try_from(cx.int("buffer")).ok();
        pipeline(function, cx, buffer.map(Planted::FewerVersions))
    }
}
