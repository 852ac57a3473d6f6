//! Random schedules of loops against their executions, round by round: which dependences they violate, how many versions of a
//! buffer are enough and how many too few, and which values have to go from round to round.
//!
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` make it more cases, or others.
#![allow(missing_docs)]

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::HashMap;
use tokenflow::ids::IndexVec;
use tokenflow::pipeline::values::{Definition, Source, ValueId, Values};
use tokenflow::pipeline::{Dependence, Lifetime, Problem, Statement, StatementId};

/// How often a loop runs: often enough for the latest access to the last version to meet the earliest to the first.
const ITERATIONS: u32 = 16;

fn config() -> ProptestConfig {
    let from_env = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(2000, |_| from_env.cases),
        rng_seed: match from_env.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            seed @ RngSeed::Fixed(_) => seed,
        },
        failure_persistence: None,
        ..from_env
    }
}

/// The statements of a loop: stages, and orders that are a permutation.
fn statements() -> impl Strategy<Value = Vec<Statement>> {
    let stages = prop::collection::vec(0..4_u32, 1..6);
    let orders = stages.prop_flat_map(|stages| {
        let orders: Vec<u32> = (0..).take(stages.len()).collect();
        (Just(stages), Just(orders).prop_shuffle())
    });
    orders.prop_map(|(stages, orders)| {
        let statements = stages.into_iter().zip(orders);
        statements
            .map(|(stage, order)| Statement { stage, order })
            .collect()
    })
}

fn problem(statements: &[Statement]) -> Problem {
    let mut problem = Problem::default();
    for statement in statements {
        problem.statements.push(*statement);
    }
    problem
}

/// What is executed, in order: statements and their iterations, round by round.
fn rounds(statements: &[Statement]) -> Vec<Vec<(usize, u32)>> {
    let last = statements
        .iter()
        .map(|statement| statement.stage)
        .max()
        .unwrap_or(0);
    let mut by_order: Vec<usize> = (0..statements.len()).collect();
    by_order.sort_by_key(|i| statements[*i].order);
    let round = |number: u32| {
        let executed = by_order.iter().filter_map(|i| {
            let iteration = number.checked_sub(statements[*i].stage)?;
            (iteration < ITERATIONS).then_some((*i, iteration))
        });
        executed.collect()
    };
    (0..ITERATIONS + last).map(round).collect()
}

/// When each statement executes each iteration.
fn times(statements: &[Statement]) -> HashMap<(usize, u32), usize> {
    rounds(statements).into_iter().flatten().zip(0..).collect()
}

/// Returns true if an iteration writes what an earlier one still accesses, with so many versions.
fn clashes(statements: &[Statement], writes: &[usize], ends: &[(usize, u32)], versions: u32) -> bool {
    let times = times(statements);
    (0..ITERATIONS).any(|first| {
        let same_version = (first + 1..ITERATIONS).filter(|second| (second - first) % versions == 0);
        same_version.into_iter().any(|second| {
            writes.iter().any(|write| {
                ends.iter().any(|(end, later)| {
                    let over = times.get(&(*end, first + later));
                    over.is_some_and(|over| times[&(*write, second)] <= *over)
                })
            })
        })
    })
}

/// A value of an execution: what a statement defined in an iteration, or what a carried value is at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Defined(usize, u32),
    Initial(ValueId),
}

/// What `value` is in an iteration of the loop as it is written.
fn meant(definitions: &IndexVec<ValueId, Definition>, value: ValueId, iteration: u32) -> Content {
    let by = |value: ValueId| match definitions[value] {
        Definition::Statement(by) => by.0,
        Definition::Carried(_) => unreachable!("a statement feeds it"),
    };
    match (definitions[value], iteration) {
        (Definition::Statement(by), _) => Content::Defined(by.0, iteration),
        (Definition::Carried(_), 0) => Content::Initial(value),
        (Definition::Carried(from), _) => Content::Defined(by(from), iteration - 1),
    }
}

/// Executes the rounds with these values going from one to the next; returns true if each read finds what it is meant to.
fn finds_everything(
    statements: &[Statement],
    values: &Values<'_>,
    definitions: &IndexVec<ValueId, Definition>,
    reads: &[(usize, ValueId, Source)],
    carried: &[(ValueId, u32)],
) -> bool {
    let mut state: HashMap<(ValueId, u32), Content> = HashMap::new();
    for (number, round) in (0..).zip(rounds(statements)) {
        // What the loop starts with is there in iteration 0.
        for &(value, lag) in carried.iter().filter(|(_, lag)| *lag == number) {
            if matches!(definitions[value], Definition::Carried(_)) {
                state.insert((value, lag), Content::Initial(value));
            }
        }
        let mut defined: HashMap<ValueId, Content> = HashMap::new();
        for (statement, iteration) in round {
            defined.insert(ValueId(statement), Content::Defined(statement, iteration));
            for (_, value, source) in reads.iter().filter(|(reader, ..)| *reader == statement) {
                let found = match source {
                    Source::Start(value, lag) => state.get(&(*value, *lag)),
                    Source::Defined(value) => defined.get(value),
                };
                let meant = meant(definitions, *value, iteration);
                // In iteration 0, the prologue reads what the loop starts with.
                let is_initial = matches!((meant, source), (Content::Initial(_), Source::Defined(_)));
                if found != Some(&meant) && !is_initial {
                    return false;
                }
            }
        }
        let next = carried.iter().filter_map(|&(value, lag)| {
            let content = match values.next(value, lag) {
                Source::Start(value, lag) => state.get(&(value, lag)),
                Source::Defined(value) => defined.get(&value),
            };
            Some(((value, lag), *content?))
        });
        state = next.collect();
    }
    true
}

/// Which statements feed what the loop carries, and which statements read which values.
type Uses = (
    Vec<prop::sample::Index>,
    Vec<(prop::sample::Index, prop::sample::Index)>,
);

fn uses() -> impl Strategy<Value = Uses> {
    let index = any::<prop::sample::Index>;
    let feeds = prop::collection::vec(index(), 0..3);
    (feeds, prop::collection::vec((index(), index()), 1..6))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn violated_dependences_are_those_that_an_execution_violates(
        statements in statements(),
        ends in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4_u32), 1..4),
    ) {
        let mut problem = problem(&statements);
        let times = times(&statements);
        let mut violated = None;
        for (from, to, distance) in ends {
            let (from, to) = (from.index(statements.len()), to.index(statements.len()));
            let dependence = Dependence { from: StatementId(from), to: StatementId(to), distance };
            let id = problem.dependences.push(dependence);
            let is_late = (0..ITERATIONS - distance).any(|i| times[&(from, i)] >= times[&(to, i + distance)]);
            violated = violated.or(is_late.then_some(id));
        }
        prop_assert_eq!(problem.violated(), violated);
    }

    #[test]
    fn versions_are_enough_and_one_fewer_clashes(
        statements in statements(),
        writes in prop::collection::vec(any::<prop::sample::Index>(), 1..3),
        ends in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u32), 1..4),
    ) {
        let writes: Vec<usize> = writes.iter().map(|write| write.index(statements.len())).collect();
        let ends: Vec<(usize, u32)> =
            ends.iter().map(|(end, later)| (end.index(statements.len()), *later)).collect();
        let lifetime = Lifetime {
            writes: writes.iter().copied().map(StatementId).collect(),
            ends: ends.iter().map(|(end, later)| (StatementId(*end), *later)).collect(),
        };
        let versions = problem(&statements).versions(&lifetime);
        prop_assert!(!clashes(&statements, &writes, &ends, versions), "{versions} are not enough");
        prop_assert!(versions == 1 || clashes(&statements, &writes, &ends, versions - 1),
            "{versions} are more than are needed");
    }

    #[test]
    fn each_read_finds_its_value_and_nothing_rotates_in_vain(statements in statements(), (feeds, reads) in uses()) {
        let problem = problem(&statements);
        let mut definitions: IndexVec<ValueId, Definition> = IndexVec::default();
        for statement in 0..statements.len() {
            definitions.push(Definition::Statement(StatementId(statement)));
        }
        for feed in &feeds {
            definitions.push(Definition::Carried(ValueId(feed.index(statements.len()))));
        }
        let values = Values::new(&problem, definitions.clone());
        let times = times(&statements);
        let mut found = Vec::new();
        for (reader, value) in reads {
            let (reader, value) = (reader.index(statements.len()), ValueId(value.index(definitions.len())));
            let Statement { stage, order } = statements[reader];
            let source = values.read(value, stage, order);
            let is_there = match meant(&definitions, value, 1) {
                Content::Defined(by, iteration) => times[&(by, iteration)] <= times[&(reader, 1)],
                Content::Initial(_) => true,
            };
            prop_assert_eq!(source.is_some(), is_there, "{:?} of statement {}", value, reader);
            found.extend(source.map(|source| (reader, value, source)));
        }
        let starts = found.iter().filter_map(|(_, _, source)| match source {
            Source::Start(value, lag) => Some((*value, *lag)),
            Source::Defined(_) => None,
        });
        let rotation = values.rotation(starts);
        prop_assert!(finds_everything(&statements, &values, &definitions, &found, &rotation));
        for left_out in 0..rotation.len() {
            let mut fewer = rotation.clone();
            fewer.remove(left_out);
            prop_assert!(!finds_everything(&statements, &values, &definitions, &found, &fewer),
                "{:?} is not needed", rotation[left_out]);
        }
    }
}
