//! Branches, and what balance does about them.

use super::*;

#[test]
fn a_token_is_the_result_of_an_if() {
    let mut b = Build::new();
    let [t] = b.if_else(|b| [b.copy()], |b| [b.copy()]);
    b.copy();
    b.await_all(&[t]);
    assert_eq!(exact(&b.finish()), "1");
}

#[test]
fn a_token_is_complete_on_one_path_only() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.copy();
    b.if_(|b| {
        b.await_all(&[c1]);
    });
    b.await_all(&[c1]);
    assert_eq!(exact(&b.finish()), "1 1");
}

#[test]
fn a_token_is_complete_on_both_paths() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.copy();
    let _: [Token; 0] = b.if_else(
        |b| {
            b.await_all(&[c1]);
            []
        },
        |b| {
            b.await_all(&[c1]);
            []
        },
    );
    b.await_all(&[c1]);
    assert_eq!(exact(&b.finish()), "1 1 -");
}

/// On one path three groups are younger, on the other two.
fn uneven() -> Program {
    let mut b = Build::new();
    let c1 = b.copy();
    let [t] = b.if_else(
        |b| {
            b.copy();
            [b.copy()]
        },
        |b| [b.copy()],
    );
    b.await_all(&[c1]);
    b.await_all(&[t]);
    b.finish()
}

#[test]
fn uneven_arms_count_the_lower_number() {
    assert_eq!(exact(&uneven()), "1 0");
}

#[test]
fn balance_makes_uneven_arms_equal() {
    assert_eq!(balanced(&uneven()), "2 0");
}

/// A copy in an `if` without `else`, between a copy and its await.
fn conditional() -> Program {
    let mut b = Build::new();
    let c1 = b.copy();
    b.if_(|b| {
        b.copy();
    });
    b.await_all(&[c1]);
    b.finish()
}

#[test]
fn a_conditional_copy_may_not_have_happened() {
    assert_eq!(exact(&conditional()), "0");
}

#[test]
fn balance_commits_a_conditional_copy_behind_the_branch() {
    let program = conditional();
    assert_eq!(balanced(&program), "1");
    let commits = &lower(
        &program,
        &Options {
            balance: true,
            ..PLAIN
        },
    )
    .emitted[0]
        .commits;
    assert_eq!(commits.iter().sum::<u32>(), 2, "one commit for both arms");
}

/// More than a word has bits.
#[test]
fn a_copy_is_in_flight_through_many_branches() {
    let mut b = Build::new();
    let c1 = b.copy();
    for _ in 0..70 {
        b.if_(|_| ());
    }
    b.await_all(&[c1]);
    assert_eq!(balanced(&b.finish()), "0");
}

#[test]
fn nested_ifs_are_balanced_too() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.if_(|b| {
        b.if_(|b| {
            b.copy();
        });
    });
    b.await_all(&[c1]);
    let program = b.finish();
    assert_eq!(exact(&program), "0");
    assert_eq!(balanced(&program), "1");
}

#[test]
fn balance_leaves_a_branch_alone_where_it_would_not_help() {
    let mut b = Build::new();
    b.if_(|b| {
        b.copy();
    });
    let c1 = b.copy();
    b.await_all(&[c1]);
    let program = b.finish();
    let options = Options {
        balance: true,
        ..PLAIN
    };
    assert_eq!(balanced(&program), "0");
    assert_eq!(lower(&program, &options).emitted, lower(&program, &PLAIN).emitted);
}

#[test]
fn an_await_inside_the_arm_keeps_the_commit_there() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.if_(|b| {
        let c2 = b.copy();
        b.await_all(&[c2]);
    });
    b.await_all(&[c1]);
    // In the arm c1 is complete with c2; on the other path nothing is younger than c1.
    assert_eq!(exact(&b.finish()), "0 0");
}

#[test]
fn an_arm_with_an_unknown_number_of_groups_stays() {
    let mut b = Build::new();
    let (c1, ready) = (b.copy(), b.ready());
    b.if_(|b| {
        b.for_([ready], |b, [before]| {
            let c = b.copy();
            b.await_all(&[before]);
            [c]
        });
    });
    b.await_all(&[c1]);
    assert_eq!(balanced(&b.finish()), "2 0");
}

#[test]
fn balance_heeds_waits_in_counted_form() {
    let mut b = Build::new();
    let (c1, c2) = (b.copy(), b.copy());
    b.if_(|b| {
        b.copy();
    });
    b.wait(Q, 1);
    b.await_all(&[c1]);
    b.await_all(&[c2]);
    let program = b.finish();
    assert_eq!(exact(&program), "1 0");
    // A group more before that wait would force c2 there, where nothing did; one fewer does not even force c1.
    assert_eq!(balanced(&program), "1 0");
}

/// The waits in the loop leave its last copy in flight, if it is committed after them: as young as it can be at the wait
/// after the loop.
#[test]
fn balance_heeds_counted_waits_after_a_loop_that_waits_for_all() {
    let mut b = Build::new();
    let inner = |b: &mut Build| {
        b.while_(
            [],
            |_, []| [],
            |b, []| {
                b.store_on(Q);
                b.wait(Q, 0);
                []
            },
        );
    };
    b.while_(
        [],
        |b, []| {
            inner(b);
            []
        },
        |_, []| [],
    );
    b.if_(|b| b.wait(Q, 1));
    let program = b.finish();
    let balance = Options {
        balance: true,
        ..PLAIN
    };
    let [on, off] = [lower(&program, &balance), lower(&program, &PLAIN)];
    assert_eq!(compare(side(&on), side(&off)).unwrap().left_forces_more, None);
}

#[test]
fn a_loop_of_constant_trip_count_in_an_arm_is_balanced() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.if_(|b| {
        b.repeat(2, [], |b, []| {
            b.copy();
            []
        });
    });
    b.await_all(&[c1]);
    let program = b.finish();
    assert_eq!(exact(&program), "0");
    assert_eq!(balanced(&program), "2");
}
