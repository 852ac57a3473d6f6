//! Finds which operations are in flight at each await, in a program whose commits are given.
//!
//! Two translations of the program, with weaker and stronger waits, run in lock step. As their
//! commits are the same, an instance that is in flight in both has one age; all that is tracked is
//! the ages of those, over all paths. An operation is known by where its age came from: the ages
//! reached at the start of each block are *nodes*, the paths between them arrows, and which
//! operations can have an age at a point is what leads there, looked up only where it is asked for.
//!
//! Cost: (items) x (ages alive at a point), and what the questions look up.

use crate::age::Age;
use crate::eval::{CompletionKind, Evaluator, Mode, NO_WAIT, count};
use crate::flat_cfg::FlatCfg;
use crate::program::{Await, Item, Program, Queue, Site, Token};
use crate::program_info::ProgramInfo;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The operations that something is about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Operations {
    /// Operations of the program, in order.
    pub sites: Vec<Site>,
    /// True if there may be some that the program does not show, see [`Waits::opaque`].
    pub unknown: bool,
}

/// Two sets of waits on one program.
pub struct Waits<'a> {
    /// The count of each await's wait; `None` where there is none.
    pub weak: &'a [Option<u8>],
    /// Other counts, which are to be compared with those.
    pub strong: &'a [Option<u8>],
    /// Returns true if an await stands for something that may issue and commit operations which the
    /// program does not show.
    pub opaque: &'a dyn Fn(Await) -> bool,
}

/// What is in flight where.
pub struct InFlightOperations {
    /// For each await where the strong wait completes an operation that the weak one does not, those.
    pub more: Vec<(Await, Operations)>,
    /// For each token of a commit, the operations that it may close a group with.
    pub groups: Vec<(Token, Vec<Site>)>,
    /// The operations that may be uncommitted where the program ends.
    pub uncommitted: Vec<Site>,
}

/// Returns what is in flight where in both translations.
#[must_use]
pub fn in_flight(flat: &FlatCfg, queue: Queue, waits: &Waits) -> InFlightOperations {
    let mut run = Run {
        queue,
        waits,
        nodes: Vec::new(),
        entries: FxHashMap::default(),
        arrived: vec![Vec::new(); flat.blocks.len()],
        entered: vec![false; flat.blocks.len()],
        more: FxHashMap::default(),
        groups: FxHashMap::default(),
        open: Vec::new(),
    };
    run.run(flat);
    let mut more: Vec<_> = run
        .more
        .iter()
        .map(|(&w, nodes)| (w, run.operations(nodes)))
        .collect();
    more.sort_unstable_by_key(|(w, _)| *w);
    let groups = run.groups.iter();
    let mut groups: Vec<_> = groups
        .map(|(&token, nodes)| (token, run.operations(nodes).sites))
        .collect();
    groups.sort_unstable_by_key(|(token, _)| *token);
    InFlightOperations {
        more,
        groups,
        uncommitted: run.operations(&run.open).sites,
    }
}

/// Returns, for each await, the largest count that is sound there if all awaits have the waits given;
/// `None` if its tokens are complete without a wait.
#[must_use]
pub fn sound_counts(program: &Program, queue: Queue, waits: &[Option<u8>]) -> Vec<Option<u8>> {
    let program_info = ProgramInfo::new(program);
    let commits = vec![0; program.slots as usize];
    let mut eval = Evaluator::new(program, &program_info, queue, &commits, CompletionKind::Done);
    eval.mode = Mode::Measure;
    eval.n = waits.iter().map(|n| n.unwrap_or(NO_WAIT)).collect();
    eval.graph(&program.body, &program_info.root, &[]);
    let counts = eval.measured.iter().map(|&age| count(age));
    counts.map(|n| (n != NO_WAIT).then_some(n)).collect()
}

type NodeId = usize;

/// The operations that have some age at some point.
enum Node {
    Site(Site),
    Unknown,
    /// Those of any of these nodes.
    Any(Vec<NodeId>),
}

/// The ages that are alive at a point, ascending, and who has them.
type Ages = Vec<(Age, NodeId)>;

struct Run<'a> {
    queue: Queue,
    waits: &'a Waits<'a>,
    nodes: Vec<Node>,
    /// The node of each age that is reached at the start of a block.
    entries: FxHashMap<(usize, Age), NodeId>,
    /// Those that the block was not yet run with.
    arrived: Vec<Ages>,
    entered: Vec<bool>,
    more: FxHashMap<Await, Vec<NodeId>>,
    groups: FxHashMap<Token, Vec<NodeId>>,
    open: Vec<NodeId>,
}

impl Run<'_> {
    fn run(&mut self, flat: &FlatCfg) {
        let mut work = BTreeSet::from([0]);
        while let Some(b) = work.pop_first() {
            let mut ages = std::mem::take(&mut self.arrived[b]);
            ages.sort_unstable_by_key(|(age, _)| *age);
            let first = !std::mem::replace(&mut self.entered[b], true);
            let block = &flat.blocks[b];
            for item in &block.items {
                self.item(item, &mut ages, first);
            }
            if block.ends {
                let open = ages.iter().filter(|(age, _)| *age == Age::OPEN);
                self.open.extend(open.map(|(_, node)| *node));
            }
            for &to in &block.next {
                let news = self.arrive(to, &ages);
                if news || !self.entered[to] {
                    work.insert(to);
                }
            }
        }
    }

    /// Hands `ages` over to the start of block `to`; returns true if one of them is new there.
    fn arrive(&mut self, to: usize, ages: &Ages) -> bool {
        let mut news = false;
        for &(age, from) in ages {
            if let Some(&known) = self.entries.get(&(to, age)) {
                if let Node::Any(nodes) = &mut self.nodes[known] {
                    nodes.push(from);
                }
                continue;
            }
            let node = self.node(Node::Any(vec![from]));
            self.entries.insert((to, age), node);
            self.arrived[to].push((age, node));
            news = true;
        }
        news
    }

    fn node(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn item(&mut self, item: &Item, ages: &mut Ages, first: bool) {
        match item {
            Item::Issue { site, queue, .. } if *queue == self.queue && first => {
                self.add(ages, Age::OPEN, Node::Site(*site));
            }
            Item::Commit { queue, token } if *queue == self.queue => {
                if let (Some(token), Some(&(Age::OPEN, open))) = (token, ages.first()) {
                    self.groups.entry(*token).or_default().push(open);
                }
                self.commit(ages);
            }
            Item::Wait {
                queue,
                n,
                read: false,
            } if *queue == self.queue => {
                let n = u8::try_from(*n).ok();
                ages.retain(|(age, _)| !completes(n, *age));
            }
            Item::Await { site, .. } => {
                if first && (self.waits.opaque)(*site) {
                    self.add(ages, Age::NEWEST, Node::Unknown);
                }
                let (weak, strong) = (
                    self.waits.weak[site.0 as usize],
                    self.waits.strong[site.0 as usize],
                );
                let more = ages
                    .iter()
                    .filter(|(age, _)| completes(strong, *age) && !completes(weak, *age));
                let more: Vec<NodeId> = more.map(|(_, node)| *node).collect();
                if !more.is_empty() {
                    self.more.entry(*site).or_default().extend(more);
                }
                ages.retain(|(age, _)| !completes(strong, *age) && !completes(weak, *age));
            }
            _ => {}
        }
    }

    fn add(&mut self, ages: &mut Ages, age: Age, node: Node) {
        let mut node = self.node(node);
        match ages.binary_search_by_key(&age, |(age, _)| *age) {
            Ok(i) => {
                node = self.node(Node::Any(vec![ages[i].1, node]));
                ages[i].1 = node;
            }
            Err(i) => ages.insert(i, (age, node)),
        }
    }

    fn commit(&mut self, ages: &mut Ages) {
        for (age, _) in ages.iter_mut() {
            *age = age.commit();
        }
        if let [.., (Age::MANY, a), (Age::MANY, b)] = ages[..] {
            ages.pop();
            ages.pop();
            let node = self.node(Node::Any(vec![a, b]));
            ages.push((Age::MANY, node));
        }
    }

    /// Returns the operations that lead to `nodes`.
    fn operations(&self, nodes: &[NodeId]) -> Operations {
        let mut found = Operations::default();
        let mut seen: FxHashSet<NodeId> = FxHashSet::default();
        let mut work = nodes.to_vec();
        while let Some(node) = work.pop() {
            if !seen.insert(node) {
                continue;
            }
            match &self.nodes[node] {
                Node::Site(site) => found.sites.push(*site),
                Node::Unknown => found.unknown = true,
                Node::Any(nodes) => work.extend_from_slice(nodes),
            }
        }
        found.sites.sort_unstable();
        found.sites.dedup();
        found
    }
}

/// Returns true if a wait with count `n`, if there is one, completes a group of this age.
fn completes(n: Option<u8>, age: Age) -> bool {
    n.is_some_and(|n| age.wait(n) == Age::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brute_force::{explore, issues, queues};
    use crate::oracle::code::{Code, Step};
    use crate::oracle::generate::{Style, any_program, config};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Sites = BTreeSet<Site>;

    /// What [`InFlightOperations`] has, by its definition.
    #[derive(Default, PartialEq, Debug)]
    struct Found {
        more: BTreeMap<Await, Sites>,
        groups: BTreeMap<Token, Sites>,
        uncommitted: Sites,
    }

    impl Found {
        fn contains(&self, other: &Self) -> bool {
            let covers = |a: Option<&Sites>, b: &Sites| a.is_some_and(|a| a.is_superset(b));
            other
                .more
                .iter()
                .all(|(w, sites)| covers(self.more.get(w), sites))
                && other
                    .groups
                    .iter()
                    .all(|(token, sites)| covers(self.groups.get(token), sites))
                && self.uncommitted.is_superset(&other.uncommitted)
        }
    }

    /// The instance that is followed, with the groups committed after its own, which is none while that is open.
    #[derive(Clone, PartialEq, Eq, Hash)]
    enum Followed {
        Not,
        InFlight(Site, Option<u8>),
    }

    fn brute_force(program: &Program, queue: Queue, waits: &Waits) -> Found {
        let mut out = Found::default();
        let code = Code::new(program);
        let issues = issues(program, &code);
        explore(&code, Followed::Not, |at, step, state| {
            let mut next = vec![state.clone()];
            let Followed::InFlight(site, age) = state else {
                if matches!(step, Step::Issue { queue: q, .. } if *q == queue) {
                    next.push(Followed::InFlight(issues[&at].0, None));
                }
                return next;
            };
            let completes = |n: Option<u8>| n.is_some_and(|n| age.is_some_and(|age| age >= n));
            match step {
                Step::Commit { queue: q, token } if *q == queue => {
                    if let (Some(token), None) = (token, age) {
                        out.groups.entry(*token).or_default().insert(site);
                    }
                    let age = age.map_or(0, |age| 64.min(age + 1));
                    next = vec![Followed::InFlight(site, Some(age))];
                }
                Step::Wait {
                    queue: q,
                    n,
                    own: true,
                } if *q == queue && completes(u8::try_from(*n).ok()) => {
                    next.clear();
                }
                Step::Await { site: w, .. } => {
                    let (weak, strong) = (waits.weak[w.0 as usize], waits.strong[w.0 as usize]);
                    if completes(strong) && !completes(weak) {
                        out.more.entry(*w).or_default().insert(site);
                    }
                    if completes(strong) || completes(weak) {
                        next.clear();
                    }
                }
                Step::Halt if age.is_none() => _ = out.uncommitted.insert(site),
                _ => {}
            }
            next
        });
        out
    }

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn is_what_executions_have_in_flight(recipe in any_program(Style::Given), seed in any::<u64>()) {
            let program = recipe.program();
            let awaits = 0..program.awaits;
            let count = |w: u32, by: u32| u8::try_from(seed.rotate_left(by + 5 * w) & 7).ok().filter(|n| *n < 5);
            let weak: Vec<_> = awaits.clone().map(|w| count(w, 0)).collect();
            let strong: Vec<_> = awaits.map(|w| count(w, 32)).collect();
            let waits = Waits { weak: &weak, strong: &strong, opaque: &|_| false };
            for queue in queues(&program) {
                let found = in_flight(&FlatCfg::new(&program), queue, &waits);
                let sites = |sites: Vec<Site>| sites.into_iter().collect::<Sites>();
                let found = Found {
                    more: found.more.into_iter().map(|(w, of)| (w, sites(of.sites))).collect(),
                    groups: found.groups.into_iter().map(|(token, of)| (token, sites(of))).collect(),
                    uncommitted: sites(found.uncommitted),
                };
                let expected = brute_force(&program, queue, &waits);
                prop_assert!(found.contains(&expected), "{:?}\n{:?}", found, expected);
                // Loops of constant trip count run any number of times there.
                prop_assert!(program.loops > 0 || found == expected, "{:?}\n{:?}", found, expected);
            }
        }
    }
}
