//! Computes what integers are in each thread of a block, and how they change from one iteration of a loop to
//! the next.
//!
//! A value is a number for each thread, plus an [`Offset`] that is the same for all of them: constants, iterations of loops,
//! numbers that rotate with them, and values that are computed once. What is neither is not known. Numbers of threads are worked
//! out one by one, so that every function of a thread's index is exact, such as a swizzle.

mod affine_maps;
mod arithmetic;
mod loop_carried;
mod partially_known;
mod periodic;
mod recurrences;
mod width;

use self::arithmetic::with_constant;
pub use self::loop_carried::IterArgs;
use self::partially_known::count_of;
use super::integers::Computation;
use super::uniformity::{is_uniform, may_diverge};
use super::warps::WARP_THREADS;
use async_mlir::control_flow::constant_trip_count;
use async_mlir::gpu::{Dimension, block_size};
use async_mlir::ir::{Definition, Op, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::{affine, arith, attr, gpu, index, nvvm, scf};
use async_overlap::{LoopId, MAX_PERIOD, Offset, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// An integer: of each thread its own number, plus what is the same for all.
#[derive(Clone, Debug)]
pub struct ThreadValue {
    /// The number of each thread, the first of which is 0; `None` if all are.
    pub threads: Option<Rc<[i64]>>,
    /// What is added.
    pub offset: Offset,
}

impl ThreadValue {
    /// The same number in all threads.
    #[must_use]
    pub fn constant(constant: i64) -> Self {
        Self {
            threads: None,
            offset: Offset {
                constant,
                terms: Vec::new(),
            },
        }
    }

    fn symbol(symbol: Symbol) -> Self {
        let mut value = Self::constant(0);
        value.offset.terms.push((1, symbol));
        value
    }

    /// The number, if it is a constant.
    #[must_use]
    pub fn as_constant(&self) -> Option<i64> {
        (self.threads.is_none() && self.offset.terms.is_empty()).then_some(self.offset.constant)
    }

    /// The number of a thread, if it depends on nothing else.
    fn of_thread(&self, thread: usize) -> Option<i64> {
        let own = self.threads.as_ref().map_or(0, |threads| threads[thread]);
        self.offset
            .terms
            .is_empty()
            .then(|| own.wrapping_add(self.offset.constant))
    }
}

/// Finds out what values are, in one function.
pub struct ThreadValues<'c> {
    size: Option<[u32; 3]>,
    /// The number of each loop that was met.
    loops: FxHashMap<Op<'c>, LoopId>,
    known: FxHashMap<Value<'c>, Option<ThreadValue>>,
    numbers: FxHashMap<Value<'c>, u32>,
    tables: FxHashSet<Rc<[i64]>>,
    depth: usize,
}

/// How long a chain of computations may be.
const MAX_DEPTH: usize = 128;

/// The most threads that a block can have.
pub const MAX_THREADS: u32 = 1024;

impl<'c> ThreadValues<'c> {
    /// For the values of `function`. If it does not say how many threads a block has, and asks for its index in one dimension
    /// alone, blocks are taken to have one thread in each of the others.
    #[must_use]
    pub fn new(function: Op<'c>) -> Self {
        Self {
            size: block_size(function).or_else(|| assumed_size(function)),
            loops: FxHashMap::default(),
            known: FxHashMap::default(),
            numbers: FxHashMap::default(),
            tables: FxHashSet::default(),
            depth: 0,
        }
    }

    /// Says which loop `op` is, before anything in it is asked about.
    pub fn add_loop(&mut self, op: Op<'c>, number: LoopId) {
        self.loops.insert(op, number);
    }

    /// What takes one of `values` in each iteration of the loop `around`, in turn.
    pub fn periodic(&self, around: Op<'c>, values: Vec<i64>) -> Option<ThreadValue> {
        periodic::periodic(*self.loops.get(&around)?, values)
    }

    /// What would take one of `values` in the iteration after the last one of the loop `around`, which are
    /// periodic in it.
    pub fn periodic_after(&mut self, around: Op<'c>, values: Vec<i64>) -> Option<ThreadValue> {
        let period = u64::try_from(values.len()).ok().filter(|period| *period > 0)?;
        if let Some(trips) = constant_trip_count(around) {
            let turn = usize::try_from(trips % period).ok()?;
            return Some(ThreadValue::constant(values[turn]));
        }
        let Symbol::Value(value, of) = self.value_symbol(around.result(0)) else {
            return None;
        };
        let values: Rc<[i64]> = values.into();
        let is_known = values.len() <= MAX_PERIOD && !may_diverge(around);
        is_known.then(|| ThreadValue::symbol(Symbol::Lookup { value, of, values }))
    }

    /// How many iterations of the loop `around` each thread runs, if that is known.
    pub fn trips(&mut self, around: Op<'c>) -> Option<Vec<i64>> {
        if !around.is(scf::FOR) || around.has_attr(attr::UNSIGNED_CMP) {
            return None;
        }
        let (first, end) = (self.of(around.operand(0))?, self.of(around.operand(1))?);
        let step = self
            .of(around.operand(2))?
            .as_constant()
            .filter(|step| *step > 0)?;
        let threads = usize::try_from(self.num_threads()?).ok()?;
        let trips = (0..threads).map(|thread| {
            let span = end.of_thread(thread)?.checked_sub(first.of_thread(thread)?)?;
            Some(span.max(0).checked_add(step - 1)? / step)
        });
        trips.collect()
    }

    /// How many threads a block has at most, if that is known.
    #[must_use]
    pub fn num_threads(&self) -> Option<u32> {
        let size = self.size?;
        let threads = size.into_iter().try_fold(1_u32, u32::checked_mul)?;
        (threads <= MAX_THREADS).then_some(threads)
    }

    /// What `value` is; `None` if it may be anything, in each thread another.
    pub fn of(&mut self, value: Value<'c>) -> Option<ThreadValue> {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let computed = self.compute(value).or_else(|| self.opaque(value));
        self.depth -= 1;
        self.known.insert(value, computed.clone());
        computed
    }

    /// A value of which nothing is known but that all threads have the same, and perhaps that it is one of the first numbers from 0 on.
    fn opaque(&mut self, value: Value<'c>) -> Option<ThreadValue> {
        if !is_uniform(value) {
            return None;
        }
        let mut symbol = self.value_symbol(value);
        let modulus = value.defining_op().and_then(count_of);
        if let (Symbol::Value(value, of), Some(modulus)) = (&symbol, modulus) {
            symbol = Symbol::Remainder {
                value: *value,
                of: *of,
                plus: 0,
                modulus,
            };
        }
        Some(ThreadValue::symbol(symbol))
    }

    fn value_symbol(&mut self, value: Value<'c>) -> Symbol {
        Symbol::Value(self.number(value), self.loop_of(value))
    }

    fn number(&mut self, value: Value<'c>) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(value).or_insert(next)
    }

    /// The innermost loop that computes `value` again and again.
    fn loop_of(&self, value: Value<'c>) -> Option<LoopId> {
        let (first, around) = match value.definition() {
            Definition::Result(op, _) => (None, Some(op)),
            Definition::Argument(block, _) => (block.parent_op(), block.parent_op()),
        };
        let mut outer = first
            .into_iter()
            .chain(around.into_iter().flat_map(Op::ancestors));
        outer.find_map(|op| self.loops.get(&op).copied())
    }

    fn compute(&mut self, value: Value<'c>) -> Option<ThreadValue> {
        if let Some(constant) = value.as_constant_int() {
            return self.in_type(ThreadValue::constant(constant), value.ty());
        }
        let computed = match value.definition() {
            Definition::Result(op, number) if is_loop(op) => loop_carried::result(self, op, number),
            Definition::Result(op, 0) => self.result(op),
            Definition::Result(..) => None,
            Definition::Argument(block, number) => {
                let around = block.parent_op().filter(|op| is_loop(*op))?;
                let counts = number == 0 && !around.is(scf::WHILE);
                match self.loops.get(&around).copied() {
                    Some(of) if counts => return self.induction_variable(around, of, value.ty()),
                    Some(of) => loop_carried::argument(self, (around, of), value),
                    // In a loop that runs once, all is what it begins with.
                    None if constant_trip_count(around) != Some(1) => None,
                    None if counts => self.first_number(around),
                    None => {
                        let iter_args = IterArgs::new(around)?;
                        self.of(iter_args.init(iter_args.place_of(value)?))
                    }
                }
            }
        };
        self.in_type(computed?, value.ty())
    }

    /// The first value of a loop's induction variable, which is of type `ty`, and a step for each iteration.
    fn induction_variable(&mut self, around: Op<'c>, of: LoopId, ty: Type<'c>) -> Option<ThreadValue> {
        let mut first = self.first_number(around)?;
        let step = match around.name() {
            affine::FOR => around.int_attr(attr::STEP)?,
            _ => self.of(around.operand(2))?.as_constant()?,
        };
        let stays = width::stays_in_type(around, &first, step, ty);
        first.offset.terms.push((step, Symbol::Iteration(of)));
        if stays {
            Some(first)
        } else {
            self.in_type(first, ty)
        }
    }

    /// Where a loop begins to count.
    fn first_number(&mut self, around: Op<'c>) -> Option<ThreadValue> {
        match around.name() {
            affine::FOR => self.of_map(around, attr::LOWER_BOUND_MAP),
            _ => self.of(around.operand(0)),
        }
    }

    fn result(&mut self, op: Op<'c>) -> Option<ThreadValue> {
        if let Some(special) = self.special(op) {
            return Some(special);
        }
        if op.num_regions() > 0 || !op.is_pure() {
            return None;
        }
        match op.name() {
            // What does not fit is cut off.
            arith::INDEX_CAST | arith::EXTSI | index::CASTS | arith::TRUNCI => {
                self.sign_extended(op.operand(0))
            }
            arith::INDEX_CASTUI | arith::EXTUI | index::CASTU => self.zero_extended(op.operand(0)),
            arith::ADDI | index::ADD => self.sum(op, 1),
            arith::SUBI | index::SUB => self.sum(op, -1),
            arith::SELECT => self.select(op),
            affine::APPLY | affine::MIN | affine::MAX => self.affine(op),
            _ => self.binary(op),
        }
    }

    /// What hardware says of a thread.
    fn special(&mut self, op: Op<'c>) -> Option<ThreadValue> {
        let dimension = || {
            Dimension::ALL
                .into_iter()
                .position(|dimension| op.attr(attr::DIMENSION) == Some(dimension.attribute(op.context())))
        };
        let of_thread: Box<dyn Fn([i64; 3], i64) -> i64> = match op.name() {
            gpu::THREAD_ID => {
                let dimension = dimension()?;
                Box::new(move |at, _| at[dimension])
            }
            nvvm::READ_PTX_SREG_TID_X => Box::new(|at, _| at[0]),
            nvvm::READ_PTX_SREG_TID_Y => Box::new(|at, _| at[1]),
            nvvm::READ_PTX_SREG_TID_Z => Box::new(|at, _| at[2]),
            gpu::LANE_ID | nvvm::READ_PTX_SREG_LANEID => {
                Box::new(|_, thread| thread % i64::from(WARP_THREADS))
            }
            gpu::SUBGROUP_ID => Box::new(|_, thread| thread / i64::from(WARP_THREADS)),
            gpu::SUBGROUP_SIZE => return Some(ThreadValue::constant(i64::from(WARP_THREADS))),
            gpu::NUM_SUBGROUPS => {
                let threads = i64::from(self.num_threads().filter(|_| size_is_stated(op))?);
                return Some(ThreadValue::constant(
                    (threads + i64::from(WARP_THREADS) - 1) / i64::from(WARP_THREADS),
                ));
            }
            gpu::BLOCK_DIM => {
                let size = self.size.filter(|_| size_is_stated(op))?;
                return Some(ThreadValue::constant(size[dimension()?].into()));
            }
            _ => return None,
        };
        let threads = self.num_threads()?;
        let [x, y, _] = self.size?.map(i64::from);
        let numbers = (0..i64::from(threads)).map(|thread| {
            let at = [thread % x, thread / x % y, thread / (x * y)];
            of_thread(at, thread)
        });
        Some(self.by_thread(numbers.collect()))
    }

    /// A number for each thread.
    fn by_thread(&mut self, mut numbers: Vec<i64>) -> ThreadValue {
        let first = numbers.first().copied().unwrap_or(0);
        for number in &mut numbers {
            *number = number.wrapping_sub(first);
        }
        let mut value = ThreadValue::constant(first);
        if numbers.iter().any(|number| *number != 0) {
            value.threads = Some(self.table(numbers));
        }
        value
    }

    fn table(&mut self, numbers: Vec<i64>) -> Rc<[i64]> {
        let numbers: Rc<[i64]> = numbers.into();
        if let Some(known) = self.tables.get(&numbers) {
            return known.clone();
        }
        self.tables.insert(numbers.clone());
        numbers
    }

    fn sum(&mut self, op: Op<'c>, sign: i64) -> Option<ThreadValue> {
        let (a, b) = (self.of(op.operand(0))?, self.of(op.operand(1))?);
        let b = self.scaled(&b, sign)?;
        self.plus(&a, &b)
    }

    /// The sum of two values.
    pub fn plus(&mut self, a: &ThreadValue, b: &ThreadValue) -> Option<ThreadValue> {
        let threads = match (&a.threads, &b.threads) {
            (Some(a), Some(b)) => {
                let sums: Vec<i64> = a.iter().zip(b.iter()).map(|(a, b)| a.wrapping_add(*b)).collect();
                self.by_thread(sums).threads
            }
            (one, other) => one.clone().or_else(|| other.clone()),
        };
        let mut terms = a.offset.terms.clone();
        for (coefficient, symbol) in &b.offset.terms {
            match terms.iter_mut().find(|(_, known)| known == symbol) {
                Some((sum, _)) => *sum = sum.checked_add(*coefficient)?,
                None => terms.push((*coefficient, symbol.clone())),
            }
        }
        terms.retain(|(coefficient, _)| *coefficient != 0);
        Some(ThreadValue {
            threads,
            offset: Offset {
                constant: a.offset.constant.checked_add(b.offset.constant)?,
                terms,
            },
        })
    }

    /// A multiple of a value.
    pub fn scaled(&mut self, value: &ThreadValue, factor: i64) -> Option<ThreadValue> {
        if factor == 0 {
            return Some(ThreadValue::constant(0));
        }
        let threads = value.threads.clone().filter(|_| factor != 1);
        let threads = match threads {
            Some(threads) => {
                let scaled: Option<Vec<i64>> =
                    threads.iter().map(|number| number.checked_mul(factor)).collect();
                Some(self.table(scaled?))
            }
            None => value.threads.clone(),
        };
        let terms = value.offset.terms.iter();
        let terms =
            terms.map(|(coefficient, symbol)| Some((coefficient.checked_mul(factor)?, symbol.clone())));
        Some(ThreadValue {
            threads,
            offset: Offset {
                constant: value.offset.constant.checked_mul(factor)?,
                terms: terms.collect::<Option<_>>()?,
            },
        })
    }

    fn select(&mut self, op: Op<'c>) -> Option<ThreadValue> {
        let condition = self.of(op.operand(0));
        if let Some(known) = condition.as_ref().and_then(ThreadValue::as_constant) {
            return self.of(op.operand(if known == 0 { 2 } else { 1 }));
        }
        if let Some(next) = periodic::next(self, op) {
            return Some(next);
        }
        let (condition, yes, no) = (condition?, self.of(op.operand(1))?, self.of(op.operand(2))?);
        self.combine(&[condition, yes, no], |values| {
            Some(if values[0] == 0 { values[2] } else { values[1] })
        })
    }

    fn binary(&mut self, op: Op<'c>) -> Option<ThreadValue> {
        if op.num_operands() != 2 {
            return None;
        }
        let (a, b) = (self.of(op.operand(0))?, self.of(op.operand(1))?);
        if let Some(result) = with_constant(self, op, &a, &b) {
            return Some(result);
        }
        let computation = Computation::of(op)?;
        self.combine(&[a, b], |numbers| computation.result(numbers))
    }

    /// Applies a function in each thread, or in each iteration of a period.
    fn combine(
        &mut self,
        operands: &[ThreadValue],
        function: impl Fn(&[i64]) -> Option<i64>,
    ) -> Option<ThreadValue> {
        if operands.iter().all(|operand| operand.threads.is_none()) {
            return periodic::combine(operands, function);
        }
        let threads = usize::try_from(self.num_threads()?).ok()?;
        let numbers = (0..threads).map(|thread| {
            let values = operands.iter().map(|operand| operand.of_thread(thread));
            function(&values.collect::<Option<Vec<i64>>>()?)
        });
        let numbers = numbers.collect::<Option<Vec<i64>>>()?;
        Some(self.by_thread(numbers))
    }
}

/// Returns true if `op` is a loop whose values are followed.
fn is_loop(op: Op<'_>) -> bool {
    matches!(op.name(), affine::FOR | scf::FOR | scf::WHILE)
}

/// Returns true if the size of blocks is what the function says, and not a guess.
fn size_is_stated(op: Op<'_>) -> bool {
    op.ancestors()
        .find(|outer| outer.is_function())
        .is_some_and(|function| block_size(function).is_some())
}

/// A block that can hold all threads a kernel may have, if it asks for its index in one dimension at most.
fn assumed_size(function: Op<'_>) -> Option<[u32; 3]> {
    let mut asked = [false; 3];
    for op in function.self_and_nested() {
        let dimensions = Dimension::ALL.into_iter().enumerate();
        for (i, dimension) in dimensions {
            let is_asked = matches!(op.name(), gpu::THREAD_ID | gpu::GLOBAL_ID)
                && op.attr(attr::DIMENSION) == Some(dimension.attribute(op.context()));
            asked[i] |= is_asked;
        }
        asked[0] |= matches!(
            op.name(),
            gpu::LANE_ID | gpu::SUBGROUP_ID | nvvm::READ_PTX_SREG_LANEID | nvvm::READ_PTX_SREG_TID_X
        );
        asked[1] |= op.is(nvvm::READ_PTX_SREG_TID_Y);
        asked[2] |= op.is(nvvm::READ_PTX_SREG_TID_Z);
    }
    match asked {
        [true | false, false, false] => Some([MAX_THREADS, 1, 1]),
        _ => None,
    }
}
