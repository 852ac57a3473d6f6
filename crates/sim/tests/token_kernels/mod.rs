//! Random kernels in token form, as text: copies on several queues, awaits, and all that tokens can go through. A kernel waits for
//! what it uses on every path, whatever its conditions are.
//!
//! [`Profile`] says what a kernel may have, `grow` draws its statements, `write` and what follows write it down. `simplify` has what
//! proptest tries if one fails. Statements are drawn from bytes, so that a fuzzer (`fuzz/`) can drive the same generator: `bytes`.
#![allow(dead_code)] // Not every test needs all of it.

pub mod bytes;
mod flow;
mod grow;
pub mod judge;
mod leaf;
mod numbers;
mod simplify;
mod source;
mod stmt;
mod write;

use grow::Grower;
use proptest::prelude::*;
use proptest::strategy::NewTree;
use proptest::test_runner::TestRunner;
use simplify::Tree;
use source::Source;
use std::fmt;
use stmt::Stmt;

/// Threads of the block.
pub const THREADS: usize = 8;

/// What kernels may have.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // Each is a thing of its own.
pub struct Profile {
    /// All threads take the same way.
    pub uniform: bool,
    /// Copies, commits and waits in counted form.
    pub counted: bool,
    /// Bulk stores.
    pub stores: bool,
    /// Bulk loads.
    pub bulk: bool,
    /// Reads of what other threads have copied. There are no barriers; `Form::Everywhere` writes them everywhere.
    pub lanes: bool,
    /// Branches between blocks.
    pub blocks: bool,
    /// No condition is known, or depends on another one.
    pub independent: bool,
    /// In the `nvgpu` dialect, with tokens of groups.
    pub nvgpu: bool,
    /// Some waits of `nvgpu` say that they wait for everything.
    pub explicit: bool,
}

impl Profile {
    /// Copies of single threads, each of which takes its own way.
    pub const THREADS: Self = Self {
        uniform: false,
        counted: true,
        stores: false,
        bulk: false,
        lanes: false,
        blocks: true,
        independent: false,
        nvgpu: false,
        explicit: false,
    };
    /// All threads together, with stores of the whole block.
    pub const BLOCK: Self = Self {
        uniform: true,
        stores: true,
        ..Self::THREADS
    };
    /// All threads together, and some copies are of the whole block, too.
    pub const BULK: Self = Self {
        bulk: true,
        blocks: false,
        ..Self::BLOCK
    };
    /// In the `nvgpu` dialect.
    pub const NVGPU: Self = Self {
        nvgpu: true,
        ..Self::THREADS
    };
    /// Threads that read what others have copied.
    pub const LANES: Self = Self {
        uniform: true,
        counted: false,
        lanes: true,
        blocks: false,
        ..Self::THREADS
    };
}

/// A kernel.
#[derive(Clone)]
pub struct Kernel {
    pub stmts: Vec<Stmt>,
    pub profile: Profile,
}

/// The statements; tests print the kernel.
impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.stmts.fmt(f)
    }
}

impl Kernel {
    /// Its text.
    pub fn text(&self) -> String {
        write::kernel(self, false)
    }

    /// Its text with barriers around everything that threads may have in common.
    pub fn with_barriers(&self) -> String {
        write::kernel(self, true)
    }
}

fn grow(source: &mut (impl Source + ?Sized), profile: Profile) -> Kernel {
    let room = 8 + 4 * source.below(10);
    let mut grower = Grower {
        source,
        profile,
        room,
    };
    let stmts = grower.body(0);
    Kernel { stmts, profile }
}

/// The kernel that bytes stand for; any bytes do.
pub fn from_bytes(mut bytes: &[u8], profile: Profile) -> Kernel {
    grow(&mut bytes, profile)
}

/// Draws kernels.
#[derive(Debug)]
struct Kernels(Profile);

impl Strategy for Kernels {
    type Tree = Tree;
    type Value = Kernel;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        Ok(Tree::new(grow(runner.rng(), self.0)))
    }
}

/// Random kernels.
pub fn kernels(profile: Profile) -> impl Strategy<Value = Kernel> {
    Kernels(profile)
}
