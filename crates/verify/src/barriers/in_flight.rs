//! What is known of asynchronous accesses until they are complete, and what instructions and edges do to that: part of what is trusted.

use super::certificate::{InFlight, Issuer};
use super::code::{Block, Code, Instr, Issue, Kind, Token};
use crate::tokens::set;
use async_overlap::Distance;

/// More groups than these are not told apart: no wait leaves as many in flight.
const MAX_GROUPS: u8 = 64;

/// What a wait does to an access in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Completion {
    No,
    Maybe,
    Yes,
}

/// `flight` as those of its threads that are of `warps`, and the others.
pub(super) fn split(flight: InFlight, warps: u32) -> impl Iterator<Item = InFlight> {
    let parts = match flight.issuer {
        Issuer::Threads(all) if all & warps != 0 && all & !warps != 0 => {
            [Some(all & warps), Some(all & !warps)].map(|part| part.map(Issuer::Threads))
        }
        whole => [Some(whole), None],
    };
    parts.into_iter().flatten().map(move |issuer| InFlight {
        issuer,
        ..flight.clone()
    })
}

/// What `issue`, in `block`, begins.
pub(super) fn begin(code: &Code, block: &Block, issue: &Issue) -> InFlight {
    let mut tokens = issue.tokens.clone();
    tokens.sort_unstable();
    let warps = block.threads.warps;
    InFlight {
        class: issue.class,
        distance: Distance::none(block.depth),
        queue: issue.queue,
        groups: 0,
        tokens,
        is_lost: false,
        issuer: if issue.block_wide {
            Issuer::Block {
                waiting: code.warps,
                by: 0,
                is_inside: false,
            }
        } else {
            Issuer::Threads(warps)
        },
    }
}

/// Does to `flight` what `instr` does; says whether it is complete then.
pub(super) fn advance(code: &Code, instr: &Instr, flight: &mut InFlight) -> Completion {
    let stands =
        |tokens: &[Token], flight: &InFlight| tokens.iter().any(|token| flight.tokens.contains(token));
    match instr {
        Instr::Await(tokens) | Instr::AwaitGroup(_, tokens) if stands(tokens, flight) => Completion::Yes,
        Instr::Await(_) | Instr::AwaitGroup(..) if flight.is_lost => Completion::Maybe,
        Instr::AwaitGroup(queue, _) if flight.queue == Some(*queue) && flight.groups > 0 => Completion::Maybe,
        Instr::Wait {
            queue,
            pending,
            reads,
        } => {
            let is_complete = flight.queue == Some(*queue) && u32::from(flight.groups) > *pending;
            let is_read = code.classes[flight.class].kind == Kind::Read;
            if is_complete && (is_read || !*reads) {
                Completion::Yes
            } else {
                Completion::No
            }
        }
        Instr::Join(token, of) => {
            let stands = stands(of, flight);
            set(&mut flight.tokens, *token, stands);
            Completion::No
        }
        Instr::Issue(issues) => {
            for token in issues.iter().flat_map(|issue| &issue.tokens) {
                set(&mut flight.tokens, *token, false);
            }
            Completion::No
        }
        Instr::Commit(queue, token) => {
            let joins = flight.queue == Some(*queue);
            if let Some(token) = token {
                set(&mut flight.tokens, *token, joins && flight.groups == 0);
            }
            if joins {
                flight.groups = (flight.groups + 1).min(MAX_GROUPS);
            }
            Completion::No
        }
        _ => Completion::No,
    }
}
