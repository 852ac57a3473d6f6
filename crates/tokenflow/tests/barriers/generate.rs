//! Random programs.

use super::kernels::{Index, Node, Program};
use proptest::prelude::*;
use std::ops::Range;
use tokenflow::barriers::AccessKind;

fn kind() -> impl Strategy<Value = AccessKind> {
    prop_oneof![
        4 => Just(AccessKind::Read),
        4 => Just(AccessKind::Write),
        1 => Just(AccessKind::Atomic),
    ]
}

/// An index within `loops` loops, with rotations or with iterations: a relation between the two is not worked out.
fn index(loops: usize, rotate: bool) -> BoxedStrategy<Index> {
    let plain = (0..2_i64, 0..3_i64).prop_map(|(thread, constant)| Index {
        thread,
        constant: constant * 2,
        ..Index::default()
    });
    if loops == 0 {
        return plain.boxed();
    }
    let rotation = (1..3_i64, 0..loops, 0..3_i64, 1..3_i64, 2..4_i64);
    let iteration = (1..3_i64, 0..loops);
    let rotating = (plain.clone(), rotation).prop_map(|(index, rotation)| Index {
        rotation: Some(rotation),
        ..index
    });
    let striding = (plain.clone(), iteration).prop_map(|(index, iteration)| Index {
        iteration: Some(iteration),
        ..index
    });
    let other = if rotate {
        rotating.boxed()
    } else {
        striding.boxed()
    };
    prop_oneof![1 => plain, 2 => other].boxed()
}

/// The tokens that are made within so many loops; they are not known outside.
fn tokens(loops: usize) -> Range<u32> {
    let first = 4 * u32::try_from(loops).expect("few loops");
    first..first + 4
}

/// An operation within `loops` loops.
fn op(loops: usize, rotate: bool) -> BoxedStrategy<Node> {
    let known = 0..tokens(loops).end;
    prop_oneof![
        6 => (index(loops, rotate), kind()).prop_map(|(index, kind)| Node::Access { index, kind }),
        2 => (index(loops, rotate), tokens(loops)).prop_map(|(index, token)| Node::Copy { index, token }),
        3 => prop::collection::vec(known, 1..3).prop_map(Node::Await),
        1 => Just(Node::Barrier),
    ]
    .boxed()
}

fn block((loops, depth): (usize, usize), rotate: bool, len: usize) -> BoxedStrategy<Vec<Node>> {
    if depth == 0 {
        return prop::collection::vec(op(loops, rotate), 0..=len).boxed();
    }
    let inner = |loops, len| block((loops, depth - 1), rotate, len);
    let branch = (inner(loops, 2), inner(loops, 2), prop::bool::weighted(0.2));
    let branch = branch.prop_map(|(then, other, divergent)| Node::If {
        then: accesses_alone(then, divergent),
        other: accesses_alone(other, divergent),
        divergent,
    });
    let carried = prop::collection::vec((0..tokens(loops).end, 0..tokens(loops + 1).end), 0..3);
    let max_trips = prop::option::weighted(0.3, 1..4_u64);
    let around = (inner(loops + 1, 4), carried, any::<bool>(), max_trips);
    let around = around.prop_map(move |(body, carried, at_least_once, max_trips)| Node::Loop {
        body,
        carried: carried
            .into_iter()
            .enumerate()
            .map(|(i, (init, next))| (init, tokens(loops).start + u32::try_from(i).expect("small"), next))
            .collect(),
        at_least_once,
        max_trips,
    });
    prop::collection::vec(
        prop_oneof![4 => op(loops, rotate), 1 => branch, 2 => around],
        0..=len,
    )
    .boxed()
}

/// Where threads are apart, there are accesses alone.
fn accesses_alone(mut nodes: Vec<Node>, divergent: bool) -> Vec<Node> {
    if divergent {
        nodes.retain(|node| matches!(node, Node::Access { .. }));
    }
    nodes
}

fn of(body: impl Strategy<Value = Vec<Node>>) -> impl Strategy<Value = Program> {
    (2..4_u32, body).prop_map(|(threads, body)| Program {
        threads,
        bytes: 64,
        body,
    })
}

pub fn straight() -> impl Strategy<Value = Program> {
    of(block((0, 0), false, 8))
}

pub fn program() -> impl Strategy<Value = Program> {
    of(any::<bool>().prop_flat_map(|rotate| block((0, 2), rotate, 4)))
}
