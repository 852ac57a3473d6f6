//! Certificates in which iterations of loops of constant trip count have nodes of their own.
//!
//! The body of such a loop is solved for one iteration after the other, until the state at its beginning is one that was there before:
//! from there on, iterations take turns. Loops inside are solved for each iteration anew.

use super::order::reverse_postorder;
use super::{COMPLETE, Known, Steps, UNKNOWN};
use crate::groups::certificate::{Certificate, Iterations, NodeId};
use crate::groups::code::{BlockId, EdgeKind, Loop};
use rustc_hash::FxHashMap;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// So many iterations are told apart. Ages are few, so that states come back long before, unless many tokens change places.
const MOST: usize = 1 << 12;

/// The certificate with iterations; `None` if a loop has too many that differ.
pub(super) fn with_iterations(steps: &mut Steps) -> Option<Certificate> {
    let order = reverse_postorder(steps.code);
    let entry = vec![UNKNOWN; steps.row(BlockId(0)).len()];
    let whole = Solver { steps, order }.solve(None, BlockId(0), entry)?;
    let mut writer = Writer {
        steps,
        certificate: Certificate::default(),
    };
    let places = writer.number(&whole, &mut Vec::new());
    writer.connect(&whole, &places, None);
    Some(writer.certificate)
}

/// What is known at the beginning of a block.
type Row = Vec<Known>;

/// What is known in one iteration of a loop, or in the function outside of all of them.
#[derive(Default)]
struct Body {
    /// At the beginning of each block, but those inside of inner loops.
    rows: BTreeMap<BlockId, Row>,
    /// Inner loops, by the block that is entered first.
    inner: BTreeMap<BlockId, Iterated>,
    /// What is handed to the next iteration.
    back: BTreeMap<BlockId, Row>,
    /// What is handed out of the loop.
    exits: BTreeMap<BlockId, Row>,
}

/// The iterations of a loop.
struct Iterated {
    l: Loop,
    bodies: Vec<Body>,
    /// The body after the last one, if iterations take turns.
    again: Option<usize>,
}

impl Iterated {
    /// The iterations that body `i` is for.
    fn iterations(&self, i: usize) -> Iterations {
        let again = self.again.filter(|&again| again <= i);
        Iterations {
            first: i as u64,
            step: again.map_or(0, |again| (self.bodies.len() - again) as u64),
        }
    }

    /// Returns true if body `i` is for the last of `trip` iterations.
    fn is_last(&self, i: usize, trip: u64) -> bool {
        trip.checked_sub(1)
            .is_some_and(|last| self.iterations(i).contain(last))
    }
}

struct Solver<'a, 'c> {
    steps: &'a mut Steps<'c>,
    order: Vec<u32>,
}

impl Solver<'_, '_> {
    /// Solves an iteration of `scope` that begins with `start`; `None` if a loop has too many iterations, or is left in an unusual way.
    fn solve(&mut self, scope: Option<Loop>, start: BlockId, row: Row) -> Option<Body> {
        let mut body = Body::default();
        let mut entered: BTreeMap<BlockId, Row> = BTreeMap::new();
        let mut loops: BTreeMap<BlockId, Loop> = BTreeMap::new();
        body.rows.insert(start, row);
        let mut work = BTreeSet::from([self.place(start)]);
        while let Some((_, id)) = work.pop_first() {
            if let Some(&l) = loops.get(&id) {
                let iterated = self.iterate(l, id, entered[&id].clone())?;
                for (to, row) in self.exits(&iterated) {
                    if meet(&mut body.rows, to, row) {
                        work.insert(self.place(to));
                    }
                }
                body.inner.insert(id, iterated);
                continue;
            }
            self.steps.run(id, &body.rows[&id]);
            for edge in self.steps.edges(id) {
                let Some(to) = edge.to.filter(|_| edge.kind.may_be_taken(self.steps.code)) else {
                    continue;
                };
                let (rows, is_next) = match edge.kind {
                    EdgeKind::Plain => (&mut body.rows, to.0 != 0),
                    EdgeKind::Enter(l) => {
                        loops.insert(to, l);
                        (&mut entered, true)
                    }
                    EdgeKind::Back(l) if scope == Some(l) => (&mut body.back, false),
                    EdgeKind::Exit(l) if scope == Some(l) => (&mut body.exits, false),
                    EdgeKind::Back(_) | EdgeKind::Exit(_) => return None,
                };
                let (row, is_first) = match rows.entry(to) {
                    Entry::Occupied(row) => (row.into_mut(), false),
                    Entry::Vacant(row) => (row.insert(vec![COMPLETE; self.steps.row(to).len()]), true),
                };
                if self.steps.arrive(edge, to, row, is_first) && is_next {
                    work.insert(self.place(to));
                }
            }
        }
        Some(body)
    }

    /// Where `block` is in the order in which blocks are run.
    fn place(&self, block: BlockId) -> (u32, BlockId) {
        (self.order[block.0 as usize], block)
    }

    /// Solves the iterations of `l`, which is entered at `start`.
    fn iterate(&mut self, l: Loop, start: BlockId, row: Row) -> Option<Iterated> {
        let trip = self.steps.code.trip(l)?;
        let mut seen: FxHashMap<Row, usize> = FxHashMap::default();
        let mut iterated = Iterated {
            l,
            bodies: Vec::new(),
            again: None,
        };
        let mut next = Some(row);
        while let Some(row) = next.take() {
            let i = iterated.bodies.len();
            if i as u64 == trip {
                break;
            }
            if i == MOST {
                return None;
            }
            if let Some(&before) = seen.get(&row) {
                iterated.again = Some(before);
                break;
            }
            seen.insert(row.clone(), i);
            let body = self.solve(Some(l), start, row)?;
            next = body.back.get(&start).cloned();
            iterated.bodies.push(body);
        }
        Some(iterated)
    }

    /// What is handed out of a loop.
    fn exits(&self, iterated: &Iterated) -> BTreeMap<BlockId, Row> {
        let trip = self.steps.code.trip(iterated.l).unwrap_or(0);
        let last = (0..iterated.bodies.len()).find(|i| iterated.is_last(*i, trip));
        last.map_or_else(BTreeMap::new, |i| iterated.bodies[i].exits.clone())
    }
}

/// Makes `row` part of what is known where paths meet; returns true if that changed it.
fn meet(rows: &mut BTreeMap<BlockId, Row>, block: BlockId, row: Row) -> bool {
    let known = match rows.entry(block) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => {
            place.insert(row);
            return true;
        }
    };
    let mut changed = false;
    for (known, arrived) in known.iter_mut().zip(row) {
        changed |= arrived < *known;
        *known = arrived.min(*known);
    }
    changed
}

/// The nodes of a [`Body`], and of the loops inside of it.
struct Places {
    nodes: BTreeMap<BlockId, NodeId>,
    inner: BTreeMap<BlockId, Vec<Places>>,
}

/// Where edges out of an iteration lead.
struct Around<'a> {
    l: Loop,
    /// The nodes of the next iteration; `None` if there is none.
    next: Option<&'a Places>,
    /// The nodes around the loop, if this iteration may be the last one.
    outside: Option<&'a Places>,
}

struct Writer<'a, 'c> {
    steps: &'a mut Steps<'c>,
    certificate: Certificate,
}

impl Writer<'_, '_> {
    /// Adds the nodes of `body`, without their successors.
    fn number(&mut self, body: &Body, context: &mut Vec<(Loop, Iterations)>) -> Places {
        let mut nodes = BTreeMap::new();
        for (&block, row) in &body.rows {
            let node = self
                .steps
                .add_node(&mut self.certificate, block, context.clone(), row);
            nodes.insert(block, node);
        }
        let mut inner = BTreeMap::new();
        for (&start, iterated) in &body.inner {
            let mut iterations = Vec::new();
            for (i, inner) in iterated.bodies.iter().enumerate() {
                context.push((iterated.l, iterated.iterations(i)));
                iterations.push(self.number(inner, context));
                context.pop();
            }
            inner.insert(start, iterations);
        }
        Places { nodes, inner }
    }

    /// Says where the edges of the nodes of `body` lead.
    fn connect(&mut self, body: &Body, places: &Places, around: Option<&Around>) {
        for &node in places.nodes.values() {
            self.steps.connect(&mut self.certificate, node, |edge, to| {
                let around = |l: Loop| around.filter(|around| around.l == l);
                let places = match edge.kind {
                    EdgeKind::Plain => Some(places),
                    EdgeKind::Enter(_) => places.inner.get(&to)?.first(),
                    EdgeKind::Back(l) => around(l)?.next,
                    EdgeKind::Exit(l) => around(l)?.outside,
                };
                places?.nodes.get(&to).copied()
            });
        }
        for (start, iterations) in &places.inner {
            let iterated = &body.inner[start];
            let trip = self.steps.code.trip(iterated.l).unwrap_or(0);
            for (i, inner) in iterated.bodies.iter().enumerate() {
                let next = iterations.get(i + 1).or_else(|| iterations.get(iterated.again?));
                let around = Around {
                    l: iterated.l,
                    next: next.filter(|_| i as u64 + 1 < trip),
                    outside: iterated.is_last(i, trip).then_some(places),
                };
                self.connect(inner, &iterations[i], Some(&around));
            }
        }
    }
}
