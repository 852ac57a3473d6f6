//! What-if queries about commits: which operations each closes, and what would become of awaits without it or with
//! it elsewhere.

use super::{Options, QueuePlacer};
use crate::counts::QueueSolution;
use crate::program::{
    Await, Commits, Graph, Item, Program, Queue, Site, Slot, Target, ensure_sufficient_stack,
};
use crate::program_info::GraphInfo;
use std::collections::{BTreeMap, BTreeSet};

/// What another placement of commits would do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MoveEffect {
    /// An await could be met with something that it awaits in no group yet.
    Uncommitted(Await),
    /// An await would wait for an operation that it does not wait for now.
    More(Await, Site),
    /// A wait of the program itself would wait for more.
    MoreAtWait,
    /// Operations would be left in no group at the end.
    LeftOpen,
    /// No await would wait for less.
    NoLess,
    /// Some await would wait for less, but an option keeps the placement from being one.
    Less(NotChosen),
}

/// What keeps a placement that forces less from being chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotChosen {
    /// Without [`Options::form_groups`], a group holds one operation.
    SharedGroup,
    /// Without [`Options::balance`], no group is empty on any execution.
    EmptyGroup,
    /// Neither: the search ended before it.
    Unsearched,
}

/// Returns the slots that commit, each with the operations that its groups may hold; padding holds none.
#[must_use]
pub fn operations_by_commit(
    program: &Program,
    queue: Queue,
    commits: &Commits,
) -> BTreeMap<Slot, BTreeSet<Site>> {
    let options = Options::default();
    let placer = QueuePlacer::new(program, queue, &options);
    let mut run = Run {
        queue,
        commits,
        closed: BTreeMap::new(),
    };
    for (slot, n) in (0..).map(Slot).zip(commits) {
        if *n > 0 {
            run.closed.insert(slot, BTreeSet::new());
        }
    }
    run.graph(&program.body, &placer.program_info.root, BTreeSet::new());
    run.closed
}

/// Returns what would happen if the commit at `from` stood at `to`, or nowhere.
#[must_use]
pub fn effect_of_move(
    program: &Program,
    queue: Queue,
    solution: &QueueSolution,
    options: &Options,
    (from, to): (Slot, Option<Slot>),
) -> MoveEffect {
    let placer = QueuePlacer::new(program, queue, options);
    let mut commits = solution.commits.clone();
    commits[from.0 as usize] -= 1;
    if let Some(to) = to {
        commits[to.0 as usize] += 1;
    }
    let other = placer.solve(commits);
    if let Some(&open) = other.uncovered.iter().find(|w| !solution.uncovered.contains(w)) {
        return MoveEffect::Uncommitted(open);
    }
    let comparison = placer.compare(solution, &other);
    if let Some((&w, sites)) = comparison.more.first_key_value()
        && let Some(&site) = sites.first()
    {
        return MoveEffect::More(w, site);
    }
    if comparison.more_at_waits {
        MoveEffect::MoreAtWait
    } else if comparison.left_open && placer.commits_all() {
        MoveEffect::LeftOpen
    } else if comparison.less {
        MoveEffect::Less(barred(&placer, &other.commits, options))
    } else {
        MoveEffect::NoLess
    }
}

fn barred(placer: &QueuePlacer, commits: &Commits, options: &Options) -> NotChosen {
    let padding = placer.padding(commits);
    let legal = |options: &Options| placer.is_legal(commits, &padding, options);
    let grouped = Options {
        form_groups: true,
        ..*options
    };
    if legal(options) {
        NotChosen::Unsearched
    } else if legal(&grouped) {
        NotChosen::SharedGroup
    } else {
        NotChosen::EmptyGroup
    }
}

struct Run<'a> {
    queue: Queue,
    commits: &'a Commits,
    closed: BTreeMap<Slot, BTreeSet<Site>>,
}

type Open = BTreeSet<Site>;

impl Run<'_> {
    fn graph(&mut self, graph: &Graph, info: &GraphInfo, entry: Open) -> Open {
        let mut exit = Open::new();
        let mut states: Vec<Option<Open>> = vec![None; graph.blocks.len()];
        let mut changed = BTreeSet::new();
        if let Some(first) = states.first_mut() {
            *first = Some(entry);
            changed.insert((0, 0));
        }
        while let Some((_, b)) = changed.pop_first() {
            let block = &graph.blocks[b];
            let mut open = states[b].clone().unwrap_or_default();
            self.slot(block.start, &mut open);
            let mut inner = info.blocks[b].inner.iter();
            for item in &block.items {
                if let Item::Issue { site, queue, .. } = item
                    && *queue == self.queue
                {
                    open.insert(*site);
                }
                if matches!(item, Item::Commit { queue, .. } if *queue == self.queue) {
                    open.clear();
                }
                if let (Some(graph), Some(info)) = (item.graph(), item.graph().and_then(|_| inner.next())) {
                    self.inner(item, graph, info, &mut open);
                }
                self.slot(item.after(), &mut open);
            }
            for edge in &block.edges {
                match edge.to {
                    Target::Exit => exit.extend(&open),
                    Target::Block(to) => {
                        let news = states[to].is_none();
                        let state = states[to].get_or_insert_default();
                        let before = state.len();
                        state.extend(&open);
                        if news || state.len() > before {
                            changed.insert((info.order[to].unwrap_or(usize::MAX), to));
                        }
                    }
                }
            }
        }
        exit
    }

    fn inner(&mut self, item: &Item, graph: &Graph, info: &GraphInfo, open: &mut Open) {
        let trip = match item {
            Item::Repeat(repeat) => repeat.trip,
            _ => 1,
        };
        if trip == 0 {
            return;
        }
        let mut all = open.clone();
        loop {
            let out = ensure_sufficient_stack(|| self.graph(graph, info, all.clone()));
            let before = all.len();
            if trip > 1 {
                all.extend(&out);
            }
            if all.len() == before {
                *open = out;
                return;
            }
        }
    }

    fn slot(&mut self, slot: Option<Slot>, open: &mut Open) {
        if let Some(slot) = slot
            && self.commits[slot.0 as usize] > 0
        {
            self.closed.entry(slot).or_default().append(open);
        }
    }
}
