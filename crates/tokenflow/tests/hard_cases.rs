//! Programs that others get wrong. The expected numbers come from the definition, by hand.
//!
//! A line like `5 4 - 0` gives the wait of each await in program order; `-` is no wait at all.

mod oracle;

use oracle::assign::exact_assignments;
use oracle::build::{Build, Q, R, edge, exit};
use oracle::execute::Emitted;
use oracle::lower::{Lowered, PLAIN, lower, lower_counted, lower_given, one_group_each};
use oracle::{inexact, not_distances, unsound};
use tokenflow::{Options, Program, Token};

fn waits(emitted: &Emitted) -> String {
    let wait = |wait: &Option<u32>| wait.map_or("-".into(), |n| n.to_string());
    emitted.waits.iter().map(wait).collect::<Vec<String>>().join(" ")
}

/// The waits of the first queue, which the oracle finds exact.
fn checked(lowered: &Lowered) -> String {
    assert_eq!(inexact(&lowered.program, &lowered.emitted), []);
    waits(&lowered.emitted[0])
}

/// One group a copy.
fn exact(program: &Program) -> String {
    checked(&lower(program, &PLAIN))
}

/// One group a copy, and empty groups where they help.
fn balanced(program: &Program) -> String {
    checked(&lower(program, &Options { balance: true, ..PLAIN }))
}

/// Everything that is on by default.
fn by_default(program: &Program) -> String {
    checked(&lower(program, &Options::default()))
}

/// How many commits of the first queue there are in the text.
fn commits(program: &Program, options: &Options) -> u32 {
    lower(program, options).emitted[0].commits.iter().sum()
}

// Straight lines.

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

// Branches.

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
    let commits = &lower(&program, &Options { balance: true, ..PLAIN }).emitted[0].commits;
    assert_eq!(commits.iter().sum::<u32>(), 2, "one commit for both arms");
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
    let options = Options { balance: true, ..PLAIN };
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
    let c1 = b.copy();
    b.if_(|b| {
        b.for_([], |b, []| {
            b.copy();
            []
        });
    });
    b.await_all(&[c1]);
    assert_eq!(balanced(&b.finish()), "0");
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
    assert_eq!(exact(&program), "- 0");
    // With an empty group, that wait would force c2 before c1 is awaited, where nothing did.
    assert_eq!(balanced(&program), "- 0");
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

// Loops.

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
    // First c1, behind c2 and one more; then c2, behind two. After no iteration, c2 is the youngest.
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
    // c1 has c2 behind it, and c2 nothing.
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
    // `kept` is complete after the first await; `last` has one copy behind it, every time.
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

// Pipelines.

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
    let slots: Vec<usize> = (0..commits[0].len()).filter(|&slot| commits[0][slot] == 1).collect();
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
    let peeled = lower(&program, &Options { unroll_limit: 8, ..PLAIN });
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
    let options = Options { unroll_limit: 2, ..PLAIN };
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
    assert_eq!(exact_assignments(&program, Q, &program.one_group_each(Q)), Some(vec![]));
    let lowered = lower(&program, &PLAIN);
    assert_eq!(unsound(&program, &lowered.emitted), []);
    // Empty groups make it one that has them.
    assert_eq!(balanced(&program), "1 1 1");
}

// Programs that come with their commits.

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
