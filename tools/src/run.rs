//! `async-opt run`: compiles host code, and runs it in this process.

use crate::translate::BothWays;
use async_dialects::tool::with_module;
use async_jit::Reported;
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs passes over a module, lowers its host code, compiles it and calls a function of it. Kernels run in the interpreter of async-sim, or on a GPU (--device=cuda).
///
/// All other options are passes, as for async-opt itself: --PASS or --PASS="OPTION=VALUE …", which run in their order, or
/// --pass-pipeline="builtin.module(…)".
#[derive(Parser)]
#[command(
    name = "async-opt run",
    version,
    override_usage = "async-opt run [OPTIONS] [--PASS]... [INPUT]"
)]
struct Options {
    /// The file with the module; `-` is standard input.
    #[arg(default_value = "-")]
    input: String,
    /// The function to call. It takes no arguments, and returns nothing or an i32, whose low 8 bits are the exit code.
    #[arg(long, default_value = "main")]
    entry: String,
    /// The level of optimization, from 0 to 3.
    #[arg(short = 'O', default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: u8,
    /// How many workers run tasks; else what ASYNCOPT_NUM_THREADS says, or one for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// What device operations go through: host, NVIDIA's GPUs, or a simulated device that ends them as late as allowed, early or at random.
    #[arg(long, value_name = "host|cuda|sim|sim:late|sim:early|sim:random:SEED")]
    device: Option<String>,
    /// Writes what each worker has run, and when, as a trace for Perfetto.
    #[arg(long, value_name = "FILE.json")]
    trace: Option<String>,
    /// Libraries with functions that the program calls, besides those of the runtime.
    #[arg(long, value_name = "FILE.so", value_delimiter = ',')]
    shared_libs: Vec<String>,
}

/// `async-opt run`: compiles host code, and runs it in this process.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let Split { options, passes } = match split(arguments) {
        Ok(split) => split,
        Err(message) => {
            eprintln!("async-opt run: {message}");
            return ExitCode::FAILURE;
        }
    };
    let options = match Options::try_parse_from(options) {
        Ok(options) => options,
        Err(error) => {
            // Help is no error.
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::FAILURE
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    if let Some(Err(message)) = options.device.as_deref().map(asyncopt_rt::device::select) {
        eprintln!("async-opt run: --device: {message}");
        return ExitCode::FAILURE;
    }
    let how = async_jit::Options {
        entry: options.entry,
        opt_level: options.opt_level,
        threads: options.threads,
        trace: options.trace,
        shared_libs: options.shared_libs,
    };
    let path = options.input.as_str();
    let passes: Vec<_> = passes.iter().map(String::as_str).collect();
    match with_module::<BothWays, _>(path, &passes, |module| async_jit::run(module, path, &how)) {
        Some(Ok(code)) => ExitCode::from(code),
        // What is wrong was printed.
        Some(Err(Reported)) | None => ExitCode::FAILURE,
    }
}

/// A command line in two parts.
struct Split {
    /// The name of the program, and what [`Options`] knows.
    options: Vec<OsString>,
    /// The rest: passes, and pipelines.
    passes: Vec<String>,
}

/// Tells passes from options.
fn split(arguments: Vec<OsString>) -> Result<Split, String> {
    let command = Options::command();
    let takes_value = |name: &str| {
        let known = command.get_arguments().find(|arg| arg.get_long() == Some(name))?;
        Some(known.get_action().takes_values())
    };
    let mut options = Vec::new();
    let mut passes = Vec::new();
    let mut arguments = arguments.into_iter();
    options.extend(arguments.next());
    while let Some(argument) = arguments.next() {
        let text = argument.to_str().unwrap_or_default();
        let long = text.strip_prefix("--");
        let flag = long.or_else(|| text.strip_prefix('-')).unwrap_or_default();
        let (name, value) = flag
            .split_once('=')
            .map_or((flag, None), |(name, value)| (name, Some(value)));
        // What clap knows of itself, a file or standard input, and the one option with one dash.
        let is_short = long.is_none() && (name.len() <= 1 || name.starts_with('O'));
        if flag.is_empty() || is_short || matches!(name, "help" | "version") {
            options.push(argument);
        } else if let Some(takes_value) = takes_value(name) {
            let has_value = value.is_some();
            options.push(argument);
            if takes_value && !has_value {
                options.extend(arguments.next());
            }
        } else if name == "pass-pipeline" {
            let inner = value
                .and_then(|text| text.trim().strip_prefix("builtin.module(")?.strip_suffix(')'))
                .ok_or("--pass-pipeline is written as --pass-pipeline=\"builtin.module(PASS,…)\"")?;
            passes.push(inner.to_owned());
        } else {
            passes.push(match value {
                Some(value) => format!("{name}{{{value}}}"),
                None => name.to_owned(),
            });
        }
    }
    Ok(Split { options, passes })
}
