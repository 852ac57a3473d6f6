//! Runs the lit tests in `test/` under LLVM's lit, which `tools/setup` installs.
//!
//! `cargo test -p async-tools --test lit -- Tool/` runs those whose path matches `Tool/`.
#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let built = Path::new(env!("CARGO_BIN_EXE_async-opt")).parent();
    let built = built.context("an executable is in a folder")?;
    let mut lit = Command::new(root.join(".venv/bin/lit"));
    lit.arg("-sv")
        .arg(root.join("test"))
        .env(
            "CARGO_TARGET_DIR",
            built.parent().context("a profile is in a folder")?,
        )
        .env(
            "ASYNC_OPT_PROFILE",
            built.file_name().context("a profile has a name")?,
        );
    if let Some(filter) = env::args().skip(1).find(|argument| !argument.starts_with('-')) {
        lit.arg("--filter").arg(filter);
    }
    let status = lit.status().context("tools/setup installs lit")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
