//! The kernels of the lit tests and examples, scheduled for a GPU: what is clean stays clean, with the same result, with tokens and
//! counted, whatever the hardware does first; and at no wait is more complete than was. `PROPTEST_CASES` makes it more or fewer random kernels,
//! `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod kernel;
mod race_free;
mod random;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::inputs::{Argument, Fill};
use async_sim::timeline::{Activity, Costs, Recorder};
use kernel::lit::{self, call, kernels, lowered, root};
use kernel::{Call, Outcome, context, execute, launch, try_lower};
use random::seeds;
use std::collections::{BTreeMap, BTreeSet};

const ADVERSARIES: [Adversary; 3] = [Adversary::Late, Adversary::Early, Adversary::Random(1)];

/// What schedules and lowers, and what does the same without a schedule: where that is not clean, it is no fault of the schedule.
const FORMS: [(&str, &str); 3] = [
    ("gpux-schedule{chip=sm_80},", ""),
    (
        "gpux-insert-barriers,gpux-schedule{chip=sm_80},",
        "gpux-insert-barriers,",
    ),
    (
        "gpux-schedule{chip=sm_90},gpux-tokens-to-mbarriers,gpux-tokens-to-groups,gpux-to-nvvm,",
        "gpux-tokens-to-mbarriers,gpux-tokens-to-groups,gpux-to-nvvm,",
    ),
];

#[test]
fn what_is_clean_stays_clean() {
    let counts = lit::map_sources(|context, name, source| {
        let (mut moved, mut clean) = (0, 0);
        for (scheduled, plain) in FORMS {
            let forms = lowered(context, source, plain).zip(lowered(context, source, scheduled));
            let Some((plain, others)) = forms else { continue };
            for (function, plain) in plain {
                if let (Ok(plain), Some(Ok(other))) = (plain, others.get(&function))
                    && order(&plain) != order(other)
                {
                    let title = format!("{name}, {scheduled}, @{function}");
                    moved += 1;
                    clean += usize::from(hold(&title, &plain, other));
                }
            }
        }
        (moved, clean)
    });
    let moved: usize = counts.iter().map(|(moved, _)| moved).sum();
    let clean: usize = counts.iter().map(|(_, clean)| clean).sum();
    println!("{moved} kernels in another order, {clean} of them clean");
    assert!(moved >= 30 && clean >= 20, "only {moved}, {clean} of them clean");
}

/// Holds a kernel against its other order. Returns whether it is clean with any arguments.
fn hold(title: &str, plain: &Code, other: &Code) -> bool {
    let mut any = false;
    for seed in 0..2 {
        let call = call(plain, seed);
        let meant = execute(plain, &call, Adversary::Late);
        if meant.stopped || !meant.is_clean() {
            continue;
        }
        any = true;
        for adversary in ADVERSARIES {
            let outcome = execute(other, &call, adversary.clone());
            same(&format!("{title}, call {seed}, {adversary:?}"), &meant, &outcome);
        }
    }
    any
}

fn same(title: &str, meant: &Outcome, outcome: &Outcome) {
    assert!(outcome.is_clean(), "{title}: {}", outcome.findings);
    assert!(outcome.memory == meant.memory, "{title}: other memory");
}

/// Where the instructions are written.
fn order(code: &Code) -> Vec<String> {
    code.instrs
        .iter()
        .map(|instr| format!("{:?}", instr.place))
        .collect()
}

/// What makes the plain loops of examples pipelines, with all barriers that they need.
const PIPELINED: [(&str, &str); 2] = [
    (
        "examples/gemm_sm80.mlir",
        "gpu.module(gpu.func(affine-loop-unroll{unroll-factor=-1 unroll-full-threshold=16},lower-affine,canonicalize),\
         async-pipeline{insert-barriers=false}),gpux-pack-workgroup-memory,gpux-insert-barriers",
    ),
    (
        "examples/linalg_matmul.mlir",
        "transform-interpreter,gpu-kernel-outlining,transform-interpreter{entry-point=pipeline}",
    ),
];

/// Of the schedule and of what counts, in this order.
const SCHEDULE: &str = "gpu.module(gpu.func(gpux-schedule{chip=sm_80}))";
const COUNT: &str = "gpu.module(gpu.func(gpux-tokens-to-groups{drop-implied=false}))";

/// A multiplication of small matrices, in as many k-steps as the kernel takes.
fn multiplication(code: &Code) -> Call {
    let buffer = |sizes: [i64; 2], fill| {
        Some(Argument::Buffer {
            sizes: sizes.to_vec(),
            fill,
        })
    };
    let arguments = if code.params.len() == 3 && code.name.starts_with("gemm") {
        vec![
            buffer([128, 160], Fill::Random),
            buffer([160, 128], Fill::Random),
            buffer([128, 128], Fill::Zero),
        ]
    } else {
        vec![None; code.params.len()]
    };
    Call {
        arguments,
        dynamic_workgroup: 1 << 16,
        ..Call::of(128)
    }
}

/// The only kernel after passes.
fn kernel_after(context: &Context, source: &str, passes: &[&str]) -> Code {
    let pipeline = format!("builtin.module({},lower-affine)", passes.join(","));
    let module = try_lower(context, source, &pipeline).unwrap_or_else(|| panic!("{pipeline} fails"));
    let first = |asynchronous| {
        let all = kernels(module.as_operation().into(), asynchronous);
        all.into_values().next()
    };
    // A few random kernels have nothing asynchronous.
    let kernel = first(true).or_else(|| first(false)).expect("a kernel");
    kernel.unwrap_or_else(|message| panic!("{pipeline}: {message}"))
}

#[test]
fn pipelined_examples_are_clean_and_equal() {
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    for (file, passes) in PIPELINED {
        let source = std::fs::read_to_string(root().join(file)).expect("an example");
        let plain = kernel_after(&context, &source, &[passes]);
        let call = multiplication(&plain);
        let meant = execute(&plain, &call, Adversary::Late);
        assert!(meant.is_clean(), "{file}: {}", meant.findings);
        for after in [&[][..], &[COUNT], &[COUNT, "gpux-allocs-to-globals,gpux-to-nvvm"]] {
            let scheduled = kernel_after(&context, &source, &[&[passes, SCHEDULE], after].concat());
            assert!(order(&plain) != order(&scheduled), "{file}: nothing has moved");
            for adversary in ADVERSARIES {
                let outcome = execute(&scheduled, &call, adversary.clone());
                same(&format!("{file}, {after:?}, {adversary:?}"), &meant, &outcome);
            }
        }
    }
}

/// A wait, as it is executed: where it is written, and in which iterations.
type Executed = (String, Vec<u32>);

/// Of each wait of the first warp that lasts, which of its copies are complete then. Copies have the numbers of their issue.
fn complete_after_waits(code: &Code, call: &Call) -> BTreeMap<Executed, BTreeSet<usize>> {
    // Each wait for what is in flight lasts.
    let costs = Costs {
        latency: 1 << 40,
        ..Costs::default()
    };
    let (mut machine, arguments) = launch(code, call, Adversary::Late);
    let threads = code.block.unwrap_or(call.block).iter().product::<u32>();
    machine.timeline = Some(Recorder::new(code, costs, threads as usize));
    if machine.run(&arguments, 1, &mut |_, _| {}).is_err() {
        return BTreeMap::new();
    }
    let recorder = machine.timeline.take().expect("a timeline");
    let timeline = recorder.replay(&machine.iterations);
    let copies: Vec<_> = timeline.copies.iter().filter(|copy| copy.warp == 0).collect();
    let waits = timeline.warps[0]
        .iter()
        .filter(|span| span.kind == Activity::Wait);
    let complete = waits.map(|wait| {
        let place = format!("{:?}", code.instrs[wait.at.instr as usize].place);
        let iterations = machine.iterations[wait.at.iterations as usize].to_vec();
        let complete = copies.iter().enumerate();
        let complete = complete.filter(|(_, copy)| copy.observed.is_some_and(|at| at <= wait.end));
        ((place, iterations), complete.map(|(number, _)| number).collect())
    });
    complete.collect()
}

/// Compares what is complete after each wait. Returns how many there are.
fn compare_waits(title: &str, plain: &Code, scheduled: &Code, call: &Call) -> usize {
    let before = complete_after_waits(plain, call);
    let mut compared = 0;
    for (wait, after) in complete_after_waits(scheduled, call) {
        let Some(before) = before.get(&wait) else { continue };
        assert!(
            after.is_subset(before),
            "{title}: after the wait at {wait:?}, {after:?} are complete instead of {before:?}"
        );
        compared += 1;
    }
    compared
}

#[test]
fn no_wait_completes_more() {
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    let mut compared = 0;
    for (file, passes) in PIPELINED {
        let source = std::fs::read_to_string(root().join(file)).expect("an example");
        let plain = kernel_after(&context, &source, &[passes, COUNT]);
        let scheduled = kernel_after(&context, &source, &[passes, SCHEDULE, COUNT]);
        compared += compare_waits(file, &plain, &scheduled, &multiplication(&plain));
    }
    let count = "gpux-tokens-to-groups{drop-implied=false},";
    let counts = lit::map_sources(|context, name, source| {
        let mut compared = 0;
        let plain = lowered(context, source, count);
        let scheduled = lowered(context, source, &format!("gpux-schedule{{chip=sm_80}},{count}"));
        for (function, plain) in plain.unwrap_or_default() {
            let other = scheduled.as_ref().and_then(|kernels| kernels.get(&function));
            if let (Ok(plain), Some(Ok(scheduled))) = (plain, other)
                && order(&plain) != order(scheduled)
            {
                let title = format!("{name}, @{function}");
                let compare = |seed| compare_waits(&title, &plain, scheduled, &call(&plain, seed));
                compared += (0..4).map(compare).sum::<usize>();
            }
        }
        compared
    });
    compared += counts.iter().sum::<usize>();
    println!("{compared} waits compared");
    assert!(compared >= 100, "only {compared} waits");
}

/// When the first block ends, in the timeline's model of time.
fn end_of(code: &Code, call: &Call) -> u64 {
    let (mut machine, arguments) = launch(code, call, Adversary::Late);
    machine.timeline = Some(Recorder::new(code, Costs::default(), 32));
    machine
        .run(&arguments, 1, &mut |_, _| {})
        .expect("it runs to its end");
    let recorder = machine.timeline.take().expect("a timeline");
    recorder.replay(&machine.iterations).end()
}

#[test]
fn an_await_that_sinks_makes_the_timeline_shorter() {
    let sums: Vec<String> = (0..64)
        .map(|i| format!("%s{} = arith.addf %s{i}, %s{i} : f32", i + 1))
        .collect();
    let sums = sums.join("\n");
    let source = format!(
        "gpu.module @m {{
          gpu.func @k(%A: memref<32x8xf16>, %B: memref<32xf32>) kernel attributes {{known_block_size = array<i32: 32, 1, 1>}} {{
            %t = memref.alloc() : memref<32x8xf16, #gpu.address_space<workgroup>>
            %c0 = arith.constant 0 : index
            %i = gpu.thread_id x
            %s0 = arith.constant 0.0 : f32
            %copied = gpux.copy async %A[%i, %c0], %t[%i, %c0], 8 : memref<32x8xf16> to memref<32x8xf16, #gpu.address_space<workgroup>>
            async.await %copied
            {sums}
            %x = memref.load %t[%i, %c0] : memref<32x8xf16, #gpu.address_space<workgroup>>
            %y = arith.extf %x : f16 to f32
            %z = arith.addf %y, %s64 : f32
            memref.store %z, %B[%i] : memref<32xf32>
            gpu.return
          }}
        }}"
    );
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    let count = "gpu.module(gpu.func(gpux-tokens-to-groups))";
    let plain = kernel_after(&context, &source, &[count]);
    let scheduled = kernel_after(&context, &source, &[SCHEDULE, count]);
    let call = call(&plain, 0);
    let meant = execute(&plain, &call, Adversary::Late);
    same("scheduled", &meant, &execute(&scheduled, &call, Adversary::Late));
    let (before, after) = (end_of(&plain, &call), end_of(&scheduled, &call));
    assert!(after + 60 <= before, "{before} cycles become {after}");
}

#[test]
fn random_kernels_without_races_stay_without() {
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    let seeds = seeds(200);
    let kernels = seeds.end - seeds.start;
    let mut moved = 0_u64;
    for seed in seeds {
        let source = race_free::kernel(seed);
        let plain = kernel_after(&context, &source, &["canonicalize"]);
        let call = call(&plain, 0);
        let meant = execute(&plain, &call, Adversary::Late);
        assert!(
            meant.is_clean(),
            "seed {seed}, as written: {}\n{source}",
            meant.findings
        );
        for after in [&[][..], &["gpu.module(gpu.func(gpux-tokens-to-groups))"]] {
            let scheduled = kernel_after(&context, &source, &[&["canonicalize", SCHEDULE], after].concat());
            moved += u64::from(order(&plain) != order(&scheduled));
            for adversary in ADVERSARIES {
                let outcome = execute(&scheduled, &call, adversary.clone());
                same(
                    &format!("seed {seed}, {after:?}, {adversary:?}\n{source}"),
                    &meant,
                    &outcome,
                );
            }
        }
    }
    println!("{kernels} kernels, {moved} forms in another order");
    assert!(moved >= kernels, "only {moved} in another order");
}
