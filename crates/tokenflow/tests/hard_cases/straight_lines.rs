//! Straight-line code.

use super::*;

#[test]
fn a_wait_is_not_tightened_to_drop_a_later_one() {
    let mut b = Build::new();
    let c1 = b.copy();
    let c2 = b.copy();
    b.await_all(&[c1]);
    b.await_all(&[c2]);
    let program = b.finish();
    assert_eq!(exact(&program), "1 0");
    assert_eq!(by_default(&program), "1 0");
}

#[test]
fn copies_awaited_together_share_a_group() {
    let mut b = Build::new();
    let c1 = b.copy();
    let c2 = b.copy();
    let c3 = b.copy();
    b.await_all(&[c1, c2]);
    b.await_all(&[c3]);
    let program = b.finish();
    assert_eq!(exact(&program), "1 0");
    assert_eq!(by_default(&program), "1 0");
    assert_eq!(commits(&program, &PLAIN), 3);
    assert_eq!(commits(&program, &Options::default()), 2);
}

#[test]
fn a_wait_covers_the_awaits_that_it_implies() {
    let mut b = Build::new();
    let c1 = b.copy();
    let c2 = b.copy();
    b.await_all(&[c2]);
    b.await_all(&[c1]);
    b.await_all(&[c2, c1]);
    let program = b.finish();
    assert_eq!(exact(&program), "0 - -");
    let all = lower_given(&program, &one_group_each(&program), false);
    assert_eq!(waits(&all.emitted[0]), "0 1 0");
    assert_eq!(not_distances(&program, &all.emitted), []);
}

#[test]
fn a_copy_that_is_never_awaited_has_no_wait() {
    let mut b = Build::new();
    let c1 = b.copy();
    let _ = b.copy();
    b.await_all(&[c1]);
    assert_eq!(exact(&b.finish()), "1");
}

#[test]
fn ready_and_poison_tokens_need_no_wait() {
    let mut b = Build::new();
    b.copy();
    let ready = b.ready();
    b.await_all(&[ready]);
    assert_eq!(exact(&b.finish()), "-");
}

#[test]
fn a_selected_token_is_the_younger_one() {
    let mut b = Build::new();
    let c1 = b.copy();
    let c2 = b.copy();
    b.copy();
    let either = b.join(&[c1, c2]);
    b.await_all(&[either]);
    assert_eq!(exact(&b.finish()), "1");
}

#[test]
fn tokens_of_two_queues_make_a_wait_on_each() {
    let mut b = Build::with_queues(2);
    let c1 = b.copy_on(Q);
    let c2 = b.copy_on(R);
    b.copy_on(R);
    b.await_all(&[c1, c2]);
    let lowered = lower(&b.finish(), &PLAIN);
    assert_eq!(checked(&lowered), "0");
    assert_eq!(waits(&lowered.emitted[1]), "1");
}

#[test]
fn counted_groups_count() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.counted_copy(Q);
    b.commit(Q);
    b.await_all(&[c1]);
    assert_eq!(exact(&b.finish()), "1");
}

#[test]
fn a_counted_wait_completes_tokens() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.counted_copy(Q);
    b.commit(Q);
    b.wait(Q, 1);
    b.await_all(&[c1]);
    assert_eq!(exact(&b.finish()), "-");
}

#[test]
fn a_count_of_more_than_63_is_63() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.repeat(80, [], |b, []| {
        b.copy();
        []
    });
    b.await_all(&[c1]);
    assert_eq!(exact(&b.finish()), "63");
}
