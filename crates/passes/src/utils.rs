//! What several passes need.
//!
//! [`tokens`] and [`mod@erase`] put awaits in and take tokens out; [`builders`] makes operations, and [`emit`] those of host code that calls the runtime; [`carry`] takes values
//! through operations with regions; [`device`] looks for device
//! code; [`block_wide`] is about operations that all threads execute and one issues; [`launches`] about what host code hands
//! to kernels; [`chip`] about GPUs; [`signature`] changes the types of functions; [`complete_tokens`] knows which tokens are complete, and
//! [`token_variable`] makes values of what has tokens as its state; [`value_classes`] is a union–find; [`warps`] about numbers of warps; [`static_allocs`] about allocations that can be laid out before the kernel runs, and
//! [`alignment`] about what copies need.

pub(crate) mod alignment;
pub(crate) mod block_wide;
pub(crate) mod builders;
pub(crate) mod carry;
pub(crate) mod chip;
pub(crate) mod complete_tokens;
pub(crate) mod device;
pub(crate) mod emit;
pub(crate) mod erase;
pub(crate) mod launches;
pub(crate) mod signature;
pub(crate) mod static_allocs;
pub(crate) mod token_variable;
pub(crate) mod tokens;
pub(crate) mod value_classes;
pub(crate) mod warps;
