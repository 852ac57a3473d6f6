//! The pass, short of a version: tests show that what comes out is wrong, so that no version is superfluous.

use super::{AsyncPipeline, pipeline};
use async_mlir::ir::Op;
use async_mlir::pass::{OptionInfo, Pass, PassContext, PassError, PassInfo};

/// `--async-pipeline`, but one of the buffers gets a version fewer than it needs. Only tests register it.
#[doc(hidden)]
pub struct WithFewerVersions;

const OPTIONS: &[OptionInfo] = AsyncPipeline::INFO.options;

impl Pass for WithFewerVersions {
    const INFO: PassInfo = PassInfo {
        options: &[
            OPTIONS[0],
            OPTIONS[1],
            OPTIONS[2],
            OPTIONS[3],
            OPTIONS[4],
            OPTIONS[5],
            OPTIONS[6],
            OptionInfo::int("buffer", 0, "which of the buffers that need several versions"),
        ],
        ..PassInfo {
            flag: "test-async-pipeline-fewer-versions",
            ..AsyncPipeline::INFO
        }
    };

    fn run<'c>(function: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        pipeline(function, cx, usize::try_from(cx.int("buffer")).ok())
    }
}
