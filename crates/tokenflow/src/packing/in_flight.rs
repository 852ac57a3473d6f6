//! Finds where asynchronous accesses may be in flight.
//!
//! A token is followed from where it comes from to what takes it over, on every path: an await, a token that is made of it,
//! or an edge that hands it over. The access is in flight on that path, and on the paths of all tokens that it may become. If a
//! token is lost on some path, because another takes its place, the access is in flight wherever control may go after it.

use super::flow_graph::{AccessEnd, FlowGraph, Issue, NodeId, NodeSet, TokenId, TokenOrigin};
use rustc_hash::FxHashMap;

/// All threads.
const ALL_WARPS: u32 = u32::MAX;

/// Where a token goes until something takes it over.
#[derive(Clone)]
enum TokenPath {
    /// By these nodes.
    Known(Vec<NodeId>),
    /// On some path, another takes its place.
    Lost,
}

/// Follows tokens and groups.
pub(super) struct InFlight<'a> {
    flow: &'a FlowGraph,
    /// What each token may become.
    becomes: Vec<Vec<TokenId>>,
    /// The ends of the edges that hand each token over.
    entries: Vec<Vec<NodeId>>,
    /// The path of each token that was followed, to where these warps await it.
    ways: FxHashMap<(TokenId, u32), TokenPath>,
    seen: NodeSet,
    seen_open: NodeSet,
}

impl<'a> InFlight<'a> {
    pub fn new(flow: &'a FlowGraph) -> Self {
        let mut becomes = vec![Vec::new(); flow.tokens.len()];
        let mut entries = vec![Vec::new(); flow.tokens.len()];
        for node in &flow.nodes {
            for (token, of) in &node.joins {
                for &of in of {
                    becomes[of].push(*token);
                }
            }
            for edge in &node.edges {
                for &(from, to) in &edge.bindings {
                    becomes[from].push(to);
                    entries[to].push(edge.to);
                }
            }
        }
        Self {
            flow,
            becomes,
            entries,
            ways: FxHashMap::default(),
            seen: NodeSet::new(flow.nodes.len()),
            seen_open: NodeSet::new(flow.nodes.len()),
        }
    }

    /// The nodes at which `issue` of `node` may be in flight, that of the await included.
    pub fn of(&mut self, node: NodeId, issue: &Issue) -> Vec<NodeId> {
        let mut nodes = match &issue.until {
            AccessEnd::Tokens(tokens) => self.until_any(node, tokens, ALL_WARPS),
            AccessEnd::TokensOfWarps(tokens, warps) => self.until_any(node, tokens, *warps),
            AccessEnd::Queue(queue) => self.until_wait(node, *queue, !issue.write),
            AccessEnd::Unknown => self.all_after(node),
        };
        nodes.push(node);
        nodes
    }

    /// Where one of `tokens`, of `node`, is on its way until `warps` have awaited it.
    fn until_any(&mut self, node: NodeId, tokens: &[TokenId], warps: u32) -> Vec<NodeId> {
        let found = tokens.iter().find_map(|&token| self.until_complete(token, warps));
        found.unwrap_or_else(|| self.all_after(node))
    }

    /// Where `token`, or what it becomes, is on its way until `warps` have awaited it; `None` if it may be lost.
    fn until_complete(&mut self, token: TokenId, warps: u32) -> Option<Vec<NodeId>> {
        let mut nodes = Vec::new();
        let mut met = rustc_hash::FxHashSet::from_iter([token]);
        let mut work = vec![token];
        while let Some(token) = work.pop() {
            if !self.ways.contains_key(&(token, warps)) {
                let way = self.way(token, warps).map_or(TokenPath::Lost, TokenPath::Known);
                self.ways.insert((token, warps), way);
            }
            match &self.ways[&(token, warps)] {
                TokenPath::Known(way) => nodes.extend(way),
                TokenPath::Lost => return None,
            }
            work.extend(self.becomes[token].iter().filter(|&&next| met.insert(next)));
        }
        Some(nodes)
    }

    /// The nodes from where `token` comes from to what takes it over; `None` if it is lost on some path.
    fn way(&mut self, token: TokenId, warps: u32) -> Option<Vec<NodeId>> {
        let flow = self.flow;
        self.seen.clear();
        let mut way = Vec::new();
        let mut work = Vec::new();
        match flow.tokens[token] {
            TokenOrigin::Inside(node) => return Some(vec![node]),
            TokenOrigin::Lost => return None,
            TokenOrigin::Edges => work.extend(&self.entries[token]),
            TokenOrigin::Node(node) => {
                way.push(node);
                self.leave(node, token, &mut work)?;
            }
        }
        while let Some(node) = work.pop() {
            if !self.seen.insert(node) {
                continue;
            }
            if flow.tokens[token] == TokenOrigin::Node(node) {
                // The next one takes its place.
                return None;
            }
            way.push(node);
            let step = &flow.nodes[node];
            let mut of_warps = step.awaits_of_warps.iter();
            let is_taken = step.awaits.contains(&token)
                || step.joins.iter().any(|(_, of)| of.contains(&token))
                || of_warps.any(|&(awaited, by)| awaited == token && warps & !by == 0);
            if !is_taken {
                self.leave(node, token, &mut work)?;
            }
        }
        Some(way)
    }

    /// Adds the nodes to which `token` goes on from `node`, none at the end; `None` if another takes its place.
    fn leave(&self, node: NodeId, token: TokenId, work: &mut Vec<NodeId>) -> Option<()> {
        for edge in &self.flow.nodes[node].edges {
            if edge.bindings.iter().any(|(from, _)| *from == token) {
                continue;
            }
            if edge.bindings.iter().any(|(_, to)| *to == token) {
                return None;
            }
            work.push(edge.to);
        }
        Some(())
    }

    /// Where an operation that joins the open group of `queue` at `node` may be in flight: until that group is closed, and
    /// all groups are waited for.
    fn until_wait(&mut self, node: NodeId, queue: usize, reads: bool) -> Vec<NodeId> {
        self.seen.clear();
        self.seen_open.clear();
        let flow = self.flow;
        let mut nodes = Vec::new();
        let edges = |node: NodeId, open| flow.nodes[node].edges.iter().map(move |edge| (edge.to, open));
        let mut work: Vec<(NodeId, bool)> = edges(node, true).collect();
        while let Some((node, open)) = work.pop() {
            let seen = if open { &mut self.seen_open } else { &mut self.seen };
            if !seen.insert(node) {
                continue;
            }
            nodes.push(node);
            let step = &flow.nodes[node];
            let is_over = step
                .waits
                .is_some_and(|(waited, only_reads)| waited == queue && (reads || !only_reads));
            if open || !is_over {
                work.extend(edges(node, open && step.commits != Some(queue)));
            }
        }
        nodes
    }

    /// All nodes that control may come by after `node`.
    fn all_after(&mut self, node: NodeId) -> Vec<NodeId> {
        self.seen.clear();
        let edges = |node: NodeId| self.flow.nodes[node].edges.iter().map(|edge| edge.to);
        let mut work: Vec<NodeId> = edges(node).collect();
        let mut nodes = Vec::new();
        while let Some(node) = work.pop() {
            if self.seen.insert(node) {
                nodes.push(node);
                work.extend(edges(node));
            }
        }
        nodes
    }
}
