//! Step 10: verifies a plan: what an emitter relies on, checked in debug builds.
//!
//! A plan that breaks any of it comes from a fault of ours. [`Plan::verify`] says which.
//!
//! **Cost.** Linear in the size of plan and tree, times the depth of the tree.

use super::affine::{AffineExpr, Symbol};
use super::ids::{BlockId, IndexVec, LoadId, PhaseId, PhiId, RegionOpId, RingId};
use super::partition::{MAX_PHASE_BYTES, PhaseValue};
use super::plan::{Phase, Plan, SyncPoint};
use super::rings::{InstPositions, MAX_DEPTH};
use super::roles::RoleSet;
use super::tree::{Tree, Trips};
use std::collections::BTreeSet;

/// Fails with `message` unless `condition` holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

impl Plan {
    /// Checks that the plan fits `tree`, which it was made for.
    ///
    /// # Errors
    ///
    /// Says what an emitter would stumble over.
    pub fn verify(&self, tree: &Tree) -> Result<(), String> {
        if !self.unallocated.is_empty() {
            let nothing_else = self.phases.is_empty() && self.rings.is_empty();
            ensure!(nothing_else, "loads are unallocated, and others planned");
            return Ok(());
        }
        let sites = InstPositions::new(tree);
        let verifier = Verifier {
            plan: self,
            tree,
            sites: &sites,
        };
        verifier.sizes()?;
        verifier.scope()?;
        self.rings.ids().try_for_each(|ring| verifier.ring(ring))?;
        self.phases.ids().try_for_each(|phase| verifier.phase(phase))?;
        verifier.each_load_once()?;
        self.phis.ids().try_for_each(|phi| verifier.phi(phi))?;
        verifier.awaits()?;
        verifier.rendezvous()
    }
}

struct Verifier<'a> {
    plan: &'a Plan,
    tree: &'a Tree,
    sites: &'a InstPositions,
}

impl Verifier<'_> {
    /// There is an entry for everything.
    fn sizes(&self) -> Result<(), String> {
        let (plan, tree) = (self.plan, self.tree);
        let ops = tree.region_ops.len();
        for (what, has, needs) in [
            ("awaits", plan.awaits.len(), tree.awaits),
            ("syncs of loads", plan.syncs.loads.len(), tree.loads.len()),
            ("syncs of phases", plan.syncs.phases.len(), plan.phases.len()),
            ("syncs of stores", plan.syncs.stores.len(), tree.stores),
            ("region ops with armed rings", plan.armed_rings.len(), ops),
        ] {
            ensure!(has == needs, "there are {has} {what}, and should be {needs}");
        }
        for rendezvous_ring in &plan.rendezvous_rings {
            let has = rendezvous_ring.within.len();
            ensure!(
                has == ops,
                "there are {has} region ops with rendezvous, and should be {ops}"
            );
        }
        Ok(())
    }

    /// Mbarriers are initialized once: outside of all loops.
    fn scope(&self) -> Result<(), String> {
        let (scope, (first, last)) = (self.plan.scope, self.plan.extent);
        ensure!(scope.0 < self.tree.blocks.len(), "the scope is no block");
        let len = self.tree.blocks[scope].insts.len();
        ensure!(
            self.plan.phases.is_empty() || first <= last && last < len,
            "the scope has no instructions {first} to {last}"
        );
        let mut around = std::iter::successors(Some(scope), |&block| self.tree.outer(block));
        let repeats = around.any(|block| {
            let op = self.tree.blocks[block].parent_op;
            op.is_some_and(|op| self.tree.region_ops[op].repeats())
        });
        ensure!(!repeats, "mbarriers are initialized in a loop");
        Ok(())
    }

    /// Returns true if a place lies between initialization and invalidation.
    fn is_in_scope(&self, place: (BlockId, usize)) -> bool {
        let inst = self.sites.inst_in(self.tree, self.plan.scope, place);
        let (first, last) = self.plan.extent;
        inst.is_some_and(|inst| (first..=last).contains(&inst))
    }

    fn ring(&self, id: RingId) -> Result<(), String> {
        let ring = &self.plan.rings[id];
        ensure!(
            (1..=MAX_DEPTH).contains(&ring.depth),
            "ring {id} has {} mbarriers",
            ring.depth
        );
        ensure!(
            self.plan.phases.iter().any(|phase| phase.ring == id),
            "ring {id} has no phase"
        );
        // Its last phases are waited for at the end.
        ensure!(
            ring.always_awaited || ring.has_counter || ring.end.is_some(),
            "ring {id} is drained, but nothing says at which number"
        );
        ring.end.as_ref().map_or(Ok(()), |end| self.number(end, None))
    }

    fn phase(&self, id: PhaseId) -> Result<(), String> {
        let phase = &self.plan.phases[id];
        ensure!(phase.ring.0 < self.plan.rings.len(), "phase {id} is on no ring");
        let block = phase.open_block;
        ensure!(
            block.0 < self.tree.blocks.len(),
            "phase {id} is opened in no block"
        );
        ensure!(
            self.is_in_scope((block, phase.first)) && self.is_in_scope((block, phase.last)),
            "phase {id} is opened where its mbarrier is not initialized"
        );
        ensure!(!phase.loads.is_empty(), "phase {id} has no load");
        for &load in &phase.loads {
            ensure!(
                load.0 < self.tree.loads.len(),
                "phase {id} has a load {load}, which is none"
            );
            let inst = self.sites.inst_in(self.tree, block, self.sites.load[load]);
            ensure!(
                inst.is_some_and(|inst| (phase.first..=phase.last).contains(&inst)),
                "phase {id} is not open at load {load}"
            );
        }
        self.arrivals(id, phase)?;
        self.has_number(phase.ring, phase.number.as_ref(), Some(block))
            .map_err(|error| format!("phase {id} {error}"))?;
        for op in self.ops_around(block) {
            ensure!(
                self.plan.armed_rings[op].contains(&phase.ring),
                "ring {} is armed in region op {op}, which is not said to arm it",
                phase.ring
            );
        }
        Ok(())
    }

    /// A phase expects the bytes of its loads.
    fn arrivals(&self, id: PhaseId, phase: &Phase) -> Result<(), String> {
        let Some(expected) = phase.bytes else {
            return Ok(());
        };
        let mut bytes = Some(0_u64);
        for &load in &phase.loads {
            let mut times = Some(1_u64);
            for op in self.ops_between(phase.open_block, self.sites.load[load].0) {
                times = match self.tree.region_ops[op].trips {
                    Trips::Constant(trips) => times.and_then(|times| times.checked_mul(trips)),
                    _ => None,
                };
            }
            let own = times.and_then(|times| times.checked_mul(self.tree.loads[load].bytes));
            bytes = bytes.zip(own).and_then(|(sum, own)| sum.checked_add(own));
        }
        ensure!(
            bytes == Some(expected) && expected <= MAX_PHASE_BYTES,
            "phase {id} expects {expected} bytes, which are not those of its loads"
        );
        Ok(())
    }

    fn each_load_once(&self) -> Result<(), String> {
        let mut phases = IndexVec::<LoadId, u64>::filled(0, self.tree.loads.len());
        for &load in self.plan.phases.iter().flat_map(|phase| &phase.loads) {
            phases[load] += 1;
        }
        for (load, &phases) in phases.with_ids() {
            ensure!(phases == 1, "load {load} is in {phases} phases");
        }
        Ok(())
    }

    fn phi(&self, id: PhiId) -> Result<(), String> {
        let phi = &self.plan.phis[id];
        ensure!(phi.ring.0 < self.plan.rings.len(), "phi {id} is on no ring");
        ensure!(!phi.tokens.is_empty(), "phi {id} stands for no token");
        self.has_number(phi.ring, phi.number.as_ref(), None)
            .map_err(|error| format!("phi {id} {error}"))?;
        for incoming in &phi.incoming {
            let op = self.tree.region_ops.get(incoming.op);
            let edge = op.and_then(|op| op.edges.get(incoming.edge));
            let Some((op, edge)) = op.zip(edge) else {
                return Err(format!("phi {id} is bound by no edge"));
            };
            let Some(phase) = incoming.phase else {
                ensure!(phi.may_be_complete, "phi {id} is bound to a complete token");
                continue;
            };
            let ring = self
                .ring_of(phase)
                .ok_or(format!("phi {id} is bound to no phase"))?;
            ensure!(ring == phi.ring, "phi {id} is bound to a phase of another ring");
            if let PhaseValue::Phi(other) = phase {
                let may_be = self.plan.phis[other].may_be_complete;
                ensure!(
                    !may_be || phi.may_be_complete,
                    "phi {id} is bound to a complete token"
                );
            }
            let end = (edge.from).map(|from| (op.blocks[from], usize::MAX));
            let end = end.unwrap_or((op.parent, self.sites.region_ops[incoming.op]));
            ensure!(
                self.dominates(phase, end),
                "phi {id} is bound to what is not opened by then"
            );
        }
        Ok(())
    }

    fn awaits(&self) -> Result<(), String> {
        for (id, phases) in self.plan.awaits.with_ids() {
            for &phase in phases {
                ensure!(self.ring_of(phase).is_some(), "await {id} is for no phase");
                ensure!(
                    self.is_in_scope(self.sites.awaits[id]),
                    "await {id} is for an mbarrier that is not initialized there"
                );
                ensure!(
                    self.dominates(phase, self.sites.awaits[id]),
                    "await {id} is for what is not opened by then"
                );
            }
        }
        Ok(())
    }

    /// There is a rendezvous for each barrier, and a number for it.
    fn rendezvous(&self) -> Result<(), String> {
        let syncs = &self.plan.syncs;
        let phases = syncs.phases.with_ids().filter(|(_, sync)| sync.barrier);
        let loads = syncs.loads.with_ids().filter(|(_, sync)| sync.barrier);
        let phases = phases.map(|(phase, _)| SyncPoint::Phase(phase));
        let barriers: BTreeSet<SyncPoint> = phases
            .chain(loads.map(|(load, _)| SyncPoint::Load(load)))
            .collect();
        let all = || self.plan.rendezvous.iter();
        let rendezvous: BTreeSet<SyncPoint> = all().map(|rendezvous| rendezvous.before).collect();
        ensure!(
            barriers == rendezvous && all().count() == rendezvous.len(),
            "barriers and rendezvous differ"
        );
        for rendezvous in all() {
            let Some(rendezvous_ring) = self.plan.rendezvous_rings.get(rendezvous.ring) else {
                return Err("a rendezvous is on no ring".to_owned());
            };
            ensure!(
                rendezvous_ring.counted || rendezvous.number.is_some(),
                "a rendezvous has no number, and nothing counts"
            );
            let who = syncs.participants.get(&rendezvous.before);
            ensure!(
                who.map_or(RoleSet::default(), |who| who.barrier) == rendezvous_ring.roles,
                "those who arrive at a rendezvous are not those who meet there"
            );
            let block = match rendezvous.before {
                SyncPoint::Phase(phase) => self.plan.phases[phase].open_block,
                SyncPoint::Load(load) => self.sites.load[load].0,
            };
            for op in self.ops_around(block) {
                ensure!(
                    rendezvous_ring.within[op],
                    "threads meet in region op {op}, in which it is said that they don't"
                );
            }
        }
        Ok(())
    }

    /// Every phase of a ring has a number if nothing counts them.
    fn has_number(
        &self,
        ring: RingId,
        number: Option<&AffineExpr>,
        block: Option<BlockId>,
    ) -> Result<(), String> {
        match number {
            None if self.plan.rings[ring].has_counter => Ok(()),
            None => Err("has no number, and nothing counts".to_owned()),
            Some(number) => self.number(number, block),
        }
    }

    /// A number is of loops whose iterations are numbered, and, if it is needed in `block`, of iterations around that.
    fn number(&self, number: &AffineExpr, block: Option<BlockId>) -> Result<(), String> {
        for symbol in number.coefficients.keys() {
            let (Symbol::Iteration(id) | Symbol::TripCount(id)) = *symbol;
            let op = self.tree.region_ops.get(id);
            ensure!(
                op.is_some_and(|op| op.trips != Trips::FromEdges),
                "has a number of region op {id}, which is no counted loop"
            );
            if let (Symbol::Iteration(id), Some(block)) = (symbol, block) {
                let mut around = std::iter::successors(Some(block), |&block| self.tree.outer(block));
                ensure!(
                    around.any(|block| self.tree.blocks[block].parent_op == Some(*id)),
                    "has a number of an iteration of region op {id}, which is not around it"
                );
            }
        }
        Ok(())
    }

    /// The ring of a phase or phi, if there is such a one.
    fn ring_of(&self, phase: PhaseValue) -> Option<RingId> {
        match phase {
            PhaseValue::Opened(phase) => self.plan.phases.get(phase).map(|phase| phase.ring),
            PhaseValue::Phi(phi) => self.plan.phis.get(phi).map(|phi| phi.ring),
        }
    }

    /// Returns true if a phase is opened before `place` on every path to it; phis are taken to be.
    fn dominates(&self, phase: PhaseValue, place: (BlockId, usize)) -> bool {
        let PhaseValue::Opened(phase) = phase else {
            return true;
        };
        let phase = &self.plan.phases[phase];
        let inst = self.sites.inst_in(self.tree, phase.open_block, place);
        inst.is_some_and(|inst| phase.first <= inst)
    }

    /// The region ops around a block, out to the scope.
    fn ops_around(&self, block: BlockId) -> Vec<RegionOpId> {
        self.ops_between(self.plan.scope, block)
    }

    /// The region ops in `outer` that are around `inner`.
    fn ops_between(&self, outer: BlockId, inner: BlockId) -> Vec<RegionOpId> {
        let blocks = std::iter::successors(Some(inner), |&block| self.tree.outer(block));
        let inside = blocks.take_while(|block| *block != outer);
        inside
            .filter_map(|block| self.tree.blocks[block].parent_op)
            .collect()
    }
}
