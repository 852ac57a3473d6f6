//! Workgroup memory of every lit test and example, packed: what is clean stays clean, with the same result, in the form it is
//! written in and lowered, and takes no more memory.
//!
//! With `share=free`, no barrier has to be added, so that the kernels can be run as they are. With `share=liveness`,
//! `--gpux-insert-barriers` adds them, where it can.
#![allow(missing_docs)]

mod kernel;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::{Code, Init};
use kernel::lit::{self, Kernels, call, lowered};
use kernel::{Call, execute, is_same};
use std::ops::AddAssign;

/// What packs and lowers, and what does the same to a kernel that is not packed: where that is not clean, it is no fault of
/// packing.
const FORMS: [(&str, &str); 6] = [
    ("gpux-pack-workgroup-memory{share=free},", ""),
    ("gpux-pack-workgroup-memory{share=none},", ""),
    (
        "gpux-pack-workgroup-memory{share=free},gpux-tokens-to-mbarriers,gpux-tokens-to-groups,",
        "",
    ),
    (
        "gpux-pack-workgroup-memory{share=free},gpux-tokens-to-mbarriers,gpux-tokens-to-groups,gpux-to-nvvm,",
        "",
    ),
    (
        "gpux-pack-workgroup-memory,gpux-insert-barriers,",
        "gpux-insert-barriers,",
    ),
    (
        "gpux-pack-workgroup-memory,gpux-insert-barriers,gpux-tokens-to-mbarriers,gpux-tokens-to-groups,gpux-to-nvvm,",
        "gpux-insert-barriers,",
    ),
];

#[derive(Default)]
struct Tally {
    /// Kernels with workgroup memory that run.
    run: usize,
    clean: usize,
    smaller: usize,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.run += other.run;
        self.clean += other.clean;
        self.smaller += other.smaller;
    }
}

/// The bytes of the workgroup's buffers, one after the other as they are aligned here, or nothing if the launch says how many
/// there are.
fn bytes(code: &Code) -> Option<usize> {
    code.workgroup.iter().try_fold(0_usize, |end, decl| {
        let bytes = match &decl.init {
            Init::Unwritten(bytes) => *bytes,
            Init::Bytes(bytes) => bytes.len(),
            Init::Dynamic => return None,
        };
        Some(end.next_multiple_of(decl.align as usize) + bytes)
    })
}

#[test]
fn what_is_clean_stays_clean() {
    let tally: Tally = lit::tally_sources(hold);
    println!(
        "{} kernels run packed, {} of them clean, {} in less memory",
        tally.run, tally.clean, tally.smaller
    );
    assert!(tally.run >= 300 && tally.clean >= 100, "too few are left");
}

fn hold(context: &Context, name: &str, source: &str, tally: &mut Tally) {
    let Some(kernels) = lowered(context, source, "lower-affine,") else {
        return;
    };
    let forms = FORMS.map(|(packed, other)| {
        let other = Some(other).filter(|other| !other.is_empty());
        let other = other.and_then(|other| lowered(context, source, other));
        (lowered(context, source, packed), other)
    });
    for (function, code) in kernels {
        let Some(code) = code.ok().filter(|code| !code.workgroup.is_empty()) else {
            continue;
        };
        let title = format!("{name}, @{function}");
        let code_of = |kernels: &Option<Kernels>| kernels.as_ref()?.get(&function)?.as_ref().ok().cloned();
        let mut different: Vec<Form> = Vec::new();
        for ((passes, given), (packed, other)) in FORMS.iter().zip(&forms) {
            let Some(packed) = code_of(packed) else { continue };
            let other = code_of(other);
            let has_other = given.is_empty() || other.is_some();
            if has_other && !different.iter().any(|form| is_same(&form.packed, &packed)) {
                different.push(Form {
                    passes,
                    packed,
                    other,
                });
            }
        }
        hold_kernel(&title, &code, &different, tally);
    }
}

/// What passes make of a kernel.
struct Form<'a> {
    passes: &'a str,
    packed: Code,
    /// What they make of it without packing, if that is not the kernel itself.
    other: Option<Code>,
}

fn hold_kernel(title: &str, code: &Code, forms: &[Form], tally: &mut Tally) {
    let mut any = false;
    for seed in 0..2 {
        let call = call(code, seed);
        let meant = execute(code, &call, Adversary::Late);
        if meant.stopped {
            continue;
        }
        any = true;
        // All that need another form to be clean need the same one.
        let mut other_is_clean = None;
        for form in forms {
            let place = format!("{title}, {}, call {seed}", form.passes);
            let first = seed == 0 && form.passes == FORMS[0].0;
            if let (true, Some(packed), Some(written)) = (first, bytes(&form.packed), bytes(code)) {
                assert!(packed <= written, "{place}: {packed} bytes instead of {written}");
                tally.smaller += usize::from(packed < written);
            }
            let call = Call {
                budget: call.budget << 4,
                ..call.clone()
            };
            let runs = |code: &Code| {
                *other_is_clean.get_or_insert_with(|| execute(code, &call, Adversary::Late).is_clean())
            };
            if meant.is_clean() && form.other.as_ref().is_none_or(runs) {
                let outcome = execute(&form.packed, &call, Adversary::Late);
                assert!(outcome.is_clean(), "{place}: {}", outcome.findings);
                assert!(outcome.memory == meant.memory, "{place}: other memory");
                tally.clean += usize::from(first);
            }
        }
    }
    tally.run += usize::from(any);
}
