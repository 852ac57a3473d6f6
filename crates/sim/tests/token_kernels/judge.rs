//! Runs of kernels, and what is held against what.

use super::{Kernel, THREADS};
use crate::kernel::{Call, Outcome, execute, parse, try_lower};
use async_mlir::melior::Context;
use async_sim::adversary::{Adversary, next_random};
use async_sim::code::Code;
use async_sim::inputs::{Argument, Fill};
use async_sim::refine;
use proptest::prelude::*;

/// How a kernel is called: by `seed`, each thread and all of them together take one way or another.
pub fn call(seed: u64) -> Call {
    let mut state = seed;
    let bytes: Vec<u8> = (0..THREADS)
        .flat_map(|_| next_random(&mut state).to_le_bytes())
        .collect();
    let chosen = next_random(&mut state) >> 1;
    let drawn = Argument::Buffer {
        sizes: Vec::new(),
        fill: Fill::Bytes {
            bytes,
            kind: "<i8".into(),
        },
    };
    Call {
        arguments: vec![None, Some(drawn), Some(Argument::Integer(chosen.into()))],
        seed,
        budget: 1 << 18,
        ..Call::of(u32::try_from(THREADS).expect("few threads"))
    }
}

/// The schedules of a run.
fn schedules(seed: u64) -> [Adversary; 3] {
    [Adversary::Late, Adversary::Early, Adversary::Random(seed)]
}

/// What a kernel does as it is written, in one run for each seed; nothing if it is not clean, or leaves other memory under other
/// schedules. That is a kernel that does not say what it means.
fn meant(code: &Code, seeds: &[u64]) -> Option<Vec<Outcome>> {
    let mut all = Vec::new();
    for seed in seeds {
        let mut runs = schedules(*seed).map(|adversary| execute(code, &call(*seed), adversary));
        let clean = runs.iter().all(Outcome::is_clean);
        if !clean || runs.iter().any(|run| run.memory != runs[0].memory) {
            return None;
        }
        runs.swap(0, 1);
        all.extend(runs.into_iter().next());
    }
    Some(all)
}

/// What becomes of a kernel by a pipeline, with all that is reported on the way.
pub fn lowered(context: &Context, source: &str, pipeline: &str) -> Result<String, TestCaseError> {
    let pipeline = format!("builtin.module(gpu.module(gpu.func({pipeline})))");
    match try_lower(context, source, &pipeline) {
        Some(module) => Ok(module.as_operation().to_string()),
        None => Err(TestCaseError::fail(format!("{pipeline} fails"))),
    }
}

/// Runs a kernel with tokens, and what the pipeline makes of it: that has to be clean, leave the same memory, and wait for all that
/// the kernel waits for.
pub fn keeps_its_meaning(
    context: &Context,
    kernel: &Kernel,
    pipeline: &str,
    seed: u64,
) -> Result<(), TestCaseError> {
    let source = kernel.text();
    let seeds = [seed, seed.wrapping_add(1)];
    let Some(meant) = meant(&parse(context, &source), &seeds) else {
        return Err(TestCaseError::reject("not clean as it is written"));
    };
    let text = lowered(context, &source, pipeline).map_err(|error| {
        TestCaseError::fail(format!("{error}\n// async-opt --pass-pipeline='{pipeline}'\n{source}"))
    })?;
    let code = parse(context, &text);
    let fails = |why: String| {
        let head = format!("// --pass-pipeline='builtin.module(gpu.module(gpu.func({pipeline})))'");
        TestCaseError::fail(format!("{why}\n{head}\n{source}\n// becomes\n{text}"))
    };
    for (seed, meant) in seeds.iter().zip(&meant) {
        for adversary in schedules(*seed) {
            let outcome = execute(&code, &call(*seed), adversary);
            if !outcome.is_clean() {
                return Err(fails(outcome.findings));
            }
            if outcome.memory != meant.memory {
                return Err(fails("other memory".to_owned()));
            }
            if let Some(difference) = refine::compare(&meant.trace, &outcome.trace) {
                return Err(fails(format!("{difference:?}")));
            }
        }
    }
    Ok(())
}
