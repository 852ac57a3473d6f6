//! Finds waits that could leave one group more in flight.
//!
//! A wait for `n` is needed if some execution comes to it with an operation of its own await that is `n + 1` groups old: with a larger
//! number, that one would still be in flight. The ages of a certificate that [`infer()`](super::infer()) finds are those of executions: where
//! paths meet, the smaller age is that of one of them. A wait in a loop may be needed in an iteration just because it has completed too
//! little in the one before; so what is left is tried with a larger number.

use super::certificate::Certificate;
use super::code::{Block, Code, Fifo, Instr, Token};
use super::infer::{infer, infer_by_iteration};
use super::state::State;

/// Returns the places, among all instructions of `code`, of waits right before an await that would still be as it should if their number were
/// larger by one; at most `most` of them are tried, each of which takes as long as the check of the function. `certificate` is one that was
/// found for the code. A wait for `limit` is as far as its FIFO can count.
#[must_use]
pub fn superfluous_waits(
    code: &Code,
    certificate: &Certificate,
    limit: impl Fn(Fifo) -> u32,
    most: usize,
) -> Vec<usize> {
    let exact = |code: &Code| {
        if code.trips.is_empty() {
            None
        } else {
            infer_by_iteration(code)
        }
    };
    let mut places = perhaps_superfluous(code, exact(code).as_ref().unwrap_or(certificate), limit);
    places.truncate(most);
    places.retain(|&place| {
        let mut raised = code.clone();
        if let Some(Instr::Wait(_, n)) = raised.instrs.get_mut(place) {
            *n += 1;
        }
        let certificate = exact(&raised).unwrap_or_else(|| infer(&raised));
        is_covered(&raised, &certificate, place)
    });
    places
}

/// Returns true if the await after the wait at `place` is never reached with an operation in flight.
fn is_covered(code: &Code, certificate: &Certificate, place: usize) -> bool {
    let mut state = State::new(code, &certificate.claims);
    certificate.nodes.iter().all(|node| {
        let block = code
            .block(node.block)
            .filter(|block| block.instrs.range().contains(&place));
        let Some(block) = block else { return true };
        state.begin();
        state.claim_all(node.claims.of(&certificate.claims), certificate);
        let mut is_covered = true;
        for at in block.instrs.range() {
            let instr = code.instrs[at];
            let result = state.run(instr, code);
            if at > place && matches!(instr, Instr::Await(_)) {
                is_covered = result.is_ok();
                break;
            }
        }
        is_covered
    })
}

/// The waits to which no operation of their await comes with the age that asks for their number.
fn perhaps_superfluous(code: &Code, certificate: &Certificate, limit: impl Fn(Fifo) -> u32) -> Vec<usize> {
    let mut is_needed = vec![false; code.instrs.len()];
    let mut is_reached = vec![false; code.instrs.len()];
    let mut state = State::new(code, &certificate.claims);
    for node in &certificate.nodes {
        let Some(block) = code.block(node.block) else {
            continue;
        };
        state.begin();
        state.claim_all(node.claims.of(&certificate.claims), certificate);
        for place in block.instrs.range() {
            if let Instr::Wait(fifo, n) = code.instrs[place]
                && let Some(tokens) = awaited(code, block, place)
            {
                let is_limit = n >= limit(fifo);
                let mut in_flight = tokens
                    .iter()
                    .filter_map(|token| state.in_flight(*token))
                    .flatten();
                is_needed[place] |= is_limit || in_flight.any(|(of, age)| of == fifo && age == n + 1);
                is_reached[place] = true;
            }
            let _ = state.run(code.instrs[place], code);
        }
    }
    (0..code.instrs.len())
        .filter(|&i| is_reached[i] && !is_needed[i])
        .collect()
}

/// The tokens of the await that the wait at `place` is for: the one right after it and other waits.
fn awaited<'a>(code: &'a Code, block: &Block, place: usize) -> Option<&'a [Token]> {
    let rest = &code.instrs[place..block.instrs.range().end];
    match rest.iter().find(|instr| !matches!(instr, Instr::Wait(..)))? {
        Instr::Await(tokens) => Some(tokens.of(&code.tokens)),
        _ => None,
    }
}
