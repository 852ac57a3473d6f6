//! Finds commits that every solution needs, without a trial.
//!
//! Where the steps of a straight line commit as much on all paths, a wait that leaves `n` groups in flight completes the one before
//! these, and all before. If that is the group of the youngest operation that may be awaited, the wait has to complete it, and nothing
//! after it. Were it merged with the next group, or were a path to lack a commit between the two and the await, the wait would complete
//! an operation of the next group as well, which may be in flight at the same time: what operations a step issues does not depend on
//! other steps.
//!
//! Conservative: nothing is known of groups that an await follows only after a step that commits inside, and of bodies whose graphs
//! await or repeat.

use super::QueuePlacer;
use super::queue_placer::touches;
use crate::counts::{Count, QueueSolution};
use crate::program::{Item, Queue, Slot, Token};
use crate::straight_line::{Step, StraightLine};

/// The groups that steps of a straight line commit at their ends.
pub(super) struct NeededGroups {
    groups: Vec<Group>,
    /// For each slot, the group that is committed there, plus one, or 0.
    by_slot: Vec<u32>,
}

/// A group, and what is known of the awaits that have to complete it and nothing after it.
#[derive(Default)]
struct Group {
    has_operations: bool,
    /// How many younger groups such an await leaves in flight: the least and the most of all.
    in_flight: Option<(usize, usize)>,
    /// True if it is left in flight by one that has to complete an older group, and operations are in the group right after that.
    is_left_in_flight: bool,
}

impl NeededGroups {
    /// Returns true if no solution without the commit at `slot` is as good, whatever else it leaves out: some await would complete
    /// more, or would await an operation that is in no group yet.
    pub fn need(&self, slot: Slot) -> bool {
        let Some(group) = self.at(slot) else { return false };
        self.groups[group].in_flight.is_some_and(|(least, _)| {
            // With none in flight, the await comes before the next commit.
            least == 0 || self.groups[group + 1].has_operations
        })
    }

    /// Returns true if some await completes more once a path has no commit at `slot`, and others do.
    pub fn need_on_all_paths(&self, slot: Slot) -> bool {
        self.at(slot)
            .is_some_and(|group| self.groups[group].is_left_in_flight)
    }

    fn at(&self, slot: Slot) -> Option<usize> {
        (self.by_slot[slot.0 as usize] as usize).checked_sub(1)
    }
}

impl QueuePlacer<'_> {
    /// What is known of the groups of `solution`, if anything.
    pub(super) fn needed_groups(&self, solution: &QueueSolution) -> Option<NeededGroups> {
        let body = self
            .body()
            .filter(|_| !self.reads() && solution.uncovered.is_empty())?;
        let mut reader = Reader {
            queue: self.queue,
            solution,
            group_of: vec![0; self.program.tokens as usize],
            found: NeededGroups {
                groups: Vec::new(),
                by_slot: vec![0; self.program.slots as usize],
            },
            open: Group::default(),
            first: 0,
        };
        for step in 0..body.line.len() {
            match body.line.step(body.program, body.program_info, step) {
                Step::Start(slot) => reader.commit(body.line, step, slot),
                Step::Item(item, info) => {
                    let repeats = matches!(item, Item::Repeat(_)) || info.iter().any(|info| info.has_loop);
                    if repeats || info.iter().any(|info| !info.awaits.is_empty()) {
                        return None;
                    }
                    reader.item(item);
                    reader.commit(body.line, step, item.after());
                }
            }
        }
        Some(reader.finish())
    }
}

struct Reader<'a> {
    queue: Queue,
    solution: &'a QueueSolution,
    /// The youngest group that a token's operations may be in.
    group_of: Vec<usize>,
    found: NeededGroups,
    open: Group,
    /// The first group after the last step that commits inside.
    first: usize,
}

impl Reader<'_> {
    fn item(&mut self, item: &Item) {
        let group = self.found.groups.len();
        match item {
            Item::Issue { token, .. } => token.iter().for_each(|token| self.define(*token, group)),
            Item::Nested(nested) => nested.results.iter().for_each(|token| self.define(*token, group)),
            Item::Join { token, of } => self.define(*token, self.youngest(of)),
            Item::Await { site, tokens, .. } => {
                if let Some(count) = self.solution.waits[site.0 as usize] {
                    self.wait(count, self.youngest(tokens));
                }
            }
            _ => {}
        }
        self.open.has_operations |= touches(item, self.queue);
    }

    fn define(&mut self, token: Token, group: usize) {
        self.group_of[token.0 as usize] = group;
    }

    fn youngest(&self, tokens: &[Token]) -> usize {
        let groups = tokens.iter().map(|token| self.group_of[token.0 as usize]);
        groups.max().unwrap_or(0)
    }

    /// Notes a wait for operations of `group` and older ones.
    fn wait(&mut self, count: Count, group: usize) {
        let groups = &mut self.found.groups;
        let n = usize::from(count.n);
        if !count.clamped && group >= self.first && group + 1 + n == groups.len() {
            let known = &mut groups[group].in_flight;
            *known = known.map_or(Some((n, n)), |(least, most)| Some((least.min(n), most.max(n))));
        }
    }

    /// Reads what is committed in `step`.
    fn commit(&mut self, line: &StraightLine, step: usize, after: Option<Slot>) {
        let commits = &self.solution.commits;
        let after = after.map(|slot| slot.0 as usize);
        let mut slots = line.slots(step..step + 1);
        if slots.any(|slot| commits[slot] > u32::from(Some(slot) == after)) {
            // What is committed later is in a group of its own in any case.
            self.found.groups.push(Group::default());
            self.first = self.found.groups.len();
            self.open = Group::default();
        } else if let Some(slot) = after.filter(|slot| commits[*slot] > 0) {
            self.found.groups.push(std::mem::take(&mut self.open));
            // There are no more groups than slots.
            self.found.by_slot[slot] = u32::try_from(self.found.groups.len()).unwrap_or(0);
        }
    }

    fn finish(mut self) -> NeededGroups {
        let groups = &mut self.found.groups;
        let mut end = 0;
        for i in 1..groups.len() {
            // Those that are in flight begin with the next group.
            if let Some((_, most)) = groups[i - 1].in_flight.filter(|_| groups[i].has_operations) {
                end = end.max(i + most);
            }
            groups[i].is_left_in_flight = i < end;
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::super::diamond::diamonds;
    use super::*;
    use crate::oracle::build::{Build, Q};
    use crate::oracle::generate::config;
    use crate::program::{Commits, Program};
    use crate::solve::Options;
    use proptest::prelude::*;
    use std::cell::Cell;

    /// Copies, of which some are under a condition, and awaits: of one of the two oldest or a choice of them, and in the end of all.
    fn window(steps: &[u8]) -> Program {
        let mut b = Build::new();
        let mut tokens = Vec::new();
        for &kind in steps {
            match kind {
                0 => tokens.push(b.copy()),
                1 | 2 => tokens.extend(b.if_else(|b| [b.copy()], |b| [b.ready()])),
                3 => tokens.extend(b.if_else(|b| [b.copy()], |b| [b.copy()])),
                _ if tokens.len() < 2 => {}
                4..7 => {
                    b.await_all(&[tokens.remove(0)]);
                }
                7 => {
                    b.await_all(&[tokens.remove(1)]);
                }
                _ => {
                    let [older, newer] = [tokens.remove(0), tokens.remove(0)];
                    tokens.extend(b.if_else(|_| [older], |_| [newer]));
                }
            }
        }
        for token in tokens {
            b.await_all(&[token]);
        }
        b.finish()
    }

    /// One group after each step.
    fn even(program: &Program) -> Commits {
        let mut commits = vec![0; program.slots as usize];
        for item in &program.body.blocks[0].items {
            if let (Item::Nested(_) | Item::Issue { .. }, Some(slot)) = (item, item.after()) {
                commits[slot.0 as usize] = 1;
            }
        }
        commits
    }

    fn all_are_needed(program: &Program) -> bool {
        let placer = QueuePlacer::new(program, Q, &Options::default());
        let base = placer.solve(even(program));
        let needed = placer.needed_groups(&base);
        needed.is_some_and(|needed| committed(&base).all(|slot| needed.need(slot)))
    }

    fn committed(solution: &QueueSolution) -> impl Iterator<Item = Slot> {
        let slots = (0..).zip(&solution.commits);
        slots.filter(|(_, n)| **n > 0).map(|(slot, _)| Slot(slot))
    }

    #[test]
    fn groups_that_are_awaited_one_by_one_are_all_needed() {
        let rolling = [[0, 1, 3], [4, 4, 4]].concat().repeat(8);
        assert!(all_are_needed(&window(&[0, 1, 3].repeat(8))));
        assert!(all_are_needed(&window(&rolling)));
    }

    #[test]
    fn groups_that_are_awaited_together_are_not() {
        let mut b = Build::new();
        for _ in 0..30 {
            let tokens = [b.copy(), b.copy()];
            b.await_all(&tokens);
        }
        assert!(!all_are_needed(&b.finish()));
    }

    /// Without one of them, or with fewer on some paths, some await completes more, or an open group.
    #[test]
    fn what_is_needed_is_needed() {
        let (all, some) = (Cell::new(0), Cell::new(0));
        let mut runner = proptest::test_runner::TestRunner::new(config(400));
        let steps = proptest::collection::vec(0..9_u8, 24..40);
        let result = runner.run(&(steps, any::<[u64; 4]>()), |(steps, [seed, half, a, b])| {
            let seed = if half % 2 == 0 { 0 } else { seed };
            let inside = half & a & b;
            let program = window(&steps);
            let placer = QueuePlacer::new(&program, Q, &Options::default());
            let Some(line) = placer.body().map(|body| body.line) else {
                return Ok(());
            };
            let copies = program.one_group_each(Q);
            let mut commits = even(&program);
            // Some steps commit inside.
            for step in (0..line.len()).filter(|step| inside >> (step % 64) & 1 == 1) {
                commits[line.slots(step..step + 1)].copy_from_slice(&copies[line.slots(step..step + 1)]);
            }
            let base = placer.solve(commits);
            let Some(needed) = placer.needed_groups(&base) else {
                return Ok(());
            };
            let is_worse = |commits: Commits| {
                let other = placer.solve(commits);
                let is_open = !other.uncovered.is_empty();
                is_open || !placer.compare(&base, &other).forces_no_more()
            };
            for slot in committed(&base).filter(|slot| needed.need(*slot)) {
                all.set(all.get() + 1);
                let mut commits = base.commits.clone();
                // Alone, or with others.
                for other in
                    committed(&base).filter(|other| *other == slot || seed >> (other.0 % 64) & 1 == 1)
                {
                    commits[other.0 as usize] = 0;
                }
                prop_assert!(is_worse(commits));
            }
            let graphs = diamonds(&program.body, &placer.program_info.root);
            for diamond in graphs.iter().flat_map(|graph| &graph.diamonds) {
                let Some(after) = diamond.after.filter(|slot| needed.need_on_all_paths(*slot)) else {
                    continue;
                };
                // In the arm that copies alone.
                let mut commits = base.commits.clone();
                let step = line.step_of(after.0 as usize);
                let slots = line.slots(step..step + 1);
                commits[slots.clone()].copy_from_slice(&copies[slots]);
                if commits.iter().sum::<u32>() == base.commits.iter().sum::<u32>() {
                    some.set(some.get() + 1);
                    prop_assert!(is_worse(commits));
                }
            }
            Ok(())
        });
        assert!(result.is_ok(), "{result:?}");
        assert!(all.get() > 0 && some.get() > 0, "{all:?}, {some:?}");
    }
}
