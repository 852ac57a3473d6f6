//! Parses the options for limits on the number of events.

use super::Engines;
use async_dialects::completion::engine_name;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use async_mlir::pass::{PassContext, PassError};
use std::collections::{BTreeMap, BTreeSet};
use tokenflow::schedule::{EngineId, Limits, Pair};

/// Reads the options `event-limit` and `event-limits`, and warns of engines on which nothing in `root` runs.
pub(crate) fn read_limits<'c>(
    root: Op<'c>,
    cx: &PassContext<'c>,
    engines: &mut Engines<'c>,
) -> Result<Limits, PassError<'c>> {
    let default = read_count(root, cx, "event-limit", "events")?;
    let pairs = parse(cx.str("event-limits"), engines).map_err(|problem| {
        let message = format!("option 'event-limits' has {problem}");
        PassError::new(root.location(), message)
    })?;
    warn_of_unknown(root, engines);
    Ok(Limits {
        default: u32::try_from(default).unwrap_or(u32::MAX),
        pairs,
    })
}

/// Reads the option `name`, a number of what `of` says.
pub(crate) fn read_count<'c>(
    root: Op<'c>,
    cx: &PassContext<'c>,
    name: &str,
    of: &str,
) -> Result<u64, PassError<'c>> {
    let number = cx.int(name);
    u64::try_from(number).map_err(|_| {
        let message = format!("option '{name}' is {number}, which is no number of {of}");
        PassError::new(root.location(), message)
    })
}

/// Warns of limits for engines on which nothing runs. That is no error: a pass may run on each function of a module by itself.
fn warn_of_unknown<'c>(root: Op<'c>, engines: &Engines<'c>) {
    let ops = root.self_and_nested();
    let known: BTreeSet<&str> = ops.iter().filter_map(|op| engine_name(*op)).collect();
    // Where nothing runs on an engine, there is nothing to limit.
    if known.is_empty() {
        return;
    }
    let names = (0..engines.count()).map(|number| engines.name(EngineId(number)));
    for name in names.filter(|name| !known.contains(name)) {
        let known: Vec<String> = known.iter().map(|name| format!("'{name}'")).collect();
        let message = format!("option 'event-limits' has engine '{name}', on which nothing runs here");
        Diagnostic::warning(root.location(), message)
            .note(root.location(), format!("there are {}", known.join(", ")))
            .emit();
    }
}

/// Reads limits such as `MTE2:V=4,V:MTE3=2`.
///
/// # Errors
///
/// Says what is no limit.
fn parse(text: &str, engines: &mut Engines) -> Result<BTreeMap<Pair, u32>, String> {
    let mut limits = BTreeMap::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (pair, number) =
            limit(part, engines).ok_or_else(|| format!("'{part}', which is no limit such as 'MTE2:V=4'"))?;
        if pair.from == pair.to {
            return Err(format!("'{part}', but an engine needs no events for itself"));
        }
        if limits.insert(pair, number).is_some() {
            return Err(format!("'{part}', but that pair of engines has a limit already"));
        }
    }
    Ok(limits)
}

fn limit(part: &str, engines: &mut Engines) -> Option<(Pair, u32)> {
    let (pair, limit) = part.split_once('=')?;
    let (from, to) = pair.split_once(':')?;
    let name = |name: &str| Some(name.trim().to_owned()).filter(|name| !name.is_empty());
    let pair = Pair {
        from: engines.number(&name(from)?),
        to: engines.number(&name(to)?),
    };
    Some((pair, limit.trim().parse().ok()?))
}
