//! Blocks written by hand, whose optimum is known.

use super::generate::numbers;
use tokenflow::schedule::{
    EngineId, EventModel, InvalidProblem, IssueModel, Objective, Operation, OperationId, Options, Problem,
    Proven, infeasible_subset, measure, solve,
};

const LOADS: EngineId = EngineId(0);
const MATH: EngineId = EngineId(1);
const STORES: EngineId = EngineId(2);

/// A block, one operation after another.
#[derive(Default)]
struct Block(Problem);

impl Block {
    /// Adds an operation on `engine`, of so many cycles, that waits for others. Returns its number.
    fn op(&mut self, engine: EngineId, cycles: u64, inputs: &[usize]) -> usize {
        let id = self.0.operations.push(Operation {
            engines: vec![engine],
            latency: cycles,
            occupancy: cycles,
            ..Operation::default()
        });
        for &input in inputs {
            self.0.depend(OperationId(input), id, 0);
        }
        id.0
    }

    fn ops(&mut self, number: usize, engine: EngineId, cycles: u64) -> Vec<usize> {
        (0..number).map(|_| self.op(engine, cycles, &[])).collect()
    }
}

fn events() -> Options {
    Options {
        objective: Objective::Events,
        ..Options::default()
    }
}

/// Blocks of `number` operations: loads, math on two of the last results, and a store for each fourth one.
pub fn layered(number: usize) -> Problem {
    let mut block = Block::default();
    let (mut loads, mut results) = (Vec::new(), Vec::new());
    for op in 0..number {
        let back = op * 7_919 % 13;
        match op % 4 {
            0 | 1 => loads.push(block.op(LOADS, 20, &[])),
            2 => {
                let inputs: Vec<usize> = [back % 3, back % 5]
                    .iter()
                    .filter_map(|back| loads.iter().rev().nth(*back))
                    .copied()
                    .collect();
                results.push(block.op(MATH, 10, &inputs));
            }
            _ => {
                let input = results[results.len().saturating_sub(1 + back % 2)];
                block.op(STORES, 15, &[input]);
            }
        }
    }
    block.0
}

#[test]
fn twelve_loads_and_eleven_adds() {
    let mut block = Block::default();
    let loads = block.ops(12, LOADS, 4);
    let mut sum = loads[0];
    for &load in &loads[1..] {
        sum = block.op(MATH, 1, &[sum, load]);
    }
    let schedule = solve(&block.0, &events()).unwrap();
    assert_eq!((schedule.cost_before.excess, schedule.cost_before.peaks), (4, 12));
    // The first add needs two.
    assert_eq!((schedule.cost.excess, schedule.cost.peaks), (0, 2));
    assert_eq!(schedule.proven, Proven::Order);
    // All loads in a row take 48 cycles, and the last add follows.
    let schedule = solve(&block.0, &Options::default()).unwrap();
    assert_eq!((schedule.cost.excess, schedule.cost.makespan), (0, 49));
    assert_eq!(schedule.proven, Proven::Order, "{schedule:?}");
}

#[test]
fn nine_loads_and_one_consumer() {
    let mut block = Block::default();
    let loads = block.ops(9, LOADS, 4);
    block.op(MATH, 1, &loads);
    block.op(MATH, 1, &[]);
    let schedule = solve(&block.0, &events()).unwrap();
    assert_eq!(schedule.cost.excess, 1);
    assert_eq!(schedule.proven, Proven::Order);
    let infeasible_subset = infeasible_subset(&block.0, &events())
        .unwrap()
        .expect("nine are more than eight");
    assert!(infeasible_subset.is_minimal);
    assert_eq!(
        numbers(&infeasible_subset.operations),
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    );
}

#[test]
fn ten_loads_and_two_overlapping_consumers() {
    let mut block = Block::default();
    let loads = block.ops(10, LOADS, 4);
    let first = block.op(MATH, 1, &loads[..8]);
    let second = block.op(MATH, 1, &loads[2..]);
    for options in [events(), Options::default()] {
        let schedule = solve(&block.0, &options).unwrap();
        // All ten would be live without one of the consumers in between. The mirror image fits, too, but comes later.
        let mut fits = loads[..8].to_vec();
        fits.extend([first, 8, 9, second]);
        assert_eq!(schedule.cost.excess, 0);
        assert_eq!(numbers(&schedule.order), fits);
        assert_eq!(schedule.proven, Proven::Order);
        assert_eq!(infeasible_subset(&block.0, &options), Ok(None));
    }
    block.0.limits.default = 7;
    let schedule = solve(&block.0, &events()).unwrap();
    assert_eq!(schedule.cost.excess, 1);
    let infeasible_subset = infeasible_subset(&block.0, &events())
        .unwrap()
        .expect("eight are too many");
    assert!(infeasible_subset.is_minimal);
}

#[test]
fn five_loads_and_all_pairwise_adds() {
    let mut block = Block::default();
    let loads = block.ops(5, LOADS, 4);
    for a in 0..5 {
        for b in a + 1..5 {
            block.op(MATH, 1, &[loads[a], loads[b]]);
        }
    }
    let schedule = solve(&block.0, &events()).unwrap();
    // One for each load: the first add that uses it frees it.
    assert_eq!((schedule.cost_before.peaks, schedule.cost.peaks), (5, 2));
    assert_eq!(schedule.proven, Proven::Order);
    // One for each use. With two loads in and their add done, six are live, and the third load makes it ten.
    let edges = Options {
        events: EventModel::Edge,
        ..events()
    };
    let schedule = solve(&block.0, &edges).unwrap();
    assert_eq!((schedule.cost_before.peaks, schedule.cost.peaks), (20, 10));
    assert_eq!(schedule.proven, Proven::Order, "{schedule:?}");
}

/// The worked example of a description of such a pass, which says that `0 2 1 3 4` is better, with two events. Neither model gains
/// anything by that.
#[test]
fn two_producers_each_with_a_consumer() {
    let mut block = Block::default();
    let first = block.op(LOADS, 10, &[]);
    let of_first = block.op(MATH, 10, &[first]);
    let second = block.op(LOADS, 10, &[]);
    let of_second = block.op(MATH, 10, &[second]);
    block.op(MATH, 10, &[of_first, of_second]);
    for issue in [IssueModel::Engine, IssueModel::Order] {
        let options = Options {
            issue,
            ..Options::default()
        };
        let schedule = solve(&block.0, &options).unwrap();
        assert_eq!((schedule.cost.makespan, schedule.cost.peaks), (40, 1));
        assert_eq!(numbers(&schedule.order), [0, 1, 2, 3, 4]);
        assert_eq!(schedule.proven, Proven::Order);
        let swapped = [0, 2, 1, 3, 4].map(OperationId);
        let cost = measure(&block.0, &options, &swapped).unwrap().cost;
        assert_eq!((cost.makespan, cost.peaks), (40, 2));
    }
}

#[test]
fn latency_is_hidden() {
    let mut block = Block::default();
    let first = block.op(LOADS, 20, &[]);
    let sum = block.op(MATH, 5, &[first]);
    let second = block.op(LOADS, 20, &[]);
    block.op(MATH, 5, &[second, sum]);
    // Loads that take the engine for a cycle.
    for load in [first, second] {
        block.0.operations[OperationId(load)].occupancy = 1;
    }
    let schedule = solve(&block.0, &Options::default()).unwrap();
    assert_eq!(schedule.cost_before.makespan, 45);
    assert_eq!((schedule.cost.makespan, schedule.cost.peaks), (30, 2));
    assert_eq!(numbers(&schedule.order), [first, second, sum, 3]);
    block.0.limits.default = 1;
    let schedule = solve(&block.0, &Options::default()).unwrap();
    assert_eq!((schedule.cost.excess, schedule.cost.makespan), (0, 45));
}

#[test]
fn invalid_problems_are_refused() {
    let mut block = Block::default();
    let a = block.op(LOADS, 1, &[]);
    let b = block.op(MATH, 1, &[a]);
    let mut backward = block.0.clone();
    backward.order.push((OperationId(b), OperationId(a)));
    let fault = InvalidProblem::Backward(OperationId(b), OperationId(a));
    assert_eq!(solve(&backward, &Options::default()), Err(fault));
    let mut unknown = block.0.clone();
    unknown.dependences[0].to = OperationId(7);
    let fault = InvalidProblem::NoOperation(OperationId(7));
    assert_eq!(solve(&unknown, &Options::default()), Err(fault));
    block.0.operations[OperationId(b)].engines = vec![STORES];
    let fault = InvalidProblem::Engine(OperationId(b), MATH);
    assert_eq!(infeasible_subset(&block.0, &Options::default()), Err(fault));
}
