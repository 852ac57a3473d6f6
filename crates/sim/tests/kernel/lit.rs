//! The kernels of the lit tests and examples, and arguments that they run with.

use super::{Call, context, parallel, try_lower};
use async_mlir::ir::{Op, Walk};
use async_mlir::melior::Context;
use async_sim::code::{Code, ParamKind};
use async_sim::inputs::{Argument, Fill};
use async_sim::read::{self, UncountedWaits};
use async_sim::value::Elem;
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

/// The folder that tests and examples are in.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files with kernels.
pub fn all_files() -> Vec<PathBuf> {
    let folders = ["test", "examples", "bench/gpu/reference"].iter();
    folders.flat_map(|folder| files(&root().join(folder))).collect()
}

/// A module of a file with kernels.
struct Source {
    /// Of the file.
    name: String,
    text: String,
}

/// What takes minutes: hundreds of megabytes for each thread, and copies of megabytes, element by element.
const LARGE: [&str; 2] = ["memref<40000000xindex>", "memref<512x1024xf32, 3>"];

/// Every module of the files with kernels; what is to be refused is no program, and what is `LARGE` is left out.
fn sources() -> Vec<Source> {
    let root = root();
    let mut all = Vec::new();
    for file in all_files() {
        let text = std::fs::read_to_string(&file).expect("a test");
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        let parts = text
            .split("// -----")
            .filter(|part| !part.contains("expected-error"))
            .filter(|part| !LARGE.iter().any(|large| part.contains(large)));
        all.extend(parts.map(|part| Source {
            name: name.clone(),
            text: part.to_owned(),
        }));
    }
    all
}

/// Applies `f` to every module of the files with kernels, with the name of its file, on all cores. Returns the results in the files'
/// order. What is refused is not printed.
pub fn map_sources<T: Send>(f: impl Fn(&Context, &str, &str) -> T + Sync) -> Vec<T> {
    let quiet = || {
        let context = context();
        context.set_allow_unregistered_dialects(true);
        context.attach_diagnostic_handler(|_| true);
        context
    };
    parallel::map(&sources(), quiet, |context, Source { name, text }| {
        f(context, name, text)
    })
}

/// The same with a tally, and their sum.
pub fn tally_sources<T: Default + AddAssign + Send>(f: impl Fn(&Context, &str, &str, &mut T) + Sync) -> T {
    let tallies = map_sources(|context, name, source| {
        let mut tally = T::default();
        f(context, name, source, &mut tally);
        tally
    });
    tallies.into_iter().fold(T::default(), |mut sum, tally| {
        sum += tally;
        sum
    })
}

pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of tests") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "mlir") {
            all.push(path);
        }
    }
    all.sort();
    all
}

/// The functions of a module, or those that have asynchronous operations of a device, by name.
pub fn kernels<'c>(module: Op<'c>, asynchronous: bool) -> Kernels {
    let mut all = BTreeMap::new();
    module.walk(|op: Op<'c>| {
        let has_body = op.is_function() && op.num_regions() == 1 && op.region(0).first().is_some();
        if !has_body || op.is("async.func") {
            return Walk::Advance;
        }
        let launches = read::launches(op);
        let name = op.str_attr("sym_name").unwrap_or_default().to_owned();
        let mut found = vec![(name, op)];
        if !launches.is_empty() {
            let named = launches
                .into_iter()
                .map(|launch| (read::launch_name(launch), launch));
            found = named.collect();
        }
        for (name, kernel) in found {
            if !asynchronous || is_asynchronous(kernel) {
                let code = read::read(kernel, UncountedWaits::All).map_err(|unknown| unknown.message);
                all.insert(name, code);
            }
        }
        Walk::Skip
    });
    all
}

/// Returns true if an operation of `kernel` is asynchronous on a device.
fn is_asynchronous(kernel: Op<'_>) -> bool {
    let prefixes = ["gpux.", "nvgpu.device_async", "nvvm.cp.async"];
    let is_one = |op: Op| prefixes.iter().any(|prefix| op.name().starts_with(prefix));
    kernel.self_and_nested().into_iter().any(is_one)
}

pub type Kernels = BTreeMap<String, Result<Code, String>>;

/// What passes make of the functions of a test, or without passes, its asynchronous ones; `None` where they refuse it.
pub fn lowered(context: &Context, source: &str, passes: &str) -> Option<Kernels> {
    // The last pass is what the tool runs, too; others see the loops of `affine`.
    let module = try_lower(context, source, &format!("builtin.module({passes}lower-affine)"))?;
    Some(kernels(Op::from(module.as_operation()), passes.is_empty()))
}

/// Arguments for a kernel: numbers that loops and indices of these tests like.
pub fn call(code: &Code, seed: u64) -> Call {
    let mut state = seed;
    let mut draw = |from: &[i128]| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        from[(state >> 33) as usize % from.len()]
    };
    let arguments = code.params.iter().map(|param| {
        Some(match &param.kind {
            ParamKind::Number(Elem::Int(1)) => Argument::Integer(draw(&[0, 1])),
            ParamKind::Number(Elem::Int(_)) => Argument::Integer(draw(&[0, 0, 0, 1, 4, 4, 8, 16])),
            ParamKind::Number(_) => Argument::Number(1.0),
            ParamKind::Unused => Argument::Integer(0),
            ParamKind::Tensor(tile) => Argument::Buffer {
                sizes: tile.sizes.iter().map(|size| 4 * size).collect(),
                fill: Fill::Random,
            },
            ParamKind::MemRef { sizes, .. } => Argument::Buffer {
                sizes: sizes
                    .iter()
                    .map(|size| size.unwrap_or(if sizes.len() == 1 { 4096 } else { 128 }))
                    .collect(),
                fill: Fill::Random,
            },
        })
    });
    Call {
        arguments: arguments.collect(),
        budget: 1 << 14,
        seed,
        // As much as a block has.
        dynamic_workgroup: 227 << 10,
        ..Call::of(if seed.is_multiple_of(2) { 1 } else { 32 })
    }
}
