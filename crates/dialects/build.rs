//! Links the part of the C++ layer that is about our dialects and tools, which `async-mlir` has built, and declares its C API.

#[path = "build/declare.rs"]
mod declare;

use anyhow::{Context, Result};
use std::{env, path::Path};

fn main() -> Result<()> {
    let variable = |name: &str| env::var(name).with_context(|| format!("{name} is not set"));
    let prefix = variable("MLIR_SYS_220_PREFIX")?;
    declare::declare(Path::new(&variable("DEP_ASYNCOPT_HEADERS")?), Path::new(&prefix))?;

    println!(
        "cargo:rustc-link-search=native={}",
        variable("DEP_ASYNCOPT_FOLDER")?
    );
    // Users before what they use.
    let tests = (variable("DEP_ASYNCOPT_TESTS")? == "true").then_some("AsyncOptTestDialect");
    let libraries = [
        "AsyncOptTool",
        "AsyncOptUpstream",
        "AsyncOptCAPI",
        "AsyncOptTransformOps",
    ]
    .into_iter()
    .chain(tests);
    for library in libraries.chain(["AsyncOptGpuxDialect", "AsyncOptAsyncDialect"]) {
        // Not part of the Rust library: the package for C++ has them beside the Rust archive (see CMakeLists.txt).
        println!("cargo:rustc-link-lib=static:-bundle={library}");
    }
    Ok(())
}
