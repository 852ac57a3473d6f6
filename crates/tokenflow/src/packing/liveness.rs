//! Liveness of buffers: where their contents may still be read.
//!
//! A buffer is live at a node that lies on a path from a write of it to a read of it on which it is not made anew. No write
//! ends a life: each may be of a part, or by some threads.

use super::flow_graph::{BufferId, FlowGraph, NodeId, NodeSet};

/// Where a buffer is accessed.
#[derive(Clone, Debug, Default)]
struct Accesses {
    reads: Vec<NodeId>,
    writes: Vec<NodeId>,
    fresh: Vec<NodeId>,
}

/// Finds the lives of buffers.
pub(super) struct Liveness<'a> {
    flow: &'a FlowGraph,
    predecessors: Vec<Vec<NodeId>>,
    /// A number for each node, such that no path leads from a larger to a smaller one.
    rank: Vec<usize>,
    accesses: Vec<Accesses>,
    /// Nodes from which a read is reached.
    wanted: NodeSet,
    /// Nodes that are reached from a write.
    written: NodeSet,
    fresh: NodeSet,
    writes: NodeSet,
}

impl<'a> Liveness<'a> {
    pub fn new(flow: &'a FlowGraph) -> Self {
        let nodes = flow.nodes.len();
        let mut predecessors = vec![Vec::new(); nodes];
        let mut accesses = vec![Accesses::default(); flow.buffers];
        for (n, node) in flow.nodes.iter().enumerate() {
            for edge in &node.edges {
                predecessors[edge.to].push(n);
            }
            for &b in &node.reads {
                accesses[b].reads.push(n);
            }
            for &b in &node.writes {
                accesses[b].writes.push(n);
            }
            for &b in &node.fresh {
                accesses[b].fresh.push(n);
            }
            for issue in &node.issues {
                let accesses = &mut accesses[issue.buffer];
                let kind = if issue.write {
                    &mut accesses.writes
                } else {
                    &mut accesses.reads
                };
                kind.push(n);
            }
        }
        Self {
            flow,
            rank: ranks(flow),
            predecessors,
            accesses,
            wanted: NodeSet::new(nodes),
            written: NodeSet::new(nodes),
            fresh: NodeSet::new(nodes),
            writes: NodeSet::new(nodes),
        }
    }

    /// The nodes at which `buffer` is read or written.
    pub fn accesses(&self, buffer: BufferId) -> impl Iterator<Item = NodeId> + '_ {
        let Accesses { reads, writes, .. } = &self.accesses[buffer];
        reads.iter().chain(writes).copied()
    }

    /// The nodes at which `buffer` is live or accessed; `None` if it may be read where nothing was written to it.
    pub fn of(&mut self, buffer: BufferId) -> Option<Vec<NodeId>> {
        let Accesses { reads, writes, fresh } = self.accesses[buffer].clone();
        if self.is_read_unwritten(&reads, &writes, &fresh) {
            return None;
        }
        self.fresh.clear();
        for &node in &fresh {
            self.fresh.insert(node);
        }
        // Backward from reads, no further than the first write ...
        let first = writes
            .iter()
            .map(|&node| self.rank[node])
            .min()
            .unwrap_or(usize::MAX);
        self.wanted.clear();
        let mut work = reads.clone();
        while let Some(node) = work.pop() {
            if self.rank[node] >= first && self.wanted.insert(node) && !self.fresh.contains(node) {
                work.extend(&self.predecessors[node]);
            }
        }
        // ... then forward from writes, among these.
        let mut live = [reads, writes.clone()].concat();
        self.written.clear();
        let mut work = writes;
        while let Some(node) = work.pop() {
            if self.wanted.contains(node) && self.written.insert(node) {
                live.push(node);
                let next = self.flow.nodes[node].edges.iter().map(|edge| edge.to);
                work.extend(next.filter(|&node| !self.fresh.contains(node)));
            }
        }
        Some(live)
    }

    /// Returns true if some path from the start, or from where the buffer is made anew, leads to a read and by no write.
    fn is_read_unwritten(&mut self, reads: &[NodeId], writes: &[NodeId], fresh: &[NodeId]) -> bool {
        for (set, nodes) in [(&mut self.writes, writes), (&mut self.fresh, fresh)] {
            set.clear();
            for &node in nodes {
                set.insert(node);
            }
        }
        let first = writes
            .iter()
            .map(|&node| self.rank[node])
            .min()
            .unwrap_or(usize::MAX);
        self.wanted.clear();
        let mut work = reads.to_vec();
        while let Some(node) = work.pop() {
            if !self.wanted.insert(node) {
                continue;
            }
            if node == 0 || self.rank[node] < first || self.fresh.contains(node) {
                return true;
            }
            let before = self.predecessors[node].iter();
            work.extend(before.filter(|&&node| !self.writes.contains(node)));
        }
        false
    }
}

/// A number for each node, the same for nodes that reach each other, and larger for those that are reached from others.
fn ranks(flow: &FlowGraph) -> Vec<usize> {
    const NONE: usize = usize::MAX;
    let nodes = flow.nodes.len();
    let (mut index, mut low, mut component) = (vec![NONE; nodes], vec![0; nodes], vec![NONE; nodes]);
    let (mut next, mut components) = (0, 0);
    let (mut stack, mut path) = (Vec::new(), Vec::new());
    // Tarjan's algorithm, with a stack of its own: components are finished after all that they reach.
    for root in 0..nodes {
        if index[root] != NONE {
            continue;
        }
        path.push((root, 0));
        while let Some(&mut (node, ref mut edge)) = path.last_mut() {
            if *edge == 0 {
                index[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
            }
            if let Some(to) = flow.nodes[node].edges.get(*edge).map(|edge| edge.to) {
                *edge += 1;
                if index[to] == NONE {
                    path.push((to, 0));
                } else if component[to] == NONE {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            path.pop();
            if let Some(&(around, _)) = path.last() {
                low[around] = low[around].min(low[node]);
            }
            if low[node] == index[node] {
                while let Some(member) = stack.pop() {
                    component[member] = components;
                    if member == node {
                        break;
                    }
                }
                components += 1;
            }
        }
    }
    component
        .into_iter()
        .map(|component| components - component)
        .collect()
}
