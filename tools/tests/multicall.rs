//! One executable is every tool, by the name that it is called by or by its first argument.
#![forbid(unsafe_code)]

use anyhow::{Result, ensure};
use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output},
};

const EXECUTABLE: &str = env!("CARGO_BIN_EXE_async-tools");

fn run(executable: &Path, arguments: &[&str]) -> Result<(Output, String)> {
    let output = Command::new(executable).args(arguments).output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok((output, printed))
}

#[test]
fn name_says_which_tool() -> Result<()> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("multicall");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for tool in async_tools::TOOLS {
        let link = folder.join(tool.name);
        symlink(EXECUTABLE, &link)?;
        let (output, help) = run(&link, &["--help"])?;
        ensure!(output.status.success(), "{}: {output:?}", tool.name);
        let (_, by_argument) = run(Path::new(EXECUTABLE), &[tool.name, "--help"])?;
        // A usage may show the path.
        let tail = |text: &str| {
            text.lines()
                .skip_while(|line| !line.contains("--"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        ensure!(
            tail(&help) == tail(&by_argument),
            "{}: {help}\n{by_argument}",
            tool.name
        );
    }
    Ok(())
}

#[test]
fn tools_are_those_of_their_own_executables() -> Result<()> {
    for (name, own) in [
        ("async-opt", env!("CARGO_BIN_EXE_async-opt")),
        ("async-translate", env!("CARGO_BIN_EXE_async-translate")),
        ("async-sim", env!("CARGO_BIN_EXE_async-sim")),
    ] {
        let (_, one) = run(Path::new(EXECUTABLE), &[name, "--version"])?;
        let (_, other) = run(Path::new(own), &["--version"])?;
        ensure!(one == other && one.starts_with(name), "{one} {other}");
    }
    let (output, _) = run(Path::new(EXECUTABLE), &["async-opt", "reduce", "--help"])?;
    ensure!(output.status.success(), "{output:?}");
    Ok(())
}

#[test]
fn other_names_are_refused_with_the_list() -> Result<()> {
    for arguments in [&[][..], &["mlir-opt"]] {
        let (output, printed) = run(Path::new(EXECUTABLE), arguments)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(!output.status.success() && printed.is_empty());
        ensure!(
            async_tools::TOOLS.iter().all(|tool| said.contains(tool.name)),
            "{said}"
        );
    }
    let (output, printed) = run(Path::new(EXECUTABLE), &["--help"])?;
    ensure!(
        output.status.success() && printed.contains("async-sim"),
        "{printed}"
    );
    Ok(())
}
