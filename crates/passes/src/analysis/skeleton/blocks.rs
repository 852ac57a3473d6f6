//! Reads blocks, terminators and edges into the skeleton: which tokens are bound to which block arguments and
//! results.

use super::{Reader, Scope, SlotPlace};
use crate::analysis::cfg::{Edge as IrEdge, RegionFlow, Target as IrTarget, unbound_operands};
use crate::analysis::op_classifier::OpClassifier;
use crate::analysis::uniformity::{is_uniform, may_diverge_unless};
use async_mlir::ir::{self, Op, Value};
use tokenflow::{Block, Edge, Graph, Item, Target, Token};

impl<'c, V: OpClassifier<'c>> Reader<'_, 'c, V> {
    /// Appends the blocks of `regions` to `blocks`.
    pub(super) fn regions(
        &mut self,
        regions: &[ir::Region<'c>],
        scope: &Scope<'_, 'c>,
        blocks: Vec<Block>,
    ) -> Graph {
        let mut region_of = vec![None; blocks.len()];
        for (i, region) in regions.iter().enumerate() {
            region_of.extend(region.blocks().iter().map(|_| Some(i)));
        }
        let mut graph = Graph { blocks };
        // There may be millions of graphs.
        graph.blocks.reserve_exact(region_of.len() - graph.blocks.len());
        self.out.graphs.push((scope.flow.op(), region_of));
        let alike = !V::INSERTS_COMMITS || scope.flow.is_function() || !self.may_diverge(scope.flow.op());
        for block in &mut graph.blocks {
            block.divergent = !alike;
        }
        for region in regions {
            for (i, block) in region.blocks().into_iter().enumerate() {
                let mut block = self.block(block, scope);
                // What leads from block to block is not looked into.
                block.divergent = !alike || i > 0;
                graph.blocks.push(block);
            }
        }
        graph
    }

    /// Returns true unless all threads of a block are known to take the same way through `op`.
    fn may_diverge(&mut self, op: Op<'c>) -> bool {
        may_diverge_unless(op, |value| match self.latest_control {
            // Guarded copies often come in a row.
            Some((known, uniform)) if known == value => uniform,
            _ => {
                let uniform = is_uniform(value);
                self.latest_control = Some((value, uniform));
                uniform
            }
        })
    }

    pub(super) fn block(&mut self, block: ir::Block<'c>, scope: &Scope<'_, 'c>) -> Block {
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
        let edges = scope.flow.exits(terminator);
        if let Some(terminator) = terminator {
            self.escaping_operands(terminator, &edges, &mut new.items);
            self.regions_and_results(terminator, &mut new.items);
        }
        let is_branch = terminator.is_some_and(|terminator| terminator.successors().len() > 0);
        let edges = if is_branch && self.classifier.keeps_impossible_branches() {
            edges.iter().collect()
        } else {
            self.out.lacks_branches |= is_branch && edges.iter().any(|edge| !edge.possible);
            self.possible(&edges)
        };
        new.edges = if scope.is_iteration {
            // Both edges, to the next iteration and after the loop, hand over the same tokens.
            let back = edges.iter().find(|edge| edge.to != IrTarget::After);
            let edge = back.or_else(|| edges.first());
            edge.map(|edge| self.exit(edge, scope)).into_iter().collect()
        } else {
            edges.into_iter().map(|edge| self.edge(edge, scope)).collect()
        };
        new.items.shrink_to_fit();
        new
    }

    /// Returns those of `edges` that can be taken. What the others bind stays or goes together, too.
    pub(super) fn possible<'a>(&mut self, edges: &'a [IrEdge<'c>]) -> Vec<&'a IrEdge<'c>> {
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
        edges.iter().filter(|edge| edge.possible).collect()
    }

    /// Reads the regions and results of a terminator, of which nothing is known.
    pub(super) fn regions_and_results(&mut self, op: Op<'c>, items: &mut Vec<Item>) {
        let results = self.token_values(op.results());
        if op.num_regions() > 0 {
            self.region_op(&RegionFlow::new(op), &results, items);
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

    /// An edge within the graph, or out of it.
    pub(super) fn edge(&mut self, edge: &IrEdge<'c>, scope: &Scope<'_, 'c>) -> Edge {
        let IrTarget::Block(block) = edge.to else {
            return self.exit(edge, scope);
        };
        let Some(place) = scope.places.get(block) else {
            return self.exit(edge, scope);
        };
        let params = self.token_values(block.args());
        Edge {
            to: Target::Block(place),
            args: self.bind(edge, &params),
        }
    }

    pub(super) fn exit(&mut self, edge: &IrEdge<'c>, scope: &Scope<'_, 'c>) -> Edge {
        let targets = match edge.to {
            IrTarget::Block(entry) if scope.is_iteration => self.token_values(entry.args()),
            _ => self.token_values(scope.flow.op().results()),
        };
        Edge {
            to: Target::Exit,
            args: self.bind(edge, &targets),
        }
    }

    /// Returns what `edge` binds to each of `targets`, which are tokens.
    pub(super) fn bind(&mut self, edge: &IrEdge<'c>, targets: &[Value<'c>]) -> Vec<Token> {
        // An edge binds values in the order of what it binds them to.
        let mut bindings = edge.bindings.iter();
        let args = targets
            .iter()
            .map(|&to| match bindings.find(|(_, bound)| *bound == to) {
                Some(&(from, _)) if self.is_token(from) => {
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

    /// Notes the tokens that `op` uses and none of `edges` hands over.
    pub(super) fn escaping_operands(&mut self, op: Op<'c>, edges: &[IrEdge<'c>], items: &mut Vec<Item>) {
        if !op.operands().any(|value| self.is_token(value)) {
            return;
        }
        for i in unbound_operands(op, edges) {
            if self.is_token(op.operand(i)) {
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
            covered: self.classifier.is_covered(op),
        });
    }
}
