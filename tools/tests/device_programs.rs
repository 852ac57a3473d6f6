//! Random programs with device work, run whole by `async-sim` and by the runtime.
//!
//! - Programs whose tokens order all that has to be: they are clean under every schedule, print what the sequential program prints, and leave nothing
//!   alive.
//! - The same without one dependency: the runtime's simulated device finds one clean if, and only if, `async-sim` does.
//! - Straight programs with tokens at random: `async-sim` finds one clean if, and only if, no two accesses of a buffer conflict that no path of tokens
//!   and awaits orders; so does the runtime's simulated device, for buffers of the device.
//! - Programs in nested modules are lowered, and so are launches with arguments of any type, or refused ([`modules`]).
//! - Each call of the simulated device fails in turn ([`errors`]), and the same one in `async-sim`.
//!
//! The programs are the same in every run; `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

#[path = "../../crates/sim/tests/host/mod.rs"]
#[allow(dead_code, unused_imports)]
mod host;

#[path = "device_programs/errors.rs"]
mod errors;

#[path = "device_programs/modules.rs"]
mod modules;

use host::config;
use proptest::prelude::*;
use std::fmt::Write;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Buffers of the host, and as many of the device.
const BUFFERS: usize = 3;
/// Elements of each.
const ELEMENTS: usize = 4;

const KERNELS: &str = "\
!h = memref<4xi32>
!d = memref<4xi32, #gpu.address_space<global>>
!hs = memref<2xi32, strided<[2]>>
!ds = memref<2xi32, strided<[2]>, #gpu.address_space<global>>
gpu.module @kernels {
  gpu.func @mix(%to: !d, %from: !d) kernel {
    %three = arith.constant 3 : i32
    %t = gpu.thread_id x
    %old = memref.load %to[%t] : !d
    %other = memref.load %from[%t] : !d
    %times = arith.muli %old, %three : i32
    %new = arith.addi %times, %other : i32
    memref.store %new, %to[%t] : !d
    gpu.return
  }
}
func.func private @printMemrefI32(memref<*xi32>)
";

/// What a program does.
#[derive(Clone, Debug)]
enum Stmt {
    ToDevice(usize, usize),
    ToHost(usize, usize),
    /// To the device by way of a new buffer.
    ByNew(usize, usize),
    /// Every other element, to the device.
    Strided(usize, usize),
    /// Within the device.
    Copy(usize, usize),
    Fill(usize, i32),
    /// A kernel: the first is three times itself plus the second.
    Mix(usize, usize),
    /// A task of the host that adds to each element.
    Add(usize, i32),
    /// The host itself does so.
    AddNow(usize, i32),
    Loop(usize, Vec<Stmt>),
    /// Whether it is taken depends on an element of a buffer of the host.
    If(usize, Vec<Stmt>, Vec<Stmt>),
}

/// What the sequential program computes.
#[derive(Clone, Default)]
struct State {
    host: [[i32; ELEMENTS]; BUFFERS],
    device: [[i32; ELEMENTS]; BUFFERS],
}

impl State {
    fn run(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match stmt {
                Stmt::ToDevice(h, d) | Stmt::ByNew(h, d) => self.device[*d] = self.host[*h],
                Stmt::Strided(h, d) => {
                    for i in (0..ELEMENTS).step_by(2) {
                        self.device[*d][i] = self.host[*h][i];
                    }
                }
                Stmt::ToHost(d, h) => self.host[*h] = self.device[*d],
                Stmt::Copy(from, to) => self.device[*to] = self.device[*from],
                Stmt::Fill(d, value) => self.device[*d] = [*value; ELEMENTS],
                Stmt::Mix(to, from) => {
                    let from = self.device[*from];
                    for (to, from) in self.device[*to].iter_mut().zip(from) {
                        *to = to.wrapping_mul(3).wrapping_add(from);
                    }
                }
                Stmt::Add(h, value) | Stmt::AddNow(h, value) => {
                    for element in &mut self.host[*h] {
                        *element = element.wrapping_add(*value);
                    }
                }
                Stmt::Loop(count, body) => (0..*count).for_each(|_| self.run(body)),
                Stmt::If(h, then, other) => {
                    let is_odd = self.host[*h][0] & 1 == 1;
                    self.run(if is_odd { then } else { other });
                }
            }
        }
    }
}

fn statements() -> impl Strategy<Value = Vec<Stmt>> {
    let (a, b) = (0..BUFFERS, 0..BUFFERS);
    let two = (a.clone(), b);
    let leaf = prop_oneof![
        two.clone().prop_map(|(a, b)| Stmt::ToDevice(a, b)),
        two.clone().prop_map(|(a, b)| Stmt::ToHost(a, b)),
        two.clone().prop_map(|(a, b)| Stmt::ByNew(a, b)),
        two.clone().prop_map(|(a, b)| Stmt::Strided(a, b)),
        // Bytes that are copied to themselves overlap.
        two.clone()
            .prop_map(|(a, b)| Stmt::Copy(a, if a == b { (b + 1) % BUFFERS } else { b })),
        (a.clone(), -9..9).prop_map(|(a, value)| Stmt::Fill(a, value)),
        two.prop_map(|(a, b)| Stmt::Mix(a, b)),
        (a.clone(), -9..9).prop_map(|(a, value)| Stmt::Add(a, value)),
        (a.clone(), -9..9).prop_map(|(a, value)| Stmt::AddNow(a, value)),
    ];
    let stmt = leaf.prop_recursive(3, 20, 4, move |inner| {
        let body = prop::collection::vec(inner, 0..4);
        prop_oneof![
            (0..4usize, body.clone()).prop_map(|(count, body)| Stmt::Loop(count, body)),
            (a.clone(), body.clone(), body).prop_map(|(h, then, other)| Stmt::If(h, then, other)),
        ]
    });
    prop::collection::vec(stmt, 1..8)
}

/// Writes a program in which each buffer has a token that the next access of it depends on.
struct Writer {
    text: String,
    names: usize,
    /// The tokens of the buffers, those of the host first.
    tokens: Vec<String>,
    /// How many dependencies there are on the tokens of buffers of the device, and the number of one that is left out.
    dependencies: usize,
    left_out: Option<usize>,
    /// Whether each operation depends on all before it.
    in_a_row: bool,
}

/// Where the token of a buffer of the device is.
fn device(buffer: usize) -> usize {
    BUFFERS + buffer
}

/// The clause for dependencies.
fn clause(tokens: &[String]) -> String {
    if tokens.is_empty() {
        String::new()
    } else {
        format!("[{}] ", tokens.join(", "))
    }
}

impl Writer {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("%t{}", self.names)
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").unwrap();
    }

    /// An asynchronous operation that accesses some buffers; `rest` comes after its dependencies.
    fn op(&mut self, op: &str, buffers: &[usize], rest: &str) {
        let token = self.name();
        let mut dependencies = Vec::new();
        for &buffer in buffers {
            let is_left_out = buffer >= BUFFERS && self.left_out == Some(self.dependencies);
            self.dependencies += usize::from(buffer >= BUFFERS);
            if !is_left_out {
                dependencies.push(self.tokens[buffer].clone());
            }
        }
        if self.in_a_row {
            dependencies.clone_from(&self.tokens);
        }
        dependencies.dedup();
        let line = format!("{token} = {op} {}{rest}", clause(&dependencies));
        self.line(&line);
        self.done(buffers, &token);
    }

    /// The last that has accessed some buffers has this token.
    fn done(&mut self, buffers: &[usize], token: &str) {
        for (buffer, last) in self.tokens.iter_mut().enumerate() {
            if self.in_a_row || buffers.contains(&buffer) {
                token.clone_into(last);
            }
        }
    }

    fn add(&mut self, h: usize, value: i32) {
        let (i, old, new) = (self.name(), self.name(), self.name());
        let line = format!(
            "scf.for {i} = %c0 to %c4 step %c1 {{
{new}_v = arith.constant {value} : i32
{old} = memref.load %h{h}[{i}] : !h
{new} = arith.addi {old}, {new}_v : i32
memref.store {new}, %h{h}[{i}] : !h
}}"
        );
        self.line(&line);
    }

    /// The body of an operation that takes and yields all tokens.
    fn body(&mut self, stmts: &[Stmt], tokens: Vec<String>) {
        let before = std::mem::replace(&mut self.tokens, tokens);
        self.stmts(stmts);
        let tokens = std::mem::replace(&mut self.tokens, before);
        let types = vec!["!async.token"; tokens.len()].join(", ");
        self.line(&format!("scf.yield {} : {types}", tokens.join(", ")));
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        let types = ["!async.token"; 2 * BUFFERS].join(", ");
        for stmt in stmts {
            match stmt {
                Stmt::ToDevice(h, d) => {
                    self.op("gpux.transfer async", &[*h, device(*d)], &format!("%h{h}, %d{d} : !h to !d"));
                }
                Stmt::ToHost(d, h) => {
                    self.op("gpux.transfer async", &[device(*d), *h], &format!("%d{d}, %h{h} : !d to !h"));
                }
                Stmt::ByNew(h, d) => {
                    let (new, token) = (self.name(), self.name());
                    let line = format!("{new}, {token} = gpux.transfer async [{}] %h{h} to device : !h to !d", self.tokens[*h]);
                    self.line(&line);
                    self.done(&[*h], &token);
                    self.op("gpux.transfer async", &[*h, device(*d)], &format!("{new}, %d{d} : !d to !d"));
                    self.op("gpux.dealloc async", &[*h], &format!("{new} : !d"));
                }
                Stmt::Strided(h, d) => {
                    let (from, to) = (self.name(), self.name());
                    self.line(&format!("{from} = memref.subview %h{h}[0] [2] [2] : !h to !hs"));
                    self.line(&format!("{to} = memref.subview %d{d}[0] [2] [2] : !d to !ds"));
                    self.op("gpux.transfer async", &[*h, device(*d)], &format!("{from}, {to} : !hs to !ds"));
                }
                Stmt::Copy(from, to) => self.op(
                    "gpux.transfer async",
                    &[device(*from), device(*to)],
                    &format!("%d{from}, %d{to} : !d to !d"),
                ),
                Stmt::Fill(d, value) => {
                    let constant = self.name();
                    self.line(&format!("{constant} = arith.constant {value} : i32"));
                    self.op("gpux.memset async", &[device(*d)], &format!("{constant}, %d{d} : !d"));
                }
                Stmt::Mix(to, from) => self.op(
                    "gpux.async_launch async",
                    &[device(*to), device(*from)],
                    &format!("@kernels::@mix blocks (%c1, %c1, %c1) threads (%c4, %c1, %c1) args(%d{to}, %d{from} : !d, !d)"),
                ),
                Stmt::Add(h, value) => {
                    self.op("async.region", &[*h], "{");
                    self.add(*h, *value);
                    self.line("async.yield\n}");
                }
                Stmt::AddNow(h, value) => {
                    self.line(&format!("async.await {}", self.tokens[*h]));
                    self.add(*h, *value);
                }
                Stmt::Loop(count, body) => {
                    let (results, i) = (self.name(), self.name());
                    let args: Vec<String> = (0..2 * BUFFERS).map(|_| self.name()).collect();
                    let inits: Vec<String> = args.iter().zip(&self.tokens).map(|(arg, init)| format!("{arg} = {init}")).collect();
                    let line = format!(
                        "{results}:{} = scf.for {i} = %c0 to %c{count} step %c1 iter_args({}) -> ({types}) {{",
                        2 * BUFFERS,
                        inits.join(", ")
                    );
                    self.line(&line);
                    self.body(body, args);
                    self.line("}");
                    self.tokens = (0..2 * BUFFERS).map(|i| format!("{results}#{i}")).collect();
                }
                Stmt::If(h, then, other) => {
                    let (results, bit) = (self.name(), self.name());
                    let line = format!(
                        "async.await {}
{bit}_e = memref.load %h{h}[%c0] : !h
{bit} = arith.trunci {bit}_e : i32 to i1
{results}:{} = scf.if {bit} -> ({types}) {{",
                        self.tokens[*h],
                        2 * BUFFERS
                    );
                    self.line(&line);
                    self.body(then, self.tokens.clone());
                    self.line("} else {");
                    self.body(other, self.tokens.clone());
                    self.line("}");
                    self.tokens = (0..2 * BUFFERS).map(|i| format!("{results}#{i}")).collect();
                }
            }
        }
    }
}

/// Buffers that begin as 0, 1, 2, … on the host, and full of zeros on the device.
fn begin() -> String {
    let mut text = format!("{KERNELS}func.func @main() {{\n%zero = arith.constant 0 : i32\n");
    for i in 0..=ELEMENTS {
        writeln!(text, "%c{i} = arith.constant {i} : index").unwrap();
    }
    for buffer in 0..BUFFERS {
        writeln!(
            text,
            "%h{buffer} = memref.alloc() : !h
scf.for %i = %c0 to %c4 step %c1 {{
%n = arith.index_cast %i : index to i32
memref.store %n, %h{buffer}[%i] : !h
}}
%d{buffer}, %a{buffer} = gpux.alloc async () : !d
%z{buffer} = gpux.memset async [%a{buffer}] %zero, %d{buffer} : !d
%r{buffer} = async.ready"
        )
        .unwrap();
    }
    text
}

/// A program that has begun.
fn writer() -> Writer {
    let tokens = ["%r", "%z"]
        .into_iter()
        .flat_map(|name| (0..BUFFERS).map(move |buffer| format!("{name}{buffer}")));
    Writer {
        text: begin(),
        names: 0,
        tokens: tokens.collect(),
        dependencies: 0,
        left_out: None,
        in_a_row: false,
    }
}

/// The program: what it prints are the buffers of the host, and then those of the device.
fn source(stmts: &[Stmt]) -> String {
    written(stmts, None).text
}

/// The same without a dependency on the token of a buffer of the device, by number.
fn written(stmts: &[Stmt], left_out: Option<usize>) -> Writer {
    let mut writer = writer();
    writer.left_out = left_out;
    finished(writer, stmts)
}

/// The same, with each operation after all before it.
fn source_in_a_row(stmts: &[Stmt]) -> String {
    let mut writer = writer();
    for buffer in 0..BUFFERS {
        let alloc = format!("%d{buffer}, %a{buffer} = gpux.alloc async");
        let after = if buffer == 0 {
            String::new()
        } else {
            clause(&[format!("%z{}", buffer - 1)])
        };
        writer.text = writer.text.replace(&alloc, &format!("{alloc} {after}"));
    }
    writer.in_a_row = true;
    writer.done(&[], &format!("%z{}", BUFFERS - 1));
    finished(writer, stmts).text
}

/// A program that has begun, with these statements and its end.
fn finished(mut writer: Writer, stmts: &[Stmt]) -> Writer {
    writer.stmts(stmts);
    for buffer in 0..BUFFERS {
        let line = format!(
            "async.await {}
%u{buffer} = memref.cast %h{buffer} : !h to memref<*xi32>
call @printMemrefI32(%u{buffer}) : (memref<*xi32>) -> ()",
            writer.tokens[buffer]
        );
        writer.line(&line);
    }
    for buffer in 0..BUFFERS {
        writer.op(
            "gpux.transfer async",
            &[device(buffer), buffer],
            &format!("%d{buffer}, %h{buffer} : !d to !h"),
        );
        writer.op(
            "gpux.dealloc async",
            &[device(buffer)],
            &format!("%d{buffer} : !d"),
        );
        let line = format!(
            "async.await {}, {}
call @printMemrefI32(%u{buffer}) : (memref<*xi32>) -> ()
memref.dealloc %h{buffer} : !h",
            writer.tokens[buffer],
            writer.tokens[device(buffer)]
        );
        writer.line(&line);
    }
    writer.line("return\n}");
    writer
}

fn meant(stmts: &[Stmt]) -> Vec<String> {
    let mut state = State::default();
    for buffer in &mut state.host {
        for (element, number) in buffer.iter_mut().zip(0..) {
            *element = number;
        }
    }
    state.run(stmts);
    let all = state.host.iter().chain(&state.device);
    all.map(|buffer| format!("[{}]", buffer.map(|element| element.to_string()).join(", ")))
        .collect()
}

/// What a tool prints and reports, and whether it is content.
fn piped(tool: &str, arguments: &[&str], input: &str) -> (String, String, bool) {
    let mut child = Command::new(tool)
        .args(arguments)
        .env("ASYNCOPT_CENSUS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("the tool reads it");
    drop(stdin);
    let output = child.wait_with_output().expect("the tool ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(output.stdout), text(output.stderr), output.status.success())
}

fn simulate(source: &str, arguments: &[&str]) -> (String, bool) {
    let (printed, errors, clean) = piped(
        env!("CARGO_BIN_EXE_async-sim"),
        &[&["-"], arguments].concat(),
        source,
    );
    assert!(errors.is_empty(), "{errors}\n{source}");
    (printed, clean)
}

/// The devices that the runtime finds races on.
const SCHEDULES: [&str; 3] = ["sim:late", "sim:early", "sim:random:1"];

/// What the runtime says of a program on a simulated device.
fn run_simulated(device: &str, source: &str) -> (String, String, bool) {
    let options = ["run", "-O0", "--threads=2", "--device", device];
    piped(env!("CARGO_BIN_EXE_async-opt"), &options, source)
}

/// The lines with the elements of memrefs, with one space after each comma.
fn elements(printed: &str) -> Vec<String> {
    let lines = printed.lines().filter(|line| line.starts_with('['));
    lines
        .map(|line| line.split(", ").map(str::trim).collect::<Vec<_>>().join(", "))
        .collect()
}

/// A device operation of a straight program, or an await.
#[derive(Clone, Debug)]
struct Step {
    what: What,
    /// Numbers of earlier steps, modulo how many there are.
    after: Vec<usize>,
}

#[derive(Clone, Debug)]
enum What {
    Op(Stmt),
    Await,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let two = (0..BUFFERS, 0..BUFFERS);
    let what = prop_oneof![
        two.clone().prop_map(|(a, b)| What::Op(Stmt::ToDevice(a, b))),
        two.clone().prop_map(|(a, b)| What::Op(Stmt::ToHost(a, b))),
        two.prop_map(|(a, b)| What::Op(Stmt::Mix(a, b))),
        (0..BUFFERS).prop_map(|a| What::Op(Stmt::Fill(a, 7))),
        (0..BUFFERS).prop_map(|a| What::Op(Stmt::Add(a, 1))),
        (0..BUFFERS).prop_map(|a| What::Op(Stmt::AddNow(a, 1))),
        Just(What::Await),
    ];
    let step = (what, prop::collection::vec(0..64usize, 0..3)).prop_map(|(what, after)| Step { what, after });
    prop::collection::vec(step, 1..7)
}

/// The buffers that a statement reads, and those that it writes.
type Accesses = (Vec<usize>, Vec<usize>);

fn accesses(stmt: &Stmt) -> Accesses {
    match stmt {
        Stmt::ToDevice(h, d) => (vec![*h], vec![device(*d)]),
        Stmt::ToHost(d, h) => (vec![device(*d)], vec![*h]),
        Stmt::Mix(to, from) => (vec![device(*from)], vec![device(*to)]),
        Stmt::Fill(d, _) => (vec![], vec![device(*d)]),
        Stmt::Add(h, _) | Stmt::AddNow(h, _) => (vec![], vec![*h]),
        _ => (vec![], vec![]),
    }
}

/// A straight program, and whether two accesses of it conflict that nothing orders: of any buffer, and of one of the device.
fn straight(steps: &[Step]) -> (String, bool, bool) {
    let mut text = begin();
    for buffer in 0..BUFFERS {
        writeln!(text, "async.await %z{buffer}").unwrap();
    }
    let mut writer = Writer {
        text,
        names: 1000,
        tokens: vec![String::new(); 2 * BUFFERS],
        dependencies: 0,
        left_out: None,
        in_a_row: false,
    };
    // Of each operation: its accesses, and the operations before it.
    let mut ops: Vec<(Accesses, Vec<usize>)> = Vec::new();
    let mut tokens: Vec<(usize, String)> = Vec::new();
    let mut known: Vec<usize> = Vec::new();
    let (mut races, mut device_races) = (false, false);
    for step in steps {
        let mut after: Vec<usize> = step
            .after
            .iter()
            .filter(|_| !tokens.is_empty())
            .map(|i| i % tokens.len())
            .collect();
        after.sort_unstable();
        after.dedup();
        let names: Vec<String> = after.iter().map(|i| tokens[*i].1.clone()).collect();
        let clause = clause(&names);
        let learned = after
            .iter()
            .flat_map(|i| ops[tokens[*i].0].1.iter().copied().chain([tokens[*i].0]));
        let mut before = known.clone();
        match &step.what {
            What::Await => {
                if !names.is_empty() {
                    let line = format!("async.await {}", names.join(", "));
                    known.extend(learned);
                    writer.line(&line);
                }
                continue;
            }
            What::Op(Stmt::AddNow(h, value)) => writer.add(*h, *value),
            What::Op(stmt) => {
                before.extend(learned);
                let token = writer.name();
                let line = match stmt {
                    Stmt::ToDevice(h, d) => format!("gpux.transfer async {clause}%h{h}, %d{d} : !h to !d"),
                    Stmt::ToHost(d, h) => format!("gpux.transfer async {clause}%d{d}, %h{h} : !d to !h"),
                    Stmt::Fill(d, _) => format!("gpux.memset async {clause}%zero, %d{d} : !d"),
                    Stmt::Mix(to, from) => format!(
                        "gpux.async_launch async {clause}@kernels::@mix blocks (%c1, %c1, %c1) threads (%c4, %c1, %c1) args(%d{to}, %d{from} : !d, !d)"
                    ),
                    _ => format!("async.region {clause}{{"),
                };
                writer.line(&format!("{token} = {line}"));
                if let Stmt::Add(h, value) = stmt {
                    writer.add(*h, *value);
                    writer.line("async.yield\n}");
                }
                tokens.push((ops.len(), token));
            }
        }
        let What::Op(stmt) = &step.what else { continue };
        let (reads, writes) = accesses(stmt);
        for (other, ((other_reads, other_writes), _)) in ops.iter().enumerate() {
            if before.contains(&other) {
                continue;
            }
            let written = writes
                .iter()
                .filter(|buffer| other_writes.contains(buffer) || other_reads.contains(buffer));
            let read = reads.iter().filter(|buffer| other_writes.contains(buffer));
            for buffer in written.chain(read) {
                races = true;
                device_races |= *buffer >= BUFFERS;
            }
        }
        if matches!(stmt, Stmt::AddNow(..)) {
            known.push(ops.len());
        }
        ops.push(((reads, writes), before));
    }
    let all: Vec<&str> = tokens.iter().map(|(_, token)| token.as_str()).collect();
    if !all.is_empty() {
        writer.line(&format!("async.await {}", all.join(", ")));
    }
    writer.line("return\n}");
    (writer.text, races, device_races)
}

proptest! {
    #![proptest_config(config(12))]
    #[test]
    fn ordered_programs_are_clean_and_print_what_the_sequential_ones_do(stmts in statements()) {
        let (source, meant) = (source(&stmts), elements(&meant(&stmts).join("\n")));
        for schedule in [&["--schedule=late"][..], &["--schedule=early"], &["--schedule=random", "--runs=3"]] {
            let (printed, clean) = simulate(&source, schedule);
            prop_assert!(clean && !printed.contains("never freed"), "{schedule:?}: {printed}\n{source}");
            prop_assert_eq!(&elements(&printed), &meant, "{:?}\n{}", schedule, source);
        }
        for threads in ["1", "8"] {
            let (printed, errors, good) = piped(env!("CARGO_BIN_EXE_async-opt"), &["run", "-O0", "--threads", threads], &source);
            prop_assert!(good, "{errors}\n{source}");
            prop_assert_eq!(&elements(&printed), &meant, "{} workers\n{}", threads, source);
            prop_assert!(errors.contains("0 tokens, 0 tasks") && errors.contains("0 device allocations"), "{errors}\n{source}");
        }
        for schedule in SCHEDULES {
            let (printed, errors, good) = run_simulated(schedule, &source);
            prop_assert!(good && !errors.contains("error: "), "{schedule}: {errors}\n{source}");
            prop_assert_eq!(&elements(&printed), &meant, "{}\n{}", schedule, source);
        }
    }

    #[test]
    fn the_simulated_device_finds_what_async_sim_finds_without_a_dependency(stmts in statements(), number: usize) {
        let dependencies = written(&stmts, None).dependencies;
        let source = written(&stmts, Some(number % dependencies)).text;
        let (printed, clean) = simulate(&source, &["--schedule=late"]);
        for schedule in SCHEDULES {
            let (_, errors, good) = run_simulated(schedule, &source);
            // A dealloc that comes before its buffer is there frees nothing, and that is what is told.
            let good = good && !errors.contains("nobody has freed this");
            prop_assert_eq!(good, clean, "{}: {}\n{}\n{}", schedule, errors, printed, source);
        }
    }
}

proptest! {
    #![proptest_config(config(60))]
    #[test]
    fn races_are_found_if_and_only_if_no_path_orders_two_accesses(steps in steps()) {
        let (source, races, device_races) = straight(&steps);
        for schedule in ["--schedule=late", "--schedule=early", "--schedule=random"] {
            let (printed, clean) = simulate(&source, &[schedule]);
            prop_assert_eq!(clean, !races, "{}: {}\n{}", schedule, printed, source);
        }
        // It does not know memory of the host.
        for schedule in SCHEDULES {
            let (_, errors, good) = run_simulated(schedule, &source);
            prop_assert_eq!(good, !device_races, "{}: {}\n{}", schedule, errors, source);
            prop_assert_eq!(errors.contains("and nothing orders the two\n<stdin>:"), device_races, "{}: {}\n{}", schedule, errors, source);
        }
    }
}
