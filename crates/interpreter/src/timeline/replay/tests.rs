use crate::code::{Code, Instr, Op, OpLocation};
use crate::timeline::{Activity, At, BULK, Costs, MULTIPLICATIONS, Recorder, Timeline, Waits};
use crate::value::{BufferId, CopyId};

/// The threads that stand for the first and the second warp.
const FIRST: usize = 0;
const SECOND: usize = 32;
const MBARRIER: (BufferId, i64) = (BufferId(0), 0);

const COSTS: Costs = Costs {
    issue: 1,
    access: 4,
    mma: 8,
    wgmma: 4,
    latency: 100,
    bytes_per_cycle: 1,
};

fn place(name: &str) -> OpLocation {
    OpLocation {
        op: name.into(),
        location: "".into(),
    }
}

fn instr(name: &str, loops: &[u32]) -> Instr {
    Instr {
        op: Op::Barrier,
        place: place(name),
        loops: loops.into(),
    }
}

/// Instruction 0 is in no loop; 1 is what loop 0 does itself, 2 is in it, and 3 in loop 1, which is in it, too.
fn code() -> Code {
    Code {
        instrs: vec![
            instr("op", &[]),
            instr("outer", &[0]),
            instr("op", &[0]),
            instr("op", &[0, 1]),
        ],
        loops: vec![place("outer"), place("inner")],
        ..Code::default()
    }
}

fn at(instr: u32, iterations: u32) -> At {
    At { instr, iterations }
}

/// What two warps do.
fn replay(record: impl FnOnce(&mut Recorder, &Code), iterations: &[&[u32]]) -> Timeline {
    let code = code();
    let mut recorder = Recorder::new(&code, COSTS, 64);
    record(&mut recorder, &code);
    let iterations: Vec<Box<[u32]>> = iterations.iter().map(|counters| (*counters).into()).collect();
    recorder.replay(&iterations)
}

/// A warp runs so many instructions.
fn runs(recorder: &mut Recorder, code: &Code, t: usize, count: usize) {
    for _ in 0..count {
        recorder.step(code, t, at(0, 0));
    }
}

#[test]
fn each_warp_waits_for_what_one_of_them_loads() {
    let timeline = replay(
        |recorder, _| {
            let copy = CopyId(7);
            recorder.issue_once(FIRST, copy, &BULK.into(), 20, at(0, 0));
            for t in [FIRST, SECOND] {
                recorder.phase_seen(t, MBARRIER, 0, &[copy], at(0, 0));
            }
        },
        &[&[]],
    );
    let waits = Waits {
        mbarriers: 2 * 120,
        ..Waits::default()
    };
    assert_eq!(timeline.waits(), waits);
    assert_eq!(timeline.copies[0].observed, Some(120));
}

#[test]
fn multiplications_come_one_after_the_other() {
    let timeline = replay(
        |recorder, code| {
            let (first, second) = (CopyId(7), CopyId(8));
            recorder.multiply(FIRST, first, 64, at(0, 0));
            recorder.multiply(FIRST, second, 16, at(0, 0));
            runs(recorder, code, FIRST, 10);
            // All warps of the group wait for it.
            recorder.wait(SECOND, &[first], at(0, 0));
            recorder.wait(FIRST, &[first, second], at(0, 0));
        },
        &[&[]],
    );
    let lands: Vec<u64> = timeline.copies.iter().map(|flight| flight.lands).collect();
    assert_eq!(lands, [32, 40]);
    assert_eq!(timeline.waits().copies, 32 + 30);
    assert!(
        timeline
            .copies
            .iter()
            .all(|flight| &*flight.lane == MULTIPLICATIONS)
    );
}

#[test]
fn a_phase_waits_for_all_that_arrive() {
    let timeline = replay(
        |recorder, code| {
            recorder.arrive(FIRST, MBARRIER, 0, at(0, 0));
            runs(recorder, code, SECOND, 30);
            recorder.arrive(SECOND, MBARRIER, 0, at(0, 0));
            recorder.phase_seen(FIRST, MBARRIER, 0, &[], at(0, 0));
            // What comes to the next phase is of no account for this one.
            runs(recorder, code, SECOND, 30);
            recorder.arrive(SECOND, MBARRIER, 1, at(0, 0));
        },
        &[&[]],
    );
    assert_eq!(timeline.waits().mbarriers, 30);
    assert_eq!(timeline.warps[0][0].kind, Activity::MBarrier);
}

#[test]
fn phases_are_counted_anew_after_an_initialization() {
    let timeline = replay(
        |recorder, code| {
            recorder.arrive(FIRST, MBARRIER, 0, at(0, 0));
            recorder.phase_seen(SECOND, MBARRIER, 0, &[], at(0, 0));
            recorder.renew(MBARRIER);
            runs(recorder, code, FIRST, 10);
            recorder.arrive(FIRST, MBARRIER, 0, at(0, 0));
        },
        &[&[]],
    );
    assert_eq!(timeline.waits().total(), 0);
}

#[test]
fn the_warp_that_comes_first_waits_at_a_barrier() {
    let timeline = replay(
        |recorder, code| {
            runs(recorder, code, SECOND, 25);
            recorder.barrier(at(0, 0));
        },
        &[&[]],
    );
    let waits = Waits {
        barriers: 25,
        ..Waits::default()
    };
    assert_eq!(timeline.waits(), waits);
}

#[test]
fn iterations_last_from_their_first_operation_to_the_next_iteration() {
    let timeline = replay(
        |recorder, code| {
            let places = [(1, 1), (2, 1), (3, 2), (3, 3), (1, 4), (2, 4), (1, 5), (0, 0)];
            for (instr, iterations) in places {
                recorder.step(code, FIRST, at(instr, iterations));
            }
        },
        &[&[], &[0], &[0, 0], &[0, 1], &[1], &[2]],
    );
    let iterations = &timeline.iterations[0];
    let found: Vec<_> = iterations
        .iter()
        .map(|i| (i.of, i.depth, i.number, i.start, i.end))
        .collect();
    // The last look at the counter, which ends the loop, makes no iteration.
    let expected = [(0, 0, 0, 1, 5), (1, 1, 0, 2, 3), (1, 1, 1, 3, 5), (0, 0, 1, 5, 7)];
    assert_eq!(found, expected);
}
