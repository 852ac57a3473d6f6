//! Interprets a program one item at a time, along all paths, with one instance of an operation followed.

use crate::age::Age;
use crate::eval::{NO_WAIT, WaitCount, count};
use crate::program::{Await, Commits, Graph, Item, Queue, Site, Slot, Target, Token};
use rustc_hash::FxHashMap;

/// Where an execution is in a graph: at an item of a block that is run next.
#[derive(Clone)]
pub(super) struct Cursor<'p> {
    pub graph: &'p Graph,
    pub block: usize,
    pub item: usize,
    /// Iterations done, in the body of a constant-trip loop.
    iteration: u64,
}

/// An execution so far.
#[derive(Clone)]
pub(super) struct State<'p> {
    /// The places in the graphs around, outermost first.
    pub places: Vec<Cursor<'p>>,
    /// The instance that is followed, once it is issued: who holds it, what it is, how old.
    traced: Option<(Token, Site, Age)>,
    /// All instances in flight, where they are asked for; none is followed then.
    pub in_flight: Option<Vec<(Site, Age)>>,
}

pub(super) type Key = (Vec<(*const Graph, usize, usize, u64)>, Option<(Token, Age)>);

impl State<'_> {
    pub fn key(&self) -> Key {
        let place = |p: &Cursor| (std::ptr::from_ref(p.graph), p.block, p.item, p.iteration);
        let traced = self.traced.map(|(token, _, age)| (token, age));
        (self.places.iter().map(place).collect(), traced)
    }

    /// Changes the age of every instance; returns false if the one followed is complete.
    fn age(&mut self, change: impl Fn(Age) -> Age) -> bool {
        if let Some(in_flight) = &mut self.in_flight {
            for (_, age) in in_flight.iter_mut() {
                *age = change(*age);
            }
            in_flight.retain(|(_, age)| *age != Age::DONE);
        }
        if let Some((_, _, age)) = &mut self.traced {
            *age = change(*age);
            return *age != Age::DONE;
        }
        true
    }

    /// The states in which the instance is held by what `from` is bound to, and by what holds it now
    /// if that is not bound anew.
    fn bind(self, from: &[Token], to: &[Token]) -> Vec<Self> {
        let Some((held, site, age)) = self.traced else {
            return vec![self];
        };
        let mut states: Vec<Self> = from
            .iter()
            .zip(to)
            .filter(|(from, _)| **from == held)
            .map(|(_, &to)| Self {
                traced: Some((to, site, age)),
                ..self.clone()
            })
            .collect();
        if !to.contains(&held) {
            states.push(self);
        }
        states
    }
}

pub(super) struct Interpreter<'a> {
    pub queue: Queue,
    /// True if it is reads that are followed.
    pub reads: bool,
    pub commits: &'a Commits,
    pub counts: Vec<WaitCount>,
    pub goal: Await,
    pub goal_count: WaitCount,
    pub numbers: FxHashMap<*const Graph, usize>,
}

pub(super) enum Next<'p> {
    Goal(Site),
    States(Vec<(State<'p>, usize)>),
}

impl Interpreter<'_> {
    pub fn start(body: &Graph) -> State<'_> {
        State {
            places: vec![Cursor {
                graph: body,
                block: 0,
                item: 0,
                iteration: 0,
            }],
            traced: None,
            in_flight: None,
        }
    }

    fn commit(&self, state: &mut State, slot: Option<Slot>) {
        if let Some(slot) = slot {
            for _ in 0..self.commits[slot.0 as usize] {
                state.age(Age::commit);
            }
        }
    }

    pub fn next<'p>(&self, mut state: State<'p>) -> Next<'p> {
        let Some(place) = state.places.last_mut() else {
            return Next::States(Vec::new());
        };
        let block = &place.graph.blocks[place.block];
        let first = place.item == 0;
        let Some(item) = block.items.get(place.item) else {
            return Next::States(self.leave_block(&state));
        };
        place.item += 1;
        if first {
            self.commit(&mut state, block.start);
        }
        let plain = |states: Vec<State<'p>>| Next::States(states.into_iter().map(|s| (s, 0)).collect());
        plain(match item {
            Item::Issue { .. } | Item::Commit { .. } => self.issue(state, item),
            Item::Wait { queue, n, read } => {
                let n = WaitCount::try_from(*n).unwrap_or(NO_WAIT);
                let here = *queue == self.queue && (self.reads || !*read);
                let alive = !here || n == NO_WAIT || state.age(|age| age.wait(n));
                if alive { vec![state] } else { Vec::new() }
            }
            Item::Await { site, tokens, .. } => {
                if let Some((held, awaited, age)) = state.traced
                    && *site == self.goal
                    && tokens.contains(&held)
                    && count(age) == self.goal_count
                {
                    return Next::Goal(awaited);
                }
                let n = self.counts[site.0 as usize];
                let alive = n == NO_WAIT || state.age(|age| age.wait(n));
                if alive { vec![state] } else { Vec::new() }
            }
            Item::Point(slot) => {
                self.commit(&mut state, Some(*slot));
                vec![state]
            }
            Item::Join { token, of } => {
                let to = vec![*token; of.len()];
                if of.is_empty() {
                    state.bind(&[], &[*token])
                } else {
                    state.bind(of, &to)
                }
            }
            Item::Nested(nested) => Self::enter(state, &nested.graph, &nested.inits),
            Item::Repeat(repeat) if repeat.trip == 0 => {
                let mut states = state.bind(&repeat.inits, &repeat.results);
                for state in &mut states {
                    self.commit(state, repeat.after);
                }
                states
            }
            Item::Repeat(repeat) => Self::enter(state, &repeat.body, &repeat.inits),
        })
    }

    /// Issues an operation, which may be the one to follow, or commits.
    fn issue<'p>(&self, mut state: State<'p>, item: &Item) -> Vec<State<'p>> {
        let mut states = Vec::new();
        match item {
            Item::Issue {
                site,
                queue,
                token,
                read,
                slot,
            } => {
                let here = *queue == self.queue;
                let (token, other) = if self.reads { (read, token) } else { (token, read) };
                if let (true, Some(in_flight)) = (here, &mut state.in_flight) {
                    in_flight.push((*site, Age::OPEN));
                } else if let (None, true, Some(token)) = (state.traced, here, token) {
                    states.push(State {
                        traced: Some((*token, *site, Age::OPEN)),
                        ..state.clone()
                    });
                }
                let defined: Vec<Token> = token.iter().chain(other).copied().collect();
                states.extend(state.bind(&[], &defined));
                for state in &mut states {
                    self.commit(state, *slot);
                }
            }
            Item::Commit { queue, token } => {
                if *queue == self.queue {
                    // The token of the group is as good as the operation's own.
                    let closes = matches!(state.traced, Some((_, _, Age::OPEN)));
                    state.age(Age::commit);
                    if let (true, false, Some(token), Some((_, site, age))) =
                        (closes, self.reads, token, state.traced)
                    {
                        states.push(State {
                            traced: Some((*token, site, age)),
                            ..state.clone()
                        });
                    }
                }
                let token: Vec<Token> = token.iter().copied().collect();
                states.extend(state.bind(&[], &token));
            }
            _ => states.push(state),
        }
        states
    }

    fn enter<'p>(mut state: State<'p>, graph: &'p Graph, inits: &[Token]) -> Vec<State<'p>> {
        let Some(first) = graph.blocks.first() else {
            return Vec::new();
        };
        state.places.push(Cursor {
            graph,
            block: 0,
            item: 0,
            iteration: 0,
        });
        state.bind(inits, &first.params)
    }

    /// Takes every edge of the block that ends; each state comes with its edge.
    fn leave_block<'p>(&self, state: &State<'p>) -> Vec<(State<'p>, usize)> {
        let mut out = Vec::new();
        let Some(place) = state.places.last() else {
            return out;
        };
        let block = &place.graph.blocks[place.block];
        for (e, edge) in block.edges.iter().enumerate() {
            let mut next = state.clone();
            if block.items.is_empty() {
                self.commit(&mut next, block.start);
            }
            let states = match edge.to {
                Target::Block(to) => {
                    if let Some(place) = next.places.last_mut() {
                        place.block = to;
                        place.item = 0;
                    }
                    next.bind(&edge.args, &place.graph.blocks[to].params)
                }
                Target::Exit => self.exit(next, &edge.args),
            };
            out.extend(states.into_iter().map(|state| (state, e)));
        }
        out
    }

    fn exit<'p>(&self, mut state: State<'p>, args: &[Token]) -> Vec<State<'p>> {
        let Some(inner) = state.places.pop() else {
            return Vec::new();
        };
        let Some(outer) = state.places.last() else {
            return Vec::new();
        };
        match &outer.graph.blocks[outer.block].items[outer.item - 1] {
            Item::Repeat(repeat) if inner.iteration + 1 < repeat.trip => {
                state.places.push(Cursor {
                    block: 0,
                    item: 0,
                    iteration: inner.iteration + 1,
                    ..inner
                });
                let params = repeat.body.blocks.first();
                state.bind(args, params.map_or(&[], |block| &block.params))
            }
            item => {
                let results: Vec<Token> = crate::program_info::defs(item).collect();
                let mut states = state.bind(args, &results);
                for state in &mut states {
                    self.commit(state, item.after());
                }
                states
            }
        }
    }
}
