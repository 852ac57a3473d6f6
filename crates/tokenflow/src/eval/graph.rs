//! Evaluates graphs: blocks in order, or to a fixed point. Outcomes are memoized.

use super::{Evaluator, Mode, Outcome};
use crate::age::{Age, AgeMap};
use crate::program::{Graph, Target};
use crate::program_info::GraphInfo;
use std::collections::BTreeSet;

/// Remembered outcomes per graph.
const MEMO_LIMIT: usize = 8;

/// The outcome of a graph for some ages on entry.
pub(super) struct Remembered {
    version: u64,
    mode: Mode,
    key: Vec<Age>,
    outcome: Option<Outcome>,
}

impl<'p> Evaluator<'p> {
    /// Runs a graph, in a frame of its own.
    pub fn graph(&mut self, graph: &'p Graph, info: &'p GraphInfo, inits: &[Age]) -> Option<Outcome> {
        let key = (self.mode != Mode::Assign && info.has_loop).then(|| {
            let mut key = self.tokens.ages(&info.captured);
            key.extend_from_slice(inits);
            key
        });
        if let Some(key) = &key {
            let (version, mode) = (self.version, self.mode);
            if let Some(hit) = self.memo[info.id]
                .iter()
                .find(|r| r.version == version && r.mode == mode && r.key == *key)
            {
                return hit.outcome.clone();
            }
        }
        let (version, mode) = (self.version, self.mode);
        self.tokens.enter(AgeMap::identity());
        let outcome = self.blocks(graph, info, inits);
        self.tokens.leave();
        // An outcome for which a count changed on the way holds for no version.
        if let (Some(key), true) = (key, version == self.version) {
            let memo = &mut self.memo[info.id];
            memo.retain(|r| r.version == version && r.mode == mode);
            if memo.len() == MEMO_LIMIT {
                memo.remove(0);
            }
            memo.push(Remembered {
                version,
                mode,
                key,
                outcome: outcome.clone(),
            });
        }
        outcome
    }

    fn blocks(&mut self, graph: &'p Graph, info: &'p GraphInfo, inits: &[Age]) -> Option<Outcome> {
        let mut states: Vec<Option<Outcome>> = vec![None; graph.blocks.len()];
        let mut exit: Option<Outcome> = None;
        if let Some(first) = states.first_mut() {
            *first = Some(Outcome {
                table: AgeMap::identity(),
                results: inits.to_vec(),
            });
        }
        if !info.cyclic {
            for &b in &info.sequence {
                if let Some(state) = states[b].take()
                    && self.block(graph, info, b, &state)
                {
                    self.leave(graph, info, b, &mut states, &mut exit, &mut |_| {});
                }
            }
            return exit;
        }
        let mut work = BTreeSet::from([(0, 0)]);
        while let Some((_, b)) = work.pop_first() {
            let Some(state) = &states[b] else { continue };
            let state = state.clone();
            if self.block(graph, info, b, &state) {
                self.leave(graph, info, b, &mut states, &mut exit, &mut |to| {
                    work.insert((info.order[to].unwrap_or(usize::MAX), to));
                });
            }
        }
        exit
    }

    /// Hands the state after block `b` over to the blocks that its edges lead to, and names those whose
    /// state that changes.
    fn leave(
        &mut self,
        graph: &Graph,
        info: &GraphInfo,
        b: usize,
        states: &mut [Option<Outcome>],
        exit: &mut Option<Outcome>,
        changed: &mut dyn FnMut(usize),
    ) {
        for edge in &graph.blocks[b].edges {
            let mut results = self.tokens.ages(&edge.args);
            let target = match edge.to {
                Target::Block(to) => {
                    results.extend(self.tokens.ages(&info.blocks[to].live_in));
                    &mut states[to]
                }
                Target::Exit => &mut *exit,
            };
            let Some(&table) = self.tokens.table() else {
                continue;
            };
            let arrived = Outcome { table, results };
            let news = if let Some(state) = target {
                meet(state, &arrived, self.mode)
            } else {
                *target = Some(arrived);
                true
            };
            if let (true, Target::Block(to)) = (news, edge.to) {
                changed(to);
            }
        }
    }

    /// Runs block `b` from `state`, which stays in the innermost frame; returns false if control
    /// doesn't reach its end.
    fn block(&mut self, graph: &'p Graph, info: &'p GraphInfo, b: usize, state: &Outcome) -> bool {
        self.work += 1;
        let block = &graph.blocks[b];
        self.tokens.go_to(state.table);
        let live_in = &info.blocks[b].live_in;
        for (token, age) in block.params.iter().chain(live_in).zip(&state.results) {
            self.tokens.define(*token, *age);
        }
        self.commits_at(block.start);
        let mut inner = info.blocks[b].inner.iter();
        block.items.iter().all(|item| self.item(item, &mut inner))
    }
}

/// Makes `state` the state of two paths that meet; returns true if that changed it.
pub(super) fn meet(state: &mut Outcome, other: &Outcome, mode: Mode) -> bool {
    if mode == Mode::ConstantDistance {
        return agree(state, other);
    }
    let mut changed = state.table.meet(&other.table);
    for (age, other) in state.results.iter_mut().zip(&other.results) {
        if *other < *age {
            *age = *other;
            changed = true;
        }
    }
    changed
}

fn agree(state: &mut Outcome, other: &Outcome) -> bool {
    let mut changed = state.table.agree(&other.table);
    for (age, other) in state.results.iter_mut().zip(&other.results) {
        if *age != *other && *age != Age::DONE {
            *age = Age::DONE;
            changed = true;
        }
    }
    changed
}
