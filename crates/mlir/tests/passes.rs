//! Passes and pipelines in Rust: registration, options, nesting, failure, parallelism.
//!
//! MLIR's registry of passes is global and not made for several writers, so every test registers all of them, once.
#![allow(missing_docs)]

use async_mlir::control_flow::erase_results;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::{Op, Walk, int_attr};
use async_mlir::melior::Context;
use async_mlir::melior::diagnostic::DiagnosticSeverity;
use async_mlir::melior::dialect::DialectRegistry;
use async_mlir::melior::ir::Module;
use async_mlir::melior::pass::PassManager;
use async_mlir::melior::utility::{parse_pass_pipeline, register_all_dialects, register_all_passes};
use async_mlir::pass::{
    Anchor, Dialect, OptionInfo, OptionValue, Pass, PassContext, PassError, PassInfo, StatisticInfo,
    register_pass,
};
use async_mlir::pipeline::{PassList, Pipeline, PipelineInfo, PipelineOptions, register_pipeline};
use std::{
    collections::HashSet,
    fmt::Write,
    sync::{Mutex, Once},
    thread::{self, ThreadId},
    time::Duration,
};

/// Writes its options on every function, as attributes.
struct Options;

impl Pass for Options {
    const INFO: PassInfo = PassInfo {
        anchor: Anchor::Functions,
        options: &[
            OptionInfo {
                name: "flag",
                description: "a boolean",
                default: OptionValue::Bool(true),
            },
            OptionInfo {
                name: "number",
                description: "an integer",
                default: OptionValue::Int(8),
            },
            OptionInfo {
                name: "text",
                description: "a string",
                default: OptionValue::String("none"),
            },
            OptionInfo::choice(
                "choice",
                "first",
                &[("first", "as it comes"), ("second", ""), ("third", "")],
                "a word",
            ),
        ],
        statistics: &[StatisticInfo {
            name: "functions",
            description: "how many there were",
        }],
        ..PassInfo::new("test-options", "writes its options on every function")
    };

    fn run<'c>(op: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let context = op.context();
        op.set_attr("test.flag", async_mlir::ir::bool_attr(context, cx.bool("flag")));
        op.set_attr("test.number", int_attr(context, 64, cx.int("number")));
        op.set_attr("test.text", async_mlir::ir::str_attr(context, cx.str("text")));
        cx.count("functions", 1);
        Ok(())
    }
}

/// Fails at the first operation `test.bad`, with a note.
struct FailAtBad;

impl Pass for FailAtBad {
    const INFO: PassInfo = PassInfo {
        anchor: Anchor::Functions,
        ..PassInfo::new("test-fail", "fails at `test.bad`")
    };

    fn run<'c>(op: Op<'c>, _: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let mut bad = None;
        op.walk(|inner| {
            if inner.is("test.bad") {
                bad = Some(inner);
                return Walk::Stop;
            }
            Walk::Advance
        });
        match bad {
            Some(bad) => Err(PassError::new(bad, "this is bad").note(op.location(), "in this function")),
            None => Ok(()),
        }
    }
}

/// Panics.
struct PanicAlways;

impl Pass for PanicAlways {
    const INFO: PassInfo = PassInfo::new("test-panic", "panics");

    fn run<'c>(op: Op<'c>, _: &PassContext<'c>) -> Result<(), PassError<'c>> {
        panic!("cannot cope with {}", op.name());
    }
}

/// Remarks on each operation of GPU functions.
struct Remark;

impl Pass for Remark {
    const INFO: PassInfo = PassInfo {
        anchor: Anchor::Ops(&["gpu.func"]),
        dependent_dialects: &[Dialect::NVVM],
        ..PassInfo::new("test-remark", "remarks on GPU functions")
    };

    fn run<'c>(op: Op<'c>, _: &PassContext<'c>) -> Result<(), PassError<'c>> {
        Diagnostic::remark(op.location(), format!("ran on {}", op.name())).emit();
        Ok(())
    }
}

static THREADS: Mutex<Option<HashSet<ThreadId>>> = Mutex::new(None);

/// Notes which thread it runs on.
struct NoteThread;

impl Pass for NoteThread {
    const INFO: PassInfo = PassInfo {
        anchor: Anchor::Functions,
        ..PassInfo::new("test-threads", "notes its thread")
    };

    fn run<'c>(_: Op<'c>, _: &PassContext<'c>) -> Result<(), PassError<'c>> {
        THREADS
            .lock()
            .unwrap()
            .get_or_insert_default()
            .insert(thread::current().id());
        // Long enough for the other worker to take the next function.
        thread::sleep(Duration::from_millis(5));
        Ok(())
    }
}

/// Erases part of a function, and then uses a handle to what was erased, or to something else.
struct UseErased;

impl Pass for UseErased {
    const INFO: PassInfo = PassInfo {
        anchor: Anchor::Functions,
        options: &[OptionInfo::string("what", "", "what is used")],
        ..PassInfo::new("test-use-erased", "uses what it has erased")
    };

    fn run<'c>(function: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let ops = function.region(0).blocks()[0].ops();
        let (first, outer, next) = (ops[0], ops[1], ops[2]);
        let (region, block) = (outer.region(0), outer.region(0).blocks()[0]);
        let (inner, argument, result) = (block.ops()[0], block.arg(0), outer.result(0));
        let what = cx.str("what");
        match what {
            "error" => {
                outer.erase();
                return Err(PassError::new(outer, "this can't be"));
            }
            "results" => {
                let _ = erase_results(outer, |_| true).region(0).first() == Some(block);
                let _ = outer.name();
            }
            "argument" => {
                inner.set_operands(&[]);
                block.erase_arg(0);
                // Where an argument that was freed may well be made.
                let _ = block.add_arg(first.result(0).ty(), function.location()).ty();
                let _ = argument.ty();
            }
            "body" => {
                next.region(0).take_body(region);
                let _ = (inner.name(), argument.ty(), block.terminator());
                next.region(0).take_body(region);
                let _ = argument.ty();
            }
            "used" => block.erase(),
            _ => outer.erase(),
        }
        match what {
            "op" => drop(outer.name()),
            "value" => drop(result.ty()),
            "region" => drop(region.blocks()),
            "block" => drop(block.ops()),
            "nested" => drop(inner.location()),
            "nested-value" => drop(argument.uses()),
            "comparison" => assert!(outer == ops[1]),
            // All else is as it was.
            _ => drop((first.result(0).uses(), next.name(), function.to_string())),
        }
        Ok(())
    }
}

/// Two passes, one with an option of the pipeline.
struct TwoPasses;

impl Pipeline for TwoPasses {
    const INFO: PipelineInfo = PipelineInfo {
        flag: "test-pipeline",
        summary: "two passes",
        description: "",
        options: &[OptionInfo {
            name: "depth",
            description: "a depth",
            default: OptionValue::Int(2),
        }],
    };

    fn passes(options: &PipelineOptions) -> Result<PassList, String> {
        let depth = options.int("depth");
        if depth < 0 {
            return Err(format!("depth must not be negative, but is {depth}"));
        }
        Ok(PassList::new().pass("canonicalize").nest(
            "func.func",
            PassList::new().pass_with("test-options", &[("number", &depth.to_string())]),
        ))
    }
}

fn context() -> Context {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register_all_passes();
        register_pass::<Options>();
        register_pass::<FailAtBad>();
        register_pass::<PanicAlways>();
        register_pass::<Remark>();
        register_pass::<NoteThread>();
        register_pass::<UseErased>();
        register_pipeline::<TwoPasses>();
    });
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    let context = Context::new_with_registry(&registry, true);
    context.set_allow_unregistered_dialects(true);
    context
}

/// What came of running a pipeline on `source`: the module after it, if it passed, and the diagnostics.
struct Outcome {
    result: Result<String, String>,
    diagnostics: Vec<String>,
}

fn run(pipeline: &str, source: &str) -> Outcome {
    let context = context();
    let diagnostics = Mutex::new(Vec::new());
    // Locations as the user would see them, then severity, message and notes.
    let handler = |diagnostic: async_mlir::melior::diagnostic::Diagnostic| {
        let severity = match diagnostic.severity() {
            DiagnosticSeverity::Error => "error",
            DiagnosticSeverity::Warning => "warning",
            DiagnosticSeverity::Note => "note",
            DiagnosticSeverity::Remark => "remark",
        };
        let mut text = format!("{} {severity}: {diagnostic}", diagnostic.location());
        for index in 0..diagnostic.note_count() {
            let note = diagnostic.note(index).unwrap();
            let _ = write!(text, "; {} note: {note}", note.location());
        }
        diagnostics.lock().unwrap().push(text);
        true
    };
    let result = {
        let id = context.attach_diagnostic_handler(handler);
        let mut module = Module::parse(&context, source).expect("the test's IR parses");
        let manager = PassManager::new(&context);
        let result = parse_pass_pipeline(manager.as_operation_pass_manager(), pipeline)
            .and_then(|()| manager.run(&mut module))
            .map(|()| module.as_operation().to_string())
            .map_err(|error| error.to_string());
        context.detach_diagnostic_handler(id);
        result
    };
    let diagnostics = diagnostics.into_inner().unwrap();
    Outcome { result, diagnostics }
}

const TWO_FUNCTIONS: &str = "func.func @f() { return }\nfunc.func @g() { return }";

#[test]
fn options_have_defaults() {
    let after = run("builtin.module(func.func(test-options))", TWO_FUNCTIONS)
        .result
        .unwrap();
    assert_eq!(
        after
            .matches("test.flag = true, test.number = 8 : i64, test.text = \"none\"")
            .count(),
        2,
        "{after}"
    );
}

#[test]
fn options_are_parsed_and_cloned_to_every_thread() {
    let after = run(
        "builtin.module(func.func(test-options{flag=false number=-3 text=hello}))",
        TWO_FUNCTIONS,
    )
    .result
    .unwrap();
    assert_eq!(
        after
            .matches("test.flag = false, test.number = -3 : i64, test.text = \"hello\"")
            .count(),
        2,
        "{after}"
    );
}

#[test]
fn bad_option_values_are_refused() {
    for options in ["number=x", "flag=maybe", "nonsense=1"] {
        run(
            &format!("builtin.module(test-options{{{options}}})"),
            TWO_FUNCTIONS,
        )
        .result
        .unwrap_err();
    }
}

#[test]
fn choices_are_checked_before_the_pass_runs() {
    run("builtin.module(test-options{choice=second})", TWO_FUNCTIONS)
        .result
        .unwrap();
    let outcome = run(
        "builtin.module(func.func(test-options{choice=fourth}))",
        "func.func @f() { return }",
    );
    outcome.result.unwrap_err();
    let diagnostic = &outcome.diagnostics[0];
    assert!(
        diagnostic
            .starts_with("loc(\"-\":1:1) error: choice is 'fourth', but must be first, second or third"),
        "{diagnostic}"
    );
}

#[test]
fn function_passes_run_on_functions_inside_a_module() {
    let source = "module { func.func @f() { return } }\ngpu.module @m { gpu.func @k() { gpu.return } }";
    let after = run("builtin.module(test-options)", source).result.unwrap();
    assert_eq!(after.matches("test.number").count(), 2, "{after}");
}

#[test]
fn passes_nest_where_the_pipeline_says() {
    let source = "gpu.module @m { gpu.func @k() { gpu.return } }";
    let outcome = run("builtin.module(gpu.module(gpu.func(test-remark)))", source);
    outcome.result.unwrap();
    assert_eq!(outcome.diagnostics, ["loc(\"-\":1:17) remark: ran on gpu.func"]);
}

#[test]
fn anchored_passes_refuse_other_operations() {
    run("builtin.module(func.func(test-remark))", TWO_FUNCTIONS)
        .result
        .unwrap_err();
}

#[test]
fn an_error_is_one_located_diagnostic_with_its_notes() {
    let outcome = run(
        "builtin.module(test-fail)",
        "func.func @f() {\n  \"test.bad\"() : () -> ()\n  return\n}",
    );
    outcome.result.unwrap_err();
    assert_eq!(outcome.diagnostics.len(), 1, "{:?}", outcome.diagnostics);
    let diagnostic = &outcome.diagnostics[0];
    assert!(
        diagnostic.starts_with("loc(\"-\":2:3) error: 'test.bad' op this is bad"),
        "{diagnostic}"
    );
    assert!(
        diagnostic.contains("loc(\"-\":1:1) note: in this function"),
        "{diagnostic}"
    );
}

#[test]
fn a_panic_is_a_located_diagnostic() {
    let outcome = run("builtin.module(test-panic)", TWO_FUNCTIONS);
    outcome.result.unwrap_err();
    assert_eq!(outcome.diagnostics.len(), 1, "{:?}", outcome.diagnostics);
    assert!(
        outcome.diagnostics[0]
            .contains("error: internal error in pass 'test-panic': cannot cope with builtin.module"),
        "{:?}",
        outcome.diagnostics
    );
}

/// In release builds what was erased is gone, and nothing checks its handles.
#[cfg(debug_assertions)]
#[test]
fn uses_of_what_was_erased_are_found() {
    let source = "func.func @f() {
  %0 = \"test.first\"() : () -> i32
  %1 = \"test.outer\"(%0) ({
  ^bb0(%a: i32):
    \"test.inner\"(%a, %0) : (i32, i32) -> ()
  }) : (i32) -> i32
  \"test.next\"() ({
  ^bb0(%b: i32):
    \"test.old\"(%b)[^bb1] : (i32) -> ()
  ^bb1:
    \"test.old\"(%b) : (i32) -> ()
  }) : () -> ()
  return
}";
    let argument = "an argument of a block is used after it was erased";
    let cases = [
        ("op", "`test.outer` is used after it was erased"),
        ("value", "result 0 of `test.outer` is used after it was erased"),
        ("region", "a region is used after it was erased"),
        ("block", "a block is used after it was erased"),
        ("nested", "`test.inner` is used after it was erased"),
        ("nested-value", argument),
        ("comparison", "`test.outer` is used after it was erased"),
        ("error", "`test.outer` is used after it was erased"),
        ("results", "`test.outer` is used after it was erased"),
        ("argument", argument),
        ("body", argument),
    ];
    for (what, expected) in cases {
        let outcome = run(&format!("builtin.module(test-use-erased{{what={what}}})"), source);
        outcome.result.unwrap_err();
        let expected = format!("loc(\"-\":1:1) error: internal error in pass 'test-use-erased': {expected}");
        assert!(
            outcome.diagnostics.len() == 1 && outcome.diagnostics[0].starts_with(&expected),
            "{what}: {:?}",
            outcome.diagnostics
        );
    }
    let after = run("builtin.module(test-use-erased)", source).result.unwrap();
    assert!(!after.contains("test.outer"), "{after}");
}

/// MLIR frees what is in a block without a look at who uses it.
#[cfg(debug_assertions)]
#[test]
fn blocks_are_not_erased_while_values_in_them_are_in_use() {
    let source = "func.func @f() {
  %0 = \"test.first\"() : () -> i32
  %1 = \"test.outer\"(%0) ({
  ^bb0(%a: i32):
    %2 = \"test.inner\"(%a) : (i32) -> i32
    \"test.branch\"()[^bb1] : () -> ()
  ^bb1:
    \"test.user\"(%2) : (i32) -> ()
  }) : (i32) -> i32
  \"test.next\"() : () -> ()
  return
}";
    let outcome = run("builtin.module(test-use-erased{what=used})", source);
    outcome.result.unwrap_err();
    assert!(
        outcome.diagnostics[0].contains("a value is erased while `test.user` uses it"),
        "{:?}",
        outcome.diagnostics
    );
}

#[test]
fn functions_are_processed_in_parallel() {
    let source = (0..32).fold(String::new(), |source, index| {
        source + &format!("func.func @f{index}() {{ return }}\n")
    });
    for pipeline in [
        "builtin.module(func.func(test-threads))",
        "builtin.module(test-threads)",
    ] {
        *THREADS.lock().unwrap() = None;
        run(pipeline, &source).result.unwrap();
        let threads = THREADS.lock().unwrap().as_ref().unwrap().len();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        assert!(cores == 1 || threads > 1, "{pipeline}: one thread for all");
    }
}

#[test]
fn pipelines_are_lists_of_passes_with_options() {
    let after = run("builtin.module(test-pipeline)", TWO_FUNCTIONS)
        .result
        .unwrap();
    assert_eq!(after.matches("test.number = 2 : i64").count(), 2, "{after}");
    let after = run("builtin.module(test-pipeline{depth=7})", TWO_FUNCTIONS)
        .result
        .unwrap();
    assert_eq!(after.matches("test.number = 7 : i64").count(), 2, "{after}");
}

#[test]
fn pipelines_refuse_what_makes_no_sense() {
    let error = run("builtin.module(test-pipeline{depth=-1})", TWO_FUNCTIONS)
        .result
        .unwrap_err();
    assert!(error.contains("depth must not be negative, but is -1"), "{error}");
}
