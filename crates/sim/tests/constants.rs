//! Integers of every width: what analyses say of them in each thread is what the simulator computes.
#![allow(missing_docs)]

mod kernel;

use async_mlir::ir::{Op, Value, Walk};
use async_mlir::melior::ir::Module;
use async_passes::analysis::divisibility::Divisibility;
use async_passes::analysis::integers::{bits_of, constant, cut};
use async_passes::analysis::linear_expr::LinearExprs;
use async_passes::analysis::thread_values::ThreadValues;
use async_passes::analysis::warps::by_warp;
use async_sim::adversary::Adversary;
use kernel::{Call, context, run};
use proptest::prelude::*;
use std::fmt::Write;

/// The bits of each type; 0 stands for an `index`.
const WIDTHS: [u32; 7] = [1, 8, 16, 32, 33, 64, 0];
const THREADS: usize = 64;

/// Operations of two numbers, of which the second is a constant if it has to be.
const OPERATIONS: [&str; 20] = [
    "addi",
    "subi",
    "muli",
    "andi",
    "ori",
    "xori",
    "minsi",
    "minui",
    "maxsi",
    "maxui",
    "divsi",
    "divui",
    "ceildivsi",
    "ceildivui",
    "floordivsi",
    "remsi",
    "remui",
    "shli",
    "shrsi",
    "shrui",
];
const FIRST_DIVISION: usize = 10;
const FIRST_SHIFT: usize = 17;
const PREDICATES: [&str; 10] = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];

/// A number that is computed of others.
#[derive(Clone, Debug)]
struct Step {
    kind: usize,
    operation: usize,
    /// Which of the numbers so far.
    operands: [usize; 2],
    constant: i64,
    width: usize,
    signed: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let constant = prop_oneof![
        -5..70_i64,
        Just(i64::from(i32::MAX)),
        Just(i64::from(i32::MIN)),
        Just(127),
        Just(-128),
        Just(200),
        any::<i64>(),
    ];
    let step = (
        0..10_usize,
        0..OPERATIONS.len(),
        any::<[usize; 2]>(),
        constant,
        0..WIDTHS.len(),
        any::<bool>(),
    );
    let step = step.prop_map(|(kind, operation, operands, constant, width, signed)| Step {
        kind,
        operation,
        operands,
        constant,
        width,
        signed,
    });
    prop::collection::vec(step, 1..12)
}

fn ty(width: u32) -> String {
    match width {
        0 => "index".to_owned(),
        bits => format!("i{bits}"),
    }
}

fn bits(width: u32) -> u32 {
    if width == 0 { 64 } else { width }
}

/// Text that computes numbers from `%v0`, the number of the thread.
struct Text {
    body: String,
    /// Of each number, its width.
    widths: Vec<u32>,
}

impl Text {
    fn value(&mut self, computed: &str, width: u32) -> usize {
        writeln!(self.body, "%v{} = {computed}", self.widths.len()).expect("a string");
        self.widths.push(width);
        self.widths.len() - 1
    }

    fn constant(&mut self, number: i64, width: u32) -> usize {
        let number = cut(number, bits(width));
        match width {
            1 => self.value(&format!("arith.constant {}", number != 0), 1),
            _ => self.value(&format!("arith.constant {number} : {}", ty(width)), width),
        }
    }

    /// Number `value` in another width.
    fn converted(&mut self, value: usize, to: u32, signed: bool) -> usize {
        let from = self.widths[value];
        let name = match (from, to) {
            _ if from == to => return value,
            (0, _) | (_, 0) if signed => "index_cast",
            (0, _) | (_, 0) => "index_castui",
            _ if from > to => "trunci",
            _ if signed => "extsi",
            _ => "extui",
        };
        self.value(
            &format!("arith.{name} %v{value} : {} to {}", ty(from), ty(to)),
            to,
        )
    }

    fn step(&mut self, step: &Step) {
        let [a, b] = step.operands.map(|operand| operand % self.widths.len());
        let width = self.widths[a];
        match step.kind {
            0 => {
                self.constant(step.constant, WIDTHS[step.width]);
            }
            1 | 2 => {
                self.converted(a, WIDTHS[step.width], step.signed);
            }
            3 => {
                let b = self.converted(b, width, step.signed);
                let predicate = PREDICATES[step.operation % PREDICATES.len()];
                self.value(
                    &format!("arith.cmpi {predicate}, %v{a}, %v{b} : {}", ty(width)),
                    1,
                );
            }
            4 => {
                let condition = self.converted(b, 1, step.signed);
                let other = self.constant(step.constant, width);
                let chosen = format!("arith.select %v{condition}, %v{a}, %v{other} : {}", ty(width));
                self.value(&chosen, width);
            }
            _ => {
                let number = match step.operation {
                    FIRST_SHIFT.. => step.constant.rem_euclid(i64::from(bits(width))),
                    // Neither by 0 nor by -1.
                    FIRST_DIVISION.. if matches!(cut(step.constant, bits(width)), 0 | -1) => 1,
                    _ => step.constant,
                };
                // A single bit is 0 or -1.
                let is_division = (FIRST_DIVISION..FIRST_SHIFT).contains(&step.operation);
                if is_division && width == 1 {
                    return;
                }
                let b = if step.kind < 8 || step.operation >= FIRST_DIVISION {
                    self.constant(number, width)
                } else {
                    self.converted(b, width, step.signed)
                };
                let name = OPERATIONS[step.operation];
                self.value(&format!("arith.{name} %v{a}, %v{b} : {}", ty(width)), width);
            }
        }
    }
}

/// A kernel that computes numbers, and writes down what each is in each thread.
fn kernel(steps: &[Step]) -> (String, usize) {
    let mut text = Text {
        body: String::new(),
        widths: Vec::new(),
    };
    text.value("gpu.thread_id x", 0);
    for step in steps {
        text.step(step);
    }
    let count = text.widths.len();
    for value in 0..count {
        let number = match text.widths[value] {
            64 => value,
            _ => text.converted(value, 64, true),
        };
        let row = text.constant(i64::try_from(value).expect("a small number"), 0);
        writeln!(
            text.body,
            "memref.store %v{number}, %out[%v{row}, %v0] : memref<{count}x{THREADS}xi64>"
        )
        .expect("a string");
    }
    let source = format!(
        "gpu.module @m {{
           gpu.func @k(%out: memref<{count}x{THREADS}xi64>) kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
             {}
             gpu.return
           }}
         }}",
        text.body
    );
    (source, count)
}

/// What the analyses say of the first `count` values of `function`, which `is` what in a thread.
fn check<'c>(function: Op<'c>, count: usize, is: &dyn Fn(usize, usize) -> i64) -> Result<(), String> {
    let body = function.region(0).first().expect("a body");
    let values: Vec<Value> = body
        .ops()
        .into_iter()
        .take(count)
        .map(|op| op.result(0))
        .collect();
    let mut thread_values = ThreadValues::new(function);
    let (mut linear_exprs, mut divisibility) = (LinearExprs::default(), Divisibility::default());
    for (number, &value) in values.iter().enumerate() {
        let bits = bits_of(value.ty()).expect("an integer");
        let (known, in_threads, in_warps) = (constant(value), thread_values.of(value), by_warp(value));
        let (sum, log2) = (linear_exprs.of(value), divisibility.log2(value));
        let factors: Vec<(i64, usize)> = sum
            .terms()
            .map(|(factor, of)| {
                (
                    factor,
                    values.iter().position(|known| *known == of).expect("one of them"),
                )
            })
            .collect();
        for thread in 0..THREADS {
            let computed = is(number, thread);
            let says = |what: &str, it: i64| {
                (it == computed)
                    .then_some(())
                    .ok_or_else(|| format!("%v{number} is {computed} in thread {thread}, and {it} to {what}"))
            };
            if let Some(known) = known {
                says("the evaluator", known)?;
            }
            if let Some(known) = in_threads.as_ref().filter(|known| known.offset.terms.is_empty()) {
                let own = known.threads.as_ref().map_or(0, |threads| threads[thread]);
                says(
                    "the values of threads",
                    cut(own.wrapping_add(known.offset.constant), bits),
                )?;
            }
            if let Some(warps) = in_warps {
                says("the values of warps", warps[thread / 32])?;
            }
            if let Some(known) = sum.as_constant() {
                says("the sums", known)?;
            }
            // Sums in 32 bits or more are taken not to wrap around.
            let terms = factors
                .iter()
                .map(|(factor, of)| factor.wrapping_mul(is(*of, thread)));
            let all = terms.fold(sum.constant, i64::wrapping_add);
            if cut(all, 32) != cut(computed, 32) {
                says("the sums", all)?;
            }
            if computed & ((1 << log2) - 1) != 0 {
                return Err(format!(
                    "%v{number} is {computed} in thread {thread}, no multiple of 2^{log2}"
                ));
            }
        }
    }
    Ok(())
}

fn config() -> ProptestConfig {
    let from_env = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(1_000, |_| from_env.cases),
        failure_persistence: None,
        ..from_env
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn analyses_say_what_programs_compute(steps in steps()) {
        let context = context();
        let (source, count) = kernel(&steps);
        let outcome = run(&context, &source, &Call::of(64), Adversary::Late);
        prop_assert!(outcome.is_clean(), "{}\n{source}", outcome.findings);
        let bytes = &outcome.memory[0];
        let is = |value: usize, thread: usize| {
            let at = 8 * (value * THREADS + thread);
            i64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
        };
        let module = Module::parse(&context, &source).expect("a module");
        let mut wrong = Ok(());
        Op::from(module.as_operation()).walk(|op| {
            if op.is("gpu.func") {
                wrong = check(op, count, &is);
            }
            Walk::Advance
        });
        prop_assert!(wrong.is_ok(), "{}\n{source}", wrong.unwrap_err());
    }
}
