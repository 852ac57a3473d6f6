//! Every lit test with device code is a program, and what lowering makes of it is held against it: run side by side,
//! the counted form and the form in the NVVM dialect wait for all that the tokens wait for, and are clean where it is.
//!
//! Most of these tests are skeletons: they show where tokens go, and all of their copies write to one place. As programs
//! they race, and so does what is made of them; the comparison does not mind (see `async_sim::refine`).
#![allow(missing_docs)]

mod kernel;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::refine;
use kernel::lit::{self, Kernels, call, lowered};
use kernel::{Call, Outcome, execute, is_same};
use std::ops::AddAssign;

/// Arguments are tried until the program runs to its end with so many.
const CALLS: u64 = 3;
const ATTEMPTS: u64 = 16;

/// Options under which tokens are counted.
const OPTIONS: [&str; 3] = [
    "",
    "drop-implied=false",
    "form-groups=false balance=false unroll-limit=0",
];

/// A kernel of a test.
struct Kernel {
    /// `test/Transforms/…/branches.mlir, @name`
    title: String,
    code: Code,
}

/// Holds what was made of a kernel against it. Returns whether it is clean itself; `None` if no arguments were found
/// that it runs with.
fn holds(kernel: &Kernel, lowered: &[(&str, &Code)], tokens: bool) -> Option<bool> {
    let mut calls = 0;
    let mut clean = true;
    for seed in 0..ATTEMPTS {
        let call = call(&kernel.code, seed);
        let meant = execute(&kernel.code, &call, Adversary::Early);
        if meant.stopped {
            continue;
        }
        // What is lowered takes more instructions.
        let call = Call {
            budget: call.budget << 4,
            ..call
        };
        for (form, code) in lowered {
            let place = format!("{}, {form}, call {seed}", kernel.title);
            let outcome: Outcome = execute(code, &call, Adversary::Late);
            if tokens {
                let difference = refine::compare(&meant.trace, &outcome.trace);
                assert!(difference.is_none(), "{place}: {difference:?}");
            }
            if meant.is_clean() {
                assert!(outcome.is_clean(), "{place}: {}", outcome.findings);
                assert!(outcome.memory == meant.memory, "{place}: other memory");
            }
        }
        clean &= meant.is_clean();
        calls += 1;
        if calls == CALLS {
            break;
        }
    }
    (calls > 0).then_some(clean)
}

/// Why a kernel is left out: part of its title or of what was said of it, and why that is as it should be.
const EXPLAINED: &[(&str, &str)] = &[
    (
        "tokens-to-mbarriers/too-many-states.mlir",
        "it is more than the check can look at, which is refused",
    ),
    (
        "gpux-to-nvvm/wgmma-serialization.mlir",
        "no arguments run it: what it multiplies is poison",
    ),
    (
        "async-pipeline/wgmma.mlir, @never_awaited",
        "it stores what nobody awaits, which is refused",
    ),
    (
        "Sim/programs/",
        "host code with device work is run as a whole program",
    ),
    (
        "gpux-host-to-runtime/",
        "what the host asks of a device is no device code",
    ),
    ("Run/fail-at.mlir", "it is a program of the host, which runs"),
    (
        "does not know 'llvm.switch'",
        "code in the llvm dialect is refused by what lifts it",
    ),
    (
        "Run/kernel-variables.mlir",
        "it is a program of the host, which runs",
    ),
    (
        "Run/rfc-program-3.mlir",
        "it is a program of the host, which runs",
    ),
    (
        "the interpreter does not know 'gpux.alloc'",
        "what the host asks of a device is no device code",
    ),
    (
        "the interpreter does not know 'gpux.host_alloc'",
        "what the host asks of a device is no device code",
    ),
    (
        "the interpreter does not know 'gpux.transfer'",
        "what the host asks of a device is no device code",
    ),
    ("doc-examples.mlir, @to_device", "it takes tensors"),
    (
        "insert-barriers/wgmma.mlir",
        "its matrices are whatever is in the memory",
    ),
    ("Gpux/host-", "what takes tensors in these files is of the host"),
    (
        "_flag: the interpreter does not know 'gpux.",
        "flags are of machines other than GPUs",
    ),
    (
        "schedule/thread-of-gpu.mlir",
        "its functions take fragments of matrices and hand back tokens, and are no kernels",
    ),
    (
        "Sim/polling.mlir, @nobody_arrives",
        "that it never ends is what the test is about",
    ),
    (
        "groups-to-tokens/nvgpu.mlir, @with_counts",
        "its step is an index and a size, too, and no number that is made up suits all",
    ),
    (
        "examples/gather.mlir",
        "rows are where an argument says, and what is made up is nowhere",
    ),
    (
        "lint/no-warnings.mlir, @helper",
        "its addresses are aligned where callers hand over the lane",
    ),
    (
        "@sixteen_bytes_at_each_thread",
        "addresses that are misaligned are what the test is about",
    ),
    (
        "does not know 'test.",
        "an operation that nobody knows is what the test is about",
    ),
    ("does not know 'llvm.inline_asm'", "the same"),
    ("does not know 'llvm.call_intrinsic'", "the same"),
    (
        "has no body to run",
        "a call of what is elsewhere is what the test is about",
    ),
    ("of type !async.token", "no launch hands over a token"),
    ("of type !nvgpu.device.async.token", "the same"),
    (
        "of type !llvm.ptr<3>",
        "the same, of an address in workgroup memory",
    ),
    (
        "Dialect/Gpux/ops.mlir",
        "one of its functions can't be lowered, and so the file is not",
    ),
    ("Dialect/Gpux/alignment.mlir", "no arguments of these are aligned"),
    ("@far_beyond", "runs for too long"),
    ("@very_long", "the same"),
    ("@infinite_loop", "runs forever"),
    ("@step_of_zero", "the same"),
    ("Tool/translate-errors.mlir", "can't be parsed on purpose"),
    // Imports, and what can't be exported.
    (
        "port-upstream-async",
        "it is in upstream's dialect 'async', or can't be parsed on purpose",
    ),
    ("Integration/upstream-gpu-async.mlir", "the same"),
    ("Sim/timeline.mlir", "two files in one"),
    (
        "queue-of-another-dialect.mlir",
        "its dialect is known to async-opt alone",
    ),
    (
        "no elements of type memref<",
        "that a buffer is stored in memory is what the test is about",
    ),
    ("Sim/refines-bulk.mlir", "four files in one"),
    (
        "of type !nvgpu.mbarrier.group",
        "whoever calls this has made the mbarriers, and is run",
    ),
    (
        "of type !nvgpu.warpgroup.descriptor",
        "whoever calls this has made the descriptor",
    ),
    (
        "of type !nvgpu.warpgroup.accumulator",
        "whoever calls this has made the accumulator",
    ),
    (
        "gpux-to-nvvm/wgmma.mlir",
        "its matrices are poison, and its blocks are of one thread",
    ),
    ("gpux-to-nvvm/wgmma-chip.mlir", "the same"),
    ("gpux-to-nvvm/wgmma-fences.mlir", "the same"),
    ("gpux-to-nvvm/wgmma-rotations.mlir", "the same"),
    ("gpux-to-nvvm/wgmma-rotations-nested.mlir", "the same"),
    (
        "Sim/no-such-warp.mlir",
        "that a warp is not there is refused by what lowers it",
    ),
    (
        "a parameter of type vector<",
        "no vector is made up: kernels that make theirs are in test/Sim/wgmma-fragments.mlir",
    ),
    (
        "Dialect/Gpux/bulk-ops.mlir",
        "one that takes a token is refused, and so the file is",
    ),
    ("Sim/tiles.mlir, @misaligned", "the same as for alignment.mlir"),
    ("Sim/nvvm-tma.mlir, @no_tile", "the same"),
    (
        "Sim/runs-that-garbage-ends.mlir, @index_without_wait",
        "that no run comes to its end is what the test is about",
    ),
    (
        "Sim/nvvm-tma.mlir, @one_coordinate",
        "that two coordinates are needed is what the test is about",
    ),
    (
        "knows no copies of mode",
        "that it is refused is what the test is about",
    ),
    ("knows no clusters", "the same"),
    ("nothing tells what box that has", "the same"),
    ("does not know 'nvvm.cp.async.bulk.tensor.reduce'", "the same"),
    (
        "Sim/tma-tokens.mlir",
        "a divergent one is refused, and so the file is",
    ),
    (
        "Sim/wgmma-copied-accumulators.mlir",
        "a second addition in a row is refused, and so the file is",
    ),
    (
        "Sim/wgmma-matrix-alignment.mlir, @shifted",
        "its matrix begins where none may, which ends the run",
    ),
    (
        "inline-calls/inlined.mlir",
        "returns a token, and so is put where it is called",
    ),
    ("Integration/token-helpers.mlir, @load", "the same"),
    (
        "async-pipeline/await-for-some.mlir, @under_condition",
        "that a role awaits under another condition is refused by what lowers it",
    ),
    (
        "tokens-to-mbarriers/single.mlir",
        "one that takes a token is refused, and so the file is",
    ),
];

#[test]
fn what_lowering_makes_of_the_lit_tests_waits_for_all_that_they_wait_for() {
    // What is refused is listed below; why is not for this test's output.
    let tally: Tally = lit::tally_sources(hold_source);
    println!(
        "{} kernels hold, {} of them clean programs; left out:",
        tally.held, tally.clean
    );
    for title in &tally.left {
        println!("  {title}");
    }
    let explained = |title: &&String| EXPLAINED.iter().any(|(part, _)| title.contains(part));
    let unexplained: Vec<&String> = tally.left.iter().filter(|title| !explained(title)).collect();
    assert!(
        unexplained.is_empty(),
        "left out for no good reason: {unexplained:#?}"
    );
    for (part, _) in EXPLAINED {
        let needed = tally.left.iter().any(|title| title.contains(part));
        assert!(needed, "nothing is left out for '{part}' any more");
    }
    assert!(tally.held >= 400, "only {} kernels hold", tally.held);
}

#[derive(Default)]
struct Tally {
    held: usize,
    /// Those that report nothing in the form that they are written in.
    clean: usize,
    left: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.held += other.held;
        self.clean += other.clean;
        self.left.extend(other.left);
    }
}

/// Holds every kernel of a source against what passes make of it.
fn hold_source(context: &Context, name: &str, source: &str, tally: &mut Tally) {
    let Some(kernels) = lowered(context, source, "") else {
        tally.left.push(format!("{name}: can't be parsed"));
        return;
    };
    let forms = forms(context, source);
    for (function, code) in kernels {
        let title = format!("{name}, @{function}");
        let code = match code {
            Ok(code) => code,
            Err(message) => {
                tally.left.push(format!("{title}: {message}"));
                continue;
            }
        };
        let mut lowered: Vec<(&str, &Code)> = Vec::new();
        for (form, kernels) in &forms {
            match kernels.get(&function) {
                Some(Ok(code)) if lowered.iter().any(|(_, other)| is_same(code, other)) => {}
                Some(Ok(code)) => lowered.push((form, code)),
                Some(Err(message)) => tally.left.push(format!("{title}, {form}: {message}")),
                None => tally.left.push(format!("{title}, {form}: is gone")),
            }
        }
        if lowered.is_empty() {
            tally.left.push(format!("{title}: is not lowered"));
            continue;
        }
        let kernel = Kernel { title, code };
        match holds(&kernel, &lowered, !counts_itself(source)) {
            Some(clean) => {
                tally.held += 1;
                tally.clean += usize::from(clean);
            }
            None => tally.left.push(format!("{}: no arguments run", kernel.title)),
        }
    }
}

/// Upstream's waits: a number says what is waited for, and not a token.
fn counts_itself(source: &str) -> bool {
    source.contains("nvgpu.device_async_wait")
}

/// What passes make of a test: the name of the form, and its kernels.
fn forms(context: &Context, source: &str) -> Vec<(String, Kernels)> {
    let mut pipelines = Vec::new();
    if counts_itself(source) {
        pipelines.push(("exact waits".to_owned(), "nvgpu-exact-waits".to_owned()));
    } else {
        for options in OPTIONS {
            let pass = format!("gpux-tokens-to-mbarriers,gpux-tokens-to-groups{{{options}}}");
            pipelines.push((format!("counted {options}"), pass.clone()));
            pipelines.push((format!("lowered {options}"), format!("{pass},gpux-to-nvvm")));
        }
        let pass = "gpux-tokens-to-mbarriers{war=mbarrier},gpux-split-roles,gpux-tokens-to-groups";
        pipelines.push(("war=mbarrier".to_owned(), pass.to_owned()));
    }
    let forms = pipelines.into_iter();
    forms
        .filter_map(|(form, pipeline)| Some((form, lowered(context, source, &format!("{pipeline},"))?)))
        .collect()
}
