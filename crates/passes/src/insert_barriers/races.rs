//! Reports accesses that overlap and that no barrier can order (data races).

use super::UNKNOWN_BLOCK_SIZE;
use crate::analysis::barrier_graph::BarrierGraph;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::gpu::block_size;
use async_mlir::ir::Op;
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::barriers::{Race, StepId};

/// How many accesses are named that meet the same later one: where copies are never awaited, any two accesses of a kernel may meet.
const MOST_EARLIER: usize = 3;

/// Reports accesses that no barrier can order: errors where threads are sure to meet, else warnings. If the awaits are `believed`
/// to be right, nothing meets a copy in flight.
pub(super) fn report<'c>(
    function: Op<'c>,
    graph: &BarrierGraph<'c>,
    overlaps: &[Race],
    believed: bool,
) -> Result<(), PassError<'c>> {
    let mut failed = false;
    let mut seen = FxHashSet::default();
    let mut earlier: FxHashMap<(Op, bool), usize> = FxHashMap::default();
    let mut reported = Vec::new();
    for overlap in overlaps {
        let region = |step: StepId| graph.kernel.steps[step].divergent;
        let apart = region(overlap.first.0).is_some() && region(overlap.first.0) == region(overlap.second.0);
        if apart && region(overlap.first.0).is_some_and(|region| graph.trusted.contains(&region)) {
            continue;
        }
        // Where it is not known what meets a copy in flight, tokens are believed.
        if !(overlap.certain && !believed || apart) {
            continue;
        }
        failed |= is_error(overlap);
        let (first, second) = (graph.accesses[overlap.first.1], graph.accesses[overlap.second.1]);
        if seen.insert((first, second)) {
            let number = earlier.entry((second, is_error(overlap))).or_default();
            *number += 1;
            if *number <= MOST_EARLIER {
                let is_last = *number == MOST_EARLIER;
                reported.push((
                    overlap,
                    diagnostic(function, (first, second), overlap, apart),
                    is_last.then_some(second),
                ));
            }
        }
    }
    for (overlap, diagnostic, last) in reported {
        let unnamed = last.map(|second| (second, earlier[&(second, is_error(overlap))] - MOST_EARLIER));
        let diagnostic = match unnamed.filter(|(_, number)| *number > 0) {
            Some((second, number)) => {
                diagnostic.note(second, format!("{number} more accesses meet this one"))
            }
            None => diagnostic,
        };
        diagnostic.emit();
    }
    if failed {
        Err(PassError::already_emitted())
    } else {
        Ok(())
    }
}

/// Returns true if threads are sure to meet on some execution.
fn is_error(overlap: &Race) -> bool {
    overlap.certain && !overlap.conditional
}

/// What is said of two operations that overlap; `apart` if threads take different ways to them.
fn diagnostic<'c>(
    function: Op<'c>,
    (first, second): (Op<'c>, Op<'c>),
    overlap: &Race,
    apart: bool,
) -> Diagnostic<'c> {
    let is_error = is_error(overlap);
    let accesses = if is_error { "accesses" } else { "may access" };
    let message = format!(
        "{accesses} memory of the workgroup that another thread accesses at the same time, and no barrier can order the two"
    );
    let diagnostic = if is_error {
        Diagnostic::error(second, message)
    } else {
        Diagnostic::warning(second, message)
    };
    let help = if apart {
        "the other access: threads take different ways to the two; move one of them to where all threads come by"
    } else if overlap.conditional {
        "the other access, which is not complete if the conditions on the way agree: await its token where they do"
    } else {
        "the other access, which is not complete: await its token before"
    };
    let diagnostic = diagnostic.note(first, help);
    if is_error || block_size(function).is_some() {
        diagnostic
    } else {
        diagnostic.note(function, UNKNOWN_BLOCK_SIZE)
    }
}
