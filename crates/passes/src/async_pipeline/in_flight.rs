//! Finds what is in flight where a loop is entered, and where the loop awaits it: what comes after such an await may touch what
//! that waits for, and must not be executed before it.
//!
//! From each await of the loop, tokens are followed back, against the flow of control, to the operations that they may stand for.
//! What the same execution of the loop issues has an end in the loop ([`accesses`](super::accesses)); all else is in flight where
//! the loop is entered. Conservative: a token that can't be followed may stand for anything, and a wait that counts for all that
//! its queue has.

use super::accesses::MAX_ROTATION;
use super::body::is_inside;
use super::lifting::counted_queue;
use crate::analysis::cfg::sources;
use async_dialects::completion::{Completion, GroupEffect, GroupQueue};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::control_flow::selected_values;
use async_mlir::ir::{Block, Definition, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Something that may be in flight where a loop is entered, and that the loop awaits.
#[derive(Clone, Copy)]
pub(super) struct InFlight<'c> {
    pub issued: Issued<'c>,
    /// What awaits it, perhaps nested in an operation of the loop's body.
    pub wait: Op<'c>,
    /// The operation of the body that this is, or that it is nested in.
    pub outer: Op<'c>,
    /// The iteration that awaits it; `None` if it may be any.
    pub iteration: Option<u32>,
    /// Whether values from outside of the loop are the same there as where it is issued. They need not be if that is in an earlier
    /// iteration of a loop around this one.
    pub same_values: bool,
}

/// What a token may stand for, or a wait that counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Issued<'c> {
    /// An operation, or that it has read its sources.
    Op {
        /// The operation.
        op: Op<'c>,
        /// Whether it is known no more than that it has read its sources.
        only_read: bool,
    },
    /// Perhaps anything.
    Unknown,
}

/// What is in flight where `around` is entered, whose body is `block`.
pub(super) fn in_flight_at_entry<'c>(around: Op<'c>, block: Block<'c>) -> Vec<InFlight<'c>> {
    let mut found: Vec<(usize, Value, InFlight)> = Vec::new();
    let mut counted = Vec::new();
    // For each token from outside, the first await that every execution comes by: its iteration, and its place.
    let mut first: FxHashMap<Value, (u32, usize)> = FxHashMap::default();
    for (place, outer) in block.ops().into_iter().enumerate() {
        for wait in outer.self_and_nested() {
            let follower = Follower { around, block };
            for Followed { issued, at } in follower.follow(awaited_tokens(wait)) {
                let Some(token) = at.entered else { continue };
                let iteration = at.later.filter(|_| at.is_certain && wait == outer);
                if let Some(iteration) = iteration {
                    let known = first.entry(token).or_insert((iteration, place));
                    *known = (*known).min((iteration, place));
                }
                let in_flight = InFlight {
                    issued,
                    wait,
                    outer,
                    iteration,
                    same_values: !at.again,
                };
                found.push((place, token, in_flight));
            }
            if let Some(queue) = counted_wait(wait) {
                counted.push((queue, wait, outer));
            }
        }
    }
    // What has been awaited is not in flight any more.
    found.retain(|(place, token, later)| {
        let is_over = |first: &(u32, usize)| *first < (later.iteration.unwrap_or(0), *place);
        !first.get(token).is_some_and(is_over)
    });
    let mut all: Vec<InFlight> = found.into_iter().map(|(.., in_flight)| in_flight).collect();
    all.extend(counted.into_iter().flat_map(|(queue, wait, outer)| {
        issued_on(around, queue).map(move |op| InFlight {
            issued: Issued::Op { op, only_read: false },
            wait,
            outer,
            iteration: None,
            same_values: false,
        })
    }));
    all
}

/// What the awaits in `op` may stand for, an operation of `block`, which is the body of `around`: whenever that was issued.
pub(super) fn awaited_by<'c>(around: Op<'c>, block: Block<'c>, op: Op<'c>) -> FxHashSet<Issued<'c>> {
    let follower = Follower { around, block };
    let waits = op.self_and_nested().into_iter();
    let all = waits.flat_map(|wait| follower.follow(awaited_tokens(wait)));
    all.map(|followed| followed.issued).collect()
}

/// The tokens that `op` awaits: as an await, or as what is issued once they are complete.
fn awaited_tokens(op: Op<'_>) -> Vec<Value<'_>> {
    if op.is(async_::AWAIT) {
        return op.operands().collect();
    }
    let tokens: Vec<Value> = op.operands().take_while(|value| is_token(value.ty())).collect();
    let issues = |op| Completion::of(op).is_some_and(|completion| completion.effect == GroupEffect::Issue);
    if tokens.is_empty() || !issues(op) {
        return Vec::new();
    }
    tokens
}

/// The queue whose groups `op` waits for, if it does so by their number.
fn counted_wait(op: Op<'_>) -> Option<GroupQueue> {
    Completion::of(op)
        .filter(|completion| completion.effect == GroupEffect::Wait)
        .and_then(|completion| completion.queue)
}

/// What the function around `around` issues on `queue` without tokens.
fn issued_on<'c>(around: Op<'c>, queue: GroupQueue) -> impl Iterator<Item = Op<'c>> {
    let function = around.ancestors().find(|op| op.is_function());
    let ops = function.map_or(Vec::new(), Op::self_and_nested).into_iter();
    ops.filter(move |op| {
        let issues = Completion::of(*op).is_some_and(|completion| completion.effect == GroupEffect::Issue);
        issues && counted_queue(*op) == Some(queue)
    })
}

/// Follows tokens back that are awaited in the loop `around`, whose body is `block`.
struct Follower<'c> {
    around: Op<'c>,
    block: Block<'c>,
}

/// What a token was found to stand for.
struct Followed<'c> {
    issued: Issued<'c>,
    at: At<'c>,
}

/// How a token comes to an await.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct At<'c> {
    /// How often the loop has handed it on to the next iteration; `None` for too many times.
    later: Option<u32>,
    /// False if, in the loop, another token may come instead.
    is_certain: bool,
    /// The token with which the loop was entered, if this is what that stands for.
    entered: Option<Value<'c>>,
    /// Whether a loop around this one has handed it on.
    again: bool,
}

impl<'c> Follower<'c> {
    fn follow(&self, tokens: Vec<Value<'c>>) -> Vec<Followed<'c>> {
        let start = At {
            later: Some(0),
            is_certain: true,
            entered: None,
            again: false,
        };
        let mut work: Vec<(Value, At)> = tokens.into_iter().map(|token| (token, start)).collect();
        let mut seen: FxHashSet<(Value, At)> = FxHashSet::default();
        let mut found = Vec::new();
        while let Some((token, mut at)) = work.pop() {
            if at.entered.is_none() && !is_inside(self.around, token) {
                at.entered = Some(token);
            }
            if seen.insert((token, at)) {
                let issued = self.step(token, at, &mut work);
                found.extend(issued.map(|issued| Followed { issued, at }));
            }
        }
        found
    }

    /// Goes one step back from `token`; returns what it stands for, if that is found there.
    fn step(&self, token: Value<'c>, at: At<'c>, work: &mut Vec<(Value<'c>, At<'c>)>) -> Option<Issued<'c>> {
        if let Definition::Result(op, _) = token.definition() {
            if op.is(async_::JOIN) {
                work.extend(op.operands().map(|token| (token, at)));
                return None;
            }
            if op.is(async_::READY) {
                return None;
            }
            let completion = Completion::of(op);
            if let Some(completion) = completion.filter(|completion| completion.effect == GroupEffect::Issue)
            {
                let only_read = completion.read == Some(token);
                return Some(Issued::Op { op, only_read });
            }
            if let Some(either) = selected_values(op) {
                let at = At {
                    is_certain: at.is_certain && at.entered.is_some(),
                    ..at
                };
                work.extend(either.into_iter().map(|token| (token, at)));
                return None;
            }
        }
        let Some(from) = sources(token) else {
            return Some(Issued::Unknown);
        };
        let block = match token.definition() {
            Definition::Argument(block, _) => Some(block),
            Definition::Result(..) => None,
        };
        let is_own = block == Some(self.block) && at.entered.is_none();
        let goes_around = |by: Op<'c>| {
            let around = block.and_then(Block::parent_op);
            around.is_some_and(|around| by != around && around.is_ancestor_of(self.around))
        };
        for (token, by) in from {
            let at = if !is_own {
                At {
                    is_certain: at.is_certain && at.entered.is_some(),
                    again: at.again || goes_around(by),
                    ..at
                }
            } else if by == self.around {
                at
            } else {
                At {
                    later: at
                        .later
                        .map(|later| later + 1)
                        .filter(|later| *later <= MAX_ROTATION),
                    ..at
                }
            };
            work.push((token, at));
        }
        None
    }
}
