//! Checks that all versions of buffers fit into the workgroup memory of a block.

use super::storage::Uses;
use crate::utils::chip::{FIRST_SM, MemoryLimit, sm_in, target_chip};
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::Op;
use async_mlir::pass::PassError;

/// What a block can have.
pub(super) struct MemoryBudget {
    limit: MemoryLimit,
    /// Whether a loop that asks for too many stages gets as many as fit.
    pub fewer_stages: bool,
}

impl MemoryBudget {
    /// The memory of the GPU that the module of `function` is compiled for; if that is not known, of `chip`.
    pub fn of<'c>(function: Op<'c>, chip: &str, fewer_stages: bool) -> Result<Self, PassError<'c>> {
        let known = [target_chip(function), Some(chip.to_owned())];
        let mut known = known.into_iter().flatten();
        let chip = known.find(|chip| sm_in(chip).is_some_and(|sm| sm >= FIRST_SM));
        let limit = MemoryLimit::of(function, chip.as_deref().unwrap_or_default())?;
        Ok(Self { limit, fewer_stages })
    }

    /// Checks that the versions that `around` uses fit. They are all in use at the same time; what else is in the memory is for
    /// `--gpux-pack-workgroup-memory` to find out, which knows what may lie in the same place.
    ///
    /// # Errors
    ///
    /// How many bytes each version has.
    pub fn check<'c>(&self, around: Op<'c>, uses: &Uses<'c>) -> Result<(), PassError<'c>> {
        let versions = || {
            uses.versioned()
                .filter(|buffer| is_workgroup(buffer.storage.ty()))
        };
        let bytes = versions().fold(0_i64, |sum, buffer| sum.saturating_add(buffer.bytes()));
        if u64::try_from(bytes).is_ok_and(|bytes| bytes <= self.limit.bytes) {
            return Ok(());
        }
        let message = format!(
            "needs {bytes} bytes for the versions of its buffers, but a block has at most {} on {}",
            self.limit.bytes, self.limit.name
        );
        let error = PassError::new(around, message);
        let error = versions().fold(error, |error, buffer| {
            let note = format!("{} versions of {} bytes", buffer.versions, buffer.stride);
            error.note(buffer.storage.location(), note)
        });
        let help = "use fewer stages or smaller tiles; 'memory=fewer-stages' uses as many stages as fit";
        Err(error.note(around, help))
    }
}
