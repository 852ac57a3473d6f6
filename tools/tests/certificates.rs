//! Certificates of kernels: each number is needed as it is, and no certificate is one of another kernel.
#![forbid(unsafe_code)]

#[path = "../../crates/verify/tests/spoil/mod.rs"]
mod spoil;

use anyhow::{Context, Result, ensure};
use async_dialects::tool::{UpstreamAsync, with_module};
use async_mlir::ir::{Op, Walk};
use async_mlir::pass::PassError;
use async_verify::groups::{Record, path_of, recheck};
use serde::Deserialize;
use serde_json::Value;
use spoil::{numbers, spoiled};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Kernels with rotated tokens, loops in loops, branches, several queues, stores, and iterations that are told apart.
const KERNELS: [&str; 7] = [
    "test/Tool/async-verify.mlir",
    "test/Transforms/tokens-to-groups/branches.mlir",
    "test/Transforms/tokens-to-groups/bulk-counts.mlir",
    "test/Transforms/tokens-to-groups/constant-trip-loops.mlir",
    "test/Transforms/tokens-to-groups/loop-carried-tokens.mlir",
    "test/Transforms/tokens-to-groups/nested-loops.mlir",
    "test/Transforms/tokens-to-groups/queues.mlir",
];

/// Nothing here is in upstream's `async`.
struct Ours;

impl UpstreamAsync for Ours {
    fn import(_: Op<'_>) -> Result<(), PassError<'_>> {
        Ok(())
    }

    fn export(_: Op<'_>) -> Result<(), PassError<'_>> {
        Ok(())
    }
}

/// Numbers changed, and certificates with iterations.
#[derive(Default)]
struct Tally {
    changed: usize,
    certificates: usize,
    with_iterations: usize,
}

/// Has the pass write `path`, and spoils each certificate.
fn spoil_all(path: &Path, certificates: &Path, tally: &mut Tally) -> Result<()> {
    let pass = format!("gpux-tokens-to-groups{{certificates={}}}", certificates.display());
    let path = path.to_str().context("a path is text")?;
    let counted = with_module::<Ours, _>(path, &[&pass], |module| {
        let text = fs::read_to_string(certificates)?;
        let records: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        let functions = functions(module);
        let mut tally = Tally::default();
        for record in &records? {
            spoil_one(record, &functions, &mut tally).with_context(|| record.to_string())?;
        }
        anyhow::Ok(tally)
    });
    let counted = counted.context("the kernel is lowered")??;
    tally.changed += counted.changed;
    tally.certificates += counted.certificates;
    tally.with_iterations += counted.with_iterations;
    Ok(())
}

fn functions(module: Op<'_>) -> BTreeMap<String, Op<'_>> {
    let mut functions = BTreeMap::new();
    module.walk(|op| {
        if op.is_function() {
            functions.insert(path_of(op), op);
        }
        Walk::Advance
    });
    functions
}

fn spoil_one(json: &Value, functions: &BTreeMap<String, Op>, tally: &mut Tally) -> Result<()> {
    let record = Record::deserialize(json)?;
    let function = *functions.get(&record.function).context("it has a function")?;
    if let Err(fault) = recheck(&record, function) {
        anyhow::bail!("{fault}");
    }
    for at in 0..numbers(json) {
        for other in spoiled(json, at) {
            let accepted = Record::deserialize(&other).is_ok_and(|other| recheck(&other, function).is_ok());
            ensure!(!accepted, "accepted with another number {at}:\n{other}");
            tally.changed += 1;
        }
    }
    for (name, other) in functions.iter().filter(|(name, _)| **name != record.function) {
        ensure!(
            recheck(&record, *other).is_err(),
            "accepted as a certificate of {name}"
        );
    }
    tally.certificates += 1;
    tally.with_iterations += usize::from(record.nodes.iter().any(|node| !node.context.is_empty()));
    Ok(())
}

#[test]
fn no_number_can_be_changed() -> Result<()> {
    async_passes::register_all();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = tempfile::tempdir()?;
    let mut tally = Tally::default();
    for (kernel, number) in KERNELS.iter().zip(0..) {
        let certificates = folder.path().join(format!("{number}.certificates"));
        spoil_all(&root.join(kernel), &certificates, &mut tally).with_context(|| (*kernel).to_owned())?;
    }
    println!(
        "{} numbers changed in {} certificates",
        tally.changed, tally.certificates
    );
    ensure!(tally.with_iterations >= 2, "none tells iterations apart");
    Ok(())
}
