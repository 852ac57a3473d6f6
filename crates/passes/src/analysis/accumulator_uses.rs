//! Checks that accumulators of multiplications in flight are used by nothing but multiplications that add to them.
//!
//! Until a multiplication is complete, its registers are being written (PTX ISA, Asynchronous warpgroup level matrix
//! instructions, Async proxy and registers: to access them before `wgmma.wait_group` is undefined behavior). The commits and waits
//! of a function in counted form are given, an accumulator stands for the group of the multiplication that made it, and a
//! use for an await of that: what still had to be waited for is used too early on some path.
//!
//! Conditions are not followed, so what is awaited under one counts as awaited after it: the use may be under the same.
//!
//! **Cost.** That of solving a program whose commits are given: linear in operations and what loops carry.

use super::op_classifier::{OpClass, OpClassifier};
use super::skeleton::{self, Skeleton};
use crate::utils::region_values::{RegionOpKind, region_op_kind};
use async_dialects::completion::{Completion, GroupEffect, GroupQueue};
use async_dialects::names::gpux;
use async_mlir::ir::{Definition, Op, Value};
use async_mlir::melior::ir::Type;
use async_mlir::nvgpu::accumulated_matrix;
use async_mlir::pass::PassError;
use rustc_hash::FxHashSet;
use tokenflow::{Queue, Token, assume_nested_waits, solve_queue};

/// Returns an error if an operation of `function`, in counted form, may use the result of a multiplication that is not complete, and is no
/// multiplication that adds to it; or if one adds to it in each iteration of a loop, which would take copies.
///
/// `help` says what to do to the multiplication.
pub(crate) fn check<'c>(function: Op<'c>, help: &str) -> Result<(), PassError<'c>> {
    let first = function
        .self_and_nested()
        .into_iter()
        .find(|op| op.is(gpux::WGMMA));
    let Some(queue) = first.and_then(|op| Completion::of(op)?.queue) else {
        return Ok(());
    };
    let mut skeleton = skeleton::read(function, &AccumulatorUses { queue }, &FxHashSet::default());
    assume_nested_waits(&mut skeleton.program, Queue(0));
    let slots = vec![0; skeleton.program.slots as usize];
    let solution = solve_queue(&skeleton.program, Queue(0), slots, true);
    let is_early = |(number, wait): (usize, &Option<_>)| {
        wait.is_some() || solution.uncovered.iter().any(|early| early.0 as usize == number)
    };
    let Some(number) = solution.waits.iter().enumerate().position(is_early) else {
        return Ok(());
    };
    let user = skeleton.awaits[number];
    let message = if user.is(gpux::WGMMA) && !reads_accumulator(user) {
        "adds to the result of one multiplication, which may not be complete, again and again: that would take copies"
    } else {
        "uses the result of a multiplication that may not be complete"
    };
    let error = PassError::new(user, message);
    Err(match origin(&skeleton, user) {
        Some(multiplication) => error.note(multiplication, format!("this one: {help}")),
        None => error,
    })
}

/// Multiplications, commits and waits of one queue; accumulators are tokens, and uses of them awaits.
struct AccumulatorUses {
    queue: GroupQueue,
}

impl<'c> OpClassifier<'c> for AccumulatorUses {
    fn is_token(&self, ty: Type<'c>) -> bool {
        accumulated_matrix(ty).is_some()
    }

    fn classify(&self, op: Op<'c>) -> OpClass<'c> {
        let queue = self.queue;
        let Some(completion) = Completion::of(op).filter(|completion| completion.queue == Some(queue)) else {
            return OpClass::Other;
        };
        match completion.effect {
            GroupEffect::Issue => OpClass::Issue {
                queue,
                token: op.results().find(|result| self.is_token(result.ty())),
                read: None,
                block_wide: false,
            },
            GroupEffect::Commit => OpClass::Commit { queue, token: None },
            GroupEffect::Wait => OpClass::Wait {
                queue,
                n: completion.pending,
                read: false,
            },
            GroupEffect::None => OpClass::Other,
        }
    }

    fn implied_await(&self, op: Op<'c>) -> Option<Vec<Value<'c>>> {
        if op.is_terminator() || op.num_regions() > 0 {
            // They hand it on.
            return None;
        }
        let count = op.num_operands();
        let adds = |i: usize| op.is(gpux::WGMMA) && i + 1 == count && !adds_again(op, op.operand(i));
        let used = op.operands().enumerate();
        let used = used.filter(|(i, value)| self.is_token(value.ty()) && !adds(*i));
        let used: Vec<Value> = used.map(|(_, value)| value).collect();
        (!used.is_empty()).then_some(used)
    }

    const INSERTS_COMMITS: bool = false;
}

/// Returns true if the multiplication `op` has an accumulator among what it multiplies.
fn reads_accumulator(op: Op<'_>) -> bool {
    let multiplied = op.operands().take(op.num_operands() - 1);
    multiplied
        .into_iter()
        .any(|value| accumulated_matrix(value.ty()).is_some())
}

/// Returns true if the multiplication `op` may add to the same `accumulator` several times, since a loop is between them.
fn adds_again<'c>(op: Op<'c>, accumulator: Value<'c>) -> bool {
    let home = match accumulator.definition() {
        Definition::Result(by, _) => by.parent(),
        Definition::Argument(block, _) => block.parent_op(),
    };
    let mut between = op.ancestors().take_while(|around| Some(*around) != home);
    between.any(|around| region_op_kind(around) == Some(RegionOpKind::Loop))
}

/// A multiplication that what `user` uses may be the result of.
fn origin<'c>(skeleton: &Skeleton<'c>, user: Op<'c>) -> Option<Op<'c>> {
    let used = user
        .operands()
        .filter_map(|value| skeleton.tokens.get(&value).copied());
    let mut work: Vec<Token> = used.collect();
    let mut seen: FxHashSet<Token> = work.iter().copied().collect();
    let made = |token: Token| {
        let results = |op: &&Op<'c>| {
            op.results()
                .any(|result| skeleton.tokens.get(&result) == Some(&token))
        };
        skeleton.sites.iter().find(results).copied()
    };
    while let Some(token) = work.pop() {
        if let Some(multiplication) = made(token) {
            return Some(multiplication);
        }
        let from = skeleton.bindings.iter().chain(&skeleton.joins);
        let from = from.filter(|(_, to)| *to == token).map(|(from, _)| *from);
        work.extend(from.filter(|from| seen.insert(*from)));
    }
    None
}
