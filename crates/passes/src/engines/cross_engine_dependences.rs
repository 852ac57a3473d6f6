//! Computes which memory dependences engines have to wait for, where each engine keeps its order.
//!
//! Operations are in their final order, and each engine keeps it. So an access waits, for each engine, for
//! the last operation there that conflicts with it: what that engine did before is finished by then. That is
//! so unless the operation may not be executed, as what is inside of a branch or loop; then those before it
//! count as well. Nothing has to be known of other engines in between.
//!
//! The operations are gone through once, or twice if the block is a loop's body: then the second round is the
//! next iteration.
//!
//! Cost: that of [`History`].

use super::access_history::{Executor, History, Kind, Past, Position, What};
use super::effects::{Access, Effects};
use super::memory_dependences::MemoryDependence;
use async_dialects::names::gpux_attr;
use async_mlir::ir::Op;
use tokenflow::schedule::EngineId;

/// A dependence, and whether it is on everything that the producers' engines did up to the producer.
pub(crate) type CrossDependence<'c> = (MemoryDependence<'c>, bool);

struct Scan<'a, 'c, F> {
    ops: &'a [Op<'c>],
    /// The engines of an operation of the block, or of what is inside of it.
    engines_of: F,
    past: History<'c>,
    found: Vec<CrossDependence<'c>>,
}

/// What memory orders between engines among `ops`, of which `effects` are known, in a block that `repeats` or does not. `engines_of` says where the
/// operation of a number, or one inside of it, accesses memory.
pub(crate) fn dependences<'c>(
    ops: &[Op<'c>],
    effects: &[Effects<'c>],
    repeats: bool,
    engines_of: impl FnMut((usize, Op<'c>)) -> Vec<EngineId>,
) -> Vec<CrossDependence<'c>> {
    let accesses = effects.iter().flat_map(|effects| &effects.accesses);
    let mut scan = Scan {
        ops,
        engines_of,
        past: History::new(accesses),
        found: Vec::new(),
    };
    for position in 0..ops.len() * (1 + usize::from(repeats)) {
        scan.visit(position, &effects[position % ops.len()]);
    }
    scan.found
}

impl<'a, 'c, F: FnMut((usize, Op<'c>)) -> Vec<EngineId>> Scan<'a, 'c, F> {
    fn visit(&mut self, position: usize, effects: &'a Effects<'c>) {
        let op = self.ops[position % self.ops.len()];
        // What is inside of an operation that runs on an engine is a part of it. The two regions of a loop are ends of blocks.
        let is_certain = op.num_regions() == 0 && !op.is_terminator() || op.has_attr(gpux_attr::ENGINE);
        let own = (position, op);
        if effects.is_fence {
            self.come_after(self.past.all(Kind::Ordered), own);
        }
        if effects.stays || !effects.accesses.is_empty() {
            self.come_after(self.past.all(Kind::Fence), own);
        }
        for access in &effects.accesses {
            self.meet(position, access);
        }
        let event = |at, kind| Past {
            at,
            is_certain,
            what: What::Event(kind),
        };
        if effects.is_fence || effects.stays {
            for executor in self.executors(own) {
                self.past.add(executor, event(own, Kind::Ordered));
                if effects.is_fence {
                    self.past.add(executor, event(own, Kind::Fence));
                }
            }
        }
        for access in &effects.accesses {
            let at = (position, access.op);
            for executor in self.executors(at) {
                self.past.add(executor, event(at, Kind::Ordered));
                let past = Past {
                    at,
                    is_certain,
                    what: What::Access(*access),
                };
                self.past.add(executor, past);
            }
        }
    }

    /// Where an operation of the block, or one inside of it, does what it does.
    fn executors(&mut self, (position, op): Position<'c>) -> Vec<Executor> {
        let engines = (self.engines_of)((position % self.ops.len(), op));
        if engines.is_empty() {
            return vec![None];
        }
        engines.into_iter().map(Some).collect()
    }

    /// Finds what `access` has to come after.
    fn meet(&mut self, position: usize, access: &Access<'c>) {
        let number = self.ops.len();
        let found = self.past.before(access, |at, other| {
            let at_once = at / number == position / number;
            other.conflicts(access, at_once)
        });
        self.come_after(found, (position, access.op));
    }

    /// Notes dependences, unless they are within the second round.
    fn come_after(&mut self, past: Vec<(Position<'c>, bool)>, to: Position<'c>) {
        let number = self.ops.len();
        let past = past
            .into_iter()
            .filter(|(from, _)| from.0 < number && from.0 != to.0);
        self.found.extend(past.map(|(from, is_of_all)| {
            let dependence = MemoryDependence {
                from,
                to: (to.0 % number, to.1),
                distance: u32::from(to.0 >= number),
            };
            (dependence, is_of_all)
        }));
    }
}
