//! `--refines`: whether a kernel waits for everything that another form of it waits for.

use crate::Kept;
use async_sim::refine::{self, Difference};
use async_sim::report::Spot;

/// Compares each kernel with the one of its name, or with the only one there is, and prints what differs. Returns true
/// if nothing does.
pub fn report(kernels: &[Kept], meant: &[Kept], json: bool) -> bool {
    let mut same = true;
    for kernel in kernels {
        let named = meant.iter().find(|meant| meant.kernel == kernel.kernel);
        let only = meant.first().filter(|_| meant.len() == 1 && kernels.len() == 1);
        let Some(meant) = named.or(only) else {
            eprintln!(
                "async-sim: the other file has no kernel named '{}'",
                kernel.kernel
            );
            same = false;
            continue;
        };
        let (Some(trace), Some(meant_trace)) = (&kernel.trace, &meant.trace) else {
            continue;
        };
        let Some(difference) = refine::compare(meant_trace, trace) else {
            continue;
        };
        same = false;
        let text = text(kernel, meant, difference);
        if json {
            println!(
                "{:#}",
                serde_json::json!({ "kernel": kernel.kernel, "refines": false, "why": text })
            );
        } else {
            println!("{text}");
        }
    }
    same
}

fn text(kernel: &Kept, meant: &Kept, difference: Difference) -> String {
    let at = |kept: &Kept, spot: Option<Spot>| match spot {
        Some(spot) => kept
            .listing
            .label(spot.instr, &kept.iterations[spot.iterations as usize]),
        None => "the end of the thread".into(),
    };
    match difference {
        Difference::Pending { at: next, copy, wait } => format!(
            "{}: error: {} is reached while a copy may be in flight that {} has waited for by now\n  \
             the copy:  {}, by thread {}\n  \
             last wait: {}",
            kernel.kernel,
            at(kernel, next),
            meant.path,
            at(kernel, Some(copy)),
            copy.thread,
            wait.map_or_else(|| "none".into(), |wait| at(kernel, Some(wait))),
        ),
        Difference::Other {
            meant: expected,
            instead,
        } => format!(
            "{}: error: this is another program: it comes to {} where {} comes to {}",
            kernel.kernel,
            at(kernel, instead),
            meant.path,
            at(meant, expected)
        ),
    }
}
