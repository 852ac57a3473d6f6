//! Builds the remark that says how a loop was pipelined.

use super::annotations::Schedule;
use super::stage_assignment::transfers;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Block, Op};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What is said of a pipelined loop.
pub(super) struct Report(String);

impl Report {
    /// Which transfers of `body` are in which stages of `schedule`, and where the rest is.
    pub fn of<'c>(body: Block<'c>, schedule: &Schedule<'c>) -> Self {
        let transfers: FxHashSet<Op> = transfers(body).into_iter().collect();
        let mut by_stage: BTreeMap<u32, usize> = BTreeMap::new();
        let mut rest: BTreeSet<u32> = BTreeSet::new();
        for (op, slot) in schedule {
            if transfers.contains(op) {
                *by_stage.entry(slot.stage).or_default() += 1;
            } else {
                rest.insert(slot.stage);
            }
        }
        let mut parts: Vec<String> = by_stage
            .iter()
            .map(|(stage, number)| {
                let plural = if *number == 1 { "" } else { "s" };
                format!("{number} transfer{plural} in stage {stage}")
            })
            .collect();
        let what = if parts.is_empty() {
            "no transfer, all"
        } else {
            "the rest"
        };
        parts.extend(listed(&rest).map(|stages| format!("{what} in {stages}")));
        Self(format!("pipelined: {}", parts.join(", ")))
    }

    /// There are `stages` stages instead of `wanted` ones.
    pub fn instead_of(&mut self, stages: u32, wanted: u32) {
        if stages < wanted {
            let more = stages + 1;
            let _ = write!(
                self.0,
                "; has {stages} stages instead of {wanted}, since memory is too small for {more}"
            );
        }
    }

    /// Transfers of one stage wait for each other, which so many stages would keep apart.
    pub fn apart(&mut self, stages: Option<u32>) {
        if let Some(stages) = stages {
            let _ = write!(
                self.0,
                "; some wait for others of their stage, which {stages} stages would keep apart"
            );
        }
    }

    /// Says it of `around`.
    pub fn emit(self, around: Op<'_>) {
        Diagnostic::remark(around, self.0).emit();
    }
}

/// The numbers in words; `None` if there are none.
fn listed(stages: &BTreeSet<u32>) -> Option<String> {
    let mut names: Vec<String> = stages.iter().map(u32::to_string).collect();
    let last = names.pop()?;
    Some(if names.is_empty() {
        format!("stage {last}")
    } else {
        format!("stages {} and {last}", names.join(", "))
    })
}
