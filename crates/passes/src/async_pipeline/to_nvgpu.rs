//! Rewrites copies in token form as copies, groups and waits of `nvgpu`.
//!
//! **Condition.** Copies in token form, and no other asynchronous operation of `gpux`.
//!
//! **Effect.** Each token is one of `nvgpu`: that of a group. Copies that follow each other and are awaited
//! together make one. A complete token is that of an empty group, so that arms of a branch have as many. An
//! await of several tokens is a wait for each. Which of them are needed, and with which count, is the
//! business of `--nvgpu-exact-waits`.
//!
//! **Refusals.** What `nvgpu` can't say: other engines, tokens that go where they can't be followed, and a
//! join that is passed on, unless one of its groups is made after all the others: groups complete in order.

use crate::analysis::op_classifier::AsyncOpClassifier;
use crate::analysis::skeleton::{self, Skeleton};
use crate::utils::device::own_ops;
use crate::utils::tokens::{await_dependencies, inline_async_regions, joined_tokens, refuse_token_arguments};
use async_dialects::names::{async_, gpux, gpux_attr};
use async_dialects::types::is_token;
use async_mlir::ir::{Block, Definition, Op, OpBuilder, Region, Use, Value, index_attr};
use async_mlir::melior::ir::{Attribute, TypeLike};
use async_mlir::names::{attr, nvgpu, scf};
use async_mlir::nvgpu::copy_token;
use async_mlir::pass::PassError;
use async_mlir::types::memref_shape;
use rustc_hash::{FxHashMap, FxHashSet};

/// Writes the copies of `function` as upstream has them.
pub(super) fn to_nvgpu<'c>(function: Op<'c>) -> Result<(), PassError<'c>> {
    refuse_others(function)?;
    refuse_token_arguments(function)?;
    inline_async_regions(function)?;
    await_dependencies(function);
    let skeleton = skeleton::read(function, &AsyncOpClassifier::default(), &FxHashSet::default());
    if let Some(&(op, _)) = skeleton.escapes.first() {
        return Err(refusal(op, "hands on a token to where nvgpu has none"));
    }
    let mut writer = Writer {
        classes: classes(function, &skeleton),
        skeleton,
        empty: FxHashMap::default(),
    };
    writer.copies(function)?;
    waits(function);
    writer.joins(function)?;
    writer.ready(function);
    set_types(function);
    Ok(())
}

fn refusal<'c>(op: Op<'c>, message: &str) -> PassError<'c> {
    PassError::new(op, message).note(op, "emit=gpux keeps it in token form")
}

/// Returns an error at an operation that `nvgpu` has nothing for.
fn refuse_others(function: Op<'_>) -> Result<(), PassError<'_>> {
    let ours = |op: &Op| [gpux::NAMESPACE, async_::NAMESPACE].contains(&op.dialect());
    let known = [
        gpux::COPY,
        async_::AWAIT,
        async_::JOIN,
        async_::READY,
        async_::REGION,
    ];
    let mut others = own_ops(function).into_iter().filter(ours);
    others
        .find(|op| *op != function && !op.is_terminator() && !known.contains(&op.name()))
        .map_or(Ok(()), |op| Err(refusal(op, "has no form in nvgpu")))
}

/// Tokens are told apart if they are awaited in another place, or after being handed on in another way, so often at most: as
/// often as the tokens of the longest pipeline.
const MAX_HANDED_ON: usize = 64;

/// Classes of tokens, by number: those of one class are awaited together, wherever they are.
fn classes<'c>(function: Op<'c>, skeleton: &Skeleton<'c>) -> Vec<usize> {
    let tokens = skeleton.program.tokens as usize;
    let mut to: Vec<Vec<usize>> = vec![Vec::new(); tokens];
    for (from, next) in skeleton.bindings.iter().chain(&skeleton.joins) {
        to[from.0 as usize].push(next.0 as usize);
    }
    let mut awaits: Vec<Vec<usize>> = vec![Vec::new(); tokens];
    let waits = own_ops(function).into_iter().filter(|op| op.is(async_::AWAIT));
    for (number, wait) in waits.enumerate() {
        for token in wait.operands().filter_map(|token| skeleton.tokens.get(&token)) {
            awaits[token.0 as usize].push(number);
        }
    }
    let mut classes = vec![0; tokens];
    let mut known = 1;
    for _ in 0..MAX_HANDED_ON {
        let mut numbers: FxHashMap<(&[usize], Vec<usize>), usize> = FxHashMap::default();
        let refined = (0..tokens).map(|token| {
            let mut next: Vec<usize> = to[token].iter().map(|next| classes[*next]).collect();
            next.sort_unstable();
            next.dedup();
            let number = numbers.len();
            *numbers.entry((awaits[token].as_slice(), next)).or_insert(number)
        });
        classes = refined.collect();
        if numbers.len() == known {
            break;
        }
        known = numbers.len();
    }
    classes
}

struct Writer<'c> {
    skeleton: Skeleton<'c>,
    /// The class of each token.
    classes: Vec<usize>,
    /// The empty group before an operation, in the place of this one.
    empty: FxHashMap<(Op<'c>, Option<Value<'c>>), Value<'c>>,
}

impl<'c> Writer<'c> {
    /// Copies, and their groups.
    fn copies(&self, function: Op<'c>) -> Result<(), PassError<'c>> {
        let ops = own_ops(function);
        let blocks = ops.iter().flat_map(|op| op.regions()).flat_map(Region::blocks);
        let blocks: Vec<Block> = blocks.collect();
        let mut upstream = FxHashMap::default();
        for &op in ops.iter().filter(|op| op.is(gpux::COPY)) {
            let copy = copy_of(op);
            let verified = copy.verify_quietly();
            upstream.insert(op, copy);
            if let Err(why) = verified {
                upstream.into_values().for_each(Op::erase);
                return Err(refusal(op, &format!("is no copy of nvgpu: {why}")));
            }
        }
        for block in blocks {
            self.groups(block, &upstream);
        }
        Ok(())
    }

    /// The groups of a block.
    fn groups(&self, block: Block<'c>, upstream: &FxHashMap<Op<'c>, Op<'c>>) {
        let mut open: Vec<Op<'c>> = Vec::new();
        for op in block.ops() {
            let is_copy = upstream.contains_key(&op);
            let goes_on = is_copy
                && open
                    .first()
                    .is_none_or(|first| self.class(*first) == self.class(op));
            let closes = is_copy || op.is(async_::AWAIT) || op.num_regions() > 0 || op.is_terminator();
            if closes && !goes_on {
                close(&mut open, upstream);
            }
            if is_copy {
                open.push(op);
            }
        }
        close(&mut open, upstream);
    }

    fn class(&self, copy: Op<'c>) -> Option<usize> {
        let token = self.skeleton.tokens.get(&copy.results().next()?)?;
        self.classes.get(token.0 as usize).copied()
    }

    /// A join becomes the youngest of its groups: the others are complete when that is.
    fn joins(&mut self, function: Op<'c>) -> Result<(), PassError<'c>> {
        let joins = own_ops(function).into_iter().filter(|op| op.is(async_::JOIN));
        for join in joins.collect::<Vec<Op>>() {
            if join.has_uses() {
                let tokens = joined_tokens(join);
                let youngest = match tokens.as_slice() {
                    [] => self.empty_group(join, None),
                    [one] => *one,
                    _ => *tokens
                        .iter()
                        .find(|token| is_youngest(**token, &tokens))
                        .ok_or_else(|| {
                            refusal(
                                join,
                                "joins tokens of which it is not known which group is made last",
                            )
                        })?,
                };
                join.replace_with(&[youngest]);
            } else {
                join.erase();
            }
        }
        Ok(())
    }

    /// Complete tokens are those of empty groups, made where they are handed on.
    fn ready(&mut self, function: Op<'c>) {
        let readies = own_ops(function).into_iter().filter(|op| op.is(async_::READY));
        for ready in readies.collect::<Vec<Op>>() {
            for Use { owner, index } in ready.result(0).uses() {
                let group = self.empty_group(owner, other_arm(owner, index));
                owner.set_operand(index, group);
            }
            ready.erase();
        }
    }

    /// The empty group before `op`, for where there is `instead` in the other arm of a branch.
    fn empty_group(&mut self, op: Op<'c>, instead: Option<Value<'c>>) -> Value<'c> {
        let key = (op, instead);
        *self.empty.entry(key).or_insert_with(|| {
            // With no operand and no attribute, what comes next would be read as its operand.
            group(op, &[])
                .attr(gpux_attr::EMPTY, Attribute::unit(op.context()))
                .before(op)
                .result(0)
        })
    }
}

/// The copy of `nvgpu` that does what `op` does, which has no dependencies; it stands nowhere yet.
fn copy_of(op: Op<'_>) -> Op<'_> {
    let operands: Vec<Value> = op.operands().collect();
    let is_memref = |value: &&Value| value.ty().is_mem_ref();
    let to = 1 + operands[1..].iter().take_while(|value| !is_memref(value)).count();
    let elements = op.int_attr(gpux_attr::ELEMENTS).unwrap_or_default();
    let rank = memref_shape(operands[to].ty()).map_or(0, |shape| shape.sizes.len());
    let (source, rest) = operands.split_at(to);
    let (destination, count) = rest.split_at(1 + rank);
    let mut builder = OpBuilder::new(nvgpu::DEVICE_ASYNC_COPY, op.location())
        .operand_groups(&[
            &destination[..1],
            &destination[1..],
            &source[..1],
            &source[1..],
            count,
        ])
        .results(&[copy_token(op.context())])
        .attr(attr::NVGPU_ELEMENTS, index_attr(op.context(), elements));
    if op.has_attr(gpux_attr::BYPASS_L1) {
        builder = builder.attr(attr::NVGPU_BYPASS_L1, Attribute::unit(op.context()));
    }
    let copy = builder.detached();
    copy.copy_discardable_attrs(op);
    copy
}

/// A group of copies that comes to stand beside `op`.
fn group<'c>(op: Op<'c>, copies: &[Value<'c>]) -> OpBuilder<'c> {
    OpBuilder::new(nvgpu::DEVICE_ASYNC_CREATE_GROUP, op.location())
        .operands(copies)
        .results(&[copy_token(op.context())])
}

/// Waits for each token that is awaited.
fn waits(function: Op<'_>) {
    for wait in own_ops(function).into_iter().filter(|op| op.is(async_::AWAIT)) {
        // The last one is likely to be the youngest; then the other waits have nothing left to do.
        for token in joined_tokens(wait).into_iter().rev() {
            OpBuilder::new(nvgpu::DEVICE_ASYNC_WAIT, wait.location())
                .operands(&[token])
                .before(wait);
        }
        wait.erase();
    }
}

/// Puts the copies of a group in place, with the group after the last one, whose token all of them get.
fn close<'c>(open: &mut Vec<Op<'c>>, upstream: &FxHashMap<Op<'c>, Op<'c>>) {
    let Some(&last) = open.last() else { return };
    let mut tokens = Vec::new();
    for copy in open.iter() {
        upstream[copy].move_before(*copy);
        tokens.push(upstream[copy].result(0));
    }
    let made = group(last, &tokens).after(last).result(0);
    for copy in open.drain(..) {
        copy.replace_with(&vec![made; copy.num_results()]);
    }
}

/// Returns true if `token` is that of a group which is made after all of `tokens` are there.
fn is_youngest<'c>(token: Value<'c>, tokens: &[Value<'c>]) -> bool {
    let made = token
        .defining_op()
        .filter(|op| op.is(nvgpu::DEVICE_ASYNC_CREATE_GROUP));
    made.is_some_and(|made| {
        tokens
            .iter()
            .all(|other| *other == token || comes_before(*other, made))
    })
}

/// Returns true if `value` is there before `op`.
fn comes_before<'c>(value: Value<'c>, op: Op<'c>) -> bool {
    let mut around = std::iter::once(op).chain(op.ancestors());
    match value.definition() {
        Definition::Argument(block, _) => around.any(|outer| outer.block() == Some(block)),
        Definition::Result(by, _) => around.any(|outer| {
            outer != by
                && outer.block() == by.block()
                && outer.block().is_some()
                && by.is_before_in_block(outer)
        }),
    }
}

/// What the other arm of an `scf.if` yields where `op` yields its operand `index`.
fn other_arm<'c>(op: Op<'c>, index: usize) -> Option<Value<'c>> {
    let branch = op
        .parent()
        .filter(|branch| op.is(scf::YIELD) && branch.is(scf::IF))?;
    let mut ends = branch
        .regions()
        .filter_map(Region::first)
        .filter_map(Block::terminator);
    ends.find(|end| *end != op).map(|end| end.operand(index))
}

/// Gives all that passes on tokens the type that `nvgpu` has for them.
fn set_types(function: Op<'_>) {
    let ty = copy_token(function.context());
    for op in own_ops(function) {
        let arguments = op
            .regions()
            .flat_map(Region::blocks)
            .flat_map(|block| block.args().collect::<Vec<Value>>());
        for value in op.results().chain(arguments.collect::<Vec<_>>()) {
            if is_token(value.ty()) {
                value.set_type(ty);
            }
        }
    }
}
