//! The command line.

use anyhow::{Context, Result, bail};
use async_sim::code::ParamKind;
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
    /// The kernel to run; else every gpu.func, or every function if there is none.
    #[arg(long)]
    pub kernel: Option<String>,
    /// How many blocks: x, or x,y,z.
    #[arg(long, value_parser = dimensions)]
    pub grid: Option<[u32; 3]>,
    /// How many threads a block has; else what the kernel says, or one.
    #[arg(long, value_parser = dimensions)]
    pub block: Option<[u32; 3]>,
    /// An argument, by position: INDEX=VALUE, where VALUE is a number, or [SIZExSIZE…:]random, ramp, zero or a .npy file.
    #[arg(long = "arg", value_name = "INDEX=VALUE")]
    pub args: Vec<Assignment>,
    /// How many bytes of dynamic workgroup memory there are.
    #[arg(long, default_value_t = 0)]
    pub dynamic_workgroup: usize,
    /// When asynchronous work happens.
    #[arg(long, value_enum, default_value_t = Schedule::Late)]
    pub schedule: Schedule,
    /// The seed of a random schedule.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// How many runs of a random schedule, each with the next seed.
    #[arg(long, default_value_t = 1)]
    pub runs: u32,
    /// The most instructions that one thread runs.
    #[arg(long, default_value_t = 1 << 32)]
    pub budget: u64,
    /// Prints the buffers of the arguments afterwards.
    #[arg(long)]
    pub print: bool,
    /// Writes the buffer of an argument to a file: INDEX=FILE.npy
    #[arg(long, value_name = "INDEX=FILE")]
    pub out: Vec<Assignment>,
    /// Draws when what happens in the first block, as SVG.
    #[arg(long, value_name = "FILE.svg")]
    pub timeline: Option<PathBuf>,
    /// The same as a trace for Perfetto.
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,
    /// Another lowering of the kernel, run the same way, to draw on the same axis.
    #[arg(long, value_name = "FILE.mlir")]
    pub compare: Option<String>,
    /// Another form of the kernel, such as its token form: checks that all that it waits for is waited for here, too.
    #[arg(long, value_name = "FILE.mlir")]
    pub refines: Option<String>,
    /// What the timeline takes things to cost, in cycles: NAME=CYCLES with issue, access, mma, latency or bytes-per-cycle.
    #[arg(long, value_name = "NAME=CYCLES", value_parser = cost)]
    pub cost: Vec<(String, u64)>,
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

/// `INDEX=TEXT`
#[derive(Clone)]
pub struct Assignment {
    index: usize,
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
    /// The path, if this is for argument `index`.
    pub fn of(&self, index: usize) -> Option<&Path> {
        (self.index == index).then(|| Path::new(&self.text))
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
    if !["issue", "access", "mma", "latency", "bytes-per-cycle"].contains(&name) {
        bail!("there is no cost named '{name}'");
    }
    Ok((name.to_owned(), cycles.parse()?))
}

impl Options {
    /// Returns true if a timeline is asked for.
    pub fn wants_timeline(&self) -> bool {
        self.timeline.is_some() || self.trace.is_some()
    }

    /// What things cost.
    pub fn costs(&self) -> Costs {
        let mut costs = Costs::default();
        for (name, cycles) in &self.cost {
            let cost = match name.as_str() {
                "issue" => &mut costs.issue,
                "access" => &mut costs.access,
                "mma" => &mut costs.mma,
                "latency" => &mut costs.latency,
                _ => &mut costs.bytes_per_cycle,
            };
            *cost = *cycles;
        }
        costs
    }

    /// The arguments that were given, by position.
    pub fn arguments(&self) -> Result<Vec<Option<Argument>>> {
        let mut arguments = Vec::new();
        for given in &self.args {
            if arguments.len() <= given.index {
                arguments.resize(given.index + 1, None);
            }
            let argument =
                argument(&given.text, given.index).with_context(|| format!("argument {}", given.index))?;
            arguments[given.index] = Some(argument);
        }
        Ok(arguments)
    }
}

fn argument(text: &str, index: usize) -> Result<Argument> {
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
    let fill = match fill {
        "random" => Fill::Random(index as u64),
        "ramp" => Fill::Ramp,
        "zero" => Fill::Zero,
        path if Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "npy") =>
        {
            return read_npy(&PathBuf::from(path));
        }
        other => bail!("'{other}' is no number, none of random, ramp and zero, and no .npy file"),
    };
    Ok(Argument::Buffer { sizes, fill })
}

/// The start of a file in the format of NumPy (NEP 1), version 1.0.
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

fn read_npy(path: &Path) -> Result<Argument> {
    let bytes = std::fs::read(path).with_context(|| format!("{}", path.display()))?;
    let header = bytes.strip_prefix(MAGIC).and_then(|rest| {
        let (length, rest) = rest.split_first_chunk::<2>()?;
        rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
    });
    let Some((header, data)) = header else {
        bail!("{} is no .npy file of version 1.0", path.display());
    };
    let header = String::from_utf8_lossy(header);
    if header.contains("'fortran_order': True") {
        bail!("{} is in Fortran order", path.display());
    }
    let shape = header
        .split_once("'shape': (")
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(shape, _)| shape)
        .context("the header has no shape")?;
    let sizes: Result<Vec<i64>, _> = shape
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty())
        .map(str::parse)
        .collect();
    Ok(Argument::Buffer {
        sizes: sizes?,
        fill: Fill::Bytes(data.to_vec()),
    })
}

/// Writes a buffer without gaps.
pub fn write_npy(path: &Path, view: &View, data: &[u8]) -> Result<()> {
    let kind = match view.elem {
        Elem::F16 => "<f2",
        Elem::F32 => "<f4",
        Elem::F64 => "<f8",
        // NumPy has no such type.
        Elem::BF16 => "<u2",
        Elem::Int(1) => "|b1",
        Elem::Int(bits) if bits <= 8 => "|i1",
        Elem::Int(bits) if bits <= 16 => "<i2",
        Elem::Int(bits) if bits <= 32 => "<i4",
        Elem::Int(_) => "<i8",
    };
    let shape: Vec<String> = view.sizes.iter().map(|size| format!("{size},")).collect();
    let mut header = format!(
        "{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}), }}",
        shape.concat()
    );
    while !(MAGIC.len() + 2 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut file = MAGIC.to_vec();
    file.extend(u16::try_from(header.len())?.to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    std::fs::write(path, file).with_context(|| format!("{}", path.display()))
}

/// The numbers of a buffer.
pub fn numbers(kind: &ParamKind, data: &[u8]) -> String {
    let ParamKind::MemRef { elem, .. } = kind else {
        return String::new();
    };
    let numbers = data.chunks_exact(elem.bytes()).map(|bytes| {
        let bits = elem.from_bytes(bytes);
        match elem {
            Elem::Int(width) => signed(*width, bits).to_string(),
            _ => to_f64(*elem, bits).to_string(),
        }
    });
    numbers.collect::<Vec<_>>().join(" ")
}
