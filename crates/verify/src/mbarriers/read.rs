//! Reads what `--gpux-tokens-to-mbarriers` has written into [`Code`], of one ring of mbarriers at a time.
//!
//! Control flow is what MLIR's interfaces say. What is computed with operations that are not known is not known. An operation with regions
//! of which nothing is known must have nothing to do with mbarriers.
//!
//! Cost: the operations of the function, and for each ring those that have to do with it.

mod arithmetic;
mod edges;
mod emit;
mod flow;
mod index;
mod mbarrier;
mod roles;
mod slice;
mod tokens;

use super::code::{Code, Gathering, MOST_SLOTS, Token, Var};
use async_mlir::ir::{Op, Value};
use async_mlir::nvgpu::mbarriers;
use emit::Emitter;
pub use flow::Limit;
pub use index::Index;
pub use slice::Iterations;
use slice::Slice;

/// What was written.
#[derive(Clone, Copy)]
pub struct Written<'a, 'c> {
    /// The function. It has tokens and awaits still.
    pub function: Op<'c>,
    /// The operations that create rings of mbarriers.
    pub rings: &'a [Op<'c>],
    /// The loads in token form. Right before each, the load is issued.
    pub loads: &'a [Op<'c>],
    /// True if what warps do depends on their numbers.
    pub has_roles: bool,
}

/// Something that can't be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreadable<'c> {
    /// The operation.
    pub op: Op<'c>,
    /// What is wrong with it.
    pub what: &'static str,
}

/// What a function does with a ring of mbarriers.
pub struct Reading<'c> {
    /// The code.
    pub code: Code,
    /// The operation of each instruction.
    pub origins: Vec<Op<'c>>,
    /// The meanings of variables, in order.
    pub vars: Vec<(Var, Meaning<'c>)>,
    /// The tokens, in order.
    pub tokens: Vec<(Token, Value<'c>)>,
}

/// The meaning of a variable of code in the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning<'c> {
    /// A value.
    Value(Value<'c>),
    /// The iteration of a loop, whose variable this is.
    Iterations(Option<Value<'c>>),
    /// How often loops of these bounds run: lower, upper, step.
    Trips([Limit<'c>; 3]),
}

/// Reads what a function does with the mbarriers that `create` makes; `ages` says how many times threads may have gathered since what a
/// wait of another ring waits for, if they gather here. Of rings at which they gather elsewhere, `counted` is the one of which it is told
/// how many times they do.
///
/// # Errors
///
/// An operation that can't be read.
pub fn read<'c>(
    index: &Index<'c>,
    create: Op<'c>,
    ages: &[(Op<'c>, u8)],
    iterations: Iterations,
    counted: Gathering,
) -> Result<Reading<'c>, Unreadable<'c>> {
    let depth = mbarriers(create.result(0).ty());
    let depth = depth
        .filter(|depth| (1..=MOST_SLOTS).contains(depth))
        .ok_or(Unreadable {
            op: create,
            what: "makes more mbarriers than can be looked at",
        })?;
    let slice = Slice::new(index, create, ages, iterations)?;
    let (code, origins) = Emitter::emit(&slice, depth, counted);
    let mut tokens: Vec<(Token, Value)> = slice
        .tokens
        .iter()
        .map(|(value, token)| (*token, *value))
        .collect();
    tokens.sort_unstable_by_key(|(token, _)| *token);
    Ok(Reading {
        code,
        origins,
        vars: slice.meanings(),
        tokens,
    })
}

impl<'c> Index<'c> {
    /// The rings at which threads gather: each with its number, and what creates it.
    pub fn gatherings(&self) -> impl Iterator<Item = (Gathering, Op<'c>)> {
        let numbers = (0..).map(Gathering);
        numbers.zip(self.gatherings.iter().map(|ring| ring.create))
    }
}
