//! Host code with device work, as upstream lowers and runs it, beside ours. Upstream's calls go to a simulated device.
//!
//! Each program is right, and its faults are upstream's. They are numbered as on `docs/upstream-host.md`.
#![forbid(unsafe_code)]

#[path = "upstream_gpu/kernels.rs"]
mod kernels;

use anyhow::{Context, Result, ensure};
use std::{
    env,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const LLVM: &str = "/usr/lib/llvm-22";

/// From kernels to PTX, of which nothing runs here.
const KERNELS: &str = "nvvm-attach-target,gpu.module(convert-gpu-to-nvvm),gpu-module-to-binary{format=isa},";

/// As in upstream's integration tests of host code.
const LOWER: &str = "convert-scf-to-cf,expand-strided-metadata,lower-affine,gpu-to-llvm,async-to-async-runtime,func.func(async-runtime-ref-counting),\
     convert-async-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,\
     reconcile-unrealized-casts";

const LIBRARIES: [&str; 3] = ["c_runner_utils", "runner_utils", "async_runtime"];

/// What a command has printed.
struct Printed {
    succeeds: bool,
    output: String,
    errors: String,
}

fn run(program: &str, arguments: &[&str], settings: &[(&str, &str)], input: &str) -> Result<Printed> {
    let mut child = Command::new(program)
        .args(arguments)
        .envs(settings.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| program.to_owned())?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    Ok(Printed {
        succeeds: output.status.success(),
        output: String::from_utf8_lossy(&output.stdout).into_owned(),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn library(name: &str) -> String {
    format!("{LLVM}/lib/libmlir_{name}.so")
}

fn has_runtime() -> bool {
    LIBRARIES.iter().all(|name| Path::new(&library(name)).exists())
}

/// Cargo puts it beside this test.
fn simulated_device() -> Result<PathBuf> {
    Ok(env::current_exe()?.with_file_name("libasyncopt_mgpu.so"))
}

/// Has upstream lower a program, after `passes`.
fn lower(program: &str, passes: &str) -> Result<Printed> {
    let pipeline = format!("--pass-pipeline=builtin.module({passes}{LOWER})");
    run(&format!("{LLVM}/bin/mlir-opt"), &[&pipeline], &[], program)
}

/// Has upstream lower and run a program, after `passes`.
fn run_upstream(program: &str, passes: &str, settings: &[(&str, &str)]) -> Result<Printed> {
    lower_and_run(program, &format!("{passes}{LOWER}"), settings)
}

/// Has upstream lower a program by a pipeline, and run it.
fn lower_and_run(program: &str, pipeline: &str, settings: &[(&str, &str)]) -> Result<Printed> {
    let pipeline = format!("--pass-pipeline=builtin.module({pipeline})");
    let lowered = run(&format!("{LLVM}/bin/mlir-opt"), &[&pipeline], &[], program)?;
    ensure!(lowered.succeeds, "{}", lowered.errors);
    let mut libraries = vec![simulated_device()?.to_string_lossy().into_owned()];
    libraries.extend(LIBRARIES.map(library));
    let arguments = [
        "-e",
        "main",
        "-entry-point-result=void",
        "-O0",
        &format!("-shared-libs={}", libraries.join(",")),
    ];
    run(
        &format!("{LLVM}/bin/mlir-runner"),
        &arguments,
        settings,
        &lowered.output,
    )
}

/// Runs a program as ours, with each device and number of workers: what it prints, if nothing is left at the end.
fn run_ours(program: &str) -> Result<String> {
    let imported = run(
        env!("CARGO_BIN_EXE_async-translate"),
        &["--import-upstream-async"],
        &[],
        program,
    )?;
    ensure!(imported.succeeds, "{}", imported.errors);
    let mut first = None;
    for device in ["host", "sim:late", "sim:early", "sim:random:1"] {
        for threads in ["1", "2", "8"] {
            let arguments = [
                "run",
                "--async-import-gpu",
                &format!("--device={device}"),
                &format!("--threads={threads}"),
            ];
            let ours = run(env!("CARGO_BIN_EXE_async-opt"), &arguments, &[], &imported.output)?;
            // A census that is not empty is an error message.
            ensure!(
                ours.succeeds && ours.errors.is_empty(),
                "{arguments:?}: {}",
                ours.errors
            );
            let first = first.get_or_insert_with(|| ours.output.clone());
            ensure!(
                *first == ours.output,
                "{arguments:?}: {} after {first}",
                ours.output
            );
        }
    }
    Ok(first.unwrap_or_default())
}

/// What upstream makes of a program, and what we do.
struct Fault {
    program: &'static str,
    /// Passes of upstream's before its lowering.
    passes: &'static str,
    /// What upstream prints, and what is right.
    prints: (&'static str, &'static str),
    /// Parts of what the device reports, in any order.
    reports: &'static [&'static str],
}

const ASYNC_REGION: &str = "func.func(gpu-async-region),";

impl Fault {
    fn check(&self) -> Result<()> {
        let ours = run_ours(self.program)?;
        ensure!(ours.trim() == self.prints.1, "{ours}");
        if !has_runtime() {
            return Ok(());
        }
        let upstream = run_upstream(self.program, self.passes, &[])?;
        ensure!(upstream.succeeds, "{}", upstream.errors);
        ensure!(upstream.output.trim() == self.prints.0, "{}", upstream.output);
        for part in self.reports {
            ensure!(
                upstream.errors.contains(part),
                "{part} is not in\n{}",
                upstream.errors
            );
        }
        Ok(())
    }
}

#[test]
fn fault_1_a_value_is_read_before_the_copy_has_come() -> Result<()> {
    let fault = Fault {
        program: include_str!("upstream_gpu/early-read.mlir"),
        passes: ASYNC_REGION,
        prints: ("0", "42"),
        // It sees no reads by the host.
        reports: &["findings 0"],
    };
    fault.check()?;
    if has_runtime() {
        let early = [("ASYNCOPT_DEVICE_SCHEDULE", "early")];
        let lucky = run_upstream(fault.program, fault.passes, &early)?;
        ensure!(lucky.output.trim() == "42", "{}", lucky.output);
    }
    Ok(())
}

#[test]
fn fault_2_the_token_of_a_launch_is_a_stream_where_an_event_is_due() -> Result<()> {
    Fault {
        program: include_str!("upstream_gpu/token-of-launch.mlir"),
        passes: KERNELS,
        prints: ("", ""),
        reports: &[
            "no kernel: the module is PTX",
            "mgpuEventSynchronize (call 5): wrong handle: a stream is given where an event is due",
            "mgpuEventDestroy (call 6): wrong handle",
            "mgpuLaunchKernel (call 4): never awaited",
            "streams 1 (1 leaked",
        ],
    }
    .check()
}

#[test]
fn fault_3_tokens_of_loops_are_streams_where_events_are_due() -> Result<()> {
    Fault {
        program: include_str!("upstream_gpu/token-in-loop.mlir"),
        passes: "",
        prints: ("0", "1"),
        reports: &[
            "mgpuEventSynchronize (call 9): wrong handle: a stream is given where an event is due",
            "mgpuMemcpy (call 7): never awaited",
            "streams 1 (1 leaked",
        ],
    }
    .check()
}

/// What upstream prints is what memory of the device has in it that was freed.
#[test]
fn fault_3_tokens_of_branches_are_streams_where_events_are_due() -> Result<()> {
    Fault {
        program: include_str!("upstream_gpu/token-of-branch.mlir"),
        passes: "",
        prints: ("-2.87352e-16", "1"),
        reports: &[
            "mgpuEventSynchronize (call 6): wrong handle: a stream is given where an event is due",
            "mgpuMemset32 (call 4): WAR race",
            "streams 2 (1 leaked",
        ],
    }
    .check()
}

#[test]
fn fault_4_a_wait_destroys_a_stream_twice() -> Result<()> {
    Fault {
        program: include_str!("upstream_gpu/fork.mlir"),
        passes: "",
        prints: ("2", "2"),
        reports: &[
            "mgpuStreamSynchronize (call 14): use after destroy",
            "mgpuStreamDestroy (call 15): double destroy",
            // One for the two copies, that could run at a time: the other three are of other parts of the program.
            "streams 4 ",
        ],
    }
    .check()
}

#[test]
fn fault_5_a_token_from_outside_of_a_loop_is_destroyed_in_it() -> Result<()> {
    Fault {
        program: include_str!("upstream_gpu/outer-token.mlir"),
        passes: "",
        prints: ("2", "2"),
        reports: &[
            "mgpuStreamWaitEvent (call 19): use after destroy: uses an event that mgpuEventDestroy (call 14) has destroyed",
            "mgpuStreamWaitEvent: use after destroy: 8 more like that",
            "mgpuEventDestroy: double destroy: 8 more like that",
        ],
    }
    .check()
}

#[test]
fn fault_6_joins_leak_the_streams_of_what_they_join() -> Result<()> {
    Fault {
        program: include_str!("upstream_gpu/diamond.mlir"),
        passes: "",
        prints: ("2", "2"),
        // Three are of other parts of the program.
        reports: &["streams 43 (30 leaked, peak 31), events 40 (0 leaked"],
    }
    .check()
}

#[test]
fn fault_7_dependencies_that_others_imply_cost_streams_and_waits() -> Result<()> {
    Fault {
        program: include_str!("upstream_gpu/implied-wait.mlir"),
        passes: "",
        prints: ("2", "2"),
        reports: &["streams 7 (3 leaked, peak 4), events 4 ", "records 4, waits 4"],
    }
    .check()
}

#[test]
fn fault_8_a_token_that_is_awaited_in_one_branch_leaks_on_the_other_path() -> Result<()> {
    Fault {
        program: include_str!("upstream_gpu/awaited-in-branch.mlir"),
        passes: ASYNC_REGION,
        prints: ("2", "2"),
        reports: &["events 10 (9 leaked"],
    }
    .check()
}

#[test]
fn fault_9_a_stream_that_nobody_waits_for_leaks() -> Result<()> {
    Fault {
        program: include_str!("upstream_gpu/never-awaited.mlir"),
        passes: "",
        prints: ("2", "2"),
        reports: &["mgpuStreamCreate (call 12): leak", "streams 5 (1 leaked"],
    }
    .check()
}

#[test]
fn fault_10_two_chains_are_made_one_and_then_not_lowered() -> Result<()> {
    let program = include_str!("upstream_gpu/two-chains.mlir");
    ensure!(run_ours(program)?.trim() == "2");
    // A dependency that the program doesn't have.
    let arguments = ["--pass-pipeline=builtin.module(func.func(gpu-async-region))"];
    let chained = run(&format!("{LLVM}/bin/mlir-opt"), &arguments, &[], program)?;
    ensure!(
        chained.output.contains("gpu.memset async [%3, %2]"),
        "{}",
        chained.output
    );
    not_lowered(program, ASYNC_REGION, "gpu.memset async")
}

/// Checks that upstream's passes leave an operation, say nothing, and that the program does not run.
fn not_lowered(program: &str, passes: &str, left: &str) -> Result<()> {
    let lowered = lower(program, passes)?;
    ensure!(
        lowered.succeeds && lowered.errors.is_empty(),
        "{}",
        lowered.errors
    );
    ensure!(lowered.output.contains(left), "{}", lowered.output);
    if has_runtime() {
        let runs = run_upstream(program, passes, &[])?;
        ensure!(!runs.succeeds, "{}", runs.output);
    }
    Ok(())
}

#[test]
fn fault_11_the_host_waits_before_each_of_its_own_stores() -> Result<()> {
    Fault {
        program: include_str!("upstream_gpu/host-store.mlir"),
        passes: ASYNC_REGION,
        prints: ("2", "2"),
        // Three of each are of other parts of the program.
        reports: &["streams 23 (0 leaked", "host syncs 23"],
    }
    .check()
}

#[test]
fn fault_12_what_the_host_waits_for_is_not_lowered() -> Result<()> {
    let program = include_str!("upstream_gpu/synchronous.mlir");
    ensure!(run_ours(program)?.trim() == "2");
    not_lowered(program, "", "gpu.memset ")
}

#[test]
fn fault_13_a_launch_may_not_have_two_dependencies() -> Result<()> {
    let program = include_str!("upstream_gpu/two-dependencies.mlir");
    ensure!(run_ours(program)?.is_empty());
    let lowered = lower(program, "")?;
    ensure!(
        !lowered.succeeds
            && lowered
                .errors
                .contains("failed to legalize operation 'gpu.launch_func'"),
        "{}",
        lowered.errors
    );
    Ok(())
}

#[test]
fn fault_14_memory_is_freed_while_the_device_uses_it() -> Result<()> {
    Fault {
        program: include_str!("upstream_gpu/free-in-use.mlir"),
        passes: "",
        prints: ("2", "2"),
        reports: &[
            "mgpuMemset32 (call 10): free in use: mgpuMemFree (call 12) frees and mgpuMemset32 (call 10) writes bytes 0 to 31 \
             of the allocation of mgpuMemAlloc (call 9), and nothing orders the two",
        ],
    }
    .check()
}

#[test]
fn fault_15_the_program_goes_on_after_an_error() -> Result<()> {
    let program = include_str!("upstream_gpu/no-memory.mlir");
    let ours = run_ours(program).expect_err("there is no memory").to_string();
    ensure!(
        ours.contains("error: can't allocate") && ours.contains("note: awaited here"),
        "{ours}"
    );
    if has_runtime() {
        let upstream = run_upstream(program, "", &[])?;
        ensure!(
            upstream.succeeds && upstream.output.trim() == "0",
            "{}",
            upstream.output
        );
        ensure!(
            upstream.errors.contains("the device has no")
                && upstream
                    .errors
                    .contains("mgpuMemset32 (call 3): unknown pointer: uses memory at a null pointer"),
            "{}",
            upstream.errors
        );
    }
    Ok(())
}

/// Whichever call fails, upstream's code goes on, with exit code 0.
#[test]
fn fault_15_every_call_may_fail_and_nobody_asks() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let program = include_str!("upstream_gpu/free-in-use.mlir");
    let passes = "";
    for call in 1..=20 {
        let number = call.to_string();
        let printed = run_upstream(program, passes, &[("ASYNCOPT_DEVICE_FAIL_AT", &number)])?;
        ensure!(printed.succeeds, "call {call}: {}", printed.errors);
        ensure!(
            printed
                .errors
                .contains(&format!("(call {call}): fails, as it was told to")),
            "call {call}: {}",
            printed.errors
        );
    }
    Ok(())
}

/// Whichever call fails, ours says where, and where it was awaited.
#[test]
fn fault_15_every_call_may_fail_and_ours_stops() -> Result<()> {
    let program = include_str!("upstream_gpu/free-in-use.mlir");
    for call in 1..=14 {
        let number = call.to_string();
        let settings = [("ASYNCOPT_DEVICE_FAIL_AT", number.as_str())];
        let printed = run(
            env!("CARGO_BIN_EXE_async-opt"),
            &["run", "--async-import-gpu", "--device=sim"],
            &settings,
            program,
        )?;
        // The program has 13 calls. The first and the last register memory and end that, which nobody awaits.
        ensure!(printed.succeeds == (call > 13), "call {call}: {}", printed.errors);
        ensure!(
            printed.succeeds
                || printed
                    .errors
                    .contains(&format!("(call {call}): fails, as it was told to"))
                    && (matches!(call, 1 | 13) || printed.errors.contains("note: awaited here")),
            "call {call}: {}",
            printed.errors
        );
    }
    Ok(())
}

#[test]
fn settings_that_are_none_are_messages() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let settings = [
        ("ASYNCOPT_DEVICE_SCHEDULE", "sometimes"),
        ("ASYNCOPT_DEVICE_FAIL_AT", "never"),
    ];
    let printed = run_upstream(include_str!("upstream_gpu/fork.mlir"), "", &settings)?;
    ensure!(
        printed.errors.contains("'sometimes' is no schedule")
            && printed.errors.contains("'never': give the number of a call"),
        "{}",
        printed.errors
    );
    Ok(())
}
