//! Computes, by a backward dataflow analysis, which groups are accessed before a later wait completes them as
//! well.
//!
//! A register is *demanded* at a point for a kind of access if on some path from there such an access comes before every wait that
//! completes what is in the register now. It is known from the end of the program backward: a commit moves demand from a
//! register to the one before, and a wait ends that of all that it completes. So a wait that completes what nobody demands leaves it
//! to the waits that come later.
//!
//! Other threads do what comes next, too, from the last barrier on, and don't wait for the waits of this one in between. So what may be
//! accessed before the next barrier has to be complete at the last one, whether a wait comes between or not: a register is also
//! *demanded by others*, which no wait ends, and which is demand for this thread at the barrier.

use super::flow_graph::{FlowGraph, Step, Wait};
use super::registers::{Registers, Span};
use super::{Accesses, Register};

/// By wait: the kinds of accesses that each register is demanded for after it.
pub(super) struct Demand {
    after: Vec<Vec<u64>>,
}

/// By register, the kinds of accesses that it is demanded for at a point.
#[derive(Clone, PartialEq, Eq)]
struct Demanded {
    here: Vec<u64>,
    by_others: Vec<u64>,
}

impl Demanded {
    fn new(registers: usize, here: u64) -> Self {
        Self {
            here: vec![here; registers],
            by_others: vec![0; registers],
        }
    }

    fn add(&mut self, other: &Self) {
        let here = self.here.iter_mut().zip(&other.here);
        for (demanded, more) in here.chain(self.by_others.iter_mut().zip(&other.by_others)) {
            *demanded |= more;
        }
    }
}

impl Demand {
    pub fn new(flow: &FlowGraph, accesses: &Accesses) -> Self {
        let (spans, registers) = (Registers::spans(flow), Registers::number(flow));
        let mut demand = Self {
            after: vec![vec![0; registers]; flow.waits],
        };
        let mut next = vec![Vec::new(); flow.nodes.len()];
        for &n in &flow.order {
            for &pred in &flow.nodes[n].preds {
                next[pred].push(n);
            }
        }
        let mut starts = vec![Demanded::new(registers, 0); flow.nodes.len()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &n in flow.order.iter().rev() {
                let at_end = if flow.nodes[n].ends { accesses.at_end } else { 0 };
                let mut state = Demanded::new(registers, at_end);
                for &to in &next[n] {
                    state.add(&starts[to]);
                }
                for step in flow.nodes[n].steps.iter().rev() {
                    demand.step(*step, &spans, &mut state);
                }
                changed |= state != starts[n];
                starts[n] = state;
            }
        }
        demand
    }

    /// The kinds of accesses that a register is demanded for after a wait.
    pub fn after(&self, wait: usize, register: Register) -> u64 {
        self.after[wait][register]
    }

    /// Goes back over a step.
    fn step(&mut self, step: Step, spans: &[Span], state: &mut Demanded) {
        let Demanded { here, by_others } = state;
        match step {
            Step::Issue(_) => {}
            Step::Access(kinds) => here
                .iter_mut()
                .chain(by_others)
                .for_each(|demanded| *demanded |= kinds),
            Step::Commit(_) => {
                for span in spans {
                    // The tail takes in one more group, and stays what it is.
                    let (first, open) = (span.first, span.first + span.depth + 1);
                    here.copy_within(first..open, first + 1);
                    by_others.copy_within(first..open, first + 1);
                }
            }
            Step::Wait(Wait { number, n, read }) => {
                self.after[number].copy_from_slice(here);
                for span in spans.iter().filter(|span| span.reads || !read) {
                    here[span.first..=span.first + span.depth - n].fill(0);
                }
            }
            Step::Barrier | Step::MaybeBarrier => {
                for (here, by_others) in here.iter_mut().zip(&*by_others) {
                    *here |= by_others;
                }
                if matches!(step, Step::Barrier) {
                    by_others.fill(0);
                }
            }
        }
    }
}
