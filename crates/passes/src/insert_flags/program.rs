//! Reads a function as a program of `tokenflow::flags`: blocks of operations that engines execute.

use super::while_loop::WhileLoop;
use super::without_engine::{check_in_regions, check_values, check_without_engine};
use crate::engines::Engines;
use crate::engines::block_problem::{BlockProblem, Order, read};
use crate::engines::region_ops::RegionOps;
use async_mlir::ir::{Block, Op, Region};
use async_mlir::names::{memref, scf};
use async_mlir::pass::PassError;
use tokenflow::flags::{self, BlockId, Event, Node, Program, Purpose};
use tokenflow::ids::IndexVec;
use tokenflow::schedule::{Dependence, Limits, OperationId, Options};

/// A function and what was read of it.
pub(super) struct Reader<'c> {
    pub function: Op<'c>,
    pub program: Program,
    /// What each block's nodes stand for.
    pub places: IndexVec<BlockId, Vec<Place<'c>>>,
    region_ops: RegionOps<'c>,
}

/// What a node stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'c> {
    /// An operation.
    Op(Op<'c>),
    /// The first region of an `scf.while`: its first operation, and `scf.condition`.
    Before { first: Op<'c>, end: Op<'c> },
    /// The other one, which ends with `scf.yield`, or nothing.
    After { condition: Op<'c>, end: Op<'c> },
}

impl<'c> Place<'c> {
    /// The operation to name in messages.
    fn op(self) -> Op<'c> {
        match self {
            Self::Op(op) | Self::Before { end: op, .. } | Self::After { end: op, .. } => op,
        }
    }
}

impl<'c> Reader<'c> {
    /// Reads a function; `None` if nothing in it runs on an engine.
    pub fn read(
        function: Op<'c>,
        limits: &Limits,
        engines: &mut Engines<'c>,
    ) -> Result<Option<Self>, PassError<'c>> {
        let ops = function.self_and_nested();
        if !ops.iter().any(|op| engines.of(*op).is_some()) {
            return Ok(None);
        }
        let mut reader = Self {
            function,
            program: Program::default(),
            places: IndexVec::default(),
            region_ops: RegionOps::default(),
        };
        let blocks: Vec<Block> = function.regions().flat_map(Region::blocks).collect();
        let [block] = blocks[..] else {
            return Err(several_blocks(function).note(function.location(), "run --lift-cf-to-scf first"));
        };
        check_in_regions(&ops, engines)?;
        check_values(&ops, engines)?;
        reader.block(block, limits, engines)?;
        reader.program.engines = engines.count();
        Ok(Some(reader))
    }

    /// The operations that an event is for: the producer, and the consumer.
    pub fn ops_of(&self, event: &Event) -> (Op<'c>, Op<'c>) {
        let (producer, consumer) = match event.purpose {
            Purpose::Dependence(dependence) => (dependence.producer, dependence.consumer),
            Purpose::Reuse => (event.set.node(), event.wait.node()),
        };
        let places = &self.places[event.block];
        (places[producer].op(), places[consumer].op())
    }

    fn block(
        &mut self,
        block: Block<'c>,
        limits: &Limits,
        engines: &mut Engines<'c>,
    ) -> Result<BlockId, PassError<'c>> {
        let id = self.add_block();
        let mut inner = Vec::new();
        for op in block.ops() {
            if op.num_regions() == 0 || engines.of(op).is_some() || op.is_function() {
                inner.push(None);
            } else {
                inner.push(self.region_op(op, limits, engines)?);
            }
        }
        let Some(problem) = read(block, limits, engines, &self.region_ops, Order::Final) else {
            return Ok(id);
        };
        let mut node_of = Vec::with_capacity(problem.ops.len());
        for ((op, node), operation) in problem.ops.iter().zip(inner).zip(&problem.problem.operations) {
            let node = match (engines.of(*op), node) {
                (Some(engine), _) => Some(Node::Operation(engine)),
                (None, Some(node)) if !operation.engines.is_empty() => Some(node),
                _ => None,
            };
            node_of.push(node.as_ref().map(|_| self.places[id].len()));
            if let Some(node) = node {
                self.places[id].push(Place::Op(*op));
                self.program.blocks[id].nodes.push(node);
            }
        }
        for (dependences, is_of_all) in [(&problem.problem.dependences, false), (&problem.of_all, true)] {
            for dependence in dependences {
                self.depend(id, &problem, &node_of, dependence, is_of_all)?;
            }
        }
        if let Some(around) = block.parent_op() {
            let order: Vec<OperationId> = problem.problem.operations.ids().collect();
            self.region_ops
                .add_block(around, &problem, &order, &Options::default());
        }
        Ok(id)
    }

    fn depend(
        &mut self,
        id: BlockId,
        problem: &BlockProblem<'c>,
        node_of: &[Option<usize>],
        dependence: &Dependence,
        is_of_all: bool,
    ) -> Result<(), PassError<'c>> {
        let (from, to) = (dependence.from.0, dependence.to.0);
        let (Some(producer), Some(consumer)) = (node_of[from], node_of[to]) else {
            // What runs on no engine is in order.
            return match node_of[from].or(node_of[to]) {
                Some(_) => check_without_engine(problem.ops[from], problem.ops[to], node_of[from].is_some()),
                None => Ok(()),
            };
        };
        let Some(pair) = dependence.pair.filter(|pair| pair.from != pair.to) else {
            return Ok(());
        };
        let contents = &mut self.program.blocks[id];
        let list = if dependence.distance == 0 {
            &mut contents.dependences
        } else {
            // If the next iteration waits, so do those after it.
            &mut contents.carried
        };
        list.push(flags::Dependence {
            producer,
            consumer,
            from: pair.from,
            to: pair.to,
            is_of_all,
        });
        Ok(())
    }

    /// What an operation with regions is; `None` if nothing in them runs on an engine.
    fn region_op(
        &mut self,
        op: Op<'c>,
        limits: &Limits,
        engines: &mut Engines<'c>,
    ) -> Result<Option<Node>, PassError<'c>> {
        let runs_any = op
            .self_and_nested()
            .into_iter()
            .any(|op| engines.of(op).is_some());
        if !runs_any {
            return Ok(None);
        }
        let is_branch = [
            scf::IF,
            scf::INDEX_SWITCH,
            scf::EXECUTE_REGION,
            memref::ALLOCA_SCOPE,
        ]
        .into_iter()
        .any(|name| op.is(name));
        if op.is(scf::WHILE) {
            return self.while_loop(op, limits, engines).map(Some);
        }
        if !is_branch && !op.is(scf::FOR) {
            let message = "has operations of engines inside, and it is not known how often they are executed";
            return Err(PassError::new(op, message)
                .note(op.location(), "put them into scf.for, scf.while and scf.if"));
        }
        let mut blocks = Vec::new();
        for region in op.regions() {
            match region.blocks()[..] {
                [] => blocks.push(self.add_block()),
                [block] => blocks.push(self.block(block, limits, engines)?),
                _ => return Err(several_blocks(op)),
            }
        }
        Ok(Some(if is_branch {
            Node::Branch(blocks)
        } else {
            Node::Loop(blocks[0])
        }))
    }

    fn while_loop(
        &mut self,
        op: Op<'c>,
        limits: &Limits,
        engines: &mut Engines<'c>,
    ) -> Result<Node, PassError<'c>> {
        let read = WhileLoop::new(op, engines).ok_or_else(|| several_blocks(op))?;
        let id = self.add_block();
        let before = self.block(read.blocks[0], limits, engines)?;
        let after = self.block(read.blocks[1], limits, engines)?;
        let nothing = self.add_block();
        let [dependences, carried] = read.dependences();
        self.program.blocks[id] = flags::Block {
            nodes: vec![Node::Branch(vec![before]), Node::Branch(vec![after, nothing])],
            dependences,
            carried,
        };
        let [condition, end] = read.ends;
        self.places[id] = vec![
            Place::Before {
                first: read.blocks[0].first().unwrap_or(condition),
                end: condition,
            },
            Place::After { condition, end },
        ];
        Ok(Node::Loop(id))
    }

    fn add_block(&mut self) -> BlockId {
        self.places.push(Vec::new());
        self.program.blocks.push(flags::Block::default())
    }
}

fn several_blocks(op: Op<'_>) -> PassError<'_> {
    PassError::new(op, "has several blocks, and flags need structured control flow")
}
