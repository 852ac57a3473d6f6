//! Runs a kernel, block by block.
//!
//! Every warp of a block runs until it has to wait for others: its threads one after the other, and when all stand at an
//! operation of the whole warp, that. When none can go on, a barrier at which all threads of the block stand is passed,
//! which starts a new era (see [`crate::memory`]). Races don't depend on the order in which threads run between barriers,
//! so they run one after the other.

mod access;
mod accumulators;
mod barriers;
mod bulk;
mod compute;
mod failures;
mod fragments;
mod grid;
mod instr;
mod kernel;
mod matrices;
mod mbarriers;
mod notes;
mod print;
mod program;
mod queues;
mod reductions;
mod registers;
mod sparse;
mod stop;
mod tasks;
mod vectors;
mod views;
mod votes;
mod warp;
mod warpgroup;

use self::barriers::{BARRIERS, NamedBarrier};
use self::failures::Failure;
pub use self::kernel::Ended;
pub(crate) use self::kernel::KernelRun;
use self::mbarriers::{Key, MBarrier};
use self::queues::Queues;
pub use self::stop::{Reason, Stop};
use self::tasks::Tasks;
use crate::adversary::next_random;
use crate::code::{Code, Init, Reg};
use crate::memory::{Contents, Memory, Space};
use crate::refine::Trace;
use crate::timeline::Recorder;
use crate::value::{BufferId, CopyId, Guard, Pending, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;
use std::sync::Arc;

/// How a kernel is launched.
#[derive(Clone, Debug)]
pub struct Launch {
    /// How many blocks, in x, y and z.
    pub grid: [u32; 3],
    /// How many threads in a block.
    pub block: [u32; 3],
    /// How many bytes of dynamic workgroup memory.
    pub dynamic_workgroup: usize,
    /// The most instructions of one thread, so that an endless loop ends.
    pub budget: u64,
}

/// The threads of a warp.
pub const WARP: usize = 32;

/// How many times as many instructions as a thread of a kernel may a task of a program run.
const HOST_BUDGET: u64 = 64;

/// Instructions between two calls of whoever wants to know how far the run is.
const REPORT_EVERY: u64 = 1 << 16;

/// In which order the threads of a block run, where nothing says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ThreadOrder {
    /// The first one first.
    #[default]
    Ascending,
    /// The last one first.
    Descending,
    /// Another one each time, from a seed.
    Random(u64),
}

/// Why a thread is not running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Running,
    Barrier,
    Warp,
    /// At a copy of the whole block.
    Block,
    /// For the phase of an mbarrier.
    MBarrier,
    /// At a barrier that has a number.
    Named,
    /// For the other threads of its warpgroup.
    Warpgroup,
    /// For tasks to be complete.
    Task,
    Done,
}

struct Thread {
    state: State,
    pc: usize,
    regs: Vec<Value>,
    /// The iteration of each loop around.
    counters: Vec<u32>,
    /// The entry of `counters` in the table of iterations, if it is not `moved`.
    iterations: u32,
    /// True if `counters` have changed since they were looked up.
    moved: bool,
    queues: Queues,
    /// How often it has issued a copy that completes on an mbarrier, or let one track its copies.
    issued: u32,
    steps: u64,
    /// What it has printed.
    printed: String,
    /// When registers that flow into accumulators were written, and when the last `wgmma.fence` was, both in steps.
    written: FxHashMap<Reg, u64>,
    fenced: Option<u64>,
    /// The multiplications that read registers as A, and perhaps are not done.
    reads: FxHashMap<Reg, Vec<Pending>>,
}

impl Thread {
    /// A thread that has not run yet.
    fn new(regs: Vec<Value>, queues: usize) -> Self {
        Self {
            state: State::Running,
            pc: 0,
            regs,
            counters: Vec::new(),
            iterations: 0,
            moved: false,
            queues: Queues::new(queues),
            issued: 0,
            steps: 0,
            printed: String::new(),
            written: FxHashMap::default(),
            fenced: None,
            reads: FxHashMap::default(),
        }
    }
}

/// What a thread does after an instruction.
enum Next {
    Goes,
    Jumps(usize),
    Waits(State),
}

/// A run of a kernel.
pub struct Machine<'c> {
    code: &'c Code,
    launch: Launch,
    /// The memory.
    pub memory: Memory,
    /// Which iterations each entry stands for, outermost loop first.
    pub iterations: Vec<Box<[u32]>>,
    /// The entry of each.
    entries: HashMap<Box<[u32]>, u32>,
    /// How many instructions were run.
    pub steps: u64,
    /// In which order the threads of a block run. What is reported does not depend on it.
    pub thread_order: ThreadOrder,
    /// True if threads of a block waited for what never came.
    pub stuck: bool,
    /// What the kernel has printed: block by block, and of each block, thread by thread.
    pub printed: String,
    /// How much of it the block that runs has printed.
    printing: usize,
    /// When what happens in the first block, if that is asked for.
    pub timeline: Option<Recorder>,
    /// What the threads do, to compare it with another form, if that is asked for.
    pub trace: Option<Trace>,
    threads: Vec<Thread>,
    /// The block that runs.
    block: [u32; 3],
    first_thread: u32,
    /// The buffers of its workgroup and its threads.
    private: Vec<BufferId>,
    era: NonZeroU32,
    /// The mbarriers of the block.
    mbarriers: BTreeMap<Key, MBarrier>,
    /// How often threads have tested them in vain since anybody could go on otherwise.
    vain_tests: u32,
    /// The tasks of host code, each of which is the thread of its number.
    tasks: Tasks,
    /// The kernels that tasks of a program run.
    running: BTreeMap<usize, Box<KernelRun<'c>>>,
    /// True if one of them has stopped for others to make progress.
    is_other_turn: bool,
    /// What was found in kernels of a program.
    pub ended: Vec<Ended>,
    /// The number of a device operation of a program that fails, counted from 1 in the order in which they run.
    pub fail_at: Option<u64>,
    /// How many there were so far, and what has become of the one that has failed.
    calls: u64,
    failure: Option<Failure>,
    /// The variables of kernels, by the module that declares them and by name; and those of each kernel.
    variables: BTreeMap<(String, String), Value>,
    globals: BTreeMap<usize, Vec<Value>>,
    /// The variables of this kernel, if a program has declared them.
    declared: Option<Vec<Value>>,
    /// True if the threads of a block take turns after each instruction that others may see, as hardware runs those of a warp.
    in_lockstep: bool,
    /// With so many instructions, a kernel of a program stops for others to make progress.
    pause_at: u64,
    /// The barriers of the block that have numbers.
    barriers: [NamedBarrier; BARRIERS],
    /// The copies of the block that more than one thread waits for, and whether they have tokens.
    bulk: Vec<(CopyId, bool)>,
    /// What was not done when a value was used that it guards, and what guards it.
    early: RefCell<Vec<(CopyId, Guard)>>,
    /// The registers whose numbers flow into accumulators of warpgroups unchanged.
    accumulators: FxHashSet<Reg>,
    /// For a multiplication, the one whose result it adds to, if that was in flight: it is complete no later.
    added_to: FxHashMap<CopyId, CopyId>,
    /// For a multiplication, the first one that has added to its result while that was in flight: it has the registers now.
    added_by: FxHashMap<CopyId, CopyId>,
    /// Those of A among them, each with those that its numbers are taken from.
    fragments: FxHashMap<Reg, Box<[Reg]>>,
}

impl<'c> Machine<'c> {
    /// Makes a machine that has not run yet.
    #[must_use]
    pub fn new(code: &'c Code, launch: Launch, memory: Memory) -> Self {
        Self {
            code,
            launch,
            memory,
            iterations: vec![Box::new([])],
            entries: HashMap::from([(Box::default(), 0)]),
            steps: 0,
            thread_order: ThreadOrder::default(),
            stuck: false,
            printed: String::new(),
            printing: 0,
            timeline: None,
            trace: None,
            threads: Vec::new(),
            block: [0; 3],
            first_thread: 0,
            private: Vec::new(),
            era: NonZeroU32::MIN,
            mbarriers: BTreeMap::new(),
            vain_tests: 0,
            tasks: Tasks::default(),
            running: BTreeMap::new(),
            is_other_turn: false,
            ended: Vec::new(),
            fail_at: None,
            calls: 0,
            failure: None,
            variables: BTreeMap::new(),
            globals: BTreeMap::new(),
            declared: None,
            in_lockstep: false,
            pause_at: u64::MAX,
            barriers: <[NamedBarrier; BARRIERS]>::default(),
            bulk: Vec::new(),
            early: RefCell::default(),
            accumulators: accumulators::registers(code),
            added_to: FxHashMap::default(),
            added_by: FxHashMap::default(),
            fragments: accumulators::fragments(code),
        }
    }

    /// Makes the variables of the kernel before it runs, with what `contents` says is in those of a name; else with what they begin with.
    /// Returns their buffers.
    pub fn declare_variables(&mut self, contents: impl Fn(&str) -> Option<Vec<u8>>) -> Vec<BufferId> {
        let mut values = Vec::new();
        for decl in &self.code.global {
            let mut decl = decl.clone();
            if let Some(bytes) = contents(&decl.name) {
                decl.init = Init::Bytes(bytes);
            }
            values.push(self.declare(&decl, Space::Global));
        }
        let buffers = values.iter().filter_map(|value| match value {
            Value::View(view) => Some(view.buffer),
            _ => None,
        });
        let buffers = buffers.collect();
        self.declared = Some(values);
        buffers
    }

    /// How it is launched.
    pub(crate) fn launched(&self) -> &Launch {
        &self.launch
    }

    fn declare(&mut self, decl: &crate::code::BufferDecl, space: Space) -> Value {
        let contents = match &decl.init {
            Init::Unwritten(bytes) => Contents::Unwritten(*bytes),
            Init::Bytes(bytes) => Contents::Bytes(bytes.clone()),
            Init::Dynamic => Contents::Unwritten(self.launch.dynamic_workgroup),
        };
        let mut view = decl.view.clone();
        if let (Init::Dynamic, Some(size)) = (&decl.init, view.sizes.first_mut()) {
            *size = i64::try_from(self.launch.dynamic_workgroup).unwrap_or(i64::MAX);
        }
        let array = view.array();
        view.buffer = self
            .memory
            .add(decl.name.clone(), space, decl.align, contents, array);
        Value::View(Arc::new(view))
    }

    fn run_block(&mut self, regs: Vec<Value>, each: &mut dyn FnMut(u64)) -> Result<(), Stop> {
        self.start_threads(regs);
        let ran = self.run_warps(each);
        self.finish_block(ran, each)
    }

    /// Makes the threads of a block, and its workgroup memory.
    fn start_threads(&mut self, mut regs: Vec<Value>) {
        let threads = self.launch.block.iter().product::<u32>();
        for decl in &self.code.workgroup {
            let value = self.declare(decl, Space::Workgroup);
            if let Value::View(view) = &value {
                self.private.push(view.buffer);
            }
            regs[decl.to.0 as usize] = value;
        }
        self.threads = (0..threads)
            .map(|_| Thread::new(regs.clone(), self.code.queues.len()))
            .collect();
        self.barriers = <[NamedBarrier; BARRIERS]>::default();
        self.vain_tests = 0;
        // The accumulators of other blocks are gone.
        self.added_to.clear();
        self.added_by.clear();
        self.next_era();
    }

    /// Ends a block whose threads have run until nobody could go on.
    fn finish_block(&mut self, ran: Result<(), Stop>, each: &mut dyn FnMut(u64)) -> Result<(), Stop> {
        if let Err(stop) = ran {
            return Err(self.ended_by(stop, each));
        }
        // Where threads have not come to their end, nothing is missing there.
        let ended = self.threads.iter().all(|thread| thread.state == State::Done);
        self.stuck |= !ended;
        self.note_unawaited();
        if ended {
            self.drain();
            self.drain_mbarriers();
        }
        self.drain_bulk(ended);
        self.mbarriers.clear();
        self.memory.forget_barriers();
        if let Some(trace) = &mut self.trace {
            trace.end_of_block();
        }
        for id in std::mem::take(&mut self.private) {
            self.memory.free(id);
        }
        Ok(())
    }

    /// Returns true if it stops for others to make progress.
    fn is_paused(&self) -> bool {
        self.steps >= self.pause_at
    }

    /// Runs the threads of the block until nobody can go on.
    fn run_warps(&mut self, each: &mut dyn FnMut(u64)) -> Result<(), Stop> {
        let (mut stuck, mut warps) = (false, self.turns());
        while !stuck && self.threads.iter().any(|thread| thread.state != State::Done) {
            self.reorder(&mut warps);
            for warp in &warps {
                self.run_warp(warp, each)?;
                if self.is_paused() {
                    return Ok(());
                }
            }
            stuck = !(self.runs()
                || self.warpgroups()?
                || self.wake()?
                || self.block_wide()?
                || self.pass_barrier());
        }
        Ok(())
    }

    /// The threads of each warp, in an order in which they may run.
    fn turns(&self) -> Vec<Vec<usize>> {
        let threads: Vec<usize> = (0..self.threads.len()).collect();
        let mut warps: Vec<Vec<usize>> = threads.chunks(WARP).map(<[usize]>::to_vec).collect();
        if self.thread_order == ThreadOrder::Descending {
            warps.reverse();
            for warp in &mut warps {
                warp.reverse();
            }
        }
        warps
    }

    /// Changes the order if it is another one each time.
    fn reorder(&mut self, warps: &mut [Vec<usize>]) {
        if let ThreadOrder::Random(state) = &mut self.thread_order {
            warps.sort_by_cached_key(|_| next_random(state));
            for warp in warps {
                warp.sort_by_cached_key(|_| next_random(state));
            }
        }
    }

    /// Runs the threads of a warp until they have to wait for others.
    fn run_warp(&mut self, warp: &[usize], each: &mut dyn FnMut(u64)) -> Result<(), Stop> {
        let first = warp.iter().copied().min().unwrap_or(0);
        loop {
            for &t in warp {
                let before = self.steps;
                self.run_thread(t)?;
                if before / REPORT_EVERY != self.steps / REPORT_EVERY {
                    each(self.steps);
                }
            }
            let runs = warp.iter().any(|&t| self.threads[t].state == State::Running);
            if runs || !self.warp_operations(first)? {
                return Ok(());
            }
        }
    }

    /// Host code of a program does alone what many threads of a kernel share.
    fn is_in_budget(&self, t: usize) -> bool {
        let budget = self.launch.budget.saturating_mul(HOST_BUDGET);
        self.code.is_program && self.threads[t].steps <= budget
    }

    /// Runs a thread until it has to wait, or it is the turn of the others.
    fn run_thread(&mut self, t: usize) -> Result<(), Stop> {
        while self.threads[t].state == State::Running && !self.is_paused() {
            let ends_turn = self.in_lockstep && self.code.instrs[self.threads[t].pc].op.is_seen();
            self.step(t)?;
            if ends_turn {
                break;
            }
        }
        Ok(())
    }

    /// Runs the next instruction of a thread.
    #[inline]
    fn step(&mut self, t: usize) -> Result<(), Stop> {
        let code = self.code;
        let pc = self.threads[t].pc;
        let instr = &code.instrs[pc];
        self.steps += 1;
        self.threads[t].steps += 1;
        if self.threads[t].steps > self.launch.budget && !self.is_in_budget(t) {
            return Err(self.stop(t, Reason::Budget));
        }
        if self.timeline.is_some() || instr.op.is_seen() {
            self.settle(t);
        }
        if self.timeline.is_some() {
            let spot = self.spot(t);
            if let Some(timeline) = self.timing() {
                timeline.step(code, t, spot.into());
            }
        }
        let next = match self.instr(t, instr) {
            Ok(next) => next,
            Err(Reason::Pending(task)) => self.wait_for(t, vec![task]),
            Err(reason) => return Err(self.stop(t, reason)),
        };
        self.note_early(t);
        if self.timeline.is_some() {
            self.note_reads(t);
        }
        let thread = &mut self.threads[t];
        match next {
            Next::Goes => thread.pc += 1,
            Next::Jumps(to) => thread.pc = to,
            Next::Waits(state) => thread.state = state,
        }
        Ok(())
    }
}
