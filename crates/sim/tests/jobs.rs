//! Blocks that run at a time: whatever comes of it is what one after the other gives.
#![allow(missing_docs)]

mod kernel;
mod programs;

use async_sim::adversary::Adversary;
use async_sim::inputs::{self, Argument, Fill};
use async_sim::machine::{Launch, Machine};
use async_sim::memory::Memory;
use async_sim::show::{Finding, Names};
use kernel::{context, parse};
use programs::config;
use proptest::prelude::*;
use std::fmt::Write;

const THREADS: u32 = 2;
const ELEMENTS: usize = 64;

/// What a block does, to elements near its own.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load(usize),
    Store(usize),
    /// The same element in all blocks.
    LoadFixed(usize),
    StoreFixed(usize),
    /// Copies an element to the block's memory, and waits or not.
    Copy(usize, bool),
    /// Reads that.
    Read,
    Barrier,
    /// Only in this block.
    FailIn(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..3_usize).prop_map(Step::Load),
        4 => (0..3_usize).prop_map(Step::Store),
        2 => (0..3_usize).prop_map(Step::LoadFixed),
        1 => (0..3_usize).prop_map(Step::StoreFixed),
        3 => (0..3_usize, any::<bool>()).prop_map(|(at, waits)| Step::Copy(at, waits)),
        3 => Just(Step::Read),
        2 => Just(Step::Barrier),
        1 => (0..6_usize).prop_map(Step::FailIn),
    ];
    prop::collection::vec(step, 1..8)
}

/// A kernel that does the steps in a loop of so many iterations, with elements so far apart from block to block.
fn program(steps: &[Step], stride: usize, iterations: usize) -> String {
    let mut body = String::new();
    for (n, step) in steps.iter().enumerate() {
        let near = |at: usize| {
            format!("%o{n} = arith.constant {at} : index\n%i{n} = arith.addi %own, %o{n} : index\n")
        };
        let fixed = |at: usize| format!("%i{n} = arith.constant {} : index\n", ELEMENTS - 1 - at);
        let text = match *step {
            Step::Load(at) => near(at) + &format!("%x{n} = memref.load %global[%i{n}] : !Global\n"),
            Step::Store(at) => near(at) + &format!("memref.store %value, %global[%i{n}] : !Global\n"),
            Step::LoadFixed(at) => fixed(at) + &format!("%x{n} = memref.load %global[%i{n}] : !Global\n"),
            Step::StoreFixed(at) => fixed(at) + &format!("memref.store %value, %global[%i{n}] : !Global\n"),
            Step::Copy(at, waits) => {
                let wait = if waits {
                    "gpux.commit_group <cp_async>\ngpux.wait_group <cp_async>, 0\n"
                } else {
                    ""
                };
                near(at) + &format!("gpux.copy %global[%i{n}], %shared[%t], 1 : !Global to !Shared\n{wait}")
            }
            Step::Read => format!("%x{n} = memref.load %shared[%t] : !Shared\n"),
            Step::Barrier => "gpu.barrier\n".to_owned(),
            Step::FailIn(block) => format!(
                "%b{n} = arith.constant {block} : index\n%other{n} = arith.cmpi ne, %block, %b{n} : index\n\
                 cf.assert %other{n}, \"here\"\n"
            ),
        };
        let _ = write!(body, "{text}");
    }
    format!(
        "!Global = memref<{ELEMENTS}xi32>
         !Shared = memref<{THREADS}xi32, #gpu.address_space<workgroup>>
         gpu.module @m {{
           gpu.func @kernel(%global: !Global) workgroup(%shared: !Shared) kernel {{
             %block = gpu.block_id x
             %t = gpu.thread_id x
             %stride = arith.constant {stride} : index
             %first = arith.muli %block, %stride : index
             %own = arith.addi %first, %t : index
             %value = arith.index_cast %own : index to i32
             %c0 = arith.constant 0 : index
             %c1 = arith.constant 1 : index
             %end = arith.constant {iterations} : index
             scf.for %k = %c0 to %end step %c1 {{
               {body}
             }}
             gpu.return
           }}
         }}"
    )
}

/// All that can be seen of a run.
fn run(source: &str, blocks: u32, jobs: usize, adversary: Adversary) -> (String, Vec<u8>, u64) {
    let context = context();
    let code = parse(&context, source);
    let mut memory = Memory::new(adversary, THREADS);
    let buffer = Argument::Buffer {
        sizes: vec![i64::try_from(ELEMENTS).expect("a few")],
        fill: Fill::Ramp,
    };
    let arguments = inputs::arguments(&mut memory, &code.params, &[Some(buffer)], 0).expect("a buffer");
    let (grid, block) = ([blocks, 1, 1], [THREADS, 1, 1]);
    let launch = Launch {
        grid,
        block,
        dynamic_workgroup: 0,
        budget: 1 << 16,
    };
    let mut machine = Machine::new(&code, launch, memory);
    let stop = machine.run(&arguments, jobs, &mut |_, _| {}).err();
    let steps = machine.steps;
    let iterations = std::mem::take(&mut machine.iterations);
    let (buffers, _, reports) = machine.memory.into_parts();
    let names = Names {
        code: &code,
        buffers: &buffers,
        iterations: &iterations,
        block,
        grid,
        tasks: &[],
    };
    let findings = names.findings(&reports, stop.as_ref());
    let findings = findings.iter().map(Finding::text).collect();
    // What a run that was stopped did after that is not asked for.
    let steps = if stop.is_some() { 0 } else { steps };
    (findings, buffers[0].data.clone(), steps)
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn what_blocks_do_at_a_time_is_what_they_do_one_by_one(
        steps in steps(),
        stride in prop_oneof![Just(0_usize), Just(1), Just(2), Just(5), Just(8)],
        iterations in 1..3_usize,
        blocks in 2..7_u32,
        jobs in 2..5_usize,
        seed in prop_oneof![Just(None), any::<u64>().prop_map(Some)],
    ) {
        let source = program(&steps, stride, iterations);
        let adversary = || seed.map_or(Adversary::Late, Adversary::Random);
        let (one, several) = (run(&source, blocks, 1, adversary()), run(&source, blocks, jobs, adversary()));
        prop_assert_eq!(&one.0, &several.0, "reports of\n{}", source);
        prop_assert_eq!(&one.1, &several.1, "memory after\n{}", source);
        prop_assert_eq!(one.2, several.2, "instructions of\n{}", source);
    }
}
