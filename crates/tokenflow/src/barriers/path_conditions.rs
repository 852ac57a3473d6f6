//! Step 2b: counts the conditions that a path depends on, so that a race on an infeasible path is no error.
//!
//! Conditions and trip counts are taken to be independent of each other, so some paths are infeasible. One
//! condition holds on some execution; that several agree, or that a loop has no iterations, is not known, and
//! neither is how often a path goes around a loop.

use super::graph::{Edge, EdgeKind, Kernel, StepId};
use super::in_flight::trips_until_left;
use crate::ids::IndexVec;
use async_overlap::Distance;

/// What was decided on the path from a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Taken {
    /// How many conditions there were; no more than [`SEVERAL`].
    conditions: u8,
    /// In how many of their arms the path is.
    open: u8,
}

/// As many conditions as may contradict each other.
const SEVERAL: u8 = 2;

impl Taken {
    /// Returns true if the path may be infeasible.
    pub fn is_conditional(self) -> bool {
        self.conditions >= SEVERAL
    }

    fn decided(self, conditions: u8) -> Self {
        let conditions = self.conditions.saturating_add(conditions).min(SEVERAL);
        // What comes after makes no difference any more.
        let open = if conditions == SEVERAL { 0 } else { self.open };
        Self { conditions, open }
    }
}

/// How many arms of conditions end at each step of a kernel.
pub(super) struct PathConditions<'k> {
    kernel: &'k Kernel,
    /// How many arms end before each step.
    arms: IndexVec<StepId, u32>,
}

impl<'k> PathConditions<'k> {
    pub fn of(kernel: &'k Kernel) -> Self {
        let mut arms = IndexVec::filled(0, kernel.steps.len());
        let edges = kernel.steps.iter().flat_map(|step| &step.edges);
        for edge in edges.filter(|edge| edge.kind == EdgeKind::Plain) {
            arms[edge.to] += 1;
        }
        Self { kernel, arms }
    }

    /// What is decided after an edge from step `at`, so far on the path.
    pub fn follow(&self, taken: Taken, at: StepId, edge: &Edge, distance: Distance) -> Taken {
        // A path may go around a loop less often than the loop always does, unless that was counted.
        if let EdgeKind::Leave(left) = edge.kind
            && self.kernel.loops[left].max_trips.is_some_and(|trips| trips > 1)
            && trips_until_left(self.kernel, distance, left).is_none()
        {
            return taken.decided(SEVERAL);
        }
        // Which threads take which path is no matter of conditions.
        let divergent = |step: StepId| self.kernel.steps[step].divergent.is_some();
        if edge.kind != EdgeKind::Plain || divergent(at) || divergent(edge.to) {
            return taken;
        }
        let others = || {
            self.kernel.steps[at]
                .edges
                .iter()
                .filter(|other| !std::ptr::eq(*other, edge))
        };
        let skips_loop = others().any(|other| matches!(other.kind, EdgeKind::Enter(_)));
        let chooses = others().any(|other| other.kind == EdgeKind::Plain);
        let mut taken = taken;
        if skips_loop {
            return taken.decided(SEVERAL);
        }
        if chooses {
            taken.open += 1;
            taken = taken.decided(1);
        }
        if self.arms[edge.to] > 1 {
            // The end of an arm: of one that was chosen on the path, or of one that the path began in.
            taken = match taken.open.checked_sub(1) {
                Some(open) => Taken { open, ..taken },
                None => taken.decided(1),
            };
        }
        taken
    }
}
