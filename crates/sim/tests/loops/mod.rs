//! Random loops with stages: copies and other transfers into buffers, awaits, uses, values from one statement to another, and
//! what the loop carries.
#![allow(dead_code)] // Not every test needs all of it.

pub mod nests;

use proptest::prelude::*;
use std::fmt::Write;

/// Threads of the block.
pub const THREADS: u32 = 16;

/// A statement of the loop's body.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// Copies the next tile to a new buffer, asynchronously, and awaits it in a later statement.
    Load,
    /// Writes what a buffer holds for a neighbor to a new buffer.
    Pass(usize, u32),
    /// Adds what a buffer holds for a neighbor to a number of its own that the loop carries.
    Sum(usize, u32),
    /// Writes what a buffer holds for a neighbor to the output.
    Store(usize, u32),
    /// The same, but only in some iterations.
    StoreIf(usize, u32),
    /// Reads a buffer into a register, which a later statement adds to what the loop carries.
    Fetch(usize, u32),
    /// A buffer that is written only in some iterations, by threads that read it under the same condition.
    LoadIf,
    /// Carries what two values were an iteration before, and has them take each other's places.
    Swap,
}

/// A loop.
#[derive(Clone, Debug)]
pub struct Loop {
    pub stmts: Vec<Stmt>,
    /// How much later each part of a statement is than the part before.
    pub delays: Vec<u32>,
    /// Where parts are in a round, apart from what has to be in order.
    pub keys: Vec<u32>,
    pub lower: i64,
    pub step: i64,
    pub unsigned: bool,
    /// How often it runs, if that is known.
    pub constant: Option<i64>,
    /// The bits of the variable.
    pub ty: &'static str,
}

pub fn random_loop() -> impl Strategy<Value = Loop> {
    let shift = || 0..3_u32;
    let buffer = || 0..4_usize;
    let stmt = prop_oneof![
        4 => Just(Stmt::Load),
        2 => (buffer(), shift()).prop_map(|(b, s)| Stmt::Pass(b, s)),
        3 => (buffer(), shift()).prop_map(|(b, s)| Stmt::Sum(b, s)),
        2 => (buffer(), shift()).prop_map(|(b, s)| Stmt::Store(b, s)),
        1 => (buffer(), shift()).prop_map(|(b, s)| Stmt::StoreIf(b, s)),
        2 => (buffer(), shift()).prop_map(|(b, s)| Stmt::Fetch(b, s)),
        1 => Just(Stmt::LoadIf),
        1 => Just(Stmt::Swap),
    ];
    let delay = prop_oneof![4 => Just(0_u32), 2 => Just(1), 1 => Just(2)];
    (
        prop::collection::vec(stmt, 1..6),
        prop::collection::vec(delay, 12),
        prop::collection::vec(0..8_u32, 12),
        (0..3_i64, 1..4_i64, any::<bool>()),
        prop::option::of(0..7_i64),
        prop_oneof![3 => Just("index"), 1 => Just("i32")],
    )
        .prop_map(
            |(stmts, delays, keys, (lower, step, unsigned), constant, ty)| Loop {
                stmts: std::iter::once(Stmt::Load).chain(stmts).collect(),
                delays,
                keys,
                lower,
                step,
                unsigned,
                constant,
                ty,
            },
        )
}

/// An operation of the body, with the number of its statement.
struct Line {
    text: String,
    part: usize,
}

/// The body while it is written.
#[derive(Default)]
struct Body {
    /// Operations that have a stage, and those that are recomputed.
    lines: Vec<Line>,
    parts: usize,
    buffers: usize,
    carried: Vec<(String, String)>,
}

impl Body {
    fn part(&mut self) -> usize {
        self.parts += 1;
        self.parts - 1
    }

    /// Adds an operation; `{}` stands for its attributes.
    fn op(&mut self, part: usize, text: String) {
        self.lines.push(Line { text, part });
    }

    /// Loads what buffer `b` holds for a neighbor.
    fn read(&mut self, part: usize, b: usize, shift: u32) -> String {
        let n = self.lines.len();
        let b = b % self.buffers;
        self.op(part, format!("%v{n} = memref.load %b{b}[%s{shift}] {{}} : !Tile"));
        format!("%v{n}")
    }

    /// Carries the sum of `value` and 31 times what was carried.
    fn sum(&mut self, part: usize, value: &str) {
        let k = self.carried.len();
        let n = self.lines.len();
        self.op(part, format!("%m{n} = arith.muli %a{k}, %c31 {{}} : i32"));
        self.op(part, format!("%w{n} = arith.addi %m{n}, {value} {{}} : i32"));
        self.carried.push(("%zero".to_owned(), format!("%w{n}")));
    }

    fn add(&mut self, stmt: &Stmt) {
        match *stmt {
            Stmt::Load => {
                let b = self.buffers;
                self.buffers += 1;
                let part = self.part();
                self.op(
                    part,
                    format!(
                        "%token{b} = gpux.copy async %in[%from], %b{b}[%t], 1 {{}} : memref<?xi32> to !Tile"
                    ),
                );
                let part = self.part();
                self.op(part, format!("async.await %token{b} {{}}"));
            }
            Stmt::LoadIf => {
                let b = self.buffers;
                self.buffers += 1;
                let k = self.carried.len();
                let part = self.part();
                self.op(part, format!("%token{b} = scf.if %odd -> !async.token {{\n  %u = gpux.copy async %other[%from], %b{b}[%t], 1 : memref<?xi32> to !Tile\n  scf.yield %u : !async.token\n}} else {{\n  %u = async.ready\n  scf.yield %u : !async.token\n}} {{}}"));
                let part = self.part();
                self.op(part, format!("async.await %token{b} {{}}"));
                let part = self.part();
                self.op(part, format!("%r{k} = scf.if %odd -> i32 {{\n  %u = memref.load %b{b}[%s1] : !Tile\n  scf.yield %u : i32\n}} else {{\n  scf.yield %zero : i32\n}} {{}}"));
                let part = self.part();
                self.sum(part, &format!("%r{k}"));
                // Nobody else reads it.
                self.buffers -= 1;
                self.lines.iter_mut().for_each(|line| {
                    line.text = line
                        .text
                        .replace(&format!("%b{b}["), "%x[")
                        .replace(&format!("%token{b}"), &format!("%tokenx{k}"));
                });
            }
            Stmt::Pass(from, shift) => {
                let part = self.part();
                let value = self.read(part, from, shift);
                let b = self.buffers;
                self.buffers += 1;
                self.op(part, format!("memref.store {value}, %b{b}[%t] {{}} : !Tile"));
            }
            Stmt::Sum(b, shift) => {
                let part = self.part();
                let value = self.read(part, b, shift);
                self.sum(part, &value);
            }
            Stmt::Fetch(b, shift) => {
                let part = self.part();
                let value = self.read(part, b, shift);
                let part = self.part();
                self.sum(part, &value);
            }
            Stmt::Store(b, shift) => {
                let part = self.part();
                let value = self.read(part, b, shift);
                self.op(
                    part,
                    format!("memref.store {value}, %out[%from] {{}} : memref<?xi32>"),
                );
            }
            Stmt::StoreIf(b, shift) => {
                let part = self.part();
                let value = self.read(part, b, shift);
                self.op(
                    part,
                    format!("scf.if %odd {{\n  memref.store {value}, %out[%from] : memref<?xi32>\n}} {{}}"),
                );
            }
            Stmt::Swap => {
                let k = self.carried.len();
                self.carried.push(("%c31".to_owned(), format!("%a{}", k + 1)));
                self.carried.push(("%zero".to_owned(), format!("%a{k}")));
                let part = self.part();
                self.sum(part, &format!("%a{k}"));
            }
        }
    }
}

impl Loop {
    /// How often to run it.
    pub fn trips(&self, most: i64) -> Vec<i64> {
        self.constant.map_or((0..=most).collect(), |trips| vec![trips])
    }

    /// The stage and the order of each part: stages grow in the order in which parts are written, and parts of one stage stay
    /// in order.
    fn schedule(&self, parts: usize) -> Vec<(u32, usize)> {
        let mut stage = 0;
        let stages: Vec<u32> = (0..parts)
            .map(|part| {
                stage = (stage + self.delays[part % self.delays.len()]).min(4);
                stage
            })
            .collect();
        let mut order: Vec<usize> = Vec::new();
        for part in 0..parts {
            // After the last one of its stage.
            let after = order
                .iter()
                .rposition(|other| stages[*other] == stages[part])
                .map_or(0, |at| at + 1);
            let more = self.keys[part % self.keys.len()] as usize % (order.len() - after + 1);
            order.insert(after + more, part);
        }
        (0..parts)
            .map(|part| {
                (
                    stages[part],
                    order.iter().position(|other| *other == part).expect("a place"),
                )
            })
            .collect()
    }

    /// The upper bound.
    fn upper(&self) -> String {
        let Self { lower, step, ty, .. } = self;
        match self.constant {
            // Not a whole step after the last.
            Some(trips) if trips > 0 => format!(
                "%upper = arith.constant {} : {ty}",
                lower + (trips - 1) * step + 1
            ),
            Some(_) => format!("%upper = arith.constant {lower} : {ty}"),
            None => {
                let cast = if *ty == "index" {
                    "%trips = arith.addi %n, %c0 : index"
                } else {
                    "%trips = arith.index_cast %n : index to i32"
                };
                format!(
                    "{cast}\n%more = arith.muli %trips, %step : {ty}\n%upper = arith.addi %more, %lower : {ty}"
                )
            }
        }
    }

    /// The kernel.
    pub fn kernel(&self) -> String {
        let mut body = Body::default();
        for stmt in &self.stmts {
            body.add(stmt);
        }
        let schedule = self.schedule(body.parts);
        let mut text = String::new();
        for Line { text: line, part } in &body.lines {
            let (stage, order) = schedule[*part];
            let attributes = format!("{{async.stage = {stage}, async.order = {order}}}");
            let at = line.rfind("{}").expect("a place for attributes");
            let _ = writeln!(text, "{}{attributes}{}", &line[..at], &line[at + 2..]);
        }
        let buffers = joined(0..body.buffers, |b| format!("%b{b} = memref.alloc() : !Tile\n"));
        let inits = body
            .carried
            .iter()
            .enumerate()
            .map(|(k, (init, _))| format!("%a{k} = {init}"));
        let inits = inits.collect::<Vec<_>>().join(", ");
        let types = vec!["i32"; body.carried.len()].join(", ");
        let yields = body
            .carried
            .iter()
            .map(|(_, value)| value.clone())
            .collect::<Vec<_>>()
            .join(", ");
        let (results, carries, yields) = if body.carried.is_empty() {
            (String::new(), String::new(), "scf.yield".to_owned())
        } else {
            (
                format!("%r:{} = ", body.carried.len()),
                format!(" iter_args({inits}) -> ({types})"),
                format!("scf.yield {yields} : {types}"),
            )
        };
        let stores = joined(0..body.carried.len(), |k| {
            let place = k * 16;
            format!(
                "%o{k} = arith.addi %last, %c{place} : index\nmemref.store %r#{k}, %out[%o{k}] : memref<?xi32>\n"
            )
        });
        let Self { lower, step, ty, .. } = self;
        let unsigned = if self.unsigned { "unsigned " } else { "" };
        let upper = self.upper();
        let variable = if *ty == "index" {
            "%i = arith.addi %iv, %c0 : index"
        } else {
            "%i = arith.index_cast %iv : i32 to index"
        };
        let typed = if *ty == "index" { "" } else { " : i32" };
        let constants = joined(
            [0, 1, 2, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192],
            |c| format!("%c{c} = arith.constant {c} : index\n"),
        );
        format!(
            "!Tile = memref<16xi32, #gpu.address_space<workgroup>>
gpu.module @m {{
gpu.func @k(%in: memref<?xi32>, %other: memref<?xi32>, %out: memref<?xi32>, %n: index) kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
{constants}%c15 = arith.constant 15 : index
%c31 = arith.constant 31 : i32
%zero = arith.constant 0 : i32
%c800 = arith.constant 800 : index
%t = gpu.thread_id x
%last = arith.addi %t, %c800 : index
%t1 = arith.addi %t, %c1 : index
%t2 = arith.addi %t, %c2 : index
%s0 = arith.andi %t, %c15 : index
%s1 = arith.andi %t1, %c15 : index
%s2 = arith.andi %t2, %c15 : index
%lower = arith.constant {lower} : {ty}
%step = arith.constant {step} : {ty}
{upper}
%x = memref.alloc() : !Tile
{buffers}{results}scf.for {unsigned}%iv = %lower to %upper step %step{carries}{typed} {{
{variable}
%tile = arith.muli %i, %c16 : index
%from = arith.addi %tile, %t : index
%bit = arith.andi %i, %c1 : index
%odd = arith.cmpi eq, %bit, %c1 : index
{text}{yields}
}}
{stores}gpu.return
}}
}}
"
        )
    }
}

/// The text of all `items`.
fn joined<T>(items: impl IntoIterator<Item = T>, text: impl Fn(T) -> String) -> String {
    items.into_iter().map(text).collect::<Vec<String>>().concat()
}
