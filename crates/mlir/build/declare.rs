//! Declarations of a C API, for build scripts.

use anyhow::Result;
use std::{env, fs, path::Path};

/// Writes `ffi.rs` to Cargo's output folder: what the headers in `folder`, which see those of the LLVM in `prefix`, declare
/// under a name of ours. MLIR's own types are mlir-sys's.
pub fn declare(folder: &Path, prefix: &Path) -> Result<()> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut headers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            headers.push(format!("#include \"{}\"\n", path.display()));
        }
    }
    headers.sort();
    bindgen::builder()
        .header_contents("AsyncOpt-c.h", &headers.concat())
        .clang_arg(format!("-I{}", prefix.join("include").display()))
        .allowlist_item("(?i)asyncopt.*")
        .allowlist_item("ASYNC_OPT_.*")
        .blocklist_type("Mlir.*")
        .prepend_enum_name(false)
        .merge_extern_blocks(true)
        .rust_edition(bindgen::RustEdition::Edition2024)
        .generate()?
        .write_to_file(Path::new(&env::var("OUT_DIR")?).join("ffi.rs"))?;
    Ok(())
}
