//! Computes the lifetimes of buffers, and so which buffers interfere.
//!
//! A buffer occupies its memory at a node if its contents are wanted there, if it is accessed there, or if an asynchronous
//! access to it may be in flight. Two buffers interfere if they occupy memory at the same node.
//!
//! That leaves threads that are ahead: one may write the buffer that comes next while another still reads the one before.
//! Someone has to put a barrier between. With [`Sharing::Free`], buffers interfere as well if on some path no barrier comes
//! between the last access to the one, complete, and the first to the other.
//!
//! Conservative: a buffer that may be read where nothing was written to it occupies its memory everywhere, and so does one
//! with an asynchronous access of which it is not known when it is over.
//!
//! Cost: for each buffer, the nodes between its first write and its last read, and for [`Sharing::Free`] those up to the
//! next barriers; and the number of pairs.

use super::flow_graph::{AccessEnd, BufferId, FlowGraph, NodeId, NodeSet};
use super::in_flight::InFlight;
use super::liveness::Liveness;

/// Which buffers may share memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Those that are never occupied at the same time. Barriers may have to be added.
    Liveness,
    /// Those of them between which barriers are already.
    Free,
    /// None.
    None,
}

/// Where buffers occupy memory.
#[derive(Clone, Debug)]
pub struct Lifetimes {
    /// The nodes at which each buffer does, in order; `None` if everywhere.
    pub occupied: Vec<Option<Vec<NodeId>>>,
    /// The nodes at which each is accessed, or an asynchronous access to it may be in flight.
    touched: Vec<Vec<NodeId>>,
}

impl Lifetimes {
    /// The lifetimes of the buffers of `flow`, where those of `everywhere` are accessed by operations that can't be followed.
    #[must_use]
    pub fn of(flow: &FlowGraph, everywhere: &[bool]) -> Self {
        let mut lives = Liveness::new(flow);
        let mut in_flight = InFlight::new(flow);
        let mut flights = vec![Vec::new(); flow.buffers];
        let mut is_known = vec![true; flow.buffers];
        for (n, node) in flow.nodes.iter().enumerate() {
            for issue in node.issues.iter().filter(|issue| !everywhere[issue.buffer]) {
                match issue.until {
                    AccessEnd::Unknown => is_known[issue.buffer] = false,
                    _ => flights[issue.buffer].extend(in_flight.of(n, issue)),
                }
            }
        }
        let mut lifetimes = Self {
            occupied: Vec::new(),
            touched: Vec::new(),
        };
        for (buffer, mut touched) in flights.into_iter().enumerate() {
            let live = lives
                .of(buffer)
                .filter(|_| !everywhere[buffer] && is_known[buffer]);
            touched.extend(lives.accesses(buffer));
            let occupied = live.map(|live| sorted([live, touched.clone()].concat()));
            lifetimes.occupied.push(occupied);
            lifetimes.touched.push(sorted(touched));
        }
        lifetimes
    }

    /// The pairs of buffers that interfere, each with the smaller number first.
    #[must_use]
    pub fn interference(&self, flow: &FlowGraph, sharing: Sharing) -> Vec<(BufferId, BufferId)> {
        let buffers = self.occupied.len();
        if sharing == Sharing::None {
            return (0..buffers).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        }
        let mut pairs = Vec::new();
        let mut insert = |a: BufferId, b: BufferId| {
            if a != b {
                pairs.push((a.min(b), a.max(b)));
            }
        };
        for everywhere in (0..buffers).filter(|&b| self.occupied[b].is_none()) {
            for other in 0..buffers {
                insert(everywhere, other);
            }
        }
        self.overlaps(flow.nodes.len(), &mut insert);
        if sharing == Sharing::Free {
            self.without_barrier(flow, &mut insert);
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Passes on buffers that occupy memory at the same node. From node to node, only those that are new meet others.
    fn overlaps(&self, nodes: usize, insert: &mut impl FnMut(BufferId, BufferId)) {
        let mut begins = vec![Vec::new(); nodes];
        let mut ends = vec![Vec::new(); nodes];
        for (buffer, occupied) in self.occupied.iter().enumerate() {
            let occupied = occupied.as_deref().unwrap_or_default();
            for run in occupied.chunk_by(|a, b| a + 1 == *b) {
                begins[run[0]].push(buffer);
                ends[run[run.len() - 1]].push(buffer);
            }
        }
        let mut present: Vec<BufferId> = Vec::new();
        for (begins, ends) in begins.into_iter().zip(ends) {
            for buffer in begins {
                for &other in &present {
                    insert(buffer, other);
                }
                present.push(buffer);
            }
            present.retain(|buffer| !ends.contains(buffer));
        }
    }

    /// Passes on buffers of which the second is accessed after the first without a barrier between.
    fn without_barrier(&self, flow: &FlowGraph, insert: &mut impl FnMut(BufferId, BufferId)) {
        let mut seen = NodeSet::new(flow.nodes.len());
        let edges = |node: NodeId| flow.nodes[node].edges.iter().map(|edge| edge.to);
        for (buffer, touched) in self.touched.iter().enumerate() {
            if self.occupied[buffer].is_none() {
                continue;
            }
            seen.clear();
            let mut work: Vec<NodeId> = touched.iter().flat_map(|&node| edges(node)).collect();
            while let Some(node) = work.pop() {
                let step = &flow.nodes[node];
                if step.barrier || !seen.insert(node) {
                    continue;
                }
                let issued = step.issues.iter().map(|issue| issue.buffer);
                let accessed = step.reads.iter().chain(&step.writes).copied();
                accessed.chain(issued).for_each(|other| insert(buffer, other));
                work.extend(edges(node));
            }
        }
    }
}

fn sorted(mut nodes: Vec<NodeId>) -> Vec<NodeId> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
