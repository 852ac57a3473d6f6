//! Random token programs: lowered, they report nothing under any schedule, and leave the memory that the token form
//! leaves when every copy happens at once.
//!
//! The programs are the same in every run. `PROPTEST_CASES` makes it more or fewer of them.
#![allow(missing_docs)]

mod kernel;

use async_sim::adversary::Adversary;
use kernel::{Call, context, count, lower, run};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fmt::Write;

/// Slots of workgroup memory. Each thread fills and reads its own element of them.
const SLOTS: usize = 3;
const THREADS: u32 = 4;

/// A statement. A slot is always filled and read behind an await of the copy before it.
#[derive(Clone, Debug)]
enum Stmt {
    /// Copies the next elements of the source to a slot.
    Fill(usize),
    /// Adds the element of a slot to the sum.
    Use(usize),
    /// Awaits several slots at once.
    Join(Vec<usize>),
    /// A branch, on a condition that differs between threads or iterations, or does not.
    If(Condition, Vec<Stmt>, Vec<Stmt>),
    /// A loop, of constant trip count or of one that an argument gives.
    For(Trip, Vec<Stmt>),
    /// The same, as `scf.while`.
    While(u64, Vec<Stmt>),
    /// Hands each slot's token on to the next slot's, and its contents' place with it.
    Rotate,
}

#[derive(Clone, Copy, Debug)]
enum Condition {
    OddThread,
    OddStep,
    Always,
}

#[derive(Clone, Copy, Debug)]
enum Trip {
    Constant(u64),
    Argument,
}

fn statements() -> impl Strategy<Value = Vec<Stmt>> {
    let leaf = prop_oneof![
        4 => (0..SLOTS).prop_map(Stmt::Fill),
        3 => (0..SLOTS).prop_map(Stmt::Use),
        1 => prop::collection::vec(0..SLOTS, 2..4).prop_map(Stmt::Join),
        1 => Just(Stmt::Rotate),
    ];
    let stmt = leaf.prop_recursive(3, 24, 5, |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..5);
        let condition = prop_oneof![
            Just(Condition::OddThread),
            Just(Condition::OddStep),
            Just(Condition::Always)
        ];
        let trip = prop_oneof![(0..5_u64).prop_map(Trip::Constant), Just(Trip::Argument)];
        prop_oneof![
            (condition, body(), body()).prop_map(|(c, then, other)| Stmt::If(c, then, other)),
            (trip, body()).prop_map(|(trip, body)| Stmt::For(trip, body)),
            (0..4_u64, body()).prop_map(|(trip, body)| Stmt::While(trip, body)),
        ]
    });
    prop::collection::vec(stmt, 1..8)
}

/// What is carried through control flow: the token of each slot, which slot is which, the sum, and the place in the
/// source.
#[derive(Clone)]
struct State {
    tokens: [String; SLOTS],
    slots: [String; SLOTS],
    sum: String,
    step: String,
}

impl State {
    fn values(&self) -> Vec<&str> {
        let all = self.tokens.iter().chain(&self.slots);
        all.chain([&self.sum, &self.step]).map(String::as_str).collect()
    }

    fn types() -> String {
        let types = [
            vec!["!async.token"; SLOTS],
            vec!["index"; SLOTS],
            vec!["f32", "index"],
        ];
        types.concat().join(", ")
    }
}

#[derive(Default)]
struct Writer {
    text: String,
    next: usize,
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

    fn state(&mut self) -> State {
        State {
            tokens: std::array::from_fn(|_| self.name()),
            slots: std::array::from_fn(|_| self.name()),
            sum: self.name(),
            step: self.name(),
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
                state.tokens[*slot] = self.def(&format!(
                    "gpux.copy async %src[{row}, %t], %slots[{}, %t], 1 : !src to !slots",
                    state.slots[*slot]
                ));
            }
            Stmt::Use(slot) => {
                self.line(&format!("async.await {}", state.tokens[*slot]));
                let x = self.def(&format!(
                    "memref.load %slots[{}, %t] : !slots",
                    state.slots[*slot]
                ));
                state.sum = self.def(&format!("arith.addf {}, {x} : f32", state.sum));
            }
            Stmt::Join(slots) => {
                let tokens: Vec<&str> = slots.iter().map(|&slot| state.tokens[slot].as_str()).collect();
                let joined = format!("async.join {}", tokens.join(", "));
                let joined = self.def(&joined);
                self.line(&format!("async.await {joined}"));
            }
            Stmt::Rotate => {
                state.tokens.rotate_left(1);
                state.slots.rotate_left(1);
            }
            Stmt::If(condition, then, other) => return self.branch(*condition, [then, other], &state),
            Stmt::For(trip, body) => return self.counted(*trip, body, &state),
            Stmt::While(trip, body) => return self.conditional(*trip, body, &state),
        }
        state
    }

    fn branch(&mut self, condition: Condition, arms: [&[Stmt]; 2], state: &State) -> State {
        let bit = match condition {
            Condition::OddThread => self.def("arith.andi %t, %c1 : index"),
            Condition::OddStep => self.def(&format!("arith.andi {}, %c1 : index", state.step)),
            Condition::Always => "%c1".into(),
        };
        let condition = self.def(&format!("arith.cmpi eq, {bit}, %c1 : index"));
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

    fn counted(&mut self, trip: Trip, body: &[Stmt], state: &State) -> State {
        let bound = match trip {
            Trip::Constant(trip) => self.def(&format!("arith.constant {trip} : index")),
            Trip::Argument => "%n".into(),
        };
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

    fn conditional(&mut self, trip: u64, body: &[Stmt], state: &State) -> State {
        let bound = self.def(&format!("arith.constant {trip} : index"));
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

fn program(stmts: &[Stmt]) -> String {
    let mut writer = Writer::default();
    writer.line(
        "!src = memref<16x4xf32>\n\
         !slots = memref<3x4xf32, #gpu.address_space<workgroup>>\n\
         gpu.module @m {\n\
         gpu.func @k(%src: !src, %out: memref<4xf32>, %n: index) workgroup(%slots: !slots) kernel {\n\
         %c0 = arith.constant 0 : index\n\
         %c1 = arith.constant 1 : index\n\
         %c2 = arith.constant 2 : index\n\
         %c16 = arith.constant 16 : index\n\
         %zero = arith.constant 0.0 : f32\n\
         %ready = async.ready\n\
         %t = gpu.thread_id x",
    );
    // What a slot holds before it is filled is defined.
    for slot in 0..SLOTS {
        writer.line(&format!("memref.store %zero, %slots[%c{slot}, %t] : !slots"));
    }
    let start = State {
        tokens: std::array::from_fn(|_| "%ready".into()),
        slots: std::array::from_fn(|slot| format!("%c{slot}")),
        sum: "%zero".into(),
        step: "%c0".into(),
    };
    let end = writer.body(stmts, start);
    writer.line(&format!("memref.store {}, %out[%t] : memref<4xf32>", end.sum));
    writer.line("gpu.return\n}\n}");
    writer.text
}

fn config() -> ProptestConfig {
    let from_env = ProptestConfig::default();
    let cases = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => from_env.cases,
        None => 300,
    };
    let rng_seed = match from_env.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        seed @ RngSeed::Fixed(_) => seed,
    };
    ProptestConfig {
        cases,
        rng_seed,
        failure_persistence: None,
        ..from_env
    }
}

fn options() -> impl Strategy<Value = String> {
    let limit = prop_oneof![Just(0), Just(8)];
    (any::<bool>(), any::<bool>(), any::<bool>(), limit).prop_map(|(groups, balance, drop, limit)| {
        format!("form-groups={groups} balance={balance} drop-implied={drop} unroll-limit={limit}")
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn lowered_programs_are_clean_and_right(stmts in statements(), options in options(), seed in any::<u64>()) {
        let context = context();
        let call = Call::of(THREADS);
        let tokens = program(&stmts);
        let meant = run(&context, &tokens, &call, Adversary::Early);
        prop_assert!(meant.is_clean(), "{}\n{tokens}", meant.findings);
        let counted = count(&context, &tokens, &options);
        let lowered = lower(&context, &counted, "builtin.module(gpux-to-nvvm)");
        for (form, source) in [("tokens", &tokens), ("counted", &counted), ("lowered", &lowered)] {
            for adversary in [Adversary::Late, Adversary::Random(seed)] {
                let outcome = run(&context, source, &call, adversary);
                prop_assert!(outcome.is_clean(), "{form}: {}\n{source}", outcome.findings);
                prop_assert!(outcome.memory == meant.memory, "{form}: other memory\n{source}");
            }
        }
    }
}
