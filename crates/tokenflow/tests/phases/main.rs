//! The plan of phases against its definition, on random programs.
//!
//! A program is run with the plan, choices and trip counts at random, on mbarriers as the hardware has them. Whatever the
//! schedule, the following must hold; each is checked where it could fail:
//!
//! - a wait is for a phase that has been opened, and whose slot has not been armed again;
//! - an await is complete when it has waited for its phases; but for a few, each of them has a load of its tokens;
//! - a slot is armed only when its last phase is over, and when a barrier lies behind the last wait for it;
//! - a phase counts the bytes that are loaded in it, and all of them before anybody waits for it;
//! - numbers in closed form are what counting gives;
//! - threads that meet at mbarriers don't arrive on a slot whose last phase may be open;
//! - a load is not issued while only some threads know that the last one of its buffer has landed;
//! - a load is issued behind a barrier and a fence where threads have accessed its buffer, and a guard is there for a
//!   reason;
//! - at the end nothing is in flight, but for rings that are drained;
//! - over all runs, as many phases of a ring are live together as it has mbarriers, but for a few rings; and as many phases
//!   of all rings as there are mbarriers, but for a few programs.
//!
//! `PROPTEST_CASES` makes it more or fewer programs.

#![allow(clippy::cast_possible_truncation)] // All numbers are small.

mod generate;
mod run;

use generate::generate;
use run::{Depths, Fault, Rng, run};
use tokenflow::phases::{Plan, Tree, plan};

fn cases(default: u64) -> u64 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Plans a program; loads that no ring can follow are awaited at once.
fn planned(seed: u64) -> (Tree, Plan) {
    let mut tree = generate(&mut Rng(seed));
    loop {
        let plan = plan(&tree, false);
        if plan.lost.is_empty() {
            return (tree, plan);
        }
        generate::await_at_once(&mut tree, &plan.lost);
    }
}

#[test]
fn plans_are_sound() {
    let (mut phases, mut waits, mut deep, mut in_vain) = (0, 0, 0, 0);
    let (mut out_of_turn, mut not_first) = (0, 0);
    for seed in 0..cases(4000) {
        let (tree, plan) = planned(seed);
        let mut depths = Depths::new(&plan);
        for execution in 0..12 {
            let mut rng = Rng(seed.wrapping_mul(1000).wrapping_add(execution));
            match run(&tree, &plan, &mut rng, Fault::None, &mut depths) {
                Ok(seen) => {
                    phases += seen.phases;
                    waits += seen.waits;
                    in_vain += seen.in_vain;
                }
                Err(error) => panic!(
                    "program {seed}, execution {execution}: {error}\n{}",
                    generate::text(&tree, &plan)
                ),
            }
        }
        out_of_turn += plan.bundles.iter().filter(|bundle| bundle.shift != 0).count();
        not_first += plan.syncs.iter().filter(|sync| !sync.waits).count();
        deep += plan.rings.iter().filter(|ring| ring.depth > 1).count();
    }
    // The programs are worth the name.
    assert!(
        phases > 0 && waits > 0 && deep > 0 && out_of_turn > 0 && not_first > 0,
        "{phases} phases, {waits} waits, {deep} deep rings, {out_of_turn} phases numbered out of turn, {not_first} meetings \
         without a wait"
    );
    assert!(
        in_vain * 10_000 <= waits,
        "{in_vain} of {waits} waits are for phases that nobody asked for"
    );
}

#[test]
fn no_mbarrier_is_wasted() {
    let (mut rings, mut wasted) = (0_u64, Vec::new());
    let (mut made, mut together) = (0, 0);
    for seed in 0..cases(4000) / 4 {
        let (tree, plan) = planned(seed);
        let mut depths = Depths::new(&plan);
        for execution in 0..200 {
            let mut rng = Rng(seed.wrapping_mul(7919).wrapping_add(execution));
            let _ = run(&tree, &plan, &mut rng, Fault::None, &mut depths);
        }
        if plan.rings.iter().all(|ring| ring.sure) {
            made += plan.rings.iter().map(|ring| ring.depth).sum::<u64>();
            together += depths.together;
        }
        for (ring, depth) in depths.most.iter().enumerate() {
            rings += 1;
            if plan.rings[ring].sure && *depth < plan.rings[ring].depth {
                wasted.push((seed, ring, *depth, plan.rings[ring].depth));
            }
        }
    }
    // Some programs hardly ever take the way that needs the depth, or forget on no way what the plan takes for possible.
    assert!(
        wasted.len() as u64 * 200 <= rings,
        "of {rings} rings, deeper than needed (program, ring, needed, depth): {wasted:?}"
    );
    // Nor are rings kept apart that are never live together.
    assert!(
        (made - together) * 30 <= made,
        "{made} mbarriers are made, and {together} are live together"
    );
}

/// Every fault that is planted into a plan is noticed in some program.
#[test]
fn planted_faults_are_noticed() {
    for fault in Fault::ALL {
        let noticed = (0..cases(4000)).any(|seed| {
            let (tree, plan) = planned(seed);
            (0..12).any(|execution| {
                let mut rng = Rng(seed.wrapping_mul(1000).wrapping_add(execution));
                run(&tree, &plan, &mut rng, fault, &mut Depths::new(&plan)).is_err()
            })
        });
        assert!(noticed, "{fault:?} goes unnoticed");
    }
}
