//! Runs a kernel as often as the schedule asks for.

use super::arguments::{self, Options, Schedule};
use super::npy;
use anyhow::{Result, bail};
use async_sim::adversary::Adversary;
use async_sim::code::{Code, Id, Op, ParamKind};
use async_sim::inputs::{self, Argument};
use async_sim::machine::{Launch, Machine};
use async_sim::memory::{Buffer, Memory};
use async_sim::refine::Trace;
use async_sim::show::{self, Finding, Group, Names};
use async_sim::timeline::{Recorder, Timeline};
use async_sim::value::Value;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::fmt::Write;

/// Runs of an exhaustive search at most, and instructions: some seconds.
const EXHAUSTIVE_RUNS: u32 = 100_000;
const EXHAUSTIVE_STEPS: u64 = 1 << 27;
/// More workgroup memory than any GPU has.
const MAX_WORKGROUP: usize = 1 << 20;

/// Instructions between two changes of what the progress bar says.
const SAY_EVERY: u64 = 1_000_000;

/// What came of the runs of a kernel.
pub struct Outcome {
    /// What all runs have found.
    findings: Vec<Finding>,
    runs: u32,
    /// Instructions of all runs.
    steps: u64,
    /// The tasks of host code, the function among them.
    tasks: usize,
    /// True if runs of other schedules would be the same.
    settled: bool,
    /// True if there are more runs than were made.
    cut_off: bool,
    /// The rest is of the last run.
    buffers: Vec<Buffer>,
    /// The buffers that a program has allocated for a device, or for both, and not freed.
    left: Vec<String>,
    /// What the kernel has printed.
    pub stdout: String,
    arguments: Vec<Value>,
    /// The iterations that the timeline and the trace refer to.
    pub iterations: Vec<Box<[u32]>>,
    /// When what happened, if that was asked for.
    pub timeline: Option<Timeline>,
    /// What the threads did, if that was asked for.
    pub trace: Option<Trace>,
}

/// Asks for all buffers at once whose sizes nothing tells.
fn refuse_open_sizes(code: &Code, arguments: &[Option<Argument>]) -> Result<()> {
    let open = inputs::open_sizes(&code.params, arguments);
    let names: Vec<String> = open.iter().map(|(index, _)| index.to_string()).collect();
    let (which, leave, their) = match names.as_slice() {
        [] => return Ok(()),
        [one] => (format!("argument {one}"), "leaves", "the type"),
        [first @ .., last] => (
            format!("arguments {} and {last}", first.join(", ")),
            "leave",
            "the types",
        ),
    };
    let add: Vec<String> = open
        .iter()
        .map(|(index, example)| format!("--arg {index}={example}"))
        .collect();
    bail!(
        "{}: {their} of {which} {leave} sizes open: say how large the buffers are, and what they hold, as in {}",
        code.name,
        add.join(" ")
    )
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
        let grid = options.grid.or(code.grid).unwrap_or([1, 1, 1]);
        let product = |sizes: [u32; 3]| sizes.iter().map(|&n| u128::from(n)).product::<u128>();
        if !(1..=1024).contains(&product(block)) {
            bail!("a block has 1 to 1024 threads");
        }
        if product(grid) == 0 {
            bail!(
                "{}: known_grid_size has a 0, so no block would run: give --grid",
                code.name
            );
        }
        if product(grid) * product(block) > u128::from(u32::MAX) {
            bail!("a grid has at most {} threads here", u32::MAX);
        }
        let buffers = code.workgroup.iter().filter_map(|decl| decl.view.span_bytes());
        let dynamic_workgroup = options.dynamic_workgroup.or(code.dynamic_workgroup).unwrap_or(0);
        let workgroup = buffers.fold(dynamic_workgroup, usize::saturating_add);
        if workgroup > MAX_WORKGROUP {
            bail!(
                "{}: a block has at most {MAX_WORKGROUP} bytes of workgroup memory, and this needs {workgroup}",
                code.name
            );
        }
        if options.runs > 1 && options.schedule != Schedule::Random {
            bail!("--runs is for --schedule=random");
        }
        if !options.cost.is_empty() && !options.wants_timeline() {
            bail!("--cost is for a timeline: --timeline, --trace or --compare draws one");
        }
        if code.is_host && (options.wants_timeline() || options.refines.is_some()) {
            bail!(
                "{}: timelines and --refines are for kernels, and this is host code",
                code.name
            );
        }
        let arguments = options.arguments(code.params.len())?;
        refuse_open_sizes(code, &arguments)?;
        Ok(Self {
            code,
            options,
            launch: Launch {
                grid,
                block,
                dynamic_workgroup,
                budget: options.budget,
            },
            arguments,
        })
    }

    /// How many threads a block has.
    pub fn threads_per_block(&self) -> u32 {
        self.launch.block.iter().product()
    }

    /// Says what is taken for what the command line leaves open, and matters.
    pub fn say_defaults(&self) {
        let name = &self.code.name;
        let shares = |op: &Op| {
            matches!(
                op,
                Op::Barrier
                    | Op::Elect { .. }
                    | Op::Id {
                        id: Id::Thread | Id::Lane | Id::Subgroup | Id::Global,
                        ..
                    }
            )
        };
        let uses_threads = self.code.instrs.iter().any(|instr| shares(&instr.op));
        if uses_threads && self.options.block.or(self.code.block).is_none() {
            eprintln!(
                "async-sim: note: {name} has no known_block_size, and is run by one thread: --block gives it more"
            );
        }
        let of_grid = |op: &Op| {
            matches!(
                op,
                Op::Id {
                    id: Id::Block | Id::Global | Id::GridDim,
                    ..
                }
            )
        };
        let uses_blocks = self.code.instrs.iter().any(|instr| of_grid(&instr.op));
        if uses_blocks && self.options.grid.or(self.code.grid).is_none() {
            eprintln!(
                "async-sim: note: {name} has no known_grid_size, and one block of it is run: --grid runs more"
            );
        }
        let both = [
            ("block", "threads", self.options.block, self.code.block),
            ("grid", "blocks", self.options.grid, self.code.grid),
        ];
        for (what, of, given, known) in both {
            if let (Some(given), Some(known)) = (given, known)
                && given != known
            {
                eprintln!(
                    "async-sim: note: {name} says that its {what} is of {known:?} {of}, and is run with one of {given:?}"
                );
            }
        }
        self.say_arguments();
    }

    /// Says what arguments are taken to be that are not given.
    fn say_arguments(&self) {
        let name = &self.code.name;
        for (i, param) in self.code.params.iter().enumerate() {
            let given = self.arguments.get(i).is_some_and(Option::is_some);
            if let Some(place) = param.made_by.as_ref().filter(|_| !given) {
                eprintln!(
                    "async-sim: note: what {} makes at {} is argument {i} of {name}: --arg {i}=… says what it is",
                    place.op, place.location
                );
                continue;
            }
            if matches!(param.kind, ParamKind::Number(_)) && !given {
                let value = if param.kind.is_integer() { "0" } else { "1" };
                eprintln!(
                    "async-sim: note: argument {i} of {name} is taken to be {value}: --arg {i}=… says otherwise"
                );
            }
        }
    }

    /// Does all runs, and puts together what they find.
    pub fn all(&self) -> Result<Outcome> {
        let mut adversary = self.first();
        let mut findings = Vec::new();
        let (mut runs, mut steps) = (0, 0);
        loop {
            let (mut outcome, decided) = self.one(adversary)?;
            runs += 1;
            steps += outcome.steps;
            show::merge(&mut findings, std::mem::take(&mut outcome.findings));
            let next = match self.options.schedule {
                // Nobody has looked where the schedule matters.
                _ if outcome.settled => None,
                Schedule::Exhaustive => decided.next(),
                Schedule::Random if runs < self.options.runs => {
                    Some(Adversary::Random(self.options.seed.wrapping_add(runs.into())))
                }
                _ => None,
            };
            // Whoever asks for all is told that these are not, and what they have found.
            let is_long = runs == EXHAUSTIVE_RUNS || steps > EXHAUSTIVE_STEPS;
            let cut_off = self.options.schedule == Schedule::Exhaustive && is_long;
            match next {
                Some(next) if !cut_off => adversary = next,
                next => {
                    return Ok(Outcome {
                        findings,
                        runs,
                        steps,
                        cut_off: next.is_some(),
                        ..outcome
                    });
                }
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
                used: 0,
            },
        }
    }

    fn one(&self, adversary: Adversary) -> Result<(Outcome, Adversary)> {
        let Launch { grid, block, .. } = self.launch;
        let mut memory = Memory::new(adversary, self.code.threads(block));
        if self.options.strict_proxies {
            memory.use_strict_proxies();
        }
        let arguments =
            inputs::arguments(&mut memory, &self.code.params, &self.arguments, self.options.seed)?;
        let mut machine = Machine::new(self.code, self.launch.clone(), memory);
        machine.fail_at = self.options.fail_at;
        let threads = usize::try_from(block.iter().product::<u32>())?;
        machine.timeline = self
            .options
            .wants_timeline()
            .then(|| Recorder::new(self.code, self.options.costs(), threads));
        machine.trace = self.options.refines.is_some().then(|| Trace::of(self.code));
        // Seen where standard error is a terminal, and the run long enough.
        let blocks = grid.iter().map(|&n| u64::from(n)).product();
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos} of {len} blocks")?;
        let progress = ProgressBar::new(blocks).with_style(style);
        let mut said = 0;
        let stop = machine
            .run(&arguments, self.options.jobs(), &mut |done, steps| {
                progress.set_position(done.into());
                if steps >= said {
                    said = steps + SAY_EVERY;
                    let millions = steps / 1_000_000;
                    progress.set_message(format!("{}: {millions} million instructions", self.code.name));
                }
            })
            .err();
        progress.finish_and_clear();
        let timeline = machine.timeline.take();
        let timeline = timeline.map(|recorder| recorder.replay(&machine.iterations));
        let trace = machine.trace.take();
        let (iterations, steps) = (std::mem::take(&mut machine.iterations), machine.steps);
        let started = machine.started();
        let ended = std::mem::take(&mut machine.ended);
        let settled = !machine.memory.schedule_matters;
        let stdout = whole_lines(std::mem::take(&mut machine.printed));
        let (buffers, adversary, reports) = machine.memory.into_parts();
        // One that stops halfway had no chance.
        let ends = self.code.is_program && stop.is_none();
        let left = buffers.iter().filter(|buffer| ends && buffer.is_left());
        let left = left.map(|buffer| format!("{}, {} bytes", buffer.name, buffer.data.len()));
        let left = left.collect();
        let names = Names {
            code: self.code,
            buffers: &buffers,
            iterations: &iterations,
            block,
            grid,
            tasks: &started,
        };
        let mut findings = names.findings_in_kernels(&ended);
        findings.extend(names.findings(&reports, stop.as_ref()));
        let outcome = Outcome {
            findings,
            runs: 1,
            steps,
            tasks: started.len(),
            settled,
            cut_off: false,
            buffers,
            left,
            stdout,
            arguments,
            iterations,
            timeline,
            trace,
        };
        Ok((outcome, adversary))
    }

    /// The report for people.
    pub fn text(&self, outcome: &Outcome) -> String {
        let groups = show::groups(&outcome.findings);
        let told = groups.iter().take(self.options.max_reports);
        let mut findings: String = told.map(Group::text).collect();
        let untold: usize = groups
            .iter()
            .skip(self.options.max_reports)
            .map(Group::count)
            .sum();
        if untold > 0 {
            let _ = writeln!(
                findings,
                "{}: {untold} more findings: --max-reports shows more",
                self.code.name
            );
        }
        for left in outcome.left.iter().take(self.options.max_reports) {
            let _ = writeln!(findings, "{}: never freed: {left}", self.code.name);
        }
        if let Some(untold @ 1..) = outcome.left.len().checked_sub(self.options.max_reports) {
            let s = if untold == 1 { "" } else { "s" };
            let _ = writeln!(
                findings,
                "{}: never freed: {untold} more buffer{s}",
                self.code.name
            );
        }
        let verdict = if outcome.is_clean() { "clean" } else { "not clean" };
        let count = |n: u32, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let Launch { grid, block, .. } = &self.launch;
        let runs = match outcome.runs {
            1 if outcome.settled && self.options.schedule != Schedule::Late => {
                "1 run, which stands for every schedule,".to_owned()
            }
            runs if outcome.cut_off => format!("{}, which are not all there are,", count(runs, "run")),
            runs => count(runs, "run"),
        };
        let of = if self.code.is_host {
            count(u32::try_from(outcome.tasks).unwrap_or(u32::MAX), "task")
        } else {
            let blocks = count(grid.iter().product(), "block");
            format!("{blocks} of {}", count(block.iter().product(), "thread"))
        };
        format!(
            "{findings}{}: {verdict} ({runs} of {of}, {} instructions)\n",
            self.code.name, outcome.steps
        )
    }

    /// The report for tools.
    pub fn json(&self, path: &str, outcome: &Outcome) -> serde_json::Value {
        let findings: Vec<_> = outcome.findings.iter().map(Finding::json).collect();
        let timeline = outcome.timeline.as_ref();
        json!({
            "file": path,
            "kernel": self.code.name,
            "clean": outcome.is_clean(),
            "runs": outcome.runs,
            "all_runs": !outcome.cut_off,
            "grid": self.launch.grid,
            "block": self.launch.block,
            "instructions": outcome.steps,
            "printed": outcome.stdout,
            "report": self.text(outcome),
            "findings": findings,
            "never_freed": outcome.left,
            "cycles": timeline.map(Timeline::end),
            "stall": timeline.map(|timeline| timeline.waits().total()),
            "waits": timeline.map(|timeline| {
                let waits = timeline.waits();
                json!({ "copies": waits.copies, "barriers": waits.barriers, "mbarriers": waits.mbarriers })
            }),
        })
    }

    /// Writes the buffers of arguments to files.
    pub fn write(&self, outcome: &Outcome) -> Result<()> {
        for out in &self.options.out {
            let buffer = outcome.argument_buffers().find(|(i, _)| *i == out.index);
            let Some((_, (view, data))) = buffer else {
                bail!(
                    "--out {}: {} has no argument of this number that is a buffer",
                    out.index,
                    self.code.name
                );
            };
            npy::write(out.path(), view, data)?;
        }
        Ok(())
    }
}

/// Ends the last line of what was printed, so that what comes next starts a new one.
fn whole_lines(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

impl Outcome {
    /// Returns true if nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.note)
    }

    /// The buffers of the arguments afterwards, each on a line of its own.
    pub fn printed(&self) -> String {
        let lines = self
            .argument_buffers()
            .map(|(i, (view, data))| format!("argument {i}: {}\n", arguments::numbers(view, data)));
        lines.collect::<Vec<_>>().concat()
    }

    /// The arguments that are buffers, by position.
    fn argument_buffers(&self) -> impl Iterator<Item = (usize, (&async_sim::value::View, &[u8]))> {
        self.arguments.iter().enumerate().filter_map(|(i, value)| {
            let view = match value {
                Value::View(view) => &**view,
                Value::Tensor(tensor) => &tensor.view,
                _ => return None,
            };
            Some((i, (view, self.buffers[view.buffer.0 as usize].data.as_slice())))
        })
    }
}
