//! Generates random programs.

use super::kernels::{InRow, Index, Node, Program, ROW};
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

/// What indices are made of. A relation between one kind and another is not worked out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Threads and constants. Trip counts may be known.
    Plain,
    /// Iterations.
    Striding,
    /// Rotations.
    Rotating,
    /// Rows that the outermost loop takes in turn, and places in them of which little is known.
    Rows,
    /// Constant rows, and places in them that change with the innermost loop or of which little is known.
    Columns,
}

/// An index within `loops` loops.
fn index(loops: usize, of: Kind) -> BoxedStrategy<Index> {
    let plain = (0..2_i64, 0..3_i64).prop_map(|(thread, constant)| Index {
        thread,
        constant: constant * 2,
        ..Index::default()
    });
    if matches!(of, Kind::Rows | Kind::Columns) {
        return in_row(loops, of);
    }
    if loops == 0 || of == Kind::Plain {
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
    let other = if of == Kind::Rotating {
        rotating.boxed()
    } else {
        striding.boxed()
    };
    prop_oneof![1 => plain, 2 => other].boxed()
}

/// An index of a row, and one in it.
fn in_row(loops: usize, of: Kind) -> BoxedStrategy<Index> {
    let plain = (0..2_i64, 0..3_i64).prop_map(|(thread, constant)| Index {
        thread,
        constant,
        ..Index::default()
    });
    let unknown = |in_row| Index {
        in_row: Some(in_row),
        ..Index::default()
    };
    let mut places = vec![
        plain.boxed(),
        Just(unknown(InRow::Anywhere)).boxed(),
        Just(unknown(InRow::Shifted)).boxed(),
    ];
    if loops > 0 && of == Kind::Columns {
        places.push(Just(unknown(InRow::Iteration)).boxed());
    }
    let rotation = (0..3_i64, 1..3_i64, 2..4_i64);
    let rotation = if loops > 0 && of == Kind::Rows {
        prop::option::weighted(0.7, rotation).boxed()
    } else {
        Just(None).boxed()
    };
    let row = (0..3_i64, rotation);
    (prop::strategy::Union::new(places), row)
        .prop_map(move |(index, (row, rotation))| Index {
            constant: index.constant + if rotation.is_some() { 0 } else { row * ROW },
            rotation: rotation.map(|(start, step, modulus)| (ROW, loops - 1, start, step, modulus)),
            ..index
        })
        .boxed()
}

/// The tokens that are made within so many loops; they are not known outside.
fn tokens(loops: usize) -> Range<u32> {
    let first = 4 * u32::try_from(loops).expect("few loops");
    first..first + 4
}

/// An operation within `loops` loops.
fn op(loops: usize, of: Kind) -> BoxedStrategy<Node> {
    let known = 0..tokens(loops).end;
    prop_oneof![
        6 => (index(loops, of), kind()).prop_map(|(index, kind)| Node::Access { index, kind }),
        2 => (index(loops, of), tokens(loops)).prop_map(|(index, token)| Node::Copy { index, token }),
        3 => prop::collection::vec(known, 1..3).prop_map(Node::Await),
        1 => Just(Node::Barrier),
    ]
    .boxed()
}

fn block((loops, depth): (usize, usize), of: Kind, len: usize) -> BoxedStrategy<Vec<Node>> {
    if depth == 0 {
        return prop::collection::vec(op(loops, of), 0..=len).boxed();
    }
    let inner = |loops, len| block((loops, depth - 1), of, len);
    let apart = u32::from(!matches!(of, Kind::Rows | Kind::Columns));
    let apart = prop_oneof![4 => Just(false), apart => Just(true)];
    let branch = (inner(loops, 2), inner(loops, 2), apart);
    let branch = branch.prop_map(|(then, other, divergent)| Node::If {
        then: accesses_alone(then, divergent),
        other: accesses_alone(other, divergent),
        divergent,
    });
    let carried = prop::collection::vec((0..tokens(loops).end, 0..tokens(loops + 1).end), 0..3);
    let trips = if of == Kind::Plain {
        let some = (0..4_u64, 0..2_u64).prop_map(|(least, more)| (least, Some((least + more).max(1))));
        prop_oneof![3 => some, 1 => (0..4_u64).prop_map(|least| (least, None))].boxed()
    } else {
        let max_trips = prop::option::weighted(0.3, 1..4_u64);
        (0..2_u64, max_trips).boxed()
    };
    let around = (inner(loops + 1, 4), carried, trips);
    let around = around.prop_map(move |(body, carried, (min_trips, max_trips))| Node::Loop {
        body,
        carried: carried
            .into_iter()
            .enumerate()
            .map(|(i, (init, next))| (init, tokens(loops).start + u32::try_from(i).expect("small"), next))
            .collect(),
        min_trips,
        max_trips,
    });
    prop::collection::vec(prop_oneof![4 => op(loops, of), 1 => branch, 2 => around], 0..=len).boxed()
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
        starts: 1,
        body,
    })
}

pub fn straight() -> impl Strategy<Value = Program> {
    of(block((0, 0), Kind::Plain, 8))
}

pub fn program() -> impl Strategy<Value = Program> {
    let kind = prop_oneof![Just(Kind::Striding), Just(Kind::Rotating)];
    of(kind.prop_flat_map(|kind| block((0, 2), kind, 4)))
}

/// Places in rows of which little is known.
pub fn rows() -> impl Strategy<Value = Program> {
    let kind = prop_oneof![2 => Just(Kind::Rows), 1 => Just(Kind::Columns)];
    of(kind.prop_flat_map(|kind| block((0, 2), kind, 4)))
}

pub fn counted() -> impl Strategy<Value = Program> {
    of(block((0, 2), Kind::Plain, 4))
}

/// A loop within another one, whose slots go on from where they were left.
pub fn persistent() -> impl Strategy<Value = Program> {
    (1..3_i64, 1..3_i64, 2..4_i64).prop_flat_map(|(factor, step, modulus)| {
        let index = (0..2_i64, 0..3_i64).prop_map(move |(thread, plus)| Index {
            thread,
            turning: Some((factor, plus, step, modulus)),
            ..Index::default()
        });
        let op = prop_oneof![
            8 => (index, kind()).prop_map(|(index, kind)| Node::Access { index, kind }),
            1 => Just(Node::Barrier),
        ];
        let inner = prop::collection::vec(op, 1..5);
        let trips = || (0..3_u64, 0..3_u64).prop_map(|(least, more)| (least, (least + more).max(1)));
        (2..4_u32, inner, trips(), trips()).prop_map(move |(threads, inner, of_inner, of_outer)| {
            let around = |body, (min_trips, max_trips)| Node::Loop {
                body,
                carried: Vec::new(),
                min_trips,
                max_trips: Some(max_trips),
            };
            Program {
                threads,
                bytes: 64,
                starts: modulus,
                body: vec![around(vec![around(inner, of_inner)], of_outer)],
            }
        })
    })
}
