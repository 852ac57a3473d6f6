//! `async-sim`: runs device code under an adversary that decides when asynchronous work happens, and reports races.
#![forbid(unsafe_code)]

mod arguments;

use anyhow::{Context, Result, bail};
use arguments::{Options, Schedule};
use async_dialects::diagnostic::Diagnostic;
use async_dialects::ir::{Op, Walk};
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::draw::{self, Listing, Picture};
use async_sim::inputs::{self, Argument};
use async_sim::machine::{Launch, Machine, Stop};
use async_sim::memory::{Buffer, Memory};
use async_sim::read;
use async_sim::report::Reports;
use async_sim::show::Names;
use async_sim::timeline::Timeline;
use clap::Parser;
use indicatif::ProgressBar;
use std::process::ExitCode;

/// Runs of an exhaustive search at most.
const EXHAUSTIVE_RUNS: u32 = 100_000;
/// More workgroup memory than any GPU has.
const MAX_WORKGROUP: usize = 1 << 20;

fn main() -> ExitCode {
    let options = Options::parse();
    let mut drawn = Vec::new();
    let mut result = simulate_file(&options.input, &options, &mut drawn);
    if let (Some(other), Some(Ok(clean))) = (&options.compare, &result) {
        let first = *clean;
        result = simulate_file(other, &options, &mut drawn).map(|second| second.map(|clean| first && clean));
    }
    let result = result.map(|result| result.and_then(|clean| draw(&drawn, &options).map(|()| clean)));
    match result {
        Some(Ok(true)) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("async-sim: {error:#}");
            ExitCode::FAILURE
        }
        // What was found, or why the input can't be parsed, was printed.
        Some(Ok(false)) | None => ExitCode::FAILURE,
    }
}

/// Runs every kernel of a file that was asked for. Returns true if nothing is wrong with any, and `None` if the file
/// can't be parsed, which was printed.
fn simulate_file(path: &str, options: &Options, drawn: &mut Vec<Drawn>) -> Option<Result<bool>> {
    let results = async_dialects::tool::with_module(path, "lower-affine", |module| {
        let mut drawn = Vec::new();
        simulate(module, options, path, &mut drawn).map(|clean| (clean, drawn))
    });
    results.map(|result| {
        result.map(|(clean, new)| {
            drawn.extend(new);
            clean
        })
    })
}

/// A timeline, and what it takes to draw it; plain data, which outlives the file's IR.
struct Drawn {
    title: String,
    listing: Listing,
    iterations: Vec<Box<[u32]>>,
    timeline: Timeline,
}

/// Writes the pictures that were asked for.
fn draw(drawn: &[Drawn], options: &Options) -> Result<()> {
    let pictures: Vec<Picture> = drawn
        .iter()
        .map(|drawn| Picture {
            title: &drawn.title,
            listing: &drawn.listing,
            iterations: &drawn.iterations,
            timeline: &drawn.timeline,
        })
        .collect();
    if let Some(path) = &options.timeline {
        std::fs::write(path, draw::svg(&pictures)).with_context(|| format!("{}", path.display()))?;
    }
    if let Some(path) = &options.trace {
        let trace = draw::trace(&pictures).to_string();
        std::fs::write(path, trace).with_context(|| format!("{}", path.display()))?;
    }
    if options.wants_timeline() {
        for drawn in drawn {
            println!(
                "{}: {} cycles; warps wait {} for copies",
                drawn.title,
                drawn.timeline.end(),
                drawn.timeline.stall()
            );
        }
    }
    Ok(())
}

/// Runs every kernel that was asked for. Returns true if nothing is wrong with any.
fn simulate(module: Op<'_>, options: &Options, path: &str, drawn: &mut Vec<Drawn>) -> Result<bool> {
    let kernels = kernels(module, options.kernel.as_deref());
    if kernels.is_empty() {
        match &options.kernel {
            Some(name) => bail!("there is no kernel named '{name}'"),
            None => bail!("there is no kernel: no gpu.func, and no func.func with a body"),
        }
    }
    let mut clean = true;
    let mut findings = Vec::new();
    for kernel in kernels {
        match read::read(kernel) {
            Ok(code) => {
                let mut run = Runs::new(&code, options)?.all()?;
                if let Some(timeline) = run.timeline.take() {
                    drawn.push(Drawn {
                        title: format!("{} in {path}", code.name),
                        listing: Listing::new(&code),
                        iterations: run.iterations.clone(),
                        timeline,
                    });
                }
                if options.json {
                    findings.push(run.json(&code));
                } else {
                    print!("{}", run.text(&code));
                }
                if options.print || !options.out.is_empty() {
                    run.output(&code, options)?;
                }
                clean &= run.is_clean();
            }
            Err(unknown) => {
                Diagnostic::error(unknown.op.location(), unknown.message).emit();
                clean = false;
            }
        }
    }
    if options.json {
        println!("{:#}", serde_json::Value::Array(findings));
    }
    Ok(clean)
}

/// The kernels of a module: its `gpu.func`s; without any, its functions.
fn kernels<'c>(module: Op<'c>, name: Option<&str>) -> Vec<Op<'c>> {
    let mut all = Vec::new();
    module.walk(|op| {
        let has_body = op.is_function() && op.num_regions() == 1 && op.region(0).first().is_some();
        if has_body && name.is_none_or(|name| op.str_attr("sym_name") == Some(name)) {
            all.push(op);
        }
        Walk::Advance
    });
    let on_device: Vec<Op> = all.iter().copied().filter(|op| op.is("gpu.func")).collect();
    if on_device.is_empty() { all } else { on_device }
}

/// What came of the runs of a kernel.
struct Outcome {
    reports: Reports,
    stop: Option<Stop>,
    buffers: Vec<Buffer>,
    iterations: Vec<Box<[u32]>>,
    arguments: Vec<async_sim::value::Value>,
    threads_per_block: u32,
    runs: u32,
    steps: u64,
    timeline: Option<Timeline>,
}

struct Runs<'a> {
    code: &'a Code,
    options: &'a Options,
    launch: Launch,
    arguments: Vec<Option<Argument>>,
}

impl<'a> Runs<'a> {
    fn new(code: &'a Code, options: &'a Options) -> Result<Self> {
        let block = options.block.or(code.block).unwrap_or([1, 1, 1]);
        let product = |sizes: [u32; 3]| sizes.iter().map(|&n| u128::from(n)).product::<u128>();
        if !(1..=1024).contains(&product(block)) {
            bail!("a block has 1 to 1024 threads");
        }
        if product(options.grid.unwrap_or([1, 1, 1])) * product(block) > u128::from(u32::MAX) {
            bail!("a grid has at most {} threads here", u32::MAX);
        }
        if options.dynamic_workgroup > MAX_WORKGROUP {
            bail!("a block has at most {MAX_WORKGROUP} bytes of workgroup memory");
        }
        let launch = Launch {
            grid: options.grid.unwrap_or([1, 1, 1]),
            block,
            dynamic_workgroup: options.dynamic_workgroup,
            budget: options.budget,
        };
        Ok(Self {
            code,
            options,
            launch,
            arguments: options.arguments()?,
        })
    }

    /// Runs until something is wrong, or all runs are done.
    fn all(&self) -> Result<Outcome> {
        let mut next = Some(self.first());
        let mut runs = 0;
        let mut steps = 0;
        loop {
            let Some(adversary) = next else {
                unreachable!("a run is followed by its outcome")
            };
            let (mut outcome, adversary) = self.one(adversary)?;
            runs += 1;
            steps += outcome.steps;
            outcome.runs = runs;
            outcome.steps = steps;
            next = match self.options.schedule {
                Schedule::Exhaustive if runs < EXHAUSTIVE_RUNS => adversary.next(),
                Schedule::Random if runs < self.options.runs => {
                    Some(Adversary::Random(self.options.seed + u64::from(runs)))
                }
                _ => None,
            };
            if next.is_none() || !outcome.is_clean() {
                let cut_off = self.options.schedule == Schedule::Exhaustive && runs == EXHAUSTIVE_RUNS;
                if cut_off && outcome.is_clean() {
                    bail!(
                        "{EXHAUSTIVE_RUNS} runs are not all there are: this is for tiny programs, take --schedule=random"
                    );
                }
                return Ok(outcome);
            }
        }
    }

    fn first(&self) -> Adversary {
        match self.options.schedule {
            Schedule::Late => Adversary::Late,
            Schedule::Early => Adversary::Early,
            Schedule::Random => Adversary::Random(self.options.seed),
            Schedule::Exhaustive => Adversary::Exhaustive {
                answers: Vec::new(),
                asked: 0,
            },
        }
    }

    fn one(&self, adversary: Adversary) -> Result<(Outcome, Adversary)> {
        let threads_per_block: u32 = self.launch.block.iter().product();
        let mut memory = Memory::new(adversary, threads_per_block);
        let arguments = inputs::arguments(&mut memory, &self.code.params, &self.arguments)?;
        let mut machine = Machine::new(self.code, self.launch.clone(), memory);
        let threads = usize::try_from(threads_per_block)?;
        machine.timeline = self
            .options
            .wants_timeline()
            .then(|| Timeline::new(self.options.costs(), threads));
        // Seen where standard error is a terminal, and the run long enough.
        let blocks = self.launch.grid.iter().map(|&n| u64::from(n)).product();
        let progress = ProgressBar::new(blocks).with_message(self.code.name.clone());
        let stop = machine
            .run(&arguments, &mut |done| progress.set_position(done.into()))
            .err();
        progress.finish_and_clear();
        let timeline = machine.timeline.take();
        let (iterations, steps) = (std::mem::take(&mut machine.iterations), machine.steps);
        let (buffers, adversary, reports) = machine.memory.into_parts();
        let outcome = Outcome {
            reports,
            stop,
            buffers,
            iterations,
            arguments,
            threads_per_block,
            runs: 1,
            steps,
            timeline,
        };
        Ok((outcome, adversary))
    }
}

impl Outcome {
    fn is_clean(&self) -> bool {
        self.reports.is_clean() && self.stop.is_none()
    }

    fn names<'a>(&'a self, code: &'a Code) -> Names<'a> {
        Names {
            code,
            buffers: &self.buffers,
            iterations: &self.iterations,
            threads_per_block: self.threads_per_block,
        }
    }

    fn text(&self, code: &Code) -> String {
        let names = self.names(code);
        let mut text = names.text(&self.reports);
        if let Some(stop) = &self.stop {
            text += &names.stop(stop);
        }
        let verdict = if self.is_clean() { "clean" } else { "not clean" };
        let runs = if self.runs == 1 { "run" } else { "runs" };
        text + &format!(
            "{}: {verdict} ({} {runs}, {} instructions)\n",
            code.name, self.runs, self.steps
        )
    }

    fn json(&self, code: &Code) -> serde_json::Value {
        let names = self.names(code);
        serde_json::json!({
            "kernel": code.name,
            "clean": self.is_clean(),
            "runs": self.runs,
            "instructions": self.steps,
            "findings": names.json(&self.reports),
            "stopped": self.stop.as_ref().map(|stop| names.stop(stop)),
        })
    }

    /// Prints the buffers of the arguments, or writes them to files.
    fn output(&self, code: &Code, options: &Options) -> Result<()> {
        for (i, (value, param)) in self.arguments.iter().zip(&code.params).enumerate() {
            let async_sim::value::Value::View(view) = value else {
                continue;
            };
            let data = &self.buffers[view.buffer.0 as usize].data;
            if options.print {
                println!("argument {i}: {}", arguments::numbers(&param.kind, data));
            }
            if let Some(path) = options.out.iter().find_map(|out| out.of(i)) {
                arguments::write_npy(path, view, data)?;
            }
        }
        Ok(())
    }
}
