//! Inserts retains and releases of tokens (reference counting): [`tokenflow::reference_counting`] says where.

use super::frame_owners::FrameOwners;
use super::instances::Instance;
use crate::utils::llvm_builder::{At, LlvmBuilder, rt};
use async_dialects::types::is_token;
use async_mlir::calls::callee_name;
use async_mlir::control_flow::branch_edges;
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::names::{arith, cf, func, llvm};
use rustc_hash::FxHashMap;
use tokenflow::reference_counting::{
    Action, Block as CountedBlock, Edge, Function, Op as CountedOp, Place, Var, place,
};

/// Counts the references of one function, in which each value of a token's type is to hold one.
pub(super) fn count<'c>(instance: &Instance<'c>, owners: &FrameOwners<'c>, builder: &LlvmBuilder<'c>) {
    let function = instance.function;
    retain_selected(function, builder);
    let blocks = function.region(0).blocks();
    let mut reader = Reader {
        numbers: blocks.iter().copied().zip(0..).collect(),
        vars: FxHashMap::default(),
        values: Vec::new(),
        owners,
    };
    let mut counted = Function::default();
    for &block in &blocks {
        let counted_block = reader.block(block);
        counted.blocks.push(counted_block);
    }
    if !instance.form.has_frame() {
        let entry = counted.blocks.first();
        counted.borrowed = entry
            .into_iter()
            .flat_map(|entry| entry.args.iter().copied())
            .collect();
    }
    counted.vars = reader.values.len();
    let mut actions = place(&counted);
    actions.sort_unstable();
    let writer = Writer {
        ops: blocks.iter().map(|block| block.ops()).collect(),
        builder,
    };
    let mut split = FxHashMap::default();
    for (place, action, var) in actions {
        writer.act(place, action, reader.values[var.0], &mut split);
    }
}

/// A selected token is one more reference to it.
fn retain_selected<'c>(function: Op<'c>, builder: &LlvmBuilder<'c>) {
    for op in function.region(0).blocks().into_iter().flat_map(Block::ops) {
        if op.is(arith::SELECT)
            && is_token(op.result(0).ty())
            && let Some(next) = op.next()
        {
            builder.call(rt::RETAIN, &[op.result(0)], None, op.location(), At::Before(next));
        }
    }
}

struct Reader<'a, 'c> {
    numbers: FxHashMap<Block<'c>, usize>,
    vars: FxHashMap<Value<'c>, Var>,
    values: Vec<Value<'c>>,
    owners: &'a FrameOwners<'c>,
}

impl<'c> Reader<'_, 'c> {
    /// The variable that `value` is; none for what is no token, such as a null pointer.
    fn var(&mut self, value: Value<'c>) -> Option<Var> {
        if !is_token(value.ty()) {
            return None;
        }
        let next = Var(self.values.len());
        let var = *self.vars.entry(value).or_insert(next);
        if var == next {
            self.values.push(value);
        }
        Some(var)
    }

    fn block(&mut self, block: Block<'c>) -> CountedBlock {
        let args = block.args().filter_map(|arg| self.var(arg)).collect();
        let ops: Vec<CountedOp> = block.ops().into_iter().map(|op| self.op(op)).collect();
        let mut counted = CountedBlock {
            args,
            ops,
            edges: Vec::new(),
        };
        if let Some(end) = block.terminator().filter(|end| end.successors().len() > 0) {
            let bindings = branch_edges(end).unwrap_or_default().into_iter();
            let bindings: Vec<_> = bindings.map(|edge| edge.bindings).collect();
            for (index, successor) in end.successors().enumerate() {
                let passed = bindings.get(index).into_iter().flatten();
                counted.edges.push(Edge {
                    to: self.numbers[&successor],
                    passes: passed.filter_map(|(from, _)| self.var(*from)).collect(),
                });
            }
        }
        counted
    }

    fn op(&mut self, op: Op<'c>) -> CountedOp {
        let mut counted = CountedOp::default();
        // What branches hand on is with their edges, and an address that is returned or stored is not used there.
        let branches = op.successors().len() > 0;
        let consumes = op.is(func::RETURN) || op.is(llvm::STORE);
        for inner in op.self_and_nested() {
            for (index, operand) in inner.operands().enumerate() {
                let is_stored = op.is(llvm::STORE) && index == 0;
                let is_handed_on = branches || op.is(func::RETURN) || is_stored;
                if let Some(var) = self.var(operand) {
                    // Until a selected token is retained, those that it may be are needed.
                    let select = operand.defining_op().filter(|op| op.is(arith::SELECT));
                    if let Some(select) = select.filter(|_| callee_name(op) == Some(rt::RETAIN)) {
                        let may_be: Vec<Var> =
                            select.operands().filter_map(|value| self.var(value)).collect();
                        counted.borrows.extend(may_be);
                    }
                    if consumes {
                        counted.consumes.push(var);
                    } else if !branches {
                        counted.borrows.push(var);
                    }
                } else if !is_handed_on && let Some(owner) = self.owners.get(operand) {
                    counted.borrows.extend(self.var(owner));
                }
            }
        }
        counted.defines = op.results().filter_map(|result| self.var(result)).collect();
        counted
    }
}

struct Writer<'a, 'c> {
    /// The operations of each block, as they were read.
    ops: Vec<Vec<Op<'c>>>,
    builder: &'a LlvmBuilder<'c>,
}

impl<'c> Writer<'_, 'c> {
    fn act(
        &self,
        place: Place,
        action: Action,
        value: Value<'c>,
        split: &mut FxHashMap<(usize, usize), Op<'c>>,
    ) {
        let before = match place {
            Place::Start(block) => self.ops[block][0],
            Place::Before(block, op) => self.ops[block][op],
            // What follows: a terminator has nothing to be done after it.
            Place::After(block, op) => self.ops[block][op + 1],
            Place::Edge(block, successor) => *split
                .entry((block, successor))
                .or_insert_with(|| split_edge(*self.ops[block].last().expect("a terminator"), successor)),
        };
        let function = match action {
            Action::Retain => rt::RETAIN,
            Action::Release => rt::RELEASE,
        };
        self.builder
            .call(function, &[value], None, before.location(), At::Before(before));
    }
}

/// Puts a block on an edge of `terminator`, and returns its one operation.
fn split_edge(terminator: Op<'_>, successor: usize) -> Op<'_> {
    let target = terminator.successors().nth(successor).expect("a successor");
    let arguments: Vec<_> = target.args().map(|arg| (arg.ty(), arg.location())).collect();
    let between = Block::new(&arguments);
    if let (Some(block), Some(region)) = (terminator.block(), target.region()) {
        region.insert_after(block, between);
    }
    terminator.set_successor(successor, between);
    let passed: Vec<Value> = between.args().collect();
    OpBuilder::new(cf::BR, terminator.location())
        .operands(&passed)
        .successors(&[target])
        .at_end(between)
}
