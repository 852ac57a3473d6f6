//! Operations with two completions: a token for their reads, and one for all of them.
//!
//! `1r` is a wait for reads alone, `2+1r` one of each kind.

use super::*;
use tokenflow::{covered_by_awaits, solve, unread_exits};

/// The waits of the first queue, which the oracle finds exact.
fn both(program: &Program, options: &Options) -> String {
    let lowered = lower(program, options);
    assert_eq!(inexact(&lowered.program, &lowered.emitted), []);
    let emitted = &lowered.original.1[0];
    let waits = emitted.waits.iter().zip(&emitted.reads).map(|waits| match waits {
        (None, None) => "-".to_owned(),
        (Some(n), None) => n.to_string(),
        (None, Some(n)) => format!("{n}r"),
        (Some(n), Some(read)) => format!("{n}+{read}r"),
    });
    waits.collect::<Vec<String>>().join(" ")
}

#[test]
fn reads_and_writes_are_awaited_apart() {
    let mut b = Build::new();
    let [read, done] = b.store_on(Q);
    b.store_on(Q);
    b.await_all(&[read]);
    b.await_all(&[done]);
    b.await_all(&[read]);
    assert_eq!(both(&b.finish(), &PLAIN), "1r 1 -");
}

#[test]
fn one_await_has_a_wait_of_each_kind_only_if_neither_implies_the_other() {
    let mut b = Build::new();
    let ([_, d0], [r1, _]) = (b.store_on(Q), b.store_on(Q));
    b.await_all(&[r1, d0]);
    assert_eq!(both(&b.finish(), &PLAIN), "1+0r");
    let mut b = Build::new();
    let ([r0, _], [_, d1]) = (b.store_on(Q), b.store_on(Q));
    b.await_all(&[r0, d1]);
    assert_eq!(both(&b.finish(), &PLAIN), "0");
}

#[test]
fn five_stores_in_two_buffers_come_round_to_the_youngest() {
    // Five is odd: the first store of an iteration and the last one of that before it are of the same buffer.
    let mut b = Build::new();
    let ready = b.ready();
    b.for_([ready; 2], |b, mut last_of_buffer| {
        for i in 0..5 {
            b.await_all(&[last_of_buffer[i % 2]]);
            [last_of_buffer[i % 2], _] = b.store_on(Q);
        }
        last_of_buffer
    });
    assert_eq!(both(&b.finish(), &PLAIN), "0r - 1r 1r 1r");
}

#[test]
fn given_waits_of_either_kind_complete_reads() {
    let mut b = Build::new();
    let [read, done] = b.store_on(Q);
    b.commit(Q);
    b.wait_for_reads(Q, 0);
    b.await_all(&[read]);
    b.await_all(&[done]);
    let program = b.finish();
    assert_eq!(both(&program, &PLAIN), "- 0");
    // But not for those who have awaited nothing.
    let solution = &solve(&program, &PLAIN).queues[0];
    assert_eq!(covered_by_awaits(&program, Q, solution), [false, true]);
}

#[test]
fn what_may_not_be_read_at_the_end_is_known() {
    let unread = |awaited: fn([Token; 2]) -> Option<Token>| {
        let mut b = Build::new();
        let tokens = b.store_on(Q);
        b.await_all(&awaited(tokens).into_iter().collect::<Vec<Token>>());
        let program = b.finish();
        let solution = &solve(&program, &Options::default()).queues[0];
        unread_exits(&program, Q, solution)
    };
    assert_eq!(unread(|_| None), [0]);
    assert_eq!(unread(|[read, _]| Some(read)), []);
    assert_eq!(unread(|[_, done]| Some(done)), []);
}

#[test]
fn stores_share_a_group_where_neither_kind_suffers() {
    let program = |apart: bool| {
        let mut b = Build::new();
        let ([r0, d0], [r1, d1]) = (b.store_on(Q), b.store_on(Q));
        b.await_all(&[r0, r1]);
        if apart {
            b.await_all(&[d0]);
        }
        b.await_all(&[d1]);
        b.finish()
    };
    assert_eq!(both(&program(false), &Options::default()), "0r 0");
    assert_eq!(commits(&program(false), &Options::default()), 1);
    assert_eq!(both(&program(true), &Options::default()), "0r 1 0");
    assert_eq!(commits(&program(true), &Options::default()), 2);
}

#[test]
fn everything_is_committed_where_something_else_has_a_token_of_its_reads() {
    // The loop is a segment of its own, and the operation after it is alone in the other one.
    let mut b = Build::new();
    b.repeat(0, [], |b, []| {
        b.store_on(Q);
        []
    });
    b.copy_on(Q);
    assert_eq!(commits(&b.finish(), &Options::default()), 1);
}

#[test]
fn everything_is_committed_in_long_segments_as_well() {
    let mut b = Build::new();
    b.repeat(0, [], |b, []| {
        b.store_on(Q);
        []
    });
    let mut copies: Vec<Token> = Vec::new();
    for i in 0..60 {
        copies.push(b.copy_on(Q));
        if i >= 4 {
            b.await_all(&[copies[i - 4]]);
        }
    }
    let program = b.finish();
    let solution = &solve(&program, &Options::default()).queues[0];
    let after_last_await = program.slots as usize - 1;
    let after_last_copy = after_last_await - 1;
    let committed = solution.commits[after_last_copy..].iter().sum::<u32>();
    assert_eq!(committed, 1, "{:?}", solution.commits);
}
