//! Finds rotating buffers: memrefs that a loop carries and that take each other's places in each iteration (a
//! cyclic permutation of `iter_args`).
//!
//! Buffers that do so are taken to lie one after another in a larger one. Which of them an iteration has is
//! then a periodic offset, like that of a slot.

use super::{BufferKey, span};
use crate::memory::{BufferOrigin, buffer_origin};
use crate::thread_values::IterArgs;
use crate::views::base;
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Definition, Op, Region, Value, Walk};
use rustc_hash::FxHashMap;

/// The rotating memrefs of a function.
#[derive(Default)]
pub(super) struct RotatingBuffers<'c> {
    /// For each that a loop carries, what it is in one iteration after the other; for each result of a loop, what the one that
    /// it was is.
    carried: FxHashMap<Value<'c>, Vec<Value<'c>>>,
    /// For each buffer that lies after others, which is the first one, and how many bytes come before.
    after: FxHashMap<BufferKey<'c>, (BufferKey<'c>, i64)>,
}

/// Buffers begin at multiples of this.
const ALIGN: i64 = 1024;

impl<'c> RotatingBuffers<'c> {
    /// Finds those of `function`.
    pub fn new(function: Op<'c>) -> Self {
        let mut found = Self::default();
        let mut groups = Groups::default();
        function.walk(|op| {
            for (memref, firsts) in carried(op) {
                let keys: Option<Vec<BufferKey>> = firsts.iter().map(|first| key(*first)).collect();
                if keys.is_some_and(|keys| groups.join(&keys)) {
                    found.carried.insert(memref, firsts);
                }
            }
            Walk::Advance
        });
        found.after = groups.layout();
        found
    }

    /// What `memory`, which is no view, is in one iteration after the other, and the loop; `None` if it
    /// doesn't rotate.
    pub fn of(&self, memory: Value<'c>) -> Option<(Rotation<'c>, &[Value<'c>])> {
        let firsts = self.carried.get(&memory)?;
        let rotation = match memory.definition() {
            Definition::Argument(block, _) => Rotation::In(block.parent_op()?),
            Definition::Result(op, _) => Rotation::After(op),
        };
        Some((rotation, firsts))
    }

    /// The buffer that `key` is in, and how many bytes come before.
    pub fn place(&self, key: BufferKey<'c>) -> (BufferKey<'c>, i64) {
        self.after.get(&key).copied().unwrap_or((key, 0))
    }
}

/// Where a memref rotates with others.
pub(super) enum Rotation<'c> {
    /// In the iterations of a loop.
    In(Op<'c>),
    /// It is the one whose turn would be next when the loop has ended.
    After(Op<'c>),
}

/// The memrefs of the workgroup that `op` carries and that take each other's places, by all names that they have inside and
/// afterwards, with what each is in turn.
fn carried<'c>(op: Op<'c>) -> Vec<(Value<'c>, Vec<Value<'c>>)> {
    let Some(iter_args) = IterArgs::new(op) else {
        return Vec::new();
    };
    let blocks = op.regions().filter_map(Region::first);
    let arguments = blocks.flat_map(|block| block.args().collect::<Vec<Value>>());
    let inside = arguments.map(|argument| (argument, iter_args.place_of(argument)));
    let results = op.results().enumerate();
    let after = results.map(|(number, result)| (result, iter_args.place_of_result(number)));
    let memrefs = inside.chain(after).filter(|(value, _)| is_workgroup(value.ty()));
    let in_turn = memrefs.filter_map(|(value, place)| {
        let places = iter_args.rotation_of(place?)?;
        let firsts = places.into_iter().map(|place| iter_args.init(place));
        Some((value, firsts.collect()))
    });
    in_turn.collect()
}

/// The buffer that `memory` is in, if it is one that the function has for itself.
fn key(memory: Value<'_>) -> Option<BufferKey<'_>> {
    let base = base(memory);
    let is_own = matches!(
        buffer_origin(base),
        BufferOrigin::Allocation | BufferOrigin::Attribution(_)
    );
    (is_own && span(base).is_some()).then_some(BufferKey::Value(base))
}

/// Buffers that lie in one, because they rotate, directly or over others.
#[derive(Default)]
struct Groups<'c> {
    group: FxHashMap<BufferKey<'c>, usize>,
    members: Vec<Vec<BufferKey<'c>>>,
}

impl<'c> Groups<'c> {
    /// Puts buffers in one group; returns true.
    fn join(&mut self, keys: &[BufferKey<'c>]) -> bool {
        let groups = keys.iter().map(|key| {
            *self.group.entry(*key).or_insert_with(|| {
                self.members.push(vec![*key]);
                self.members.len() - 1
            })
        });
        let mut groups: Vec<usize> = groups.collect();
        // Few move.
        groups.sort_unstable_by_key(|group| self.members[*group].len());
        groups.dedup();
        let Some(largest) = groups.pop() else { return false };
        for smaller in groups.into_iter().filter(|smaller| *smaller != largest) {
            let members = std::mem::take(&mut self.members[smaller]);
            for member in &members {
                self.group.insert(*member, largest);
            }
            self.members[largest].extend(members);
        }
        true
    }

    /// Where each buffer lies.
    fn layout(self) -> FxHashMap<BufferKey<'c>, (BufferKey<'c>, i64)> {
        let mut after = FxHashMap::default();
        for members in &self.members {
            let mut next = 0_i64;
            for member in members {
                after.insert(*member, (members[0], next));
                let bytes = match member {
                    BufferKey::Value(buffer) => span(*buffer).unwrap_or(0),
                    BufferKey::Global(_) | BufferKey::Dynamic | BufferKey::Foreign => 0,
                };
                next = next.saturating_add(bytes).saturating_add(ALIGN - 1) / ALIGN * ALIGN;
            }
        }
        after
    }
}
