//! How mbarriers begin and end.

use super::{Key, Live, MBarrier, Machine};
use crate::memory::Actor;
use crate::report::Problem;
use crate::value::Pointer;

impl Machine<'_> {
    pub(super) fn init(&mut self, t: usize, key: Key, count: i64) {
        let actor = self.actor(t);
        if let Some(live) = self.get(key) {
            let before = live.init.spot;
            let problem = Problem::init_twice(actor.spot, before, &self.called(key));
            self.memory.reports.problem(problem);
        }
        let live = MBarrier::Live(Box::new(Live::new(actor, count)));
        self.mbarriers.insert(key, live);
        let (buffer, offset) = key;
        self.memory.place_mbarrier(Pointer { buffer, offset }, actor.spot);
        if let Some(timeline) = self.timing() {
            timeline.renew(key);
        }
    }

    /// Thread `t` makes what it has initialized known.
    pub(in crate::machine) fn fence_init(&mut self, t: usize) {
        let actor = self.actor(t);
        for mbarrier in self.mbarriers.values_mut() {
            if let MBarrier::Live(live) = mbarrier
                && live.init.spot.thread == actor.spot.thread
            {
                live.fenced.get_or_insert(actor);
            }
        }
    }

    pub(super) fn inval(&mut self, t: usize, key: Key) {
        let actor = self.actor(t);
        let Some(live) = self.live(t, key) else { return };
        let uses: Vec<Actor> = live.uses.values().copied().collect();
        let flight = live.flights.first().map(|(id, _)| *id);
        let user = uses.into_iter().find(|used| self.memory.unordered(*used, actor));
        let other = match flight {
            Some(id) => Some((self.memory.issuer(id), true)),
            None => user.map(|user| (user.spot, false)),
        };
        if let Some((other, flies)) = other {
            let problem = Problem::inval_in_use(actor.spot, other, flies, &self.called(key));
            self.memory.reports.problem(problem);
        }
        self.mbarriers.insert(key, MBarrier::Dead(actor.spot));
        let (buffer, offset) = key;
        self.memory.remove_mbarrier(Pointer { buffer, offset });
    }

    /// A block ends: notes the mbarriers that nobody has waited for.
    pub(in crate::machine) fn note_unawaited(&mut self) {
        for (&(buffer, offset), mbarrier) in &self.mbarriers {
            if matches!(mbarrier, MBarrier::Live(live) if !live.awaited) {
                self.memory.reports.nobody_waits(buffer, offset);
            }
        }
    }

    /// What is left in the mbarriers of a block that ends.
    pub(in crate::machine) fn drain_mbarriers(&mut self) {
        for (&key, mbarrier) in &self.mbarriers {
            let MBarrier::Live(live) = mbarrier else { continue };
            if live.left() != 0 && !live.broken {
                let (name, opposite) = (self.called(key), self.opposite(key));
                let (spots, phase) = ((live.armed, live.init.spot), (live.phase, name.as_str()));
                let problem = Problem::wrong_bytes(spots, live.left(), phase, opposite.as_ref());
                self.memory.reports.problem(problem);
            }
        }
        self.mbarriers.clear();
    }

    /// The phase and the name of another mbarrier of the same buffer that lacks as many bytes as this one has too many, or the other
    /// way around: a load may complete on the wrong one of them.
    pub(super) fn opposite(&self, key: Key) -> Option<(u64, String)> {
        let left = |mbarrier: &MBarrier| match mbarrier {
            MBarrier::Live(live) => (live.left(), live.phase),
            MBarrier::Dead(_) => (0, 0),
        };
        let (own, _) = left(self.mbarriers.get(&key)?);
        let beside = self.mbarriers.range((key.0, i64::MIN)..=(key.0, i64::MAX));
        let mut others = beside.map(|(other, mbarrier)| (*other, left(mbarrier)));
        let other = others.find(|(_, (left, _))| own != 0 && *left == -own);
        other.map(|(other, (_, phase))| (phase, self.called(other)))
    }
}
