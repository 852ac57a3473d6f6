//! Limits, as an option writes them.

use super::engines::Engines;
use std::collections::BTreeMap;
use tokenflow::schedule::Pair;

/// Reads limits such as `MTE2:V=4,V:MTE3=2`.
///
/// # Errors
///
/// The part that is none.
pub(super) fn parse(text: &str, engines: &mut Engines) -> Result<BTreeMap<Pair, u32>, String> {
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
