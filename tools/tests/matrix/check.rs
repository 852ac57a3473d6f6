//! What is held of a kernel: every form of it is clean and computes the same, and machine code can be made of it.

use crate::helper::{self, Call};
use crate::kernels::{Arg, Kernel};
use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::inputs::{self, Argument, Fill};
use async_sim::machine::{Launch, Machine};
use async_sim::memory::Memory;
use async_sim::show::Names;
use async_sim::value::Value;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex};

/// What keeps a slot from being filled while it is used.
pub const WARS: [&str; 2] = ["barrier", "mbarrier"];

/// The schedules that every form is run under.
const SCHEDULES: [Adversary; 3] = [Adversary::Late, Adversary::Early, Adversary::Random(7)];

/// A kernel in one of its forms.
pub struct Form {
    /// What it is called in a message.
    name: String,
    source: String,
}

/// The forms of a kernel: with tokens, and lowered in both ways. What is wrong about the lowering is the error.
///
/// # Errors
///
/// Where a pass refuses the kernel, or makes another number of mbarriers than it takes.
pub fn forms(context: &Context, source: &str, mbarriers: Option<usize>) -> Result<Vec<Form>, String> {
    let mut forms = vec![Form {
        name: "tokens".into(),
        source: source.to_owned(),
    }];
    for war in WARS {
        let pipeline = format!(
            "builtin.module(gpu.module(gpu.func(gpux-tokens-to-mbarriers{{war={war}}},gpux-tokens-to-groups)))"
        );
        let lowered = helper::try_lower(context, source, &pipeline)
            .ok_or_else(|| keep(source, &format!("{pipeline} fails")))?;
        let lowered = lowered.as_operation().to_string();
        let made = made(&lowered);
        if mbarriers.is_some_and(|mbarriers| war == "barrier" && made != mbarriers) {
            let wanted = mbarriers.unwrap_or_default();
            return Err(keep(
                source,
                &format!("{made} mbarriers are made, and {wanted} are enough"),
            ));
        }
        forms.push(Form {
            name: format!("war={war}"),
            source: lowered,
        });
    }
    Ok(forms)
}

/// The number of mbarriers that a kernel makes.
fn made(lowered: &str) -> usize {
    let groups = lowered
        .lines()
        .filter(|line| line.contains("nvgpu.mbarrier.create"));
    let count = |line: &str| {
        let (_, number) = line.split_once("num_barriers = ")?;
        number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    // A group of one does not say so.
    groups.map(|line| count(line).unwrap_or(1)).sum()
}

/// Runs all forms under all schedules.
///
/// # Errors
///
/// Where a run reports something, or leaves other numbers behind than it should.
pub fn run(context: &Context, forms: &[Form], kernel: &Kernel) -> Result<(), String> {
    let call = call(kernel);
    let expected = (kernel.expected.0, kernel.left());
    for form in forms {
        let code = helper::parse(context, &form.source);
        for schedule in SCHEDULES {
            let under = format!("{}, {schedule:?}", form.name);
            let schedule_matters = run_once(&code, &call, schedule, &expected)
                .map_err(|error| keep(&form.source, &format!("{under}: {error}")))?;
            if !schedule_matters {
                // Nothing was left to the schedule, so this run stands for all.
                break;
            }
        }
    }
    Ok(())
}

/// Runs a kernel, and returns true if the schedule had anything to say.
fn run_once(
    code: &Code,
    call: &Call,
    schedule: Adversary,
    expected: &(usize, Vec<f32>),
) -> Result<bool, String> {
    let threads = code.block.unwrap_or(call.block);
    let mut memory = Memory::new(schedule, threads.iter().product());
    let arguments = inputs::arguments(&mut memory, &code.params, &call.arguments, call.seed)
        .map_err(|error| error.to_string())?;
    let launch = Launch {
        grid: call.grid,
        block: threads,
        dynamic_workgroup: call.dynamic_workgroup,
        budget: call.budget,
    };
    let mut machine = Machine::new(code, launch, memory);
    let stop = machine.run(&arguments, 1, &mut |_, _| {}).err();
    let iterations = std::mem::take(&mut machine.iterations);
    let schedule_matters = machine.memory.schedule_matters;
    let (buffers, _, reports) = machine.memory.into_parts();
    let names = Names {
        code,
        buffers: &buffers,
        iterations: &iterations,
        block: threads,
        grid: call.grid,
        tasks: &[],
    };
    let findings = names.findings(&reports, stop.as_ref());
    if let Some(finding) = findings.iter().find(|finding| !finding.note) {
        return Err(finding.text());
    }
    let buffer = match &arguments[expected.0] {
        Value::View(view) => view.buffer,
        Value::Tensor(tensor) => tensor.view.buffer,
        _ => return Err(format!("argument {} is no buffer", expected.0)),
    };
    differs(&buffers[buffer.0 as usize].data, &expected.1).map_or(Ok(schedule_matters), Err)
}

/// Where the result is not what it should be.
fn differs(bytes: &[u8], expected: &[f32]) -> Option<String> {
    let (bytes, _) = bytes.as_chunks::<4>();
    let numbers = bytes.iter().map(|bytes| f32::from_le_bytes(*bytes));
    let mut pairs = numbers.zip(expected).enumerate();
    // They are exact.
    let (i, (is, should)) =
        pairs.find(|(_, (is, should))| is.partial_cmp(should).is_none_or(Ordering::is_ne))?;
    Some(format!("element {i} is {is}, but should be {should}"))
}

/// How a kernel is called.
fn call(kernel: &Kernel) -> Call {
    let argument = |arg: &Arg| match arg {
        Arg::Buffer { sizes, data } => Argument::Buffer {
            sizes: sizes
                .iter()
                .map(|&size| i64::try_from(size).unwrap_or(i64::MAX))
                .collect(),
            fill: Fill::Bytes {
                bytes: data.iter().flat_map(|number| number.to_le_bytes()).collect(),
                kind: "<f4".into(),
            },
        },
        Arg::Index(value) => Argument::Integer(i128::try_from(*value).unwrap_or(0)),
    };
    let (blocks, stride) = kernel.launch();
    let stride = Arg::Index(stride);
    Call {
        grid: [u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1],
        arguments: kernel
            .args
            .iter()
            .chain([&stride])
            .map(|arg| Some(argument(arg)))
            .collect(),
        ..Call::of(1)
    }
}

/// Makes PTX for sm_90a, and assembles it; what was assembled before is not again.
///
/// # Errors
///
/// Where a tool refuses what it gets.
pub fn assemble(context: &Context, source: &str) -> Result<(), String> {
    static DONE: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);
    if !DONE.lock().is_ok_and(|mut done| done.insert(source.to_owned())) {
        return Ok(());
    }
    for war in WARS {
        let pipeline = format!("builtin.module(gpux-lower-to-nvvm{{chip=sm_90a war={war}}})");
        let module = helper::try_lower(context, source, &pipeline)
            .ok_or_else(|| keep(source, &format!("{pipeline} fails")))?;
        let text = module.as_operation().to_string();
        let ptx = pipe(
            Path::new(env!("CARGO_BIN_EXE_async-translate")),
            &["--ptx"],
            text.as_bytes(),
        )
        .map_err(|error| keep(source, &error))?;
        let arguments = ["-arch=sm_90a", "-o", "/dev/null", "-"];
        pipe(&ptxas(), &arguments, &ptx).map_err(|error| keep(source, &error))?;
    }
    Ok(())
}

/// Where `tools/setup` puts ptxas; else the one on the path.
fn ptxas() -> PathBuf {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/ptxas");
    if installed.is_file() {
        installed
    } else {
        "ptxas".into()
    }
}

/// Runs a command on some input, and returns its output.
fn pipe(command: &Path, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let name = command.display();
    let fails = |error: std::io::Error| format!("{name}: {error}");
    let mut child = Command::new(command)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(fails)?;
    let stdin = child.stdin.take();
    // All of the input is read before there is any output.
    let written = stdin.map_or(Ok(()), |mut stdin| stdin.write_all(input));
    let output = child.wait_with_output().map_err(fails)?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{name} fails: {said}"));
    }
    written.map_err(fails)?;
    Ok(output.stdout)
}

/// Keeps what a check fails on, and says where.
pub fn keep(source: &str, message: &str) -> String {
    static NUMBER: Mutex<usize> = Mutex::new(0);
    let number = NUMBER.lock().map_or(0, |mut number| {
        *number += 1;
        *number
    });
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("matrix-{number}.mlir"));
    match std::fs::write(&path, source) {
        Ok(()) => format!("{message}\n  ({})", path.display()),
        Err(_) => message.to_owned(),
    }
}
