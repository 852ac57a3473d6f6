//! Executes the kernel of a software pipeline: one round for all rounds that are alike.

use super::number::Affine;
use super::run::{Run, failure};
use super::skeleton::{Known, Slot};
use super::{Carried, Failure};
use async_mlir::ir::{Block, Op};
use async_mlir::names::{attr, scf};

impl<'c> Run<'_, 'c> {
    /// Executes the kernel: rounds in which all iterations exist, of which one is executed for all, and the others one by one.
    pub fn kernel(&mut self, kernel: Op<'c>, claims: &[Carried<'c>]) -> Result<(), Failure<'c>> {
        let rounds = self.rounds(kernel)?;
        let Some(block) = kernel.region(0).first() else {
            return failure(kernel, "has no body");
        };
        let mut carried: Vec<Known> = kernel.operands().skip(3).map(|value| self.known(value)).collect();
        let last = self.plain.last;
        let trips = self.facts.trips();
        let full = trips.plus(-last);
        let mut left = rounds;
        let mut first = Affine::constant(last);
        if self.facts.is_negative(full) == Some(false) && full != Affine::default() {
            self.induction(kernel, block, claims, &carried)?;
            carried = claims.iter().map(|claim| self.claimed(*claim, trips)).collect();
            left = rounds.minus(full).unwrap_or(rounds);
            first = trips;
        }
        let Some(left) = left.as_constant().filter(|left| (0..=last).contains(left)) else {
            return failure(kernel, "runs more or fewer rounds than there are");
        };
        for number in 0..left {
            carried = self.kernel_round(kernel, block, first.plus(number), &carried)?;
        }
        self.known.extend(kernel.results().zip(carried));
        Ok(())
    }

    /// How many rounds the kernel runs.
    fn rounds(&self, kernel: Op<'c>) -> Result<Affine, Failure<'c>> {
        let around = self.plain.around;
        let is_same = kernel.is(scf::FOR)
            && kernel.has_attr(attr::UNSIGNED_CMP) == around.has_attr(attr::UNSIGNED_CMP)
            && kernel.operand(0).ty() == around.operand(0).ty();
        let bounds = self.plain.bounds;
        let [lower, upper, step] = [0, 1, 2].map(|i| self.known(kernel.operand(i)).as_number());
        let begins = lower.is_some_and(|lower| lower.equals(bounds.lower, bounds.bits));
        let goes_on = step.is_some_and(|step| step.equals(bounds.step, bounds.bits));
        let rounds = upper.and_then(|upper| bounds.iteration(upper));
        match rounds.filter(|rounds| self.skeleton().may_be_reached(*rounds)) {
            Some(rounds) if is_same && begins && goes_on => Ok(rounds),
            _ => failure(kernel, "has bounds that are not known"),
        }
    }

    /// Shows that what is claimed of what the kernel carries is so where it is entered, and stays so.
    fn induction(
        &mut self,
        kernel: Op<'c>,
        block: Block<'c>,
        claims: &[Carried<'c>],
        entry: &[Known<'c>],
    ) -> Result<(), Failure<'c>> {
        let last = self.plain.last;
        self.holds(kernel, claims, entry, Affine::constant(last))?;
        let stages = &self.plain.statements;
        if stages
            .iter()
            .any(|(op, (stage, _))| self.next[op] != Affine::constant(last - stage))
        {
            return failure(
                kernel,
                "is reached before or after what comes before it in the schedule",
            );
        }
        let latest = self.latest;
        if latest.is_some_and(|(round, _)| self.facts.is_less(round, Affine::constant(last)) != Some(true)) {
            return failure(kernel, "is reached too late");
        }
        let set = |run: &mut Self, round: Affine| {
            let next = stages.iter().map(|(op, (stage, _))| (*op, round.plus(-stage)));
            run.next.extend(next);
        };
        let round = Affine::round();
        set(self, round);
        // What comes before it is of an earlier round.
        self.latest = None;
        let carried: Vec<Known> = claims.iter().map(|claim| self.claimed(*claim, round)).collect();
        let next = self.kernel_round(kernel, block, round, &carried)?;
        self.holds(kernel, claims, &next, round.plus(1))?;
        if stages
            .iter()
            .any(|(op, (stage, _))| self.next[op] != round.plus(1 - stage))
        {
            return failure(kernel, "does not execute each operation once in each round");
        }
        let trips = self.facts.trips();
        set(self, trips);
        self.latest = Some((trips.plus(-1), usize::MAX));
        Ok(())
    }

    /// Checks that `values` are what is claimed, in this round.
    fn holds(
        &self,
        kernel: Op<'c>,
        claims: &[Carried<'c>],
        values: &[Known<'c>],
        round: Affine,
    ) -> Result<(), Failure<'c>> {
        let mut pairs = claims.iter().zip(values);
        let holds = pairs.all(|(claim, known)| match *claim {
            Carried::Value(value, lag) => self.is(*known, value, round.plus(-i64::from(lag))),
            Carried::Slot { .. } => known.is(self.claimed(*claim, round)),
        });
        if holds && claims.len() == values.len() && claims.len() == kernel.num_results() {
            return Ok(());
        }
        failure(kernel, "carries another value than what its rounds read")
    }

    /// What is claimed in this round.
    fn claimed(&self, claim: Carried<'c>, round: Affine) -> Known<'c> {
        match claim {
            Carried::Value(value, lag) => self.wanted(value, round.plus(-i64::from(lag))),
            Carried::Slot { versions, ahead } => Slot::of(round.plus(ahead.into()), versions.into()),
        }
    }

    /// Executes a round of the kernel.
    fn kernel_round(
        &mut self,
        kernel: Op<'c>,
        block: Block<'c>,
        round: Affine,
        carried: &[Known<'c>],
    ) -> Result<Vec<Known<'c>>, Failure<'c>> {
        let variable = self.plain.bounds.variable(round.plus(-self.plain.last));
        let Some(variable) = variable.filter(|_| block.num_args() == carried.len() + 1) else {
            return failure(kernel, "has a variable that is not known");
        };
        self.round = round;
        self.known.insert(block.arg(0), Known::Number(variable));
        self.known
            .extend(block.args().skip(1).zip(carried.iter().copied()));
        self.body(block)
    }
}
