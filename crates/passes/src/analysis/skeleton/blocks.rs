//! Blocks, terminators and edges: which tokens are bound to which on the way.

use super::{Kind, Reader, Scope, SlotPlace};
use crate::analysis::threads::may_differ;
use crate::analysis::vocabulary::Vocabulary;
use async_dialects::control_flow::{Edge as IrEdge, EdgeTarget, branch_edges, region_exit_edges};
use async_dialects::ir::{self, Op, Value};
use std::collections::{HashMap, HashSet};
use tokenflow::{Block, Edge, Graph, Item, Target, Token};

impl<'c, V: Vocabulary<'c>> Reader<'_, 'c, V> {
    /// Appends the blocks of `regions` to `blocks`.
    pub(super) fn regions(
        &mut self,
        regions: &[ir::Region<'c>],
        scope: Scope<'c>,
        blocks: Vec<Block>,
    ) -> Graph {
        let mut region_of = vec![None; blocks.len()];
        for (i, region) in regions.iter().enumerate() {
            region_of.extend(region.blocks().iter().map(|_| Some(i)));
        }
        self.out.graphs.push((scope.op, region_of));
        let mut graph = Graph { blocks };
        let alike = !V::INSERTS_COMMITS || scope.kind == Kind::Function || !may_differ(scope.op);
        for block in &mut graph.blocks {
            block.divergent = !alike;
        }
        for region in regions {
            for (i, block) in region.blocks().into_iter().enumerate() {
                let mut block = self.block(block, &scope);
                // What leads from block to block is not looked into.
                block.divergent = !alike || i > 0;
                graph.blocks.push(block);
            }
        }
        graph
    }

    pub(super) fn block(&mut self, block: ir::Block<'c>, scope: &Scope<'c>) -> Block {
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

    pub(super) fn terminator(&mut self, op: Op<'c>, scope: &Scope<'c>, items: &mut Vec<Item>) -> Vec<Edge> {
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
    pub(super) fn possible(&mut self, mut edges: Vec<IrEdge<'c>>) -> Vec<IrEdge<'c>> {
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
    pub(super) fn regions_and_results(&mut self, op: Op<'c>, items: &mut Vec<Item>) {
        let results = self.token_values(op.results());
        if op.num_regions() > 0 {
            self.nested(op, None, &results, items);
        } else {
            self.foreign_results(results, items);
        }
    }

    /// Defines tokens of which nothing is known.
    pub(super) fn foreign_results(&mut self, results: Vec<Value<'c>>, items: &mut Vec<Item>) {
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
    pub(super) fn edge_to(
        &mut self,
        edge: &IrEdge<'c>,
        block: Option<ir::Block<'c>>,
        scope: &Scope<'c>,
    ) -> Edge {
        let Some((block, &place)) = block.and_then(|block| Some((block, scope.places.get(&block)?))) else {
            return self.exit(edge, scope);
        };
        let params = self.token_values(block.args());
        Edge {
            to: Target::Block(place),
            args: self.bind(edge, &params),
        }
    }

    pub(super) fn exit(&mut self, edge: &IrEdge<'c>, scope: &Scope<'c>) -> Edge {
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
    pub(super) fn bind(&mut self, edge: &IrEdge<'c>, targets: &[Value<'c>]) -> Vec<Token> {
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
    pub(super) fn blind_edge(&mut self, block: Option<ir::Block<'c>>, scope: &Scope<'c>) -> Edge {
        let edge = IrEdge {
            to: EdgeTarget::Behind,
            possible: true,
            bindings: Vec::new(),
        };
        self.edge_to(&edge, block, scope)
    }

    /// Edges to every region and behind the operation.
    pub(super) fn unknown_edges(&mut self, scope: &Scope<'c>) -> Vec<Edge> {
        let entries: Vec<_> = scope.entries.iter().copied().flatten().map(Some).collect();
        let targets = entries.into_iter().chain([None]);
        targets.map(|block| self.blind_edge(block, scope)).collect()
    }

    /// Notes the tokens that `op` uses and none of `edges` hands over.
    pub(super) fn escaping_operands(&mut self, op: Op<'c>, edges: &[IrEdge<'c>], items: &mut Vec<Item>) {
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
    pub(super) fn escape(&mut self, op: Op<'c>, i: usize, items: &mut Vec<Item>) {
        self.out.escapes.push((op, i));
        let tokens = vec![self.token(op.operand(i))];
        self.await_op(op, tokens, items);
    }

    pub(super) fn await_op(&mut self, op: Op<'c>, tokens: Vec<Token>, items: &mut Vec<Item>) {
        self.out.awaits.push(op);
        items.push(Item::Await {
            site: self.out.program.new_await(),
            tokens,
            covered: self.vocabulary.is_covered(op),
        });
    }
}
