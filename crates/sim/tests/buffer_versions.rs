//! Random loops that write parts of a buffer and read others, in loops inside, under conditions and by views: pipelined, they do what they do
//! as they are written. Whether iterations may have versions of the buffer is for the pass to find out; where it is wrong, a read
//! finds what another iteration has written. What the pass lets through, its check does, too.
//!
//! `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod kernel;
mod programs;
mod random;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::inputs::{Argument, Fill};
use kernel::{Call, context, execute, parse, try_lower};
use programs::config;
use proptest::prelude::*;
use random::Random;
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

const TILE: &str = "memref<8xi32, #gpu.address_space<workgroup>>";

/// Names for the buffer, with their types and how many elements they have.
const VIEWS: [(&str, &str, usize); 5] = [
    ("%tile", TILE, 8),
    (
        "%part",
        "memref<4xi32, strided<[1], offset: 2>, #gpu.address_space<workgroup>>",
        4,
    ),
    (
        "%left",
        "memref<4xi32, strided<[1], offset: 4>, #gpu.address_space<workgroup>>",
        4,
    ),
    ("%dynamic", "memref<?xi32, #gpu.address_space<workgroup>>", 8),
    // This may be another buffer.
    ("%selected", TILE, 8),
];

/// A loop while it is written. In operations of its body, `{}` stands for a stage and an order.
struct Writer {
    random: Random,
    text: String,
    values: usize,
    reads: usize,
    /// The variables of loops around, from the outermost one on.
    variables: Vec<String>,
    /// How many loops and conditions are around.
    depth: usize,
    /// The last views that are used at all.
    views: usize,
}

impl Writer {
    fn draw(&mut self, below: usize) -> usize {
        self.random.below(below)
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// An operation with effects.
    fn op(&mut self, line: &str) {
        let line = if self.depth == 0 {
            line.to_owned()
        } else {
            line.replace(" attributes {}", "").replace("{}", "")
        };
        self.line(&line);
    }

    fn def(&mut self, right: &str) -> String {
        self.values += 1;
        let name = format!("%v{}", self.values);
        self.line(&format!("{name} = {right}"));
        name
    }

    /// A number below `limit`.
    fn index(&mut self, limit: usize) -> String {
        match self.draw(8) {
            0..=2 => self.variables.last().cloned().unwrap_or_else(|| "%c0".to_owned()),
            3 if limit > 4 => {
                let of = self.variables.last().cloned().unwrap_or_else(|| "%q".to_owned());
                self.def(&format!("arith.addi {of}, %c1 : index"))
            }
            4 if limit > 3 => "%q".to_owned(),
            5 if limit > 3 => "%of_i".to_owned(),
            _ => format!("%c{}", self.draw(limit)),
        }
    }

    fn place(&mut self, elements: usize) -> (&'static str, String) {
        let view = self.draw(self.views);
        let (name, ty, size) = VIEWS[view];
        let index = self.index(size + 1 - elements);
        (ty, format!("{name}[{index}]"))
    }

    fn write(&mut self) {
        let add = self.draw(8);
        let value = self.def(&format!("arith.addi %x, %k{add} : i32"));
        match self.draw(6) {
            0 => {
                let vector = self.def(&format!("vector.broadcast {value} : i32 to vector<2xi32>"));
                let (ty, place) = self.place(2);
                self.op(&format!(
                    "vector.store {vector}, {place} {{}} : {ty}, vector<2xi32>"
                ));
            }
            1 | 2 => {
                let (ty, place) = self.place(1);
                let token = format!("%token{}", self.values);
                self.op(&format!(
                    "{token} = gpux.copy async %in[%i], {place}, 1 {{}} : memref<?xi32> to {ty}"
                ));
                self.op(&format!("async.await {token} {{}}"));
            }
            _ => {
                let (ty, place) = self.place(1);
                self.op(&format!("memref.store {value}, {place} {{}} : {ty}"));
            }
        }
    }

    fn read(&mut self) {
        let slot = self.reads * 8;
        self.reads += 1;
        let mut to = self.def(&format!("arith.addi %out_i, %c{slot} : index"));
        for variable in self.variables.clone() {
            to = self.def(&format!("arith.addi {to}, {variable} : index"));
        }
        let value = format!("%read{slot}");
        let out = format!("%out[{to}] {{}} : memref<?xi32>");
        if self.draw(4) == 0 {
            let (ty, place) = self.place(2);
            self.op(&format!(
                "{value} = vector.load {place} {{}} : {ty}, vector<2xi32>"
            ));
            self.op(&format!("vector.store {value}, {out}, vector<2xi32>"));
        } else {
            let (ty, place) = self.place(1);
            self.op(&format!("{value} = memref.load {place} {{}} : {ty}"));
            self.op(&format!("memref.store {value}, {out}"));
        }
    }

    /// A number of iterations, no more than three.
    fn bound(&mut self) -> String {
        match self.draw(6) {
            0 => "%m".to_owned(),
            1 => "%of_i".to_owned(),
            2 => self.variables.last().cloned().unwrap_or_else(|| "%c1".to_owned()),
            _ => ["%c1", "%c2", "%c3"][self.draw(3)].to_owned(),
        }
    }

    fn nested(&mut self, variable: Option<String>) {
        self.depth += 1;
        self.variables.extend(variable.clone());
        for _ in 0..=self.draw(3) {
            self.statement();
        }
        if variable.is_some() {
            self.variables.pop();
        }
        self.depth -= 1;
    }

    fn condition(&mut self) -> String {
        match (self.draw(3), self.variables.last().cloned()) {
            (0, Some(variable)) => self.def(&format!("arith.cmpi eq, {variable}, %c1 : index")),
            (1, _) => "%p".to_owned(),
            _ => "%odd".to_owned(),
        }
    }

    fn statement(&mut self) {
        let kinds = if self.depth < 2 && self.reads < 8 { 10 } else { 5 };
        match self.draw(kinds) {
            3..=4 if self.reads < 12 => self.read(),
            0..=4 => self.write(),
            5..=7 => {
                let (bound, variable) = (self.bound(), format!("%j{}", self.values));
                self.values += 1;
                self.line(&format!("scf.for {variable} = %c0 to {bound} step %c1 {{"));
                self.nested(Some(variable));
                self.op("} {}");
            }
            8 => {
                let condition = self.condition();
                self.line(&format!("scf.if {condition} {{"));
                self.nested(None);
                if self.draw(2) == 0 {
                    self.line("} else {");
                    self.nested(None);
                }
                self.op("} {}");
            }
            _ => {
                let (bound, number) = (self.bound(), self.values);
                self.values += 1;
                self.line(&format!(
                    "%w{number} = scf.while (%a = %c0) : (index) -> index {{
%go{number} = arith.cmpi ult, %a, {bound} : index
scf.condition(%go{number}) %a : index
}} do {{
^bb0(%j{number}: index):"
                ));
                self.nested(Some(format!("%j{number}")));
                self.line(&format!(
                    "%b{number} = arith.addi %j{number}, %c1 : index\nscf.yield %b{number} : index"
                ));
                self.op("} attributes {}");
            }
        }
    }

    /// The body with the stage and the order of each operation, if these are not for the pass to find.
    fn staged(&mut self, automatic: bool) -> String {
        let parts = self.text.matches("{}").count();
        let last = 1 + self.draw(2);
        let cuts: Vec<usize> = (0..last).map(|_| 1 + self.draw(parts)).collect();
        let stages: Vec<usize> = (0..parts)
            .map(|part| cuts.iter().filter(|cut| **cut <= part).count())
            .collect();
        let later_first = self.draw(2) == 0;
        let mut in_order: Vec<usize> = (0..parts).collect();
        in_order.sort_by_key(|part| if later_first { last - stages[*part] } else { 0 });
        let mut text = String::new();
        for (part, piece) in self.text.split("{}").enumerate() {
            text.push_str(piece);
            if part < parts && !automatic {
                let order = in_order.iter().position(|other| *other == part).unwrap_or(0);
                let stage = stages[part];
                let _ = write!(text, "{{async.stage = {stage}, async.order = {order}}}");
            } else if part < parts {
                text.push_str("{}");
            }
        }
        text
    }
}

/// A random kernel.
fn kernel(seed: u64) -> String {
    let mut writer = Writer {
        random: Random(seed),
        text: String::new(),
        values: 0,
        reads: 0,
        variables: Vec::new(),
        depth: 0,
        views: 1,
    };
    writer.views = [1, 1, 4, 4, 5][writer.draw(5)];
    let automatic = writer.draw(8) == 0;
    writer.op("%x = memref.load %in[%i] {} : memref<?xi32>");
    match writer.draw(6) {
        0..=1 => {
            writer.line("scf.for %j = %c0 to %c8 step %c1 {");
            writer.line(&format!("memref.store %x, %tile[%j] : {TILE}"));
            writer.op("} {}");
        }
        2 => writer.op(&format!("memref.store %x, %tile[%c3] {{}} : {TILE}")),
        _ => writer.write(),
    }
    for _ in 0..=writer.draw(4) {
        writer.statement();
    }
    writer.read();
    let body = writer.staged(automatic);
    let asked = if automatic { "async.num_stages = 3" } else { "" };
    let before = match writer.draw(6) {
        0 => format!("memref.store %k7, %tile[%c{}] : {TILE}", writer.draw(8)),
        _ => String::new(),
    };
    let after = match writer.draw(6) {
        0 => format!(
            "%last = memref.load %tile[%c{}] : {TILE}\nmemref.store %last, %out[%c4000] : memref<?xi32>",
            writer.draw(8)
        ),
        _ => String::new(),
    };
    let (around, end) = match writer.draw(4) {
        0 => (
            "scf.for %u = %c0 to %c2 step %c1 {\n%out_u = arith.muli %u, %c1024 : index",
            "}",
        ),
        _ => ("%out_u = arith.addi %c0, %c0 : index", ""),
    };
    let selected = match writer.views {
        5 => format!("%selected = arith.select %p, %tile, %other : {TILE}"),
        _ => String::new(),
    };
    let threads = ["", "attributes {known_block_size = array<i32: 1, 1, 1>}"][writer.draw(2)];
    let constants: Vec<String> = (0..=96)
        .chain([128, 1024, 4000])
        .map(|c| format!("%c{c} = arith.constant {c} : index"))
        .collect();
    let numbers: Vec<String> = (0..8)
        .map(|k| format!("%k{k} = arith.constant {} : i32", 1000 * k))
        .collect();
    let views = VIEWS.map(|(_, ty, _)| ty);
    format!(
        "gpu.module @m {{
gpu.func @k(%in: memref<?xi32>, %out: memref<?xi32>, %n: index, %m: index, %q: index, %p: i1) kernel {threads} {{
{}
{}
%tile = memref.alloc() : {TILE}
%other = memref.alloc() : {TILE}
%part = memref.subview %tile[2] [4] [1] : {TILE} to {}
%left = memref.reinterpret_cast %part to offset: [4], sizes: [4], strides: [1] : {} to {}
%dynamic = memref.cast %tile : {TILE} to {}
{selected}
{around}
{before}
scf.for %i = %c0 to %n step %c1 {{
%i_rows = arith.muli %i, %c128 : index
%out_i = arith.addi %i_rows, %out_u : index
%of_i = arith.andi %i, %c3 : index
%bit = arith.andi %i, %c1 : index
%odd = arith.cmpi eq, %bit, %c1 : index
{body}}} {{{asked}}}
{after}
{end}
gpu.return
}}
}}
",
        constants.join("\n"),
        numbers.join("\n"),
        views[1],
        views[1],
        views[2],
        views[3]
    )
}

/// What the loop does, with so many iterations, and so many of loops inside.
fn call(trips: i128, other: i128) -> Call {
    let buffer = |fill| {
        Some(Argument::Buffer {
            sizes: vec![4096],
            fill,
        })
    };
    let integer = |number| Some(Argument::Integer(number));
    let arguments = vec![
        buffer(Fill::Ramp),
        buffer(Fill::Zero),
        integer(trips),
        integer(other & 3),
        integer(other >> 2 & 3),
        integer(other >> 4 & 1),
    ];
    Call {
        arguments,
        ..Call::of(1)
    }
}

/// The kernel after the pass, if that does not refuse it, and what it says.
fn pipelined(context: &Context, source: &str, options: &str) -> (Option<String>, String) {
    let said = Rc::new(RefCell::new(String::new()));
    let heard = said.clone();
    let handler = context.attach_diagnostic_handler(move |diagnostic| {
        heard.borrow_mut().push_str(&diagnostic.to_string());
        true
    });
    let pipeline =
        format!("builtin.module(gpu.module(gpu.func(async-pipeline{{insert-barriers=false {options}}})))");
    let after = try_lower(context, source, &pipeline).map(|module| module.as_operation().to_string());
    context.detach_diagnostic_handler(handler);
    let said = said.borrow().clone();
    (after, said)
}

/// Holds a pipelined kernel against itself as it is written. Returns whether it was pipelined with versions of a buffer.
fn check(seed: u64) -> Result<bool, TestCaseError> {
    let context = context();
    let source = kernel(seed);
    let options = [
        "",
        "epilogue=predicate",
        "short-trips=branch",
        "computed-slots=true",
    ][(seed >> 5) as usize % 4];
    let (after, said) = pipelined(&context, &source, options);
    prop_assert!(!said.contains("says the check"), "{said}\n{source}");
    let Some(after) = after else { return Ok(false) };
    let codes = [parse(&context, &source), parse(&context, &after)];
    for trips in 0..6 {
        let call = call(trips, i128::from(seed >> 8) + trips);
        for adversary in [Adversary::Late, Adversary::Early] {
            // What nobody has written is the same in both.
            let [meant, outcome] = [0, 1].map(|code| execute(&codes[code], &call, adversary.clone()));
            prop_assert!(
                outcome.memory == meant.memory,
                "{trips} trips: other memory\n{source}\n{after}"
            );
        }
    }
    Ok(after.contains("memref.view"))
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn iterations_read_what_they_would_read(seed in any::<u64>()) {
        check(seed)?;
    }
}

/// Loops that are refused are left out above.
#[test]
fn many_loops_get_versions() {
    let with_versions = (0..200).filter(|seed| check(seed << 32 | *seed).expect("right"));
    let with_versions = with_versions.count();
    assert!(with_versions >= 8, "only {with_versions} of 200");
}
