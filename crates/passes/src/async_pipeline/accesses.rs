//! Collects the memory accesses of a loop body: which statement accesses what, and when each access is over.

use super::body::Body;
use super::in_flight::{InFlight, in_flight_at_entry};
use crate::analysis::footprints::{BufferKey, Footprints, Mask};
use crate::analysis::memory::{
    Access as Kind, BufferOrigin, Effect, Effects, buffer_origin, effects, is_descriptor, orders_accesses,
};
use crate::analysis::views::base;
use crate::analysis::warps::warps_where;
use crate::utils::tokens::awaits_dependencies;
use async_dialects::completion::{Completion, GroupEffect};
use async_dialects::names::{async_, gpux_attr};
use async_mlir::control_flow::constant_trip_count;
use async_mlir::gpu::MemorySpace;
use async_mlir::ir::{Op, Use, Value};
use async_mlir::names::{arith, scf};
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::barriers::{Footprint, LoopId};
use tokenflow::pipeline::StatementId;

/// An access.
#[derive(Clone)]
pub(super) struct Access<'c> {
    pub statement: StatementId,
    /// The operation that accesses, perhaps nested in one of the statement.
    pub op: Op<'c>,
    /// The memref or pointer.
    pub memory: Value<'c>,
    pub writes: bool,
    /// The `scf.if`s of the loop around the operation: conditions, and whether they have to be true.
    pub conditions: Conditions<'c>,
    /// Where the operation, or what it is nested in, is among those of the loop's body.
    pub place: usize,
    /// Where the access is over; `None` if nothing in the loop waits for it.
    pub end: Option<End>,
    /// The warps that know that then, by an `scf.if` on their number and its region; `None` if all do. An access that several roles
    /// await is there once for each, and one whose token is selected once for each of its awaits.
    pub role: Option<(Value<'c>, bool)>,
}

/// `scf.if`s around an operation: conditions, and whether they have to be true.
type Conditions<'c> = Vec<(Value<'c>, bool)>;

/// Where an access is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    /// In this statement,
    pub statement: StatementId,
    /// so many iterations later.
    pub later: u32,
    /// Where what awaits it is among the operations of the loop's body; that of the access itself if it needs no await.
    pub place: usize,
}

/// What a loop accesses, buffer by buffer; accesses are in program order.
#[derive(Default)]
pub(super) struct Accesses<'c> {
    pub buffers: Vec<Buffer<'c>>,
    numbers: FxHashMap<BufferKey<'c>, usize>,
    /// Operations of which it is not known what they access, or that order accesses.
    pub fences: Vec<Fence<'c>>,
    /// Operations that wait for tokens, with their statements.
    pub awaits: Vec<(StatementId, Op<'c>)>,
    /// What is in flight where the loop is entered, by where the loop awaits it.
    pub in_flight: Vec<AwaitedEntry<'c>>,
}

/// Something that is in flight where the loop is entered, and the loop's await of it.
pub(super) struct AwaitedEntry<'c> {
    pub what: InFlight<'c>,
    /// The statement of the await.
    pub statement: StatementId,
    /// Where the await, or what it is nested in, is among the operations of the loop's body.
    pub place: usize,
}

/// An operation of which it is not known what it accesses, or that orders accesses.
#[derive(Clone, Copy)]
pub(super) struct Fence<'c> {
    pub statement: StatementId,
    pub op: Op<'c>,
    /// Where it, or what it is nested in, is among the operations of the loop's body.
    pub place: usize,
}

/// A buffer that the loop accesses.
pub(super) struct Buffer<'c> {
    /// Where it comes from; another `memref.get_global` of the same global is the same buffer.
    pub base: Value<'c>,
    pub accesses: Vec<Access<'c>>,
}

impl<'c> Accesses<'c> {
    /// The accesses of `body`.
    pub fn of(body: &Body<'c>) -> Self {
        let mut all = Self::default();
        let places: FxHashMap<Op, usize> = body.block.ops().into_iter().zip(0..).collect();
        for op in body.block.ops() {
            let Some(&statement) = body.statement_of.get(&op) else {
                continue;
            };
            let outer = Outer {
                body,
                places: &places,
                statement,
                op,
            };
            for inner in op.self_and_nested() {
                all.add(&outer, inner);
            }
        }
        for what in in_flight_at_entry(body.around, body.block) {
            if let Some(&statement) = body.statement_of.get(&what.outer) {
                let place = places[&what.outer];
                all.in_flight.push(AwaitedEntry {
                    what,
                    statement,
                    place,
                });
            }
        }
        all.fence_unknown_buffers();
        all
    }

    fn add(&mut self, outer: &Outer<'_, 'c>, op: Op<'c>) {
        let statement = outer.statement;
        let fence = Fence {
            statement,
            op,
            place: outer.places[&outer.op],
        };
        if orders_accesses(op) {
            self.fences.push(fence);
            return;
        }
        if waits_for_tokens(op) {
            self.awaits.push((statement, op));
        }
        let Effects::Known(mut effects) = effects(op) else {
            self.fences.push(fence);
            return;
        };
        // What an operation reads it reads before it writes.
        effects.sort_by_key(|effect| effect.access.writes());
        for effect in effects.into_iter().filter(|effect| effect.access != Kind::Free) {
            let base = base(effect.memory);
            if is_descriptor(base) {
                self.fences.push(fence);
                continue;
            }
            let key = BufferKey::of(base);
            let next = self.buffers.len();
            let number = *self.numbers.entry(key).or_insert(next);
            if number == next {
                self.buffers.push(Buffer {
                    base,
                    accesses: Vec::new(),
                });
            }
            let access = Access {
                statement,
                op,
                memory: effect.memory,
                writes: effect.access.writes(),
                conditions: conditions(outer.op, op),
                place: outer.places[&outer.op],
                end: outer.end_of(op, effect.access),
                role: None,
            };
            let accesses = &mut self.buffers[number].accesses;
            let selected = outer.ends_where_selected(op, effect.access);
            if !selected.is_empty() {
                accesses.extend(selected.into_iter().map(|end| Access {
                    end: Some(end),
                    ..access.clone()
                }));
                continue;
            }
            let ends = outer.ends_for_roles(op, effect.access);
            if access.end.is_some() || ends.is_empty() {
                accesses.push(access);
                continue;
            }
            accesses.extend(ends.into_iter().map(|(role, end)| Access {
                end: Some(end),
                role: Some(role),
                ..access.clone()
            }));
        }
    }
}

impl<'c> Buffer<'c> {
    /// Returns true if iterations may have versions of it.
    pub fn is_local(&self) -> bool {
        is_local(self.base)
    }
}

/// Returns true if nobody else can know where `buffer` is.
pub(super) fn is_local(buffer: Value<'_>) -> bool {
    let space = MemorySpace::of(buffer.ty());
    let is_fast = matches!(space, Some(MemorySpace::Workgroup | MemorySpace::Private));
    match buffer_origin(buffer) {
        BufferOrigin::Allocation => true,
        BufferOrigin::Attribution(_) | BufferOrigin::Global(_) => is_fast,
        _ => false,
    }
}

/// Returns true if `one` and `other`, neither of them a view, are the same buffer.
pub(super) fn is_same_buffer(one: Value<'_>, other: Value<'_>) -> bool {
    BufferKey::of(one) == BufferKey::of(other)
}

/// Returns true if `op` is an await, or is issued when its dependencies are complete.
fn waits_for_tokens(op: Op<'_>) -> bool {
    op.is(async_::AWAIT) || awaits_dependencies(op)
}

/// The buffers that `op` and what is nested in it are known to write, or to read.
pub(super) fn known_buffers(op: Op<'_>, written: bool) -> Vec<Value<'_>> {
    let all = op.self_and_nested().into_iter();
    let accesses = all.flat_map(|op| match effects(op) {
        Effects::Known(effects) => effects,
        Effects::Unknown => Vec::new(),
    });
    let wanted = accesses.filter(|effect| effect.access != Kind::Free && effect.access.writes() == written);
    wanted.map(|effect| base(effect.memory)).collect()
}

/// The conditions between `op` and `outer`, an operation of the loop's body that it is nested in.
fn conditions<'c>(outer: Op<'c>, op: Op<'c>) -> Conditions<'c> {
    let mut conditions = Vec::new();
    let mut inner = op;
    while inner != outer {
        let Some(parent) = inner.parent() else { break };
        if parent.is(scf::IF) {
            let then = parent.region(0).first();
            conditions.push((parent.operand(0), inner.block() == then));
        }
        inner = parent;
    }
    conditions
}

/// An operation of the loop's body, in which accesses are.
struct Outer<'a, 'c> {
    body: &'a Body<'c>,
    /// The numbers of the operations of the loop's body.
    places: &'a FxHashMap<Op<'c>, usize>,
    statement: StatementId,
    op: Op<'c>,
}

/// Where the loop awaits a token.
struct Awaits<'c> {
    /// All awaits, and under which conditions they are executed.
    found: Vec<(End, Conditions<'c>)>,
    /// Whether one is in a loop inside: which of several it is that completes the token may depend on how often that runs.
    in_loop: bool,
    /// Whether one is of a token that is selected.
    selected: bool,
}

/// Tokens that rotate longer are not followed.
pub(super) const MAX_ROTATION: u32 = 64;

impl<'c> Outer<'_, 'c> {
    /// Where an access of `op` is over.
    fn end_of(&self, op: Op<'c>, access: Kind) -> Option<End> {
        match tokens_of(op, access) {
            None => Some(End {
                statement: self.statement,
                later: 0,
                place: self.places[&self.op],
            }),
            Some(tokens) => {
                let conditions = conditions(self.op, op);
                let ends = tokens
                    .into_iter()
                    .filter_map(|token| self.awaited(token, &conditions));
                ends.min_by_key(|end| self.key(*end))
            }
        }
    }

    /// All awaits of an access of `op`, if one of its tokens is selected: such an await may be of another token, and what comes after it stays
    /// there all the same.
    fn ends_where_selected(&self, op: Op<'c>, access: Kind) -> Vec<End> {
        let tokens = tokens_of(op, access).unwrap_or_default();
        let awaits = tokens.iter().map(|token| self.awaits(*token));
        let awaits: Vec<Awaits> = awaits.filter(|awaits| awaits.selected).collect();
        let ends = awaits.into_iter().flat_map(|awaits| awaits.found);
        ends.map(|(end, _)| end).collect()
    }

    /// Where each role that awaits an access of `op` does so first.
    fn ends_for_roles(&self, op: Op<'c>, access: Kind) -> Vec<((Value<'c>, bool), End)> {
        // Without that, threads that don't await have nothing to do with those that do.
        if !op.has_attr(gpux_attr::ISSUER) {
            return Vec::new();
        }
        let mut roles: Vec<(Value<'c>, bool)> = Vec::new();
        let tokens = tokens_of(op, access).unwrap_or_default();
        for used in tokens.iter().flat_map(|token| self.awaits(*token).found) {
            let role = used
                .1
                .into_iter()
                .find(|(condition, _)| warps_where(*condition).is_some());
            roles.extend(role.filter(|role| !roles.contains(role)));
        }
        let of_issue = conditions(self.op, op);
        let ends = roles.into_iter().filter_map(|role| {
            let known: Vec<_> = of_issue.iter().copied().chain([role]).collect();
            let ends = tokens.iter().filter_map(|token| self.awaited(*token, &known));
            Some((role, ends.min_by_key(|end| self.key(*end))?))
        });
        ends.collect()
    }

    /// Where `token` is awaited first in the loop, by threads for which `known` conditions hold.
    fn awaited(&self, token: Value<'c>, known: &[(Value<'c>, bool)]) -> Option<End> {
        let Awaits { found, in_loop, .. } = self.awaits(token);
        let holds = |conditions: &[(Value<'c>, bool)]| conditions.iter().all(|one| known.contains(one));
        let ends = found.into_iter().filter(|(_, conditions)| holds(conditions));
        let ends = ends.map(|(end, _)| end);
        if in_loop {
            ends.max_by_key(|end| self.key(*end))
        } else {
            ends.min_by_key(|end| self.key(*end))
        }
    }

    /// Where the loop awaits `token`.
    fn awaits(&self, token: Value<'c>) -> Awaits<'c> {
        let mut seen = FxHashSet::default();
        let mut work = vec![(token, 0)];
        let (mut found, mut in_loop, mut selected) = (Vec::new(), false, false);
        while let Some((token, later)) = work.pop() {
            if later > MAX_ROTATION || !seen.insert((token, later)) {
                continue;
            }
            for Use { owner, index } in token.uses() {
                if Some(owner) == self.body.block.terminator() {
                    work.push((self.body.block.arg(index + 1), later + 1));
                } else if owner.is(async_::JOIN) {
                    work.push((owner.result(0), later));
                } else if owner.is(arith::SELECT) && index > 0 {
                    selected = true;
                    work.push((owner.result(0), later));
                } else if owner.is(scf::FOR) && index >= 3 {
                    in_loop = true;
                    work.extend(carried(owner, index - 3).map(|value| (value, later)));
                } else if owner.is(scf::YIELD) {
                    let around = owner.parent();
                    work.extend(around.map(|around| (around.result(index), later)));
                    let around = around.filter(|around| around.is(scf::FOR));
                    in_loop |= around.is_some();
                    work.extend(
                        around
                            .into_iter()
                            .flat_map(|around| carried(around, index))
                            .map(|value| (value, later)),
                    );
                } else {
                    found.extend(self.wait(owner, later));
                }
            }
        }
        Awaits {
            found,
            in_loop,
            selected,
        }
    }

    fn key(&self, end: End) -> (u32, u32) {
        let statement = self.body.problem.statements[end.statement];
        (statement.stage + end.later, statement.order)
    }

    /// Where `op` awaits its tokens, and under which conditions, if it awaits any.
    fn wait(&self, op: Op<'c>, later: u32) -> Option<(End, Conditions<'c>)> {
        if !waits_for_tokens(op) {
            return None;
        }
        let mut outer = op;
        while outer.block() != Some(self.body.block) {
            outer = outer.parent()?;
        }
        let statement = *self.body.statement_of.get(&outer)?;
        let place = self.places[&outer];
        let end = End {
            statement,
            later,
            place,
        };
        Some((end, conditions(outer, op)))
    }
}

/// The tokens that are complete when an access of `op` is over, if it is asynchronous.
fn tokens_of<'c>(op: Op<'c>, access: Kind) -> Option<Vec<Value<'c>>> {
    let completion = Completion::of(op).filter(|completion| completion.effect == GroupEffect::Issue)?;
    match access {
        // What has been written has been read.
        Kind::AsyncRead => Some(completion.read.into_iter().chain(completion.done).collect()),
        Kind::AsyncWrite => Some(completion.done.into_iter().collect()),
        _ => None,
    }
}

/// What a value becomes that an `scf.for` starts from or yields: in its body, and after it.
fn carried<'c>(around: Op<'c>, number: usize) -> impl Iterator<Item = Value<'c>> {
    let inside = around.region(0).first().map(|block| block.arg(number + 1));
    inside.into_iter().chain(std::iter::once(around.result(number)))
}

/// Numbers the loops in and around a body, for footprints. Returns the trips of those in it, by number.
pub(super) fn number_loops<'c>(body: &Body<'c>, footprints: &mut Footprints<'c>) -> Vec<Option<u64>> {
    let mut trips = vec![constant_trip_count(body.around)];
    footprints.values.add_loop(body.around, LoopId(0));
    for op in body
        .around
        .self_and_nested()
        .into_iter()
        .skip(1)
        .filter(|op| op.is(scf::FOR))
    {
        footprints.values.add_loop(op, LoopId(trips.len()));
        trips.push(constant_trip_count(op));
    }
    trips
}

/// What an access touches; its offset counts iterations of the loop as number 0.
pub(super) fn footprint<'c>(
    footprints: &mut Footprints<'c>,
    access: &Access<'c>,
    threads: &Mask,
) -> Option<Footprint> {
    let buffer = footprints.buffer(access.memory)?;
    let kind = if access.writes { Kind::Write } else { Kind::Read };
    let effect = Effect {
        memory: access.memory,
        access: kind,
    };
    Some(footprints.of(access.op, effect, buffer, threads))
}
