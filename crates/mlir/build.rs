//! Builds the C++ layer in `dialects/` with CMake, links the part of it that knows no dialect of ours, and declares that part's
//! C API.
//!
//! The crates that depend on this one learn three things (as `DEP_ASYNCOPT_FOLDER`, `DEP_ASYNCOPT_HEADERS` and
//! `DEP_ASYNCOPT_TESTS`): where CMake put the libraries, where the headers of the C API are, and whether the test dialect is among
//! the libraries.

#[path = "build/declare.rs"]
mod declare;

use anyhow::{Context, Result, bail, ensure};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The variable that names the LLVM prefix, and the other name that one of our dependencies reads it by.
const PREFIX_VARIABLE: &str = "MLIR_SYS_220_PREFIX";
const TABLEGEN_VARIABLE: &str = "TABLEGEN_220_PREFIX";
/// The variable by which mlir-sys links `libMLIR.so`, if it is 1.
const SHARED_VARIABLE: &str = "MLIR_SYS_LINK_SHARED";
const LLVM_MAJOR: &str = "22";

fn main() {
    if let Err(error) = build() {
        // `{:#}` keeps it to one readable paragraph; Cargo shows the stderr of a build script that failed.
        eprintln!("\nerror: {error:#}\n");
        std::process::exit(1);
    }
}

fn build() -> Result<()> {
    let prefix = find_llvm()?;
    // In the repository these are links, so that a package of this crate has the folders.
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let dialects = manifest.join("dialects").canonicalize()?;
    track(&dialects)?;
    let rules = manifest.join("cmake").canonicalize()?.join("AsyncOpt.cmake");
    println!("cargo:rerun-if-changed={}", rules.display());
    let headers = dialects.join("capi/AsyncOpt-c");
    declare::declare(&headers.join("MLIR"), &prefix)?;
    if env::var(SHARED_VARIABLE).is_ok_and(|value| value == "1") {
        provide_shared_c_api(&prefix)?;
    }

    // Tests run what the dev profile builds, and users what the release profile does.
    let include_tests = env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    // Always optimised: unoptimised C++ next to LLVM's release libraries helps nobody, and one configuration builds once.
    let installed = cmake::Config::new(&dialects)
        .generator("Ninja")
        .out_dir(cmake_folder()?)
        .profile("Release")
        .define("CMAKE_PREFIX_PATH", &prefix)
        // What libMLIR.so was compiled with: a trait's TypeID comes from its name, which GCC spells otherwise.
        .define("CMAKE_C_COMPILER", prefix.join("bin/clang"))
        .define("CMAKE_CXX_COMPILER", prefix.join("bin/clang++"))
        .define("CMAKE_INSTALL_LIBDIR", "lib")
        // Otherwise the cmake crate passes flags for a library of somebody else, `-w` among them: no warnings.
        .define("CMAKE_CXX_FLAGS", env::var("CXXFLAGS").unwrap_or_default())
        .define(
            "ASYNC_OPT_INCLUDE_TESTS",
            if include_tests { "ON" } else { "OFF" },
        )
        .build();
    let folder = installed.join("lib");
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static:-bundle=AsyncOptMLIR");
    println!("cargo:folder={}", folder.display());
    println!("cargo:headers={}", headers.display());
    println!("cargo:tests={include_tests}");
    Ok(())
}

/// Where the C++ is built: one folder for each profile. Cargo's own `OUT_DIR` has a name that changes with features and
/// dependencies, which mean nothing to C++ that takes minutes to build.
fn cmake_folder() -> Result<PathBuf> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // `target/<profile>/build/<package>-<hash>/out`
    let profile = out
        .ancestors()
        .nth(3)
        .context("OUT_DIR is not where Cargo puts it")?;
    let folder = profile.join("dialects");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Lets the linker find `libMLIR-C.so`, which mlir-sys links in shared mode and Debian's LLVM lacks: a script that names the
/// archives of the C API, which refer to `libMLIR.so` for all else.
fn provide_shared_c_api(prefix: &Path) -> Result<()> {
    let mut archives: Vec<_> = fs::read_dir(prefix.join("lib"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    archives.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libMLIRCAPI") && name.ends_with(".a")
    });
    archives.sort();
    let names: Vec<_> = archives.iter().map(|path| path.to_string_lossy()).collect();
    let out = env::var("OUT_DIR")?;
    fs::write(
        Path::new(&out).join("libMLIR-C.so"),
        format!("GROUP({})\n", names.join(" ")),
    )?;
    println!("cargo:rustc-link-search=native={out}");
    Ok(())
}

/// The prefix of an LLVM of the right version, or an error that says what to do.
fn find_llvm() -> Result<PathBuf> {
    for variable in [PREFIX_VARIABLE, TABLEGEN_VARIABLE, SHARED_VARIABLE, "CXXFLAGS"] {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let prefix = env::var(PREFIX_VARIABLE).with_context(|| {
        format!("{PREFIX_VARIABLE} is not set; .cargo/config.toml sets it for builds in this workspace")
    })?;
    ensure!(
        env::var(TABLEGEN_VARIABLE).is_ok_and(|other| other == prefix),
        "{PREFIX_VARIABLE} and {TABLEGEN_VARIABLE} must name the same LLVM; the first is `{prefix}`"
    );
    let prefix = PathBuf::from(prefix);

    let llvm_config = prefix.join("bin/llvm-config");
    let advice = format!(
        "run `tools/setup` to install LLVM {LLVM_MAJOR}, or set {PREFIX_VARIABLE} and {TABLEGEN_VARIABLE} to its prefix"
    );
    let output = Command::new(&llvm_config)
        .arg("--version")
        .output()
        .with_context(|| format!("LLVM not found: cannot run `{}`; {advice}", llvm_config.display()))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if version.split('.').next() != Some(LLVM_MAJOR) {
        bail!(
            "found LLVM {version} in `{}`, but async-opt needs {LLVM_MAJOR}; {advice}",
            prefix.display()
        );
    }
    ensure!(
        prefix.join("lib/cmake/mlir/MLIRConfig.cmake").exists(),
        "LLVM {version} in `{}` comes without MLIR; {advice}",
        prefix.display()
    );
    Ok(prefix)
}

/// Rebuilds when a file below `folder` changes, comes or goes. Cargo knows nothing of what CMake reads.
fn track(folder: &Path) -> Result<()> {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            track(&path)?;
        } else {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    Ok(())
}
