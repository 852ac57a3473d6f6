//! Reads operations into the skeleton, loops of constant trip count among them.

use super::{Reader, Scope, SlotPlace};
use crate::analysis::cfg::{RegionFlow, Target as IrTarget};
use crate::analysis::op_classifier::{OpClass, OpClassifier};
use async_dialects::completion::GroupQueue;
use async_mlir::control_flow::{constant_trip_count, selected_values};
use async_mlir::ir::{Op, Value};
use async_mlir::names::{affine, scf, ub};
use tokenflow::{Block, Edge, Item, Nested, Repeat, Target, Token};

impl<'c, V: OpClassifier<'c>> Reader<'_, 'c, V> {
    pub(super) fn op(&mut self, op: Op<'c>, items: &mut Vec<Item>) {
        if let Some(values) = self.classifier.implied_await(op) {
            let tokens = values.iter().map(|&value| self.token(value)).collect();
            self.await_op(op, tokens, items);
        }
        match self.classifier.classify(op) {
            OpClass::Issue {
                queue,
                token,
                read,
                block_wide,
            } => {
                self.issue(op, queue, (token, read), items);
                if block_wide {
                    let tokens = token.into_iter().chain(read);
                    let tokens: Vec<Token> = tokens.map(|token| self.token(token)).collect();
                    self.out.block_wide.extend(tokens);
                }
            }
            OpClass::Commit { queue, token } => {
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
                        read: None,
                        slot: None,
                    });
                }
                self.out.commits.push(op);
                items.push(Item::Commit { queue: number, token });
                self.point(op, items);
            }
            OpClass::Wait { queue, n, read } => {
                let queue = self.queue(queue);
                items.push(Item::Wait { queue, n, read });
                self.point(op, items);
            }
            OpClass::Await(values) => {
                let tokens = values.iter().map(|&value| self.token(value)).collect();
                self.await_op(op, tokens, items);
                self.point(op, items);
            }
            OpClass::Join(value, of) => self.join(value, &of, items),
            OpClass::Other => self.other(op, items),
        }
    }

    /// Notes that commits may go right after `op`.
    fn point(&mut self, op: Op<'c>, items: &mut Vec<Item>) {
        items.extend(self.slot(SlotPlace::After(op)).map(Item::Point));
    }

    pub(super) fn issue(
        &mut self,
        op: Op<'c>,
        queue: GroupQueue,
        (token, read): (Option<Value<'c>>, Option<Value<'c>>),
        items: &mut Vec<Item>,
    ) {
        let number = self.queue(queue);
        let token = token.map(|token| self.define(token));
        self.out.issued.extend(token.map(|token| (token, queue)));
        let read = read.map(|read| self.define(read));
        self.out.reads.extend(read.map(|read| (read, queue)));
        self.out.sites.push(op);
        let slot = token.and_then(|_| self.slot(SlotPlace::After(op)));
        items.push(Item::Issue {
            site: self.out.program.site(),
            queue: number,
            token,
            read,
            slot,
        });
    }

    pub(super) fn join(&mut self, value: Value<'c>, of: &[Value<'c>], items: &mut Vec<Item>) {
        let of: Vec<Token> = of.iter().map(|&value| self.token(value)).collect();
        let token = self.define(value);
        self.out.joins.extend(of.iter().map(|&from| (from, token)));
        items.push(Item::Join { token, of });
    }

    pub(super) fn other(&mut self, op: Op<'c>, items: &mut Vec<Item>) {
        if op.is_function() {
            // Not executed where it stands.
            return;
        }
        let results = self.token_values(op.results());
        if let ([result], true) = (results.as_slice(), op.num_regions() == 0) {
            if op.is(ub::POISON) {
                return self.join(*result, &[], items);
            }
            if let Some(values) = selected_values(op) {
                return self.join(*result, &values, items);
            }
        }
        if op.num_regions() == 0 {
            self.escaping_operands(op, &[], items);
            return self.foreign_results(results, items);
        }
        let flow = RegionFlow::new(op);
        self.escaping_operands(op, flow.known_entries().unwrap_or(&[]), items);
        self.region_op(&flow, &results, items);
    }

    /// Reads a loop of constant trip count; returns false if `op` is none, or does not carry its tokens around plainly.
    fn repeat(&mut self, flow: &RegionFlow<'c>, results: &[Value<'c>], items: &mut Vec<Item>) -> bool {
        let op = flow.op();
        let Some(trip) = constant_trip_count(op) else {
            return false;
        };
        let entries = flow.known_entries().unwrap_or(&[]);
        let Some(edge) = entries.iter().find(|edge| edge.possible) else {
            return false;
        };
        let Some(entry) = op.region(0).first() else {
            return false;
        };
        let params = self.token_values(entry.args());
        if params.len() != results.len() {
            return false;
        }
        let targets = match edge.to {
            IrTarget::Block(_) => &params,
            IrTarget::After => results,
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
        let body = self.regions(&regions, &Scope::iteration(flow), Vec::new());
        let results = results.iter().map(|&result| self.define(result)).collect();
        let after = self.slot(SlotPlace::After(op));
        items.push(Item::from(Repeat {
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

    /// Reads an operation with regions.
    pub(super) fn region_op(&mut self, flow: &RegionFlow<'c>, results: &[Value<'c>], items: &mut Vec<Item>) {
        let edges = flow.entries();
        let edges = self.possible(&edges);
        if flow.known_entries().is_some() && self.repeat(flow, results, items) {
            return;
        }
        let op = flow.op();
        // A branch without an else gets one in the skeleton, where commits may be wanted. So it does where a constant keeps control away
        // from there: slots must not depend on constants, which peeling makes. It stands where an empty one would, so that what is chosen
        // does not depend on which of them it is.
        let new_else = matches!(op.name(), scf::IF | affine::IF) && op.region(1).first().is_none();
        let scope = Scope::new(flow, 1);
        let regions: Vec<_> = op.regions().collect();
        let place_of_else = new_else.then(|| 1 + op.region(0).blocks().len());
        let mut blocks = Vec::with_capacity(1 + regions.len());
        blocks.push(Block::default());
        let edges = edges.into_iter().map(|edge| match place_of_else {
            Some(place) if edge.to == IrTarget::After => Edge {
                to: Target::Block(place),
                args: Vec::new(),
            },
            _ => self.edge(edge, &scope),
        });
        blocks[0].edges = edges.collect();
        let number = self.out.graphs.len();
        let mut graph = self.regions(&regions, &scope, blocks);
        if new_else {
            graph.blocks.push(Block {
                start: self.slot(SlotPlace::NewElse(op)),
                divergent: graph.blocks[0].divergent,
                edges: vec![Edge {
                    to: Target::Exit,
                    args: Vec::new(),
                }],
                ..Block::default()
            });
            self.out.graphs[number].1.push(None);
        }
        let results = results.iter().map(|&result| self.define(result)).collect();
        let after = self.slot(SlotPlace::After(op));
        items.push(Item::from(Nested {
            graph,
            inits: Vec::new(),
            results,
            after,
        }));
    }
}

/// Returns true if iterations can be taken off the front of `op`, a loop of constant trip count: what its induction
/// variable is in each of them must be known.
fn is_peelable(op: Op<'_>) -> bool {
    op.is(scf::FOR) && [0, 2].iter().all(|&i| op.operand(i).as_constant_int().is_some())
}
