//! `tools/function-order` tells the functions that run in the two passes from all others that a lowering runs.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use std::{
    collections::HashSet,
    path::Path,
    process::{Command, Output},
};

// Parts of names that both of Rust's manglings have.
const IN_PASSES: &str = "9tokenflow5solve5solve";
const BEFORE: &str = "11async_tools5named";
/// In a pass that only the example runs.
const OF_THE_EXAMPLE: &str = "16legalize_for_ptx16library_function";

fn function_order(arguments: &[&str]) -> Result<Output> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("function-order");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    Ok(Command::new(script).args(arguments).current_dir(root).output()?)
}

#[test]
fn what_runs_in_the_two_passes_comes_first() -> Result<()> {
    let output = function_order(&[
        env!("CARGO_BIN_EXE_async-tools"),
        "examples/double_buffered_copy.mlir",
        "test/Transforms/tokens-to-groups/straight-line.mlir",
    ])?;
    ensure!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout)?;
    let functions: Vec<&str> = printed.lines().collect();
    let place = |part: &str| {
        let found = functions.iter().position(|function| function.contains(part));
        found.with_context(|| format!("no {part} in {} functions", functions.len()))
    };
    ensure!(place(IN_PASSES)? < place(BEFORE)?);
    ensure!(place(BEFORE)? < place(OF_THE_EXAMPLE)?);
    let different: HashSet<&str> = functions.iter().copied().collect();
    ensure!(different.len() == functions.len(), "some function is there twice");
    Ok(())
}

#[test]
fn no_order_is_an_error() -> Result<()> {
    let example = "examples/double_buffered_copy.mlir";
    for (executable, message) in [
        ("target/none", "No such file"),
        ("/bin/false", "exit status 1"),
        // It has no symbols.
        ("/bin/true", "no function with a name ran"),
    ] {
        let output = function_order(&[executable, example])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.code() == Some(1) && errors.contains(message),
            "{executable}: {output:?}"
        );
    }
    Ok(())
}
