//! `async-opt run`: exit codes, traces, libraries, and how the pages say that programs are compiled ahead of time.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A file of this test's own.
fn file(name: &str, text: &str) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("run");
    fs::create_dir_all(&folder)?;
    let path = folder.join(name);
    fs::write(&path, text)?;
    Ok(path)
}

fn run(program: &Path, options: &[&str]) -> Result<Output> {
    let output = Command::new(env!("CARGO_BIN_EXE_async-opt"))
        .arg("run")
        .arg(program)
        .args(options)
        .output()?;
    Ok(output)
}

/// What a program printed that ends well.
fn printed(output: &Output) -> Result<String> {
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn runtime_program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../crates/runtime/tests/mlir")
        .join(name)
}

#[test]
fn an_i32_is_the_exit_code() -> Result<()> {
    let program = file(
        "exit-code.mlir",
        "func.func @main() { return }
         func.func @three() -> i32 { %c = arith.constant 3 : i32  return %c : i32 }
         func.func @many() -> i32 { %c = arith.constant 258 : i32  return %c : i32 }",
    )?;
    for (entry, code) in [("main", 0), ("three", 3), ("many", 2)] {
        let output = run(&program, &["--entry", entry])?;
        ensure!(output.status.code() == Some(code), "{entry}: {output:?}");
    }
    let output = run(&program, &["--entry=nothing"])?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    Ok(())
}

#[test]
fn coroutines_are_split_at_each_level() -> Result<()> {
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        for (program, expected) in [("task.mlir", "42\n"), ("coroutine.mlir", "100000\n")] {
            let output = run(&runtime_program(program), &[level, "--threads=2"])?;
            ensure!(printed(&output)? == expected, "{level} {program}: {output:?}");
        }
    }
    Ok(())
}

#[test]
fn a_trace_has_the_workers_that_were_asked_for() -> Result<()> {
    let trace = file("trace.json", "")?;
    let path = trace.to_str().context("a path in UTF-8")?;
    printed(&run(
        &runtime_program("coroutine.mlir"),
        &["--threads", "1", "--trace", path],
    )?)?;
    let text = fs::read_to_string(&trace)?;
    serde_json::from_str::<serde_json::Value>(&text)?;
    let threads = text.matches("thread_name").count();
    // The worker, and `main` where it helps.
    ensure!(
        (1..=2).contains(&threads) && text.contains("asyncopt-0"),
        "{text}"
    );
    Ok(())
}

#[test]
fn functions_of_libraries_are_called() -> Result<()> {
    let source = file("twice.c", "int twice(int n) { return 2 * n; }")?;
    let library = source.with_file_name("libtwice.so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status()?;
    ensure!(status.success());
    let program = file(
        "twice.mlir",
        "func.func private @twice(i32) -> i32
         func.func @main() -> i32 {
           %c = arith.constant 21 : i32
           %r = call @twice(%c) : (i32) -> i32
           return %r : i32
         }",
    )?;
    let library = format!("--shared-libs={}", library.display());
    let output = run(&program, &[&library])?;
    ensure!(output.status.code() == Some(42), "{output:?}");
    let output = run(&program, &[])?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(said.contains("'twice' is neither in the module"), "{output:?}");
    let output = run(&program, &["--shared-libs=missing.so"])?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(1) && said.contains("missing.so: cannot open"),
        "{output:?}"
    );
    Ok(())
}

#[test]
fn a_module_may_define_what_the_runtime_has() -> Result<()> {
    let program = file(
        "own.mlir",
        "llvm.func @__truncsfbf2(%x: f32) -> f32 { llvm.return %x : f32 }
         llvm.func @printNewline() -> i32 { %c = llvm.mlir.constant(7 : i32) : i32  llvm.return %c : i32 }
         llvm.func @main() -> i32 { %r = llvm.call @printNewline() : () -> i32  llvm.return %r : i32 }",
    )?;
    let output = run(&program, &[])?;
    ensure!(output.status.code() == Some(7), "{output:?}");
    Ok(())
}

/// A task that awaits something where it was called through a pointer keeps its thread.
#[test]
fn a_program_that_needs_too_many_threads_ends_with_a_message() -> Result<()> {
    let program = file(
        "threads.mlir",
        "func.func private @descend(%depth: i64) {
           %zero = arith.constant 0 : i64
           %one = arith.constant 1 : i64
           %less = arith.subi %depth, %one : i64
           %is_done = arith.cmpi eq, %depth, %zero : i64
           cf.cond_br %is_done, ^done, ^deeper
         ^deeper:
           %f = func.constant @descend : (i64) -> ()
           %t = async.region {
             func.call_indirect %f(%less) : (i64) -> ()
             async.yield
           }
           async.await %t
           cf.br ^done
         ^done:
           return
         }
         
         func.func @main() {
           %depth = arith.constant 100000 : i64
           call @descend(%depth) : (i64) -> ()
           return
         }",
    )?;
    let output = Command::new(env!("CARGO_BIN_EXE_async-opt"))
        .arg("run")
        .arg(program)
        .env("ASYNCOPT_MAX_THREADS", "20")
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        said.starts_with(
            "asyncopt_rt: error: can't start one more thread for tasks: 20 are running. Each task"
        ) && !said.contains("panicked"),
        "{output:?}"
    );
    Ok(())
}

/// The stand-in for the driver knows this kernel, and only reads that it gets PTX.
#[test]
fn kernels_are_compiled_for_a_gpu_and_launched_there() -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let driver = folder.join("libcuda-stand-in.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/runtime/tests/c/cuda.c");
    let compiled = Command::new("cc")
        .args(["-std=gnu11", "-pthread", "-shared", "-fPIC"])
        .arg(source)
        .arg("-o")
        .arg(&driver)
        .status()?;
    ensure!(compiled.success());
    let program = runtime_program("add-one.mlir");
    let log = folder.join("cuda-calls");
    let on = |device: &str, driver: &Path| {
        Command::new(env!("CARGO_BIN_EXE_async-opt"))
            .args(["run", "--device", device])
            .arg(&program)
            .env("ASYNCOPT_CUDA_DRIVER", driver)
            .env("CUDA_LOG", &log)
            .output()
    };
    // A line before has an address.
    let last = |output: &Output| -> Result<String> {
        Ok(printed(output)?.lines().last().unwrap_or_default().to_owned())
    };
    let expected: String = last(&on("host", &driver)?)?;
    ensure!(expected == "[8,  8,  8,  8,  8,  8,  8,  8]", "{expected}");
    let output = on("cuda", &driver)?;
    ensure!(
        last(&output)? == expected && output.stderr.is_empty(),
        "{output:?}"
    );
    let calls = fs::read_to_string(&log)?;
    for call in [
        "cuModuleLoadDataEx PTX",
        "cuLaunchKernel 2,1,1 4,1,1 0",
        "left: 0 contexts, 0 streams, 0 allocations",
    ] {
        ensure!(calls.contains(call), "{calls}");
    }
    let output = on("cuda", Path::new("/nowhere/libcuda.so.1"))?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(1) && message.contains("install NVIDIA's driver"),
        "{output:?}"
    );
    Ok(())
}

/// MLIR's own engine leaves a folder for `perf`, where LLVM was built with support for that.
#[test]
fn nothing_is_left_behind() -> Result<()> {
    let home = file("home", "")?.with_file_name("empty-home");
    fs::create_dir_all(&home)?;
    let output = Command::new(env!("CARGO_BIN_EXE_async-opt"))
        .arg("run")
        .arg(runtime_program("task.mlir"))
        .envs([("HOME", &home), ("JITDUMPDIR", &home)])
        .output()?;
    ensure!(printed(&output)? == "42\n", "{output:?}");
    let left: Vec<_> = fs::read_dir(&home)?.collect();
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

#[test]
fn the_executable_for_packages_runs_programs_too() -> Result<()> {
    let output = Command::new(env!("CARGO_BIN_EXE_async-tools"))
        .args(["async-opt", "run"])
        .arg(runtime_program("task.mlir"))
        .output()?;
    ensure!(printed(&output)? == "42\n", "{output:?}");
    Ok(())
}

/// As docs/runtime.md shows it. The library is a part of what this test was built with.
#[test]
fn programs_are_compiled_ahead_of_time() -> Result<()> {
    let folder = file("ahead", "")?.with_file_name("ahead-of-time");
    let libraries = folder.join("lib");
    fs::create_dir_all(&libraries)?;
    let test = std::env::current_exe()?;
    let built = test.with_file_name("libasyncopt_rt.so");
    fs::copy(&built, libraries.join("libasyncopt_rt.so")).with_context(|| format!("{}", built.display()))?;
    let llvm = std::env::var("MLIR_SYS_220_PREFIX").context("MLIR_SYS_220_PREFIX is not set")?;
    let path = format!("{llvm}/bin:{}", std::env::var("PATH")?);
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test/Run/captures.mlir");
    for (program, expected) in [
        (runtime_program("task.mlir"), "42\n"),
        (runtime_program("coroutine.mlir"), "100000\n"),
        (captures, "24\n48\n"),
    ] {
        let lowered = Command::new(env!("CARGO_BIN_EXE_async-opt"))
            .args([program.as_os_str(), "--async-lower-to-cpu".as_ref()])
            .output()?;
        // What the C library calls returns an exit code.
        let text = printed(&lowered)?;
        let head = "llvm.func @main() -> i32 {\n  %ok = llvm.mlir.constant(0 : i32) : i32";
        let (before, main) = text.split_once("llvm.func @main() {").context("main")?;
        let main = main.replacen("llvm.return\n", "llvm.return %ok : i32\n", 1);
        let with_code = file("ahead.mlir", &format!("{before}{head}{main}"))?;
        let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ahead-of-time.sh"))
            .arg(with_code)
            .args([&folder, &folder])
            .env("PATH", &path)
            .env_remove("LD_LIBRARY_PATH")
            .output()?;
        ensure!(printed(&output)? == expected, "{}: {output:?}", program.display());
    }
    Ok(())
}
