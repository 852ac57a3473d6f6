//! Every kernel of the lit tests and examples, in all forms that these have: as bytes it is the same code, and does the same.
#![allow(missing_docs)]

mod kernel;

use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::code::Code;
use async_sim::serial;
use kernel::lit::{self, call, lowered};
use kernel::{Call, execute};
use std::ops::AddAssign;

#[derive(Default)]
struct Tally {
    kernels: usize,
    instructions: usize,
    bytes: usize,
    host: usize,
    wrong: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.instructions += other.instructions;
        self.bytes += other.bytes;
        self.host += other.host;
        self.wrong.extend(other.wrong);
    }
}

/// What is wrong with the bytes of a kernel.
fn check(code: &Code, tally: &mut Tally) -> Result<(), String> {
    let written = serial::write(std::slice::from_ref(code));
    if code.is_host {
        tally.host += 1;
        return written.map_or(Ok(()), |_| Err("host code is written".into()));
    }
    let bytes = written.map_err(|error| error.to_string())?;
    let read = serial::read(&bytes).map_err(|error| error.to_string())?;
    let [read] = &read[..] else {
        return Err(format!("{} kernels are read", read.len()));
    };
    // Those that nothing uses have no number.
    let expected = Code {
        regs: read.regs.min(code.regs),
        ..code.clone()
    };
    if format!("{read:?}") != format!("{expected:?}") {
        return Err("other code is read".into());
    }
    let call = Call {
        budget: 1 << 12,
        ..call(code, 1)
    };
    let [before, after] = [code, read].map(|code| execute(code, &call, Adversary::Late));
    if before.memory != after.memory || before.findings != after.findings {
        return Err("what is read does something else".into());
    }
    tally.kernels += 1;
    tally.instructions += code.instrs.len();
    tally.bytes += bytes.len();
    Ok(())
}

fn check_source(context: &Context, name: &str, source: &str, tally: &mut Tally) {
    // The second one is of all functions, in the form that they are written in.
    for passes in ["", "convert-linalg-to-loops,"] {
        for (function, code) in lowered(context, source, passes).into_iter().flatten() {
            if let Ok(code) = code
                && let Err(message) = check(&code, tally)
            {
                tally.wrong.push(format!("{name}, @{function}: {message}"));
            }
        }
    }
}

#[test]
fn kernels_as_bytes_are_the_same() {
    let tally = lit::tally_sources(check_source);
    println!(
        "{} kernels, {} instructions, {} bytes; {} functions of the host",
        tally.kernels, tally.instructions, tally.bytes, tally.host
    );
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
    assert!(tally.kernels >= 800, "only {} kernels", tally.kernels);
    assert!(tally.host > 0);
    // Compact: places and loops are kept once.
    assert!(tally.bytes < 40 * tally.instructions);
}
