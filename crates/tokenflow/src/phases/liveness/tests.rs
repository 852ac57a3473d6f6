use super::*;
use crate::oracle::generate::config;
use crate::phases::hazards::RequiredSync;
use crate::phases::test_trees::{ALL, Build, Event, FirstSteps, any_tree};
use crate::phases::tree::{AccessKind, Buffer, Trips};
use crate::program::Token;
use proptest::prelude::*;
use rustc_hash::FxHashMap;

const ELSEWHERE: Buffer = Buffer::Known(9);

/// Live ranges, and the positions that they are in.
struct Found {
    order: LinearOrder,
    ranges: FxHashMap<RingId, LiveRange>,
}

impl Found {
    /// With a barrier before the phases in `synced`, and each ring's phases always awaited but for those in `forgotten`.
    fn new(steps: &FirstSteps, rings: &Rings, synced: &[PhaseId], forgotten: &[RingId]) -> Self {
        let mut always_awaited = IndexVec::filled(true, rings.depth.len());
        for &ring in forgotten {
            always_awaited[ring] = false;
        }
        let none = RequiredSync::default();
        let mut syncs = Syncs {
            loads: IndexVec::filled(none, steps.tree.loads.len()),
            phases: IndexVec::filled(none, steps.partition.phases.len()),
            ..Syncs::default()
        };
        for &phase in synced {
            syncs.phases[phase].barrier = true;
        }
        let assigned = Assigned {
            rings,
            always_awaited: &always_awaited,
            syncs: &syncs,
        };
        let FirstSteps {
            tree,
            sites,
            placement,
            partition,
        } = steps;
        let ranges = live_ranges(tree, placement, sites, partition, assigned).into_iter();
        let opens = synced.iter().map(|&phase| {
            let (block, first, _) = sites.span(tree, placement, &partition.phases[phase]);
            (block, first)
        });
        Self {
            order: LinearOrder::new(tree, &opens.collect()),
            ranges: ranges.map(|range| (range.ring, range)).collect(),
        }
    }

    fn at(&self, block: usize, inst: usize) -> Interval {
        self.order.insts[BlockId(block)][inst]
    }
}

/// The live range of the ring that a load is on.
fn range_of(b: &Build, load: Token) -> (Found, LiveRange) {
    let steps = FirstSteps::new(&b.tree);
    let rings = steps.rings();
    let mut found = Found::new(&steps, &rings, &[], &[]);
    let range = found.ranges.remove(&rings.of(steps.value(load)));
    (found, range.expect("its phases are always awaited"))
}

#[test]
fn positions_are_in_program_order_and_a_region_op_covers_those_inside() {
    let mut b = Build::new();
    b.access(ELSEWHERE, AccessKind::Read);
    b.for_(Trips::Counted, &[], |b, _| {
        b.access(ELSEWHERE, AccessKind::Read);
        b.load();
        Vec::new()
    });
    b.access(ELSEWHERE, AccessKind::Read);
    let body = BlockId(1);
    let order = LinearOrder::new(&b.tree, &FxHashSet::from_iter([(body, 1)]));
    let [before, around, after] = order.insts[BlockId(0)][..] else {
        panic!("as many intervals as instructions");
    };
    let [access, load] = order.insts[body][..] else {
        panic!("as many intervals as instructions");
    };
    // The barrier before the load has a position of its own.
    let [barrier] = order.barriers[body][..] else {
        panic!("one barrier");
    };
    let positions = [before.1, around.0, access.0, barrier, load.0, after.0];
    assert!(positions.is_sorted_by(|a, b| a < b), "{positions:?}");
    assert!(load.1 <= around.1 && around.1 < after.0, "{around:?}");
    assert!(order.block[body].0 <= access.0 && load.1 <= order.block[body].1);
}

#[test]
fn a_ring_is_waited_for_until_its_last_wait_and_busy_until_a_barrier() {
    let mut b = Build::new();
    let x = b.load();
    b.push(Inst::Barrier);
    b.wait(&[x]);
    b.wait(&[x]);
    b.access(ELSEWHERE, AccessKind::Read);
    let endless = range_of(&b, x).1.busy;
    b.push(Inst::Barrier);
    let (found, range) = range_of(&b, x);
    let first = found.at(0, 0).0;
    assert_eq!(range.waited, (first, found.at(0, 3).0));
    assert_eq!(range.busy, [(first, found.at(0, 5).0)]);
    assert_eq!(range.unsynced, [first]);
    assert_eq!(endless, [(first, usize::MAX)]);
}

#[test]
fn a_phase_awaited_in_a_loop_lives_through_it() {
    let mut b = Build::new();
    let x = b.load();
    b.for_(Trips::Counted, &[], |b, _| {
        b.wait(&[x]);
        b.access(ELSEWHERE, AccessKind::Read);
        Vec::new()
    });
    let complete = b.join(&[]);
    let mut y = complete;
    b.for_(Trips::Counted, &[complete], |b, params| {
        b.wait(params);
        b.access(ELSEWHERE, AccessKind::Read);
        y = b.load();
        vec![y]
    });
    let (found, range) = range_of(&b, x);
    assert_eq!(range.waited, (found.at(0, 0).0, found.at(0, 1).1));
    // What it carries around from one iteration to the next one does, too.
    let (found, range) = range_of(&b, y);
    assert_eq!(range.waited, found.at(0, 3));
}

#[test]
fn a_ring_busy_at_the_end_of_a_loop_is_busy_at_its_start() {
    let mut b = Build::new();
    let mut x = None;
    b.for_(Trips::Counted, &[], |b, _| {
        b.access(ELSEWHERE, AccessKind::Read);
        b.push(Inst::Barrier);
        b.access(ELSEWHERE, AccessKind::Read);
        let token = b.load();
        b.wait(&[token]);
        x = Some(token);
        Vec::new()
    });
    b.push(Inst::Barrier);
    let (found, mut range) = range_of(&b, x.expect("the body is built"));
    range.busy.sort_unstable();
    let (start, around) = (found.at(0, 0).0, found.at(1, 1).0);
    // Each iteration waits for a phase of its own.
    assert_eq!(range.waited, (found.at(1, 3).0, found.at(1, 4).0));
    assert_eq!(
        range.busy,
        [(start, around), (found.at(1, 3).0, found.at(0, 1).0)]
    );
}

#[test]
fn a_barrier_before_a_load_ends_what_is_busy() {
    let mut b = Build::new();
    let x = b.load();
    b.wait(&[x]);
    let y = b.load();
    b.wait(&[y]);
    let steps = FirstSteps::new(&b.tree);
    let rings = steps.rings();
    let (x, y) = (steps.value(x), steps.phase(y));
    let found = Found::new(&steps, &rings, &[y], &[]);
    let busy = found.ranges[&rings.of(x)].busy[0];
    assert!(found.at(0, 1).0 < busy.1 && busy.1 < found.at(0, 2).0, "{busy:?}");
    assert!(found.ranges[&rings.phase[y]].unsynced.is_empty());
    // A wait is added where everything ends: nothing says how long that ring is live.
    let found = Found::new(&steps, &rings, &[y], &[rings.of(x)]);
    assert!(!found.ranges.contains_key(&rings.of(x)));
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn all_paths_from_an_arm_to_a_wait_are_waited_on_and_all_to_a_barrier_busy(tree in any_tree(ALL)) {
        let steps = FirstSteps::new(&tree);
        let rings = steps.rings();
        let found = Found::new(&steps, &rings, &[], &[]);
        for path in steps.paths(3).unwrap_or_default() {
            let mut positions = Vec::new();
            let mut opened = Vec::new();
            let mut busy: FxHashSet<RingId> = FxHashSet::default();
            for event in path {
                match event {
                    Event::Open(..) => opened.push(positions.len()),
                    Event::Begin(block, inst) => {
                        if matches!(steps.tree.blocks[block].insts[inst], Inst::Barrier) {
                            busy.clear();
                        }
                        positions.push(found.order.insts[block][inst].0);
                    }
                    Event::End(block, inst) => positions.push(found.order.insts[block][inst].1),
                    Event::Wait(_, phases) => for (phase, instance) in phases {
                        let (first, last) = found.ranges[&rings.of(phase)].waited;
                        let mut between = positions[opened[instance]..].iter();
                        prop_assert!(between.all(|at| (first..=last).contains(at)), "{phase:?}");
                        busy.insert(rings.of(phase));
                    },
                    Event::Edge(..) | Event::Bind(..) => continue,
                }
                let Some(at) = positions.last() else { continue };
                for ring in &busy {
                    let mut spans = found.ranges[ring].busy.iter();
                    prop_assert!(spans.any(|(first, last)| (first..=last).contains(&at)), "ring {ring} at {at}");
                }
            }
        }
    }
}
