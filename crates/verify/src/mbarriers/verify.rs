//! Checks all rings of mbarriers of a function.

use super::code::{Gathering, Instr, Who};
use super::explore::{Outcome, Refusal, check};
use super::read::{Index, Iterations, Reading, Unreadable, Written, read};
use super::slot::Fault;
use async_mlir::ir::{Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Something wrong with what was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure<'c> {
    /// The operation.
    pub op: Op<'c>,
    /// What is wrong with it.
    pub what: String,
    /// True if that is only more than the check can look at.
    pub is_limit: bool,
}

impl<'c> From<Unreadable<'c>> for Failure<'c> {
    fn from(unreadable: Unreadable<'c>) -> Self {
        Self {
            op: unreadable.op,
            what: unreadable.what.to_owned(),
            is_limit: false,
        }
    }
}

/// Checks that `written` breaks no rule of mbarriers: see [`check()`].
///
/// The ring at which threads gather comes last: that no thread is too far ahead there follows from the loads of other rings that it has
/// waited for.
///
/// # Errors
///
/// The first operation that breaks a rule, or that can't be read.
pub fn verify<'c>(written: &Written<'_, 'c>) -> Result<(), Failure<'c>> {
    let index = Index::new(written)?;
    let gatherings: Vec<(Gathering, Op)> = index.gatherings().collect();
    let is_gathering = |create: &Op| gatherings.iter().any(|(_, known)| known == create);
    let mut others = written.rings.to_vec();
    others.retain(|create| !is_gathering(create));
    for gathering in &gatherings {
        // Ages are seldom so small only where all iterations are told apart.
        verify_gathering(&index, &others, *gathering, &EACH)
            .or_else(|failure| verify_gathering(&index, &others, *gathering, &FINEST).map_err(|_| failure))?;
    }
    if gatherings.is_empty() {
        for &create in &others {
            verify_ring(&index, create, &[], Gathering::default(), &EACH)?;
        }
    }
    let groups: FxHashSet<Value> = written.rings.iter().map(|create| create.result(0)).collect();
    for op in index.issued_loads() {
        // The group comes before the slot.
        let group = op.num_operands().checked_sub(2).map(|i| op.operand(i));
        if !group.is_some_and(|group| groups.contains(&group)) {
            let what = "completes on an mbarrier that is not known";
            return Err(Unreadable { op, what }.into());
        }
    }
    Ok(())
}

/// What is told apart of iterations: more and more, until a check succeeds.
const EACH: [Iterations; 3] = [Iterations::Some, Iterations::SomeAndGuards, Iterations::All];

/// All that can be told apart.
const FINEST: [Iterations; 1] = [Iterations::All];

/// Checks the ring at which threads gather, and `others`, whose waits say how many times they have.
fn verify_gathering<'c>(
    index: &Index<'c>,
    others: &[Op<'c>],
    (number, gathering): (Gathering, Op<'c>),
    attempts: &[Iterations],
) -> Result<(), Failure<'c>> {
    let mut ages = FxHashMap::default();
    for &create in others {
        let (reading, outcome) = verify_ring(index, create, &[], number, attempts)?;
        add_ages(&reading, &outcome, &mut ages);
    }
    let ages: Vec<(Op, u8)> = ages.into_iter().collect();
    verify_ring(index, gathering, &ages, number, attempts)?;
    Ok(())
}

/// Checks the ring that `create` makes, by the first of `attempts` that succeeds.
fn verify_ring<'c>(
    index: &Index<'c>,
    create: Op<'c>,
    ages: &[(Op<'c>, u8)],
    counted: Gathering,
    attempts: &[Iterations],
) -> Result<(Reading<'c>, Outcome), Failure<'c>> {
    let mut failure = None;
    for &iterations in attempts {
        if iterations == Iterations::SomeAndGuards && ages.is_empty() {
            continue;
        }
        let reading = read(index, create, ages, iterations, counted)?;
        match check(&reading.code) {
            Ok(outcome) => return Ok((reading, outcome)),
            Err(Refusal { instr, fault }) => {
                let op = instr.and_then(|instr| reading.origins.get(instr)).copied();
                failure.get_or_insert(Failure {
                    op: op.unwrap_or(create),
                    what: fault.to_string(),
                    is_limit: fault == Fault::TooMany,
                });
            }
        }
    }
    failure.map_or_else(|| unreachable!("each attempt succeeds or fails"), Err)
}

/// Adds what is known of the waits of a ring.
fn add_ages<'c>(reading: &Reading<'c>, outcome: &Outcome, ages: &mut FxHashMap<Op<'c>, u8>) {
    let instrs = reading
        .code
        .instrs
        .iter()
        .zip(&outcome.ages)
        .zip(&reading.origins);
    for ((instr, age), op) in instrs {
        let by_role = matches!(
            instr,
            Instr::Wait {
                by: Who::Roles(_),
                ..
            }
        );
        if let Some(age) = age.filter(|_| by_role) {
            ages.insert(*op, age);
        }
    }
}
