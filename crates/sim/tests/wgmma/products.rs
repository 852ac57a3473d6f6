//! Products of matrices that lie in memory as their descriptors say, compared with sums: all types and shapes, each in some
//! mode.

use super::image::{Case, Image};
use crate::kernel::{Call, Outcome, context, execute, parse};
use async_mlir::melior::Context;
use async_sim::adversary::Adversary;
use async_sim::inputs::{Argument, Fill};
use async_sim::wgmma::{Major, Swizzle};
use std::fmt::Write;

/// The types of A, B and D.
pub const TYPES: [[&str; 3]; 12] = [
    ["f16", "f16", "f32"],
    ["f16", "f16", "f16"],
    ["bf16", "bf16", "f32"],
    ["tf32", "tf32", "f32"],
    ["e4m3", "e4m3", "f32"],
    ["e5m2", "e4m3", "f16"],
    ["e4m3", "e5m2", "f32"],
    ["e5m2", "e5m2", "f16"],
    ["s8", "s8", "s32"],
    ["s8", "u8", "s32"],
    ["u8", "s8", "s32"],
    ["u8", "u8", "s32"],
];

/// The bytes of a number from -3 to 3; of integers, of any that fits.
pub fn bytes_of(ptx: &str, number: i32) -> Vec<u8> {
    let magnitude = number.unsigned_abs() as usize;
    let float = |bits: [u32; 4], width: usize| {
        let sign = if number < 0 { 1 << (8 * width - 1) } else { 0 };
        (bits[magnitude] | sign).to_le_bytes()[..width].to_vec()
    };
    match ptx {
        "f16" => float([0, 0x3C00, 0x4000, 0x4200], 2),
        "bf16" => float([0, 0x3F80, 0x4000, 0x4040], 2),
        "tf32" => float([0, 0x3F80_0000, 0x4000_0000, 0x4040_0000], 4),
        "e4m3" => float([0, 0x38, 0x40, 0x44], 1),
        "e5m2" => float([0, 0x3C, 0x40, 0x42], 1),
        _ => number.to_le_bytes()[..1].to_vec(),
    }
}

/// The bytes of a sum.
pub fn bytes_of_sum(ptx: &str, sum: i32) -> Vec<u8> {
    match ptx {
        "f16" => half::f16::from_f64(sum.into()).to_le_bytes().to_vec(),
        "s32" => sum.to_le_bytes().to_vec(),
        _ => f32::from(i16::try_from(sum).unwrap_or(0)).to_le_bytes().to_vec(),
    }
}

/// A number for each element, which differs from its neighbors'.
pub fn number(ptx: &str, (mn, k): (u64, u64)) -> i32 {
    let mixed = (mn * 37 + k * 101 + mn * k * 13) % 7;
    let number = i32::try_from(mixed).unwrap_or(0) - 3;
    // These would be negative if they had a sign.
    if ptx == "u8" { 250 + number.abs() } else { number }
}

/// An argument that holds a matrix.
fn argument(image: &Image, ptx: &str) -> (Argument, usize) {
    let end = image.bytes.keys().max().map_or(0, |last| last + 16);
    let size = usize::try_from(end).unwrap_or(0).next_multiple_of(16);
    let mut bytes = vec![0; size];
    for (at, element) in &image.bytes {
        let number = bytes_of(ptx, number(ptx, *element));
        let at = usize::try_from(*at).unwrap_or(0);
        bytes[at..at + number.len()].copy_from_slice(&number);
    }
    let sizes = vec![i64::try_from(size).unwrap_or(0)];
    let fill = Fill::Bytes {
        bytes,
        kind: "|i1".into(),
    };
    (Argument::Buffer { sizes, fill }, size)
}

/// The instruction `matrix` that makes the descriptor of `%operand`.
fn descriptor(text: &mut String, operand: &str, image: &Image, size: usize) {
    let mut rest = image.descriptor;
    rest.start = 0;
    let (rest, start) = (rest.encode().cast_signed(), image.descriptor.start);
    let _ = write!(
        text,
        "    %p{operand} = memref.extract_aligned_pointer_as_index %{operand} : memref<{size}xi8, 3> -> index
    %i{operand} = arith.index_cast %p{operand} : index to i64
    %o{operand} = arith.constant {start} : i64
    %s{operand} = arith.addi %i{operand}, %o{operand} : i64
    %e{operand} = arith.shrui %s{operand}, %four : i64
    %r{operand} = arith.constant {rest} : i64
    %d{operand} = arith.ori %e{operand}, %r{operand} : i64
"
    );
}

/// A kernel that multiplies twice, and stores the registers of every thread.
fn source([a, b]: [&Case; 2], images: [(&Image, usize); 2], [ta, tb, td]: [&str; 3]) -> String {
    let (n, k) = (b.mn, 32 / a.size);
    let (register, count) = match td {
        "f32" => ("f32", n / 2),
        "f16" => ("i32", n / 4),
        _ => ("i32", n / 2),
    };
    let members = vec![register; usize::try_from(count).unwrap_or(0)].join(", ");
    let [(image_a, size_a), (image_b, size_b)] = images;
    let out = format!("memref<128x{count}x{register}>");
    let mut text = format!(
        "!d = !llvm.struct<({members})>
gpu.module @wgmma {{
  gpu.func @products(%a: memref<{size_a}xi8, 3>, %b: memref<{size_b}xi8, 3>, %out: {out}) kernel
      attributes {{known_block_size = array<i32: 128, 1, 1>}} {{
    %t = gpu.thread_id x
    %four = arith.constant 4 : i64
"
    );
    descriptor(&mut text, "a", image_a, size_a);
    descriptor(&mut text, "b", image_b, size_b);
    let layout = |major, k_major, other| if major == Major::K { k_major } else { other };
    let (rows, columns) = (layout(a.major, "row", "col"), layout(b.major, "col", "row"));
    text += "    %zero = llvm.mlir.zero : !d\n    nvvm.wgmma.fence.aligned\n";
    for (to, from, scale) in [("once", "zero", "zero"), ("twice", "once", "one")] {
        let _ = writeln!(
            text,
            "    %{to} = nvvm.wgmma.mma_async %da, %db, %{from}, <m = 64, n = {n}, k = {k}>, D [<{td}>, <{scale}>], \
             A [<{ta}>, <one>, <{rows}>], B [<{tb}>, <one>, <{columns}>] : !d -> !d"
        );
    }
    text += "    nvvm.wgmma.commit.group.sync.aligned\n    nvvm.wgmma.wait.group.sync.aligned 0\n";
    for i in 0..count {
        let _ = writeln!(
            text,
            "    %c{i} = arith.constant {i} : index\n    %x{i} = llvm.extractvalue %twice[{i}] : !d
    memref.store %x{i}, %out[%t, %c{i}] : {out}"
        );
    }
    text + "    gpu.return\n  }\n}\n"
}

/// Runs a product, and compares it.
fn check(context: &Context, [a, b]: [&Case; 2], types: [&str; 3]) {
    let images = [a.image(), b.image()];
    let (left, size_a) = argument(&images[0], types[0]);
    let (right, size_b) = argument(&images[1], types[1]);
    let code = parse(
        context,
        &source([a, b], [(&images[0], size_a), (&images[1], size_b)], types),
    );
    let zero = Argument::Buffer {
        sizes: Vec::new(),
        fill: Fill::Zero,
    };
    let call = Call {
        arguments: vec![Some(left), Some(right), Some(zero)],
        ..Call::of(128)
    };
    let outcome: Outcome = execute(&code, &call, Adversary::Late);
    assert!(outcome.is_clean(), "{types:?} {a:?} {b:?}: {}", outcome.findings);
    let width = bytes_of_sum(types[2], 0).len();
    for row in 0..64 {
        for column in 0..b.mn {
            let products = (0..a.k).map(|k| number(types[0], (row, k)) * number(types[1], (column, k)));
            let expected = bytes_of_sum(types[2], 2 * products.sum::<i32>());
            let thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
            let i = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
            let at = usize::try_from(thread * b.mn / 2 + i).unwrap_or(0) * width;
            let found = &outcome.memory[2][at..at + width];
            assert_eq!(
                found, expected,
                "{types:?} {a:?} {b:?}: row {row}, column {column}"
            );
        }
    }
}

#[test]
fn products_are_sums_of_products() {
    let context = context();
    let swizzles = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];
    let mut number = 0;
    for types in TYPES {
        let size = bytes_of(types[0], 0).len() as u64;
        for n in (8..=256).step_by(8) {
            // There are fewer shapes for integers.
            if types[2] == "s32" && n > 32 && n % 16 != 0 {
                continue;
            }
            let major = |which: usize| match size {
                2 if which % 2 == 1 => Major::MN,
                _ => Major::K,
            };
            let case = |mn: u64, mode: usize, transposed: usize| Case {
                major: major(transposed),
                swizzle: swizzles[mode % 4],
                mn,
                k: 32 / size,
                size,
                gaps: [(mode % 2) as u64, 0],
                start: 1024 * (mode % 3) as u64,
            };
            let (a, b) = (case(64, number / 4, number / 2), case(n, number, number));
            check(&context, [&a, &b], types);
            number += 1;
        }
    }
    assert!(number > 300, "only {number} products");
}
