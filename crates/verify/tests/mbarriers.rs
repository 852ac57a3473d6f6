//! The checker of mbarriers against brute force: threads that are as fast or slow as they like, and loads that land in any order.
//!
//! The programs are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, `PROPTEST_RNG_SEED` others.
#![allow(missing_docs)]

mod rings;

use async_verify::groups::code::Span;
use async_verify::mbarriers::code::{Block, Edge, Instr, Operand, Token, Who};
use async_verify::mbarriers::{Code, Fault as Rule, Refusal, check};
use proptest::prelude::*;
use proptest::test_runner::RngAlgorithm;
use rings::generate::{THREADS, changes, pipelines};
use rings::machine::{Fault, Machine};
use rings::trace::steps;

/// So many states of an execution are looked at.
const BUDGET: usize = 60_000;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: std::env::var("PROPTEST_CASES")
            .ok()
            .and_then(|cases| cases.parse().ok())
            .unwrap_or(cases),
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        ..ProptestConfig::default()
    }
}

/// A fault of an execution of `code` in which its loop runs at most so many times.
fn fault(code: &Code, most: usize) -> Option<Fault> {
    (0..most).find_map(|again| {
        let mut left = again;
        // The first edge is another iteration.
        let choose = |_| {
            let is_over = left == 0;
            left = left.saturating_sub(1);
            usize::from(is_over)
        };
        let steps = steps(code, choose);
        let machine = Machine {
            steps: &steps,
            depth: code.depth as usize,
            threads: THREADS,
        };
        machine.fault(BUDGET).filter(|fault| *fault != Fault::TooLong)
    })
}

proptest! {
    #![proptest_config(config(300))]

    /// What is accepted has no fault. Of pipelines in which nothing is changed, all without a fault are accepted.
    #[test]
    fn what_is_accepted_is_right(pipeline in pipelines(), changes in proptest::collection::vec(changes(), 0..3)) {
        let mut draft = pipeline.draft();
        for change in &changes {
            change.apply(&mut draft);
        }
        let code = draft.code();
        let verdict = check(&code);
        if verdict.is_err() && !changes.is_empty() {
            return Ok(());
        }
        // After so many iterations, slots and parities are those of the first one.
        let fault = fault(&code, 2 * code.depth as usize + 2);
        prop_assert_eq!(verdict.is_ok(), fault.is_none(), "{:?}, {:?}: {:#?}\n{:#?}", verdict, fault, pipeline, code);
    }
}

/// Code of one thread and one slot, where a load is issued that the first phase expects, and `then` comes.
fn with_a_load(then: impl IntoIterator<Item = Instr>) -> Code {
    let slot = Operand::Const(0);
    let begin = [
        Instr::Init {
            slot,
            count: Operand::Const(1),
        },
        Instr::InitFence,
        Instr::Barrier,
        Instr::Expect {
            slot,
            bytes: Operand::Const(16),
        },
        Instr::Load {
            slot,
            bytes: 16,
            token: Token(0),
        },
    ];
    let mut code = Code {
        depth: 1,
        threads: vec![1],
        tokens: 1,
        lists: vec![Token(0)],
        instrs: begin.into_iter().chain(then).collect(),
        edges: vec![Edge::default()],
        ..Code::default()
    };
    code.blocks = vec![Block {
        instrs: Span::since(0, &code.instrs),
        edges: Span::since(0, &code.edges),
    }];
    code
}

/// A wait for the last phase says nothing of the loads of the next one, whose bytes are expected load by load.
#[test]
fn a_wait_for_the_last_phase_is_no_wait_for_this_one() {
    let slot = Operand::Const(0);
    let wait = |parity| Instr::Wait {
        slot,
        parity: Operand::Const(parity),
        by: Who::Roles(1),
    };
    let tokens = [Token(0)];
    let code = with_a_load([
        wait(1),
        Instr::Barrier,
        Instr::Await(Span::since(0, &tokens), 1),
        Instr::Arrive {
            slot,
            by: Who::Issuer,
        },
        wait(0),
    ]);
    let refusal = Refusal {
        instr: Some(7),
        fault: Rule::InFlight,
    };
    assert_eq!(check(&code), Err(refusal));
}

/// A load whose bytes are expected is in flight, also where no thread has arrived: a function must not end there, nor its mbarrier.
#[test]
fn a_load_is_in_flight_before_the_arrival() {
    let slot = Operand::Const(0);
    for (end, instr) in [(None, None), (Some(Instr::Inval { slot }), Some(5))] {
        let code = with_a_load(end);
        let fault = Rule::InUse;
        assert_eq!(check(&code), Err(Refusal { instr, fault }));
    }
}
