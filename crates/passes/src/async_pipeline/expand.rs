//! Expands a planned loop into its prologue, kernel and epilogue.

use super::body::{Body, Work};
use super::bounds::Bounds;
use super::folding::{Constants, FoldedBool, FoldedInt, InsertionPoint};
use super::multi_buffering::Slots;
use super::role_branches::awaited;
use super::rounds::{Emitter, Registers, Round, nothing};
use async_mlir::ir::{Block, Op, OpBuilder, Value};
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::{attr, scf};
use async_mlir::pass::PassError;
use async_mlir::types::{bit_width, known_attribute};
use async_verify::pipeline::{Carried, Copied, Round as WhichRound};
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::pipeline::values::{Definition, Source, ValueId, Values};

/// How a loop ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Epilogue {
    /// The last rounds come after the kernel.
    Peel,
    /// The kernel has the last rounds, too: statements that have no iteration left are skipped.
    Predicate,
}

/// What a loop does that may have fewer iterations than its pipeline has rounds before the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ShortTrips {
    /// Statements of the prologue and the epilogue are executed where their iteration exists.
    Guard,
    /// The loop is there twice, and executed as it was if it has so few. The pipeline needs no guards then, whose branches would
    /// keep what statements overwrite in registers for the case that they are not executed.
    Branch,
}

/// What a loop is to become.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub epilogue: Epilogue,
    pub short: ShortTrips,
    /// Slots are worked out from the variable of the kernel where that takes no division, instead of being carried.
    pub computed_slots: bool,
}

/// What was made of a loop.
pub(super) struct Expanded<'a, 'c> {
    pub slots: Slots<'a, 'c>,
    pub prologue: Vec<Op<'c>>,
    pub kernel: Option<Op<'c>>,
    pub epilogue: Vec<Op<'c>>,
    /// What the kernel carries, and what operations are copies of.
    pub carried: Vec<Carried<'c>>,
    pub copies: FxHashMap<Op<'c>, Copied<'c>>,
}

/// Which values go from round to round.
pub(super) struct RotatingValues {
    /// What the kernel carries.
    pairs: Vec<(ValueId, u32)>,
    /// What other statements read, now or later.
    exported: FxHashSet<ValueId>,
}

impl RotatingValues {
    /// Checks that values are defined before they are read, and finds out how long each is needed.
    pub fn of<'c>(body: &Body<'c>, epilogue: Epilogue) -> Result<Self, PassError<'c>> {
        let values = Values::new(&body.problem, body.definitions.clone());
        let reads = body.reads(&values)?;
        let last = body.problem.last_stage();
        let results = body.around.results().zip(&body.carried);
        let results = results.filter(|(result, _)| result.has_uses());
        // The rounds of an epilogue make of what is there after the kernel what is there in the end.
        let lag_after_kernel = |carried| match epilogue {
            Epilogue::Peel => values.available(carried),
            Epilogue::Predicate => last,
        };
        let results = results.map(|(_, (carried, _))| Source::Start(*carried, lag_after_kernel(*carried)));
        let sources: Vec<Source> = reads.into_iter().chain(results).collect();
        let exported = sources.iter().map(|source| match *source {
            Source::Defined(id) => id,
            Source::Start(id, _) => match body.definitions[id] {
                Definition::Statement(_) => id,
                Definition::Carried(from) => from,
            },
        });
        // Awaits are executed where the rest of their statement is not.
        let tokens = body.steps.iter().filter_map(|step| match step.work {
            Work::Op(op) => awaited(op),
            Work::Yield(..) => None,
        });
        let tokens = tokens.flatten().flat_map(|token| body.sources(token));
        let tokens = tokens.filter_map(|token| body.ids.get(&token).copied());
        let exported = exported.chain(tokens).chain(body.read_after_awaits());
        let pairs = sources.iter().filter_map(|source| match *source {
            Source::Start(id, lag) => Some((id, lag)),
            Source::Defined(_) => None,
        });
        Ok(Self {
            exported: exported.collect(),
            pairs: values.rotation(pairs),
        })
    }
}

/// Makes the pipelined loop before the original one, and detaches that unless it is needed for few iterations.
pub(super) fn expand<'a, 'c>(
    body: &'a Body<'c>,
    rotating_values: &'a RotatingValues,
    slots: Slots<'a, 'c>,
    constants: &'a Constants<'c>,
    shape: Shape,
) -> Expanded<'a, 'c> {
    let around = body.around;
    let mut bounds = Bounds::new(around, constants);
    let last = body.problem.last_stage();
    let mut at = InsertionPoint::Before(around);
    let branch = match shape.short {
        ShortTrips::Branch if last > 0 => branch(around, bounds.has_more_than(at, last - 1)),
        _ => None,
    };
    if let Some(branch) = branch {
        bounds.at_least = last;
        at = InsertionPoint::AtEnd(branch.long);
    }
    let mut pipeline = Pipeline {
        at,
        shape,
        last,
        end: bounds.lower,
        enough: (0..last).map(|number| bounds.has_more_than(at, number)).collect(),
        rotating_values,
        carried: Vec::new(),
        emitter: Emitter {
            body,
            bounds,
            exported: &rotating_values.exported,
            slots,
            registers: Registers::default(),
            made: Vec::new(),
            copies: FxHashMap::default(),
        },
    };
    pipeline.prologue();
    let prologue = std::mem::take(&mut pipeline.emitter.made);
    let kernel = pipeline.kernel(shape.epilogue);
    pipeline.emitter.made.clear();
    if shape.epilogue == Epilogue::Peel {
        pipeline.epilogue();
    }
    pipeline.finish(branch);
    let epilogue = pipeline.emitter.made;
    let mut slots = pipeline.emitter.slots;
    let mut copies = pipeline.emitter.copies;
    copies.extend(slots.copies.drain(..));
    Expanded {
        carried: pipeline.carried,
        copies,
        slots,
        prologue,
        kernel,
        epilogue,
    }
}

/// The two forms of a loop.
#[derive(Clone, Copy)]
struct Branch<'c> {
    /// Where the pipelined one is.
    long: Block<'c>,
    /// Where the original one is.
    short: Block<'c>,
}

/// Moves `around` to where `is_long` is not true; `None` if that is known.
fn branch<'c>(around: Op<'c>, is_long: FoldedBool<'c>) -> Option<Branch<'c>> {
    let FoldedBool::If(condition) = is_long else {
        return None;
    };
    let types: Vec<_> = around.results().map(Value::ty).collect();
    let branch = OpBuilder::new(scf::IF, around.location())
        .operands(&[condition])
        .results(&types)
        .regions(2)
        .before(around);
    let [long, short] = [0, 1].map(|i| {
        let block = Block::new(&[]);
        branch.region(i).append(block);
        block
    });
    for (old, new) in around.results().zip(branch.results()) {
        old.replace_all_uses_with(new);
    }
    around.detach();
    short.append(around);
    Some(Branch { long, short })
}

struct Pipeline<'a, 'c> {
    at: InsertionPoint<'c>,
    shape: Shape,
    last: u32,
    /// The loop's variable in the first round after the kernel, with the lag of the last stage.
    end: FoldedInt<'c>,
    /// Whether there are more iterations than the number.
    enough: Vec<FoldedBool<'c>>,
    rotating_values: &'a RotatingValues,
    /// What the kernel carries.
    carried: Vec<Carried<'c>>,
    emitter: Emitter<'a, 'c>,
}

impl<'c> Pipeline<'_, 'c> {
    /// Rounds in which the last stage has nothing to do yet.
    fn prologue(&mut self) {
        let at = self.at;
        let lower = self.emitter.bounds.lower;
        for number in 0..self.last {
            let runs = (0..=self.last).map(|stage| match number.checked_sub(stage) {
                Some(iteration) => self.enough[iteration as usize],
                None => FoldedBool::Known(false),
            });
            self.emitter.round(&Round {
                at,
                variable: lower,
                ahead: number.into(),
                runs: runs.collect(),
                number: Some(number),
                which: WhichRound::Prologue(number),
            });
        }
        // What the loop carries into the last stage of iteration 0.
        let initial: Vec<Value> = self.emitter.body.around.operands().skip(3).collect();
        for (&(carried, _), initial) in self.emitter.body.carried.iter().zip(initial) {
            self.emitter.registers.insert((carried, self.last), initial);
        }
    }

    /// The rounds in which all stages have something to do, as a loop; `None` if there are none.
    fn kernel(&mut self, epilogue: Epilogue) -> Option<Op<'c>> {
        let at = self.at;
        let bounds = self.emitter.bounds;
        let fewer = match epilogue {
            Epilogue::Peel => self.last,
            Epilogue::Predicate => 0,
        };
        if bounds
            .trips
            .as_constant()
            .is_some_and(|trips| trips <= fewer.into())
        {
            return None;
        }
        let arithmetic = bounds.arithmetic;
        let upper = bounds.end(at, fewer);
        self.end = upper;
        // The value of the variable from which on each stage has no iteration left.
        let ends: Vec<FoldedInt> = match epilogue {
            Epilogue::Peel => Vec::new(),
            Epilogue::Predicate => (0..self.last)
                .map(|stage| bounds.end(at, self.last - stage))
                .collect(),
        };
        let operands = [bounds.lower, upper, bounds.step].map(|int| arithmetic.value(int));
        let computes = self.computes_slots();
        if computes {
            self.emitter.slots.compute();
        }
        let carried = self.carried_values(at);
        self.carried = self.carried();
        let around = self.emitter.body.around;
        let types: Vec<_> = carried.iter().map(|value| value.ty()).collect();
        let kernel = OpBuilder::new(scf::FOR, around.location())
            .operands(&operands)
            .operands(&carried)
            .results(&types)
            .regions(1);
        let kernel = at.make(kernel);
        if arithmetic.unsigned {
            kernel.set_attr(attr::UNSIGNED_CMP, known_attribute(around.context(), "unit"));
        }
        kernel.copy_discardable_attrs(around);
        let arguments: Vec<_> = std::iter::once(operands[0].ty())
            .chain(types)
            .map(|ty| (ty, around.location()))
            .collect();
        let block = Block::new(&arguments);
        kernel.region(0).append(block);
        let inside = InsertionPoint::AtEnd(block);
        self.set_carried_values(&block.args().skip(1).collect::<Vec<Value>>());
        let variable = FoldedInt::Value(block.arg(0));
        if computes {
            self.emitter.slots.set_computed(inside, variable, self.last);
        }
        let trips = bounds.trips.as_constant();
        // The prologue has executed the iterations of a stage that come before the kernel.
        let has_none = |stage: u32| trips.is_some_and(|trips| trips <= i64::from(self.last - stage));
        let runs = (0..=self.last).map(|stage| match ends.get(stage as usize) {
            Some(_) if has_none(stage) => FoldedBool::Known(false),
            Some(end) => arithmetic.less(inside, variable, *end),
            None => FoldedBool::Known(true),
        });
        let runs = runs.collect();
        self.emitter.round(&Round {
            at: inside,
            variable,
            ahead: self.last.into(),
            runs,
            number: None,
            which: WhichRound::Kernel,
        });
        let next = self.carried_values(inside);
        OpBuilder::new(scf::YIELD, around.location())
            .operands(&next)
            .at_end(block);
        self.set_carried_values(&kernel.results().collect::<Vec<Value>>());
        if computes {
            self.emitter.slots.count(at, upper, self.last);
        }
        if let Some(trips) = bounds.trips.as_constant() {
            self.emitter.slots.set_round(trips + i64::from(self.last - fewer));
        }
        Some(kernel)
    }

    /// Returns true if slots are to be worked out from the kernel's variable, and that is the number of the iteration, which begins at 0
    /// and ends at the upper bound.
    fn computes_slots(&self) -> bool {
        let bounds = self.emitter.bounds;
        let is_number = bounds.lower.as_constant() == Some(0) && bounds.step.as_constant() == Some(1);
        let is_wide =
            bounds.arithmetic.ty.is_index() || bit_width(bounds.arithmetic.ty).is_some_and(|bits| bits >= 32);
        self.shape.computed_slots && is_number && is_wide && bounds.at_least >= self.last
    }

    /// What goes from round to round of the kernel: registers, then counters.
    fn carried_values(&self, at: InsertionPoint<'c>) -> Vec<Value<'c>> {
        // What an iteration that does not exist would have defined is not read.
        let register = |pair: &(ValueId, u32)| {
            let known = self.emitter.registers.get(pair).copied();
            known.unwrap_or_else(|| {
                nothing(
                    at,
                    self.emitter.body.around.location(),
                    self.emitter.body.types[pair.0],
                )
            })
        };
        let registers = self.rotating_values.pairs.iter().map(register);
        let slots = &self.emitter.slots;
        let counters = slots.counters.iter();
        let counters = counters.map(|(_, number)| slots.arithmetic.value(*number));
        registers.chain(counters).collect()
    }

    /// What those are, for the check of what is written.
    fn carried(&self) -> Vec<Carried<'c>> {
        let types = &self.emitter.body.types;
        let registers = self.rotating_values.pairs.iter();
        let registers = registers.map(|(id, lag)| Carried::Value(types[*id], *lag));
        let counters = self.emitter.slots.counters.iter();
        let counters = counters.map(|((versions, ahead), _)| Carried::Slot {
            versions: *versions,
            ahead: *ahead,
        });
        registers.chain(counters).collect()
    }

    fn set_carried_values(&mut self, values: &[Value<'c>]) {
        let (registers, counters) = values.split_at(self.rotating_values.pairs.len());
        let pairs = self.rotating_values.pairs.iter().copied();
        self.emitter.registers = pairs.zip(registers.iter().copied()).collect();
        for (counter, value) in self.emitter.slots.counters.iter_mut().zip(counters) {
            counter.1 = FoldedInt::Value(*value);
        }
    }

    /// Hands on what the loop results in.
    fn finish(&mut self, branch: Option<Branch<'c>>) {
        let body = self.emitter.body;
        let location = body.around.location();
        let registers = &self.emitter.registers;
        let results = body.around.results().zip(&body.carried);
        let results =
            results.map(|(result, (carried, _))| (result, registers.get(&(*carried, self.last)).copied()));
        let Some(Branch { long, short }) = branch else {
            for (result, value) in results {
                if let Some(value) = value {
                    result.replace_all_uses_with(value);
                }
            }
            return body.around.detach();
        };
        let values: Vec<Value> = results
            .map(|(result, value)| value.unwrap_or_else(|| nothing(self.at, location, result)))
            .collect();
        // Fewer iterations than one are none.
        let originals: Vec<Value> = if self.last == 1 {
            body.around.operands().skip(3).collect()
        } else {
            body.around.results().collect()
        };
        for (block, values) in [(long, values), (short, originals)] {
            OpBuilder::new(scf::YIELD, location)
                .operands(&values)
                .at_end(block);
        }
        if self.last == 1 {
            body.around.detach();
        }
    }

    /// Rounds in which the first stage has nothing left to do.
    fn epilogue(&mut self) {
        let at = self.at;
        let last = self.last;
        let variable = self.end;
        for number in 0..last {
            // After a kernel without rounds, iterations may be missing.
            let runs = (0..=last).map(|stage| match (last + number).checked_sub(stage) {
                Some(iteration) if number < stage => self.enough[iteration as usize],
                _ => FoldedBool::Known(false),
            });
            self.emitter.round(&Round {
                at,
                variable,
                ahead: (last + number).into(),
                runs: runs.collect(),
                number: None,
                which: WhichRound::Epilogue(number),
            });
        }
    }
}
