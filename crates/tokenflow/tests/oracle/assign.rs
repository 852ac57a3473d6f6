//! Solves a program by brute force, from the definition alone, for given commits.
//!
//! The wait of an await is exact where it is the least age of what it awaits, given all other waits
//! ([`own_age`]). An exact assignment is a fixed point of that. The larger the other waits are, the
//! less they complete and the smaller an own age is: own ages fall as others rise. So bounds can be
//! squeezed from both sides, and what is left between them is enumerated.

use super::code::Code;
use super::execute::Emitted;
use super::explore::own_age;
use tokenflow::{Await, Commits, Program, Queue};

/// The wait of every await; `None` is no wait, which is more than any number.
pub type Waits = Vec<Option<u32>>;

/// All exact assignments of a queue, the commits being given, or nothing if there are too many
/// candidates to try.
pub fn exact_assignments(program: &Program, queue: Queue, commits: &Commits) -> Option<Vec<Waits>> {
    let code = Code::new(program);
    let own = |waits: &Waits, site: usize| {
        let emitted = Emitted {
            commits: commits.clone(),
            waits: waits.clone(),
            reads: Vec::new(),
        };
        own_age(
            &code,
            queue,
            &emitted,
            Await(u32::try_from(site).expect("few awaits")),
        )
    };
    let awaits = program.awaits as usize;
    let all = |waits: &Waits| (0..awaits).map(|site| own(waits, site)).collect::<Waits>();
    // No exact assignment is outside of these.
    let mut high: Waits = vec![None; awaits];
    let mut low = all(&high);
    loop {
        let (next_high, next_low) = (all(&low), all(&high));
        if next_high == high && next_low == low {
            break;
        }
        (high, low) = (next_high, next_low);
    }
    let choices: Vec<Vec<Option<u32>>> = low
        .iter()
        .zip(&high)
        .map(|(low, high)| between(*low, *high))
        .collect();
    let candidates = choices
        .iter()
        .try_fold(1_usize, |all, some| all.checked_mul(some.len()))?;
    if candidates > 3_000 {
        return None;
    }
    let mut found = Vec::new();
    for number in 0..candidates {
        let mut rest = number;
        let mut waits = Waits::new();
        for some in &choices {
            waits.push(some[rest % some.len()]);
            rest /= some.len();
        }
        if (0..awaits).all(|site| own(&waits, site) == waits[site]) {
            found.push(waits);
        }
    }
    Some(found)
}

fn between(low: Option<u32>, high: Option<u32>) -> Vec<Option<u32>> {
    match (low, high) {
        (None, _) => vec![None],
        (Some(low), Some(high)) => (low..=high).map(Some).collect(),
        // A wait that covers something covers it at one of the ages that there are.
        (Some(low), None) => (low..low + 6).map(Some).chain([None]).collect(),
    }
}

/// An exact lowering for the given commits; where there are several, the one with the largest waits
/// first, where there is none or too much to search, nothing.
pub fn exact(program: &Program, commits: &[Commits]) -> Option<Vec<Emitted>> {
    let largest = |wait: &Waits| {
        wait.iter()
            .map(|wait| wait.unwrap_or(u32::MAX))
            .collect::<Vec<u32>>()
    };
    let number = |index| Queue(u8::try_from(index).expect("few queues"));
    let of = |(index, commits): (usize, &Commits)| {
        let waits = exact_assignments(program, number(index), commits)?
            .into_iter()
            .max_by_key(largest)?;
        Some(Emitted {
            commits: commits.clone(),
            waits,
            reads: Vec::new(),
        })
    };
    commits.iter().enumerate().map(of).collect()
}
