//! Reads the accesses of a plain loop.

use super::order::{Access, End, When, crossed_fence, violation};
use super::{Failure, Schedule};
use async_dialects::completion::{Completion, GroupEffect};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_locations::alias::{Origin, Root};
use async_locations::footprints::{BufferKey, Footprints, Mask};
use async_locations::memory::{self, Effect, Effects, effects, is_descriptor, orders_accesses};
use async_locations::views::{base, view_source};
use async_mlir::control_flow::constant_trip_count;
use async_mlir::gpu::block_size;
use async_mlir::ir::{Block, Op, Use, Value};
use async_mlir::names::{arith, scf};
use async_overlap::{Footprint, LoopId, Span};
use rustc_hash::{FxHashMap, FxHashSet};

/// Of a buffer with more accesses, none is looked at.
const MAX_ACCESSES: usize = 256;
/// A token that has been handed on for more iterations is not followed.
const MAX_ROTATION: u32 = 64;
/// So many ways of a token are followed.
const MAX_WAYS: usize = 1 << 12;

/// An access, and where it is.
struct Located<'c> {
    access: Access,
    op: Op<'c>,
    effect: Effect<'c>,
}

/// What may not cross a fence, or is one: where it is, when it is executed, and its operation.
type Fenced<'c> = (usize, When, bool, Op<'c>);

/// Checks that a schedule keeps the order of accesses that may meet.
///
/// # Errors
///
/// The first access that is executed too early.
pub(super) fn check<'c>(schedule: &Schedule<'c>) -> Result<(), Failure<'c>> {
    let mut reader = Reader::new(schedule);
    for &(op, stage) in &schedule.statements {
        reader.read(op, stage);
    }
    reader.fence_unknown();
    let trips = constant_trip_count(schedule.plain).and_then(|trips| i64::try_from(trips).ok());
    let mut spans = Spans::of(schedule.plain);
    for mut accesses in std::mem::take(&mut reader.buffers) {
        if accesses.len() > MAX_ACCESSES {
            continue;
        }
        accesses.sort_by_key(|located| located.access.place);
        let plain: Vec<Access> = accesses.iter().map(|located| located.access.clone()).collect();
        let meets = |i: usize, j: usize, distance: u32| {
            let located = |number: usize| (accesses[number].op, accesses[number].effect);
            spans.may_meet(located(i), located(j), distance)
        };
        if let Some(found) = violation(&plain, trips, meets) {
            return too_early(accesses[found.second].op, accesses[found.first].op);
        }
    }
    let mut fenced = reader.fenced;
    fenced.sort_by_key(|(place, ..)| *place);
    let plain: Vec<(usize, When, bool)> = fenced
        .iter()
        .map(|(place, when, is, _)| (*place, *when, *is))
        .collect();
    match crossed_fence(&plain, trips) {
        Some((first, second)) => too_early(fenced[second].3, fenced[first].3),
        None => Ok(()),
    }
}

fn too_early<'c>(op: Op<'c>, first: Op<'c>) -> Result<(), Failure<'c>> {
    Err(Failure {
        op,
        what: "may access the same memory as what the plain loop executes first, or awaits first, but is executed before that".to_owned(),
        first: Some(first),
    })
}

/// Where accesses are, worked out where it matters.
pub(super) struct Spans<'c> {
    footprints: Footprints<'c>,
    threads: Mask,
    /// The loops that are numbered, the first of which is the plain one.
    pub loops: Vec<Op<'c>>,
    trips: Vec<Option<u64>>,
    known: FxHashMap<(Op<'c>, Value<'c>), Option<Span>>,
}

impl<'c> Spans<'c> {
    /// For what is in `around`, an `scf.for`.
    pub fn of(around: Op<'c>) -> Self {
        let function = around.ancestors().find(|op| op.is_function()).unwrap_or(around);
        let mut footprints = Footprints::new(function);
        let threads = block_size(function).and_then(|_| footprints.values.num_threads());
        let loops = around.self_and_nested().into_iter();
        let loops: Vec<Op> = loops.filter(|op| op.is(scf::FOR)).collect();
        for (number, op) in loops.iter().enumerate() {
            footprints.values.add_loop(*op, LoopId(number));
        }
        Self {
            footprints,
            threads: threads.map(|threads| vec![true; threads as usize].into()),
            trips: loops.iter().map(|op| constant_trip_count(*op)).collect(),
            loops,
            known: FxHashMap::default(),
        }
    }

    /// The bytes that `op` touches, as `effect` says.
    pub fn footprint(&mut self, op: Op<'c>, effect: Effect<'c>) -> Option<Footprint> {
        let buffer = self.footprints.buffer(effect.memory)?;
        Some(self.footprints.of(op, effect, buffer, &self.threads))
    }

    fn span(&mut self, (op, effect): (Op<'c>, Effect<'c>)) -> Option<Span> {
        if let Some(known) = self.known.get(&(op, effect.memory)) {
            return known.clone();
        }
        let footprint = self.footprint(op, effect);
        let span = footprint.and_then(|footprint| Span::of(&footprint, &self.trips));
        self.known.insert((op, effect.memory), span.clone());
        span
    }

    /// Returns true if two accesses may meet, the second one so many iterations later.
    pub fn may_meet(
        &mut self,
        first: (Op<'c>, Effect<'c>),
        second: (Op<'c>, Effect<'c>),
        distance: u32,
    ) -> bool {
        match (self.span(first), self.span(second)) {
            (Some(a), Some(b)) => a.may_meet(&b, distance),
            _ => true,
        }
    }
}

struct Reader<'a, 'c> {
    schedule: &'a Schedule<'c>,
    /// Where operations of the body are in it, and when each is executed.
    places: FxHashMap<Op<'c>, usize>,
    whens: FxHashMap<Op<'c>, When>,
    numbers: FxHashMap<BufferKey<'c>, usize>,
    buffers: Vec<Vec<Located<'c>>>,
    fenced: Vec<Fenced<'c>>,
    /// Conditions that are told apart, by number.
    conditions: FxHashMap<Awaited<'c>, usize>,
}

/// Under which conditions a token is awaited, so many iterations later, and the loop inside of the body on the way there, if any.
type Awaited<'c> = (Conditions<'c>, u32, Option<Op<'c>>);

/// A token on its way from an access to its awaits.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Way<'c> {
    token: Value<'c>,
    /// How many iterations after the access.
    later: u32,
    /// What has selected it.
    selected: Conditions<'c>,
    /// The loop inside of the body that it has been carried by. What it is there depends on the iteration.
    carried: Option<Op<'c>>,
}

/// `scf.if`s around an operation: conditions, and whether they have to be true.
pub(super) type Conditions<'c> = Vec<(Value<'c>, bool)>;

impl<'a, 'c> Reader<'a, 'c> {
    fn new(schedule: &'a Schedule<'c>) -> Self {
        let body = schedule.plain.region(0).first();
        let ops = body.into_iter().flat_map(Block::ops);
        let whens = schedule.statements.iter().enumerate();
        Self {
            schedule,
            places: ops.zip(0..).collect(),
            whens: whens
                .map(|(place, (op, stage))| (*op, (i64::from(*stage), place)))
                .collect(),
            numbers: FxHashMap::default(),
            buffers: Vec::new(),
            fenced: Vec::new(),
            conditions: FxHashMap::default(),
        }
    }

    /// Reads what `outer`, an operation of the body, accesses.
    fn read(&mut self, outer: Op<'c>, stage: u32) {
        let Some(&(_, place)) = self.whens.get(&outer) else {
            return;
        };
        let when = (i64::from(stage), place);
        let place = self.places.get(&outer).copied().unwrap_or(0);
        for op in outer.self_and_nested() {
            if awaits(op) {
                self.fenced.push((place, when, false, op));
            }
            let known = match effects(op) {
                Effects::Known(known) if !orders_accesses(op) => known,
                _ => {
                    self.fenced.push((place, when, true, op));
                    continue;
                }
            };
            for effect in known
                .into_iter()
                .filter(|effect| effect.access != memory::Access::Free)
            {
                let root = base(effect.memory);
                if is_descriptor(root) {
                    self.fenced.push((place, when, true, op));
                    continue;
                }
                self.fenced.push((place, when, false, op));
                let access = Access {
                    place,
                    when,
                    writes: effect.access.writes(),
                    versions: self.versions(effect.memory),
                    ends: self.ends(outer, op, effect.access),
                };
                let next = self.buffers.len();
                let number = *self.numbers.entry(BufferKey::of(root)).or_insert(next);
                if number == next {
                    self.buffers.push(Vec::new());
                }
                self.buffers[number].push(Located { access, op, effect });
            }
        }
    }

    /// Takes accesses to a buffer that is not known for what may access anything, if they may meet those to another one.
    fn fence_unknown(&mut self) {
        let about = |accesses: &Vec<Located<'c>>| {
            let root = Root::of(accesses[0].effect.memory);
            (root, accesses.iter().any(|located| located.access.writes))
        };
        let all: Vec<(Root, bool)> = self.buffers.iter().map(about).collect();
        for (number, (root, written)) in all.iter().enumerate() {
            let meets = |(other, (other_root, other_written)): (usize, &(Root<'c>, bool))| {
                other != number && (*written || *other_written) && root.may_alias(*other_root)
            };
            if matches!(root.origin, Origin::Unknown(_)) && all.iter().enumerate().any(meets) {
                let accesses = self.buffers[number].iter();
                self.fenced.extend(
                    accesses.map(|located| (located.access.place, located.access.when, true, located.op)),
                );
            }
        }
    }

    /// How many versions of the buffer of `memory` there are.
    fn versions(&self, mut memory: Value<'c>) -> Option<u32> {
        loop {
            if let Some(versions) = self.schedule.versions.get(&memory) {
                return Some(versions.count);
            }
            memory = memory.defining_op().and_then(view_source)?;
        }
    }

    /// What awaits an access of `op`, which is in `outer`.
    fn ends(&mut self, outer: Op<'c>, op: Op<'c>, access: memory::Access) -> Vec<End> {
        let Some(completion) =
            Completion::of(op).filter(|completion| completion.effect == GroupEffect::Issue)
        else {
            return Vec::new();
        };
        let tokens = match access {
            // What has been written has been read.
            memory::Access::AsyncRead => [completion.read, completion.done],
            memory::Access::AsyncWrite => [completion.done, None],
            _ => [None, None],
        };
        let of_issue = conditions(outer, op);
        let mut ends = Vec::new();
        let mut seen = FxHashSet::default();
        let first = |token| Way {
            token,
            later: 0,
            selected: Vec::new(),
            carried: None,
        };
        let mut work: Vec<Way> = tokens.into_iter().flatten().map(first).collect();
        while let Some(way) = work.pop() {
            if way.later > MAX_ROTATION || seen.len() > MAX_WAYS || !seen.insert(way.clone()) {
                continue;
            }
            for used in way.token.uses() {
                if awaits(used.owner) {
                    ends.extend(self.end(used.owner, &way, &of_issue));
                } else {
                    work.extend(self.next(&way, used));
                }
            }
        }
        ends
    }

    /// What a token is handed on as.
    fn next(&self, way: &Way<'c>, Use { owner, index }: Use<'c>) -> Vec<Way<'c>> {
        let to = |token| Way { token, ..way.clone() };
        let around = owner.parent().filter(|_| owner.is(scf::YIELD));
        let handed_on = |around: Op<'c>, number: usize| {
            let inside = around.region(0).first().map(|block| block.arg(number + 1));
            let carried = inside.into_iter().chain([around.result(number)]);
            let carried = carried.map(|token| Way {
                carried: Some(around),
                ..to(token)
            });
            carried.collect()
        };
        match around {
            Some(around) if around == self.schedule.plain => {
                let body = around.region(0).first();
                let next = body.map(|body| Way {
                    later: way.later + 1,
                    ..to(body.arg(index + 1))
                });
                next.into_iter().collect()
            }
            Some(around) if around.is(scf::FOR) => handed_on(around, index),
            Some(around) if around.is(scf::IF) => vec![to(around.result(index))],
            _ if owner.is(scf::FOR) && index >= 3 => handed_on(owner, index - 3),
            _ if owner.is(async_::JOIN) => vec![to(owner.result(0))],
            _ if owner.is(arith::SELECT) && index > 0 => {
                let mut next = to(owner.result(0));
                next.selected.push((owner.operand(0), index == 1));
                vec![next]
            }
            _ => Vec::new(),
        }
    }

    /// The await of `op`, for what is issued under these conditions.
    fn end(&mut self, op: Op<'c>, way: &Way<'c>, of_issue: &Conditions<'c>) -> Option<End> {
        let outer = std::iter::once(op)
            .chain(op.ancestors())
            .find(|op| self.places.contains_key(op))?;
        let (place, when) = (self.places[&outer], *self.whens.get(&outer)?);
        let later = way.later;
        let mut own = conditions(outer, op);
        own.extend(&way.selected);
        own.retain(|condition| later > 0 || !of_issue.contains(condition));
        let is_always = own.is_empty() && way.carried.is_none();
        let next = self.conditions.len();
        let awaited = (own, later, way.carried);
        let conditions = (!is_always).then(|| *self.conditions.entry(awaited).or_insert(next));
        Some(End {
            later,
            place,
            when,
            conditions,
        })
    }
}

/// Returns true if `op` awaits the tokens that are its operands.
fn awaits(op: Op<'_>) -> bool {
    let is_issue = || Completion::of(op).is_some_and(|completion| completion.effect == GroupEffect::Issue);
    op.is(async_::AWAIT) || is_issue() && op.operands().next().is_some_and(|operand| is_token(operand.ty()))
}

/// The conditions between `op` and `outer`, an operation of the body that it is in.
fn conditions<'c>(outer: Op<'c>, op: Op<'c>) -> Conditions<'c> {
    let mut conditions = Vec::new();
    let mut inner = op;
    while inner != outer {
        let Some(parent) = inner.parent() else { break };
        if parent.is(scf::IF) {
            conditions.push((parent.operand(0), inner.block() == parent.region(0).first()));
        }
        inner = parent;
    }
    conditions
}
