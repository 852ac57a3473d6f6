//! The ids of what plans are made of.

use crate::ids::ids;
pub use crate::ids::{Id, IndexVec};

ids! {
    /// A block of a [`Tree`](super::Tree); 0 is the function's body.
    BlockId;
    /// An operation with regions; one inside of another comes after it.
    RegionOpId;
    /// A load.
    LoadId;
    /// An await.
    AwaitId;
    /// A store.
    StoreId;
    /// A phase: a place of the program where one is opened, of which each execution opens an instance.
    PhaseId;
    /// A phi: tokens that edges bind to one phase or another, always to the same.
    PhiId;
    /// A ring of mbarriers.
    RingId;
}
