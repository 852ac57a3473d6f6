//! Refuses uses of a result that a multiplication in flight adds to: one of the two would get a copy of its registers.
//!
//! Refused is what stands in a row: an addition in the block of the multiplication, with nothing between the two in which anything is
//! awaited, and a use after that. What control flow brings together, `async-sim` finds. Uses of results that are not complete are
//! refused by [`crate::analysis::accumulator_uses`], once commits and waits are placed.
//!
//! **Cost.** Linear.

use crate::analysis::skeleton::Skeleton;
use async_dialects::completion::{Completion, GroupEffect};
use async_dialects::names::{async_, gpux};
use async_mlir::calls::is_call;
use async_mlir::ir::{Block, Op};
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};

/// Where an operation stands in its block, and how many before it may await something.
type Place = (usize, usize);

/// Returns an error if the result of a multiplication in token form is used after another one adds to it that certainly is not complete.
pub(super) fn check<'c>(skeleton: &Skeleton<'c>) -> Result<(), PassError<'c>> {
    let sites = skeleton.sites.iter().copied();
    let multiplications = sites.filter(|op| op.is(gpux::WGMMA) && op.num_results() == 2);
    let mut numbered: FxHashSet<Block> = FxHashSet::default();
    let mut places: FxHashMap<Op, Place> = FxHashMap::default();
    for multiplication in multiplications {
        let Some(block) = multiplication.block() else {
            continue;
        };
        if numbered.insert(block) {
            number(block, &mut places);
        }
        check_result(multiplication, &places)?;
    }
    Ok(())
}

fn number<'c>(block: Block<'c>, places: &mut FxHashMap<Op<'c>, Place>) {
    let mut waits = 0;
    for (number, op) in block.ops().into_iter().enumerate() {
        places.insert(op, (number, waits));
        waits += usize::from(op.self_and_nested().into_iter().any(may_wait));
    }
}

fn may_wait(op: Op<'_>) -> bool {
    let waits = || Completion::of(op).is_some_and(|completion| completion.effect == GroupEffect::Wait);
    op.is(async_::AWAIT) || is_call(op) || waits()
}

fn check_result<'c>(multiplication: Op<'c>, places: &FxHashMap<Op<'c>, Place>) -> Result<(), PassError<'c>> {
    let (_, waits) = places[&multiplication];
    // What uses it in the block, or has something in it that does, in order.
    let mut uses: Vec<(Place, Op, bool)> = Vec::new();
    for used in multiplication.result(0).uses() {
        let mut around = std::iter::once(used.owner).chain(used.owner.ancestors());
        let Some(outer) = around.find(|op| op.block() == multiplication.block()) else {
            continue;
        };
        // What is nested may add to it after an await there.
        let adds = outer == used.owner && outer.is(gpux::WGMMA) && used.index + 1 == outer.num_operands();
        uses.push((places[&outer], used.owner, adds));
    }
    uses.sort_unstable_by_key(|(place, ..)| *place);
    let mut added_by = None;
    for ((_, waits_before), user, adds) in uses {
        if let Some(other) = added_by {
            return Err(used_again(user, other, multiplication));
        }
        added_by = Some(user).filter(|_| adds && waits_before == waits);
    }
    Ok(())
}

fn used_again<'c>(user: Op<'c>, other: Op<'c>, multiplication: Op<'c>) -> PassError<'c> {
    let message = "uses the result of a multiplication again, which another one adds to before it is complete: that would take a copy";
    PassError::new(user, message)
        .note(other, "this adds to the result")
        .note(multiplication, "await the token of this before that")
}
