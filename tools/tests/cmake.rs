//! The package for C++ and C: it is installed, and programs outside of the source tree find it, link it, and compile kernels.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Where everything is built; what is there from the last run is used again.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cmake").join(name)
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn programs() -> PathBuf {
    source().join("tools/tests/cmake")
}

fn llvm() -> Result<String> {
    env::var("MLIR_SYS_220_PREFIX").context("MLIR_SYS_220_PREFIX is not set")
}

fn text(output: &Output) -> String {
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(stdout).into_owned() + &String::from_utf8_lossy(stderr)
}

/// Runs `command`, and returns what it prints.
fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}:\n{}", text(&output));
    Ok(text(&output))
}

fn cmake() -> Command {
    let mut command = Command::new("cmake");
    // Those of the test would be the package's.
    for variable in ["CFLAGS", "CXXFLAGS", "LDFLAGS"] {
        command.env_remove(variable);
    }
    command
}

/// Makes the package of what Cargo has built with the profile of this test, and installs it. (Cargo in the package's own build
/// chooses other features of dependencies than it does for tests, so it would build all again.)
fn install() -> Result<PathBuf> {
    let (build, prefix) = (scratch("build"), scratch("prefix"));
    let tools = Path::new(env!("CARGO_BIN_EXE_async-opt"))
        .parent()
        .context("tools are in a folder")?;
    let profile = if tools.ends_with("debug") {
        "Debug"
    } else {
        "Release"
    };
    let target = tools.parent().context("it is in that of Cargo")?;
    run(cmake()
        .args(["-G", "Ninja", "-S"])
        .arg(source())
        .arg("-B")
        .arg(&build)
        .arg(format!("-DCMAKE_PREFIX_PATH={}", llvm()?))
        .arg(format!("-DCMAKE_BUILD_TYPE={profile}"))
        .arg(format!("-DASYNC_OPT_CARGO_TARGET_DIR={}", target.display()))
        .arg("-DASYNC_OPT_RUN_CARGO=OFF"))?;
    run(cmake().arg("--build").arg(&build))?;
    if prefix.exists() {
        fs::remove_dir_all(&prefix)?;
    }
    run(cmake().arg("--install").arg(&build).arg("--prefix").arg(&prefix))?;
    Ok(prefix)
}

/// A library in Rust beside ours, which defines all symbols of the standard library.
fn second_library() -> Result<PathBuf> {
    let library = scratch("libsecond.a");
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    run(Command::new(rustc)
        .args(["--edition=2024", "--crate-type=staticlib", "-o"])
        .arg(&library)
        .arg(programs().join("second.rs")))?;
    Ok(library)
}

/// Builds the documented project in the folder `project` against the package in `prefix`, in a scratch folder of this name.
fn build_project(project: &Path, prefix: &Path, name: &str, options: &[String]) -> Result<PathBuf> {
    let build = scratch(name);
    run(cmake()
        .args(["-G", "Ninja", "-S"])
        .arg(project)
        .arg("-B")
        .arg(&build)
        .arg(format!("-DCMAKE_PREFIX_PATH={};{}", prefix.display(), llvm()?))
        .args(options))?;
    run(cmake().arg("--build").arg(&build))?;
    Ok(build)
}

/// The PTX that a program printed has the wait that the kernel needs.
fn check_ptx(ptx: &str, chip: &str) -> Result<()> {
    for part in [&format!(".target {chip}"), "cp.async.wait_group"] {
        ensure!(ptx.contains(part), "no `{part}` in:\n{ptx}");
    }
    Ok(())
}

#[test]
fn programs_in_cpp_and_c_use_the_installed_package() -> Result<()> {
    fs::create_dir_all(scratch(""))?;
    let prefix = install()?;
    let kernel = programs().join("kernel.mlir");

    // GCC, whose names for types differ from those of the compiler that LLVM and we are built with.
    let options = [
        "-DCMAKE_CXX_COMPILER=g++".to_owned(),
        format!("-DSECOND_LIBRARY={}", second_library()?.display()),
    ];
    let shared = build_project(&programs(), &prefix, "shared", &options)?;
    let ptx = run(Command::new(shared.join("my-opt")).arg(&kernel).arg("sm_90"))?;
    check_ptx(&ptx, "sm_90")?;
    run(&mut Command::new(shared.join("checks")))?;

    check_c(&prefix)?;
    check_runtime(&prefix)?;

    // clang, and no library of LLVM where it runs.
    let clang = Path::new(&llvm()?).join("bin/clang++");
    let options = [
        format!("-DCMAKE_CXX_COMPILER={}", clang.display()),
        "-DAsyncOpt_USE_STATIC_LLVM=ON".to_owned(),
    ];
    let alone = build_project(&programs(), &prefix, "static", &options)?.join("my-opt");
    let ptx = run(Command::new(&alone).arg(&kernel).arg("sm_80"))?;
    check_ptx(&ptx, "sm_80")?;
    let needed = run(Command::new("ldd").arg(&alone))?;
    ensure!(
        !needed.contains("libMLIR") && !needed.contains("libLLVM"),
        "{needed}"
    );

    check_headers(&prefix)?;
    check_other_llvm(&prefix)?;
    check_symbols(&prefix)
}

/// A program in C compiles text, and says what is wrong with it.
fn check_c(prefix: &Path) -> Result<()> {
    let options = ["-DCMAKE_C_COMPILER=gcc".to_owned()];
    let compile = build_project(&programs().join("c"), prefix, "c", &options)?.join("compile");
    check_ptx(&run(&mut Command::new(&compile))?, "sm_80")?;
    let refused = Command::new(&compile)
        .arg("gpux-lower-to-nvvm{chip=sm_42}")
        .output()?;
    let message = text(&refused);
    ensure!(
        !refused.status.success() && message.contains("sm_42"),
        "{message}"
    );
    Ok(())
}

/// A program in C uses the runtime, and finds the package where no LLVM is told of.
fn check_runtime(prefix: &Path) -> Result<()> {
    let build = scratch("runtime");
    run(cmake()
        .args(["-G", "Ninja", "-S"])
        .arg(programs().join("runtime"))
        .arg("-B")
        .arg(&build)
        .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()))
        .args(["-DCMAKE_C_COMPILER=gcc", "-DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON"]))?;
    run(cmake().arg("--build").arg(&build))?;
    let sum = build.join("sum");
    // Where cargo's path comes first, there may be a library of an earlier build.
    let printed = run(Command::new(&sum).env_remove("LD_LIBRARY_PATH"))?;
    ensure!(printed == "10 + 26 = 36\n", "{printed}");
    let needed = run(Command::new("ldd").arg(&sum))?;
    ensure!(!needed.contains("LLVM") && !needed.contains("MLIR"), "{needed}");
    Ok(())
}

/// Our headers need no others before them, and GCC has nothing to say about them where they are not a system's.
fn check_headers(prefix: &Path) -> Result<()> {
    let headers = [
        ("gcc", "-std=c99", "AsyncOpt-c/AsyncOpt.h"),
        ("gcc", "-std=c99", "asyncopt_rt.h"),
        ("g++", "-std=c++17", "asyncopt_rt.h"),
        ("g++", "-std=c++17", "AsyncOpt-c/AsyncOpt.h"),
        ("g++", "-std=c++17", "AsyncOpt/AsyncOpt.h"),
    ];
    for (compiler, standard, header) in headers {
        run(Command::new(compiler)
            .args([
                standard,
                "-fsyntax-only",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-isystem",
            ])
            .arg(Path::new(&llvm()?).join("include"))
            .arg("-I")
            .arg(prefix.join("include"))
            .args(["-include", header, "-x"])
            .args([if compiler == "gcc" { "c" } else { "c++" }, "/dev/null"]))?;
    }
    Ok(())
}

/// A project that finds another LLVM is told.
fn check_other_llvm(prefix: &Path) -> Result<()> {
    let other = scratch("other");
    fs::create_dir_all(&other)?;
    let found = "set(LLVM_VERSION_MAJOR 19)\nset(LLVM_PACKAGE_VERSION 19.1.7)\nset(LLVM_INSTALL_PREFIX /opt/llvm-19)\n";
    fs::write(other.join("MLIRConfig.cmake"), found)?;
    let project = "cmake_minimum_required(VERSION 3.20)\nproject(other LANGUAGES NONE)\nfind_package(AsyncOpt 0.1 REQUIRED CONFIG)\n";
    fs::write(other.join("CMakeLists.txt"), project)?;
    let output = cmake()
        .arg("-S")
        .arg(&other)
        .arg("-B")
        .arg(other.join("build"))
        .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()))
        .arg(format!("-DMLIR_DIR={}", other.display()))
        .output()?;
    // CMake breaks lines where it likes to.
    let message = text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "needs MLIR of LLVM 22, but found that of LLVM 19.1.7 in /opt/llvm-19";
    ensure!(
        !output.status.success() && message.contains(expected),
        "{message}"
    );
    Ok(())
}

/// Of what Rust made, other libraries of a program see our names alone.
fn check_symbols(prefix: &Path) -> Result<()> {
    let symbols = run(Command::new("nm")
        .args(["--defined-only", "--extern-only", "--format=posix"])
        .arg(prefix.join("lib/libAsyncOpt.a")))?;
    // Below a line that names the object, up to one that names the next.
    let names: Vec<_> = symbols
        .lines()
        .skip_while(|line| !line.ends_with("[libAsyncOpt.a.rust.o]:"))
        .skip(1)
        .take_while(|line| !line.ends_with("]:"))
        .collect();
    ensure!(
        names.len() == 1 && names[0].starts_with("asyncOptRegisterPasses "),
        "{names:?}"
    );
    Ok(())
}

/// Every option of the pipeline is in the C++ header, under its name in camel case.
#[test]
fn options_of_the_pipeline_are_in_the_header() -> Result<()> {
    use async_mlir::pipeline::Pipeline;

    let header = fs::read_to_string(source().join("dialects/api/AsyncOpt/AsyncOpt.h"))?;
    for option in async_passes::LowerToNvvm::INFO.options {
        let mut words = option.name.split('-');
        let first = words.next().unwrap_or_default().to_owned();
        let name = words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..]);
        ensure!(
            [" = ", ";"]
                .iter()
                .any(|end| header.contains(&format!(" {name}{end}"))),
            "LowerToNVVMOptions has no {name}"
        );
    }
    Ok(())
}
