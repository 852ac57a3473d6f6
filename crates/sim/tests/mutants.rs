//! Faults planted into every example and every kernel of the lit tests that runs clean: those that do harm are found.
//!
//! A mutant is *harmful* if it hangs, can't go on, or leaves other memory than the original under some schedule. That is
//! judged from memory alone, by runs whose reports nobody reads: copies late, early and at random, and threads in various
//! orders. *Found* is what one run with default options reports.
//!
//! `MUTANT_SCHEDULES=64 cargo test --release -p async-sim --test mutants -- --nocapture` plants all of them, and prints the
//! table of docs/async-sim/mutants.md; else every fourth is planted, under fewer schedules.
#![allow(missing_docs)]

mod kernel;
mod mutants {
    pub mod faults;
}

use async_sim::adversary::Adversary;
use async_sim::code::{Code, Instr, Op, ParamKind, Warpgroup};
use async_sim::inputs::{Argument, Fill};
use async_sim::machine::ThreadOrder;
use async_sim::memory::Space;
use async_sim::value::Value;
use kernel::lit::{self, call, lowered};
use kernel::{Call, context, launch, parallel};
use mutants::faults::Fault;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

/// Random schedules for each mutant, unless `MUTANT_SCHEDULES` says otherwise.
const SCHEDULES: u64 = 2;
/// One in so many is planted then.
const SAMPLE: usize = 4;
/// Calls that are tried until a kernel runs clean, and leaves the same memory under all schedules.
const ATTEMPTS: u64 = 12;

/// A kernel that is clean, and how it is called.
struct Subject {
    title: String,
    code: Code,
    call: Call,
}

/// What a run leaves in global memory, and what each thread has loaded; `None` if it hung, or could not go on.
type Left = Option<(Vec<Vec<u8>>, Vec<u64>)>;

/// A schedule, and an order of threads.
type Schedule = (Adversary, ThreadOrder);

fn chosen_schedules() -> Option<u64> {
    let chosen = std::env::var("MUTANT_SCHEDULES").ok()?;
    Some(chosen.parse().expect("a number of schedules"))
}

fn schedules() -> Vec<Schedule> {
    let count = chosen_schedules().unwrap_or(SCHEDULES);
    let random = (0..count).map(|seed| (Adversary::Random(seed), ThreadOrder::Random(seed)));
    let fixed = [
        (Adversary::Late, ThreadOrder::Ascending),
        (Adversary::Early, ThreadOrder::Descending),
        (Adversary::Late, ThreadOrder::Descending),
        (Adversary::Early, ThreadOrder::Ascending),
    ];
    fixed.into_iter().chain(random).collect()
}

/// Runs a kernel; returns the kinds of what was found, notes aside, and what it left.
fn run(code: &Code, call: &Call, (adversary, order): Schedule) -> (BTreeSet<&'static str>, Left) {
    let (mut machine, arguments) = launch(code, call, adversary);
    machine.thread_order = order;
    machine.memory.read_hashes = Some(Vec::new());
    let ended = machine.run(&arguments, 1, &mut |_, _| {}).is_ok() && !machine.stuck;
    let loaded = machine.memory.read_hashes.take().unwrap_or_default();
    let (buffers, _, reports) = machine.memory.into_parts();
    let contents = arguments.iter().filter_map(|argument| match argument {
        Value::View(view) => Some(&buffers[view.buffer.0 as usize]),
        Value::Tensor(tensor) => Some(&buffers[tensor.view.buffer.0 as usize]),
        _ => None,
    });
    let global = contents.filter(|buffer| buffer.space == Space::Global);
    let left = ended.then(|| (global.map(|buffer| buffer.data.clone()).collect(), loaded));
    let races = reports.races().map(|race| race.hazard.kind());
    let problems = reports.problems().filter(|problem| !problem.note);
    let stop = (!ended).then_some("stop");
    let kinds = races.chain(problems.map(|problem| problem.kind)).chain(stop);
    (kinds.collect(), left)
}

impl Subject {
    /// `None` if the kernel is not clean, or does not leave the same memory under all schedules.
    fn new(title: String, code: Code, call: Call) -> Option<(Self, Left)> {
        let mut left: Option<Left> = None;
        for schedule in schedules() {
            let (found, memory) = run(&code, &call, schedule);
            if !found.is_empty() || left.as_ref().is_some_and(|left| *left != memory) {
                return None;
            }
            left = Some(memory);
        }
        Some((Self { title, code, call }, left?))
    }
}

fn example(name: &str, code: Code, arguments: Vec<Option<Argument>>) -> (String, Code, Call) {
    let call = Call {
        dynamic_workgroup: 65536,
        arguments,
        ..Call::of(128)
    };
    (name.to_owned(), code, call)
}

/// The examples, as they are written and lowered.
fn examples() -> Vec<(String, Code, Call)> {
    let context = context();
    let buffer = |sizes: &[i64], fill| {
        Some(Argument::Buffer {
            sizes: sizes.to_vec(),
            fill,
        })
    };
    let tiles = |size| {
        vec![
            buffer(&[size], Fill::Ramp),
            buffer(&[size], Fill::Zero),
            Some(Argument::Number(2.0)),
        ]
    };
    let gemm = || {
        vec![
            buffer(&[128, 192], Fill::Random),
            buffer(&[192, 128], Fill::Random),
            buffer(&[128, 128], Fill::Zero),
        ]
    };
    let sources = [
        ("examples", "double_buffered_copy", tiles(4 * 512)),
        ("examples", "predicated_copy", tiles(7 * 512 + 300)),
        ("bench/gpu/reference", "gemm_sm80", gemm()),
    ];
    let mut all = Vec::new();
    for (folder, name, arguments) in sources {
        let path = lit::root().join(format!("{folder}/{name}.mlir"));
        let source = std::fs::read_to_string(path).expect("an example");
        for (form, passes) in FORMS {
            let kernels = lowered(&context, &source, passes).expect("examples are lowered");
            for code in kernels.into_values() {
                let code = code.expect("examples can be run");
                all.push(example(&format!("{name}, {form}"), code, arguments.clone()));
            }
        }
    }
    all
}

const FORMS: [(&str, &str); 2] = [
    ("tokens", ""),
    (
        "lowered",
        "gpux-tokens-to-mbarriers,gpux-tokens-to-groups,gpux-to-nvvm,",
    ),
];

/// The kernels of the lit tests that are clean with some arguments, as they are written and lowered.
fn lit_tests() -> Vec<(Subject, Left)> {
    let found = lit::map_sources(|context, name, source| {
        let mut subjects = Vec::new();
        if name.starts_with("examples") || name.starts_with("bench") {
            return subjects;
        }
        for (form, passes) in FORMS {
            for (function, code) in lowered(context, source, passes).unwrap_or_default() {
                let Ok(code) = code else { continue };
                let title = format!("{name}, @{function}, {form}");
                let mut calls = (0..ATTEMPTS).map(|seed| without_workgroup(&code, call(&code, seed)));
                subjects.extend(calls.find_map(|call| Subject::new(title.clone(), code.clone(), call)));
            }
        }
        subjects
    });
    found.into_iter().flatten().collect()
}

/// Memory of the workgroup is not filled before a kernel runs.
fn without_workgroup(code: &Code, mut call: Call) -> Call {
    for (argument, param) in call.arguments.iter_mut().zip(&code.params) {
        let ParamKind::MemRef {
            workgroup: true,
            sizes,
            ..
        } = &param.kind
        else {
            continue;
        };
        if sizes.iter().all(Option::is_some) {
            *argument = None;
        }
    }
    call
}

/// What came of the faults of a kind.
#[derive(Clone, Copy, Default)]
struct Row {
    mutants: usize,
    harmful: usize,
    found: usize,
    /// Harmful and not found: a store to global memory is missing, and the kernel does not read what it would have written.
    results: usize,
    /// Reported, though no schedule shows any harm.
    harmless: usize,
}

impl AddAssign for Row {
    fn add_assign(&mut self, other: Self) {
        self.mutants += other.mutants;
        self.harmful += other.harmful;
        self.found += other.found;
        self.results += other.results;
        self.harmless += other.harmless;
    }
}

/// What is wrong whatever memory holds in the end: bytes that a copy in flight or another thread touches too, which
/// nobody looks at afterwards or which hold the same by chance; and what the PTX ISA forbids, or the language,
/// and this interpreter survives.
const NOT_IN_MEMORY: [&str; 13] = [
    "RAW",
    "WAR",
    "WAW",
    "copied-accumulator",
    "early-use",
    "inval-in-use",
    "missing-fence",
    "never-committed",
    "overwritten-fragment",
    "phase-overrun",
    "undrained",
    "use-after-inval",
    "use-before-init",
];

/// Returns true if what comes first in the addresses of copies is a row of a tile, and no slot: all threads take turns then, and
/// another kernel comes out that is as well synchronized.
fn has_rows(title: &str) -> bool {
    title.contains("nvgpu-pipelines")
}

/// Returns true if a kernel multiplies by warpgroups and stores nothing: a matrix that nobody has written shows in no memory then.
fn sums_are_unread(code: &Code) -> bool {
    let any = |what: fn(&Op) -> bool| code.instrs.iter().any(|instr| what(&instr.op));
    any(|op| matches!(op, Op::Warpgroup(Warpgroup::Multiply(_))))
        && !any(|op| {
            is_store(op)
                || matches!(op, Op::Bulk(bulk) if !bulk.load)
                || matches!(
                    op,
                    Op::Warpgroup(Warpgroup::Store { .. }) | Op::Store { .. } | Op::StoreTile { .. }
                )
        })
}

#[test]
fn harmful_mutants_are_found_and_harmless_ones_are_not_reported() {
    let mut subjects = lit_tests();
    subjects.extend(examples().into_iter().map(|(title, code, call)| {
        let subject = Subject::new(title.clone(), code, call);
        subject.unwrap_or_else(|| panic!("{title} is not clean"))
    }));
    let numbered: Vec<_> = subjects.iter().enumerate().collect();
    let tallies = parallel::map(
        &numbered,
        || (),
        |(), (number, (subject, left))| subject.plant_all(left, *number),
    );
    let mut table: BTreeMap<Fault, Row> = BTreeMap::new();
    let (mut missed, mut alarms) = (Vec::new(), Vec::new());
    for tally in tallies {
        for (fault, row) in tally.table {
            *table.entry(fault).or_default() += row;
        }
        missed.extend(tally.missed);
        alarms.extend(tally.alarms);
    }
    println!("{} kernels", subjects.len());
    print(&table);
    println!("missed: {missed:#?}");
    assert!(alarms.is_empty(), "reported without a reason: {alarms:#?}");
    let harmful: usize = table.values().map(|row| row.harmful - row.results).sum();
    assert!(harmful >= 400, "only {harmful} harmful mutants");
    // What is missed has one reason: the slot holds an older tile.
    let explained = [
        Fault::CopyDropped,
        Fault::CopyNarrowed,
        Fault::SlotShifted,
        Fault::BytesHalved,
    ];
    let explained = explained.map(Fault::name);
    let is_explained = |title: &String| {
        explained
            .iter()
            .any(|name| title.contains(&format!(": {name} at ")))
    };
    assert!(
        missed.iter().all(is_explained),
        "missed for no known reason: {missed:#?}"
    );
    // In a sample it may be some more by chance.
    let percent = if chosen_schedules().is_none() { 2 } else { 1 };
    assert!(
        missed.len() * 100 <= harmful * percent,
        "{} of {harmful} are not found",
        missed.len()
    );
}

/// What came of the mutants of a kernel.
#[derive(Default)]
struct Tally {
    table: BTreeMap<Fault, Row>,
    /// Harmful ones that are not found.
    missed: Vec<String>,
    /// Harmless ones that are reported without a reason.
    alarms: Vec<String>,
}

impl Subject {
    /// Plants all faults, or a sample of them that depends on the number of the kernel.
    fn plant_all(&self, left: &Left, number: usize) -> Tally {
        let mut tally = Tally::default();
        let faults = Fault::ALL
            .iter()
            .filter(|fault| **fault != Fault::SlotShifted || !has_rows(&self.title));
        let places = faults.flat_map(|fault| (0..self.code.instrs.len()).map(move |i| (*fault, i)));
        let mutants = places.filter_map(|(fault, i)| Some((fault, i, fault.plant(&self.code, i)?)));
        let step = if chosen_schedules().is_some() { 1 } else { SAMPLE };
        for (fault, i, mutant) in mutants.skip(number % step).step_by(step) {
            self.count(left, fault, &self.code.instrs[i], &mutant, &mut tally);
        }
        tally
    }

    fn count(
        &self,
        left: &Left,
        fault: Fault,
        Instr { op, place, .. }: &Instr,
        mutant: &Code,
        tally: &mut Tally,
    ) {
        let row = tally.table.entry(fault).or_default();
        let (found, harmful) = judge(self, left, mutant);
        let title = format!(
            "{}: {} at {} ({})",
            self.title,
            fault.name(),
            place.location,
            place.op
        );
        row.mutants += 1;
        row.harmful += usize::from(harmful);
        match (harmful, found.is_empty()) {
            (true, false) => row.found += 1,
            (true, true) if matches!(op, Op::Bulk(bulk) if !bulk.load) || is_store(op) => row.results += 1,
            (true, true) => tally.missed.push(title),
            (false, false) => {
                row.harmless += 1;
                let unread = found.contains("uninitialized-read") && sums_are_unread(&self.code);
                if !unread && !found.iter().any(|kind| NOT_IN_MEMORY.contains(kind)) {
                    tally.alarms.push(format!("{title}: {found:?}"));
                }
            }
            (false, true) => {}
        }
    }
}

/// What a run with default options finds in a mutant, and whether it is harmful.
fn judge(subject: &Subject, left: &Left, mutant: &Code) -> (BTreeSet<&'static str>, bool) {
    let call = Call {
        budget: subject.call.budget * 2,
        ..subject.call.clone()
    };
    let (found, _) = run(mutant, &call, (Adversary::Late, ThreadOrder::Ascending));
    let mut schedules = schedules().into_iter();
    let harmful = schedules.any(|schedule| run(mutant, &call, schedule).1 != *left);
    (found, harmful)
}

/// Returns true if it is a copy to global memory.
fn is_store(op: &Op) -> bool {
    matches!(op, Op::Copy(copy) if copy.bulk)
}

fn print(table: &BTreeMap<Fault, Row>) {
    println!(
        "| fault | mutants | harmful | found | results that nobody reads | missed | harm not seen, reported |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let mut all = Row::default();
    for (fault, row) in table {
        print_row(fault.name(), row);
        all += *row;
    }
    print_row("all", &all);
}

fn print_row(name: &str, row: &Row) {
    let Row {
        mutants,
        harmful,
        found,
        results,
        harmless,
    } = row;
    let missed = harmful - found - results;
    println!("| {name} | {mutants} | {harmful} | {found} | {results} | {missed} | {harmless} |");
}
