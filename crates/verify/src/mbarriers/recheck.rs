//! Checks what a pass has written by the certificate that came with it: see [`crate::certificates`].
//!
//! The function of the certificate is read anew, ring by ring, and what is known where blocks begin is taken from the certificate. Nothing
//! is searched for.

use super::check_invariant::check_invariant;
use super::code::Instr;
use super::read::{Index, Unreadable, Written};
use super::record::{Record, RecordedProof, ring_names};
use super::verify::{Proof, Task, check_loads, turns};
use crate::certificates::{Erased, Fault, Verified, all_own, compare};
use async_dialects::completion::is_block_wide_load;
use async_dialects::names::gpux_attr;
use async_mlir::ir::{Op, Text};
use async_mlir::names::nvgpu;
use rustc_hash::FxHashSet;

impl From<Unreadable<'_>> for Fault<'_> {
    fn from(unreadable: Unreadable<'_>) -> Self {
        Self::Refused(format!("'{}' {}", unreadable.op.name(), unreadable.what))
    }
}

/// The operations that create mbarriers in `function` itself.
#[must_use]
pub fn rings_of(function: Op<'_>) -> Vec<Op<'_>> {
    all_own(function, &|op| op.is(nvgpu::MBARRIER_CREATE))
}

/// Checks that `record`, whose function is `with_tokens`, is a certificate of `function`.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn recheck<'c>(record: &Record, with_tokens: Op<'c>, function: Op<'c>) -> Result<Verified, Fault<'c>> {
    let text = Text::new(with_tokens);
    let rings = rings_of(with_tokens);
    let loads = all_own(with_tokens, &is_block_wide_load);
    if record.rings != ring_names(&rings, &text) {
        return Err(Fault::Names("rings"));
    }
    let index = Index::new(&Written {
        function: with_tokens,
        rings: &rings,
        loads: &loads,
        has_roles: with_tokens.has_attr(gpux_attr::ROLES),
    })?;
    let mut recorded = record.proofs.iter();
    let (mut awaits, mut nodes) = (FxHashSet::default(), 0);
    for turn in turns(&index) {
        let proofs = turn.prove(&index, &mut |task| {
            let next = recorded.next();
            let next = next.ok_or_else(|| Fault::Refused("a ring has no proof".to_owned()))?;
            recheck_ring(next, task, &rings, &text)
        })?;
        for proof in proofs {
            let instrs = proof.reading.code.instrs.iter().zip(&proof.reading.origins);
            let of_awaits = instrs.filter(|(instr, _)| matches!(instr, Instr::Await(..)));
            awaits.extend(of_awaits.map(|(_, op)| *op));
            nodes += proof.invariant.nodes.len();
        }
    }
    check_loads(&index)?;
    if recorded.next().is_some() {
        return Err(Fault::Inexact(
            "it has more proofs than there are rings".to_owned(),
        ));
    }
    compare(with_tokens, function, Erased::Loads).map_err(Fault::Differs)?;
    Ok(Verified {
        awaits: awaits.len(),
        nodes,
    })
}

fn recheck_ring<'c>(
    recorded: &RecordedProof,
    task: &Task<'_, 'c>,
    rings: &[Op<'c>],
    text: &Text<'c>,
) -> Result<Proof<'c>, Fault<'c>> {
    let iterations = recorded.iterations;
    let reading = task.read(iterations)?;
    if task.coarser(&reading, iterations)? != iterations {
        let what = "it tells more iterations apart than make a difference";
        return Err(Fault::Inexact(what.to_owned()));
    }
    let invariant = recorded.invariant().ok_or(Fault::Names("mbarriers"))?;
    let outcome = check_invariant(&reading.code, &invariant);
    let outcome = outcome.map_err(|broken| Fault::Refused(format!("of ring {}, {broken}", recorded.ring)))?;
    let proof = task.proof(iterations, reading, invariant, outcome);
    if !recorded.is(rings, &proof, text) {
        return Err(Fault::Names("rings, variables or tokens"));
    }
    Ok(proof)
}
