//! The matrix: which kernels there are, and which of them are run when not all are.

use crate::ring::{Order, Tail};

/// How many threads blocks have.
pub const THREADS: [usize; 2] = [32, 64];
/// How deep rings of tiles are.
pub const STAGES: [usize; 4] = [2, 3, 4, 5];
/// Outer sizes; 500 is no multiple of most tiles.
pub const OUTER: [usize; 3] = [128, 500, 1024];
/// Inner sizes.
pub const INNER: [usize; 3] = [128, 1024, 2048];

/// What a kernel does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One dimension, by bulk copies; each stage is one.
    SingleBulk,
    /// Four bulk copies a stage, which are awaited together.
    SingleBulkUnrolled,
    /// One dimension, by TMA; each stage has four boxes.
    SingleTma,
    /// Four loads a stage.
    SingleTmaUnrolled,
    /// The last tile, if it reaches beyond the end, comes after the loop, whose tiles need no check.
    SingleTmaUnswitched,
    /// Two dimensions, two boxes a tile.
    Several,
    /// `x + y`, of which `x` comes by TMA.
    Pointwise,
    /// `x + y + z`: by TMA, by copies of the threads, from global memory.
    PointwiseCpAsync,
    /// Sums of rows.
    ReductionInner,
    /// Sums of columns.
    ReductionOuter,
    /// A block does one panel after the other.
    Persistent,
    /// A loop issues the loads of a stage, all of which are kept until the row is done.
    InnerPersistent,
    /// Two tiles by TMA.
    Matmul,
    /// In by TMA, and out by TMA.
    TmaStore,
    /// In by bulk copies, and out by bulk copies.
    BulkStore,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::SingleBulk,
        Self::SingleBulkUnrolled,
        Self::SingleTma,
        Self::SingleTmaUnrolled,
        Self::SingleTmaUnswitched,
        Self::Several,
        Self::Pointwise,
        Self::PointwiseCpAsync,
        Self::ReductionInner,
        Self::ReductionOuter,
        Self::Persistent,
        Self::InnerPersistent,
        Self::Matmul,
        Self::TmaStore,
        Self::BulkStore,
    ];
}

/// One point of the matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// See there.
    pub kind: Kind,
    /// The slots of the buffer.
    pub stages: usize,
    /// How many tiles are loaded ahead: 0 to one less than there are slots.
    pub prefetch: usize,
    /// The threads of a block: one warp, or two.
    pub threads: usize,
    /// The outer size.
    pub outer: usize,
    /// The inner size.
    pub inner: usize,
    /// See there.
    pub order: Order,
    /// See there.
    pub tail: Tail,
}

impl Case {
    /// What it is called in the table.
    pub fn name(&self) -> String {
        let Self {
            stages,
            prefetch,
            threads,
            outer,
            inner,
            order,
            tail,
            ..
        } = self;
        format!(
            "{stages} stages, prefetch {prefetch}, {threads} threads, {outer} x {inner}, {order:?}, {tail:?}"
        )
    }
}

/// Pairs of stages and prefetch.
pub fn pairs() -> Vec<(usize, usize)> {
    STAGES
        .iter()
        .flat_map(|&stages| (0..stages).map(move |prefetch| (stages, prefetch)))
        .collect()
}

/// All sizes.
pub fn sizes() -> Vec<(usize, usize)> {
    OUTER
        .iter()
        .flat_map(|&outer| INNER.iter().map(move |&inner| (outer, inner)))
        .collect()
}

/// The cases of a kind: all, or a part such that each kind has every size, and all kinds together every pair of stages and
/// prefetch with every order and tail; each has every number of threads.
pub fn cases(kind: Kind, all: bool) -> Vec<Case> {
    let (pairs, sizes) = (pairs(), sizes());
    let number = Kind::ALL.iter().position(|&other| other == kind).unwrap_or(0);
    let mut cases = Vec::new();
    for (s, &(outer, inner)) in sizes.iter().enumerate() {
        // In the part, each size of each kind has another pair.
        let taken = number * sizes.len() + s;
        for (p, &(stages, prefetch)) in pairs.iter().enumerate() {
            if !all && taken % pairs.len() != p {
                continue;
            }
            let variant = if all { s + p } else { taken + taken / pairs.len() };
            cases.push(Case {
                kind,
                stages,
                prefetch,
                threads: THREADS[variant / 4 % 2],
                outer,
                inner,
                order: [Order::AwaitFirst, Order::LoadFirst][variant % 2],
                tail: [Tail::Guarded, Tail::Split][variant / 2 % 2],
            });
        }
    }
    cases
}

/// What the part must have; a sentence about the first thing that it lacks.
pub fn lacks(cases: &[Case]) -> Option<String> {
    for kind in Kind::ALL {
        for (outer, inner) in sizes() {
            let has = |case: &Case| case.kind == kind && (case.outer, case.inner) == (outer, inner);
            if !cases.iter().any(has) {
                return Some(format!("no {kind:?} of {outer} x {inner}"));
            }
        }
        for order in [Order::AwaitFirst, Order::LoadFirst] {
            if !cases.iter().any(|case| case.kind == kind && case.order == order) {
                return Some(format!("no {kind:?} with {order:?}"));
            }
        }
        for threads in THREADS {
            if !cases
                .iter()
                .any(|case| case.kind == kind && case.threads == threads)
            {
                return Some(format!("no {kind:?} with {threads} threads"));
            }
        }
        for tail in [Tail::Guarded, Tail::Split] {
            if !cases.iter().any(|case| case.kind == kind && case.tail == tail) {
                return Some(format!("no {kind:?} with {tail:?}"));
            }
        }
    }
    for (stages, prefetch) in pairs() {
        for order in [Order::AwaitFirst, Order::LoadFirst] {
            let has = |case: &Case| {
                (case.stages, case.prefetch) == (stages, prefetch) && (prefetch == 0 || case.order == order)
            };
            if !cases.iter().any(has) {
                return Some(format!("no {stages} stages with prefetch {prefetch}, {order:?}"));
            }
        }
    }
    None
}
