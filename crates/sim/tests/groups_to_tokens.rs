//! Every lit test with device code, counted, then put into token form, and counted again: run side by side, nothing waits for
//! more than the counts did, and what is clean stays clean, with the same memory. Awaits that leave nothing to later ones wait for
//! exactly what the counts did. So are random programs, with commits and waits where nobody needs them, as structured control flow and
//! as branches between blocks. Kernels whose threads read what others have copied stay free of races.
//!
//! The programs are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod counted_kernels;
mod kernel;
mod programs;
mod race_free;
mod random;

use async_mlir::ir::Op;
use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::refine::{self, Difference};
use kernel::lit::{self, Kernels, call, kernels, lowered};
use kernel::{Call, Outcome, context, count, execute, is_same, parse, try_lower};
use programs::{Addresses, THREADS, config, options, program_with, statements};
use proptest::prelude::*;
use std::ops::AddAssign;

/// Arguments are tried until the program runs to its end with so many.
const CALLS: u64 = 3;
const ATTEMPTS: u64 = 16;

const COUNT: &str = "gpux-tokens-to-mbarriers,gpux-tokens-to-groups,";
const LIFT: &str = "gpux-groups-to-tokens,";
/// Leaves nothing to later waits.
const EXACT: &str = "gpux-groups-to-tokens{weaken=false},";

#[derive(Default)]
struct Tally {
    /// Kernels that were held against what becomes of them.
    held: usize,
    /// Those of them that have tokens, where there were counts.
    lifted: usize,
    /// Those that are clean programs.
    clean: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.held += other.held;
        self.lifted += other.lifted;
        self.clean += other.clean;
    }
}

#[test]
fn lifted_kernels_wait_for_no_more() {
    let Tally { held, lifted, clean } = lit::tally_sources(hold_source);
    println!("{held} kernels hold, {lifted} of them lifted, {clean} clean programs");
    assert!(lifted >= 250, "only {lifted} kernels are lifted");
}

/// The same of random kernels, with commits and waits anywhere.
#[test]
fn lifted_random_kernels_wait_for_no_more() {
    let tallies = counted_kernels::map(200, |context, seed, source| {
        let mut tally = Tally::default();
        hold_source(context, &format!("seed {seed}\n{source}"), source, &mut tally);
        tally
    });
    let tally = tallies.into_iter().fold(Tally::default(), |mut sum, tally| {
        sum += tally;
        sum
    });
    println!("{} kernels hold, {} of them lifted", tally.held, tally.lifted);
    assert!(
        tally.lifted > tally.held / 4,
        "only {} kernels are lifted",
        tally.lifted
    );
}

/// Holds every kernel of a source against what becomes of it; nothing but what is left out by `corpus.rs` is left out here.
fn hold_source(context: &Context, name: &str, source: &str, tally: &mut Tally) {
    let form = |passes: &str| lowered(context, source, passes);
    let Some(counted) = form(COUNT) else { return };
    let lifted =
        |pass: &str| form(&format!("{COUNT}{pass}")).unwrap_or_else(|| panic!("{name}: can't be lifted"));
    let (tokens, exact) = (lifted(LIFT), lifted(EXACT));
    let again = form(&format!("{COUNT}{LIFT}{COUNT}"));
    let Some(again) = again else {
        // Upstream's loop stores what nobody has waited for, which is refused once it is written with tokens.
        assert!(
            name.ends_with("groups-to-tokens/warpgroup-mma.mlir"),
            "{name}: can't be counted again"
        );
        return;
    };
    for (function, code) in counted {
        let Ok(code) = code else { continue };
        let place = format!("{name}, @{function}");
        let form = |kernels: &Kernels| -> Option<Code> {
            let code = kernels
                .get(&function)
                .unwrap_or_else(|| panic!("{place}: is gone"));
            code.as_ref().ok().cloned()
        };
        if let (Some(tokens), Some(exact), Some(again)) = (form(&tokens), form(&exact), form(&again)) {
            let kernel = Kernel {
                place,
                counted: code,
                tokens,
                exact,
                again,
            };
            kernel.hold(tally);
        }
    }
}

/// A kernel in its forms.
struct Kernel {
    place: String,
    counted: Code,
    tokens: Code,
    exact: Code,
    again: Code,
}

impl Kernel {
    fn hold(&self, tally: &mut Tally) {
        let (mut calls, mut clean) = (0, true);
        let forms = [&self.tokens, &self.exact, &self.again];
        let is_unchanged = forms.into_iter().all(|form| is_same(form, &self.counted));
        for seed in 0..ATTEMPTS {
            let call = call(&self.counted, seed);
            let meant = execute(&self.counted, &call, Adversary::Late);
            if meant.stopped {
                continue;
            }
            // One run tells whether it is clean.
            if is_unchanged {
                (calls, clean) = (1, meant.is_clean());
                break;
            }
            // Tokens take more instructions.
            let call = Call {
                budget: call.budget << 4,
                ..call
            };
            self.hold_call(&meant, &call);
            clean &= meant.is_clean();
            calls += 1;
            if calls == CALLS {
                break;
            }
        }
        let has_tokens = |code: &Code| format!("{:?}", code.instrs).contains("Await");
        tally.held += usize::from(calls > 0);
        tally.lifted += usize::from(calls > 0 && has_tokens(&self.tokens));
        tally.clean += usize::from(calls > 0 && clean);
    }

    fn has_stores(&self) -> bool {
        self.counted.instrs.iter().any(|instr| instr.op.is_bulk())
    }

    fn hold_call(&self, meant: &Outcome, call: &Call) {
        let tokens = execute(&self.tokens, call, Adversary::Late);
        let again = execute(&self.again, call, Adversary::Late);
        let exact = execute(&self.exact, call, Adversary::Late);
        let forms = [("tokens", &tokens), ("exact", &exact), ("counted again", &again)];
        for (form, outcome) in forms {
            let place = format!("{}, {form}, call {}", self.place, call.seed);
            let more = refine::compare(&outcome.trace, &meant.trace);
            // At the end, all threads may know what the one that issues stores has waited for.
            let at_end = matches!(more, Some(Difference::Pending { at: None, .. }));
            let more = more.filter(|_| !(at_end && self.has_stores()));
            assert!(more.is_none(), "{place}: waits for more: {more:?}");
            if meant.is_clean() {
                assert!(outcome.is_clean(), "{place}: {}", outcome.findings);
                assert!(outcome.memory == meant.memory, "{place}: other memory");
            }
        }
        let less = refine::compare(&tokens.trace, &again.trace);
        assert!(
            less.is_none(),
            "{}: counted again, waits for less: {less:?}",
            self.place
        );
    }
}

/// What is put somewhere into a counted program.
#[derive(Clone, Copy, Debug)]
enum More {
    Wait(u32),
    Commit,
    /// A wait or a commit that some threads come by, in a branch without an else.
    WaitIf(u32),
    CommitIf,
    /// A copy, to memory of its own.
    Copy,
}

fn random_more() -> impl Strategy<Value = Vec<(More, usize)>> {
    let more = prop_oneof![
        2 => (0..3_u32).prop_map(More::Wait),
        1 => Just(More::Commit),
        1 => (0..3_u32).prop_map(More::WaitIf),
        1 => Just(More::CommitIf),
        2 => Just(More::Copy),
    ];
    prop::collection::vec((more, 0..1000_usize), 0..5)
}

/// A counted program, with more at some of its lines.
fn with_more(counted: &str, more: &[(More, usize)]) -> String {
    let mut lines: Vec<String> = counted.lines().map(str::to_owned).collect();
    let is_first = |line: &&String| line.contains("gpu.thread_id");
    let start = 1 + lines.iter().take_while(|line| !is_first(line)).count();
    for (number, (more, place)) in more.iter().enumerate() {
        let starts_op = |line: &String| {
            let line = line.trim_start();
            line.starts_with('%') || line.starts_with("gpux.") || line.starts_with("memref.store")
        };
        let places: Vec<usize> = (start..lines.len()).filter(|at| starts_op(&lines[*at])).collect();
        let at = places[place % places.len()];
        let condition = format!(
            "%more_t{number} = gpu.thread_id x\n%more_n{number} = arith.constant 5 : index\n%more_c{number} = arith.cmpi ult, %more_t{number}, %more_n{number} : index"
        );
        let wait = |count: &u32| format!("gpux.wait_group <cp_async>, {count}");
        let commit = "gpux.commit_group <cp_async>";
        let text = match more {
            More::Wait(count) => wait(count),
            More::Commit => commit.to_owned(),
            More::WaitIf(count) => format!("{condition}\nscf.if %more_c{number} {{\n{}\n}}", wait(count)),
            More::CommitIf => format!("{condition}\nscf.if %more_c{number} {{\n{commit}\n}}"),
            More::Copy => format!(
                "%more_t{number} = gpu.thread_id x\n%more_z{number} = arith.constant {number} : index
gpux.copy %arg0[%more_z{number}, %more_t{number}], %arg4[%more_z{number}, %more_t{number}], 1 : memref<16x16xf32> to memref<8x16xf32, #gpu.address_space<workgroup>>"
            ),
        };
        lines.insert(at, text);
    }
    lines.join("\n")
}

/// Kernels whose threads read what others have copied stay free of races, with waits where nobody needs them.
#[test]
fn lifted_kernels_stay_free_of_races() {
    let context = context();
    let mut lifted_kernels = 0;
    for seed in 0..300 {
        let pipeline = "builtin.module(gpux-tokens-to-groups)";
        let counted =
            try_lower(&context, &race_free::kernel(seed), pipeline).expect("a kernel that can be counted");
        let waits = usize::try_from(seed % 6).unwrap_or(0);
        let more: Vec<(More, usize)> = (0..waits)
            .map(|wait| {
                (
                    More::Wait(u32::try_from(wait % 2).unwrap_or(0)),
                    7919 * wait + usize::try_from(seed).unwrap_or(0),
                )
            })
            .collect();
        let source = with_more(&counted.as_operation().to_string(), &more);
        let run = |pipeline: &str| {
            let module = try_lower(&context, &source, pipeline);
            let module = module.unwrap_or_else(|| panic!("seed {seed}: {pipeline} fails:\n{source}"));
            let code = kernels(Op::from(module.as_operation()), true)
                .into_values()
                .next();
            let code = code.expect("a kernel").expect("code");
            (
                execute(&code, &call(&code, 0), Adversary::Late),
                module.as_operation().to_string(),
            )
        };
        let (meant, _) = run("builtin.module(canonicalize)");
        assert!(meant.is_clean(), "seed {seed}: {}\n{source}", meant.findings);
        let (outcome, text) = run("builtin.module(gpux-groups-to-tokens)");
        lifted_kernels += usize::from(text.contains("async.await"));
        assert!(
            outcome.is_clean(),
            "seed {seed}: {}\n{source}\n{text}",
            outcome.findings
        );
        assert!(
            outcome.memory == meant.memory,
            "seed {seed}: other memory\n{source}\n{text}"
        );
    }
    assert!(lifted_kernels >= 200, "{lifted_kernels}");
}

fn random_addresses() -> impl Strategy<Value = Addresses> {
    let bits = prop_oneof![Just(0), Just(8), Just(16), Just(64)];
    (bits, any::<bool>()).prop_map(|(bits, views)| Addresses { bits, views })
}

/// The passes that give a counted program another form, on its module and on its kernel.
fn random_form() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop_oneof![
        Just(("", "")),
        Just(("", "convert-scf-to-cf,")),
        Just(("gpux-to-nvvm,", ""))
    ]
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn lifted_programs_wait_for_no_more(
        stmts in statements(),
        addresses in random_addresses(),
        options in options(),
        more in random_more(),
        form in random_form(),
        group_tokens in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        let (on_module, form) = form;
        let source = with_more(&count(&context, &program_with(&stmts, addresses), &options), &more);
        let code = |passes: &str| {
            let on_kernel = match passes.trim_end_matches(',') {
                "" => String::new(),
                passes => format!("gpu.module(gpu.func({passes}))"),
            };
            let all = format!("{on_module}{on_kernel}");
            let text = match all.trim_end_matches(',') {
                "" => source.clone(),
                all => {
                    let lowered = try_lower(&context, &source, &format!("builtin.module({all})"));
                    let lowered = lowered.unwrap_or_else(|| panic!("{all} fails:\n{source}"));
                    lowered.as_operation().to_string()
                }
            };
            (parse(&context, &text), text)
        };
        let lift = |weaken: bool| format!("{form}gpux-groups-to-tokens{{group-tokens={group_tokens} weaken={weaken}}},");
        let (counted, _) = code(form);
        let call = Call { seed, ..Call::of(THREADS) };
        let meant = execute(&counted, &call, Adversary::Late);
        prop_assert!(!meant.stopped, "{}\n{source}", meant.findings);
        let is_clean = [Adversary::Early, Adversary::Random(seed)]
            .into_iter()
            .all(|adversary| execute(&counted, &call, adversary).is_clean())
            && meant.is_clean();
        let again = format!("{}gpux-tokens-to-groups,", lift(true));
        for (name, passes) in [("tokens", lift(true)), ("exact", lift(false)), ("counted again", again)] {
            let (lifted, text) = code(&passes);
            let late = execute(&lifted, &call, Adversary::Late);
            let difference = refine::compare(&late.trace, &meant.trace);
            prop_assert!(difference.is_none(), "{name}: waits for more: {difference:?}\n{source}\n{text}");
            if name == "exact" {
                let difference = refine::compare(&meant.trace, &late.trace);
                prop_assert!(difference.is_none(), "{name}: waits for less: {difference:?}\n{source}\n{text}");
            }
            if !is_clean {
                continue;
            }
            for adversary in [Adversary::Late, Adversary::Early, Adversary::Random(seed)] {
                let outcome = execute(&lifted, &call, adversary);
                prop_assert!(outcome.is_clean(), "{name}: {}\n{source}\n{text}", outcome.findings);
                prop_assert!(outcome.memory == meant.memory, "{name}: other memory\n{source}\n{text}");
            }
        }
    }

    /// Code in the `llvm` dialect, whose branches take no tokens, is not run, but valid.
    #[test]
    fn lifted_llvm_code_is_valid(
        stmts in statements(),
        options in options(),
        more in random_more(),
        group_tokens in any::<bool>(),
    ) {
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        let source = with_more(&count(&context, &program_with(&stmts, Addresses::default()), &options), &more);
        let pipeline = "builtin.module(gpux-lower-to-nvvm{chip=sm_80 format=llvm})";
        let lowered = try_lower(&context, &source, pipeline);
        let lowered = lowered.unwrap_or_else(|| panic!("can't be lowered:\n{source}"));
        let lowered = lowered.as_operation().to_string();
        let pipeline = format!("builtin.module(gpux-groups-to-tokens{{group-tokens={group_tokens}}})");
        prop_assert!(try_lower(&context, &lowered, &pipeline).is_some(), "not valid:\n{lowered}");
    }
}
