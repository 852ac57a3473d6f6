//! Warp specialization: roles say which threads execute what.
//!
//! The threads of a block have **roles**, fixed once: a region op may be one whose blocks are each for some roles. A thread runs
//! those that its role is among, in order, and passes the others by. Loads, and all else outside of such region ops, are for
//! all threads. One thread, of the issuer's role, issues all loads.
//!
//! Three views of the same tree answer all questions:
//!
//! - as the threads **together** run it ([`Tree::together`]): the blocks of a region op with roles one after the other. What
//!   some thread may have done or may still do is what happens on a path of this view: hazards, ages, depths;
//! - as **one role** runs it ([`Tree::of_role`]): the blocks for others are left out. What a role surely has done is what
//!   happens on all paths of that view: awaits, and how far it may be ahead;
//! - as a tree in which the blocks are **alternatives**, as it is given: what *every* thread surely has done is what
//!   happens on all paths of it: availability.

use super::ids::{AwaitId, BlockId, IndexVec, RingId};
use super::partition::Partition;
use super::rings::Rings;
use super::tree::{Edge, Inst, Tree};

/// Some of the roles of a block's threads, of which there are at most 32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RoleSet(pub u32);

impl RoleSet {
    /// The roles from 0 to `number`, not included.
    #[must_use]
    pub fn first(number: u32) -> Self {
        Self(1_u32.checked_shl(number).map_or(u32::MAX, |end| end - 1))
    }

    /// One role.
    #[must_use]
    pub fn of(role: u32) -> Self {
        Self(1_u32.checked_shl(role).unwrap_or(0))
    }

    /// Returns true if `role` is among them.
    #[must_use]
    pub fn has(self, role: u32) -> bool {
        self.0 & Self::of(role).0 != 0
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that are in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that are in either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let first = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (first < u32::BITS).then_some(first)
        })
    }
}

impl Tree {
    /// Returns true if threads have different roles.
    #[must_use]
    pub fn has_roles(&self) -> bool {
        self.roles > 1
    }

    /// All roles.
    #[must_use]
    pub fn all_roles(&self) -> RoleSet {
        RoleSet::first(self.roles.max(1))
    }

    /// As threads of all roles together run it: blocks for different roles one after the other.
    pub(super) fn together(&self) -> Self {
        self.in_sequence(self.all_roles())
    }

    /// As threads of one role run it.
    pub(super) fn of_role(&self, role: u32) -> Self {
        self.in_sequence(RoleSet::of(role))
    }

    /// As a thread would run it that has all of `roles`.
    fn in_sequence(&self, roles: RoleSet) -> Self {
        let mut tree = self.clone();
        for op in tree.region_ops.iter_mut().filter(|op| !op.roles.is_empty()) {
            let mut from = None;
            op.edges.clear();
            let places = op.roles.iter().enumerate();
            let run = places.filter(|(_, of)| !of.and(roles).is_empty());
            let to = run.map(|(place, _)| Some(place)).chain([None]);
            for to in to {
                let bindings = Vec::new();
                op.edges.push(Edge { from, to, bindings });
                from = to;
            }
        }
        tree
    }

    /// The first instruction of the body that is for some roles, or has such an instruction in it.
    pub(super) fn first_with_roles(&self) -> Option<usize> {
        let mut with_roles = IndexVec::filled(false, self.region_ops.len());
        for (id, op) in self.region_ops.with_ids().rev() {
            let mut insts = op.blocks.iter().flat_map(|&block| &self.blocks[block].insts);
            let inside = insts.any(|inst| matches!(inst, Inst::RegionOp(inner) if with_roles[*inner]));
            with_roles[id] = inside || !op.roles.is_empty();
        }
        let mut insts = self.blocks[BlockId(0)].insts.iter();
        insts.position(|inst| matches!(inst, Inst::RegionOp(op) if with_roles[*op]))
    }

    /// The roles that run each block.
    fn roles_of_blocks(&self) -> IndexVec<BlockId, RoleSet> {
        let mut roles = IndexVec::filled(self.all_roles(), self.blocks.len());
        // Region ops inside of others come after them.
        for op in &self.region_ops {
            for (place, &block) in op.blocks.iter().enumerate() {
                let own = op.roles.get(place).copied();
                roles[block] = roles[op.parent].and(own.unwrap_or(self.all_roles()));
            }
        }
        roles
    }
}

/// For each role, the rings with phases that it awaits, and the first await of each.
pub(super) fn awaited_rings(
    tree: &Tree,
    partition: &Partition,
    rings: &Rings,
) -> Vec<IndexVec<RingId, Option<AwaitId>>> {
    let none = IndexVec::filled(None, rings.depth.len());
    let mut awaited = vec![none; tree.roles.max(1) as usize];
    let roles = tree.roles_of_blocks();
    for (block, insts) in tree.blocks.with_ids() {
        for inst in &insts.insts {
            let Inst::Await { id, .. } = inst else { continue };
            for &phase in &partition.awaits[*id] {
                for role in roles[block].iter() {
                    awaited[role as usize][rings.of(phase)].get_or_insert(*id);
                }
            }
        }
    }
    awaited
}
