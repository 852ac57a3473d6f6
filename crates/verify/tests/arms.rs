//! Branches whose arms do the same to groups are read as straight-line code, of which as much is accepted as of blocks.
#![allow(missing_docs)]

use async_dialects::registry::register_all_dialects;
use async_dialects::types::token;
use async_mlir::ir::{Op, Walk};
use async_mlir::melior::Context;
use async_mlir::melior::dialect::DialectRegistry;
use async_mlir::melior::ir::Module;
use async_verify::groups::code::Expected;
use async_verify::groups::read::{Vocabulary, WaitRole, read};
use async_verify::groups::{check, infer};

const COPY: &str = "gpux.copy async %src[%i], %dst[%i], 4 : memref<64xf32> to memref<64xf32, 3>\n";
const COMMIT: &str = "gpux.commit_group <cp_async>\n";

fn wait(n: u32) -> String {
    format!("gpux.wait_group <cp_async>, {n}\n")
}

/// The number of blocks that `body` is read as, and whether the check accepts it.
fn verdict(body: &str) -> (usize, bool) {
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    let context = Context::new_with_registry(&registry, false);
    let arguments = "%src: memref<64xf32>, %dst: memref<64xf32, 3>, %i: index, %p: i1";
    let text = format!("func.func @kernel({arguments}) {{\n{body}return\n}}");
    let module = Module::parse(&context, &text).unwrap_or_else(|| panic!("{text}"));
    let mut function = None;
    Op::from(module.as_operation()).walk(|op| {
        function = Some(op).filter(|op| op.is_function()).or(function);
        Walk::Advance
    });
    let vocabulary = Vocabulary {
        token: token(&context),
        role: &|_| WaitRole::Wait,
        expected: Expected::default(),
    };
    let code = read(function.expect("there is a function"), vocabulary).code;
    (code.blocks.len(), check(&code, &infer(&code)).is_ok())
}

/// A branch that hands `then` or `otherwise` on as `%t`.
fn branch(then: &str, otherwise: &str) -> String {
    format!("%t = scf.if %p -> !async.token {{\n{then}}} else {{\n{otherwise}}}\n")
}

fn copying() -> String {
    format!("%c = {COPY}{COMMIT}scf.yield %c : !async.token\n")
}

fn empty(commits: usize) -> String {
    format!(
        "%r = async.ready\n{}scf.yield %r : !async.token\n",
        COMMIT.repeat(commits)
    )
}

#[test]
fn arms_that_close_the_same_groups_are_no_blocks() {
    let later = format!("%d = {COPY}{COMMIT}");
    let await_both = "async.await %t\n";
    let body = |n| branch(&copying(), &empty(1)) + &later + &wait(n) + await_both;
    assert_eq!(verdict(&body(1)), (1, true));
    assert_eq!(
        verdict(&body(2)),
        (1, false),
        "the copy is in the last group but one"
    );
    // What was issued before is as old after both arms.
    let before = format!("%t0 = {COPY}{COMMIT}");
    let body = |n| before.clone() + &branch(&copying(), &empty(1)) + &wait(n) + "async.await %t0\n";
    assert_eq!(verdict(&body(1)), (1, true));
    assert_eq!(verdict(&body(2)), (1, false));
}

#[test]
fn results_stand_for_what_any_arm_hands_on() {
    let before = format!("%t0 = {COPY}{COMMIT}");
    let older = format!("{COMMIT}scf.yield %t0 : !async.token\n");
    for arms in [branch(&copying(), &older), branch(&older, &copying())] {
        let body = |n| before.clone() + &arms + &wait(n) + "async.await %t\n";
        assert_eq!(verdict(&body(0)), (1, true));
        assert_eq!(
            verdict(&body(1)),
            (1, false),
            "the younger of the two may be in flight"
        );
    }
    let body = |n| before.clone() + &branch(&older, &empty(1)) + &wait(n) + "async.await %t\n";
    assert_eq!(verdict(&body(1)), (1, true));
    assert_eq!(verdict(&body(2)), (1, false));
}

#[test]
fn an_operation_joins_the_group_that_its_arm_closes_next() {
    let early = format!("%c = {COPY}{COMMIT}{COMMIT}scf.yield %c : !async.token\n");
    let late = format!("{COMMIT}%c = {COPY}{COMMIT}scf.yield %c : !async.token\n");
    let body = |then: &str, otherwise: &str, n| branch(then, otherwise) + &wait(n) + "async.await %t\n";
    assert_eq!(verdict(&body(&early, &empty(2), 1)), (1, true));
    assert_eq!(verdict(&body(&early, &empty(2), 2)), (1, false));
    assert_eq!(verdict(&body(&early, &late, 0)), (1, true));
    assert_eq!(verdict(&body(&early, &late, 1)), (1, false));
    assert_eq!(verdict(&body(&late, &early, 1)), (1, false));
}

#[test]
fn branches_that_may_be_passed_over_close_nothing() {
    let before = format!("%t0 = {COPY}{COMMIT}");
    let conditional = |inside: &str| format!("scf.if %p {{\n{inside}}}\n");
    let end = |n| wait(n) + "async.await %t0\n";
    assert_eq!(
        verdict(&(before.clone() + &conditional(&format!("%c = {COPY}")) + &end(0))),
        (1, true)
    );
    assert_eq!(
        verdict(&(before.clone() + &conditional(&format!("%c = {COPY}")) + &end(1))),
        (1, false)
    );
    // With a commit in it, the groups of paths differ.
    assert_eq!(
        verdict(&(before.clone() + &conditional(COMMIT) + &end(0))),
        (3, true)
    );
    assert_eq!(
        verdict(&(before.clone() + &conditional(COMMIT) + &end(1))),
        (3, false)
    );
    // Nested ones vanish with those around them.
    let nested = conditional(&conditional(&format!("%c = {COPY}")));
    assert_eq!(verdict(&(before + &nested + &end(0))), (1, true));
}

#[test]
fn other_arms_stay_blocks() {
    let await_it = "async.await %t\n";
    let different = branch(&copying(), &empty(2));
    assert_eq!(verdict(&(different.clone() + &wait(0) + await_it)), (4, true));
    assert_eq!(verdict(&(different + &wait(1) + await_it)), (4, false));
    let waiting = format!("%c = {COPY}{COMMIT}{}scf.yield %c : !async.token\n", wait(0));
    assert_eq!(verdict(&(branch(&waiting, &empty(1)) + await_it)), (4, true));
    assert_eq!(verdict(&(branch(&copying(), &waiting) + await_it)), (4, false));
    // One of them is never taken.
    let constant = "%true = arith.constant true\n";
    let taken = branch(&copying(), &empty(2)).replace("%p", "%true");
    assert_eq!(
        verdict(&(constant.to_owned() + &taken + &wait(0) + await_it)),
        (4, true)
    );
    assert_eq!(
        verdict(&(constant.to_owned() + &taken + &wait(1) + await_it)),
        (4, false)
    );
}
