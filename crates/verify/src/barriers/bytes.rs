//! Which accesses are near each other, so that few pairs are compared: part of what is trusted.
//!
//! Of each access, the range of bytes is known that it may touch in any iteration. Where nothing comes any more that is in the range of a
//! pending access and has to be ordered with it, that is forgotten.

use super::certificate::Exposed;
use super::code::{BlockId, ClassId, Code, Instr, Kind};
use async_overlap::ids::IndexVec;
use async_overlap::{BufferId, bounds};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;

/// The bytes of accesses, and where they are met last.
pub(super) struct Bytes {
    /// The bytes that accesses may touch, whatever the iteration.
    ranges: IndexVec<ClassId, Range<i64>>,
    /// The last block with an access that they may meet.
    last: IndexVec<ClassId, Option<BlockId>>,
}

const KINDS: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Atomic];

impl Bytes {
    /// Those of `code`.
    pub fn new(code: &Code) -> Self {
        let ranges = code
            .classes
            .iter()
            .map(|class| bounds(&code.loops, &class.footprint).unwrap_or(0..0));
        let mut bytes = Self {
            ranges: ranges.collect(),
            last: IndexVec::filled(None, code.classes.len()),
        };
        let mut begins: IndexVec<ClassId, Option<BlockId>> = IndexVec::filled(None, code.classes.len());
        for (id, block) in code.blocks.with_ids() {
            for class in block.instrs.iter().flat_map(begun_by) {
                begins[class] = Some(id);
            }
        }
        let mut buffers: FxHashMap<BufferId, Vec<ClassId>> = FxHashMap::default();
        for (id, class) in code.classes.with_ids() {
            buffers.entry(class.footprint.buffer).or_default().push(id);
        }
        for classes in buffers.values() {
            bytes.find_last(code, classes, &begins);
        }
        bytes
    }

    /// Finds the last block with something that each of `classes`, which are all of one buffer, may meet.
    fn find_last(&mut self, code: &Code, classes: &[ClassId], begins: &IndexVec<ClassId, Option<BlockId>>) {
        let ends = classes.iter().map(|class| &self.ranges[*class]);
        let mut ends: Vec<i64> = ends.flat_map(|range| [range.start, range.end]).collect();
        ends.sort_unstable();
        ends.dedup();
        let pieces = |range: &Range<i64>| {
            ends.partition_point(|end| *end < range.start)..ends.partition_point(|end| *end < range.end)
        };
        for kind in KINDS {
            let mut latest = Latest::new(ends.len());
            for class in classes.iter().filter(|class| code.classes[**class].kind == kind) {
                if let Some(block) = begins[*class] {
                    latest.note(pieces(&self.ranges[*class]), block);
                }
            }
            for class in classes
                .iter()
                .filter(|class| code.classes[**class].kind.needs_order_with(kind))
            {
                let found = latest.of(pieces(&self.ranges[*class]));
                self.last[*class] = self.last[*class].max(found);
            }
        }
    }

    /// Returns true if `first` or a block after it may have an access that one of `class` may meet.
    pub fn may_meet_something(&self, class: ClassId, first: BlockId) -> bool {
        self.last[class].is_some_and(|last| last >= first)
    }
}

/// The accesses that `instr` begins.
fn begun_by(instr: &Instr) -> Vec<ClassId> {
    match instr {
        Instr::Access(classes) => classes.clone(),
        Instr::Issue(issues) => issues.iter().map(|issue| issue.class).collect(),
        _ => Vec::new(),
    }
}

/// The latest block that was noted for each of so many pieces, and for ranges of them: a segment tree.
struct Latest {
    leaves: usize,
    /// For each node, the latest that was noted for the whole of it, and the latest of any part.
    nodes: Vec<(Option<BlockId>, Option<BlockId>)>,
}

impl Latest {
    fn new(pieces: usize) -> Self {
        let leaves = pieces.next_power_of_two();
        Self {
            leaves,
            nodes: vec![(None, None); 2 * leaves],
        }
    }

    fn note(&mut self, pieces: Range<usize>, block: BlockId) {
        for node in self.cover(pieces) {
            self.nodes[node].0 = self.nodes[node].0.max(Some(block));
            for outer in outwards(node) {
                self.nodes[outer].1 = self.nodes[outer].1.max(Some(block));
            }
        }
    }

    fn of(&self, pieces: Range<usize>) -> Option<BlockId> {
        let latest = |node: usize| {
            outwards(node).fold(self.nodes[node].1, |latest, outer| {
                latest.max(self.nodes[outer].0)
            })
        };
        self.cover(pieces).into_iter().filter_map(latest).max()
    }

    /// The fewest nodes that are these pieces together.
    fn cover(&self, pieces: Range<usize>) -> Vec<usize> {
        let mut nodes = Vec::new();
        let (mut low, mut high) = (pieces.start + self.leaves, pieces.end + self.leaves);
        while low < high {
            if low % 2 == 1 {
                nodes.push(low);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                nodes.push(high);
            }
            (low, high) = (low / 2, high / 2);
        }
        nodes
    }
}

/// A node, and all that it is a part of.
fn outwards(node: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(node), |node| Some(node / 2).filter(|node| *node > 0))
}

/// Accesses of one length, rounded up to a power of two, by where they begin.
type ByStart = BTreeMap<(i64, ClassId), Vec<Exposed>>;

/// Accesses that are over, by the bytes that they touch.
pub(super) struct ByBytes<'a> {
    code: &'a Code,
    bytes: &'a Bytes,
    /// By buffer and length.
    all: FxHashMap<BufferId, BTreeMap<u32, ByStart>>,
}

impl<'a> ByBytes<'a> {
    pub fn new(code: &'a Code, bytes: &'a Bytes) -> Self {
        Self {
            code,
            bytes,
            all: FxHashMap::default(),
        }
    }

    pub fn clear(&mut self) {
        self.all.clear();
    }

    pub fn insert(&mut self, exposed: Exposed) {
        let range = &self.bytes.ranges[exposed.class];
        let buffer = self.code.classes[exposed.class].footprint.buffer;
        let by_length = self.all.entry(buffer).or_default();
        let by_start = by_length.entry(length(range)).or_default();
        let alike = by_start.entry((range.start, exposed.class)).or_default();
        if !alike.contains(&exposed) {
            alike.push(exposed);
        }
    }

    /// All of them; none are left.
    pub fn take(&mut self) -> Vec<Exposed> {
        let all = std::mem::take(&mut self.all).into_values();
        let all = all
            .flat_map(BTreeMap::into_values)
            .flat_map(BTreeMap::into_values);
        all.flatten().collect()
    }

    /// Those that may touch a byte that an access of `class` may touch.
    pub fn near(&self, class: ClassId) -> impl Iterator<Item = Exposed> {
        let range = self.bytes.ranges[class].clone();
        let buffer = self.code.classes[class].footprint.buffer;
        let by_length = self.all.get(&buffer).into_iter().flatten();
        by_length.flat_map(move |(length, by_start)| {
            let longest = 1_i64.checked_shl(*length).filter(|longest| *longest > 0);
            let first = longest.map_or(i64::MIN, |longest| range.start.saturating_sub(longest));
            let near = by_start.range((first, ClassId(0))..(range.end, ClassId(0)));
            near.flat_map(|(_, alike)| alike.iter().copied())
        })
    }
}

/// The base-2 logarithm of the length of a range, rounded up.
fn length(range: &Range<i64>) -> u32 {
    let bytes = range.end.saturating_sub(range.start).max(1).unsigned_abs();
    bytes.next_power_of_two().ilog2()
}
