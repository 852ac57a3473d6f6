//! What is exposed at a point, by buffer: an access looks at that of its own alone, and a step that changes nothing hands all of it on.

use super::{Exposed, StepId};
use async_overlap::BufferId;
use rustc_hash::FxHashMap;

/// Where an exposed access has come by, and the step before, where paths meet.
pub(super) type Passage = (usize, Option<StepId>);

/// What is exposed before a step.
#[derive(Default)]
pub(super) struct Batch(FxHashMap<BufferId, FxHashMap<Exposed, Passage>>);

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.0.values().all(FxHashMap::is_empty)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Exposed, &Passage)> {
        self.0.values().flatten()
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Passage> {
        self.0.values_mut().flat_map(FxHashMap::values_mut)
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&Exposed, &Passage) -> bool) {
        for exposed in self.0.values_mut() {
            exposed.retain(|exposed, passage| keep(exposed, passage));
        }
    }

    /// What is exposed of one buffer.
    pub fn of(&self, buffer: BufferId) -> impl Iterator<Item = (&Exposed, &Passage)> {
        self.0.get(&buffer).into_iter().flatten()
    }

    pub fn remove(&mut self, exposed: &Exposed) {
        if let Some(of_buffer) = self.0.get_mut(&exposed.buffer) {
            of_buffer.remove(exposed);
        }
    }

    /// Adds what has come by one way, or by another one: `first` says which of two counts.
    pub fn add(&mut self, exposed: Exposed, passage: Passage, first: impl Fn(Passage, Passage) -> bool) {
        let of_buffer = self.0.entry(exposed.buffer).or_default();
        let known = of_buffer.entry(exposed).or_insert(passage);
        if first(passage, *known) {
            *known = passage;
        }
    }

    /// Adds it, in the place of what has come by another way.
    pub fn insert(&mut self, exposed: Exposed, passage: Passage) {
        self.0.entry(exposed.buffer).or_default().insert(exposed, passage);
    }

    /// Adds it, by the later of two ways.
    pub fn add_latest(&mut self, exposed: Exposed, passage: Passage) {
        self.add(exposed, passage, |new, known| new > known);
    }
}

impl IntoIterator for Batch {
    type Item = (Exposed, Passage);
    type IntoIter =
        std::iter::Flatten<std::collections::hash_map::IntoValues<BufferId, FxHashMap<Exposed, Passage>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_values().flatten()
    }
}

impl FromIterator<(Exposed, Passage)> for Batch {
    fn from_iter<T: IntoIterator<Item = (Exposed, Passage)>>(all: T) -> Self {
        let mut batch = Self::default();
        all.into_iter()
            .for_each(|(exposed, passage)| batch.insert(exposed, passage));
        batch
    }
}
