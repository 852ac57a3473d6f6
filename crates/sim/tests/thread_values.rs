//! Integers that are computed of a thread's index, in any width, and slots that loops use in turn: where the pass that inserts
//! barriers takes two threads to touch no common byte, they don't when they run.
#![allow(missing_docs)]

mod kernel;
mod rotating;

use async_sim::adversary::Adversary;
use kernel::{Call, context, lower, run};
use proptest::prelude::*;
use std::fmt::Write;

/// The bits of each type; 64 are an `index`.
const WIDTHS: [u32; 5] = [1, 8, 16, 32, 64];

/// One computation of the last number: an operation, a constant, and a type.
#[derive(Clone, Debug)]
struct Step {
    operation: usize,
    constant: i64,
    width: usize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..13_usize, -40..70_i64, 0..WIDTHS.len()).prop_map(|(operation, constant, width)| Step {
        operation,
        constant,
        width,
    });
    prop::collection::vec(step, 0..6)
}

fn ty(bits: u32) -> String {
    if bits == 64 {
        "index".to_owned()
    } else {
        format!("i{bits}")
    }
}

/// Text that computes numbers from `%t`.
#[derive(Default)]
struct Text {
    body: String,
    values: usize,
}

impl Text {
    fn value(&mut self, computed: &str) -> String {
        self.values += 1;
        let name = format!("%v{}", self.values);
        writeln!(self.body, "{name} = {computed}").expect("a string");
        name
    }

    /// `value`, which has `from` bits, in `to` bits.
    fn converted(&mut self, value: &str, from: u32, to: u32, signed: bool) -> String {
        let name = match (from, to) {
            _ if from == to => return value.to_owned(),
            (64, _) | (_, 64) if signed => "index_cast",
            (64, _) | (_, 64) => "index_castui",
            _ if from > to => "trunci",
            _ if signed => "extsi",
            _ => "extui",
        };
        self.value(&format!("arith.{name} {value} : {} to {}", ty(from), ty(to)))
    }

    fn constant(&mut self, constant: i64, bits: u32) -> String {
        match bits {
            1 => self.value(&format!("arith.constant {}", constant & 1 == 1)),
            _ => self.value(&format!("arith.constant {constant} : {}", ty(bits))),
        }
    }

    /// What `steps` make of `%t`, and how many bits it has.
    fn chain(&mut self, steps: &[Step]) -> (String, u32) {
        const PREDICATES: [&str; 10] = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];
        const OPERATIONS: [&str; 6] = ["addi", "subi", "muli", "xori", "andi", "ori"];
        let (mut last, mut bits) = ("%t".to_owned(), 64);
        for Step {
            operation,
            constant,
            width,
        } in steps
        {
            let to = WIDTHS[*width];
            last = match operation {
                0..6 => {
                    let constant = self.constant(*constant, bits);
                    self.value(&format!(
                        "arith.{} {last}, {constant} : {}",
                        OPERATIONS[*operation],
                        ty(bits)
                    ))
                }
                6 => {
                    let by = self.constant(constant.rem_euclid(i64::from(bits)), bits);
                    let name = if *width % 2 == 0 { "shli" } else { "shrui" };
                    self.value(&format!("arith.{name} {last}, {by} : {}", ty(bits)))
                }
                7 => {
                    let constant = self.constant(*constant, bits);
                    let predicate = PREDICATES[(*width * 3) % PREDICATES.len()];
                    let compared = format!("arith.cmpi {predicate}, {last}, {constant} : {}", ty(bits));
                    bits = 1;
                    self.value(&compared)
                }
                10.. => {
                    last = self.converted(&last, bits, 64, true);
                    bits = 64;
                    let operator = ["mod", "floordiv", "ceildiv"][operation - 10];
                    let by = constant.abs().max(1);
                    self.value(&format!(
                        "affine.apply affine_map<(d0) -> (d0 {operator} {by})>({last})"
                    ))
                }
                _ => {
                    let converted = self.converted(&last, bits, to, *operation == 8);
                    bits = to;
                    converted
                }
            };
        }
        (last, bits)
    }
}

/// A kernel in which threads that meet a condition write their own element, and all read one that they compute.
fn kernel(index: &[Step], condition: &[Step], signed: bool) -> String {
    let mut text = Text::default();
    let (at, bits) = text.chain(index);
    let at = text.converted(&at, bits, 64, signed);
    let mask = text.constant(63, 64);
    let at = text.value(&format!("arith.andi {at}, {mask} : index"));
    let (holds, bits) = text.chain(condition);
    let holds = text.converted(&holds, bits, 1, signed);
    format!(
        "!row = memref<64xf32, #gpu.address_space<workgroup>>
        gpu.module @m {{
          gpu.func @k(%x: f32) workgroup(%s: !row) kernel attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
            %t = gpu.thread_id x
            {}
            memref.store %x, %s[%t] : !row
            // It stays, since a fence stands beside it.
            gpu.barrier
            nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
            scf.if {holds} {{
              memref.store %x, %s[%t] : !row
            }}
            %v = memref.load %s[{at}] : !row
            gpu.return
          }}
        }}",
        text.body
    )
}

/// More than usual: few of them touch what does not fit.
fn config() -> ProptestConfig {
    let from_env = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(2_000, |_| from_env.cases),
        failure_persistence: None,
        ..from_env
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn threads_that_meet_get_a_barrier(index in steps(), condition in steps(), signed in any::<bool>()) {
        let context = context();
        let source = kernel(&index, &condition, signed);
        let placed = lower(&context, &source, "builtin.module(gpu.module(gpu.func(gpux-insert-barriers)),lower-affine)");
        let outcome = run(&context, &placed, &Call::of(64), Adversary::Late);
        prop_assert!(outcome.is_clean(), "{}\n{placed}", outcome.findings);
    }

    #[test]
    fn slots_that_are_used_again_get_a_barrier(program in rotating::program()) {
        let context = context();
        let source = program.kernel();
        let placed = lower(&context, &source, "builtin.module(gpu.module(gpu.func(gpux-insert-barriers)),lower-affine)");
        let outcome = run(&context, &placed, &program.call(), Adversary::Late);
        prop_assert!(outcome.is_clean(), "{}\n{placed}", outcome.findings);
    }
}
