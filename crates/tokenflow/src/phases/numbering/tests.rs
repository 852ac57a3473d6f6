use super::*;
use crate::oracle::generate::config;
use crate::phases::test_trees::{ALL, Build, Event, FirstSteps, any_tree};
use crate::program::Token;
use proptest::prelude::*;

fn numbers(steps: &FirstSteps, rings: &Rings, is_always_awaited: bool) -> Numbering {
    let always_awaited = IndexVec::filled(is_always_awaited, rings.depth.len());
    let FirstSteps {
        tree,
        placement,
        partition,
        ..
    } = steps;
    number_phases(tree, placement, partition, rings, &always_awaited, BlockId(0))
}

fn expr(constant: u64, coefficients: &[(Symbol, u64)]) -> AffineExpr {
    AffineExpr {
        constant,
        coefficients: coefficients.iter().copied().collect(),
    }
}

const OUTER: RegionOpId = RegionOpId(0);
const INNER: RegionOpId = RegionOpId(1);

/// A load that is awaited at once.
fn load_and_wait(b: &mut Build) -> Token {
    let load = b.load();
    b.wait(&[load]);
    load
}

#[test]
fn iterations_and_trip_counts_number_the_phases_of_loops() {
    let mut b = Build::new();
    let mut loads = vec![load_and_wait(&mut b)];
    b.for_(Trips::Counted, &[], |b, _| {
        b.for_(Trips::Constant(3), &[], |b, _| {
            loads.push(load_and_wait(b));
            Vec::new()
        });
        loads.push(load_and_wait(b));
        Vec::new()
    });
    loads.push(load_and_wait(&mut b));
    let steps = FirstSteps::new(&b.tree);
    let numbers = numbers(&steps, &steps.one_ring(), true);
    let (i, j) = (Symbol::Iteration(OUTER), Symbol::Iteration(INNER));
    let trips = Symbol::TripCount(OUTER);
    let expected = [
        expr(0, &[]),
        expr(1, &[(i, 4), (j, 1)]),
        expr(4, &[(i, 4)]),
        expr(1, &[(trips, 4)]),
    ];
    for (load, expected) in loads.into_iter().zip(expected) {
        assert_eq!(numbers.phase[steps.phase(load)], Some(expected));
    }
    assert_eq!(numbers.end[RingId(0)], Some(expr(2, &[(trips, 4)])));
    assert!(!numbers.unknown_numbers[RingId(0)]);
}

#[test]
fn a_ring_that_only_one_path_arms_is_counted() {
    let mut b = Build::new();
    let then = |b: &mut Build| {
        load_and_wait(b);
        Vec::new()
    };
    b.if_(then, |_| Vec::new());
    let steps = FirstSteps::new(&b.tree);
    let rings = steps.rings();
    // The one number is known; how many phases there were at the end matters only to who has to wait for them.
    assert!(!numbers(&steps, &rings, true).unknown_numbers[RingId(0)]);
    assert!(numbers(&steps, &rings, false).unknown_numbers[RingId(0)]);
    let next = load_and_wait(&mut b);
    let steps = FirstSteps::new(&b.tree);
    let numbers = numbers(&steps, &steps.one_ring(), true);
    assert_eq!(numbers.phase[steps.phase(next)], None);
    assert!(numbers.unknown_numbers[RingId(0)]);
}

#[test]
fn what_a_loop_carries_around_is_numbered_if_it_advances_with_the_arms() {
    for is_rotation in [true, false] {
        let mut b = Build::new();
        let inits = [b.load(), b.load()];
        let mut carried = Vec::new();
        let results = b.for_(Trips::Counted, &inits, |b, params| {
            carried = params.to_vec();
            b.wait(&params[..1]);
            let next = b.load();
            // Else the second argument is the newer one at first, and the older one from then on.
            if is_rotation {
                vec![params[1], next]
            } else {
                vec![next, params[0]]
            }
        });
        b.wait(&results[..1]);
        b.wait(&results[1..]);
        let steps = FirstSteps::new(&b.tree);
        let numbers = numbers(&steps, &steps.rings(), true);
        let number = |token: Token| match steps.value(token) {
            PhaseValue::Phi(phi) => numbers.phi[phi].clone(),
            PhaseValue::Opened(phase) => numbers.phase[phase].clone(),
        };
        if is_rotation {
            let (k, trips) = (Symbol::Iteration(OUTER), Symbol::TripCount(OUTER));
            let numbers = |tokens: Vec<Token>| tokens.into_iter().filter_map(number).collect::<Vec<_>>();
            assert_eq!(numbers(carried), [expr(0, &[(k, 1)]), expr(1, &[(k, 1)])]);
            assert_eq!(numbers(results), [expr(0, &[(trips, 1)]), expr(1, &[(trips, 1)])]);
        } else {
            let phi = steps.value(carried[0]);
            assert!(numbers.unknown_numbers[steps.rings().of(phi)]);
        }
    }
}

#[test]
fn what_paths_choose_from_has_a_number_if_it_is_the_same_on_all() {
    for is_same in [true, false] {
        let mut b = Build::new();
        let (x, y) = (b.load(), b.load());
        // Loads that are awaited inside stay there: each path opens one phase.
        let result = b.if_(
            |b| vec![if is_same { load_and_wait(b) } else { x }],
            |b| vec![if is_same { load_and_wait(b) } else { y }],
        );
        b.wait(&result);
        b.wait(&[x, y]);
        let steps = FirstSteps::new(&b.tree);
        let numbers = numbers(&steps, &steps.one_ring(), true);
        let PhaseValue::Phi(phi) = steps.value(result[0]) else {
            panic!("the paths bind different phases");
        };
        assert_eq!(numbers.unknown_numbers[RingId(0)], !is_same);
        // Nothing tells the two loads outside apart in one case: they share the phase with number 0.
        assert_eq!(numbers.phi[phi], is_same.then(|| expr(1, &[])));
    }
}

#[test]
fn a_remainder_by_no_power_of_two_is_expensive_where_a_counter_can_be_carried() {
    let is_expensive = |arms: u64, depth: u64, is_closed: bool| {
        let mut b = Build::new();
        b.for_(Trips::Counted, &[], |b, _| {
            for _ in 0..arms {
                load_and_wait(b);
            }
            Vec::new()
        });
        b.tree.region_ops[OUTER].closed = is_closed;
        let steps = FirstSteps::new(&b.tree);
        let mut rings = steps.one_ring();
        rings.depth[RingId(0)] = depth;
        numbers(&steps, &rings, true).expensive[RingId(0)]
    };
    assert!(!is_expensive(2, 4, false));
    assert!(is_expensive(2, 3, false));
    assert!(is_expensive(3, 4, false));
    assert!(!is_expensive(3, 3, true));
}

/// What the symbols of numbers are on a path.
#[derive(Default)]
struct Symbols(FxHashMap<Symbol, u64>);

impl Symbols {
    /// Takes an edge.
    fn edge(&mut self, op: RegionOpId, from: Option<usize>, to: Option<usize>) {
        let next = from.map_or(0, |_| self.0[&Symbol::Iteration(op)] + 1);
        let symbol = to.map_or(Symbol::TripCount(op), |_| Symbol::Iteration(op));
        self.0.insert(symbol, next);
    }

    fn value(&self, number: &AffineExpr) -> u64 {
        let terms = number.coefficients.iter();
        terms.fold(number.constant, |sum, (symbol, factor)| {
            sum + factor * self.0[symbol]
        })
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn known_numbers_are_how_often_the_ring_was_armed_before(tree in any_tree(ALL), is_joined in any::<bool>()) {
        let steps = FirstSteps::new(&tree);
        let rings = if is_joined { steps.one_ring() } else { steps.rings() };
        prop_assume!(rings.unallocated.is_empty());
        let numbers = numbers(&steps, &rings, false);
        let is_known = |ring: RingId| !numbers.unknown_numbers[ring];
        for path in steps.paths(3).unwrap_or_default() {
            let mut symbols = Symbols::default();
            let mut arms: IndexVec<RingId, u64> = IndexVec::filled(0, rings.depth.len());
            let mut opened = Vec::new();
            for event in path {
                match event {
                    Event::Open(phase, _) => {
                        let ring = rings.phase[phase];
                        if is_known(ring) {
                            let number = numbers.phase[phase].as_ref().map(|number| symbols.value(number));
                            prop_assert_eq!(number, Some(arms[ring]), "phase {}", phase);
                        }
                        opened.push(arms[ring]);
                        arms[ring] += 1;
                    }
                    Event::Edge(op, edge) => {
                        let edge = &steps.tree.region_ops[op].edges[edge];
                        symbols.edge(op, edge.from, edge.to);
                    }
                    Event::Bind(phi, instance) if is_known(rings.phi[phi]) => {
                        let number = numbers.phi[phi].as_ref().map(|number| symbols.value(number));
                        prop_assert_eq!(number, Some(opened[instance]), "phi {}", phi);
                    }
                    _ => {}
                }
            }
            for (ring, &arms) in arms.with_ids().filter(|(ring, _)| is_known(*ring)) {
                let end = numbers.end[ring].as_ref().map(|end| symbols.value(end));
                prop_assert_eq!(end, Some(arms), "ring {}", ring);
            }
        }
    }
}
