//! Step 2: where asynchronous accesses end, and what meets them before.
//!
//! Each access is followed through all executions on its own: which tokens stand for it, and how many groups were committed
//! since. What is known of it is a set of such states for each step; it grows only where ways meet, so the search ends.

use super::conditions::{Conditions, Taken};
use super::distance::{Distance, MAX_DEPTH};
use super::graph::{AccessId, AccessKind, Action, EdgeKind, Issue, Kernel, Loop, RegionId, StepId};
use super::relation::{Conflict, Relation};
use crate::Token;
use crate::ids::IndexVec;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// An asynchronous access that is not complete.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Flight {
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
    /// The conditions that it takes to come here.
    taken: Taken,
}

/// Two accesses that meet although no barrier could order them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Overlap {
    /// The step and the access that is not complete, or that is in the same divergent region.
    pub first: (StepId, AccessId),
    /// The step and the access that meets it.
    pub second: (StepId, AccessId),
    /// True if threads are sure to meet if control comes to both.
    pub certain: bool,
    /// True if control comes to both only if several conditions agree, or a loop has no iterations: perhaps they never do.
    pub conditional: bool,
}

/// What becomes of asynchronous accesses.
pub(super) struct InFlight {
    /// For each step, the accesses that it completes.
    pub ends: IndexVec<StepId, Vec<Flight>>,
    /// What meets what is in flight.
    pub overlaps: FxHashSet<Overlap>,
}

/// Groups that are older than this are not told apart: the hardware counts no further.
const MAX_GROUPS: u8 = 64;

/// So many states of an access are told apart at a step; of further ones, the tokens are forgotten.
const MAX_STATES: u32 = 256;

/// What was in flight at a step.
#[derive(Default)]
struct Seen {
    flights: FxHashSet<Flight>,
    /// How many states there are of each access.
    states: FxHashMap<AccessId, u32>,
}

impl Seen {
    /// Notes `flight`, and returns it if it is new; as one of which nothing is known if there are too many of its access.
    fn note(&mut self, flight: Flight) -> Option<Flight> {
        if self.flights.contains(&flight) {
            return None;
        }
        let states = self.states.entry(flight.access).or_default();
        *states += 1;
        let flight = if *states <= MAX_STATES {
            flight
        } else {
            Flight {
                tokens: Vec::new(),
                lost: true,
                ..flight
            }
        };
        self.flights.insert(flight.clone()).then_some(flight)
    }
}

/// Follows the asynchronous accesses of a kernel, and what it takes to come to what meets them if `counting` conditions.
pub(super) fn follow(kernel: &Kernel, relation: &Relation, counting: bool) -> InFlight {
    let conditions = counting.then(|| Conditions::of(kernel));
    let mut out = InFlight {
        ends: IndexVec::filled(Vec::new(), kernel.steps.len()),
        overlaps: FxHashSet::default(),
    };
    let (_, num_predecessors) = kernel.predecessors();
    let mut seen: FxHashMap<StepId, Seen> = FxHashMap::default();
    let mut ended: FxHashSet<(StepId, AccessId, StepId, Distance)> = FxHashSet::default();
    let mut pending: BTreeMap<StepId, FxHashSet<Flight>> = BTreeMap::new();
    let mut issued: FxHashSet<StepId> = FxHashSet::default();
    let issues = kernel.steps.with_ids();
    for (id, _) in issues.filter(|(_, step)| matches!(step.action, Action::Issue(_))) {
        pending.entry(id).or_default();
    }
    while let Some((at, mut flights)) = pending.pop_first() {
        if num_predecessors[at] > 1 {
            let seen = seen.entry(at).or_default();
            flights = flights
                .into_iter()
                .filter_map(|flight| seen.note(flight))
                .collect();
        }
        for flight in flights
            .iter()
            .filter(|flight| !(flight.may_be_over || flight.lost || flight.block_wide))
        {
            overlaps(kernel, relation, at, flight, &mut out.overlaps);
        }
        let mut left: Vec<Flight> = Vec::with_capacity(flights.len());
        let mut flights: Vec<Flight> = flights.into_iter().collect();
        flights.sort_unstable();
        for mut flight in flights {
            let outcome = advance(kernel, at, &mut flight);
            // What all threads await, all threads see.
            let seen_by_all = flight.block_wide && kernel.steps[at].divergent.is_none();
            if outcome != Outcome::GoesOn
                && !seen_by_all
                && ended.insert((at, flight.access, flight.issue, flight.distance))
            {
                out.ends[at].push(flight.clone());
            }
            if outcome != Outcome::IsOver {
                flight.may_be_over |= outcome == Outcome::MayBeOver;
                left.push(flight);
            }
        }
        if issued.insert(at)
            && let Action::Issue(issues) = &kernel.steps[at].action
        {
            left.extend(issues.iter().map(|issue| begin(kernel, at, issue)));
        }
        for edge in &kernel.steps[at].edges {
            let next = left.iter().filter_map(|flight| {
                let mut next = flight.clone();
                next.distance = follow_edge(kernel, next.distance, edge.kind)?;
                if let Some(conditions) = &conditions {
                    next.taken = conditions.follow(next.taken, at, edge);
                }
                bind(&mut next.tokens, &edge.bindings);
                Some(next)
            });
            let next: Vec<Flight> = next.collect();
            if !next.is_empty() {
                pending.entry(edge.to).or_default().extend(next);
            }
        }
    }
    out
}

/// An access that begins in step `at`.
fn begin(kernel: &Kernel, at: StepId, issue: &Issue) -> Flight {
    let mut tokens = issue.tokens.clone();
    tokens.sort_unstable();
    Flight {
        access: issue.access,
        issue: at,
        distance: Distance::none(kernel.depth(at)),
        queue: issue.queue,
        groups: 0,
        tokens,
        may_be_over: false,
        lost: false,
        block_wide: issue.block_wide,
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
                ..
            } = kernel.loops[again];
            let next = distance.back(depth, counted);
            let count = next.counts.get(depth).copied().unwrap_or(1);
            max_trips
                .is_none_or(|trips| u64::from(count) < trips)
                .then_some(next)
        }
        EdgeKind::Leave(left) => Some(distance.leave(kernel.loops[left].depth)),
    }
}

/// What a step does to an access in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    GoesOn,
    MayBeOver,
    IsOver,
}

/// Applies a step to what is in flight before it.
fn advance(kernel: &Kernel, at: StepId, flight: &mut Flight) -> Outcome {
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
        Action::None | Action::Barrier | Action::Access(_) | Action::Await(_) | Action::AwaitGroup(..) => {}
    }
    Outcome::GoesOn
}

/// Notes what step `at` accesses while `flight` is in flight.
fn overlaps(kernel: &Kernel, relation: &Relation, at: StepId, flight: &Flight, out: &mut FxHashSet<Overlap>) {
    for access in kernel.steps[at].action.starts() {
        let conflict = relation.conflict(flight.access, access, flight.distance);
        if conflict != Conflict::None {
            out.insert(Overlap {
                first: (flight.issue, flight.access),
                second: (at, access),
                certain: conflict == Conflict::Certain,
                conditional: flight.taken.is_conditional(),
            });
        }
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

/// What meets in divergent regions, where threads may be anywhere.
pub(super) fn in_divergent_regions(kernel: &Kernel, relation: &Relation, out: &mut FxHashSet<Overlap>) {
    let mut regions: IndexVec<RegionId, Vec<(StepId, AccessId)>> =
        IndexVec::filled(Vec::new(), kernel.regions.len());
    for (id, step) in kernel.steps.with_ids() {
        let Some(region) = step.divergent else { continue };
        regions[region].extend(step.action.starts().map(|access| (id, access)));
    }
    for (region, accesses) in regions.with_ids() {
        let around = kernel.regions[region];
        let mut seen = FxHashMap::default();
        for (i, &first) in accesses.iter().enumerate() {
            // Alike accesses in alike places meet alike others.
            let key = (relation.class(first.1), kernel.steps[first.0].in_loop);
            if *seen.entry(key).or_insert(i) != i {
                continue;
            }
            for &second in &accesses[i..] {
                // A race within one execution of an operation is none of order.
                if first == second && kernel.depth(first.0) == around {
                    continue;
                }
                let distance = within_region(kernel, around, second.0);
                let conflict = relation.conflict(first.1, second.1, distance);
                if conflict != Conflict::None {
                    out.insert(Overlap {
                        first,
                        second,
                        certain: conflict == Conflict::Certain && first != second,
                        conditional: false,
                    });
                }
            }
        }
    }
}

/// How far a step may be from another one of its divergent region: in the loops around it not at all, in those inside that is
/// not known.
fn within_region(kernel: &Kernel, around: usize, second: StepId) -> Distance {
    let mut distance = Distance::none(around);
    for (depth, inner) in kernel.loops_around(second).into_iter().enumerate().skip(around) {
        if depth < MAX_DEPTH {
            distance.counts[depth] = kernel.loops[inner].counted;
        }
    }
    distance
}
