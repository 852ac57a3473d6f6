//! Compares two forms of one program: whether the second waits for all that the first waits for.
//!
//! Lowering tokens to counted groups removes awaits and adds waits, and leaves all else: each thread accesses the same
//! addresses in the same order. So the two runs are put side by side, and before each access, and at the end, the copies
//! that the first has observed must be among those that the second has. This needs no data that anybody reads, nor
//! places that differ: it judges waits alone.
//!
//! Bulk copies are issued for all threads: by all of them together, or by one. So they are no steps of any thread, and have
//! numbers of their own in the order of issue, box by box. Their lowering adds block barriers, which pass on what a thread
//! has observed; where there are such copies, barriers are no steps, either.

use crate::code::{Code, Instr};
use crate::report::Spot;
use crate::value::{BufferId, CopyId, Pending, Pointer};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// What a thread does in both forms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The issue of a copy; `at` is its destination.
    Copy,
    /// A load.
    Load,
    /// A store.
    Store,
    /// A block barrier.
    Barrier,
    /// A barrier of the warp.
    WarpBarrier,
}

/// So many bytes from an address on.
pub type Bytes = (Pointer, usize);

/// Something that both forms do.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What.
    pub kind: Kind,
    /// Where, and how many bytes; nothing for a barrier.
    pub at: Option<Bytes>,
    /// The other end of a copy: what it reads, or what lies in global memory.
    pub other_end: Option<Bytes>,
    /// Which instruction.
    pub spot: Spot,
}

/// What one thread does.
#[derive(Default)]
struct Thread {
    events: Vec<Event>,
    /// The number of each copy that has not been observed, in the order of issue.
    copies: HashMap<CopyId, usize>,
    issued: Vec<Spot>,
    /// What it has observed of copies that are issued for all.
    observed: BTreeSet<(Number, Observed)>,
}

/// Which copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Number {
    /// One of the thread's own.
    Own(usize),
    /// One that is issued for all.
    Shared(usize),
}

#[derive(Clone, Copy)]
enum Event {
    Step(Step),
    /// The thread passes a wait.
    Wait(Spot),
    /// It observes that the source of the copy of this number was read, or that it is complete.
    Observes(Number, Observed),
}

/// What the threads of a run do.
#[derive(Default)]
pub struct Trace {
    threads: Vec<Thread>,
    /// The copies that are issued for all, box by box, with what lies in workgroup memory and in global memory.
    shared: Vec<(Spot, [Bytes; 2])>,
    /// The numbers of each.
    numbers: HashMap<CopyId, Range<usize>>,
    /// What was observed of them since the last block barrier.
    news: BTreeSet<(Number, Observed)>,
    /// True if the program has such copies, whether this run issues any or not.
    has_shared: bool,
}

impl Trace {
    /// The trace of a run of `code` that has not begun.
    #[must_use]
    pub fn of(code: &Code) -> Self {
        let is_shared = |instr: &Instr| instr.op.is_bulk();
        Self {
            has_shared: code.instrs.iter().any(is_shared),
            ..Self::default()
        }
    }

    fn thread(&mut self, thread: u32) -> &mut Thread {
        let index = thread as usize;
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Thread::default);
        }
        &mut self.threads[index]
    }

    /// Notes an access, or a barrier.
    pub fn step(&mut self, kind: Kind, at: Option<Bytes>, spot: Spot) {
        let step = Step {
            kind,
            at,
            other_end: None,
            spot,
        };
        self.thread(spot.thread).events.push(Event::Step(step));
    }

    /// Notes the issue of a copy to `at` of what is at `from`; either may be nowhere.
    pub fn issue(&mut self, id: CopyId, at: Option<Bytes>, from: Option<Bytes>, spot: Spot) {
        let step = Step {
            kind: Kind::Copy,
            at,
            other_end: from,
            spot,
        };
        let thread = self.thread(spot.thread);
        thread.events.push(Event::Step(step));
        thread.copies.insert(id, thread.issued.len());
        thread.issued.push(spot);
    }

    /// Notes that a thread passes a wait or an await.
    pub fn wait(&mut self, spot: Spot) {
        self.thread(spot.thread).events.push(Event::Wait(spot));
    }

    /// Notes the issue of a copy that one thread issues for all; of each box, what lies in workgroup memory and where it is at
    /// home in global memory.
    pub fn issue_for_all(&mut self, id: CopyId, boxes: &[[Bytes; 2]], spot: Spot) {
        let first = self.shared.len();
        self.shared.extend(boxes.iter().map(|ends| (spot, *ends)));
        self.numbers.insert(id, first..self.shared.len());
    }

    /// Notes that a thread observes that a copy is complete, or that its source was read; only the first time counts.
    pub fn observe(&mut self, thread: u32, pending: Pending) {
        let observed = if pending.source {
            Observed::Source
        } else {
            Observed::All
        };
        if let Some(numbers) = self.numbers.get(&pending.copy) {
            for number in numbers.clone().map(Number::Shared) {
                self.news.insert((number, observed));
                self.learn(thread, number, observed);
            }
            return;
        }
        let thread = self.thread(thread);
        let number = if pending.source {
            thread.copies.get(&pending.copy).copied()
        } else {
            thread.copies.remove(&pending.copy)
        };
        if let Some(number) = number {
            let event = Event::Observes(Number::Own(number), observed);
            thread.events.push(event);
        }
    }

    fn learn(&mut self, thread: u32, number: Number, observed: Observed) {
        let thread = self.thread(thread);
        if thread.observed.insert((number, observed)) {
            thread.events.push(Event::Observes(number, observed));
        }
    }

    /// A block ends: what its threads have observed is no news to those of the next one.
    pub fn end_of_block(&mut self) {
        self.news.clear();
    }

    /// Threads pass a block barrier: what one of them has observed, all know.
    pub fn spread(&mut self, threads: Range<u32>) {
        for (number, observed) in std::mem::take(&mut self.news) {
            for thread in threads.clone() {
                self.learn(thread, number, observed);
            }
        }
    }
}

/// How a form differs from what is meant.
#[derive(Clone, Copy, Debug)]
pub enum Difference {
    /// A copy may still be in flight where the first form has waited for it.
    Pending {
        /// What the second form does next; `None` if the thread ends.
        at: Option<Spot>,
        /// The copy, in the second form.
        copy: Spot,
        /// The last wait that the second form has passed.
        wait: Option<Spot>,
    },
    /// A copy reads another place, or is at home at another one in global memory.
    OtherEnd {
        /// The copy of the first form.
        meant: Spot,
        /// That of the second form.
        instead: Spot,
    },
    /// They do different things: this is no lowering of the other.
    Other {
        /// What the first form does; `None` if its thread ends.
        meant: Option<Spot>,
        /// What the second form does instead.
        instead: Option<Spot>,
    },
}

/// Compares what is meant with another form of the same program, run with the same arguments.
#[must_use]
pub fn compare(meant: &Trace, other: &Trace) -> Option<Difference> {
    differences(meant, other).into_iter().next()
}

/// The first difference of every thread that has one.
#[must_use]
pub fn differences(meant: &Trace, other: &Trace) -> Vec<Difference> {
    let nothing = Thread::default();
    let threads = 0..meant.threads.len().max(other.threads.len());
    let mut buffers = Buffers::default();
    let barriers = !meant.has_shared && !other.has_shared;
    let shared = shared_differ(meant, other, &mut buffers);
    let threads = threads.filter_map(|i| {
        let threads = [meant, other].map(|trace| trace.threads.get(i).unwrap_or(&nothing));
        compare_threads(threads, &other.shared, barriers, &mut buffers)
    });
    match shared {
        Some(difference) => vec![difference],
        None => threads.collect(),
    }
}

/// Compares the copies that are issued for all.
fn shared_differ(meant: &Trace, other: &Trace, buffers: &mut Buffers) -> Option<Difference> {
    let count = meant.shared.len().max(other.shared.len());
    let step = |trace: &Trace, i: usize| {
        let (spot, [local, global]) = *trace.shared.get(i)?;
        Some(Step {
            kind: Kind::Copy,
            at: Some(local),
            other_end: Some(global),
            spot,
        })
    };
    (0..count).find_map(|i| buffers.differ(step(meant, i), step(other, i)))
}

/// Which buffer of the second form stands for which of the first, and the other way round.
#[derive(Default)]
struct Buffers {
    others: HashMap<BufferId, BufferId>,
    meant: HashMap<BufferId, BufferId>,
}

impl Buffers {
    /// How both forms differ in what they do next, if they do.
    fn differ(&mut self, meant: Option<Step>, instead: Option<Step>) -> Option<Difference> {
        let same = match (meant, instead) {
            (Some(meant), Some(instead)) => meant.kind == instead.kind && self.same(meant.at, instead.at),
            _ => meant.is_none() && instead.is_none(),
        };
        if !same {
            return Some(Difference::Other {
                meant: meant.map(|step| step.spot),
                instead: instead.map(|step| step.spot),
            });
        }
        let (meant, instead) = meant.zip(instead)?;
        (!self.same(meant.other_end, instead.other_end)).then_some(Difference::OtherEnd {
            meant: meant.spot,
            instead: instead.spot,
        })
    }

    /// Returns true if these are the same bytes in both forms.
    fn same(&mut self, meant: Option<Bytes>, instead: Option<Bytes>) -> bool {
        let (Some((at, bytes)), Some((there, others))) = (meant, instead) else {
            return meant.is_none() && instead.is_none();
        };
        let other = *self.others.entry(at.buffer).or_insert(there.buffer);
        let meant = *self.meant.entry(there.buffer).or_insert(at.buffer);
        (other, meant) == (there.buffer, at.buffer) && (at.offset, bytes) == (there.offset, others)
    }
}

fn compare_threads(
    [meant, other]: [&Thread; 2],
    shared: &[(Spot, [Bytes; 2])],
    barriers: bool,
    buffers: &mut Buffers,
) -> Option<Difference> {
    let (mut meant_events, mut other_events) = (meant.events.iter(), other.events.iter());
    // What the first form has observed and the second has not, and the other way round.
    let (mut missing, mut ahead) = (BTreeSet::new(), BTreeSet::new());
    let mut wait = None;
    loop {
        let (expected, observed) = next_step(&mut meant_events, barriers, &mut None);
        missing.extend(observed.into_iter().filter(|copy| !ahead.contains(copy)));
        let (found, observed) = next_step(&mut other_events, barriers, &mut wait);
        for observation in observed {
            missing.remove(&observation);
            ahead.insert(observation);
        }
        let difference = buffers.differ(expected, found);
        if difference.is_some() {
            return difference;
        }
        let here = found.map(|step| step.spot);
        if let Some(&(copy, _)) = missing.first() {
            let copy = match copy {
                Number::Own(copy) => other.issued[copy],
                Number::Shared(copy) => shared[copy].0,
            };
            return Some(Difference::Pending { at: here, copy, wait });
        }
        found?;
    }
}

/// That the source of a copy was read, or that it is complete.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Observed {
    Source,
    All,
}

/// The next access, and what is observed of which copies before it.
fn next_step(
    events: &mut std::slice::Iter<'_, Event>,
    barriers: bool,
    wait: &mut Option<Spot>,
) -> (Option<Step>, Vec<(Number, Observed)>) {
    let mut observed = Vec::new();
    for event in events {
        match event {
            Event::Step(step) if step.kind == Kind::Barrier && !barriers => {}
            Event::Step(step) => return (Some(*step), observed),
            Event::Wait(spot) => *wait = Some(*spot),
            Event::Observes(copy, Observed::Source) => observed.push((*copy, Observed::Source)),
            Event::Observes(copy, Observed::All) => {
                observed.extend([(*copy, Observed::Source), (*copy, Observed::All)]);
            }
        }
    }
    (None, observed)
}
