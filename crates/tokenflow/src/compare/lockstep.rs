//! Runs two translations over the same paths, with all pairs of ages that are reached.

use super::{EarlyExit, Translation};
use crate::age::Age;
use crate::eval::{NO_WAIT, WaitCount};
use crate::program::{Await, Graph, Item, Queue, Repeat, Site, Slot, Target, ensure_sufficient_stack};
use crate::program_info::{GraphInfo, ProgramInfo};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// The ages of an instance in both translations.
pub(crate) type Pair = (Age, Age);

/// Reachable pairs, each with some operation that has it; sorted.
pub(super) type Pairs = Vec<(Pair, Site)>;

/// Returns true if an instance is committed in the first translation and not in the second.
pub(crate) fn is_left_open((a, b): Pair) -> bool {
    a != Age::OPEN && b == Age::OPEN
}

/// What reaches the end of a graph.
#[derive(Clone, Default)]
pub(super) struct Exit {
    pub pairs: Pairs,
    reached: bool,
}

pub(super) struct Lockstep<'a> {
    pub root: &'a GraphInfo,
    queue: Queue,
    /// True if it is reads that are looked at.
    reads: bool,
    pub early_exit: EarlyExit,
    a: Translation<'a>,
    b: Translation<'a>,
    /// The age in either translation from which on all ages are alike: every wait completes them.
    pub age_limit: [Age; 2],
    /// For a graph and a pair on entry, the pairs on exit.
    through: FxHashMap<(usize, Pair), Vec<Pair>>,
    /// For a graph, the pairs on exit of the instances that are issued inside.
    exits_of_issued: FxHashMap<usize, Exit>,
    pub more: BTreeMap<Await, BTreeMap<Age, Site>>,
    pub more_at_waits: bool,
    pub less: bool,
    /// The blocks that leave the outermost graph with something in flight.
    pub exits: BTreeSet<usize>,
    outermost: usize,
    /// How many loops are being run. Outside of all of them, every graph is run once.
    loops: usize,
}

impl<'a> Lockstep<'a> {
    pub fn new(
        program_info: &'a ProgramInfo,
        queue: Queue,
        reads: bool,
        a: Translation<'a>,
        b: Translation<'a>,
    ) -> Self {
        let given = program_info.largest_wait[usize::from(queue.0)];
        let age_limit = [age_limit(a.n, given), age_limit(b.n, given)];
        Self::up_to(program_info, queue, reads, (a, b), age_limit)
    }

    /// Tells ages apart up to a limit in either translation.
    pub fn up_to(
        program_info: &'a ProgramInfo,
        queue: Queue,
        reads: bool,
        (a, b): (Translation<'a>, Translation<'a>),
        age_limit: [Age; 2],
    ) -> Self {
        Self {
            root: &program_info.root,
            queue,
            reads,
            early_exit: EarlyExit::Never,
            a,
            b,
            age_limit,
            through: FxHashMap::default(),
            exits_of_issued: FxHashMap::default(),
            more: BTreeMap::new(),
            more_at_waits: false,
            less: false,
            exits: BTreeSet::new(),
            outermost: program_info.root.id,
            loops: 0,
        }
    }

    /// Runs a graph for instances from before it and, if `issued_inside`, for those issued inside.
    pub fn graph(&mut self, graph: &Graph, info: &GraphInfo, entry: &Pairs, issued_inside: bool) -> Exit {
        if !info.cyclic {
            return self.once(graph, info, entry, issued_inside);
        }
        self.loops += 1;
        let exit = self.until_settled(graph, info, entry, issued_inside);
        self.loops -= 1;
        exit
    }

    /// Runs every block of a graph without cycles.
    fn once(&mut self, graph: &Graph, info: &GraphInfo, entry: &Pairs, issued_inside: bool) -> Exit {
        let mut exit = Exit::default();
        let mut arrived: Vec<Option<Pairs>> = vec![None; graph.blocks.len()];
        if let Some(first) = arrived.first_mut() {
            *first = Some(entry.clone());
        }
        for &b in &info.sequence {
            let Some(mut pairs) = arrived[b].take() else {
                continue;
            };
            normalize(&mut pairs);
            if pairs.is_empty() && !issued_inside {
                continue;
            }
            if !self.block(graph, info, b, &mut pairs, issued_inside) {
                continue;
            }
            for edge in &graph.blocks[b].edges {
                match edge.to {
                    Target::Exit => {
                        self.leaves(info, b, &pairs);
                        exit.reached = true;
                        exit.pairs.extend_from_slice(&pairs);
                    }
                    Target::Block(to) => arrived[to].get_or_insert_default().extend_from_slice(&pairs),
                }
            }
        }
        normalize(&mut exit.pairs);
        exit
    }

    /// Runs the blocks of a graph until no new pair reaches any.
    fn until_settled(&mut self, graph: &Graph, info: &GraphInfo, entry: &Pairs, issued_inside: bool) -> Exit {
        let mut exit = Exit::default();
        let mut seen: Vec<FxHashSet<Pair>> = vec![FxHashSet::default(); graph.blocks.len()];
        let mut entered = vec![!issued_inside; graph.blocks.len()];
        let mut work: BTreeMap<(usize, usize), Pairs> = BTreeMap::new();
        if !graph.blocks.is_empty() {
            work.insert((0, 0), entry.clone());
        }
        while let Some(((_, b), mut pairs)) = work.pop_first() {
            pairs.retain(|(pair, _)| seen[b].insert(*pair));
            let first = !std::mem::replace(&mut entered[b], true);
            if pairs.is_empty() && !first {
                continue;
            }
            if !self.block(graph, info, b, &mut pairs, first) {
                continue;
            }
            for edge in &graph.blocks[b].edges {
                let arrived = match edge.to {
                    Target::Exit => {
                        self.leaves(info, b, &pairs);
                        exit.reached = true;
                        &mut exit.pairs
                    }
                    Target::Block(to) => work
                        .entry((info.order[to].unwrap_or(usize::MAX), to))
                        .or_default(),
                };
                arrived.extend_from_slice(&pairs);
            }
        }
        normalize(&mut exit.pairs);
        exit
    }

    fn leaves(&mut self, info: &GraphInfo, b: usize, pairs: &Pairs) {
        if info.id == self.outermost && !pairs.is_empty() {
            self.exits.insert(b);
        }
    }

    /// Runs a block; returns false if its end can't be reached.
    fn block(
        &mut self,
        graph: &Graph,
        info: &GraphInfo,
        b: usize,
        pairs: &mut Pairs,
        issued_inside: bool,
    ) -> bool {
        let block = &graph.blocks[b];
        self.commits_at(block.start, pairs);
        let mut inner = info.blocks[b].inner.iter();
        block
            .items
            .iter()
            .all(|item| self.item(item, &mut inner, pairs, issued_inside))
    }

    /// Runs an item; returns false if control does not come back from it, or nothing else is asked.
    pub fn item(
        &mut self,
        item: &Item,
        inner: &mut std::slice::Iter<GraphInfo>,
        pairs: &mut Pairs,
        issued_inside: bool,
    ) -> bool {
        match item {
            Item::Issue {
                site, queue, slot, ..
            } => {
                if issued_inside && *queue == self.queue {
                    pairs.insert(0, ((Age::OPEN, Age::OPEN), *site));
                    pairs.dedup_by_key(|(pair, _)| *pair);
                }
                self.commits_at(*slot, pairs);
            }
            Item::Commit { queue, .. } if *queue == self.queue => {
                let [limit_a, limit_b] = self.age_limit;
                step(pairs, |(a, b)| (commit(a, limit_a), commit(b, limit_b)));
            }
            Item::Wait { queue, n, read } if *queue == self.queue && (self.reads || !*read) => {
                let n = WaitCount::try_from(*n).unwrap_or(NO_WAIT);
                let more = |&((a, b), _): &(Pair, Site)| {
                    b != Age::DONE && wait(b, n) == Age::DONE && wait(a, n) != Age::DONE
                };
                self.more_at_waits |= pairs.iter().any(more);
                let less = |&((a, b), _): &(Pair, Site)| {
                    a != Age::DONE && wait(a, n) == Age::DONE && wait(b, n) != Age::DONE
                };
                self.less |= pairs.iter().any(less);
                step(pairs, |(a, b)| (wait(a, n), wait(b, n)));
            }
            Item::Await { site, .. } => self.await_at(*site, pairs),
            Item::Point(slot) => self.commits_at(Some(*slot), pairs),
            Item::Nested(_) | Item::Repeat(_) => {
                let Some(info) = inner.next() else { return true };
                let reached = ensure_sufficient_stack(|| self.inner(item, info, pairs, issued_inside));
                if !reached {
                    return false;
                }
                self.commits_at(item.after(), pairs);
            }
            Item::Commit { .. } | Item::Wait { .. } | Item::Join { .. } => {}
        }
        // As if control ended here: nothing else is asked.
        self.early_exit == EarlyExit::Never || !self.more_at_waits && self.more.is_empty()
    }

    pub fn commits_at(&mut self, slot: Option<Slot>, pairs: &mut Pairs) {
        let Some(slot) = slot else { return };
        let (a, b) = (self.a.commits[slot.0 as usize], self.b.commits[slot.0 as usize]);
        let [limit_a, limit_b] = self.age_limit;
        for _ in 0..a {
            step(pairs, |(a, b)| (commit(a, limit_a), b));
        }
        for _ in 0..b {
            step(pairs, |(a, b)| (a, commit(b, limit_b)));
        }
    }

    fn await_at(&mut self, w: Await, pairs: &mut Pairs) {
        let (na, nb) = (self.a.n[w.0 as usize], self.b.n[w.0 as usize]);
        if na == NO_WAIT && nb == NO_WAIT {
            return;
        }
        for &((a, b), site) in pairs.iter() {
            let (after_a, after_b) = (wait(a, na), wait(b, nb));
            if after_b == Age::DONE && b != Age::DONE && after_a != Age::DONE {
                self.more.entry(w).or_default().entry(a).or_insert(site);
            }
            self.less |= after_a == Age::DONE && a != Age::DONE && after_b != Age::DONE;
        }
        step(pairs, |(a, b)| (wait(a, na), wait(b, nb)));
    }

    /// Runs an item that holds a graph; returns false if control does not come back from it.
    fn inner(&mut self, item: &Item, info: &GraphInfo, pairs: &mut Pairs, issued_inside: bool) -> bool {
        if self.loops == 0
            && issued_inside
            && let Item::Nested(nested) = item
        {
            let exit = self.graph(&nested.graph, info, pairs, true);
            *pairs = exit.pairs;
            return exit.reached;
        }
        let mut out = Pairs::new();
        let mut reached = true;
        if issued_inside {
            let exit = self.exit_of_issued(item, info);
            reached = exit.reached;
            out = exit.pairs;
        }
        for &(pair, site) in pairs.iter() {
            let through = self.through(item, info, pair, site);
            out.extend(through.iter().map(|&pair| (pair, site)));
        }
        normalize(&mut out);
        *pairs = out;
        reached
    }

    /// The pairs of what is issued inside of an item.
    fn exit_of_issued(&mut self, item: &Item, info: &GraphInfo) -> Exit {
        if let Some(exit) = self.exits_of_issued.get(&info.id) {
            return exit.clone();
        }
        let exit = match item {
            Item::Repeat(repeat) => self.issued_in_repeat(repeat, info),
            _ => item
                .graph()
                .map_or_else(Exit::default, |graph| self.graph(graph, info, &Vec::new(), true)),
        };
        self.exits_of_issued.insert(info.id, exit.clone());
        exit
    }

    fn issued_in_repeat(&mut self, repeat: &Repeat, info: &GraphInfo) -> Exit {
        if repeat.trip == 0 {
            return Exit {
                pairs: Vec::new(),
                reached: true,
            };
        }
        self.loops += 1;
        let once = self.graph(&repeat.body, info, &Vec::new(), true);
        let mut all = once.pairs.clone();
        for _ in 1..repeat.trip {
            let mut next = self.step_body(repeat, info, &all);
            next.extend_from_slice(&once.pairs);
            normalize(&mut next);
            if same(&next, &all) {
                break;
            }
            all = next;
        }
        self.loops -= 1;
        Exit {
            pairs: all,
            reached: once.reached,
        }
    }

    fn through(&mut self, item: &Item, info: &GraphInfo, pair: Pair, site: Site) -> Vec<Pair> {
        match item {
            Item::Repeat(repeat) => self.through_repeat(repeat, info, pair, site),
            _ => item
                .graph()
                .map_or_else(Vec::new, |graph| self.through_graph(graph, info, pair, site)),
        }
    }

    fn through_graph(&mut self, graph: &Graph, info: &GraphInfo, pair: Pair, site: Site) -> Vec<Pair> {
        if let Some(known) = self.through.get(&(info.id, pair)) {
            return known.clone();
        }
        let exit = self.graph(graph, info, &vec![(pair, site)], false);
        let pairs: Vec<Pair> = exit.pairs.into_iter().map(|(pair, _)| pair).collect();
        self.through.insert((info.id, pair), pairs.clone());
        pairs
    }

    fn through_repeat(&mut self, repeat: &Repeat, info: &GraphInfo, pair: Pair, site: Site) -> Vec<Pair> {
        self.loops += 1;
        let mut pairs = vec![(pair, site)];
        let mut seen: FxHashMap<Vec<Pair>, u64> = FxHashMap::default();
        let mut i = 0;
        while i < repeat.trip {
            let key = pairs.iter().map(|(pair, _)| *pair).collect();
            if let Some(before) = seen.insert(key, i) {
                i = repeat.trip - (repeat.trip - i) % (i - before);
                seen.clear();
                if i == repeat.trip {
                    break;
                }
            }
            pairs = self.step_body(repeat, info, &pairs);
            i += 1;
        }
        self.loops -= 1;
        pairs.into_iter().map(|(pair, _)| pair).collect()
    }

    fn step_body(&mut self, repeat: &Repeat, info: &GraphInfo, pairs: &Pairs) -> Pairs {
        let mut out = Pairs::new();
        for &(pair, site) in pairs {
            let through = self.through_graph(&repeat.body, info, pair, site);
            out.extend(through.into_iter().map(|pair| (pair, site)));
        }
        normalize(&mut out);
        out
    }
}

/// The first age that is older than any count.
pub(crate) fn age_limit(counts: &[WaitCount], given: Option<WaitCount>) -> Age {
    let emitted = counts.iter().copied().filter(|n| *n != NO_WAIT).max();
    let mut age = Age::NEWEST;
    for _ in 0..emitted.max(given).unwrap_or(0) {
        age = age.commit();
    }
    age
}

fn commit(age: Age, age_limit: Age) -> Age {
    if age == Age::DONE {
        age
    } else {
        age.commit().min(age_limit)
    }
}

fn wait(age: Age, n: WaitCount) -> Age {
    if n == NO_WAIT { age } else { age.wait(n) }
}

fn step(pairs: &mut Pairs, step: impl Fn(Pair) -> Pair) {
    for (pair, _) in pairs.iter_mut() {
        *pair = step(*pair);
    }
    normalize(pairs);
}

/// Sorts, and forgets doubles and instances that are complete in both.
fn normalize(pairs: &mut Pairs) {
    pairs.retain(|(pair, _)| *pair != (Age::DONE, Age::DONE));
    if !pairs.is_sorted_by_key(|(pair, _)| *pair) {
        pairs.sort_by_key(|(pair, _)| *pair);
    }
    pairs.dedup_by_key(|(pair, _)| *pair);
}

fn same(a: &Pairs, b: &Pairs) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((a, _), (b, _))| a == b)
}
