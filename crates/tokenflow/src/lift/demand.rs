//! Computes, by a backward dataflow analysis, which groups are accessed before a later wait completes them as
//! well.
//!
//! A register is *demanded* at a point for a kind of access if on some path from there such an access comes before every wait that
//! completes what is in the register now. It is known from the end of the program backward: a commit moves demand from a
//! register to the one before, and a wait ends that of all that it completes. So a wait that completes what nobody demands leaves it
//! to the waits that come later.

use super::flow_graph::{FlowGraph, Step, Wait};
use super::registers::{Registers, Span};
use super::{Accesses, Register};

/// By wait: the kinds of accesses that each register is demanded for after it.
pub(super) struct Demand {
    after: Vec<Vec<u64>>,
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
        let mut starts = vec![vec![0; registers]; flow.nodes.len()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &n in flow.order.iter().rev() {
                let at_end = if flow.nodes[n].ends { accesses.at_end } else { 0 };
                let mut state = vec![at_end; registers];
                for &to in &next[n] {
                    for (demanded, more) in state.iter_mut().zip(&starts[to]) {
                        *demanded |= more;
                    }
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
    fn step(&mut self, step: Step, spans: &[Span], state: &mut [u64]) {
        match step {
            Step::Issue(_) => {}
            Step::Access(kinds) => state.iter_mut().for_each(|demanded| *demanded |= kinds),
            Step::Commit(_) => {
                for span in spans {
                    // The tail takes in one more group, and stays what it is.
                    let (first, open) = (span.first, span.first + span.depth + 1);
                    state.copy_within(first..open, first + 1);
                }
            }
            Step::Wait(Wait { number, n, read }) => {
                self.after[number].copy_from_slice(state);
                for span in spans.iter().filter(|span| span.reads || !read) {
                    state[span.first..=span.first + span.depth - n].fill(0);
                }
            }
        }
    }
}
