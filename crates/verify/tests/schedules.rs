//! Schedules of loops, read from IR: which of them the checker of software pipelines accepts.
#![allow(missing_docs)]

use async_dialects::registry::register_all_dialects;
use async_mlir::ir::{Op, Walk};
use async_mlir::melior::Context;
use async_mlir::melior::dialect::DialectRegistry;
use async_mlir::melior::ir::Module;
use async_mlir::names::scf;
use async_verify::pipeline::{Checked, Schedule, verify_schedule};
use rustc_hash::FxHashMap;

/// Returns true if the check accepts a schedule that executes operations of `body`, which are named by attributes, in this order.
fn accepts(body: &str, order: [&str; 4]) -> bool {
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    let context = Context::new_with_registry(&registry, true);
    let source = format!(
        "!src = memref<64xf32>
        !dst = memref<64xf32, #gpu.address_space<workgroup>>
        func.func @f(%src: !src, %dst: !dst, %out: !src, %n: index) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          scf.for %i = %c0 to %n step %c1 {{
            {body}
          }}
          return
        }}"
    );
    let module = Module::parse(&context, &source).unwrap_or_else(|| panic!("{source}"));
    let mut plain = None;
    Op::from(module.as_operation()).walk(|op| {
        if op.is(scf::FOR) && plain.is_none() {
            plain = Some(op);
        }
        Walk::Advance
    });
    let plain = plain.expect("a loop");
    let block = plain.region(0).first().expect("a body");
    let at = |name: &str| {
        let mut ops = block.ops().into_iter();
        let found = ops.find(|op| op.attr(name).is_some());
        (found.unwrap_or_else(|| panic!("{name} in\n{source}")), 0)
    };
    let schedule = Schedule {
        plain,
        statements: order.map(at).to_vec(),
        versions: FxHashMap::default(),
    };
    verify_schedule(&schedule, &Checked::default()).is_ok()
}

/// A copy that is awaited after an inner loop, which hands on its token, is awaited before what reads it.
#[test]
fn a_read_stays_after_the_await_of_a_token_that_an_inner_loop_carries() {
    let body = "%t = gpux.copy async %src[%i], %dst[%c0], 4 {copy} : !src to !dst
        %u = scf.for %j = %c0 to %n step %c1 iter_args(%x = %t) -> !async.token { scf.yield %x : !async.token } {inner}
        async.await %u {await}
        %v = memref.load %dst[%c0] {read} : !dst";
    assert!(accepts(body, ["copy", "inner", "await", "read"]));
    assert!(!accepts(body, ["copy", "inner", "read", "await"]));
}

/// The same if it is awaited in the inner loop.
#[test]
fn a_read_stays_after_an_inner_loop_that_awaits_what_it_carries() {
    let body = "%t = gpux.copy async %src[%i], %dst[%c0], 4 {copy} : !src to !dst
        scf.for %j = %c0 to %n step %c1 iter_args(%x = %t) -> !async.token { async.await %x  scf.yield %x : !async.token } {inner}
        %v = memref.load %dst[%c0] {read} : !dst
        memref.store %v, %out[%i] {write} : !src";
    assert!(accepts(body, ["copy", "inner", "read", "write"]));
    assert!(!accepts(body, ["copy", "read", "inner", "write"]));
}
