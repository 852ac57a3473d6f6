//! Prints how far list schedulers are from the optimum, or from its bound; see bench/schedule.

use std::time::Instant;
use tokenflow::schedule::{
    Cost, EngineId, Objective, Operation, OperationId, Options, Problem, Proven, Strategy, measure, solve,
    strategies,
};

const LOADS: EngineId = EngineId(0);
const MATH: EngineId = EngineId(1);
const STORES: EngineId = EngineId(2);

fn op(problem: &mut Problem, engine: EngineId, cycles: u64, inputs: &[OperationId]) -> OperationId {
    let id = problem.operations.push(Operation {
        engines: vec![engine],
        latency: cycles,
        occupancy: cycles,
        ..Operation::default()
    });
    for &input in inputs {
        problem.depend(input, id, 0);
    }
    id
}

fn loads(problem: &mut Problem, number: usize) -> Vec<OperationId> {
    (0..number).map(|_| op(problem, LOADS, 4, &[])).collect()
}

fn sum(number: usize) -> Problem {
    let mut problem = Problem::default();
    let loads = loads(&mut problem, number);
    let mut sum = loads[0];
    for &load in &loads[1..] {
        sum = op(&mut problem, MATH, 3, &[sum, load]);
    }
    problem
}

fn one_consumer() -> Problem {
    let mut problem = Problem::default();
    let loads = loads(&mut problem, 9);
    op(&mut problem, MATH, 3, &loads);
    problem
}

fn overlapping() -> Problem {
    let mut problem = Problem::default();
    let loads = loads(&mut problem, 10);
    op(&mut problem, MATH, 3, &loads[..8]);
    op(&mut problem, MATH, 3, &loads[2..]);
    problem
}

fn all_pairs(number: usize) -> Problem {
    let mut problem = Problem::default();
    let loads = loads(&mut problem, number);
    for a in 0..number {
        for b in a + 1..number {
            op(&mut problem, MATH, 3, &[loads[a], loads[b]]);
        }
    }
    problem
}

/// A matrix multiplication of `steps` steps: two loads for each, one multiplication, and the result is stored.
fn multiplication(steps: usize) -> Problem {
    let mut problem = Problem::default();
    let mut sum = None;
    for _ in 0..steps {
        let mut inputs = loads(&mut problem, 2);
        inputs.extend(sum);
        sum = Some(op(&mut problem, MATH, 6, &inputs));
    }
    if let Some(sum) = sum {
        op(&mut problem, STORES, 5, &[sum]);
    }
    problem
}

/// A random graph, in which each operation needs up to two of the last ones.
fn random(number: usize, mut seed: u64) -> Problem {
    let mut problem = Problem::default();
    let mut next = |bound: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap_or(0) % bound
    };
    for id in 0..number {
        let engine = [LOADS, MATH, STORES][next(3)];
        let cycles = 1 + next(9) as u64;
        let mut inputs: Vec<OperationId> = (0..next(3))
            .filter_map(|_| id.checked_sub(1 + next(12)).map(OperationId))
            .collect();
        inputs.sort_unstable();
        inputs.dedup();
        op(&mut problem, engine, cycles, &inputs);
    }
    problem.limits.default = 3;
    problem
}

fn row(name: &str, cost: Cost, note: &str) {
    let Cost {
        excess,
        makespan,
        peaks,
    } = cost;
    println!("| {name} | {excess} | {makespan} | {peaks} | {note} |");
}

fn report(name: &str, problem: &Problem, objective: Objective) {
    let options = Options {
        objective,
        ..Options::default()
    };
    println!(
        "\n{name}, {} operations, {objective:?}:\n",
        problem.operations.len()
    );
    println!("| | excess | makespan | sum of peaks | |\n|---|---|---|---|---|");
    let start = Instant::now();
    let schedule = solve(problem, &options).expect("it is valid");
    let took = start.elapsed();
    for strategy in strategies() {
        let order = strategy.schedule(problem, &options).expect("it is valid");
        let cost = measure(problem, &options, &order).expect("it is an order").cost;
        let name = match strategy {
            Strategy::Unchanged => "input".to_owned(),
            other => format!("{other:?}"),
        };
        row(&name, cost, "");
    }
    let proven = match schedule.proven {
        Proven::Nothing => "nothing proven",
        Proven::Excess => "excess proven",
        Proven::TwoCriteria => "two criteria proven",
        Proven::Cost => "cost proven",
        Proven::Order => "optimum",
    };
    let note = format!("{proven}, {} nodes, {} ms", schedule.nodes, took.as_millis());
    row("**solve**", schedule.cost, &note);
    row("bound", schedule.bound, "");
}

fn main() {
    for objective in [Objective::Latency, Objective::Events] {
        report("12 loads, 11 adds", &sum(12), objective);
        report("9 loads, one consumer", &one_consumer(), objective);
        report("10 loads, two consumers", &overlapping(), objective);
        report("5 loads, all pairwise adds", &all_pairs(5), objective);
        report("8 loads, all pairwise adds", &all_pairs(8), objective);
        report("multiplication", &multiplication(16), objective);
        report("multiplication", &multiplication(40), objective);
        for number in [16, 24, 32, 48, 64, 128] {
            report("random", &random(number, 1), objective);
        }
        for number in [1000, 10_000, 100_000] {
            report("random", &random(number, 1), objective);
        }
    }
}
