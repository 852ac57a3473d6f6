//! Computes what the open group may hold at each point, by a forward dataflow analysis, and checks whether a
//! placement of commits is legal.
//!
//! The state of a path is whether anything is in the open group, and how many operations that have a slot (0, 1, or
//! more). What may be at a point is a set of states, and each step maps states one by one; so loops run to a fixed
//! point or a period, and a graph entered with the same set twice is run once.

use super::{Options, QueuePlacer};
use crate::program::{Commits, Graph, Item, Slot, Target, ensure_sufficient_stack};
use crate::program_info::GraphInfo;
use std::rc::Rc;

/// Of placements with so many slots in all it is remembered what is open: several searches look at the same ones.
const KNOWN_SLOTS: usize = 1 << 16;
/// Of so many placements it is remembered however many slots they have.
const KNOWN_PLACEMENTS: usize = 4;

/// A set of states, one bit each: nothing is open; counted operations alone; one operation that has a slot; more.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OpenStates(pub u8);

impl OpenStates {
    pub const NOTHING: Self = Self(0b0001);
    pub const SETS: usize = 16;

    /// Returns true if some path comes here.
    pub fn reached(self) -> bool {
        self.0 != 0
    }

    /// Returns true if something is open on some path.
    pub fn may_hold(self) -> bool {
        self.0 & 0b1110 != 0
    }

    /// Returns true if nothing is open on some path.
    fn may_be_empty(self) -> bool {
        self.0 & 0b0001 != 0
    }

    /// Returns true if two operations that have slots are open on some path.
    fn may_be_shared(self) -> bool {
        self.0 & 0b1000 != 0
    }

    /// Returns true if an operation that has a slot is open on some path.
    pub fn may_hold_slotted(self) -> bool {
        self.0 & 0b1100 != 0
    }

    /// Returns true if closing it closes a group that is nonempty: on some execution, or on all as the options may have
    /// it.
    fn may_be_closed(self, options: &Options) -> bool {
        !self.reached() || self.may_hold() && (options.balance || !self.may_be_empty())
    }

    /// Returns true if the commits at a slot where this is open may be there.
    pub fn is_legal_at(
        self,
        slot: usize,
        (commits, padding): (&Commits, &Commits),
        options: &Options,
    ) -> bool {
        let real = commits[slot].saturating_sub(padding[slot]);
        commits[slot] == 0
            || real <= 1
                && (real == 0 || self.may_be_closed(options))
                && (options.form_groups || !self.may_be_shared())
    }

    fn issue(self, slotted: bool) -> Self {
        let (empty, counted, one, more) = (self.0 & 1, self.0 >> 1 & 1, self.0 >> 2 & 1, self.0 >> 3 & 1);
        Self(if slotted {
            (empty | counted) << 2 | (one | more) << 3
        } else {
            (empty | counted) << 1 | one << 2 | more << 3
        })
    }

    fn commit(self) -> Self {
        if self.reached() { Self::NOTHING } else { self }
    }

    fn join(&mut self, other: Self) -> bool {
        let before = *self;
        self.0 |= other.0;
        before != *self
    }
}

/// What may be open where.
#[derive(Default)]
pub(super) struct OpenGroups {
    /// At each slot, before its commits.
    pub at: Vec<OpenStates>,
    /// At the commits of the program itself.
    pub given: OpenStates,
    /// Where the program ends.
    pub end: OpenStates,
}

impl OpenGroups {
    /// Returns true if a commit at a slot closes a group that is nonempty: on some execution, or on all as the options
    /// may have it.
    pub fn allows(&self, slot: Slot, options: &Options) -> bool {
        self.at[slot.0 as usize].may_be_closed(options)
    }
}

impl QueuePlacer<'_> {
    /// Returns what may be open where, for these commits.
    pub(super) fn open_groups(&self, commits: &Commits) -> Rc<OpenGroups> {
        let mut known = self.open_groups.borrow_mut();
        if let Some(open) = known.get(commits) {
            return Rc::clone(open);
        }
        let open = Rc::new(self.open_groups_anew(commits));
        if known.len() >= KNOWN_PLACEMENTS && known.len() * commits.len() > KNOWN_SLOTS {
            known.clear();
        }
        known.insert(commits.clone(), Rc::clone(&open));
        open
    }

    fn open_groups_anew(&self, commits: &Commits) -> OpenGroups {
        let mut run = Run {
            placer: self,
            commits,
            known: vec![[None; OpenStates::SETS]; self.program_info.graphs],
            blocks: Vec::new(),
            out: OpenGroups {
                at: vec![OpenStates::default(); commits.len()],
                given: OpenStates::default(),
                end: OpenStates::default(),
            },
        };
        let end = run.graph(&self.program.body, &self.program_info.root, OpenStates::NOTHING);
        run.out.end.join(end);
        run.out
    }

    /// Returns true if each commit closes a group that is nonempty on some execution (without `balance`: on all),
    /// and, without `form_groups`, a single operation. A slot may have, in addition, as many empty groups as `padding` says.
    pub(super) fn is_legal(&self, commits: &Commits, padding: &Commits, options: &Options) -> bool {
        let open = self.open_groups(commits);
        let each = open
            .at
            .iter()
            .enumerate()
            .all(|(slot, open)| open.is_legal_at(slot, (commits, padding), options));
        let alone = !open.given.may_be_shared() && !open.end.may_hold_slotted();
        let drained = !self.commits_all() || !open.end.may_hold_slotted();
        each && drained && (options.form_groups || alone)
    }

    /// Returns how many of the commits at each slot are always empty.
    pub(super) fn padding(&self, commits: &Commits) -> Commits {
        let open = self.open_groups(commits);
        let slots = commits.iter().zip(&open.at);
        slots
            .map(|(&n, open)| {
                if open.reached() && open.may_hold() {
                    n.saturating_sub(1)
                } else {
                    n
                }
            })
            .collect()
    }
}

pub(super) struct Run<'a> {
    pub placer: &'a QueuePlacer<'a>,
    pub commits: &'a Commits,
    /// For each graph and set on entry, the set on exit.
    pub known: Vec<[Option<OpenStates>; OpenStates::SETS]>,
    /// For each block of the current graph, and before them those of the graphs around it: the set on entry, and whether
    /// the block has been run with it.
    pub blocks: Vec<(OpenStates, bool)>,
    pub out: OpenGroups,
}

impl Run<'_> {
    fn graph(&mut self, graph: &Graph, info: &GraphInfo, entry: OpenStates) -> OpenStates {
        if let Some(known) = self.known[info.id][usize::from(entry.0)] {
            return known;
        }
        let mut exit = OpenStates::default();
        let first = self.blocks.len();
        let end = first + graph.blocks.len();
        self.blocks.resize(end, (OpenStates::default(), false));
        if let Some((open, _)) = self.blocks.get_mut(first) {
            *open = entry;
        }
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &b in &info.sequence {
                let (open, run) = &mut self.blocks[first + b];
                if !open.reached() || std::mem::replace(run, true) {
                    continue;
                }
                let (block, open) = (&graph.blocks[b], *open);
                let mut open = self.slot(block.start, open);
                let mut inner = info.blocks[b].inner.iter();
                for item in &block.items {
                    open = self.item(item, &mut inner, open);
                }
                if block.edges.is_empty() {
                    self.out.end.join(open);
                }
                for edge in &block.edges {
                    match edge.to {
                        Target::Exit => _ = exit.join(open),
                        Target::Block(to) => {
                            let (known, run) = &mut self.blocks[first + to];
                            if known.join(open) {
                                *run = false;
                                changed = true;
                            }
                        }
                    }
                }
            }
        }
        self.blocks.truncate(first);
        self.known[info.id][usize::from(entry.0)] = Some(exit);
        exit
    }

    pub fn slot(&mut self, slot: Option<Slot>, open: OpenStates) -> OpenStates {
        let Some(slot) = slot else { return open };
        self.out.at[slot.0 as usize].join(open);
        if self.commits[slot.0 as usize] > 0 {
            open.commit()
        } else {
            open
        }
    }

    pub fn item(
        &mut self,
        item: &Item,
        inner: &mut std::slice::Iter<GraphInfo>,
        open: OpenStates,
    ) -> OpenStates {
        let open = match item {
            Item::Issue { queue, slot, .. } if *queue == self.placer.queue => {
                if open.reached() {
                    open.issue(slot.is_some())
                } else {
                    open
                }
            }
            Item::Commit { queue, .. } if *queue == self.placer.queue => {
                self.out.given.join(open);
                open.commit()
            }
            Item::Nested(nested) => match inner.next() {
                Some(info) => ensure_sufficient_stack(|| self.graph(&nested.graph, info, open)),
                None => open,
            },
            Item::Repeat(repeat) => match inner.next() {
                Some(info) => {
                    ensure_sufficient_stack(|| self.iterations(&repeat.body, info, repeat.trip, open))
                }
                None => open,
            },
            _ => open,
        };
        self.slot(item.after(), open)
    }

    fn iterations(&mut self, body: &Graph, info: &GraphInfo, trip: u64, mut open: OpenStates) -> OpenStates {
        let mut seen = [None; OpenStates::SETS];
        let mut left = trip;
        while left > 0 {
            if let Some(before) = seen[usize::from(open.0)].replace(left) {
                // The set came back: skip whole periods.
                let period: u64 = before - left;
                left %= period;
                seen = [None; OpenStates::SETS];
                if left == 0 {
                    break;
                }
            }
            open = self.graph(body, info, open);
            left -= 1;
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brute_force::{commits, explore, issues, queues};
    use crate::oracle::code::{self, Code};
    use crate::oracle::generate::{Style, any_program, config};
    use crate::program::{Program, Queue};
    use proptest::prelude::*;

    /// What is open on some execution, by its definition: the states at each slot, at given commits, and at the end.
    fn brute_force(
        program: &Program,
        queue: Queue,
        commits: &Commits,
    ) -> (Vec<OpenStates>, OpenStates, OpenStates) {
        let code = Code::new(program);
        let issues = issues(program, &code);
        let mut at_slot = vec![OpenStates::default(); commits.len()];
        let (mut given, mut end) = (OpenStates::default(), OpenStates::default());
        // Whether anything is open, and how many operations with a slot, up to two.
        explore(&code, (false, 0), |at, step, (any, slotted)| {
            let state = OpenStates(1 << if any { 1 + slotted } else { 0 });
            let next = match step {
                code::Step::Issue { queue: q, .. } if *q == queue => {
                    (true, 2.min(slotted + u8::from(issues[&at].1)))
                }
                code::Step::Commit { queue: q, .. } if *q == queue => {
                    given.join(state);
                    (false, 0)
                }
                code::Step::Slot(slot) => {
                    at_slot[slot.0 as usize].join(state);
                    if commits[slot.0 as usize] > 0 {
                        (false, 0)
                    } else {
                        (any, slotted)
                    }
                }
                code::Step::Halt => {
                    end.join(state);
                    (any, slotted)
                }
                _ => (any, slotted),
            };
            vec![next]
        });
        (at_slot, given, end)
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn is_what_executions_have_open(recipe in any_program(Style::Mixed), seed in any::<u64>()) {
            let program = recipe.program();
            for queue in queues(&program) {
                let placer = QueuePlacer::new(&program, queue, &Options::default());
                for commits in [commits(&program, queue, 0), commits(&program, queue, seed)] {
                    let found = placer.open_groups(&commits);
                    let bits = |open: &[OpenStates]| open.iter().map(|open| open.0).collect::<Vec<_>>();
                    let (at, given, end) = brute_force(&program, queue, &commits);
                    prop_assert_eq!((bits(&found.at), found.given.0, found.end.0), (bits(&at), given.0, end.0));
                }
            }
        }
    }
}
