//! Finds where asynchronous accesses may be in flight: follows each, with what stands for it, on every path to where it is complete.
//!
//! Cost: for each access, the steps at which it may be in flight, times the sets of tokens that stand for it on the paths to there.

use super::code::{ALL_WARPS, BlockId, BufferId, Code, Instr, Issue, Step, Token};
use crate::tokens::{bind, set};
use async_overlap::ids::IndexVec;
use rustc_hash::FxHashSet;

/// More groups than these are not told apart: no wait leaves as many in flight.
const MAX_GROUPS: u8 = 64;

/// So many states are told apart where blocks begin; of more, the tokens are forgotten, so that they stay in flight.
const MAX_STATES: usize = 1 << 18;

/// An access in flight.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Flight {
    buffer: BufferId,
    writes: bool,
    /// What stands for it, in order.
    tokens: Vec<Token>,
    queue: Option<u8>,
    /// How many groups of the queue were committed since it began.
    groups: u8,
    /// Warps that have not awaited it, as bits; if there are none, any will do.
    warps: u32,
}

/// The buffers that are accessed by something in flight, at each step of each block.
pub(super) type InFlight = IndexVec<BlockId, Vec<Vec<BufferId>>>;

/// Finds what may be in flight where in `code`.
pub(super) fn in_flight(code: &Code) -> InFlight {
    let mut found: InFlight = IndexVec::from(
        code.blocks
            .with_ids()
            .map(|(_, block)| vec![Vec::new(); block.steps.len()])
            .collect::<Vec<_>>(),
    );
    let mut seen: FxHashSet<(BlockId, Flight)> = FxHashSet::default();
    for (id, block) in code.blocks.with_ids() {
        for (number, step) in block.steps.iter().enumerate() {
            for issue in step.0.iter().filter_map(|instr| match instr {
                Instr::Issue(issue) => Some(issue),
                _ => None,
            }) {
                found[id][number].push(issue.buffer);
                follow(code, (id, number + 1, begin(issue)), &mut seen, &mut found);
            }
        }
    }
    for buffers in found.iter_mut().flatten() {
        buffers.sort_unstable();
        buffers.dedup();
    }
    found
}

/// Follows an access from a step of a block.
fn follow(
    code: &Code,
    from: (BlockId, usize, Flight),
    seen: &mut FxHashSet<(BlockId, Flight)>,
    found: &mut InFlight,
) {
    let mut work = vec![from];
    while let Some((id, first, mut flight)) = work.pop() {
        let block = &code.blocks[id];
        let is_complete = block.steps.iter().enumerate().skip(first).any(|(number, step)| {
            found[id][number].push(flight.buffer);
            advance(step, &mut flight)
        });
        if is_complete {
            continue;
        }
        for edge in &block.edges {
            let mut next = flight.clone();
            bind(&mut next.tokens, &edge.bindings, false);
            if seen.len() > MAX_STATES {
                next.tokens.clear();
                next.queue = None;
            }
            if seen.insert((edge.to, next.clone())) {
                work.push((edge.to, 0, next));
            }
        }
    }
}

fn begin(issue: &Issue) -> Flight {
    let mut tokens = issue.tokens.clone();
    tokens.sort_unstable();
    tokens.dedup();
    Flight {
        buffer: issue.buffer,
        writes: issue.writes,
        tokens,
        queue: issue.queue,
        groups: 0,
        warps: issue.warps,
    }
}

/// Does to `flight` what `step` does; returns true if it is complete then.
fn advance(step: &Step, flight: &mut Flight) -> bool {
    step.0.iter().any(|instr| match instr {
        Instr::Await(tokens, by) if stands(tokens, flight) => {
            flight.warps &= !by;
            flight.warps == 0 || *by == ALL_WARPS
        }
        Instr::Wait {
            queue,
            pending,
            reads,
        } => {
            let is_complete = flight.queue == Some(*queue) && u32::from(flight.groups) > *pending;
            is_complete && !(flight.writes && *reads)
        }
        Instr::Join(token, of) => {
            let stands = stands(of, flight);
            set(&mut flight.tokens, *token, stands);
            false
        }
        Instr::Define(tokens) => {
            for token in tokens {
                set(&mut flight.tokens, *token, false);
            }
            false
        }
        Instr::Commit(queue) => {
            if flight.queue == Some(*queue) {
                flight.groups = (flight.groups + 1).min(MAX_GROUPS);
            }
            false
        }
        _ => false,
    })
}

fn stands(tokens: &[Token], flight: &Flight) -> bool {
    tokens.iter().any(|token| flight.tokens.contains(token))
}
