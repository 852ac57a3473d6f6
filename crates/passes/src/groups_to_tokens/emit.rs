//! Writes a queue in token form into the IR.
//!
//! First everything that defines a token is made, with a complete token in the place of what is not there yet; then all uses. What was
//! counted stays beside it until that is checked.

use super::convert::{TokenSources, commit_with_token};
use super::counted_queue::CountedQueue;
use crate::analysis::op_classifier::NvgpuOpClassifier;
use crate::analysis::skeleton;
use crate::utils::builders::new_else;
use crate::utils::erase::erase_tokens;
use crate::utils::region_values::{RegionOpKind, lacks_else, pass_on, region_op_kind};
use crate::utils::tokens::{await_after, ready};
use async_dialects::names::async_;
use async_dialects::types::token;
use async_mlir::control_flow::{append, append_to_branch};
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::nvgpu;
use async_mlir::nvgpu::copy_token;
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::lift::{JoinPlace, LiftedQueue, LiftedToken, Register};

/// What is of no use any more.
pub(super) struct Leftovers<'c> {
    code: Op<'c>,
    /// Operations that have been replaced: each comes right after the one that took its place.
    pub replaced: Vec<Op<'c>>,
    commits: Vec<Op<'c>>,
    waits: Vec<Op<'c>>,
    /// Defines a complete token, which may have no use.
    ready: Op<'c>,
}

impl Leftovers<'_> {
    /// Erases it.
    pub fn erase(self) {
        self.waits.into_iter().for_each(Op::erase);
        let obsolete = self.replaced.into_iter().chain(self.commits).collect();
        clean(self.code, obsolete);
        if !self.ready.has_uses() {
            self.ready.erase();
        }
    }
}

/// Writes `lifted`, which was read from `code`.
pub(super) fn emit<'c>(
    code: Op<'c>,
    counted: &CountedQueue<'c>,
    lifted: &LiftedQueue,
    tokens: TokenSources<'c>,
) -> Leftovers<'c> {
    let entry = code.region(0).first().expect("code with a queue has a block");
    let ty = token(code.context());
    let mut emitter = Emitter {
        counted,
        lifted,
        ty,
        ready: ready(code.location(), ty).at_start(entry),
        values: FxHashMap::default(),
        ops: counted.skeleton.graphs.iter().map(|(op, _)| *op).collect(),
        blocks: (0..counted.shapes.len())
            .map(|graph| counted.blocks(graph))
            .collect(),
        elses: Vec::new(),
        operands: vec![0; counted.shapes.len()],
    };
    let (groups, replaced) = emitter.operations(tokens);
    (0..counted.shapes.len()).for_each(|graph| emitter.graph(graph));
    let joins = emitter.joins();
    emitter.fill(&joins);
    for (wait, tokens) in counted.waits.iter().zip(&lifted.waits) {
        emitter.await_op(*wait, tokens);
    }
    Leftovers {
        code,
        replaced,
        commits: if groups {
            Vec::new()
        } else {
            counted.commits.clone()
        },
        waits: counted.waits.clone(),
        ready: emitter.ready,
    }
}

struct Emitter<'a, 'c> {
    counted: &'a CountedQueue<'c>,
    lifted: &'a LiftedQueue,
    ty: Type<'c>,
    /// Defines a complete token.
    ready: Op<'c>,
    values: FxHashMap<LiftedToken, Value<'c>>,
    /// The operation of each graph, as it is now, and its blocks.
    ops: Vec<Op<'c>>,
    blocks: Vec<Vec<Option<Block<'c>>>>,
    /// The ends of new blocks, with the graph.
    elses: Vec<(Op<'c>, usize)>,
    /// The number of operands that each operation had.
    operands: Vec<usize>,
}

impl<'c> Emitter<'_, 'c> {
    fn value(&self, token: LiftedToken) -> Value<'c> {
        let value = self.values.get(&token).copied();
        value.unwrap_or_else(|| self.ready.result(0))
    }

    fn values(&self, tokens: impl Iterator<Item = LiftedToken>) -> Vec<Value<'c>> {
        tokens.map(|token| self.value(token)).collect()
    }

    /// Gives tokens to operations or to groups. Returns true for groups, and what has been replaced.
    fn operations(&mut self, tokens: TokenSources<'c>) -> (bool, Vec<Op<'c>>) {
        match tokens {
            TokenSources::Operations(converted) => {
                let (completions, replaced) = converted.place();
                for (site, completion) in completions {
                    let done = completion.done.map(|value| (LiftedToken::Done(site), value));
                    let read = completion.read.map(|value| (LiftedToken::Read(site), value));
                    self.values.extend(done.into_iter().chain(read));
                }
                (false, replaced)
            }
            TokenSources::Groups => {
                let mut replaced = Vec::new();
                for (number, &commit) in self.counted.commits.iter().enumerate() {
                    let (new, old) = commit_with_token(commit);
                    replaced.extend(old);
                    self.values.insert(LiftedToken::Group(number), new.result(0));
                }
                (true, replaced)
            }
        }
    }

    /// Makes the arguments and results of a graph.
    fn graph(&mut self, graph: usize) {
        let lifted = &self.lifted.graphs[graph];
        let shape = &self.counted.shapes[graph];
        let blocks = self.blocks[graph].clone();
        for (index, block) in blocks.iter().enumerate() {
            let params: &[Register] = if !shape.starts_region(index) {
                lifted.blocks.get(index).map_or(&[], |block| &block.params)
            } else if self.is_loop(graph) {
                &lifted.carried
            } else {
                &[]
            };
            let Some(block) = block else { continue };
            for &register in params {
                let location = block.first().or(block.parent_op()).map(Op::location);
                let location = location.unwrap_or_else(|| self.ready.location());
                let param = LiftedToken::Param {
                    graph,
                    block: index,
                    register,
                };
                self.values.insert(param, block.add_arg(self.ty, location));
            }
        }
        if lifted.carried.is_empty() {
            return;
        }
        let op = self.ops[graph];
        let ready = vec![self.ready.result(0); lifted.carried.len()];
        self.operands[graph] = op.num_operands();
        let first = op.num_results();
        let inits: &[Value] = if self.is_loop(graph) { &ready } else { &[] };
        let op = append(op, inits, &vec![self.ty; ready.len()]);
        self.ops[graph] = op;
        for (i, &register) in lifted.carried.iter().enumerate() {
            let result = LiftedToken::Result { graph, register };
            self.values.insert(result, op.result(first + i));
        }
        if lacks_else(op) {
            let end = new_else(op, &[]).terminator();
            self.elses.extend(end.map(|end| (end, graph)));
        }
    }

    fn is_loop(&self, graph: usize) -> bool {
        graph > 0 && region_op_kind(self.ops[graph]) == Some(RegionOpKind::Loop)
    }

    /// Makes the joins, which join nothing yet.
    fn joins(&mut self) -> Vec<(usize, Op<'c>)> {
        let mut joins = Vec::new();
        for (number, join) in self.lifted.joins.iter().enumerate() {
            if join.of.is_empty() {
                continue;
            }
            let before = match join.place {
                JoinPlace::Commit(commit) => Some(self.counted.commits[commit]),
                JoinPlace::Before(graph) => Some(self.ops[graph]),
                JoinPlace::End { graph, block } => self.blocks[graph][block].and_then(Block::terminator),
            };
            let Some(before) = before else { continue };
            let op = OpBuilder::new(async_::JOIN, before.location())
                .results(&[self.ty])
                .before(before);
            self.values.insert(LiftedToken::Joined(number), op.result(0));
            joins.push((number, op));
        }
        joins
    }

    /// Writes the operands of joins, and what is passed on.
    fn fill(&mut self, joins: &[(usize, Op<'c>)]) {
        for &(number, op) in joins {
            let of = self.values(self.lifted.joins[number].of.iter().copied());
            op.set_operands(&of);
        }
        for &(end, graph) in &self.elses {
            let lifted = &self.lifted.graphs[graph];
            pass_on(
                end,
                &self.values(lifted.carried.iter().map(|&register| lifted.before(register))),
            );
        }
        for graph in 0..self.ops.len() {
            self.pass_on(graph);
        }
    }

    /// Has a graph pass on what it carries.
    fn pass_on(&self, graph: usize) {
        let lifted = &self.lifted.graphs[graph];
        if self.is_loop(graph) {
            for (i, &register) in lifted.carried.iter().enumerate() {
                let init = self.value(lifted.before(register));
                self.ops[graph].set_operand(self.operands[graph] + i, init);
            }
        }
        let places: FxHashMap<Block, usize> = self.blocks[graph]
            .iter()
            .enumerate()
            .filter_map(|(index, block)| Some(((*block)?, index)))
            .collect();
        for (index, block) in self.blocks[graph].iter().enumerate() {
            let (Some(terminator), Some(end)) = (block.and_then(Block::terminator), lifted.blocks.get(index))
            else {
                continue;
            };
            let ends = |registers: &[Register]| self.values(registers.iter().map(|&r| end.end(r)));
            let successors: Vec<Block> = terminator.successors().collect();
            if successors.is_empty() && graph > 0 {
                pass_on(terminator, &ends(&lifted.carried));
            }
            for (i, successor) in successors.iter().enumerate() {
                let params = places.get(successor).map(|&to| ends(&lifted.blocks[to].params));
                let params = params.unwrap_or_default();
                if !params.is_empty() {
                    append_to_branch(terminator, i, &params);
                }
            }
        }
    }

    /// Awaits `tokens` after `wait`, in the place of it.
    fn await_op(&self, wait: Op<'c>, tokens: &[LiftedToken]) {
        if !tokens.is_empty() {
            let tokens: Vec<Value> = self.values(tokens.iter().copied());
            await_after(wait, &tokens).copy_discardable_attrs(wait);
        }
    }
}

/// Erases commits and copies that are of no use any more, with the tokens of `nvgpu`.
fn clean<'c>(code: Op<'c>, obsolete: Vec<Op<'c>>) {
    if obsolete.iter().any(|op| op.dialect() == nvgpu::NAMESPACE) {
        for op in obsolete
            .iter()
            .filter(|op| op.is(nvgpu::DEVICE_ASYNC_CREATE_GROUP))
        {
            op.set_operands(&[]);
        }
        let context = code.context();
        let skeleton = skeleton::read(code, &NvgpuOpClassifier::new(context), &FxHashSet::default());
        erase_tokens(code, &skeleton, &|value| value.ty() == copy_token(context), false);
    }
    for op in obsolete {
        op.erase();
    }
}
