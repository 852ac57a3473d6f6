//! The kernels of `test/Transforms/pipeline-cases`: pipelined, they do what they do as they are written, however often their
//! loops run, wherever the last rounds are, whatever the hardware does first, with tokens and with counts.
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
        ..Call::of(32)
    }
}

/// The kernel after passes on its functions.
fn after(context: &Context, name: &str, source: &str, passes: &str) -> String {
    let pipeline = format!("builtin.module(gpu.module(gpu.func({passes})))");
    let module = try_lower(context, source, &pipeline);
    let module = module.unwrap_or_else(|| panic!("{name}: {passes} fails:\n{source}"));
    module.as_operation().to_string()
}

fn check(name: &str, source: &str) {
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    let plain = after(&context, name, source, "gpux-insert-barriers");
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
        let counted = after(&context, name, &pipelined, "gpux-tokens-to-groups");
        for (form, kernel) in [("tokens", &pipelined), ("counted", &counted)] {
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

#[test]
fn cases_do_what_they_do_as_written() {
    let mut kernels = 0;
    for file in files(&root().join("test/Transforms/pipeline-cases")) {
        let text = std::fs::read_to_string(&file).expect("a test");
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for source in text
            .split("// -----")
            .filter(|source| !source.contains("expected-error"))
        {
            check(&name, source);
            kernels += 1;
        }
    }
    assert!(kernels >= 25, "only {kernels} kernels");
}
