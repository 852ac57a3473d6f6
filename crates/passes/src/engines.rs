//! Reads blocks into scheduling problems: what runs on which engine and for how long, and what depends on
//! what.
//!
//! [`effects`] collects the memory accesses of an operation, [`memory_dependences`] finds those that have to
//! stay in order, or [`cross_engine_dependences`] where the order is final. [`block_problem`] builds the
//! problem of a block, in which operations with regions are single nodes ([`region_ops`]). For a thread of a
//! GPU, [`thread_problem`] does that: [`cost_model`] has units and latencies, and [`awaits`] says what awaits
//! complete.

pub(crate) mod access_history;
pub(crate) mod awaits;
pub(crate) mod block_problem;
pub(crate) mod cost_model;
pub(crate) mod cross_engine_dependences;
pub(crate) mod effects;
pub(crate) mod event_limits;
pub(crate) mod memory_dependences;
pub(crate) mod region_ops;
pub(crate) mod thread_problem;

use async_dialects::completion::engine_name;
use async_dialects::names::gpux_attr;
use async_mlir::ir::Op;
use rustc_hash::FxHashMap;
use std::marker::PhantomData;
use tokenflow::schedule::EngineId;

/// Engines and their names.
#[derive(Default)]
pub(crate) struct Engines<'c> {
    names: Vec<String>,
    numbers: FxHashMap<String, EngineId>,
    context: PhantomData<&'c ()>,
}

impl<'c> Engines<'c> {
    /// The number of the engine called `name`.
    pub fn number(&mut self, name: &str) -> EngineId {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = EngineId(self.names.len());
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// How many engines have numbers.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// What an engine is called.
    pub fn name(&self, engine: EngineId) -> &str {
        &self.names[engine.0]
    }

    /// The engines called so, if they have numbers.
    pub fn pair(&self, from: &str, to: &str) -> Option<(EngineId, EngineId)> {
        let number = |name: &str| self.numbers.get(name).copied();
        number(from).zip(number(to))
    }

    /// The engine that `op` runs on, if it runs on one.
    pub fn of(&mut self, op: Op<'c>) -> Option<EngineId> {
        engine_name(op).map(|name| self.number(name))
    }

    /// The engines on which `op`, which is `around` or inside of it, accesses memory. If it is `around`, too much is known to tell what
    /// accesses what, and that is `all`.
    pub fn accessing(
        &mut self,
        op: Op<'c>,
        around: Op<'c>,
        all: impl FnOnce() -> Vec<EngineId>,
    ) -> Vec<EngineId> {
        match self.of(op).or_else(|| self.of(around)) {
            Some(engine) => vec![engine],
            None if op == around => all(),
            None => Vec::new(),
        }
    }
}

/// The cycles that attribute `name` of `op` says, if it says any.
fn cycles(op: Op<'_>, name: &str) -> Option<u64> {
    op.int_attr(name).and_then(|cycles| u64::try_from(cycles).ok())
}

/// The latency and the occupancy of `op`, where `otherwise` is what its latency is if it does not say.
pub(crate) fn times(op: Op<'_>, otherwise: u64) -> (u64, u64) {
    let latency = cycles(op, gpux_attr::LATENCY).unwrap_or(otherwise);
    (latency, cycles(op, gpux_attr::OCCUPANCY).unwrap_or(latency))
}
