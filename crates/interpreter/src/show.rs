//! Says what was found: for people, and for tools.

mod causes;
mod hazards;
mod reasons;
mod text;
mod waits;
mod words;

pub use self::causes::{Cause, Group, groups};
pub use self::waits::LastWait;

use self::hazards::{Copied, PhaseWait, Sides, Waits};
use crate::code::{Code, Completion, Op, OpLocation};
use crate::machine::{Ended, Reason, Stop};
use crate::memory::Buffer;
use crate::report::{Hazard, Own, Problem, Race, Reports, Spot};
use crate::value::BufferId;
use std::collections::{HashMap, HashSet};

/// What it takes to name things.
pub struct Names<'a> {
    /// The kernel.
    pub code: &'a Code,
    /// The buffers.
    pub buffers: &'a [Buffer],
    /// The iterations that spots refer to.
    pub iterations: &'a [Box<[u32]>],
    /// The threads of a block, in x, y and z.
    pub block: [u32; 3],
    /// The blocks, in x, y and z.
    pub grid: [u32; 3],
    /// Of host code: where each task was made, see [`Machine::started`](crate::machine::Machine::started).
    pub tasks: &'a [Spot],
}

/// An operation, run once by a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instance {
    /// The operation's name.
    pub op: String,
    /// Where it stands.
    pub location: String,
    /// Which thread of its block, counted row by row.
    pub thread: u32,
    /// Which block, counted row by row.
    pub block: u32,
    /// The thread and block, for people.
    pub who: String,
    /// The iteration of each loop around, outermost first, and where the loop stands.
    pub loops: Vec<(u32, String)>,
    /// Which instruction it is.
    instr: u32,
}

/// The bytes that two operations collide on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bytes {
    /// The buffer's name.
    pub buffer: String,
    /// The first and the last byte of the first time.
    pub range: (usize, usize),
    /// The element that the first of them is of, in brackets; nothing if the buffer is no array.
    pub element: String,
    /// How many bytes collided, in all.
    pub count: u64,
    /// The loops around, innermost first, and the iterations of each in which they did, the first few.
    pub iterations: Vec<(String, Vec<u32>)>,
    /// True if there were more.
    pub more: bool,
}

/// Something that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// `RAW`, `WAR` or `WAW`, or the name of another kind of mistake.
    pub kind: &'static str,
    /// What is wrong, as far as it can be told.
    pub cause: Cause,
    /// True if it does no harm.
    pub note: bool,
    /// Of findings with one cause, those with less are more fundamental.
    rank: u64,
    /// What is wrong.
    pub message: String,
    /// What to do about it; nothing where the message says it.
    pub advice: String,
    /// What makes it wrong.
    pub at: Instance,
    /// What it collides with.
    pub against: Option<Instance>,
    /// What they collide on.
    pub on: Option<Bytes>,
    /// The last wait before it, where a wait is missing.
    pub last_wait: Option<LastWait>,
    /// True if it may follow from other phases of mbarriers: a race with a copy that completes on one, or a wait that is late.
    follows_phases: bool,
    /// True if it is of barriers that are no mbarriers.
    of_barriers: bool,
}

/// Adds what another run has found, but for what is known: the same of the same operations.
pub fn merge(all: &mut Vec<Finding>, found: Vec<Finding>) {
    let same = |a: &Finding, b: &Finding| {
        let against = |finding: &Finding| finding.against.as_ref().map(|against| against.instr);
        (a.kind, a.at.instr, against(a)) == (b.kind, b.at.instr, against(b)) && a.message == b.message
    };
    for finding in found {
        if !all.iter().any(|known| same(known, &finding)) {
            all.push(finding);
        }
    }
}

impl Finding {
    /// The same, told from what is found in host code and other kernels.
    fn in_kernel(mut self, number: u32) -> Self {
        let instances = [Some(&mut self.at), self.against.as_mut()];
        for instance in instances.into_iter().flatten() {
            instance.instr = instance.instr.wrapping_add(number << KERNEL_SHIFT);
        }
        self
    }
}

/// More instructions than a kernel has, as a power of 2.
const KERNEL_SHIFT: u32 = 22;

impl Names<'_> {
    /// All that a run has found, and what ended it.
    #[must_use]
    pub fn findings(&self, reports: &Reports, stop: Option<&Stop>) -> Vec<Finding> {
        // Who reads before another thread writes lacks a barrier, and it is no wonder that nothing was there.
        let racing_buffers: HashSet<BufferId> = reports
            .races()
            .filter(|race| race.hazard != Hazard::Unwritten)
            .map(|race| race.buffer)
            .collect();
        let is_reported = |race: &&Race| {
            race.hazard != Hazard::Unwritten || race.never_written || !racing_buffers.contains(&race.buffer)
        };
        let races = reports.races().filter(is_reported);
        let all: Vec<Finding> = races.map(|race| self.race(race)).collect();
        // Of some threads a copy is in flight and of others it is done: two operations have one cause.
        let mut causes: HashMap<(u32, Option<u32>), Cause> = HashMap::new();
        let pair = |finding: &Finding| {
            (
                finding.at.instr,
                finding.against.as_ref().map(|other| other.instr),
            )
        };
        for finding in &all {
            let cause = causes.entry(pair(finding)).or_insert(finding.cause);
            *cause = finding.cause.min(*cause);
        }
        let mut seen = HashSet::new();
        let all = all.into_iter();
        let mut findings: Vec<Finding> = all
            .filter(|finding| {
                causes[&pair(finding)] == finding.cause && seen.insert((pair(finding), finding.kind))
            })
            .collect();
        // That nobody waits for a copy is no news where something is wrong for want of it.
        let racing: HashSet<u32> = reports
            .races()
            .filter(|race| race.hazard != Hazard::Unwritten)
            .flat_map(|race| [Some(race.now), race.before])
            .flatten()
            .map(|spot| spot.instr)
            .collect();
        let problems = reports.problems();
        let problems =
            problems.filter(|problem| problem.kind != "undrained" || !racing.contains(&problem.at.instr));
        findings.extend(told_once(problems.map(|problem| self.problem(problem))));
        // What stops a kernel of a program is found there.
        let stop = stop.filter(|stop| stop.reason != Reason::Kernel);
        findings.extend(stop.map(|stop| self.stop(stop)));
        findings
    }

    /// All that was found in kernels of a program.
    #[must_use]
    pub fn findings_in_kernels(&self, ended: &[Ended]) -> Vec<Finding> {
        let mut all = Vec::new();
        for kernel in ended {
            let names = Names {
                code: &self.code.kernels[kernel.kernel],
                buffers: &kernel.buffers,
                iterations: &kernel.iterations,
                block: kernel.launch.block,
                grid: kernel.launch.grid,
                tasks: &[],
            };
            let number = u32::try_from(kernel.kernel + 1).unwrap_or(u32::MAX);
            let mut found = names.findings(&kernel.reports, None);
            found.extend(kernel.stop.as_ref().map(|stop| Finding {
                against: Some(self.instance(kernel.against)),
                ..names.stop(stop)
            }));
            merge(
                &mut all,
                found
                    .into_iter()
                    .map(|finding| finding.in_kernel(number))
                    .collect(),
            );
        }
        all
    }

    fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0 as usize]
    }

    fn op(&self, spot: Spot) -> &Op {
        &self.code.instrs[spot.instr as usize].op
    }

    fn instance(&self, spot: Spot) -> Instance {
        let place = &self.code.instrs[spot.instr as usize].place;
        if self.code.is_host {
            return self.task_instance(spot);
        }
        let per_block = self.block.iter().product::<u32>().max(1);
        let (thread, block) = (spot.thread % per_block, spot.thread / per_block);
        let who = format!(
            "thread {} of block {}",
            coordinates(thread, self.block),
            coordinates(block, self.grid)
        );
        Instance {
            op: place.op.to_string(),
            location: place.location.to_string(),
            thread,
            block,
            who,
            loops: self.loops(spot),
            instr: spot.instr,
        }
    }

    /// The same in host code: the thread is a task.
    fn task_instance(&self, spot: Spot) -> Instance {
        let place = &self.code.instrs[spot.instr as usize].place;
        let made_at = self.tasks.get(spot.thread as usize).filter(|_| spot.thread > 0);
        let who = match made_at.map(|made| &self.code.instrs[made.instr as usize].place) {
            Some(region) => format!("task {} ({} at {})", spot.thread, region.op, region.location),
            None => format!("@{} itself", self.code.name),
        };
        Instance {
            op: place.op.to_string(),
            location: place.location.to_string(),
            thread: spot.thread,
            block: 0,
            who,
            loops: self.loops(spot),
            instr: spot.instr,
        }
    }

    /// The iteration of each loop around, and the loop.
    fn loops(&self, spot: Spot) -> Vec<(u32, String)> {
        let counters = &self.iterations[spot.iterations as usize];
        let loops = self.code.instrs[spot.instr as usize].loops.iter();
        loops
            .zip(counters.iter())
            .map(|(&number, &iteration)| {
                let place = &self.code.loops[number as usize];
                (iteration, format!("{} at {}", place.op, place.location))
            })
            .collect()
    }

    /// The iterations of each loop around in which a race was seen, innermost first.
    fn iterations_seen(&self, race: &Race) -> Vec<(String, Vec<u32>)> {
        let loops = self.code.instrs[race.now.instr as usize].loops.iter().enumerate();
        let seen = loops.rev().map(|(depth, &number)| {
            let OpLocation { op, location } = &self.code.loops[number as usize];
            let entries = race.iterations.iter();
            let mut seen: Vec<u32> = entries
                .filter_map(|&entry| self.iterations[entry as usize].get(depth).copied())
                .collect();
            seen.sort_unstable();
            seen.dedup();
            (format!("the {op} at {location}"), seen)
        });
        seen.collect()
    }

    /// What a message and a cause depend on; `blocks` is true if the threads are of different ones.
    fn sides(&self, race: &Race, blocks: bool) -> Sides {
        let op = |spot: Spot| self.op(spot);
        let copied = |op: Option<&Op>| match op {
            Some(Op::Copy(_)) => Copied::Alone,
            Some(Op::Bulk(bulk)) if matches!(bulk.completion, Completion::Group(_)) => Copied::Alone,
            Some(Op::Bulk(_)) => Copied::Together,
            Some(op) if op.is_wgmma() => Copied::Multiplied,
            _ => Copied::No,
        };
        let counters = |spot: Spot| &self.iterations[spot.iterations as usize];
        let is_same = |before: Spot| before.instr == race.now.instr && counters(before) == counters(race.now);
        let is_copy = |instr: u32| matches!(self.code.instrs[instr as usize].op, Op::Copy(_) | Op::Bulk(_));
        Sides {
            same: race.before.is_some_and(is_same),
            alone: race.before.is_some_and(|before| before.thread == race.now.thread),
            found_nothing: race.found_nothing,
            unread: race.over.is_some_and(is_copy),
            uncommitted: self.is_uncommitted(race),
            comes_after_wait: self.comes_after_wait(race),
            others_wait: race.own == Own::Never && race.completed_by.is_some(),
            now: copied(Some(op(race.now))),
            before: copied(race.before.map(op)),
            blocks,
            own: race.own,
            phase: match &race.stale_wait {
                Some(_) => PhaseWait::Stale,
                None if race.unawaited => PhaseWait::Nobody,
                None => PhaseWait::Right,
            },
            wait: match race.last_wait.as_ref().map(|wait| op(wait.at)) {
                Some(Op::Wait { read: true, .. }) => Waits::Reads,
                Some(Op::Await(_)) => Waits::Tokens,
                Some(wait) if wait.is_wait_for_phase() => Waits::Phase,
                Some(_) => Waits::Groups,
                None => Waits::Nothing,
            },
            roles: self.code.has_roles(),
            tasks: self.code.is_host,
        }
    }

    fn race(&self, race: &Race) -> Finding {
        let at = self.instance(race.now);
        let against = race.before.map(|before| self.instance(before));
        let blocks = against.as_ref().is_some_and(|against| against.block != at.block);
        let sides = self.sides(race, blocks);
        let cause = sides.cause(race.hazard);
        let (message, advice) = sides.text(race.hazard);
        let is_wait = matches!(
            cause,
            Cause::Unawaited | Cause::Commit | Cause::Wait | Cause::Parity
        );
        let better = if cause == Cause::Unawaited || words::is_to_wait(advice) {
            self.advice_on_phase(race).or_else(|| self.advice_on_groups(race))
        } else {
            None
        };
        let buffer = self.buffer(race.buffer);
        let on_mbarrier = |spot: Spot| matches!(self.op(spot), Op::Bulk(bulk) if matches!(bulk.completion, Completion::MBarrier(_)));
        Finding {
            kind: race.hazard.kind(),
            cause,
            note: false,
            rank: 0,
            message: message.into(),
            advice: self.in_roles(better.unwrap_or_else(|| advice.into())),
            at,
            against,
            last_wait: self.last_wait(race).filter(|_| is_wait),
            follows_phases: race.phase.is_some()
                || on_mbarrier(race.now)
                || race.before.is_some_and(on_mbarrier),
            of_barriers: false,
            on: Some(Bytes {
                buffer: buffer.name.clone(),
                range: race.bytes,
                element: element(buffer, race.bytes.0),
                count: race.count,
                iterations: self.iterations_seen(race),
                more: race.more,
            }),
        }
    }

    /// An advice, which says more where not all threads come to all barriers.
    fn in_roles(&self, advice: String) -> String {
        if self.code.has_roles() {
            return advice.replacen(
                "a gpu.barrier",
                "a gpu.barrier (where only some warps come, one with a number)",
                1,
            );
        }
        advice
    }

    fn problem(&self, problem: &Problem) -> Finding {
        let is_mbarrier = |spot: Spot| matches!(self.op(spot), Op::MBarrier { .. });
        Finding {
            kind: problem.kind,
            cause: if self.waits_for_mbarrier(problem) {
                Cause::Deadlock
            } else {
                Cause::of_problem(problem.kind)
            },
            note: problem.note,
            rank: problem.rank,
            message: problem.message.clone(),
            advice: problem.advice.into(),
            at: self.instance(problem.at),
            against: problem.other.map(|other| self.instance(other)),
            on: None,
            last_wait: None,
            follows_phases: problem.kind == "phase-overrun" && self.op(problem.at).is_wait_for_phase(),
            of_barriers: !is_mbarrier(problem.at) && !problem.other.is_some_and(is_mbarrier),
        }
    }

    /// Returns true if threads stand elsewhere while others wait for an mbarrier.
    fn waits_for_mbarrier(&self, problem: &Problem) -> bool {
        let other = problem.other.map(|other| self.op(other));
        problem.kind == "divergent-barrier" && matches!(other, Some(Op::MBarrier { .. }))
    }
}

/// Drops what says the same as another one: an operation may be several instructions.
fn told_once(findings: impl Iterator<Item = Finding>) -> impl Iterator<Item = Finding> {
    let mut told = HashSet::new();
    findings.filter(move |finding| {
        let place = |instance: &Instance| (instance.op.clone(), instance.location.clone());
        told.insert((
            finding.message.clone(),
            place(&finding.at),
            finding.against.as_ref().map(place),
        ))
    })
}

/// `3`, or `3 = (3, 0, 0)` where there is more than one dimension.
fn coordinates(number: u32, sizes: [u32; 3]) -> String {
    if sizes[1..] == [1, 1] {
        return number.to_string();
    }
    let [x, y, _] = sizes;
    let in_plane = number % (x * y);
    let (column, row, plane) = (in_plane % x, in_plane / x, number / (x * y));
    format!("{number} = ({column}, {row}, {plane})")
}

/// The element that a byte of a buffer is of, as in `[1, 3]`; nothing if the buffer is no array.
fn element(buffer: &Buffer, byte: usize) -> String {
    let Some(array) = &buffer.array else {
        return String::new();
    };
    if array.sizes.is_empty() {
        return String::new();
    }
    let mut number = i64::try_from(byte / array.element.max(1)).unwrap_or(0);
    let mut indices = Vec::new();
    for size in array.sizes.iter().rev() {
        indices.push((number % size.max(&1)).to_string());
        number /= size.max(&1);
    }
    indices.reverse();
    format!("[{}]", indices.join(", "))
}
