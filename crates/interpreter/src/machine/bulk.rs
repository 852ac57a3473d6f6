//! Bulk copies: what they move, and who issues them.
//!
//! A block-wide one starts when all threads of the block have come to it, and is issued once. So it is ordered after all
//! that they did before in memory of the workgroup. In issued form the thread that executes it issues it, after what that thread knows.

mod boxes;

use self::boxes::{Issue, one_box, tiles};
use super::{Machine, Reason, State, Stop, WARP};
use crate::code::{Bulk, Completion, Describe, GlobalSide, Op, Reg};
use crate::memory::{Actor, Kind, Piece, Transfer};
use crate::report::Problem;
use crate::timeline::BULK;
use crate::value::{CopyId, Elem, Pending, Tensor, Value, View};
use std::sync::Arc;

/// What the address of a tile in workgroup memory is a multiple of, and that of bytes in a row (PTX ISA,
/// `cp.async.bulk.tensor` and `cp.async.bulk`).
const TILE_ALIGN: usize = 128;
const LINE_ALIGN: usize = 16;

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
        if let Some(warp) = bulk.issuer {
            self.check_warp(0, warp);
        }
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

    /// Notes that thread `t` asks `warp` for something and it is not in the block.
    pub(super) fn check_warp(&mut self, t: usize, warp: u32) {
        let threads = self.threads.len();
        if warp as usize * WARP >= threads {
            let problem = Problem::no_such_warp(self.spot(t), warp, threads);
            self.memory.reports.problem(problem);
        }
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
            timeline.issue_once(t, id, &BULK.into(), issue.bytes as u64, spot.into());
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
                if indices.len() != tensor.shape.sizes.len() {
                    return Err(Reason::Operand("one coordinate for each dimension of the tensor"));
                }
                let indices: Result<_, _> = indices.iter().map(|index| self.int(t, *index)).collect();
                Global::Tile(Arc::clone(tensor), indices?)
            }
        };
        let local = match (&global, self.value(t, bulk.local)?) {
            (Global::Tile(tensor, _), Value::Pointer(at)) => Arc::new(one_box(*at, &tensor.shape)),
            _ => self.line(t, bulk.local, bulk.bytes)?,
        };
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
        if let Some((dim, bytes)) = view.odd_pitch() {
            return Err(Reason::Pitch { dim, bytes });
        }
        self.set(t, describe.to, Value::Tensor(Arc::new(tensor)));
        Ok(())
    }
}
