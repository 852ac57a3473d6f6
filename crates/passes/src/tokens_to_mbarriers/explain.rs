//! Remarks that say which tokens each mbarrier carries, and what each await waits for.

use crate::analysis::tree::Read;
use async_dialects::diagnostic::Diagnostic;
use async_dialects::ir::Op;
use tokenflow::phases::{Bundle, Linear, Phase, Plan, Ring, Unknown};

/// Writes the remarks.
pub(super) fn explain(read: &Read, plan: &Plan) {
    for (r, ring) in plan.rings.iter().enumerate() {
        let bundles = || plan.bundles.iter().filter(move |bundle| bundle.ring == r);
        let Some(first) = bundles().flat_map(|bundle| &bundle.loads).min() else {
            continue;
        };
        let mut remark = Diagnostic::remark(read.loads[*first].location(), ring_text(r, ring));
        for bundle in bundles() {
            remark = remark.note(read.loads[bundle.loads[0]].location(), bundle_text(read, bundle));
        }
        remark.emit();
    }
    for (id, phases) in plan.awaits.iter().enumerate() {
        if phases.is_empty() {
            continue;
        }
        let text: Vec<String> = phases
            .iter()
            .map(|&phase| phase_text(read, plan, phase))
            .collect();
        Diagnostic::remark(
            read.awaits[id].location(),
            format!("waits for {}", text.join(" and for ")),
        )
        .emit();
    }
}

fn ring_text(r: usize, ring: &Ring) -> String {
    let mbarriers = if ring.depth == 1 {
        "one mbarrier".to_owned()
    } else {
        format!(
            "{} mbarriers, since so many phases may be live together, each up to a block barrier behind its last wait",
            ring.depth
        )
    };
    let counted = if ring.carried {
        "its phases are counted while the program runs"
    } else {
        "the numbers of its phases are known"
    };
    let sure = if ring.sure {
        ""
    } else {
        "; not every phase is awaited on every way, so the last phase of a slot is waited for before the slot is armed again"
    };
    format!("ring {r}: {mbarriers}; {counted}{sure}")
}

fn bundle_text(read: &Read, bundle: &Bundle) -> String {
    let bytes = bundle
        .bytes
        .map_or("as many bytes as it loads".to_owned(), |bytes| {
            format!("{bytes} bytes")
        });
    let number = bundle
        .number
        .as_ref()
        .map_or("the next phase".to_owned(), |number| {
            format!("phase {}", linear(read, number))
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
        Some(number) => format!("phase {} of ring {ring}", linear(read, number)),
        None => format!("{what}, of ring {ring}"),
    }
}

/// A number in words: `i` is the iteration of the loop in the line behind it.
fn linear(read: &Read, number: &Linear) -> String {
    let mut terms: Vec<String> = Vec::new();
    for (unknown, factor) in &number.factors {
        let factor = if *factor == 1 {
            String::new()
        } else {
            format!("{factor} * ")
        };
        terms.push(match unknown {
            Unknown::Iteration(region) => format!(
                "{factor}iteration of the loop in line {}",
                line(read.regions[*region])
            ),
            Unknown::Trips(region) => format!(
                "{factor}trips of the loop in line {}",
                line(read.regions[*region])
            ),
        });
    }
    if number.constant > 0 || terms.is_empty() {
        terms.push(number.constant.to_string());
    }
    terms.join(" + ")
}

fn line(op: Op<'_>) -> String {
    let text = op.location().to_string();
    let mut parts = text.rsplit(':');
    parts.next();
    parts.next().unwrap_or("?").to_owned()
}
