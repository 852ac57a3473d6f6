//! Programs of threads with different roles: run with their plans, thread by thread, on mbarriers as the PTX ISA defines them.
//!
//! All threads take the same way through what they share, so an execution is one list of events ([`trace`]), of which each
//! thread does those of its roles. An adversary decides whose turn it is, and when a load lands ([`machine`]). Whatever it does:
//!
//! - no thread and no load waits for ever;
//! - an await is over when all its loads have landed;
//! - a load is issued when threads have done what they do to its buffer before it, have passed on what they wrote, and what has
//!   been awaited of its buffer before it has landed;
//! - no mbarrier gets more arrivals than it expects.

pub mod machine;
pub mod trace;

use super::generate::{Planned, any_program_with_roles, config};
use super::{add, execution};
use machine::{Machine, Priority};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use tokenflow::phases::{Plan, RoleSet, Tree};
use trace::{Event, trace};

/// How many threads have each role.
const THREADS: u32 = 2;

/// A fault to be planted into a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// Rings have one mbarrier less, if they have two.
    Shallow,
    /// Threads of one role don't arrive where they meet, and are not waited for.
    Absent,
    /// Nobody arrives anywhere.
    NoBarriers,
    /// Threads of one role don't pass on what they wrote.
    NoFence,
    /// Threads never wait before they arrive.
    Ahead,
    /// The issuing thread does not arrive where others may be ahead of it.
    Unseen,
    /// The first phase of an await is not waited for.
    NoWait,
    /// A role may await some phases of a ring, and others not.
    Partly,
}

impl Fault {
    const ALL: [Self; 8] = [
        Self::Shallow,
        Self::Absent,
        Self::NoBarriers,
        Self::NoFence,
        Self::Ahead,
        Self::Unseen,
        Self::NoWait,
        Self::Partly,
    ];

    fn plant(self, plan: &mut Plan) {
        let without_first = |roles: RoleSet| RoleSet(roles.0 & roles.0.wrapping_sub(1));
        match self {
            Self::Shallow => plan
                .rings
                .iter_mut()
                .for_each(|ring| ring.depth = (ring.depth - 1).max(1)),
            Self::Absent => {
                for who in plan.syncs.participants.values_mut() {
                    who.barrier = without_first(who.barrier);
                }
                for rendezvous_ring in &mut plan.rendezvous_rings {
                    rendezvous_ring.roles = without_first(rendezvous_ring.roles);
                }
            }
            Self::NoBarriers => {
                let syncs = plan.syncs.loads.iter_mut().chain(plan.syncs.phases.iter_mut());
                syncs.for_each(|sync| sync.barrier = false);
            }
            Self::NoFence => {
                for who in plan.syncs.participants.values_mut() {
                    who.fence = without_first(who.fence);
                }
            }
            Self::Ahead => {
                for rendezvous in &mut plan.rendezvous {
                    rendezvous.waits = false;
                }
            }
            Self::Unseen => {
                for rendezvous_ring in &mut plan.rendezvous_rings {
                    rendezvous_ring.issuer_arrives = false;
                }
            }
            Self::NoWait => {
                if let Some(phases) = plan.awaits.iter_mut().find(|phases| !phases.is_empty()) {
                    phases.remove(0);
                }
            }
            Self::Partly => plan.partly_awaited.clear(),
        }
    }
}

/// Runs one execution under one adversary.
fn run(tree: &Tree, plan: &Plan, number: u16) -> Result<Vec<Event>, String> {
    let mut rng = execution(number);
    let events = trace(tree, plan, &mut rng)?;
    let priority = match number % 3 {
        0 => Priority::Random,
        1 => Priority::Fixed { loads_last: true },
        _ => Priority::Fixed { loads_last: false },
    };
    Machine::new(tree, plan, &events, THREADS).run(&mut rng, priority)?;
    Ok(events)
}

#[test]
fn plans_of_roles_are_sound() {
    let [programs, refused, arrivals, needless, partial, seen] = [0; 6].map(Cell::new);
    let mut runner = TestRunner::new(config(3000));
    let result = runner.run(&any_program_with_roles(), |recipe| {
        let Planned { tree, plan } = recipe.planned();
        if !plan.partly_awaited.is_empty() {
            add(&refused, 1);
            return Ok(());
        }
        add(&programs, 1);
        let (mut needed, mut all) = (Vec::new(), Vec::new());
        for number in 0..9 {
            match run(&tree, &plan, number) {
                Ok(events) => trace::arrivals(&tree, &plan, &events, &mut all, &mut needed),
                Err(error) => prop_assert!(false, "execution {number}: {error}"),
            }
        }
        add(&arrivals, all.len() as u64);
        add(&needless, (all.len() - needed.len()) as u64);
        let of_some = plan
            .rendezvous_rings
            .iter()
            .filter(|it| it.roles != tree.all_roles());
        add(&partial, of_some.count() as u64);
        add(
            &seen,
            plan.rendezvous_rings
                .iter()
                .filter(|it| it.issuer_arrives)
                .count() as u64,
        );
        Ok(())
    });
    if let Err(error) = result {
        panic!("{}", error.to_string());
    }
    let [programs, refused, arrivals, needless, partial, seen] =
        [programs, refused, arrivals, needless, partial, seen].map(Cell::into_inner);
    // The programs are worth the name, and nobody arrives for nothing, but for a few that no execution shows a reason for.
    assert!(
        programs > refused && partial > 100 && seen > 10 && needless * 25 <= arrivals,
        "{programs} programs, {refused} refused, {partial} rings at which some roles meet, {seen} with the issuing thread; \
         {needless} of {arrivals} arrivals for nothing"
    );
}

/// Every fault that is planted into a plan is noticed in some program.
#[test]
fn planted_faults_of_roles_are_noticed() {
    for fault in Fault::ALL {
        let config = config(3000);
        let cases = config.cases;
        let mut runner = TestRunner::new(config);
        let noticed = (0..cases).any(|_| {
            let program = any_program_with_roles()
                .new_tree(&mut runner)
                .expect("nothing is rejected");
            let Planned { tree, mut plan } = program.current().planned();
            let refused = !plan.partly_awaited.is_empty();
            if refused != (fault == Fault::Partly) {
                return false;
            }
            fault.plant(&mut plan);
            (0..9).any(|number| run(&tree, &plan, number).is_err())
        });
        assert!(noticed, "{fault:?} goes unnoticed");
    }
}
