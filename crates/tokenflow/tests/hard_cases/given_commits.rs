//! Programs that come with their commits, as upstream's `nvgpu` has them.

use super::*;

#[test]
fn groups_that_are_given_are_counted() {
    let mut b = Build::given(1);
    b.counted_copy(Q);
    b.counted_copy(Q);
    let g1 = b.group(Q);
    b.counted_copy(Q);
    let g2 = b.group(Q);
    b.await_all(&[g1]);
    b.await_all(&[g2]);
    assert_eq!(checked(&lower_counted(&b.finish(), true)), "1 0");
}

#[test]
fn a_group_takes_all_copies_that_are_open() {
    let mut b = Build::given(1);
    let copy = b.copy();
    let group = b.group(Q);
    b.group(Q);
    b.await_all(&[copy]);
    b.await_all(&[group]);
    assert_eq!(checked(&lower_counted(&b.finish(), true)), "1 -");
}

#[test]
fn an_await_of_a_copy_that_no_group_commits_is_reported() {
    let mut b = Build::given(1);
    let copy = b.copy();
    let site = b.await_all(&[copy]);
    let lowered = lower_counted(&b.finish(), true);
    assert_eq!(lowered.open, [vec![site]]);
    assert!(!unsound(&lowered.program, &lowered.emitted).is_empty());
}

#[test]
fn a_pipeline_with_its_groups_given() {
    // Two groups an iteration, as upstream's pipeliner makes them at depth 3.
    let mut b = Build::given(1);
    let stage = |b: &mut Build| {
        b.counted_copy(Q);
        let first = b.group(Q);
        b.counted_copy(Q);
        [first, b.group(Q)]
    };
    let ([a0, b0], [a1, b1], [a2, b2]) = (stage(&mut b), stage(&mut b), stage(&mut b));
    let left = b.for_([a0, b0, a1, b1, a2, b2], |b, [a0, b0, a1, b1, a2, b2]| {
        b.await_all(&[a0]);
        b.await_all(&[b0]);
        let [a3, b3] = stage(b);
        [a1, b1, a2, b2, a3, b3]
    });
    for token in left {
        b.await_all(&[token]);
    }
    assert_eq!(checked(&lower_counted(&b.finish(), true)), "5 4 5 4 3 2 1 0");
}
