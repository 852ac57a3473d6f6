//! Programs that go between the two dialects `async`, under upstream's runtime.
#![forbid(unsafe_code)]

use anyhow::{Result, ensure};
use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

const LLVM: &str = "/usr/lib/llvm-22";

/// As in upstream's own tests.
const PIPELINE: &str = "builtin.module(async-func-to-async-runtime,async-to-async-runtime,\
     func.func(async-runtime-ref-counting,async-runtime-ref-counting-opt),convert-async-to-llvm,\
     func.func(convert-linalg-to-loops,convert-scf-to-cf),finalize-memref-to-llvm,\
     func.func(convert-arith-to-llvm),convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)";

const LIBRARIES: [&str; 3] = ["c_runner_utils", "runner_utils", "async_runtime"];

/// What `program` prints with `input` as its standard input.
fn run(program: &str, arguments: &[&str], input: &str) -> Result<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {arguments:?}: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}

fn translate(flag: &str, program: &str) -> Result<String> {
    run(env!("CARGO_BIN_EXE_async-translate"), &[flag], program)
}

/// What a program in upstream's dialect prints, without the addresses of buffers.
fn run_upstream(program: &str) -> Result<Vec<String>> {
    let lowered = run(
        &format!("{LLVM}/bin/mlir-opt"),
        &[&format!("--pass-pipeline={PIPELINE}")],
        program,
    )?;
    let libraries = LIBRARIES.map(|name| format!("{LLVM}/lib/libmlir_{name}.so"));
    let arguments = [
        "-e",
        "main",
        "-entry-point-result=void",
        "-O0",
        &format!("-shared-libs={}", libraries.join(",")),
    ];
    let printed = run(&format!("{LLVM}/bin/mlir-runner"), &arguments, &lowered)?;
    let numbers = printed.lines().filter(|line| line.starts_with('['));
    Ok(numbers.map(str::to_owned).collect())
}

fn has_runtime() -> bool {
    let libraries = LIBRARIES.map(|name| format!("{LLVM}/lib/libmlir_{name}.so"));
    libraries.iter().all(|library| Path::new(library).exists())
}

#[test]
fn ours_run_under_upstreams_runtime() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let exported = translate(
        "--export-upstream-async",
        include_str!("upstream_async/ours.mlir"),
    )?;
    let printed = run_upstream(&exported)?;
    ensure!(printed == ["[10.5,  21,  1.5,  9]"], "{printed:?}\n{exported}");
    Ok(())
}

#[test]
fn upstreams_do_the_same_after_they_were_ours() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let program = include_str!("upstream_async/theirs.mlir");
    let imported = translate("--import-upstream-async", program)?;
    let exported = translate("--export-upstream-async", &imported)?;
    let (before, after) = (run_upstream(program)?, run_upstream(&exported)?);
    ensure!(
        before.len() == 2 && before == after,
        "{before:?}\n{after:?}\n{exported}"
    );
    Ok(())
}

/// `--async-parallel-for` is what makes most programs in upstream's dialect. It can tell its tasks to make tasks, which add to the
/// group that they belong to.
#[test]
fn parallel_loops_become_tasks_of_ours() -> Result<()> {
    let program = "
        func.func @main(%m: memref<64xi32>) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c64 = arith.constant 64 : index
          scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
            %x = arith.index_cast %i : index to i32
            memref.store %x, %m[%i] : memref<64xi32>
            scf.reduce
          }
          return
        }";
    for dispatch in ["true", "false"] {
        let pass = format!("--async-parallel-for=num-workers=4 min-task-size=4 async-dispatch={dispatch}");
        let tasks = run(&format!("{LLVM}/bin/mlir-opt"), &[&pass], program)?;
        let imported = translate("--import-upstream-async", &tasks)?;
        ensure!(imported.contains("async.region"), "{imported}");
        let exported = translate("--export-upstream-async", &imported)?;
        let again = translate("--import-upstream-async", &exported)?;
        ensure!(imported == again, "{imported}\n{again}");
        if dispatch == "false" {
            // A function that calls itself is nothing for the interpreter.
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parallel-loop.mlir");
            std::fs::write(&file, &imported)?;
            let file = file.to_string_lossy().into_owned();
            let arguments = [
                &file,
                "--kernel=main",
                "--print",
                "--schedule=random",
                "--runs=10",
            ];
            let report = run(env!("CARGO_BIN_EXE_async-sim"), &arguments, "")?;
            ensure!(
                report.contains("main: clean") && report.contains("60 61 62 63"),
                "{report}"
            );
        }
    }
    Ok(())
}

/// What a program in our dialect prints under our runtime, without the addresses of buffers, with each number of workers.
fn run_ours(program: &str) -> Result<Vec<String>> {
    let mut printed = None;
    for threads in ["--threads=1", "--threads=2", "--threads=8"] {
        let lines = run(env!("CARGO_BIN_EXE_async-opt"), &["run", threads], program)?;
        let lines: Vec<String> = lines
            .lines()
            .filter(|line| !line.starts_with("Unranked"))
            .map(|line| line.trim().to_owned())
            .collect();
        ensure!(
            printed.as_ref().is_none_or(|other| *other == lines),
            "{threads}: {lines:?}\n{printed:?}"
        );
        printed = Some(lines);
    }
    Ok(printed.unwrap_or_default())
}

#[test]
fn programs_print_the_same_under_both_runtimes() -> Result<()> {
    let theirs = include_str!("upstream_async/theirs.mlir");
    let parallel = include_str!("upstream_async/parallel.mlir");
    let options = "--async-parallel-for=num-workers=4 min-task-size=4 async-dispatch=";
    let [parallel_recursive, parallel] = ["true", "false"].map(|dispatch| {
        run(
            &format!("{LLVM}/bin/mlir-opt"),
            &[&format!("{options}{dispatch}")],
            parallel,
        )
    });
    let ours = include_str!("upstream_async/ours.mlir").to_owned();
    let mut programs = vec![(ours, None)];
    for program in [theirs.to_owned(), parallel?, parallel_recursive?] {
        programs.push((translate("--import-upstream-async", &program)?, Some(program)));
    }
    for (ours, theirs) in programs {
        let printed = run_ours(&ours)?;
        ensure!(!printed.is_empty(), "{ours}");
        if has_runtime() {
            let theirs = match theirs {
                Some(theirs) => theirs,
                None => translate("--export-upstream-async", &ours)?,
            };
            let upstream = run_upstream(&theirs)?;
            let upstream: Vec<&str> = upstream.iter().map(|line| line.trim()).collect();
            let lines = printed.iter().map(String::as_str);
            let ours: Vec<&str> = lines.filter(|line| line.starts_with('[')).collect();
            ensure!(ours == upstream, "{printed:?}\n{upstream:?}");
        }
    }
    Ok(())
}

/// Two that upstream's passes don't lower, in any order of them.
#[test]
fn tokens_and_awaits_in_loops_run() -> Result<()> {
    let programs = [
        include_str!("upstream_async/loop-token.mlir"),
        include_str!("upstream_async/await-in-loop.mlir"),
    ];
    for program in programs {
        let lowered = run(
            &format!("{LLVM}/bin/mlir-opt"),
            &[&format!("--pass-pipeline={PIPELINE}")],
            program,
        );
        let error = lowered.expect_err("upstream lowers it").to_string();
        ensure!(error.contains("error:"), "{error}");
        let printed = run_ours(&translate("--import-upstream-async", program)?)?;
        ensure!(printed == ["100"], "{printed:?}");
    }
    Ok(())
}

/// Upstream's tasks block their workers when a function that they call awaits something; with all workers blocked, the program
/// hangs. (`crates/runtime/tests/c/faults.c` shows that.)
#[test]
fn awaits_in_callees_of_tasks_run_on_one_worker() -> Result<()> {
    let program = include_str!("upstream_async/await-in-callee.mlir");
    let printed = run_ours(&translate("--import-upstream-async", program)?)?;
    ensure!(printed == ["64"], "{printed:?}");
    Ok(())
}

/// Upstream loses the message of an error.
#[test]
fn errors_keep_their_message_and_place() -> Result<()> {
    let program = include_str!("upstream_async/error.mlir");
    let imported = translate("--import-upstream-async", program)?;
    let error = run(env!("CARGO_BIN_EXE_async-opt"), &["run"], &imported);
    let error = error.expect_err("the task fails").to_string();
    ensure!(
        error.contains("error: the first task fails") && error.contains("note: awaited here"),
        "{error}"
    );
    if has_runtime() {
        let error = run_upstream(program).expect_err("the task fails").to_string();
        ensure!(!error.contains("the first task fails"), "{error}");
    }
    Ok(())
}
