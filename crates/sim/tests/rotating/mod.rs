//! Random loops that use slots of a buffer in turn, by counters and by what they hand from one iteration to the next.

use super::kernel::Call;
use async_sim::inputs::{Argument, Fill};
use proptest::prelude::*;
use std::fmt::Write;

/// A kernel with a loop, perhaps in another one.
#[derive(Clone, Debug)]
pub struct Program {
    form: Form,
    /// Where the loop begins to count, and by how much it goes on.
    start: i64,
    step: i64,
    trips: i64,
    /// What it hands on: how, modulo what, and what it begins with, which may be an argument.
    next: usize,
    modulus: i64,
    first: i64,
    is_argument: bool,
    /// How often a loop around it runs, if there is one, and whether that hands on what the inner one has in the end.
    outer: Option<(i64, bool)>,
    /// How slots are computed: of the counter, or of what is handed on.
    slots: Vec<(bool, Vec<(usize, i64)>)>,
    accesses: Vec<Access>,
    after: Vec<Access>,
    /// An argument that says how rows are mixed up.
    mixed: i64,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    For,
    Affine,
    /// Whether the next number is computed before it is known whether there is an iteration.
    While(bool),
}

#[derive(Clone, Copy, Debug)]
struct Access {
    slot: usize,
    row: usize,
    writes: bool,
    /// By one index for both.
    flat: bool,
}

/// Where threads are in a slot: in their own place, mirrored, at a number that was read, exchanged; or all at the same place.
const ROWS: [&str; 5] = ["%t", "%mirrored", "%j", "%exchanged", "%mixed"];

fn access() -> impl Strategy<Value = Access> {
    (0..2_usize, 0..ROWS.len(), any::<bool>(), any::<bool>()).prop_map(|(slot, row, writes, flat)| Access {
        flat,
        slot,
        row,
        // Several threads write to one place in the last one.
        writes: writes && row + 1 < ROWS.len(),
    })
}

pub fn program() -> impl Strategy<Value = Program> {
    let form = prop_oneof![
        Just(Form::For),
        Just(Form::Affine),
        any::<bool>().prop_map(Form::While)
    ];
    let counter = (-3..4_i64, 1..3_i64, 0..7_i64);
    let carried = (0..7_usize, 1..4_i64, 0..3_i64, any::<bool>());
    let outer = prop::option::weighted(0.7, (0..4_i64, any::<bool>()));
    let chain = prop::collection::vec((0..10_usize, -3..4_i64), 0..3);
    let slots = prop::collection::vec((any::<bool>(), chain), 2);
    let accesses = prop::collection::vec(access(), 1..4);
    let after = prop::collection::vec(access(), 0..2);
    let parts = (form, counter, carried, outer, slots, (accesses, after), 0..64_i64);
    parts.prop_map(
        |(form, counter, carried, outer, slots, (accesses, after), mixed)| {
            let (next, modulus, first, is_argument) = carried;
            Program {
                form,
                start: counter.0,
                step: counter.1,
                trips: counter.2,
                next,
                modulus,
                first: first % modulus,
                is_argument,
                outer,
                slots,
                accesses,
                after,
                mixed,
            }
        },
    )
}

#[derive(Default)]
struct Text {
    body: String,
    values: usize,
}

impl Text {
    fn line(&mut self, line: &str) {
        writeln!(self.body, "{line}").expect("a string");
    }

    fn value(&mut self, computed: &str) -> String {
        self.values += 1;
        let name = format!("%v{}", self.values);
        self.line(&format!("{name} = {computed}"));
        name
    }

    fn constant(&mut self, constant: i64) -> String {
        self.value(&format!("arith.constant {constant} : index"))
    }

    fn binary(&mut self, name: &str, a: &str, b: i64) -> String {
        let b = self.constant(b);
        self.value(&format!("arith.{name} {a}, {b} : index"))
    }

    fn select(&mut self, (predicate, compared, with): (&str, &str, i64), yes: &str, no: &str) -> String {
        let with = self.constant(with);
        let condition = self.value(&format!("arith.cmpi {predicate}, {compared}, {with} : index"));
        self.value(&format!("arith.select {condition}, {yes}, {no} : index"))
    }

    /// A slot that is computed from a number.
    fn slot(&mut self, number: &str, chain: &[(usize, i64)]) -> String {
        let mut last = number.to_owned();
        for &(operation, constant) in chain {
            let positive = constant.abs() + 1;
            last = match operation {
                0 => self.binary("addi", &last, constant),
                1 => self.binary("subi", &last, constant),
                2 => self.binary("remui", &last, positive),
                3 => self.binary("remsi", &last, positive),
                4 => self.binary("xori", &last, 1),
                5 => self.binary("andi", &last, if constant > 0 { 1 } else { 3 }),
                6 => self.binary(
                    if constant > 0 { "divui" } else { "shrui" },
                    &last,
                    positive.min(2),
                ),
                7 => self.value(&format!(
                    "affine.apply affine_map<(d0) -> (({constant} * d0) mod {positive})>({last})"
                )),
                8 => {
                    let bits = [1, 2, 3, 8][usize::try_from(positive - 1).expect("small")];
                    let wide = self.value(&format!("arith.index_cast {last} : index to i32"));
                    let narrow = self.value(&format!("arith.trunci {wide} : i32 to i{bits}"));
                    let cast = if constant > 0 {
                        "index_cast"
                    } else {
                        "index_castui"
                    };
                    self.value(&format!("arith.{cast} {narrow} : i{bits} to index"))
                }
                _ => {
                    let more = self.binary("addi", &last, 1);
                    let again = self.constant(0);
                    self.select(("eq", &more, positive), &again, &more)
                }
            };
        }
        self.binary("andi", &last, 3)
    }

    fn access(&mut self, slots: &[String], access: Access) {
        let (slot, row) = (&slots[access.slot % slots.len()], ROWS[access.row]);
        let place = if access.flat {
            let first = self.binary("muli", slot, 64);
            let at = self.value(&format!("arith.addi {first}, {row} : index"));
            format!("%flat[{at}] : !flat")
        } else {
            format!("%s[{slot}, {row}] : !slots")
        };
        if access.writes {
            self.line(&format!("memref.store %x, {place}"));
        } else {
            self.value(&format!("memref.load {place}"));
        }
    }
}

impl Program {
    /// What comes after `%q`, of which `%r` may take the place.
    fn next(&self, text: &mut Text) -> String {
        let modulus = self.modulus;
        match self.next {
            0 => {
                let more = text.binary("addi", "%q", self.step);
                text.binary("remui", &more, modulus)
            }
            1 => {
                let (more, again) = (text.binary("addi", "%q", 1), text.constant(0));
                text.select(("eq", &more, modulus), &again, &more)
            }
            2 => {
                let (less, again) = (text.binary("subi", "%q", 1), text.constant(modulus - 1));
                text.select(("eq", "%q", 0), &again, &less)
            }
            3 => {
                let (less, again) = (text.binary("addi", "%q", -1), text.constant(modulus - 1));
                text.select(("sge", &less, 0), &less, &again)
            }
            4 => text.binary("xori", "%q", 1),
            5 => "%r".to_owned(),
            _ => text.binary("addi", "%q", self.step),
        }
    }

    /// What is done in each iteration with `%i`, `%q` and `%r`.
    fn body(&self, text: &mut Text) {
        let slots = self.slots.iter();
        let slots: Vec<String> = slots
            .map(|(counts, chain)| text.slot(if *counts { "%i" } else { "%q" }, chain))
            .collect();
        for access in &self.accesses {
            text.access(&slots, *access);
        }
    }

    /// The loop, which begins with `first`; its second result is what it hands on in the end.
    fn main_loop(&self, text: &mut Text, first: &str) {
        let Self { start, step, .. } = self;
        let (start_value, step_value, other) = (
            text.constant(*start),
            text.constant(*step),
            text.constant(self.modulus - 1),
        );
        let carries = format!("%q = {first}, %r = {other}");
        match self.form {
            Form::While(early) => {
                text.line(&format!(
                    "%end:4 = scf.while (%i = {start_value}, {carries}) : (index, index, index) -> (index, index, index, index) {{"
                ));
                let more = text.value("arith.cmpi slt, %i, %n : index");
                let next = if early { self.next(text) } else { "%i".to_owned() };
                text.line(&format!(
                    "scf.condition({more}) {next}, %q, %i, %r : index, index, index, index
                    }} do {{
                    ^bb0(%computed: index, %q: index, %i: index, %r: index):"
                ));
                self.body(text);
                let next = if early {
                    "%computed".to_owned()
                } else {
                    self.next(text)
                };
                let more = text.value(&format!("arith.addi %i, {step_value} : index"));
                text.line(&format!("scf.yield {more}, {next}, %q : index, index, index\n}}"));
            }
            Form::For | Form::Affine => {
                let (dialect, from, by) = match self.form {
                    Form::Affine => ("affine", start.to_string(), step.to_string()),
                    _ => ("scf", start_value, step_value),
                };
                text.line(&format!(
                    "%end:2 = {dialect}.for %i = {from} to %n step {by} iter_args({carries}) -> (index, index) {{"
                ));
                self.body(text);
                let next = self.next(text);
                text.line(&format!("{dialect}.yield {next}, %q : index, index\n}}"));
            }
        }
    }

    pub fn kernel(&self) -> String {
        let mut text = Text::default();
        let first = if self.is_argument {
            "%first".to_owned()
        } else {
            text.constant(self.first)
        };
        let end = if matches!(self.form, Form::While(_)) {
            "%end#1"
        } else {
            "%end#0"
        };
        let after = |text: &mut Text| {
            let slots = [text.slot(end, &[]), text.slot(end, &[(0, 1)])];
            for access in &self.after {
                text.access(&slots, *access);
            }
        };
        match self.outer {
            Some((trips, goes_on)) => {
                let (zero, one, trips) = (text.constant(0), text.constant(1), text.constant(trips));
                text.line(&format!(
                    "%last = scf.for %o = {zero} to {trips} step {one} iter_args(%before = {first}) -> index {{"
                ));
                self.main_loop(&mut text, if goes_on { "%before" } else { &first });
                after(&mut text);
                text.line(&format!("scf.yield {end} : index\n}}"));
            }
            None => {
                self.main_loop(&mut text, &first);
                after(&mut text);
            }
        }
        format!(
            "!slots = memref<4x64xf32, #gpu.address_space<workgroup>>
            !flat = memref<256xf32, #gpu.address_space<workgroup>>
            gpu.module @m {{
              gpu.func @k(%x: f32, %a: memref<64xi32>, %n: index, %first: index, %mixed: index) workgroup(%s: !slots) kernel
                  attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
                %flat = memref.collapse_shape %s [[0, 1]] : !slots into !flat
                %t = gpu.thread_id x
                %c0 = arith.constant 0 : index
                %c1 = arith.constant 1 : index
                %c2 = arith.constant 2 : index
                %c3 = arith.constant 3 : index
                %c63 = arith.constant 63 : index
                %mirrored = arith.subi %c63, %t : index
                %exchanged = arith.xori %t, %mixed : index
                %read = memref.load %a[%t] : memref<64xi32>
                %known = arith.index_cast %read : i32 to index
                %moved = arith.addi %known, %mixed : index
                %j = arith.andi %moved, %c63 : index
                memref.store %x, %s[%c0, %t] : !slots
                memref.store %x, %s[%c1, %t] : !slots
                memref.store %x, %s[%c2, %t] : !slots
                memref.store %x, %s[%c3, %t] : !slots
                {}
                gpu.return
              }}
            }}",
            text.body
        )
    }

    pub fn call(&self) -> Call {
        let integer = |number: i64| Some(Argument::Integer(number.into()));
        let numbers = Argument::Buffer {
            sizes: Vec::new(),
            fill: Fill::Ramp,
        };
        let end = self.start + self.step * self.trips;
        let arguments = [
            None,
            Some(numbers),
            integer(end),
            integer(self.first),
            integer(self.mixed),
        ];
        Call {
            arguments: arguments.into(),
            ..Call::of(64)
        }
    }
}
