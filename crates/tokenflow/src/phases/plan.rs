//! The output: phases, rings and synchronization of a whole function.

use super::affine::AffineExpr;
use super::hazards::Syncs;
use super::ids::{AwaitId, BlockId, IndexVec, LoadId, PhaseId, PhiId, RegionOpId, RingId};
use super::partition::PhaseValue;
use super::roles::RoleSet;
use crate::program::Token;
use std::collections::BTreeSet;

/// How loads complete on mbarriers.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Loads whose tokens no ring can follow. If there are any, nothing else is planned: they are to be awaited where
    /// they are issued, and the rest to be planned anew.
    pub unallocated: Vec<LoadId>,
    /// The block in which the mbarriers are initialized, outside of all loops.
    pub scope: BlockId,
    /// Its first and its last instruction that has to do with loads.
    pub extent: (usize, usize),
    /// The phases.
    pub phases: IndexVec<PhaseId, Phase>,
    /// The tokens that edges bind to one phase or another.
    pub phis: IndexVec<PhiId, Phi>,
    /// The rings.
    pub rings: IndexVec<RingId, Ring>,
    /// What each await waits for; phases that were awaited before on every path are left out.
    pub awaits: IndexVec<AwaitId, Vec<PhaseValue>>,
    /// Barriers and fences.
    pub syncs: Syncs,
    /// The barriers of [`Plan::syncs`], in order, with numbers as if they were the arms of a ring of their own.
    pub rendezvous: Vec<Rendezvous>,
    /// The rings that rendezvous are on: one for each set of roles that meet.
    pub rendezvous_rings: Vec<RendezvousRing>,
    /// Awaits of roles for which no ring is made: a role that awaits one phase of a ring has to await all of them.
    pub partly_awaited: Vec<AwaitId>,
    /// The rings that are armed in each region op.
    pub armed_rings: IndexVec<RegionOpId, BTreeSet<RingId>>,
}

impl Plan {
    /// How many mbarriers it takes if threads meet at those: as many as the deepest ring has, so that threads may be as far
    /// ahead of one another as loads are; none where they don't meet.
    #[must_use]
    pub fn rendezvous_depth(&self) -> u64 {
        let depths = self.rings.iter().map(|ring| ring.depth);
        depths.max().filter(|_| !self.rendezvous.is_empty()).unwrap_or(0)
    }

    /// How many mbarriers that takes, for all sets of roles that meet.
    #[must_use]
    pub fn rendezvous_mbarriers(&self) -> u64 {
        self.rendezvous_depth() * self.rendezvous_rings.len() as u64
    }

    /// What an edge of an operation binds a phi to; `None`: a complete token, or nothing.
    #[must_use]
    pub fn incoming(&self, phi: PhiId, op: RegionOpId, edge: usize) -> Option<PhaseValue> {
        let incoming = self.phis[phi].incoming.iter();
        incoming
            .filter(|incoming| (incoming.op, incoming.edge) == (op, edge))
            .find_map(|incoming| incoming.phase)
    }

    /// Returns true if `phase` is known to be the first one of its slot.
    #[must_use]
    pub fn is_first(&self, phase: &Phase) -> bool {
        let number = phase.number.as_ref();
        number.is_some_and(|number| {
            number.coefficients.is_empty() && number.constant < self.rings[phase.ring].depth
        })
    }
}

/// Loads that share a phase.
#[derive(Clone, Debug)]
pub struct Phase {
    /// The loads.
    pub loads: Vec<LoadId>,
    /// The block that the phase is opened in.
    pub open_block: BlockId,
    /// It is opened right before this instruction, which has the first load.
    pub first: usize,
    /// The instruction with the last load.
    pub last: usize,
    /// How many bytes they have together, if that is the same on every path.
    pub bytes: Option<u64>,
    /// The ring.
    pub ring: RingId,
    /// The number of the phase, if all numbers of the ring are known.
    pub number: Option<AffineExpr>,
    /// How much greater it is than how often the ring was armed before.
    pub shift: i64,
}

/// Tokens that edges bind to one phase or another: always to the same.
#[derive(Clone, Debug)]
pub struct Phi {
    /// The tokens.
    pub tokens: Vec<Token>,
    /// The ring.
    pub ring: RingId,
    /// The number of the phase where the tokens are defined, if all numbers of the ring are known.
    pub number: Option<AffineExpr>,
    /// True if it may be bound to a token that is complete.
    pub may_be_complete: bool,
    /// What is bound to it.
    pub incoming: Vec<Incoming>,
}

/// What an edge binds a phi to.
#[derive(Clone, Copy, Debug)]
pub struct Incoming {
    /// The operation.
    pub op: RegionOpId,
    /// The edge, by its index there.
    pub edge: usize,
    /// The phase; `None`: a complete token.
    pub phase: Option<PhaseValue>,
}

/// A ring of mbarriers.
#[derive(Clone, Debug)]
pub struct Ring {
    /// How many.
    pub depth: u64,
    /// True if the running program counts its arms: not all numbers are known, or what is computed of them is expensive.
    pub has_counter: bool,
    /// True if each phase is always awaited; else the slot's last one has to be, before it is armed anew and where
    /// everything ends.
    pub always_awaited: bool,
    /// How often it has been armed at the end of the scope, if that is known.
    pub end: Option<AffineExpr>,
}

/// What a barrier of [`Plan::syncs`] stands before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SyncPoint {
    /// The place where a phase is opened.
    Phase(PhaseId),
    /// A load, after its phase was opened.
    Load(LoadId),
}

/// A barrier of [`Plan::syncs`]: a rendezvous of all threads, at a barrier of the block or at an mbarrier.
#[derive(Clone, Debug)]
pub struct Rendezvous {
    /// The point that it stands before.
    pub before: SyncPoint,
    /// On which ring of [`Plan::rendezvous_rings`] it is.
    pub ring: usize,
    /// How many rendezvous come before it, if that is known.
    pub number: Option<AffineExpr>,
    /// True if, where threads meet at mbarriers, one may be so far ahead that it has to wait for the slot's last phase.
    pub waits: bool,
}

/// The ring of the rendezvous of the same threads.
#[derive(Clone, Debug)]
pub struct RendezvousRing {
    /// The roles of the threads that arrive; none: threads don't differ in roles.
    pub roles: RoleSet,
    /// True if the running program counts them.
    pub counted: bool,
    /// The region ops that have any.
    pub within: IndexVec<RegionOpId, bool>,
    /// True if the issuing thread, which has another role, arrives as well: else others could be so far ahead that it takes one
    /// phase for another.
    pub issuer_arrives: bool,
}
