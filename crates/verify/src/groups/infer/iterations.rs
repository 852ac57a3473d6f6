//! Certificates in which iterations of loops of constant trip count have nodes of their own.
//!
//! The body of such a loop is solved for one iteration after the other, until the state at its beginning is one that was there before:
//! from there on, iterations take turns. Loops inside are solved for each iteration anew.

use super::liveness::Liveness;
use super::{Claims, meet, reverse_postorder, step, with_any_trip_count};
use crate::groups::certificate::{Certificate, Iterations, Node, NodeId};
use crate::groups::code::{BlockId, Code, EdgeKind, Loop};
use crate::groups::state::State;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// So many iterations are told apart. Ages are few, so that states come back long before, unless many tokens change places.
const MOST: usize = 1 << 12;

/// The certificate of `code` with iterations; the one without them if a loop has too many that differ.
pub(super) fn with_iterations(code: &Code, live: &Liveness) -> Certificate {
    let mut solver = Solver {
        code,
        live,
        order: reverse_postorder(code),
        state: State::new(code.num_tokens()),
    };
    let Some(whole) = solver.solve(None, BlockId(0), Vec::new()) else {
        return with_any_trip_count(code, live);
    };
    let mut writer = Writer { code, nodes: Vec::new() };
    let places = writer.number(&whole, &mut Vec::new());
    writer.connect(&whole, &places, None);
    Certificate { nodes: writer.nodes }
}

/// What is known in one iteration of a loop, or in the function outside of all of them.
#[derive(Default)]
struct Body {
    /// What holds at the beginning of each block, but those inside of inner loops.
    claims: FxHashMap<BlockId, Claims>,
    /// Inner loops, by the block that is entered first.
    inner: FxHashMap<BlockId, Iterated>,
    /// What is handed to the next iteration.
    back: Option<Claims>,
    /// What is handed out of the loop.
    exits: FxHashMap<BlockId, Option<Claims>>,
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
        let step = self.again.filter(|&again| again <= i).map_or(0, |again| self.bodies.len() - again);
        Iterations {
            first: i as u64,
            step: step as u64,
        }
    }
}

struct Solver<'a> {
    code: &'a Code,
    live: &'a Liveness,
    order: Vec<usize>,
    state: State,
}

impl Solver<'_> {
    /// Solves an iteration of `scope` that begins with `start`; `None` if a loop has too many iterations, or is entered or left in an
    /// unusual way.
    fn solve(&mut self, scope: Option<Loop>, start: BlockId, claims: Claims) -> Option<Body> {
        let mut body = Body::default();
        let mut entered: FxHashMap<BlockId, (Loop, Option<Claims>)> = FxHashMap::default();
        body.claims.insert(start, claims);
        let mut work = BTreeSet::from([(self.order[start.0 as usize], start)]);
        while let Some((_, id)) = work.pop_first() {
            let mut arrivals = Vec::new();
            if let Some((l, Some(claims))) = entered.get(&id) {
                let iterated = self.iterate(*l, id, claims.clone())?;
                let exits = self.exits(&iterated);
                arrivals.extend(exits.into_iter().map(|(to, claims)| (EdgeKind::Plain, to, claims)));
                body.inner.insert(id, iterated);
            } else if let Some(claims) = body.claims.get(&id).cloned() {
                let arrived = step(self.code, self.live, id, &claims, &mut self.state);
                let edges = self.code.blocks[id.0 as usize].edges.iter().zip(arrived);
                arrivals.extend(edges.filter_map(|(edge, (to, claims))| Some((edge.kind, to?, claims))));
            }
            for (kind, to, arrived) in arrivals {
                let news = match kind {
                    EdgeKind::Enter(l) => {
                        let (_, known) = entered.entry(to).or_insert((l, None));
                        meet(known, arrived)
                    }
                    EdgeKind::Back(l) if scope == Some(l) => {
                        meet(&mut body.back, arrived);
                        false
                    }
                    EdgeKind::Exit(l) if scope == Some(l) => {
                        meet(body.exits.entry(to).or_default(), arrived);
                        false
                    }
                    EdgeKind::Back(_) | EdgeKind::Exit(_) => return None,
                    EdgeKind::Plain if to.0 == 0 => false,
                    EdgeKind::Plain => {
                        let mut known = body.claims.remove(&to);
                        let news = meet(&mut known, arrived);
                        body.claims.extend(known.map(|known| (to, known)));
                        news
                    }
                };
                if news {
                    work.insert((self.order[to.0 as usize], to));
                }
            }
        }
        Some(body)
    }

    /// Solves the iterations of `l`, which is entered at `start`.
    fn iterate(&mut self, l: Loop, start: BlockId, claims: Claims) -> Option<Iterated> {
        let trip = self.code.trip(l)?;
        let mut seen: FxHashMap<Vec<u64>, usize> = FxHashMap::default();
        let mut iterated = Iterated {
            l,
            bodies: Vec::new(),
            again: None,
        };
        let mut next = Some(claims);
        while let Some(claims) = next.take() {
            let i = iterated.bodies.len();
            if i as u64 == trip {
                break;
            }
            if i == MOST {
                return None;
            }
            if let Some(&before) = seen.get(&key(&claims)) {
                iterated.again = Some(before);
                break;
            }
            seen.insert(key(&claims), i);
            let body = self.solve(Some(l), start, claims)?;
            next.clone_from(&body.back);
            iterated.bodies.push(body);
        }
        Some(iterated)
    }

    /// What is handed out of a loop.
    fn exits(&self, iterated: &Iterated) -> Vec<(BlockId, Claims)> {
        let last = self.code.trip(iterated.l).and_then(|trip| trip.checked_sub(1));
        let is_last = |i: &usize| last.is_some_and(|last| iterated.iterations(*i).contain(last));
        let body = (0..iterated.bodies.len()).find(is_last);
        let exits = body.into_iter().flat_map(|i| &iterated.bodies[i].exits);
        let mut exits: Vec<_> = exits
            .filter_map(|(to, claims)| Some((*to, claims.clone()?)))
            .collect();
        exits.sort_unstable_by_key(|(to, _)| *to);
        exits
    }
}

/// Claims as numbers that can be looked up.
fn key(claims: &Claims) -> Vec<u64> {
    let of_claim = |claim: &crate::groups::certificate::Claim| {
        let ages: Vec<u64> = claim.in_flight.iter().flat_map(|(fifo, age)| [u64::from(fifo.0), *age]).collect();
        [u64::from(claim.token.0), ages.len() as u64].into_iter().chain(ages)
    };
    claims.iter().flat_map(of_claim).collect()
}

/// The nodes of a [`Body`], and of the loops inside of it.
struct Places {
    nodes: FxHashMap<BlockId, NodeId>,
    inner: FxHashMap<BlockId, Vec<Places>>,
}

/// Where edges out of an iteration lead.
struct Around<'a> {
    l: Loop,
    /// The nodes of the next iteration; `None` if there is none.
    next: Option<&'a Places>,
    /// The nodes around the loop, if this iteration may be the last one.
    outside: Option<&'a Places>,
}

struct Writer<'a> {
    code: &'a Code,
    nodes: Vec<Node>,
}

impl Writer<'_> {
    /// Adds the nodes of `body`, without their successors.
    fn number(&mut self, body: &Body, context: &mut Vec<(Loop, Iterations)>) -> Places {
        let mut blocks: Vec<BlockId> = body.claims.keys().copied().collect();
        blocks.sort_unstable();
        let mut places = Places {
            nodes: FxHashMap::default(),
            inner: FxHashMap::default(),
        };
        for block in blocks {
            let node = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
            places.nodes.insert(block, node);
            self.nodes.push(Node {
                block,
                context: context.clone(),
                claims: body.claims[&block].clone(),
                successors: Vec::new(),
            });
        }
        let mut loops: Vec<BlockId> = body.inner.keys().copied().collect();
        loops.sort_unstable();
        for start in loops {
            let iterated = &body.inner[&start];
            let mut iterations = Vec::new();
            for (i, inner) in iterated.bodies.iter().enumerate() {
                context.push((iterated.l, iterated.iterations(i)));
                iterations.push(self.number(inner, context));
                context.pop();
            }
            places.inner.insert(start, iterations);
        }
        places
    }

    /// Says where the edges of the nodes of `body` lead.
    fn connect(&mut self, body: &Body, places: &Places, around: Option<&Around>) {
        for (block, node) in &places.nodes {
            let edges = self.code.blocks[block.0 as usize].edges.iter();
            let successors = edges.map(|edge| {
                let to = edge.to?;
                match edge.kind {
                    EdgeKind::Plain => places.nodes.get(&to).copied(),
                    EdgeKind::Enter(_) => places.inner.get(&to)?.first()?.nodes.get(&to).copied(),
                    EdgeKind::Back(l) => around.filter(|around| around.l == l)?.next?.nodes.get(&to).copied(),
                    EdgeKind::Exit(l) => around.filter(|around| around.l == l)?.outside?.nodes.get(&to).copied(),
                }
            });
            self.nodes[node.0 as usize].successors = successors.collect();
        }
        for (start, iterations) in &places.inner {
            let iterated = &body.inner[start];
            let last = self.code.trip(iterated.l).and_then(|trip| trip.checked_sub(1));
            for (i, inner) in iterated.bodies.iter().enumerate() {
                let these = iterated.iterations(i);
                let next = iterations.get(i + 1).or_else(|| iterations.get(iterated.again?));
                let around = Around {
                    l: iterated.l,
                    next: next.filter(|_| last.is_some_and(|last| these.first < last)),
                    outside: last.filter(|last| these.contain(*last)).map(|_| places),
                };
                self.connect(inner, &iterations[i], Some(&around));
            }
        }
    }
}
