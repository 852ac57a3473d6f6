//! Finds where every operation of a queue is complete, whatever the commits: a forward must-analysis.
//!
//! Groups complete in order, and no operation is in an older group than one before it. So all are complete where the
//! latest one is: after an await of a token that is complete only after it, or after a wait of the program for its
//! group. The state of a path is the set of such tokens; where paths meet, those of both.

use crate::program::{Edge, Graph, Item, Program, Queue, Repeat, Target, Token, ensure_sufficient_stack};
use crate::program_info::{GraphInfo, ProgramInfo};
use rustc_hash::FxHashMap;

/// As many tokens of one operation are known; older ones are forgotten.
const KNOWN: usize = 16;

/// The latest operation on some path.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Latest {
    /// It is complete, or there is none.
    Complete,
    InFlight {
        /// Tokens that are complete only after the operation is, in the order met.
        held: Vec<Token>,
        /// How many commits of the program came after the one that closed the group of the operation; `None` if no
        /// commit of the program has closed it.
        commits: Option<u32>,
    },
}

impl Latest {
    fn holds(&self, token: Token) -> bool {
        matches!(self, Self::InFlight { held, .. } if held.contains(&token))
    }

    /// Defines a token; `holds` says whether it is one of the operation's.
    fn define(&mut self, token: Token, holds: bool) {
        let Self::InFlight { held, .. } = self else { return };
        held.retain(|other| *other != token);
        if holds {
            if held.len() == KNOWN {
                held.remove(0);
            }
            held.push(token);
        }
    }

    fn bind(&mut self, params: &[Token], args: &[Token]) {
        let holds: Vec<bool> = args.iter().map(|arg| self.holds(*arg)).collect();
        for (param, holds) in params.iter().zip(holds) {
            self.define(*param, holds);
        }
    }

    /// Makes this the state where this path and another one meet; returns true if that changed it.
    fn meet(&mut self, other: &Self) -> bool {
        match (&mut *self, other) {
            (_, Self::Complete) => false,
            (Self::Complete, _) => {
                *self = other.clone();
                true
            }
            (
                Self::InFlight { held, commits },
                Self::InFlight {
                    held: other,
                    commits: at,
                },
            ) => {
                let before = (held.len(), *commits);
                held.retain(|token| other.contains(token));
                *commits = (*commits).min(*at);
                before != (held.len(), *commits)
            }
        }
    }
}

/// Returns, for each item of the body's first block, whether control reaches its end and every operation of `queue` is
/// complete there.
pub(super) fn all_complete_after(program: &Program, program_info: &ProgramInfo, queue: Queue) -> Vec<bool> {
    let mut run = Run {
        queue,
        known: FxHashMap::default(),
    };
    let (Some(block), Some(info)) = (program.body.blocks.first(), program_info.root.blocks.first()) else {
        return Vec::new();
    };
    let mut state = Some(Latest::Complete);
    let mut inner = info.inner.iter();
    let after = block.items.iter().map(|item| {
        let info = item.graph().and_then(|_| inner.next());
        state = state.take().and_then(|state| run.item(item, info, state));
        state.as_ref().is_some_and(|state| *state == Latest::Complete)
    });
    after.collect()
}

struct Run {
    queue: Queue,
    /// For a graph and the state on entry, the state on exit, with the item's results bound.
    known: FxHashMap<(usize, Latest), Option<Latest>>,
}

impl Run {
    /// Runs one item; `None` if control does not return from it.
    fn item(&mut self, item: &Item, info: Option<&GraphInfo>, mut state: Latest) -> Option<Latest> {
        match item {
            Item::Issue {
                queue, token, read, ..
            } => {
                if *queue == self.queue {
                    state = Latest::InFlight {
                        held: token.iter().copied().collect(),
                        commits: None,
                    };
                } else {
                    for token in [token, read].into_iter().flatten() {
                        state.define(*token, false);
                    }
                }
            }
            Item::Commit { queue, token } => {
                let here = *queue == self.queue;
                if here && let Latest::InFlight { commits, .. } = &mut state {
                    *commits = Some(commits.map_or(0, |commits| commits.saturating_add(1)));
                }
                if let Some(token) = token {
                    state.define(*token, here);
                }
            }
            Item::Wait { queue, n, read } => {
                if *queue == self.queue
                    && !read
                    && matches!(&state, Latest::InFlight { commits: Some(commits), .. } if commits >= n)
                {
                    state = Latest::Complete;
                }
            }
            Item::Await { tokens, covered, .. } => {
                if !covered && tokens.iter().any(|token| state.holds(*token)) {
                    state = Latest::Complete;
                }
            }
            Item::Join { token, of } => {
                let holds = of.iter().any(|token| state.holds(*token));
                state.define(*token, holds);
            }
            Item::Point(_) => {}
            Item::Nested(nested) => {
                let (graph, info) = (&nested.graph, info?);
                bind_first(graph, &nested.inits, &mut state);
                return ensure_sufficient_stack(|| self.graph(graph, info, &nested.results, state));
            }
            Item::Repeat(repeat) => return ensure_sufficient_stack(|| self.repeat(repeat, info?, state)),
        }
        Some(state)
    }

    /// Runs a loop as if any number of its iterations, but at least one, were its trip count.
    fn repeat(&mut self, repeat: &Repeat, info: &GraphInfo, mut state: Latest) -> Option<Latest> {
        if repeat.trip == 0 {
            state.bind(&repeat.results, &repeat.inits);
            return Some(state);
        }
        bind_first(&repeat.body, &repeat.inits, &mut state);
        loop {
            let after = self.graph(&repeat.body, info, &repeat.results, state.clone())?;
            let mut again = after.clone();
            bind_first(&repeat.body, &repeat.results, &mut again);
            if repeat.trip == 1 || !state.meet(&again) {
                return Some(after);
            }
        }
    }

    /// Runs a graph whose first block's parameters are bound, and binds `results`.
    fn graph(&mut self, graph: &Graph, info: &GraphInfo, results: &[Token], state: Latest) -> Option<Latest> {
        let key = (info.id, state);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let exit = self.blocks(graph, info, results, key.1.clone());
        self.known.insert(key, exit.clone());
        exit
    }

    fn blocks(
        &mut self,
        graph: &Graph,
        info: &GraphInfo,
        results: &[Token],
        state: Latest,
    ) -> Option<Latest> {
        let mut states: Vec<Option<Latest>> = vec![None; graph.blocks.len()];
        let mut changed = vec![false; graph.blocks.len()];
        let mut exit = None;
        if let Some(first) = states.first_mut() {
            *first = Some(state);
            changed[0] = true;
        }
        while changed.contains(&true) {
            for &b in &info.sequence {
                if !std::mem::take(&mut changed[b]) {
                    continue;
                }
                let mut inner = info.blocks[b].inner.iter();
                let block = &graph.blocks[b];
                let end = block.items.iter().try_fold(states[b].clone()?, |state, item| {
                    let info = item.graph().and_then(|_| inner.next());
                    self.item(item, info, state)
                });
                let Some(end) = end else { continue };
                for edge in &block.edges {
                    let end = end.clone();
                    match edge.to {
                        Target::Exit => _ = arrive(&mut exit, results, edge, end),
                        Target::Block(to) => {
                            changed[to] |= arrive(&mut states[to], &graph.blocks[to].params, edge, end);
                        }
                    }
                }
            }
        }
        exit
    }
}

fn bind_first(graph: &Graph, inits: &[Token], state: &mut Latest) {
    if let Some(first) = graph.blocks.first() {
        state.bind(&first.params, inits);
    }
}

/// Hands a state over an edge; returns true if that changed the state there.
fn arrive(there: &mut Option<Latest>, params: &[Token], edge: &Edge, mut state: Latest) -> bool {
    state.bind(params, &edge.args);
    match there {
        Some(there) => there.meet(&state),
        None => {
            *there = Some(state);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brute_force::{commits, explore, queues};
    use crate::counts::{QueueSolution, solve_queue};
    use crate::oracle::build::{Build, Q, exit};
    use crate::oracle::code::{Code, Step};
    use crate::oracle::generate::{Style, any_program, config};
    use crate::program::Block;
    use proptest::prelude::*;

    /// What is found at the awaits and waits of the body.
    fn at_waits(program: &Program) -> Vec<bool> {
        let after = all_complete_after(program, &ProgramInfo::new(program), Q);
        let items = program.body.blocks[0].items.iter().zip(after);
        let waits = items.filter(|(item, _)| matches!(item, Item::Await { .. } | Item::Wait { .. }));
        waits.map(|(_, complete)| complete).collect()
    }

    #[test]
    fn the_latest_operation_counts() {
        let mut b = Build::new();
        let (first, second) = (b.copy(), b.copy());
        b.await_all(&[first]);
        b.await_all(&[second]);
        assert_eq!(at_waits(&b.finish()), [false, true]);
    }

    #[test]
    fn a_token_is_known_on_every_path() {
        let mut b = Build::new();
        let before = b.copy();
        let [both] = b.if_else(|b| [b.copy()], |b| [b.copy()]);
        let [one] = b.if_else(|b| [b.copy()], |_| [before]);
        b.await_all(&[both]);
        b.await_all(&[one]);
        // The other arm leaves `both` as the latest one.
        assert_eq!(at_waits(&b.finish()), [false, false]);

        let mut b = Build::new();
        let [either] = b.if_else(|b| [b.copy()], |b| [b.copy()]);
        b.await_all(&[either]);
        assert_eq!(at_waits(&b.finish()), [true]);
    }

    #[test]
    fn waits_of_the_program_count_its_commits() {
        let mut b = Build::given(1);
        b.counted_copy(Q);
        b.wait(Q, 0);
        b.commit(Q);
        b.wait(Q, 1);
        b.wait(Q, 0);
        assert_eq!(at_waits(&b.finish()), [false, false, true]);
    }

    /// Returns true if the latest operation of `queue` is in flight at the end of some execution.
    fn in_flight_at_end(program: &Program, queue: Queue, solution: &QueueSolution) -> bool {
        let mut found = false;
        // How many groups were committed after the latest operation, if it is in flight; none: not itself committed.
        let code = Code::new(program);
        explore(&code, None, |at, step, latest: Option<Option<u32>>| {
            let commit = |latest: Option<Option<u32>>| latest.map(|n| Some(n.map_or(0, |n| 70.min(n + 1))));
            let wait =
                |latest: Option<Option<u32>>, count: u32| latest.filter(|n| n.is_none_or(|n| n < count));
            let next = match step {
                Step::Issue { queue: q, .. } if *q == queue => Some(None),
                Step::Commit { queue: q, .. } if *q == queue => commit(latest),
                Step::Slot(slot) => {
                    let n = solution.commits[slot.0 as usize];
                    (0..n).fold(latest, |latest, _| commit(latest))
                }
                Step::Wait {
                    queue: q,
                    n,
                    own: true,
                } if *q == queue => wait(latest, *n),
                Step::Await { site, .. } => match solution.waits[site.0 as usize] {
                    Some(count) => wait(latest, count.n.into()),
                    None => latest,
                },
                Step::Halt => {
                    // What halts elsewhere never gets to the next item.
                    found |= at == code.end() && latest.is_some();
                    latest
                }
                _ => latest,
            };
            vec![next]
        });
        found
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn nothing_is_in_flight(recipe in any_program(Style::Stores), seed in any::<u64>()) {
            let program = recipe.program();
            let [block] = program.body.blocks.as_slice() else { return Ok(()) };
            for queue in queues(&program) {
                let after = all_complete_after(&program, &ProgramInfo::new(&program), queue);
                for commits in [commits(&program, queue, 0), commits(&program, queue, seed)] {
                    let solution = solve_queue(&program, queue, commits, true);
                    // No counts are sound if something awaited is not committed.
                    let is_sound = solution.uncovered.is_empty();
                    for i in (0..after.len()).filter(|&i| after[i] && is_sound) {
                        // A body that never returns has an end after the item, too.
                        let mut up_to = Block { items: block.items[..=i].to_vec(), ..block.clone() };
                        up_to.edges.push(exit(Vec::new()));
                        let body = Graph { blocks: vec![up_to] };
                        let prefix = Program { body, ..program.clone() };
                        prop_assert!(!in_flight_at_end(&prefix, queue, &solution), "after item {}", i);
                    }
                }
            }
        }
    }
}
