//! The kernels of `test/Transforms/pipeline-cases` and, with two to four stages, of `pipeline-stages`: pipelined, they do what they do as they are written, however often their
//! loops run, wherever the last rounds are, whatever the hardware does first, with tokens and with counts, in their order and scheduled.
#![allow(missing_docs)]

mod kernel;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::{Code, ParamKind};
use async_sim::inputs::{Argument, Fill};
use kernel::lit::{files, root};
use kernel::{Call, context, parse, run, try_lower};

/// A loop whose trip count is an argument runs so often at most.
const MOST_TRIPS: i128 = 7;

/// What moves copies, awaits and barriers.
const SCHEDULE: &str = "gpux-schedule{chip=sm_80}";

const SCHEDULES: [Adversary; 5] = [
    Adversary::Late,
    Adversary::Early,
    Adversary::Random(1),
    Adversary::Random(2),
    Adversary::Random(3),
];

/// How to call a kernel: integers are trip counts.
fn call(code: &Code, trips: i128) -> Call {
    let arguments = code.params.iter().enumerate().map(|(i, param)| {
        Some(match &param.kind {
            ParamKind::MemRef { .. } => Argument::Buffer {
                sizes: vec![1024],
                fill: if i == 0 { Fill::Ramp } else { Fill::Random },
            },
            _ => Argument::Integer(trips),
        })
    });
    Call {
        arguments: arguments.collect(),
        seed: 7,
        dynamic_workgroup: 1024,
        ..Call::of(32)
    }
}

fn pipeline(passes: &str) -> String {
    format!("builtin.module(gpu.module(gpu.func({passes})))")
}

/// The kernel after passes on its functions.
fn after(context: &Context, name: &str, source: &str, passes: &str) -> String {
    let module = try_lower(context, source, &pipeline(passes));
    let module = module.unwrap_or_else(|| panic!("{name}: {passes} fails:\n{source}"));
    module.as_operation().to_string()
}

fn check(name: &str, source: &str) {
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    let plain = after(&context, name, source, "gpux-insert-barriers,lower-affine");
    let code = parse(&context, &plain);
    let has_trips = code
        .params
        .iter()
        .any(|param| !matches!(param.kind, ParamKind::MemRef { .. }));
    let trips: Vec<i128> = (0..=if has_trips { MOST_TRIPS } else { 0 }).collect();
    let calls: Vec<Call> = trips.iter().map(|trips| call(&code, *trips)).collect();
    let meant: Vec<_> = calls
        .iter()
        .map(|call| run(&context, &plain, call, Adversary::Early))
        .collect();
    for outcome in &meant {
        assert!(
            outcome.is_clean(),
            "{name}, as written: {}\n{plain}",
            outcome.findings
        );
    }
    for epilogue in ["peel", "predicate"] {
        let pipelined = after(
            &context,
            name,
            source,
            &format!("async-pipeline{{epilogue={epilogue}}}"),
        );
        // A loop that is left alone has no barriers yet. Of others, that pass by itself does not follow how often they run.
        let with_barriers = try_lower(&context, &pipelined, &pipeline("gpux-insert-barriers"));
        let pipelined = with_barriers.map_or(pipelined, |module| module.as_operation().to_string());
        let pipelined = after(&context, name, &pipelined, "lower-affine");
        let counted = after(&context, name, &pipelined, "gpux-tokens-to-groups");
        let scheduled = after(&context, name, &pipelined, SCHEDULE);
        let scheduled_counted = after(&context, name, &scheduled, "gpux-tokens-to-groups");
        let forms = [
            ("tokens", &pipelined),
            ("counted", &counted),
            ("scheduled", &scheduled),
            ("scheduled and counted", &scheduled_counted),
        ];
        for (form, kernel) in forms {
            for ((call, meant), trips) in calls.iter().zip(&meant).zip(&trips) {
                for adversary in SCHEDULES {
                    let what = format!("{name}, {form}, {epilogue}, {trips} trips, {adversary:?}");
                    let outcome = run(&context, kernel, call, adversary);
                    assert!(outcome.is_clean(), "{what}: {}\n{kernel}", outcome.findings);
                    assert!(outcome.memory == meant.memory, "{what}: other memory\n{kernel}");
                }
            }
        }
    }
}

/// Visits each kernel of a folder that is not to be refused.
fn for_each_kernel(folder: &str, mut visit: impl FnMut(&str, &str)) {
    for file in files(&root().join(folder)) {
        let text = std::fs::read_to_string(&file).expect("a test");
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let sources = text.split("// -----");
        for source in sources.filter(|source| !source.contains("expected-error")) {
            visit(&name, source);
        }
    }
}

#[test]
fn cases_do_what_they_do_as_written() {
    let mut kernels = 0;
    for_each_kernel("test/Transforms/pipeline-cases", |name, source| {
        check(name, source);
        kernels += 1;
    });
    assert!(kernels >= 25, "only {kernels} kernels");
}

#[test]
fn loops_do_what_they_do_as_written_with_any_number_of_stages() {
    const THREE: &str = "async.num_stages = 3";
    let mut kernels = 0;
    for_each_kernel("test/Transforms/pipeline-stages", |name, source| {
        assert!(source.contains(THREE), "{name} has no loop with three stages");
        for stages in 2..=4 {
            let source = source.replace(THREE, &format!("async.num_stages = {stages}"));
            check(&format!("{name}, {stages} stages"), &source);
        }
        kernels += 1;
    });
    assert!(kernels >= 15, "only {kernels} kernels");
}
