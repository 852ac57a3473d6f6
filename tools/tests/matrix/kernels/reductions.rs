//! Sums in registers: along rows, and down columns.

use super::{Arg, Kernel, buffer_type, numbers, part_type, ring, tile_type};
use crate::describe::Case;
use crate::text::{Text, Value};

/// The columns of a tile of which a thread sums up a row.
const COLUMNS: usize = 16;
/// The elements that a thread takes at once there.
const LANES: usize = 8;
/// The rows of a tile of which a thread sums up columns.
const ROWS: usize = 8;

/// Sums of rows: a thread has a row, and the loop goes across.
pub fn inner(case: &Case) -> Kernel {
    let rows = case.threads;
    let sizes = [rows, COLUMNS];
    let (tile, part) = (tile_type(&sizes), part_type(&sizes));
    let buffer = buffer_type(&[case.stages, case.threads, COLUMNS]);
    let vector = format!("vector<{LANES}xf32>");
    let mut text = Text::default();
    let (height, columns) = (text.constant(rows), text.constant(COLUMNS));
    text.line("%thread = gpu.thread_id x");
    text.line(format!("%first = arith.muli %block, {height} : index"));
    text.line(format!("%tiles = arith.divui %columns, {columns} : index"));

    let issue = |text: &mut Text, i: &str| {
        let (stages, columns) = (text.constant(case.stages), text.constant(COLUMNS));
        let slot = text.index("remui", i, &stages);
        let column = text.index("muli", i, &columns);
        let to = text.def(format!(
            "memref.subview %ring[{slot}, 0, 0] [1, {rows}, {COLUMNS}] [1, 1, 1] : {buffer} to {part}"
        ));
        vec![text.def(format!(
            "gpux.tma_load async %x[%first, {column}], {to} : {tile}, {part}"
        ))]
    };
    let body = |text: &mut Text, i: &str, carried: &[String], _: bool| {
        let stages = text.constant(case.stages);
        let slot = text.index("remui", i, &stages);
        let mut sum = carried[0].clone();
        for start in (0..COLUMNS).step_by(LANES) {
            let start = text.constant(start);
            let v = text.def(format!(
                "vector.load %ring[{slot}, %thread, {start}] : {buffer}, {vector}"
            ));
            sum = text.def(format!("arith.addf {sum}, {v} : {vector}"));
        }
        vec![sum]
    };
    let ring = ring(case, "%tiles", &issue, &body);
    let zero = text.def(format!("arith.constant dense<0.0> : {vector}"));
    let sums = ring.emit(&mut text, &[Value::new(zero, &*vector)]);
    store_row(&mut text, &sums[0]);

    let parameters = format!("%x: {tile}, %y: memref<?xf32>, %rows: index, %columns: index");
    let x = numbers(case.outer * case.inner, 1);
    Kernel {
        source: text.kernel("", &parameters, &format!("%ring: {buffer}"), case.threads),
        blocks: case.outer.div_ceil(case.threads),
        owner: Box::new(move |row| row / rows),
        expected: (1, x.chunks(case.inner).map(|row| row.iter().sum()).collect()),
        args: vec![
            Arg::of(&[case.outer, case.inner], &x),
            Arg::zero(&[case.outer]),
            Arg::Index(case.outer),
            Arg::Index(case.inner),
        ],
        mbarriers: ring.mbarriers(),
    }
}

/// Adds up the elements of a vector, and stores the sum of the thread's row.
fn store_row(text: &mut Text, sums: &Value) {
    let mut lane = |lane| {
        text.def(format!(
            "vector.extract {}[{lane}] : f32 from {}",
            sums.name, sums.kind
        ))
    };
    let mut sum = lane(0);
    let lanes: Vec<String> = (1..LANES).map(lane).collect();
    for lane in lanes {
        sum = text.def(format!("arith.addf {sum}, {lane} : f32"));
    }
    let row = text.index("addi", "%first", "%thread");
    let inside = text.less(&row, "%rows");
    text.if_then(&inside, |text| {
        text.line(format!("memref.store {sum}, %y[{row}] : memref<?xf32>"));
    });
}

/// Sums of columns: a thread has some next to one another, and the loop goes down. Rows beyond the last one are zeros.
pub fn outer(case: &Case) -> Kernel {
    // The widest box that there is.
    let columns = case.inner.min(256);
    let lanes = columns / case.threads;
    let sizes = [ROWS, columns];
    let (tile, part) = (tile_type(&sizes), part_type(&sizes));
    let buffer = buffer_type(&[case.stages, ROWS, columns]);
    let vector = format!("vector<{lanes}xf32>");
    let mut text = Text::default();
    let (width, rows, of_thread) = (text.constant(columns), text.constant(ROWS), text.constant(lanes));
    text.line("%thread = gpu.thread_id x");
    text.line(format!("%first = arith.muli %block, {width} : index"));
    text.line(format!("%lane = arith.muli %thread, {of_thread} : index"));
    text.line(format!("%tiles = arith.ceildivui %rows, {rows} : index"));

    let issue = |text: &mut Text, i: &str| {
        let (stages, rows) = (text.constant(case.stages), text.constant(ROWS));
        let slot = text.index("remui", i, &stages);
        let row = text.index("muli", i, &rows);
        let to = text.def(format!(
            "memref.subview %ring[{slot}, 0, 0] [1, {ROWS}, {columns}] [1, 1, 1] : {buffer} to {part}"
        ));
        vec![text.def(format!(
            "gpux.tma_load async %x[{row}, %first], {to} : {tile}, {part}"
        ))]
    };
    let body = |text: &mut Text, i: &str, carried: &[String], _: bool| {
        let stages = text.constant(case.stages);
        let slot = text.index("remui", i, &stages);
        let (zero, rows, one) = (text.constant(0), text.constant(ROWS), text.constant(1));
        let sum = Value::new(&*carried[0], &*vector);
        text.for_loop((&zero, &rows, &one), &[sum], |text, r, sum| {
            let v = text.def(format!(
                "vector.load %ring[{slot}, {r}, %lane] : {buffer}, {vector}"
            ));
            vec![text.def(format!("arith.addf {}, {v} : {vector}", sum[0]))]
        })
    };
    let ring = ring(case, "%tiles", &issue, &body);
    let zero = text.def(format!("arith.constant dense<0.0> : {vector}"));
    let sums = ring.emit(&mut text, &[Value::new(zero, &*vector)]);
    let column = text.index("addi", "%first", "%lane");
    text.line(format!(
        "vector.store {}, %y[{column}] : memref<?xf32>, {vector}",
        sums[0].name
    ));

    let parameters = format!("%x: {tile}, %y: memref<?xf32>, %rows: index");
    let x = numbers(case.outer * case.inner, 1);
    let mut expected = vec![0.0; case.inner];
    for row in x.chunks(case.inner) {
        expected.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    Kernel {
        source: text.kernel("", &parameters, &format!("%ring: {buffer}"), case.threads),
        blocks: case.inner / columns,
        owner: Box::new(move |column| column / columns),
        expected: (1, expected),
        args: vec![
            Arg::of(&[case.outer, case.inner], &x),
            Arg::zero(&[case.inner]),
            Arg::Index(case.outer),
        ],
        mbarriers: ring.mbarriers(),
    }
}
