//! Models the registers of a queue (a FIFO of groups that hold tokens), and what each step does to them.

use super::access_masks::AccessMasks;
use super::demand::Demand;
use super::flow_graph::{FlowGraph, Step, Wait};
use super::{Accesses, JoinPlace, LiftedJoin, LiftedToken, Register};
use crate::program::Site;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::iter::once;

/// The joins that were needed so far. A place has the same number in every round.
#[derive(Default)]
pub(super) struct Joins {
    pub all: Vec<LiftedJoin>,
    numbers: FxHashMap<(JoinPlace, Register), usize>,
}

impl Joins {
    /// The join of `of`, which are not complete, for a register.
    fn join(&mut self, place: JoinPlace, register: Register, of: Vec<LiftedToken>) -> LiftedToken {
        match of.as_slice() {
            [] => LiftedToken::Ready,
            [only] => *only,
            _ => {
                let next = self.all.len();
                let number = *self.numbers.entry((place, register)).or_insert(next);
                if number == next {
                    self.all.push(LiftedJoin { place, of });
                } else {
                    self.all[number].of = of;
                }
                LiftedToken::Joined(number)
            }
        }
    }
}

/// The registers of one completion: the tail, groups from old to young, the open group.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// True for reads.
    pub reads: bool,
    pub first: Register,
    /// How many groups there are.
    pub depth: usize,
}

/// What has to be awaited of all that a wait completes.
pub(super) struct Filter<'a> {
    pub accesses: &'a Accesses,
    pub demand: &'a Demand,
    pub masks: &'a AccessMasks,
}

impl Filter<'_> {
    /// Returns true if `wait` has to await `token`, which a register holds.
    fn needs(&self, wait: usize, register: Register, token: LiftedToken) -> bool {
        self.masks.of(self.accesses, token) & self.demand.after(wait, register) != 0
    }
}

/// One completion of the operations of a queue.
struct Family {
    /// True for reads.
    reads: bool,
    /// True if groups have tokens, and not operations.
    of_groups: bool,
    /// The number of its first register.
    first: Register,
    open: Vec<LiftedToken>,
    /// The youngest group first.
    recent: VecDeque<LiftedToken>,
    tail: Vec<LiftedToken>,
}

impl Family {
    fn len(&self) -> usize {
        self.recent.len() + 2
    }

    fn issue(&mut self, site: Site) {
        if !self.of_groups {
            self.open.push(if self.reads {
                LiftedToken::Read(site)
            } else {
                LiftedToken::Done(site)
            });
        }
    }

    fn commit(&mut self, number: usize, joins: &mut Joins) {
        let open = std::mem::take(&mut self.open);
        let group = if self.of_groups {
            LiftedToken::Group(number)
        } else {
            joins.join(JoinPlace::Commit(number), self.first, open)
        };
        self.recent.push_front(group);
        let oldest = self.recent.pop_back();
        self.tail
            .extend(oldest.filter(|token| *token != LiftedToken::Ready));
    }

    /// Takes what `wait` completes, the oldest first; what `filter` lets it leave stays.
    fn take(&mut self, wait: Wait, filter: Option<&Filter>) -> Vec<LiftedToken> {
        let needs = |register: Register, token: LiftedToken| {
            filter.is_none_or(|filter| filter.needs(wait.number, register, token))
        };
        let (mut taken, left) = std::mem::take(&mut self.tail)
            .into_iter()
            .partition(|token| needs(self.first, *token));
        self.tail = left;
        let last = self.first + self.recent.len();
        for (i, group) in self.recent.iter_mut().enumerate().skip(wait.n).rev() {
            if needs(last - i, *group) {
                taken.push(std::mem::replace(group, LiftedToken::Ready));
            }
        }
        taken.retain(|token| *token != LiftedToken::Ready);
        taken
    }
}

/// The registers at one point.
pub(super) struct Registers(Vec<Family>);

impl Registers {
    /// How many there are.
    pub fn number(flow: &FlowGraph) -> usize {
        Self::new(flow).0.iter().map(Family::len).sum()
    }

    /// Where those of each completion are.
    pub fn spans(flow: &FlowGraph) -> Vec<Span> {
        let spans = Self::new(flow).0.into_iter().map(|family| Span {
            reads: family.reads,
            first: family.first,
            depth: family.recent.len(),
        });
        spans.collect()
    }

    /// All complete.
    fn new(flow: &FlowGraph) -> Self {
        let mut first = 0;
        let depths = [(flow.depth, false), (flow.read_depth, true)];
        let families = depths.into_iter().filter_map(|(depth, reads)| {
            let family = Family {
                reads,
                of_groups: flow.of_groups,
                first,
                open: Vec::new(),
                recent: VecDeque::from(vec![LiftedToken::Ready; depth?]),
                tail: Vec::new(),
            };
            first += family.len();
            Some(family)
        });
        Self(families.collect())
    }

    /// Each as the token that it holds.
    pub fn from_tokens(flow: &FlowGraph, tokens: &[LiftedToken]) -> Self {
        let mut registers = Self::new(flow);
        let pending = |token: LiftedToken| (token != LiftedToken::Ready).then_some(token);
        for family in &mut registers.0 {
            let (first, len) = (family.first, family.len());
            family.tail.extend(pending(tokens[first]));
            family.open.extend(pending(tokens[first + len - 1]));
            for (i, recent) in family.recent.iter_mut().rev().enumerate() {
                *recent = tokens[first + 1 + i];
            }
        }
        registers
    }

    /// The token that each holds, with joins at the end of a node.
    pub fn into_tokens(self, end: JoinPlace, joins: &mut Joins) -> Vec<LiftedToken> {
        let mut tokens = Vec::new();
        for family in self.0 {
            let last = family.first + family.len() - 1;
            let tail = joins.join(end, family.first, family.tail);
            let open = joins.join(end, last, family.open);
            tokens.extend(
                once(tail)
                    .chain(family.recent.into_iter().rev())
                    .chain(once(open)),
            );
        }
        tokens
    }

    /// Runs a step; notes in `waits` what a wait has to await.
    pub fn step(
        &mut self,
        step: Step,
        joins: &mut Joins,
        waits: &mut [Vec<LiftedToken>],
        filter: Option<&Filter>,
    ) {
        let families = self.0.iter_mut();
        match step {
            Step::Issue(site) => families.for_each(|family| family.issue(site)),
            Step::Commit(number) => families.for_each(|family| family.commit(number, joins)),
            Step::Access(_) | Step::Barrier | Step::MaybeBarrier => {}
            Step::Wait(wait) => {
                for family in families {
                    if family.reads == wait.read {
                        waits[wait.number] = family.take(wait, filter);
                    } else if family.reads {
                        // What is complete has been read, too; so it is if the wait leaves it to a later one, since
                        // nobody writes to the source before that.
                        family.take(wait, None);
                    }
                }
            }
        }
    }
}
