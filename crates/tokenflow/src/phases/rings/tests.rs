use super::*;
use crate::oracle::generate::config;
use crate::phases::test_trees::{ALL, Build, Event, FirstSteps, Shape, any_tree};
use crate::phases::tree::Trips;
use proptest::prelude::*;

#[test]
fn a_rotation_is_as_deep_as_it_has_loads_in_flight() {
    for (is_awaited_first, age) in [(true, 1), (false, 2)] {
        let mut b = Build::new();
        let inits = [b.load(), b.load()];
        let (mut id, mut oldest) = (None, None);
        b.for_(Trips::Counted, &inits, |b, params| {
            let mut wait = |b: &mut Build| id = Some(b.wait(&params[..1]));
            if is_awaited_first {
                wait(b);
            }
            let next = b.load();
            if !is_awaited_first {
                wait(b);
            }
            oldest = Some(params[0]);
            vec![params[1], next]
        });
        let steps = FirstSteps::new(&b.tree);
        let rings = steps.rings();
        let awaited = id.zip(oldest.map(|oldest| steps.value(oldest)));
        assert_eq!(rings.depth.to_vec(), [age + 1]);
        assert_eq!(rings.age_at[&awaited.expect("the body is built")], age);
    }
}

#[test]
fn only_phases_of_one_phi_share_a_ring() {
    let mut b = Build::new();
    let (x, y) = (b.load(), b.load());
    b.for_(Trips::Counted, &[x], |b, params| {
        b.wait(params);
        vec![b.load()]
    });
    b.wait(&[y]);
    let steps = FirstSteps::new(&b.tree);
    let rings = steps.rings();
    let of = |load: usize| {
        let mut phases = steps.partition.phases.with_ids();
        phases
            .find(|(_, loads)| loads.contains(&LoadId(load)))
            .map(|(phase, _)| rings.phase[phase])
    };
    assert_eq!(of(0), of(2));
    assert_ne!(of(0), of(1));
    assert_eq!(rings.depth.to_vec(), [1, 1]);
}

#[test]
fn a_phase_keeps_its_slot_until_it_is_passed_on() {
    let mut b = Build::new();
    let (first, other) = (b.load(), b.load());
    b.wait(&[other]);
    // The argument is not awaited, but it says of which iteration the result is.
    let last = b.for_(Trips::Constant(2), &[first], |b, _| vec![b.load()]);
    b.wait(&last);
    let steps = FirstSteps::new(&b.tree);
    assert_eq!(steps.one_ring().depth.to_vec(), [2]);
}

#[test]
fn a_token_that_outlives_any_number_of_arms_has_no_ring() {
    for keeps in [true, false] {
        let mut b = Build::new();
        let first = b.load();
        let last = b.for_(Trips::Counted, &[first], |b, params| {
            if !keeps {
                b.wait(params);
            }
            let next = b.load();
            let kept = if keeps { params[0] } else { next };
            b.if_(|_| vec![kept], |_| vec![next])
        });
        b.wait(&last);
        let rings = FirstSteps::new(&b.tree).rings();
        let expected = if keeps {
            vec![LoadId(0), LoadId(1)]
        } else {
            Vec::new()
        };
        assert_eq!(rings.unallocated, expected);
    }
}

/// The greatest age of each phase where it is awaited, and the greatest of all: also of phases that are passed on, or have all
/// their loads.
fn ages_on(
    paths: &[Vec<Event>],
    steps: &FirstSteps,
    rings: &Rings,
) -> (FxHashMap<(AwaitId, PhaseValue), u64>, IndexVec<RingId, u64>) {
    let mut at_awaits = FxHashMap::default();
    let mut oldest = IndexVec::filled(0, rings.depth.len());
    let ends: Vec<(BlockId, usize)> = {
        let phases = steps.partition.phases.iter();
        let spans = phases.map(|loads| steps.sites.span(&steps.tree, &steps.placement, loads));
        spans.map(|(block, _, last)| (block, last)).collect()
    };
    for path in paths {
        let mut arms: IndexVec<RingId, u64> = IndexVec::filled(0, rings.depth.len());
        // For each instance, and for the last one of each phase, how often its ring had been armed with it.
        let mut opened = Vec::new();
        let mut last: FxHashMap<PhaseId, u64> = FxHashMap::default();
        for event in path {
            match event {
                Event::Open(phase, _) => {
                    let ring = rings.phase[*phase];
                    arms[ring] += 1;
                    opened.push(arms[ring]);
                    last.insert(*phase, arms[ring]);
                }
                Event::Wait(id, phases) => {
                    for &(phase, instance) in phases {
                        let ring = rings.of(phase);
                        let age = arms[ring] - opened[instance];
                        let most = at_awaits.entry((*id, phase)).or_insert(0);
                        *most = age.max(*most);
                        oldest[ring] = age.max(oldest[ring]);
                    }
                }
                Event::Bind(phi, instance) => {
                    let ring = rings.phi[*phi];
                    oldest[ring] = oldest[ring].max(arms[ring] - opened[*instance]);
                }
                Event::End(block, inst) => {
                    for (phase, ring) in rings.phase.with_ids() {
                        if ends[phase.0] == (*block, *inst) {
                            oldest[*ring] = oldest[*ring].max(arms[*ring] - last[&phase]);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    (at_awaits, oldest)
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn no_slot_is_armed_again_before_its_phase_is_awaited_and_passed_on(tree in any_tree(ALL), is_joined in any::<bool>()) {
        let steps = FirstSteps::new(&tree);
        let rings = if is_joined { steps.one_ring() } else { steps.rings() };
        prop_assume!(rings.unallocated.is_empty());
        let (at_awaits, oldest) = ages_on(&steps.paths(3).unwrap_or_default(), &steps, &rings);
        for (at, age) in at_awaits {
            prop_assert!(age <= rings.age_at[&at], "{at:?}");
        }
        for (ring, &age) in oldest.with_ids() {
            prop_assert!(age < rings.depth[ring], "ring {ring}");
        }
    }

    /// What edges bind may be of different ages on paths that exclude each other.
    #[test]
    fn ages_and_depths_are_those_of_some_path(tree in any_tree(Shape { binds: false, any_trips: false, ..ALL })) {
        let steps = FirstSteps::new(&tree);
        let rings = steps.one_ring();
        let Some(paths) = steps.paths(1) else { return Ok(()) };
        let (at_awaits, oldest) = ages_on(&paths, &steps, &rings);
        prop_assert_eq!(&rings.age_at, &at_awaits);
        for (ring, &age) in oldest.with_ids() {
            prop_assert_eq!(rings.depth[ring], age + 1);
        }
    }
}
