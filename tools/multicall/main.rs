//! All tools in one executable: 150 MB of LLVM and MLIR once instead of five times.
//!
//! As with LLVM's own driver, the name that it is called by says which tool it is; packages have a link for each. Under another
//! name, the first argument is the tool.
#![forbid(unsafe_code)]

use async_tools::{TOOLS, Tool};
use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
    process::ExitCode,
};

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = env::args_os().collect();
    if let Some(tool) = arguments.first().and_then(|name| named(name)) {
        return (tool.main)(arguments);
    }
    if let Some(tool) = arguments.get(1).and_then(|name| named(name)) {
        arguments.remove(0);
        return (tool.main)(arguments);
    }
    let tools: Vec<String> = TOOLS
        .iter()
        .map(|tool| format!("  {:<17} {}\n", tool.name, tool.summary))
        .collect();
    let usage = format!("usage: async-tools TOOL ARGUMENT...\n\n{}", tools.concat());
    match arguments.get(1).and_then(|argument| argument.to_str()) {
        Some("--help" | "-h") => print!("{usage}"),
        Some("--version" | "-V") => println!("async-tools {}", env!("CARGO_PKG_VERSION")),
        _ => {
            eprint!("{usage}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The tool of this name, or of the name of this file.
fn named(path: &OsStr) -> Option<&'static Tool> {
    let name = Path::new(path).file_name()?;
    TOOLS.iter().find(|tool| name == tool.name)
}
