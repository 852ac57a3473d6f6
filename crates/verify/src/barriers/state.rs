//! What is pending at a point of the code, and what instructions and edges do to it.

use super::bytes::{ByBytes, Bytes};
use super::certificate::{Exposed, InFlight, Issuer, Pending};
use super::code::{ALL_WARPS, Block, ClassId, Code, Edge, EdgeKind, Instr, Threads};
use super::in_flight::{Completion, advance, begin, split};
use crate::tokens::bind;
use async_overlap::{Conflict, Distance, Loop, overlap};
use rustc_hash::FxHashMap;

/// What is pending.
pub(super) struct State<'a> {
    code: &'a Code,
    /// What is over.
    exposed: ByBytes<'a>,
    in_flight: Vec<InFlight>,
    /// True if something in flight may have been awaited by some warps and not by others.
    some_know: bool,
    /// Which classes of accesses may meet, at a distance.
    known: FxHashMap<(ClassId, ClassId, Distance), bool>,
}

/// Two accesses that meet without a barrier between.
pub(super) struct Meeting {
    pub class: ClassId,
    pub earlier: Exposed,
}

impl<'a> State<'a> {
    pub fn new(code: &'a Code, bytes: &'a Bytes) -> Self {
        Self {
            code,
            exposed: ByBytes::new(code, bytes),
            some_know: false,
            in_flight: Vec::new(),
            known: FxHashMap::default(),
        }
    }

    /// Begins `block`, where `pending` may be.
    pub fn begin(&mut self, block: &Block, pending: impl IntoIterator<Item = Pending>) {
        self.exposed.clear();
        self.in_flight.clear();
        self.some_know = false;
        for pending in pending {
            match pending {
                Pending::Exposed(exposed) => self.exposed.insert(exposed),
                Pending::InFlight(flight) => {
                    self.some_know |= exposed_to_others(&flight).is_some();
                    self.in_flight.extend(split(flight, block.threads.warps));
                }
            }
        }
    }

    /// All that is pending at the end of a block.
    pub fn finish(&mut self) -> Vec<Pending> {
        let exposed = self.exposed.take();
        let in_flight = self.in_flight.drain(..);
        exposed
            .into_iter()
            .map(Pending::Exposed)
            .chain(in_flight.map(Pending::InFlight))
            .collect()
    }

    /// Checks that nothing is pending that `instr` has to come after.
    pub fn check(&mut self, block: &Block, instr: &Instr) -> Result<(), Meeting> {
        match instr {
            Instr::Access(classes) => classes.iter().try_for_each(|class| self.meets(block, *class)),
            Instr::Issue(issues) => {
                let mut own = issues.iter().filter(|issue| !issue.block_wide);
                own.try_for_each(|issue| self.meets(block, issue.class))
            }
            _ => Ok(()),
        }
    }

    /// Returns an error if an access of `class`, in `block`, meets something that is pending.
    fn meets(&mut self, block: &Block, class: ClassId) -> Result<(), Meeting> {
        let in_flight = if self.some_know {
            self.in_flight.as_slice()
        } else {
            &[]
        };
        let over = self.exposed.near(class);
        let awaited_by_some = in_flight.iter().filter_map(exposed_to_others);
        for earlier in over.chain(awaited_by_some) {
            let is_looked_at = !earlier.is_inside && earlier.unordered & block.threads.warps != 0;
            if is_looked_at && may_meet(self.code, &mut self.known, &earlier, class) {
                return Err(Meeting { class, earlier });
            }
        }
        Ok(())
    }

    /// Runs `instr`.
    pub fn run(&mut self, block: &Block, instr: &Instr) {
        self.carry(block, instr);
        match instr {
            Instr::Access(classes) => {
                for &class in classes {
                    self.exposed.insert(Exposed {
                        class,
                        distance: Distance::none(block.depth),
                        unordered: ALL_WARPS,
                        by: block.threads.warps,
                        is_inside: block.threads.apart,
                    });
                }
            }
            Instr::Issue(issues) => {
                let issued = issues.iter().map(|issue| begin(self.code, block, issue));
                self.in_flight.extend(issued);
            }
            _ => {}
        }
    }

    /// Does to what is pending what `instr` does; what it begins itself is not added.
    pub fn carry(&mut self, block: &Block, instr: &Instr) {
        match instr {
            Instr::Barrier if !block.threads.apart => {
                self.exposed.clear();
                self.in_flight
                    .retain(|flight| !matches!(flight.issuer, Issuer::Block { by, .. } if by != 0));
            }
            Instr::Barrier | Instr::Access(_) => {}
            Instr::BarrierOf(warps) => self.order(*warps),
            _ => self.advance_all(block, instr),
        }
    }

    /// Orders what `warps` did themselves with what they will do.
    fn order(&mut self, warps: u32) {
        for exposed in self.exposed.take() {
            let unordered = unordered_after(warps, exposed.by, exposed.unordered);
            if unordered != 0 {
                self.exposed.insert(Exposed { unordered, ..exposed });
            }
        }
        for flight in &mut self.in_flight {
            if let Issuer::Block { waiting, by, .. } = &mut flight.issuer
                && *by != 0
            {
                *waiting = unordered_after(warps, *by, *waiting);
            }
        }
        self.in_flight.retain(|flight| flight.issuer.is_unknown_to_some());
    }

    /// Does to all that is in flight what `instr` does.
    fn advance_all(&mut self, block: &Block, instr: &Instr) {
        let flights = std::mem::take(&mut self.in_flight);
        for mut flight in flights {
            let comes_by = match flight.issuer {
                Issuer::Threads(warps) => warps & block.threads.warps != 0,
                Issuer::Block { .. } => true,
            };
            let completion = if comes_by {
                advance(self.code, instr, &mut flight)
            } else {
                Completion::No
            };
            if completion == Completion::No {
                self.in_flight.push(flight);
            } else {
                self.complete(block.threads, flight, completion);
            }
        }
    }

    /// Notes that `flight` is complete for the threads that come by, for certain or perhaps.
    fn complete(&mut self, threads: Threads, mut flight: InFlight, completion: Completion) {
        if let Issuer::Block {
            waiting,
            by,
            is_inside,
        } = &mut flight.issuer
            && threads.whole
            && completion == Completion::Yes
        {
            // Who awaits it sees it. It is exposed to the others, until they do, too.
            *waiting &= !threads.warps;
            (*by, *is_inside) = (threads.warps, threads.apart);
            self.some_know = true;
            if *waiting != 0 && threads.warps != 0 {
                self.in_flight.push(flight);
            }
            return;
        }
        let known_to = match flight.issuer {
            Issuer::Block { .. } if threads.whole => threads.warps,
            _ => 0,
        };
        self.exposed.insert(Exposed {
            class: flight.class,
            distance: flight.distance,
            unordered: ALL_WARPS & !known_to,
            by: threads.warps,
            is_inside: threads.apart,
        });
        if completion == Completion::Maybe {
            self.in_flight.push(flight);
        }
    }
}

impl Issuer {
    /// Returns true if some warps are not known to know that it is complete.
    fn is_unknown_to_some(self) -> bool {
        !matches!(self, Self::Block { waiting: 0, .. })
    }
}

/// The warps that are not ordered with what the warps `by` did, after a barrier of `warps`; before, `unordered` were not.
fn unordered_after(warps: u32, by: u32, unordered: u32) -> u32 {
    if by & !warps == 0 {
        unordered & !warps
    } else {
        unordered
    }
}

/// What `flight` is to warps that have not awaited it, if others have.
fn exposed_to_others(flight: &InFlight) -> Option<Exposed> {
    match flight.issuer {
        Issuer::Block {
            waiting,
            by,
            is_inside,
        } if by != 0 => Some(Exposed {
            class: flight.class,
            distance: flight.distance,
            unordered: waiting,
            by,
            is_inside,
        }),
        _ => None,
    }
}

/// Returns true if `earlier` and an access of `class` may touch the same byte in different threads, and have to be ordered then.
fn may_meet(
    code: &Code,
    known: &mut FxHashMap<(ClassId, ClassId, Distance), bool>,
    earlier: &Exposed,
    class: ClassId,
) -> bool {
    let (first, second) = (&code.classes[earlier.class], &code.classes[class]);
    if first.footprint.buffer != second.footprint.buffer || !first.kind.needs_order_with(second.kind) {
        return false;
    }
    let key = (earlier.class, class, earlier.distance);
    *known.entry(key).or_insert_with(|| {
        let answer = overlap(&code.loops, earlier.distance, &first.footprint, &second.footprint);
        answer != Conflict::None
    })
}

/// What `pending`, at the end of `block`, is where `edge` leads; `None` if the edge is not taken then, or if nothing comes that it could
/// meet.
pub(super) fn follow(
    code: &Code,
    bytes: &Bytes,
    block: &Block,
    edge: &Edge,
    pending: &Pending,
) -> Option<Pending> {
    let (Pending::Exposed(Exposed { class, .. }) | Pending::InFlight(InFlight { class, .. })) = pending;
    if !bytes.may_meet_something(*class, code.blocks[edge.to].first_after) {
        return None;
    }
    let stays_inside = code.blocks[edge.to].threads.apart;
    Some(match pending {
        Pending::Exposed(exposed) => Pending::Exposed(Exposed {
            distance: after_edge(code, exposed.distance, edge.kind)?,
            is_inside: exposed.is_inside && stays_inside,
            ..*exposed
        }),
        Pending::InFlight(flight) => {
            let mut next = flight.clone();
            next.distance = after_edge(code, flight.distance, edge.kind)?;
            let takes_edge = match &mut next.issuer {
                Issuer::Threads(warps) => *warps & block.threads.warps != 0,
                Issuer::Block { is_inside, .. } => {
                    *is_inside &= stays_inside;
                    true
                }
            };
            if takes_edge {
                bind(&mut next.tokens, &edge.bindings, edge.adds);
            }
            Pending::InFlight(next)
        }
    })
}

/// How far it is after an edge, where it was `distance` before; `None` if there are not so many iterations.
fn after_edge(code: &Code, distance: Distance, kind: EdgeKind) -> Option<Distance> {
    let (EdgeKind::Enter(id) | EdgeKind::Back(id) | EdgeKind::Leave(id)) = kind else {
        return Some(distance);
    };
    let Loop {
        depth,
        counted,
        min_trips,
        max_trips,
        running_count,
        ..
    } = code.loops[id];
    match kind {
        EdgeKind::Plain | EdgeKind::Enter(_) => Some(distance.enter(depth)),
        EdgeKind::Back(_) => {
            let next = distance.end_iteration(running_count).back(depth, counted);
            // It is at least so many iterations after the first one.
            let before = next.counts.get(depth).copied().unwrap_or(1);
            max_trips
                .is_none_or(|trips| u64::from(before) < trips)
                .then_some(next)
        }
        EdgeKind::Leave(_) => {
            let was_entered = usize::from(distance.common) <= depth;
            let count = distance.counts.get(depth).filter(|count| **count < counted);
            let is_too_early = was_entered && count.is_some_and(|count| u64::from(*count) + 1 < min_trips);
            let next = distance
                .end_iteration(running_count)
                .leave(depth, max_trips.is_some());
            (!is_too_early).then_some(next)
        }
    }
}
