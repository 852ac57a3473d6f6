//! What is wrong, from what was found: many findings may have one cause.
//!
//! A missing wait lets every read of what the copy writes race with it, and the next copy to the same slot as well. So findings
//! are put in groups: those of one [`Cause`] that share an operation or come after one wait, and with a missing wait also what the copy does to its
//! slot. What is wrong with the phases of one mbarrier shifts those of all others that threads come to later, and lets tiles be
//! read and filled at the wrong time: all that is one group. A group is reported by its first finding, and lists the others.

use super::Finding;
use std::fmt::Write;

/// What is wrong. Earlier ones come first in a report: others often follow from them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// An access or an operand that ends the run.
    Stop,
    /// Threads that don't come to the same operations.
    Divergence,
    /// An mbarrier that is not initialized, or no longer.
    Initialization,
    /// A copy that completes on an mbarrier which nobody waits for.
    Unawaited,
    /// A phase that expects other bytes than its loads bring.
    Bytes,
    /// A wait for the other parity.
    Parity,
    /// Phases that are armed too often or too early.
    Phase,
    /// A phase that nothing completes.
    Deadlock,
    /// A copy that is in no group.
    Commit,
    /// Threads that go to one place, and each should have its own.
    Addresses,
    /// A slot that is filled again before anybody has read it.
    WrongSlot,
    /// A wait that is missing, or leaves too many groups in flight.
    Wait,
    /// Tasks that nothing orders.
    Order,
    /// A proxy fence that is missing.
    Fence,
    /// A barrier that is missing.
    Barrier,
    /// A slot that is filled while its last contents are in use.
    Slot,
    /// Memory that nobody has written.
    Uninitialized,
    /// An access or an operand that ends the run, after something was read too early that it may follow from.
    StopAfterMisread,
    /// Something that nobody waits for before the kernel ends.
    Drain,
}

impl Cause {
    /// What tools call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop | Self::StopAfterMisread => "stop",
            Self::Divergence => "divergence",
            Self::Initialization => "initialization",
            Self::Bytes => "bytes",
            Self::Parity => "parity",
            Self::Phase => "phase",
            Self::Deadlock => "deadlock",
            Self::Commit => "commit",
            Self::Addresses => "addresses",
            Self::Unawaited | Self::Wait => "wait",
            Self::Order => "order",
            Self::Fence => "fence",
            Self::Barrier => "barrier",
            Self::WrongSlot | Self::Slot => "slot",
            Self::Uninitialized => "uninitialized",
            Self::Drain => "drain",
        }
    }

    /// The cause of a problem of the kind `kind`.
    pub(super) fn of_problem(kind: &str) -> Self {
        match kind {
            "divergent-barrier" | "divergent-warp" | "divergent-warpgroup" | "divergent-copy" => {
                Self::Divergence
            }
            "use-before-init" | "use-after-inval" | "inval-in-use" | "init-twice" | "mbarrier-accessed" => {
                Self::Initialization
            }
            "wrong-bytes" => Self::Bytes,
            "wrong-parity" => Self::Parity,
            "phase-overrun" => Self::Phase,
            "deadlock" => Self::Deadlock,
            "never-committed" => Self::Commit,
            "early-use" | "copied-accumulator" | "overwritten-fragment" => Self::Wait,
            "use-after-free" => Self::Order,
            "missing-wgmma-fence" => Self::Fence,
            "undrained" => Self::Drain,
            _ => Self::Stop,
        }
    }
}

/// Findings of one cause, the most telling one first.
pub struct Group<'a>(Vec<&'a Finding>);

/// So many operations are listed after the first finding of a group.
const LISTED: usize = 4;

/// Puts findings in groups, the most fundamental cause first.
#[must_use]
pub fn groups(findings: &[Finding]) -> Vec<Group<'_>> {
    let mut classes: Vec<usize> = (0..findings.len()).collect();
    for (i, a) in findings.iter().enumerate() {
        for (j, b) in findings.iter().enumerate().skip(i + 1) {
            if classes[i] != classes[j] && belong_together(a, b) {
                let (from, to) = (classes[j].max(classes[i]), classes[j].min(classes[i]));
                for class in &mut classes {
                    if *class == from {
                        *class = to;
                    }
                }
            }
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    for class in 0..findings.len() {
        let members = findings.iter().zip(&classes).filter(|(_, of)| **of == class);
        let mut members: Vec<&Finding> = members.map(|(finding, _)| finding).collect();
        members.sort_by_key(|finding| {
            // A slot that is filled too early is reported where it is filled.
            let reads = finding.cause == Cause::Slot && finding.kind == "RAW";
            // Threads that stand elsewhere may be why nobody arrives.
            let deadlock = finding.kind == "deadlock";
            (
                finding.note,
                finding.cause,
                finding.on.is_some(),
                reads,
                deadlock,
                finding.rank,
            )
        });
        if !members.is_empty() {
            groups.push(Group(members));
        }
    }
    groups.sort_by_key(|group| (group.first().note, group.first().cause));
    groups
}

/// Returns true if one change is likely to fix both.
fn belong_together(a: &Finding, b: &Finding) -> bool {
    let pair = [a.cause, b.cause];
    // What is said of mbarriers says it all.
    let is_race =
        |finding: &Finding| finding.on.is_some() || matches!(finding.cause, Cause::Wait | Cause::Order);
    let same = a.cause == b.cause && is_race(a) && is_race(b);
    // The same two operations in the other order.
    let reverse = pair.contains(&Cause::Barrier) && pair.contains(&Cause::Slot) && {
        let (mut of_a, mut of_b): (Vec<u32>, Vec<u32>) = (a.instrs().collect(), b.instrs().collect());
        of_a.sort_unstable();
        of_b.sort_unstable();
        of_a == of_b
    };
    let are = |one: Cause, other: Cause| pair.contains(&one) && pair.contains(&other);
    let follows = are(Cause::Wait, Cause::Slot)
        || are(Cause::Unawaited, Cause::Wait)
        || are(Cause::Unawaited, Cause::Slot)
        || are(Cause::Parity, Cause::Wait)
        || are(Cause::Commit, Cause::Commit)
        || are(Cause::Commit, Cause::Wait)
        || are(Cause::Commit, Cause::Slot)
        || are(Cause::WrongSlot, Cause::Wait)
        || are(Cause::WrongSlot, Cause::Slot)
        || are(Cause::WrongSlot, Cause::Uninitialized);
    let shared = |instr: u32| b.instrs().any(|other| other == instr);
    let wait = |finding: &Finding| finding.last_wait.as_ref().map(|last| last.wait.instr);
    let same_wait = a.cause == b.cause && wait(a).is_some() && wait(a) == wait(b);
    // One commit after both takes both.
    let commit = a.kind == "never-committed" && b.kind == a.kind && a.at.op == b.at.op;
    let mbarriers =
        a.is_of_mbarriers() && b.follows_mbarriers() || b.is_of_mbarriers() && a.follows_mbarriers();
    a.note == b.note
        && (mbarriers || commit || same_wait || reverse || (same || follows) && a.instrs().any(shared))
}

impl Finding {
    /// Returns true if it says that an mbarrier is not used as it has to be: then its phases, and those of others that threads
    /// come to later, are not what the kernel takes them for.
    fn is_of_mbarriers(&self) -> bool {
        match self.kind {
            // With another operation, it is one after all.
            "use-before-init" => self.against.is_none(),
            "use-after-inval" | "init-twice" => true,
            // Alone, the count is too large for the hardware, and right.
            "wrong-bytes" => self.against.is_some(),
            _ => {
                let of_phases = matches!(self.cause, Cause::Parity | Cause::Phase | Cause::Deadlock);
                of_phases && !self.follows_phases && !self.of_barriers
            }
        }
    }

    /// Returns true if it may be so only since the phases of mbarriers are not what the kernel takes them for.
    fn follows_mbarriers(&self) -> bool {
        self.is_of_mbarriers() || self.follows_phases && self.cause != Cause::Fence
    }

    /// The operations that it is about.
    fn instrs(&self) -> impl Iterator<Item = u32> {
        let against = self.against.as_ref().map(|against| against.instr);
        [self.at.instr].into_iter().chain(against)
    }
}

impl Group<'_> {
    /// The most telling finding.
    #[must_use]
    pub fn first(&self) -> &Finding {
        self.0[0]
    }

    /// How many findings there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The report for people: several lines.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.first().text();
        let others = &self.0[1..];
        for (i, other) in others.iter().take(LISTED).enumerate() {
            let label = if i == 0 { "also:   " } else { "        " };
            let (at, kind) = (&other.at, other.kind);
            let against = other.against.as_ref().map_or(String::new(), |against| {
                format!(" and {} at {}", against.op, against.location)
            });
            let _ = writeln!(text, "  {label} {kind} of {} at {}{against}", at.op, at.location);
        }
        if others.len() > LISTED {
            let _ = writeln!(text, "           and {} more", others.len() - LISTED);
        }
        text
    }
}
