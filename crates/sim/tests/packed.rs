//! Workgroup memory of every lit test and example, packed: what is clean stays clean, with the same result, in the form it is
//! written in and lowered, and takes no more memory.
//!
//! With `share=free`, no barrier has to be added, so that the kernels can be run as they are.
#![allow(missing_docs)]

mod kernel;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::{Code, Init};
use kernel::lit::{self, call, lowered};
use kernel::{Call, context, execute};

/// What comes before and after, in the order of `--gpux-lower-to-nvvm`.
const FORMS: [&str; 4] = [
    "gpux-pack-workgroup-memory{share=free},",
    "gpux-pack-workgroup-memory{share=none},",
    "gpux-pack-workgroup-memory{share=free},gpux-tokens-to-mbarriers,gpux-tokens-to-groups,",
    "gpux-pack-workgroup-memory{share=free},gpux-tokens-to-mbarriers,gpux-tokens-to-groups,gpux-to-nvvm,",
];

#[derive(Default)]
struct Tally {
    /// Kernels with workgroup memory that run.
    run: usize,
    clean: usize,
    smaller: usize,
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
    let context = context();
    context.set_allow_unregistered_dialects(true);
    context.attach_diagnostic_handler(|_| true);
    let mut tally = Tally::default();
    for file in lit::all_files() {
        let text = std::fs::read_to_string(&file).expect("a test");
        for source in text.split("// -----") {
            if !source.contains("expected-error") {
                hold(&context, &file.display().to_string(), source, &mut tally);
            }
        }
    }
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
    let forms = FORMS.map(|passes| lowered(context, source, passes));
    for (function, code) in kernels {
        let Ok(code) = code else { continue };
        if code.workgroup.is_empty() {
            continue;
        }
        let mut any = false;
        for seed in 0..2 {
            let call = call(&code, seed);
            let meant = execute(&code, &call, Adversary::Late);
            if meant.stopped {
                continue;
            }
            any = true;
            for (passes, kernels) in FORMS.iter().zip(&forms) {
                let Some(Ok(packed)) = kernels.as_ref().and_then(|kernels| kernels.get(&function)) else {
                    continue;
                };
                let place = format!("{name}, @{function}, {passes}, call {seed}");
                if seed == 0 && *passes == FORMS[0] {
                    if let (Some(packed), Some(written)) = (bytes(packed), bytes(&code)) {
                        assert!(packed <= written, "{place}: {packed} bytes instead of {written}");
                        tally.smaller += usize::from(packed < written);
                    }
                }
                let call = Call {
                    budget: call.budget << 4,
                    ..call.clone()
                };
                let outcome = execute(packed, &call, Adversary::Late);
                if meant.is_clean() {
                    assert!(outcome.is_clean(), "{place}: {}", outcome.findings);
                    assert!(outcome.memory == meant.memory, "{place}: other memory");
                    tally.clean += usize::from(seed == 0 && *passes == FORMS[0]);
                }
            }
        }
        tally.run += usize::from(any);
    }
}
