//! Computes the memory dependences of a block: pairs of accesses that conflict, with none between them that
//! conflicts with both. Where the order is final, and engines wait for each other,
//! `cross_engine_dependences.rs` asks for less.
//!
//! The operations are gone through once, or twice if the block is a loop's body: then the second round is the
//! next iteration. Accesses are kept by *component*, buffers that may be the same, and reads apart from
//! writes. From each access, those before it are looked at from the last one on, until one that whatever
//! conflicts with this one conflicts with as well. A fence meets all accesses since the last fence, and
//! nothing before that is looked at again.
//!
//! What is in flight ([`Timing`]) is less strict. An await comes after no access. What comes after a copy
//! need not: either an await of the copy is between them, or they don't conflict, or they race as they are.
//! The same holds for barriers.
//!
//! Cost: for each access, the accesses of its component since the last write to the same place.

use super::effects::{Access, Effects, Timing};
use crate::analysis::alias::Root;
use async_mlir::ir::Op;
use rustc_hash::FxHashMap;

/// An operation has to come after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryDependence<'c> {
    /// The numbers of the operations, and what does the access in each; a fence itself, if it is one.
    pub from: (usize, Op<'c>),
    pub to: (usize, Op<'c>),
    /// How many iterations later.
    pub distance: u32,
}

/// With more buffers than these, all may be the same.
const MOST_ROOTS: usize = 512;

/// An access since the last fence.
struct Past<'a, 'c> {
    position: usize,
    access: &'a Access<'c>,
    /// A later access conflicts with it.
    is_met: bool,
}

/// The accesses of a component since the last fence.
#[derive(Default)]
struct Component<'a, 'c> {
    reads: Vec<Past<'a, 'c>>,
    writes: Vec<Past<'a, 'c>>,
}

struct Scan<'a, 'c> {
    ops: &'a [Op<'c>],
    components: Vec<Component<'a, 'c>>,
    component_of: FxHashMap<Root<'c>, usize>,
    /// Operations since the last fence that meet nothing but fences.
    staying: Vec<usize>,
    /// Copies since the last fence that is no barrier.
    issued: Vec<usize>,
    fence: Option<usize>,
    /// Whether something came after the last fence that may not pass it, nor the next one.
    is_fence_met: bool,
    found: Vec<MemoryDependence<'c>>,
}

/// What memory orders among `ops`, of which `effects` are known, in a block that `repeats` or does not.
pub(crate) fn dependences<'c>(
    ops: &[Op<'c>],
    effects: &[Effects<'c>],
    repeats: bool,
) -> Vec<MemoryDependence<'c>> {
    let (component_of, number) = components(effects);
    let mut scan = Scan {
        ops,
        components: (0..number).map(|_| Component::default()).collect(),
        component_of,
        staying: Vec::new(),
        issued: Vec::new(),
        fence: None,
        is_fence_met: false,
        found: Vec::new(),
    };
    for position in 0..ops.len() * (1 + usize::from(repeats)) {
        scan.visit(position, &effects[position % ops.len()]);
    }
    scan.found
}

/// The component of each buffer, and how many there are.
fn components<'c>(effects: &[Effects<'c>]) -> (FxHashMap<Root<'c>, usize>, usize) {
    let mut component_of = FxHashMap::default();
    let mut roots: Vec<Root> = Vec::new();
    for access in effects.iter().flat_map(|effects| &effects.accesses) {
        if let std::collections::hash_map::Entry::Vacant(entry) = component_of.entry(access.place.root) {
            entry.insert(0);
            roots.push(access.place.root);
        }
    }
    if roots.len() > MOST_ROOTS {
        return (component_of, 1);
    }
    // Each starts alone, and joins those before it that it may be the same as.
    let mut numbers: Vec<usize> = (0..roots.len()).collect();
    for later in 0..roots.len() {
        for earlier in 0..later {
            let (old, new) = (numbers[later], numbers[earlier]);
            if old != new && roots[later].may_alias(roots[earlier]) {
                for number in &mut numbers[..=later] {
                    if *number == old {
                        *number = new;
                    }
                }
            }
        }
    }
    component_of.extend(roots.iter().copied().zip(numbers));
    (component_of, roots.len())
}

impl<'a, 'c> Scan<'a, 'c> {
    fn visit(&mut self, position: usize, effects: &'a Effects<'c>) {
        if effects.is_fence {
            self.meet_all(position, effects.is_barrier);
            return;
        }
        let mut meets_any = false;
        for access in effects.accesses.iter().filter(|access| access.orders_earlier()) {
            meets_any |= self.meet(position, access);
        }
        let is_ordered = effects.stays || !effects.accesses.is_empty();
        if let Some(fence) = self.fence.filter(|_| is_ordered && !meets_any) {
            let fence_op = self.ops[fence % self.ops.len()];
            let op = self.ops[position % self.ops.len()];
            self.add((fence, fence_op), (position, op));
        }
        let is_issued = |access: &Access| access.timing == Timing::Issued;
        if !effects.stays && is_ordered && effects.accesses.iter().all(is_issued) {
            self.issued.push(position);
            return;
        }
        self.is_fence_met |= is_ordered;
        if effects.stays && effects.accesses.is_empty() {
            self.staying.push(position);
        }
        for access in &effects.accesses {
            let past = Past {
                position,
                access,
                is_met: false,
            };
            let component = &mut self.components[self.component_of[&access.place.root]];
            if access.writes {
                component.writes.push(past);
            } else {
                component.reads.push(past);
            }
        }
    }

    /// A fence: it comes after all, but for copies that are in flight, if it is a barrier.
    fn meet_all(&mut self, position: usize, is_barrier: bool) {
        let op = self.ops[position % self.ops.len()];
        let mut found: Vec<(usize, Op)> = Vec::new();
        for component in &mut self.components {
            let past = component.reads.drain(..).chain(component.writes.drain(..));
            found.extend(
                past.filter(|past| !past.is_met)
                    .map(|past| (past.position, past.access.op)),
            );
        }
        if !is_barrier {
            let issued = self.issued.drain(..);
            found.extend(issued.map(|past| (past, self.ops[past % self.ops.len()])));
        }
        let staying = self
            .staying
            .drain(..)
            .map(|past| (past, self.ops[past % self.ops.len()]));
        found.extend(staying);
        if let Some(fence) = self.fence.filter(|_| !self.is_fence_met) {
            found.push((fence, self.ops[fence % self.ops.len()]));
        }
        for from in found {
            self.add(from, (position, op));
        }
        self.fence = Some(position);
        self.is_fence_met = false;
    }

    /// Finds what `access` has to come after. Returns true if there is anything since the last fence.
    fn meet(&mut self, position: usize, access: &Access<'c>) -> bool {
        let number = self.ops.len();
        let in_one_iteration = |a: usize, b: usize| a / number == b / number;
        let component = &mut self.components[self.component_of[&access.place.root]];
        let (mut reads, mut writes) = (component.reads.len(), component.writes.len());
        if !access.writes {
            reads = 0;
        }
        // What conflicts with it, reads and writes.
        let mut between: [Vec<(usize, &Access)>; 2] = [Vec::new(), Vec::new()];
        let mut found = Vec::new();
        let mut covered = None;
        while reads + writes > 0 {
            // The later of the two; within an operation, a read is later than a write.
            let is_read = writes == 0
                || reads > 0 && component.reads[reads - 1].position > component.writes[writes - 1].position;
            let past = if is_read {
                reads -= 1;
                &mut component.reads[reads]
            } else {
                writes -= 1;
                &mut component.writes[writes]
            };
            // What else is in the operation that covers it still counts.
            if covered.is_some_and(|covered| past.position < covered) {
                break;
            }
            let at_once = in_one_iteration(past.position, position);
            if past.position == position || !past.access.conflicts(access, at_once) {
                continue;
            }
            // What may pass a barrier says nothing of it.
            past.is_met |= access.timing != Timing::Issued;
            let hides = |&(at, other): &(usize, &Access)| {
                let at_once = in_one_iteration(at, past.position);
                at > past.position && other.orders_earlier() && other.conflicts(past.access, at_once)
            };
            let is_hidden = between[1].iter().any(hides) || !is_read && between[0].iter().any(hides);
            if !is_hidden {
                found.push((past.position, past.access.op));
            }
            between[usize::from(!is_read)].push((past.position, past.access));
            if past.access.covers(access, at_once) {
                covered = Some(past.position);
            }
        }
        let meets_any = between.iter().any(|past| !past.is_empty());
        for from in found {
            self.add(from, (position, access.op));
        }
        meets_any
    }

    /// Notes a dependence, unless it is within the second round.
    fn add(&mut self, from: (usize, Op<'c>), to: (usize, Op<'c>)) {
        let number = self.ops.len();
        if from.0 >= number {
            return;
        }
        let distance = u32::from(to.0 >= number);
        self.found.push(MemoryDependence {
            from,
            to: (to.0 % number, to.1),
            distance,
        });
    }
}
