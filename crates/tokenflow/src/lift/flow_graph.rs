//! Builds the flow graph of a queue: nodes are straight lines of what happens on the queue. What has nothing
//! to do with the queue is left out, together with the graphs in which nothing has.

use super::{Accesses, JoinPlace, RegionStructure, TokensOf};
use crate::age::MAX_COUNT;
use crate::program::{
    Await, Block, Graph, Item, Program, Queue, Repeat, Site, Target, ensure_sufficient_stack,
};
use rustc_hash::FxHashMap;

/// What happens on the queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Issue(Site),
    /// A commit, by number.
    Commit(usize),
    Wait(Wait),
    /// Something may access memory, in one of these ways.
    Access(u64),
    /// All threads come together.
    Barrier,
    /// They may.
    MaybeBarrier,
}

/// A wait of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// Its number.
    pub number: usize,
    pub n: usize,
    pub read: bool,
}

/// Where a node begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begin {
    /// At the start of a block.
    Block { graph: usize, block: usize },
    /// After a graph.
    After(usize),
}

#[derive(Debug)]
pub(super) struct Node {
    pub begin: Begin,
    /// The graph inside of which tokens are not visible here.
    pub hidden: Option<usize>,
    /// Which registers are phis here: nodes of one set have the same.
    pub set: Option<usize>,
    pub steps: Vec<Step>,
    pub end: JoinPlace,
    pub preds: Vec<usize>,
    /// True if the program may end after it.
    pub ends: bool,
}

/// A graph of the program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    pub parent: usize,
    /// The number after that of the last graph inside.
    pub end: usize,
    /// True if something inside has to do with the queue.
    has_steps: bool,
    /// How memory may be accessed inside.
    accesses: u64,
    /// True if there is a barrier inside.
    has_barriers: bool,
    /// The node that ends where the graph is entered.
    pub before: Option<usize>,
    /// The set of phis of its results.
    pub set: Option<usize>,
}

pub(super) struct FlowGraph {
    pub nodes: Vec<Node>,
    /// The nodes that can be reached, in reverse postorder.
    pub order: Vec<usize>,
    /// The nodes of each set of phis.
    pub sets: Vec<Vec<usize>>,
    pub graphs: Vec<Extent>,
    /// The node at the end of each block of each graph.
    pub ends: Vec<Vec<Option<usize>>>,
    /// The sets of blocks that have their own.
    pub block_sets: FxHashMap<(usize, usize), usize>,
    /// The graph of each operation, and of each commit.
    pub site_graphs: Vec<usize>,
    pub commit_graphs: Vec<usize>,
    pub waits: usize,
    /// True if groups have tokens, and not operations.
    pub of_groups: bool,
    /// The largest count of a wait, and of a wait for reads or for all.
    pub depth: Option<usize>,
    pub read_depth: Option<usize>,
}

impl FlowGraph {
    pub fn new(
        program: &Program,
        queue: Queue,
        structures: &[RegionStructure],
        of: TokensOf,
        accesses: Option<&Accesses>,
    ) -> Self {
        let mut flow = Self {
            nodes: Vec::new(),
            order: Vec::new(),
            sets: Vec::new(),
            graphs: Vec::new(),
            ends: Vec::new(),
            block_sets: FxHashMap::default(),
            site_graphs: vec![0; program.sites as usize],
            commit_graphs: Vec::new(),
            waits: 0,
            of_groups: of == TokensOf::Groups,
            depth: None,
            read_depth: None,
        };
        let mut extents = Extents {
            queue,
            accesses,
            graphs: Vec::new(),
        };
        extents.graph(&program.body, 0);
        flow.ends = vec![Vec::new(); extents.graphs.len()];
        flow.graphs = extents.graphs;
        let mut builder = Builder {
            flow,
            queue,
            structures,
            accesses,
            next_graph: 1,
            reads: false,
        };
        builder.graph(&program.body, 0, false);
        let mut flow = builder.flow;
        if !builder.reads || flow.of_groups {
            flow.read_depth = None;
        }
        flow.order = reverse_postorder(&flow.nodes);
        flow
    }

    /// Returns true if what stands in graph `inner` is inside of graph `outer`.
    pub fn is_inside(&self, inner: usize, outer: usize) -> bool {
        outer <= inner && inner < self.graphs[outer].end
    }
}

/// Finds out what is in which graph.
struct Extents<'a> {
    queue: Queue,
    accesses: Option<&'a Accesses>,
    graphs: Vec<Extent>,
}

impl Extents<'_> {
    fn graph(&mut self, graph: &Graph, parent: usize) -> usize {
        let id = self.graphs.len();
        self.graphs.push(Extent {
            parent,
            ..Extent::default()
        });
        let (mut has_steps, mut kinds, mut has_barriers) = (false, 0, false);
        for item in graph.blocks.iter().flat_map(|block| &block.items) {
            match item {
                Item::Issue { queue, .. } | Item::Commit { queue, .. } | Item::Wait { queue, .. } => {
                    has_steps |= *queue == self.queue;
                }
                Item::Await { site, .. } => {
                    kinds |= access(self.accesses, *site);
                    has_barriers |= is_barrier(self.accesses, *site);
                }
                _ => {
                    if let Some(inner) = item.graph() {
                        let inner = ensure_sufficient_stack(|| self.graph(inner, id));
                        has_steps |= self.graphs[inner].has_steps;
                        kinds |= self.graphs[inner].accesses;
                        has_barriers |= self.graphs[inner].has_barriers;
                    }
                }
            }
        }
        let end = self.graphs.len();
        let extent = &mut self.graphs[id];
        (extent.end, extent.has_steps) = (end, has_steps);
        (extent.accesses, extent.has_barriers) = (kinds, has_barriers);
        id
    }
}

/// How memory may be accessed at an await.
fn access(accesses: Option<&Accesses>, site: Await) -> u64 {
    accesses.map_or(0, |accesses| accesses.at[site.0 as usize])
}

/// Returns true if an await stands for a barrier.
fn is_barrier(accesses: Option<&Accesses>, site: Await) -> bool {
    accesses.is_some_and(|accesses| accesses.barriers.binary_search(&site).is_ok())
}

struct Builder<'a> {
    flow: FlowGraph,
    queue: Queue,
    structures: &'a [RegionStructure],
    accesses: Option<&'a Accesses>,
    next_graph: usize,
    /// True if there are waits for reads alone.
    reads: bool,
}

impl Builder<'_> {
    fn node(&mut self, begin: Begin, end: JoinPlace) -> usize {
        self.flow.nodes.push(Node {
            begin,
            hidden: None,
            set: None,
            steps: Vec::new(),
            end,
            preds: Vec::new(),
            ends: false,
        });
        self.flow.nodes.len() - 1
    }

    fn set(&mut self) -> usize {
        self.flow.sets.push(Vec::new());
        self.flow.sets.len() - 1
    }

    fn join_set(&mut self, node: usize, set: usize) {
        self.flow.nodes[node].set = Some(set);
        self.flow.sets[set].push(node);
    }

    /// Adds a graph; returns the node where it is entered, if it has a block, and those on whose ends it is left.
    fn graph(&mut self, graph: &Graph, id: usize, is_loop: bool) -> (Option<usize>, Vec<usize>) {
        let heads: Vec<usize> = (0..graph.blocks.len())
            .map(|block| self.head(id, block, is_loop))
            .collect();
        self.flow.ends[id] = vec![None; heads.len()];
        let mut exits = Vec::new();
        for (b, block) in graph.blocks.iter().enumerate() {
            let last = self.block(block, heads[b], id);
            self.flow.nodes[last].end = JoinPlace::End { graph: id, block: b };
            self.flow.ends[id][b] = Some(last);
            let exits_program = id == 0 && block.edges.iter().any(|edge| edge.to == Target::Exit);
            self.flow.nodes[last].ends = exits_program || block.edges.is_empty();
            for edge in &block.edges {
                match edge.to {
                    Target::Block(to) => self.flow.nodes[heads[to]].preds.push(last),
                    Target::Exit => exits.push(last),
                }
            }
        }
        (heads.first().copied(), exits)
    }

    /// The node at the start of a block.
    fn head(&mut self, graph: usize, block: usize, is_loop: bool) -> usize {
        let head = self.node(Begin::Block { graph, block }, JoinPlace::End { graph, block });
        let structure = &self.structures[graph];
        if structure.starts_region(block) {
            if let (true, Some(set)) = (is_loop, self.flow.graphs[graph].set) {
                self.flow.nodes[head].hidden = Some(graph);
                self.join_set(head, set);
            }
        } else if structure.regions[block].is_some() {
            let set = self.set();
            self.join_set(head, set);
            self.flow.block_sets.insert((graph, block), set);
        }
        head
    }

    fn block(&mut self, block: &Block, head: usize, graph: usize) -> usize {
        let mut at = head;
        for item in &block.items {
            match item {
                Item::Issue { site, queue, .. } if *queue == self.queue => {
                    self.flow.site_graphs[site.0 as usize] = graph;
                    self.flow.nodes[at].steps.push(Step::Issue(*site));
                }
                Item::Commit { queue, .. } if *queue == self.queue => {
                    let number = self.flow.commit_graphs.len();
                    self.flow.nodes[at].steps.push(Step::Commit(number));
                    self.flow.commit_graphs.push(graph);
                }
                Item::Wait { queue, n, read } if *queue == self.queue => self.wait(at, *n, *read),
                Item::Await { site, .. } => {
                    self.access(at, access(self.accesses, *site));
                    if is_barrier(self.accesses, *site) {
                        self.flow.nodes[at].steps.push(Step::Barrier);
                    }
                }
                Item::Nested(nested) => at = self.inner(&nested.graph, at, None),
                Item::Repeat(repeat) => at = self.inner(&repeat.body, at, Some(repeat)),
                _ => {}
            }
        }
        at
    }

    fn access(&mut self, at: usize, kinds: u64) {
        if kinds != 0 {
            self.flow.nodes[at].steps.push(Step::Access(kinds));
        }
    }

    fn wait(&mut self, at: usize, n: u32, read: bool) {
        let number = self.flow.waits;
        self.flow.waits += 1;
        // Others complete nothing, as far as is known.
        let Some(n) = u8::try_from(n).ok().filter(|n| *n <= MAX_COUNT).map(usize::from) else {
            return;
        };
        self.flow.read_depth = self.flow.read_depth.max(Some(n));
        if read {
            self.reads = true;
        } else {
            self.flow.depth = self.flow.depth.max(Some(n));
        }
        self.flow.nodes[at]
            .steps
            .push(Step::Wait(Wait { number, n, read }));
    }

    /// Adds the graph of an item after node `at`; returns the node after the item.
    fn inner(&mut self, graph: &Graph, at: usize, repeat: Option<&Repeat>) -> usize {
        let id = self.next_graph;
        if !self.flow.graphs[id].has_steps {
            self.next_graph = self.flow.graphs[id].end;
            if self.flow.graphs[id].has_barriers {
                self.flow.nodes[at].steps.push(Step::MaybeBarrier);
            }
            // All of them may come before or after a barrier.
            self.access(at, self.flow.graphs[id].accesses);
            return at;
        }
        self.next_graph += 1;
        self.flow.nodes[at].end = JoinPlace::Before(id);
        let set = self.set();
        let extent = &mut self.flow.graphs[id];
        (extent.before, extent.set) = (Some(at), Some(set));
        let is_loop = repeat.is_some() || self.structures[id].is_loop;
        let (entry, exits) = ensure_sufficient_stack(|| self.graph(graph, id, is_loop));
        let after = self.node(Begin::After(id), JoinPlace::Before(id));
        self.flow.nodes[after].hidden = Some(id);
        self.join_set(after, set);
        let trip = repeat.map_or(1, |repeat| repeat.trip);
        if let Some(entry) = entry.filter(|_| trip > 0) {
            self.flow.nodes[entry].preds.push(at);
            if trip > 1 {
                self.flow.nodes[entry].preds.extend(&exits);
            }
            self.flow.nodes[after].preds = exits;
        } else {
            self.flow.nodes[after].preds.push(at);
        }
        after
    }
}

/// The nodes that can be reached from the first.
fn reverse_postorder(nodes: &[Node]) -> Vec<usize> {
    if nodes.is_empty() {
        return Vec::new();
    }
    let mut next = vec![Vec::new(); nodes.len()];
    for (n, node) in nodes.iter().enumerate() {
        for &pred in &node.preds {
            next[pred].push(n);
        }
    }
    let mut seen = vec![false; nodes.len()];
    let mut order = Vec::new();
    let mut work = vec![(0, 0)];
    seen[0] = true;
    while let Some((node, edge)) = work.last_mut() {
        if let Some(&to) = next[*node].get(*edge) {
            *edge += 1;
            if !std::mem::replace(&mut seen[to], true) {
                work.push((to, 0));
            }
        } else {
            order.push(*node);
            work.pop();
        }
    }
    order.reverse();
    order
}
