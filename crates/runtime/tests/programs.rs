//! Programs that load or link the shared library: in C, and in MLIR's LLVM dialect, which `mlir-runner` runs. Where MLIR's own runner
//! libraries are, what they print is compared.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const LLVM: &str = "/usr/lib/llvm-22";

/// The folder with the shared library, which cargo has built for this test.
fn library_folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().to_owned();
    assert!(
        folder.join("libasyncopt_rt.so").exists(),
        "no library in {}",
        folder.display()
    );
    folder
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[track_caller]
fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_program_in_c_links_the_library() {
    let folder = library_folder();
    let program = folder.join("asyncopt-rt-program");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-I"])
        .args([source("include"), source("tests/c/program.c")])
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&folder)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .arg("-lasyncopt_rt")
        .status();
    assert!(status.unwrap().success());

    // Where cargo's path comes first, there may be a library of an earlier build.
    let run = |arguments: &[&str]| {
        Command::new(&program)
            .args(arguments)
            .env_remove("LD_LIBRARY_PATH")
            .output()
            .unwrap()
    };
    let expected = "fib(18) = 2584\nfib(10) + fib(12) = 199\nprogram.c:1:1: a negative number\n";
    let output = run(&[]);
    assert_eq!(text(&output), (expected.to_owned(), String::new()));
    assert!(output.status.success());

    // An error that is awaited with abort.
    let output = run(&["abort"]);
    let message = "program.c:1:1: error: a negative number\nprogram.c:3:1: note: awaited here\n";
    assert_eq!(text(&output), (expected.to_owned(), message.to_owned()));
    assert!(!output.status.success());
}

/// A JIT gets the list, programs the library, and people the header: each has the same functions.
#[test]
fn the_library_the_list_and_the_header_have_the_same_functions() {
    let nm = Command::new(format!("{LLVM}/bin/llvm-nm"))
        .args(["--dynamic", "--defined-only", "--format=just-symbols"])
        .arg(library_folder().join("libasyncopt_rt.so"))
        .output()
        .unwrap();
    let exported: BTreeSet<_> = text(&nm).0.lines().map(str::to_owned).collect();
    let listed: BTreeSet<_> = asyncopt_rt::symbols()
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect();
    assert_eq!(listed, exported);

    // A declaration has the name before its parenthesis, and does not begin with white space as its other lines do.
    let header = std::fs::read_to_string(source("include/asyncopt_rt.h")).unwrap();
    let declared: BTreeSet<_> = header
        .lines()
        .filter(|line| !line.starts_with([' ', '/', '#']) && !line.starts_with("typedef"))
        .filter_map(|line| line.split_once('(')?.0.split([' ', '*']).next_back())
        .map(str::to_owned)
        .collect();
    let ours = listed.into_iter().filter(|name| name.starts_with("asyncopt_rt_"));
    assert_eq!(declared, ours.collect());
}

/// Compiles `faults.c` for the runtime in a folder.
fn faults(name: &str, folder: &Path, options: &[&str]) -> PathBuf {
    let program = library_folder().join(name);
    let status = Command::new("cc")
        .args([
            "-std=gnu11",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pthread",
            "-I",
        ])
        .args([source("include"), source("tests/c/faults.c")])
        .arg("-o")
        .arg(&program)
        .args([
            format!("-L{}", folder.display()),
            format!("-Wl,-rpath,{}", folder.display()),
        ])
        .args(options)
        .status();
    assert!(status.unwrap().success());
    program
}

fn run_fault(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program)
        .args(arguments)
        .env_remove("LD_LIBRARY_PATH")
        // Four tasks of one of them meet.
        .env("ASYNCOPT_NUM_THREADS", "4")
        .output()
        .unwrap()
}

/// Why this runtime is not MLIR's: the same programs on both.
#[test]
fn three_programs_end_that_mlirs_runtime_does_not_end() {
    use std::os::unix::process::ExitStatusExt;

    let ours = faults("asyncopt-rt-ours", &library_folder(), &["-lasyncopt_rt"]);
    for case in ["chain", "fan", "await"] {
        let output = run_fault(&ours, &[case, "60"]);
        assert_eq!(
            text(&output),
            ("done\n".to_owned(), String::new()),
            "{case}: {:?}",
            output.status
        );
    }

    let library = Path::new(LLVM).join("lib");
    if !library.join("libmlir_async_runtime.so").exists() {
        return;
    }
    let options = ["-DUPSTREAM", "-l:libmlir_async_runtime.so"];
    let theirs = faults("asyncopt-rt-upstream", &library, &options);
    for (case, signal) in [
        ("chain", libc::SIGSEGV),
        ("fan", libc::SIGALRM),
        ("await", libc::SIGALRM),
    ] {
        let output = run_fault(&theirs, &[case, "4"]);
        assert_eq!(
            output.status.signal(),
            Some(signal),
            "{case}: {:?}",
            text(&output)
        );
    }
    // bench/runtime measures; this is several times as fast, which leaves room for whatever else runs here.
    let nanoseconds = |program| -> f64 {
        let (printed, _) = text(&run_fault(program, &["overhead", "60"]));
        printed.lines().next().unwrap_or_default().parse().unwrap()
    };
    let (ours, theirs) = (nanoseconds(&ours), nanoseconds(&theirs));
    assert!(ours < theirs, "{ours} ns against {theirs} ns");
}

/// Runs `main` of a program in the LLVM dialect with shared libraries.
fn mlir_runner(program: &Path, libraries: &[PathBuf]) -> Output {
    let libraries: Vec<_> = libraries.iter().map(|path| path.to_str().unwrap()).collect();
    Command::new(format!("{LLVM}/bin/mlir-runner"))
        .arg(program)
        // Without a level of optimization, coroutines are not split.
        .args(["-O0", "-e", "main", "-entry-point-result=void"])
        .arg(format!("-shared-libs={}", libraries.join(",")))
        .env("ASYNCOPT_NUM_THREADS", "2")
        .output()
        .unwrap()
}

fn ours() -> [PathBuf; 1] {
    [library_folder().join("libasyncopt_rt.so")]
}

#[test]
fn tasks_in_the_llvm_dialect_run() {
    let output = mlir_runner(&source("tests/mlir/task.mlir"), &ours());
    assert_eq!(text(&output), ("42\n".to_owned(), String::new()));
}

#[test]
fn coroutines_in_the_llvm_dialect_are_suspended_and_resumed() {
    let output = mlir_runner(&source("tests/mlir/coroutine.mlir"), &ours());
    assert_eq!(text(&output), ("100000\n".to_owned(), String::new()));
}

/// What is printed, without addresses.
fn printed(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{:?}", text(output));
    let (text, _) = text(output);
    let words = text
        .split(' ')
        .map(|word| if word.starts_with("0x") { "ADDRESS" } else { word });
    words
        .collect::<Vec<_>>()
        .join(" ")
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn memrefs_and_numbers_are_printed_as_mlir_prints_them() {
    let program = source("tests/mlir/print.mlir");
    let lowered = library_folder().join("asyncopt-rt-print.mlir");
    let status = Command::new(format!("{LLVM}/bin/mlir-opt"))
        .arg(program)
        .args([
            "--expand-strided-metadata",
            "--convert-scf-to-cf",
            "--finalize-memref-to-llvm",
        ])
        .args([
            "--convert-arith-to-llvm",
            "--convert-func-to-llvm",
            "--convert-cf-to-llvm",
        ])
        .args(["--reconcile-unrealized-casts", "-o"])
        .arg(&lowered)
        .status();
    assert!(status.unwrap().success());
    let ours = printed(&mlir_runner(&lowered, &ours()));
    let theirs =
        ["runner_utils", "c_runner_utils"].map(|name| PathBuf::from(format!("{LLVM}/lib/libmlir_{name}.so")));
    if theirs.iter().all(|library| library.exists()) {
        assert_eq!(ours, printed(&mlir_runner(&lowered, &theirs)));
    }
    assert!(ours.len() > 30, "{ours:?}");
}
