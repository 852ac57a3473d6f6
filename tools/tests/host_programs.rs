//! Random host programs, lowered and run: with any number of workers they give what the sequential program gives, and leave nothing behind.
//!
//! The programs are those that `async-sim` is tested with. They are the same in every run; `PROPTEST_CASES` makes it more or
//! fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

#[path = "../../crates/sim/tests/host/mod.rs"]
#[allow(dead_code, unused_imports)]
mod host;

use host::{BUFFERS, ELEMENTS, State, Stmt, config, program, statements, tensor_program};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{RngAlgorithm, RngSeed, TestRng, TestRunner};
use std::fmt::Write;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// How many programs are in one module: starting a process costs more than most of them.
const BATCH: u32 = 25;

/// What stands in a report of the runtime if nothing is left.
const CLEAN: &str = "0 tokens, 0 tasks, 0 bytes of frames, 0 suspended coroutines, 0 device allocations; 0 errors that nobody awaited";

/// As many programs as the configuration says.
fn programs() -> Vec<Vec<Stmt>> {
    let config = config(100);
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => 0,
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let cases = config.cases;
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let strategy = statements();
    (0..cases)
        .map(|_| strategy.new_tree(&mut runner).expect("a program").current())
        .collect()
}

/// A module that runs each program on buffers that begin as 0, 1, 2, …, and prints what is in them afterwards.
fn module(programs: &[Vec<Stmt>], text_of: impl Fn(&[Stmt]) -> String) -> String {
    let ty = format!("memref<{ELEMENTS}xi32>");
    let mut text = String::new();
    let mut main = String::new();
    for (number, stmts) in programs.iter().enumerate() {
        text += &text_of(stmts).replace('@', &format!("@p{number}_"));
        let buffers: Vec<String> = (0..BUFFERS)
            .map(|buffer| format!("%b{number}_{buffer}"))
            .collect();
        for buffer in &buffers {
            writeln!(main, "{buffer} = memref.alloc() : {ty}").unwrap();
            for element in 0..ELEMENTS {
                writeln!(main, "memref.store %n{element}, {buffer}[%c{element}] : {ty}").unwrap();
            }
        }
        let types = vec![ty.clone(); BUFFERS].join(", ");
        writeln!(
            main,
            "call @p{number}_main({}) : ({types}) -> ()",
            buffers.join(", ")
        )
        .unwrap();
        for buffer in &buffers {
            for element in 0..ELEMENTS {
                let name = format!("{}_{element}", buffer.replace('b', "v"));
                writeln!(main, "{name} = memref.load {buffer}[%c{element}] : {ty}").unwrap();
                writeln!(main, "{name}_l = arith.extsi {name} : i32 to i64").unwrap();
                writeln!(
                    main,
                    "call @printI64({name}_l) : (i64) -> ()\ncall @printNewline() : () -> ()"
                )
                .unwrap();
            }
            writeln!(main, "memref.dealloc {buffer} : {ty}").unwrap();
        }
    }
    let mut constants = String::new();
    for element in 0..ELEMENTS {
        writeln!(
            constants,
            "%c{element} = arith.constant {element} : index\n%n{element} = arith.constant {element} : i32"
        )
        .unwrap();
    }
    format!(
        "func.func private @printI64(i64)\nfunc.func private @printNewline()\n{text}func.func @main() {{\n{constants}{main}return\n}}\n"
    )
}

/// What the sequential programs leave in memory, a number in each line.
fn meant(programs: &[Vec<Stmt>]) -> String {
    let mut lines = String::new();
    for stmts in programs {
        let mut state = State::default();
        for buffer in &mut state.buffers {
            for (element, number) in buffer.iter_mut().zip(0..) {
                *element = number;
            }
        }
        state.run(stmts);
        for number in state.buffers.iter().flatten() {
            writeln!(lines, "{number}").unwrap();
        }
    }
    lines
}

fn piped(command: &mut Command, input: &str) -> (String, String, bool) {
    let command = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the tool starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the tool ends");
    let _ = writer.join();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(output.stdout), text(output.stderr), output.status.success())
}

/// `source` in the `llvm` dialect.
#[track_caller]
fn lower(source: &str, pipeline: &str) -> String {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_async-opt"));
    let (lowered, errors, good) = piped(tool.arg(pipeline), source);
    assert!(good, "{errors}\n{source}");
    lowered
}

/// What `@main` of a module in the `llvm` dialect prints, and what the runtime reports.
#[track_caller]
fn run(lowered: &str, threads: &str) -> (String, String) {
    let mut runner = Command::new(env!("CARGO_BIN_EXE_async-opt"));
    runner.args(["run", "-O0", "--threads", threads]);
    runner.env("ASYNCOPT_CENSUS", "1");
    let (printed, errors, good) = piped(&mut runner, lowered);
    assert!(good, "{threads} workers: {errors}");
    (printed, errors)
}

#[test]
fn random_programs_run_as_the_sequential_ones() {
    for batch in programs().chunks(BATCH as usize) {
        let source = module(batch, |stmts| program(stmts, None).text);
        let meant = meant(batch);
        let lowered = lower(&source, "--async-lower-to-cpu");
        for threads in ["1", "2", "8"] {
            let (printed, report) = run(&lowered, threads);
            assert_eq!(printed, meant, "{threads} workers: {report}\n{source}");
            assert!(report.contains(CLEAN), "{threads} workers: {report}\n{source}");
        }
    }
}

/// The same with each branch of a task taken, and each loop run once: only functions may have tensors in several blocks.
fn without_branches(stmts: &[Stmt], in_task: bool) -> Vec<Stmt> {
    let each = stmts.iter().flat_map(|stmt| match stmt {
        Stmt::If(_, body, _) | Stmt::For(_, body) if in_task => without_branches(body, true),
        Stmt::If(place, then, other) => {
            let [then, other] = [then, other].map(|arm| without_branches(arm, false));
            vec![Stmt::If(*place, then, other)]
        }
        Stmt::For(trip, body) => vec![Stmt::For(*trip, without_branches(body, false))],
        Stmt::Task(body, order, captures) => {
            vec![Stmt::Task(without_branches(body, true), *order, captures.clone())]
        }
        Stmt::Call(body, is_async) => vec![Stmt::Call(without_branches(body, *is_async), *is_async)],
        Stmt::Temporary(body, copies) => {
            vec![Stmt::Temporary(without_branches(body, in_task), *copies)]
        }
        other => vec![other.clone()],
    });
    each.collect()
}

/// Where loops and branches on tensors are blocks, nothing is written to a buffer that is still read.
#[test]
fn random_programs_on_tensors_in_blocks_run_as_the_sequential_ones() {
    for batch in programs().chunks(BATCH as usize) {
        let batch: Vec<Vec<Stmt>> = batch.iter().map(|stmts| without_branches(stmts, false)).collect();
        let source = module(&batch, |stmts| tensor_program(stmts, true));
        let (blocks, meant) = (lower(&source, "--convert-scf-to-cf"), meant(&batch));
        for threads in ["1", "8"] {
            let (printed, report) = run(&blocks, threads);
            assert_eq!(printed, meant, "{threads} workers: {report}\n{source}");
            assert!(report.contains(CLEAN), "{threads} workers: {report}\n{source}");
        }
    }
}

/// A program in which task number `@failing`, in the order in which they run, raises an error.
fn raising(stmts: &[Stmt]) -> String {
    let text = program(stmts, None).text.replace("@main", "@program");
    let mut out = String::from(
        r#"llvm.mlir.global internal @count(0 : i32) : i32
llvm.mlir.global internal @failing(0 : i32) : i32
func.func private @task() {
  %count = llvm.mlir.addressof @count : !llvm.ptr
  %failing = llvm.mlir.addressof @failing : !llvm.ptr
  %one = llvm.mlir.constant(1 : i32) : i32
  %number = llvm.atomicrmw add %count, %one acq_rel : !llvm.ptr, i32
  %bad = llvm.load %failing : !llvm.ptr -> i32
  %good = llvm.icmp "ne" %number, %bad : i32
  cf.assert %good, "raised"
  return
}
"#,
    );
    for line in text.lines() {
        out += line;
        out.push('\n');
        if line.contains("async.region") && line.ends_with('{') {
            out += "func.call @task() : () -> ()\n";
        }
    }
    out
}

/// Runs `@program` of `lowered` once without an error, then with one in each task in turn, and prints how many tasks there are, how often the program or,
/// where it awaits nothing that has failed, the runtime has told of an error, and how many tokens are alive at the end.
fn drive(lowered: &str) -> String {
    let (body, _) = lowered.rsplit_once('}').expect("a module");
    let pointers: Vec<String> = (0..BUFFERS)
        .map(|buffer| format!("%b{buffer}, %b{buffer}, %zero64, %elements, %one64"))
        .collect();
    let types = ["!llvm.ptr, !llvm.ptr, i64, i64, i64"; BUFFERS].join(", ");
    let allocs: Vec<String> = (0..BUFFERS)
        .map(|buffer| format!("%b{buffer} = llvm.call @asyncopt_rt_allocate(%bytes) : (i64) -> !llvm.ptr\n\"llvm.intr.memset\"(%b{buffer}, %zero8, %bytes) <{{isVolatile = false}}> : (!llvm.ptr, i8, i64) -> ()"))
        .collect();
    let declared = |name: &str, ty: &str| {
        if body.contains(&format!("llvm.func @{name}(")) {
            String::new()
        } else {
            format!("llvm.func @{name}{ty}\n")
        }
    };
    let declarations = [
        declared("asyncopt_rt_allocate", "(i64) -> !llvm.ptr"),
        declared("asyncopt_rt_shutdown", "()"),
        declared("asyncopt_rt_take_census", "(!llvm.ptr)"),
        declared("printI64", "(i64)"),
        declared("printNewline", "()"),
    ];
    format!(
        r#"{body}
{declarations}
llvm.func @main() {{
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %none = llvm.mlir.constant(-1 : i32) : i32
  %zero8 = llvm.mlir.constant(0 : i8) : i8
  %zero64 = llvm.mlir.constant(0 : i64) : i64
  %one64 = llvm.mlir.constant(1 : i64) : i64
  %elements = llvm.mlir.constant({ELEMENTS} : i64) : i64
  %bytes = llvm.mlir.constant(128 : i64) : i64
  %count = llvm.mlir.addressof @count : !llvm.ptr
  %failing = llvm.mlir.addressof @failing : !llvm.ptr
  %census = llvm.call @asyncopt_rt_allocate(%bytes) : (i64) -> !llvm.ptr
  llvm.store %none, %failing : i32, !llvm.ptr
  llvm.br ^run(%none, %zero64, %zero : i32, i64, i32)
^run(%task: i32, %raised: i64, %tasks: i32):
  llvm.store %task, %failing : i32, !llvm.ptr
  llvm.store %zero, %count : i32, !llvm.ptr
  {allocs}
  %status = llvm.call @program({pointers}) : ({types}) -> i32
  %wide = llvm.sext %status : i32 to i64
  %more = llvm.add %raised, %wide : i64
  llvm.call @asyncopt_rt_shutdown() : () -> ()
  %seen = llvm.load %count : !llvm.ptr -> i32
  %first = llvm.icmp "eq" %task, %none : i32
  %all = llvm.select %first, %seen, %tasks : i1, i32
  %next = llvm.add %task, %one : i32
  %again = llvm.icmp "slt" %next, %all : i32
  llvm.cond_br %again, ^run(%next, %more, %all : i32, i64, i32), ^end
^end:
  llvm.call @asyncopt_rt_take_census(%census) : (!llvm.ptr) -> ()
  %alive = llvm.load %census : !llvm.ptr -> i64
  %place = llvm.getelementptr %census[5] : (!llvm.ptr) -> !llvm.ptr, i64
  %unseen = llvm.load %place : !llvm.ptr -> i64
  %told = llvm.add %more, %unseen : i64
  %expected = llvm.sext %all : i32 to i64
  llvm.call @printI64(%expected) : (i64) -> ()
  llvm.call @printNewline() : () -> ()
  llvm.call @printI64(%told) : (i64) -> ()
  llvm.call @printNewline() : () -> ()
  llvm.call @printI64(%alive) : (i64) -> ()
  llvm.call @printNewline() : () -> ()
  llvm.return
}}
}}
"#,
        declarations = declarations.concat(),
        allocs = allocs.join("\n  "),
        pointers = pointers.join(", "),
    )
}

/// Whichever task fails, the program says so, ends, and frees all tokens.
#[test]
fn an_error_in_any_task_is_reported_and_leaves_nothing() {
    for stmts in programs().into_iter().step_by(4) {
        let source = raising(&stmts);
        let lowered = drive(&lower(&source, "--async-lower-to-cpu=on-error=status"));
        for threads in ["1", "2", "8"] {
            let (printed, report) = run(&lowered, threads);
            let lines: Vec<&str> = printed.lines().collect();
            assert!(
                lines.len() == 3 && lines[0] == lines[1] && lines[2] == "0",
                "{threads} workers: {printed}\n{report}\n{source}"
            );
        }
    }
}
