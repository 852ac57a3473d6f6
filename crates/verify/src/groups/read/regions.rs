//! Reads control flow: the regions of operations, and the edges between blocks.

use super::Reader;
use crate::groups::code::{BlockId, Edge, EdgeKind, Instr, Loop, Span};
use async_mlir::control_flow::{
    self, EdgeTarget, SimpleFlow, branch_edges, constant_trip_count, entry_edges, region_exit_edges,
    simple_flow,
};
use async_mlir::ir::{self, Op, Value};
use async_mlir::names::{gpu, scf};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The regions of an operation.
pub(super) struct Flow<'c> {
    pub op: Op<'c>,
    /// How control flows through them, if that is simple.
    simple: Option<SimpleFlow>,
    /// True if it is known from edges how control flows through them.
    is_known: bool,
    is_function: bool,
    /// The loop that it is, if its trip count is constant.
    counted: Option<Loop>,
    /// The block after the operation.
    after: Option<BlockId>,
    /// The blocks, in order.
    pub blocks: SmallVec<[ir::Block<'c>; 4]>,
    /// The number of the first one.
    pub first: u32,
    /// The places of blocks, where they are too many to look through.
    pub places: Option<FxHashMap<ir::Block<'c>, u32>>,
}

impl<'c> Flow<'c> {
    pub const FEW: usize = 8;

    /// The body of `function`; to leave it is to leave the code.
    pub fn of_function(function: Op<'c>) -> Self {
        Self {
            is_function: true,
            ..Self::new(function)
        }
    }

    fn new(op: Op<'c>) -> Self {
        Self {
            op,
            simple: None,
            is_known: false,
            is_function: false,
            counted: None,
            after: None,
            blocks: SmallVec::new(),
            first: 0,
            places: None,
        }
    }

    fn id(&self, block: ir::Block<'c>) -> Option<BlockId> {
        let place = match &self.places {
            Some(places) => places.get(&block).copied(),
            None => (0..)
                .zip(&self.blocks)
                .find(|(_, known)| **known == block)
                .map(|(place, _)| place),
        };
        place.map(|place| BlockId(self.first + place))
    }
}

impl<'c> Reader<'_, 'c> {
    /// Reads an operation with regions, which comes next in block `at`; returns the block that goes on after it.
    pub(super) fn region_op(&mut self, op: Op<'c>, at: BlockId) -> BlockId {
        let mark = self.mark();
        let params = self.list(op.results());
        let after = self.new_block(params);
        let mut flow = Flow {
            after: Some(after),
            simple: simple_flow(op),
            ..Flow::new(op)
        };
        self.add_blocks(&mut flow);
        let first_edge = self.code.edges.len();
        match flow.simple {
            Some(SimpleFlow::Loop) => self.add_edges_of_loop(op, &flow),
            Some(SimpleFlow::Branch) => self.add_edges_to_arms(&flow),
            None => self.add_entries(&mut flow),
        }
        let start = self.start;
        self.end_block(at, first_edge);
        self.read_blocks(&flow);
        if self.is_plain_since(&mark) {
            // Most control flow has nothing to do with tokens.
            self.go_back_to(&mark);
            self.start = start;
            return at;
        }
        if self.merge_arms(at, after, &mark) {
            self.start = start;
            return at;
        }
        self.start = self.code.instrs.len();
        after
    }

    /// Adds the edges on which the operation of `flow` is entered, and says what is known of it.
    fn add_entries(&mut self, flow: &mut Flow<'c>) {
        let op = flow.op;
        let some_threads = matches!(op.name(), scf::FORALL | gpu::WARP_EXECUTE_ON_LANE_0);
        let Some(entries) = entry_edges(op).filter(|_| !some_threads) else {
            return self.add_edges_anywhere(flow);
        };
        flow.is_known = true;
        let trip = constant_trip_count(op);
        flow.counted = trip.map(|trip| {
            self.code.trips.push(trip);
            Loop(u32::try_from(self.code.trips.len() - 1).unwrap_or(u32::MAX))
        });
        // A loop of constant trip count is entered, or passed over.
        let is_taken = |kind| trip.is_none_or(|trip| (kind == EdgeKind::Plain) == (trip == 0));
        self.add_edges(&entries, |i| op.region(i).first(), flow, false, is_taken);
    }

    /// Adds the edges of a loop from the current block, where `from` hands its tokens on: the loop itself, or the terminator.
    fn add_edges_of_loop(&mut self, from: Op<'c>, flow: &Flow<'c>) {
        let args = self.list(from.operands());
        self.add_plain_edge(Some(BlockId(flow.first)), args);
        self.add_plain_edge(flow.after, args);
    }

    /// Adds the edges to the arms of a branch; without a second arm, it may be passed over.
    fn add_edges_to_arms(&mut self, flow: &Flow<'c>) {
        for (arm, _) in (flow.first..).zip(&flow.blocks) {
            self.add_plain_edge(Some(BlockId(arm)), Span::default());
        }
        if flow.blocks.len() == 1 {
            self.add_plain_edge(flow.after, Span::default());
        }
    }

    fn add_plain_edge(&mut self, to: Option<BlockId>, args: Span) {
        let kind = EdgeKind::Plain;
        self.code.edges.push(Edge { kind, to, args });
    }

    /// Adds the edges on which control may leave the current block, which ends with this terminator.
    pub(super) fn add_exits(&mut self, terminator: Option<Op<'c>>, flow: &Flow<'c>) {
        let Some(terminator) = terminator else {
            return self.add_edges_anywhere(flow);
        };
        if terminator.successors().len() > 0 {
            let successors: Vec<ir::Block> = terminator.successors().collect();
            match branch_edges(terminator) {
                Some(edges) => self.add_edges(&edges, |i| successors.get(i).copied(), flow, false, |_| true),
                None => successors.iter().for_each(|to| self.add_blind_edge(*to, flow)),
            }
            return;
        }
        if flow.is_function {
            return self.add_plain_edge(None, Span::default());
        }
        match flow.simple {
            Some(SimpleFlow::Loop) => return self.add_edges_of_loop(terminator, flow),
            Some(SimpleFlow::Branch) => {
                let args = self.list(terminator.operands());
                return self.add_plain_edge(flow.after, args);
            }
            None => {}
        }
        let known = flow.is_known.then(|| region_exit_edges(terminator)).flatten();
        match known {
            Some(edges) => {
                // A loop of one iteration is not begun again.
                let trip = flow.counted.and_then(|counted| self.code.trip(counted));
                let is_taken = |kind| trip != Some(1) || !matches!(kind, EdgeKind::Back(_));
                self.add_edges(&edges, |i| flow.op.region(i).first(), flow, true, is_taken);
            }
            None => self.add_edges_anywhere(flow),
        }
    }

    /// Adds those of `edges` from the current block that constants don't rule out, and of whose kind `is_taken` is true. `leave` says that
    /// they end an iteration, if `flow` is a loop.
    fn add_edges(
        &mut self,
        edges: &[control_flow::Edge<'c>],
        block: impl Fn(usize) -> Option<ir::Block<'c>>,
        flow: &Flow<'c>,
        leave: bool,
        is_taken: impl Fn(EdgeKind) -> bool,
    ) {
        for edge in edges.iter().filter(|edge| edge.possible) {
            let inside = match edge.to {
                EdgeTarget::Index(i) => block(i),
                EdgeTarget::After => None,
            };
            let kind = match (flow.counted, inside, leave) {
                (Some(l), Some(_), false) => EdgeKind::Enter(l),
                (Some(l), Some(_), true) => EdgeKind::Back(l),
                (Some(l), None, true) => EdgeKind::Exit(l),
                _ => EdgeKind::Plain,
            };
            if !is_taken(kind) {
                continue;
            }
            let to = inside.and_then(|block| flow.id(block)).or(flow.after);
            let params = to.map_or(0, |to| self.code.blocks[to.0 as usize].params.range().len());
            let args = match inside {
                _ if params == 0 => Span::default(),
                Some(block) => self.bound(&edge.bindings, params, block.args()),
                None => self.bound(&edge.bindings, params, flow.op.results()),
            };
            self.code.edges.push(Edge { kind, to, args });
        }
    }

    /// What `bindings` of an edge from the current block bind to those of `targets` that are tokens, of which there are so many.
    fn bound(
        &mut self,
        bindings: &[(Value<'c>, Value<'c>)],
        tokens: usize,
        targets: impl Iterator<Item = Value<'c>>,
    ) -> Span {
        let (start, vocabulary) = (self.code.tokens.len(), self.vocabulary);
        // An edge binds values in the order of what it binds them to.
        let mut bindings = bindings.iter().filter(|(_, to)| vocabulary.is_token(*to));
        if bindings.clone().count() == tokens {
            for &(from, to) in bindings {
                self.bind(Some(from), to);
            }
            return Span::since(start, &self.code.tokens);
        }
        for target in targets.filter(|target| vocabulary.is_token(*target)) {
            let bound = bindings.find(|(_, to)| *to == target);
            self.bind(bound.map(|(from, _)| *from), target);
        }
        Span::since(start, &self.code.tokens)
    }

    /// What an edge binds of which nothing is known but where it leads.
    fn bound_to_anything(&mut self, targets: impl Iterator<Item = Value<'c>>) -> Span {
        let (start, vocabulary) = (self.code.tokens.len(), self.vocabulary);
        for target in targets.filter(|target| vocabulary.is_token(*target)) {
            self.bind(None, target);
        }
        Span::since(start, &self.code.tokens)
    }

    /// Binds `value` to `target`, a token that comes next. What is no token, or escapes to where it can't be followed, is complete by then.
    fn bind(&mut self, value: Option<Value<'c>>, target: Value<'c>) {
        let token = match value.filter(|value| self.is_token(*value)) {
            Some(value) => self.tokens.number(value),
            None => {
                let token = self.tokens.new_token(target);
                self.code.instrs.push(Instr::Join(token, Span::default()));
                token
            }
        };
        self.code.tokens.push(token);
    }

    /// Adds edges from the current block to every region of `flow` and after it.
    fn add_edges_anywhere(&mut self, flow: &Flow<'c>) {
        for to in flow.op.regions().filter_map(ir::Region::first) {
            self.add_blind_edge(to, flow);
        }
        let args = self.bound_to_anything(flow.op.results());
        self.add_plain_edge(flow.after, args);
    }

    /// Adds an edge of which nothing is known but where it leads.
    fn add_blind_edge(&mut self, to: ir::Block<'c>, flow: &Flow<'c>) {
        let Some(id) = flow.id(to) else { return };
        let args = self.bound_to_anything(to.args());
        self.add_plain_edge(Some(id), args);
    }
}
