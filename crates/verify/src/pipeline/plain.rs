//! The plain loop, as the check needs it.

use super::number::{Affine, Bounds, Facts, Number};
use super::{Failure, Schedule, Versions};
use async_locations::integers::bits_of;
use async_locations::views::view_source;
use async_mlir::control_flow::constant_trip_count;
use async_mlir::ir::{Block, Definition, Op, Value};
use async_mlir::names::attr;
use rustc_hash::{FxHashMap, FxHashSet};

/// A loop.
pub(super) struct Plain<'c> {
    pub around: Op<'c>,
    pub block: Block<'c>,
    /// What each carried value is next.
    yields: Vec<Value<'c>>,
    /// Carried values that change places for ever, and nothing else: the arguments that each is in turn.
    cycles: FxHashMap<usize, Vec<usize>>,
    /// The stages of operations, and their places in the order of a round.
    pub statements: FxHashMap<Op<'c>, (i64, usize)>,
    pub bounds: Bounds,
    /// The last stage.
    pub last: i64,
    /// How many iterations there are, if that is known.
    pub trips: Option<i64>,
    versions: FxHashMap<Value<'c>, Versions<'c>>,
    /// What is read in the body.
    sources: FxHashMap<Value<'c>, Source>,
}

/// What a value is.
#[derive(Clone, Copy)]
enum Source {
    /// What the loop carries, by its number.
    Carried(usize),
    /// The loop's variable.
    Variable,
    /// A result in the body.
    Result,
    /// One from before the loop, of which each iteration has a version.
    Version,
    /// Another one from before the loop; a constant, perhaps.
    Outside(Option<i64>),
}

/// Where a value of an iteration comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin<'c> {
    /// This one, of the loop's body, in this iteration: a result, or what the loop carries.
    Own(Value<'c>, Affine),
    /// The loop's variable in this iteration.
    Variable(Affine),
    /// A version of this one from before the loop, for this iteration.
    Version(Value<'c>, Affine),
    /// One from before the loop.
    Outside(Value<'c>),
}

impl<'c> Plain<'c> {
    pub fn of(schedule: &Schedule<'c>) -> Result<Self, Failure<'c>> {
        let around = schedule.plain;
        let unreadable = || Failure {
            op: around,
            what: "can't be read".to_owned(),
            first: None,
        };
        let block = around.region(0).first().ok_or_else(unreadable)?;
        let yields: Vec<Value> = block.terminator().ok_or_else(unreadable)?.operands().collect();
        let bits = bits_of(around.operand(0).ty()).ok_or_else(unreadable)?;
        let statements = schedule.statements.iter().enumerate();
        let statements = statements.map(|(place, (op, stage))| (*op, (i64::from(*stage), place)));
        let stages = schedule.statements.iter().map(|(_, stage)| i64::from(*stage));
        let mut plain = Self {
            around,
            block,
            yields,
            cycles: FxHashMap::default(),
            statements: statements.collect(),
            bounds: bounds(around, bits),
            last: stages.max().unwrap_or(0),
            trips: trips(around),
            versions: schedule.versions.clone(),
            sources: FxHashMap::default(),
        };
        plain.cycles = plain.find_cycles();
        let read = around.self_and_nested().into_iter().flat_map(Op::operands);
        let sources = read.map(|value| (value, plain.find_source(value)));
        plain.sources = sources.collect();
        Ok(plain)
    }

    /// How many iterations there are at most.
    pub fn most_trips(&self) -> i64 {
        let is_unsigned = self.around.has_attr(attr::UNSIGNED_CMP);
        self.bounds.most_trips(is_unsigned)
    }

    /// The number of the carried value that is handed on as carried value `number`, if one is.
    fn handed_on(&self, number: usize) -> Option<usize> {
        match self.yields[number].definition() {
            Definition::Argument(block, index) if block == self.block => index.checked_sub(1),
            _ => None,
        }
    }

    fn find_cycles(&self) -> FxHashMap<usize, Vec<usize>> {
        let mut cycles = FxHashMap::default();
        let mut seen = FxHashSet::default();
        for start in 0..self.yields.len() {
            let (mut path, mut next) = (Vec::new(), Some(start));
            while let Some(number) = next.filter(|number| seen.insert(*number)) {
                path.push(number);
                next = self.handed_on(number);
            }
            let Some(begin) = next.and_then(|next| path.iter().position(|number| *number == next)) else {
                continue;
            };
            let cycle = &path[begin..];
            for (i, &number) in cycle.iter().enumerate() {
                let turned = cycle[i..].iter().chain(&cycle[..i]).copied();
                cycles.insert(number, turned.collect());
            }
        }
        cycles
    }

    /// Where `value` comes from in iteration `at`: what the loop carries is followed as far as it goes.
    pub fn origin(&self, facts: Facts, mut value: Value<'c>, mut at: Affine) -> Origin<'c> {
        loop {
            let number = match self.source(value) {
                Source::Carried(number) => number,
                Source::Variable => return Origin::Variable(at),
                Source::Result => return Origin::Own(value, at),
                Source::Version => return Origin::Version(value, at),
                Source::Outside(_) => return Origin::Outside(value),
            };
            if let Some(cycle) = self.cycles.get(&number) {
                return self.in_cycle(cycle, at);
            }
            if at.as_constant() == Some(0) {
                return Origin::Outside(self.around.operand(3 + number));
            }
            if facts.is_negative(at.plus(-1)) != Some(false) {
                return Origin::Own(value, at);
            }
            (value, at) = (self.yields[number], at.plus(-1));
        }
    }

    /// The constant that `value` is, if it is one.
    pub fn constant(&self, value: Value<'c>) -> Option<i64> {
        match self.sources.get(&value) {
            Some(Source::Outside(constant)) => *constant,
            _ => value.as_constant_int(),
        }
    }

    fn source(&self, value: Value<'c>) -> Source {
        let known = self.sources.get(&value).copied();
        known.unwrap_or_else(|| self.find_source(value))
    }

    fn find_source(&self, value: Value<'c>) -> Source {
        match value.definition() {
            Definition::Argument(block, index) if block == self.block => {
                index.checked_sub(1).map_or(Source::Variable, Source::Carried)
            }
            Definition::Result(op, _) if op.block() == Some(self.block) => Source::Result,
            _ if self.is_versioned(value) => Source::Version,
            _ => Source::Outside(value.as_constant_int()),
        }
    }

    /// Those that change places are told apart by where each is in iteration 0, or so many rounds or iterations later.
    fn in_cycle(&self, cycle: &[usize], at: Affine) -> Origin<'c> {
        let turns = i64::try_from(cycle.len()).map_or(0, |len| at.fixed.rem_euclid(len));
        let number = cycle[usize::try_from(turns).unwrap_or(0)];
        if at.as_constant().is_some() {
            return Origin::Outside(self.around.operand(3 + number));
        }
        Origin::Own(self.block.arg(number + 1), Affine { fixed: 0, ..at })
    }

    /// The versions that `value`, from before the loop, is one of.
    pub fn versions(&self, value: Value<'c>) -> Option<&Versions<'c>> {
        self.versions.get(&value)
    }

    /// Returns true if each iteration has a version of its own of `value`, which is from before the loop.
    fn is_versioned(&self, mut value: Value<'c>) -> bool {
        while !self.versions.contains_key(&value) {
            match value.defining_op().and_then(view_source) {
                Some(source) => value = source,
                None => return false,
            }
        }
        true
    }
}

/// The lower bound and the step. If they are one value, that is the step.
fn bounds(around: Op<'_>, bits: u32) -> Bounds {
    let [lower, step] = [0, 2].map(|i| around.operand(i));
    let one = Affine::constant(1);
    let of_step = Number {
        steps: one,
        ..Number::default()
    };
    let of_lower = Number {
        lower: 1,
        ..Number::default()
    };
    let unknown = if lower == step { of_step } else { of_lower };
    Bounds {
        lower: lower.as_constant_int().map_or(unknown, Number::constant),
        step: step.as_constant_int().map_or(of_step, Number::constant),
        bits,
    }
}

/// How many iterations `around` has.
fn trips(around: Op<'_>) -> Option<i64> {
    let constant = constant_trip_count(around);
    constant.map_or_else(
        || never_runs(around).then_some(0),
        |trips| i64::try_from(trips).ok(),
    )
}

/// Returns true if `around`, whose step is not known, has no iterations.
fn never_runs(around: Op<'_>) -> bool {
    let [lower, upper] = [0, 1].map(|i| around.operand(i).as_constant_int());
    let is_signed = !around.has_attr(attr::UNSIGNED_CMP);
    matches!((lower, upper), (Some(lower), Some(upper)) if is_signed && lower >= upper)
}
