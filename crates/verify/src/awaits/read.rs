//! Reads a queue of a function into [`Code`]: part of what is trusted. Where accesses are, `async-locations` says.

use super::code::{Access, Code, Event, Memory};
use crate::groups::code::{Expected, Fifo, Instr};
use crate::groups::read::{self as groups, Focus, Noted, Vocabulary, WaitRole};
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect, GroupQueue};
use async_dialects::names::async_;
use async_dialects::types::{is_token, token};
use async_locations::buffer_slices::BufferSlice;
use async_locations::memory::{self, Access as Kind, Effects};
use async_locations::uniformity::may_diverge;
use async_mlir::control_flow::entry_edges;
use async_mlir::gpu::{is_barrier, is_kernel};
use async_mlir::ir::{Op, Value};
use async_mlir::names::{memref, nvvm};
use rustc_hash::{FxHashMap, FxHashSet};

/// A queue that was put into token form.
#[derive(Clone, Copy)]
pub struct Written<'a, 'c> {
    /// The function. Commits and waits are still there; each await comes after the wait in its place.
    pub function: Op<'c>,
    /// The queue.
    pub queue: GroupQueue,
    /// Operations that have been replaced, and are still there: each comes right after the one that took its place.
    pub replaced: &'a [Op<'c>],
}

/// What an operation accesses until it is complete.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Footprint<'c> {
    /// What it reads; `None` if that is not known.
    read: Option<BufferSlice<'c>>,
    /// What it writes; `None` if that is not known.
    written: Option<BufferSlice<'c>>,
    /// True if what it writes does not matter: it is complete once it has read.
    only_reads: bool,
}

/// What an operation of the program accesses at once.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Accessed<'c> {
    /// These slices, each with whether it is only read.
    Slices(Vec<(BufferSlice<'c>, bool)>),
    /// Perhaps all that others can access.
    Anything,
}

/// A queue as code.
pub struct Reading<'c> {
    /// The code.
    pub code: Code,
    /// The queue as the checker of groups sees it.
    pub groups: groups::Reading<'c>,
    /// By block, the operations of events.
    ops: Vec<Vec<Op<'c>>>,
    /// By number, with an operation that does it.
    memories: Vec<(Footprint<'c>, Op<'c>)>,
    accesses: Vec<Accessed<'c>>,
}

impl<'c> Reading<'c> {
    /// The operation of an event of a block.
    #[must_use]
    pub fn op(&self, block: usize, event: usize) -> Option<Op<'c>> {
        self.ops.get(block)?.get(event).copied()
    }

    /// An operation of the queue that accesses some memory.
    #[must_use]
    pub fn issue(&self, memory: Memory) -> Option<Op<'c>> {
        self.memories.get(memory.0 as usize).map(|(_, op)| *op)
    }

    /// Returns true unless an access is known not to conflict with operations of some memory.
    #[must_use]
    pub fn conflicts(&self, access: Access, memory: Memory) -> bool {
        let (footprint, _) = self.memories[memory.0 as usize];
        let accessed = &self.accesses[access.0 as usize];
        let is_written = || meets(accessed, footprint.written, false);
        !footprint.only_reads && is_written() || meets(accessed, footprint.read, true)
    }
}

/// Returns true unless `accessed` is known not to touch `slice`; if that is only read, by a write.
fn meets<'c>(accessed: &Accessed<'c>, slice: Option<BufferSlice<'c>>, is_read: bool) -> bool {
    let is_private = slice.is_some_and(BufferSlice::is_non_escaping);
    match accessed {
        Accessed::Anything => !is_private,
        Accessed::Slices(slices) => slices.iter().any(|&(other, only_reads)| {
            let may_be = |slice: BufferSlice<'c>| {
                (!is_private || other.base() == slice.base()) && other.may_alias(slice)
            };
            !(is_read && only_reads) && slice.is_none_or(may_be)
        }),
    }
}

/// Reads a queue.
pub fn read<'c>(written: &Written<'_, 'c>) -> Reading<'c> {
    let replaced: FxHashSet<Op> = written.replaced.iter().copied().collect();
    let vocabulary = Vocabulary {
        token: token(written.function.context()),
        role: &|_| WaitRole::Wait,
        expected: Expected::default(),
    };
    let focus = Focus {
        queue: written.queue,
        skips: &|op| replaced.contains(&op),
        notes: &|op| !replaced.contains(&op) && may_matter(op),
    };
    let groups = groups::read_queue(written.function, vocabulary, focus);
    let mut fifos = (None, None);
    for (fifo, _, reads) in groups.fifos() {
        if reads {
            fifos.1 = Some(fifo);
        } else {
            fifos.0 = Some(fifo);
        }
    }
    let blocks = groups.code.blocks.len();
    let mut reader = Reader {
        written,
        fifos,
        code: Code {
            groups: groups.code.clone(),
            events: vec![Vec::new(); blocks],
            returns: written.function.is_function() && !is_kernel(written.function),
        },
        ops: vec![Vec::new(); blocks],
        memories: Numbers::default(),
        accesses: Numbers::default(),
        together: FxHashMap::default(),
        groups: &groups,
    };
    for noted in &groups.noted {
        reader.op(*noted);
    }
    let (code, ops) = (reader.code, reader.ops);
    let (memories, accesses) = (reader.memories.all, reader.accesses.all);
    Reading {
        code,
        ops,
        memories,
        accesses: accesses.into_iter().map(|(accessed, _)| accessed).collect(),
        groups,
    }
}

/// Returns false for what is known at a glance to do nothing that matters.
fn may_matter(op: Op<'_>) -> bool {
    !(op.is_terminator() || op.is_function() || op.is_pure() || op.view_source().is_some())
}

/// Things by number, each with the first operation that has it.
struct Numbers<'c, T> {
    all: Vec<(T, Op<'c>)>,
    numbers: FxHashMap<T, u32>,
}

impl<T> Default for Numbers<'_, T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            numbers: FxHashMap::default(),
        }
    }
}

impl<'c, T: Clone + Eq + std::hash::Hash> Numbers<'c, T> {
    fn number(&mut self, thing: T, op: Op<'c>) -> u32 {
        let next = u32::try_from(self.all.len()).expect("no function has as many operations");
        let number = *self.numbers.entry(thing.clone()).or_insert(next);
        if number == next {
            self.all.push((thing, op));
        }
        number
    }
}

struct Reader<'a, 'c> {
    written: &'a Written<'a, 'c>,
    groups: &'a groups::Reading<'c>,
    /// The FIFOs of what operations write and read.
    fifos: (Option<Fifo>, Option<Fifo>),
    code: Code,
    ops: Vec<Vec<Op<'c>>>,
    memories: Numbers<'c, Footprint<'c>>,
    accesses: Numbers<'c, Accessed<'c>>,
    /// Operations in which all threads of the block are together.
    together: FxHashMap<Op<'c>, bool>,
}

impl<'c> Reader<'_, 'c> {
    fn op(&mut self, noted: Noted<'c>) {
        let op = noted.op;
        let completion = Completion::of(op);
        let counts = completion
            .is_some_and(|completion| matches!(completion.effect, GroupEffect::Commit | GroupEffect::Wait));
        if !counts {
            self.accesses(noted);
        }
        match completion.filter(|completion| completion.queue == Some(self.written.queue)) {
            Some(completion) if completion.effect == GroupEffect::Issue => self.issue(noted, &completion),
            Some(completion) if completion.effect == GroupEffect::Commit => {
                if let (Some(fifo), Some(token)) = (self.fifos.0, self.token(completion.done)) {
                    self.event(noted, Event::Group(fifo, token));
                }
            }
            _ => {}
        }
    }

    fn event(&mut self, noted: Noted<'c>, event: Event) {
        let block = noted.block.0 as usize;
        self.code.events[block].push((noted.place, event));
        self.ops[block].push(noted.op);
    }

    fn token(&self, value: Option<Value<'c>>) -> Option<crate::groups::code::Token> {
        value
            .filter(|value| is_token(value.ty()))
            .and_then(|value| self.groups.token(value))
    }

    /// An operation of the queue, which is complete when all is written, and may have read its source before.
    fn issue(&mut self, noted: Noted<'c>, completion: &Completion<'c>) {
        let op = noted.op;
        let slice = |memory| BufferSlice::of_operand(op, memory);
        let read = completion.source.map(slice);
        let done = self.token(completion.done);
        let has_read = self.token(completion.read).into_iter().chain(done);
        let written = completion.destination.map(slice);
        let both = [
            (self.fifos.0, false, done.into_iter().collect()),
            (self.fifos.1, true, has_read.collect()),
        ];
        for (fifo, only_reads, tokens) in both {
            let Some(fifo) = fifo else { continue };
            let footprint = Footprint {
                read,
                // So that those that read the same are alike.
                written: written.filter(|_| !only_reads),
                only_reads,
            };
            let memory = Memory(self.memories.number(footprint, op));
            let of_block = completion.scope == ExecutionScope::Block;
            let issue = Event::Issue {
                fifo,
                memory,
                tokens,
                of_block,
            };
            self.event(noted, issue);
        }
    }

    /// What `op` accesses itself, and what it tells other threads.
    fn accesses(&mut self, noted: Noted<'c>) {
        let op = noted.op;
        let accessed = match memory::effects(op) {
            Effects::Unknown => Accessed::Anything,
            Effects::Known(effects) if effects.is_empty() => {
                if is_barrier(op) && self.is_everywhere(op) {
                    self.event(noted, Event::Barrier);
                } else if self.tells_others(noted) {
                    self.event(noted, Event::Signal);
                }
                return;
            }
            Effects::Known(effects) => {
                let slices = effects.iter().map(|effect| {
                    let only_reads = matches!(effect.access, Kind::Read | Kind::AsyncRead);
                    (BufferSlice::of_operand(op, effect.memory), only_reads)
                });
                Accessed::Slices(slices.collect())
            }
        };
        let access = Access(self.accesses.number(accessed, op));
        self.event(noted, Event::Access(access));
    }

    /// Returns true if an operation that accesses no memory may tell other threads something: all but what is known.
    fn tells_others(&self, Noted { op, place, .. }: Noted<'c>) -> bool {
        match op.name() {
            // Tokens of the queue are of this thread.
            async_::AWAIT => !matches!(self.code.groups.instrs.get(place),
                Some(Instr::Await(tokens)) if !tokens.of(&self.code.groups.tokens).is_empty()),
            async_::JOIN | async_::READY | nvvm::FENCE_PROXY | memref::ALLOC | memref::ALLOCA => false,
            _ => op.num_regions() == 0 || entry_edges(op).is_none(),
        }
    }

    /// Returns true if all threads of the block are known to be at `op` when one is. What branches of blocks do is not looked into.
    fn is_everywhere(&mut self, op: Op<'c>) -> bool {
        let mut around = Vec::new();
        let mut outer = op.parent();
        let mut together = false;
        while let Some(op) = outer {
            if let Some(known) = self.together.get(&op) {
                together = *known;
                break;
            }
            around.push(op);
            if op == self.written.function {
                together = true;
                break;
            }
            outer = op.parent();
        }
        for op in around.into_iter().rev() {
            let is_one_block = op.regions().all(|region| region.blocks().len() <= 1);
            together &= is_one_block && (op == self.written.function || !may_diverge(op));
            self.together.insert(op, together);
        }
        together
    }
}
