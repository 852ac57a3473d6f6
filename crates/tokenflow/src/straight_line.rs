//! Splits a single-block body into steps (an operation with regions is one step), so that a run can begin and
//! end at any step.
//!
//! Commits at a few places change little of what comes before and long after. With what is known at each step for some
//! commits, others are tried by running the steps around the changes alone, from a step before the first one to where
//! all is as it was.

use crate::program::{Commits, Graph, Item, Program, Queue, Slot, Token, ensure_sufficient_stack};
use crate::program_info::{GraphInfo, ProgramInfo, defs, uses};
use std::ops::Range;

/// At most so many tokens are live before a step, on average; else the states at all steps would take too much.
const MEAN_LIVE_IN: usize = 16;

/// A step of the body.
pub(crate) enum Step<'p> {
    /// The commits at its start.
    Start(Option<Slot>),
    /// An item, with what is known of its graph, if it has one.
    Item(&'p Item, &'p [GraphInfo]),
}

/// The steps of a body: its start, and each item.
pub(crate) struct StraightLine {
    /// For each step and the end, where its slots, awaits and so on begin among all.
    offsets: Vec<Offsets>,
    /// The tokens defined before a step and used at or after it, one step after the other.
    live_in: Vec<Token>,
}

#[derive(Clone, Copy, Default)]
struct Offsets {
    slots: usize,
    awaits: usize,
    sites: u32,
    graphs: usize,
    /// Graphs right in the body alone.
    inner: usize,
    live_in: usize,
}

impl StraightLine {
    /// Returns the steps of the program's body; `None` if it has several blocks, or `queue` has commits or waits of the
    /// program's own, or too many tokens are live at once.
    pub fn new(program: &Program, program_info: &ProgramInfo, queue: Queue) -> Option<Self> {
        let [block] = program.body.blocks.as_slice() else {
            return None;
        };
        if program_info.root.cyclic || !is_plain(&program.body, queue) {
            return None;
        }
        let mut last_use = vec![0; program.tokens as usize];
        for (i, item) in (1..).zip(&block.items) {
            uses(item, &mut |token| last_use[token.0 as usize] = i);
        }
        let mut inner = program_info.root.blocks[0].inner.iter();
        let mut line = Self {
            offsets: vec![Offsets::default()],
            live_in: Vec::new(),
        };
        let mut at = Offsets {
            slots: usize::from(block.start.is_some()),
            // The body's own.
            graphs: 1,
            ..Offsets::default()
        };
        line.offsets[0].graphs = 1;
        let mut live_in: Vec<Token> = Vec::new();
        for (i, item) in (1..).zip(&block.items) {
            live_in.retain(|token| last_use[token.0 as usize] >= i);
            line.offsets.push(at);
            line.live_in.extend_from_slice(&live_in);
            if line.live_in.len() > MEAN_LIVE_IN * (i + MEAN_LIVE_IN) {
                return None;
            }
            at.live_in = line.live_in.len();
            live_in.extend(defs(item));
            count(item, &mut at);
            if item.graph().is_some() {
                at.graphs = end_of(inner.next()?, at.graphs);
                at.inner += 1;
            }
        }
        line.offsets.push(at);
        debug_assert_eq!(at.slots, program.slots as usize, "in program order");
        debug_assert_eq!(
            (at.awaits, at.graphs),
            (program.awaits as usize, program_info.graphs)
        );
        Some(line)
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// A step of the program that this was made of.
    pub fn step<'p>(&self, program: &'p Program, program_info: &'p ProgramInfo, step: usize) -> Step<'p> {
        let (block, inner) = (&program.body.blocks[0], &program_info.root.blocks[0].inner);
        match step.checked_sub(1) {
            None => Step::Start(block.start),
            Some(i) => Step::Item(
                &block.items[i],
                &inner[self.offsets[step].inner..self.offsets[step + 1].inner],
            ),
        }
    }

    /// The step that has a slot.
    pub fn step_of(&self, slot: usize) -> usize {
        self.offsets.partition_point(|at| at.slots <= slot) - 1
    }

    /// The step that has a graph.
    pub fn step_of_graph(&self, graph: usize) -> usize {
        self.offsets.partition_point(|at| at.graphs <= graph) - 1
    }

    /// The slots of some steps.
    pub fn slots(&self, steps: Range<usize>) -> Range<usize> {
        self.offsets[steps.start].slots..self.offsets[steps.end].slots
    }

    /// The awaits of some steps.
    pub fn awaits(&self, steps: Range<usize>) -> Range<usize> {
        self.offsets[steps.start].awaits..self.offsets[steps.end].awaits
    }

    /// The number of the first await that is not before a step, which may be the end.
    pub fn first_await(&self, step: usize) -> usize {
        self.offsets[step].awaits
    }

    /// The number of the first operation that is not before a step, which may be the end.
    pub fn first_site(&self, step: usize) -> u32 {
        self.offsets[step].sites
    }

    /// The graphs of some steps.
    pub fn graphs(&self, steps: Range<usize>) -> Range<usize> {
        self.offsets[steps.start].graphs..self.offsets[steps.end].graphs
    }

    /// Where the tokens that are live before a step are among those of all steps.
    pub fn live_in_range(&self, step: usize) -> Range<usize> {
        self.offsets[step].live_in..self.offsets[step + 1].live_in
    }

    /// The tokens that are live before a step.
    pub fn live_in(&self, step: usize) -> &[Token] {
        &self.live_in[self.live_in_range(step)]
    }
}

/// Returns the slots that differ; nearly all are alike.
pub(crate) fn differences(a: &Commits, b: &Commits) -> impl Iterator<Item = usize> {
    // So few that the processor compares them at once.
    const CHUNK: usize = 16;
    let ((chunks_a, rest_a), (chunks_b, rest_b)) = (a.as_chunks::<CHUNK>(), b.as_chunks::<CHUNK>());
    let unequal = (0..).step_by(CHUNK).zip(chunks_a.iter().zip(chunks_b));
    let unequal = unequal.filter(|(_, (a, b))| a != b);
    let unequal = unequal.map(|(first, (a, b))| (first, (&a[..], &b[..])));
    let rest = (a.len() - rest_a.len(), (rest_a, rest_b));
    unequal.chain([rest]).flat_map(|(first, (a, b))| {
        let slots = (first..).zip(a.iter().zip(b));
        slots.filter(|(_, (a, b))| a != b).map(|(slot, _)| slot)
    })
}

/// Returns true if each block has an edge, and the program itself neither commits nor waits.
fn is_plain(graph: &Graph, queue: Queue) -> bool {
    let is_plain_item = |item: &Item| match item {
        Item::Commit { queue: q, .. } | Item::Wait { queue: q, .. } => *q != queue,
        _ => item
            .graph()
            .is_none_or(|inner| ensure_sufficient_stack(|| is_plain(inner, queue))),
    };
    let mut blocks = graph.blocks.iter();
    blocks.all(|block| !block.edges.is_empty() && block.items.iter().all(is_plain_item))
}

/// Counts the slots, awaits and operations of an item.
fn count(item: &Item, at: &mut Offsets) {
    match item {
        Item::Await { .. } => at.awaits += 1,
        Item::Issue { .. } => at.sites += 1,
        _ => {}
    }
    if let Some(graph) = item.graph() {
        for block in &graph.blocks {
            at.slots += usize::from(block.start.is_some());
            for item in &block.items {
                ensure_sufficient_stack(|| count(item, at));
            }
        }
    }
    at.slots += usize::from(item.after().is_some());
}

/// Returns the number after those of a graph, whose own is `first`, and of all graphs inside.
fn end_of(info: &GraphInfo, first: usize) -> usize {
    let inner = info.blocks.iter().flat_map(|block| &block.inner);
    inner.fold(first + 1, |next, inner| {
        ensure_sufficient_stack(|| end_of(inner, next))
    })
}
