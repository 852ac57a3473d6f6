//! A row is kept in workgroup memory until it is done: a loop issues its boxes, whose tokens are joined.
//!
//! To each box of a row, the sum of all its boxes is added, so that nothing can be written before all are there.

use super::{Arg, Kernel, buffer_type, numbers, part_type, ring, share, tile_type};
use crate::describe::Case;
use crate::text::{Text, Value};

/// The rows of a block.
const SHARE: usize = 32;

/// The kernel of a case.
pub fn kernel(case: &Case) -> Kernel {
    let width = (case.inner / 2).min(256);
    let boxes = case.inner / width;
    let lanes = width / case.threads;
    let (tile, part) = (tile_type(&[1, width]), part_type(&[1, width]));
    let buffer = buffer_type(&[case.stages, boxes, width]);
    let mut text = Text::default();
    header(&mut text, lanes);

    let place = |text: &mut Text, i: &str| {
        let stages = text.constant(case.stages);
        (text.index("remui", i, &stages), text.index("addi", "%start", i))
    };
    let issue = |text: &mut Text, i: &str| {
        let (slot, row) = place(text, i);
        let (zero, boxes, one) = (text.constant(0), text.constant(boxes), text.constant(1));
        let ready = Value::token(text.def("async.ready"));
        text.for_loop((&zero, &boxes, &one), &[ready], |text, k, token| {
            let width_of = text.constant(width);
            let column = text.index("muli", k, &width_of);
            let to = text.def(format!(
                "memref.subview %ring[{slot}, {k}, 0] [1, 1, {width}] [1, 1, 1] : {buffer} to {part}"
            ));
            let new = text.def(format!(
                "gpux.tma_load async %x[{row}, {column}], {to} : {tile}, {part}"
            ));
            vec![text.def(format!("async.join {}, {new}", token[0]))]
        })
    };
    let body = |text: &mut Text, i: &str, _: &[String], _: bool| {
        let (slot, row) = place(text, i);
        add_sum(text, lanes, (&slot, &row), [case.stages, boxes, width]);
        Vec::new()
    };
    let ring = ring(case, "%tiles", &issue, &body);
    ring.emit(&mut text, &[]);

    let (inner, x) = (case.inner, numbers(case.outer * case.inner, 1));
    let parameters = format!("%x: {tile}, %y: memref<?x?xf32>, %rows: index, %share: index");
    Kernel {
        source: text.kernel("", &parameters, &format!("%ring: {buffer}"), case.threads),
        blocks: case.outer.div_ceil(SHARE),
        owner: Box::new(move |i| i / (inner * SHARE)),
        expected: (1, expected(&x, case.inner, width)),
        args: vec![
            Arg::of(&[case.outer, case.inner], &x),
            Arg::zero(&[case.outer, case.inner]),
            Arg::Index(case.outer),
            Arg::Index(SHARE),
        ],
        mbarriers: ring.mbarriers(),
    }
}

/// Writes the thread's part of a row: the sum of all boxes, then each of them with that added.
fn add_sum(text: &mut Text, lanes: usize, (slot, row): (&str, &str), [stages, boxes, width]: [usize; 3]) {
    let buffer = buffer_type(&[stages, boxes, width]);
    let vector = format!("vector<{lanes}xf32>");
    let (zero, boxes, one) = (text.constant(0), text.constant(boxes), text.constant(1));
    let load = |text: &mut Text, k: &str| {
        text.def(format!(
            "vector.load %ring[{slot}, {k}, %lane] : {buffer}, {vector}"
        ))
    };
    let none = text.def(format!("arith.constant dense<0.0> : {vector}"));
    let none = Value::new(none, &*vector);
    let sum = text.for_loop((&zero, &boxes, &one), &[none], |text, k, sum| {
        let v = load(text, k);
        vec![text.def(format!("arith.addf {}, {v} : {vector}", sum[0]))]
    });
    text.for_loop((&zero, &boxes, &one), &[], |text, k, _| {
        let v = load(text, k);
        let v = text.def(format!("arith.addf {v}, {} : {vector}", sum[0]));
        let width = text.constant(width);
        let start = text.index("muli", k, &width);
        let column = text.index("addi", &start, "%lane");
        text.line(format!(
            "vector.store {v}, %y[{row}, {column}] : memref<?x?xf32>, {vector}"
        ));
        Vec::new()
    });
}

/// Each box of a row, with the sum of all of them added.
fn expected(x: &[f32], inner: usize, width: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(x.len());
    for row in x.chunks(inner) {
        let sum = |column: usize| row.iter().skip(column % width).step_by(width).sum::<f32>();
        out.extend((0..inner).map(|column| row[column] + sum(column)));
    }
    out
}

/// Where the thread's vectors begin in a box, and the rows of the block.
fn header(text: &mut Text, lanes: usize) {
    let lanes = text.constant(lanes);
    text.line("%thread = gpu.thread_id x");
    text.line(format!("%lane = arith.muli %thread, {lanes} : index"));
    share(text, "%rows");
}
