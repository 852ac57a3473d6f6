//! Beside other dialects with the names of ours: a message, and no crash.

use super::{host, mlir_opt, plugin, text};
use anyhow::{Result, ensure};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const NAME_IS_TAKEN: &str = "the registry already has another dialect of that name";

/// A plugin of someone else with a dialect `gpux`.
fn foreign(folder: &Path) -> Result<PathBuf> {
    let library = folder.join("libforeign.so");
    let prefix = PathBuf::from(env::var("MLIR_SYS_220_PREFIX")?);
    let output = Command::new("g++")
        .args(["-std=c++17", "-shared", "-fPIC", "-w", "-isystem"])
        .arg(prefix.join("include"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plugin/foreign.cpp"))
        .arg("-o")
        .arg(&library)
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(library)
}

#[test]
fn a_foreign_dialect_of_our_name_keeps_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let kernel = folder.path().join("kernel.mlir");
    fs::write(&kernel, "func.func @f() { return }\n")?;
    let load = |library: &Path| format!("--load-dialect-plugin={}", library.display());
    let run = |pipeline: &str| -> Result<_> {
        Ok(Command::new(mlir_opt()?)
            .arg(load(&foreign(folder.path())?))
            .arg(load(&plugin()))
            .arg(format!("--load-pass-plugin={}", plugin().display()))
            .arg(format!("--pass-pipeline=builtin.module({pipeline})"))
            .arg(&kernel)
            .output()?)
    };
    let output = run("canonicalize")?;
    ensure!(output.status.success(), "{output:?}");
    ensure!(text(&output.stderr).contains(NAME_IS_TAKEN), "{output:?}");
    // Our passes would ask for our dialect.
    let output = run("gpux-to-nvvm")?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    ensure!(
        text(&output.stderr).contains("does not refer to a registered pass"),
        "{output:?}"
    );
    Ok(())
}

#[test]
fn a_dialect_in_irdl_of_our_name_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (dialect, kernel) = (folder.path().join("gpux.irdl"), folder.path().join("kernel.mlir"));
    fs::write(&dialect, "irdl.dialect @gpux { irdl.operation @mine {} }\n")?;
    fs::write(&kernel, "func.func @f() { return }\n")?;
    let output = host(&plugin())?
        .arg(format!("--irdl-file={}", dialect.display()))
        .arg("--pass-pipeline=builtin.module(gpux-tokens-to-groups)")
        .arg(&kernel)
        .output()?;
    ensure!(
        text(&output.stderr).contains("another dialect named 'gpux' takes the place of async-opt's"),
        "{output:?}"
    );
    Ok(())
}
