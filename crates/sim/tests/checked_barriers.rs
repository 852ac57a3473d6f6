//! The check of `--gpux-insert-barriers` on all kernels of the tests and examples: it accepts what the pass writes, and refuses it without
//! any one of the barriers that the pass has inserted. No certificate is accepted with one entry less.
#![allow(missing_docs)]

mod kernel;

use async_mlir::gpu::is_barrier;
use async_mlir::ir::Op;
use async_mlir::melior::Context;
use async_mlir::melior::ir::{Attribute, Module};
use async_mlir::melior::pass::PassManager;
use async_mlir::melior::utility::parse_pass_pipeline;
use async_verify::barriers::{AroundBarriers, Certificate, Refusal, check, infer, read};
use kernel::lit;
use std::ops::AddAssign;

/// Says of a barrier that the pass has not inserted it.
const WAS_THERE: &str = "test.was_there";

#[derive(Default)]
struct Tally {
    functions: usize,
    barriers: usize,
    /// Functions that are refused as the pass writes them.
    refused: Vec<String>,
    /// Places of barriers without which a function is accepted.
    missed: Vec<String>,
    /// Changed certificates that are accepted.
    spoiled: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.functions += other.functions;
        self.barriers += other.barriers;
        self.refused.extend(other.refused);
        self.missed.extend(other.missed);
        self.spoiled.extend(other.spoiled);
    }
}

fn find<'c>(root: Op<'c>, wanted: impl Fn(Op<'c>) -> bool) -> Vec<Op<'c>> {
    root.self_and_nested()
        .into_iter()
        .filter(|op| wanted(*op))
        .collect()
}

/// What the check says of `function`.
fn verdict<'c>(function: Op<'c>, around_barriers: &AroundBarriers<'c>) -> Result<(), Option<Refusal>> {
    let reading = read(function, around_barriers).ok_or(None)?;
    check(&reading.code, &infer(&reading.code)).map_err(Some)
}

/// The certificate of `function` without one of its entries, one after the other, is refused.
fn spoil<'c>(function: Op<'c>, around_barriers: &AroundBarriers<'c>) -> Vec<String> {
    let Some(reading) = read(function, around_barriers) else {
        return Vec::new();
    };
    let certificate = infer(&reading.code);
    let mut accepted = Vec::new();
    for (id, claimed) in certificate.blocks.with_ids() {
        for entry in claimed {
            let mut spoiled: Certificate = certificate.clone();
            spoiled.blocks[id].remove(entry);
            if check(&reading.code, &spoiled).is_ok() {
                accepted.push(format!("{id}: {entry:?}"));
            }
        }
    }
    accepted
}

fn hold(context: &Context, title: &str, source: &str, tally: &mut Tally) {
    let Some(mut module) = Module::parse(context, source) else {
        return;
    };
    let root = Op::from(module.as_operation());
    for barrier in find(root, is_barrier) {
        barrier.set_attr(WAS_THERE, Attribute::unit(context));
    }
    let functions = find(root, Op::is_function);
    let around: Vec<AroundBarriers> = functions
        .iter()
        .map(|function| AroundBarriers::of(*function))
        .collect();
    let passes = PassManager::new(context);
    let pipeline = "builtin.module(gpux-insert-barriers{verify-result=false})";
    parse_pass_pipeline(passes.as_operation_pass_manager(), pipeline).expect("a pipeline");
    if passes.run(&mut module).is_err() {
        return;
    }
    let checked = lit_passes(context, source);
    if !checked {
        tally.refused.push(title.to_owned());
    }
    for (function, around) in functions.iter().zip(&around) {
        tally.functions += 1;
        let name = function.str_attr("sym_name").unwrap_or_default();
        let new = find(*function, |op| is_barrier(op) && !op.has_attr(WAS_THERE));
        if new.is_empty() || !checked {
            continue;
        }
        if let Err(refusal) = verdict(*function, around) {
            tally.refused.push(format!("{title}, @{name}: {refusal:?}"));
            continue;
        }
        let spoiled = spoil(*function, around);
        tally.spoiled.extend(
            spoiled
                .into_iter()
                .map(|entry| format!("{title}, @{name}: {entry}")),
        );
        for (i, barrier) in new.into_iter().enumerate() {
            tally.barriers += 1;
            let next = barrier.next().expect("a terminator at least");
            barrier.detach();
            if verdict(*function, around).is_ok() {
                tally
                    .missed
                    .push(format!("{title}, @{name}: without barrier {i}"));
            }
            barrier.move_before(next);
        }
    }
}

/// Returns true if the pass, with the check, accepts `source`.
fn lit_passes(context: &Context, source: &str) -> bool {
    kernel::try_lower(context, source, "builtin.module(gpux-insert-barriers)").is_some()
}

#[test]
fn what_the_pass_writes_is_accepted_and_with_a_barrier_less_refused() {
    let tally =
        lit::tally_sources(|context, title, source, tally: &mut Tally| hold(context, title, source, tally));
    println!("{} functions, {} barriers", tally.functions, tally.barriers);
    assert!(tally.functions > 1000, "{}", tally.functions);
    assert!(tally.barriers > 200, "{}", tally.barriers);
    assert!(tally.refused.is_empty(), "refused:\n{}", tally.refused.join("\n"));
    assert!(tally.missed.is_empty(), "accepted:\n{}", tally.missed.join("\n"));
    assert!(
        tally.spoiled.is_empty(),
        "accepted:\n{}",
        tally.spoiled.join("\n")
    );
}
