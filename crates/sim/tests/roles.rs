//! Random kernels whose warps have roles: on mbarriers, with code of their own and lowered, they report nothing under any schedule,
//! compute what the token form computes, and wait for all that it waits for.
//!
//! A kernel loads tiles of several arrays, each through slots of its own, some ahead, and some warps read them. `PROPTEST_CASES` makes
//! it more or fewer kernels, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod kernel;
mod programs;

use async_sim::adversary::Adversary;
use async_sim::refine;
use kernel::{Call, context, lower, run};
use programs::config;
use proptest::prelude::*;
use std::fmt::Write;

/// Warps of a block.
const WARPS: u32 = 4;

/// How the tiles of an array are loaded and read.
#[derive(Clone, Debug)]
struct Stream {
    slots: u32,
    /// Tiles that are loaded before they are read.
    ahead: u32,
    /// Loads come after the reads of an iteration.
    late: bool,
    /// The warps that read, in groups that do so in an operation of their own.
    readers: Vec<u32>,
    /// The readers write to the slot, too: one warp alone.
    writes: bool,
    /// The readers exchange what they have read within their warp, or only meet there.
    exchange: Option<bool>,
}

#[derive(Clone, Debug)]
struct Kernel {
    streams: Vec<Stream>,
    trips: u32,
    /// The number of iterations is a constant.
    constant: bool,
    issuer: u32,
    /// All threads meet in each iteration, at a barrier with a number or without one.
    barrier: Option<bool>,
    /// The type of the loop's variable.
    variable: &'static str,
}

fn stream() -> impl Strategy<Value = Stream> {
    let readers = prop::collection::vec(1..1_u32 << WARPS, 1..3);
    let exchange = prop::option::weighted(0.3, any::<bool>());
    let shape = (1..4_u32, 0..4_u32, any::<bool>(), any::<bool>(), exchange);
    (shape, readers).prop_map(|((slots, ahead, late, writes, exchange), mut readers)| {
        let (least, most) = if late { (1, slots) } else { (0, slots - 1) };
        // No warp reads twice.
        if readers.len() == 2 {
            readers[1] &= !readers[0];
        }
        readers.retain(|&warps| warps != 0);
        let alone = readers.len() == 1 && readers[0].is_power_of_two();
        Stream {
            slots,
            ahead: ahead.clamp(least, most),
            late,
            readers,
            writes: writes && alone,
            exchange,
        }
    })
}

fn kernels() -> impl Strategy<Value = Kernel> {
    let streams = prop::collection::vec(stream(), 1..4);
    let barrier = prop::option::weighted(0.2, any::<bool>());
    let variable = prop::sample::select(&["index", "index", "i4", "i8", "i16", "i64"]);
    (streams, 0..6_u32, any::<bool>(), 0..WARPS, barrier, variable).prop_map(
        |(streams, trips, constant, issuer, barrier, variable)| Kernel {
            streams,
            trips,
            constant,
            issuer,
            barrier,
            variable,
        },
    )
}

#[derive(Default)]
struct Writer {
    text: String,
    next: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{line}");
    }

    fn def(&mut self, right: &str) -> String {
        self.next += 1;
        let name = format!("%v{}", self.next);
        self.line(&format!("{name} = {right}"));
        name
    }

    /// A view of the slot of tile `tile`.
    fn slot(&mut self, s: usize, stream: &Stream, tile: &str) -> String {
        let slots = self.def(&format!("arith.constant {} : index", stream.slots));
        let slot = self.def(&format!("arith.remui {tile}, {slots} : index"));
        let ty = format!("memref<{}x32xf32, #gpu.address_space<workgroup>>", stream.slots);
        self.def(&format!(
            "memref.subview %w{s}[{slot}, 0] [1, 32] [1, 1] : {ty} to !slot"
        ))
    }

    fn load(&mut self, s: usize, stream: &Stream, tile: &str, issuer: u32) -> String {
        let from = self.def(&format!(
            "memref.subview %x{s}[{tile}, 0] [1, 32] [1, 1] : !x to !row"
        ));
        let to = match stream.slots {
            1 => self.slot(s, stream, "%c0"),
            _ => self.slot(s, stream, tile),
        };
        self.def(&format!(
            "gpux.bulk_load async {from}, {to} {{issuer = {issuer} : i32}} : !row to !slot"
        ))
    }

    /// The readers of a stream await a tile and add what is in it to their sums.
    fn read(&mut self, s: usize, stream: &Stream, token: &str, tile: &str, mut sum: String) -> String {
        for warps in &stream.readers {
            let slot = self.slot(s, stream, tile);
            self.next += 1;
            let result = format!("%v{}", self.next);
            self.line(&format!(
                "{result} = scf.if %in{warps} -> (f32) {{\nasync.await {token}"
            ));
            let mut value = self.def(&format!("memref.load {slot}[%lane] : !slot"));
            match stream.exchange {
                Some(true) => {
                    self.next += 1;
                    let name = format!("%v{}", self.next);
                    self.line(&format!(
                        "{name}, {name}_valid = gpu.shuffle xor {value}, %one_i, %width : f32"
                    ));
                    value = name;
                }
                Some(false) => self.line("nvvm.bar.warp.sync %all : i32"),
                None => {}
            }
            if stream.writes {
                self.line(&format!("memref.store {sum}, {slot}[%lane] : !slot"));
            }
            let next = self.def(&format!("arith.addf {sum}, {value} : f32"));
            self.line(&format!(
                "scf.yield {next} : f32\n}} else {{\nscf.yield {sum} : f32\n}}"
            ));
            sum = result;
        }
        sum
    }

    /// What the threads of some warps have in common.
    fn conditions(&mut self) {
        for warps in 1..1_u32 << WARPS {
            let any: Vec<String> = (0..WARPS)
                .filter(|warp| warps >> warp & 1 == 1)
                .map(|warp| self.def(&format!("arith.cmpi eq, %warp, %c{warp} : index")))
                .collect();
            let mut all = any[0].clone();
            for other in &any[1..] {
                all = self.def(&format!("arith.ori {all}, {other} : i1"));
            }
            let name = format!("%in{warps}");
            self.line(&format!("{name} = arith.ori {all}, {all} : i1"));
        }
    }
}

fn header(kernel: &Kernel, writer: &mut Writer) {
    writer.line(
        "!x = memref<12x32xf32>\n!row = memref<32xf32, strided<[1], offset: ?>>\n\
         !slot = memref<32xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>\ngpu.module @m {",
    );
    let streams = || kernel.streams.iter().enumerate();
    let arrays: Vec<String> = streams().map(|(s, _)| format!("%x{s}: !x")).collect();
    let slots = streams().map(|(s, stream)| {
        format!(
            "%w{s}: memref<{}x32xf32, #gpu.address_space<workgroup>>",
            stream.slots
        )
    });
    writer.line(&format!(
        "gpu.func @k({}, %out: memref<{}x{}xf32>) workgroup({}) kernel attributes {{known_block_size = array<i32: {}, 1, 1>}} {{",
        arrays.join(", "),
        kernel.streams.len(),
        WARPS * 32,
        slots.collect::<Vec<_>>().join(", "),
        WARPS * 32
    ));
    for number in 0..12 {
        writer.line(&format!("%c{number} = arith.constant {number} : index"));
    }
    writer.line(
        "%c31 = arith.constant 31 : index\n%zero = arith.constant 0.0 : f32\n%tid = gpu.thread_id x\n\
         %lane = arith.andi %tid, %c31 : index\n%warp = gpu.subgroup_id : index\n\
         %one_i = arith.constant 1 : i32\n%width = arith.constant 32 : i32\n%all = arith.constant -1 : i32",
    );
    writer.line(&format!("%threads = arith.constant {} : i32", WARPS * 32));
    // The number of the only block is 0, which nobody knows.
    writer.line(if kernel.constant {
        "%more = arith.constant 0 : index"
    } else {
        "%more = gpu.block_id x"
    });
    writer.line(&format!("%n = arith.addi %c{}, %more : index", kernel.trips));
    writer.conditions();
}

fn program(kernel: &Kernel) -> String {
    let mut writer = Writer::default();
    header(kernel, &mut writer);
    let (mut inits, mut types) = (Vec::new(), Vec::new());
    for (s, stream) in kernel.streams.iter().enumerate() {
        inits.push("%zero".to_owned());
        types.push("f32");
        for tile in 0..stream.ahead {
            inits.push(writer.load(s, stream, &format!("%c{tile}"), kernel.issuer));
            types.push("!async.token");
        }
    }
    let args: Vec<String> = (0..inits.len()).map(|arg| format!("%a{arg}")).collect();
    let bound: Vec<String> = args
        .iter()
        .zip(&inits)
        .map(|(arg, init)| format!("{arg} = {init}"))
        .collect();
    let [from, to, by] = ["%c0", "%n", "%c1"].map(|bound| match kernel.variable {
        "index" => bound.to_owned(),
        ty => writer.def(&format!("arith.index_cast {bound} : index to {ty}")),
    });
    writer.line(&format!(
        "%r:{} = scf.for %variable = {from} to {to} step {by} iter_args({}) -> ({}) : {} {{",
        inits.len(),
        bound.join(", "),
        types.join(", "),
        kernel.variable
    ));
    writer.line(&match kernel.variable {
        "index" => "%i = arith.addi %variable, %c0 : index".to_owned(),
        ty => format!("%i = arith.index_castui %variable : {ty} to index"),
    });
    let (mut next, mut at) = (Vec::new(), 0);
    for (s, stream) in kernel.streams.iter().enumerate() {
        let sum = args[at].clone();
        let mut tokens = args[at + 1..=at + stream.ahead as usize].to_vec();
        at += 1 + stream.ahead as usize;
        let tile = writer.def(&format!("arith.addi %i, %c{} : index", stream.ahead));
        if !stream.late {
            tokens.push(writer.load(s, stream, &tile, kernel.issuer));
        }
        let sum = writer.read(s, stream, &tokens.remove(0), "%i", sum);
        if stream.late {
            tokens.push(writer.load(s, stream, &tile, kernel.issuer));
        }
        next.push(sum);
        next.extend(tokens);
    }
    match kernel.barrier {
        Some(true) => writer.line("nvvm.barrier id = %one_i number_of_threads = %threads"),
        Some(false) => writer.line("gpu.barrier"),
        None => {}
    }
    writer.line(&format!(
        "scf.yield {} : {}\n}}",
        next.join(", "),
        types.join(", ")
    ));
    let mut at = 0;
    for (s, stream) in kernel.streams.iter().enumerate() {
        let left: Vec<String> = (1..=stream.ahead).map(|i| format!("%r#{}", at + i)).collect();
        for warps in stream.readers.iter().filter(|_| !left.is_empty()) {
            writer.line(&format!(
                "scf.if %in{warps} {{\nasync.await {}\n}}",
                left.join(", ")
            ));
        }
        let shape = format!("memref<{}x{}xf32>", kernel.streams.len(), WARPS * 32);
        writer.line(&format!("memref.store %r#{at}, %out[%c{s}, %tid] : {shape}"));
        at += 1 + stream.ahead;
    }
    writer.line("gpu.return\n}\n}");
    writer.text
}

/// A loop that loads a tile of each array, which some warps then use, and asks for stages.
#[derive(Clone, Debug)]
struct Plain {
    kernel: Kernel,
    stages: u32,
    /// Readers use the tiles of all arrays in one operation, instead of one for each array.
    together: bool,
    /// After the loop, a warp writes to a buffer, and some warps read that. It may have the bytes of those in the loop.
    after: Vec<(u32, u32)>,
    options: &'static str,
}

fn plain_loops() -> impl Strategy<Value = Plain> {
    let options = prop::sample::select(&[
        "",
        "epilogue=predicate",
        "short-trips=branch",
        "short-trips=branch computed-slots",
    ]);
    let after = prop::collection::vec((0..WARPS, 1..1_u32 << WARPS), 0..3);
    let shape = (2..5_u32, any::<bool>(), after, options);
    (kernels(), shape).prop_map(|(mut kernel, (stages, together, after, options))| {
        kernel.barrier = None;
        for stream in &mut kernel.streams {
            stream.slots = 1;
            // No iteration can have a version of what is written after it was read.
            stream.writes = false;
            // What orders accesses of the warp stays between the same ones.
            stream.exchange = stream.exchange.filter(|exchanges| *exchanges);
        }
        Plain {
            kernel,
            stages,
            together,
            after,
            options,
        }
    })
}

impl Writer {
    /// The readers of the first stream await a tile of each, one after the other, and add what is in it to their sums.
    fn read_together(&mut self, streams: &[Stream], tokens: &[String], sums: &mut [String]) {
        for warps in &streams[0].readers {
            let slots: Vec<String> = (0..streams.len())
                .map(|s| self.slot(s, &streams[s], "%c0"))
                .collect();
            self.next += 1;
            let (results, types) = (format!("%v{}", self.next), vec!["f32"; streams.len()].join(", "));
            self.line(&format!(
                "{results}:{} = scf.if %in{warps} -> ({types}) {{",
                streams.len()
            ));
            let mut next = Vec::new();
            for s in 0..streams.len() {
                self.line(&format!("async.await {}", tokens[s]));
                let value = self.def(&format!("memref.load {}[%lane] : !slot", slots[s]));
                next.push(self.def(&format!("arith.addf {}, {value} : f32", sums[s])));
            }
            let (next, before) = (next.join(", "), sums.join(", "));
            self.line(&format!(
                "scf.yield {next} : {types}\n}} else {{\nscf.yield {before} : {types}\n}}"
            ));
            for (s, sum) in sums.iter_mut().enumerate() {
                *sum = format!("{results}#{s}");
            }
        }
    }
}

fn plain_program(plain: &Plain) -> String {
    let Plain { kernel, stages, .. } = plain;
    let mut writer = Writer::default();
    header(kernel, &mut writer);
    let number = kernel.streams.len();
    let types = vec!["f32"; number].join(", ");
    let bound: Vec<String> = (0..number).map(|s| format!("%a{s} = %zero")).collect();
    let bound = bound.join(", ");
    writer.line(&format!(
        "%r:{number} = scf.for %i = %c0 to %n step %c1 iter_args({bound}) -> ({types}) {{"
    ));
    let streams = || kernel.streams.iter().enumerate();
    let tokens: Vec<String> = streams()
        .map(|(s, stream)| writer.load(s, stream, "%i", kernel.issuer))
        .collect();
    let mut sums: Vec<String> = (0..number).map(|s| format!("%a{s}")).collect();
    if plain.together {
        writer.read_together(&kernel.streams, &tokens, &mut sums);
    } else {
        for (s, stream) in streams() {
            sums[s] = writer.read(s, stream, &tokens[s], "%c0", sums[s].clone());
        }
    }
    writer.line(&format!(
        "scf.yield {} : {types}\n}} {{async.num_stages = {stages}}}",
        sums.join(", ")
    ));
    let mut seen = writer.def("arith.constant 0.0 : f32");
    let buffer = "memref<32xf32, #gpu.address_space<workgroup>>";
    if !plain.after.is_empty() {
        writer.line(&format!("%buffer = memref.alloc() : {buffer}"));
    }
    for (by, readers) in &plain.after {
        let own = 1 << by;
        writer.line(&format!(
            "scf.if %in{own} {{\nmemref.store %r#0, %buffer[%lane] : {buffer}\n}}"
        ));
        let read = writer.def(&format!("scf.if %in{readers} -> (f32) {{"));
        let value = writer.def(&format!("memref.load %buffer[%lane] : {buffer}"));
        writer.line(&format!(
            "scf.yield {value} : f32\n}} else {{\nscf.yield {seen} : f32\n}}"
        ));
        seen = writer.def(&format!("arith.addf {seen}, {read} : f32"));
    }
    for s in 0..number {
        let sum = writer.def(&format!("arith.addf %r#{s}, {seen} : f32"));
        let shape = format!("memref<{number}x{}xf32>", WARPS * 32);
        writer.line(&format!("memref.store {sum}, %out[%c{s}, %tid] : {shape}"));
    }
    writer.line("gpu.return\n}\n}");
    writer.text
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn plain_loops_with_roles_are_pipelined(plain in plain_loops(), seed in any::<u64>()) {
        let context = context();
        let call = Call { seed, ..Call::of(WARPS * 32) };
        let derive = "builtin.module(gpu.module(gpu.func(gpux-insert-barriers)))";
        let source = lower(&context, &plain_program(&plain), derive);
        let meant = run(&context, &source, &call, Adversary::Early);
        prop_assert!(meant.is_clean(), "{}\n{source}", meant.findings);
        let passes = format!(
            "builtin.module(gpu.module(gpu.func(async-pipeline{{insert-barriers=false {}}})),gpux-pack-workgroup-memory,\
             gpu.module(gpu.func(gpux-insert-barriers)))",
            plain.options
        );
        let pipelined = lower(&context, &source, &passes);
        let loads = pipelined.matches("gpux.bulk_load").count();
        prop_assert!(plain.kernel.constant || loads > plain.kernel.streams.len(), "not pipelined:\n{source}");
        // Which slot a computed number is, is not followed into the epilogue.
        let may_meet = !plain.after.is_empty() || plain.options.contains("computed-slots");
        prop_assert!(may_meet || !pipelined.contains("gpu.barrier"), "a barrier:\n{source}\n{pipelined}");
        let split = lower(
            &context,
            &pipelined,
            "builtin.module(gpu.module(gpu.func(gpux-tokens-to-mbarriers,gpux-split-roles)))",
        );
        let lowered = lower(&context, &split, "builtin.module(canonicalize,gpux-to-nvvm)");
        for (form, source) in [("pipelined", &pipelined), ("split", &split), ("lowered", &lowered)] {
            for adversary in [Adversary::Late, Adversary::Random(seed)] {
                let outcome = run(&context, source, &call, adversary);
                prop_assert!(outcome.is_clean(), "{form}: {}\n{source}", outcome.findings);
                prop_assert!(outcome.memory == meant.memory, "{form}: other memory\n{source}");
            }
        }
    }
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn kernels_with_roles_are_clean_and_right(kernel in kernels(), seed in any::<u64>()) {
        let context = context();
        let call = Call { seed, ..Call::of(WARPS * 32) };
        let tokens = program(&kernel);
        let meant = run(&context, &tokens, &call, Adversary::Early);
        prop_assert!(meant.is_clean(), "{}\n{tokens}", meant.findings);
        let mbarriers = lower(&context, &tokens, "builtin.module(gpu.module(gpu.func(gpux-tokens-to-mbarriers)))");
        let split = lower(&context, &mbarriers, "builtin.module(gpu.module(gpu.func(gpux-split-roles)))");
        let lowered = lower(&context, &split, "builtin.module(canonicalize,gpux-to-nvvm)");
        for (form, source) in [("tokens", &tokens), ("mbarriers", &mbarriers), ("split", &split), ("lowered", &lowered)] {
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
