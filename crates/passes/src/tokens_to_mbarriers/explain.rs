//! Remarks that say which tokens each mbarrier carries, and what each await waits for.

use super::WarProtection;
use crate::analysis::phase_skeleton::PhaseSkeleton;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use async_mlir::location::position;
use std::collections::BTreeSet;
use tokenflow::phases::{AffineExpr, Phase, PhaseId, PhaseValue, Plan, Ring, RingId, Symbol};

/// Writes the remarks.
pub(super) fn explain(read: &PhaseSkeleton, plan: &Plan, war: WarProtection) {
    for (r, ring) in plan.rings.with_ids() {
        let phases = || plan.phases.iter().filter(move |phase| phase.ring == r);
        let Some(first) = phases().flat_map(|phase| &phase.loads).min() else {
            continue;
        };
        let known = phases().all(|phase| phase.number.is_some());
        let text = ring_text(r, ring, known);
        let mut remark = Diagnostic::remark(read.loads[*first].location(), text);
        for phase in phases() {
            remark = remark.note(
                read.loads[phase.loads[0]].location(),
                phase_note(read, plan, phase),
            );
        }
        remark.emit();
    }
    if let (WarProtection::Mbarrier, Some(load)) = (war, read.loads.first())
        && !plan.rendezvous.is_empty()
    {
        let text = format!(
            "{} more, at which threads arrive before loads, in turn; the one that issues waits there",
            mbarriers(plan.rendezvous_mbarriers())
        );
        Diagnostic::remark(load.location(), text).emit();
    }
    for (id, phases) in plan.awaits.with_ids() {
        if phases.is_empty() {
            continue;
        }
        let texts: Vec<String> = phases
            .iter()
            .map(|&phase| phase_text(read, plan, phase))
            .collect();
        let text = format!("waits for {}", texts.join(", and for "));
        let mut remark = Diagnostic::remark(read.awaits[id].location(), text);
        for phase in reaching_phases(plan, phases) {
            let load = read.loads[plan.phases[phase].loads[0]];
            remark = remark.note(load.location(), "that of this load");
        }
        remark.emit();
    }
}

/// The phases that values may stand for.
fn reaching_phases(plan: &Plan, values: &[PhaseValue]) -> BTreeSet<PhaseId> {
    let (mut phases, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut work = values.to_vec();
    while let Some(value) = work.pop() {
        match value {
            PhaseValue::Opened(phase) => {
                phases.insert(phase);
            }
            PhaseValue::Phi(phi) if seen.insert(phi) => {
                work.extend(
                    plan.phis[phi]
                        .incoming
                        .iter()
                        .filter_map(|incoming| incoming.phase),
                );
            }
            PhaseValue::Phi(_) => {}
        }
    }
    phases
}

fn ring_text(r: RingId, ring: &Ring, known: bool) -> String {
    let mut mbarriers = mbarriers(ring.depth);
    if ring.depth > 1 {
        mbarriers +=
            ", since so many phases may be live together, each up to a block barrier after its last wait";
    }
    let counted = match (ring.has_counter, known) {
        (true, false) => "its phases are counted while the program runs",
        (true, true) => {
            "the numbers of its phases are known, and counted since that costs less than a division"
        }
        (false, _) => "the numbers of its phases are known",
    };
    let drained = if ring.always_awaited {
        ""
    } else {
        "; not every phase is awaited on every way, so the last phase of a slot is waited for before the slot is armed again"
    };
    format!("ring {r}: {mbarriers}; {counted}{drained}")
}

fn mbarriers(number: u64) -> String {
    match number {
        1 => "one mbarrier".to_owned(),
        number => format!("{number} mbarriers"),
    }
}

fn phase_note(read: &PhaseSkeleton, plan: &Plan, phase: &Phase) -> String {
    let bytes = phase
        .bytes
        .map_or("as many bytes as it loads".to_owned(), |bytes| {
            format!("{bytes} bytes")
        });
    let number = phase
        .number
        .as_ref()
        .map_or("the next phase".to_owned(), |number| {
            number_text(read, number, plan.rings[phase.ring].depth)
        });
    match phase.loads.len() {
        1 => format!("carries the token of this load: {number}, {bytes}"),
        n => format!(
            "carries the tokens of this load and of {} more that are awaited with it: {number}, {bytes}",
            n - 1
        ),
    }
}

fn phase_text(read: &PhaseSkeleton, plan: &Plan, phase: PhaseValue) -> String {
    let (ring, number, what) = match phase {
        PhaseValue::Opened(phase) => {
            let phase = &plan.phases[phase];
            (phase.ring, &phase.number, "the phase that is opened before")
        }
        PhaseValue::Phi(phi) => {
            let phi = &plan.phis[phi];
            (phi.ring, &phi.number, "the phase that is handed on here")
        }
    };
    match number {
        Some(number) => format!(
            "{} of ring {ring}",
            number_text(read, number, plan.rings[ring].depth)
        ),
        None => format!("{what}, of ring {ring}"),
    }
}

/// A phase by its number, and the mbarrier that it is on: `phase i + 2 (i: iteration of the loop in line 7), on mbarrier
/// (i + 2) mod 3`.
fn number_text(read: &PhaseSkeleton, number: &AffineExpr, depth: u64) -> String {
    let (mut terms, mut legend): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut iterations, mut trips) = ('i'.., 'n'..);
    for (symbol, factor) in &number.coefficients {
        let (op, name, what) = match symbol {
            Symbol::Iteration(op) => (op, iterations.next(), "iteration"),
            Symbol::TripCount(op) => (op, trips.next(), "trips"),
        };
        let name = name.unwrap_or('?');
        terms.push(match factor {
            1 => name.to_string(),
            factor => format!("{factor} {name}"),
        });
        let line = line(read.region_ops[*op]);
        legend.push(format!("{name}: {what} of the loop in line {line}"));
    }
    if number.constant > 0 || terms.is_empty() {
        terms.push(number.constant.to_string());
    }
    let sum = terms.join(" + ");
    let (where_from, slot) = match (legend.is_empty(), terms.len()) {
        (true, _) => (String::new(), (number.constant % depth).to_string()),
        (false, 1) => (format!(" ({})", legend.join(", ")), format!("{sum} mod {depth}")),
        (false, _) => (
            format!(" ({})", legend.join(", ")),
            format!("({sum}) mod {depth}"),
        ),
    };
    let on = if depth > 1 {
        format!(", on mbarrier {slot}")
    } else {
        String::new()
    };
    format!("phase {sum}{where_from}{on}")
}

fn line(op: Op<'_>) -> String {
    position(op.location()).map_or("?".to_owned(), |place| place.line.to_string())
}
