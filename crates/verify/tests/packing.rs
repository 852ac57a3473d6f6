//! The checker of packed memory against brute force, which walks along all paths up to some length: it accepts if and only if at no step two
//! buffers that share bytes are in use.
#![allow(missing_docs)]

use async_verify::packing::{
    Block, BlockId, BufferId, Code, Edge, Fault, Instr, Issue, Place, Sharing, Step, Token, check,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const BUFFERS: usize = 3;
const BLOCKS: usize = 3;
const TOKENS: u32 = 3;
const ALL: u32 = u32::MAX;
/// Paths of so many blocks lead by whatever there is to find, or nearly.
const SHORT: usize = 6;
const LONG: usize = 12;

/// An access that is on its way.
#[derive(Clone)]
struct Flight {
    buffer: BufferId,
    writes: bool,
    warps: u32,
}

/// What one execution has begun, and what stands for it.
#[derive(Clone, Default)]
struct Execution {
    flights: BTreeMap<usize, Flight>,
    begun: usize,
    tokens: BTreeMap<Token, BTreeSet<usize>>,
    /// By queue: what is in no group, and the groups, from the oldest to the newest.
    open: BTreeMap<u8, BTreeSet<usize>>,
    groups: BTreeMap<u8, Vec<BTreeSet<usize>>>,
}

impl Execution {
    fn of(&self, tokens: &[Token]) -> BTreeSet<usize> {
        let sets = tokens.iter().filter_map(|token| self.tokens.get(token));
        sets.flatten().copied().collect()
    }

    fn run(&mut self, instr: &Instr) {
        match instr {
            Instr::Issue(issue) => {
                let id = self.begun;
                self.begun += 1;
                let flight = Flight {
                    buffer: issue.buffer,
                    writes: issue.writes,
                    warps: issue.warps,
                };
                self.flights.insert(id, flight);
                for token in &issue.tokens {
                    self.tokens.entry(*token).or_default().insert(id);
                }
                if let Some(queue) = issue.queue {
                    self.open.entry(queue).or_default().insert(id);
                }
            }
            Instr::Await(tokens, by) => {
                for id in self.of(tokens) {
                    if let Some(flight) = self.flights.get_mut(&id) {
                        flight.warps &= !by;
                        if flight.warps == 0 {
                            self.flights.remove(&id);
                        }
                    }
                }
            }
            Instr::Define(tokens) => tokens.iter().for_each(|token| {
                self.tokens.remove(token);
            }),
            Instr::Join(token, of) => {
                let all = self.of(of);
                self.tokens.insert(*token, all);
            }
            Instr::Commit(queue) => {
                let group = self.open.remove(queue).unwrap_or_default();
                self.groups.entry(*queue).or_default().push(group);
            }
            Instr::Wait {
                queue,
                pending,
                reads,
            } => {
                let groups = self.groups.entry(*queue).or_default();
                let done = groups.len().saturating_sub(*pending as usize);
                let done: BTreeSet<usize> = groups[..done].iter().flatten().copied().collect();
                self.flights
                    .retain(|id, flight| !done.contains(id) || *reads && flight.writes);
            }
            Instr::Read(_) | Instr::Write(_) | Instr::Allocate(_) | Instr::Barrier => {}
        }
    }

    fn bind(&mut self, bindings: &[(Token, Token)]) {
        let bound: Vec<_> = bindings
            .iter()
            .map(|(from, to)| (*to, self.of(&[*from])))
            .collect();
        for (_, to) in bindings {
            self.tokens.remove(to);
        }
        for (to, ids) in bound {
            self.tokens.entry(to).or_default().extend(ids);
        }
    }
}

type At = (BlockId, usize);

/// What was found on all paths.
#[derive(Default)]
struct Found {
    in_use: BTreeMap<At, BTreeSet<BufferId>>,
    /// What is read where nothing was written to it.
    given: BTreeSet<BufferId>,
    /// Buffers that are accessed after others, with no barrier between.
    unordered: BTreeSet<(BufferId, BufferId)>,
    allocated_in_flight: bool,
}

/// A step that was executed.
struct Executed<'a> {
    at: At,
    step: &'a Step,
    flying: BTreeSet<BufferId>,
}

/// Walks on from block `id`, up to so many blocks.
fn walk<'a>(
    code: &'a Code,
    id: BlockId,
    left: usize,
    mut execution: Execution,
    path: &mut Vec<Executed<'a>>,
    found: &mut Found,
) {
    let length = path.len();
    for (number, step) in code.blocks[id].steps.iter().enumerate() {
        let flying = execution.flights.values();
        let mut flying: BTreeSet<BufferId> = flying.map(|flight| flight.buffer).collect();
        for instr in &step.0 {
            if let Instr::Issue(issue) = instr {
                flying.insert(issue.buffer);
            }
            execution.run(instr);
        }
        path.push(Executed {
            at: (id, number),
            step,
            flying,
        });
    }
    let edges = &code.blocks[id].edges;
    if left == 0 || edges.is_empty() {
        judge(path, found);
    } else {
        for edge in edges {
            let mut next = execution.clone();
            next.bind(&edge.bindings);
            walk(code, edge.to, left - 1, next, path, found);
        }
    }
    path.truncate(length);
}

/// Notes what the steps of `path` use.
fn judge(path: &[Executed], found: &mut Found) {
    for buffer in (0..BUFFERS).map(BufferId) {
        let reads = |k: usize| path[k].step.reads().any(|read| read == buffer);
        let writes = |k: usize| path[k].step.writes().any(|written| written == buffer);
        let allocates = |k: usize| path[k].step.allocates().any(|made| made == buffer);
        let first = (0..path.len()).find(|&k| reads(k) || writes(k) || allocates(k));
        if first.is_some_and(reads) {
            found.given.insert(buffer);
        }
        let mut holds_since = found.given.contains(&buffer).then_some(0);
        for k in 0..path.len() {
            if allocates(k) {
                holds_since = None;
            }
            if writes(k) {
                holds_since = holds_since.or(Some(k));
            }
            if reads(k) {
                for used in &path[holds_since.unwrap_or(k)..=k] {
                    found.in_use.entry(used.at).or_default().insert(buffer);
                }
            }
            let is_flying = path[k].flying.contains(&buffer);
            if writes(k) || is_flying {
                found.in_use.entry(path[k].at).or_default().insert(buffer);
            }
            found.allocated_in_flight |= allocates(k) && is_flying;
            if !(reads(k) || writes(k) || is_flying) {
                continue;
            }
            for later in &path[k + 1..] {
                found
                    .unordered
                    .extend(later.step.accesses().map(|other| (buffer, other)));
                if later.step.is_barrier() {
                    break;
                }
            }
        }
    }
}

/// Returns true if a fault is found on paths of so many blocks.
fn is_wrong(code: &Code, places: &[Place], sharing: Sharing, length: usize) -> bool {
    let mut found = Found::default();
    // Once more, with what is given from the start known.
    for _ in 0..2 {
        let start = (BlockId(0), length, Execution::default());
        walk(code, start.0, start.1, start.2, &mut Vec::new(), &mut found);
    }
    let meet = |a: BufferId, b: BufferId| a != b && places[a.0].meets(places[b.0]);
    let at_once = found
        .in_use
        .values()
        .any(|used| used.iter().any(|a| used.iter().any(|b| meet(*a, *b))));
    let unordered = found.unordered.iter().any(|(a, b)| meet(*a, *b));
    at_once || found.allocated_in_flight || sharing == Sharing::Barriers && unordered
}

fn token() -> impl Strategy<Value = Token> {
    (0..TOKENS).prop_map(Token)
}

fn buffer() -> impl Strategy<Value = BufferId> {
    (0..BUFFERS).prop_map(BufferId)
}

fn queue() -> impl Strategy<Value = u8> {
    prop_oneof![4 => Just(0), 1 => Just(1)]
}

fn issue() -> impl Strategy<Value = Issue> {
    let warps = prop_oneof![4 => Just(ALL), 1 => Just(1), 1 => Just(3)];
    let queue = prop::option::weighted(0.6, queue());
    (
        buffer(),
        any::<bool>(),
        prop::collection::vec(token(), 0..3),
        queue,
        warps,
    )
        .prop_map(|(buffer, writes, tokens, queue, warps)| Issue {
            buffer,
            writes,
            tokens,
            queue,
            warps,
        })
}

fn step() -> impl Strategy<Value = Step> {
    let tokens = || prop::collection::vec(token(), 1..3);
    let warps = prop_oneof![4 => Just(ALL), 1 => Just(1), 1 => Just(2)];
    let wait = (queue(), 0..2_u32, any::<bool>()).prop_map(|(queue, pending, reads)| Instr::Wait {
        queue,
        pending,
        reads,
    });
    prop_oneof![
        3 => buffer().prop_map(|buffer| Step(vec![Instr::Read(buffer)])),
        3 => buffer().prop_map(|buffer| Step(vec![Instr::Write(buffer)])),
        1 => (buffer(), buffer()).prop_map(|(a, b)| Step(vec![Instr::Read(a), Instr::Write(b)])),
        2 => buffer().prop_map(|buffer| Step(vec![Instr::Allocate(buffer)])),
        3 => issue().prop_map(|issue| {
            Step(vec![Instr::Define(issue.tokens.clone()), Instr::Issue(issue)])
        }),
        4 => (tokens(), warps).prop_map(|(tokens, warps)| Step(vec![Instr::Await(tokens, warps)])),
        1 => (token(), tokens()).prop_map(|(token, of)| Step(vec![Instr::Join(token, of)])),
        3 => queue().prop_map(|queue| Step(vec![Instr::Commit(queue)])),
        3 => wait.prop_map(|wait| Step(vec![wait])),
        2 => Just(Step(vec![Instr::Barrier])),
    ]
}

fn one(instr: Instr) -> Step {
    Step(vec![instr])
}

/// Steps in a row: often such as have to do with each other.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let in_group = (issue(), step(), 0..2_u32, any::<bool>(), step()).prop_map(
        |(issue, between, pending, reads, after)| {
            let issue = Issue {
                tokens: Vec::new(),
                queue: Some(0),
                ..issue
            };
            let wait = Instr::Wait {
                queue: 0,
                pending,
                reads,
            };
            vec![
                one(Instr::Issue(issue)),
                between,
                one(Instr::Commit(0)),
                one(wait),
                after,
            ]
        },
    );
    let with_tokens = (
        issue(),
        token(),
        token(),
        prop::collection::vec(token(), 1..2),
        step(),
    )
        .prop_map(|(issue, first, second, joined, after)| {
            let issue = Issue {
                tokens: vec![first],
                queue: None,
                ..issue
            };
            vec![
                Step(vec![Instr::Define(vec![first]), Instr::Issue(issue)]),
                one(Instr::Join(second, joined)),
                one(Instr::Await(vec![second], ALL)),
                after,
            ]
        });
    let life = (buffer(), buffer(), step(), step()).prop_map(|(buffer, made, between, after)| {
        vec![
            one(Instr::Write(buffer)),
            between,
            one(Instr::Allocate(made)),
            after,
            one(Instr::Read(buffer)),
        ]
    });
    prop_oneof![
        6 => step().prop_map(|step| vec![step]),
        1 => in_group,
        1 => with_tokens,
        1 => life,
    ]
}

fn code() -> impl Strategy<Value = Code> {
    let bindings = || prop::collection::vec((token(), token()), 0..3);
    let edge = (any::<prop::sample::Index>(), bindings());
    let block = (
        prop::collection::vec(steps(), 0..5).prop_map(|steps| steps.concat()),
        bindings(),
        prop::collection::vec(edge, 0..2),
    );
    prop::collection::vec(block, 1..=BLOCKS).prop_map(|blocks| {
        let number = blocks.len();
        let blocks = blocks
            .into_iter()
            .enumerate()
            .map(|(id, (steps, bindings, edges))| {
                // All are reached.
                let next = (id + 1 < number).then_some(BlockId(id + 1));
                let next = next.map(|to| Edge { to, bindings });
                let others = edges.into_iter().map(|(to, bindings)| Edge {
                    to: BlockId(to.index(number)),
                    bindings,
                });
                let edges = next.into_iter().chain(others);
                Block {
                    steps,
                    edges: edges.collect(),
                }
            });
        Code {
            blocks: blocks.collect(),
        }
    })
}

fn places() -> impl Strategy<Value = Vec<Place>> {
    let place = (0..6_u64, 0..4_u64).prop_map(|(start, bytes)| Place {
        start,
        end: start + bytes,
    });
    prop::collection::vec(place, BUFFERS)
}

fn config() -> ProptestConfig {
    let from_env = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(10_000, |_| from_env.cases),
        failure_persistence: None,
        ..from_env
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn it_accepts_if_and_only_if_no_two_buffers_that_share_bytes_are_in_use_at_once(
        code in code(), places in places(), barriers in any::<bool>()
    ) {
        let sharing = if barriers { Sharing::Barriers } else { Sharing::Liveness };
        let verdict = check(&code, &places.clone().into(), sharing);
        match verdict {
            Ok(()) => prop_assert!(!is_wrong(&code, &places, sharing, SHORT)),
            Err(refusal) => {
                let is_wrong = [SHORT, LONG].iter().any(|&length| is_wrong(&code, &places, sharing, length));
                prop_assert!(is_wrong, "{:?}", refusal);
                prop_assert!(
                    refusal.fault == Fault::InFlight
                        || places[refusal.buffer.0].meets(places[refusal.other.0])
                );
            }
        }
    }
}

/// Many buffers that are used one after the other cost what they are, not what pairs of them there are.
#[test]
fn a_long_row_of_buffers_is_checked() {
    const NUMBER: usize = 4000;
    let steps = (0..NUMBER).flat_map(|buffer| {
        let buffer = BufferId(buffer);
        [Step(vec![Instr::Write(buffer)]), Step(vec![Instr::Read(buffer)])]
    });
    let code = Code {
        blocks: vec![Block {
            steps: steps.collect(),
            edges: Vec::new(),
        }]
        .into(),
    };
    let same = vec![Place { start: 0, end: 4 }; NUMBER];
    assert_eq!(check(&code, &same.into(), Sharing::Liveness), Ok(()));
}
