//! What comes before all loads and behind them: mbarriers are initialised once, and invalidated.

use super::War;
use super::emit::{Emitter, value, write};
use super::mbarriers::{Mbarriers, Number};
use async_dialects::gpu::{Dimension, block_threads};
use async_dialects::ir::{Op, OpBuilder, Value};
use async_dialects::llvm::{AddressSpace, pointer};
use async_dialects::names::{arith, attr, gpu, llvm, nvgpu, nvvm};
use tokenflow::phases::{RingId, meet_first};

impl<'c> Emitter<'_, 'c> {
    /// Makes and initialises the rings before `before`: by one thread, with a fence, so that all threads and the
    /// asynchronous proxy find them initialised behind a barrier: the one here, unless one comes soon enough anyway.
    pub(super) fn initialise(&mut self, before: Op<'c>) {
        let one = self.index(1);
        for ring in &self.plan.rings {
            let ring = self.create(ring.depth, before);
            self.rings.push(ring);
            self.initialise_ring(ring, one, before);
        }
        if self.war == War::Mbarrier && !self.plan.syncs.is_empty() {
            let ring = self.create(self.plan.sync_depth(), before);
            let threads = self.threads(before);
            self.initialise_ring(ring, threads, before);
            self.reached = Some(ring);
            if self.plan.syncs_carried {
                self.reached_counter = Some(self.small(0));
            }
        }
        for (ring, of) in self.plan.rings.iter().enumerate() {
            if of.carried {
                self.counters[ring] = Some(self.small(0));
            }
        }
        write(nvvm::FENCE_MBARRIER_INIT, &[], &[], before);
        if meet_first(&self.read.tree, self.plan, self.war == War::Barrier) {
            write(gpu::BARRIER, &[], &[], before);
        }
    }

    fn initialise_ring(&mut self, ring: Mbarriers<'c>, arrivals: Value<'c>, before: Op<'c>) {
        let leader = self.leader();
        for slot in 0..ring.depth {
            let slot = self.index(slot);
            let operands = [ring.group, arrivals, slot, leader];
            write(nvgpu::MBARRIER_INIT, &operands, &[], before);
        }
    }

    /// How many threads the block has.
    fn threads(&mut self, before: Op<'c>) -> Value<'c> {
        if let Some(threads) = block_threads(self.function) {
            return self.index(threads);
        }
        let mut product = None;
        for dimension in Dimension::ALL {
            let size = OpBuilder::new(gpu::BLOCK_DIM, before.location())
                .results(&[self.types.index])
                .attr(attr::DIMENSION, dimension.attribute(self.types.context))
                .before(before)
                .result(0);
            product = Some(product.map_or(size, |product| {
                value(arith::MULI, &[product, size], self.types.index, before)
            }));
        }
        product.unwrap_or_else(|| self.index(1))
    }

    /// Waits for what nobody may have waited for, and invalidates the rings, before `before`. One thread waits: the barrier
    /// behind it is for all.
    pub(super) fn finish(&mut self, before: Op<'c>) {
        for ring in 0..self.plan.rings.len() {
            if !self.plan.rings[ring].sure {
                self.drain(ring, before);
            }
        }
        write(gpu::BARRIER, &[], &[], before);
        let address = self.types.i32;
        let pointer = pointer(self.types.context, AddressSpace::Shared);
        let rings: Vec<Mbarriers> = self.rings.iter().copied().chain(self.reached).collect();
        let inside = self.as_leader(before);
        for ring in rings {
            for slot in 0..ring.depth {
                let slot = self.index(slot);
                let address = value(nvgpu::MBARRIER_GET, &[ring.group, slot], address, inside);
                let pointer = value(llvm::INTTOPTR, &[address], pointer, inside);
                write(nvvm::MBARRIER_INVAL, &[pointer], &[], inside);
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
                if !number.factors.is_empty() || number.constant >= mbarriers.depth {
                    numbers.push(Number::Known(number));
                }
            }
        } else if let Some(mut number) = self.counters[ring] {
            for _ in 0..mbarriers.depth {
                numbers.push(Number::Counted(number));
                number = self.next(mbarriers, number, before);
            }
        }
        for number in numbers {
            let slot = self.slot(mbarriers, &number, before);
            let parity = self.parity(mbarriers, &number, true, before);
            let inside = self.as_leader(before);
            self.wait(mbarriers, slot, parity, inside);
        }
    }
}
