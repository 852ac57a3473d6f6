//! Remarks on what a block gained, and on why it can't gain more.

use crate::engines::Engines;
use crate::engines::block_problem::BlockProblem;
use async_mlir::diagnostic::Diagnostic;
use std::collections::BTreeMap;
use std::fmt::Write;
use tokenflow::schedule::{InfeasibleSubset, Measured, Options, Pair, Proven, Schedule};

/// More operations than these are not shown one by one.
const MOST_NOTES: usize = 16;

/// Says what came of a block, whose costs were measured before and after; and if limits are not met, why, if that is known.
pub(super) fn block<'c>(
    block: &BlockProblem<'c>,
    schedule: &Schedule,
    measured: &(Measured, Measured),
    options: &Options,
    engines: &Engines<'c>,
    is_unmet: bool,
    unmet: Option<&InfeasibleSubset>,
) {
    let (before, after) = measured;
    let mut message = format!(
        "makespan of {} operations {}{}",
        block.ops.len(),
        change(before.cost.makespan, after.cost.makespan),
        bound(schedule, options),
    );
    let mut above = String::new();
    for (pair, (old, new)) in peaks_by_pair(&before.peaks, &after.peaks) {
        let name = format!("{}:{}", engines.name(pair.from), engines.name(pair.to));
        let limit = u64::from(block.problem.limits.of(pair));
        write!(message, "; events {name} {}", change(old, new)).expect("a string takes all");
        if new > limit {
            write!(above, "; {name} has {new}, but the limit is {limit}").expect("a string takes all");
        }
    }
    // Something in it runs on an engine, so there is an operation.
    let location = block.ops[0].location();
    if !is_unmet {
        Diagnostic::remark(location, message).emit();
        return;
    }
    let certain = if schedule.proven == Proven::Nothing {
        "no order was found that meets all limits"
    } else {
        "no order meets all limits"
    };
    let mut diagnostic = Diagnostic::warning(location, format!("{certain}{above}"));
    diagnostic = diagnostic.note(location, message);
    if let Some(unmet) = unmet {
        let minimal = if unmet.is_minimal {
            "; without any one of them, they would"
        } else {
            ""
        };
        let number = unmet.operations.len();
        let help = format!("these {number} operations alone do not fit into the limits{minimal}");
        diagnostic = diagnostic.note(location, help);
        for id in unmet.operations.iter().take(MOST_NOTES) {
            let op = block.ops[id.0];
            diagnostic = diagnostic.note(op, format!("'{}'", op.name()));
        }
    }
    diagnostic.emit();
}

/// What is known to be the least.
fn bound(schedule: &Schedule, options: &Options) -> String {
    let level = match options.objective {
        tokenflow::schedule::Objective::Latency => Proven::TwoCriteria,
        tokenflow::schedule::Objective::Events => Proven::Cost,
    };
    if schedule.proven >= level {
        " (the least)".to_owned()
    } else {
        format!(" (not proven; at least {})", schedule.bound.makespan)
    }
}

fn change(before: u64, after: u64) -> String {
    if before == after {
        format!("{after}")
    } else {
        format!("{before} -> {after}")
    }
}

/// The peaks of each pair, before and after.
fn peaks_by_pair(before: &BTreeMap<Pair, u64>, after: &BTreeMap<Pair, u64>) -> BTreeMap<Pair, (u64, u64)> {
    let mut peaks: BTreeMap<Pair, (u64, u64)> = BTreeMap::new();
    for (pair, peak) in before {
        peaks.entry(*pair).or_default().0 = *peak;
    }
    for (pair, peak) in after {
        peaks.entry(*pair).or_default().1 = *peak;
    }
    peaks
}
