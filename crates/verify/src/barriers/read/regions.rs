//! Reads operations with regions: where control parts and meets, and which threads take which way.

use super::{Reader, single_blocks};
use crate::barriers::code::{BlockId, EdgeKind, Token};
use async_dialects::types::is_token;
use async_locations::cfg::{Edge as IrEdge, RegionFlow, Target};
use async_locations::footprints::Mask;
use async_locations::uniformity::{may_diverge, runs_for_some_threads};
use async_locations::warps::warps_of_arm;
use async_mlir::control_flow::constant_trip_count;
use async_mlir::ir::{Block, Op, Value};
use async_mlir::names::{affine, scf};
use async_mlir::nvgpu::copy_token;
use async_overlap::{Loop, LoopId};
use std::rc::Rc;

/// The blocks of an operation.
struct Bodies<'c> {
    op: Op<'c>,
    blocks: Vec<Block<'c>>,
    /// Where each is left.
    exits: Vec<Vec<IrEdge<'c>>>,
    /// How often a loop runs, if that is known.
    trips: Option<u64>,
    /// The loop that they are, if control may come back to one of them.
    repeated: Option<LoopId>,
    /// Where each begins and ends.
    places: Vec<(BlockId, BlockId)>,
}

impl<'c> Bodies<'c> {
    /// The block that an edge leads to; `None` if it leads on.
    fn place(&self, edge: &IrEdge<'c>) -> Option<usize> {
        match edge.to {
            Target::After => None,
            Target::Block(block) => self.blocks.iter().position(|known| *known == block),
        }
    }

    /// Returns true if control may come back to a block.
    fn repeat(&self) -> bool {
        let mut exits = self.exits.iter().enumerate();
        self.trips != Some(1)
            && exits.any(|(from, edges)| {
                let mut places = edges.iter().filter_map(|edge| self.place(edge));
                places.any(|to| to <= from)
            })
    }
}

impl<'c> Reader<'c, '_> {
    /// An operation with regions.
    pub(super) fn regions(&mut self, op: Op<'c>) {
        let flow = RegionFlow::new(op);
        let (Some(entries), Some(blocks)) = (flow.known_entries(), single_blocks(op)) else {
            return self.opaque(op);
        };
        self.accesses(op);
        let trips = constant_trip_count(op).filter(|_| matches!(op.name(), affine::FOR | scf::FOR));
        let exits = blocks.iter().map(|block| flow.exits(block.terminator()));
        let mut bodies = Bodies {
            op,
            exits: exits.collect(),
            blocks,
            trips,
            repeated: None,
            places: Vec::new(),
        };
        if trips == Some(0) {
            // Nothing in it happens.
            bodies.blocks.clear();
            bodies.exits.clear();
        }
        let head = self.at;
        let outer = (self.in_loop, self.threads, self.mask.clone());
        let diverges = self.diverges(op);
        let arms: Option<Vec<u32>> = (0..op.num_regions())
            .map(|number| warps_of_arm(op, number))
            .collect();
        let arms = arms.filter(|_| diverges && trips != Some(0));
        self.threads.apart |= diverges;
        if bodies.repeat() {
            bodies.repeated = Some(self.enter_loop(op, trips));
        }
        for (i, block) in bodies.blocks.clone().into_iter().enumerate() {
            self.mask = self.mask_of_arm(op, i, diverges, &outer.2);
            match &arms {
                Some(arms) => self.threads.warps = outer.1.warps & arms.get(i).copied().unwrap_or(0),
                None => self.threads.whole = outer.1.whole && !diverges,
            }
            let start = self.new_block();
            self.at = start;
            self.block(block);
            bodies.places.push((start, self.at));
        }
        (self.in_loop, self.threads, self.mask) = outer;
        let after = self.new_block();
        self.at = after;
        if arms.is_some() {
            self.in_turn(head, after, &bodies);
        } else {
            self.branch(head, after, entries, &bodies);
        }
    }

    /// Each warp takes the arm that its number says: other warps take others, so that all of them are taken, and none before another.
    fn in_turn(&mut self, head: BlockId, after: BlockId, bodies: &Bodies<'c>) {
        let mut from = (head, Vec::new());
        for (&(start, end), exits) in bodies.places.iter().zip(&bodies.exits) {
            self.connect_in_turn(from, start);
            let leave = exits.iter().find(|edge| edge.to == Target::After);
            from = (end, leave.map_or_else(Vec::new, |edge| self.bindings(edge)));
        }
        self.connect_in_turn(from, after);
    }

    fn connect_in_turn(&mut self, (from, bindings): (BlockId, Vec<(Token, Token)>), to: BlockId) {
        self.connect(from, to, EdgeKind::Plain, bindings);
        if let Some(edge) = self.out.code.blocks[from].edges.last_mut() {
            edge.adds = true;
        }
    }

    /// Adds the edges from `head` to the bodies, between them, and to `after`.
    fn branch(&mut self, head: BlockId, after: BlockId, entries: &[IrEdge<'c>], bodies: &Bodies<'c>) {
        // A loop that always runs is not skipped.
        let always_runs = bodies.trips.is_some_and(|trips| trips > 0);
        let never_runs = bodies.trips == Some(0);
        for edge in entries.iter().filter(|edge| edge.possible && !never_runs) {
            let bindings = self.bindings(edge);
            match bodies.place(edge) {
                Some(to) => {
                    let kind = bodies.repeated.map_or(EdgeKind::Plain, EdgeKind::Enter);
                    self.connect(head, bodies.places[to].0, kind, bindings);
                }
                None if always_runs => {}
                None => self.connect(head, after, EdgeKind::Plain, bindings),
            }
        }
        if never_runs {
            for edge in entries.iter().filter(|edge| edge.to == Target::After) {
                let bindings = self.bindings(edge);
                self.connect(head, after, EdgeKind::Plain, bindings);
            }
        }
        for (from, edges) in bodies.exits.iter().enumerate() {
            let end = bodies.places[from].1;
            for edge in edges.iter().filter(|edge| edge.possible) {
                let bindings = self.bindings(edge);
                match (bodies.place(edge), bodies.repeated) {
                    (None, repeated) => {
                        let kind = repeated.map_or(EdgeKind::Plain, EdgeKind::Leave);
                        self.connect(end, after, kind, bindings);
                    }
                    (Some(to), _) if to > from => {
                        self.connect(end, bodies.places[to].0, EdgeKind::Plain, bindings);
                    }
                    (Some(to), Some(repeated)) => {
                        self.connect(end, bodies.places[to].0, EdgeKind::Back(repeated), bindings);
                    }
                    // It runs once.
                    (Some(_), None) => debug_assert_eq!(bodies.trips, Some(1), "{}", bodies.op.name()),
                }
            }
        }
    }

    fn enter_loop(&mut self, op: Op<'c>, trips: Option<u64>) -> LoopId {
        let loops = &mut self.out.code.loops;
        let mut repeated = Loop::new(loops, self.in_loop, 1, trips);
        repeated.min_trips = trips.unwrap_or(0);
        let repeated = loops.push(repeated);
        let footprints = &mut self.buffers.footprints;
        footprints.values.add_loop(op, repeated);
        if self.threads.apart {
            footprints.add_divergent_loop(op, repeated);
        }
        self.in_loop = Some(repeated);
        repeated
    }

    fn bindings(&mut self, edge: &IrEdge<'c>) -> Vec<(Token, Token)> {
        let tokens = edge.bindings.iter().filter(|(from, _)| is_any_token(*from));
        let tokens: Vec<(Value, Value)> = tokens.copied().collect();
        let tokens = tokens.into_iter();
        tokens
            .map(|(from, to)| (self.token(from), self.token(to)))
            .collect()
    }

    /// Returns true if threads may take different ways through `op`. A barrier in there proves that they don't, since all have to come to
    /// it, unless they are known to.
    fn diverges(&mut self, op: Op<'c>) -> bool {
        may_diverge(op) && (!self.around_barriers.0.contains(&op) || self.is_known_to_diverge(op))
    }

    /// Returns true if `op` is for some threads only, whatever happens.
    fn is_known_to_diverge(&mut self, op: Op<'c>) -> bool {
        let mut depends_on_thread = || {
            let condition = self.buffers.footprints.values.of(op.operand(0))?;
            Some(condition.threads.is_some() && condition.offset.terms.is_empty())
        };
        runs_for_some_threads(op) || op.is(scf::IF) && depends_on_thread() == Some(true)
    }

    /// The threads of `outer` that come to region `number` of `op`.
    fn mask_of_arm(&mut self, op: Op<'c>, number: usize, diverges: bool, outer: &Mask) -> Mask {
        if !diverges {
            return outer.clone();
        }
        let outer = outer.as_ref().filter(|_| op.is(scf::IF))?;
        let condition = self.buffers.footprints.values.of(op.operand(0))?;
        if !condition.offset.terms.is_empty() {
            return None;
        }
        let comes = outer.iter().enumerate().map(|(thread, comes)| {
            let own = condition.threads.as_ref().map_or(0, |threads| threads[thread]);
            *comes && (own.wrapping_add(condition.offset.constant) != 0) == (number == 0)
        });
        Some(Rc::from(comes.collect::<Vec<bool>>()))
    }

    /// An operation whose control flow is not known: threads may do all that is in it, in any order, again and again.
    fn opaque(&mut self, op: Op<'c>) {
        let outer = (self.in_loop, self.threads, self.mask.take());
        let head = self.at;
        self.threads.apart = true;
        let repeated = Loop::new(&self.out.code.loops, self.in_loop, 1, None);
        let repeated = self.out.code.loops.push(repeated);
        self.in_loop = Some(repeated);
        let body = self.new_block();
        self.at = body;
        for inner in op.self_and_nested() {
            self.accesses(inner);
        }
        (self.in_loop, self.threads, self.mask) = outer;
        self.at = self.new_block();
        self.connect(head, body, EdgeKind::Enter(repeated), Vec::new());
        self.connect(head, self.at, EdgeKind::Plain, Vec::new());
        self.connect(body, body, EdgeKind::Back(repeated), Vec::new());
        self.connect(body, self.at, EdgeKind::Leave(repeated), Vec::new());
    }
}

/// Returns true if `value` is a token of any kind.
fn is_any_token(value: Value<'_>) -> bool {
    is_token(value.ty()) || value.ty() == copy_token(value.context())
}
