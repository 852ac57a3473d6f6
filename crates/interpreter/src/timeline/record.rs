//! What is noted of a run: events of the first thread of each warp, in the order in which the interpreter runs them.

use super::{At, Costs};
use crate::code::{Code, Instr};
use crate::machine::WARP;
use crate::value::{BufferId, CopyId};
use std::collections::HashMap;
use std::sync::Arc;

/// What the first thread of a warp does. Copies and phases are named by their numbers.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// It runs an instruction of so many cycles.
    Run(At, u64),
    /// It issues a copy of so many bytes, for the whole warp.
    Issue(usize, Arc<str>, At, u64),
    /// It issues a multiplication of so many cycles, for its warpgroup.
    Multiply(usize, At, u64),
    /// It waits for copies.
    Wait(Vec<usize>, At),
    /// It comes to a block barrier.
    Barrier(At),
    /// It arrives on a phase of an mbarrier.
    Arrive(usize, At),
    /// It waits for a phase of an mbarrier: for what arrives there, and for copies.
    Phase(usize, Vec<usize>, At),
}

impl Event {
    /// Where it happens.
    pub fn at(&self) -> At {
        match self {
            Self::Run(at, _)
            | Self::Issue(_, _, at, _)
            | Self::Multiply(_, at, _)
            | Self::Wait(_, at)
            | Self::Barrier(at)
            | Self::Arrive(_, at)
            | Self::Phase(_, _, at) => *at,
        }
    }
}

/// Notes what happens while a kernel runs.
#[derive(Clone, Debug)]
pub struct Recorder {
    pub(super) costs: Costs,
    /// The loops around each instruction, outermost first; nothing for what a loop itself does to count its iterations.
    pub(super) loops: Vec<Option<Arc<[u32]>>>,
    pub(super) warps: Vec<Vec<Event>>,
    /// The number of each copy.
    pub(super) numbers: HashMap<CopyId, usize>,
    /// Which copies were read, by which warp, where.
    pub(super) reads: Vec<(usize, usize, At)>,
    /// How many arrivals each phase has, by its number.
    pub(super) arrivals: Vec<usize>,
    /// The numbers of the phases of each mbarrier.
    phases: HashMap<(BufferId, i64), HashMap<u64, usize>>,
}

impl Recorder {
    /// Starts to note what a block of so many threads does.
    #[must_use]
    pub fn new(code: &Code, costs: Costs, threads: usize) -> Self {
        let counts = |instr: &Instr| {
            let innermost = instr.loops.last();
            innermost.is_some_and(|&innermost| code.loops[innermost as usize] == instr.place)
        };
        let loops = code.instrs.iter();
        Self {
            costs,
            loops: loops
                .map(|instr| (!counts(instr)).then(|| Arc::clone(&instr.loops)))
                .collect(),
            warps: vec![Vec::new(); threads.div_ceil(WARP)],
            numbers: HashMap::new(),
            reads: Vec::new(),
            arrivals: Vec::new(),
            phases: HashMap::new(),
        }
    }

    /// Notes an event of thread `t`, if it stands for its warp.
    fn note(&mut self, t: usize, event: impl FnOnce(&mut Self) -> Event) {
        if t.is_multiple_of(WARP) {
            let event = event(self);
            self.warps[t / WARP].push(event);
        }
    }

    /// Thread `t` runs an instruction.
    pub(crate) fn step(&mut self, code: &Code, t: usize, at: At) {
        let cost = self.costs.of(&code.instrs[at.instr as usize].op);
        if cost > 0 {
            self.note(t, |_| Event::Run(at, cost));
        }
    }

    /// Thread `t` issues a copy of so many bytes.
    pub(crate) fn issue(&mut self, t: usize, id: CopyId, lane: &Arc<str>, bytes: u64, at: At) {
        // The whole warp copies.
        self.issue_once(t, id, lane, bytes.saturating_mul(WARP as u64), at);
    }

    /// Thread `t` issues a bulk copy of so many bytes: once, for all.
    pub(crate) fn issue_once(&mut self, t: usize, id: CopyId, lane: &Arc<str>, bytes: u64, at: At) {
        self.note(t, |recorder| {
            let number = recorder.numbers.len();
            recorder.numbers.insert(id, number);
            Event::Issue(number, Arc::clone(lane), at, bytes)
        });
    }

    /// Thread `t` issues a multiplication of so many columns, for its warpgroup.
    pub(crate) fn multiply(&mut self, t: usize, id: CopyId, columns: usize, at: At) {
        self.note(t, |recorder| {
            let number = recorder.numbers.len();
            recorder.numbers.insert(id, number);
            let cycles = recorder.costs.wgmma.saturating_mul(columns as u64) / 8;
            Event::Multiply(number, at, cycles)
        });
    }

    /// Thread `t` waits until copies have landed.
    pub(crate) fn wait(&mut self, t: usize, ids: &[CopyId], at: At) {
        self.note(t, |recorder| Event::Wait(recorder.known(ids), at));
    }

    /// The numbers of copies, but for those that threads issued which stand for no warp.
    fn known(&self, ids: &[CopyId]) -> Vec<usize> {
        let numbers = ids.iter().filter_map(|id| self.numbers.get(id).copied());
        numbers.collect()
    }

    /// Thread `t` reads what a copy wrote.
    pub(crate) fn read(&mut self, t: usize, id: CopyId, at: At) {
        if let Some(&number) = self.numbers.get(&id) {
            self.reads.push((number, t / WARP, at));
        }
    }

    /// All threads come to a barrier.
    pub(crate) fn barrier(&mut self, at: At) {
        for warp in &mut self.warps {
            warp.push(Event::Barrier(at));
        }
    }

    /// An mbarrier is initialized at an address: its phases are counted from 0 again.
    pub(crate) fn renew(&mut self, mbarrier: (BufferId, i64)) {
        self.phases.remove(&mbarrier);
    }

    /// Thread `t` arrives on a phase of an mbarrier.
    pub(crate) fn arrive(&mut self, t: usize, mbarrier: (BufferId, i64), phase: u64, at: At) {
        self.note(t, |recorder| {
            let number = recorder.phase(mbarrier, phase);
            recorder.arrivals[number] += 1;
            Event::Arrive(number, at)
        });
    }

    /// Thread `t` sees that a phase of an mbarrier is complete, for which these copies have landed.
    pub(crate) fn phase_seen(
        &mut self,
        t: usize,
        mbarrier: (BufferId, i64),
        phase: u64,
        ids: &[CopyId],
        at: At,
    ) {
        self.note(t, |recorder| {
            let number = recorder.phase(mbarrier, phase);
            Event::Phase(number, recorder.known(ids), at)
        });
    }

    /// The number of a phase.
    fn phase(&mut self, mbarrier: (BufferId, i64), phase: u64) -> usize {
        let phases = self.phases.entry(mbarrier).or_default();
        *phases.entry(phase).or_insert_with(|| {
            self.arrivals.push(0);
            self.arrivals.len() - 1
        })
    }
}
