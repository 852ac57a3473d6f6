//! Random host programs on a few buffers, as text, and what they do one statement after the other.

mod tensors;
mod write;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;
pub use tensors::tensor_program;
pub use write::program;

/// Buffers that a program has, and the elements of each.
pub const BUFFERS: usize = 3;
pub const ELEMENTS: usize = 2;

/// An element of a buffer.
pub type Place = (usize, usize);

/// A statement; each is ordered after the ones before it that it conflicts with.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `to = 3 * from + 1`
    Update { to: Place, from: Place },
    /// A region; how it is ordered, and what it captures besides buffers.
    Task(Vec<Stmt>, Order, Vec<Capture>),
    /// `value = element`, by a region that yields it.
    Read(Place),
    /// `element = value`
    Write(Place),
    /// A branch on whether an element is odd.
    If(Place, Vec<Stmt>, Vec<Stmt>),
    /// A loop.
    For(usize, Vec<Stmt>),
    /// A call of a `func.func` that takes and returns all tokens, or of an `async.func`.
    Call(Vec<Stmt>, bool),
    /// The last buffer is another one meanwhile, which is deallocated after that. At first it holds what the buffer holds, or zeros.
    Temporary(Vec<Stmt>, bool),
}

/// How a region comes after what it conflicts with, and how it ends.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub before: Before,
    /// True if it awaits the tasks that it has made; else it yields their tokens.
    pub awaits_inner: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Before {
    /// The tokens are dependencies.
    Dependency,
    /// They are awaited before the region.
    Await,
    /// They are awaited in it.
    AwaitInside,
    /// They are joined, and that is a dependency.
    Join,
}

/// A value that a task captures, and compares with what it was made of.
#[derive(Clone, Copy, Debug)]
pub struct Capture {
    pub kind: CaptureKind,
    /// From 0 to 99, so that each type holds it; a bit, its lowest one.
    pub number: i32,
}

#[derive(Clone, Copy, Debug)]
pub enum CaptureKind {
    Bit,
    /// An integer of so many bits.
    Int(u32),
    Index,
    /// A floating-point number of so many bits.
    Float(u32),
    /// So many integers of so many bits.
    Vector(usize, u32),
    /// A buffer of an unknown size, that many of them, in which the number is the last element.
    Memref(usize),
    /// The token and the value of a region.
    Token,
}

fn capture() -> impl Strategy<Value = Capture> {
    let kind = prop_oneof![
        2 => Just(CaptureKind::Bit),
        4 => prop::sample::select(vec![8, 16, 32, 64]).prop_map(CaptureKind::Int),
        2 => Just(CaptureKind::Index),
        2 => prop::sample::select(vec![16, 32, 64]).prop_map(CaptureKind::Float),
        2 => (2..6_usize, prop::sample::select(vec![8, 32, 64])).prop_map(|(size, bits)| CaptureKind::Vector(size, bits)),
        1 => (1..4_usize).prop_map(CaptureKind::Memref),
        1 => Just(CaptureKind::Token),
    ];
    (kind, 0..100).prop_map(|(kind, number)| Capture { kind, number })
}

/// Mostly none or few.
fn captures() -> impl Strategy<Value = Vec<Capture>> {
    prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec(capture(), 1..4),
        1 => prop::collection::vec(capture(), 4..20),
    ]
}

fn place() -> impl Strategy<Value = Place> {
    (0..BUFFERS, 0..ELEMENTS)
}

fn order() -> impl Strategy<Value = Order> {
    let before = prop_oneof![
        Just(Before::Dependency),
        Just(Before::Await),
        Just(Before::AwaitInside),
        Just(Before::Join),
    ];
    (before, any::<bool>()).prop_map(|(before, awaits_inner)| Order { before, awaits_inner })
}

/// Random programs.
pub fn statements() -> impl Strategy<Value = Vec<Stmt>> {
    let leaf = prop_oneof![
        4 => (place(), place()).prop_map(|(to, from)| Stmt::Update { to, from }),
        1 => place().prop_map(Stmt::Read),
        1 => place().prop_map(Stmt::Write),
    ];
    let stmt = leaf.prop_recursive(4, 24, 4, |inner| {
        let body = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            6 => (body(), order(), captures()).prop_map(|(body, order, captures)| Stmt::Task(body, order, captures)),
            1 => (place(), body(), body()).prop_map(|(place, then, other)| Stmt::If(place, then, other)),
            1 => (0..4_usize, body()).prop_map(|(trip, body)| Stmt::For(trip, body)),
            1 => (body(), any::<bool>()).prop_map(|(body, is_async)| Stmt::Call(body, is_async)),
            1 => (body(), any::<bool>()).prop_map(|(body, copies)| Stmt::Temporary(body, copies)),
        ]
    });
    prop::collection::vec(stmt, 2..6)
}

/// The configuration of a test of so many cases, unless the environment says otherwise.
pub fn config(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    // A fixed number would be too few for many cases.
    config.max_global_rejects = config.max_global_rejects.max(config.cases);
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(18);
    }
    config
}

/// What a program has at a time.
#[derive(Clone, Default)]
pub struct State {
    pub buffers: [[i32; ELEMENTS]; BUFFERS],
    value: i32,
}

impl State {
    /// Runs statements one after the other.
    pub fn run(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Update { to, from } => {
                    self.buffers[to.0][to.1] = self.buffers[from.0][from.1].wrapping_mul(3).wrapping_add(1);
                }
                Stmt::Task(body, ..) | Stmt::Call(body, _) => {
                    // What is read there is known there alone.
                    let value = self.value;
                    if !matches!(stmt, Stmt::Call(_, false)) {
                        self.value = 0;
                    }
                    self.run(body);
                    self.value = value;
                }
                Stmt::Read(place) => self.value = self.buffers[place.0][place.1],
                Stmt::Write(place) => self.buffers[place.0][place.1] = self.value,
                Stmt::If(place, then, other) => {
                    let odd = self.buffers[place.0][place.1] & 1 == 1;
                    self.run(if odd { then } else { other });
                }
                Stmt::For(trip, body) => (0..*trip).for_each(|_| self.run(body)),
                Stmt::Temporary(body, copies) => {
                    let last = self.buffers[BUFFERS - 1];
                    if !copies {
                        self.buffers[BUFFERS - 1] = [0; ELEMENTS];
                    }
                    self.run(body);
                    self.buffers[BUFFERS - 1] = last;
                }
            }
        }
    }
}

/// The buffers that statements read and write.
#[derive(Clone, Default)]
pub struct Sets {
    pub reads: BTreeSet<usize>,
    pub writes: BTreeSet<usize>,
}

impl Sets {
    pub fn of(stmts: &[Stmt]) -> Self {
        let mut sets = Self::default();
        sets.add(stmts);
        sets
    }

    fn add(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::Update { to, from } => {
                    self.reads.insert(from.0);
                    self.writes.insert(to.0);
                }
                Stmt::Read(place) => {
                    self.reads.insert(place.0);
                }
                Stmt::Write(place) => {
                    self.writes.insert(place.0);
                }
                Stmt::Task(body, ..) | Stmt::Call(body, _) | Stmt::For(_, body) => self.add(body),
                Stmt::If(place, then, other) => {
                    self.reads.insert(place.0);
                    self.add(then);
                    self.add(other);
                }
                Stmt::Temporary(body, copies) => {
                    let mut inner = Self::of(body);
                    inner.reads.remove(&(BUFFERS - 1));
                    if *copies {
                        inner.reads.insert(BUFFERS - 1);
                    }
                    inner.writes.remove(&(BUFFERS - 1));
                    self.reads.append(&mut inner.reads);
                    self.writes.append(&mut inner.writes);
                }
            }
        }
    }
}
