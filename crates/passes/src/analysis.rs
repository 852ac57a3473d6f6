//! Analyses of IR, and the graphs that they build of it for `tokenflow`.
//!
//! [`mod@cfg`] says how control passes between blocks and regions, through MLIR's interfaces alone;
//! [`op_classifier`] what single operations do to the counting of groups, in our dialects or upstream's;
//! [`memory`] which buffers they access. From these are built [`skeleton`], which groups are counted on,
//! [`phase_skeleton`], which phases of mbarriers are planned on, and [`buffer_flow`], which live ranges of
//! buffers are computed on, with [`buffer_views`]; [`buffer_parts`] tells parts of one buffer apart, and
//! `buffer_slices` slices; [`places`] is all of that. [`barrier_graph`] is what barriers are placed on, with the [`footprints`] of
//! accesses, which [`thread_values`] are computed for; [`integers`] evaluates operations at the width of their
//! types. [`addresses`] are those of one thread, as [linear expressions](linear_expr) and with what divides them ([`divisibility`]), in buffers that [`alias`] tells
//! apart; [`views`] lead to buffers, and [`escape`] says which buffers nobody else knows. [`token_origins`]
//! says which queues a token can belong to, and [`uniformity`] where the threads of a block diverge. [`warps`] are values that each warp
//! has, `accumulator_uses` looks for uses of accumulators in flight, and [`roles`] what warps do differently by their number.

pub(crate) mod accumulator_uses;
pub mod barrier_graph;
pub mod buffer_flow;
pub mod op_classifier;
pub mod phase_skeleton;
pub mod roles;
pub mod skeleton;
pub mod token_origins;

pub(crate) use async_locations::buffer_slices;
pub use async_locations::{
    access_shapes, addresses, alias, buffer_parts, buffer_slots, buffer_views, cfg, divisibility, escape,
    footprints, integers, linear_expr, memory, places, thread_values, uniformity, views, warps,
};
