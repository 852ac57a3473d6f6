//! Computes where a token is known to be complete: after an await of it that dominates the place, or of what
//! depends on it, and in a region that does.

use async_dialects::names::async_;
use async_mlir::ir::{Block, Op, Region, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// How many operations that follow from one token are looked at. Those that are not cost a count, and are right as well.
const LIMIT: usize = 64;

/// What is known of the tokens of one function, whose control flow is between blocks.
#[derive(Default)]
pub(super) struct CompletionAnalysis<'c> {
    dominators: Dominators<'c>,
    /// The tokens of regions that have others than their first results.
    tokens: FxHashMap<Op<'c>, Value<'c>>,
    followers: FxHashMap<Value<'c>, Followers<'c>>,
}

/// What says that a token is complete.
#[derive(Default)]
struct Followers<'c> {
    awaits: Vec<Op<'c>>,
    /// The token itself, and those that are complete only when it is.
    tokens: FxHashSet<Value<'c>>,
}

impl<'c> CompletionAnalysis<'c> {
    pub(super) fn new(function: Op<'c>) -> Self {
        Self {
            dominators: Dominators::new(function.region(0)),
            ..Self::default()
        }
    }

    /// The same, where `tokens` stand for the tokens of regions.
    pub(super) fn with_tokens(function: Op<'c>, tokens: FxHashMap<Op<'c>, Value<'c>>) -> Self {
        Self {
            tokens,
            ..Self::new(function)
        }
    }

    /// Returns true if `token` is complete before `at`.
    pub(super) fn is_complete(&mut self, token: Value<'c>, at: Op<'c>) -> bool {
        self.read(token);
        let awaits = &self.followers[&token].awaits;
        awaits.iter().any(|wait| self.dominators.dominates(*wait, at))
    }

    /// Returns true if `token` is complete before the body of `region` begins.
    pub(super) fn is_complete_in(&mut self, token: Value<'c>, region: Op<'c>) -> bool {
        self.read(token);
        let tokens = &self.followers[&token].tokens;
        region.operands().any(|dependency| tokens.contains(&dependency)) || self.is_complete(token, region)
    }

    fn read(&mut self, token: Value<'c>) {
        let tokens = &self.tokens;
        self.followers
            .entry(token)
            .or_insert_with(|| followers(token, tokens));
    }
}

/// What says that `token` is complete, where `tokens` stand for those of regions.
fn followers<'c>(token: Value<'c>, tokens: &FxHashMap<Op<'c>, Value<'c>>) -> Followers<'c> {
    let mut found = Followers::default();
    let mut seen = FxHashSet::default();
    let mut work = vec![token];
    while let Some(token) = work.pop() {
        found.tokens.insert(token);
        for user in token.uses().into_iter().map(|usage| usage.owner) {
            if seen.len() == LIMIT {
                return found;
            }
            if !seen.insert(user) {
                continue;
            }
            match user.name() {
                async_::AWAIT => found.awaits.push(user),
                async_::JOIN | async_::REGION => {
                    work.push(tokens.get(&user).copied().unwrap_or_else(|| user.result(0)));
                }
                _ => {}
            }
        }
    }
    found
}

/// Which blocks of a region dominate which: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", 2001.
#[derive(Default)]
struct Dominators<'c> {
    /// The number of each block that can be reached, in reverse post-order.
    numbers: FxHashMap<Block<'c>, usize>,
    /// When each is entered and left in a walk over the dominator tree.
    intervals: Vec<(usize, usize)>,
}

impl<'c> Dominators<'c> {
    fn new(region: Region<'c>) -> Self {
        let order = reverse_post_order(region);
        let numbers: FxHashMap<_, _> = order.iter().copied().zip(0..).collect();
        let mut predecessors = vec![Vec::new(); order.len()];
        for (number, block) in order.iter().enumerate() {
            for successor in successors(*block) {
                predecessors[numbers[&successor]].push(number);
            }
        }
        // The immediate dominators.
        let mut above: Vec<Option<usize>> = vec![None; order.len()];
        if let Some(entry) = above.first_mut() {
            *entry = Some(0);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for number in 1..order.len() {
                let known = predecessors[number]
                    .iter()
                    .copied()
                    .filter(|&before| above[before].is_some());
                let new = known.reduce(|left, right| intersect(&above, left, right));
                if above[number] != new {
                    above[number] = new;
                    changed = true;
                }
            }
        }
        Self {
            intervals: intervals(&above),
            numbers,
        }
    }

    /// Returns true if each way to `op` leads through `first`, which is another operation.
    fn dominates(&self, first: Op<'c>, op: Op<'c>) -> bool {
        let (Some(before), Some(block)) = (first.block(), op.block()) else {
            return false;
        };
        if before == block {
            return first.is_before_in_block(op);
        }
        let (Some(&before), Some(&block)) = (self.numbers.get(&before), self.numbers.get(&block)) else {
            return false;
        };
        let ((enter, leave), (inner, _)) = (self.intervals[before], self.intervals[block]);
        enter <= inner && inner < leave
    }
}

fn successors(block: Block<'_>) -> Vec<Block<'_>> {
    block
        .terminator()
        .map_or(Vec::new(), |end| end.successors().collect())
}

fn reverse_post_order(region: Region<'_>) -> Vec<Block<'_>> {
    let Some(entry) = region.first() else {
        return Vec::new();
    };
    let mut seen = FxHashSet::from_iter([entry]);
    let mut open = vec![(entry, successors(entry))];
    let mut order = Vec::new();
    while let Some((block, next)) = open.last_mut() {
        match next.pop() {
            Some(successor) => {
                if seen.insert(successor) {
                    open.push((successor, successors(successor)));
                }
            }
            None => {
                order.push(*block);
                open.pop();
            }
        }
    }
    order.reverse();
    order
}

/// The block that dominates both and is dominated by all others that do.
fn intersect(above: &[Option<usize>], mut left: usize, mut right: usize) -> usize {
    while left != right {
        let later = left.max(right);
        let up = above[later].expect("a block that was reached has a dominator");
        (left, right) = (left.min(right), up);
    }
    left
}

fn intervals(above: &[Option<usize>]) -> Vec<(usize, usize)> {
    let mut below = vec![Vec::new(); above.len()];
    for (number, dominator) in above.iter().enumerate().skip(1) {
        if let Some(dominator) = dominator {
            below[*dominator].push(number);
        }
    }
    let mut intervals = vec![(0, 0); above.len()];
    let mut time = 0;
    let mut open = if above.is_empty() {
        vec![]
    } else {
        vec![(0, false)]
    };
    while let Some((number, is_done)) = open.pop() {
        if is_done {
            intervals[number].1 = time;
        } else {
            intervals[number].0 = time;
            time += 1;
            open.push((number, true));
            open.extend(below[number].iter().map(|&lower| (lower, false)));
        }
    }
    intervals
}
