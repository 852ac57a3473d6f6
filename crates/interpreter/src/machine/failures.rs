//! A device operation of a program that fails, as it was told to.
//!
//! **Effect.** As under the runtime: it does nothing, and its task has failed. So have those that depend on it, which are skipped, and those that
//! await it, which end there; so does the program. What only frees memory of a device runs all the same, if there is anything to free.

use super::{Machine, Reason};
use crate::code::HostOp;
use crate::report::{Problem, Spot};

/// A device operation that has failed.
pub(super) struct Failure {
    at: Spot,
    /// Its number.
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

    /// Counts an operation if it is one of the device. Returns true if it fails, and its task has ended with it.
    pub(super) fn call_fails(&mut self, t: usize, op: &HostOp) -> Result<bool, Reason> {
        let goes_on = self.running.contains_key(&t);
        if !op.is_of_device() || goes_on {
            return Ok(false);
        }
        self.calls += 1;
        if self.fail_at != Some(self.calls) {
            return Ok(false);
        }
        if let HostOp::Claim { view } = op {
            let buffer = self.view(t, *view)?.buffer;
            self.memory.make_absent(buffer);
        }
        self.failure = Some(Failure {
            at: self.spot(t),
            call: self.calls,
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
