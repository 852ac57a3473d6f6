//! Bulk copies: what they move, and who issues them.
//!
//! A block-wide one starts when all threads of the block have come to it, and is issued once. So it is ordered after all
//! that they did before in memory of the workgroup. In issued form the thread that executes it issues it, after what that thread knows.

use super::{Machine, Reason, State, Stop};
use crate::code::{Bulk, Completion, Describe, GlobalSide, Op, Reg};
use crate::memory::{Actor, Kind, Piece, Transfer};
use crate::report::Problem;
use crate::timeline::BULK;
use crate::value::{CopyId, Elem, Pending, Pointer, Tensor, Tile, Value, View};
use std::sync::Arc;

/// What the address of a tile in workgroup memory is a multiple of, and that of bytes in a row (PTX ISA,
/// `cp.async.bulk.tensor` and `cp.async.bulk`).
const TILE_ALIGN: usize = 128;
const LINE_ALIGN: usize = 16;
/// What a swizzle moves as a whole.
const CHUNK: i64 = 16;

/// What the operands of a bulk copy stand for.
#[derive(PartialEq)]
struct Ends {
    local: Arc<View>,
    global: Global,
}

#[derive(PartialEq)]
enum Global {
    Tile(Arc<Tensor>, Vec<i64>),
    Line(Arc<View>),
}

/// A bulk copy that can be issued.
struct Issue {
    pieces: Vec<Piece>,
    fill: Arc<[u8]>,
    /// What lies in workgroup memory and in global memory, box by box.
    boxes: Vec<[(Pointer, usize); 2]>,
    bytes: usize,
}

impl Machine<'_> {
    /// Thread `t` issues a bulk copy.
    pub(super) fn issue_bulk(&mut self, t: usize, bulk: &Bulk) -> Result<(), Reason> {
        if let Some(predicate) = bulk.predicate
            && self.bits(t, predicate)? & 1 == 0
        {
            return Ok(());
        }
        let issue = self.prepare(t, bulk)?;
        let (bytes, slot) = (issue.bytes, bulk.completion);
        let actor = Actor {
            kind: Kind::Bulk,
            ..self.actor(t)
        };
        match slot {
            Completion::MBarrier(slot) => {
                let key = self.slot(t, slot)?;
                self.will_fly(t, key);
                let id = self.start(t, actor, issue, true)?;
                self.bulk.push((id, false));
                self.flies(t, key, id, bytes);
            }
            Completion::Group(queue) => {
                let id = self.start(t, actor, issue, false)?;
                self.threads[t].queues.push(queue, id);
            }
            Completion::Token(_) | Completion::Tokens { .. } => {
                return Err(Reason::Operand("a copy that one thread issues"));
            }
        }
        Ok(())
    }

    /// Does the block-wide operation at which all threads of the block stand. Returns false if they don't.
    pub(super) fn block_wide(&mut self) -> Result<bool, Stop> {
        let code = self.code;
        let place = |t: usize| (self.threads[t].pc, &self.threads[t].counters);
        let together =
            (0..self.threads.len()).all(|t| self.threads[t].state == State::Block && place(t) == place(0));
        if !together {
            return Ok(false);
        }
        match &code.instrs[self.threads[0].pc].op {
            Op::Bulk(bulk) => self.issue_for_block(bulk)?,
            Op::Gather { to, value } => {
                let gathered = self.gather_block(*to, *value);
                gathered.map_err(|(t, reason)| self.stop(t, reason))?;
            }
            Op::Share { to, from } => self.share(*to, *from),
            _ => return Ok(false),
        }
        for thread in &mut self.threads {
            thread.state = State::Running;
            thread.pc += 1;
        }
        Ok(true)
    }

    /// Issues a copy for all threads of the block.
    fn issue_for_block(&mut self, bulk: &Bulk) -> Result<(), Stop> {
        let mut first = None;
        for t in 0..self.threads.len() {
            let ends = self.ends(t, bulk).map_err(|reason| self.stop(t, reason))?;
            self.note_early(t);
            if first.get_or_insert_with(|| ends.clone()) != &ends {
                let problem = Problem::divergent_operands(self.spot(t), self.spot(0));
                self.memory.reports.problem(problem);
            }
        }
        let actor = Actor {
            kind: Kind::Block,
            ..self.actor(0)
        };
        let issue = self.prepare(0, bulk).map_err(|reason| self.stop(0, reason))?;
        let id = self
            .start(0, actor, issue, true)
            .map_err(|reason| self.stop(0, reason))?;
        self.bulk.push((id, true));
        let token = |source| Value::Token(Arc::new([Pending { copy: id, source }]));
        for t in 0..self.threads.len() {
            match bulk.completion {
                Completion::Token(to) => self.set(t, to, token(false)),
                Completion::Tokens { read, done } => {
                    self.set(t, read, token(true));
                    self.set(t, done, token(false));
                }
                Completion::MBarrier(_) | Completion::Group(_) => {}
            }
        }
        Ok(())
    }

    fn start(&mut self, t: usize, actor: Actor, issue: Issue, shared: bool) -> Result<CopyId, Reason> {
        let spot = self.spot(t);
        let what = Transfer {
            pieces: issue.pieces.into(),
            fill: issue.fill,
            shared,
        };
        let id = self.memory.transfer(actor, what)?;
        if let Some(trace) = &mut self.trace {
            trace.issue_for_all(id, &issue.boxes, spot);
        }
        if let Some(timeline) = self.timing() {
            timeline.issue_once(t, id, BULK, issue.bytes as u64, spot.into());
        }
        Ok(id)
    }

    /// What is left when a block ends, of copies that many threads wait for. That something is, is reported if the threads
    /// have `ended`.
    pub(super) fn drain_bulk(&mut self, ended: bool) {
        for (copy, has_token) in std::mem::take(&mut self.bulk) {
            let spot = self.memory.issuer(copy);
            let is_load = matches!(&self.code.instrs[spot.instr as usize].op, Op::Bulk(bulk) if bulk.load);
            let pending = Pending {
                copy,
                source: !is_load,
            };
            if ended && !self.memory.is_done(pending) {
                let problem = if has_token {
                    Problem::undrained(spot, true, false, true)
                } else {
                    Problem::in_flight_at_end(spot)
                };
                self.memory.reports.problem(problem);
            }
            let thread = usize::try_from(spot.thread - self.first_thread).unwrap_or(0);
            let moment = self.moment(thread);
            self.memory.complete(copy, moment);
        }
    }

    fn ends(&self, t: usize, bulk: &Bulk) -> Result<Arc<Ends>, Reason> {
        let global = match &bulk.global {
            GlobalSide::Line(line) => Global::Line(self.line(t, *line, bulk.bytes)?),
            GlobalSide::Tile { tensor, indices } => {
                let Value::Tensor(tensor) = self.value(t, *tensor)? else {
                    return Err(Reason::Operand("a tensor map descriptor"));
                };
                let indices: Result<_, _> = indices.iter().map(|index| self.int(t, *index)).collect();
                Global::Tile(Arc::clone(tensor), indices?)
            }
        };
        let local = self.line(t, bulk.local, bulk.bytes)?;
        Ok(Arc::new(Ends { local, global }))
    }

    /// A memref, or so many bytes from a pointer on.
    fn line(&self, t: usize, reg: Reg, bytes: Option<Reg>) -> Result<Arc<View>, Reason> {
        let Some(bytes) = bytes else {
            return self.view(t, reg);
        };
        let pointer = self.pointer(t, reg)?;
        Ok(Arc::new(View {
            buffer: pointer.buffer,
            base: pointer.offset,
            offset: 0,
            sizes: vec![self.int(t, bytes)?],
            strides: vec![1],
            elem: Elem::Int(8),
            lanes: 1,
        }))
    }

    /// Finds what a bulk copy moves, and checks that it is there and aligned.
    fn prepare(&self, t: usize, bulk: &Bulk) -> Result<Issue, Reason> {
        let ends = self.ends(t, bulk)?;
        let (local, align) = (
            ends.local.element(ends.local.offset),
            match ends.global {
                Global::Tile(..) => TILE_ALIGN,
                Global::Line(_) => LINE_ALIGN,
            },
        );
        let bytes = ends
            .local
            .span_bytes()
            .ok_or(Reason::Operand("a memref of a known size"))?;
        self.memory.check(local, bytes, align)?;
        let issue = match &ends.global {
            Global::Line(view) => {
                let global = view.element(view.offset);
                self.memory.check(global, bytes, align)?;
                let (source, destination) = if bulk.load {
                    (global, local)
                } else {
                    (local, global)
                };
                Issue {
                    pieces: vec![Piece {
                        source: Some(source),
                        destination: Some(destination),
                        bytes,
                    }],
                    fill: Arc::new([0]),
                    boxes: vec![[(local, bytes), (global, bytes)]],
                    bytes,
                }
            }
            Global::Tile(tensor, indices) => tiles(tensor, indices, (&ends.local, local), bulk.load),
        };
        if bytes % LINE_ALIGN != 0 {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            return Err(Reason::Size { bytes, of: 16 });
        }
        Ok(issue)
    }

    /// Makes a descriptor.
    pub(super) fn describe(&mut self, t: usize, describe: &Describe) -> Result<(), Reason> {
        let view = self.view(t, describe.view)?;
        for (dim, (size, expected)) in describe.sizes.iter().zip(&describe.shape.sizes).enumerate() {
            let (size, expected) = (self.int(t, *size)?, *expected);
            if size != expected {
                return Err(Reason::Mismatch { dim, size, expected });
            }
        }
        let tensor = Tensor {
            view: View::clone(&view),
            shape: Arc::clone(&describe.shape),
        };
        if view.sizes.len() != describe.shape.sizes.len() {
            return Err(Reason::Operand("a tensor of the box's rank"));
        }
        self.set(t, describe.to, Value::Tensor(Arc::new(tensor)));
        Ok(())
    }
}

/// The boxes of a tile, one after the other in workgroup memory, whose address is checked.
fn tiles(tensor: &Tensor, indices: &[i64], (local, at): (&View, Pointer), load: bool) -> Issue {
    let shape = &tensor.shape;
    let bytes =
        |sizes: &[i64]| sizes.iter().product::<i64>() * i64::try_from(shape.elem.bytes()).unwrap_or(1);
    let (box_bytes, all) = (bytes(&shape.sizes).max(1), bytes(&local.sizes));
    // The only dimension in which the memref may be a multiple of the box.
    let along = local
        .sizes
        .iter()
        .zip(&shape.sizes)
        .position(|(all, one)| all != one);
    let mut issue = Issue {
        pieces: Vec::new(),
        fill: Arc::clone(&shape.fill),
        boxes: Vec::new(),
        bytes: usize::try_from(all).unwrap_or(0),
    };
    let mut first = indices.to_vec();
    for number in 0..all / box_bytes {
        let start = Pointer {
            offset: at.offset + number * box_bytes,
            ..at
        };
        rows(tensor, &first, start, load, &mut issue.pieces);
        let bytes = usize::try_from(box_bytes).unwrap_or(0);
        issue
            .boxes
            .push([(start, bytes), (origin(tensor, &first), bytes)]);
        if let Some(along) = along {
            first[along] = first[along].saturating_add(shape.sizes[along]);
        }
    }
    issue
}

/// Where the first element of a box is, or would be if it were in bounds.
fn origin(tensor: &Tensor, first: &[i64]) -> Pointer {
    let view = &tensor.view;
    let distances = first
        .iter()
        .zip(&view.strides)
        .map(|(index, stride)| index.wrapping_mul(*stride));
    view.element(distances.fold(view.offset, i64::wrapping_add))
}

/// The rows of one box.
fn rows(tensor: &Tensor, first: &[i64], start: Pointer, load: bool, pieces: &mut Vec<Piece>) {
    let (shape, view) = (&tensor.shape, &tensor.view);
    let elem = i64::try_from(shape.elem.bytes()).unwrap_or(1);
    let Some((&row, outer)) = shape.sizes.split_last() else {
        return;
    };
    let last = first.len() - 1;
    for number in 0..outer.iter().product::<i64>() {
        let (mut rest, mut inside, mut global) = (number, true, view.offset);
        for dim in (0..last).rev() {
            let index = first[dim].saturating_add(rest % outer[dim]);
            rest /= outer[dim];
            inside &= (0..view.sizes[dim]).contains(&index);
            global = global.wrapping_add(index.wrapping_mul(view.strides[dim]));
        }
        // Chunks of 16 bytes lie in a row whatever the swizzle.
        let step = CHUNK / elem;
        for column in (0..row).step_by(usize::try_from(step).unwrap_or(1)) {
            let local = swizzled(
                shape,
                Pointer {
                    offset: start.offset + (number * row + column) * elem,
                    ..start
                },
            );
            let count = step.min(row - column);
            let index = first[last].saturating_add(column);
            let bounds = 0..if inside { view.sizes[last] } else { 0 };
            chunk(tensor, (index, count), bounds, global, local, load, pieces);
        }
    }
}

/// Some elements of a row: those that are out of bounds on one side or the other are filled, or left out.
fn chunk(
    tensor: &Tensor,
    (index, count): (i64, i64),
    bounds: std::ops::Range<i64>,
    row: i64,
    local: Pointer,
    load: bool,
    pieces: &mut Vec<Piece>,
) {
    let view = &tensor.view;
    let elem = i64::try_from(tensor.shape.elem.bytes()).unwrap_or(1);
    let end = index.saturating_add(count);
    let low = index.max(bounds.start).min(end);
    let high = end.min(bounds.end).max(low);
    for (from, to, inside) in [(index, low, false), (low, high, true), (high, end, false)] {
        if from >= to {
            continue;
        }
        let here = Pointer {
            offset: local.offset + (from - index) * elem,
            ..local
        };
        let stride = view.strides.last().copied().unwrap_or(1);
        let there = inside.then(|| view.element(row.wrapping_add(from.wrapping_mul(stride))));
        let (source, destination) = if load {
            (there, Some(here))
        } else {
            (Some(here), there)
        };
        let bytes = usize::try_from((to - from) * elem).unwrap_or(0);
        pieces.push(Piece {
            source,
            destination,
            bytes,
        });
    }
}

/// Where a chunk of 16 bytes lies that would lie at `at` without a swizzle: some bits of its number in a line of 128 bytes
/// are those of the line's number, added without carry.
fn swizzled(shape: &Tile, at: Pointer) -> Pointer {
    let mask = (shape.swizzle / CHUNK - 1).max(0);
    Pointer {
        offset: at.offset ^ (at.offset >> 7 & mask) << 4,
        ..at
    }
}
