//! Checks that a software-pipelined loop does what the plain loop does: translation validation of `--async-pipeline`.
//!
//! **Notation.** The plain loop has iterations `0..n`; an *instance* is an operation of its body in an iteration. Round `t` executes what has
//! stage `s` for iteration `t - s`, by the order of the schedule. Rounds `0..S` are the prologue, where `S` is the last stage; then comes the
//! kernel.
//!
//! What was written is executed on symbols (`run`): once for every number of iterations up to `S`, and once for all others, of which
//! `n` is a symbol. Of the kernel, one round `t` is executed for all: what it carries is claimed by the pass ([`Carried`]), holds where it is
//! entered, and is shown to hold in round `t + 1` if it does in round `t`. So each `n` is covered, and each operation is looked at
//! `S + 2` times. That proves, for every `n`:
//!
//! 1. each operation with side effects is executed once in each iteration, and nothing else that has any;
//! 2. by the order of the schedule, which keeps the order of accesses that may meet;
//! 3. each of its operands is what it is in the plain loop, and each buffer with versions is version `i mod v` in iteration `i`;
//! 4. the results are those of the plain loop.

mod accesses;
mod copies;
mod kernel;
pub mod number;
pub mod order;
mod plain;
mod run;
mod skeleton;
mod versions;

use async_locations::buffer_parts::bytes_of;
use async_mlir::ir::{Definition, Op, Use, Value};
use async_mlir::melior::ir::Type;
use async_mlir::types::memref_shape;
use number::Facts;
use plain::Plain;
use run::{Compared, Run};
use rustc_hash::FxHashMap;
pub use versions::Checked;

/// A loop, and how it is to be executed.
pub struct Schedule<'c> {
    /// The plain loop, an `scf.for`.
    pub plain: Op<'c>,
    /// Its operations that have stages, by the order of a round.
    pub statements: Vec<(Op<'c>, u32)>,
    /// Buffers with versions.
    pub versions: FxHashMap<Value<'c>, Versions<'c>>,
}

/// What was written in the place of a loop.
pub struct Written<'c> {
    /// The loop, which stands nowhere any more, or where it is executed for few iterations.
    pub schedule: Schedule<'c>,
    /// What stands in its place.
    pub ops: Vec<Op<'c>>,
    /// What has used its results, by their numbers.
    pub uses: Vec<(usize, Use<'c>)>,
    /// What operations are copies of.
    pub copies: FxHashMap<Op<'c>, Copied<'c>>,
    /// The loop that executes most rounds, and what it carries.
    pub kernel: Option<(Op<'c>, Vec<Carried<'c>>)>,
}

/// What an operation is a copy of.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'c> {
    /// An operation of the plain loop, or a view from before it.
    pub of: Op<'c>,
    /// The round that it is in.
    pub round: Round,
    /// For which iteration: that of the round, minus this.
    pub lag: u32,
}

/// A round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// This one of the prologue.
    Prologue(u32),
    /// One of the kernel.
    Kernel,
    /// So many after the kernel.
    Epilogue(u32),
}

/// What a value is that the kernel carries, at the start of round `t`.
#[derive(Clone, Copy, Debug)]
pub enum Carried<'c> {
    /// A value of the plain loop in iteration `t - lag`.
    Value(Value<'c>, u32),
    /// `(t + ahead) mod versions`.
    Slot {
        /// How many versions there are.
        versions: u32,
        /// What is added to the number of the round.
        ahead: u32,
    },
}

/// Versions of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Versions<'c> {
    /// The bytes that they are in.
    pub storage: Value<'c>,
    /// How many there are.
    pub count: u32,
    /// How many bytes each is after the one before.
    pub stride: i64,
}

impl<'c> Versions<'c> {
    /// Checks that all versions are in their bytes, which may have become more since what was `written` in the place of a loop was checked.
    /// Notes in `checked` that they have been.
    ///
    /// # Errors
    ///
    /// What allocates the bytes.
    pub fn verify_room(&self, written: &[Op<'c>], checked: &mut Checked<'c>) -> Result<(), Failure<'c>> {
        checked.add(self, written);
        let owner = match self.storage.definition() {
            Definition::Result(op, _) => Some(op),
            Definition::Argument(block, _) => block.parent_op(),
        };
        let Some(op) = owner else { return Ok(()) };
        let needed = u64::from(self.count).checked_mul(self.stride.cast_unsigned());
        let has = bytes_of(self.storage.ty());
        match (has, needed) {
            (Some(has), Some(needed)) if needed <= has => Ok(()),
            _ => Err(Failure {
                op,
                what: "has no room for all versions of the buffer".to_owned(),
                first: None,
            }),
        }
    }

    /// Returns true if a version of a buffer of type `of` may have the type `ty`: the same elements, in the same bytes.
    fn fits(&self, ty: Type<'c>, of: Type<'c>) -> bool {
        let is_same = matches!((memref_shape(ty), memref_shape(of)), (Some(own), Some(shape))
            if own.sizes == shape.sizes && own.element == shape.element);
        is_same && bytes_of(ty).is_some_and(|bytes| bytes <= self.stride.cast_unsigned())
    }
}

/// Something wrong with what was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure<'c> {
    /// The operation.
    pub op: Op<'c>,
    /// What is wrong with it.
    pub what: String,
    /// What should have been executed first.
    pub first: Option<Op<'c>>,
}

/// Checks that a schedule keeps the order of accesses that may meet, and that iterations may have the versions of buffers that it gives them. The
/// plain loop stands where it was; versions in `checked` have been accepted before.
///
/// # Errors
///
/// The first access that is executed too early, or may read what another iteration has written.
pub fn verify_schedule<'c>(schedule: &Schedule<'c>, checked: &Checked<'c>) -> Result<(), Failure<'c>> {
    accesses::check(schedule)?;
    versions::check(schedule, checked)
}

/// Checks that what was `written` does what the plain loop does.
///
/// # Errors
///
/// The first operation that does something else, or that can't be read.
pub fn verify<'c>(written: &Written<'c>) -> Result<(), Failure<'c>> {
    let plain = Plain::of(&written.schedule)?;
    let facts = |trips| Facts {
        last: plain.last,
        trips,
    };
    let mut compared = Compared::default();
    let mut run = |trips| Run::new(written, &plain, facts(trips), &mut compared).whole();
    if let Some(trips) = plain.trips {
        return run(Some(trips));
    }
    let most = plain.most_trips();
    for trips in 0..=plain.last.min(most) {
        run(Some(trips))?;
    }
    if most <= plain.last {
        return Ok(());
    }
    run(None)
}
