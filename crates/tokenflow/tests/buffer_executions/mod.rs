//! Executes programs that access buffers at random, and finds buffers that would overwrite each other if they
//! shared memory.

use std::collections::{BTreeMap, BTreeSet};
use tokenflow::packing::flow_graph::{AccessEnd, FlowGraph, Node};

/// A linear congruential generator.
pub struct Random(pub u64);

impl Random {
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % n
    }
}

/// An asynchronous access that is under way.
#[derive(Clone, Debug)]
struct Access {
    buffer: usize,
    /// In which group it is: an open one, or one that is closed.
    group: Option<bool>,
    write: bool,
    complete: bool,
}

/// One execution, so far.
#[derive(Default)]
struct Walk {
    /// The accesses that each token stands for.
    tokens: BTreeMap<usize, BTreeSet<usize>>,
    accesses: Vec<Access>,
    /// The buffers that were accessed since their last write, which a later read of them would have to see unchanged.
    since_write: BTreeMap<usize, BTreeSet<usize>>,
    /// The buffers whose accesses no barrier has come after yet.
    unordered: BTreeSet<usize>,
    required: BTreeSet<(usize, usize)>,
}

impl Walk {
    fn require(&mut self, a: usize, b: usize) {
        if a != b {
            self.required.insert((a.min(b), a.max(b)));
        }
    }

    fn step(&mut self, node: &Node) {
        let mut touched: BTreeSet<usize> = node.reads.iter().chain(&node.writes).copied().collect();
        touched.extend(node.issues.iter().map(|issue| issue.buffer));
        let in_flight = self.accesses.iter().filter(|access| !access.complete);
        let in_flight: BTreeSet<usize> = in_flight.map(|access| access.buffer).collect();
        for &a in touched.union(&in_flight) {
            for &b in touched.union(&in_flight) {
                self.require(a, b);
            }
        }
        // What is read has to be as it was written, whoever came by in the meantime.
        let reads = node
            .issues
            .iter()
            .filter(|issue| !issue.write)
            .map(|issue| issue.buffer);
        for read in node.reads.iter().copied().chain(reads).collect::<Vec<_>>() {
            for other in self.since_write.get(&read).cloned().unwrap_or_default() {
                self.require(read, other);
            }
        }
        for others in self.since_write.values_mut() {
            others.extend(&touched);
        }
        for &fresh in &node.fresh {
            self.since_write.remove(&fresh);
        }
        let writes = node
            .issues
            .iter()
            .filter(|issue| issue.write)
            .map(|issue| issue.buffer);
        for write in node.writes.iter().copied().chain(writes) {
            self.since_write.entry(write).or_default();
        }
        self.complete(node);
        self.issue(node);
    }

    /// What a node without a barrier accesses, but for what is in flight, after what.
    fn order(&mut self, node: &Node, free: bool) {
        let accessed = node.reads.iter().chain(&node.writes).copied();
        let accessed: Vec<usize> = accessed
            .chain(node.issues.iter().map(|issue| issue.buffer))
            .collect();
        if node.barrier {
            self.unordered.clear();
        } else if free {
            for &a in &accessed {
                for b in self.unordered.clone() {
                    self.require(a, b);
                }
            }
        }
        self.unordered.extend(accessed);
        // Nobody but the thread itself knows yet that it is complete, if it is.
        let in_flight = self.accesses.iter().filter(|access| !access.complete);
        self.unordered.extend(in_flight.map(|access| access.buffer));
    }

    fn complete(&mut self, node: &Node) {
        for token in &node.awaits {
            for &access in self.tokens.get(token).into_iter().flatten() {
                self.accesses[access].complete = true;
            }
        }
        for access in &mut self.accesses {
            if node
                .waits
                .is_some_and(|(_, reads)| access.group == Some(false) && (!reads || !access.write))
            {
                access.complete = true;
            }
            if node.commits.is_some() && access.group == Some(true) {
                access.group = Some(false);
            }
        }
    }

    fn issue(&mut self, node: &Node) {
        for (token, of) in &node.joins {
            let of = of.iter().filter_map(|of| self.tokens.get(of)).flatten();
            let of = of.copied().collect();
            self.tokens.insert(*token, of);
        }
        for issue in &node.issues {
            let id = self.accesses.len();
            self.accesses.push(Access {
                buffer: issue.buffer,
                group: matches!(issue.until, AccessEnd::Queue(_)).then_some(true),
                write: issue.write,
                complete: false,
            });
            if let AccessEnd::Tokens(tokens) = &issue.until {
                for &token in tokens {
                    self.tokens.insert(token, BTreeSet::from([id]));
                }
            }
        }
    }
}

/// The pairs of buffers that would get in each other's way in some random execution; with `free`, those as well between
/// whose accesses it has no barrier.
pub fn required(flow: &FlowGraph, random: &mut Random, free: bool) -> BTreeSet<(usize, usize)> {
    const WALKS: usize = 30;
    const STEPS: usize = 40;
    let mut required = BTreeSet::new();
    for _ in 0..WALKS {
        let mut walk = Walk::default();
        let mut at = 0;
        for _ in 0..STEPS {
            let node = &flow.nodes[at];
            walk.order(node, free);
            walk.step(node);
            if node.edges.is_empty() {
                break;
            }
            let edge = &node.edges[random.below(node.edges.len())];
            let handed = edge.bindings.iter();
            let handed: Vec<_> = handed
                .map(|(from, to)| (*to, walk.tokens.get(from).cloned().unwrap_or_default()))
                .collect();
            walk.tokens.extend(handed);
            at = edge.to;
        }
        required.extend(walk.required);
    }
    required
}
