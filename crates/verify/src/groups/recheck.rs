//! Checks what a pass has written by the certificate that came with it: see [`crate::certificates`].

use super::check::check;
use super::code::Expected;
use super::exact::check_exact;
use super::read::{Vocabulary, WaitRole, read};
use super::record::Record;
use crate::certificates::{Erased, Fault, OF_NVGPU, Verified, all_own, compare};
use async_dialects::types::token;
use async_mlir::ir::{Op, Text};
use async_mlir::names::nvgpu;
use async_mlir::nvgpu::copy_token;
use rustc_hash::FxHashSet;

/// Checks that `record`, whose function is `with_tokens`, is a certificate of `function`.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn recheck<'c>(record: &Record, with_tokens: Op<'c>, function: Op<'c>) -> Result<Verified, Fault<'c>> {
    let is_nvgpu = record.pass == OF_NVGPU;
    let implied = implied_waits(record, with_tokens).filter(|implied| is_nvgpu || implied.is_empty());
    let implied = implied.ok_or(Fault::Names("waits"))?;
    let role = |op| match (is_nvgpu, implied.contains(&op)) {
        (false, _) => WaitRole::Wait,
        (true, false) => WaitRole::Both,
        (true, true) => WaitRole::Await,
    };
    let vocabulary = Vocabulary {
        token: if is_nvgpu {
            copy_token(function.context())
        } else {
            token(function.context())
        },
        role: &role,
        expected: Expected::default(),
    };
    let reading = read(with_tokens, vocabulary);
    let certificate = record.certificate();
    // The check has memory for each number up to the largest.
    let (tokens, _) = reading.code.num_tokens_and_fifos();
    if certificate
        .claims
        .iter()
        .any(|claim| claim.token.0 as usize >= tokens)
    {
        return Err(Fault::Names("FIFOs, loops or tokens"));
    }
    check(&reading.code, &certificate).map_err(|refusal| Fault::Refused(refusal.to_string()))?;
    check_exact(&reading.code, &certificate).map_err(|inexact| Fault::Inexact(inexact.to_string()))?;
    if !record.names_match(&reading, &Text::new(with_tokens)) {
        return Err(Fault::Names("FIFOs, loops or tokens"));
    }
    let erased = if is_nvgpu {
        Erased::Waits(&implied)
    } else {
        Erased::Tokens
    };
    compare(with_tokens, function, erased).map_err(Fault::Differs)?;
    Ok(Verified {
        awaits: reading.num_awaits(),
        nodes: certificate.nodes.len(),
    })
}

/// The waits of `nvgpu` in `function` itself, in the order of the text.
#[must_use]
pub fn nvgpu_waits(function: Op<'_>) -> Vec<Op<'_>> {
    all_own(function, &|op| op.is(nvgpu::DEVICE_ASYNC_WAIT))
}

/// Those that `record` says others imply; `None` if they are not so many, or not in order.
fn implied_waits<'c>(record: &Record, function: Op<'c>) -> Option<FxHashSet<Op<'c>>> {
    if !record.implied.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let waits = nvgpu_waits(function);
    let implied = record.implied.iter();
    implied
        .map(|number| waits.get(*number as usize).copied())
        .collect()
}
