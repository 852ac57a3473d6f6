//! The passes and pipelines of async-opt.
//!
//! To add a pass: a file of its own with a type that implements [`Pass`](async_mlir::pass::Pass), and a line in
//! [`register_all`].
#![forbid(unsafe_code)]

mod allocs_to_globals;
pub mod analysis;
mod async_import_gpu;
mod async_outline;
mod async_pipeline;
mod async_split_awaits;
pub mod async_to_gpux;
mod async_to_runtime;
mod async_to_upstream;
mod attach_sim_target;
mod engines;
mod expand_vectors;
mod export_upstream_async;
mod gpux_host_to_runtime;
mod gpux_to_nvvm;
mod groups_to_tokens;
mod import_upstream_async;
mod inline_calls;
mod insert_barriers;
mod insert_flags;
mod legalize_for_ptx;
mod lint;
mod lower_launches;
mod lower_to_cpu;
mod lower_to_nvvm;
mod nvgpu_exact_waits;
mod pack_workgroup_memory;
mod schedule;
mod split_roles;
mod tokens_to_groups;
mod tokens_to_mbarriers;
mod utils;

pub use allocs_to_globals::AllocsToGlobals;
pub use async_import_gpu::AsyncImportGpu;
use async_mlir::pass::register_pass;
use async_mlir::pipeline::register_pipeline;
use async_mlir::transform::register_transform;
pub use async_outline::AsyncOutline;
pub use async_pipeline::{AsyncPipeline, PipelineTransform, SpoiledPipeline, WithFewerVersions};
pub use async_split_awaits::AsyncSplitAwaits;
pub use async_to_gpux::AsyncToGpux;
pub use async_to_runtime::AsyncToRuntime;
pub use async_to_upstream::AsyncToUpstream;
pub use attach_sim_target::AttachSimTarget;
pub use expand_vectors::ExpandVectors;
pub use export_upstream_async::export_upstream_async;
pub use gpux_host_to_runtime::GpuxHostToRuntime;
pub use gpux_to_nvvm::GpuxToNvvm;
pub use groups_to_tokens::GroupsToTokens;
pub use import_upstream_async::import_upstream_async;
pub use inline_calls::InlineCalls;
pub use insert_barriers::InsertBarriers;
pub use insert_flags::InsertFlags;
pub use legalize_for_ptx::LegalizeForPtx;
pub use lint::Lint;
pub use lower_launches::LowerLaunches;
pub use lower_to_cpu::LowerToCpu;
pub use lower_to_nvvm::LowerToNvvm;
pub use nvgpu_exact_waits::NvgpuExactWaits;
pub use pack_workgroup_memory::PackWorkgroupMemory;
pub use schedule::GpuxSchedule;
pub use split_roles::SplitRoles;
pub use tokens_to_groups::TokensToGroups;
pub use tokens_to_mbarriers::TokensToMbarriers;

/// Adds every pass and pipeline of async-opt to MLIR's global registry, and says what its transforms do.
///
/// Call it once, from one thread, before passes run.
pub fn register_all() {
    register_pass::<AsyncImportGpu>();
    register_pass::<InlineCalls>();
    register_pass::<Lint>();
    register_pass::<AsyncPipeline>();
    register_pass::<GpuxHostToRuntime>();
    register_pass::<AsyncSplitAwaits>();
    register_pass::<AsyncOutline>();
    register_pass::<AsyncToRuntime>();
    register_pass::<AsyncToUpstream>();
    register_pass::<AttachSimTarget>();
    register_pass::<AllocsToGlobals>();
    register_pass::<PackWorkgroupMemory>();
    register_pass::<AsyncToGpux>();
    register_pass::<InsertBarriers>();
    register_pass::<GpuxSchedule>();
    register_pass::<InsertFlags>();
    register_pass::<TokensToMbarriers>();
    register_pass::<SplitRoles>();
    register_pass::<TokensToGroups>();
    register_pass::<GroupsToTokens>();
    register_pass::<NvgpuExactWaits>();
    register_pass::<GpuxToNvvm>();
    register_pass::<LowerLaunches>();
    register_pass::<ExpandVectors>();
    register_pass::<LegalizeForPtx>();
    register_pipeline::<LowerToCpu>();
    register_pipeline::<LowerToNvvm>();
    register_transform::<PipelineTransform>();
}
