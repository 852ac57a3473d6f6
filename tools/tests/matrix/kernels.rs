//! From a description to a kernel in token form, its arguments, and what it has to leave in memory.

mod lines;
mod matmul;
mod panels;
mod persistent;
mod reductions;

use crate::describe::{Case, Kind};
use crate::ring::{Body, Issue, Loop, Ring};
use crate::text::Text;

/// An argument of a kernel.
#[derive(Clone)]
pub enum Arg {
    /// A buffer or tensor of f32, row by row.
    Buffer {
        /// Its sizes.
        sizes: Vec<usize>,
        /// What is in it.
        data: Vec<f32>,
    },
    /// A number.
    Index(usize),
}

impl Arg {
    /// A buffer of zeros.
    pub fn zero(sizes: &[usize]) -> Self {
        Self::Buffer {
            sizes: sizes.to_vec(),
            data: vec![0.0; sizes.iter().product()],
        }
    }

    /// A buffer of some numbers.
    pub fn of(sizes: &[usize], data: &[f32]) -> Self {
        Self::Buffer {
            sizes: sizes.to_vec(),
            data: data.to_vec(),
        }
    }
}

/// A kernel, how it is called, and what comes out.
pub struct Kernel {
    /// MLIR.
    pub source: String,
    /// The number of blocks that share the work. Only the first and the last are run: the others are like the first.
    pub blocks: usize,
    /// Buffers first, so that their numbers are those of the results.
    pub args: Vec<Arg>,
    /// The number of an argument, and what is in it afterwards.
    pub expected: (usize, Vec<f32>),
    /// The block that computes an element of it.
    pub owner: Box<dyn Fn(usize) -> usize>,
    /// How many mbarriers it takes.
    pub mbarriers: usize,
}

impl Kernel {
    /// Which blocks are run: how many, and the difference of their numbers.
    pub fn launch(&self) -> (usize, usize) {
        (self.blocks.min(2), (self.blocks - 1).max(1))
    }

    /// What is there after those blocks have run: zeros where another one would have written.
    pub fn left(&self) -> Vec<f32> {
        let (_, stride) = self.launch();
        let run = |block: usize| block == 0 || block == stride;
        let numbers = self.expected.1.iter().enumerate();
        numbers
            .map(|(i, &number)| if run((self.owner)(i)) { number } else { 0.0 })
            .collect()
    }
}

/// Eighths from -1 to 1, so that sums of their products are exact in any order.
pub fn numbers(count: usize, seed: usize) -> Vec<f32> {
    let mut state = u32::try_from(seed).unwrap_or(0).wrapping_mul(0x9E37_79B9) | 1;
    let mut next = || {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let eighths = i8::try_from(state % 17).unwrap_or(0) - 8;
        f32::from(eighths) / 8.0
    };
    (0..count).map(|_| next()).collect()
}

/// The kernel of a case.
pub fn kernel(case: &Case) -> Kernel {
    match case.kind {
        Kind::SingleBulk
        | Kind::SingleBulkUnrolled
        | Kind::SingleTma
        | Kind::SingleTmaUnrolled
        | Kind::SingleTmaUnswitched
        | Kind::BulkStore => lines::kernel(case),
        Kind::Several | Kind::Pointwise | Kind::PointwiseCpAsync | Kind::Persistent | Kind::TmaStore => {
            panels::kernel(case)
        }
        Kind::ReductionInner => reductions::inner(case),
        Kind::ReductionOuter => reductions::outer(case),
        Kind::InnerPersistent => persistent::kernel(case),
        Kind::Matmul => matmul::kernel(case),
    }
}

/// The ring of a case, with one token for each tile.
fn ring<'a>(case: &Case, tiles: &'a str, issue: &'a Issue<'a>, body: &'a Body<'a>) -> Ring<'a> {
    Ring {
        prefetch: case.prefetch,
        order: case.order,
        tail: case.tail,
        kind: Loop::For,
        tiles,
        full: None,
        tokens: 1,
        copies: false,
        meets: matches!(case.kind, Kind::TmaStore | Kind::BulkStore),
        issue,
        body,
    }
}

/// The type of a descriptor whose boxes have these sizes.
pub fn tile_type(sizes: &[usize]) -> String {
    format!(
        "!nvgpu.tensormap.descriptor<tensor = memref<{}xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = \
         none>",
        times(sizes)
    )
}

/// `2x3`
fn times(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    sizes.join("x")
}

/// The type of a part of workgroup memory, row by row, wherever it begins.
pub fn part_type(sizes: &[usize]) -> String {
    let strides: Vec<String> = (1..=sizes.len())
        .map(|i| sizes[i..].iter().product::<usize>().to_string())
        .collect();
    format!(
        "memref<{}xf32, strided<[{}], offset: ?>, #gpu.address_space<workgroup>>",
        times(sizes),
        strides.join(", ")
    )
}

/// The type of a buffer in workgroup memory.
pub fn buffer_type(sizes: &[usize]) -> String {
    format!("memref<{}xf32, #gpu.address_space<workgroup>>", times(sizes))
}

/// Writes which of `%share` times the blocks the block has: from `%start` to `%end`, `%tiles` of all there are.
fn share(text: &mut Text, all: &str) {
    text.line("%first = arith.muli %block, %share : index");
    text.line(format!("%start = arith.minui %first, {all} : index"));
    text.line("%behind = arith.addi %start, %share : index");
    text.line(format!("%end = arith.minui %behind, {all} : index"));
    text.line("%tiles = arith.subi %end, %start : index");
}
