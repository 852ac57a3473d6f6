//! The ways that warps take through code.

use crate::thread_numbers::ThreadNumbers;
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::ir::{Block, Op, Value, Walk};
use async_mlir::names::scf;
use rustc_hash::FxHashMap;

/// A step of the code of some warps.
pub(super) enum Step<'c> {
    /// An operation.
    Op(Op<'c>),
    /// The end of a way that they take for sure: its values are the results of the operation that they took it through.
    Taken {
        results: Vec<Value<'c>>,
        values: Vec<Value<'c>>,
    },
}

/// The warps that take the first and the second way for sure, as bits.
type Warps = [u32; 2];

/// The ways that warps take for sure.
pub(super) struct Ways<'c> {
    num_warps: usize,
    taken: FxHashMap<Op<'c>, Warps>,
}

impl<'c> Ways<'c> {
    /// The ways through two functions; `None` if it is not known how many warps there are.
    pub fn of(before: Op<'c>, after: Op<'c>) -> Option<Self> {
        let mut numbers = ThreadNumbers::new(before)?;
        let num_warps = numbers.num_warps();
        let all = u32::MAX >> (u32::BITS - u32::try_from(num_warps).ok()?);
        let mut taken = FxHashMap::default();
        for function in [before, after] {
            function.walk(|op| {
                if op.is(scf::IF)
                    && let Some([first, second]) = warps(op.operand(0), &mut numbers)
                {
                    taken.insert(op, [first & all, second & all]);
                }
                Walk::Advance
            });
        }
        Some(Self { num_warps, taken })
    }

    /// A warp of each kind: those of one take the same ways everywhere.
    pub fn kinds(&self) -> Vec<usize> {
        let mut kinds: Vec<u32> = vec![u32::MAX];
        for warps in self.taken.values().flatten() {
            let parts = kinds.iter().flat_map(|kind| [kind & warps, kind & !warps]);
            kinds = parts.filter(|kind| *kind != 0).collect();
        }
        let first = kinds.iter().map(|kind| kind.trailing_zeros() as usize);
        first.filter(|warp| *warp < self.num_warps).collect()
    }

    /// The steps of `warp` in `block`, with those of the ways that it takes for sure.
    pub fn steps(&self, block: Block<'c>, warp: usize) -> Vec<Step<'c>> {
        let mut steps = Vec::new();
        self.add(block.ops(), warp, &mut steps);
        steps
    }

    fn add(&self, ops: Vec<Op<'c>>, warp: usize, steps: &mut Vec<Step<'c>>) {
        for op in ops {
            let ways = self.taken.get(&op).copied().unwrap_or_default();
            let Some(way) = ways.iter().position(|warps| warps >> warp & 1 == 1) else {
                steps.push(Step::Op(op));
                continue;
            };
            let mut inside = op.region(way).first().map(Block::ops).unwrap_or_default();
            let end = inside.pop();
            self.add(inside, warp, steps);
            steps.push(Step::Taken {
                results: op.results().collect(),
                values: end.map(|end| end.operands().collect()).unwrap_or_default(),
            });
        }
    }
}

/// The warps in all of whose threads `condition` is true, and those in which it is false.
fn warps<'c>(condition: Value<'c>, numbers: &mut ThreadNumbers<'c>) -> Option<Warps> {
    let elect = condition.defining_op().filter(|op| op.is(gpux::ELECT));
    if let Some(elect) = elect {
        // It is true in one thread of its warp.
        let elected = u32::try_from(elect.int_attr(gpux_attr::WARP).unwrap_or(0)).ok()?;
        return Some([0, !1_u32.checked_shl(elected)?]);
    }
    let inside = numbers.warps_where(condition)?;
    Some([inside, !inside])
}
