//! Queues that the simulator knows nothing of but a name: what is issued on them is in flight until a wait, and one run is
//! held against another.
#![allow(missing_docs)]

use async_sim::adversary::Adversary;
use async_sim::code::{Code, Instr, Issued, Op, OpLocation, Queue};
use async_sim::machine::{Launch, Machine};
use async_sim::memory::Memory;
use async_sim::refine::{self, Difference, Trace};

/// Two groups of one operation, and a wait that leaves `n` of them in flight.
fn two_groups(n: u32) -> Code {
    let queue = Queue(1);
    let issue = Op::Issue(Issued {
        queue,
        token: None,
        awaitable: false,
    });
    let commit = Op::Commit { queue, token: None };
    let wait = Op::Wait {
        queue,
        n,
        read: false,
    };
    let ops = [issue.clone(), commit.clone(), issue, commit, wait, Op::Return];
    let instr = |op| Instr {
        op,
        place: OpLocation {
            op: "an operation".into(),
            location: "somewhere".into(),
        },
        loops: [].into(),
    };
    Code {
        instrs: ops.into_iter().map(instr).collect(),
        queues: vec!["another".into(), "one of its own".into()],
        ..Code::default()
    }
}

/// What a thread does, and how many problems are reported.
fn run(code: &Code) -> (Trace, usize) {
    let launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        dynamic_workgroup: 0,
        budget: 100,
    };
    let mut machine = Machine::new(code, launch, Memory::new(Adversary::Late, 1));
    machine.trace = Some(Trace::of(code));
    machine.run(&[], 1, &mut |_, _| {}).expect("it runs to its end");
    let trace = machine.trace.take().expect("the trace that was asked for");
    let (_, _, reports) = machine.memory.into_parts();
    (trace, reports.problems().count())
}

#[test]
fn a_wait_is_judged_by_what_it_leaves_in_flight() {
    let (all, none_left) = run(&two_groups(0));
    let (first, one_left) = run(&two_groups(1));
    assert_eq!((none_left, one_left), (0, 1));
    assert!(refine::compare(&first, &all).is_none());
    let difference = refine::compare(&all, &first);
    assert!(
        matches!(difference, Some(Difference::Pending { .. })),
        "{difference:?}"
    );
}
