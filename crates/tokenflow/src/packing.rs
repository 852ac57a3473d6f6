//! Packs buffers into one allocation: assigns offsets.
//!
//! This is dynamic storage allocation: each buffer gets an offset that is a multiple of its alignment, so that buffers that
//! interfere don't overlap and the end of the last one is as small as possible. The problem is NP-hard. First fit in several
//! orders gives a layout; a branch and bound search with a budget improves it, and is exact for few buffers (`search.rs`).
//!
//! Which buffers interfere is worked out in [`lifetimes`].
//!
//! Cost of first fit: each buffer sorts those of its neighbors that are placed, so that all together take
//! O(I log I) for I pairs of interfering buffers.

pub mod flow_graph;
mod in_flight;
pub mod lifetimes;
mod liveness;
mod search;

use std::cmp::Reverse;

/// A buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// How large it is.
    pub bytes: u64,
    /// What its offset is a multiple of; not 0.
    pub alignment: u64,
}

/// Buffers, and which of them may not overlap.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// Pairs of buffers that interfere, in any order.
    pub interference: Vec<(usize, usize)>,
}

/// Where buffers are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The offset of each buffer.
    pub offsets: Vec<u64>,
    /// The end of the last one.
    pub bytes: u64,
}

impl Layout {
    fn of(problem: &Problem, offsets: Vec<u64>) -> Self {
        let ends = offsets.iter().zip(&problem.buffers);
        let bytes = ends.map(|(offset, buffer)| offset.saturating_add(buffer.bytes));
        Self {
            bytes: bytes.max().unwrap_or(0),
            offsets,
        }
    }

    /// Checks the layout.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn verify(&self, problem: &Problem) -> Result<(), String> {
        if self.offsets.len() != problem.buffers.len() {
            return Err("a buffer has no offset".to_owned());
        }
        for (i, (&offset, buffer)) in self.offsets.iter().zip(&problem.buffers).enumerate() {
            if offset % buffer.alignment != 0 {
                return Err(format!(
                    "buffer {i} at {offset} is not aligned to {}",
                    buffer.alignment
                ));
            }
            if offset
                .checked_add(buffer.bytes)
                .is_none_or(|end| end > self.bytes)
            {
                return Err(format!("buffer {i} at {offset} ends after all others"));
            }
        }
        for &(a, b) in &problem.interference {
            let starts_before_end_of =
                |a: usize, b: usize| self.offsets[a] < self.offsets[b] + problem.buffers[b].bytes;
            let empty = problem.buffers[a].bytes == 0 || problem.buffers[b].bytes == 0;
            if a != b && !empty && starts_before_end_of(a, b) && starts_before_end_of(b, a) {
                return Err(format!("buffers {a} and {b} interfere and overlap"));
            }
        }
        Ok(())
    }
}

/// Lays out the buffers of `problem`. The search takes at most `budget` steps: 200 000 are enough for all layouts of eight
/// buffers.
///
/// # Panics
///
/// If an alignment is 0, or the buffers of an interfering pair don't exist.
#[must_use]
pub fn pack(problem: &Problem, budget: u32) -> Layout {
    let neighbors = Neighbors::of(problem);
    let mut best = in_order(problem, &neighbors, &by_decreasing_size(problem));
    let mut consider = |layout: Layout| {
        if layout.bytes < best.bytes {
            best = layout;
        }
    };
    for order in orders(problem, &neighbors) {
        consider(in_order(problem, &neighbors, &order));
    }
    let best = settle(problem, &neighbors, best);
    search::improve(problem, &neighbors, best, budget)
}

/// First fit by decreasing size, which [`pack`] is never worse than.
#[must_use]
pub fn first_fit_decreasing(problem: &Problem) -> Layout {
    in_order(problem, &Neighbors::of(problem), &by_decreasing_size(problem))
}

fn by_decreasing_size(problem: &Problem) -> Vec<usize> {
    let mut order: Vec<usize> = (0..problem.buffers.len()).collect();
    order.sort_by_key(|&b| Reverse(problem.buffers[b].bytes));
    order
}

/// Other orders in which first fit often does well.
fn orders(problem: &Problem, neighbors: &Neighbors) -> Vec<Vec<usize>> {
    let bytes = |b: usize| problem.buffers[b].bytes;
    // How much has to be beside a buffer.
    let crowd: Vec<u64> = (0..problem.buffers.len())
        .map(|b| {
            let beside = neighbors.of_buffer(b).iter().map(|&other| bytes(other));
            beside.fold(bytes(b), u64::saturating_add)
        })
        .collect();
    let given: Vec<usize> = (0..problem.buffers.len()).collect();
    let mut by_alignment = given.clone();
    by_alignment.sort_by_key(|&b| Reverse((problem.buffers[b].alignment, bytes(b))));
    let mut by_crowd = given.clone();
    by_crowd.sort_by_key(|&b| Reverse((crowd[b], bytes(b))));
    vec![given, by_alignment, by_crowd]
}

/// First fit again, from the lowest buffer to the highest, until nothing moves: no buffer gets higher.
fn settle(problem: &Problem, neighbors: &Neighbors, mut layout: Layout) -> Layout {
    const ROUNDS: usize = 8;
    for _ in 0..ROUNDS {
        let mut order: Vec<usize> = (0..problem.buffers.len()).collect();
        order.sort_by_key(|&b| layout.offsets[b]);
        let next = in_order(problem, neighbors, &order);
        if next.bytes >= layout.bytes {
            break;
        }
        layout = next;
    }
    layout
}

fn in_order(problem: &Problem, neighbors: &Neighbors, order: &[usize]) -> Layout {
    let mut placed = vec![None; problem.buffers.len()];
    for &b in order {
        placed[b] = Some(lowest(problem, neighbors, &placed, b));
    }
    let offsets = placed.into_iter().map(|offset| offset.unwrap_or(0));
    Layout::of(problem, offsets.collect())
}

/// The lowest offset of buffer `b` at which it overlaps no neighbor that is placed.
fn lowest(problem: &Problem, neighbors: &Neighbors, placed: &[Option<u64>], b: usize) -> u64 {
    let Buffer { bytes, alignment } = problem.buffers[b];
    let others = neighbors.of_buffer(b).iter();
    let mut taken: Vec<(u64, u64)> = others
        .filter_map(|&other| {
            let (start, bytes) = (placed[other]?, problem.buffers[other].bytes);
            (bytes > 0).then(|| (start, start.saturating_add(bytes)))
        })
        .collect();
    taken.sort_unstable();
    let mut offset: u64 = 0;
    for (start, end) in taken {
        if offset.saturating_add(bytes) <= start {
            break;
        }
        offset = offset.max(align_up(end, alignment));
    }
    offset
}

/// The first multiple of `alignment` that is not below `offset`.
fn align_up(offset: u64, alignment: u64) -> u64 {
    offset.div_ceil(alignment).saturating_mul(alignment)
}

/// Which buffers each buffer interferes with.
struct Neighbors {
    /// Where the neighbors of each buffer begin in `all`, and where those of the last one end.
    starts: Vec<usize>,
    all: Vec<usize>,
}

impl Neighbors {
    fn of(problem: &Problem) -> Self {
        let mut pairs: Vec<(usize, usize)> = Vec::with_capacity(2 * problem.interference.len());
        for &(a, b) in problem.interference.iter().filter(|(a, b)| a != b) {
            pairs.extend([(a, b), (b, a)]);
        }
        pairs.sort_unstable();
        pairs.dedup();
        let starts = (0..=problem.buffers.len()).map(|b| pairs.partition_point(|pair| pair.0 < b));
        Self {
            starts: starts.collect(),
            all: pairs.iter().map(|pair| pair.1).collect(),
        }
    }

    fn of_buffer(&self, b: usize) -> &[usize] {
        &self.all[self.starts[b]..self.starts[b + 1]]
    }
}
