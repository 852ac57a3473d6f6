//! Refuses effects on no engine that depend on what engines do: nobody would wait for that.

use crate::engines::Engines;
use crate::engines::access_history::{History, Kind, Past, What};
use crate::engines::effects::effects;
use async_mlir::ir::{Op, Region, Use, Value};
use async_mlir::names::scf;
use async_mlir::pass::PassError;
use rustc_hash::{FxHashMap, FxHashSet};

/// Refuses effects on no engine, inside of operations with regions, that those of engines anywhere in the function conflict with. `ops` are
/// all of the function.
pub(super) fn check_in_regions<'c>(ops: &[Op<'c>], engines: &mut Engines<'c>) -> Result<(), PassError<'c>> {
    // What runs on an engine runs there with all that is inside.
    let mut on_engines: FxHashSet<Op> = FxHashSet::default();
    let mut with_effects = Vec::new();
    for &op in ops {
        let is_inside = op.parent().is_some_and(|around| on_engines.contains(&around));
        let engine = engines.of(op);
        if is_inside || engine.is_some() {
            on_engines.insert(op);
        }
        let is_in_region = op.parent().is_some_and(|around| !around.is_function());
        let is_leaf = op.num_regions() == 0 && !op.is_terminator();
        if engine.is_some() || !is_inside && is_in_region && is_leaf {
            with_effects.push((op, engine, effects(op)));
        }
    }
    let accesses = with_effects.iter().flat_map(|(_, _, effects)| &effects.accesses);
    let mut history = History::new(accesses);
    let on_engines = with_effects.iter().filter(|(_, engine, _)| engine.is_some());
    for (position, (op, engine, effects)) in on_engines.enumerate() {
        let fence = effects.is_fence.then_some(What::Event(Kind::Fence));
        let is_ordered = effects.is_fence || effects.stays;
        let ordered = is_ordered.then_some(What::Event(Kind::Ordered));
        let accesses = effects.accesses.iter();
        let accesses =
            accesses.flat_map(|access| [What::Event(Kind::Ordered), What::Access(access.to_all())]);
        for what in fence.into_iter().chain(ordered).chain(accesses) {
            let past = Past {
                at: (position, *op),
                is_certain: true,
                what,
            };
            history.add(*engine, past);
        }
    }
    for (op, _, effects) in with_effects.iter().filter(|(_, engine, _)| engine.is_none()) {
        let conflicting = effects
            .accesses
            .iter()
            .flat_map(|own| history.before(own, |_, other| own.conflicts(other, false)));
        let ordered = if effects.is_fence {
            history.all(Kind::Ordered)
        } else {
            Vec::new()
        };
        // What has no effects, fences don't order.
        if let Some(((_, other), _)) = conflicting.chain(ordered).chain(history.all(Kind::Fence)).next() {
            check_without_engine(*op, other, false)?;
        }
    }
    Ok(())
}

/// Refuses effects that engines would have to wait for, or for which they would have to be waited for, on no engine.
pub(super) fn check_without_engine<'c>(
    from: Op<'c>,
    to: Op<'c>,
    is_from_on_engine: bool,
) -> Result<(), PassError<'c>> {
    let (without, other) = if is_from_on_engine { (to, from) } else { (from, to) };
    let effects = effects(without);
    if !effects.is_fence && effects.accesses.is_empty() {
        return Ok(());
    }
    let message = "runs on no engine, but has effects that depend on those of an engine";
    Err(PassError::new(without, message)
        .note(other.location(), "it may not pass this")
        .note(
            without.location(),
            "say where it runs by 'async.engine', and what it accesses by 'async.reads' and 'async.writes'",
        ))
}

/// Refuses effects on no engine that use what an engine has computed, or that are executed if that says so, through whatever runs on none.
/// `ops` are all of the function, outer ones first.
pub(super) fn check_values<'c>(ops: &[Op<'c>], engines: &mut Engines<'c>) -> Result<(), PassError<'c>> {
    let mut from = FromEngines::default();
    let mut has_engines: FxHashSet<Op> = FxHashSet::default();
    for &op in ops {
        let is_inside = op
            .parent()
            .is_some_and(|around| from.on_engines.contains(&around));
        if is_inside || engines.of(op).is_some() {
            from.on_engines.insert(op);
            let mut outer = op.ancestors();
            while outer.next().is_some_and(|around| has_engines.insert(around)) {}
            op.results().for_each(|result| from.add(result, op));
        }
    }
    from.hand_on();
    // What is executed only if an engine says so.
    let mut inside: FxHashMap<Op, Op> = FxHashMap::default();
    let mut dependent = Vec::new();
    for &op in ops {
        let way = op.parent().and_then(|around| {
            let own = from.ways.get(&around);
            own.or_else(|| inside.get(&around)).copied()
        });
        if let Some(source) = way {
            inside.insert(op, source);
        }
        let used = op.operands().find_map(|value| from.values.get(&value).copied());
        let runs_elsewhere = has_engines.contains(&op) || from.on_engines.contains(&op);
        if let Some(source) = way.or(used).filter(|_| !runs_elsewhere && !op.is_terminator()) {
            dependent.push((op, source));
        }
    }
    // Those inside of others first.
    dependent.sort_by_key(|(op, _)| op.num_regions() > 0);
    for (op, source) in dependent {
        check_without_engine(op, source, false)?;
    }
    Ok(())
}

/// Values that are made of what engines have computed, each with an operation that has.
#[derive(Default)]
struct FromEngines<'c> {
    /// Operations of engines, with all that is inside.
    on_engines: FxHashSet<Op<'c>>,
    values: FxHashMap<Value<'c>, Op<'c>>,
    /// Operations that take their way through regions accordingly.
    ways: FxHashMap<Op<'c>, Op<'c>>,
    work: Vec<Value<'c>>,
}

impl<'c> FromEngines<'c> {
    fn add(&mut self, value: Value<'c>, source: Op<'c>) {
        if self.values.insert(value, source).is_none() {
            self.work.push(value);
        }
    }

    /// Follows values to where they are used.
    fn hand_on(&mut self) {
        while let Some(value) = self.work.pop() {
            let source = self.values[&value];
            for used in value.uses() {
                if !self.on_engines.contains(&used.owner) {
                    self.hand_to(used, source);
                }
            }
        }
    }

    /// Adds what is made of an operand, which `source` has computed.
    fn hand_to(&mut self, Use { owner, index }: Use<'c>, source: Op<'c>) {
        let around = owner.parent().filter(|_| owner.is_terminator());
        let op = around.unwrap_or(owner);
        if op.is_function() {
            return;
        }
        // What a loop is handed, and hands on, is an argument of a region, and perhaps a result.
        let argument = match around {
            None if op.is(scf::FOR) => index.checked_sub(2).filter(|argument| *argument > 0),
            Some(_) if op.is(scf::FOR) => Some(index + 1),
            Some(_) if owner.is(scf::CONDITION) => index.checked_sub(1),
            _ if op.is(scf::WHILE) => Some(index),
            Some(_) if owner.num_operands() == op.num_results() => {
                return self.add(op.result(index), source);
            }
            _ => None,
        };
        let Some(argument) = argument else {
            return self.decide(op, source);
        };
        let (region, result) = match () {
            () if op.is(scf::FOR) => (0, Some(argument - 1)),
            () if owner.is(scf::CONDITION) => (1, Some(argument)),
            () => (0, None),
        };
        if let Some(block) = op.regions().nth(region).and_then(Region::first) {
            self.add(block.arg(argument), source);
        }
        if let Some(result) = result {
            self.add(op.result(result), source);
        }
    }

    /// `op` takes its way, and makes all that it makes, by what `source` has computed.
    fn decide(&mut self, op: Op<'c>, source: Op<'c>) {
        self.ways.insert(op, source);
        op.results().for_each(|result| self.add(result, source));
        for block in op.regions().flat_map(Region::blocks) {
            block.args().for_each(|argument| self.add(argument, source));
        }
    }
}
