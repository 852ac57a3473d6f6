use super::*;
use crate::oracle::generate::config;
use crate::phases::test_trees::{ALL, Build, Event, FirstSteps, Shape, any_tree};
use crate::phases::tree::Trips;
use crate::program::Token;
use proptest::prelude::*;

const A: Buffer = Buffer::Known(0);
const NOTHING: RequiredSync = RequiredSync {
    fence: false,
    barrier: false,
};
const BARRIER: RequiredSync = RequiredSync {
    fence: false,
    barrier: true,
};
const BOTH: RequiredSync = RequiredSync {
    fence: true,
    barrier: true,
};

/// What is needed before the phase of a load.
fn before(b: &Build, load: Token, fence_reads: bool) -> RequiredSync {
    let steps = FirstSteps::new(&b.tree);
    let (partition, rings) = (&steps.partition, &steps.rings());
    let syncs = required_syncs(&steps.tree, Some(Allocated { partition, rings }), fence_reads);
    syncs.phases[steps.phase(load)]
}

/// What is needed before each store, whatever loads need.
fn before_stores(b: &Build) -> Vec<RequiredSync> {
    required_syncs(&b.tree, None, false).stores.to_vec()
}

#[test]
fn a_load_waits_for_reads_and_passes_on_writes() {
    for (kind, fence_reads, expected) in [
        (AccessKind::Read, false, BARRIER),
        (AccessKind::Read, true, BOTH),
        (AccessKind::AsyncRead, false, BARRIER),
        (AccessKind::AsyncRead, true, BARRIER),
        (AccessKind::Write, false, BOTH),
    ] {
        let mut b = Build::new();
        b.access(A, kind);
        let other = b.load_to(Buffer::Known(1));
        let load = b.load_to(A);
        b.wait(&[other]);
        b.wait(&[load]);
        assert_eq!(before(&b, load, fence_reads), expected, "{kind:?}");
        assert_eq!(before(&b, other, fence_reads), NOTHING, "{kind:?}");
    }
}

#[test]
fn a_store_passes_on_what_was_written_on_any_path_once() {
    let mut b = Build::new();
    b.access(A, AccessKind::Read);
    b.store(A);
    let write = |b: &mut Build| {
        b.access(A, AccessKind::Write);
        Vec::new()
    };
    b.if_(write, |_| Vec::new());
    b.store(A);
    b.store(A);
    b.for_(Trips::Counted, &[], |b, _| {
        b.store(A);
        write(b)
    });
    assert_eq!(before_stores(&b), [NOTHING, BOTH, NOTHING, BOTH]);
}

#[test]
fn what_was_fenced_before_the_last_barrier_is_passed_on() {
    let mut b = Build::new();
    b.access(A, AccessKind::Write);
    b.push(Inst::Fence);
    b.push(Inst::Barrier);
    b.store(A);
    b.access(A, AccessKind::Write);
    b.push(Inst::Barrier);
    b.store(A);
    b.access(A, AccessKind::Write);
    b.push(Inst::Barrier);
    b.push(Inst::Fence);
    b.store(A);
    assert_eq!(before_stores(&b), [NOTHING, BOTH, BARRIER]);
}

#[test]
fn a_load_meets_threads_that_have_not_awaited_the_last_one() {
    for divergent in [true, false] {
        let mut b = Build::new();
        let first = b.load_to(A);
        let then = |b: &mut Build| {
            b.wait(&[first]);
            Vec::new()
        };
        b.if_(then, |_| Vec::new());
        if divergent {
            b.diverge();
        }
        let next = b.load_to(A);
        b.wait(&[next]);
        let expected = if divergent { BARRIER } else { NOTHING };
        assert_eq!(before(&b, next, false), expected);
    }
}

#[test]
fn a_ring_is_as_deep_as_barriers_let_slow_threads_wait() {
    let depth = |before: bool, after: bool| {
        let mut b = Build::new();
        b.for_(Trips::Counted, &[], |b, _| {
            let load = b.load();
            if before {
                b.push(Inst::Barrier);
            }
            b.wait(&[load]);
            if after {
                b.push(Inst::Barrier);
            }
            Vec::new()
        });
        let steps = FirstSteps::new(&b.tree);
        let (partition, rings) = (&steps.partition, &steps.rings());
        let allocated = Allocated { partition, rings };
        let found = depths(&steps.tree, allocated, false)[RingId(0)];
        let syncs = required_syncs(&steps.tree, Some(allocated), false);
        // The rings given are one deep.
        assert_eq!(syncs.phases[PhaseId(0)].barrier, found > 1);
        found
    };
    // All are done with a phase before the next one is armed.
    assert_eq!(depth(false, true), 1);
    // Some may still wait for it then, but for none before.
    assert_eq!(depth(true, false), 2);
    // Nothing says how far behind they may be.
    assert_eq!(depth(false, false), NO_DEPTH);
}

/// An access on a path, as long as something has to be done about it.
struct Pending {
    buffer: Buffer,
    writes: bool,
    /// No barrier came after it.
    is_recent: bool,
    fence: Fence,
}

#[derive(PartialEq, Eq)]
enum Fence {
    Missing,
    /// No barrier came after it.
    Recent,
    /// Nothing is left to do.
    Passed,
}

/// One path, by the definition in the header of the module.
#[derive(Default)]
struct OnPath {
    pending: Vec<Pending>,
    /// How often each ring was armed.
    arms: FxHashMap<RingId, u64>,
    /// The number of each instance on its ring.
    numbers: Vec<u64>,
    /// What was awaited since the last barrier.
    awaited: Vec<(RingId, u64)>,
}

impl OnPath {
    fn barrier(&mut self) {
        self.awaited.clear();
        for access in &mut self.pending {
            access.is_recent = false;
            if access.fence == Fence::Recent {
                access.fence = Fence::Passed;
            }
        }
    }

    fn fence(&mut self) {
        for access in &mut self.pending {
            if access.fence == Fence::Missing {
                access.fence = Fence::Recent;
            }
        }
    }

    fn sync(&mut self, sync: RequiredSync) {
        if sync.fence {
            self.fence();
        }
        if sync.barrier {
            self.barrier();
        }
    }

    fn needs(&self, buffer: Buffer, is_load: bool) -> RequiredSync {
        let mut needs = NOTHING;
        for access in &self.pending {
            if access.buffer != buffer && access.buffer != Buffer::Any && buffer != Buffer::Any {
                continue;
            }
            needs.fence |= access.fence == Fence::Missing;
            needs.barrier |= access.fence == Fence::Recent || access.is_recent && (is_load || access.writes);
        }
        needs.barrier |= needs.fence;
        needs
    }

    /// Opens a phase, and returns whether threads may still wait for the one that had its slot.
    fn open(&mut self, ring: RingId, depth: u64) -> bool {
        let arms = self.arms.entry(ring).or_default();
        let number = *arms;
        *arms += 1;
        self.numbers.push(number);
        let mut awaited = self.awaited.iter();
        awaited.any(|&(of, awaited)| of == ring && awaited + depth <= number)
    }
}

/// An operation before which something may be needed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum SyncPoint {
    Phase(PhaseId),
    Load(LoadId),
    Store(StoreId),
}

/// What is needed before each operation on a path that has the `syncs`.
fn needed_on(
    steps: &FirstSteps,
    rings: &Rings,
    path: &[Event],
    syncs: &Syncs,
) -> Vec<(SyncPoint, RequiredSync, RequiredSync)> {
    let (mut now, mut needed) = (OnPath::default(), Vec::new());
    for event in path {
        let (before, needs, has) = match event {
            Event::Open(phase, _) => {
                let ring = rings.phase[*phase];
                let mut needs = NOTHING;
                needs.barrier |= now.open(ring, rings.depth[ring]);
                for &load in &steps.partition.phases[*phase] {
                    let more = now.needs(steps.tree.loads[load].buffer, true);
                    needs.fence |= more.fence;
                    needs.barrier |= more.barrier;
                }
                (SyncPoint::Phase(*phase), needs, syncs.phases[*phase])
            }
            Event::Wait(_, phases) => {
                let of = |&(phase, instance): &(PhaseValue, usize)| (rings.of(phase), now.numbers[instance]);
                now.awaited.extend(phases.iter().map(of).collect::<Vec<_>>());
                continue;
            }
            Event::Begin(block, inst) => match &steps.tree.blocks[*block].insts[*inst] {
                Inst::Load { load, .. } => {
                    let needs = now.needs(steps.tree.loads[*load].buffer, true);
                    (SyncPoint::Load(*load), needs, syncs.loads[*load])
                }
                Inst::Store { store, buffer } => (
                    SyncPoint::Store(*store),
                    now.needs(*buffer, false),
                    syncs.stores[*store],
                ),
                Inst::Barrier => {
                    now.barrier();
                    continue;
                }
                Inst::Fence => {
                    now.fence();
                    continue;
                }
                Inst::Access { buffer, kind } => {
                    let writes = *kind == AccessKind::Write;
                    now.pending.push(Pending {
                        buffer: *buffer,
                        writes,
                        is_recent: true,
                        fence: if writes { Fence::Missing } else { Fence::Passed },
                    });
                    continue;
                }
                _ => continue,
            },
            _ => continue,
        };
        now.sync(has);
        needed.push((before, needs, has));
    }
    needed
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn all_paths_have_what_they_need(tree in any_tree(ALL)) {
        let steps = FirstSteps::new(&tree);
        let (partition, rings) = (&steps.partition, &steps.rings());
        prop_assume!(rings.unallocated.is_empty());
        let syncs = required_syncs(&steps.tree, Some(Allocated { partition, rings }), false);
        for path in steps.paths(3).unwrap_or_default() {
            for (before, needs, has) in needed_on(&steps, rings, &path, &syncs) {
                prop_assert!(has.barrier || !needs.barrier, "a barrier before {before:?}");
                prop_assert!(has.fence || !needs.fence, "a fence before {before:?}");
            }
        }
    }

    /// With loops, a barrier inside of one may make another one superfluous that was found first.
    #[test]
    fn without_loops_some_path_needs_what_there_is(tree in any_tree(Shape { loops: false, ..ALL })) {
        let steps = FirstSteps::new(&tree);
        let (partition, rings) = (&steps.partition, &steps.rings());
        let syncs = required_syncs(&steps.tree, Some(Allocated { partition, rings }), false);
        let Some(paths) = steps.paths(1) else { return Ok(()) };
        let mut unused: FxHashMap<SyncPoint, RequiredSync> = FxHashMap::default();
        for (before, needs, has) in paths.iter().flat_map(|path| needed_on(&steps, rings, path, &syncs)) {
            let unused = unused.entry(before).or_insert(has);
            unused.fence &= !needs.fence;
            unused.barrier &= !needs.barrier;
        }
        for (before, unused) in unused {
            prop_assert_eq!(unused, NOTHING, "before {:?}", before);
        }
    }
}
