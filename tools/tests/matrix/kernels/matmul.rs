//! `C = A * B`: a thread has a row of A and of C, and the loop goes along K.

use super::{Arg, Kernel, buffer_type, numbers, part_type, ring, tile_type};
use crate::describe::Case;
use crate::text::{Text, Value};

/// The columns of B and C.
const N: usize = 8;
/// How much of K a tile has.
const K: usize = 16;

/// The kernel of a case: the outer size is that of M, and the inner one of K.
pub fn kernel(case: &Case) -> Kernel {
    let vector = format!("vector<{N}xf32>");
    let (a_tile, b_tile) = (tile_type(&[case.threads, K]), tile_type(&[K, N]));
    let a_ring = buffer_type(&[case.stages, case.threads, K]);
    let b_ring = buffer_type(&[case.stages, K, N]);
    let mut text = Text::default();
    let k = text.constant(K);
    text.line("%thread = gpu.thread_id x");
    let rows = text.constant(case.threads);
    text.line(format!("%first = arith.muli %block, {rows} : index"));
    text.line(format!("%tiles = arith.divui %depth, {k} : index"));

    let issue = |text: &mut Text, i: &str| issue(text, case, i);
    let body = |text: &mut Text, i: &str, sum: &[String], _: bool| multiply(text, case, i, &sum[0]);
    let mut ring = ring(case, "%tiles", &issue, &body);
    ring.tokens = 2;
    let zero = text.def(format!("arith.constant dense<0.0> : {vector}"));
    let sums = ring.emit(&mut text, &[Value::new(zero, &*vector)]);
    let row = text.index("addi", "%first", "%thread");
    let inside = text.less(&row, "%rows");
    text.if_then(&inside, |text| {
        let zero = text.constant(0);
        let sum = &sums[0].name;
        text.line(format!(
            "vector.store {sum}, %c[{row}, {zero}] : memref<?x{N}xf32>, {vector}"
        ));
    });

    let threads = case.threads;
    let (a, b) = (numbers(case.outer * case.inner, 1), numbers(case.inner * N, 2));
    let parameters =
        format!("%a: {a_tile}, %b: {b_tile}, %c: memref<?x{N}xf32>, %rows: index, %depth: index");
    Kernel {
        source: text.kernel(
            "",
            &parameters,
            &format!("%as: {a_ring}, %bs: {b_ring}"),
            case.threads,
        ),
        blocks: case.outer.div_ceil(case.threads),
        owner: Box::new(move |i| i / (threads * N)),
        expected: (2, product(case, &a, &b)),
        args: vec![
            Arg::of(&[case.outer, case.inner], &a),
            Arg::of(&[case.inner, N], &b),
            Arg::zero(&[case.outer, N]),
            Arg::Index(case.outer),
            Arg::Index(case.inner),
        ],
        mbarriers: ring.mbarriers(),
    }
}

/// Writes the loads of both tiles of step `i`.
fn issue(text: &mut Text, case: &Case, i: &str) -> Vec<String> {
    let stages = case.stages;
    let (depth, k, zero) = (text.constant(stages), text.constant(K), text.constant(0));
    let slot = text.index("remui", i, &depth);
    let start = text.index("muli", i, &k);
    let mut load = |from: &str, to: &str, [rows, columns]: [usize; 2]| {
        let ring = buffer_type(&[stages, rows, columns]);
        let (tile, part) = (tile_type(&[rows, columns]), part_type(&[rows, columns]));
        let to = text.def(format!(
            "memref.subview {to}[{slot}, 0, 0] [1, {rows}, {columns}] [1, 1, 1] : {ring} to {part}"
        ));
        text.def(format!("gpux.tma_load async {from}, {to} : {tile}, {part}"))
    };
    vec![
        load(&format!("%a[%first, {start}]"), "%as", [case.threads, K]),
        load(&format!("%b[{start}, {zero}]"), "%bs", [K, N]),
    ]
}

/// Writes the thread's part of step `i`, which is added to `sum`.
fn multiply(text: &mut Text, case: &Case, i: &str, sum: &str) -> Vec<String> {
    let stages = case.stages;
    let (a_ring, b_ring) = (
        buffer_type(&[stages, case.threads, K]),
        buffer_type(&[stages, K, N]),
    );
    let vector = format!("vector<{N}xf32>");
    let depth = text.constant(stages);
    let slot = text.index("remui", i, &depth);
    let (zero, k, one) = (text.constant(0), text.constant(K), text.constant(1));
    text.for_loop((&zero, &k, &one), &[Value::new(sum, &*vector)], |text, k, sum| {
        let a = text.def(format!("memref.load %as[{slot}, %thread, {k}] : {a_ring}"));
        let a = text.def(format!("vector.broadcast {a} : f32 to {vector}"));
        let b = text.def(format!(
            "vector.load %bs[{slot}, {k}, {zero}] : {b_ring}, {vector}"
        ));
        let product = text.def(format!("arith.mulf {a}, {b} : {vector}"));
        vec![text.def(format!("arith.addf {}, {product} : {vector}", sum[0]))]
    })
}

/// The product.
fn product(case: &Case, a: &[f32], b: &[f32]) -> Vec<f32> {
    let mut c = vec![0.0; case.outer * N];
    for (m, row) in a.chunks(case.inner).enumerate() {
        for (k, a) in row.iter().enumerate() {
            for n in 0..N {
                c[m * N + n] += a * b[k * N + n];
            }
        }
    }
    c
}
