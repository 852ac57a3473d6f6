//! Every kernel of the lit tests and examples computes the same, and has the same faults, once `--gpux-to-nvvm` and upstream's
//! `--convert-nvgpu-to-nvvm` have turned its mbarriers into addresses, and what moves tiles into operations on pointers.
//!
//! `cargo test -p async-sim --test nvgpu_to_nvvm -- --nocapture` prints how many there are, and what is left out.
#![allow(missing_docs)]

mod kernel;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use kernel::lit::{self, call, lowered};
use kernel::{Call, execute};
use std::ops::AddAssign;

/// Arguments are tried until the kernel runs to its end with so many, or is found to stop.
const CALLS: u64 = 2;
const ATTEMPTS: u64 = 20;

/// What both forms go through.
const COUNTED: &str = "gpux-tokens-to-mbarriers,gpux-tokens-to-groups,";
/// What the second form goes through besides: the first of these that refuses nothing. Allocations are no matter of this test,
/// and the first one refuses them.
const CONVERSIONS: [&str; 2] = ["gpux-to-nvvm,convert-nvgpu-to-nvvm,", "convert-nvgpu-to-nvvm,"];

/// What can't be read or converted: part of its title or of what was said of it, and why that is as it should be.
const EXPLAINED: [(&str, &str); 18] = [
    ("Run/captures.mlir", "it is a program of the host, which runs"),
    ("Run/many.mlir", "regions of host code are tasks"),
    ("Run/tensors-handed-on-twice.mlir", "its functions return tensors"),
    ("async-split-awaits/", "the same"),
    (
        "Sim/launch-tiles.mlir",
        "a descriptor of the host becomes a pointer, which nobody can make up",
    ),
    (
        "Sim/tensor-descriptors.mlir",
        "upstream makes a descriptor by a call of its runtime, which no device code can do",
    ),
    (
        "Dialect/Async/one-shot-bufferize",
        "upstream converts no loop that carries a token",
    ),
    ("Sim/host-regions.mlir", "the same"),
    ("async-import-gpu/streams.mlir", "the same"),
    ("Integration/load-helpers.mlir", "the same"),
    ("tokens-to-groups/foreign-tokens.mlir", "the same"),
    (
        "Sim/wgmma-nvgpu.mlir",
        "upstream makes its descriptors by a call, too",
    ),
    ("Sim/wgmma-fragments.mlir", "the same"),
    ("Sim/wgmma-fragment-types.mlir", "the same"),
    ("Sim/wgmma-integers.mlir", "the same"),
    ("Sim/wgmma-pipeline.mlir", "the same"),
    ("Sim/wgmma-proxy-fences.mlir", "the same"),
    ("Sim/wgmma-tokens.mlir", "the same"),
];

#[test]
fn kernels_compute_the_same_and_have_the_same_faults() {
    let tally: Tally = lit::tally_sources(hold_source);
    println!(
        "{} kernels are the same, {} of them with faults, {} with mbarriers; left out:",
        tally.same, tally.faulty, tally.with_mbarriers
    );
    for title in &tally.left {
        println!("  {title}");
    }
    let explained = |title: &&String| EXPLAINED.iter().any(|(part, _)| title.contains(part));
    let unexplained: Vec<&String> = tally.left.iter().filter(|title| !explained(title)).collect();
    assert!(
        unexplained.is_empty(),
        "left out for no good reason: {unexplained:#?}"
    );
    for (part, _) in EXPLAINED {
        let needed = tally.left.iter().any(|title| title.contains(part));
        assert!(needed, "nothing is left out for '{part}' any more");
    }
    assert!(
        tally.with_mbarriers >= 100,
        "only {} with mbarriers",
        tally.with_mbarriers
    );
}

#[derive(Default)]
struct Tally {
    same: usize,
    faulty: usize,
    with_mbarriers: usize,
    left: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.same += other.same;
        self.faulty += other.faulty;
        self.with_mbarriers += other.with_mbarriers;
        self.left.extend(other.left);
    }
}

/// Compares every kernel of a source with what the conversion makes of it.
fn hold_source(context: &Context, name: &str, source: &str, tally: &mut Tally) {
    let Some(counted) = lowered(context, source, COUNTED) else {
        // What the passes refuse is for other tests.
        return;
    };
    let mut conversions = CONVERSIONS.iter();
    let converted = conversions.find_map(|passes| lowered(context, source, &format!("{COUNTED}{passes}")));
    let Some(converted) = converted else {
        tally.left.push(format!("{name}: can't be converted"));
        return;
    };
    for (function, code) in counted {
        // What can't be read anyway is for other tests, too.
        let Ok(code) = code else { continue };
        let title = format!("{name}, @{function}");
        match converted.get(&function) {
            Some(Ok(converted)) => hold(&title, &code, converted, tally),
            Some(Err(message)) => tally.left.push(format!("{title}: {message}")),
            None => tally.left.push(format!("{title}: is gone")),
        }
    }
}

/// Runs both forms with the same arguments.
fn hold(title: &str, code: &Code, converted: &Code, tally: &mut Tally) {
    let (mut calls, mut faulty) = (0, false);
    for seed in 0..ATTEMPTS {
        let call = call(code, seed);
        let before = execute(code, &call, Adversary::Late);
        // What is converted takes more instructions.
        let call = Call {
            budget: call.budget << 4,
            ..call
        };
        if before.stopped {
            continue;
        }
        let after = execute(converted, &call, Adversary::Late);
        let place = format!("{title}, call {seed}");
        assert!(!after.stopped, "{place}: {}", after.findings);
        let (found, meant) = (&after.findings, &before.findings);
        // One copy of several boxes becomes several, at the same place.
        assert_eq!(before.places, after.places, "{place}: {found} instead of {meant}");
        assert!(after.memory == before.memory, "{place}: other memory");
        faulty |= !before.is_clean();
        calls += 1;
        if calls == CALLS {
            break;
        }
    }
    if calls > 0 {
        tally.same += 1;
        tally.faulty += usize::from(faulty);
        tally.with_mbarriers += usize::from(converted.has_arrivals());
    }
}
