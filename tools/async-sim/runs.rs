//! Runs a kernel as often as the schedule asks for.

use crate::arguments::{self, Options, Schedule};
use anyhow::{Result, bail};
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::inputs::{self, Argument};
use async_sim::machine::{Launch, Machine, Stop};
use async_sim::memory::{Buffer, Memory};
use async_sim::refine::Trace;
use async_sim::report::Reports;
use async_sim::show::Names;
use async_sim::timeline::Timeline;
use async_sim::value::Value;
use indicatif::ProgressBar;

/// Runs of an exhaustive search at most.
const EXHAUSTIVE_RUNS: u32 = 100_000;
/// More workgroup memory than any GPU has.
const MAX_WORKGROUP: usize = 1 << 20;

/// What came of the runs of a kernel.
pub struct Outcome {
    reports: Reports,
    stop: Option<Stop>,
    buffers: Vec<Buffer>,
    /// The iterations that spots refer to.
    pub iterations: Vec<Box<[u32]>>,
    arguments: Vec<Value>,
    threads_per_block: u32,
    runs: u32,
    steps: u64,
    /// When what happened, if that was asked for.
    pub timeline: Option<Timeline>,
    /// What the threads did, if that was asked for.
    pub trace: Option<Trace>,
}

/// A kernel, and how to run it.
pub struct Runs<'a> {
    code: &'a Code,
    options: &'a Options,
    launch: Launch,
    arguments: Vec<Option<Argument>>,
}

impl<'a> Runs<'a> {
    /// Checks how the kernel is launched.
    pub fn new(code: &'a Code, options: &'a Options) -> Result<Self> {
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
    pub fn all(&self) -> Result<Outcome> {
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
        machine.trace = self.options.refines.is_some().then(Trace::default);
        // Seen where standard error is a terminal, and the run long enough.
        let blocks = self.launch.grid.iter().map(|&n| u64::from(n)).product();
        let progress = ProgressBar::new(blocks).with_message(self.code.name.clone());
        let stop = machine
            .run(&arguments, &mut |done| progress.set_position(done.into()))
            .err();
        progress.finish_and_clear();
        let (timeline, trace) = (machine.timeline.take(), machine.trace.take());
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
            trace,
        };
        Ok((outcome, adversary))
    }
}

impl Outcome {
    /// Returns true if nothing is wrong.
    pub fn is_clean(&self) -> bool {
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

    /// The report for people.
    pub fn text(&self, code: &Code) -> String {
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

    /// The report for tools.
    pub fn json(&self, code: &Code) -> serde_json::Value {
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
    pub fn output(&self, code: &Code, options: &Options) -> Result<()> {
        for (i, (value, param)) in self.arguments.iter().zip(&code.params).enumerate() {
            let Value::View(view) = value else {
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
