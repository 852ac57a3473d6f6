//! Faults planted into the lowered examples: each is reported.
//!
//! `cargo test -p async-sim --test mutations -- --nocapture` prints the table of docs/async-sim.md.
#![allow(missing_docs)]

mod kernel;

use async_sim::adversary::Adversary;
use async_sim::inputs::{Argument, Fill};
use kernel::{Call, context, count, run};
use std::collections::BTreeMap;

fn buffer(sizes: &[i64], fill: Fill) -> Argument {
    Argument::Buffer {
        sizes: sizes.to_vec(),
        fill,
    }
}

/// An example, and how to call it.
struct Example {
    name: &'static str,
    source: &'static str,
    call: Call,
    /// How many slots its buffers have.
    slots: u32,
}

fn examples() -> Vec<Example> {
    let call = |size: i64| Call {
        grid: [2, 1, 1],
        block: [128, 1, 1],
        dynamic_workgroup: 0,
        arguments: vec![
            Some(buffer(&[size], Fill::Ramp)),
            Some(buffer(&[size], Fill::Zero)),
            Some(Argument::Number(2.0)),
        ],
        budget: 1 << 24,
        seed: 1,
    };
    vec![
        Example {
            name: "double_buffered_copy",
            source: include_str!("../../../examples/double_buffered_copy.mlir"),
            call: call(8 * 512),
            slots: 2,
        },
        Example {
            name: "predicated_copy",
            source: include_str!("../../../examples/predicated_copy.mlir"),
            call: call(15 * 512 + 300),
            slots: 4,
        },
        Example {
            name: "gemm_sm80",
            source: include_str!("../../../examples/gemm_sm80.mlir"),
            call: Call {
                grid: [1; 3],
                block: [128, 1, 1],
                dynamic_workgroup: 65536,
                arguments: vec![
                    Some(buffer(&[128, 256], Fill::Random)),
                    Some(buffer(&[256, 128], Fill::Random)),
                    Some(buffer(&[128, 128], Fill::Zero)),
                ],
                budget: 1 << 24,
                seed: 1,
            },
            slots: 4,
        },
    ]
}

/// All ways to plant a fault of one kind into a program, each a program.
fn mutants(kind: &str, source: &str, slots: u32) -> Vec<String> {
    let lines: Vec<&str> = source.lines().collect();
    let change = |i: usize, to: String| {
        let mut changed: Vec<String> = lines.iter().map(ToString::to_string).collect();
        changed[i] = to;
        changed.join("\n")
    };
    let mutated = lines.iter().enumerate().filter_map(|(i, line)| match kind {
        "wait relaxed by one" => {
            let (start, n) = line.split_once("gpux.wait_group <cp_async>, ")?;
            let n: u32 = n.trim().parse().ok()?;
            Some(change(i, format!("{start}gpux.wait_group <cp_async>, {}", n + 1)))
        }
        "wait deleted" => line.contains("gpux.wait_group").then(|| change(i, String::new())),
        "commit deleted" => line
            .contains("gpux.commit_group")
            .then(|| change(i, String::new())),
        "barrier deleted" => line.contains("gpu.barrier").then(|| change(i, String::new())),
        "slot shifted" => {
            // gpux.copy %src[…], %slots[%slot, …], …
            let at = line.contains("gpux.copy").then(|| line.find("], %"))?? + 3;
            let open = at + line[at..].find('[')?;
            let end = open + line[open..].find([',', ']'])?;
            let slot = &line[open + 1..end];
            let shifted = format!(
                "%one_{i} = arith.constant 1 : index\n\
                 %slots_{i} = arith.constant {slots} : index\n\
                 %next_{i} = arith.addi {slot}, %one_{i} : index\n\
                 %slot_{i} = arith.remui %next_{i}, %slots_{i} : index\n\
                 {}%slot_{i}{}",
                &line[..=open],
                &line[end..]
            );
            Some(change(i, shifted))
        }
        _ => unreachable!("no such kind of fault"),
    });
    mutated.collect()
}

const KINDS: [&str; 5] = [
    "wait relaxed by one",
    "wait deleted",
    "commit deleted",
    "barrier deleted",
    "slot shifted",
];

#[test]
fn every_fault_is_reported() {
    let context = context();
    let mut table: BTreeMap<&str, [String; 5]> = BTreeMap::new();
    let mut survivors = Vec::new();
    for example in examples() {
        let counted = count(&context, example.source, "");
        let right = run(&context, &counted, &example.call, Adversary::Late);
        assert!(right.is_clean(), "{}: {}", example.name, right.findings);
        let mut row: [String; 5] = std::array::from_fn(|_| String::new());
        for (kind, cell) in KINDS.into_iter().zip(&mut row) {
            let mutants = mutants(kind, &counted, example.slots);
            assert!(!mutants.is_empty(), "{}: nothing to plant: {kind}", example.name);
            let mut caught = 0;
            for (i, mutant) in mutants.iter().enumerate() {
                let reported = !run(&context, mutant, &example.call, Adversary::Late).is_clean();
                caught += usize::from(reported);
                if !reported {
                    survivors.push(format!("{}: {kind} {i}", example.name));
                }
            }
            *cell = format!("{caught} of {}", mutants.len());
        }
        table.insert(example.name, row);
    }
    println!("| example | {} |", KINDS.join(" | "));
    for (name, row) in table {
        println!("| `{name}` | {} |", row.join(" | "));
    }
    assert!(survivors.is_empty(), "{survivors:#?}");
}
