//! Plans phases of mbarriers for tokens, on plain data.
//!
//! A load completes on an mbarrier, which has **phases**: one is open at a time, and is over when all that it expects has
//! arrived. A wait names the parity of a phase, so it can't tell phase 0 from phase 2. [`plan()`] decides, for a whole
//! function, which phase each load completes, on which mbarrier, and what each await waits for.
//!
//! **Notation.** A *load* is an instruction of the program; its *token* is an SSA value. A [`Phase`] is a place of the program
//! where a phase is opened, for one or several loads; each execution of it opens an instance. A [`Phi`] stands for one of
//! several phases: tokens that block arguments and results bind. A [`PhaseValue`] is either. To open a phase *arms* an mbarrier:
//! that is the next *slot* of a *ring*, which has as many as it is *deep*. Instances on a ring are *numbered* from 0; number n
//! is on slot n mod depth, with parity (n / depth) mod 2. The *age* of an instance is how often its ring was armed since.
//!
//! **Steps**, in the order in which they run:
//!
//! 1. *Simplification* (`simplify.rs`): copies of tokens and dead tokens are taken out.
//! 2. *Placement* (`placement.rs`, `webs.rs`, `token_graph.rs`): in which block the phase of each load is opened.
//! 3. *Partition* (`partition.rs`, `refinement.rs`): which loads share a phase, and which tokens a phi.
//! 4. *Availability* (`availability.rs`): awaits of what was awaited on every path are taken out.
//! 5. *Allocation* (`allocation.rs`): which phases share a ring, and how deep it is. It tries several assignments, and for each
//!    of them
//!    1. counts how often a ring is armed between two points (`arm_counts.rs`), and from that ages and depths (`rings.rs`);
//!    2. makes rings deeper where that saves a barrier (`hazards.rs`);
//!    3. finds rings whose phases are awaited on every path (`anticipation.rs`);
//!    4. changes the order of numbers where that saves mbarriers (`phase_order.rs`);
//!    5. coalesces rings that are never live together (`liveness.rs`, `coalescing.rs`).
//! 6. *Lifetime* (`mbarrier_lifetime.rs`): where mbarriers are initialized and invalidated.
//! 7. *Numbering* (`numbering.rs`, `affine.rs`): which number a phase has, in closed form or counted while the program runs.
//! 8. *Hazards* (`hazards.rs`, `hazard_state.rs`, `divergence.rs`): where barriers and fences are needed.
//! 9. *Rendezvous* (`rendezvous.rs`, `skew.rs`): the same barriers as phases of mbarriers, and how far threads may be ahead.
//! 10. *Verification* (`verify.rs`), in debug builds: what an emitter relies on.
//!
//! Where threads have different **roles** (`roles.rs`), some steps look at what threads of all of them do together, and others at
//! what those of one role do.
//!
//! Then [`needs_init_barrier`] (`init_barrier.rs`) says whether threads have to meet after the initialization.
//!
//! **Cost.** Steps 1 to 4 and 6 to 9 are about linear in the size of the function, times a bounded number of rounds over loops.
//! Step 5 is linear as well for each assignment that it tries, of which there are at most two for each of up to 32 rings.
//!
//! What comes out is held against brute force: `tests/phases`.

mod affine;
mod allocation;
mod anticipation;
mod arm_counts;
mod availability;
mod coalescing;
mod divergence;
mod hazard_state;
mod hazards;
mod ids;
mod init_barrier;
mod liveness;
mod mbarrier_lifetime;
mod numbering;
mod partition;
mod phase_order;
mod placement;
mod plan;
mod planner;
mod refinement;
mod rendezvous;
mod rings;
mod roles;
mod simplify;
mod skew;
#[cfg(test)]
mod test_trees;
mod token_graph;
mod tree;
mod union_find;
mod verify;
mod webs;

pub use affine::{AffineExpr, Symbol};
pub use hazards::{Participants, RequiredSync, Syncs};
pub use ids::*;
pub use init_barrier::needs_init_barrier;
pub use partition::{MAX_PHASE_BYTES, PhaseValue};
pub use plan::{Incoming, Phase, Phi, Plan, Rendezvous, RendezvousRing, Ring, SyncPoint};
pub use planner::{Options, plan, plan_with, store_syncs};
pub use rings::MAX_DEPTH;
pub use roles::RoleSet;
pub use tree::*;
