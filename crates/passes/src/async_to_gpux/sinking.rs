//! Sinks the awaits of transfers as far as their block allows.
//!
//! A token is awaited before the first operation that may access what its transfer writes or write what it
//! reads, that orders accesses of several threads, or that ends the block.
//!
//! Cost: linear in the number of operations, times the number of buffers that transfers are pending to.

use super::effects::Summaries;
use super::recognize::Transfer;
use crate::analysis::alias::Root;
use crate::utils::tokens::{await_at_end, await_before};
use async_mlir::ir::{Block, Op, Value};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A transfer that nobody has awaited.
pub(super) struct Pending<'c> {
    pub tokens: Vec<Value<'c>>,
    source: Root<'c>,
    destination: Root<'c>,
    extent: Option<Extent<'c>>,
}

/// Bytes of a buffer: what is not constant of where they start, the rest of it, and how many they are.
#[derive(Clone)]
struct Extent<'c> {
    symbols: Vec<(i64, Value<'c>)>,
    start: i64,
    bytes: i64,
}

impl<'c> Pending<'c> {
    pub fn of(transfer: &Transfer<'c>, tokens: Vec<Value<'c>>) -> Self {
        let extent = transfer.extent().and_then(|(start, bytes)| {
            let offset = start.offset.as_ref()?;
            Some(Extent {
                symbols: offset.symbolic_part(),
                start: offset.constant,
                bytes,
            })
        });
        Self {
            tokens,
            source: transfer.source(),
            destination: transfer.destination(),
            extent,
        }
    }

    /// A transfer of which it is not known where in the buffer it writes.
    pub fn anywhere(source: Root<'c>, destination: Root<'c>, token: Value<'c>) -> Self {
        Self {
            tokens: vec![token],
            source,
            destination,
            extent: None,
        }
    }
}

/// Returns true unless `earlier` and `transfer` are known to write different bytes.
pub(super) fn may_overlap<'c>(earlier: &Pending<'c>, transfer: &Transfer<'c>) -> bool {
    let later = Pending::of(transfer, Vec::new());
    if !earlier.destination.may_alias(later.destination) {
        return false;
    }
    let (Some(a), Some(b)) = (&earlier.extent, &later.extent) else {
        return true;
    };
    let known = earlier.destination == later.destination && a.symbols == b.symbols;
    !known || a.start < b.start.saturating_add(b.bytes) && b.start < a.start.saturating_add(a.bytes)
}

/// Transfers to one buffer.
struct Group<'c> {
    destination: Root<'c>,
    sources: Vec<Root<'c>>,
    tokens: Vec<Value<'c>>,
    /// The bytes that are written; `None` if that is not known of all.
    written: Option<Written<'c>>,
}

/// Bytes whose addresses have a symbolic part in common.
struct Written<'c> {
    symbols: Vec<(i64, Value<'c>)>,
    /// Where ranges end, by where they start.
    ends: BTreeMap<i64, i64>,
}

impl<'c> Group<'c> {
    /// Returns true if the transfer may write bytes that one of the group writes.
    fn overlaps(&self, pending: &Pending<'c>) -> bool {
        if !self.destination.may_alias(pending.destination) {
            return false;
        }
        let (Some(written), Some(extent)) = (&self.written, &pending.extent) else {
            return true;
        };
        if self.destination != pending.destination || written.symbols != extent.symbols {
            return true;
        }
        let end = extent.start.saturating_add(extent.bytes);
        let before_end = written.ends.range(..end).next_back();
        before_end.is_some_and(|(_, other_end)| *other_end > extent.start)
    }

    fn add(&mut self, pending: Pending<'c>) {
        self.tokens.extend(pending.tokens);
        if !self.sources.contains(&pending.source) {
            self.sources.push(pending.source);
        }
        match (&mut self.written, pending.extent) {
            (Some(written), Some(extent)) => {
                written
                    .ends
                    .insert(extent.start, extent.start.saturating_add(extent.bytes));
            }
            (written, _) => *written = None,
        }
    }
}

/// Awaits what is issued in `block`: each of `issued` with its tokens.
pub(super) fn sink<'c>(block: Block<'c>, issued: Vec<Pending<'c>>, summaries: &mut Summaries<'c>) {
    let mut groups: Vec<Group> = Vec::new();
    // Each begins with its first operation, a loop or branch perhaps with several; the others are part of it.
    let mut begins: FxHashMap<Op, Vec<Pending>> = FxHashMap::default();
    for pending in issued {
        let mut ops = pending.tokens.clone().into_iter().filter_map(Value::defining_op);
        let first = ops.next();
        begins.extend(ops.map(|op| (op, Vec::new())));
        if let Some(first) = first {
            begins.entry(first).or_default().push(pending);
        }
    }
    for op in block.ops() {
        if let Some(begin) = begins.remove(&op) {
            for pending in &begin {
                flush(&mut groups, op, |group| group.overlaps(pending));
            }
            for pending in begin {
                insert(&mut groups, pending);
            }
            continue;
        }
        if groups.is_empty() {
            continue;
        }
        let summary = summaries.of(op);
        let all = summary.fence.is_some() || op.is_terminator();
        flush(&mut groups, op, |group| {
            all || summary.touches.iter().any(|touch| {
                let reaches = |root: &Root<'c>| touch.root.may_alias(*root);
                reaches(&group.destination) || touch.writes && group.sources.iter().any(reaches)
            })
        });
    }
    // Where nothing ends the block.
    let tokens: Vec<Value> = groups.into_iter().flat_map(|group| group.tokens).collect();
    if let Some(last) = tokens.last().copied().and_then(Value::defining_op) {
        await_at_end(block, last, &tokens);
    }
}

fn insert<'c>(groups: &mut Vec<Group<'c>>, pending: Pending<'c>) {
    let known = groups
        .iter_mut()
        .find(|group| group.destination == pending.destination);
    if let Some(group) = known {
        group.add(pending);
        return;
    }
    let written = pending.extent.as_ref().map(|extent| Written {
        symbols: extent.symbols.clone(),
        ends: BTreeMap::new(),
    });
    let mut group = Group {
        destination: pending.destination,
        sources: Vec::new(),
        tokens: Vec::new(),
        written,
    };
    group.add(pending);
    groups.push(group);
}

/// Awaits the groups that `now` says, before `op`.
fn flush<'c>(groups: &mut Vec<Group<'c>>, op: Op<'c>, now: impl Fn(&Group<'c>) -> bool) {
    let mut tokens = Vec::new();
    groups.retain_mut(|group| {
        let ready = now(group);
        if ready {
            tokens.append(&mut group.tokens);
        }
        !ready
    });
    if !tokens.is_empty() {
        await_before(op, &tokens);
    }
}
