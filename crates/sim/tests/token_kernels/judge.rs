//! Runs of kernels, and what is held against what.

use super::{Kernel, THREADS};
use crate::kernel::{Call, Outcome, execute, parse_with, read_kernel, try_lower};
use async_mlir::melior::Context;
use async_mlir::melior::diagnostic::DiagnosticSeverity;
use async_mlir::melior::ir::Module;
use async_sim::adversary::{Adversary, next_random};
use async_sim::code::Code;
use async_sim::inputs::{Argument, Fill};
use async_sim::read::UncountedWaits;
use async_sim::refine;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

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

/// What is held against what.
pub struct Case<'a> {
    /// The kernel with all that it needs.
    pub meant: String,
    /// What the pipeline gets.
    pub source: String,
    pub pipeline: &'a str,
    /// Whether what comes out has to wait for all that the kernel waits for, if nobody looks, too.
    pub waits: bool,
    /// Whether the pipeline may refuse a kernel that is right.
    pub may_refuse: bool,
}

impl Case<'_> {
    /// A kernel that a pipeline gets as it is.
    pub fn of<'a>(kernel: &Kernel, pipeline: &'a str) -> Case<'a> {
        let source = kernel.text();
        Case {
            meant: source.clone(),
            source,
            pipeline,
            waits: true,
            may_refuse: false,
        }
    }

    /// Runs the kernel, and what the pipeline makes of it: that has to be clean, leave the same memory, and wait for as much.
    pub fn hold(&self, context: &Context, seed: u64) -> Result<(), TestCaseError> {
        let seeds = [seed, seed.wrapping_add(1)];
        let code = parse_with(context, &self.meant, UncountedWaits::OfToken);
        let Some(meant) = meant(&code, &seeds) else {
            return Err(TestCaseError::reject("not clean as it is written"));
        };
        let pipeline = format!("builtin.module(gpu.module(gpu.func({})))", self.pipeline);
        let (module, errors) = self.lower(context, &pipeline);
        let Some(module) = module else {
            let is_ours = ["bug in async-opt", "the check of what was written"];
            if self.may_refuse && !is_ours.iter().any(|fault| errors.contains(fault)) {
                return Err(TestCaseError::reject("refused"));
            }
            return Err(self.fails(&format!("it is refused: {errors}"), &pipeline, ""));
        };
        let text = module.as_operation().to_string();
        // Upstream prints a group without operands such that it can't be parsed.
        let code = read_kernel(&module, UncountedWaits::All);
        for (seed, meant) in seeds.iter().zip(&meant) {
            for adversary in schedules(*seed) {
                let outcome = execute(&code, &call(*seed), adversary);
                if let Some(why) = self.differs(meant, &outcome) {
                    return Err(self.fails(&why, &pipeline, &text));
                }
            }
        }
        Ok(())
    }

    /// What becomes of the kernel, and the errors that are reported.
    fn lower<'c>(&self, context: &'c Context, pipeline: &str) -> (Option<Module<'c>>, String) {
        let errors = Rc::new(RefCell::new(String::new()));
        let said = Rc::clone(&errors);
        let handler = context.attach_diagnostic_handler(move |diagnostic| {
            if matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
                *said.borrow_mut() += &diagnostic.to_string();
            }
            true
        });
        let module = try_lower(context, &self.source, pipeline);
        context.detach_diagnostic_handler(handler);
        (module, errors.take())
    }

    /// What is wrong with a run, if anything is.
    fn differs(&self, meant: &Outcome, outcome: &Outcome) -> Option<String> {
        if !outcome.is_clean() {
            return Some(outcome.findings.clone());
        }
        if outcome.memory != meant.memory {
            return Some("it leaves other memory".to_owned());
        }
        let less = refine::compare(&meant.trace, &outcome.trace).filter(|_| self.waits);
        less.map(|difference| format!("{difference:?}"))
    }

    /// A failure with the kernel as a file that can be tried.
    fn fails(&self, why: &str, pipeline: &str, text: &str) -> TestCaseError {
        let why = why.trim_end().replace('\n', "\n// ");
        let source = &self.source;
        TestCaseError::fail(format!(
            "\n// {why}\n// async-opt %s --pass-pipeline='{pipeline}'\n{source}\n// It becomes:\n{text}"
        ))
    }
}
