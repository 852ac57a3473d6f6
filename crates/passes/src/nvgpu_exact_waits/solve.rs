//! Computes the exact counts of a function's waits, with explicit counts where they must stay.
//!
//! 1. Solve with every count exact but those that can't be known (a token from elsewhere), which are as they stand.
//! 2. Keep the explicit counts that must stay ([`super::relax`]).
//! 3. If there are new ones, solve again with them as given. What they complete lets others be dropped or loosened, so
//!    the question is asked again, until no more are kept.

use super::relax::{Reason, Relaxation};
use crate::analysis::buffer_slices::{Access, access, may_issue_copies};
use crate::analysis::op_classifier::{NvgpuOpClassifier, OpClass, OpClassifier};
use crate::analysis::skeleton::{self, Skeleton};
use crate::analysis::token_origins::TokenOrigins;
use async_dialects::completion::Completion;
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::nvgpu;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use tokenflow::{
    Await, Count, FlatCfg, InFlightOperations, Item, Program, Queue, QueueSolution, Token, Waits, in_flight,
    solve_given, sound_counts,
};

/// How often explicit counts are looked at one by one; what would complete more than the exact count after that is kept.
const ROUNDS: usize = 8;

/// A wait of the input.
pub(super) struct Wait<'c> {
    pub op: Op<'c>,
    /// The count it has, as the hardware takes it.
    pub explicit: Option<u8>,
    /// True if its token may come from elsewhere.
    pub foreign: bool,
}

/// What becomes of a wait.
pub(super) struct Verdict<'c> {
    pub wait: Wait<'c>,
    /// The count that covers what its token names; `None` if that is complete without a wait.
    pub exact: Option<Count>,
    /// The largest count that is sound in the input.
    pub sound_in_input: Option<u8>,
    /// True if its token's group may still be open.
    pub open: bool,
    /// Why the explicit count stays.
    pub kept: Option<Reason<'c>>,
}

/// Classifies operations of `nvgpu`; marks what may access memory if that is needed.
struct Marking<'c> {
    nvgpu: NvgpuOpClassifier<'c>,
    marks: bool,
}

impl<'c> OpClassifier<'c> for Marking<'c> {
    fn is_token(&self, ty: Type<'c>) -> bool {
        self.nvgpu.is_token(ty)
    }

    fn classify(&self, op: Op<'c>) -> OpClass<'c> {
        self.nvgpu.classify(op)
    }

    fn implied_await(&self, op: Op<'c>) -> Option<Vec<Value<'c>>> {
        (self.marks && !matches!(access(op), Access::Nothing)).then(Vec::new)
    }

    const INSERTS_COMMITS: bool = false;
}

/// The answers for a function.
pub(super) struct Solved<'c> {
    pub verdicts: Vec<Verdict<'c>>,
    /// Copies that may be uncommitted at the function's end.
    pub uncommitted: Vec<Op<'c>>,
}

/// Solves `function`. `explicit` gives the count of a wait.
pub(super) fn solve<'c>(
    function: Op<'c>,
    any_explicit: bool,
    explicit: impl Fn(Op<'c>) -> Option<u8>,
) -> Solved<'c> {
    let classifier = Marking {
        nvgpu: NvgpuOpClassifier::new(function.context()),
        marks: any_explicit,
    };
    let skeleton = skeleton::read(function, &classifier, &FxHashSet::default());
    let origins = TokenOrigins::new(&skeleton);
    let mut waits = BTreeMap::new();
    for (&op, w) in skeleton.awaits.iter().zip(0..) {
        if op.is(nvgpu::DEVICE_ASYNC_WAIT) {
            let wait = Wait {
                op,
                explicit: explicit(op),
                foreign: origins.may_be_foreign(skeleton.tokens[&op.operand(0)]),
            };
            waits.insert(Await(w), wait);
        }
    }
    let own = waits
        .values()
        .find_map(|wait: &Wait| Completion::of(wait.op)?.queue);
    let own = own.or(skeleton
        .sites
        .iter()
        .find_map(|&copy| Completion::of(copy)?.queue));
    let queue = skeleton.queues.iter().position(|queue| Some(*queue) == own);
    match queue.and_then(|queue| u8::try_from(queue).ok()) {
        Some(queue) => Solver::new(&skeleton, Queue(queue), waits).solve(),
        None => no_copies(waits),
    }
}

/// What becomes of waits where nothing is ever copied.
fn no_copies(waits: BTreeMap<Await, Wait>) -> Solved {
    let verdicts = waits.into_values().map(|wait| Verdict {
        wait,
        exact: None,
        sound_in_input: None,
        open: false,
        kept: None,
    });
    Solved {
        verdicts: verdicts.collect(),
        uncommitted: Vec::new(),
    }
}

struct Solver<'a, 'c> {
    skeleton: &'a Skeleton<'c>,
    queue: Queue,
    /// The skeleton's program, in which nothing but waits awaits anything.
    program: Program,
    waits: BTreeMap<Await, Wait<'c>>,
    /// The waits whose count is given.
    held: BTreeMap<Await, u8>,
    /// Those of them that must stay as they are, with the exact count.
    kept: BTreeMap<Await, (Reason<'c>, Option<Count>)>,
}

impl<'a, 'c> Solver<'a, 'c> {
    fn new(skeleton: &'a Skeleton<'c>, queue: Queue, waits: BTreeMap<Await, Wait<'c>>) -> Self {
        let mut program = skeleton.program.clone();
        edit_awaits(&mut program, |w, tokens| {
            if !waits.contains_key(&w) {
                tokens.clear();
            }
            None
        });
        let foreign = waits.iter().filter(|(_, wait)| wait.foreign);
        let held = foreign
            .map(|(&w, wait)| (w, wait.explicit.unwrap_or(0)))
            .collect();
        Self {
            skeleton,
            queue,
            program,
            waits,
            held,
            kept: BTreeMap::new(),
        }
    }

    fn solve(mut self) -> Solved<'c> {
        let mut input = self.no_waits();
        for (w, wait) in &self.waits {
            input[w.0 as usize] = Some(wait.explicit.unwrap_or(0));
        }
        let sound = sound_counts(&self.program, self.queue, &input);
        for round in 0.. {
            let program = self.with_held();
            let solution = self.exact(&program);
            let flat = FlatCfg::new(&program);
            let flight = self.flight(&flat, &solution);
            if !self.keep(round, &flat, &flight, &solution) {
                return self.finish(&solution, &flight, &sound);
            }
        }
        unreachable!("every round but the last keeps another wait")
    }

    fn no_waits(&self) -> Vec<Option<u8>> {
        vec![None; self.program.awaits as usize]
    }

    /// The program with the counts that are given.
    fn with_held(&self) -> Program {
        let mut program = self.program.clone();
        let queue = self.queue;
        edit_awaits(&mut program, |w, _| {
            self.held.get(&w).map(|&n| Item::Wait {
                queue,
                n: u32::from(n),
                read: false,
            })
        });
        program
    }

    fn exact(&self, program: &Program) -> QueueSolution {
        let commits = vec![vec![0; program.slots as usize]; usize::from(program.queues)];
        solve_given(program, &commits, true).swap_remove(usize::from(self.queue.0))
    }

    /// Compares the explicit counts that are not given with the exact ones.
    fn flight(&self, flat: &FlatCfg, solution: &QueueSolution) -> InFlightOperations {
        let weak: Vec<Option<u8>> = solution
            .waits
            .iter()
            .map(|wait| wait.map(|count| count.n))
            .collect();
        let mut strong = weak.clone();
        for (w, wait) in &self.waits {
            if wait.explicit.is_some() && !self.held.contains_key(w) {
                strong[w.0 as usize] = wait.explicit;
            }
        }
        let opaque =
            |w: Await| !self.waits.contains_key(&w) && may_issue_copies(self.skeleton.awaits[w.0 as usize]);
        let waits = Waits {
            weak: &weak,
            strong: &strong,
            opaque: &opaque,
        };
        in_flight(flat, self.queue, &waits)
    }

    /// Keeps the explicit counts that must stay; returns true if there are any that were not kept before.
    fn keep(
        &mut self,
        round: usize,
        flat: &FlatCfg,
        flight: &InFlightOperations,
        solution: &QueueSolution,
    ) -> bool {
        if flight.more.is_empty() {
            return false;
        }
        let new = if round < ROUNDS {
            let relaxation = Relaxation::new(self.skeleton, flat, flight);
            let more = flight.more.iter();
            let pending = |w: Await| solution.waits[w.0 as usize].map(|count| count.n);
            more.filter_map(|(w, more)| Some((*w, relaxation.reason_to_keep(*w, more, pending(*w))?)))
                .collect()
        } else {
            flight
                .more
                .iter()
                .map(|(w, _)| (*w, Reason::Undecided))
                .collect::<Vec<_>>()
        };
        let any = !new.is_empty();
        for (w, reason) in new {
            self.held.insert(w, self.waits[&w].explicit.unwrap_or(0));
            self.kept.insert(w, (reason, solution.waits[w.0 as usize]));
        }
        any
    }

    fn finish(
        mut self,
        solution: &QueueSolution,
        flight: &InFlightOperations,
        sound: &[Option<u8>],
    ) -> Solved<'c> {
        let open: BTreeSet<Await> = solution.uncovered.iter().copied().collect();
        let mut verdicts = Vec::with_capacity(self.waits.len());
        for (w, wait) in self.waits {
            let kept = self.kept.remove(&w);
            let exact = kept
                .as_ref()
                .map_or(solution.waits[w.0 as usize], |(_, exact)| *exact);
            verdicts.push(Verdict {
                wait,
                exact,
                sound_in_input: sound[w.0 as usize],
                open: open.contains(&w),
                kept: kept.map(|(reason, _)| reason),
            });
        }
        let uncommitted = flight.uncommitted.iter();
        Solved {
            verdicts,
            uncommitted: uncommitted
                .map(|site| self.skeleton.sites[site.0 as usize])
                .collect(),
        }
    }
}

/// Calls `edit` on every await of `program`, and puts what it returns before the await.
fn edit_awaits(program: &mut Program, mut edit: impl FnMut(Await, &mut Vec<Token>) -> Option<Item>) {
    let mut work = vec![&mut program.body];
    while let Some(graph) = work.pop() {
        for block in &mut graph.blocks {
            let mut items = Vec::with_capacity(block.items.len());
            for mut item in block.items.drain(..) {
                if let Item::Await { site, tokens, .. } = &mut item {
                    items.extend(edit(*site, tokens));
                }
                items.push(item);
            }
            block.items = items;
            for item in &mut block.items {
                match item {
                    Item::Nested(nested) => work.push(&mut nested.graph),
                    Item::Repeat(repeat) => work.push(&mut repeat.body),
                    _ => {}
                }
            }
        }
    }
}
