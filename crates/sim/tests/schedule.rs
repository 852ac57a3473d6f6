//! The kernels of the lit tests and examples, scheduled for a GPU: what is clean stays clean, with the same result, with tokens and
//! counted, whatever the hardware does first; and at no wait is more complete than was.
#![allow(missing_docs)]

mod kernel;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::inputs::{Argument, Fill};
use async_sim::timeline::{Activity, Costs, Recorder};
use kernel::lit::{self, call, kernels, lowered, root};
use kernel::{Call, Outcome, context, execute, launch, try_lower};
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
    let context = context();
    context.set_allow_unregistered_dialects(true);
    context.attach_diagnostic_handler(|_| true);
    let (mut moved, mut clean) = (0, 0);
    lit::for_each_source(|name, source| {
        for (scheduled, plain) in FORMS {
            let forms = lowered(&context, source, plain).zip(lowered(&context, source, scheduled));
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
    });
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
    let all = kernels(module.as_operation().into(), true);
    let kernel = all.into_values().next().expect("a kernel");
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

#[test]
fn no_wait_completes_more() {
    let context = context();
    context.set_allow_unregistered_dialects(true);
    context.attach_diagnostic_handler(|_| true);
    let mut compared = 0;
    let mut compare = |title: &str, plain: &Code, scheduled: &Code, call: &Call| {
        let before = complete_after_waits(plain, call);
        for (wait, after) in complete_after_waits(scheduled, call) {
            let Some(before) = before.get(&wait) else { continue };
            assert!(
                after.is_subset(before),
                "{title}: after the wait at {wait:?}, {after:?} are complete instead of {before:?}"
            );
            compared += 1;
        }
    };
    for (file, passes) in PIPELINED {
        let source = std::fs::read_to_string(root().join(file)).expect("an example");
        let plain = kernel_after(&context, &source, &[passes, COUNT]);
        let scheduled = kernel_after(&context, &source, &[passes, SCHEDULE, COUNT]);
        compare(file, &plain, &scheduled, &multiplication(&plain));
    }
    let count = "gpux-tokens-to-groups{drop-implied=false},";
    lit::for_each_source(|name, source| {
        let plain = lowered(&context, source, count);
        let scheduled = lowered(&context, source, &format!("gpux-schedule{{chip=sm_80}},{count}"));
        for (function, plain) in plain.unwrap_or_default() {
            let other = scheduled.as_ref().and_then(|kernels| kernels.get(&function));
            if let (Ok(plain), Some(Ok(scheduled))) = (plain, other)
                && order(&plain) != order(scheduled)
            {
                let title = format!("{name}, @{function}");
                (0..4).for_each(|seed| compare(&title, &plain, scheduled, &call(&plain, seed)));
            }
        }
    });
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
    let sums: String = (0..64)
        .map(|i| format!("%s{} = arith.addf %s{i}, %s{i} : f32\n", i + 1))
        .collect();
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

/// A random kernel of two warps without a race: copies to slots of a buffer, loads of a thread's own row and of the other warp's, stores,
/// arithmetic; and the awaits and barriers that these need, and a few more.
struct Writer {
    state: u64,
    text: String,
    values: usize,
    /// The running sum.
    sum: String,
    tiles: [Tile; 3],
}

#[derive(Clone, Default)]
struct Tile {
    is_written: bool,
    in_flight: Option<String>,
    /// All threads see what it holds.
    is_visible: bool,
    /// The other warp has read it since the last barrier.
    is_read_elsewhere: bool,
}

const TILES: &str = "memref<3x64x8xf16, #gpu.address_space<workgroup>>";

impl Writer {
    fn draw(&mut self, below: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % below
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn value(&mut self) -> String {
        self.values += 1;
        format!("%v{}", self.values)
    }

    fn wait(&mut self, tile: usize) {
        if let Some(token) = self.tiles[tile].in_flight.take() {
            self.line(&format!("async.await {token}"));
        }
    }

    fn barrier(&mut self) {
        self.line("gpu.barrier");
        for tile in &mut self.tiles {
            tile.is_visible = tile.in_flight.is_none();
            tile.is_read_elsewhere = false;
        }
    }

    /// Before all threads' rows of a tile are overwritten.
    fn overwrite(&mut self, tile: usize) {
        self.wait(tile);
        if self.tiles[tile].is_read_elsewhere {
            self.barrier();
        }
        self.tiles[tile].is_visible = false;
        self.tiles[tile].is_written = true;
    }

    fn add(&mut self, value: &str) {
        let sum = self.value();
        let line = format!("{sum} = arith.addf {}, {value} : f32", self.sum);
        self.line(&line);
        self.sum = sum;
    }

    fn add_half(&mut self, value: &str) {
        let wide = self.value();
        self.line(&format!("{wide} = arith.extf {value} : f16 to f32"));
        self.add(&wide);
    }

    fn step(&mut self) {
        let tile = self.draw(3) as usize;
        let value = self.value();
        match self.draw(12) {
            0..=3 => {
                self.overwrite(tile);
                let column = ["%c0", "%c8"][self.draw(2) as usize];
                self.line(&format!(
                    "{value} = gpux.copy async %A[%i, {column}], %t[%s{tile}, %i, %c0], 8 : memref<64x16xf16> to {TILES}"
                ));
                self.tiles[tile].in_flight = Some(value);
            }
            4..=5 if self.tiles[tile].is_written => {
                self.wait(tile);
                self.line(&format!("{value} = memref.load %t[%s{tile}, %i, %c0] : {TILES}"));
                self.add_half(&value);
            }
            6..=7 if self.tiles[tile].is_written => {
                self.wait(tile);
                if !self.tiles[tile].is_visible {
                    self.barrier();
                }
                self.line(&format!("{value} = memref.load %t[%s{tile}, %j, %c0] : {TILES}"));
                self.tiles[tile].is_read_elsewhere = true;
                self.add_half(&value);
            }
            8 => {
                self.overwrite(tile);
                let line = format!("{value} = arith.truncf {} : f32 to f16", self.sum);
                self.line(&line);
                self.line(&format!("memref.store {value}, %t[%s{tile}, %i, %c0] : {TILES}"));
            }
            9 => {
                self.line(&format!("{value} = memref.load %A[%i, %c8] : memref<64x16xf16>"));
                self.add_half(&value);
            }
            10 => self.barrier(),
            _ => {
                for _ in 0..self.draw(40) {
                    self.add("%one");
                }
            }
        }
    }

    fn kernel(seed: u64) -> String {
        let mut writer = Self {
            state: seed,
            text: String::new(),
            values: 0,
            sum: "%one".to_owned(),
            tiles: std::array::from_fn(|_| Tile::default()),
        };
        (0..30).for_each(|_| writer.step());
        (0..3).for_each(|tile| writer.wait(tile));
        // Slots that can be told apart, and slots that can't.
        let slots = if seed % 2 == 0 {
            "%s0 = arith.constant 0 : index
             %s1 = arith.constant 1 : index
             %s2 = arith.constant 2 : index"
        } else {
            "%c1 = arith.constant 1 : index
             %c6 = arith.constant 6 : index
             %s0 = arith.shrui %i, %c6 : index
             %s1 = arith.addi %s0, %c1 : index
             %s2 = arith.addi %s1, %c1 : index"
        };
        format!(
            "gpu.module @m {{
              gpu.func @k(%A: memref<64x16xf16>, %B: memref<64xf32>) kernel attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
                %t = memref.alloc() : {TILES}
                %c0 = arith.constant 0 : index
                %c8 = arith.constant 8 : index
                %c32 = arith.constant 32 : index
                %one = arith.constant 1.0 : f32
                %i = gpu.thread_id x
                %j = arith.xori %i, %c32 : index
                {}
                {}
                memref.store {}, %B[%i] : memref<64xf32>
                gpu.return
              }}
            }}",
            slots, writer.text, writer.sum
        )
    }
}

#[test]
fn random_kernels_without_races_stay_without() {
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    let mut moved = 0;
    for seed in 0..200 {
        let source = Writer::kernel(seed);
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
            moved += usize::from(order(&plain) != order(&scheduled));
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
    assert!(moved >= 200, "only {moved} in another order");
}
