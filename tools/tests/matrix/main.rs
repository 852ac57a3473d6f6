//! Circular buffers of loads, over a matrix of kernels: stages, tiles loaded ahead, sizes, and what the kernels do.
//!
//! Each kernel is generated with tokens from one description ([`describe`]), and lowered with block barriers and with
//! mbarriers to keep slots from being filled too early. Every form is run under adversarial schedules and compared with
//! what a sequential program computes; then it is assembled. A representative part is run by default, and everything with
//! `ASYNC_OPT_MATRIX=all`.
//!
//! `cargo test -p async-tools --test matrix -- Matmul` runs one kind.
#![forbid(unsafe_code)]

mod check;
mod describe;
#[path = "../../../crates/sim/tests/kernel/mod.rs"]
mod helper;
mod kernels;
mod ring;
mod text;
mod trips;

use describe::{Case, Kind};
use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The variable that asks for everything.
const VARIABLE: &str = "ASYNC_OPT_MATRIX";
/// The stack of a trial: passes go down deep.
const STACK: usize = 64 << 20;

/// A line of the table.
struct Row {
    name: String,
    cases: usize,
    failed: usize,
    time: Duration,
}

/// What was run, for the table.
type Rows = Arc<Mutex<Vec<Row>>>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let all = std::env::var(VARIABLE).is_ok_and(|value| value == "all");
    let rows = Rows::default();
    let mut trials = vec![Trial::test("the_part_covers_all", move || {
        let cases: Vec<Case> = Kind::ALL
            .iter()
            .flat_map(|&kind| describe::cases(kind, all))
            .collect();
        describe::lacks(&cases).map_or(Ok(()), |lack| Err(lack.into()))
    })];
    for kind in Kind::ALL {
        let rows = Arc::clone(&rows);
        let cases = describe::cases(kind, all);
        trials.push(trial(format!("kinds::{kind:?}"), rows, cases, Case::name, one));
    }
    for flow in trips::Flow::ALL {
        let rows = Arc::clone(&rows);
        let cases = trips::cases(flow, all);
        trials.push(trial(
            format!("trips::{flow:?}"),
            rows,
            cases,
            trips::Trips::name,
            trips::check,
        ));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    print_table(&rows);
    conclusion.exit_code()
}

/// A test of many cases, which goes on after one that fails.
fn trial<C: Send + 'static>(
    name: String,
    rows: Rows,
    cases: Vec<C>,
    describe: fn(&C) -> String,
    check: fn(&C) -> Result<(), String>,
) -> Trial {
    let row = name.clone();
    let work = move || -> Result<(), Failed> {
        let start = Instant::now();
        let mut failures = Vec::new();
        for case in &cases {
            if let Err(error) = check(case) {
                failures.push(format!("{}: {error}", describe(case)));
            }
        }
        if let Ok(mut rows) = rows.lock() {
            rows.push(Row {
                name: row,
                cases: cases.len(),
                failed: failures.len(),
                time: start.elapsed(),
            });
        }
        if failures.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{} of {} fail\n{}",
            failures.len(),
            cases.len(),
            failures.join("\n")
        )
        .into())
    };
    Trial::test(name, move || {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
        let thread = thread.map_err(|error| Failed::from(error.to_string()))?;
        thread.join().unwrap_or_else(|_| Err("panics".into()))
    })
}

/// Everything that is held of a case.
fn one(case: &Case) -> Result<(), String> {
    let kernel = kernels::kernel(case);
    let context = helper::context();
    let forms = check::forms(&context, &kernel.source, Some(kernel.mbarriers))?;
    check::run(&context, &forms, &kernel)?;
    check::assemble(&context, &kernel.source)
}

/// What was run.
fn print_table(rows: &Rows) {
    let Ok(mut rows) = rows.lock() else { return };
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    println!("| kernels | cases | failed | seconds |\n|---|---|---|---|");
    for row in rows.iter() {
        println!(
            "| {} | {} | {} | {:.1} |",
            row.name,
            row.cases,
            row.failed,
            row.time.as_secs_f64()
        );
    }
    let sum = |number: fn(&Row) -> usize| rows.iter().map(number).sum::<usize>();
    let time: Duration = rows.iter().map(|row| row.time).sum();
    let (cases, failed) = (sum(|row| row.cases), sum(|row| row.failed));
    println!("| all | {cases} | {failed} | {:.1} |", time.as_secs_f64());
}
