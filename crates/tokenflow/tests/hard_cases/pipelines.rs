//! Software pipelines.

use super::*;

/// Two operands, loaded by a copy each and awaited at different places; three stages in flight.
fn two_operands() -> Program {
    let mut b = Build::new();
    let prologue: [Token; 6] = std::array::from_fn(|_| b.copy());
    let left = b.for_(prologue, |b, [a0, b0, a1, b1, a2, b2]| {
        b.await_all(&[a0]);
        b.await_all(&[b0]);
        let (a3, b3) = (b.copy(), b.copy());
        [a1, b1, a2, b2, a3, b3]
    });
    for token in left {
        b.await_all(&[token]);
    }
    b.finish()
}

#[test]
fn two_operands_are_awaited_at_different_places() {
    assert_eq!(exact(&two_operands()), "5 4 5 4 3 2 1 0");
    assert_eq!(by_default(&two_operands()), "5 4 5 4 3 2 1 0");
    assert_eq!(commits(&two_operands(), &Options::default()), 8);
}

#[test]
fn two_operands_that_are_awaited_together_share_groups() {
    let mut b = Build::new();
    let prologue: [Token; 6] = std::array::from_fn(|_| b.copy());
    let [a0, b0, a1, b1, a2, b2] = b.for_(prologue, |b, [a0, b0, a1, b1, a2, b2]| {
        b.await_all(&[a0, b0]);
        let (a3, b3) = (b.copy(), b.copy());
        [a1, b1, a2, b2, a3, b3]
    });
    b.await_all(&[a0, b0]);
    b.await_all(&[a1, b1]);
    b.await_all(&[a2, b2]);
    let program = b.finish();
    assert_eq!(exact(&program), "4 4 2 0");
    assert_eq!(by_default(&program), "2 2 1 0");
    assert_eq!(commits(&program, &Options::default()), 4);
}

#[test]
fn sharing_what_is_ready_is_no_tie() {
    // All rotations start with the one token that `--cse` leaves of four. Two are awaited together.
    let mut b = Build::new();
    let ready = b.ready();
    b.for_([ready; 4], |b, [left, right, third, fourth]| {
        b.await_all(&[left, right]);
        b.await_all(&[third]);
        b.await_all(&[fourth]);
        std::array::from_fn(|_| b.copy())
    });
    let program = b.finish();
    assert_eq!(by_default(&program), "2 1 0");
    assert_eq!(commits(&program, &Options::default()), 3);
}

#[test]
fn one_wait_an_iteration() {
    // The tile for the next iteration is awaited at the end of this one, and again where it is used.
    let mut b = Build::new();
    let stages: [Token; 3] = std::array::from_fn(|_| b.copy());
    b.await_all(&[stages[0]]);
    b.for_(stages, |b, [now, soon, later]| {
        b.await_all(&[now]);
        let next = b.copy();
        b.await_all(&[soon]);
        [soon, later, next]
    });
    let program = b.finish();
    assert_eq!(exact(&program), "2 - 2");
    assert_eq!(by_default(&program), "2 - 2");
}

/// The interleaved pipeline of TVM's RFC 0077: the consumer sits between the two producers.
fn interleaved() -> Program {
    let mut b = Build::new();
    let prologue: [Token; 6] = std::array::from_fn(|_| b.copy());
    let [a0, b0, a1, b1, a2, b2] = b.for_(prologue, |b, [a0, b0, a1, b1, a2, b2]| {
        let a3 = b.copy();
        b.await_all(&[a0, b0]);
        let b3 = b.copy();
        [a1, b1, a2, b2, a3, b3]
    });
    b.await_all(&[a0, b0]);
    b.await_all(&[a1, b1]);
    b.await_all(&[a2, b2]);
    b.finish()
}

#[test]
fn a_consumer_between_two_producers() {
    assert_eq!(exact(&interleaved()), "5 4 2 0");
    // Committing the first producer with the second makes body and prologue agree: still nothing but
    // the awaited pair is forced.
    assert_eq!(by_default(&interleaved()), "2 2 1 0");
    assert_eq!(commits(&interleaved(), &Options::default()), 4);
}

#[test]
fn a_prologue_merged_against_its_body_is_unsound_with_the_same_count() {
    // What the RFC does: one group for both copies of a prologue iteration, two in the body.
    let program = interleaved();
    let mut commits = one_group_each(&program);
    let slots: Vec<usize> = (0..commits[0].len())
        .filter(|&slot| commits[0][slot] == 1)
        .collect();
    for pair in slots[..6].chunks(2) {
        commits[0][pair[0]] = 0;
    }
    let lowered = lower_given(&program, &commits, true);
    // 3 at the first iteration, then 4, then 5: one number has to do for all.
    assert!(checked(&lowered).starts_with('3'), "{lowered:?}");
    let mut emitted = lowered.emitted.clone();
    emitted[0].waits[0] = Some(5);
    assert!(!unsound(&program, &emitted).is_empty());
}

#[test]
fn a_prologue_loop_is_not_unrolled() {
    let mut b = Build::new();
    let ready = b.ready();
    let prologue = b.repeat(3, [ready; 3], |b, [_, x, y]| {
        let next = b.copy();
        [x, y, next]
    });
    let [x, y, z] = b.for_(prologue, |b, [x, y, z]| {
        let next = b.copy();
        b.await_all(&[x]);
        [y, z, next]
    });
    b.await_all(&[x]);
    b.await_all(&[y]);
    b.await_all(&[z]);
    assert_eq!(exact(&b.finish()), "3 2 1 0");
}

#[test]
fn a_prologue_of_unknown_length_may_be_empty() {
    let mut b = Build::new();
    let first = b.copy();
    b.for_([], |b, []| {
        b.copy();
        []
    });
    b.for_([first], |b, [last]| {
        let next = b.copy();
        b.await_all(&[last]);
        [next]
    });
    assert_eq!(exact(&b.finish()), "1");
}

#[test]
fn an_epilogue_loop_counts_down() {
    let mut b = Build::new();
    let stages: [Token; 4] = std::array::from_fn(|_| b.copy());
    let ready = b.ready();
    b.repeat(4, stages, |b, [x, y, z, w]| {
        b.await_all(&[x]);
        [y, z, w, ready]
    });
    let program = b.finish();
    // One number has to do for 3, 2, 1 and 0; four iterations peeled off have their own.
    assert_eq!(exact(&program), "0");
    let peeled = lower(
        &program,
        &Options {
            unroll_limit: 8,
            ..PLAIN
        },
    );
    assert_eq!(checked(&peeled), "3 2 1 0");
}

#[test]
fn peeling_has_a_limit() {
    let mut b = Build::new();
    let stages: [Token; 4] = std::array::from_fn(|_| b.copy());
    let ready = b.ready();
    b.repeat(100, stages, |b, [x, y, z, w]| {
        b.await_all(&[x]);
        b.copy();
        [y, z, w, ready]
    });
    let program = b.finish();
    let options = Options {
        unroll_limit: 2,
        ..PLAIN
    };
    // All four have the same distance, so there is nothing to gain.
    assert_eq!(lower(&program, &options).peels, 0);
    assert_eq!(exact(&program), "3");
}

/// A pipeline whose producer is under a condition.
fn predicated() -> Program {
    let mut b = Build::new();
    let stages: [Token; 3] = std::array::from_fn(|_| b.copy());
    let [x, y, z] = b.for_(stages, |b, [x, y, z]| {
        b.await_all(&[x]);
        let [next] = b.if_else(|b| [b.copy()], |b| [b.ready()]);
        [y, z, next]
    });
    b.await_all(&[x]);
    b.await_all(&[y]);
    b.await_all(&[z]);
    b.finish()
}

#[test]
fn a_predicated_producer_may_leave_nothing_behind_a_copy() {
    // A copy, and no other in the two iterations after it.
    assert!(exact(&predicated()).starts_with('0'));
}

#[test]
fn a_predicated_producer_is_exact_again_by_balance() {
    assert_eq!(balanced(&predicated()), "2 2 1 0");
    assert_eq!(by_default(&predicated()), "2 2 1 0");
    assert_eq!(commits(&predicated(), &Options::default()), 4);
}

#[test]
fn two_predicated_operands_are_exact_by_balance_and_one_group() {
    let mut b = Build::new();
    let prologue: [Token; 4] = std::array::from_fn(|_| b.copy());
    b.for_(prologue, |b, [a0, b0, a1, b1]| {
        b.await_all(&[a0, b0]);
        let [a2, b2] = b.if_else(|b| [b.copy(), b.copy()], |b| [b.ready(), b.ready()]);
        [a1, b1, a2, b2]
    });
    let program = b.finish();
    assert_eq!(balanced(&program), "2");
    assert_eq!(by_default(&program), "1");
}

/// A ring of three stages, each under a condition: every await is implied by the one before it, if that
/// one emits a wait.
fn ring() -> Program {
    let mut b = Build::new();
    let ready = b.ready();
    let conditional = |b: &mut Build| b.if_else(|b| [b.copy()], |b| [b.ready()])[0];
    b.for_([ready], |b, [x]| {
        let y = conditional(b);
        b.await_all(&[x]);
        let z = conditional(b);
        b.await_all(&[y]);
        let x = conditional(b);
        b.await_all(&[z]);
        [x]
    });
    b.finish()
}

#[test]
fn some_programs_have_no_exact_numbers() {
    // A wait is 0 where it is needed, and then it completes what the next one awaits. So of two
    // neighbours exactly one emits a wait, which three in a ring can't do.
    let program = ring();
    assert_eq!(
        exact_assignments(&program, Q, &program.one_group_each(Q)),
        Some(vec![])
    );
    let lowered = lower(&program, &PLAIN);
    assert_eq!(unsound(&program, &lowered.emitted), []);
    // Empty groups make it one that has them.
    assert_eq!(balanced(&program), "1 1 1");
}
