//! The oracle itself is tested: it has to catch faults that are planted here, and accept what is right.

mod oracle;

use oracle::assign::{exact as exact_by_search, exact_assignments};
use oracle::build::{Build, Q};
use oracle::compare::{Side, compare, same_meaning};
use oracle::execute::{Emitted, execute};
use oracle::improve::{compare_emitted, missed_balance, missed_group, unrolled};
use oracle::reads::split;
use oracle::{Fault, inexact, loose, not_distances, unsound};
use tokenflow::{Await, Edge, Graph, Item, Program, Queue, Target, Token};

/// One group a copy, and these waits.
fn emitted(program: &Program, waits: &[Option<u32>]) -> Vec<Emitted> {
    vec![Emitted {
        commits: program.one_group_each(Q),
        waits: waits.to_vec(),
        reads: Vec::new(),
    }]
}

fn sites(faults: &[Fault]) -> Vec<u32> {
    faults.iter().map(|fault| fault.site().0).collect()
}

/// A double buffer: each iteration issues the next copy, then awaits the last.
fn double_buffer() -> Program {
    let mut b = Build::new();
    let first = b.copy();
    let [last] = b.for_([first], |b, [last]| {
        let next = b.copy();
        b.await_all(&[last]);
        [next]
    });
    b.await_all(&[last]);
    b.finish()
}

#[test]
fn what_is_right_is_accepted() {
    let program = double_buffer();
    let right = emitted(&program, &[Some(1), Some(0)]);
    assert_eq!(inexact(&program, &right), []);
    assert_eq!(not_distances(&program, &right), []);
    let assignments = exact_assignments(&program, Q, &program.one_group_each(Q));
    assert_eq!(assignments, Some(vec![vec![Some(1), Some(0)]]));
}

#[test]
fn a_wait_too_large_is_caught() {
    let program = double_buffer();
    assert_eq!(
        sites(&unsound(&program, &emitted(&program, &[Some(2), Some(0)]))),
        [0]
    );
    assert_eq!(
        sites(&unsound(&program, &emitted(&program, &[Some(1), None]))),
        [1]
    );
}

#[test]
fn waits_merged_into_wait_0_are_caught() {
    let mut b = Build::new();
    let (c1, c2) = (b.copy(), b.copy());
    b.await_all(&[c1]);
    b.await_all(&[c2]);
    let program = b.finish();
    let merged = emitted(&program, &[Some(0), None]);
    assert_eq!(unsound(&program, &merged), []);
    assert_eq!(sites(&loose(&program, &merged)), [0]);
    // Even where both stay.
    assert_eq!(
        sites(&loose(&program, &emitted(&program, &[Some(0), Some(0)]))),
        [0, 1]
    );
}

/// The program without its edges back to earlier blocks.
fn without_back_edges(graph: &mut Graph) {
    for (index, block) in graph.blocks.iter_mut().enumerate() {
        let forward = |edge: &Edge| !matches!(edge.to, Target::Block(to) if to <= index);
        block.edges.retain(forward);
        for item in &mut block.items {
            if let Item::Nested(nested) = item {
                without_back_edges(&mut nested.graph);
            }
        }
    }
}

/// Two stores; the first one's reads are awaited, then the first one itself.
fn read_then_done() -> Program {
    let mut b = Build::new();
    let [read, done] = b.store_on(Q);
    b.store_on(Q);
    b.await_all(&[read]);
    b.await_all(&[done]);
    b.finish()
}

/// The faults of these waits, and of these for reads alone.
fn faults_with_reads(program: &Program, waits: &[Option<u32>], reads: &[Option<u32>]) -> Vec<Fault> {
    let mut emitted = emitted(program, waits);
    emitted[0].reads = reads.to_vec();
    let split = split(program, &emitted);
    inexact(&split.program, &split.emitted)
}

#[test]
fn both_completions_are_accepted() {
    let program = read_then_done();
    assert_eq!(
        faults_with_reads(&program, &[None, Some(1)], &[Some(1), None]),
        []
    );
}

#[test]
fn a_wait_for_reads_that_completes_writes_is_caught() {
    let program = read_then_done();
    let faults = faults_with_reads(&program, &[None, None], &[Some(1), None]);
    assert!(
        matches!(
            faults[..],
            [Fault::Unsound {
                site: Await(1),
                open: false,
                ..
            }]
        ),
        "{faults:?}"
    );
}

#[test]
fn a_full_wait_for_reads_is_caught() {
    // The writes are forced where only the reads are awaited, and the wait for them is bound by nothing of its own.
    let program = read_then_done();
    let faults = faults_with_reads(&program, &[Some(1), None], &[None, None]);
    assert_eq!(sites(&faults), [0]);
}

#[test]
fn a_wait_for_reads_beside_a_full_one_is_caught() {
    let mut b = Build::new();
    let [read, done] = b.store_on(Q);
    b.await_all(&[read, done]);
    let program = b.finish();
    assert_eq!(faults_with_reads(&program, &[Some(0)], &[None]), []);
    assert_eq!(sites(&faults_with_reads(&program, &[Some(0)], &[Some(0)])), [0]);
}

#[test]
fn an_ignored_back_edge_is_caught() {
    // Before the loop two copies come after c1; the second iteration awaits the copy of the first.
    let mut b = Build::new();
    let (c1, _, _) = (b.copy(), b.copy(), b.copy());
    b.for_([c1], |b, [last]| {
        b.await_all(&[last]);
        let next = b.copy();
        b.copy();
        [next]
    });
    let program = b.finish();
    let mut straight = program.clone();
    without_back_edges(&mut straight.body);
    let commits = [program.one_group_each(Q)];
    let ignorant = exact_by_search(&straight, &commits).expect("a solution");
    assert_eq!(ignorant[0].waits, [Some(2)]);
    assert_eq!(inexact(&straight, &ignorant), []);
    assert_eq!(sites(&unsound(&program, &ignorant)), [0]);
    assert_eq!(sites(&not_distances(&program, &ignorant)), [0]);
}

#[test]
fn a_fault_that_takes_many_iterations_is_caught() {
    // A token goes through six loop variables before it is awaited, and a copy is skipped at will.
    let mut b = Build::new();
    let ready = b.ready();
    b.for_([ready; 6], |b, [t0, t1, t2, t3, t4, t5]| {
        b.await_all(&[t0]);
        let [next] = b.if_else(|b| [b.copy()], |b| [b.ready()]);
        [t1, t2, t3, t4, t5, next]
    });
    let program = b.finish();
    assert_eq!(sites(&unsound(&program, &emitted(&program, &[Some(1)]))), [0]);
    assert_eq!(inexact(&program, &emitted(&program, &[Some(0)])), []);
}

#[test]
fn a_forgotten_commit_is_caught() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.await_all(&[c1]);
    let program = b.finish();
    let mut nothing = emitted(&program, &[Some(0)]);
    nothing[0].commits.fill(0);
    let faults = unsound(&program, &nothing);
    assert!(
        matches!(faults[..], [Fault::Unsound { open: true, .. }]),
        "{faults:?}"
    );
}

#[test]
fn a_wait_for_what_never_happens_is_caught() {
    let mut b = Build::new();
    b.copy();
    b.repeat(0, [], |b, []| {
        let never = b.copy();
        b.await_all(&[never]);
        []
    });
    let program = b.finish();
    assert_eq!(sites(&loose(&program, &emitted(&program, &[Some(0)]))), [0]);
    assert_eq!(
        sites(&not_distances(&program, &emitted(&program, &[Some(0)]))),
        [0]
    );
    assert_eq!(inexact(&program, &emitted(&program, &[None])), []);
}

#[test]
fn a_dropped_wait_is_not_the_distance() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.await_all(&[c1]);
    b.await_all(&[c1]);
    let program = b.finish();
    assert_eq!(
        sites(&not_distances(&program, &emitted(&program, &[Some(0), None]))),
        [1]
    );
    assert_eq!(inexact(&program, &emitted(&program, &[Some(0), None])), []);
    assert_eq!(
        sites(&loose(&program, &emitted(&program, &[Some(0), Some(0)]))),
        [1]
    );
}

#[test]
fn a_balance_that_does_nothing_is_caught() {
    let mut b = Build::new();
    let stages: [Token; 3] = std::array::from_fn(|_| b.copy());
    b.for_(stages, |b, [x, y, z]| {
        b.await_all(&[x]);
        let [next] = b.if_else(|b| [b.copy()], |b| [b.ready()]);
        [y, z, next]
    });
    let program = b.finish();
    let off = exact_by_search(&program, &[program.one_group_each(Q)]).expect("a solution");
    assert_eq!(off[0].waits, [Some(0)]);
    let better = missed_balance(&exact_by_search, &program, &off, &off).expect("balance helps here");
    assert_eq!(better[0].waits, [Some(2)]);
    assert_eq!(inexact(&program, &better), []);
    assert_eq!(missed_balance(&exact_by_search, &program, &off, &better), None);
}

#[test]
fn a_balance_in_vain_is_caught() {
    let mut b = Build::new();
    let c1 = b.copy();
    b.await_all(&[c1]);
    b.if_(|b| {
        b.copy();
    });
    let program = b.finish();
    let off = exact_by_search(&program, &[program.one_group_each(Q)]).expect("a solution");
    let mut on = off.clone();
    let mut items = program.body.blocks[0].items.iter();
    let branch = items.find_map(|item| match item {
        Item::Nested(nested) => Some(nested),
        _ => None,
    });
    let arms = &branch.expect("a branch").graph.blocks;
    let otherwise = arms[2].start.expect("arms have a slot");
    on[0].commits[otherwise.0 as usize] = 1;
    let difference = compare_emitted(&program, &on, &off);
    assert!(difference.left_forces_more.is_none() && difference.right_forces_more.is_none());
    let same = oracle::compare::same_commits(&program, &on[0].commits, &off[0].commits, Q);
    assert!(!same, "a group was added");
    assert_eq!(missed_balance(&exact_by_search, &program, &off, &off), None);
}

/// The interleaved pipeline of RFC 0077, see `hard_cases`; also the slots of its copies.
fn interleaved() -> Program {
    let mut b = Build::new();
    let prologue: [Token; 6] = std::array::from_fn(|_| b.copy());
    b.for_(prologue, |b, [a0, b0, a1, b1, a2, b2]| {
        let a3 = b.copy();
        b.await_all(&[a0, b0]);
        let b3 = b.copy();
        [a1, b1, a2, b2, a3, b3]
    });
    b.finish()
}

#[test]
fn a_prologue_merged_against_its_body_is_caught() {
    let program = interleaved();
    let apart = [program.one_group_each(Q)];
    let slots: Vec<usize> = (0..apart[0].len()).filter(|&slot| apart[0][slot] == 1).collect();
    let mut merged = apart.clone();
    for pair in slots[..6].chunks(2) {
        merged[0][pair[0]] = 0;
    }
    let apart = exact_by_search(&program, &apart).expect("a solution");
    assert_eq!(apart[0].waits, [Some(5)]);
    // With the count of the body, its first iteration waits for nothing.
    let mut wrong = apart.clone();
    wrong[0].commits.clone_from(&merged[0]);
    let faults = unsound(&program, &wrong);
    assert_eq!(sites(&faults), [0]);
    let Fault::Unsound { execution, .. } = &faults[0] else {
        panic!("{faults:?}")
    };
    let shown = execute(&program, &wrong, execution);
    assert!(
        shown
            .passed
            .iter()
            .any(|passed| !passed.awaited.is_subset(&passed.complete))
    );
    // With the right one, 3, it forces copies that were free to stay in flight.
    let right = exact_by_search(&program, &merged).expect("a solution");
    assert_eq!(right[0].waits, [Some(3)]);
    assert_eq!(inexact(&program, &right), []);
    assert!(
        compare_emitted(&program, &right, &apart)
            .left_forces_more
            .is_some()
    );
}

#[test]
fn groups_that_could_be_one_are_found() {
    let mut b = Build::new();
    let (c1, c2) = (b.copy(), b.copy());
    b.await_all(&[c1, c2]);
    let program = b.finish();
    let apart = emitted(&program, &[Some(0)]);
    let together = missed_group(&exact_by_search, &program, &apart, &apart).expect("one group does");
    assert_eq!(together[0].commits.iter().sum::<u32>(), 1);
    assert_eq!(missed_group(&exact_by_search, &program, &apart, &together), None);
}

#[test]
fn a_group_formed_across_an_await_is_caught() {
    let mut b = Build::new();
    let (c1, c2) = (b.copy(), b.copy());
    b.await_all(&[c1]);
    b.await_all(&[c2]);
    let program = b.finish();
    let apart = emitted(&program, &[Some(1), Some(0)]);
    let mut together = emitted(&program, &[Some(0), None]);
    let first = together[0].commits.iter().position(|&commits| commits == 1);
    together[0].commits[first.expect("a commit")] = 0;
    assert_eq!(inexact(&program, &together), []);
    let difference = compare_emitted(&program, &together, &apart);
    assert_eq!(difference.left_forces_more, Some((vec![], 0)));
    assert_eq!(missed_group(&exact_by_search, &program, &apart, &apart), None);
}

/// Four copies, and a loop of four iterations that awaits one after the other.
fn epilogue() -> Program {
    let mut b = Build::new();
    let stages: [Token; 4] = std::array::from_fn(|_| b.copy());
    let ready = b.ready();
    b.repeat(4, stages, |b, [x, y, z, w]| {
        b.await_all(&[x]);
        [y, z, w, ready]
    });
    b.finish()
}

#[test]
fn peeling_that_would_help_is_found() {
    let program = epilogue();
    let rolled = emitted(&program, &[Some(0)]);
    let peeled = unrolled(&program, 8);
    assert_eq!(same_meaning(&program, &peeled), Ok(()));
    let waits = exact_by_search(&peeled, &[peeled.one_group_each(Queue(0))]).expect("a solution");
    assert_eq!(waits[0].waits[..4], [Some(3), Some(2), Some(1), Some(0)]);
    let difference = compare(
        Side {
            program: &peeled,
            emitted: &waits,
        },
        Side {
            program: &program,
            emitted: &rolled,
        },
    );
    assert!(difference.expect("the same meaning").left_is_better());
}

/// Calls `f` on a graph and those inside it, until it returns true.
fn each(graph: &mut Graph, f: &impl Fn(&mut Graph) -> bool) -> bool {
    let inner = |item: &mut Item| match item {
        Item::Nested(nested) => each(&mut nested.graph, f),
        Item::Repeat(repeat) => each(&mut repeat.body, f),
        _ => false,
    };
    f(graph)
        || graph
            .blocks
            .iter_mut()
            .any(|block| block.items.iter_mut().any(inner))
}

#[test]
fn a_program_that_means_something_else_is_caught() {
    let program = epilogue();
    let mut peeled = unrolled(&program, 8);
    let forget = |graph: &mut Graph| {
        for block in &mut graph.blocks {
            for item in &mut block.items {
                if let Item::Await {
                    site: Await(2),
                    tokens,
                    ..
                } = item
                {
                    tokens.clear();
                    return true;
                }
            }
        }
        false
    };
    assert!(each(&mut peeled.body, &forget));
    assert!(same_meaning(&program, &peeled).is_err());
}
