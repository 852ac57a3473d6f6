//! Makes the order of operations in a stream explicit as dependences of tokens, for the streams that
//! upstream's `--gpu-to-llvm` makes of them.
//!
//! There, a `gpu.wait async` makes a stream, which comes after what is in those of its operands; an operation
//! with a token goes to the stream of its first dependency, which is its token, too. So it comes after
//! everything that was put there before, whichever token that took. Here, it gets a dependency on the last of
//! that.
//!
//! Tokens that may be of the same stream are in one class: operations and their first dependencies, and what
//! control flow hands over. A class is taken for one stream, in which nothing is lost when it is made again,
//! if it has several; the order may then be stricter than upstream's. The last operation of a stream is a
//! variable, and dependencies are reads of it.

mod enclosing_block;

use self::enclosing_block::enclosing_block;
use super::convert::is_known;
use crate::utils::equivalence_classes::EquivalenceClasses;
use crate::utils::region_values::{self, RegionOpKind};
use crate::utils::token_variable::{TokenState, TokenVariable};
use async_dialects::names::async_;
use async_mlir::calls::is_call;
use async_mlir::control_flow::{branch_edges, entry_edges, region_exit_edges, selected_values};
use async_mlir::gpu::is_gpu_token;
use async_mlir::ir::{Block, Definition, Op, OpBuilder, Region, Value};
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::gpu;
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};

/// Has everything in `module` depend on what comes before it in its stream.
pub(super) fn to_dependencies(module: Op<'_>) -> Result<(), PassError<'_>> {
    let ops = module.self_and_nested();
    ops.iter().try_for_each(|op| refuse_functions(*op))?;
    let mut streams: Vec<Stream> = Vec::new();
    let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
    let mut classes = EquivalenceClasses::default();
    for &op in &ops {
        link(op, &mut classes);
    }
    for value in classes.values() {
        let next = streams.len();
        let number = *numbers.entry(classes.class(value)).or_insert(next);
        if number == next {
            streams.push(Stream::new(value));
        }
        streams[number].values.push(value);
    }
    streams.iter_mut().for_each(Stream::analyze);
    streams.iter().try_for_each(Stream::rewrite)
}

fn tokens(op: Op<'_>) -> impl Iterator<Item = Value<'_>> {
    op.operands()
        .chain(op.results())
        .filter(|value| is_gpu_token(value.ty()))
}

/// Returns an error if `op` is a function or a call, and tokens leave the function by it.
fn refuse_functions(op: Op<'_>) -> Result<(), PassError<'_>> {
    let arguments = op.is_function()
        && op
            .regions()
            .filter_map(Region::first)
            .any(|entry| entry.args().any(|argument| is_gpu_token(argument.ty())));
    let returns = op.is_terminator() && op.parent().is_some_and(Op::is_function);
    if arguments || (returns || is_call(op)) && tokens(op).next().is_some() {
        let message = "has a stream go from one function to another";
        return Err(PassError::new(op, message).note(op, "run --inline first, or await the token before"));
    }
    Ok(())
}

/// The dependency of `op` whose stream it goes to, if it goes to one that is there.
fn goes_to(op: Op<'_>) -> Option<Value<'_>> {
    let first = op.operands().next().filter(|value| is_gpu_token(value.ty()));
    first.filter(|_| is_known(op) && !op.is(gpu::WAIT))
}

/// Puts tokens that may be of the same stream into one class.
fn link<'c>(op: Op<'c>, classes: &mut EquivalenceClasses<'c>) {
    let arguments = op
        .regions()
        .flat_map(Region::blocks)
        .flat_map(|block| block.args().collect::<Vec<_>>());
    for token in op
        .results()
        .chain(arguments)
        .filter(|value| is_gpu_token(value.ty()))
    {
        classes.class(token);
    }
    let result = op.results().find(|value| is_gpu_token(value.ty()));
    if let (Some(dependency), Some(result)) = (goes_to(op), result) {
        classes.unite(dependency, result);
    }
    let mut unite = |a: Value<'c>, b: Value<'c>| {
        if is_gpu_token(a.ty()) && is_gpu_token(b.ty()) {
            classes.unite(a, b);
        }
    };
    for value in selected_values(op).unwrap_or_default() {
        unite(value, op.result(0));
    }
    let edges = [entry_edges(op), region_exit_edges(op), branch_edges(op)];
    for (from, to) in edges
        .into_iter()
        .flatten()
        .flatten()
        .flat_map(|edge| edge.bindings)
    {
        unite(from, to);
    }
}

/// A stream, or several that can't be told apart.
struct Stream<'c> {
    ty: Type<'c>,
    location: Location<'c>,
    values: Vec<Value<'c>>,
    /// The operands of each operation of `gpu` that are tokens of the stream.
    operands: FxHashMap<Op<'c>, Vec<usize>>,
    /// The operations that are put into it.
    enqueued: FxHashSet<Op<'c>>,
    /// Those that make it.
    creations: Vec<Op<'c>>,
    /// True if it can be there when it is made again.
    stays: bool,
    touched: Places<'c>,
    changed: Places<'c>,
    /// What is rewritten: a block, and whether all blocks that it dominates are.
    scope: Option<(Block<'c>, bool)>,
}

/// Operations, and what they are in. Blocks tell that: a loop that another stream goes through is made anew, and has the same ones.
#[derive(Default)]
struct Places<'c> {
    ops: FxHashSet<Op<'c>>,
    blocks: FxHashSet<Block<'c>>,
}

impl<'c> Places<'c> {
    fn add(&mut self, op: Op<'c>) {
        self.ops.insert(op);
        let mut around = op.block();
        while let Some(block) = around.filter(|block| self.blocks.insert(*block)) {
            around = block.parent_op().and_then(Op::block);
        }
    }

    /// Returns true if `op` is one of them, or one is in it.
    fn has(&self, op: Op<'c>) -> bool {
        let mut blocks = op.regions().flat_map(Region::blocks);
        self.ops.contains(&op) || blocks.any(|block| self.blocks.contains(&block))
    }
}

impl<'c> Stream<'c> {
    fn new(first: Value<'c>) -> Self {
        Self {
            ty: first.ty(),
            location: first.location(),
            values: Vec::new(),
            operands: FxHashMap::default(),
            enqueued: FxHashSet::default(),
            creations: Vec::new(),
            stays: false,
            touched: Places::default(),
            changed: Places::default(),
            scope: None,
        }
    }

    /// Finds out which operations do what with the stream, before any stream is rewritten.
    fn analyze(&mut self) {
        for value in self.values.clone() {
            for used in value.uses() {
                if is_known(used.owner) {
                    self.operands.entry(used.owner).or_default().push(used.index);
                    self.touched.add(used.owner);
                }
            }
            let Definition::Result(op, _) = value.definition() else {
                continue;
            };
            if is_known(op) {
                if goes_to(op).is_some() {
                    self.enqueued.insert(op);
                } else {
                    self.creations.push(op);
                }
                self.touched.add(op);
                self.changed.add(op);
            }
        }
        self.scope = enclosing_block(&self.values);
        self.stays = self.creations.len() != 1 || self.values.iter().any(|value| self.is_carried(*value));
    }

    /// Returns true if `value` may be of a stream that was made before the last one was.
    fn is_carried(&self, value: Value<'c>) -> bool {
        let Definition::Argument(block, _) = value.definition() else {
            return false;
        };
        let around = block.parent_op();
        let is_entry = block.region().and_then(Region::first) == Some(block);
        let repeats =
            !is_entry || around.and_then(region_values::region_op_kind) != Some(RegionOpKind::Branch);
        repeats
            && around.is_some_and(|around| {
                self.creations
                    .iter()
                    .any(|creation| around.is_ancestor_of(*creation))
            })
    }

    fn rewrite(&self) -> Result<(), PassError<'c>> {
        let Some((block, whole_region)) = self.scope else {
            return Ok(());
        };
        if whole_region {
            self.blocks(block, block.ops(), Vec::new(), false)
        } else {
            self.ops(block.ops(), Vec::new()).map(|_| ())
        }
    }
}

impl<'c> TokenVariable<'c> for Stream<'c> {
    fn ty(&self) -> Type<'c> {
        self.ty
    }

    fn location(&self) -> Location<'c> {
        self.location
    }

    fn is_touched_by(&self, op: Op<'c>) -> bool {
        self.touched.has(op)
    }

    fn is_changed_by(&self, op: Op<'c>) -> bool {
        self.changed.has(op)
    }

    fn join(&self, location: Location<'c>, tokens: &[Value<'c>]) -> OpBuilder<'c> {
        OpBuilder::new(gpu::WAIT, location)
            .operands(tokens)
            .results(&[self.ty])
    }

    fn access(&self, op: Op<'c>, state: &TokenState<'c>) -> Result<Option<TokenState<'c>>, PassError<'c>> {
        if op.is(async_::REGION) {
            let message = "has a task use a stream from outside of it, and what else is put there meanwhile is not known";
            return Err(PassError::new(op, message)
                .note(self.location, "the stream is made here")
                .note(op, "make a stream in the task, with gpu.wait async"));
        }
        if !is_known(op) {
            return Ok(None);
        }
        if let Some(operands) = self.operands.get(&op) {
            let last = self.one(op, state);
            for &index in operands {
                op.set_operand(index, last);
            }
        }
        let Some(result) = op.results().find(|value| is_gpu_token(value.ty())) else {
            return Ok(Some(state.clone()));
        };
        if self.enqueued.contains(&op) {
            return Ok(Some(vec![result]));
        }
        let mut state = state.clone();
        if self.creations.contains(&op) {
            if !self.stays {
                state.clear();
            }
            state.push(result);
        }
        Ok(Some(state))
    }

    fn refusal(&self, op: Op<'c>) -> PassError<'c> {
        let message = "puts operations into a stream from outside of it, and its body can't pass on a token";
        PassError::new(op, message)
            .note(self.location, "the stream is made here")
            .note(op, "make a stream inside, with gpu.wait async")
    }
}
