//! Random kernels in counted form whose copies, commits and waits stand anywhere, in all kinds of regions: buffers that a condition selects,
//! casts and parts of them, rows that are computed, and accesses to the elements of other threads. What races is taken out, run by run.
#![allow(dead_code)] // Not every test needs all of it.

use super::kernel::lit::call;
use super::kernel::{context, execute, parallel, read_kernel};
use super::random::{Random, seeds};
use async_mlir::melior::Context;
use async_mlir::melior::ir::Module;
use async_sim::adversary::Adversary;
use async_sim::read::UncountedWaits;
use std::collections::BTreeSet;

/// The type of buffers.
const BUFFER: &str = "memref<4x4xf32, 3>";

/// Kernels are run with so many sets of arguments.
const CALLS: u64 = 6;

/// Races are taken out in so many rounds.
const ROUNDS: usize = 12;

struct Writer {
    random: Random,
    lines: Vec<String>,
    values: usize,
    /// How many statements may come.
    budget: usize,
    depth: usize,
    /// How many of the regions around some threads alone run.
    apart: usize,
    buffers: Vec<String>,
    /// Indices that are in sight.
    indices: Vec<String>,
}

/// Applies `f` to so many kernels, or as many as `PROPTEST_CASES` says, each with its seed, on all cores.
pub fn map<T: Send>(cases: u64, f: impl Fn(&Context, u64, &str) -> T + Sync) -> Vec<T> {
    let quiet = || {
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        context
    };
    let seeds: Vec<u64> = seeds(cases).collect();
    let results = parallel::map(&seeds, quiet, |context, seed| {
        kernel(context, *seed).map(|source| f(context, *seed, &source))
    });
    results.into_iter().flatten().collect()
}

/// A random kernel without races; `None` if what races can't be taken out.
pub fn kernel(context: &Context, seed: u64) -> Option<String> {
    let mut text = write(seed);
    for _ in 0..ROUNDS {
        let dirty = dirty_lines(context, &text)?;
        if dirty.is_empty() {
            return Some(text);
        }
        let lines = text.lines().enumerate().map(|(at, line)| {
            let load = line.split_once(" = memref.load").map(|(value, _)| value);
            match load {
                _ if !dirty.contains(&(at + 1)) => line.to_owned(),
                Some(value) => format!("{value} = arith.constant 7.0 : f32"),
                None => String::new(),
            }
        });
        text = lines.collect::<Vec<String>>().join("\n");
    }
    None
}

/// The lines of accesses that are in a race; `None` if something else is wrong.
fn dirty_lines(context: &Context, text: &str) -> Option<BTreeSet<usize>> {
    let module = Module::parse(context, text).unwrap_or_else(|| panic!("can't be parsed:\n{text}"));
    let code = read_kernel(&module, UncountedWaits::All);
    let mut dirty = BTreeSet::new();
    for seed in 0..CALLS {
        for adversary in [Adversary::Late, Adversary::Early, Adversary::Random(seed)] {
            let outcome = execute(&code, &call(&code, seed), adversary);
            if outcome.stopped {
                continue;
            }
            for (_, location, _) in &outcome.places {
                let line: usize = location.split(':').rev().nth(1)?.parse().ok()?;
                let access = text.lines().nth(line.checked_sub(1)?)?;
                let is_access = ["memref.load", "memref.store", "gpux.copy", "device_async_copy"];
                is_access.iter().find(|name| access.contains(**name))?;
                dirty.insert(line);
            }
        }
    }
    Some(dirty)
}

fn write(seed: u64) -> String {
    let mut writer = Writer {
        random: Random(seed),
        lines: Vec::new(),
        values: 0,
        budget: 0,
        depth: 0,
        apart: 0,
        buffers: Vec::new(),
        indices: ["%c0", "%c1", "%c2", "%n"].map(str::to_owned).to_vec(),
    };
    writer.budget = 6 + writer.draw(20);
    let declared: Vec<String> = (0..=writer.draw(2))
        .map(|number| format!("%b{number}: {BUFFER}"))
        .collect();
    writer.buffers = (0..declared.len()).map(|number| format!("%b{number}")).collect();
    for _ in 0..=writer.draw(2) {
        writer.buffer();
    }
    let statements = 6 + writer.draw(9);
    writer.statements(statements);
    format!(
        "gpu.module @kernels {{
gpu.func @kernel(%src: memref<64x4xf32>, %out: memref<64x4xf32>, %n: index, %p: i1, %q: index) workgroup({}) kernel
    attributes {{known_block_size = array<i32: 4, 1, 1>}} {{
%t = gpu.thread_id x
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
%c3 = arith.constant 3 : index
%c4 = arith.constant 4 : index
%zero = arith.constant 0.0 : f32
%true = arith.constant true
%after = arith.addi %t, %c1 : index
%other = arith.remui %after, %c4 : index
%first = arith.cmpi eq, %t, %c0 : index
{}
gpux.commit_group <cp_async>
gpux.wait_group <cp_async>, 0
gpu.return
}}
}}",
        declared.join(", "),
        writer.lines.join("\n")
    )
}

impl Writer {
    fn draw(&mut self, below: usize) -> usize {
        self.random.below(below)
    }

    fn pick<'s>(&mut self, from: &[&'s str]) -> &'s str {
        from[self.draw(from.len())]
    }

    fn pick_buffer(&mut self) -> String {
        let place = self.draw(self.buffers.len());
        self.buffers[place].clone()
    }

    fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    fn value(&mut self) -> String {
        self.values += 1;
        format!("%v{}", self.values)
    }

    /// One more buffer: allocated, or a part of one of bytes.
    fn buffer(&mut self) {
        let name = self.value();
        if self.draw(2) == 0 {
            self.line(format!("{name} = memref.alloc() : {BUFFER}"));
        } else {
            let offset = [0, 16, 64][self.draw(3)];
            self.line(format!("{name}b = memref.alloc() : memref<128xi8, 3>"));
            self.line(format!("{name}o = arith.constant {offset} : index"));
            self.line(format!(
                "{name} = memref.view {name}b[{name}o][] : memref<128xi8, 3> to {BUFFER}"
            ));
        }
        self.buffers.push(name);
    }

    fn row(&mut self) -> String {
        if self.draw(5) == 0 {
            return self.narrow_row();
        }
        if self.draw(2) == 0 {
            return self.pick(&["%c0", "%c1", "%c2"]).to_owned();
        }
        let place = self.draw(self.indices.len());
        let index = self.indices[place].clone();
        let (sum, row) = (self.value(), self.value());
        let (more, modulus) = (self.pick(&["%c0", "%c1", "%c2"]), self.pick(&["%c2", "%c3"]));
        self.line(format!("{sum} = arith.addi {index}, {more} : index"));
        self.line(format!("{row} = arith.remui {sum}, {modulus} : index"));
        row
    }

    /// A row that is a product of few bits, which is far larger than it in more of them.
    fn narrow_row(&mut self) -> String {
        let [first, second, product, row] = [(); 4].map(|()| self.value());
        let (ty, a, b) = [("i8", 64, 4), ("i8", 19, 27), ("i8", 43, 6), ("i16", 6, 10923)][self.draw(4)];
        self.line(format!("{first} = arith.constant {a} : {ty}"));
        self.line(format!("{second} = arith.constant {b} : {ty}"));
        self.line(format!("{product} = arith.muli {first}, {second} : {ty}"));
        self.line(format!("{row} = arith.index_cast {product} : {ty} to index"));
        row
    }

    /// An element, as a memref with indices, and the memref's type.
    fn place(&mut self, column: &str) -> (String, &'static str) {
        let mut buffer = self.pick_buffer();
        let row = self.row();
        let value = self.value();
        match self.draw(8) {
            0 => {
                let (condition, other) = (self.pick(&["%p", "%true"]), self.pick_buffer());
                self.line(format!(
                    "{value} = arith.select {condition}, {buffer}, {other} : {BUFFER}"
                ));
                buffer = value;
            }
            1 => {
                let cast = "memref<?x4xf32, 3>";
                self.line(format!("{value} = memref.cast {buffer} : {BUFFER} to {cast}"));
                return (format!("{value}[{row}, {column}]"), cast);
            }
            2 | 3 => {
                let part = "memref<1x4xf32, strided<[4, 1], offset: ?>, 3>";
                self.line(format!(
                    "{value} = memref.subview {buffer}[{row}, 0] [1, 4] [1, 1] : {BUFFER} to {part}"
                ));
                return (format!("{value}[%c0, {column}]"), part);
            }
            _ => {}
        }
        (format!("{buffer}[{row}, {column}]"), BUFFER)
    }

    fn statements(&mut self, most: usize) {
        let known = (self.buffers.len(), self.indices.len());
        for _ in 0..most {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            self.statement();
        }
        self.buffers.truncate(known.0);
        self.indices.truncate(known.1);
    }

    fn statement(&mut self) {
        match self.draw(if self.depth < 4 { 30 } else { 18 }) {
            0..=5 => self.copy(),
            6 => self.line("gpux.commit_group <cp_async>".to_owned()),
            7..=9 => {
                let pending = self.pick(&["0", "0", "1", "1", "2"]);
                self.line(format!("gpux.wait_group <cp_async>, {pending}"));
            }
            10 | 11 if self.apart == 0 => self.line("gpu.barrier".to_owned()),
            12..=14 => self.load(),
            15 | 16 => {
                let (place, ty) = self.place("%t");
                self.line(format!("memref.store %zero, {place} : {ty}"));
            }
            17 => self.buffer(),
            18..=21 => self.counting_loop(),
            22..=24 => self.branch(),
            25 | 26 => self.while_loop(),
            27 => self.switch(),
            28 => self.region("scf.execute_region {", Some("scf.yield")),
            29 => self.region("memref.alloca_scope {", None),
            _ => {}
        }
    }

    fn copy(&mut self) {
        let (place, ty) = self.place("%t");
        let row = self.draw(4);
        let from = format!("%src[%c{row}, %t]");
        if self.draw(5) == 0 {
            let token = self.value();
            self.line(format!(
                "{token} = nvgpu.device_async_copy {from}, {place}, 1 : memref<64x4xf32> to {ty}"
            ));
        } else {
            self.line(format!("gpux.copy {from}, {place}, 1 : memref<64x4xf32> to {ty}"));
        }
        if self.draw(4) > 0 {
            self.line("gpux.commit_group <cp_async>".to_owned());
        }
    }

    fn load(&mut self) {
        let column = self.pick(&["%t", "%t", "%other"]);
        let (place, ty) = self.place(column);
        let (value, to) = (self.value(), self.value());
        let row = self.values % 64;
        self.line(format!("{value} = memref.load {place} : {ty}"));
        self.line(format!("{to} = arith.constant {row} : index"));
        self.line(format!("memref.store {value}, %out[{to}, %t] : memref<64x4xf32>"));
    }

    /// Statements in a region that begins with `head`.
    fn region(&mut self, head: &str, end: Option<&str>) {
        self.line(head.to_owned());
        self.depth += 1;
        let most = 1 + self.draw(5);
        self.statements(most);
        self.depth -= 1;
        self.lines.extend(end.map(str::to_owned));
        self.line("}".to_owned());
    }

    fn counting_loop(&mut self) {
        let variable = self.value();
        let (first, end) = (
            self.pick(&["%c0", "%c0", "%n", "%c1"]),
            self.pick(&["%c2", "%c3", "%n", "%q", "%c0"]),
        );
        let step = self.pick(&["%c1", "%c1", "%c2"]);
        self.indices.push(variable.clone());
        if self.draw(3) == 0 {
            let (carried, result) = (self.value(), self.value());
            let head = format!(
                "{result} = scf.for {variable} = {first} to {end} step {step} iter_args({carried} = %n) -> (index) {{"
            );
            self.indices.push(carried);
            self.region(&head, Some(&format!("scf.yield {variable} : index")));
            self.indices.pop();
        } else {
            self.region(
                &format!("scf.for {variable} = {first} to {end} step {step} {{"),
                None,
            );
        }
        self.indices.pop();
    }

    fn branch(&mut self) {
        let condition = self.pick(&["%p", "%p", "%true", "%first"]);
        let apart = usize::from(condition == "%first");
        self.apart += apart;
        self.region(&format!("scf.if {condition} {{"), None);
        if self.draw(2) == 0 {
            self.lines.pop();
            self.region("} else {", None);
        }
        self.apart -= apart;
    }

    fn while_loop(&mut self) {
        let [before, after, condition, next] = [(); 4].map(|()| self.value());
        let end = self.pick(&["%n", "%c2"]);
        let result = self.value();
        self.indices.push(before.clone());
        self.region(
            &format!("{result} = scf.while ({before} = %c0) : (index) -> index {{"),
            Some(&format!(
                "{condition} = arith.cmpi ult, {before}, {end} : index\nscf.condition({condition}) {before} : index"
            )),
        );
        self.lines.pop();
        self.indices.pop();
        self.indices.push(after.clone());
        self.region(
            &format!("}} do {{\n^bb0({after}: index):"),
            Some(&format!(
                "{next} = arith.addi {after}, %c1 : index\nscf.yield {next} : index"
            )),
        );
        self.indices.pop();
    }

    fn switch(&mut self) {
        let number = self.pick(&["%n", "%q"]);
        self.line(format!("scf.index_switch {number}"));
        self.region("case 0 {", Some("scf.yield"));
        self.region("default {", Some("scf.yield"));
    }
}
