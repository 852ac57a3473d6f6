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
