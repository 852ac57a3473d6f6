//! Products of A in registers, compared with sums: all types, in token form, counted and lowered.

use super::image::{Case, Image};
use super::products::{TYPES, bytes_of, bytes_of_sum, number};
use crate::kernel::{Call, context, count, lower, run};
use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::inputs::{Argument, Fill};
use async_sim::wgmma::{Major, Swizzle};

/// A product of `m` rows by `b.mn` columns.
#[derive(Clone, Copy, Debug)]
struct Shape {
    m: u64,
    b: Case,
}

/// What MLIR calls the elements of A in registers, the numbers that a thread has of it, and the elements of B.
fn names(ptx: &str) -> [&str; 3] {
    let name = match ptx {
        "tf32" => return ["tf32", "f32", "f32"],
        "e4m3" => "f8E4M3FN",
        "e5m2" => "f8E5M2",
        "s8" => "i8",
        "u8" => "ui8",
        other => other,
    };
    [name; 3]
}

fn bytes(bytes: Vec<u8>, kind: &str) -> Argument {
    Argument::Buffer {
        sizes: Vec::new(),
        fill: Fill::Bytes {
            bytes,
            kind: kind.into(),
        },
    }
}

/// What NumPy calls the elements.
fn kind(ptx: &str) -> &str {
    match ptx {
        "f16" => "<f2",
        "bf16" => "<u2",
        "tf32" => "<f4",
        "e4m3" | "e5m2" => "|u1",
        _ => "|i1",
    }
}

/// What the threads have of A, one after the other.
fn left(shape: Shape, ptx: &str) -> Argument {
    let (k, size) = (shape.b.k, shape.b.size);
    let pack = 4 / size;
    let of_thread = shape.m / 64 * k / 2;
    let mut held = vec![0; usize::try_from(128 * of_thread * size).unwrap_or(0)];
    for row in 0..shape.m {
        for column in 0..k {
            let thread = row % 64 / 16 * 32 + row % 8 * 4 + column / pack % 4;
            let register = row / 64 * k / (2 * pack) + column / (4 * pack) * 2 + row % 16 / 8;
            let at = thread * of_thread + register * pack + column % pack;
            let at = usize::try_from(at * size).unwrap_or(0);
            let mut bytes = bytes_of(ptx, number(ptx, (row, column)));
            if ptx == "tf32" {
                // The hardware does not look at the lower 13 bits.
                bytes[0] = 0xFF;
                bytes[1] |= 0x1F;
            }
            held[at..at + bytes.len()].copy_from_slice(&bytes);
        }
    }
    bytes(held, kind(ptx))
}

/// What lies in memory.
fn right(image: &Image, shape: Shape, ptx: &str) -> Argument {
    let Case { mn, k, size, .. } = shape.b;
    let mut held = vec![0; usize::try_from(mn * k * size).unwrap_or(0)];
    for (at, element) in &image.bytes {
        let number = bytes_of(ptx, number(ptx, *element));
        let at = usize::try_from(*at).unwrap_or(0);
        held[at..at + number.len()].copy_from_slice(&number);
    }
    bytes(held, kind(ptx))
}

/// A kernel that multiplies twice, and stores the numbers of every thread.
fn source(Shape { m, b }: Shape, [ta, tb, td]: [&str; 3]) -> String {
    let ([matrix, held, _], [.., tb]) = (names(ta), names(tb));
    let td = if td == "s32" { "i32" } else { td };
    let (n, k, pack) = (b.mn, b.k, 4 / b.size);
    // A box has rows of 128 bytes.
    let ([first, second], tile, transpose) = match b.major {
        Major::K => ([n, k], [n, k], " {transpose_b}"),
        Major::MN => ([k, n], [k, 64], ""),
    };
    let [rows, columns] = tile;
    let blocks = m / 64;
    let [of_a, of_d] = [blocks * k / 2, blocks * n / 2];
    let [numbers, sums] = [
        format!("{blocks}x{}x2x{pack}x{held}", k / (4 * pack)),
        format!("{blocks}x{}x2x2x{td}", n / 8),
    ];
    let zero = if td == "i32" { "0" } else { "0.0" };
    format!(
        "!tile = memref<{first}x{second}x{tb}, 3>
!map = !nvgpu.tensormap.descriptor<tensor = memref<{rows}x{columns}x{tb}, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, \
         interleave = none>
!b = !nvgpu.warpgroup.descriptor<tensor = !tile>
!a = !nvgpu.warpgroup.accumulator<fragmented = vector<{m}x{k}x{matrix}>>
!d = !nvgpu.warpgroup.accumulator<fragmented = vector<{m}x{n}x{td}>>
gpu.module @fragments {{
  gpu.func @products(%from: memref<128x{of_a}x{held}>, %tile: !tile, %out: memref<128x{of_d}x{td}>) kernel
      attributes {{known_block_size = array<i32: 128, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %map = ub.poison : !map
    %b = nvgpu.warpgroup.generate.descriptor %tile, %map : !tile, !map -> !b
    %line = vector.load %from[%t, %c0] : memref<128x{of_a}x{held}>, vector<{of_a}x{held}>
    %numbers = vector.shape_cast %line : vector<{of_a}x{held}> to vector<{numbers}>
    %a = gpux.write_fragment %numbers : vector<{numbers}> to !a
    %zeros = arith.constant dense<{zero}> : vector<{sums}>
    %zero = gpux.write_fragment %zeros : vector<{sums}> to !d
    %once, %t0 = gpux.wgmma async %a, %b, %zero{transpose} : !a, !b, !d
    %twice, %t1 = gpux.wgmma async %a, %b, %once{transpose} : !a, !b, !d
    async.await %t0, %t1
    %sums = gpux.read_fragment %twice : !d to vector<{sums}>
    %flat = vector.shape_cast %sums : vector<{sums}> to vector<{of_d}x{td}>
    vector.store %flat, %out[%t, %c0] : memref<128x{of_d}x{td}>, vector<{of_d}x{td}>
    gpu.return
  }}
}}
"
    )
}

/// Runs a product in each form, and compares it.
fn check(context: &Context, shape: Shape, types: [&str; 3]) {
    let image = shape.b.image();
    let zero = Argument::Buffer {
        sizes: Vec::new(),
        fill: Fill::Zero,
    };
    let arguments = [left(shape, types[0]), right(&image, shape, types[1]), zero];
    let call = Call {
        arguments: arguments.into_iter().map(Some).collect(),
        ..Call::of(128)
    };
    let tokens = source(shape, types);
    let counted = count(context, &tokens, "");
    let lowered = lower(context, &counted, "builtin.module(gpux-to-nvvm)");
    let width = bytes_of_sum(types[2], 0).len();
    for (form, source) in [("tokens", &tokens), ("counted", &counted), ("lowered", &lowered)] {
        let outcome = run(context, source, &call, Adversary::Late);
        assert!(
            outcome.is_clean(),
            "{form}: {types:?} {shape:?}: {}",
            outcome.findings
        );
        let n = shape.b.mn;
        for row in 0..shape.m {
            for column in 0..n {
                let products =
                    (0..shape.b.k).map(|k| number(types[0], (row, k)) * number(types[1], (column, k)));
                let expected = bytes_of_sum(types[2], 2 * products.sum::<i32>());
                let thread = row % 64 / 16 * 32 + row % 8 * 4 + column % 8 / 2;
                let i = row / 64 * n / 2 + column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
                let at = usize::try_from(thread * (shape.m / 64) * n / 2 + i).unwrap_or(0) * width;
                let found = &outcome.memory[2][at..at + width];
                assert_eq!(
                    found, expected,
                    "{form}: {types:?} {shape:?}: row {row}, column {column}"
                );
            }
        }
    }
}

#[test]
fn products_of_a_in_registers_are_sums_of_products() {
    let context = context();
    for types in TYPES {
        let size = bytes_of(types[0], 0).len() as u64;
        for (m, n) in [(64, 8), (128, 24), (64, 64), (128, 128), (64, 256)] {
            for major in [Major::K, Major::MN] {
                if major == Major::MN && (size != 2 || n % 64 != 0) {
                    continue;
                }
                let k = if major == Major::K { 128 / size } else { 48 };
                let b = Case {
                    major,
                    swizzle: Swizzle::B128,
                    mn: n,
                    k,
                    size,
                    gaps: [0, 0],
                    start: 0,
                };
                check(&context, Shape { m, b }, types);
            }
        }
    }
}
