//! From tokens to phases of mbarriers, on plain data.
//!
//! A load completes on an mbarrier, which has **phases**: one is open at a time, and is over when all that it expects has
//! arrived. A wait names the parity of a phase, so it can't tell phase 0 from phase 2. [`plan()`] decides, for a whole
//! function,
//!
//! 1. in which block the phase of each load is opened (`phases/homes.rs`, `phases/together.rs`);
//! 2. which loads share a phase (`phases/bundles.rs`);
//! 3. how often a ring of mbarriers is armed from here to there (`phases/counts.rs`);
//! 4. which phases must take turns on a ring, how deep it is, and in which order they do (`phases/rings.rs`,
//!    `phases/order.rs`);
//! 5. which rings are never live together (`phases/live.rs`, `phases/share.rs`);
//! 6. which rings there are in the end (`phases/choose.rs`);
//! 7. which phases somebody surely waits for (`phases/sure.rs`);
//! 8. which number of its ring a phase has, in closed form or counted while the program runs (`phases/numbers.rs`);
//! 9. where barriers and fences are needed (`phases/guards.rs`, `phases/dirt.rs`, `phases/apart.rs`), and who may be how
//!    far ahead where threads meet at mbarriers (`phases/ahead.rs`).
//!
//! Before that, tokens that make no difference are taken out (`phases/simplify.rs`), and awaits of what has surely been awaited
//! (`phases/implied.rs`). [`meet_first`] says whether threads have to meet behind the initialisation (`phases/first.rs`).
//!
//! What comes out is held against brute force: `tests/phases`.

mod ahead;
mod apart;
mod bundles;
mod choose;
mod counts;
mod dirt;
mod first;
mod guards;
mod homes;
mod implied;
mod live;
mod numbers;
mod order;
mod plan;
mod rings;
mod share;
mod simplify;
mod sure;
mod together;
mod tree;
mod union;

pub use bundles::{MAX_PHASE_BYTES, Phase};
pub use first::meet_first;
pub use guards::{Guard, Guards};
pub use numbers::{Linear, Unknown};
pub use plan::{Bundle, Handed, Plan, Ring, Sync, Var, guard_stores, plan};
pub use rings::{MAX_DEPTH, RingId};
pub use tree::*;
