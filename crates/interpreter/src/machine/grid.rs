//! Runs the blocks of a grid: one after the other, or several at a time.
//!
//! Nothing orders blocks, so what they do may only meet in reads of global memory. Several workers run some blocks each, all
//! from the memory that the kernel starts with. Where one has written what another one has touched, nothing of that counts,
//! and the blocks run one after the other. Else what the workers have done is put together in the order of blocks: it is what
//! one of them would have done.

use super::{Machine, Stop, ThreadOrder};
use crate::adversary::Adversary;
use crate::code::{Code, Op, ParamKind, Reg};
use crate::memory::{Contents, Owner, Space};
use crate::value::{BufferId, Value, View};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// What all blocks start with.
#[derive(Clone)]
pub(super) struct Start {
    regs: Vec<Value>,
    /// Memory of the workgroup that is a parameter, and what is in it.
    own: Vec<(Reg, Arc<View>, Contents)>,
}

/// How far the workers are.
#[derive(Default)]
struct Progress {
    blocks: AtomicU32,
    instructions: AtomicU64,
}

/// All workers' memory together has at most so many bytes.
const MAX_BYTES: usize = 1 << 30;

/// More cores than machines have; each worker is a thread.
const MAX_WORKERS: usize = 256;

/// How often somebody is told how far the workers are.
const TELL_EVERY: Duration = Duration::from_millis(100);

impl Machine<'_> {
    /// Runs all blocks, up to `jobs` at a time; `args` are the values of the parameters. Calls `each` now and then, with
    /// the numbers of blocks done and of instructions run. What comes of it does not depend on `jobs`.
    ///
    /// # Errors
    ///
    /// Where an instruction can't be run.
    pub fn run(&mut self, args: &[Value], jobs: usize, each: &mut dyn FnMut(u32, u64)) -> Result<(), Stop> {
        let start = self.launch_state(args);
        let blocks = self.launch.grid.iter().product::<u32>();
        let workers = self.workers(jobs, blocks);
        if workers > 1
            && let Some(ran) = self.run_at_once(&start, workers, blocks, each)
        {
            return ran;
        }
        self.run_blocks(start, 0..blocks, each)
    }

    pub(super) fn launch_state(&mut self, args: &[Value]) -> Start {
        let mut regs = vec![Value::Poison; self.code.regs as usize];
        let mut own = Vec::new();
        for (param, arg) in self.code.params.iter().zip(args) {
            regs[param.to.0 as usize] = arg.clone();
            if let (ParamKind::MemRef { workgroup: true, .. }, Value::View(view)) = (&param.kind, arg) {
                let contents = self.memory.buffer(view.buffer).contents();
                own.push((param.to, Arc::clone(view), contents));
            }
        }
        let mut declared = self.declared.take().into_iter().flatten();
        for decl in &self.code.global {
            let known = declared.next();
            let value = known.unwrap_or_else(|| self.declare(decl, Space::Global));
            if let (true, Value::View(view)) = (self.code.is_program, &value) {
                // A variable of host code is pageable memory.
                self.memory.set_origin(view.buffer, Owner::Host);
            }
            regs[decl.to.0 as usize] = value;
        }
        self.memory.watch(self.timeline.is_some());
        if self.code.is_host {
            self.memory.use_host_addresses();
        }
        if self.code.is_program {
            self.memory.use_owners();
        }
        if self.code.is_host
            || self.code.has_arrivals()
            || self.code.has_arrivals_after_copies()
            || self.code.has_named_barriers()
        {
            self.memory.use_clocks();
        }
        if self.code.has_arrivals_after_copies() {
            self.memory.share_copies();
        }
        if self.code.has_partial_barriers() {
            self.memory.use_partial_barriers();
        }
        Start { regs, own }
    }

    /// How many workers there can be.
    fn workers(&self, jobs: usize, blocks: u32) -> usize {
        // The answers of an exhaustive search are for all blocks, as timelines and traces are; atomic accesses meet.
        let exhaustive = matches!(self.memory.adversary(), Adversary::Exhaustive { .. });
        let meets = |code: &Code| {
            let mut ops = code.instrs.iter().map(|instr| &instr.op);
            ops.any(|op| matches!(op, Op::Atomic { .. } | Op::AtomicLoad { .. } | Op::Print { .. }))
        };
        let watched = self.timeline.is_some() || self.trace.is_some() || self.memory.read_hashes.is_some();
        let ordered = self.thread_order == ThreadOrder::Ascending;
        if exhaustive || watched || !ordered || meets(self.code) {
            return 1;
        }
        at_most(jobs, blocks, self.memory.bytes())
    }

    /// Runs blocks in the order of their numbers.
    fn run_blocks(
        &mut self,
        mut start: Start,
        blocks: Range<u32>,
        each: &mut dyn FnMut(u32, u64),
    ) -> Result<(), Stop> {
        let first = blocks.start;
        for block in blocks {
            self.place_block(&mut start, block);
            let each_steps = &mut |steps| each(block - first, steps);
            let ran = if self.code.is_host {
                self.run_tasks(start.regs.clone(), each_steps)
            } else {
                self.run_block(start.regs.clone(), each_steps)
            };
            self.collect_prints();
            ran?;
            each(block - first + 1, self.steps);
        }
        Ok(())
    }

    /// Begins a block, up to where its threads run.
    pub(super) fn begin_block(&mut self, start: &mut Start, block: u32) {
        self.place_block(start, block);
        self.start_threads(start.regs.clone());
    }

    fn place_block(&mut self, start: &mut Start, block: u32) {
        let [x, y, _] = self.launch.grid;
        self.block = [block % x, block / x % y, block / x / y];
        self.first_thread = block * self.launch.block.iter().product::<u32>();
        self.memory.start_block(block);
        if block > 0 {
            self.renew(start);
        }
    }

    /// Workgroup memory that is a parameter is another one in each block, filled the same way.
    fn renew(&mut self, start: &mut Start) {
        for (to, view, contents) in &start.own {
            // The first block's stays, to be looked at.
            if let Value::View(last) = &start.regs[to.0 as usize]
                && last.buffer != view.buffer
            {
                self.memory.free(last.buffer);
            }
            let old = self.memory.buffer(view.buffer);
            let (name, align, array) = (old.name.clone(), old.align, old.array.clone());
            let buffer = self
                .memory
                .add(name, Space::Workgroup, align, contents.clone(), array);
            let view = View {
                buffer,
                ..View::clone(view)
            };
            start.regs[to.0 as usize] = Value::View(Arc::new(view));
        }
    }

    /// Runs the blocks by several workers; `None` if they meet in memory.
    fn run_at_once(
        &mut self,
        start: &Start,
        workers: usize,
        blocks: u32,
        each: &mut dyn FnMut(u32, u64),
    ) -> Option<Result<(), Stop>> {
        let count = u32::try_from(workers).unwrap_or(u32::MAX);
        let share = |worker: u32| {
            let end = u64::from(blocks) * u64::from(worker) / u64::from(count);
            u32::try_from(end).unwrap_or(blocks)
        };
        let forks = (0..count).map(|worker| (self.fork(), share(worker)..share(worker + 1)));
        let mut done = run_shares(forks.collect(), start, each);
        // What stops the run in one block keeps later ones from running.
        if let Some(stopped) = done.iter().position(|(_, ran)| ran.is_err()) {
            done.truncate(stopped + 1);
        }
        let memories: Vec<_> = done.iter().map(|(machine, _)| &machine.memory).collect();
        if self.memory.meet(&memories) {
            return None;
        }
        let buffers = self.memory.buffer_count();
        Some(done.into_iter().try_for_each(|(machine, ran)| {
            let (iterations, buffer) = self.adopt(machine, buffers);
            ran.map_err(|stop| stop.adopted(&iterations, buffer))
        }))
    }

    fn run_share(&mut self, start: Start, range: Range<u32>, progress: &Progress) -> Result<(), Stop> {
        let (mut blocks, mut instructions) = (0, 0);
        self.run_blocks(start, range, &mut |done, steps| {
            progress.blocks.fetch_add(done - blocks, Ordering::Relaxed);
            progress
                .instructions
                .fetch_add(steps - instructions, Ordering::Relaxed);
            (blocks, instructions) = (done, steps);
        })
    }

    /// The same machine with a memory of its own, as it is before any block has run.
    fn fork(&self) -> Self {
        Self::new(self.code, self.launch.clone(), self.memory.fork())
    }

    /// Adds what a worker has done with later blocks than all that were run so far; it began with so many buffers. Returns
    /// what each of its entries in the table of iterations is here, and each of its buffers.
    fn adopt(&mut self, worker: Self, buffers: usize) -> (Vec<u32>, impl Fn(BufferId) -> BufferId + use<>) {
        let iterations: Vec<u32> = worker
            .iterations
            .iter()
            .map(|counters| self.entry(counters))
            .collect();
        let buffer = self.memory.adopt(worker.memory, buffers, &iterations);
        self.steps += worker.steps;
        self.stuck |= worker.stuck;
        self.printed.push_str(&worker.printed);
        (iterations, buffer)
    }
}

/// How many of `jobs` workers find work, room for a copy of so many bytes each, and threads.
fn at_most(jobs: usize, blocks: u32, bytes: usize) -> usize {
    let room = MAX_BYTES / bytes.max(1);
    jobs.min(blocks as usize).min(MAX_WORKERS).min(room).max(1)
}

/// Runs the blocks of each machine, all at once; returns the machines in the same order, and how they ended.
fn run_shares<'c>(
    forks: Vec<(Machine<'c>, Range<u32>)>,
    start: &Start,
    each: &mut dyn FnMut(u32, u64),
) -> Vec<(Machine<'c>, Result<(), Stop>)> {
    let progress = Progress::default();
    std::thread::scope(|scope| {
        // Nothing is sent: it is closed when the last of them has ended, also by a panic.
        let (running, ended) = mpsc::channel::<()>();
        let spawn = |(mut machine, range): (Machine<'c>, Range<u32>)| {
            let (progress, running) = (&progress, running.clone());
            scope.spawn(move || {
                let ran = machine.run_share(start.clone(), range, progress);
                drop(running);
                (machine, ran)
            })
        };
        let handles: Vec<_> = forks.into_iter().map(spawn).collect();
        drop(running);
        while ended.recv_timeout(TELL_EVERY) == Err(RecvTimeoutError::Timeout) {
            let (blocks, instructions) = (&progress.blocks, &progress.instructions);
            each(
                blocks.load(Ordering::Relaxed),
                instructions.load(Ordering::Relaxed),
            );
        }
        let results = handles.into_iter().map(std::thread::ScopedJoinHandle::join);
        results
            .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_workers_than_blocks_room_and_threads() {
        assert_eq!(at_most(20_000, 3, 16), 3);
        assert_eq!(at_most(20_000, 1 << 20, 16), MAX_WORKERS);
        assert_eq!(at_most(8, 1 << 20, MAX_BYTES / 2), 2);
        assert_eq!(at_most(8, 1 << 20, MAX_BYTES * 2), 1);
        assert_eq!(at_most(8, 0, 0), 1, "also for no blocks");
    }
}
