//! Executes what was written on symbols.

use super::copies::{Inputs, inputs};
use super::number::{Affine, Facts, Number};
use super::plain::{Origin, Plain};
use super::skeleton::{Known, Place, Skeleton};
use super::{Copied, Failure, Round, Written};
use async_dialects::names::async_;
use async_locations::integers::bits_of;
use async_locations::memory::only_computes;
use async_mlir::ir::{Block, Op, Value};
use async_mlir::names::{memref, scf, ub};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// An execution, of a number of iterations or of all that are large enough.
pub(super) struct Run<'a, 'c> {
    written: &'a Written<'c>,
    pub plain: &'a Plain<'c>,
    pub facts: Facts,
    pub known: FxHashMap<Value<'c>, Known<'c>>,
    /// How often each operation with a stage was executed: the iteration that it is executed for next.
    pub next: FxHashMap<Op<'c>, Affine>,
    /// The round and the place of what was executed last.
    pub latest: Option<(Affine, usize)>,
    /// The round of the kernel that is being executed.
    pub round: Affine,
    compared: &'a mut Compared<'c>,
}

/// What each copy reads, if it is one: the same in every execution.
pub(super) type Compared<'c> = FxHashMap<Op<'c>, Option<Rc<Inputs<'c>>>>;

pub(super) fn failure<'c, T>(op: Op<'c>, what: &str) -> Result<T, Failure<'c>> {
    let what = what.to_owned();
    let first = None;
    Err(Failure { op, what, first })
}

impl<'a, 'c> Run<'a, 'c> {
    pub fn new(
        written: &'a Written<'c>,
        plain: &'a Plain<'c>,
        facts: Facts,
        compared: &'a mut Compared<'c>,
    ) -> Self {
        let ops = written.schedule.statements.iter().map(|(op, _)| *op);
        Self {
            written,
            plain,
            facts,
            known: FxHashMap::default(),
            next: ops.map(|op| (op, Affine::default())).collect(),
            latest: None,
            round: Affine::round(),
            compared,
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

    pub fn skeleton(&self) -> Skeleton<'a, 'c> {
        Skeleton {
            plain: self.plain,
            facts: self.facts,
        }
    }

    pub fn known(&self, value: Value<'c>) -> Known<'c> {
        let known = self.known.get(&value).copied();
        known.unwrap_or_else(|| Known::outside(self.plain, value))
    }

    /// What `value` of the plain loop is in iteration `at`.
    pub fn wanted(&self, value: Value<'c>, at: Affine) -> Known<'c> {
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
        let is_right_type = match self.plain.versions(value) {
            Some(versions) => versions.fits(read.ty(), value.ty()),
            None => read.ty() == value.ty(),
        };
        is_right_type && self.is(self.known(read), value, at)
    }

    pub fn is(&self, known: Known<'c>, value: Value<'c>, at: Affine) -> bool {
        if let (Some(versions), Known::Part(storage, place)) = (self.plain.versions(value), known) {
            return storage == versions.storage && place.is_version(at, versions.count, versions.stride);
        }
        match (known, self.wanted(value, at)) {
            (Known::Number(a), Known::Number(b)) => a.equals(b, bits_of(value.ty()).unwrap_or(64)),
            (known, wanted) => known.is(wanted),
        }
    }

    fn copy(&mut self, copy: Op<'c>, copied: Copied<'c>) -> Result<(), Failure<'c>> {
        let compare = || inputs(copied.of, copy).map(Rc::new);
        let Some(read) = self.compared.entry(copy).or_insert_with(compare).clone() else {
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
    pub fn body(&mut self, block: Block<'c>) -> Result<Vec<Known<'c>>, Failure<'c>> {
        let mut ops = block.ops();
        let end = ops.pop_if(|op| op.is(scf::YIELD));
        self.block(&ops)?;
        let operands = end.into_iter().flat_map(Op::operands);
        Ok(operands.map(|operand| self.known(operand)).collect())
    }
}

/// Returns true if `op` awaits tokens, and does nothing else.
fn only_awaits(op: Op<'_>) -> bool {
    let ops = op.self_and_nested();
    let is_allowed =
        |op: &Op| op.is(async_::AWAIT) || op.is(scf::IF) || op.is(scf::YIELD) || only_computes(*op);
    ops.iter().any(|op| op.is(async_::AWAIT)) && ops.iter().all(is_allowed)
}
