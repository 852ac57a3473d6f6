//! Which awaits tell other warps that an access has ended that all threads began together, and that some have awaited: the tokens that stand
//! for it go on changing hands.

use super::super::graph::{Kernel, StepId};
use super::super::in_flight::{InFlightAccess, Outcome, advance};
use crate::Token;
use crate::ids::{IndexVec, ids};
use rustc_hash::FxHashMap;

ids! {
    /// What an access is awaited by.
    AwaitedId;
}

/// All that accesses are awaited by, each with a number.
#[derive(Default)]
pub(super) struct Awaited {
    all: IndexVec<AwaitedId, InFlightAccess>,
    ids: FxHashMap<InFlightAccess, AwaitedId>,
    /// What was asked of steps.
    known: FxHashMap<(AwaitedId, StepId), (AwaitedId, bool)>,
}

impl Awaited {
    /// The number of `awaited`.
    pub fn id(&mut self, awaited: InFlightAccess) -> AwaitedId {
        if let Some(known) = self.ids.get(&awaited) {
            return *known;
        }
        let id = self.all.push(awaited.clone());
        self.ids.insert(awaited, id);
        id
    }

    /// What it is after step `at`, and whether all threads that come by there know then that it has ended.
    pub fn after_step(&mut self, kernel: &Kernel, at: StepId, id: AwaitedId) -> (AwaitedId, bool) {
        if let Some(known) = self.known.get(&(id, at)) {
            return *known;
        }
        let mut awaited = self.all[id].clone();
        let is_over = advance(kernel, at, &mut awaited) == Outcome::IsOver;
        let after = (self.id(awaited), is_over && kernel.steps[at].warps.whole);
        self.known.insert((id, at), after);
        after
    }

    /// What it is after an edge that hands over tokens.
    pub fn after_edge(&mut self, id: AwaitedId, bindings: &[(Token, Token)]) -> AwaitedId {
        if bindings.is_empty() {
            return id;
        }
        let bound = self.all[id].clone().bound(bindings);
        self.id(bound)
    }
}
