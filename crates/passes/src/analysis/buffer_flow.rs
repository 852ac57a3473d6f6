//! Builds the [`FlowGraph`] of a function on which live ranges of its buffers are computed.
//!
//! Control flow is read through MLIR's interfaces. Where threads of a block may go different ways, or control flow is not
//! known, all that is inside is one node: threads may do any of it at the same time as others do something else of it.

mod divergent_op;

use super::buffer_views::BufferViews;
use super::cfg::{Edge as IrEdge, RegionFlow, Target};
use super::memory::{Access, Effects, effects};
use super::uniformity::may_diverge;
use super::warps::warps_of_arm;
use async_dialects::completion::{Completion, GroupEffect, GroupQueue};
use async_dialects::names::{async_, gpux_attr};
use async_dialects::types::is_token;
use async_mlir::control_flow::{Bindings, constant_trip_count};
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::memory_effects::memory_effects;
use async_mlir::names::memref;
use rustc_hash::FxHashMap;
use tokenflow::packing::flow_graph::{
    AccessEnd, Edge, FlowGraph, Issue, Node, NodeId, QueueId, TokenId, TokenOrigin,
};

/// A function's steps, and what their numbers stand for.
pub struct BufferFlow<'c> {
    /// The steps.
    pub flow: FlowGraph,
    /// The operation of each step.
    pub ops: Vec<Op<'c>>,
}

/// Reads the body of `function`, which is no declaration, where `views` says which buffer is which.
#[must_use]
pub fn read<'c>(function: Op<'c>, views: &BufferViews<'c>) -> BufferFlow<'c> {
    let mut reader = Reader {
        out: BufferFlow {
            flow: FlowGraph {
                buffers: views.escapes.len(),
                ..FlowGraph::default()
            },
            ops: Vec::new(),
        },
        views,
        tokens: FxHashMap::default(),
        queues: Vec::new(),
    };
    let start = reader.node(function);
    if branches_diverge(function) {
        reader.divergent_op(start, function);
    } else {
        let flow = RegionFlow::of_function(function);
        let entry = function.regions().next().and_then(Region::first);
        let entry = entry.map(|block| IrEdge {
            to: Target::Block(block),
            possible: true,
            bindings: Bindings::new(),
        });
        reader.regions(start, &flow, &Vec::from_iter(entry));
    }
    reader.out
}

/// Returns true if threads may go different ways at a branch between blocks of a region of `op`.
fn branches_diverge(op: Op<'_>) -> bool {
    let blocks = op.regions().flat_map(Region::blocks);
    let mut terminators = blocks.filter_map(Block::terminator);
    terminators.any(|terminator| terminator.successors().len() > 1 && may_diverge(terminator))
}

struct Reader<'a, 'c> {
    out: BufferFlow<'c>,
    views: &'a BufferViews<'c>,
    tokens: FxHashMap<Value<'c>, TokenId>,
    queues: Vec<GroupQueue>,
}

/// An edge whose end may not have a number yet.
struct OpenEdge<'c> {
    from: NodeId,
    edge: IrEdge<'c>,
}

impl<'c> Reader<'_, 'c> {
    fn node(&mut self, op: Op<'c>) -> NodeId {
        self.out.flow.nodes.push(Node::default());
        self.out.ops.push(op);
        self.out.flow.nodes.len() - 1
    }

    fn at(&mut self, node: NodeId) -> &mut Node {
        &mut self.out.flow.nodes[node]
    }

    fn token(&mut self, value: Value<'c>) -> TokenId {
        let known = &mut self.out.flow.tokens;
        *self.tokens.entry(value).or_insert_with(|| {
            known.push(TokenOrigin::Lost);
            known.len() - 1
        })
    }

    fn tokens(&mut self, values: impl Iterator<Item = Value<'c>>) -> Vec<TokenId> {
        let values: Vec<Value> = values.filter(|value| is_token(value.ty())).collect();
        values.into_iter().map(|value| self.token(value)).collect()
    }

    fn queue(&mut self, queue: GroupQueue) -> QueueId {
        let known = self.queues.iter().position(|known| *known == queue);
        known.unwrap_or_else(|| {
            self.queues.push(queue);
            self.queues.len() - 1
        })
    }

    /// Reads the regions that are entered from `from` by `entries`; returns the node after them.
    fn regions(&mut self, from: NodeId, flow: &RegionFlow<'c>, entries: &[IrEdge<'c>]) -> NodeId {
        let entries = entries.iter().cloned();
        let mut open: Vec<OpenEdge> = entries.map(|edge| OpenEdge { from, edge }).collect();
        let mut heads = FxHashMap::default();
        for block in flow.op().regions().flat_map(Region::blocks) {
            let mut last = self.node(flow.op());
            heads.insert(block, last);
            let terminator = block.terminator();
            let mut next = block.first();
            while let Some(op) = next {
                next = op.next();
                let node = self.node(op);
                self.link(last, node);
                last = self.op(node, op, Some(op) == terminator);
            }
            let exits = flow.exits(terminator).into_iter();
            open.extend(exits.map(|edge| OpenEdge { from: last, edge }));
        }
        let after = self.node(flow.op());
        for OpenEdge { from, edge } in open.into_iter().filter(|open| open.edge.possible) {
            let to = match edge.to {
                Target::Block(block) => heads.get(&block).copied(),
                Target::After => Some(after).filter(|_| !flow.is_function()),
            };
            if let Some(to) = to {
                self.edge(from, to, &edge.bindings);
            }
        }
        after
    }

    fn link(&mut self, from: NodeId, to: NodeId) {
        self.edge(from, to, &[]);
    }

    fn edge(&mut self, from: NodeId, to: NodeId, bindings: &[(Value<'c>, Value<'c>)]) {
        let tokens = bindings.iter().filter(|(from, _)| is_token(from.ty()));
        let tokens: Vec<_> = tokens
            .map(|&(from, to)| (self.token(from), self.token(to)))
            .collect();
        for &(_, to) in &tokens {
            self.out.flow.tokens[to] = TokenOrigin::Edges;
        }
        self.at(from).edges.push(Edge { to, bindings: tokens });
    }

    /// Reads `op` into `node`; returns the last node of it.
    fn op(&mut self, node: NodeId, op: Op<'c>, is_end: bool) -> NodeId {
        if op.is_function() || is_end {
            return node;
        }
        if op.num_regions() > 0 {
            let flow = RegionFlow::new(op);
            let entries = flow.known_entries().filter(|_| !op.is(async_::REGION));
            return match entries {
                Some(entries) if !may_diverge(op) && !branches_diverge(op) => {
                    self.access(node, op);
                    // A loop that always runs has no edge that skips it.
                    let runs = constant_trip_count(op).is_some_and(|trips| trips > 0);
                    let taken = entries.iter().filter(|edge| !runs || edge.to != Target::After);
                    self.regions(node, &flow, &taken.cloned().collect::<Vec<_>>())
                }
                _ => {
                    self.divergent_op(node, op);
                    node
                }
            };
        }
        self.access(node, op);
        self.synchronize(node, op);
        node
    }

    /// What `op` does to tokens, and waits for.
    fn synchronize(&mut self, node: NodeId, op: Op<'c>) {
        for token in self.tokens(op.results()) {
            self.out.flow.tokens[token] = TokenOrigin::Node(node);
        }
        self.at(node).barrier = is_barrier(op);
        if op.is(memref::ALLOC) || op.is(memref::ALLOCA) {
            let fresh = self.views.buffer(op.result(0));
            self.at(node).fresh.extend(fresh);
        }
        match op.name() {
            async_::AWAIT => self.at(node).awaits = self.tokens(op.operands()),
            async_::JOIN => {
                let join = (self.token(op.result(0)), self.tokens(op.operands()));
                self.at(node).joins.push(join);
            }
            _ => {}
        }
        let Some(completion) = Completion::of(op) else {
            return;
        };
        let queue = completion.queue.map(|queue| self.queue(queue));
        match completion.effect {
            GroupEffect::None => {}
            // Before it begins, it waits for what it depends on.
            GroupEffect::Issue => self.at(node).awaits = self.tokens(op.operands()),
            GroupEffect::Commit => self.at(node).commits = queue,
            GroupEffect::Wait => {
                let waits = queue.filter(|_| completion.pending == 0);
                self.at(node).waits = waits.map(|queue| (queue, completion.waits_for_reads));
            }
        }
    }

    /// What `op` itself accesses; what can't be followed may access only buffers that escape.
    fn access(&mut self, node: NodeId, op: Op<'c>) {
        let Effects::Known(effects) = effects(op) else {
            return;
        };
        // What says nothing of itself may read what it writes.
        let may_read = memory_effects(op).is_none() && Completion::of(op).is_none();
        for effect in effects {
            let Some(buffer) = self.views.buffer(effect.memory) else {
                continue;
            };
            let (reads, writes) = match effect.access {
                Access::Read | Access::AsyncRead => (true, false),
                Access::Write => (may_read, true),
                Access::AsyncWrite => (false, true),
                Access::Free => continue,
            };
            for write in [reads.then_some(false), writes.then_some(true)]
                .into_iter()
                .flatten()
            {
                match self.until(op, write) {
                    Some(until) => self.at(node).issues.push(Issue { buffer, write, until }),
                    None if write => self.at(node).writes.push(buffer),
                    None => self.at(node).reads.push(buffer),
                }
            }
        }
    }

    /// How long an access by `op` goes on after it; `None` if it does not.
    fn until(&mut self, op: Op<'c>, write: bool) -> Option<AccessEnd> {
        if op.ancestors().any(|around| around.is(async_::REGION)) {
            return Some(AccessEnd::Unknown);
        }
        let completion = Completion::of(op).filter(|completion| completion.effect == GroupEffect::Issue)?;
        let [a, b] = completion.matrices;
        let known = [completion.source, completion.destination, a, b]
            .iter()
            .any(Option::is_some);
        let read = completion.read.filter(|_| !write);
        let tokens = self.tokens([read, completion.done].into_iter().flatten());
        Some(match completion.queue {
            _ if !tokens.is_empty() => match warps_that_await(op) {
                Some(warps) => AccessEnd::TokensOfWarps(tokens, warps),
                None => AccessEnd::Tokens(tokens),
            },
            Some(queue) if known => AccessEnd::Queue(self.queue(queue)),
            _ => AccessEnd::Unknown,
        })
    }
}

/// The warps that have to await `op`, if those are not all: those that execute it. A load that names the warp that issues it is
/// complete for all threads once any of them has awaited it.
fn warps_that_await(op: Op<'_>) -> Option<u32> {
    if op.has_attr(gpux_attr::ISSUER) {
        return Some(0);
    }
    let around = op.parent()?;
    let number = around.regions().position(|region| region.first() == op.block())?;
    warps_of_arm(around, number)
}
