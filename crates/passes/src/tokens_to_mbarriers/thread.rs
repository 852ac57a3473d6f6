//! Carries the state of rings through control flow: counters, and the numbers that tokens stand for.
//!
//! An operation with regions gets a **lane** for each value that goes through it. A loop takes the lane's first value as
//! an operand, has it as an argument of each block, and hands it on at the end of each; a branch only hands it on. Lanes
//! of tokens follow the tokens, which are taken away in the end.

use super::emit::{Emitter, bug, value};
use super::mbarriers::Number;
use crate::analysis::tree::Read;
use async_dialects::control_flow::append;
use async_dialects::ir::{Block, Op, OpBuilder, Value};
use async_dialects::names::{affine, arith, memref, scf};
use async_dialects::pass::PassError;
use tokenflow::Token;
use tokenflow::phases::{Phase, RingId};

/// What goes through an operation with regions.
#[derive(Clone, PartialEq, Eq)]
enum Lane {
    /// How often a ring has been armed.
    Counter(RingId),
    /// How often threads have met before loads.
    Reached,
    /// What a token stands for: the variables of the blocks' arguments and of the result.
    Token {
        blocks: Vec<Option<usize>>,
        result: Option<usize>,
    },
}

/// How values go through an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// As operands, arguments, and what blocks hand on.
    Loop,
    /// Only out.
    Branch,
}

fn kind(op: Op<'_>) -> Option<Kind> {
    match op.name() {
        scf::FOR | scf::WHILE | affine::FOR => Some(Kind::Loop),
        scf::IF | affine::IF | scf::INDEX_SWITCH | scf::EXECUTE_REGION | memref::ALLOCA_SCOPE => {
            Some(Kind::Branch)
        }
        _ => None,
    }
}

/// Marks the operations through which nothing can be carried.
pub(super) fn mark_closed(read: &mut Read) {
    for (region, &op) in read.tree.regions.iter_mut().zip(&read.regions) {
        region.closed = !region.blocks.is_empty() && kind(op).is_none();
    }
}

impl<'c> Emitter<'_, 'c> {
    /// Writes what is in a region.
    pub(super) fn region(&mut self, region: usize) -> Result<(), PassError<'c>> {
        let op = self.read.regions[region];
        let lanes = self.lanes(region);
        let blocks = self.read.tree.regions[region].blocks.clone();
        if blocks.is_empty() {
            return self.select(region, op);
        }
        if lanes.is_empty() {
            return blocks.into_iter().try_for_each(|block| self.block(block));
        }
        let Some(kind) = kind(op) else {
            return Err(PassError::new(
                op,
                format!(
                    "the state of mbarriers can't be carried through `{}`; around loads, use scf.for, scf.while, scf.if, \
                     scf.index_switch, scf.execute_region, affine.for or affine.if",
                    op.name()
                ),
            ));
        };
        let before = self.state(&lanes);
        let firsts = self.all_handed(region, None, &lanes)?;
        let types = vec![self.types.i32; lanes.len()];
        let results = op.num_results();
        let op = append(op, if kind == Kind::Loop { &firsts } else { &[] }, &types);
        self.read.regions[region] = op;
        for (place, &block) in blocks.iter().enumerate() {
            self.restore(&lanes, &before);
            if kind == Kind::Loop {
                let location = op.location();
                let args: Vec<Value> = lanes
                    .iter()
                    .map(|_| self.read.blocks[block].add_arg(self.types.i32, location))
                    .collect();
                for (lane, arg) in lanes.iter().zip(args) {
                    self.set(lane, Some(place), arg);
                }
            }
            self.block(block)?;
            self.hand_on(region, place, &lanes)?;
        }
        self.missing_else(op, region, &lanes, &before)?;
        for (i, lane) in lanes.iter().enumerate() {
            self.set(lane, None, op.result(results + i));
        }
        Ok(())
    }

    /// The counters among lanes, as they are now.
    fn state(&self, lanes: &[Lane]) -> Vec<Option<Value<'c>>> {
        let counter = |lane: &Lane| match lane {
            Lane::Counter(ring) => self.counters[*ring],
            Lane::Reached => self.reached_counter,
            Lane::Token { .. } => None,
        };
        lanes.iter().map(counter).collect()
    }

    /// Sets the counters among lanes to what they were.
    fn restore(&mut self, lanes: &[Lane], before: &[Option<Value<'c>>]) {
        for (lane, &before) in lanes.iter().zip(before) {
            match lane {
                Lane::Counter(ring) => self.counters[*ring] = before,
                Lane::Reached => self.reached_counter = before,
                Lane::Token { .. } => {}
            }
        }
    }

    /// What goes through a region.
    fn lanes(&self, region: usize) -> Vec<Lane> {
        let it = &self.read.tree.regions[region];
        let mut lanes: Vec<Lane> = {
            let rings = self.plan.armed[region].iter().copied();
            rings
                .filter(|&ring| self.counters[ring].is_some())
                .map(Lane::Counter)
                .collect()
        };
        if self.reached_counter.is_some() && self.plan.synced[region] {
            lanes.push(Lane::Reached);
        }
        let var = |token: Option<&Token>| {
            let var = token.and_then(|token| self.var_of.get(token)).copied();
            var.filter(|&var| self.plan.rings[self.plan.vars[var].ring].carried)
        };
        let params: Vec<&[Token]> = it
            .blocks
            .iter()
            .map(|&block| self.read.tree.blocks[block].params.as_slice())
            .collect();
        // In a loop of one block, and behind a condition, results are what the arguments would be next.
        let last = params.len().saturating_sub(1);
        let most = params
            .iter()
            .map(|params| params.len())
            .max()
            .unwrap_or(0)
            .max(it.results.len());
        let is_loop = kind(self.read.regions[region]) == Some(Kind::Loop);
        for i in 0..most {
            let mut add = |blocks: Vec<Option<usize>>, result: Option<usize>| {
                let lane = Lane::Token { blocks, result };
                let empty = matches!(&lane, Lane::Token { blocks, result: None } if blocks.iter().all(Option::is_none));
                if !empty && !lanes.contains(&lane) {
                    lanes.push(lane);
                }
            };
            if !is_loop {
                add(vec![None; params.len()], var(it.results.get(i)));
                continue;
            }
            for place in 0..params.len() {
                let mut blocks = vec![None; params.len()];
                blocks[place] = var(params[place].get(i));
                add(
                    blocks,
                    if place == last {
                        var(it.results.get(i))
                    } else {
                        None
                    },
                );
            }
        }
        lanes
    }

    /// Sets the value of a lane where a block starts, or behind the region.
    fn set(&mut self, lane: &Lane, place: Option<usize>, value: Value<'c>) {
        match lane {
            Lane::Counter(ring) => self.counters[*ring] = Some(value),
            Lane::Reached => self.reached_counter = Some(value),
            Lane::Token { blocks, result } => {
                let var = place.map_or(*result, |place| blocks[place]);
                if let Some(var) = var {
                    self.values[var] = Some(value);
                }
            }
        }
    }

    /// The value that a lane has at the end of a block, or where the region is entered.
    fn handed(
        &mut self,
        region: usize,
        from: Option<usize>,
        lane: &Lane,
    ) -> Result<Value<'c>, PassError<'c>> {
        match lane {
            Lane::Counter(ring) => {
                if let Some(counter) = self.counters[*ring] {
                    return Ok(counter);
                }
            }
            Lane::Reached => {
                if let Some(counter) = self.reached_counter {
                    return Ok(counter);
                }
            }
            Lane::Token { blocks, result } => {
                let edges = &self.read.tree.regions[region].edges;
                let from_here = edges.iter().enumerate().filter(|(_, edge)| edge.from == from);
                let bound = from_here.filter_map(|(e, edge)| {
                    let var = edge.to.map_or(*result, |to| blocks[to])?;
                    let bound = self.plan.vars[var].bound.iter();
                    bound
                        .filter(|handed| (handed.region, handed.edge) == (region, e))
                        .find_map(|handed| handed.phase)
                });
                if let Some(phase) = bound.into_iter().next() {
                    return self.number_of(phase, self.read.regions[region]);
                }
            }
        }
        // A token that is complete, or a lane that nobody looks at on this way.
        Ok(self.constant(-1, false))
    }

    /// The number that stands for a phase of a carried ring, which `at` hands on.
    fn number_of(&self, phase: Phase, at: Op<'c>) -> Result<Value<'c>, PassError<'c>> {
        let number = match phase {
            Phase::Bundle(bundle) => match self.opened[bundle].as_ref().map(|opened| &opened.number) {
                Some(Number::Counted(number)) => Some(*number),
                _ => None,
            },
            Phase::Var(var) => self.values[var],
        };
        number.ok_or_else(|| bug(at, "hands on a phase without a number"))
    }

    /// What a lane has at the end of a block, or where the region is entered, of all lanes.
    fn all_handed(
        &mut self,
        region: usize,
        from: Option<usize>,
        lanes: &[Lane],
    ) -> Result<Vec<Value<'c>>, PassError<'c>> {
        lanes.iter().map(|lane| self.handed(region, from, lane)).collect()
    }

    /// Has the end of a block hand on the lanes.
    fn hand_on(&mut self, region: usize, place: usize, lanes: &[Lane]) -> Result<(), PassError<'c>> {
        let block = self.read.tree.regions[region].blocks[place];
        let values = self.all_handed(region, Some(place), lanes)?;
        if let Some(terminator) = self.read.blocks[block].terminator() {
            let mut operands: Vec<Value> = terminator.operands().collect();
            operands.extend(values);
            terminator.set_operands(&operands);
        }
        Ok(())
    }

    /// Writes the `else` of a branch that has results by now.
    fn missing_else(
        &mut self,
        op: Op<'c>,
        region: usize,
        lanes: &[Lane],
        before: &[Option<Value<'c>>],
    ) -> Result<(), PassError<'c>> {
        if !matches!(op.name(), scf::IF | affine::IF) || op.region(1).first().is_some() {
            return Ok(());
        }
        self.restore(lanes, before);
        let values = self.all_handed(region, None, lanes)?;
        let block = Block::new(&[]);
        op.region(1).append(block);
        let end = if op.is(affine::IF) {
            affine::YIELD
        } else {
            scf::YIELD
        };
        OpBuilder::new(end, op.location()).operands(&values).at_end(block);
        Ok(())
    }

    /// A selection between tokens: one between their numbers.
    fn select(&mut self, region: usize, op: Op<'c>) -> Result<(), PassError<'c>> {
        let it = &self.read.tree.regions[region];
        let Some(&var) = it.results.first().and_then(|result| self.var_of.get(result)) else {
            return Ok(());
        };
        if !self.plan.rings[self.plan.vars[var].ring].carried {
            return Ok(());
        }
        let mut values = Vec::new();
        for edge in 0..it.edges.len() {
            let mut bound = self.plan.vars[var].bound.iter();
            let handed = bound.find(|handed| (handed.region, handed.edge) == (region, edge));
            values.push(match handed.and_then(|handed| handed.phase) {
                Some(phase) => self.number_of(phase, op)?,
                None => self.constant(-1, false),
            });
        }
        self.values[var] = Some(match values.as_slice() {
            [only] => *only,
            [if_true, if_false] => {
                let operands = [op.operand(0), *if_true, *if_false];
                value(arith::SELECT, &operands, self.types.i32, op)
            }
            _ => return Err(bug(op, "selects between other than two phases")),
        });
        Ok(())
    }
}
