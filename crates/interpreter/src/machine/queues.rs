//! The asynchronous instructions: what is in flight, and what a wait completes.

use super::{Machine, Reason};
use crate::code::{Copy, Issued, Op, Queue, Reg};
use crate::memory::{Kind, Transfer};
use crate::report::{Groups, Problem, Wait};
use crate::value::{CopyId, Guard, Guarded, Pending, Value};
use std::collections::HashSet;
use std::collections::VecDeque;
use std::sync::Arc;

/// The queues of a thread. Each is a FIFO of groups; the last one is still open.
#[derive(Default)]
pub(super) struct Queues {
    queues: Box<[Fifo]>,
}

#[derive(Default)]
struct Fifo {
    open: Vec<CopyId>,
    groups: VecDeque<Arc<[CopyId]>>,
    /// How many of the oldest groups are known to have read their sources.
    sources_free: usize,
    /// How many groups were committed.
    committed: u32,
    /// The youngest group that is complete.
    last: Arc<[CopyId]>,
}

impl Queues {
    /// So many empty queues.
    pub fn new(count: usize) -> Self {
        let queues = (0..count).map(|_| Fifo::default()).collect();
        Self { queues }
    }

    /// Adds an operation to the open group.
    pub fn push(&mut self, queue: Queue, id: CopyId) {
        self.fifo(queue).open.push(id);
    }

    fn fifo(&mut self, queue: Queue) -> &mut Fifo {
        &mut self.queues[queue.0 as usize]
    }

    /// Forgets what is done of that which is in no group: nobody may ever commit it.
    pub fn forget_open(&mut self, is_done: impl Fn(CopyId) -> bool) {
        for fifo in &mut self.queues {
            fifo.open.retain(|&id| !is_done(id));
        }
    }

    /// What was issued and not waited for.
    pub fn issued(&self) -> impl Iterator<Item = CopyId> {
        let all = |fifo: &Fifo| {
            let groups = fifo.groups.iter().flat_map(|group| group.iter().copied());
            groups.chain(fifo.open.iter().copied()).collect::<Vec<_>>()
        };
        self.queues.iter().flat_map(all)
    }

    /// Waits until `n` groups are in flight, or until all others have read their sources. Returns what that completes, and
    /// what is complete then.
    fn wait(&mut self, queue: Queue, n: u32, read: bool) -> (Vec<Pending>, (Groups, Arc<[CopyId]>)) {
        let fifo = self.fifo(queue);
        let finished = fifo.groups.len().saturating_sub(n as usize);
        let complete = fifo.committed.saturating_sub(n);
        let first = if read { fifo.sources_free.min(finished) } else { 0 };
        let done = fifo.groups.range(first..finished);
        let pending = |copy: &CopyId| Pending {
            copy: *copy,
            source: read,
        };
        let ids = done.flat_map(|group| group.iter().map(pending)).collect();
        let mut last = Arc::clone(&fifo.last);
        if let Some(group) = finished
            .checked_sub(1)
            .and_then(|youngest| fifo.groups.get(youngest))
        {
            last = Arc::clone(group);
        }
        if read {
            fifo.sources_free = fifo.sources_free.max(finished);
        } else {
            fifo.sources_free = fifo.sources_free.saturating_sub(finished);
            fifo.groups.drain(..finished);
            fifo.last = Arc::clone(&last);
        }
        let groups = Groups {
            committed: fifo.committed,
            complete,
        };
        (ids, (groups, last))
    }

    /// What is left, and whether a group was committed for it.
    pub fn left(self) -> Vec<(CopyId, bool)> {
        let mut left = Vec::new();
        for fifo in self.queues {
            let groups = fifo.groups.iter().flat_map(|group| group.iter().copied());
            left.extend(groups.map(|id| (id, true)));
            left.extend(fifo.open.into_iter().map(|id| (id, false)));
        }
        left
    }
}

impl Machine<'_> {
    /// What is left in the queues when a block ends.
    pub(super) fn drain(&mut self) {
        // What mbarriers may track needs no group.
        let tracked = self.code.has_arrivals_after_copies();
        for t in 0..self.threads.len() {
            let queues = std::mem::take(&mut self.threads[t].queues);
            for (id, committed) in queues.left() {
                let spot = self.memory.issuer(id);
                let issue = &self.code.instrs[spot.instr as usize].op;
                // What a bulk store writes is there when the kernel ends; what it reads goes with the block.
                let source = issue.is_bulk();
                let done = self.memory.is_done(Pending { copy: id, source });
                if !done && !self.is_added_to_in_flight(id) {
                    let problem = if issue.is_wgmma() {
                        Problem::unfinished_multiplication(spot, committed, issue.is_awaitable())
                    } else {
                        Problem::undrained(spot, !source, committed || tracked, issue.is_awaitable())
                    };
                    self.memory.reports.problem(problem);
                }
                let moment = self.moment(t);
                self.memory.complete(id, moment);
            }
        }
    }

    pub(super) fn asynchronous(&mut self, t: usize, op: &Op) -> Result<(), Reason> {
        match op {
            Op::Copy(copy) => self.issue(t, copy)?,
            Op::Issue(issued) => self.issue_alone(t, *issued)?,
            Op::Commit { queue, token } => {
                let fifo = self.threads[t].queues.fifo(*queue);
                let group: Arc<[CopyId]> = std::mem::take(&mut fifo.open).into();
                fifo.groups.push_back(Arc::clone(&group));
                self.memory.commit(&group, fifo.committed);
                fifo.committed += 1;
                if let Some(token) = token {
                    let group = group.iter().map(|&id| id.into()).collect();
                    self.set(t, *token, Value::Token(group));
                }
            }
            Op::Wait { queue, n, read } => {
                let (finished, wait) = self.threads[t].queues.wait(*queue, *n, *read);
                self.observe(t, &finished, Some(wait));
            }
            Op::Await(tokens) => {
                let mut ids = self.copies(t, tokens)?;
                ids.retain(|pending| self.can_be_awaited(pending.copy));
                self.add_earlier_products(&mut ids);
                self.observe(t, &ids, None);
            }
            Op::Join { to, from } => {
                let mut copies = self.copies(t, from)?;
                // Joins of joins would have them over and over.
                let mut seen = HashSet::new();
                copies.retain(|copy| seen.insert(*copy));
                self.set(t, *to, Value::Token(copies.into()));
            }
            Op::Guard { value, token } => {
                let copies = self.copies(t, &[*token])?;
                let guard = Guard {
                    copies: copies.into(),
                    by: self.code.instrs[self.threads[t].pc].place.clone(),
                    accumulator: None,
                };
                let guarded = Guarded {
                    value: self.threads[t].regs[value.0 as usize].clone(),
                    guards: vec![guard],
                };
                self.set(t, *value, Value::Guarded(Arc::new(guarded)));
            }
            _ => return Err(Reason::Operand("an asynchronous instruction")),
        }
        Ok(())
    }

    /// Adds what is complete no later than some multiplications: those whose results they add to.
    fn add_earlier_products(&self, ids: &mut Vec<Pending>) {
        let mut next = 0;
        while let Some(pending) = ids.get(next) {
            next += 1;
            let before = self
                .added_to
                .get(&pending.copy)
                .map(|before| Pending::from(*before));
            let before = before.filter(|before| !self.memory.is_done(*before) && !ids.contains(before));
            ids.extend(before);
        }
    }

    /// Returns true if a multiplication that is not complete adds to the result of this one: to wait for that is to wait for both.
    fn is_added_to_in_flight(&self, id: CopyId) -> bool {
        let by = self.added_by.get(&id);
        by.is_some_and(|by| !self.memory.is_done((*by).into()))
    }

    /// Returns true if whoever awaits the token of a copy waits for it: tokens of `nvgpu` stand for the group that the copy is in,
    /// and it may be in none yet.
    fn can_be_awaited(&self, id: CopyId) -> bool {
        let op = &self.code.instrs[self.memory.issuer(id).instr as usize].op;
        !op.is_grouped() || self.memory.is_committed(id)
    }

    fn issue(&mut self, t: usize, copy: &Copy) -> Result<(), Reason> {
        let bytes = self.index(t, copy.bytes)?;
        let written = usize::try_from(bytes).map_err(|_| Reason::Operand("a number of bytes"))?;
        let align = copy.align as usize;
        if written % align != 0 {
            return Err(Reason::Size {
                bytes,
                of: copy.align,
            });
        }
        let read = match copy.read {
            Some(reg) => self.read_bytes(t, reg, i64::from(copy.unit), bytes)?,
            None => written,
        };
        let to = self.target(t, &copy.to)?;
        // Nothing is read from anywhere: the source may be out of bounds.
        let from = if read == 0 {
            to
        } else {
            self.target(t, &copy.from)?
        };
        let mut actor = self.actor(t);
        if copy.bulk {
            actor.kind = Kind::Bulk;
        }
        let id = self.memory.issue(actor, (from, to), (read, written), align)?;
        let spot = self.spot(t);
        match &mut self.trace {
            // Bulk copies are issued by one thread for others.
            Some(trace) if copy.bulk => trace.issue_for_all(id, &[[(from, written), (to, written)]], spot),
            Some(trace) => {
                let from = (read > 0).then_some((from, read));
                trace.issue(id, Some((to, written)), from, spot);
            }
            None => {}
        }
        self.join_group(t, id, copy.issued, bytes.unsigned_abs());
        Ok(())
    }

    /// Thread `t` issues an operation that accesses no memory.
    fn issue_alone(&mut self, t: usize, issued: Issued) -> Result<(), Reason> {
        let nothing = Transfer {
            pieces: Arc::new([]),
            fill: Arc::new([0]),
            shared: false,
        };
        let (actor, spot) = (self.actor(t), self.spot(t));
        let id = self.memory.transfer(actor, nothing)?;
        if let Some(trace) = &mut self.trace {
            trace.issue(id, None, None, spot);
        }
        self.join_group(t, id, issued, 0);
        Ok(())
    }

    /// What thread `t` has issued joins the open group of its queue.
    fn join_group(&mut self, t: usize, id: CopyId, issued: Issued, bytes: u64) {
        let (spot, lane) = (self.spot(t), &self.code.queues[issued.queue.0 as usize]);
        if let Some(timeline) = self.timing() {
            timeline.issue(t, id, lane, bytes, spot.into());
        }
        self.threads[t].queues.push(issued.queue, id);
        if let Some(token) = issued.token {
            self.set(t, token, Value::Token(Arc::new([id.into()])));
        }
    }

    /// The bytes that a copy of `written` bytes reads, from a register that counts in `unit` bytes.
    fn read_bytes(&self, t: usize, reg: Reg, unit: i64, written: i64) -> Result<usize, Reason> {
        let (read, written) = (self.int(t, reg)?, written / unit);
        if !(0..=written).contains(&read) {
            return Err(Reason::Count { read, written });
        }
        Ok(usize::try_from(read * unit).unwrap_or(0))
    }

    /// Thread `t` observes that copies are complete, or that their sources were read; with a wait for groups, how many then are,
    /// and the youngest of them.
    pub(super) fn observe(&mut self, t: usize, all: &[Pending], groups: Option<(Groups, Arc<[CopyId]>)>) {
        let (spot, actor) = (self.spot(t), self.actor(t));
        if let Some(timeline) = self.timing() {
            // The model knows no difference between what is read and what has landed.
            let ids: Vec<CopyId> = all.iter().map(|pending| pending.copy).collect();
            timeline.wait(t, &ids, spot.into());
        }
        if let Some(trace) = &mut self.trace {
            trace.wait(spot);
        }
        let (groups, copies) = groups.unzip();
        self.memory.reports.wait(Wait {
            at: spot,
            groups,
            copies: copies.unwrap_or_else(|| all.iter().map(|pending| pending.copy).collect()),
            next_copy: self.memory.next_copy(),
        });
        for &pending in all {
            if let Some(trace) = &mut self.trace {
                trace.observe(spot.thread, pending);
            }
            self.memory.observe(pending, actor);
        }
    }
}
