//! Makes synchronous transfers of asynchronous stages asynchronous, each with an await in its first reader.

use super::accesses::known_buffers;
use super::annotations::{Schedule, StageOrder, copy_stage_order, read_schedule};
use crate::async_to_gpux::{Options, nests_of, transfers_of};
use crate::utils::tokens::await_before;
use async_mlir::ir::{Block, Mapping, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Makes the transfers of `stages` asynchronous, and those of loops and branches that do nothing else. Each is awaited in the first
/// statement, as the schedule has it, that accesses what it writes.
pub(super) fn start_in_stages<'c>(
    function: Op<'c>,
    body: Block<'c>,
    options: Options,
    stages: &FxHashSet<u32>,
) {
    let Ok(schedule) = read_schedule(body) else { return };
    let stage_of = |op: Op<'c>| {
        schedule
            .get(&op)
            .map(|stage_order: &StageOrder| stage_order.stage)
    };
    let wanted = |op: Op<'c>| stage_of(op).is_some_and(|stage| stages.contains(&stage));
    let readers = first_readers(body, &schedule);
    let nests = nests_of(function, body, options, &wanted);
    for transfer in transfers_of(function, body, options, &wanted) {
        let last = transfer.last();
        // A branch may have several transfers.
        let written = match transfer.buffer_in_branch() {
            Some(buffer) => vec![buffer],
            None => known_buffers(last, true),
        };
        let tokens = transfer.emit(last, &Mapping::new(), &[]);
        let issues = tokens.iter().filter_map(|token| token.defining_op());
        issues.for_each(|issue| copy_stage_order(last, issue));
        await_in_reader(last, &tokens, written.first(), body, &readers);
        transfer.erase();
    }
    for transfers in nests {
        let written: Vec<Vec<Value>> = transfers
            .stores()
            .map(|store| known_buffers(store, true))
            .collect();
        for (number, token) in transfers.start() {
            if let Some(issue) = token.defining_op() {
                await_in_reader(issue, &[token], written[number].first(), body, &readers);
            }
        }
    }
}

/// Awaits `tokens`, of `issue`, in the first statement that reads `written`.
fn await_in_reader<'c>(
    issue: Op<'c>,
    tokens: &[Value<'c>],
    written: Option<&Value<'c>>,
    body: Block<'c>,
    readers: &FxHashMap<Value<'c>, Op<'c>>,
) {
    let reader = written.and_then(|buffer| readers.get(buffer).copied());
    let reader = reader.filter(|reader| issue.is_before_in_block(*reader));
    let place = reader.or(body.terminator()).unwrap_or(issue);
    copy_stage_order(reader.unwrap_or(issue), await_before(place, tokens));
}

/// The first operation, as the schedule has it, that reads each buffer.
fn first_readers<'c>(body: Block<'c>, schedule: &Schedule<'c>) -> FxHashMap<Value<'c>, Op<'c>> {
    let mut readers: FxHashMap<Value<'c>, (StageOrder, Op<'c>)> = FxHashMap::default();
    for op in body.ops() {
        let Some(&stage_order) = schedule.get(&op) else {
            continue;
        };
        for buffer in known_buffers(op, false) {
            let first = readers.entry(buffer).or_insert((stage_order, op));
            if (stage_order.stage, stage_order.order) < (first.0.stage, first.0.order) {
                *first = (stage_order, op);
            }
        }
    }
    readers
        .into_iter()
        .map(|(buffer, (_, op))| (buffer, op))
        .collect()
}
