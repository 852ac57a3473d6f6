//! A device operation of a program that fails, as it was told to.
//!
//! **Effect.** As under the runtime: it does nothing, and its task has failed. So have those that depend on it, which are skipped, and those that
//! await it, which end there; so does the program. What only frees memory of a device runs all the same, if there is anything to free.
//!
//! What is counted are the calls of a device that the runtime makes for an operation (`docs/device.md`), so that a number means the same here and there.

use super::{Machine, Reason};
use crate::code::HostOp;
use crate::report::{Problem, Spot};

/// A device operation that has failed.
pub(super) struct Failure {
    at: Spot,
    /// The number of the call.
    call: u64,
    /// Where the program has ended for that.
    pub awaited: Option<Spot>,
}

impl Machine<'_> {
    /// Returns true if an operation is to free what there is not, since what was to make it has failed.
    pub(super) fn is_not_there(&self, t: usize, op: &HostOp) -> bool {
        let HostOp::Dealloc { view } = op else {
            return false;
        };
        if !self.tasks.has_failed(t) {
            return false;
        }
        match self.view(t, *view) {
            Ok(view) => self.memory.is_absent(view.buffer),
            Err(_) => true,
        }
    }

    /// How many calls of a device an operation of it is.
    fn num_calls(&self, t: usize, op: &HostOp) -> Result<u64, Reason> {
        let (from, one_by_one, allocs) = match op {
            HostOp::Transfer { from, one_by_one, .. } => (from, *one_by_one, 0),
            HostOp::TransferToNew { from, one_by_one, .. } => (from, *one_by_one, 1),
            _ => return Ok(1),
        };
        if !one_by_one {
            return Ok(allocs + 1);
        }
        let sizes = &self.view(t, *from)?.sizes;
        let elements = sizes.iter().map(|size| u64::try_from(*size).unwrap_or(0));
        Ok(elements.fold(1_u64, u64::saturating_mul).saturating_add(allocs))
    }

    /// Counts the calls of an operation if it is one of the device. Returns true if it fails, and its task has ended with it.
    pub(super) fn call_fails(&mut self, t: usize, op: &HostOp) -> Result<bool, Reason> {
        let goes_on = self.running.contains_key(&t);
        if !op.is_of_device() || goes_on {
            return Ok(false);
        }
        let before = self.calls;
        self.calls = before.saturating_add(self.num_calls(t, op)?);
        let Some(call) = self
            .fail_at
            .filter(|call| (before + 1..=self.calls).contains(call))
        else {
            return Ok(false);
        };
        if let HostOp::Claim { view } = op {
            let buffer = self.view(t, *view)?.buffer;
            self.memory.make_absent(buffer);
        }
        self.failure = Some(Failure {
            at: self.spot(t),
            call,
            awaited: None,
        });
        self.fail_task(t);
        Ok(true)
    }

    /// Reports what has failed.
    pub(super) fn report_failure(&mut self) {
        if let Some(Failure { at, call, awaited }) = self.failure.take() {
            let problem = Problem::failed_call(at, call, awaited);
            self.memory.reports.problem(problem);
        }
    }
}
