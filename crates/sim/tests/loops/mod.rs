//! Random loops with stages: copies and other transfers into buffers, awaits, uses, values from one statement to another, and
//! what the loop carries.
#![allow(dead_code)] // Not every test needs all of it.

mod body;
pub mod early;
pub mod forms;
mod needed;
pub mod nests;
pub mod runs;

use body::{Body, Line};
use early::Handed;
use forms::Form;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Threads of the block.
pub const THREADS: u32 = 16;

/// What maps describe.
const TENSOR: &str = "!Map = !nvgpu.tensormap.descriptor<tensor = memref<16xi32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>";

/// What is behind each line of what is in flight where the loop is entered.
const BEFORE: &str = "// before";

/// What is behind the end of the loop.
const LOOP_END: &str = "// the loop";

/// A statement of the loop's body.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// Copies the next tile to a new buffer, asynchronously, and awaits it in a later statement.
    Load,
    /// The same, but in some iterations the tile is zero.
    LoadMasked,
    /// A loop that copies the next tile and its halo to a new buffer; it is not known how often it runs, and not all threads run it
    /// equally often.
    LoadHalo,
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
    /// A buffer that is written in all iterations or in none, and read in some.
    LoadFixed,
    /// A buffer that is written only in some iterations, and read in all of them.
    LoadKept,
    /// Carries what two values were an iteration before, and has them take each other's places.
    Swap,
    /// Reads what a copy before the loop brings, once it is awaited in the loop.
    Preloaded(Handed, u32),
    /// Copies the next row, which the next iteration awaits and reads.
    Behind(u32),
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
    /// The type of the variable.
    pub ty: &'static str,
    /// How tiles are loaded.
    pub form: Form,
    /// How many stages the loop asks for, if its statements have none.
    pub automatic: Option<u32>,
    /// Whether a block has no memory for many buffers.
    pub large: bool,
    /// What has to have an effect on the result.
    pub observed: Observed,
    /// Which of its loads are to buffers that copies before the loop fill, too, and how the tokens of these come to the loop.
    pub early: Vec<Option<Handed>>,
}

/// What has an effect on the result of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// What the loop happens to read.
    Anything,
    /// What is in each buffer.
    Contents,
    /// That, where it is awaited, too.
    Awaits,
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
        1 => Just(Stmt::LoadMasked),
        1 => Just(Stmt::LoadHalo),
        1 => Just(Stmt::LoadIf),
        1 => Just(Stmt::LoadFixed),
        1 => Just(Stmt::LoadKept),
        1 => Just(Stmt::Swap),
    ];
    let delay = prop_oneof![4 => Just(0_u32), 2 => Just(1), 1 => Just(2)];
    (
        prop::collection::vec(stmt, 1..6),
        prop::collection::vec(delay, 12),
        prop::collection::vec(0..8_u32, 12),
        (0..3_i64, 1..4_i64, any::<bool>()),
        prop::option::of(0..7_i64),
        prop_oneof![3 => Just("index"), 1 => prop::sample::select(&["i8", "i16", "i32", "i64"])],
        forms::random_form(),
    )
        .prop_map(
            |(stmts, delays, keys, (lower, step, unsigned), constant, ty, form)| Loop {
                stmts: std::iter::once(Stmt::Load).chain(stmts).collect(),
                delays,
                keys,
                lower,
                step,
                unsigned,
                constant,
                // It may not be known of a narrow variable that it does not wrap around.
                ty: if constant.is_some() || ty == "index" {
                    ty
                } else {
                    "i32"
                },
                form,
                automatic: None,
                large: false,
                observed: Observed::Anything,
                early: Vec::new(),
            },
        )
}

impl Loop {
    /// How often to run it.
    pub fn trips(&self, most: i64) -> Vec<i64> {
        self.constant.map_or((0..=most).collect(), |trips| vec![trips])
    }

    /// How many statements depend on a condition.
    pub fn conditions(&self) -> usize {
        let is_conditional = |stmt: &&Stmt| {
            let loads = matches!(
                stmt,
                Stmt::LoadMasked | Stmt::LoadIf | Stmt::LoadFixed | Stmt::LoadKept
            );
            loads || matches!(stmt, Stmt::StoreIf(..))
        };
        self.stmts.iter().filter(is_conditional).count()
    }

    /// Returns true if something in it happens in some iterations only.
    pub fn has_conditions(&self) -> bool {
        self.conditions() > 0
    }

    /// How many parts the output has.
    pub fn outputs(&self) -> i64 {
        let stores = |stmt: &&Stmt| matches!(stmt, Stmt::StoreIf(..) | Stmt::Store(..));
        match self.observed {
            Observed::Anything => 1,
            _ => 1 + i64::try_from(self.stmts.iter().filter(stores).count()).expect("few"),
        }
    }

    /// The stage and the order of each part: stages grow in the order in which parts are written, and parts of one stage stay
    /// in order.
    fn schedule(&self, body: &Body) -> Vec<(u32, usize)> {
        let parts = body.parts;
        let mut stage = 0;
        let stages: Vec<u32> = (0..parts)
            .map(|part| {
                if !body.no_later.contains(&part) {
                    stage = (stage + self.delays[part % self.delays.len()]).min(4);
                }
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

    /// The stages in which plain transfers are to be made asynchronous, if any.
    fn async_stages(&self, body: &Body, schedule: &[(u32, usize)]) -> String {
        if self.form != Form::Plain {
            return String::new();
        }
        let chosen = body.transfers.iter().enumerate();
        let chosen = chosen.filter(|(i, _)| !self.keys[i % self.keys.len()].is_multiple_of(4));
        let stages: BTreeSet<u32> = chosen.map(|(_, part)| schedule[*part].0).collect();
        let stages: Vec<String> = stages.iter().map(u32::to_string).collect();
        if stages.is_empty() {
            return String::new();
        }
        format!("async.async_stages = [{}]", stages.join(", "))
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
                    "%trips = arith.addi %n, %c0 : index".to_owned()
                } else {
                    format!("%trips = arith.index_cast %n : index to {ty}")
                };
                format!(
                    "{cast}\n%more = arith.muli %trips, %step : {ty}\n%upper = arith.addi %more, %lower : {ty}"
                )
            }
        }
    }

    /// The operations of the body, with their stages and orders.
    fn annotated(&self, body: &Body, schedule: &[(u32, usize)]) -> String {
        let mut text = String::new();
        for Line { text: line, part } in &body.lines {
            let (stage, order) = schedule[*part];
            if self.automatic.is_some() {
                let _ = writeln!(text, "{line}");
                continue;
            }
            let attributes = format!("async.stage = {stage}, async.order = {order}");
            let _ = match line.rfind("{}") {
                Some(at) => writeln!(text, "{}{attributes}{}", &line[..=at], &line[at + 1..]),
                None => writeln!(text, "{}, {attributes}}}", &line[..line.len() - 1]),
            };
        }
        text
    }

    /// The kernel.
    pub fn kernel(&self) -> String {
        let early = if self.large { &[] } else { &*self.early };
        let early = (early.to_vec(), self.automatic.is_some());
        let mut body = Body::new(self.form, self.observed, early);
        for stmt in &self.stmts {
            body.add(stmt);
        }
        if self.observed != Observed::Anything {
            body.observe();
        }
        body.count_groups();
        let schedule = self.schedule(&body);
        let text = self.annotated(&body, &schedule);
        let buffers = buffers(&body);
        let before = joined(body.before.lines(), |line| format!("{line} {BEFORE}\n"));
        let (results, carries, yields) = carried(&body);
        let awaits = joined(&body.awaited_after, |token| {
            format!("async.await %r#{}\n", body.carried.len() + token)
        }) + &body.after;
        let stores = joined(0..body.carried.len(), |k| {
            let place = k * 16;
            format!(
                "%o{k} = arith.addi %last, %c{place} : index\nmemref.store %r#{k}, %out[%o{k}] : memref<?xi32>\n"
            )
        });
        let asked = match self.automatic {
            Some(stages) => format!("async.num_stages = {stages}"),
            None => self.async_stages(&body, &schedule),
        };
        let Self { lower, step, ty, .. } = self;
        let unsigned = if self.unsigned { "unsigned " } else { "" };
        let upper = self.upper();
        let argument = if self.form == Form::Tma {
            ", %map: !Map"
        } else {
            ""
        };
        let variable = if *ty == "index" {
            "%i = arith.addi %iv, %c0 : index".to_owned()
        } else {
            format!("%i = arith.index_cast %iv : {ty} to index")
        };
        // A block has 163 KiB.
        let tile = if self.large { 8192 } else { 16 };
        let typed = typed(ty);
        let constants = constants();
        format!(
            "!Tile = memref<{tile}xi32, #gpu.address_space<workgroup>>
!Halo = memref<48xi32, #gpu.address_space<workgroup>>
!Rows = memref<32x16xi32, #gpu.address_space<workgroup>>
!Kept = memref<16xi32, strided<[1], offset: 752>>
{TENSOR}
gpu.module @m {{
gpu.func @k(%in: memref<?xi32>, %other: memref<?xi32>, %out: memref<?xi32>, %n: index, %pattern: index{argument}) kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
{constants}%c15 = arith.constant 15 : index
%c31 = arith.constant 31 : i32
%c31_index = arith.constant 31 : index
%zero = arith.constant 0 : i32
%c800 = arith.constant 800 : index
%t = gpu.thread_id x
%last = arith.addi %t, %c800 : index
%t1 = arith.addi %t, %c1 : index
%t2 = arith.addi %t, %c2 : index
%h0 = arith.addi %t, %c0 : index
%h1 = arith.addi %t, %c1 : index
%h2 = arith.addi %t, %c2 : index
%s0 = arith.andi %t, %c15 : index
%s1 = arith.andi %t1, %c15 : index
%s2 = arith.andi %t2, %c15 : index
%some = arith.andi %n, %c15 : index
%staged = arith.addi %some, %c18 : index
%later_bits = arith.shrui %pattern, %c30 : index
%later_bit = arith.andi %later_bits, %c1 : index
%fixed = arith.cmpi eq, %later_bit, %c1 : index
%none = async.ready
%lower = arith.constant {lower} : {ty}
%step = arith.constant {step} : {ty}
{upper}
%row_step = arith.constant {step} : index
%row_before = arith.constant {} : index
%kept = memref.subview %out[752] [16] [1] : memref<?xi32> to !Kept
{buffers}{before}{results}scf.for {unsigned}%iv = %lower to %upper step %step{carries}{typed} {{
{variable}
%tile = arith.muli %i, %c16 : index
%from = arith.addi %tile, %t : index
%bits = arith.shrui %pattern, %i : index
%bit = arith.andi %bits, %c1 : index
%odd = arith.cmpi eq, %bit, %c1 : index
%both = arith.andi %odd, %fixed : i1
%count = arith.select %odd, %c1, %c0 : index
%first = arith.cmpi eq, %iv, %lower : {ty}
%row = arith.addi %i, %c8 : index
%last_row = arith.subi %row, %row_step : index
{text}{yields}
}} {{{asked}}} {LOOP_END}
{awaits}{stores}gpu.return
}}
}}
",
            8 + lower - step
        )
    }
}

/// The type of a loop's variable, as the loop says it.
fn typed(ty: &str) -> String {
    if ty == "index" {
        String::new()
    } else {
        format!(" : {ty}")
    }
}

/// The buffers of a loop.
fn buffers(body: &Body) -> String {
    joined(body.buffers.iter().enumerate(), |(b, ty)| {
        format!("%b{b} = memref.alloc() : {ty}\n")
    }) + &joined(0..body.conditional, |x| {
        format!("%x{x} = memref.alloc() : !Tile\n")
    }) + &joined(&body.kept, |x| format!("memref.store %zero, %x{x}[%t] : !Tile\n"))
        + &body.more_buffers
}

/// Numbers that statements use.
fn constants() -> String {
    let numbers = [
        0, 1, 2, 8, 16, 18, 30, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 1024, 2048, 3072,
        4096, 5120, 6144,
    ];
    joined(numbers, |c| format!("%c{c} = arith.constant {c} : index\n"))
}

/// The results of a loop, what it starts with, and what it yields: numbers, and then tokens.
fn carried(body: &Body) -> (String, String, String) {
    let numbers = body.carried.iter().enumerate();
    let numbers = numbers.map(|(k, (init, next))| (format!("%a{k} = {init}"), next, "i32"));
    let tokens = body.handed.iter().enumerate();
    let tokens = tokens.map(|(k, (init, next))| (format!("%q{k} = {init}"), next, "!async.token"));
    let all: Vec<(String, &String, &'static str)> = numbers.chain(tokens).collect();
    if all.is_empty() {
        return (String::new(), String::new(), "scf.yield".to_owned());
    }
    let listed = |part: fn(&(String, &String, &'static str)) -> String| {
        all.iter().map(part).collect::<Vec<_>>().join(", ")
    };
    let inits = listed(|(init, ..)| init.clone());
    let yields = listed(|(_, next, _)| (*next).clone());
    let types = listed(|(.., ty)| (*ty).to_owned());
    (
        format!("%r:{} = ", all.len()),
        format!(" iter_args({inits}) -> ({types})"),
        format!("scf.yield {yields} : {types}"),
    )
}

/// The text of all `items`.
fn joined<T>(items: impl IntoIterator<Item = T>, text: impl Fn(T) -> String) -> String {
    items.into_iter().map(text).collect::<Vec<String>>().concat()
}
