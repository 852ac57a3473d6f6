//! Checks barriers in roles.
//!
//! Those of the whole block can't be in a role. Those with an id are for as many threads as they say, or for all; other warps may come to
//! them elsewhere, or arrive there without waiting.

use super::{is_in_role, warps_text};
use crate::analysis::roles::Roles;
use crate::analysis::warps::WARP_THREADS;
use async_mlir::gpu::is_barrier;
use async_mlir::ir::Op;
use async_mlir::names::{attr, gpu, nvvm};
use async_mlir::pass::PassError;
use std::collections::BTreeMap;

/// What `op` is if it is a barrier with an id, or an arrival there.
fn named(op: Op<'_>) -> Option<Named> {
    // A reduction is for all threads of the block: its operand is a predicate.
    let has_id = op.num_operands() > 0 && !op.has_attr(attr::REDUCTION_OP);
    if !matches!(op.name(), nvvm::BARRIER | nvvm::BARRIER_ARRIVE) || !has_id {
        return None;
    }
    let number = |i: usize| op.operand(i).as_constant_int();
    let threads = |i: usize| number(i).map_or(Threads::Unknown, Threads::Number);
    let (id, threads) = match (op.num_operands(), op.name()) {
        // An arrival always says for how many threads it is.
        (1, nvvm::BARRIER_ARRIVE) => (Some(0), threads(0)),
        (1, _) => (number(0), Threads::All),
        _ => (number(0), threads(1)),
    };
    Some(Named { id, threads })
}

/// A barrier with an id.
struct Named {
    /// `None` if it is computed.
    id: Option<i64>,
    threads: Threads,
}

/// For how many threads a barrier is.
enum Threads {
    All,
    Number(i64),
    Unknown,
}

impl Threads {
    fn text(&self) -> String {
        match self {
            Self::All => "all threads of the block".to_owned(),
            Self::Number(number) => format!("{number} threads"),
            Self::Unknown => "an unknown number of threads".to_owned(),
        }
    }
}

/// Returns true if `op` is a barrier of all threads of a block, which come to it together.
pub(super) fn is_of_block(op: Op<'_>) -> bool {
    match named(op) {
        Some(named) => op.is(nvvm::BARRIER) && named.id == Some(0) && matches!(named.threads, Threads::All),
        None => is_barrier(op) || matches!(op.name(), gpu::BARRIER | nvvm::BARRIER),
    }
}

/// Returns an error if a barrier of the block is in a role.
pub(super) fn check_of_block<'c>(roles: &Roles<'c>, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let mut barriers = ops.iter().copied().filter(|op| is_of_block(*op));
    let Some(op) = barriers.find(|op| is_in_role(roles, *op)) else {
        return Ok(());
    };
    let warps = roles.warps_at(op);
    let threads = WARP_THREADS * warps.count_ones();
    let message = format!(
        "is a barrier of the whole block, but is executed by {} alone",
        warps_text(warps)
    );
    let help = format!(
        "use a named barrier for these {threads} threads: nvvm.barrier id = %id number_of_threads = %threads, with an id \
         from 1 to 15 that no other role uses"
    );
    Err(PassError::new(op, message).note(op, help))
}

/// Barriers of one id.
#[derive(Default)]
struct Same<'c> {
    /// The warps that come to them, or arrive.
    warps: u32,
    barriers: Vec<Op<'c>>,
    has_arrivals: bool,
}

/// The barriers with ids among `ops`, by their ids; -1 is for all that are not known.
fn by_id<'c>(roles: &Roles<'c>, ops: &[Op<'c>]) -> BTreeMap<i64, Same<'c>> {
    let mut all: BTreeMap<i64, Same<'c>> = BTreeMap::new();
    for &op in ops {
        let Some(named) = named(op) else { continue };
        let same = all.entry(named.id.unwrap_or(-1)).or_default();
        same.warps |= roles.warps_at(op);
        if op.is(nvvm::BARRIER) {
            same.barriers.push(op);
        } else {
            same.has_arrivals = true;
        }
    }
    all
}

/// Returns an error if a barrier is for more threads than ever come to it.
pub(super) fn check_enough_come<'c>(roles: &Roles<'c>, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let all = by_id(roles, ops);
    // An id that is computed may be any of the others. A warp may arrive several times.
    let is_known = |same: &&Same| !same.has_arrivals && !all.contains_key(&-1);
    for same in all.values().filter(is_known) {
        let come = i64::from(WARP_THREADS * same.warps.count_ones());
        let of_block = i64::from(WARP_THREADS * roles.all_warps().count_ones());
        let waits = |op: &&Op<'c>| {
            let threads = named(**op).map(|named| named.threads);
            let expected = match threads {
                Some(Threads::All) => of_block,
                Some(Threads::Number(number)) => number,
                _ => 0,
            };
            roles.warps_at(**op) != 0 && expected > come
        };
        if let Some(&op) = same.barriers.iter().find(waits) {
            return Err(other_number(op, same.warps));
        }
    }
    Ok(())
}

/// Checks named barriers of which some are in roles. Their ids and numbers have to be known: who derives more barriers has to know
/// what these order.
pub(crate) fn check_named<'c>(roles: &Roles<'c>, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let is_in_part = |op: &Op<'c>| roles.warps_at(*op) != roles.all_warps();
    let all = by_id(roles, ops);
    let mut in_roles = all.values().filter(|same| same.barriers.iter().any(is_in_part));
    in_roles.try_for_each(check_same)
}

/// Checks barriers of one id.
fn check_same<'c>(same: &Same<'c>) -> Result<(), PassError<'c>> {
    let expected = i64::from(WARP_THREADS * same.warps.count_ones());
    for &op in &same.barriers {
        let Some(Named { id, threads }) = named(op) else {
            continue;
        };
        if !id.is_some_and(|id| (1..16).contains(&id)) {
            let message = "is in a role, and needs an id of its own: a constant from 1 to 15";
            return Err(PassError::new(op, message).note(op, "0 is the barrier of the whole block"));
        }
        if !matches!(threads, Threads::Number(number) if number == expected) {
            return Err(other_number(op, same.warps));
        }
    }
    Ok(())
}

/// An error about a barrier that is not for as many threads as those of `warps`, which come to it.
fn other_number<'c>(op: Op<'c>, warps: u32) -> PassError<'c> {
    let message = format!(
        "is for {}, but {} come to barriers of its id: {}",
        named(op).map_or_else(String::new, |named| named.threads.text()),
        WARP_THREADS * warps.count_ones(),
        warps_text(warps)
    );
    PassError::new(op, message).note(op, "it is passed when as many have come as it says")
}
