//! Limits, as an option writes them.

use super::Engines;
use async_mlir::ir::Op;
use async_mlir::pass::{PassContext, PassError};
use std::collections::BTreeMap;
use tokenflow::schedule::{Limits, Pair};

/// Reads the options `event-limit` and `event-limits`.
pub(crate) fn read_limits<'c>(
    root: Op<'c>,
    cx: &PassContext<'c>,
    engines: &mut Engines<'c>,
) -> Result<Limits, PassError<'c>> {
    let default = u32::try_from(cx.int("event-limit")).map_err(|_| {
        let message = format!(
            "option 'event-limit' is {}, which is no number of events",
            cx.int("event-limit")
        );
        PassError::new(root.location(), message)
    })?;
    let pairs = parse(cx.str("event-limits"), engines).map_err(|part| {
        let message = format!("option 'event-limits' has '{part}', which is no limit such as 'MTE2:V=4'");
        PassError::new(root.location(), message)
    })?;
    Ok(Limits { default, pairs })
}

/// Reads limits such as `MTE2:V=4,V:MTE3=2`.
///
/// # Errors
///
/// The part that is none.
fn parse(text: &str, engines: &mut Engines) -> Result<BTreeMap<Pair, u32>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let limits = parts.map(|part| limit(part, engines).ok_or_else(|| part.to_owned()));
    limits.collect()
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
