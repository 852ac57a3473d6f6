//! Memories of workers that run some blocks each, and what they have done put together.

use super::cells::{Shadow, Touch};
use super::{Accesses, Memory, Reports};
use crate::adversary::Adversary;
use crate::report::Hazard;
use crate::value::BufferId;

/// Which forks have touched some bytes, by numbers from 1 on.
#[derive(Clone, Copy, Default)]
struct Users {
    writer: u16,
    /// The last one that has read them.
    reader: u16,
    /// True if others have read them, too.
    shared: bool,
}

impl Users {
    /// Adds one. Returns true if it has written what another one has touched, or touched what another one has written.
    fn meets(&mut self, fork: u16, touch: Touch) -> bool {
        let other = |user: u16| user != 0 && user != fork;
        if other(self.writer) || (touch == Touch::Write && (other(self.reader) || self.shared)) {
            return true;
        }
        match touch {
            Touch::Write => self.writer = fork,
            Touch::Read => {
                self.shared |= other(self.reader);
                self.reader = fork;
            }
        }
        false
    }
}

impl Memory {
    /// Who decides when asynchronous work happens.
    #[must_use]
    pub fn adversary(&self) -> &Adversary {
        &self.adversary
    }

    /// How many bytes the buffers have.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many buffers there are.
    #[must_use]
    pub fn buffer_count(&self) -> usize {
        self.buffers.len()
    }

    /// A block begins: what the adversary decides in it does not depend on other blocks.
    pub fn start_block(&mut self, block: u32) {
        if let Adversary::Random(seed) = self.first_adversary {
            self.adversary = Adversary::random_for(seed, block);
        }
    }

    /// The same memory for others that run some of the blocks; nobody has accessed it yet.
    #[must_use]
    pub fn fork(&self) -> Self {
        let threads_per_block = self.order.threads_per_block;
        Self {
            buffers: self.buffers.iter().map(super::Buffer::fork).collect(),
            copies: Vec::new(),
            first_copy: 0,
            done_copies: Vec::new(),
            phases: Vec::new(),
            bytes: self.bytes,
            access: 0,
            adversary: self.adversary.clone(),
            first_adversary: self.first_adversary.clone(),
            schedule_matters: false,
            order: self.order.clone(),
            accesses: Accesses::new(threads_per_block),
            reports: Reports::default(),
            seen: Vec::new(),
            watched: self.watched,
            read_hashes: None,
            touched_by_forks: None,
            strict_proxies: self.strict_proxies,
            window: self.window.clone(),
            side: self.side,
            unwritten: self.unwritten,
            verdict: None,
        }
    }

    /// Returns true if what these forks have done is not what they would have done one after the other: one has written what
    /// another one has touched, would have named a copy of an earlier one, or would have had no numbers left for accesses.
    #[must_use]
    pub fn meet(&self, forks: &[&Self]) -> bool {
        let events: usize = forks.iter().map(|fork| fork.accesses.room().0).sum();
        events >= self.accesses.room().1 || self.name_copies(forks) || self.share_bytes(forks)
    }

    /// Returns true if one reads what nobody has written, and the copy that comes nearest may be that of an earlier one.
    fn name_copies(&self, forks: &[&Self]) -> bool {
        let mut copied = false;
        forks.iter().any(|fork| {
            let is_common = |id: BufferId| (id.0 as usize) < self.buffers.len();
            let mut races = fork.reports.races();
            let names = races.any(|race| race.hazard == Hazard::Unwritten && is_common(race.buffer));
            let named = copied && names;
            copied |= !fork.done_copies.is_empty();
            named
        })
    }

    /// Returns true if one has written what another one has touched.
    fn share_bytes(&self, forks: &[&Self]) -> bool {
        (0..self.buffers.len()).any(|id| {
            let shadows = forks.iter().map(|fork| &fork.buffers[id].shadow);
            let unit = shadows.clone().map(Shadow::finest).min().unwrap_or(1);
            let mut users = vec![Users::default(); self.buffers[id].data.len().div_ceil(unit)];
            shadows.zip(1..).any(|(shadow, fork)| {
                let mut touched = shadow.touched();
                touched.any(|(granule, touch)| {
                    let units = granule.start / unit..(granule.end / unit).min(users.len());
                    users[units].iter_mut().any(|users| users.meets(fork, touch))
                })
            })
        })
    }

    /// Adds what a fork has done that does not meet the others, with later blocks than those so far. It began with `common`
    /// buffers, and entry `i` of its table of iterations is `entries[i]`. Returns what each of its buffers is here.
    pub fn adopt(
        &mut self,
        fork: Self,
        common: usize,
        entries: &[u32],
    ) -> impl Fn(BufferId) -> BufferId + use<> {
        let so_far = self.buffers.len();
        let place = move |id: BufferId| {
            let own = (id.0 as usize).checked_sub(common);
            own.map_or(id, |own| {
                BufferId(u32::try_from(so_far + own).unwrap_or(u32::MAX))
            })
        };
        if let Some(touched) = &mut self.touched_by_forks {
            touched.push(fork.touched(common));
        }
        self.reports.adopt(fork.reports, entries, &place);
        self.schedule_matters |= fork.schedule_matters;
        for (id, mut theirs) in fork.buffers.into_iter().enumerate() {
            if id >= common {
                self.bytes += theirs.data.len();
                self.buffers.push(theirs);
                continue;
            }
            let ours = &mut self.buffers[id];
            ours.copied |= theirs.copied;
            for (granule, touch) in std::mem::take(&mut theirs.shadow).touched() {
                if touch == Touch::Write {
                    let granule = granule.start..granule.end.min(ours.data.len());
                    ours.data[granule.clone()].copy_from_slice(&theirs.data[granule]);
                }
            }
            for (ours, theirs) in ours.unwritten.iter_mut().zip(&theirs.unwritten) {
                *ours &= theirs;
            }
        }
        place
    }
}
