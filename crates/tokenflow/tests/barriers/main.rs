//! Barriers held against brute force: all sets of places, on all executions, thread by thread and byte by byte.

mod generate;
mod kernels;
mod oracle;

use generate::{counted, persistent, program, rows, straight};
use kernels::{Node, Program};
use oracle::{Oracle, cost};
use proptest::prelude::*;
use std::collections::BTreeSet;
use tokenflow::barriers::{AccessKind, StepId, place};

/// Checks what is placed for `program`; returns false if there is too much to try.
fn check(program: &Program) -> Result<(), TestCaseError> {
    let lowered = kernels::lower(program);
    let placement = place(&lowered.kernel);
    let Some(oracle) = Oracle::new(program, &lowered) else {
        return Err(TestCaseError::reject("too many executions"));
    };
    prop_assert_eq!(!placement.races.is_empty(), oracle.races, "{:?}", placement.races);
    if oracle.races {
        return Ok(());
    }
    let chosen: BTreeSet<StepId> = placement.barriers.iter().map(|(step, _)| *step).collect();
    prop_assert!(oracle.is_enough(&chosen), "a race is left with {:?}", chosen);
    for barrier in &chosen {
        let mut fewer = chosen.clone();
        fewer.remove(barrier);
        prop_assert!(!oracle.is_enough(&fewer), "no need for {:?}", barrier);
    }
    let Some((least, best)) = oracle.cheapest(&lowered.kernel) else {
        return Err(TestCaseError::reject("too many places"));
    };
    prop_assert_eq!(
        cost(&lowered.kernel, &chosen),
        least,
        "{:?} instead of {:?}",
        chosen,
        best
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 1_000_000, ..ProptestConfig::default() })]

    #[test]
    fn no_barriers_are_cheaper_in_a_straight_line(program in straight()) {
        check(&program)?;
    }

    #[test]
    fn no_barriers_are_cheaper(program in program()) {
        check(&program)?;
    }

    #[test]
    fn no_barriers_are_cheaper_where_trips_are_known(program in counted()) {
        check(&program)?;
    }

    #[test]
    fn no_barriers_are_cheaper_where_places_in_rows_are_unknown(program in rows()) {
        check(&program)?;
    }

    #[test]
    fn no_barriers_are_cheaper_where_slots_go_on(program in persistent()) {
        check(&program)?;
    }
}

/// The main loop of a pipelined kernel with three slots, two tiles ahead.
fn pipeline(order: fn(Node, Node, Node) -> Vec<Node>) -> Program {
    let copy = |slot: kernels::Index, token: u32| Node::Copy { index: slot, token };
    let constant = |constant: i64| kernels::Index {
        constant,
        ..kernels::Index::default()
    };
    let rotating = |start: i64| kernels::Index {
        rotation: Some((1, 0, start, 1, 3)),
        ..kernels::Index::default()
    };
    let read = Node::Access {
        index: kernels::Index {
            thread: 0,
            ..rotating(0)
        },
        kind: AccessKind::Read,
    };
    let body = order(Node::Await(vec![10]), copy(rotating(2), 12), read);
    let main = Node::Loop {
        body,
        carried: vec![(0, 10, 11), (1, 11, 12)],
        min_trips: 0,
        max_trips: None,
    };
    Program {
        threads: 2,
        bytes: 3,
        starts: 1,
        body: vec![copy(constant(0), 0), copy(constant(1), 1), main],
    }
}

fn barriers_in_loop(program: &Program) -> usize {
    let lowered = kernels::lower(program);
    let placement = place(&lowered.kernel);
    let inside = placement.barriers.iter();
    inside
        .filter(|(step, _)| lowered.kernel.steps[*step].in_loop.is_some())
        .count()
}

#[test]
fn await_barrier_issue_compute_takes_one_barrier() {
    assert_eq!(
        barriers_in_loop(&pipeline(|wait, issue, read| vec![wait, issue, read])),
        1
    );
}

#[test]
fn issue_first_takes_two_barriers() {
    assert_eq!(
        barriers_in_loop(&pipeline(|wait, issue, read| vec![issue, wait, read])),
        2
    );
}

/// A pipelined loop with `copies` copies in each k-step, each by a token of its own, `ahead` k-steps ahead.
fn wide_pipeline(copies: u32, ahead: u32) -> Program {
    let slots = i64::from(ahead) + 1;
    let index = |copy: u32, start: i64, thread: i64| kernels::Index {
        thread,
        constant: i64::from(copy) * 2 * slots,
        rotation: Some((2, 0, start, 1, slots)),
        ..kernels::Index::default()
    };
    // Of each copy: the tokens that come in, those inside, and the new one.
    let token = |copy: u32, tile: u32| copy * (2 * ahead + 1) + tile;
    let mut program = Vec::new();
    for (copy, tile) in (0..copies).flat_map(|copy| (0..ahead).map(move |tile| (copy, tile))) {
        let index = kernels::Index {
            thread: 1,
            constant: (i64::from(copy) * slots + i64::from(tile)) * 2,
            ..kernels::Index::default()
        };
        let token = token(copy, tile);
        program.push(Node::Copy { index, token });
    }
    let mut body = vec![Node::Await((0..copies).map(|copy| token(copy, ahead)).collect())];
    body.extend((0..copies).map(|copy| Node::Copy {
        index: index(copy, i64::from(ahead), 1),
        token: token(copy, 2 * ahead),
    }));
    body.extend((0..copies).map(|copy| Node::Access {
        index: index(copy, 0, 0),
        kind: AccessKind::Read,
    }));
    let carried = (0..copies).flat_map(|copy| (0..ahead).map(move |tile| (copy, tile)));
    let carried = carried.map(|(copy, tile)| {
        let inside = ahead + tile;
        (token(copy, tile), token(copy, inside), token(copy, inside + 1))
    });
    program.push(Node::Loop {
        body,
        carried: carried.collect(),
        min_trips: 0,
        max_trips: None,
    });
    Program {
        threads: 2,
        bytes: u64::from(copies) * 2 * u64::from(ahead + 1),
        starts: 1,
        body: program,
    }
}

#[test]
fn many_copies_in_flight_are_told_apart() {
    let program = wide_pipeline(60, 4);
    assert_eq!(place(&kernels::lower(&program).kernel).races, []);
    assert_eq!(barriers_in_loop(&program), 1);
}

/// The copy of the last of two iterations is in flight after the loop: it goes to byte 4.
#[test]
fn a_loop_that_runs_twice_leaves_its_second_copy_in_flight() {
    let races = |constant: i64| {
        let index = kernels::Index {
            constant: 2,
            iteration: Some((2, 0)),
            ..kernels::Index::default()
        };
        let main = Node::Loop {
            body: vec![Node::Await(vec![10]), Node::Copy { index, token: 11 }],
            carried: vec![(0, 10, 11)],
            min_trips: 2,
            max_trips: Some(2),
        };
        let program = Program {
            threads: 2,
            bytes: 8,
            starts: 1,
            body: vec![main, access(0, constant, AccessKind::Read)],
        };
        !place(&kernels::lower(&program).kernel).races.is_empty()
    };
    assert_eq!([2, 4, 6].map(races), [false, true, false]);
}

/// A line of loops that may be skipped, each of which uses one of `slots` again, as `body` does in this turn.
fn slots_in_turn(loops: i64, slots: i64, body: fn(i64, i64) -> Vec<Node>) -> Program {
    let body = (0..loops).map(|i| Node::Loop {
        body: body(2 * (i % slots), i / slots),
        carried: Vec::new(),
        min_trips: 0,
        max_trips: None,
    });
    Program {
        threads: 2,
        bytes: 2 * slots.unsigned_abs(),
        starts: 1,
        body: body.collect(),
    }
}

fn access(thread: i64, constant: i64, kind: AccessKind) -> Node {
    let index = kernels::Index {
        thread,
        constant,
        ..kernels::Index::default()
    };
    Node::Access { index, kind }
}

/// What is used again far on is exposed all the way. The ways there are long, and there is one from each loop on.
#[test]
fn slots_that_are_used_again_far_on_take_one_barrier_each_time() {
    // Threads take each other's place.
    let program = slots_in_turn(2000, 400, |slot, turn| {
        let (thread, first) = if turn % 2 == 0 { (1, 0) } else { (-1, 1) };
        vec![access(thread, slot + first, AccessKind::Write)]
    });
    assert_eq!(place(&kernels::lower(&program).kernel).barriers.len(), 4);
}

#[test]
fn slots_that_are_used_again_far_on_with_barriers_in_loops() {
    let program = slots_in_turn(2000, 400, |slot, _| {
        vec![
            access(0, slot, AccessKind::Read),
            access(1, slot, AccessKind::Write),
        ]
    });
    assert_eq!(place(&kernels::lower(&program).kernel).barriers.len(), 4000);
}

/// A barrier in a loop would do for what comes before and after, but it costs more than any number of those between loops.
#[test]
fn loops_that_read_what_the_one_before_wrote_take_a_barrier_between() {
    const LOOPS: usize = 1000;
    let body = (0..LOOPS).map(|i| {
        let slot = |i: usize| i64::try_from(2 * (i % 64)).expect("few");
        Node::Loop {
            body: vec![
                access(1, slot(i), AccessKind::Write),
                access(-1, slot(i + 63) + 1, AccessKind::Read),
            ],
            carried: Vec::new(),
            min_trips: 0,
            max_trips: None,
        }
    });
    let program = Program {
        threads: 2,
        bytes: 128,
        starts: 1,
        body: body.collect(),
    };
    let lowered = kernels::lower(&program);
    let barriers = place(&lowered.kernel).barriers;
    assert_eq!(barriers.len(), LOOPS - 1);
    assert!(
        barriers
            .iter()
            .all(|(step, _)| lowered.kernel.steps[*step].in_loop.is_none())
    );
}
