//! What several passes need.
//!
//! [`tokens`] and [`mod@erase`] put awaits in and take tokens out; [`builders`] makes operations; [`device`] looks for device
//! code; [`block_wide`] is about operations that all threads execute and one issues; [`launches`] about what host code hands
//! to kernels; [`chip`] about the names of GPUs.

pub(crate) mod block_wide;
pub(crate) mod builders;
pub(crate) mod chip;
pub(crate) mod device;
pub(crate) mod erase;
pub(crate) mod launches;
pub(crate) mod tokens;
