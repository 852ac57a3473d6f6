//! `async-sim`: runs device code under an adversary that decides when asynchronous work happens, and reports races.

mod arguments;
mod npy;
mod pictures;
mod program;
mod refines;
mod runs;

use crate::translate::BothWays;
use anyhow::{Context, Result, bail};
use arguments::Options;
use async_allocator::keep_freed_memory;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Op, Walk};
use async_sim::code::Code;
use async_sim::draw::Listing;
use async_sim::read::{self, UncountedWaits};
use async_sim::refine::Trace;
use async_sim::report::Spot;
use async_sim::timeline::Timeline;
use clap::Parser;
use runs::Runs;
use std::ffi::OsString;
use std::process::ExitCode;

/// `async-sim`: runs device code under an adversary that decides when asynchronous work happens, and reports races.
#[must_use]
pub fn sim(arguments: Vec<OsString>) -> ExitCode {
    keep_freed_memory();
    async_passes::register_all();
    let options = match Options::try_parse_from(arguments) {
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
    match run(&options) {
        Some(Ok(true)) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("async-sim: {error:#}");
            ExitCode::FAILURE
        }
        // What was found, or why the input can't be parsed, was printed.
        Some(Ok(false)) | None => ExitCode::FAILURE,
    }
}

/// Runs what was asked for, and prints what was found. Returns true if nothing is wrong, and `None` if a file can't be
/// parsed, which was printed.
fn run(options: &Options) -> Option<Result<bool>> {
    let mut kept = Vec::new();
    let result = files(options, &mut kept);
    if options.json {
        let kernels = kept.iter_mut().filter_map(|kept| kept.json.take());
        println!("{:#}", serde_json::Value::Array(kernels.collect()));
    }
    result
}

fn files(options: &Options, kept: &mut Vec<Kept>) -> Option<Result<bool>> {
    let mut clean = match file(&options.input, options, Role::Judged, kept)? {
        Ok(clean) => clean,
        error => return Some(error),
    };
    let mut meant_kept = Vec::new();
    if let Some(meant) = &options.refines {
        match file(meant, options, Role::Meant, &mut meant_kept)? {
            Ok(known) => clean &= known && refines::report(kept, &meant_kept),
            error => return Some(error),
        }
    }
    let judged = kept.len();
    if let Some(other) = &options.compare {
        match file(other, options, Role::Compared, kept)? {
            Ok(other) => clean &= other,
            error => return Some(error),
        }
    }
    let (judged, compared) = kept.split_at(judged);
    // What stands beside is what the user names for that; else what a form is held against.
    let beside = if options.compare.is_some() {
        compared
    } else {
        &meant_kept
    };
    Some(pictures::write(judged, beside, options).map(|()| clean))
}

/// What a file is run for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It is what the user asks about.
    Judged,
    /// Its timeline stands beside that of the judged one.
    Compared,
    /// The judged one is held against it; nothing is said of it.
    Meant,
}

/// What is kept of a kernel's run; plain data, which outlives the file's IR.
struct Kept {
    kernel: String,
    threads_per_block: u32,
    path: String,
    listing: Listing,
    iterations: Vec<Box<[u32]>>,
    timeline: Option<Timeline>,
    trace: Option<Trace>,
    /// What is printed of it for tools.
    json: Option<serde_json::Value>,
}

impl Kept {
    /// `thread 3 of block 0`
    fn who(&self, spot: Spot) -> String {
        let (thread, block) = (
            spot.thread % self.threads_per_block,
            spot.thread / self.threads_per_block,
        );
        format!("thread {thread} of block {block}")
    }
}

/// What is lowered before a file is run. The first pass erases what nobody uses, also where nothing is to be lowered, and then
/// faults would go with it; so it runs only over files in which the name of its dialect occurs.
fn pipeline(path: &str) -> &'static str {
    let has_linalg = std::fs::read(path).is_ok_and(|file| {
        let name = b"linalg";
        file.windows(name.len()).any(|part| part == name)
    });
    if has_linalg {
        "convert-linalg-to-loops,lower-affine"
    } else {
        "lower-affine"
    }
}

/// Runs every kernel of a file that was asked for. Returns true if nothing is wrong with any, and `None` if the file
/// can't be parsed, which was printed.
fn file(path: &str, options: &Options, role: Role, kept: &mut Vec<Kept>) -> Option<Result<bool>> {
    // Of several files, an error says which one it is about.
    let is_alone = options.refines.is_none() && options.compare.is_none();
    let results = async_dialects::tool::with_module::<BothWays, _>(path, &[], |module| {
        let mut kept = Vec::new();
        if let Some(entry) = program::entry(module, options)? {
            let clean = program::simulate(module, &entry, options, path, &mut kept)?;
            return Ok((clean, kept));
        }
        if options.fail_at.is_some() {
            bail!(
                "--fail-at is about device operations of a program, and there is none to run: --entry names it"
            );
        }
        // What is wrong was printed.
        if async_jit::run_passes(module, pipeline(path)).is_err() {
            return Ok((false, kept));
        }
        simulate(module, options, path, role, &mut kept).map(|clean| (clean, kept))
    });
    results.map(|result| {
        let (clean, new) = if is_alone {
            result
        } else {
            result.with_context(|| path.to_owned())
        }?;
        kept.extend(new);
        Ok(clean)
    })
}

/// Runs every kernel that was asked for. Returns true if nothing is wrong with any; of what is meant, if all can be read.
fn simulate(module: Op<'_>, options: &Options, path: &str, role: Role, kept: &mut Vec<Kept>) -> Result<bool> {
    let kernels = kernels(module, options.kernel.as_deref());
    if kernels.is_empty() {
        match &options.kernel {
            Some(name) => bail!("there is no kernel named '{name}'"),
            None => bail!("there is no kernel: no gpu.func, and no func.func with a body"),
        }
    }
    if kernels.len() > 1 && !options.out.is_empty() {
        let names: Vec<String> = kernels.iter().map(|kernel| name_of(*kernel)).collect();
        bail!(
            "--out is for one kernel, and {path} has {}: --kernel says which: {}",
            kernels.len(),
            names.join(", ")
        );
    }
    let mut clean = true;
    for kernel in kernels {
        // What is meant by a wait without a count is that its token is complete.
        let uncounted = match role {
            Role::Meant => UncountedWaits::OfToken,
            _ => UncountedWaits::All,
        };
        let code = match read::read_from(kernel, uncounted, path) {
            Ok(code) => code,
            Err(unknown) => {
                Diagnostic::error(unknown.op.location(), unknown.message).emit();
                clean = false;
                continue;
            }
        };
        clean &= run_code(&code, options, path, role, kept)?;
    }
    Ok(clean)
}

/// Runs code, and prints what was found. Returns true if nothing is wrong.
fn run_code(code: &Code, options: &Options, path: &str, role: Role, kept: &mut Vec<Kept>) -> Result<bool> {
    let runs = Runs::new(code, options)?;
    if role == Role::Judged {
        runs.say_defaults();
    }
    let mut outcome = runs.all()?;
    if role == Role::Judged {
        runs.write(&outcome)?;
    }
    let mut clean = true;
    if role != Role::Meant {
        if !options.json {
            print!("{}{}", outcome.stdout, runs.text(&outcome));
        }
        if options.print {
            print!("{}", outcome.printed());
        }
        clean = outcome.is_clean();
    }
    kept.push(Kept {
        kernel: code.name.clone(),
        threads_per_block: runs.threads_per_block(),
        path: path.to_owned(),
        listing: Listing::new(code),
        json: options.json.then(|| runs.json(path, &outcome)),
        timeline: outcome.timeline.take(),
        trace: outcome.trace.take(),
        iterations: outcome.iterations,
    });
    Ok(clean)
}

/// What a kernel is called.
fn name_of(kernel: Op<'_>) -> String {
    match kernel.str_attr("sym_name") {
        Some(name) => name.to_owned(),
        None => read::launch_name(kernel),
    }
}

/// The kernels of a module: its `gpu.func`s and `gpu.launch`es; without any, its functions.
fn kernels<'c>(module: Op<'c>, name: Option<&str>) -> Vec<Op<'c>> {
    let mut all = Vec::new();
    module.walk(|op| {
        // A script of the transform dialect is a function, too; private ones are there to be called.
        let is_private = op.str_attr("sym_visibility") == Some("private");
        let has_body = op.is_function()
            && !op.name().starts_with("transform.")
            && op.num_regions() == 1
            && op.region(0).first().is_some();
        let asked_for = match name {
            Some(name) => op.str_attr("sym_name") == Some(name),
            None => !is_private,
        };
        let mut launches = if has_body { read::launches(op) } else { Vec::new() };
        if launches.is_empty() {
            if has_body && asked_for {
                all.push(op);
            }
            return Walk::Advance;
        }
        // Host code is not run, but for its launches, which have names of their own.
        launches.retain(|launch| asked_for || name == Some(&read::launch_name(*launch)));
        all.extend(launches);
        Walk::Advance
    });
    let is_on_device = |op: &Op| op.is("gpu.func") || op.is("gpu.launch");
    let on_device: Vec<Op> = all.iter().copied().filter(is_on_device).collect();
    if on_device.is_empty() { all } else { on_device }
}
