//! Emits `nvgpu.mbarrier.init` before all loads, and `nvvm.mbarrier.inval` after them.

use super::Emitter;
use crate::analysis::warps::WARP_THREADS;
use crate::tokens_to_mbarriers::WarProtection;
use crate::tokens_to_mbarriers::builder::{value, write};
use crate::tokens_to_mbarriers::mbarrier_ring::{MbarrierRing, Number, WhichPhase};
use async_mlir::gpu::{Dimension, block_threads};
use async_mlir::ir::{Op, OpBuilder, Value};
use async_mlir::names::{arith, attr, gpu, nvgpu, nvvm};
use tokenflow::phases::{RendezvousRing, RingId, needs_init_barrier};

impl<'c> Emitter<'_, 'c> {
    /// Makes and initializes the rings before `before`: by one thread, with a fence, so that all threads and the
    /// asynchronous proxy find them initialized after a barrier: the one here, unless one comes soon enough anyway.
    pub(super) fn initialize(&mut self, before: Op<'c>) {
        let one = self.builder.const_index(1);
        for ring in &self.plan.rings {
            let ring = MbarrierRing::create(&self.builder, ring.depth, before);
            self.rings.push(ring);
            self.initialize_ring(ring, one, before);
        }
        if self.war == WarProtection::Mbarrier && !self.plan.rendezvous.is_empty() {
            for rendezvous_ring in &self.plan.rendezvous_rings {
                let ring = MbarrierRing::create(&self.builder, self.plan.rendezvous_depth(), before);
                let arrivals = self.arrivals(rendezvous_ring, before);
                self.initialize_ring(ring, arrivals, before);
                self.rendezvous.push(ring);
            }
            for (ring, _) in self
                .plan
                .rendezvous_rings
                .iter()
                .enumerate()
                .filter(|(_, it)| it.counted)
            {
                self.state.rendezvous_counters[ring] = Some(self.builder.const_count(0));
            }
        }
        for (ring, _) in self.plan.rings.with_ids().filter(|(_, ring)| ring.has_counter) {
            self.state.counters[ring] = Some(self.builder.const_count(0));
        }
        self.make_roles(before);
        write(nvvm::FENCE_MBARRIER_INIT, &[], &[], before);
        if needs_init_barrier(&self.read.tree, self.plan, self.war == WarProtection::Barrier) {
            write(gpu::BARRIER, &[], &[], before);
        }
    }

    fn initialize_ring(&mut self, ring: MbarrierRing<'c>, arrivals: Value<'c>, before: Op<'c>) {
        let leader = self.builder.leader();
        for slot in 0..ring.depth {
            let slot = self.builder.const_index(slot);
            let operands = [ring.group, arrivals, slot, leader];
            write(nvgpu::MBARRIER_INIT, &operands, &[], before);
        }
    }

    /// Makes what says which threads take part where threads meet, before `before`.
    fn make_roles(&mut self, before: Op<'c>) {
        let Some(roles) = self.read.roles.as_ref().filter(|_| self.read.tree.has_roles()) else {
            return;
        };
        for who in self.plan.syncs.participants.values() {
            for some in [who.fence, who.barrier] {
                if !some.is_empty() && some != self.read.tree.all_roles() {
                    self.builder.make_in_warps(roles.warps_of(some), before);
                }
            }
        }
    }

    /// How many threads arrive where these meet.
    fn arrivals(&mut self, rendezvous_ring: &RendezvousRing, before: Op<'c>) -> Value<'c> {
        match &self.read.roles {
            Some(roles) if self.read.tree.has_roles() => {
                let threads = WARP_THREADS * roles.warps_of(rendezvous_ring.roles).count_ones();
                let arrivals = u64::from(threads) + u64::from(rendezvous_ring.issuer_arrives);
                self.builder.const_index(arrivals)
            }
            _ => self.threads(before),
        }
    }

    /// How many threads the block has.
    fn threads(&mut self, before: Op<'c>) -> Value<'c> {
        if let Some(threads) = block_threads(self.builder.function) {
            return self.builder.const_index(threads);
        }
        let index = self.builder.index;
        let mut product = None;
        for dimension in Dimension::ALL {
            let size = OpBuilder::new(gpu::BLOCK_DIM, before.location())
                .results(&[index])
                .attr(attr::DIMENSION, dimension.attribute(self.builder.context))
                .before(before)
                .result(0);
            product = Some(product.map_or(size, |product| {
                value(arith::MULI, &[product, size], index, before)
            }));
        }
        product.unwrap_or_else(|| self.builder.const_index(1))
    }

    /// Waits for what may not have been waited for, and invalidates the rings, before `before`. One thread waits: the barrier
    /// after it is for all.
    pub(super) fn finish(&mut self, before: Op<'c>) {
        for (ring, _) in self
            .plan
            .rings
            .with_ids()
            .filter(|(_, ring)| !ring.always_awaited)
        {
            self.drain(ring, before);
        }
        // Threads of some roles may be through long before others: what they don't wait for lives as long as the block.
        if self.read.tree.has_roles() {
            return;
        }
        write(gpu::BARRIER, &[], &[], before);
        let rings: Vec<MbarrierRing> = self
            .rings
            .iter()
            .copied()
            .chain(self.rendezvous.iter().copied())
            .collect();
        let inside = self.builder.as_leader(before);
        for ring in rings {
            for slot in 0..ring.depth {
                let slot = self.builder.const_index(slot);
                let address = ring.address(&self.builder, slot, inside);
                write(nvvm::MBARRIER_INVAL, &[address], &[], inside);
            }
        }
    }

    /// Has the issuing thread wait for the last phase of each slot of a ring.
    fn drain(&mut self, ring: RingId, before: Op<'c>) {
        let mbarriers = self.rings[ring];
        let mut numbers: Vec<Number> = Vec::new();
        if let Some(end) = self.plan.rings[ring].end.clone() {
            for later in 0..mbarriers.depth {
                let mut number = end.clone();
                number.constant += later;
                // Slots that were never armed have no last phase.
                if !number.coefficients.is_empty() || number.constant >= mbarriers.depth {
                    numbers.push(Number::Known(number));
                }
            }
        } else if let Some(mut number) = self.state.counters[ring] {
            for _ in 0..mbarriers.depth {
                numbers.push(Number::Counted(number));
                number = mbarriers.next(&mut self.builder, number, before);
            }
        }
        for number in numbers {
            let slot = mbarriers.slot(&mut self.builder, &self.read, &number, before);
            let parity = mbarriers.parity(
                &mut self.builder,
                &self.read,
                &number,
                WhichPhase::Previous,
                before,
            );
            let inside = self.builder.as_leader(before);
            mbarriers.wait(&mut self.builder, slot, parity, inside);
        }
    }
}
