//! `async-verify`: checks what a pass has written, by the certificates that came with it.

use crate::translate::BothWays;
use async_allocator::keep_freed_memory;
use async_dialects::tool::with_module;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Op, Region, Walk};
use async_verify::certificates::{Fault, Record, Subject, operation_of_queue, path_of};
use async_verify::mbarriers::rings_of;
use clap::Parser;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

/// Checks what a pass has written, by the certificates that came with it.
///
/// Each function with operations of a queue or with mbarriers has to have a certificate, and each certificate a function. The checker
/// knows neither the pass nor how it found its answer.
#[derive(Parser)]
#[command(name = "async-verify", version)]
struct Options {
    /// What a pass has written, with its option certificates=FILE: MLIR, or `-` for the standard input.
    kernel: String,
    /// The file with the certificates.
    certificates: String,
}

/// Runs `async-verify`.
#[must_use]
pub fn verify(arguments: Vec<OsString>) -> ExitCode {
    keep_freed_memory();
    let options = match Options::try_parse_from(arguments) {
        Ok(options) => options,
        Err(error) => {
            // Help is no error.
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::FAILURE
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let certificates = match Certificates::read(&options.certificates) {
        Ok(certificates) => certificates,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    };
    // What is wrong with the kernel was printed.
    let verified =
        with_module::<BothWays, _>(&options.kernel, &[], |module| module_holds(module, &certificates));
    match verified {
        Some(true) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// The certificates of a file.
struct Certificates {
    path: String,
    /// By function, and by what they are about, with their lines.
    records: BTreeMap<String, BTreeMap<Subject, (usize, Record)>>,
}

impl Certificates {
    /// Reads a file; returns what to print if it is damaged.
    fn read(path: &str) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: error: {error}"))?;
        let mut records: BTreeMap<String, BTreeMap<_, _>> = BTreeMap::new();
        for (line, text) in (1..).zip(text.lines()) {
            let record = Record::parse(text).map_err(|error| {
                let message = error.to_string();
                let message = message.split(" at line ").next().unwrap_or_default();
                format!(
                    "{path}:{line}:{}: error: no certificate: {message}",
                    error.column()
                )
            })?;
            let (function, subject) = (record.function().to_owned(), record.subject());
            let of_function = records.entry(function.clone()).or_default();
            if let Some((before, _)) = of_function.insert(subject, (line, record)) {
                return Err(format!(
                    "{path}:{line}:1: error: line {before} has a certificate of {function} already"
                ));
            }
        }
        let path = path.to_owned();
        Ok(Self { path, records })
    }
}

/// Checks all functions of `module`, and prints what was found. Returns false where something is wrong.
fn module_holds(module: Op<'_>, certificates: &Certificates) -> bool {
    let mut functions: BTreeMap<String, Op> = BTreeMap::new();
    let mut in_order = Vec::new();
    module.walk(|op| {
        if op.is_function() && op.regions().any(|region| Region::first(region).is_some()) {
            in_order.push(op);
        }
        Walk::Advance
    });
    for &function in &in_order {
        let path = path_of(function);
        if let Some(other) = functions.insert(path.clone(), function) {
            let message =
                format!("another function is called {path}, too, so a certificate can't tell them apart");
            let error = Diagnostic::error(function.location(), message);
            error.note(other.location(), "it is here").emit();
            return false;
        }
    }
    let Certificates { path, records } = certificates;
    let lost = records
        .iter()
        .find(|(function, _)| !functions.contains_key(*function));
    if let Some((function, lost)) = lost {
        let line = lost.values().map(|(line, _)| *line).min().unwrap_or(1);
        eprintln!("{path}:{line}:1: error: the kernel has no function {function}");
        return false;
    }
    in_order
        .into_iter()
        .all(|function| function_holds(function, certificates))
}

/// Checks a function, and prints what was found. Returns false if something is wrong.
fn function_holds(function: Op<'_>, certificates: &Certificates) -> bool {
    let name = path_of(function);
    let Some(records) = certificates.records.get(&name) else {
        let queue = operation_of_queue(function).map(|op| (op, "belongs to a queue"));
        let mbarriers = rings_of(function).first().map(|op| (*op, "makes mbarriers"));
        let Some((op, what)) = queue.or(mbarriers) else {
            return true;
        };
        Diagnostic::error(op, format!("{what}, but there is no certificate of {name}")).emit();
        return false;
    };
    let is_missing = |subject| !records.contains_key(&subject);
    let queue = operation_of_queue(function).filter(|_| is_missing(Subject::Groups));
    let mbarriers = rings_of(function).first().copied();
    let mbarriers = mbarriers.filter(|_| is_missing(Subject::Mbarriers));
    for (op, what, subject) in [
        (queue, "belongs to a queue", Subject::Groups),
        (mbarriers, "makes mbarriers", Subject::Mbarriers),
    ] {
        if let Some(op) = op {
            let message = format!("{what}, but no certificate of {name} is about {subject}");
            Diagnostic::warning(op, message).emit();
        }
    }
    records
        .values()
        .all(|(line, record)| record_holds(function, record, &format!("{}:{line}", certificates.path)))
}

/// Checks a function by the certificate at `place`, and prints what was found. Returns false if something is wrong.
fn record_holds(function: Op<'_>, record: &Record, place: &str) -> bool {
    let name = record.function();
    match record.recheck(function) {
        Ok(verified) => {
            println!(
                "{name}: verified ({} awaits, {} nodes)",
                verified.awaits, verified.nodes
            );
            true
        }
        Err(Fault::Differs(difference)) => {
            Diagnostic::error(difference.op, difference.message)
                .note(
                    function.location(),
                    format!("{name} is not the function of the certificate, {place}"),
                )
                .emit();
            false
        }
        Err(fault) => {
            let message = format!("the certificate of {name}, {place}, {fault}");
            Diagnostic::error(function.location(), message).emit();
            false
        }
    }
}
