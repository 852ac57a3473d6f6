//! Generates random blocks.

use proptest::prelude::*;
use tokenflow::ids::Id;
use tokenflow::schedule::{
    Dependence, EngineId, EventModel, IssueModel, Limits, Objective, Operation, OperationId, Options, Pair,
    Problem,
};

const ENGINES: usize = 3;

fn pairs() -> impl Iterator<Item = Pair> {
    let pair = |from, to| Pair {
        from: EngineId(from),
        to: EngineId(to),
    };
    let all = (0..ENGINES).flat_map(move |from| (0..ENGINES).map(move |to| pair(from, to)));
    all.filter(|pair| pair.from != pair.to)
}

fn operation() -> impl Strategy<Value = Operation> {
    let simple = (0..ENGINES).prop_map(|engine| (vec![EngineId(engine)], Vec::new()));
    let boxed = (
        0..1 << ENGINES,
        proptest::collection::vec((0..6_usize, 1..3_u32), 0..3),
    )
        .prop_map(|(engines, inner)| {
            let engines = (0..ENGINES).filter(|engine| engines >> engine & 1 == 1);
            (engines.map(EngineId).collect(), inner)
        });
    let time = (
        0..5_u64,
        prop_oneof![2 => Just(None), 1 => (0..5_u64).prop_map(Some)],
    );
    (prop_oneof![6 => simple.boxed(), 1 => boxed.boxed()], time).prop_map(
        |((engines, inner), (latency, occupancy))| Operation {
            engines,
            latency,
            occupancy: occupancy.unwrap_or(latency),
            inner_peaks: inner
                .into_iter()
                .filter_map(|(pair, peak)| Some((pairs().nth(pair)?, peak)))
                .collect(),
        },
    )
}

/// Blocks of up to `most` operations, three engines, limits from 1 to 3. Operations on several engines are boxes, and keep their
/// order.
pub fn problem(most: usize) -> impl Strategy<Value = Problem> {
    let edge = (
        any::<u16>(),
        any::<u16>(),
        prop_oneof![8 => Just(0), 1 => Just(1), 1 => Just(2)],
    );
    (
        prop_oneof![
            1 => proptest::collection::vec(operation(), 0..=most),
            2 => proptest::collection::vec(operation(), most - most / 4..=most),
        ],
        proptest::collection::vec(edge, 0..=2 * most),
        proptest::collection::vec((any::<u16>(), any::<u16>()), 0..2),
        proptest::collection::vec(1..=3_u32, 6),
    )
        .prop_map(|(operations, edges, order, limits)| build(operations, &edges, &order, &limits))
}

fn build(
    operations: Vec<Operation>,
    edges: &[(u16, u16, u32)],
    order: &[(u16, u16)],
    limits: &[u32],
) -> Problem {
    let mut problem = Problem {
        limits: Limits {
            default: 8,
            pairs: pairs().zip(limits.iter().copied()).collect(),
        },
        ..Problem::default()
    };
    let is_box = |operation: &Operation| operation.engines.len() != 1;
    let boxes: Vec<usize> = (0..operations.len())
        .filter(|&op| is_box(&operations[op]))
        .collect();
    problem.operations = operations.into();
    let number = problem.operations.len();
    if number == 0 {
        return problem;
    }
    let keep = |problem: &mut Problem, from: usize, to: usize| {
        if from < to {
            problem.order.push((OperationId(from), OperationId(to)));
        }
    };
    for pair in boxes.windows(2) {
        keep(&mut problem, pair[0], pair[1]);
    }
    for &(from, to) in order {
        keep(&mut problem, usize::from(from) % number, usize::from(to) % number);
    }
    for &(from, to, distance) in edges {
        let (a, b) = (usize::from(from) % number, usize::from(to) % number);
        let (from, to) = if distance == 0 {
            (a.min(b), a.max(b))
        } else {
            (a, b)
        };
        if distance == 0 && from == to {
            continue;
        }
        let (from, to) = (OperationId(from), OperationId(to));
        if a % 3 > 0 {
            problem.depend(from, to, distance);
            continue;
        }
        // One of the engines of each side, or of none.
        let engine = |op: OperationId| problem.operations[op].engines.first().copied();
        let pair = engine(from).zip(engine(to)).map(|(from, to)| Pair { from, to });
        problem.dependences.push(Dependence {
            from,
            to,
            distance,
            pair,
        });
    }
    problem
}

pub fn options() -> impl Strategy<Value = Options> {
    let objective = prop_oneof![Just(Objective::Latency), Just(Objective::Events)];
    let events = prop_oneof![3 => Just(EventModel::Pair), 1 => Just(EventModel::Edge)];
    let issue = prop_oneof![Just(IssueModel::Order), Just(IssueModel::Engine)];
    (objective, events, issue).prop_map(|(objective, events, issue)| Options {
        objective,
        events,
        issue,
        budget: u64::MAX,
    })
}

/// The operations of an order as plain numbers.
pub fn numbers(order: &[OperationId]) -> Vec<usize> {
    order.iter().map(|op| op.index()).collect()
}
