//! The plugin in a stock `mlir-opt`, whose dialect `async` is upstream's: every kernel of the lit tests and examples that upstream's
//! dialect can express gives the same as in `async-opt`, and hosts that do not fit get a message.
#![forbid(unsafe_code)]

mod conflicts;

use anyhow::{Context, Result, ensure};
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Options of the driver. All other flags of a RUN line are passes.
const DRIVER: [&str; 2] = ["--split-input-file", "--allow-unregistered-dialect"];
/// Options that change what is printed, or to where.
const IGNORED: [&str; 4] = [
    "--verify-diagnostics",
    "--mlir-print-op-generic",
    "--mlir-print-op-on-diagnostic=false",
    "--mlir-disable-threading",
];

/// Runs that a stock `mlir-opt` can't do, by what they contain, with the reason.
const ELSEWHERE: [(&str, &str); 7] = [
    (
        "async-to-runtime",
        "it lowers regions, which upstream's dialect lacks",
    ),
    ("async-lower-to-cpu", "it makes regions of what devices do"),
    (
        "async-import-gpu,canonicalize",
        "our joins simplify otherwise than operations of upstream's dialect",
    ),
    ("test_async.", "the dialect of our tests is in async-opt alone"),
    ("--affine-scalrep", "upstream's pass on our async operations"),
    ("one-shot-bufferize", "upstream's pass on our async operations"),
    (
        "gpu-module-to-binary",
        "only async-opt makes code for the simulated device",
    ),
];

fn target() -> PathBuf {
    let opt = Path::new(env!("CARGO_BIN_EXE_async-opt"));
    opt.parent().map(Path::to_path_buf).unwrap_or_default()
}

fn mlir_opt() -> Result<PathBuf> {
    let prefix = env::var("MLIR_SYS_220_PREFIX").context("MLIR_SYS_220_PREFIX is not set")?;
    Ok(Path::new(&prefix).join("bin/mlir-opt"))
}

/// `mlir-opt` with the plugin at this path.
fn host(plugin: &Path) -> Result<Command> {
    let mut command = Command::new(mlir_opt()?);
    command.arg(format!("--load-dialect-plugin={}", plugin.display()));
    command.arg(format!("--load-pass-plugin={}", plugin.display()));
    Ok(command)
}

/// The plugin. No package depends on it, so `cargo test` of this one does not build it.
fn plugin() -> PathBuf {
    let path = target().join("libasync_opt.so");
    assert!(
        path.exists(),
        "{} is missing: run `cargo build --workspace`",
        path.display()
    );
    path
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A command of a RUN line.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    /// Of the driver.
    options: Vec<String>,
    pipeline: String,
}

/// The commands of the RUN lines of a test that run `async-opt`, each with the kernel that it reads.
fn runs(test: &Path) -> Result<Vec<(PathBuf, Run)>> {
    let source = fs::read_to_string(test)?;
    let folder = test.parent().context("a test is in a folder")?;
    let joined = source.replace("\\\n// RUN:", " ");
    let mut runs = Vec::new();
    for (_, command) in joined
        .lines()
        .filter_map(|line| line.split_once("RUN: async-opt "))
    {
        let Some((kernel, rest)) = command.split_once(' ') else {
            continue;
        };
        let kernel = match kernel.strip_prefix("%S/") {
            Some(path) => folder.join(path).canonicalize()?,
            None if kernel == "%s" => test.to_path_buf(),
            None => continue,
        };
        runs.extend(run(rest).map(|run| (kernel, run)));
    }
    Ok(runs)
}

/// The command of the arguments in `line`, up to where its output goes.
fn run(line: &str) -> Option<Run> {
    let mut options = Vec::new();
    let mut passes = Vec::new();
    for word in words(line) {
        if word == "|" || word == "-o" || word.starts_with("2>") || word.starts_with('>') {
            break;
        }
        if DRIVER.contains(&&*word) {
            options.push(word);
        } else if let Some(pipeline) = word.strip_prefix("--pass-pipeline=") {
            let inner = pipeline.strip_prefix("builtin.module(")?;
            passes.push(inner.strip_suffix(')')?.to_owned());
        } else if word.starts_with("--mlir-") && !IGNORED.contains(&&*word) {
            return None;
        } else if !IGNORED.contains(&&*word) {
            passes.push(pass(word.strip_prefix("--")?));
        }
    }
    (!passes.is_empty()).then(|| Run {
        options,
        pipeline: passes.join(","),
    })
}

/// `flag=options` as a pipeline has it.
fn pass(flag: &str) -> String {
    match flag.split_once('=') {
        Some((name, options)) => format!("{name}{{{options}}}"),
        None => flag.to_owned(),
    }
}

/// The words of a shell command without expansions.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for character in line.chars() {
        let last = words.len() - 1;
        match (quote, character) {
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, ' ') => words.push(String::new()),
            _ => words[last].push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What became of a run.
enum Outcome {
    Equal,
    FailedAlike,
    /// Upstream's dialect lacks its operations, or it is wrong on purpose.
    NotExpressible,
    Elsewhere,
    Different(String),
}

/// The kernels that lit tests run `async-opt` on, each with the commands.
fn kernels() -> Result<BTreeMap<PathBuf, BTreeSet<Run>>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let mut folders = ["Transforms", "Conversion", "Integration"]
        .map(|name| root.join("test").join(name))
        .to_vec();
    let mut kernels: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "mlir" || extension == "test")
            {
                for (kernel, run) in runs(&path)? {
                    kernels.entry(kernel).or_default().insert(run);
                }
            }
        }
    }
    Ok(kernels)
}

/// Runs commands on one kernel in both tools.
fn compare(file: &Path, runs: &BTreeSet<Run>, scratch: &Path) -> Result<Vec<Outcome>> {
    let source = fs::read_to_string(file)?;
    let opt = env!("CARGO_BIN_EXE_async-opt");
    let common = ["--split-input-file", "--mlir-print-op-generic"];
    let exported = Command::new(opt)
        .arg(file)
        .args(common)
        .args(["--allow-unregistered-dialect", "--async-to-upstream"])
        .output()?;
    let kernel = scratch.join(file.to_string_lossy().replace('/', "_"));
    fs::write(&kernel, &exported.stdout)?;
    let mut outcomes = Vec::new();
    for run in runs {
        let is_elsewhere = |what: &str| source.contains(what) || run.pipeline.contains(what);
        if ELSEWHERE.iter().any(|(what, _)| is_elsewhere(what)) {
            outcomes.push(Outcome::Elsewhere);
            continue;
        }
        if !text(&exported.stdout).contains("builtin.module") {
            outcomes.push(Outcome::NotExpressible);
            continue;
        }
        let finish = |mut command: Command| -> Result<Output> {
            let pipeline = format!(
                "--pass-pipeline=builtin.module({},async-to-upstream)",
                run.pipeline
            );
            command.arg(&kernel).args(common).args(&run.options);
            Ok(command.arg(pipeline).output()?)
        };
        let (ours, theirs) = (finish(Command::new(opt))?, finish(host(&plugin())?)?);
        let same = without_times(&ours) == without_times(&theirs) && ours.status == theirs.status;
        outcomes.push(match (same, ours.status.success()) {
            (true, true) => Outcome::Equal,
            (true, false) => Outcome::FailedAlike,
            (false, _) => Outcome::Different(difference(file, run, &ours, &theirs)),
        });
    }
    Ok(outcomes)
}

/// What was printed, without how long code generation and `ptxas` took, which `gpu.object` notes.
fn without_times(output: &Output) -> String {
    let text = text(&output.stdout);
    let mut parts = text.split("TimeInMs = ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |so_far, part| {
        so_far + part.trim_start_matches(|digit: char| digit.is_ascii_digit())
    })
}

/// The first line that differs, and what the plugin has to say.
fn difference(file: &Path, run: &Run, ours: &Output, theirs: &Output) -> String {
    let (left, right) = (without_times(ours), without_times(theirs));
    let mut lines = left.lines().zip(right.lines());
    let (left, right) = lines.find(|(left, right)| left != right).unwrap_or_default();
    let errors = text(&theirs.stderr);
    let error = errors
        .lines()
        .find(|line| line.contains("error"))
        .unwrap_or_default();
    format!(
        "{}: {}\n  async-opt: {left}\n  mlir-opt:  {right}\n  {error}",
        file.display(),
        run.pipeline
    )
}

#[test]
fn kernels_come_out_as_in_async_opt() -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let kernels: Vec<_> = kernels()?.into_iter().collect();
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    let work = || -> Result<()> {
        while let Some((kernel, runs)) = kernels.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = compare(kernel, runs, scratch.path())?;
            outcomes.lock().expect("no thread panics with it").extend(found);
        }
        Ok(())
    };
    let workers = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().expect("no thread panics"));
        joined.collect::<Result<Vec<()>>>()
    })?;
    let outcomes = outcomes.into_inner()?;
    let count = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| is(outcome)).count();
    let equal = count(|outcome| matches!(outcome, Outcome::Equal));
    println!(
        "{equal} runs equal, {} fail in both, {} with operations that upstream's dialect lacks, {} not for mlir-opt",
        count(|outcome| matches!(outcome, Outcome::FailedAlike)),
        count(|outcome| matches!(outcome, Outcome::NotExpressible)),
        count(|outcome| matches!(outcome, Outcome::Elsewhere)),
    );
    let different: Vec<&String> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            Outcome::Different(text) => Some(text),
            _ => None,
        })
        .collect();
    ensure!(
        different.is_empty(),
        "{} differ:\n{different:#?}",
        different.len()
    );
    ensure!(equal >= 300, "only {equal} runs were compared");
    Ok(())
}

#[test]
fn passes_are_listed_in_the_hosts_help() -> Result<()> {
    let help = host(&plugin())?.arg("--help").output()?;
    let help = text(&help.stdout);
    for flag in [
        "--gpux-tokens-to-groups",
        "--async-pipeline",
        "--gpux-lower-to-nvvm",
    ] {
        ensure!(help.contains(flag), "{flag} is not in the help of mlir-opt");
    }
    Ok(())
}

#[test]
fn a_host_without_libmlir_is_told_what_it_needs() -> Result<()> {
    // Any program that opens it will do, as one of another LLVM would.
    let script = "import ctypes, sys\n\
                  class Info(ctypes.Structure):\n \
                  _fields_ = [('version', ctypes.c_uint32), ('name', ctypes.c_char_p), ('of', ctypes.c_char_p), ('run', ctypes.c_void_p)]\n\
                  get = ctypes.CDLL(sys.argv[1]).mlirGetPassPluginInfo\n\
                  get.restype = Info\n\
                  info = get()\n\
                  print(info.version, info.name.decode())";
    let output = Command::new("/usr/bin/python3")
        .args(["-c", script])
        .arg(plugin())
        .output()?;
    // A version that no host accepts.
    ensure!(text(&output.stdout) == "0 async-opt\n", "{output:?}");
    ensure!(
        text(&output.stderr).contains("needs a host that uses libMLIR.so.22.1"),
        "{output:?}"
    );
    Ok(())
}

#[test]
fn a_second_copy_defers_to_the_first() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for name in ["libasync_opt.so", "libasync_opt_core.so"] {
        fs::copy(target().join(name), folder.path().join(name))?;
    }
    let copy = folder.path().join("libasync_opt.so");
    let kernel = folder.path().join("kernel.mlir");
    fs::write(
        &kernel,
        "gpux.commit_group <cp_async>\ngpux.wait_group <cp_async>, 0\n",
    )?;
    let output = host(&plugin())?
        .arg(format!("--load-dialect-plugin={}", copy.display()))
        .arg(format!("--load-pass-plugin={}", copy.display()))
        .args([
            "--pass-pipeline=builtin.module(gpux-to-nvvm)".as_ref(),
            kernel.as_os_str(),
        ])
        .output()?;
    ensure!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    ensure!(
        text(&output.stdout).contains("nvvm.cp.async.wait.group 0"),
        "{output:?}"
    );
    Ok(())
}

/// Runs a pipeline on a source in the host.
fn run_in_host(source: &str, pipeline: &str) -> Result<Output> {
    let folder = tempfile::tempdir()?;
    let kernel = folder.path().join("kernel.mlir");
    fs::write(&kernel, source)?;
    let mut command = host(&plugin())?;
    command.arg(format!("--pass-pipeline=builtin.module({pipeline})"));
    Ok(command.arg(&kernel).output()?)
}

#[test]
fn host_code_with_upstreams_regions_stays() -> Result<()> {
    let source = "func.func private @work()\n\
                  func.func @host() {\n\
                  %t = async.execute { func.call @work() : () -> () async.yield }\n\
                  async.await %t : !async.token\n\
                  return }\n";
    let output = run_in_host(source, "gpux-tokens-to-groups")?;
    ensure!(output.status.success(), "{output:?}");
    ensure!(text(&output.stdout).contains("async.execute"), "{output:?}");
    Ok(())
}

#[test]
fn what_upstreams_dialect_has_for_hosts_is_told_from_device_code() -> Result<()> {
    let module = |body: &str| format!("gpu.module @m {{\n{body}\n}}\n");
    let group = "gpu.func @k(%n: index) kernel { %g = async.create_group %n : !async.group gpu.return }";
    let call = "async.func @work() -> !async.token { return }\n\
                gpu.func @k() kernel {\n\
                %t = async.call @work() : () -> !async.token\n\
                async.await %t : !async.token\n\
                gpu.return }";
    for (body, advice) in [
        (group, "it is for host code"),
        (call, "make it a func.func that takes or returns tokens"),
    ] {
        let output = run_in_host(&module(body), "gpux-lower-to-nvvm")?;
        ensure!(output.status.code() == Some(1), "{output:?}");
        ensure!(text(&output.stderr).contains(advice), "{output:?}");
    }
    Ok(())
}

#[test]
fn attributes_that_upstream_does_not_verify_are_verified_by_the_pass() -> Result<()> {
    for wrong in [
        "async.num_stages = 0",
        "async.num_stages = \"three\"",
        "async.num_stage = 3",
    ] {
        let source = format!(
            "func.func @k(%n: index) {{\n\
             %c0 = arith.constant 0 : index\n\
             %c1 = arith.constant 1 : index\n\
             scf.for %i = %c0 to %n step %c1 {{ }} {{{wrong}}}\n\
             return }}\n"
        );
        let output = run_in_host(&source, "async-pipeline")?;
        ensure!(output.status.code() == Some(1), "{output:?}");
        ensure!(text(&output.stderr).contains("error: 'scf.for' op"), "{output:?}");
    }
    Ok(())
}

#[test]
fn a_transform_without_the_passes_says_what_is_missing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("script.mlir");
    let source = "module attributes {transform.with_named_sequence} {\n\
                  transform.named_sequence @__transform_main(%m: !transform.any_op) {\n\
                  %f = transform.structured.match ops{[\"scf.for\"]} in %m : (!transform.any_op) -> !transform.any_op\n\
                  transform.async.pipeline %f : (!transform.any_op) -> !transform.any_op\n\
                  transform.yield } }\n";
    fs::write(&script, source)?;
    let output = Command::new(mlir_opt()?)
        .arg(format!("--load-dialect-plugin={}", plugin().display()))
        .arg("--transform-interpreter")
        .arg(&script)
        .output()?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    ensure!(
        text(&output.stderr).contains("load the passes of async-opt, too"),
        "{output:?}"
    );
    Ok(())
}

/// It would need the reader of `async-sim`.
#[test]
fn code_for_the_simulated_device_is_made_elsewhere() -> Result<()> {
    let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../test/Dialect/Gpux/sim-target.mlir");
    let output = host(&plugin())?
        .arg("--gpu-module-to-binary")
        .arg(kernel)
        .output()?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    ensure!(
        text(&output.stderr)
            .contains("can't be made code for the simulated device by this program: use async-opt"),
        "{output:?}"
    );
    Ok(())
}

#[test]
fn upstreams_regions_are_issued_in_place() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let kernel = folder.path().join("kernel.mlir");
    let source = "func.func @k(%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index) {\n\
                  %t = gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>\n\
                  %u = async.execute [%t] { async.yield }\n\
                  async.await %u : !async.token\n\
                  return }\n";
    let run = |source: &str| -> Result<Output> {
        fs::write(&kernel, source)?;
        let mut command = host(&plugin())?;
        command.arg("--pass-pipeline=builtin.module(gpux-tokens-to-groups)");
        Ok(command.arg(&kernel).output()?)
    };
    let output = run(source)?;
    ensure!(output.status.success(), "{output:?}");
    ensure!(
        text(&output.stdout).contains("gpux.wait_group <cp_async>, 0"),
        "{output:?}"
    );

    let output = run(&source.replace("%u =", "%u, %v =").replace(
        "{ async.yield }",
        "-> !async.value<index> { async.yield %i : index }",
    ))?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    ensure!(
        text(&output.stderr).contains("which device code can't have"),
        "{output:?}"
    );
    Ok(())
}
