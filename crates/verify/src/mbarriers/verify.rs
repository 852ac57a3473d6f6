//! Checks all rings of mbarriers of a function.

use super::check_invariant::Outcome;
use super::code::{Gathering, Instr, Who};
use super::explore::{Refusal, check};
use super::invariant::Invariant;
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

/// A ring that is to be checked.
pub struct Task<'a, 'c> {
    /// The function.
    pub index: &'a Index<'c>,
    /// The operation that creates the ring.
    pub create: Op<'c>,
    /// If threads gather there, how many times they may have gathered since what waits of other rings wait for.
    pub ages: &'a [(Op<'c>, u8)],
    /// The ring of which it is told how many times threads have gathered there.
    pub counted: Gathering,
    /// The operation that creates that ring; `None` if threads gather nowhere.
    pub gathering: Option<Op<'c>>,
}

impl<'c> Task<'_, 'c> {
    /// Reads what the function does with the ring.
    ///
    /// # Errors
    ///
    /// An operation that can't be read.
    pub fn read(&self, iterations: Iterations) -> Result<Reading<'c>, Unreadable<'c>> {
        read(self.index, self.create, self.ages, iterations, self.counted)
    }

    /// The least that has to be told apart for the same code as `reading`, which is for `iterations`.
    ///
    /// # Errors
    ///
    /// An operation that can't be read.
    pub fn coarser(
        &self,
        reading: &Reading<'c>,
        iterations: Iterations,
    ) -> Result<Iterations, Unreadable<'c>> {
        for less in Iterations::ALL {
            if less == iterations || self.read(less)?.code == reading.code {
                return Ok(less);
            }
        }
        Ok(iterations)
    }

    /// The proof of these findings.
    #[must_use]
    pub fn proof(
        &self,
        iterations: Iterations,
        reading: Reading<'c>,
        invariant: Invariant,
        outcome: Outcome,
    ) -> Proof<'c> {
        Proof {
            create: self.create,
            gathering: self.gathering,
            iterations,
            reading,
            invariant,
            outcome,
        }
    }
}

/// A ring that was checked.
pub struct Proof<'c> {
    /// The operation that creates the ring.
    pub create: Op<'c>,
    /// The ring of which it was told how many times threads have gathered there; `None` if they gather nowhere.
    pub gathering: Option<Op<'c>>,
    /// The iterations that were told apart.
    pub iterations: Iterations,
    /// The code.
    pub reading: Reading<'c>,
    /// The invariant of the code.
    pub invariant: Invariant,
    /// The facts that follow from that.
    pub outcome: Outcome,
}

/// Checks that `written` breaks no rule of mbarriers: see [`check()`]. Returns what proves it, ring by ring.
///
/// # Errors
///
/// The first operation that breaks a rule, or that can't be read.
pub fn verify<'c>(written: &Written<'_, 'c>) -> Result<Vec<Proof<'c>>, Failure<'c>> {
    let index = Index::new(written)?;
    let mut proofs = Vec::new();
    for turn in turns(&index) {
        let mut found = turn.prove(&index, &mut |task| search(task, &Iterations::ALL));
        // Ages are seldom so small only where all iterations are told apart.
        if found.is_err() && turn.gathering.is_some() {
            found = turn
                .prove(&index, &mut |task| search(task, &[Iterations::All]))
                .or(found);
        }
        proofs.extend(found?);
    }
    check_loads(&index)?;
    Ok(proofs)
}

/// Rings that are checked together: those at which threads don't gather, and then one at which they do, since that no thread is too far
/// ahead there follows from the loads of others that it has waited for.
pub struct Turn<'c> {
    /// The ring of which it is told how many times threads have gathered there.
    counted: Gathering,
    /// The operation that creates that ring; `None` if there is none.
    gathering: Option<Op<'c>>,
}

/// All rings of a function; those at which threads don't gather once for each of the others.
#[must_use]
pub fn turns<'c>(index: &Index<'c>) -> Vec<Turn<'c>> {
    let gatherings = index.gatherings().map(|(counted, create)| Turn {
        counted,
        gathering: Some(create),
    });
    let mut turns: Vec<Turn> = gatherings.collect();
    if turns.is_empty() {
        turns.push(Turn {
            counted: Gathering::default(),
            gathering: None,
        });
    }
    turns
}

impl<'c> Turn<'c> {
    /// Has the rings checked by `prove`, one after the other.
    ///
    /// # Errors
    ///
    /// The first error of `prove`.
    pub fn prove<E>(
        &self,
        index: &Index<'c>,
        prove: &mut dyn FnMut(&Task<'_, 'c>) -> Result<Proof<'c>, E>,
    ) -> Result<Vec<Proof<'c>>, E> {
        let gatherings: Vec<Op> = index.gatherings().map(|(_, create)| create).collect();
        let others = index.rings().iter().filter(|create| !gatherings.contains(create));
        let task = |create, ages| Task {
            index,
            create,
            ages,
            counted: self.counted,
            gathering: self.gathering,
        };
        let (mut proofs, mut ages) = (Vec::new(), FxHashMap::default());
        for &create in others {
            let proof = prove(&task(create, &[]))?;
            add_ages(&proof.reading, &proof.outcome, &mut ages);
            proofs.push(proof);
        }
        if let Some(create) = self.gathering {
            let mut ages: Vec<(Op, u8)> = ages.into_iter().collect();
            ages.sort_unstable_by_key(|(op, _)| index.place(*op));
            proofs.push(prove(&task(create, &ages))?);
        }
        Ok(proofs)
    }
}

/// Checks that each load completes on a ring that is known.
///
/// # Errors
///
/// A load that doesn't.
pub fn check_loads<'c>(index: &Index<'c>) -> Result<(), Unreadable<'c>> {
    let groups: FxHashSet<Value> = index.rings().iter().map(|create| create.result(0)).collect();
    for op in index.issued_loads() {
        // The group comes before the slot.
        let group = op.num_operands().checked_sub(2).map(|i| op.operand(i));
        if !group.is_some_and(|group| groups.contains(&group)) {
            let what = "completes on an mbarrier that is not known";
            return Err(Unreadable { op, what });
        }
    }
    Ok(())
}

/// Checks a ring by the first of `attempts` that succeeds. If none does, the last one, which told most apart, says why.
fn search<'c>(task: &Task<'_, 'c>, attempts: &[Iterations]) -> Result<Proof<'c>, Failure<'c>> {
    let mut failure = None;
    for &iterations in attempts {
        if iterations == Iterations::SomeAndGuards && task.ages.is_empty() {
            continue;
        }
        let reading = task.read(iterations)?;
        match check(&reading.code) {
            Ok((invariant, outcome)) => {
                let iterations = task.coarser(&reading, iterations)?;
                return Ok(task.proof(iterations, reading, invariant, outcome));
            }
            Err(Refusal { instr, fault }) => {
                let op = instr.and_then(|instr| reading.origins.get(instr)).copied();
                failure = Some(Failure {
                    op: op.unwrap_or(task.create),
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
