//! Every lit test with device code, counted, then put into token form, and counted again: run side by side, nothing waits for
//! more than the counts did, and what is clean stays clean, with the same memory. Awaits that leave nothing to later ones wait for
//! exactly what the counts did.
#![allow(missing_docs)]

mod kernel;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::refine::{self, Difference};
use kernel::lit::{self, Kernels, call, lowered};
use kernel::{Call, Outcome, execute};
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
        for seed in 0..ATTEMPTS {
            let call = call(&self.counted, seed);
            let meant = execute(&self.counted, &call, Adversary::Late);
            if meant.stopped {
                continue;
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
