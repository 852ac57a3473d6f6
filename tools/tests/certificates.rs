//! Certificates of kernels: each number and each word is needed as it is, and no certificate is one of another kernel.
#![forbid(unsafe_code)]

#[path = "../../crates/verify/tests/spoil/mod.rs"]
mod spoil;

use anyhow::{Context, Result, ensure};
use async_dialects::tool::{UpstreamAsync, with_module};
use async_mlir::ir::{Op, Walk};
use async_mlir::pass::PassError;
use async_verify::certificates::{Record, path_of};
use serde_json::Value;
use spoil::{places, spoiled};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const GROUPS: &str = "gpux-tokens-to-groups";
const MBARRIERS: &str = "gpux-tokens-to-mbarriers";
const NVGPU: &str = "nvgpu-exact-waits";
const MBARRIERS_ALONE: &str = "gpux-tokens-to-mbarriers{war=mbarrier}";

/// Kernels with rotated tokens, loops in loops, branches, several queues, stores, and iterations that are told apart; rings that are
/// counted and computed, with tokens in branches, several loads a phase, threads that gather, and roles.
const KERNELS: [(&str, &str); 17] = [
    (GROUPS, "test/Tool/async-verify.mlir"),
    (GROUPS, "test/Transforms/tokens-to-groups/branches.mlir"),
    (GROUPS, "test/Transforms/tokens-to-groups/bulk-counts.mlir"),
    (
        GROUPS,
        "test/Transforms/tokens-to-groups/constant-trip-loops.mlir",
    ),
    (
        GROUPS,
        "test/Transforms/tokens-to-groups/loop-carried-tokens.mlir",
    ),
    (GROUPS, "test/Transforms/tokens-to-groups/nested-loops.mlir"),
    (GROUPS, "test/Transforms/tokens-to-groups/queues.mlir"),
    (NVGPU, "test/Tool/async-verify-nvgpu.mlir"),
    (NVGPU, "test/Transforms/nvgpu-exact-waits/nesting.mlir"),
    (MBARRIERS, "test/Transforms/tokens-to-mbarriers/single.mlir"),
    (
        MBARRIERS,
        "test/Transforms/tokens-to-mbarriers/constant-trips.mlir",
    ),
    (
        MBARRIERS,
        "test/Transforms/tokens-to-mbarriers/other-engines.mlir",
    ),
    (MBARRIERS, "test/Transforms/tokens-to-mbarriers/round-rings.mlir"),
    (
        MBARRIERS_ALONE,
        "test/Transforms/tokens-to-mbarriers/explain-war-mbarrier.mlir",
    ),
    (
        MBARRIERS_ALONE,
        "test/Transforms/tokens-to-mbarriers/initialized.mlir",
    ),
    (
        MBARRIERS_ALONE,
        "test/Transforms/tokens-to-mbarriers/unsigned-loop.mlir",
    ),
    (MBARRIERS, "test/Transforms/tokens-to-mbarriers/roles-arrive.mlir"),
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

/// What was changed, and certificates with iterations, rings at which threads gather, and roles.
#[derive(Default)]
struct Tally {
    changed: usize,
    certificates: usize,
    with_iterations: usize,
    with_gatherings: usize,
    with_roles: usize,
}

impl Tally {
    fn add(&mut self, record: &Record) {
        self.certificates += 1;
        match record {
            Record::Groups(record) => {
                let has_iterations = record.nodes.iter().any(|node| !node.context.is_empty());
                self.with_iterations += usize::from(has_iterations);
            }
            Record::Mbarriers(record) => {
                let mut proofs = record.proofs.iter();
                self.with_gatherings += usize::from(proofs.any(|proof| proof.gathering.is_some()));
                self.with_roles += usize::from(record.ir.contains("gpux.roles"));
            }
        }
    }
}

/// Has `pass` write `path`, and spoils each certificate.
fn spoil_all(pass: &str, path: &Path, certificates: &Path, tally: &mut Tally) -> Result<()> {
    let (flag, options) = pass.split_once('{').unwrap_or((pass, "}"));
    let pass = format!("{flag}{{certificates={} {options}", certificates.display());
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
    tally.with_gatherings += counted.with_gatherings;
    tally.with_roles += counted.with_roles;
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

/// Looks at `json` as `async-verify` does.
fn is_accepted(json: &Value, functions: &BTreeMap<String, Op>) -> bool {
    let record = Record::parse(&json.to_string());
    record.is_ok_and(|record| {
        let function = functions.get(record.function());
        function.is_some_and(|function| record.recheck(*function).is_ok())
    })
}

fn spoil_one(json: &Value, functions: &BTreeMap<String, Op>, tally: &mut Tally) -> Result<()> {
    let record = Record::parse(&json.to_string())?;
    let function = *functions.get(record.function()).context("it has a function")?;
    if let Err(fault) = record.recheck(function) {
        anyhow::bail!("{fault}");
    }
    for at in 0..places(json) {
        for other in spoiled(json, at) {
            ensure!(
                !is_accepted(&other, functions),
                "accepted with another value at {at}:\n{other}"
            );
            tally.changed += 1;
        }
    }
    // Without an await, it says less, and may be that of another function. Where stores are issued by one thread, kernels may have more barriers.
    let ir = json["ir"].as_str().context("it has a function")?;
    let lines: Vec<&str> = ir.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        let mut other = json.clone();
        other["ir"] = [&lines[..i], &lines[i + 1..]].concat().join("\n").into();
        let accepted = is_accepted(&other, functions);
        ensure!(
            !accepted || line.contains("async") || ir.contains("_store async"),
            "accepted without line {i}:\n{ir}"
        );
        tally.changed += 1;
    }
    for (name, other) in functions.iter().filter(|(name, _)| *name != record.function()) {
        ensure!(
            record.recheck(*other).is_err(),
            "accepted as a certificate of {name}"
        );
    }
    tally.add(&record);
    Ok(())
}

#[test]
fn nothing_can_be_changed() -> Result<()> {
    async_passes::register_all();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = tempfile::tempdir()?;
    let mut tally = Tally::default();
    for ((pass, kernel), number) in KERNELS.iter().zip(0..) {
        let certificates = folder.path().join(format!("{number}.certificates"));
        spoil_all(pass, &root.join(kernel), &certificates, &mut tally)
            .with_context(|| (*kernel).to_owned())?;
    }
    println!("{} changes of {} certificates", tally.changed, tally.certificates);
    ensure!(tally.with_iterations >= 2, "none tells iterations apart");
    ensure!(tally.with_gatherings >= 2, "in none do threads gather");
    ensure!(tally.with_roles >= 1, "none is of warps with roles");
    Ok(())
}
