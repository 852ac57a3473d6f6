//! The part of a function that has to do with one ring of mbarriers: what uses them, what their slots and parities are computed from,
//! where the tokens of their loads go, and the control flow around all that.

use super::flow::{Bounds, Limit, loop_of, without_casts};
use super::index::Index;
use super::{Meaning, Unreadable, mbarrier};
use crate::mbarriers::code::{Gathering, Operand, Token, Var};
use async_dialects::types::is_token;
use async_mlir::ir::{Block, Definition, Op, Region, Value};
use async_mlir::names::{arith, scf};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

/// What an operation of a [`Slice`] is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Item<'c> {
    /// It uses an mbarrier of the ring.
    Mbarrier(mbarrier::Use<'c>),
    /// It has regions.
    Region,
    /// It awaits tokens.
    Await,
    /// It makes a token of others.
    Join,
    /// It chooses between tokens.
    Choose,
    /// It computes a variable.
    Compute,
    /// It computes how far the induction variable of a loop is from its lower bound.
    Distance(Op<'c>),
    /// It computes how often a loop runs.
    Trips(Var),
    /// It gives a variable a value of which nothing is known.
    Forget(Var),
    /// Threads arrive at mbarriers of another ring.
    Gather(Gathering),
    /// The thread that issues waits for them.
    Gathered(Gathering),
    /// Threads wait for a load of another ring.
    Learn(u8),
}

/// What is told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Iterations {
    /// Those that can be seen to matter.
    Some,
    /// The same, and conditions around waits of other rings, which may be for tokens that are complete.
    #[serde(rename = "guards")]
    SomeAndGuards,
    /// All of loops of constant trip count, and conditions.
    All,
}

impl Iterations {
    /// All, from what tells least apart to what tells most.
    pub const ALL: [Self; 3] = [Self::Some, Self::SomeAndGuards, Self::All];
}

/// The most iterations that are told apart. No phase has more loads: each has at least 16 of less than 2^20 bytes.
const MOST_ITERATIONS: u64 = 1 << 16;

/// The part of a function that has to do with a ring.
pub(super) struct Slice<'a, 'c> {
    pub index: &'a Index<'c>,
    /// What is to be read in each block.
    pub items: FxHashMap<Block<'c>, Vec<(u32, Op<'c>, Item<'c>)>>,
    pub vars: FxHashMap<Value<'c>, Var>,
    pub tokens: FxHashMap<Value<'c>, Token>,
    /// The iterations of loops.
    pub counters: FxHashMap<Op<'c>, Var>,
    /// Trip counts.
    pub trips: FxHashMap<Bounds<'c>, Var>,
    /// Variables of which nothing is known where they are defined.
    pub unknown: FxHashSet<Value<'c>>,
    /// Trip counts that are others where an argument of a block is another value.
    pub trips_by: FxHashMap<Value<'c>, Vec<Var>>,
    pub num_vars: u32,
    /// The arguments of blocks and the results of operations that have to do with the ring, by number, in order.
    pub args: FxHashMap<Block<'c>, Vec<usize>>,
    pub results: FxHashMap<Op<'c>, Vec<usize>>,
    /// True if threads gather at the ring.
    pub is_gathering: bool,
    /// Loops of constant trip count of which all iterations are told apart.
    pub exact: FxHashSet<Op<'c>>,
    known: FxHashSet<(Op<'c>, Item<'c>)>,
    regions: Vec<Op<'c>>,
    pub(super) work: Vec<Value<'c>>,
}

impl<'a, 'c> Slice<'a, 'c> {
    /// The part that has to do with the ring that `create` makes. `ages` says what is known of waits of other rings, if threads gather at
    /// this one.
    pub fn new(
        index: &'a Index<'c>,
        create: Op<'c>,
        ages: &[(Op<'c>, u8)],
        iterations: Iterations,
    ) -> Result<Self, Unreadable<'c>> {
        let mut slice = Self {
            index,
            items: FxHashMap::default(),
            vars: FxHashMap::default(),
            tokens: FxHashMap::default(),
            counters: FxHashMap::default(),
            trips: FxHashMap::default(),
            unknown: FxHashSet::default(),
            trips_by: FxHashMap::default(),
            num_vars: 0,
            args: FxHashMap::default(),
            results: FxHashMap::default(),
            is_gathering: index.gatherings.iter().any(|ring| ring.create == create),
            exact: FxHashSet::default(),
            known: FxHashSet::default(),
            regions: Vec::new(),
            work: Vec::new(),
        };
        let uses = mbarrier::uses(index, create)?;
        for (op, used) in uses {
            slice.add(op, Item::Mbarrier(used))?;
            used.operands().for_each(|value| slice.need(value));
            if let mbarrier::Use::Load { .. } = used {
                let load = index.token_forms.get(&op).ok_or(Unreadable {
                    op,
                    what: "is issued without a token",
                })?;
                slice.follow(load.result(0));
            }
        }
        if slice.is_gathering {
            for &(op, age) in ages {
                slice.add(op, Item::Learn(age))?;
                if iterations != Iterations::Some {
                    slice.need_guard(op);
                }
            }
        } else {
            for (number, ring) in (0..).map(Gathering).zip(&index.gatherings) {
                for &op in &ring.arrivals {
                    slice.add(op, Item::Gather(number))?;
                }
                for &op in &ring.waits {
                    slice.add(op, Item::Gathered(number))?;
                }
            }
        }
        slice.close()?;
        slice.tell_iterations_apart(iterations);
        slice.number_values();
        for items in slice.items.values_mut() {
            // What is said of results comes after what is in the regions.
            items.sort_by_key(|(place, _, item)| (*place, matches!(item, Item::Forget(_))));
        }
        Ok(slice)
    }

    /// Notes where the values that have to do with the ring are defined.
    fn number_values(&mut self) {
        let numbers = self.vars.keys().chain(self.trips_by.keys());
        for value in self.tokens.keys().chain(numbers) {
            let (numbers, number) = match value.definition() {
                Definition::Argument(block, number) => (self.args.entry(block).or_default(), number),
                Definition::Result(op, number) => (self.results.entry(op).or_default(), number),
            };
            numbers.push(number);
        }
        for numbers in self.args.values_mut().chain(self.results.values_mut()) {
            numbers.sort_unstable();
            numbers.dedup();
        }
    }

    /// Adds `op`, and the control flow around it.
    pub(super) fn add(&mut self, op: Op<'c>, item: Item<'c>) -> Result<(), Unreadable<'c>> {
        let mut next = Some((op, item));
        while let Some((op, item)) = next.take() {
            if !self.known.insert((op, item)) {
                break;
            }
            let (Some(block), Some(parent)) = (op.block(), op.parent()) else {
                break;
            };
            let place = self.index.place(op);
            self.items.entry(block).or_default().push((place, op, item));
            if item == Item::Region {
                self.regions.push(op);
            }
            if parent == self.index.function {
                break;
            }
            if self.index.flow(parent).is_none() {
                let what = "has control flow that is not known around mbarriers";
                return Err(Unreadable { op: parent, what });
            }
            next = Some((parent, Item::Region));
        }
        Ok(())
    }

    /// The meanings of variables, in order.
    pub fn meanings(&self) -> Vec<(Var, Meaning<'c>)> {
        let values = self
            .vars
            .iter()
            .map(|(value, var)| (*var, Meaning::Value(*value)));
        let counters = self.counters.iter().map(|(of, var)| {
            let body = of.regions().next().and_then(Region::first);
            let variable = body.and_then(|body| body.args().next());
            (*var, Meaning::Iterations(variable))
        });
        let trips = self.trips.iter();
        let trips = trips.map(|(bounds, var)| (*var, Meaning::Trips(bounds.limits())));
        let mut all: Vec<(Var, Meaning)> = values.chain(counters).chain(trips).collect();
        all.sort_unstable_by_key(|(var, _)| *var);
        all
    }

    fn new_var(&mut self) -> Var {
        self.num_vars += 1;
        Var(self.num_vars - 1)
    }

    /// The number that `value` holds; `None` if it is not one that has to do with the ring.
    pub fn operand(&self, value: Value<'c>) -> Option<Operand> {
        match value.as_constant_int() {
            Some(constant) => Some(Operand::Const(constant)),
            None => self.vars.get(&value).copied().map(Operand::Var),
        }
    }

    /// Needs a condition: one that compares variables, or one of which nothing is known.
    pub(super) fn need_condition(&mut self, condition: Value<'c>) -> Result<(), Unreadable<'c>> {
        if self.vars.contains_key(&condition) || self.compares_variables(condition) {
            self.need(condition);
            return Ok(());
        }
        if condition.as_constant_int().is_none() {
            let var = self.new_var();
            self.vars.insert(condition, var);
            self.forget(condition)?;
        }
        Ok(())
    }

    /// Needs the condition of the branch that `wait` is in, if that compares something with a constant: a token may be complete.
    fn need_guard(&mut self, wait: Op<'c>) {
        let branch = wait.parent().filter(|parent| parent.is(scf::IF));
        let condition = branch.map(|branch| branch.operand(0));
        let compare = condition.and_then(Value::defining_op).filter(|op| {
            let has_constant = op.operands().any(|operand| operand.as_constant_int().is_some());
            op.is(arith::CMPI) && has_constant && self.index.roles.divides_by(op.result(0)).is_none()
        });
        if let Some(compare) = compare {
            self.need(compare.result(0));
        }
    }

    fn compares_variables(&self, condition: Value<'c>) -> bool {
        let is_var = |value: Value<'c>| self.vars.contains_key(&value);
        let is_constant = |value: Value<'c>| value.as_constant_int().is_some();
        let compare = condition.defining_op().filter(|op| op.is(arith::CMPI));
        compare.is_some_and(|op| op.operands().any(is_var) || op.operands().all(is_constant))
    }

    fn need(&mut self, value: Value<'c>) {
        if value.as_constant_int().is_none() && !self.vars.contains_key(&value) {
            let var = self.new_var();
            self.vars.insert(value, var);
            self.work.push(value);
        }
    }

    /// Finds all that variables are computed from, and conditions that depend on them.
    fn close(&mut self) -> Result<(), Unreadable<'c>> {
        loop {
            while let Some(value) = self.work.pop() {
                if is_token(value.ty()) {
                    self.follow_uses(value)?;
                } else {
                    self.define(value)?;
                }
            }
            let conditions: Vec<Value> = self.conditions().collect();
            if conditions.is_empty() {
                return Ok(());
            }
            for condition in conditions {
                self.need(condition);
            }
        }
    }

    /// Conditions that compare variables, and are not variables themselves.
    fn conditions(&self) -> impl Iterator<Item = Value<'c>> {
        let branches = self.regions.iter().filter(|op| op.is(scf::IF));
        let conditions = branches.map(|op| op.operand(0));
        conditions
            .filter(|condition| !self.vars.contains_key(condition) && self.compares_variables(*condition))
    }

    // Variables.

    /// Adds what defines a variable.
    fn define(&mut self, value: Value<'c>) -> Result<(), Unreadable<'c>> {
        match value.definition() {
            Definition::Result(op, _) => self.define_by(op, value),
            Definition::Argument(block, _) => match block.parent_op() {
                Some(parent) if parent != self.index.function => self.define_inside(parent, value),
                _ => Ok(()),
            },
        }
    }

    fn define_by(&mut self, op: Op<'c>, value: Value<'c>) -> Result<(), Unreadable<'c>> {
        let mut bounds = Bounds::whose_trips_are(value).into_iter();
        if let Some(bounds) = bounds.find(|bounds| self.index.bounds.contains(bounds)) {
            let trips = self.trips_of(bounds)?;
            return self.add(op, Item::Trips(trips));
        }
        if let Some(of) = distance(op) {
            self.counter(of);
            return self.add(op, Item::Distance(of));
        }
        if op.is(arith::SELECT) {
            for i in [1, 2] {
                self.need(op.operand(i));
            }
            self.need_condition(op.operand(0))?;
            return self.add(op, Item::Compute);
        }
        if super::arithmetic::operation(op).is_some() {
            op.operands().for_each(|operand| self.need(operand));
            return self.add(op, Item::Compute);
        }
        if let Some(flow) = self
            .index
            .flow(op)
            .filter(|_| op.num_regions() > 0 && self.index.roles.divides(op).is_none())
        {
            flow.bound_to(value).for_each(|from| self.need(from));
            return self.add(op, Item::Region);
        }
        self.forget(value)
    }

    /// Makes nothing be known of a variable where it is defined.
    fn forget(&mut self, value: Value<'c>) -> Result<(), Unreadable<'c>> {
        self.unknown.insert(value);
        let var = self.vars[&value];
        match value.definition() {
            Definition::Result(op, _) => self.add(op, Item::Forget(var)),
            Definition::Argument(..) => Ok(()),
        }
    }

    fn define_inside(&mut self, parent: Op<'c>, value: Value<'c>) -> Result<(), Unreadable<'c>> {
        self.add(parent, Item::Region)?;
        let Some(flow) = self.index.flow(parent) else {
            self.unknown.insert(value);
            return Ok(());
        };
        if loop_of(value).is_some() {
            let [lower, _, step] = [0, 1, 2].map(|i| parent.operand(i).as_constant_int());
            if lower.is_some() && step.is_some() {
                self.counter(parent);
            }
            return Ok(());
        }
        flow.bound_to(value).for_each(|from| self.need(from));
        Ok(())
    }

    /// The variable that counts the iterations of a loop.
    fn counter(&mut self, of: Op<'c>) {
        if !self.counters.contains_key(&of) {
            let var = self.new_var();
            self.counters.insert(of, var);
        }
    }

    /// The variable that says how often loops of these bounds run.
    fn trips_of(&mut self, bounds: Bounds<'c>) -> Result<Var, Unreadable<'c>> {
        if let Some(known) = self.trips.get(&bounds) {
            return Ok(*known);
        }
        let var = self.new_var();
        self.trips.insert(bounds, var);
        // With other bounds, it is another number.
        for limit in bounds.limits() {
            let Limit::Value(value) = limit else { continue };
            match value.definition() {
                Definition::Result(op, _) if op.parent() != Some(self.index.function) => {
                    self.add(op, Item::Forget(var))?;
                }
                Definition::Result(..) => {}
                Definition::Argument(..) => self.trips_by.entry(value).or_default().push(var),
            }
        }
        Ok(var)
    }

    /// Counts the iterations of loops whose trip count is needed, and of loops of constant trip count: of those that have loads of a phase that
    /// is armed before or after them, since it expects the bytes of them all.
    fn tell_iterations_apart(&mut self, iterations: Iterations) {
        let mut with_loads = FxHashSet::default();
        let mut with_arrivals = FxHashSet::default();
        for (op, item) in &self.known {
            let Item::Mbarrier(used) = item else { continue };
            match used {
                mbarrier::Use::Load { .. } => with_loads.extend(op.ancestors()),
                mbarrier::Use::ArriveExpect { .. } => with_arrivals.extend(op.ancestors()),
                _ => {}
            }
        }
        for op in self.regions.clone() {
            if Bounds::of(op).is_some_and(|bounds| self.trips.contains_key(&bounds)) {
                self.counter(op);
            }
            let trip = self.index.flow(op).and_then(|flow| flow.trip);
            let is_open = with_loads.contains(&op) && !with_arrivals.contains(&op);
            let is_counted = is_open || iterations == Iterations::All;
            if trip.is_some_and(|trip| trip > 1 && trip <= MOST_ITERATIONS) && is_counted {
                self.counter(op);
                self.exact.insert(op);
            }
        }
    }
}

/// The loop of which `op` computes how far its induction variable is from its lower bound, which is not a constant.
fn distance(op: Op<'_>) -> Option<Op<'_>> {
    if !op.is(arith::SUBI) {
        return None;
    }
    let [variable, lower] = [0, 1].map(|i| without_casts(op.operand(i)));
    let of = loop_of(variable)?;
    let is_lower = without_casts(of.operand(0)) == lower && lower.as_constant_int().is_none();
    let has_step = of.operand(2).as_constant_int().is_some();
    (is_lower && has_step).then_some(of)
}
