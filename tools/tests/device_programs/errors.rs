//! Random programs of which one call of the device fails, each in turn, under the runtime and in `async-sim`.
//!
//! Whichever it is: the error is told with the call's place, the program ends as `docs/runtime.md` says, and all that is the runtime's is freed. So is
//! the memory of the device where the program frees it without awaiting anything before.

use super::{BUFFERS, Stmt, config, device, simulate, source, source_in_a_row, statements, writer};
use proptest::prelude::*;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

/// Runs a program whose call number `call` fails. One that hangs is ended, with exit code 124.
fn run_failing(source: &str, call: usize, options: &[&str]) -> (ExitStatus, String) {
    let mut child = Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_async-opt"), "run", "-O0", "--threads=2"])
        .args(options)
        .env("ASYNCOPT_CENSUS", "1")
        .env("ASYNCOPT_DEVICE_FAIL_AT", call.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(source.as_bytes()).expect("the tool reads it");
    drop(stdin);
    let output = child.wait_with_output().expect("the tool ends");
    (
        output.status,
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// The operation whose call has failed, if the first line says so with its place: `<stdin>:LINE:COLUMN: error: OPERATION (call N): …`.
fn failed_operation<'a>(source: &str, errors: &'a str, call: usize) -> Option<&'a str> {
    let (place, message) = errors.lines().next()?.split_once(": error: ")?;
    let operation = message.strip_suffix(&format!(" (call {call}): fails, as it was told to"))?;
    let line = place.strip_prefix("<stdin>:")?.split(':').next()?;
    let line = source.lines().nth(line.parse::<usize>().ok()? - 1)?;
    // A transfer to a new buffer allocates that.
    let is_there = line.contains(operation) || operation == "gpux.alloc" && line.contains("to device");
    is_there.then_some(operation)
}

/// The count of device allocations that are left, if nothing else is.
fn left(errors: &str) -> Option<usize> {
    let clean =
        "asyncopt_rt: alive at the end: 0 tokens, 0 tasks, 0 bytes of frames, 0 suspended coroutines, ";
    let rest = errors.lines().find_map(|line| line.strip_prefix(clean))?;
    let count = rest.strip_suffix(" device allocations; 0 errors that nobody awaited")?;
    count.parse().ok()
}

/// The same without a wait for anything before the end: what the host does itself is a task, and conditions hold.
fn without_awaits(stmts: &[Stmt]) -> Vec<Stmt> {
    let each = stmts.iter().map(|stmt| match stmt {
        Stmt::AddNow(h, value) => Stmt::Add(*h, *value),
        Stmt::Loop(count, body) => Stmt::Loop(*count, without_awaits(body)),
        Stmt::If(_, then, _) => Stmt::Loop(1, without_awaits(then)),
        other => other.clone(),
    });
    each.collect()
}

/// A program that frees the memory of the device before it awaits anything.
fn source_that_frees(stmts: &[Stmt]) -> String {
    let mut writer = writer();
    writer.stmts(&without_awaits(stmts));
    for buffer in 0..BUFFERS {
        let rest = format!("%d{buffer} : !d");
        writer.op("gpux.dealloc async", &[device(buffer)], &rest);
    }
    let all = format!("async.await {}\nreturn\n}}", writer.tokens.join(", "));
    writer.line(&all);
    writer.text
}

/// The calls that a program makes, with each of which `check` is called.
fn each_call(
    source: &str,
    options: &[&str],
    mut check: impl FnMut(usize, ExitStatus, &str) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for call in 1.. {
        let (status, errors) = run_failing(source, call, options);
        if status.success() {
            // It has no call of that number.
            prop_assert!(call > 2 * BUFFERS, "{errors}\n{source}");
            prop_assert_eq!(left(&errors), Some(0), "{}\n{}", errors, source);
            break;
        }
        check(call, status, &errors)?;
    }
    Ok(())
}

/// The schedules of `async-sim`.
const SCHEDULES: [&str; 3] = ["late", "early", "random"];

/// Has `async-sim` run a program with an error in each call in turn, and calls `check` with what it reports. It reports nothing but the error,
/// at its place, and where the program ends for that.
fn each_simulated_call(
    source: &str,
    schedule: &str,
    mut check: impl FnMut(&str, &str) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    for call in 1.. {
        let (at, schedule) = (format!("--fail-at={call}"), format!("--schedule={schedule}"));
        let (printed, is_clean) = simulate(source, &[&at, &schedule]);
        if is_clean {
            // It has no call of that number.
            prop_assert!(call > 2 * BUFFERS, "{printed}\n{source}");
            prop_assert!(!printed.contains("never freed"), "{printed}\n{source}");
            break;
        }
        let errors: Vec<&str> = printed
            .lines()
            .filter(|line| line.contains(": error: "))
            .collect();
        let failed = (errors.len() == 1).then(|| simulated_operation(source, errors[0], call));
        let Some(Some(operation)) = failed else {
            return Err(TestCaseError::fail(format!("call {call}: {printed}\n{source}")));
        };
        prop_assert!(
            printed.contains("against: async.await at <stdin>:"),
            "call {call}: {printed}\n{source}"
        );
        check(operation, &printed)?;
    }
    Ok(())
}

/// The operation whose call has failed, if `error` says so with its place: `<stdin>:LINE:COLUMN: error: OPERATION: fails as call N …`.
fn simulated_operation<'a>(source: &str, error: &'a str, call: usize) -> Option<&'a str> {
    let (place, message) = error.split_once(": error: ")?;
    let operation = message.strip_suffix(&format!(
        ": fails as call {call} of the device, as it was told to"
    ))?;
    let line = place.strip_prefix("<stdin>:")?.split(':').next()?;
    let line = source.lines().nth(line.parse::<usize>().ok()? - 1)?;
    line.contains(operation).then_some(operation)
}

const SIGABRT: i32 = 6;

/// What makes the entry return the status of an error, and leaves kernels where they are.
const STATUS: [&str; 5] = [
    "--gpux-host-to-runtime",
    "--async-split-awaits=remarks=false",
    "--async-outline",
    "--convert-scf-to-cf",
    "--async-to-runtime=on-error=status",
];

proptest! {
    #![proptest_config(config(1))]
    #[test]
    fn an_error_of_each_call_ends_the_program_at_its_place(stmts in statements()) {
        let source = source(&stmts);
        each_call(&source, &["--device=sim:early"], |call, status, errors| {
            // It aborts, which `timeout` hands on as a shell does or as it is.
            let aborts = status.signal() == Some(SIGABRT) || status.code() == Some(128 + SIGABRT);
            prop_assert!(aborts, "call {call}: {status}: {errors}\n{source}");
            prop_assert!(failed_operation(&source, errors, call).is_some(), "call {call}: {errors}\n{source}");
            prop_assert!(errors.contains(": note: awaited here"), "call {call}: {errors}\n{source}");
            Ok(())
        })?;
    }

    #[test]
    fn an_error_of_each_call_is_a_status_and_leaves_no_task(stmts in statements()) {
        let source = source(&stmts);
        each_call(&source, &[&STATUS[..], &["--device=sim:random:1"]].concat(), |call, status, errors| {
            prop_assert_eq!(status.code(), Some(1), "call {}: {}\n{}", call, errors, source);
            prop_assert!(failed_operation(&source, errors, call).is_some(), "call {call}: {errors}\n{source}");
            // The program ends at the await that fails, before it has freed anything; but what it needs for a moment.
            let most = BUFFERS + usize::from(failed_operation(&source, errors, call) == Some("gpux.dealloc"));
            prop_assert!(left(errors).is_some_and(|left| left <= most), "call {call}: {errors}\n{source}");
            Ok(())
        })?;
    }

    #[test]
    fn an_error_of_each_call_leaves_nothing_if_no_await_comes_before_the_end(stmts in statements()) {
        let source = source_that_frees(&stmts);
        each_call(&source, &[&STATUS[..], &["--device=sim"]].concat(), |call, status, errors| {
            prop_assert_eq!(status.code(), Some(1), "call {}: {}\n{}", call, errors, source);
            let operation = failed_operation(&source, errors, call);
            prop_assert!(operation.is_some(), "call {call}: {errors}\n{source}");
            let not_freed = usize::from(operation == Some("gpux.dealloc"));
            prop_assert_eq!(left(errors), Some(not_freed), "call {}: {}\n{}", call, errors, source);
            Ok(())
        })?;
    }

    /// A number means the same call in both, whatever an operation consists of.
    #[test]
    fn the_same_call_fails_in_both_tools(stmts in statements()) {
        let source = source_in_a_row(&stmts);
        let place = |text: &str| Some(text.lines().find_map(|line| line.split_once(": error: "))?.0.to_owned());
        for call in 1.. {
            let (status, errors) = run_failing(&source, call, &["--device=sim:early"]);
            let (printed, is_clean) = simulate(&source, &[&format!("--fail-at={call}")]);
            prop_assert_eq!(status.success(), is_clean, "call {}: {}\n{}\n{}", call, errors, printed, source);
            prop_assert_eq!(place(&errors), place(&printed), "call {}: {}\n{}\n{}", call, errors, printed, source);
            if is_clean {
                break;
            }
        }
    }

    #[test]
    fn an_error_of_each_call_ends_the_program_in_async_sim_too(stmts in statements()) {
        let source = source(&stmts);
        for schedule in SCHEDULES {
            each_simulated_call(&source, schedule, |_, _| Ok(()))?;
        }
    }

    #[test]
    fn an_error_of_each_call_leaves_nothing_in_async_sim_either(stmts in statements()) {
        let source = source_that_frees(&stmts);
        for schedule in SCHEDULES {
            each_simulated_call(&source, schedule, |operation, printed| {
                let left = printed.lines().filter(|line| line.contains(": never freed: ")).count();
                prop_assert_eq!(left, usize::from(operation == "gpux.dealloc"), "{}\n{}", printed, source);
                Ok(())
            })?;
        }
    }
}
