//! `--refines`: whether a kernel waits for everything that another form of it waits for.

use super::Kept;
use async_sim::refine::{self, Difference};
use async_sim::report::Spot;

/// Compares each kernel with the one of its name, or with the only one there is, and says what differs. Returns true if
/// nothing does.
pub fn report(kernels: &mut [Kept], meant: &[Kept]) -> bool {
    let alone = kernels.len() == 1 && meant.len() == 1;
    let mut all = true;
    for kernel in kernels {
        let named = meant.iter().find(|meant| meant.kernel == kernel.kernel);
        let message = match named.or(meant.first().filter(|_| alone)) {
            Some(meant) => compare(kernel, meant),
            None => Some(format!(
                "{}: error: the other file has no kernel of this name",
                kernel.kernel
            )),
        };
        all &= message.is_none();
        match (&mut kernel.json, message) {
            (Some(object), message) => object["refines"] = serde_json::json!({ "message": message }),
            (None, Some(message)) => println!("{message}"),
            (None, None) => {}
        }
    }
    all
}

fn compare(kernel: &Kept, meant: &Kept) -> Option<String> {
    let (trace, meant_trace) = (kernel.trace.as_ref()?, meant.trace.as_ref()?);
    let at = |kept: &Kept, spot: Option<Spot>| match spot {
        Some(spot) => kept
            .listing
            .label(spot.instr, &kept.iterations[spot.iterations as usize]),
        None => "the end of the thread".into(),
    };
    let name = &kernel.kernel;
    Some(match refine::compare(meant_trace, trace)? {
        Difference::Pending { at: next, copy, wait } => format!(
            "{name}: error: {} is reached while a copy may be in flight that {} has waited for by now\n  \
             the copy:  {}, by {}\n  \
             last wait: {}",
            at(kernel, next),
            meant.path,
            at(kernel, Some(copy)),
            kernel.who(copy),
            wait.map_or_else(|| "none".into(), |wait| at(kernel, Some(wait))),
        ),
        Difference::OtherEnd {
            meant: expected,
            instead,
        } => format!(
            "{name}: error: this is another program: {} at {} copies from or to another place in memory than {} at {}",
            kernel.who(instead),
            at(kernel, Some(instead)),
            meant.path,
            at(meant, Some(expected))
        ),
        Difference::Other {
            meant: expected,
            instead,
        } => format!(
            "{name}: error: this is another program: {} comes to {} where {} comes to {}",
            instead
                .or(expected)
                .map_or_else(String::new, |spot| kernel.who(spot)),
            at(kernel, instead),
            meant.path,
            at(meant, expected)
        ),
    })
}
