//! Remarks that say which tokens each mbarrier carries, and what each await waits for.

use super::War;
use crate::analysis::tree::Read;
use async_dialects::diagnostic::Diagnostic;
use async_dialects::ir::Op;
use async_dialects::location::position;
use std::collections::BTreeSet;
use tokenflow::phases::{Bundle, Linear, Phase, Plan, Ring, Unknown};

/// Writes the remarks.
pub(super) fn explain(read: &Read, plan: &Plan, war: War) {
    for (r, ring) in plan.rings.iter().enumerate() {
        let bundles = || plan.bundles.iter().filter(move |bundle| bundle.ring == r);
        let Some(first) = bundles().flat_map(|bundle| &bundle.loads).min() else {
            continue;
        };
        let known = bundles().all(|bundle| bundle.number.is_some());
        let text = ring_text(r, ring, known);
        let mut remark = Diagnostic::remark(read.loads[*first].location(), text);
        for bundle in bundles() {
            remark = remark.note(
                read.loads[bundle.loads[0]].location(),
                bundle_text(read, plan, bundle),
            );
        }
        remark.emit();
    }
    if let (War::Mbarrier, Some(load)) = (war, read.loads.first())
        && !plan.syncs.is_empty()
    {
        let text = format!(
            "{} more, at which threads arrive before loads, in turn; the one that issues waits there",
            mbarriers(plan.sync_depth())
        );
        Diagnostic::remark(load.location(), text).emit();
    }
    for (id, phases) in plan.awaits.iter().enumerate() {
        if phases.is_empty() {
            continue;
        }
        let texts: Vec<String> = phases
            .iter()
            .map(|&phase| phase_text(read, plan, phase))
            .collect();
        let text = format!("waits for {}", texts.join(", and for "));
        let mut remark = Diagnostic::remark(read.awaits[id].location(), text);
        for bundle in bundles_of(plan, phases) {
            let load = read.loads[plan.bundles[bundle].loads[0]];
            remark = remark.note(load.location(), "that of this load");
        }
        remark.emit();
    }
}

/// The bundles that phases may be of.
fn bundles_of(plan: &Plan, phases: &[Phase]) -> BTreeSet<usize> {
    let (mut bundles, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut work = phases.to_vec();
    while let Some(phase) = work.pop() {
        match phase {
            Phase::Bundle(bundle) => {
                bundles.insert(bundle);
            }
            Phase::Var(var) if seen.insert(var) => {
                work.extend(plan.vars[var].bound.iter().filter_map(|handed| handed.phase));
            }
            Phase::Var(_) => {}
        }
    }
    bundles
}

fn ring_text(r: usize, ring: &Ring, known: bool) -> String {
    let mut mbarriers = mbarriers(ring.depth);
    if ring.depth > 1 {
        mbarriers +=
            ", since so many phases may be live together, each up to a block barrier behind its last wait";
    }
    let counted = match (ring.carried, known) {
        (true, false) => "its phases are counted while the program runs",
        (true, true) => {
            "the numbers of its phases are known, and counted since that costs less than a division"
        }
        (false, _) => "the numbers of its phases are known",
    };
    let sure = if ring.sure {
        ""
    } else {
        "; not every phase is awaited on every way, so the last phase of a slot is waited for before the slot is armed again"
    };
    format!("ring {r}: {mbarriers}; {counted}{sure}")
}

fn mbarriers(number: u64) -> String {
    match number {
        1 => "one mbarrier".to_owned(),
        number => format!("{number} mbarriers"),
    }
}

fn bundle_text(read: &Read, plan: &Plan, bundle: &Bundle) -> String {
    let bytes = bundle
        .bytes
        .map_or("as many bytes as it loads".to_owned(), |bytes| {
            format!("{bytes} bytes")
        });
    let number = bundle
        .number
        .as_ref()
        .map_or("the next phase".to_owned(), |number| {
            number_text(read, number, plan.rings[bundle.ring].depth)
        });
    match bundle.loads.len() {
        1 => format!("carries the token of this load: {number}, {bytes}"),
        n => format!(
            "carries the tokens of this load and of {} more that are awaited with it: {number}, {bytes}",
            n - 1
        ),
    }
}

fn phase_text(read: &Read, plan: &Plan, phase: Phase) -> String {
    let (ring, number, what) = match phase {
        Phase::Bundle(bundle) => {
            let bundle = &plan.bundles[bundle];
            (bundle.ring, &bundle.number, "the phase that is opened before")
        }
        Phase::Var(var) => {
            let var = &plan.vars[var];
            (var.ring, &var.number, "the phase that is handed on here")
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
fn number_text(read: &Read, number: &Linear, depth: u64) -> String {
    let (mut terms, mut legend): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let (mut iterations, mut trips) = ('i'.., 'n'..);
    for (unknown, factor) in &number.factors {
        let (region, name, what) = match unknown {
            Unknown::Iteration(region) => (region, iterations.next(), "iteration"),
            Unknown::Trips(region) => (region, trips.next(), "trips"),
        };
        let name = name.unwrap_or('?');
        terms.push(match factor {
            1 => name.to_string(),
            factor => format!("{factor} {name}"),
        });
        let line = line(read.regions[*region]);
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
