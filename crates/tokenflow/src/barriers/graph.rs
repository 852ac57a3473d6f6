//! The input: a control-flow graph of a kernel, whose steps access memory and synchronize.

use crate::Token;
use crate::ids::{IndexVec, ids};
use async_overlap::Footprint;
pub use async_overlap::{BufferId, Loop, LoopId, Loops, MAX_RUNNING_COUNTS, RunningCount};

ids! {
    /// A step of a [`Kernel`]; later in the program is larger.
    StepId;
    /// A region that threads may take different paths through.
    RegionId;
    /// An access.
    AccessId;
}

/// What threads of a block do.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// The steps, in program order. The first is where the kernel begins.
    pub steps: IndexVec<StepId, Step>,
    /// The loops that threads run together or apart.
    pub loops: Loops,
    /// The accesses.
    pub accesses: IndexVec<AccessId, Access>,
    /// The bytes of each buffer. Buffers don't overlap.
    pub buffers: IndexVec<BufferId, u64>,
    /// The divergent regions that are in no other, and how many loops are around each.
    pub regions: IndexVec<RegionId, usize>,
}

/// A step.
#[derive(Clone, Debug)]
pub struct Step {
    /// What happens.
    pub action: Action,
    /// What comes next.
    pub edges: Vec<Edge>,
    /// The innermost loop that it is in.
    pub in_loop: Option<LoopId>,
    /// The outermost divergent region that it is in: no barrier may stand before it.
    pub divergent: Option<RegionId>,
    /// Which warps come by.
    pub warps: Warps,
    /// True if it is where warps meet again after an operation that sends them different paths by their numbers: all of these paths have
    /// been taken.
    pub warps_meet: bool,
}

/// Warps that come by a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warps {
    /// Those that may, as bits.
    pub may: u32,
    /// True if all of their threads do, or none: their numbers alone tell them apart from others.
    pub whole: bool,
}

impl Warps {
    /// All.
    pub const ALL: Self = Self {
        may: u32::MAX,
        whole: true,
    };
}

/// What happens in a step.
#[derive(Clone, Debug)]
pub enum Action {
    /// Nothing: paths part or meet.
    None,
    /// A barrier that stays.
    Barrier,
    /// A barrier of these warps, given as bits, for what they themselves do.
    BarrierOf(u32),
    /// Accesses that are over when the step is.
    Access(Vec<AccessId>),
    /// Asynchronous accesses begin.
    Issue(Vec<Issue>),
    /// What a token stands for is complete.
    Await(Vec<Token>),
    /// The group that a token stands for is complete, and so is each that was committed to its queue before.
    AwaitGroup(u8, Vec<Token>),
    /// A token is complete when others are.
    Join(Token, Vec<Token>),
    /// The accesses of a queue that no commit came after yet are a group.
    Commit(u8, Option<Token>),
    /// All but the newest groups of a queue are complete.
    Wait {
        /// The queue.
        queue: u8,
        /// How many groups may be incomplete.
        pending: u32,
        /// True if that is so for reads alone.
        reads: bool,
    },
}

/// An asynchronous access begins.
#[derive(Clone, Debug)]
pub struct Issue {
    /// The access.
    pub access: AccessId,
    /// The tokens whose awaits complete it.
    pub tokens: Vec<Token>,
    /// The queue in which it is complete when its group is.
    pub queue: Option<u8>,
    /// True if all threads of the block issue it together. Then it comes after all that they did before, and who awaits it
    /// is ordered with it; what is left for barriers is that one thread may have awaited for others.
    pub block_wide: bool,
}

/// What comes after a step.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The next step.
    pub to: StepId,
    /// What that means for loops.
    pub kind: EdgeKind,
    /// Which tokens are bound to which.
    pub bindings: Vec<(Token, Token)>,
}

/// How an edge enters or leaves a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// It stays where it is.
    Plain,
    /// Into the first iteration of a loop.
    Enter(LoopId),
    /// To the next iteration of the innermost loop.
    Back(LoopId),
    /// Out of the innermost loop.
    Leave(LoopId),
}

/// An access.
#[derive(Clone, Debug)]
pub struct Access {
    /// What each thread touches.
    pub footprint: Footprint,
    /// How.
    pub kind: AccessKind,
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read and written in one go that no other atomic access can come into.
    Atomic,
}

impl AccessKind {
    /// Returns true if two accesses of one byte by different threads have to be ordered.
    #[must_use]
    pub fn conflicts_with(self, other: Self) -> bool {
        !matches!(
            (self, other),
            (Self::Read, Self::Read) | (Self::Atomic, Self::Atomic)
        )
    }
}

impl Action {
    /// Returns true if asynchronous accesses may end.
    pub(super) fn awaits(&self) -> bool {
        matches!(self, Self::Await(_) | Self::AwaitGroup(..) | Self::Wait { .. })
    }

    /// Returns true if it may complete asynchronous accesses, or change which tokens stand for them.
    pub(super) fn changes_tokens(&self) -> bool {
        !matches!(
            self,
            Self::None | Self::Barrier | Self::BarrierOf(_) | Self::Access(_)
        )
    }

    /// The accesses that begin and have to be ordered with what came before.
    pub(super) fn starts(&self) -> impl Iterator<Item = AccessId> {
        let (accesses, issues): (&[AccessId], &[Issue]) = match self {
            Self::Access(accesses) => (accesses, &[]),
            Self::Issue(issues) => (&[], issues),
            _ => (&[], &[]),
        };
        let own = issues.iter().filter(|issue| !issue.block_wide);
        let issued = own.map(|issue| issue.access);
        accesses.iter().copied().chain(issued)
    }
}

impl Kernel {
    /// The loops around a step, outermost first.
    #[must_use]
    pub fn loops_around(&self, step: StepId) -> Vec<LoopId> {
        let mut around = Vec::new();
        let mut next = self.steps[step].in_loop;
        while let Some(inner) = next {
            around.push(inner);
            next = self.loops[inner].parent;
        }
        around.reverse();
        around
    }

    /// How many loops are around a step.
    #[must_use]
    pub fn depth(&self, step: StepId) -> usize {
        self.steps[step]
            .in_loop
            .map_or(0, |inner| self.loops[inner].depth + 1)
    }

    /// Adds a loop in `parent`, of whose iterations so many are told apart, at least one.
    pub fn add_loop(&mut self, parent: Option<LoopId>, counted: u8, max_trips: Option<u64>) -> LoopId {
        self.loops
            .push(Loop::new(&self.loops, parent, counted, max_trips))
    }

    /// Adds a step that nothing leads to yet.
    pub fn add_step(
        &mut self,
        action: Action,
        in_loop: Option<LoopId>,
        divergent: Option<RegionId>,
    ) -> StepId {
        self.steps.push(Step {
            action,
            edges: Vec::new(),
            in_loop,
            divergent,
            warps: Warps {
                whole: divergent.is_none(),
                ..Warps::ALL
            },
            warps_meet: false,
        })
    }

    /// Adds an edge from one step to another.
    pub fn connect(&mut self, from: StepId, to: StepId, kind: EdgeKind, bindings: Vec<(Token, Token)>) {
        self.steps[from].edges.push(Edge { to, kind, bindings });
    }

    /// The step before each, where there is but one, and how many there are.
    pub(super) fn predecessors(&self) -> (IndexVec<StepId, Option<StepId>>, IndexVec<StepId, u32>) {
        let mut before = IndexVec::filled(None, self.steps.len());
        let mut count = IndexVec::filled(0, self.steps.len());
        for (id, step) in self.steps.with_ids() {
            for edge in &step.edges {
                count[edge.to] += 1;
                before[edge.to] = Some(id).filter(|_| count[edge.to] == 1);
            }
        }
        (before, count)
    }
}
