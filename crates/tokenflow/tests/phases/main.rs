//! The plan of phases against its definition, on random programs.
//!
//! A program is run with the plan, choices and trip counts at random, on mbarriers as the hardware has them. Whatever the
//! schedule, the following must hold; each is checked where it could fail:
//!
//! - a wait is for a phase that has been opened, and whose slot has not been armed again;
//! - an await is complete when it has waited for its phases; but for a few, each of them has a load of its tokens;
//! - a slot is armed only when its last phase is over, and when a barrier lies after the last wait for it;
//! - a phase counts the bytes that are loaded in it, and all of them before anything waits for it;
//! - numbers in closed form are what counting gives;
//! - threads that meet at mbarriers don't arrive on a slot whose last phase may be open;
//! - a load is not issued while only some threads know that the last one of its buffer has landed;
//! - a load is issued after a barrier and a fence where threads have accessed its buffer, and a barrier is there for a
//!   reason;
//! - at the end nothing is in flight, but for rings that are drained;
//! - over all runs, as many phases of a ring are live together as it has mbarriers, but for a few rings; and as many phases
//!   of all rings as there are mbarriers, but for a few programs.
//!
//! `PROPTEST_CASES` makes it more or fewer programs.

#![allow(clippy::cast_possible_truncation)] // All numbers are small.

mod generate;
mod run;
mod verify;

use generate::{Planned, any_program, config};
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};
use proptest::{prelude::*, prop_assert};
use run::{Depths, Fault, run};
use std::cell::{Cell, RefCell};
use tokenflow::phases::{Options, plan_with};

/// The choices of an execution: the same for each program.
fn execution(number: u16) -> TestRng {
    let mut seed = [0; 32];
    seed[..2].copy_from_slice(&number.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &seed)
}

/// Checks `property` on random programs; says which is the smallest that fails.
fn check(cases: u32, property: impl Fn(Planned) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new(config(cases));
    if let Err(error) = runner.run(&any_program(), |recipe| property(recipe.planned())) {
        // Showing a program plans it again, which may panic, and must not while a panic is being reported.
        let error = error.to_string();
        panic!("{error}");
    }
}

fn add(cell: &Cell<u64>, more: u64) {
    cell.set(cell.get() + more);
}

#[test]
fn plans_are_sound() {
    let [phases, waits, deep, in_vain, out_of_turn, no_wait] = [0; 6].map(Cell::new);
    check(4000, |Planned { tree, plan }| {
        let mut depths = Depths::new(&plan);
        for number in 0..12 {
            match run(&tree, &plan, &mut execution(number), Fault::None, &mut depths) {
                Ok(seen) => {
                    add(&phases, seen.phases);
                    add(&waits, seen.waits);
                    add(&in_vain, seen.in_vain);
                }
                Err(error) => prop_assert!(false, "execution {number}: {error}"),
            }
        }
        let shifted = plan.phases.iter().filter(|phase| phase.shift != 0);
        add(&out_of_turn, shifted.count() as u64);
        add(
            &no_wait,
            plan.rendezvous.iter().filter(|meeting| !meeting.waits).count() as u64,
        );
        add(
            &deep,
            plan.rings.iter().filter(|ring| ring.depth > 1).count() as u64,
        );
        Ok(())
    });
    let [phases, waits, deep, in_vain, out_of_turn, no_wait] =
        [phases, waits, deep, in_vain, out_of_turn, no_wait].map(Cell::into_inner);
    // The programs are worth the name.
    assert!(
        phases > 0 && waits > 0 && deep > 0 && out_of_turn > 0 && no_wait > 0,
        "{phases} phases, {waits} waits, {deep} deep rings, {out_of_turn} phases numbered out of turn, {no_wait} rendezvous \
         without a wait"
    );
    assert!(
        in_vain * 10_000 <= waits,
        "{in_vain} of {waits} waits are for phases that no await asked for"
    );
}

/// Rings of a power of two of mbarriers are as sound, and none of them has a counter for its depth alone.
#[test]
fn rounded_plans_are_sound() {
    let deeper = Cell::new(0);
    check(1000, |Planned { tree, plan }| {
        let options = Options {
            fence_reads: false,
            round_rings: true,
        };
        let rounded = plan_with(&tree, options);
        for (ring, fewest) in rounded.rings.iter().zip(&plan.rings) {
            if ring.depth != fewest.depth {
                prop_assert_eq!(ring.depth, fewest.depth.next_power_of_two());
                prop_assert!(fewest.has_counter && !ring.has_counter);
                add(&deeper, 1);
            }
        }
        let mut depths = Depths::new(&rounded);
        for number in 0..12 {
            if let Err(error) = run(&tree, &rounded, &mut execution(number), Fault::None, &mut depths) {
                prop_assert!(false, "execution {number}: {error}");
            }
        }
        Ok(())
    });
    assert!(deeper.get() > 0, "some rings are deeper");
}

#[test]
fn no_mbarrier_is_wasted() {
    let rings = Cell::new(0);
    let (made, together) = (Cell::new(0), Cell::new(0));
    // How long programs are, and those that have a ring that is deeper than any execution needs.
    let wasted: RefCell<Vec<(usize, String)>> = RefCell::default();
    check(1000, |program| {
        let Planned { tree, plan } = &program;
        let mut depths = Depths::new(plan);
        for number in 0..200 {
            let _ = run(tree, plan, &mut execution(number), Fault::None, &mut depths);
        }
        if plan.rings.iter().all(|ring| ring.always_awaited) {
            add(&made, plan.rings.iter().map(|ring| ring.depth).sum());
            add(&together, depths.together);
        }
        add(&rings, plan.rings.len() as u64);
        for (ring, &needed) in plan.rings.iter().zip(&depths.most) {
            if ring.always_awaited && needed < ring.depth {
                let insts = tree.blocks.iter().map(|block| block.insts.len()).sum();
                let text = format!("{needed} of {} mbarriers are needed in\n{program:?}", ring.depth);
                wasted.borrow_mut().push((insts, text));
            }
        }
        Ok(())
    });
    // Some programs hardly ever take the path that needs the depth, or forget on no path what the plan takes for possible.
    let (rings, wasted) = (rings.get(), wasted.into_inner());
    assert!(
        wasted.len() as u64 * 200 <= rings,
        "{} of {rings} rings are deeper than needed; {}",
        wasted.len(),
        wasted.iter().min().map_or("", |(_, text)| text)
    );
    // Nor are rings kept apart that are never live together.
    let (made, together) = (made.get(), together.get());
    assert!(
        (made - together) * 30 <= made,
        "{made} mbarriers are made, and {together} are live together"
    );
}

/// Every fault that is planted into a plan is noticed in some program.
#[test]
fn planted_faults_are_noticed() {
    for fault in Fault::ALL {
        let config = config(4000);
        let cases = config.cases;
        let mut runner = TestRunner::new(config);
        let noticed = (0..cases).any(|_| {
            let program = any_program().new_tree(&mut runner).expect("nothing is rejected");
            let Planned { tree, plan } = program.current().planned();
            let mut depths = Depths::new(&plan);
            (0..12).any(|number| run(&tree, &plan, &mut execution(number), fault, &mut depths).is_err())
        });
        assert!(noticed, "{fault:?} goes unnoticed");
    }
}
