//! Loops, structured and not.

use super::*;

#[test]
fn a_token_is_the_result_of_a_loop() {
    let mut b = Build::new();
    let first = b.copy();
    let [last] = b.for_([first], |b, [_]| [b.copy()]);
    b.copy();
    b.await_all(&[last]);
    assert_eq!(exact(&b.finish()), "1");
}

#[test]
fn a_zero_trip_loop_adds_nothing() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.for_([], |b, []| {
        b.copy();
        []
    });
    b.repeat(0, [], |b, []| {
        let never = b.copy();
        b.await_all(&[never]);
        []
    });
    b.await_all(&[c1]);
    assert_eq!(exact(&b.finish()), "- 0");
}

#[test]
fn a_loop_of_constant_trip_count_adds_its_groups() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.repeat(3, [], |b, []| {
        b.copy();
        []
    });
    b.await_all(&[c1]);
    assert_eq!(exact(&b.finish()), "3");
}

#[test]
fn nested_loops_of_constant_trip_count_multiply() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.repeat(3, [], |b, []| {
        b.copy();
        b.repeat(2, [], |b, []| {
            b.copy();
            []
        });
        []
    });
    b.await_all(&[c1]);
    assert_eq!(exact(&b.finish()), "9");
}

#[test]
fn a_loop_swaps_two_tokens() {
    let mut b = Build::new();
    let (c1, c2) = (b.copy(), b.copy());
    let [x, y] = b.for_([c1, c2], |b, [x, y]| {
        b.copy();
        b.await_all(&[x]);
        [y, x]
    });
    b.await_all(&[x, y]);
    // First c1, with c2 and one more after it; then c2, with two after it. After no iteration, c2 is the youngest.
    assert_eq!(exact(&b.finish()), "2 0");
}

#[test]
fn a_loop_swaps_two_tokens_and_makes_none() {
    let mut b = Build::new();
    let (c1, c2) = (b.copy(), b.copy());
    b.for_([c1, c2], |b, [x, y]| {
        b.await_all(&[x]);
        [y, x]
    });
    // c2 is issued after c1, and nothing after c2.
    assert_eq!(exact(&b.finish()), "0");
}

#[test]
fn a_loop_carries_a_token_unchanged() {
    let mut b = Build::new();
    let (c1, c2) = (b.copy(), b.copy());
    b.for_([c1, c2], |b, [kept, last]| {
        b.await_all(&[kept]);
        let next = b.copy();
        b.await_all(&[last]);
        [kept, next]
    });
    // `kept` is complete after the first await; `last` has one copy after it, every time.
    assert_eq!(exact(&b.finish()), "1 1");
}

#[test]
fn a_token_from_before_a_loop_is_awaited_in_an_inner_loop() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.for_([], |b, []| {
        b.copy();
        b.for_([], |b, []| {
            b.await_all(&[c1]);
            b.copy();
            []
        });
        []
    });
    // The outer loop may have run any number of times; once is the least.
    assert_eq!(exact(&b.finish()), "1");
}

#[test]
fn a_while_loop_waits_before_its_condition() {
    let mut b = Build::new();
    let ready = b.ready();
    let [last] = b.while_(
        [ready],
        |b, [last]| {
            let next = b.copy();
            b.await_all(&[last]);
            [next]
        },
        |_, [next]| [next],
    );
    b.await_all(&[last]);
    assert_eq!(exact(&b.finish()), "1 0");
}

#[test]
fn a_while_loop_copies_after_its_condition() {
    let mut b = Build::new();
    let (c1, c2) = (b.copy(), b.copy());
    let [x, y] = b.while_(
        [c1, c2],
        |b, [x, y]| {
            b.await_all(&[x]);
            [x, y]
        },
        |b, [_, y]| {
            let next = b.copy();
            [y, next]
        },
    );
    b.await_all(&[x]);
    b.await_all(&[y]);
    assert_eq!(exact(&b.finish()), "1 - 0");
}

#[test]
fn a_while_loop_waits_after_its_condition() {
    let mut b = Build::new();
    let c1 = b.copy();
    let [last] = b.while_(
        [c1],
        |b, [last]| {
            b.copy();
            [last]
        },
        |b, [last]| {
            b.await_all(&[last]);
            [b.copy()]
        },
    );
    b.await_all(&[last]);
    assert_eq!(exact(&b.finish()), "1 1");
}

#[test]
fn unstructured_branches_count_like_loops() {
    let program = Build::new().finish_unstructured(&[0, 1, 1], |b, block, params| match block {
        0 => {
            let copy = b.copy();
            vec![edge(1, vec![copy]), edge(2, vec![copy])]
        }
        1 => {
            let next = b.copy();
            b.await_all(params);
            vec![edge(1, vec![next]), edge(2, vec![next])]
        }
        _ => {
            b.copy();
            b.await_all(params);
            vec![exit(Vec::new())]
        }
    });
    assert_eq!(exact(&program), "1 1");
}
