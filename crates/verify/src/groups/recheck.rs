//! Checks what a pass has written by the certificate that came with it, long after its tokens are gone.
//!
//! 1. The function of the certificate, which has its tokens, is parsed beside the kernel's.
//! 2. The certificate holds for it ([`check()`]), and is the one that it has ([`check_exact`]).
//! 3. The kernel's function is the same without tokens ([`compare`]).

use super::check::{Refusal, check};
use super::compare::{Difference, compare};
use super::exact::{Inexact, check_exact};
use super::read::{Vocabulary, WaitRole, read};
use super::record::Record;
use async_dialects::completion::Completion;
use async_dialects::tool::parse_before;
use async_dialects::types::token;
use async_mlir::ir::{Op, Text, Walk};
use std::fmt;

/// A reason not to believe a certificate.
#[derive(Clone, Debug)]
pub enum Fault<'c> {
    /// It is of a version that is not known here.
    Version(u32),
    /// The function of the certificate can't be parsed, or is not valid beside the kernel's.
    Ir(String),
    /// It does not hold.
    Refused(Refusal),
    /// It is not the one that the function has.
    Inexact(Inexact),
    /// It says that its numbers mean something else than they do.
    Names,
    /// The kernel's function is another.
    Differs(Difference<'c>),
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "is of version {version}, which is not known here"),
            Self::Ir(message) => write!(f, "has an 'ir' that is not valid: {message}"),
            Self::Refused(refusal) => write!(f, "does not hold: {refusal}"),
            Self::Inexact(inexact) => write!(f, "is not that of its 'ir': {inexact}"),
            Self::Names => f.write_str("names other FIFOs, loops or tokens than its 'ir' has"),
            Self::Differs(difference) => f.write_str(&difference.message),
        }
    }
}

/// What was verified of a function.
#[derive(Clone, Copy, Debug)]
pub struct Verified {
    /// The awaits that are reached only when all is complete.
    pub awaits: usize,
    /// The nodes of the certificate.
    pub nodes: usize,
}

/// Checks that `record` is a certificate of `function`, as a pass has written it.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn recheck<'c>(record: &Record, function: Op<'c>) -> Result<Verified, Fault<'c>> {
    if !record.is_known_version() {
        return Err(Fault::Version(record.version));
    }
    let with_tokens = parse_before(function, &record.ir).map_err(Fault::Ir)?;
    let result = recheck_parsed(record, with_tokens, function);
    with_tokens.erase();
    result
}

fn recheck_parsed<'c>(record: &Record, with_tokens: Op<'c>, function: Op<'c>) -> Result<Verified, Fault<'c>> {
    let vocabulary = Vocabulary {
        token: token(function.context()),
        role: &|_| WaitRole::Wait,
    };
    let reading = read(with_tokens, vocabulary);
    let certificate = record.certificate();
    check(&reading.code, &certificate).map_err(Fault::Refused)?;
    check_exact(&reading.code, &certificate).map_err(Fault::Inexact)?;
    if !record.names_match(&reading, &Text::new(with_tokens)) {
        return Err(Fault::Names);
    }
    compare(with_tokens, function).map_err(Fault::Differs)?;
    Ok(Verified {
        awaits: reading.num_awaits(),
        nodes: certificate.nodes.len(),
    })
}

/// The symbols that lead to `function`, such as `@kernels::@k`. Modules without a name have no part in it.
#[must_use]
pub fn path_of(function: Op<'_>) -> String {
    let mut names: Vec<String> = std::iter::once(function)
        .chain(function.ancestors())
        .filter_map(|op| Some(format!("@{}", op.str_attr("sym_name")?)))
        .collect();
    names.reverse();
    names.join("::")
}

/// An operation of a queue in `function` itself, which needs a certificate.
#[must_use]
pub fn operation_of_queue(function: Op<'_>) -> Option<Op<'_>> {
    let mut found = None;
    function.walk(|op| {
        if op != function && op.is_function() {
            return Walk::Skip;
        }
        if Completion::of(op).is_some_and(|completion| completion.queue.is_some()) {
            found = Some(op);
            return Walk::Stop;
        }
        Walk::Advance
    });
    found
}
