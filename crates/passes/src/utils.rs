//! What several passes need.
//!
//! - [`tokens`] adds and rewrites awaits, [`mod@erase`] removes tokens, [`complete_tokens`] tracks which are
//!   complete, and [`token_variable`] constructs SSA form for what has tokens as its state.
//! - [`builders`] builds operations of device code, [`llvm_builder`] those of host code that calls the
//!   runtime.
//! - [`region_values`] passes values through operations with regions; [`signature`] changes the types of
//!   functions.
//! - [`device`] finds device code; [`block_wide`] is for operations that all threads execute and one issues;
//!   [`warps`] builds conditions on the number of a warp, and [`role_rules`] checks what warps do by their number.
//! - [`launches`] lowers what host code passes to kernels; [`chip`] knows GPUs.
//! - [`static_allocs`] checks which allocations can be static buffers; [`alignment`] has the alignments that
//!   copies require.
//! - [`equivalence_classes`] is a union-find of values.
//! - [`verify_result`] has what a pass wrote checked; [`certificates`] writes what comes of that to files.

pub(crate) mod alignment;
pub(crate) mod block_wide;
pub(crate) mod builders;
pub(crate) mod certificates;
pub(crate) mod chip;
pub(crate) mod complete_tokens;
pub(crate) mod device;
pub(crate) mod equivalence_classes;
pub(crate) mod erase;
pub(crate) mod launches;
pub(crate) mod llvm_builder;
pub(crate) mod op_templates;
pub(crate) mod region_values;
pub(crate) mod role_rules;
pub(crate) mod signature;
pub(crate) mod static_allocs;
pub(crate) mod token_variable;
pub(crate) mod tokens;
pub(crate) mod verify_result;
pub(crate) mod warps;
