//! Random programs of a warpgroup, with copies, multiplications, bulk stores and bulk loads in flight at once, on three queues and
//! on mbarriers: counted and lowered, they report nothing under any schedule, compute what the token form computes, and wait for
//! all that it waits for.
//!
//! All threads of the warpgroup go the same way. `PROPTEST_CASES` makes it more or fewer programs, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod kernel;
mod programs;

use async_sim::adversary::Adversary;
use async_sim::refine;
use kernel::{Call, context, count, lower, run};
use programs::{config, options};
use proptest::prelude::*;
use std::fmt::Write;

/// Slots of workgroup memory that hold a B each.
const SLOTS: usize = 2;
/// Accumulators.
const SUMS: usize = 2;

#[derive(Clone, Debug)]
enum Stmt {
    /// Copies the next B of the source to a slot, once it is not read any more.
    Fill(usize),
    /// The same with a bulk load.
    Load(usize),
    /// Stores a slot with a bulk store.
    Save(usize),
    /// Multiplies A by what is in a slot, and adds to an accumulator.
    Multiply(usize, usize),
    /// Stores an accumulator.
    Store(usize),
    /// Swaps the accumulators, and the slots.
    Swap,
    /// A branch, as the next draw says.
    If(Vec<Stmt>, Vec<Stmt>),
    /// A loop: of so many iterations, or 0 to 3, as the next draw says.
    For(Option<u32>, Vec<Stmt>),
}

fn statements() -> impl Strategy<Value = Vec<Stmt>> {
    let leaf = prop_oneof![
        2 => (0..SLOTS).prop_map(Stmt::Fill),
        2 => (0..SLOTS).prop_map(Stmt::Load),
        2 => (0..SLOTS).prop_map(Stmt::Save),
        5 => (0..SUMS, 0..SLOTS).prop_map(|(sum, slot)| Stmt::Multiply(sum, slot)),
        2 => (0..SUMS).prop_map(Stmt::Store),
        1 => Just(Stmt::Swap),
    ];
    let stmt = leaf.prop_recursive(2, 12, 4, |inner| {
        let body = || prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (body(), body()).prop_map(|(then, other)| Stmt::If(then, other)),
            (prop::option::of(0..4_u32), body()).prop_map(|(trip, body)| Stmt::For(trip, body)),
        ]
    });
    prop::collection::vec(stmt, 1..7)
}

/// What is carried through control flow.
#[derive(Clone)]
struct State {
    /// The slots, the tokens of the copy and of the load to each, and those of what reads it.
    slots: [String; SLOTS],
    copies: [String; SLOTS],
    loads: [String; SLOTS],
    readers: [String; SLOTS],
    /// The accumulators, and the token of the last multiplication of each.
    sums: [String; SUMS],
    multiplied: [String; SUMS],
    /// The last bulk stores to two places, the next one's first, and that place.
    saved: [String; 2],
    place: String,
    /// The places in the source, in the output and in the draws.
    step: String,
}

impl State {
    fn values(&self) -> Vec<&str> {
        let slots = self.slots.iter().chain(&self.copies).chain(&self.loads);
        let slots = slots.chain(&self.readers);
        let all = slots.chain(&self.sums).chain(&self.multiplied);
        let all = all.chain(&self.saved).chain([&self.place, &self.step]);
        all.map(String::as_str).collect()
    }

    fn types() -> String {
        let types = [
            vec!["index"; SLOTS],
            vec!["!async.token"; 3 * SLOTS],
            vec!["!acc"; SUMS],
            vec!["!async.token"; SUMS + 2],
            vec!["index"; 2],
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

    fn names<const N: usize>(&mut self) -> [String; N] {
        std::array::from_fn(|_| self.name())
    }

    fn state(&mut self) -> State {
        State {
            slots: self.names(),
            copies: self.names(),
            loads: self.names(),
            readers: self.names(),
            sums: self.names(),
            multiplied: self.names(),
            saved: self.names(),
            place: self.name(),
            step: self.name(),
        }
    }

    fn body(&mut self, stmts: &[Stmt], state: State) -> State {
        stmts.iter().fold(state, |state, stmt| self.stmt(stmt, state))
    }

    /// The next step, and the one before it modulo 8.
    fn advance(&mut self, state: &mut State) -> String {
        let now = self.def(&format!("arith.remui {}, %c8 : index", state.step));
        state.step = self.def(&format!("arith.addi {}, %c1 : index", state.step));
        now
    }

    fn stmt(&mut self, stmt: &Stmt, mut state: State) -> State {
        match stmt {
            Stmt::Fill(slot) => {
                self.is_free(*slot, &state);
                let from = self.advance(&mut state);
                state.copies[*slot] = self.def(&format!(
                    "gpux.copy async %src[{from}, %row, %column], %slots[{}, %row, %column], 4 : !src to !slots",
                    state.slots[*slot]
                ));
                state.readers[*slot] = "%ready".into();
            }
            Stmt::Load(slot) => {
                self.is_free(*slot, &state);
                let from = self.advance(&mut state);
                let from = self.part("%src", &from, "!src to !from");
                let to = self.part("%slots", &state.slots[*slot], "!slots to !view");
                state.loads[*slot] = self.def(&format!("gpux.bulk_load async {from}, {to} : !from to !view"));
                state.readers[*slot] = "%ready".into();
            }
            Stmt::Save(slot) => {
                self.is_filled(*slot, &state);
                let from = self.part("%slots", &state.slots[*slot], "!slots to !view");
                let [before, last] = state.saved.clone();
                self.line(&format!("async.await {before}"));
                let to = self.part("%saved", &state.place, "!src to !from");
                state.place = self.def(&format!("arith.subi %c1, {} : index", state.place));
                let (read, done) = (self.name(), self.name());
                self.line(&format!(
                    "{read}, {done} = gpux.bulk_store async {from}, {to} : !view to !from"
                ));
                state.readers[*slot] = self.def(&format!("async.join {}, {read}", state.readers[*slot]));
                state.saved = [last, done];
            }
            Stmt::Multiply(sum, slot) => {
                self.is_filled(*slot, &state);
                let view = self.part("%slots", &state.slots[*slot], "!slots to !view");
                let b = self.def(&format!(
                    "nvgpu.warpgroup.generate.descriptor {view}, %map : !view, !map -> !b"
                ));
                let (next, token) = (self.name(), self.name());
                self.line(&format!(
                    "{next}, {token} = gpux.wgmma async %da, {b}, {} {{transpose_b}} : !a, !b, !acc",
                    state.sums[*sum]
                ));
                state.readers[*slot] = self.def(&format!("async.join {}, {token}", state.readers[*slot]));
                (state.sums[*sum], state.multiplied[*sum]) = (next, token);
            }
            Stmt::Store(sum) => {
                self.line(&format!("async.await {}", state.multiplied[*sum]));
                let to = self.advance(&mut state);
                let view = self.def(&format!(
                    "memref.subview %out[{to}, 0, 0] [1, 64, 8] [1, 1, 1] : !out to !part"
                ));
                self.line(&format!(
                    "nvgpu.warpgroup.mma.store {}, {view} : !acc to !part",
                    state.sums[*sum]
                ));
            }
            Stmt::Swap => {
                state.slots.reverse();
                state.copies.reverse();
                state.loads.reverse();
                state.readers.reverse();
                state.sums.reverse();
                state.multiplied.reverse();
            }
            Stmt::If(then, other) => return self.branch([then, other], state),
            Stmt::For(trip, body) => return self.repeat(*trip, body, state),
        }
        state
    }

    /// A matrix of some.
    fn part(&mut self, of: &str, number: &str, types: &str) -> String {
        self.def(&format!(
            "memref.subview {of}[{number}, 0, 0] [1, 8, 64] [1, 1, 1] : {types}"
        ))
    }

    /// Nothing accesses a slot any more.
    fn is_free(&mut self, slot: usize, state: &State) {
        let State {
            copies,
            loads,
            readers,
            ..
        } = state;
        self.line(&format!(
            "async.await {}, {}, {}",
            copies[slot], loads[slot], readers[slot]
        ));
        self.line("gpu.barrier");
    }

    /// What was put into a slot is there, for multiplications and bulk stores.
    fn is_filled(&mut self, slot: usize, state: &State) {
        self.line(&format!(
            "async.await {}, {}",
            state.copies[slot], state.loads[slot]
        ));
        self.line(
            "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}",
        );
        self.line("gpu.barrier");
    }

    /// The next draw, which is the same for all threads.
    fn draw(&mut self, below: &str, state: &mut State) -> String {
        let now = self.advance(state);
        let drawn = self.def(&format!("memref.load %draws[{now}] : memref<8xi8>"));
        let drawn = self.def(&format!("arith.index_castui {drawn} : i8 to index"));
        self.def(&format!("arith.remui {drawn}, {below} : index"))
    }

    fn branch(&mut self, arms: [&[Stmt]; 2], mut state: State) -> State {
        let bit = self.draw("%c2", &mut state);
        let condition = self.def(&format!("arith.cmpi eq, {bit}, %c1 : index"));
        let (out, types) = (self.state(), State::types());
        self.line(&format!(
            "{} = scf.if {condition} -> ({types}) {{",
            out.values().join(", ")
        ));
        for (arm, after) in arms.into_iter().zip(["} else {", "}"]) {
            let end = self.body(arm, state.clone());
            self.line(&format!("scf.yield {} : {types}", end.values().join(", ")));
            self.line(after);
        }
        out
    }

    fn repeat(&mut self, trip: Option<u32>, body: &[Stmt], mut state: State) -> State {
        let bound = match trip {
            Some(trip) => self.def(&format!("arith.constant {trip} : index")),
            None => self.draw("%c4", &mut state),
        };
        let (out, inside, i) = (self.state(), self.state(), self.name());
        let carried = inside.values().into_iter().zip(state.values());
        let carried: Vec<String> = carried.map(|(arg, init)| format!("{arg} = {init}")).collect();
        let types = State::types();
        self.line(&format!(
            "{} = scf.for {i} = %c0 to {bound} step %c1 iter_args({}) -> ({types}) {{",
            out.values().join(", "),
            carried.join(", ")
        ));
        let end = self.body(body, inside);
        self.line(&format!("scf.yield {} : {types}", end.values().join(", ")));
        self.line("}");
        out
    }
}

/// A kernel that does what the statements say, and stores both accumulators in the end.
fn program(stmts: &[Stmt]) -> String {
    let mut writer = Writer::default();
    writer.line(
        "!workgroup_a = memref<64x64xf16, #gpu.address_space<workgroup>>\n\
         !slots = memref<2x8x64xf16, #gpu.address_space<workgroup>>\n\
         !view = memref<8x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>\n\
         !src = memref<8x8x64xf16>\n\
         !from = memref<8x64xf16, strided<[64, 1], offset: ?>>\n\
         !out = memref<8x64x8xf32>\n\
         !part = memref<64x8xf32, strided<[8, 1], offset: ?>>\n\
         !map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, \
         oob = zero, interleave = none>\n\
         !a = !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, #gpu.address_space<workgroup>>>\n\
         !b = !nvgpu.warpgroup.descriptor<tensor = !view>\n\
         !acc = !nvgpu.warpgroup.accumulator<fragmented = vector<64x8xf32>>\n\
         gpu.module @m {\n\
         gpu.func @k(%left: memref<64x64xf16>, %src: !src, %draws: memref<8xi8>, %map: !map, %out: !out, %saved: !src) \
         workgroup(%wa: !workgroup_a {llvm.align = 1024 : i64}, %slots: !slots {llvm.align = 1024 : i64}) kernel {\n\
         %c0 = arith.constant 0 : index\n\
         %c1 = arith.constant 1 : index\n\
         %c2 = arith.constant 2 : index\n\
         %c4 = arith.constant 4 : index\n\
         %c8 = arith.constant 8 : index\n\
         %c16 = arith.constant 16 : index\n\
         %c64 = arith.constant 64 : index\n\
         %ready = async.ready\n\
         %zeros = arith.constant dense<0.0> : vector<4xf16>\n\
         %t = gpu.thread_id x\n\
         %row = arith.divui %t, %c16 : index\n\
         %quarter = arith.remui %t, %c16 : index\n\
         %column = arith.muli %quarter, %c4 : index\n\
         scf.for %i = %row to %c64 step %c8 {\n\
         %some = vector.load %left[%i, %column] : memref<64x64xf16>, vector<4xf16>\n\
         vector.store %some, %wa[%i, %column] : !workgroup_a, vector<4xf16>\n\
         }\n\
         vector.store %zeros, %slots[%c0, %row, %column] : !slots, vector<4xf16>\n\
         vector.store %zeros, %slots[%c1, %row, %column] : !slots, vector<4xf16>\n\
         %da = nvgpu.warpgroup.generate.descriptor %wa, %map : !workgroup_a, !map -> !a\n\
         %none = nvgpu.warpgroup.mma.init.accumulator -> !acc\n\
         %nothing = nvgpu.warpgroup.mma.init.accumulator -> !acc",
    );
    let ready = || std::array::from_fn(|_| "%ready".to_owned());
    let start = State {
        slots: ["%c0".into(), "%c1".into()],
        copies: ready(),
        loads: ready(),
        readers: ready(),
        sums: ["%none".into(), "%nothing".into()],
        multiplied: ready(),
        saved: ["%ready".into(), "%ready".into()],
        place: "%c0".into(),
        step: "%c0".into(),
    };
    let mut end = writer.body(stmts, start);
    for sum in 0..SUMS {
        end = writer.stmt(&Stmt::Store(sum), end);
    }
    let tokens: Vec<&str> = end
        .copies
        .iter()
        .chain(&end.loads)
        .chain(&end.readers)
        .chain(&end.saved)
        .map(String::as_str)
        .collect();
    writer.line(&format!("async.await {}", tokens.join(", ")));
    writer.line("gpu.return\n}\n}");
    writer.text
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn lowered_programs_are_clean_and_right(stmts in statements(), options in options(), seed in any::<u64>()) {
        let context = context();
        let call = Call { seed, ..Call::of(128) };
        let tokens = program(&stmts);
        let meant = run(&context, &tokens, &call, Adversary::Early);
        prop_assert!(meant.is_clean(), "{}\n{tokens}", meant.findings);
        let counted = count(&context, &tokens, &options);
        let lowered = lower(
            &context,
            &counted,
            "builtin.module(gpu.module(gpu.func(gpux-tokens-to-mbarriers)),gpux-to-nvvm)",
        );
        for (form, source) in [("tokens", &tokens), ("counted", &counted), ("lowered", &lowered)] {
            for adversary in [Adversary::Late, Adversary::Random(seed)] {
                let outcome = run(&context, source, &call, adversary);
                prop_assert!(outcome.is_clean(), "{form}: {}\n{source}", outcome.findings);
                prop_assert!(outcome.memory == meant.memory, "{form}: other memory\n{source}");
                let difference = refine::compare(&meant.trace, &outcome.trace);
                prop_assert!(difference.is_none(), "{form}: {difference:?}\n{source}");
            }
        }
    }
}
