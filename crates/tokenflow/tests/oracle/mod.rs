//! The oracle: the definition of "exact", checked on all executions of a program.
//!
//! It is written from the definition alone and shares no code with the algorithm:
//!
//! - `execute` runs one execution on concrete FIFOs, word for word as the definition says;
//! - `follow` and `explore` follow one copy through *all* executions at once, so that their verdicts
//!   hold for loops of any length; every verdict comes with an execution that `execute` can replay;
//! - `compare` runs two lowerings side by side and says which awaits force more;
//! - `reads` turns operations with two completions into ones with a single completion;
//! - `assign` solves a program by brute force;
//! - `improve` looks for better commits by brute force, `placements` tries all there are;
//! - `generate` makes random programs, and `build` makes the ones that tests spell out.

#![allow(dead_code, reason = "each test uses its part of the oracle")]

pub mod assign;
pub mod blocks;
pub mod build;
pub mod code;
pub mod compare;
pub mod execute;
pub mod explore;
pub mod follow;
pub mod generate;
pub mod improve;
pub mod lower;
pub mod placements;
pub mod reads;

use code::Code;
use execute::Emitted;
use explore::{Choices, distances, incomplete};
use follow::Age;
use std::fmt;
use tokenflow::{Await, Program, Queue};

/// Tests spend much of their time on small vectors.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is wrong with the waits of a program.
#[derive(Clone, PartialEq, Eq)]
pub enum Fault {
    /// An await passes while something it awaits is in flight, or in no group yet.
    Unsound {
        queue: Queue,
        site: Await,
        open: bool,
        execution: Choices,
    },
    /// A wait whose number could be larger: its own await would still be covered.
    Loose { queue: Queue, site: Await, n: u32 },
    /// A wait is not the FIFO distance.
    Distance {
        queue: Queue,
        site: Await,
        is: Option<u32>,
        should: Option<u32>,
    },
}

impl Fault {
    /// The await that is at fault.
    pub fn site(&self) -> Await {
        match self {
            Self::Unsound { site, .. } | Self::Loose { site, .. } | Self::Distance { site, .. } => *site,
        }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Unsound {
                queue,
                site,
                open,
                execution,
            } => {
                let what = if *open { "uncommitted" } else { "in flight" };
                write!(
                    f,
                    "unsound: await {} of queue {} passes with a copy {what}",
                    site.0, queue.0
                )?;
                write!(f, ", choices {execution:?}")
            }
            Self::Loose { queue, site, n } => write!(
                f,
                "not bound: await {} of queue {} has wait {n}, and wait {} covers it too",
                site.0,
                queue.0,
                n + 1
            ),
            Self::Distance {
                queue,
                site,
                is,
                should,
            } => write!(
                f,
                "distance: await {} of queue {} has {is:?}, the FIFO distance is {should:?}",
                site.0, queue.0
            ),
        }
    }
}

/// The largest number that a wait can have.
pub const MOST: u32 = 63;

/// Returns the awaits that pass, on some execution, while something they await is not complete.
pub fn unsound(program: &Program, emitted: &[Emitted]) -> Vec<Fault> {
    let code = Code::new(program);
    let mut faults = Vec::new();
    for (queue, emitted) in queues(emitted) {
        for (site, found) in incomplete(&code, queue, emitted) {
            for (open, execution) in [(true, found.open), (false, found.in_flight)] {
                faults.extend(execution.map(|execution| Fault::Unsound {
                    queue,
                    site,
                    open,
                    execution,
                }));
            }
        }
    }
    faults
}

/// Returns the waits that are not bound by their own await: raised by one, they still cover it on
/// every execution.
pub fn loose(program: &Program, emitted: &[Emitted]) -> Vec<Fault> {
    let code = Code::new(program);
    let mut faults = Vec::new();
    for (queue, emitted) in queues(emitted) {
        for (index, &wait) in emitted.waits.iter().enumerate() {
            let site = Await(u32::try_from(index).expect("few awaits"));
            let Some(n) = wait.filter(|&n| n < MOST) else {
                continue;
            };
            if raised(&code, queue, emitted, site).is_none() {
                faults.push(Fault::Loose { queue, site, n });
            }
        }
    }
    faults
}

/// Raises the wait of an await by one; returns an execution on which the await is no longer covered.
pub fn raised(code: &Code, queue: Queue, emitted: &Emitted, site: Await) -> Option<Choices> {
    let mut raised = emitted.clone();
    *raised.waits[site.0 as usize].as_mut()? += 1;
    incomplete(code, queue, &raised).remove(&site)?.in_flight
}

/// Returns everything that is not exact.
pub fn inexact(program: &Program, emitted: &[Emitted]) -> Vec<Fault> {
    let mut faults = unsound(program, emitted);
    faults.extend(loose(program, emitted));
    faults
}

/// Returns the waits that are not the FIFO distance: what an await would wait for if nothing else
/// ever completed anything. Awaits that may come before the commit are left out.
pub fn not_distances(program: &Program, emitted: &[Emitted]) -> Vec<Fault> {
    let code = Code::new(program);
    let mut faults = Vec::new();
    for (queue, emitted) in queues(emitted) {
        let distances = distances(&code, queue, &emitted.commits, program.awaits);
        for (index, (distance, &is)) in distances.into_iter().zip(&emitted.waits).enumerate() {
            let should = match distance {
                None => None,
                Some(Age::Groups(n)) => Some(n.min(MOST)),
                Some(_) => continue,
            };
            if is != should {
                faults.push(Fault::Distance {
                    queue,
                    site: Await(u32::try_from(index).expect("few awaits")),
                    is,
                    should,
                });
            }
        }
    }
    faults
}

fn queues(emitted: &[Emitted]) -> impl Iterator<Item = (Queue, &Emitted)> {
    let number = |index| Queue(u8::try_from(index).expect("few queues"));
    emitted
        .iter()
        .enumerate()
        .map(move |(index, emitted)| (number(index), emitted))
}
