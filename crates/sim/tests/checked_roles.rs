//! The check of `--gpux-split-roles` on all kernels of the tests and examples whose warps have roles: it accepts what the pass writes, and refuses
//! it with any one operation left out, any two in the other order, or any operand another one.
#![allow(missing_docs)]

mod kernel;

use async_mlir::ir::{Op, Value};
use async_mlir::melior::Context;
use async_mlir::melior::ir::Module;
use async_verify::roles::check;
use kernel::{lit, try_lower};
use std::ops::AddAssign;

const BEFORE: &str = "builtin.module(gpu.module(gpu.func(gpux-tokens-to-mbarriers{verify-result=false})))";
const SPLIT: &str = "builtin.module(gpu.module(gpu.func(gpux-split-roles{verify-result=false})))";

#[derive(Default)]
struct Tally {
    kernels: usize,
    changes: usize,
    /// Kernels that are refused as the pass writes them.
    refused: Vec<String>,
    /// Changes with which a kernel is accepted.
    missed: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.changes += other.changes;
        self.refused.extend(other.refused);
        self.missed.extend(other.missed);
    }
}

/// The kernels of `module`.
fn kernels<'c>(module: &Module<'c>) -> Vec<Op<'c>> {
    let all = Op::from(module.as_operation()).self_and_nested();
    all.into_iter().filter(|op| op.is("gpu.func")).collect()
}

/// Returns true if it matters whether `op` is executed, and it has no results that others use.
fn has_effects(op: Op<'_>) -> bool {
    op.num_regions() == 0 && !op.is_pure() && !op.is_terminator() && !op.has_uses()
}

/// Checks `after` with each change, one at a time.
fn spoil<'c>(before: Op<'c>, after: Op<'c>, title: &str, tally: &mut Tally) {
    let mut judge = |what: &str, op: Op<'c>| {
        tally.changes += 1;
        if check(before, after).is_ok() {
            tally.missed.push(format!("{title}: {what} {}", op.name()));
        }
    };
    for op in after.self_and_nested().into_iter().filter(|op| has_effects(*op)) {
        let next = op.next().expect("a terminator at least");
        op.detach();
        judge("without", op);
        op.move_before(next);
        // What is the same twice is the same in the other order.
        let same = |a: Op<'c>, b: Op<'c>| a.name() == b.name() && a.operands().eq(b.operands());
        if has_effects(next) && !same(op, next) {
            op.move_after(next);
            judge("later", op);
            op.move_before(next);
        }
        for place in 0..op.num_operands() {
            let value = op.operand(place);
            let number = value.as_constant_int();
            let is_other = |other: &Value<'c>| {
                *other != value
                    && other.ty() == value.ty()
                    && (number.is_none() || other.as_constant_int() != number)
            };
            let others = op.operands().filter(is_other);
            for other in others.collect::<Vec<Value>>() {
                op.set_operand(place, other);
                judge("another operand of", op);
                op.set_operand(place, value);
            }
        }
    }
    assert!(check(before, after).is_ok(), "{title}: it is as it was");
}

fn hold(context: &Context, title: &str, source: &str, tally: &mut Tally) {
    let Some(before) = try_lower(context, source, BEFORE) else {
        return;
    };
    let text = before.as_operation().to_string();
    let Some(after) = text
        .contains("gpux.roles")
        .then(|| try_lower(context, &text, SPLIT))
        .flatten()
    else {
        return;
    };
    for (before, after) in kernels(&before).into_iter().zip(kernels(&after)) {
        if !before.has_attr("gpux.roles") {
            continue;
        }
        tally.kernels += 1;
        if check(before, after).is_err() {
            tally.refused.push(title.to_owned());
            continue;
        }
        spoil(before, after, title, tally);
    }
}

#[test]
fn what_the_pass_writes_is_accepted_and_with_a_change_refused() {
    let tally =
        lit::tally_sources(|context, title, source, tally: &mut Tally| hold(context, title, source, tally));
    println!("{} kernels, {} changes", tally.kernels, tally.changes);
    assert!(tally.kernels >= 10, "{}", tally.kernels);
    assert!(tally.changes >= 500, "{}", tally.changes);
    assert!(tally.refused.is_empty(), "refused:\n{}", tally.refused.join("\n"));
    assert!(tally.missed.is_empty(), "accepted:\n{}", tally.missed.join("\n"));
}

/// A kernel with a shuffle, and an addition, at one of three places: before something else, after that, or for some threads of each warp.
fn shuffled(place: usize) -> String {
    let shuffle = "%s, %valid = gpu.shuffle xor %sum, %one, %width : i32";
    let [before, after, inside] = [0, 1, 2].map(|own| if own == place { shuffle } else { "" });
    format!(
        "gpu.module @m {{
gpu.func @k(%out: memref<64xi32>) kernel attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
%one = arith.constant 1 : i32
%width = arith.constant 32 : i32
%c16 = arith.constant 16 : index
%c31 = arith.constant 31 : index
%t = gpu.thread_id x
%lane = arith.andi %t, %c31 : index
%low = arith.cmpi ult, %lane, %c16 : index
%number = arith.index_cast %t : index to i32
%sum = arith.addi %number, %one : i32
{before}
memref.store %one, %out[%t] : memref<64xi32>
{after}
scf.if %low {{
{inside}
memref.store %s, %out[%t] : memref<64xi32>
}}
gpu.return
}}
}}"
    )
}

#[test]
fn a_shuffle_stays_among_the_same_threads() {
    let context = kernel::context();
    let all = [0, 1, 2].map(|place| Module::parse(&context, &shuffled(place)).expect("a kernel"));
    let all = all.each_ref().map(|module| kernels(module)[0]);
    assert!(check(all[0], all[1]).is_ok());
    assert!(check(all[0], all[2]).is_err());
    assert!(check(all[2], all[0]).is_err());
}
