//! Step 2: finds where asynchronous accesses end, and which accesses race with them before they do.
//!
//! Each access is followed through all executions on its own: which tokens stand for it, and how many groups were committed
//! since. What is known of it is a set of such states for each step; it grows only where paths meet, so the search ends.

mod states;

pub(super) use self::states::meet;
use self::states::{Seen, reconverge};
use super::conflict_relation::ConflictRelation;
use super::graph::{AccessId, AccessKind, Action, EdgeKind, Issue, Kernel, Loop, LoopId, Step, StepId};
use super::path_conditions::{PathConditions, Taken};
use crate::Token;
use crate::ids::IndexVec;
use async_overlap::{Conflict, Distance};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// An asynchronous access that is not complete.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct InFlightAccess {
    pub access: AccessId,
    /// The step where it began.
    pub issue: StepId,
    /// How far it is from there.
    pub distance: Distance,
    queue: Option<u8>,
    /// How many groups of its queue were committed since, its own among them.
    groups: u8,
    /// What it is awaited by, in order.
    tokens: Vec<Token>,
    /// True if it may be complete: a later group of its queue may be.
    may_be_over: bool,
    /// True if it is not known what it is awaited by.
    lost: bool,
    block_wide: bool,
    /// The warps that have it in flight, as bits: those that began it, or, if that were all, those that have not awaited it yet. Once it
    /// has ended, those that don't know.
    pub warps: u32,
    /// The step that it comes from, where warps meet.
    via: Option<StepId>,
    /// The conditions that it takes to come here.
    taken: Taken,
}

/// Two conflicting accesses that no barrier could order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Race {
    /// The step and the access that is not complete, or that is in the same divergent region.
    pub first: (StepId, AccessId),
    /// The step and the access that conflicts with it.
    pub second: (StepId, AccessId),
    /// True if they are sure to touch the same byte if control comes to both.
    pub certain: bool,
    /// True if control comes to both only if several conditions agree, or a loop has no iterations: perhaps they never do.
    pub conditional: bool,
}

/// Where asynchronous accesses end, and what races with them.
pub(super) struct InFlight {
    /// For each step, the accesses that it completes.
    pub ends: IndexVec<StepId, Vec<InFlightAccess>>,
    /// The conflicts with what is in flight.
    pub races: FxHashSet<Race>,
}

/// Groups that are older than this are not told apart: the hardware counts no further.
const MAX_GROUPS: u8 = 64;

/// Follows the asynchronous accesses of a kernel, and the conditions of their races if `counting`.
pub(super) fn track(kernel: &Kernel, relation: &ConflictRelation, counting: bool) -> InFlight {
    let tracker = Tracker {
        kernel,
        relation,
        conditions: counting.then(|| PathConditions::of(kernel)),
        num_predecessors: kernel.predecessors().1,
        pending: BTreeMap::new(),
        seen: FxHashMap::default(),
        ended: FxHashSet::default(),
        issued: FxHashSet::default(),
        out: InFlight {
            ends: IndexVec::filled(Vec::new(), kernel.steps.len()),
            races: FxHashSet::default(),
        },
    };
    tracker.run()
}

/// An access that has ended at a step: where it began, how far that is, who does not know, and its tokens.
type Ended = (StepId, AccessId, StepId, Distance, u32, Option<Vec<Token>>);

/// The state of the search.
struct Tracker<'k> {
    kernel: &'k Kernel,
    relation: &'k ConflictRelation<'k>,
    conditions: Option<PathConditions<'k>>,
    num_predecessors: IndexVec<StepId, u32>,
    /// What has come to steps and was not looked at yet.
    pending: BTreeMap<StepId, FxHashSet<InFlightAccess>>,
    /// What has come to steps where paths meet.
    seen: FxHashMap<StepId, Seen>,
    ended: FxHashSet<Ended>,
    issued: FxHashSet<StepId>,
    out: InFlight,
}

impl Tracker<'_> {
    fn run(mut self) -> InFlight {
        for (id, step) in self.kernel.steps.with_ids() {
            if matches!(step.action, Action::Issue(_)) {
                self.pending.entry(id).or_default();
            }
        }
        while let Some((at, mut flights)) = self.pending.pop_first() {
            if self.kernel.steps[at].warps_meet {
                flights = reconverge(flights);
            }
            if self.num_predecessors[at] > 1 {
                let seen = self.seen.entry(at).or_default();
                let new = flights.into_iter().filter_map(|flight| seen.note(flight));
                flights = new.collect();
            }
            let known = |flight: &&InFlightAccess| !(flight.may_be_over || flight.lost || flight.block_wide);
            for flight in flights.iter().filter(known) {
                add_races(self.kernel, self.relation, at, flight, &mut self.out.races);
            }
            match changes_nothing(self.kernel, at).filter(|_| self.conditions.is_none()) {
                Some(next) => self.go_on(next, flights),
                None => {
                    let left = self.execute(at, flights);
                    self.leave(at, &left);
                }
            }
        }
        self.out
    }

    /// Hands `flights` on to step `next` as they are.
    fn go_on(&mut self, next: StepId, flights: FxHashSet<InFlightAccess>) {
        let pending = self.pending.entry(next).or_default();
        if pending.is_empty() {
            *pending = flights;
        } else {
            pending.extend(flights);
        }
    }

    /// Applies step `at` to what is in flight before it; returns what is after it.
    fn execute(&mut self, at: StepId, flights: FxHashSet<InFlightAccess>) -> Vec<InFlightAccess> {
        let step = &self.kernel.steps[at];
        let mut left: Vec<InFlightAccess> = Vec::with_capacity(flights.len());
        let mut flights: Vec<InFlightAccess> = flights.into_iter().collect();
        flights.sort_unstable();
        for mut flight in flights {
            let outcome = advance(self.kernel, at, &mut flight);
            let in_flight = flight.warps;
            if outcome != Outcome::GoesOn {
                self.end(at, &mut flight);
            }
            // Others still have it in flight.
            if outcome == Outcome::IsOver && flight.block_wide && step.warps.whole {
                flight.warps = in_flight & !step.warps.may;
                // Even if these are none: they come together with those of other paths.
                if step.divergent.is_some() {
                    left.push(flight);
                }
            } else if outcome != Outcome::IsOver {
                flight.warps = in_flight;
                flight.may_be_over |= outcome == Outcome::MayBeOver;
                left.push(flight);
            }
        }
        if self.issued.insert(at)
            && let Action::Issue(issues) = &step.action
        {
            left.extend(issues.iter().map(|issue| begin(self.kernel, at, issue)));
        }
        left
    }

    /// Notes that `flight` may be over at step `at`, and which warps don't know that then.
    fn end(&mut self, at: StepId, flight: &mut InFlightAccess) {
        let warps = self.kernel.steps[at].warps;
        // Who awaits what all threads have begun together, sees it. Of what is each thread's own, nobody else knows.
        if flight.block_wide && warps.whole {
            flight.warps &= !warps.may;
        } else {
            flight.warps = u32::MAX;
        }
        // Of what some know, it matters which awaits tell others.
        let tokens = (flight.warps != u32::MAX).then(|| flight.tokens.clone());
        let key = (
            at,
            flight.access,
            flight.issue,
            flight.distance,
            flight.warps,
            tokens,
        );
        if flight.warps != 0 && warps.may != 0 && self.ended.insert(key) {
            self.out.ends[at].push(flight.clone());
        }
    }

    /// Hands what is in flight after step `at` on along its edges.
    fn leave(&mut self, at: StepId, left: &[InFlightAccess]) {
        for edge in &self.kernel.steps[at].edges {
            let next = left.iter().filter_map(|flight| {
                let mut next = flight.clone();
                if let Some(conditions) = &self.conditions {
                    next.taken = conditions.follow(next.taken, at, edge, next.distance);
                }
                next.distance = follow_edge(self.kernel, next.distance, edge.kind)?;
                next.via = self.kernel.steps[edge.to].warps_meet.then_some(at);
                bind(&mut next.tokens, &edge.bindings);
                // What all have begun takes all paths; what some have, theirs.
                if !next.block_wide {
                    next.warps &= self.kernel.steps[edge.to].warps.may;
                }
                (next.warps != 0).then_some(next)
            });
            let next: Vec<InFlightAccess> = next.collect();
            if !next.is_empty() {
                self.pending.entry(edge.to).or_default().extend(next);
            }
        }
    }
}

/// The one step after `at`, if whatever is in flight goes on there as it is.
fn changes_nothing(kernel: &Kernel, at: StepId) -> Option<StepId> {
    let Step { action, edges, .. } = &kernel.steps[at];
    let [edge] = edges.as_slice() else { return None };
    let same_warps = kernel.steps[at].warps.may & !kernel.steps[edge.to].warps.may == 0;
    let goes_on = edge.kind == EdgeKind::Plain
        && edge.bindings.is_empty()
        && same_warps
        && !kernel.steps[edge.to].warps_meet;
    (goes_on && !action.changes_tokens()).then_some(edge.to)
}

/// An access that begins in step `at`.
fn begin(kernel: &Kernel, at: StepId, issue: &Issue) -> InFlightAccess {
    let mut tokens = issue.tokens.clone();
    tokens.sort_unstable();
    InFlightAccess {
        access: issue.access,
        issue: at,
        distance: Distance::none(kernel.depth(at)),
        queue: issue.queue,
        groups: 0,
        tokens,
        may_be_over: false,
        lost: false,
        block_wide: issue.block_wide,
        warps: kernel.steps[at].warps.may,
        via: None,
        taken: Taken::default(),
    }
}

/// The distance after an edge; `None` if there are not so many iterations.
pub(super) fn follow_edge(kernel: &Kernel, distance: Distance, kind: EdgeKind) -> Option<Distance> {
    match kind {
        EdgeKind::Plain => Some(distance),
        EdgeKind::Enter(entered) => Some(distance.enter(kernel.loops[entered].depth)),
        EdgeKind::Back(again) => {
            let Loop {
                depth,
                counted,
                max_trips,
                running_count,
                ..
            } = kernel.loops[again];
            let next = distance.end_iteration(running_count).back(depth, counted);
            let count = next.counts.get(depth).copied().unwrap_or(1);
            max_trips
                .is_none_or(|trips| u64::from(count) < trips)
                .then_some(next)
        }
        EdgeKind::Leave(left) => {
            let Loop {
                depth,
                min_trips,
                max_trips,
                running_count,
                ..
            } = kernel.loops[left];
            trips_until_left(kernel, distance, left)
                .is_none_or(|trips| trips >= min_trips)
                .then(|| {
                    distance
                        .end_iteration(running_count)
                        .leave(depth, max_trips.is_some())
                })
        }
    }
}

/// How many iterations a loop has had at its end, if it was entered on the path and they are told apart.
pub(super) fn trips_until_left(kernel: &Kernel, distance: Distance, left: LoopId) -> Option<u64> {
    let Loop { depth, counted, .. } = kernel.loops[left];
    let was_entered = usize::from(distance.common) <= depth;
    let count = distance
        .counts
        .get(depth)
        .filter(|count| was_entered && **count < counted);
    count.map(|count| u64::from(*count) + 1)
}

/// What a step does to an access in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    GoesOn,
    MayBeOver,
    IsOver,
}

/// Applies a step to what is in flight before it.
pub(super) fn advance(kernel: &Kernel, at: StepId, flight: &mut InFlightAccess) -> Outcome {
    match &kernel.steps[at].action {
        Action::Await(tokens) | Action::AwaitGroup(_, tokens)
            if tokens.iter().any(|token| flight.tokens.contains(token)) =>
        {
            return Outcome::IsOver;
        }
        Action::Await(_) | Action::AwaitGroup(..) if flight.lost => return Outcome::MayBeOver,
        Action::AwaitGroup(queue, _) if flight.queue == Some(*queue) && flight.groups > 0 => {
            return Outcome::MayBeOver;
        }
        Action::Join(token, of) => {
            let stands = of.iter().any(|of| flight.tokens.contains(of));
            set(&mut flight.tokens, *token, stands);
        }
        Action::Issue(issues) => {
            for token in issues.iter().flat_map(|issue| &issue.tokens) {
                set(&mut flight.tokens, *token, false);
            }
        }
        Action::Commit(queue, token) => {
            let stands = flight.queue == Some(*queue) && flight.groups == 0;
            if flight.queue == Some(*queue) {
                flight.groups = (flight.groups + 1).min(MAX_GROUPS);
            }
            if let Some(token) = token {
                set(&mut flight.tokens, *token, stands);
            }
        }
        Action::Wait {
            queue,
            pending,
            reads,
        } => {
            let complete = flight.queue == Some(*queue) && u32::from(flight.groups) > *pending;
            let only_written = *reads && kernel.accesses[flight.access].kind != AccessKind::Read;
            if complete && !only_written {
                return Outcome::IsOver;
            }
        }
        Action::None
        | Action::Barrier
        | Action::BarrierOf(_)
        | Action::Access(_)
        | Action::Await(_)
        | Action::AwaitGroup(..) => {}
    }
    Outcome::GoesOn
}

/// Notes what step `at` accesses while `flight` is in flight.
fn add_races(
    kernel: &Kernel,
    relation: &ConflictRelation,
    at: StepId,
    flight: &InFlightAccess,
    out: &mut FxHashSet<Race>,
) {
    for access in kernel.steps[at].action.starts() {
        let conflict = relation.conflict(flight.access, access, flight.distance);
        if conflict != Conflict::None {
            out.insert(Race {
                first: (flight.issue, flight.access),
                second: (at, access),
                certain: conflict == Conflict::Certain,
                conditional: flight.taken.is_conditional(),
            });
        }
    }
}

impl InFlightAccess {
    /// What its awaits depend on, and nothing else: the same for each that these tell of alike.
    pub fn awaited_by(&self) -> Self {
        Self {
            distance: Distance::none(0),
            may_be_over: false,
            warps: 0,
            via: None,
            taken: Taken::default(),
            ..self.clone()
        }
    }

    /// The same after an edge that hands over tokens.
    pub fn bound(mut self, bindings: &[(Token, Token)]) -> Self {
        bind(&mut self.tokens, bindings);
        self
    }
}

/// Binds tokens that an edge hands over.
fn bind(tokens: &mut Vec<Token>, bindings: &[(Token, Token)]) {
    if bindings.is_empty() {
        return;
    }
    let bound = bindings.iter().filter(|(from, _)| tokens.contains(from));
    let bound: Vec<Token> = bound.map(|(_, to)| *to).collect();
    for (_, to) in bindings {
        set(tokens, *to, bound.contains(to));
    }
}

/// Says whether `token` stands for an access.
fn set(tokens: &mut Vec<Token>, token: Token, stands: bool) {
    match (tokens.binary_search(&token), stands) {
        (Err(place), true) => tokens.insert(place, token),
        (Ok(place), false) => {
            tokens.remove(place);
        }
        _ => {}
    }
}
