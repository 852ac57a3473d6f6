//! Executes what was written on symbols.

use super::copies::{Inputs, inputs};
use super::number::{Affine, Facts, Number};
use super::plain::{Origin, Plain};
use super::skeleton::{Known, Place, Skeleton, Slot};
use super::{Carried, Copied, Failure, Round, Written};
use async_dialects::names::async_;
use async_locations::integers::bits_of;
use async_locations::memory::only_computes;
use async_mlir::ir::{Block, Op, Value};
use async_mlir::names::{attr, memref, scf, ub};
use rustc_hash::FxHashMap;

/// An execution, of a number of iterations or of all that are large enough.
pub(super) struct Run<'a, 'c> {
    written: &'a Written<'c>,
    plain: &'a Plain<'c>,
    facts: Facts,
    known: FxHashMap<Value<'c>, Known<'c>>,
    /// How often each operation with a stage was executed: the iteration that it is executed for next.
    next: FxHashMap<Op<'c>, Affine>,
    /// The round and the place of what was executed last.
    latest: Option<(Affine, usize)>,
    /// The round of the kernel that is being executed.
    round: Affine,
}

fn failure<'c, T>(op: Op<'c>, what: &str) -> Result<T, Failure<'c>> {
    let what = what.to_owned();
    let first = None;
    Err(Failure { op, what, first })
}

impl<'a, 'c> Run<'a, 'c> {
    pub fn new(written: &'a Written<'c>, plain: &'a Plain<'c>, facts: Facts) -> Self {
        let ops = written.schedule.statements.iter().map(|(op, _)| *op);
        Self {
            written,
            plain,
            facts,
            known: FxHashMap::default(),
            next: ops.map(|op| (op, Affine::default())).collect(),
            latest: None,
            round: Affine::round(),
        }
    }

    /// Executes all that was written.
    pub fn whole(mut self) -> Result<(), Failure<'c>> {
        self.block(&self.written.ops)?;
        let trips = self.facts.trips();
        for (op, _) in &self.written.schedule.statements {
            if self.next[op] != trips {
                return failure(*op, "is executed less often than in the plain loop");
            }
        }
        for (number, used) in &self.written.uses {
            let value = used.owner.operand(used.index);
            let carried = self.plain.block.arg(number + 1);
            if !self.is_instance(value, carried, trips) {
                return failure(
                    used.owner,
                    "uses another value than what the plain loop results in",
                );
            }
        }
        Ok(())
    }

    fn block(&mut self, ops: &[Op<'c>]) -> Result<(), Failure<'c>> {
        ops.iter().try_for_each(|op| self.op(*op))
    }

    fn op(&mut self, op: Op<'c>) -> Result<(), Failure<'c>> {
        if let Some(copied) = self.written.copies.get(&op) {
            return self.copy(op, *copied);
        }
        if op == self.plain.around {
            return self.plain_loop();
        }
        if let Some((kernel, carried)) = &self.written.kernel
            && *kernel == op
        {
            return self.kernel(op, carried);
        }
        if op.is(scf::IF) {
            return self.branch(op);
        }
        if op.is(ub::POISON) || op.is(async_::READY) {
            self.known.insert(op.result(0), Known::Nothing);
            return Ok(());
        }
        if op.is(memref::VIEW) && op.num_operands() == 2 {
            let place = match self.known(op.operand(1)) {
                Known::Slot(slot) if slot.plus == 0 => Some(Place::Slot(slot)),
                known => known
                    .as_number()
                    .and_then(Number::as_constant)
                    .map(Place::Constant),
            };
            let part = place.map_or(Known::Nothing, |place| Known::Part(op.operand(0), place));
            self.known.insert(op.result(0), part);
            return Ok(());
        }
        if op.num_results() == 1 && op.result(0).as_constant_int().is_some() {
            return Ok(());
        }
        let operands: Vec<Known> = op.operands().map(|operand| self.known(operand)).collect();
        let skeleton = self.skeleton();
        match skeleton.compute(op, &operands).filter(|_| op.num_results() == 1) {
            Some(known) => self.known.insert(op.result(0), known),
            None => return failure(op, "is no part of the plain loop"),
        };
        Ok(())
    }

    fn skeleton(&self) -> Skeleton<'a, 'c> {
        Skeleton {
            plain: self.plain,
            facts: self.facts,
        }
    }

    fn known(&self, value: Value<'c>) -> Known<'c> {
        let known = self.known.get(&value).copied();
        known.unwrap_or_else(|| Known::outside(self.plain, value))
    }

    /// What `value` of the plain loop is in iteration `at`.
    fn wanted(&self, value: Value<'c>, at: Affine) -> Known<'c> {
        match self.plain.origin(self.facts, value, at) {
            Origin::Own(value, at) | Origin::Version(value, at) => Known::Instance(value, at),
            Origin::Variable(at) => {
                let variable = self.plain.bounds.variable(at);
                variable.map_or(Known::Nothing, Known::Number)
            }
            Origin::Outside(value) => Known::outside(self.plain, value),
        }
    }

    /// Returns true if `read` is what `value` of the plain loop is in iteration `at`.
    fn is_instance(&self, read: Value<'c>, value: Value<'c>, at: Affine) -> bool {
        if let Some(versions) = self.plain.versions(value)
            && !versions.fits(read.ty())
        {
            return false;
        }
        self.is(self.known(read), value, at)
    }

    fn is(&self, known: Known<'c>, value: Value<'c>, at: Affine) -> bool {
        if let (Some(versions), Known::Part(storage, place)) = (self.plain.versions(value), known) {
            return storage == versions.storage && place.is_version(at, versions.count, versions.stride);
        }
        let bits = bits_of(value.ty()).unwrap_or(64);
        known.is(self.wanted(value, at), bits)
    }

    fn copy(&mut self, copy: Op<'c>, copied: Copied<'c>) -> Result<(), Failure<'c>> {
        let Some(read) = inputs(copied.of, copy) else {
            return failure(copy, "is not what it is in the plain loop");
        };
        match self.plain.statements.get(&copied.of) {
            Some(&(stage, place)) => self.statement(copy, copied.of, &read, (stage, place)),
            None if only_computes(copied.of) => {
                let at = self.iteration(copied);
                let is_right = read
                    .iter()
                    .all(|(value, read)| self.is_instance(*read, *value, at));
                self.define(copied.of, copy, is_right.then_some(at));
                Ok(())
            }
            None => failure(copy, "may have side effects, and has no stage"),
        }
    }

    /// The results of `copy` are those of `of` in iteration `at`, if there is such an iteration.
    fn define(&mut self, of: Op<'c>, copy: Op<'c>, at: Option<Affine>) {
        for (of, copy) in of.results().zip(copy.results()) {
            let known = at.map_or(Known::Nothing, |at| Known::Instance(of, at));
            self.known.insert(copy, known);
        }
    }

    /// Executes `of` for its next iteration.
    fn statement(
        &mut self,
        copy: Op<'c>,
        of: Op<'c>,
        read: &Inputs<'c>,
        (stage, place): (i64, usize),
    ) -> Result<(), Failure<'c>> {
        let at = self.next[&of];
        match self.facts.is_less(at, self.facts.trips()) {
            Some(true) => {}
            // All that the plain loop awaits has been awaited.
            Some(false) if only_awaits(of) => {
                self.define(of, copy, None);
                return Ok(());
            }
            _ => return failure(copy, "is executed more often than in the plain loop"),
        }
        if read
            .iter()
            .any(|(value, read)| !self.is_instance(*read, *value, at))
        {
            return failure(copy, "reads another value than in the plain loop");
        }
        let now = (at.plus(stage), place);
        if let Some(latest) = self.latest
            && !self.is_after(latest, now)
        {
            return failure(copy, "is not executed in the order of the schedule");
        }
        self.latest = Some(now);
        self.next.insert(of, at.plus(1));
        self.define(of, copy, Some(at));
        Ok(())
    }

    /// Returns true if the second round and place are after the first ones.
    fn is_after(&self, (round, place): (Affine, usize), (next, next_place): (Affine, usize)) -> bool {
        self.facts.is_less(round, next) == Some(true) || round == next && place < next_place
    }

    /// The iteration that something is said to be computed for.
    fn iteration(&self, copied: Copied<'c>) -> Affine {
        let round = match copied.round {
            Round::Prologue(number) => Affine::constant(number.into()),
            Round::Kernel => self.round,
            Round::Epilogue(number) => {
                let first = match self.facts.trips {
                    Some(trips) => Affine::constant(trips.max(self.plain.last)),
                    None => self.facts.trips(),
                };
                first.plus(number.into())
            }
        };
        round.plus(-i64::from(copied.lag))
    }

    /// Executes the plain loop itself.
    fn plain_loop(&mut self) -> Result<(), Failure<'c>> {
        let around = self.plain.around;
        if self.latest.is_some() {
            return failure(around, "is executed after a part of it was");
        }
        let trips = self.facts.trips();
        self.next.values_mut().for_each(|next| *next = trips);
        for (number, result) in around.results().enumerate() {
            let known = self.wanted(self.plain.block.arg(number + 1), trips);
            self.known.insert(result, known);
        }
        Ok(())
    }

    fn branch(&mut self, op: Op<'c>) -> Result<(), Failure<'c>> {
        let taken = match self.known(op.operand(0)) {
            Known::Bool(condition) => usize::from(!condition),
            _ => {
                return failure(
                    op,
                    "has a condition that the number of iterations does not decide",
                );
            }
        };
        let Some(block) = op.region(taken).first() else {
            return Ok(());
        };
        let results: Vec<Value> = op.results().collect();
        let yielded = self.body(block)?;
        self.known.extend(results.into_iter().zip(yielded));
        Ok(())
    }

    /// Executes `block`, and returns what its terminator hands on.
    fn body(&mut self, block: Block<'c>) -> Result<Vec<Known<'c>>, Failure<'c>> {
        let mut ops = block.ops();
        let end = ops.pop_if(|op| op.is(scf::YIELD));
        self.block(&ops)?;
        let operands = end.into_iter().flat_map(Op::operands);
        Ok(operands.map(|operand| self.known(operand)).collect())
    }

    /// Executes the kernel: rounds in which all iterations exist, of which one is executed for all, and the others one by one.
    fn kernel(&mut self, kernel: Op<'c>, claims: &[Carried<'c>]) -> Result<(), Failure<'c>> {
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
            Carried::Slot { .. } => known.is(self.claimed(*claim, round), 64),
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

/// Returns true if `op` does nothing but to await tokens.
fn only_awaits(op: Op<'_>) -> bool {
    op.self_and_nested()
        .into_iter()
        .all(|op| op.is(async_::AWAIT) || op.is(scf::IF) || op.is(scf::YIELD) || only_computes(op))
}
