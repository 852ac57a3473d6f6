//! Places block barriers (`bar.sync`): the fewest that order all conflicting accesses of threads.
//!
//! **Notation.** A *kernel* is a graph of *steps*; the threads of a block go through it together, except in *divergent regions*,
//! whose steps they may take in any order. A step may *access* bytes of a buffer, by each thread other ones (a
//! [`Footprint`]), or *issue* an asynchronous access, which lasts until the *await* that completes it. Two accesses *conflict* if
//! different threads may touch the same byte and one of them writes. A *barrier* may stand before every step that is not in a
//! divergent region. It *separates* what is before it from what comes after: of an asynchronous access the end from what comes
//! later, the issue from what came before.
//!
//! **Warps.** Where a warp's number decides which path it takes, a step is for all threads of some warps.
//! What these begin is in flight for them. What all threads have begun together is over for the warps that
//! await it, and exposed to others, until they do or a barrier comes. A barrier of these warps alone
//! separates what they do themselves. Where paths meet again, all of them have been taken: what warps know
//! there is what they know from any.
//!
//! **Steps**, in the order in which they run:
//!
//! 1. *Conflict relation* (`conflict_relation.rs`): which accesses conflict, at an iteration distance, as `async-overlap` says. Nothing
//!    below decides what conflicts.
//! 2. *In flight* (`in_flight.rs`): at which await each asynchronous access ends, and what races with it
//!    before, or in a region where threads are apart (`divergent_regions.rs`). No barrier mends that. It is a
//!    fault, unless the conditions that it takes (`path_conditions.rs`) never agree.
//! 3. *Exposure* (`exposure.rs`): for a set of barriers, which conflicts are left, each with a path without a barrier from the
//!    one access to the other. Each path is a set of places one of which needs a barrier. What nothing conflicts with any more
//!    (`last_conflicts.rs`) is exposed no longer.
//! 4. *Hitting set* (`hitting_set.rs`): the cheapest barriers that stand on each path that was found so far.
//! 5. *Placement* (`placement.rs`): steps 3 and 4 in turn until no conflict is left. The set is then the cheapest for some of
//!    the paths, and enough for all of them, so it is the cheapest for all.
//! 6. *Verification*: no conflict is left, and without any one of the barriers there is one.
//!
//! [`saved_by_sinking_issues`] (`issue_sinking.rs`) says where another order of steps takes fewer barriers.
//!
//! **Cheapest** means fewest in the deepest loops, then fewest in those one level further out, and so on; among these, most
//! right before a store that all threads issue together, which takes one anyway, and then most right after an await.
//!
//! **Cost.** A round of steps 3 and 4 takes time in proportion to the steps, times the accesses that are exposed at a step
//! and that something to come conflicts with. Few rounds are needed: each finds paths to as many steps as it can, from each access
//! one path, after which it is not followed on. The hitting set is exact within a budget for each part that
//! shares no place with the others; beyond, it is the best that was found.
//!
//! What comes out is held against brute force: `tests/barriers`; with paths for some warps, against simulated
//! runs (`crates/sim/tests/roles.rs`).

mod conflict_relation;
mod divergent_regions;
mod exposure;
mod graph;
mod hitting_set;
mod in_flight;
mod issue_sinking;
mod last_conflicts;
mod path_conditions;
mod placement;

pub use async_overlap::{
    Conflict, Footprint, MAX_PERIOD, Offset, Span, Symbol, ThreadBytes, count_iterations,
    may_overlap_anywhere,
};
pub use graph::*;
pub use in_flight::Race;
pub use issue_sinking::{BarrierSaving, saved_by_sinking_issues};
pub use placement::{Placement, Reason, place};
