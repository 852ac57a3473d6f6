//! Step 1: the conflict relation: which accesses conflict, at a given iteration distance.

use super::graph::{AccessId, Kernel};
use async_overlap::{Conflict, Distance, overlap};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// The relation: which accesses of a kernel conflict.
pub(super) struct ConflictRelation<'k> {
    kernel: &'k Kernel,
    /// Accesses that are the same to every other access have the same number.
    class: Vec<u32>,
    known: RefCell<FxHashMap<Query, Conflict>>,
}

/// Two classes of accesses, and how far apart they are.
type Query = (u32, u32, Distance);

impl<'k> ConflictRelation<'k> {
    pub fn new(kernel: &'k Kernel) -> Self {
        let mut numbers = FxHashMap::default();
        let class = kernel.accesses.iter().map(|access| {
            let footprint = &access.footprint;
            let sets = footprint.sets();
            let sets: Vec<_> = sets
                .map(|(bytes, offset)| (bytes.map(Rc::as_ptr), offset.clone()))
                .collect();
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            let key = (footprint.buffer, sets, footprint.certain, access.kind as u8);
            *numbers.entry(key).or_insert(next)
        });
        let class = class.collect();
        Self {
            kernel,
            class,
            known: RefCell::default(),
        }
    }

    /// The number of accesses that are like `access`.
    pub fn class(&self, access: AccessId) -> u32 {
        self.class[access.0]
    }

    /// Whether the access `from` of one thread conflicts with the access `to` of another one, which is `distance` later.
    pub fn conflict(&self, from: AccessId, to: AccessId, distance: Distance) -> Conflict {
        let (a, b) = (&self.kernel.accesses[from], &self.kernel.accesses[to]);
        if a.footprint.buffer != b.footprint.buffer || !a.kind.conflicts_with(b.kind) {
            return Conflict::None;
        }
        let query = (self.class(from), self.class(to), distance);
        if let Some(&known) = self.known.borrow().get(&query) {
            return known;
        }
        let answer = overlap(&self.kernel.loops, distance, &a.footprint, &b.footprint);
        self.known.borrow_mut().insert(query, answer);
        answer
    }
}
