//! Reads operations with regions into the barrier graph: where control flow branches and joins, and which
//! threads take which branch.

use super::{End, Reader, is_any_token, single_block};
use crate::analysis::cfg::{Edge as IrEdge, RegionFlow, Target};
use crate::analysis::footprints::Mask;
use crate::analysis::uniformity::{may_diverge, runs_for_some_threads};
use crate::analysis::warps::warps_of_arm;
use async_mlir::control_flow::constant_trip_count;
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Block, Op, Region, Value, Walk};
use async_mlir::names::{affine, scf};
use async_mlir::pass::PassError;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use tokenflow::Token;
use tokenflow::barriers::{Action, EdgeKind, LoopId, StepId, Warps};

/// The blocks of an operation.
struct Bodies<'c> {
    blocks: Vec<Block<'c>>,
    /// Where each is left.
    exits: Vec<Vec<IrEdge<'c>>>,
    /// How often they run, if that is known.
    trips: Option<u64>,
    /// The loop that they are, if control may come back to one of them.
    repeated: Option<LoopId>,
    /// The first and the last step of each.
    starts: Vec<StepId>,
    ends: Vec<Option<StepId>>,
    /// Where those warps come by that pass by all blocks, if others are known to come to one.
    skip: Option<StepId>,
}

/// The operations in `function` that barriers of the block are in.
pub(super) fn with_barriers(function: Op<'_>) -> FxHashSet<Op<'_>> {
    let mut known = FxHashSet::default();
    function.walk(|op| {
        if is_barrier(op) {
            let mut around = op.ancestors().take_while(|around| *around != function);
            while around.next().is_some_and(|around| known.insert(around)) {}
        }
        Walk::Advance
    });
    known
}

/// The warps that come to region `number` of an operation that `outer` come to.
fn of_arm(outer: Warps, of_arms: Option<&[u32]>, diverges: bool, number: usize) -> Warps {
    match of_arms {
        Some(warps) => Warps {
            may: outer.may & warps.get(number).copied().unwrap_or(0),
            ..outer
        },
        None => Warps {
            whole: outer.whole && !diverges,
            ..outer
        },
    }
}

impl<'c> Bodies<'c> {
    /// Which block an edge leads to; `None` if it leads on.
    fn place(&self, edge: &IrEdge<'c>) -> Option<usize> {
        match edge.to {
            Target::After => None,
            Target::Block(block) => self.blocks.iter().position(|known| *known == block),
        }
    }

    /// Returns true if an edge leads to a block that came before.
    fn repeats(&self) -> bool {
        let mut exits = self.exits.iter().enumerate();
        self.trips != Some(1)
            && exits.any(|(from, edges)| {
                let mut places = edges.iter().filter_map(|edge| self.place(edge));
                places.any(|to| to <= from)
            })
    }
}

impl<'c> Reader<'c> {
    /// An operation with regions.
    pub(super) fn regions(&mut self, op: Op<'c>) -> Result<(), PassError<'c>> {
        let flow = RegionFlow::new(op);
        let regions: Vec<Region> = op.regions().filter(|region| region.first().is_some()).collect();
        let blocks = regions.iter().map(|region| single_block(op, *region));
        let (Some(entries), Ok(blocks)) = (flow.known_entries(), blocks.collect::<Result<Vec<Block>, _>>())
        else {
            self.opaque(op);
            return Ok(());
        };
        if matches!(op.name(), affine::FOR | scf::FOR) && constant_trip_count(op) == Some(0) {
            self.passed_by(op, entries);
            return Ok(());
        }
        let outer = (self.divergent, self.mask.clone(), self.in_loop);
        let (was_unsure, warps) = (self.unsure, self.warps);
        self.step(Action::None, op);
        self.accesses(op);
        let head = self.last_step();
        let diverges = self.diverges(op);
        let of_arms: Option<Vec<u32>> = (0..op.num_regions())
            .map(|number| warps_of_arm(op, number))
            .collect();
        let of_arms = of_arms.filter(|_| diverges);
        if diverges {
            self.enter_divergent();
        } else if self.divergent.is_some() {
            self.unsure |= entries.len() > 1;
        }
        let mut bodies = Bodies {
            exits: blocks
                .iter()
                .map(|block| flow.exits(block.terminator()))
                .collect(),
            blocks,
            trips: constant_trip_count(op).filter(|_| matches!(op.name(), affine::FOR | scf::FOR)),
            repeated: None,
            starts: Vec::new(),
            ends: Vec::new(),
            skip: None,
        };
        if bodies.repeats() {
            let repeated = self.out.kernel.add_loop(outer.2, 1, bodies.trips);
            self.out.kernel.loops[repeated].min_trips = bodies.trips.unwrap_or(0);
            self.buffers.footprints.values.add_loop(op, repeated);
            if self.divergent.is_some() {
                self.buffers.footprints.add_divergent_loop(op, repeated);
            }
            bodies.repeated = Some(repeated);
            self.in_loop = Some(repeated);
        }
        for (i, block) in bodies.blocks.clone().into_iter().enumerate() {
            self.mask = self.mask_of_arm(op, i, &outer.1);
            self.warps = of_arm(warps, of_arms.as_deref(), diverges, i);
            let first = block.first().or_else(|| block.terminator()).unwrap_or(op);
            bodies.starts.push(self.step(Action::None, first));
            self.block(block)?;
            bodies.ends.push(self.last_step());
        }
        if of_arms.is_some() && bodies.blocks.len() == 1 {
            self.warps = of_arm(warps, of_arms.as_deref(), diverges, 1);
            bodies.skip = Some(self.step(Action::None, op));
            self.last.clear();
        }
        (self.divergent, self.mask, self.in_loop) = outer;
        (self.unsure, self.warps) = (was_unsure, warps);
        self.last = self.connect(head, entries, &bodies);
        let after = self.step(Action::None, op.next().unwrap_or(op));
        self.out.kernel.steps[after].warps_meet = of_arms.is_some();
        Ok(())
    }

    /// A loop that never runs: nothing in it happens, whatever it would have left in flight.
    fn passed_by(&mut self, op: Op<'c>, entries: &[IrEdge<'c>]) {
        self.step(Action::None, op);
        self.accesses(op);
        let Some(head) = self.last_step() else { return };
        for edge in entries.iter().filter(|edge| edge.to == Target::After) {
            let bindings = self.bindings(edge);
            self.last.push((head, EdgeKind::Plain, bindings));
        }
        self.step(Action::None, op.next().unwrap_or(op));
    }

    /// The step that was read last; nothing follows it yet.
    fn last_step(&mut self) -> Option<StepId> {
        let last = self.last.pop().map(|(last, ..)| last);
        self.last.clear();
        last
    }

    /// From here on, threads may take different ways.
    fn enter_divergent(&mut self) {
        if self.divergent.is_none() {
            let inner = self.in_loop.map(|inner| self.out.kernel.loops[inner].depth + 1);
            self.divergent = Some(self.out.kernel.regions.push(inner.unwrap_or(0)));
        }
    }

    /// Adds the ways from `head` and between blocks; returns those that lead on.
    fn connect(&mut self, head: Option<StepId>, entries: &[IrEdge<'c>], bodies: &Bodies<'c>) -> Vec<End> {
        let mut after = Vec::new();
        for edge in entries.iter().filter(|edge| edge.possible) {
            let Some(head) = head else { break };
            let bindings = self.bindings(edge);
            match bodies.place(edge) {
                Some(to) => {
                    let kind = bodies.repeated.map_or(EdgeKind::Plain, EdgeKind::Enter);
                    self.out.kernel.connect(head, bodies.starts[to], kind, bindings);
                }
                None if bodies.skip.is_some() => {
                    let skip = bodies.skip.unwrap_or(head);
                    self.out.kernel.connect(head, skip, EdgeKind::Plain, Vec::new());
                    after.push((skip, EdgeKind::Plain, bindings));
                }
                // A loop that always runs is not skipped.
                None if bodies.trips.is_none_or(|trips| trips == 0) => {
                    after.push((head, EdgeKind::Plain, bindings));
                }
                None => {}
            }
        }
        for (from, edges) in bodies.exits.iter().enumerate() {
            let Some(end) = bodies.ends[from] else { continue };
            for edge in edges.iter().filter(|edge| edge.possible) {
                let kind = match (bodies.place(edge), bodies.repeated) {
                    (None, repeated) => repeated.map_or(EdgeKind::Plain, EdgeKind::Leave),
                    (Some(to), _) if to > from => EdgeKind::Plain,
                    (Some(_), Some(repeated)) => EdgeKind::Back(repeated),
                    // It runs once.
                    (Some(_), None) => continue,
                };
                let bindings = self.bindings(edge);
                match bodies.place(edge) {
                    Some(to) => self.out.kernel.connect(end, bodies.starts[to], kind, bindings),
                    None => after.push((end, kind, bindings)),
                }
            }
        }
        after
    }

    fn bindings(&mut self, edge: &IrEdge<'c>) -> Vec<(Token, Token)> {
        let tokens = edge.bindings.iter().filter(|(from, _)| is_any_token(*from));
        let tokens: Vec<(Value, Value)> = tokens.copied().collect();
        let tokens = tokens.into_iter();
        tokens
            .map(|(from, to)| (self.token(from), self.token(to)))
            .collect()
    }

    /// Returns true if threads may take different ways through `op`. A barrier in there proves that they don't, since all
    /// threads of the block have to come to it, unless they are known to.
    fn diverges(&mut self, op: Op<'c>) -> bool {
        may_diverge(op) && (!self.with_barriers.contains(&op) || self.is_known_to_diverge(op))
    }

    /// Returns true if `op` is for some threads only, whatever happens.
    fn is_known_to_diverge(&mut self, op: Op<'c>) -> bool {
        let mut depends_on_thread = || {
            let condition = self.buffers.footprints.values.of(op.operand(0))?;
            Some(condition.threads.is_some() && condition.offset.terms.is_empty())
        };
        runs_for_some_threads(op) || op.is(scf::IF) && depends_on_thread() == Some(true)
    }

    /// Which threads come to region `number` of `op`.
    fn mask_of_arm(&mut self, op: Op<'c>, number: usize, outer: &Mask) -> Mask {
        if !self.diverges(op) {
            return outer.clone();
        }
        let outer = outer.as_ref().filter(|_| op.is(scf::IF))?;
        let condition = self.buffers.footprints.values.of(op.operand(0))?;
        let known = condition
            .offset
            .terms
            .is_empty()
            .then_some(condition.offset.constant)?;
        let comes = outer.iter().enumerate().map(|(thread, comes)| {
            let own = condition.threads.as_ref().map_or(0, |threads| threads[thread]);
            *comes && (own.wrapping_add(known) != 0) == (number == 0)
        });
        let comes: Vec<bool> = comes.collect();
        Some(Rc::from(comes))
    }

    /// An operation whose control flow is not known: threads may do all that is in it, in any order, again and again.
    fn opaque(&mut self, op: Op<'c>) {
        let outer = (self.divergent, self.mask.take(), self.in_loop);
        let head = self.step(Action::None, op);
        self.enter_divergent();
        if self.with_barriers.contains(&op) {
            self.out.trusted.extend(self.divergent);
        }
        let repeated = self.out.kernel.add_loop(outer.2, 1, None);
        self.in_loop = Some(repeated);
        self.last = vec![(head, EdgeKind::Enter(repeated), Vec::new())];
        let start = self.step(Action::None, op);
        for inner in op.self_and_nested() {
            if is_barrier(inner) {
                let step = self.step(Action::None, inner);
                self.out.barriers.push((step, inner));
            } else {
                self.accesses(inner);
            }
        }
        let end = self.step(Action::None, op);
        let back = EdgeKind::Back(repeated);
        self.out.kernel.connect(end, start, back, Vec::new());
        (self.divergent, self.mask, self.in_loop) = outer;
        self.last = vec![
            (end, EdgeKind::Leave(repeated), Vec::new()),
            (head, EdgeKind::Plain, Vec::new()),
        ];
        self.step(Action::None, op.next().unwrap_or(op));
    }
}
