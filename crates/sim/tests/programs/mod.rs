//! Random token programs with real copies, branches, loops, rotations and joins.
#![allow(dead_code)] // Not every test needs all of it.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fmt::Write;

/// Slots of workgroup memory. Each thread fills and reads its own element of them.
const SLOTS: usize = 3;
/// Threads of the block; each takes a way of its own, as its draws say.
pub const THREADS: u32 = 16;

/// A statement. A slot is always filled and read behind an await of the copy before it.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// Copies the next elements of the source to a slot.
    Fill(usize),
    /// Adds the element of a slot to the sum.
    Use(usize),
    /// Awaits several slots at once, and reads what is in them.
    Join(Vec<usize>),
    /// A branch.
    If(Condition, Vec<Stmt>, Vec<Stmt>),
    /// A loop.
    For(Trip, Vec<Stmt>),
    /// A loop as `scf.while`: 0 to 7 times, since nobody looks at how often it goes round.
    While(Vec<Stmt>),
    /// Hands each slot's token on to the next slot's, and its contents' place with it.
    Rotate,
}

/// Whether an arm is taken.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// Each time anew, as the next draw says.
    Drawn,
    /// Known when the program is compiled.
    Always,
}

/// How often a loop goes round.
#[derive(Clone, Copy, Debug)]
pub enum Trip {
    /// Known when the program is compiled.
    Constant(u64),
    /// 0 to 7 times, as the next draw says.
    Drawn,
}

/// Random programs.
pub fn statements() -> impl Strategy<Value = Vec<Stmt>> {
    let leaf = prop_oneof![
        4 => (0..SLOTS).prop_map(Stmt::Fill),
        3 => (0..SLOTS).prop_map(Stmt::Use),
        1 => prop::collection::vec(0..SLOTS, 2..4).prop_map(Stmt::Join),
        1 => Just(Stmt::Rotate),
    ];
    let stmt = leaf.prop_recursive(3, 24, 5, |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..5);
        let condition = prop_oneof![3 => Just(Condition::Drawn), 1 => Just(Condition::Always)];
        let trip = prop_oneof![(0..5_u64).prop_map(Trip::Constant), Just(Trip::Drawn)];
        prop_oneof![
            (condition, body(), body()).prop_map(|(c, then, other)| Stmt::If(c, then, other)),
            (trip, body()).prop_map(|(trip, body)| Stmt::For(trip, body)),
            body().prop_map(Stmt::While),
        ]
    });
    prop::collection::vec(stmt, 1..8)
}

/// What is carried through control flow: the token of each slot, which slot is which, the sum, and the places in the
/// source and in the draws.
#[derive(Clone)]
struct State {
    tokens: [String; SLOTS],
    slots: [String; SLOTS],
    sum: String,
    step: String,
    draw: String,
}

impl State {
    fn values(&self) -> Vec<&str> {
        let all = self.tokens.iter().chain(&self.slots);
        all.chain([&self.sum, &self.step, &self.draw])
            .map(String::as_str)
            .collect()
    }

    fn types() -> String {
        let types = [
            vec!["!async.token"; SLOTS],
            vec!["index"; SLOTS],
            vec!["f32", "index", "index"],
        ];
        types.concat().join(", ")
    }
}

/// How a program says where it copies to and what it reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Addresses {
    /// Numbers of slots come from constants of so many bits; 0 for those of the type `index`.
    pub bits: u32,
    /// Slots are rows of views.
    pub views: bool,
}

#[derive(Default)]
struct Writer {
    text: String,
    next: usize,
    addresses: Addresses,
}

impl Writer {
    fn name(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn def(&mut self, right: &str) -> String {
        let name = self.name();
        self.line(&format!("{name} = {right}"));
        name
    }

    /// A view of the slots, if they are accessed by views, and its type.
    fn view<'a>(&mut self, view: &str, ty: &'a str) -> (String, &'a str) {
        if self.addresses.views {
            (self.def(view), ty)
        } else {
            ("%slots".to_owned(), "!slots")
        }
    }

    fn state(&mut self) -> State {
        State {
            tokens: std::array::from_fn(|_| self.name()),
            slots: std::array::from_fn(|_| self.name()),
            sum: self.name(),
            step: self.name(),
            draw: self.name(),
        }
    }

    fn body(&mut self, stmts: &[Stmt], mut state: State) -> State {
        for stmt in stmts {
            state = self.stmt(stmt, state);
        }
        state
    }

    fn stmt(&mut self, stmt: &Stmt, mut state: State) -> State {
        match stmt {
            Stmt::Fill(slot) => {
                self.line(&format!("async.await {}", state.tokens[*slot]));
                let row = self.def(&format!("arith.remui {}, %c16 : index", state.step));
                state.step = self.def(&format!("arith.addi {}, %c1 : index", state.step));
                let (slots, ty) = self.view("memref.cast %slots : !slots to !cast", "!cast");
                state.tokens[*slot] = self.def(&format!(
                    "gpux.copy async %src[{row}, %t], {slots}[{}, %t], 1 : !src to {ty}",
                    state.slots[*slot]
                ));
            }
            Stmt::Use(slot) => {
                self.line(&format!("async.await {}", state.tokens[*slot]));
                self.add(*slot, &mut state);
            }
            Stmt::Join(slots) => {
                let tokens: Vec<&str> = slots.iter().map(|&slot| state.tokens[slot].as_str()).collect();
                let joined = format!("async.join {}", tokens.join(", "));
                let joined = self.def(&joined);
                self.line(&format!("async.await {joined}"));
                for slot in slots {
                    self.add(*slot, &mut state);
                }
            }
            Stmt::Rotate => {
                state.tokens.rotate_left(1);
                state.slots.rotate_left(1);
            }
            Stmt::If(condition, then, other) => return self.branch(*condition, [then, other], state),
            Stmt::For(trip, body) => return self.counted(*trip, body, state),
            Stmt::While(body) => return self.conditional(body, state),
        }
        state
    }

    /// Adds what is in a slot to the sum.
    fn add(&mut self, slot: usize, state: &mut State) {
        let number = &state.slots[slot];
        let row = format!("memref.subview %slots[{number}, 0] [1, 16] [1, 1] : !slots to !row");
        let x = match self.view(&row, "!row") {
            (row, "!row") => format!("memref.load {row}[%t] : !row"),
            _ => format!("memref.load %slots[{number}, %t] : !slots"),
        };
        let x = self.def(&x);
        state.sum = self.def(&format!("arith.addf {}, {x} : f32", state.sum));
    }

    /// The next draw of the thread, and these bits of it.
    fn draw(&mut self, bits: &str, state: &mut State) -> String {
        let drawn = self.def(&format!("memref.load %draws[{}, %t] : !draws", state.draw));
        let next = self.def(&format!("arith.addi {}, %c1 : index", state.draw));
        state.draw = self.def(&format!("arith.remui {next}, %c64 : index"));
        let drawn = self.def(&format!("arith.index_castui {drawn} : i8 to index"));
        self.def(&format!("arith.andi {drawn}, {bits} : index"))
    }

    fn bound(&mut self, trip: Trip, state: &mut State) -> String {
        match trip {
            Trip::Constant(trip) => self.def(&format!("arith.constant {trip} : index")),
            Trip::Drawn => self.draw("%c7", state),
        }
    }

    fn branch(&mut self, condition: Condition, arms: [&[Stmt]; 2], mut state: State) -> State {
        let condition = match condition {
            Condition::Drawn => {
                let bit = self.draw("%c1", &mut state);
                self.def(&format!("arith.cmpi eq, {bit}, %c1 : index"))
            }
            Condition::Always => self.def("arith.constant true"),
        };
        let out = self.state();
        self.line(&format!(
            "{} = scf.if {condition} -> ({}) {{",
            out.values().join(", "),
            State::types()
        ));
        for (i, arm) in arms.iter().enumerate() {
            let end = self.body(arm, state.clone());
            self.line(&format!(
                "scf.yield {} : {}",
                end.values().join(", "),
                State::types()
            ));
            self.line(if i == 0 { "} else {" } else { "}" });
        }
        out
    }

    fn counted(&mut self, trip: Trip, body: &[Stmt], mut state: State) -> State {
        let bound = self.bound(trip, &mut state);
        let (out, inside, i) = (self.state(), self.state(), self.name());
        let carried: Vec<String> = inside
            .values()
            .iter()
            .zip(state.values())
            .map(|(arg, init)| format!("{arg} = {init}"))
            .collect();
        self.line(&format!(
            "{} = scf.for {i} = %c0 to {bound} step %c1 iter_args({}) -> ({}) {{",
            out.values().join(", "),
            carried.join(", "),
            State::types()
        ));
        let end = self.body(body, inside);
        self.line(&format!(
            "scf.yield {} : {}",
            end.values().join(", "),
            State::types()
        ));
        self.line("}");
        out
    }

    fn conditional(&mut self, body: &[Stmt], mut state: State) -> State {
        let bound = self.draw("%c7", &mut state);
        let (out, inside) = (self.state(), self.state());
        let (last, i) = (self.name(), self.name());
        let carried: Vec<String> = inside
            .values()
            .iter()
            .zip(state.values())
            .map(|(arg, init)| format!("{arg} = {init}"))
            .collect();
        let types = State::types();
        self.line(&format!(
            "{last}, {} = scf.while ({i} = %c0, {}) : (index, {types}) -> (index, {types}) {{",
            out.values().join(", "),
            carried.join(", ")
        ));
        let goes_on = self.def(&format!("arith.cmpi ult, {i}, {bound} : index"));
        let end = self.body(body, inside);
        self.line(&format!(
            "scf.condition({goes_on}) {i}, {} : index, {types}",
            end.values().join(", ")
        ));
        self.line("} do {");
        let (j, handed) = (self.name(), self.state());
        let args: Vec<String> = handed
            .values()
            .iter()
            .zip(types.split(", "))
            .map(|(value, ty)| format!("{value}: {ty}"))
            .collect();
        self.line(&format!("^bb0({j}: index, {}):", args.join(", ")));
        let next = self.def(&format!("arith.addi {j}, %c1 : index"));
        self.line(&format!(
            "scf.yield {next}, {} : index, {types}",
            handed.values().join(", ")
        ));
        self.line("}");
        out
    }
}

/// A kernel that does what the statements say.
pub fn program(stmts: &[Stmt]) -> String {
    program_with(stmts, Addresses::default())
}

/// The same, with addresses in a form of their own.
pub fn program_with(stmts: &[Stmt], addresses: Addresses) -> String {
    let mut writer = Writer {
        addresses,
        ..Writer::default()
    };
    writer.line(
        "!src = memref<16x16xf32>\n\
         !draws = memref<64x16xi8>\n\
         !slots = memref<3x16xf32, #gpu.address_space<workgroup>>\n\
         !spare = memref<8x16xf32, #gpu.address_space<workgroup>>\n\
         !cast = memref<?x16xf32, #gpu.address_space<workgroup>>\n\
         !row = memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>\n\
         gpu.module @m {\n\
         gpu.func @k(%src: !src, %draws: !draws, %out: memref<16xf32>) workgroup(%slots: !slots, %spare: !spare) kernel {\n\
         %c0 = arith.constant 0 : index\n\
         %c1 = arith.constant 1 : index\n\
         %c2 = arith.constant 2 : index\n\
         %c7 = arith.constant 7 : index\n\
         %c16 = arith.constant 16 : index\n\
         %c64 = arith.constant 64 : index\n\
         %zero = arith.constant 0.0 : f32\n\
         %ready = async.ready\n\
         %t = gpu.thread_id x",
    );
    // What a slot holds before it is filled is defined.
    for slot in 0..SLOTS {
        writer.line(&format!("memref.store %zero, %slots[%c{slot}, %t] : !slots"));
    }
    let numbers: [String; SLOTS] = std::array::from_fn(|slot| match addresses.bits {
        0 => format!("%c{slot}"),
        bits => {
            let narrow = writer.def(&format!("arith.constant {slot} : i{bits}"));
            writer.def(&format!("arith.index_castui {narrow} : i{bits} to index"))
        }
    });
    let start = State {
        tokens: std::array::from_fn(|_| "%ready".into()),
        slots: numbers,
        sum: "%zero".into(),
        step: "%c0".into(),
        draw: "%c0".into(),
    };
    let end = writer.body(stmts, start);
    writer.line(&format!("memref.store {}, %out[%t] : memref<16xf32>", end.sum));
    writer.line("gpu.return\n}\n}");
    writer.text
}

/// Options of the pass that counts.
pub fn options() -> impl Strategy<Value = String> {
    let limit = prop_oneof![Just(0), Just(8)];
    (any::<bool>(), any::<bool>(), any::<bool>(), limit).prop_map(|(groups, balance, drop, limit)| {
        format!("form-groups={groups} balance={balance} drop-implied={drop} unroll-limit={limit}")
    })
}

/// So many cases, the same in every run; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` say otherwise.
pub fn config(cases: u32) -> ProptestConfig {
    let from_env = ProptestConfig::default();
    let cases = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => from_env.cases,
        None => cases,
    };
    let rng_seed = match from_env.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        seed @ RngSeed::Fixed(_) => seed,
    };
    ProptestConfig {
        cases,
        // A fixed number would be too few for many cases.
        max_global_rejects: from_env.max_global_rejects.max(cases),
        rng_seed,
        failure_persistence: None,
        ..from_env
    }
}
