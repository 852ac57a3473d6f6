//! Finds waits that could leave one group more in flight.
//!
//! A wait for `n` is needed if some execution comes to it with an operation of its own await that is `n + 1` groups old: with a larger
//! number, that one would still be in flight. The ages of a certificate that [`infer()`](super::infer()) finds are those of executions: where
//! paths meet, the smaller age is that of one of them. A wait in a loop may be needed in an iteration just because it has completed too
//! little in the one before; so what is left is tried with a larger number.

use super::certificate::Certificate;
use super::check::{Refusal, check_and_visit};
use super::code::{Block, Code, Fifo, Instr, Token};
use super::infer::{infer, infer_by_iteration};
use super::lists::filled;
use super::state::State;

/// Checks as [`check()`](super::check()) does, in the same walk; returns the places, among all instructions of `code`, of waits right before an
/// await that would still be as it should if their number were larger by one. At most `most` of them are tried, each of which takes as
/// long as the check of the function. `certificate` is one that was found for the code. A wait for `limit` is as far as its FIFO can count.
///
/// # Errors
///
/// As [`check()`](super::check()).
pub fn check_and_find_superfluous(
    code: &Code,
    certificate: &Certificate,
    limit: impl Fn(Fifo) -> u32,
    most: usize,
) -> Result<Vec<usize>, Refusal> {
    let exact = |code: &Code| {
        if code.trips.is_empty() {
            None
        } else {
            infer_by_iteration(code)
        }
    };
    let mut waits = Waits::new(code, &limit);
    check_and_visit(code, certificate, |block, place, state| {
        waits.visit(block, place, state);
    })?;
    if let Some(exact) = exact(code) {
        waits = Waits::new(code, &limit);
        // If it does not hold, nothing is known.
        if check_and_visit(code, &exact, |block, place, state| {
            waits.visit(block, place, state);
        })
        .is_err()
        {
            return Ok(Vec::new());
        }
    }
    let mut places = waits.perhaps_superfluous();
    places.truncate(most);
    places.retain(|&place| {
        let mut raised = code.clone();
        if let Some(Instr::Wait(_, n)) = raised.instrs.get_mut(place) {
            *n += 1;
        }
        let certificate = exact(&raised).unwrap_or_else(|| infer(&raised));
        is_covered(&raised, &certificate, place)
    });
    Ok(places)
}

/// Returns true if the await after the wait at `place` is never reached with an operation in flight.
fn is_covered(code: &Code, certificate: &Certificate, place: usize) -> bool {
    let mut state = State::new(code, certificate);
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
struct Waits<'a, F> {
    code: &'a Code,
    limit: &'a F,
    /// By place: waits that were come to, and those of them that are needed.
    is_reached: Vec<bool>,
    is_needed: Vec<bool>,
}

impl<'a, F: Fn(Fifo) -> u32> Waits<'a, F> {
    fn new(code: &'a Code, limit: &'a F) -> Self {
        Self {
            code,
            limit,
            is_reached: filled(false, code.instrs.len()),
            is_needed: filled(false, code.instrs.len()),
        }
    }

    /// Looks at the wait at `place` of `block`, before which `state` is.
    fn visit(&mut self, block: &Block, place: usize, state: &State) {
        if let Instr::Wait(fifo, n) = self.code.instrs[place]
            && let Some(tokens) = awaited(self.code, block, place)
        {
            let mut ages = tokens.iter().filter_map(|token| state.age(*token, fifo));
            self.is_needed[place] |= ages.any(|age| age == n + 1) || n >= (self.limit)(fifo);
            self.is_reached[place] = true;
        }
    }

    fn perhaps_superfluous(&self) -> Vec<usize> {
        let places = 0..self.code.instrs.len();
        places
            .filter(|&i| self.is_reached[i] && !self.is_needed[i])
            .collect()
    }
}

/// The tokens of the await that the wait at `place` is for: the one right after it and other waits.
fn awaited<'a>(code: &'a Code, block: &Block, place: usize) -> Option<&'a [Token]> {
    let rest = &code.instrs[place..block.instrs.range().end];
    match rest.iter().find(|instr| !matches!(instr, Instr::Wait(..)))? {
        Instr::Await(tokens) => Some(tokens.of(&code.tokens)),
        _ => None,
    }
}
