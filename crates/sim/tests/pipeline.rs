//! Random loops, pipelined: whatever the stages, the orders, the form of the loads and the number of iterations, the result is that
//! of the loop as it is written, no schedule of the hardware finds a race in it, and nothing in it is superfluous
//! ([`loops::needed`]).
//!
//! The loops are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others. With `SHOW` set and
//! `--nocapture`, what nobody missed is printed.
#![allow(missing_docs)]

mod kernel;
mod loops;
mod programs;

use async_mlir::melior::Context;
use kernel::context;
use loops::early::random_loop_with_work_before;
use loops::forms::Form;
use loops::nests::{Nest, random_nest, random_nest_with_work_before};
use loops::runs::{MOST_TRIPS, after, compare, shape};
use loops::{Loop, random_loop};
use programs::config;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn pipelined_loops_do_what_plain_ones_do(random in loops(), shape in shape(), seed in any::<u64>()) {
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        let source = random.kernel();
        let passes = format!("{}async-pipeline{{{shape}}}", random.form.before());
        let Some(pipelined) = after(&context, &source, &passes) else {
            return Err(TestCaseError::fail(format!("refused with {shape}:\n{source}")));
        };
        let Some(counted) = after(&context, &pipelined, random.form.counting()) else {
            return Err(TestCaseError::fail(format!("not counted with {shape}:\n{source}\n{pipelined}")));
        };
        let forms = [("tokens", &*pipelined), ("counted", &*counted)];
        compare(&context, &random, &source, &forms, MOST_TRIPS, seed)?;
    }

    #[test]
    fn pipelined_nests_do_what_plain_ones_do(nest in nests(), shape in shape(), seed in any::<u64>()) {
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        let source = nest.kernel();
        let passes = format!("{}async-pipeline{{{shape}}}", nest.inner.form.before());
        let Some(pipelined) = after(&context, &source, &passes) else {
            // The parts of the inner loop may overtake each other where it is not known how often it runs.
            prop_assert!(nest.is_staged(), "refused with {shape}:\n{source}");
            return Ok(());
        };
        let pipelined = with_barriers(&context, &nest.inner, pipelined);
        let Some(counted) = after(&context, &pipelined, nest.inner.form.counting()) else {
            return Err(TestCaseError::fail(format!("not counted with {shape}:\n{source}\n{pipelined}")));
        };
        let forms = [("tokens", &*pipelined), ("counted", &*counted)];
        compare(&context, &nest.inner, &source, &forms, 4, seed)?;
    }

    #[test]
    fn loops_that_ask_for_stages_do_what_plain_ones_do(
        mut random in loops(),
        stages in 1..5_u32,
        large in prop::bool::weighted(0.1),
        shape in shape(),
        seed in any::<u64>(),
    ) {
        random.automatic = Some(stages);
        random.large = large && random.form != Form::Tma;
        let context = context();
        context.attach_diagnostic_handler(|_| true);
        let source = random.kernel();
        let passes = format!("{}async-pipeline{{{shape} memory=fewer-stages}}", random.form.before());
        let pipelined = after(&context, &source, &passes);
        let Some(pipelined) = pipelined else {
            return Err(TestCaseError::fail(format!("an error:\n{source}")));
        };
        let pipelined = with_barriers(&context, &random, pipelined);
        let Some(counted) = after(&context, &pipelined, random.form.counting()) else {
            return Err(TestCaseError::fail(format!("not counted with {shape}:\n{source}\n{pipelined}")));
        };
        let forms = [("tokens", &*pipelined), ("counted", &*counted)];
        compare(&context, &random, &source, &forms, MOST_TRIPS, seed)?;
    }
}

/// Loops, half of them with work in flight where they are entered.
fn loops() -> impl Strategy<Value = Loop> {
    prop_oneof![random_loop(), random_loop_with_work_before()]
}

/// Nests, half of them with work in flight where the inner loop is entered.
fn nests() -> impl Strategy<Value = Nest> {
    prop_oneof![random_nest(), random_nest_with_work_before()]
}

/// Barriers for a loop that only asks for stages: if it could not be pipelined, it has none yet. By itself, that pass refuses some
/// of the others: it does not follow how often a loop runs.
fn with_barriers(context: &Context, of: &Loop, pipelined: String) -> String {
    let derived = of
        .automatic
        .and_then(|_| after(context, &pipelined, "gpux-insert-barriers"));
    derived.unwrap_or(pipelined)
}

/// Nests that are refused are left out above: these must not be most of them.
#[test]
fn most_nests_are_pipelined() {
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    let mut runner = TestRunner::new(config(1));
    let staged = random_nest().prop_filter("it has stages", Nest::is_staged);
    let pipelined = (0..100).filter(|_| {
        let nest = staged.new_tree(&mut runner).expect("a nest").current();
        let passes = format!("{}async-pipeline", nest.inner.form.before());
        after(&context, &nest.kernel(), &passes).is_some()
    });
    let pipelined = pipelined.count();
    assert!(pipelined >= 80, "only {pipelined} of 100");
}

/// A loop that loads `loads` times from a buffer that it copies to, after the await of the copy; the schedule executes the loads before that.
fn overtaking(loads: usize) -> String {
    use std::fmt::Write;
    const TILE: &str = "memref<1024xf32, #gpu.address_space<workgroup>>";
    let mut text = format!(
        "gpu.module @m {{
gpu.func @k(%in: memref<?xf32>, %out: memref<?xf32>, %buffer: {TILE}, %n: index) {{
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%a0 = arith.constant 0.0 : f32
%t = gpu.thread_id x
scf.for %i = %c0 to %n step %c1 {{
%token = gpux.copy async %in[%i], %buffer[%t], 1 {{async.stage = 0, async.order = 0}} : memref<?xf32> to {TILE}
async.await %token {{async.stage = 1, async.order = 2}}
"
    );
    for i in 0..loads {
        let stage = "{async.stage = 0, async.order = 1}";
        let (next, load) = (i + 1, format!("%v{i} = memref.load %buffer[%t] {stage} : {TILE}"));
        let _ = writeln!(text, "{load}\n%a{next} = arith.addf %a{i}, %v{i} {stage} : f32");
    }
    text + "}\ngpu.return\n}\n}\n"
}

#[test]
fn what_comes_after_an_await_stays_there_with_any_number_of_accesses() {
    let context = context();
    context.attach_diagnostic_handler(|_| true);
    for loads in [1, 300] {
        let pipelined = after(
            &context,
            &overtaking(loads),
            "async-pipeline{insert-barriers=false}",
        );
        assert!(pipelined.is_none(), "{loads} loads: {pipelined:?}");
        // As far as the loop can be read, that is the only reason.
        let early = overtaking(loads).replace(
            "async.stage = 1, async.order = 2",
            "async.stage = 0, async.order = 1",
        );
        let early = after(&context, &early, "async-pipeline{insert-barriers=false}");
        assert!(early.is_some(), "{loads} loads");
    }
}
