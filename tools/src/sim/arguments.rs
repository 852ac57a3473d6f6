//! The command line.

use super::npy;
use anyhow::{Context, Result, bail};
use async_sim::inputs::{Argument, Fill};
use async_sim::scalar::{signed, to_f64};
use async_sim::timeline::Costs;
use async_sim::value::{Elem, View};
use clap::{Parser, ValueEnum};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Runs device code under an adversary that decides when asynchronous work happens, and reports races.
#[derive(Parser)]
#[command(name = "async-sim", version)]
pub struct Options {
    /// The file with the kernel, in any form from tokens to NVVM; `-` is standard input.
    #[arg(default_value = "-")]
    pub input: String,
    /// The kernel to run; else every gpu.func and gpu.launch, or every function if there is none.
    #[arg(long)]
    pub kernel: Option<String>,
    /// The host function to run, with all kernels that it launches; else main, if it has no arguments and the program has device
    /// work. --kernel runs a kernel alone.
    #[arg(long, conflicts_with_all = ["kernel", "refines", "timeline", "trace", "compare", "out"])]
    pub entry: Option<String>,
    /// What a !gpu.async.token of the host stands for, as in --async-import-gpu: operations, or a stream.
    #[arg(long, value_enum, default_value_t = GpuTokens::Ssa)]
    pub gpu_tokens: GpuTokens,
    /// How many blocks: x, or x,y,z.
    #[arg(long, value_parser = dimensions)]
    pub grid: Option<[u32; 3]>,
    /// How many threads a block has; else what the kernel says, or one.
    #[arg(long, value_parser = dimensions)]
    pub block: Option<[u32; 3]>,
    /// An argument, by position: INDEX=VALUE, where VALUE is a number, or [SIZExSIZE…:]random, ramp, zero, a .npy file, or
    /// @OTHER for the buffer of another argument.
    #[arg(long = "arg", value_name = "INDEX=VALUE")]
    pub args: Vec<Assignment>,
    /// How many bytes of dynamic workgroup memory there are; else what the launch says, or none.
    #[arg(long)]
    pub dynamic_workgroup: Option<usize>,
    /// When asynchronous work happens.
    #[arg(long, value_enum, default_value_t = Schedule::Late)]
    pub schedule: Schedule,
    /// The seed of a random schedule, and of what random buffers hold.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// How many runs of a random schedule, each with the next seed.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// The number of a device operation of a program that fails, counted from 1 in the order in which they run; what comes of it
    /// is as under the runtime.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "kernel")]
    pub fail_at: Option<u64>,
    /// The most instructions that one thread runs.
    #[arg(long, default_value_t = 1 << 24)]
    pub budget: u64,
    /// How many blocks run at a time; else as many as there are cores. The result is the same
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Asks for a proxy fence between a read and a bulk copy to the same workgroup memory, too.
    #[arg(long)]
    pub strict_proxies: bool,
    /// Prints the buffers of the arguments afterwards.
    #[arg(long, conflicts_with = "json")]
    pub print: bool,
    /// Writes the buffer of an argument to a file: INDEX=FILE.npy
    #[arg(long, value_name = "INDEX=FILE")]
    pub out: Vec<Assignment>,
    /// Draws when what happens in the first block: as SVG, or as an HTML page to look around in. It can be given for both.
    #[arg(long, value_name = "FILE.svg|FILE.html", value_parser = drawing)]
    pub timeline: Vec<Drawing>,
    /// The same as a trace for Perfetto.
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,
    /// Another lowering of the kernel, run the same way, to draw beside it on the same scale.
    #[arg(long, value_name = "FILE.mlir")]
    pub compare: Option<String>,
    /// Another form of the kernel, such as its token form: checks that all that it waits for is waited for here, too.
    #[arg(long, value_name = "FILE.mlir")]
    pub refines: Option<String>,
    /// What the timeline takes things to cost, in cycles: NAME=CYCLES with issue, access, mma, wgmma, latency or bytes-per-cycle.
    #[arg(long, value_name = "NAME=CYCLES", value_parser = cost)]
    pub cost: Vec<(String, u64)>,
    /// How many causes are reported; the rest is only counted.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub max_reports: usize,
    /// Prints what was found as JSON.
    #[arg(long)]
    pub json: bool,
}

/// When asynchronous work happens.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Schedule {
    /// As late as allowed.
    Late,
    /// At once.
    Early,
    /// At random, from a seed.
    Random,
    /// In every way that makes a difference, one run for each (tiny programs only).
    Exhaustive,
}

/// What a `!gpu.async.token` stands for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GpuTokens {
    /// The operations that it is made from, as its documentation says.
    Ssa,
    /// A stream, as upstream lowers it.
    Stream,
}

/// A file to draw to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Drawing {
    /// A picture.
    Svg(PathBuf),
    /// A page.
    Html(PathBuf),
}

/// A file whose name says what to draw.
fn drawing(path: &str) -> Result<Drawing> {
    let extension = Path::new(path)
        .extension()
        .and_then(|extension| extension.to_str());
    match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("svg") => Ok(Drawing::Svg(path.into())),
        Some("html") => Ok(Drawing::Html(path.into())),
        _ => bail!("a timeline is drawn to a file that ends in .svg or .html"),
    }
}

/// `INDEX=TEXT`
#[derive(Clone)]
pub struct Assignment {
    /// Which argument.
    pub index: usize,
    text: String,
}

impl FromStr for Assignment {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (index, text) = text.split_once('=').context("write INDEX=VALUE")?;
        Ok(Self {
            index: index.parse().context("the index is no number")?,
            text: text.to_owned(),
        })
    }
}

impl Assignment {
    /// What is assigned, if that is a path.
    pub fn path(&self) -> &Path {
        Path::new(&self.text)
    }
}

fn dimensions(text: &str) -> Result<[u32; 3]> {
    let mut dimensions = [1; 3];
    let parts: Vec<&str> = text.split([',', 'x']).collect();
    if parts.len() > 3 {
        bail!("there are at most three dimensions");
    }
    for (dimension, part) in dimensions.iter_mut().zip(parts) {
        *dimension = part.parse()?;
        if *dimension == 0 {
            bail!("no dimension is 0");
        }
    }
    Ok(dimensions)
}

fn cost(text: &str) -> Result<(String, u64)> {
    let (name, cycles) = text.split_once('=').context("write NAME=CYCLES")?;
    if !["issue", "access", "mma", "wgmma", "latency", "bytes-per-cycle"].contains(&name) {
        bail!("there is no cost named '{name}'");
    }
    let cycles: u32 = cycles.parse()?;
    if name == "bytes-per-cycle" && cycles == 0 {
        bail!("without any bytes per cycle no copy lands");
    }
    Ok((name.to_owned(), cycles.into()))
}

impl Options {
    /// How many blocks run at a time.
    pub fn jobs(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or_else(cores, usize::from)
    }

    /// Returns true if something is asked that is about kernels alone.
    pub fn is_about_kernels(&self) -> bool {
        let sizes = self.grid.is_some() || self.block.is_some() || self.dynamic_workgroup.is_some();
        let buffers = !self.args.is_empty() || !self.out.is_empty() || self.print;
        self.kernel.is_some() || self.wants_timeline() || self.refines.is_some() || sizes || buffers
    }

    /// Returns true if a timeline is asked for.
    pub fn wants_timeline(&self) -> bool {
        !self.timeline.is_empty() || self.trace.is_some() || self.compare.is_some()
    }

    /// What things cost.
    pub fn costs(&self) -> Costs {
        let mut costs = Costs::default();
        for (name, cycles) in &self.cost {
            let cost = match name.as_str() {
                "issue" => &mut costs.issue,
                "access" => &mut costs.access,
                "mma" => &mut costs.mma,
                "wgmma" => &mut costs.wgmma,
                "latency" => &mut costs.latency,
                _ => &mut costs.bytes_per_cycle,
            };
            *cost = *cycles;
        }
        costs
    }

    /// The arguments that were given, by position, for a kernel of so many parameters.
    pub fn arguments(&self, parameters: usize) -> Result<Vec<Option<Argument>>> {
        let mut arguments = vec![None; parameters];
        for Assignment { index, text } in &self.args {
            let Some(place) = arguments.get_mut(*index) else {
                bail!("--arg {index}=…: the kernel has {parameters} parameters, counted from 0");
            };
            if place.is_some() {
                bail!("--arg {index}=… is given twice");
            }
            *place = Some(argument(text).with_context(|| format!("--arg {index}={text}"))?);
        }
        Ok(arguments)
    }
}

fn argument(text: &str) -> Result<Argument> {
    match text {
        "true" => return Ok(Argument::Integer(1)),
        "false" => return Ok(Argument::Integer(0)),
        _ => {}
    }
    if let Ok(number) = text.parse() {
        return Ok(Argument::Integer(number));
    }
    if let Ok(number) = text.parse() {
        return Ok(Argument::Number(number));
    }
    let (sizes, fill) = match text.split_once(':') {
        Some((sizes, fill)) => {
            let sizes: Result<Vec<i64>, _> = sizes.split('x').map(str::parse).collect();
            (sizes.context("sizes are written as 64x32")?, fill)
        }
        None => (Vec::new(), text),
    };
    if let Some(of) = fill.strip_prefix('@') {
        let of = of
            .parse()
            .context("@ is followed by the number of another argument")?;
        return Ok(Argument::Shared { sizes, of });
    }
    let fill = match fill {
        "random" => Fill::Random,
        "ramp" => Fill::Ramp,
        "zero" => Fill::Zero,
        path if Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "npy") =>
        {
            return npy::read(Path::new(path));
        }
        other => bail!("'{other}' is no number, none of random, ramp and zero, no .npy file and no @OTHER"),
    };
    Ok(Argument::Buffer { sizes, fill })
}

/// The numbers that a view shows of a buffer, row by row.
pub fn numbers(view: &View, data: &[u8]) -> String {
    let elem = view.elem;
    let bytes = view
        .elements()
        .flat_map(|element| data[element].chunks_exact(elem.bytes()));
    let numbers = bytes.map(|bytes| {
        let bits = elem.from_bytes(bytes);
        match elem {
            Elem::Int(1) => bits.to_string(),
            Elem::Int(width) => signed(width, bits).to_string(),
            _ => to_f64(elem, bits).to_string(),
        }
    });
    numbers.collect::<Vec<_>>().join(" ")
}
