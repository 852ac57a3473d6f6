//! From a function to its skeleton.
//!
//! Control flow is read through MLIR's interfaces, so that every dialect that implements them is understood by the same
//! code. An operation with regions but without the interface is taken to run its regions in any order, any number of
//! times, and to bind their arguments to tokens that are not known.

use super::vocabulary::{HardwareQueue, Meaning, Vocabulary};
use async_dialects::control_flow::{
    Edge as IrEdge, EdgeTarget, branch_edges, constant_trip_count, entry_edges, region_exit_edges,
};
use async_dialects::ir::{self, Op, Value};
use std::collections::{HashMap, HashSet};
use tokenflow::{Block, Edge, Graph, Item, Nested, Program, Queue, Repeat, Slot, Target, Token};

/// Where the commits of a slot go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotPlace<'c> {
    /// Right after an operation.
    After(Op<'c>),
    /// At the start of a block.
    Start(ir::Block<'c>),
    /// In the second region of an operation, which has no block yet.
    NewElse(Op<'c>),
}

/// A function's skeleton, and what its numbers stand for.
pub struct Skeleton<'c> {
    /// The skeleton.
    pub program: Program,
    /// The queues, by number.
    pub queues: Vec<HardwareQueue>,
    /// The asynchronous operations, by site.
    pub sites: Vec<Op<'c>>,
    /// The awaits, by number.
    pub awaits: Vec<Op<'c>>,
    /// The slots' places.
    pub slots: Vec<SlotPlace<'c>>,
    /// The constant-trip loops, by number.
    pub loops: Vec<Op<'c>>,
    /// The token of every value.
    pub tokens: HashMap<Value<'c>, Token>,
    /// The queues that a token belongs to by its definition.
    pub issued: Vec<(Token, HardwareQueue)>,
    /// Tokens that this function doesn't define, and those that nothing known defines.
    pub foreign: Vec<Token>,
    /// Which token a control-flow edge binds to which.
    pub bindings: Vec<(Token, Token)>,
    /// Which token is joined into which.
    pub joins: Vec<(Token, Token)>,
    /// Uses of tokens by operations that can't be followed.
    pub escapes: Vec<(Op<'c>, usize)>,
    /// For each graph, in program order from outside in: whose regions it is made of, and the region of each block.
    /// Blocks of no region are where the operation is entered and where it does nothing.
    pub graphs: Vec<(Op<'c>, Vec<Option<usize>>)>,
}

/// Reads the body of `function`. Loops in `unpeelable` are never to be peeled.
#[allow(clippy::implicit_hasher)] // Made by our passes alone.
pub fn read<'c, V: Vocabulary<'c>>(
    function: Op<'c>,
    vocabulary: &V,
    unpeelable: &HashSet<Op<'c>>,
) -> Skeleton<'c> {
    let mut reader = Reader {
        vocabulary,
        unpeelable,
        out: Skeleton {
            program: Program::new(0),
            queues: Vec::new(),
            sites: Vec::new(),
            awaits: Vec::new(),
            slots: Vec::new(),
            loops: Vec::new(),
            tokens: HashMap::new(),
            issued: Vec::new(),
            foreign: Vec::new(),
            bindings: Vec::new(),
            joins: Vec::new(),
            escapes: Vec::new(),
            graphs: Vec::new(),
        },
        defined: HashSet::new(),
    };
    let regions: Vec<ir::Region> = function.regions().collect();
    let scope = Scope::new(function, Kind::Function, 0);
    reader.out.program.body = reader.regions(&regions, scope, Vec::new());
    if let Some(entry) = function.regions().next().and_then(ir::Region::first) {
        for arg in reader.token_values(entry.args()) {
            let token = reader.token(arg);
            reader.foreign(token);
        }
    }
    reader.out.program.queues = u8::try_from(reader.out.queues.len()).unwrap_or(u8::MAX);
    let undefined: Vec<Token> = {
        let tokens = reader.out.tokens.values().copied();
        tokens.filter(|token| !reader.defined.contains(token)).collect()
    };
    reader.out.foreign.extend(undefined);
    reader.out
}

struct Reader<'a, 'c, V> {
    vocabulary: &'a V,
    unpeelable: &'a HashSet<Op<'c>>,
    out: Skeleton<'c>,
    defined: HashSet<Token>,
}

/// What is known of the control flow between the regions of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A function: leaving it is leaving the program.
    Function,
    /// The interface tells.
    Known,
    /// A loop whose body's end is the end of an iteration.
    Repeat,
    /// Nothing.
    Unknown,
}

/// The blocks that one graph is made of.
struct Scope<'c> {
    op: Op<'c>,
    kind: Kind,
    /// The place of each block in the graph.
    places: HashMap<ir::Block<'c>, usize>,
    /// The first block of each region.
    entries: Vec<Option<ir::Block<'c>>>,
}

impl<'c> Scope<'c> {
    /// Numbers the blocks of all regions of `op` from `first` on.
    fn new(op: Op<'c>, kind: Kind, first: usize) -> Self {
        let mut places = HashMap::new();
        for block in op.regions().flat_map(ir::Region::blocks) {
            places.insert(block, first + places.len());
        }
        Self {
            op,
            kind,
            places,
            entries: op.regions().map(ir::Region::first).collect(),
        }
    }
}

impl<'c, V: Vocabulary<'c>> Reader<'_, 'c, V> {
    // Tokens.

    fn is_token(&self, value: Value<'c>) -> bool {
        self.vocabulary.is_token(value.ty())
    }

    fn token_values(&self, values: impl Iterator<Item = Value<'c>>) -> Vec<Value<'c>> {
        values.filter(|value| self.is_token(*value)).collect()
    }

    fn token(&mut self, value: Value<'c>) -> Token {
        let program = &mut self.out.program;
        *self.out.tokens.entry(value).or_insert_with(|| program.token())
    }

    fn define(&mut self, value: Value<'c>) -> Token {
        let token = self.token(value);
        self.defined.insert(token);
        token
    }

    /// Notes that nothing is known of where `token` comes from.
    fn foreign(&mut self, token: Token) {
        self.out.foreign.push(token);
    }

    fn unknown_token(&mut self) -> Token {
        let token = self.out.program.token();
        self.foreign(token);
        token
    }

    fn queue(&mut self, queue: HardwareQueue) -> Queue {
        let index = self.out.queues.iter().position(|known| *known == queue);
        let index = index.unwrap_or_else(|| {
            self.out.queues.push(queue);
            self.out.queues.len() - 1
        });
        Queue(u8::try_from(index).unwrap_or(u8::MAX))
    }

    fn slot(&mut self, place: SlotPlace<'c>) -> Option<Slot> {
        V::INSERTS_COMMITS.then(|| {
            self.out.slots.push(place);
            self.out.program.slot()
        })
    }

    // Blocks.

    /// Appends the blocks of `regions` to `blocks`.
    fn regions(&mut self, regions: &[ir::Region<'c>], scope: Scope<'c>, blocks: Vec<Block>) -> Graph {
        let mut region_of = vec![None; blocks.len()];
        for (i, region) in regions.iter().enumerate() {
            region_of.extend(region.blocks().iter().map(|_| Some(i)));
        }
        self.out.graphs.push((scope.op, region_of));
        let mut graph = Graph { blocks };
        for region in regions {
            for block in region.blocks() {
                let block = self.block(block, &scope);
                graph.blocks.push(block);
            }
        }
        graph
    }

    fn block(&mut self, block: ir::Block<'c>, scope: &Scope<'c>) -> Block {
        let mut new = Block::default();
        for arg in self.token_values(block.args()) {
            let token = self.define(arg);
            new.params.push(token);
        }
        new.start = self.slot(SlotPlace::Start(block));
        let terminator = block.terminator();
        let mut next = block.first();
        while let Some(op) = next {
            next = op.next();
            if Some(op) != terminator {
                self.op(op, &mut new.items);
            }
        }
        new.edges = match terminator {
            Some(terminator) => self.terminator(terminator, scope, &mut new.items),
            None => self.unknown_edges(scope),
        };
        new
    }

    fn terminator(&mut self, op: Op<'c>, scope: &Scope<'c>, items: &mut Vec<Item>) -> Vec<Edge> {
        let successors: Vec<ir::Block> = op.successors().collect();
        let edges = if successors.is_empty() {
            match scope.kind {
                Kind::Function | Kind::Unknown => None,
                Kind::Known | Kind::Repeat => region_exit_edges(op),
            }
        } else {
            branch_edges(op)
        };
        self.escaping_operands(op, edges.as_deref().unwrap_or(&[]), items);
        self.regions_and_results(op, items);
        match edges.map(|edges| self.possible(edges)) {
            Some(edges) if !successors.is_empty() => {
                let edges = edges.iter().map(|edge| {
                    let block = match edge.to {
                        EdgeTarget::Index(i) => Some(successors[i]),
                        EdgeTarget::Behind => None,
                    };
                    self.edge_to(edge, block, scope)
                });
                edges.collect()
            }
            Some(edges) if scope.kind == Kind::Repeat => {
                // Both edges, to the next iteration and behind the loop, hand over the same tokens.
                let back = edges.iter().find(|edge| edge.to == EdgeTarget::Index(0));
                let edge = back.or_else(|| edges.first());
                edge.map(|edge| self.exit(edge, scope)).into_iter().collect()
            }
            Some(edges) => {
                let edges = edges.iter().map(|edge| match edge.to {
                    EdgeTarget::Index(region) => self.edge_to(edge, scope.entries[region], scope),
                    EdgeTarget::Behind => self.exit(edge, scope),
                });
                edges.collect()
            }
            None if !successors.is_empty() => {
                let edges = successors
                    .iter()
                    .map(|&block| self.blind_edge(Some(block), scope));
                edges.collect()
            }
            None if scope.kind == Kind::Function => vec![Edge {
                to: Target::Exit,
                args: Vec::new(),
            }],
            None => self.unknown_edges(scope),
        }
    }

    /// Returns those of `edges` that can be taken. What the others bind stays or goes together, too.
    fn possible(&mut self, mut edges: Vec<IrEdge<'c>>) -> Vec<IrEdge<'c>> {
        for &(from, to) in edges
            .iter()
            .filter(|edge| !edge.possible)
            .flat_map(|edge| &edge.bindings)
        {
            if self.is_token(from) && self.is_token(to) {
                let binding = (self.token(from), self.token(to));
                self.out.bindings.push(binding);
            }
        }
        edges.retain(|edge| edge.possible);
        edges
    }

    /// Reads the regions and results of a terminator, of which nothing is known.
    fn regions_and_results(&mut self, op: Op<'c>, items: &mut Vec<Item>) {
        let results = self.token_values(op.results());
        if op.num_regions() > 0 {
            self.nested(op, None, &results, items);
        } else {
            self.foreign_results(results, items);
        }
    }

    /// Defines tokens of which nothing is known.
    fn foreign_results(&mut self, results: Vec<Value<'c>>, items: &mut Vec<Item>) {
        for result in results {
            let token = self.define(result);
            self.foreign(token);
            items.push(Item::Join {
                token,
                of: Vec::new(),
            });
        }
    }

    /// An edge to `block`, or out of the graph if there is none.
    fn edge_to(&mut self, edge: &IrEdge<'c>, block: Option<ir::Block<'c>>, scope: &Scope<'c>) -> Edge {
        let Some((block, &place)) = block.and_then(|block| Some((block, scope.places.get(&block)?))) else {
            return self.exit(edge, scope);
        };
        let params = self.token_values(block.args());
        Edge {
            to: Target::Block(place),
            args: self.bind(edge, &params),
        }
    }

    fn exit(&mut self, edge: &IrEdge<'c>, scope: &Scope<'c>) -> Edge {
        let targets = if scope.kind == Kind::Repeat && edge.to == EdgeTarget::Index(0) {
            scope.entries[0].map_or_else(Vec::new, |entry| self.token_values(entry.args()))
        } else {
            self.token_values(scope.op.results())
        };
        Edge {
            to: Target::Exit,
            args: self.bind(edge, &targets),
        }
    }

    /// Returns what `edge` binds to each of `targets`, which are tokens.
    fn bind(&mut self, edge: &IrEdge<'c>, targets: &[Value<'c>]) -> Vec<Token> {
        let bound: HashMap<Value, Value> = edge.bindings.iter().map(|&(from, to)| (to, from)).collect();
        let args = targets.iter().map(|&to| match bound.get(&to) {
            Some(&from) if self.is_token(from) => {
                let binding = (self.token(from), self.token(to));
                self.out.bindings.push(binding);
                binding.0
            }
            _ => {
                let (from, to) = (self.unknown_token(), self.token(to));
                self.out.bindings.push((from, to));
                from
            }
        });
        args.collect()
    }

    /// An edge of which nothing is known but where it may lead.
    fn blind_edge(&mut self, block: Option<ir::Block<'c>>, scope: &Scope<'c>) -> Edge {
        let edge = IrEdge {
            to: EdgeTarget::Behind,
            possible: true,
            bindings: Vec::new(),
        };
        self.edge_to(&edge, block, scope)
    }

    /// Edges to every region and behind the operation.
    fn unknown_edges(&mut self, scope: &Scope<'c>) -> Vec<Edge> {
        let entries: Vec<_> = scope.entries.iter().copied().flatten().map(Some).collect();
        let targets = entries.into_iter().chain([None]);
        targets.map(|block| self.blind_edge(block, scope)).collect()
    }

    /// Notes the tokens that `op` uses and none of `edges` hands over.
    fn escaping_operands(&mut self, op: Op<'c>, edges: &[IrEdge<'c>], items: &mut Vec<Item>) {
        let bound: HashSet<Value> = edges
            .iter()
            .flat_map(|edge| edge.bindings.iter().map(|(from, _)| *from))
            .collect();
        for (i, operand) in op.operands().enumerate() {
            if self.is_token(operand) && !bound.contains(&operand) {
                self.escape(op, i, items);
            }
        }
    }

    /// Notes that operand `i` of `op` can't be followed. It must be committed by then.
    fn escape(&mut self, op: Op<'c>, i: usize, items: &mut Vec<Item>) {
        self.out.escapes.push((op, i));
        let tokens = vec![self.token(op.operand(i))];
        self.await_op(op, tokens, items);
    }

    fn await_op(&mut self, op: Op<'c>, tokens: Vec<Token>, items: &mut Vec<Item>) {
        self.out.awaits.push(op);
        items.push(Item::Await {
            site: self.out.program.new_await(),
            tokens,
        });
    }

    // Operations.

    fn op(&mut self, op: Op<'c>, items: &mut Vec<Item>) {
        if self.vocabulary.marks(op) {
            self.await_op(op, Vec::new(), items);
        }
        match self.vocabulary.meaning(op) {
            Meaning::Issue { queue, token } => self.issue(op, queue, token, items),
            Meaning::Commit { queue, token } => {
                let number = self.queue(queue);
                let token = token.map(|token| self.define(token));
                self.out.issued.extend(token.map(|token| (token, queue)));
                if V::INSERTS_COMMITS && token.is_some() {
                    // Such a group is made for operations that nothing is known of: it has one of its own, and our
                    // copies don't join it unnoticed.
                    self.out.sites.push(op);
                    items.push(Item::Issue {
                        site: self.out.program.site(),
                        queue: number,
                        token: None,
                        slot: None,
                    });
                }
                items.push(Item::Commit { queue: number, token });
            }
            Meaning::Wait { queue, n } => {
                let queue = self.queue(queue);
                items.push(Item::Wait { queue, n });
            }
            Meaning::Await(values) => {
                let tokens = values.iter().map(|&value| self.token(value)).collect();
                self.await_op(op, tokens, items);
            }
            Meaning::Join(value, of) => self.join(value, &of, items),
            Meaning::Other => self.other(op, items),
        }
    }

    fn issue(&mut self, op: Op<'c>, queue: HardwareQueue, token: Option<Value<'c>>, items: &mut Vec<Item>) {
        let number = self.queue(queue);
        let token = token.map(|token| self.define(token));
        self.out.issued.extend(token.map(|token| (token, queue)));
        self.out.sites.push(op);
        let slot = token.and_then(|_| self.slot(SlotPlace::After(op)));
        items.push(Item::Issue {
            site: self.out.program.site(),
            queue: number,
            token,
            slot,
        });
    }

    fn join(&mut self, value: Value<'c>, of: &[Value<'c>], items: &mut Vec<Item>) {
        let of: Vec<Token> = of.iter().map(|&value| self.token(value)).collect();
        let token = self.define(value);
        self.out.joins.extend(of.iter().map(|&from| (from, token)));
        items.push(Item::Join { token, of });
    }

    fn other(&mut self, op: Op<'c>, items: &mut Vec<Item>) {
        if op.is_function() {
            // Not executed where it stands.
            return;
        }
        let results = self.token_values(op.results());
        if let ([result], true) = (results.as_slice(), op.num_regions() == 0) {
            if op.is("ub.poison") {
                return self.join(*result, &[], items);
            }
            if let Some(values) = async_dialects::control_flow::selected_values(op) {
                return self.join(*result, &values, items);
            }
        }
        if op.num_regions() == 0 {
            self.escaping_operands(op, &[], items);
            return self.foreign_results(results, items);
        }
        let edges = if runs_for_some_threads(op) {
            None
        } else {
            entry_edges(op)
        };
        if let Some(edges) = edges {
            self.escaping_operands(op, &edges, items);
            let edges = self.possible(edges);
            if !self.repeat(op, &edges, &results, items) {
                self.nested(op, Some(&edges), &results, items);
            }
        } else {
            self.escaping_operands(op, &[], items);
            self.nested(op, None, &results, items);
        }
    }

    /// Reads a loop of constant trip count; returns false if `op` is none, or does not carry its tokens around plainly.
    fn repeat(
        &mut self,
        op: Op<'c>,
        edges: &[IrEdge<'c>],
        results: &[Value<'c>],
        items: &mut Vec<Item>,
    ) -> bool {
        let Some(trip) = constant_trip_count(op) else {
            return false;
        };
        let (Some(entry), Some(edge)) = (op.region(0).first(), edges.first()) else {
            return false;
        };
        let params = self.token_values(entry.args());
        if params.len() != results.len() {
            return false;
        }
        let targets = match edge.to {
            EdgeTarget::Index(_) => &params,
            EdgeTarget::Behind => results,
        };
        let carried = edge
            .bindings
            .iter()
            .filter(|(from, _)| self.is_token(*from))
            .count();
        if carried != targets.len() {
            return false;
        }
        let inits = self.bind(edge, targets);
        for (&init, (&param, &result)) in inits.iter().zip(params.iter().zip(results)) {
            let (param, result) = (self.token(param), self.token(result));
            self.out
                .bindings
                .extend([(init, param), (init, result), (param, result)]);
        }
        let id = self.out.program.new_loop();
        self.out.loops.push(op);
        let regions: Vec<_> = op.regions().collect();
        let body = self.regions(&regions, Scope::new(op, Kind::Repeat, 0), Vec::new());
        let results = results.iter().map(|&result| self.define(result)).collect();
        let after = self.slot(SlotPlace::After(op));
        items.push(Item::Repeat(Repeat {
            id,
            trip,
            peelable: V::INSERTS_COMMITS && is_peelable(op) && !self.unpeelable.contains(&op),
            body,
            inits,
            results,
            after,
        }));
        true
    }

    fn nested(
        &mut self,
        op: Op<'c>,
        edges: Option<&[IrEdge<'c>]>,
        results: &[Value<'c>],
        items: &mut Vec<Item>,
    ) {
        let kind = if edges.is_some() {
            Kind::Known
        } else {
            Kind::Unknown
        };
        // A branch without an else gets one in the skeleton, where commits may be wanted.
        let skips = |edge: &IrEdge| edge.to == EdgeTarget::Behind;
        let new_else = matches!(op.name(), "scf.if" | "affine.if")
            && op.region(1).first().is_none()
            && edges.is_some_and(|edges| edges.iter().any(skips));
        let scope = Scope::new(op, kind, if new_else { 2 } else { 1 });
        let mut blocks = vec![Block::default()];
        if new_else {
            blocks.push(Block {
                start: self.slot(SlotPlace::NewElse(op)),
                edges: vec![Edge {
                    to: Target::Exit,
                    args: Vec::new(),
                }],
                ..Block::default()
            });
        }
        blocks[0].edges = match edges {
            None => self.unknown_edges(&scope),
            Some(edges) => {
                let edges = edges.iter().map(|edge| match edge.to {
                    EdgeTarget::Behind if new_else => Edge {
                        to: Target::Block(1),
                        args: Vec::new(),
                    },
                    EdgeTarget::Behind => self.exit(edge, &scope),
                    EdgeTarget::Index(region) => self.edge_to(edge, scope.entries[region], &scope),
                });
                edges.collect()
            }
        };
        let regions: Vec<_> = op.regions().collect();
        let graph = self.regions(&regions, scope, blocks);
        let results = results.iter().map(|&result| self.define(result)).collect();
        let after = self.slot(SlotPlace::After(op));
        items.push(Item::Nested(Nested {
            graph,
            inits: Vec::new(),
            results,
            after,
        }));
    }
}

/// Returns true if a thread may run the regions of `op` any number of times, or not at all, although the interface says
/// that control always passes through them: it speaks of all threads together.
fn runs_for_some_threads(op: Op<'_>) -> bool {
    matches!(op.name(), "scf.forall" | "gpu.warp_execute_on_lane_0")
}

/// Returns true if iterations can be taken off the front of `op`, a loop of constant trip count: what its induction
/// variable is in each of them must be known.
fn is_peelable(op: Op<'_>) -> bool {
    op.is("scf.for") && [0, 2].iter().all(|&i| op.operand(i).as_constant_int().is_some())
}
