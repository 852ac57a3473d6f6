//! Faults planted into lowered programs: each is reported.
//!
//! `cargo test -p async-sim --test mutations -- --nocapture` prints the tables of docs/async-sim.md.
#![allow(missing_docs)]

mod kernel;
mod programs;

use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::inputs::{Argument, Fill};
use async_sim::refine::{self, Difference, Trace};
use kernel::{Call, Outcome, context, count, execute, parse, run};
use programs::{THREADS, config, program, statements};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

fn buffer(sizes: &[i64], fill: Fill) -> Argument {
    Argument::Buffer {
        sizes: sizes.to_vec(),
        fill,
    }
}

/// An example, and how to call it.
struct Example {
    name: &'static str,
    source: &'static str,
    call: Call,
    /// How many slots its buffers have.
    slots: u32,
}

fn examples() -> Vec<Example> {
    let call = |size: i64| Call {
        grid: [2, 1, 1],
        block: [128, 1, 1],
        dynamic_workgroup: 0,
        arguments: vec![
            Some(buffer(&[size], Fill::Ramp)),
            Some(buffer(&[size], Fill::Zero)),
            Some(Argument::Number(2.0)),
        ],
        budget: 1 << 24,
        seed: 1,
    };
    vec![
        Example {
            name: "double_buffered_copy",
            source: include_str!("../../../examples/double_buffered_copy.mlir"),
            call: call(8 * 512),
            slots: 2,
        },
        Example {
            name: "predicated_copy",
            source: include_str!("../../../examples/predicated_copy.mlir"),
            call: call(15 * 512 + 300),
            slots: 4,
        },
        Example {
            name: "gemm_sm80",
            source: include_str!("../../../bench/gpu/reference/gemm_sm80.mlir"),
            call: Call {
                grid: [1; 3],
                block: [128, 1, 1],
                dynamic_workgroup: 65536,
                arguments: vec![
                    Some(buffer(&[128, 256], Fill::Random)),
                    Some(buffer(&[256, 128], Fill::Random)),
                    Some(buffer(&[128, 128], Fill::Zero)),
                ],
                budget: 1 << 24,
                seed: 1,
            },
            slots: 4,
        },
    ]
}

/// What is done to a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A wait lets one more group stay in flight.
    Relax,
    DeleteWait,
    DeleteCommit,
    DeleteBarrier,
    /// A copy goes to the next slot, of so many.
    Shift(u32),
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Relax => "wait relaxed by one",
            Self::DeleteWait => "wait deleted",
            Self::DeleteCommit => "commit deleted",
            Self::DeleteBarrier => "barrier deleted",
            Self::Shift(_) => "slot shifted",
        }
    }

    /// What a line becomes; `None` if it is not one that this is done to.
    fn plant(self, number: usize, line: &str) -> Option<String> {
        let deleted = |what: &str| line.contains(what).then(String::new);
        match self {
            Self::Relax => {
                let (start, n) = line.split_once("gpux.wait_group <cp_async>, ")?;
                let n: u32 = n.trim().parse().ok()?;
                (n < 63).then(|| format!("{start}gpux.wait_group <cp_async>, {}", n + 1))
            }
            Self::DeleteWait => deleted("gpux.wait_group"),
            Self::DeleteCommit => deleted("gpux.commit_group"),
            Self::DeleteBarrier => deleted("gpu.barrier"),
            Self::Shift(slots) => {
                // gpux.copy %src[…], %slots[%slot, …], …
                let at = line.contains("gpux.copy").then(|| line.find("], %"))?? + 3;
                let open = at + line[at..].find('[')?;
                let end = open + line[open..].find([',', ']'])?;
                let (slot, start, rest) = (&line[open + 1..end], &line[..=open], &line[end..]);
                // On one line, so that all others keep their numbers.
                Some(format!(
                    "%one_{number} = arith.constant 1 : index %slots_{number} = arith.constant {slots} : index \
                     %next_{number} = arith.addi {slot}, %one_{number} : index \
                     %slot_{number} = arith.remui %next_{number}, %slots_{number} : index {start}%slot_{number}{rest}"
                ))
            }
        }
    }

    /// All programs with one such fault, and the line that each has it in, counted from 1.
    fn mutants(self, source: &str) -> Vec<(usize, String)> {
        let lines: Vec<&str> = source.lines().collect();
        let mutant = |i: usize| {
            let line = self.plant(i, lines[i])?;
            let mut changed = lines.clone();
            changed[i] = &line;
            Some((i + 1, changed.join("\n")))
        };
        (0..lines.len()).filter_map(mutant).collect()
    }
}

/// How a fault shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Shows {
    Nowhere,
    /// An access misses a copy, but one behind another wait.
    Elsewhere,
    /// An access right behind the wait misses a copy of the await that it was made from; other faults are reported.
    Here,
}

/// How the fault in this line of a program shows in a run.
fn shows(fault: Fault, line: usize, code: &Code, outcome: &Outcome, meant: &Trace) -> Shows {
    if fault != Fault::Relax {
        return if outcome.is_clean() {
            Shows::Nowhere
        } else {
            Shows::Here
        };
    }
    let line = line.to_string();
    let differences = refine::differences(meant, &outcome.trace).into_iter();
    let shows = differences.map(|difference| match difference {
        Difference::Pending { wait: Some(wait), .. }
            if code.instrs[wait.instr as usize].place.location.split(':').nth(1) == Some(&line) =>
        {
            Shows::Here
        }
        _ => Shows::Elsewhere,
    });
    shows.fold(Shows::Nowhere, |most, next| if next > most { next } else { most })
}

/// A row of the table: how many faults of each kind were caught, and of how many.
struct Row {
    name: String,
    cells: Vec<(usize, usize)>,
}

fn print(faults: &[Fault], rows: &[Row]) {
    let names: Vec<&str> = faults.iter().map(|fault| fault.name()).collect();
    println!("| | {} |", names.join(" | "));
    for Row { name, cells } in rows {
        let cells: Vec<String> = cells
            .iter()
            .map(|(caught, tried)| format!("{caught} of {tried}"))
            .collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
}

#[test]
fn every_fault_in_the_examples_is_reported() {
    let context = context();
    let (mut rows, mut survivors) = (Vec::new(), Vec::new());
    for example in examples() {
        let Example { name, call, .. } = &example;
        let faults = faults(example.slots);
        let meant = run(&context, example.source, call, Adversary::Late);
        let counted = count(&context, example.source, "");
        let right = run(&context, &counted, call, Adversary::Late);
        assert!(right.is_clean(), "{name}: {}", right.findings);
        let mut cells = Vec::new();
        for fault in faults {
            let mutants = fault.mutants(&counted);
            assert!(!mutants.is_empty(), "{name}: nothing to plant: {}", fault.name());
            let mut caught = 0;
            for (line, mutant) in &mutants {
                let code = parse(&context, mutant);
                let outcome = execute(&code, call, Adversary::Late);
                // A relaxed wait is seen by what is read, too.
                let shows = shows(fault, *line, &code, &outcome, &meant.trace);
                let reported = !outcome.is_clean() && shows == Shows::Here;
                caught += usize::from(reported);
                if !reported {
                    survivors.push(format!("{name}: {} in line {line}", fault.name()));
                }
            }
            cells.push((caught, mutants.len()));
        }
        rows.push(Row {
            name: format!("`{name}`"),
            cells,
        });
    }
    print(&faults(0), &rows);
    assert!(survivors.is_empty(), "{survivors:#?}");
}

fn faults(slots: u32) -> [Fault; 5] {
    [
        Fault::Relax,
        Fault::DeleteWait,
        Fault::DeleteCommit,
        Fault::DeleteBarrier,
        Fault::Shift(slots),
    ]
}

/// Random programs are run with so many draws until a fault shows; few need more than a handful.
const DRAWS: u64 = 500;

#[test]
fn no_wait_of_a_random_program_can_be_relaxed() {
    let context = context();
    let config = config(200);
    let cases = config.cases;
    let mut runner = TestRunner::new(config);
    let (mut tried, mut elsewhere) = (0, 0);
    let mut nowhere = Vec::new();
    for _ in 0..cases {
        let stmts = statements().new_tree(&mut runner).expect("a program").current();
        let tokens = parse(&context, &program(&stmts));
        let counted = count(&context, &program(&stmts), "");
        for (line, mutant) in Fault::Relax.mutants(&counted) {
            tried += 1;
            match most(&tokens, &parse(&context, &mutant), line) {
                Shows::Here => {}
                Shows::Elsewhere => elsewhere += 1,
                Shows::Nowhere => nowhere.push(format!("line {line} of\n{counted}")),
            }
        }
    }
    let here = tried - elsewhere - nowhere.len();
    println!(
        "{cases} random programs: {tried} waits relaxed by one; {here} break their own await, {elsewhere} another"
    );
    // Few loops have no counts that are all exact (docs/Passes/tokens-to-groups.md); few ways are never drawn.
    assert!(
        elsewhere * 100 <= tried,
        "{elsewhere} waits are tighter than their own awaits need"
    );
    assert!(nowhere.len() * 1000 <= tried, "{}", nowhere.join("\n"));
}

/// How clearly it shows that a wait in this line is relaxed.
fn most(tokens: &Code, mutant: &Code, line: usize) -> Shows {
    let mut most = Shows::Nowhere;
    for seed in 0..DRAWS {
        let call = Call {
            seed,
            ..Call::of(THREADS)
        };
        let meant = execute(tokens, &call, Adversary::Late);
        let outcome = execute(mutant, &call, Adversary::Late);
        match shows(Fault::Relax, line, mutant, &outcome, &meant.trace) {
            Shows::Here => return Shows::Here,
            Shows::Elsewhere => most = Shows::Elsewhere,
            Shows::Nowhere => {}
        }
    }
    most
}
