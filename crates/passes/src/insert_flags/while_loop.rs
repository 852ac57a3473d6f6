//! Models `scf.while` as a loop of a block with two nodes: its first region, and its second one or nothing.
//!
//! What the last iteration does after its first region is nothing, so the loop may end there.

use crate::engines::Engines;
use crate::engines::cross_engine_dependences;
use crate::engines::effects::effects_inside;
use crate::engines::region_ops::{go_back, made_of};
use async_mlir::ir::{Block, Definition, Op, Region, Value};
use async_mlir::names::scf;
use std::collections::BTreeSet;
use tokenflow::flags::Dependence;
use tokenflow::schedule::EngineId;

/// A value that comes from more values than these may come from any engine.
const MOST_VALUES: usize = 256;

/// An `scf.while` whose regions have one block each.
pub(super) struct WhileLoop<'c> {
    op: Op<'c>,
    pub blocks: [Block<'c>; 2],
    /// `scf.condition` and `scf.yield`.
    pub ends: [Op<'c>; 2],
    /// The engines of each region.
    engines: [BTreeSet<EngineId>; 2],
    /// Within an iteration, and from one to the next.
    found: [BTreeSet<Dependence>; 2],
}

impl<'c> WhileLoop<'c> {
    /// Reads `op`, an `scf.while`; `None` if a region has several blocks.
    pub fn new(op: Op<'c>, engines: &mut Engines<'c>) -> Option<Self> {
        let blocks: Vec<Block> = op.regions().flat_map(Region::blocks).collect();
        let blocks: [Block; 2] = blocks.try_into().ok()?;
        let ends = [blocks[0].terminator()?, blocks[1].terminator()?];
        let in_block = |block: Block<'c>| block.ops().into_iter().flat_map(Op::self_and_nested);
        let sets = blocks.map(|block| in_block(block).filter_map(|op| engines.of(op)).collect());
        let mut new = Self {
            op,
            blocks,
            ends,
            engines: sets,
            found: [BTreeSet::new(), BTreeSet::new()],
        };
        new.memory(engines);
        new.values(engines);
        Some(new)
    }

    /// The dependences between the two nodes: within an iteration, and from one to the next.
    pub fn dependences(&self) -> [Vec<Dependence>; 2] {
        self.found.each_ref().map(|found| found.iter().copied().collect())
    }

    fn memory(&mut self, engines: &mut Engines<'c>) {
        let effects = self.blocks.map(|block| effects_inside(block, None));
        let (ends, all) = (self.ends, self.engines.clone());
        let mut accessing = |(region, op): (usize, Op<'c>)| {
            engines.accessing(op, ends[region], || all[region].iter().copied().collect())
        };
        for (dependence, is_of_all) in
            cross_engine_dependences::dependences(&ends, &effects, true, &mut accessing)
        {
            let producers = accessing(dependence.from);
            let consumers: BTreeSet<EngineId> = accessing(dependence.to).into_iter().collect();
            let nodes = (dependence.from.0, dependence.to.0);
            for from in producers {
                let is_carried = dependence.distance > 0;
                self.depend(nodes, (from, &consumers), is_carried, is_of_all);
            }
        }
    }

    /// Dependences of values that a region hands to the other one, or to itself in the next iteration.
    fn values(&mut self, engines: &mut Engines<'c>) {
        let condition = self.ends[0].operand(0);
        let [before, after] = self.engines.clone();
        // Whoever goes on has to know whether to.
        self.trace(condition, (1, &after), false, engines);
        self.trace(condition, (0, &before), true, engines);
        for (region, block) in self.blocks.into_iter().enumerate() {
            for op in block.ops().into_iter().flat_map(Op::self_and_nested) {
                let (users, used) = self.uses(op, engines);
                for operand in used {
                    self.trace(operand, (region, &users), false, engines);
                }
            }
        }
    }

    /// What an operation inside uses, and the engines that have to know that.
    fn uses(&self, op: Op<'c>, engines: &mut Engines<'c>) -> (BTreeSet<EngineId>, Vec<Value<'c>>) {
        if let Some(engine) = engines.of(op) {
            return (BTreeSet::from([engine]), op.operands().collect());
        }
        let mut inside = |op: Op<'c>| {
            let ops = op.self_and_nested().into_iter();
            ops.filter_map(|op| engines.of(op)).collect()
        };
        match op
            .parent()
            .filter(|around| *around != self.op && op.is(scf::CONDITION))
        {
            // All that are in an inner loop have to know whether to go on.
            Some(inner) => (inside(inner), vec![op.operand(0)]),
            None if op.num_regions() == 0 => (BTreeSet::new(), Vec::new()),
            None => (inside(op), op.operands().collect()),
        }
    }

    /// Finds what produces `value`, which engines use in a region: in the same iteration, or in the one after.
    fn trace(
        &mut self,
        value: Value<'c>,
        (region, users): (usize, &BTreeSet<EngineId>),
        is_later: bool,
        engines: &mut Engines<'c>,
    ) {
        let is_complete = go_back(vec![(value, is_later)], MOST_VALUES, |(value, is_carried)| {
            let same = |value: Value<'c>| (value, is_carried);
            match value.definition() {
                Definition::Argument(block, index) if block == self.blocks[0] => {
                    vec![(self.ends[1].operand(index), true)]
                }
                Definition::Argument(block, index) if block == self.blocks[1] => {
                    vec![same(self.ends[0].operand(index + 1))]
                }
                Definition::Argument(block, _) => {
                    let around = block.parent_op();
                    let around = around.filter(|around| self.region_of(*around).is_some());
                    around.into_iter().flat_map(Op::operands).map(same).collect()
                }
                Definition::Result(op, index) => {
                    let Some(source) = self.region_of(op) else {
                        return Vec::new();
                    };
                    match engines.of(op) {
                        Some(engine) => {
                            self.depend((source, region), (engine, users), is_carried, false);
                            Vec::new()
                        }
                        None => made_of(op, index).into_iter().map(same).collect(),
                    }
                }
            }
        });
        if !is_complete {
            self.depend_on_all(region, users);
        }
    }

    /// The region that `op` is in.
    fn region_of(&self, op: Op<'c>) -> Option<usize> {
        let inner = std::iter::once(op)
            .chain(op.ancestors())
            .find(|op| op.parent() == Some(self.op))?;
        (0..2).find(|&region| inner.block() == Some(self.blocks[region]))
    }

    fn depend_on_all(&mut self, region: usize, users: &BTreeSet<EngineId>) {
        for source in 0..2 {
            for from in self.engines[source].clone() {
                self.depend((source, region), (from, users), false, false);
                self.depend((source, region), (from, users), true, false);
            }
        }
    }

    /// Notes that engines depend on another one; within a region, the region's block tells.
    fn depend(
        &mut self,
        (producer, consumer): (usize, usize),
        (from, users): (EngineId, &BTreeSet<EngineId>),
        is_carried: bool,
        is_of_all: bool,
    ) {
        if !is_carried && producer >= consumer {
            return;
        }
        let others = users.iter().filter(|to| **to != from);
        self.found[usize::from(is_carried)].extend(others.map(|&to| Dependence {
            producer,
            consumer,
            from,
            to,
            is_of_all,
        }));
    }
}
