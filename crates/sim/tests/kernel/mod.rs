//! Kernels as text, lowered and run in this process.
#![allow(dead_code)] // Not every test needs all of it.

pub mod lit;
pub mod parallel;

use async_dialects::registry::{register_all_dialects, register_upstream_passes};
use async_mlir::ir::{Op, Walk};
use async_mlir::melior::Context;
use async_mlir::melior::dialect::DialectRegistry;
use async_mlir::melior::ir::Module;
use async_mlir::melior::pass::PassManager;
use async_mlir::melior::utility::parse_pass_pipeline;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::inputs::{self, Argument};
use async_sim::machine::{Launch, Machine};
use async_sim::memory::Memory;
use async_sim::read::{self, UncountedWaits};
use async_sim::refine::Trace;
use async_sim::show::{Finding, Names};
use async_sim::value::Value;
use std::collections::BTreeSet;
use std::sync::Once;

// As in the tools: that of the C library returns memory to the system after each run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How a kernel is called.
#[derive(Clone)]
pub struct Call {
    pub grid: [u32; 3],
    /// The threads of a block, where the kernel does not say.
    pub block: [u32; 3],
    pub dynamic_workgroup: usize,
    pub arguments: Vec<Option<Argument>>,
    /// The most instructions of one thread.
    pub budget: u64,
    /// Of what random buffers hold.
    pub seed: u64,
}

impl Call {
    /// One block of so many threads, with arguments made up.
    pub fn of(threads: u32) -> Self {
        Self {
            grid: [1; 3],
            block: [threads, 1, 1],
            dynamic_workgroup: 0,
            arguments: Vec::new(),
            budget: 1 << 24,
            seed: 0,
        }
    }
}

/// What came of a run.
pub struct Outcome {
    /// What is wrong, or nothing.
    pub findings: String,
    /// The kind of each finding, where it is, and where what it collides with.
    pub places: BTreeSet<(&'static str, String, Option<String>)>,
    /// True if it could not go on to its end.
    pub stopped: bool,
    /// True if other schedules may go another way.
    pub schedule_matters: bool,
    /// The bytes of the arguments' buffers afterwards.
    pub memory: Vec<Vec<u8>>,
    /// What the threads did.
    pub trace: Trace,
}

impl Outcome {
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Everything loaded.
pub fn context() -> Context {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        async_passes::register_all();
        register_upstream_passes();
    });
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    Context::new_with_registry(&registry, true)
}

/// Runs a pipeline such as `builtin.module(canonicalize)` over a module.
pub fn lower(context: &Context, source: &str, pipeline: &str) -> String {
    let module = try_lower(context, source, pipeline);
    let module = module.unwrap_or_else(|| panic!("{pipeline} fails:\n{source}"));
    module.as_operation().to_string()
}

/// The same; `None` where the source can't be parsed, or a pass refuses it.
pub fn try_lower<'c>(context: &'c Context, source: &str, pipeline: &str) -> Option<Module<'c>> {
    let mut module = Module::parse(context, source)?;
    let passes = PassManager::new(context);
    parse_pass_pipeline(passes.as_operation_pass_manager(), pipeline).expect("a pipeline");
    passes.run(&mut module).ok()?;
    Some(module)
}

/// The tokens of a kernel counted, with options of the pass.
pub fn count(context: &Context, source: &str, options: &str) -> String {
    lower(
        context,
        source,
        &format!("builtin.module(gpu.module(gpu.func(gpux-tokens-to-groups{{{options}}})))"),
    )
}

/// Reads the only kernel of a module.
pub fn parse(context: &Context, source: &str) -> Code {
    parse_with(context, source, UncountedWaits::All)
}

/// The same, with waits without a count that wait for this.
pub fn parse_with(context: &Context, source: &str, uncounted: UncountedWaits) -> Code {
    let module = Module::parse(context, source).unwrap_or_else(|| panic!("can't be parsed:\n{source}"));
    read_kernel(&module, uncounted)
}

/// Reads the only kernel of a module that has been parsed.
pub fn read_kernel(module: &Module, uncounted: UncountedWaits) -> Code {
    let mut kernel = None;
    Op::from(module.as_operation()).walk(|op| {
        if op.is("gpu.func") {
            kernel = Some(op);
        }
        Walk::Advance
    });
    let kernel = kernel.expect("a kernel");
    read::read(kernel, uncounted).unwrap_or_else(|unknown| panic!("{unknown}:\n{}", module.as_operation()))
}

/// Runs the only kernel of a module.
pub fn run(context: &Context, source: &str, call: &Call, adversary: Adversary) -> Outcome {
    execute(&parse(context, source), call, adversary)
}

/// A machine that is to run a kernel, and its arguments.
pub fn launch<'c>(code: &'c Code, call: &Call, adversary: Adversary) -> (Machine<'c>, Vec<Value>) {
    let block = code.block.unwrap_or(call.block);
    let mut memory = Memory::new(adversary, code.threads(block));
    let arguments =
        inputs::arguments(&mut memory, &code.params, &call.arguments, call.seed).expect("arguments that fit");
    let launch = Launch {
        grid: call.grid,
        block,
        dynamic_workgroup: call.dynamic_workgroup,
        budget: call.budget,
    };
    (Machine::new(code, launch, memory), arguments)
}

/// Returns true if both are the same code, of which one run is enough.
pub fn is_same(a: &Code, b: &Code) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

/// Runs a kernel.
pub fn execute(code: &Code, call: &Call, adversary: Adversary) -> Outcome {
    let (mut machine, arguments) = launch(code, call, adversary);
    machine.trace = Some(Trace::of(code));
    let stop = machine.run(&arguments, 1, &mut |_, _| {}).err();
    let trace = machine.trace.take().unwrap_or_default();
    let iterations = std::mem::take(&mut machine.iterations);
    let started = machine.started();
    let schedule_matters = machine.memory.schedule_matters;
    let (buffers, _, reports) = machine.memory.into_parts();
    let names = Names {
        code,
        buffers: &buffers,
        iterations: &iterations,
        block: code.block.unwrap_or(call.block),
        grid: call.grid,
        tasks: &started,
    };
    let findings = names.findings(&reports, stop.as_ref());
    let findings = findings.iter().filter(|finding| !finding.note);
    let places = findings.clone().map(|finding| {
        let against = finding.against.as_ref().map(|against| against.location.clone());
        (finding.kind, finding.at.location.clone(), against)
    });
    let places = places.collect();
    let findings = findings.map(Finding::text).collect();
    let memory = arguments
        .iter()
        .filter_map(|argument| match argument {
            Value::View(view) => Some(buffers[view.buffer.0 as usize].data.clone()),
            Value::Tensor(tensor) => Some(buffers[tensor.view.buffer.0 as usize].data.clone()),
            _ => None,
        })
        .collect();
    Outcome {
        findings,
        places,
        stopped: stop.is_some(),
        schedule_matters,
        memory,
        trace,
    }
}
