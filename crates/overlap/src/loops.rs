//! The loops that offsets change in, and the ids of loops and buffers.

use crate::ids::{IndexVec, ids};

ids! {
    /// A loop; one inside of another comes after it.
    LoopId;
    /// A buffer.
    BufferId;
}

/// The loops of a kernel.
pub type Loops = IndexVec<LoopId, Loop>;

/// A loop.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// How many loops are around it.
    pub depth: usize,
    /// How many iterations are told apart before "so many or more".
    pub counted: u8,
    /// How many iterations there are at least.
    pub min_trips: u64,
    /// How many iterations there are at most, if that is known.
    pub max_trips: Option<u64>,
    /// The count of its iterations that goes on when it is entered again.
    pub running_count: Option<RunningCount>,
}

/// A count of a loop's iterations that is not reset when the loop is entered again.
#[derive(Clone, Copy, Debug)]
pub struct RunningCount {
    /// Which one; there are no more than [`MAX_RUNNING_COUNTS`] in a kernel.
    pub index: u8,
    /// It is known modulo this.
    pub modulus: u8,
}

/// The most running counts of a kernel.
pub const MAX_RUNNING_COUNTS: usize = 2;

impl Loop {
    /// A loop in `parent`, of whose iterations so many are told apart, at least one.
    #[must_use]
    pub fn new(loops: &Loops, parent: Option<LoopId>, counted: u8, max_trips: Option<u64>) -> Self {
        Self {
            parent,
            depth: parent.map_or(0, |parent| loops[parent].depth + 1),
            counted: counted.max(1),
            min_trips: 0,
            max_trips,
            running_count: None,
        }
    }
}
