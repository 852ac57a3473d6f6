//! What a wait that comes too early for a copy has waited for.

use super::{Instance, Names};
use crate::code::{Code, Completion, Op, Queue};
use crate::report::{Missed, PhaseOf, Race, Spot, Waited};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fmt::Write;

/// The last wait of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastWait {
    /// The wait.
    pub wait: Instance,
    /// What it has waited for, a line each.
    pub details: Vec<String>,
    /// The copies of the youngest group that is complete, or all that the wait is for.
    pub complete: Vec<Instance>,
    /// How many groups the thread has committed, and how many of them are complete.
    pub groups: Option<(u32, u32)>,
}

/// So many copies are listed.
const LISTED: usize = 2;

impl Names<'_> {
    /// What the last wait before a race has waited for, where a wait is what is missing.
    pub(super) fn last_wait(&self, race: &Race) -> Option<LastWait> {
        if let Some(stale) = &race.stale_wait {
            return Some(LastWait {
                wait: self.instance(stale.at),
                details: vec![match stale.phase {
                    Some(phase) => format!(
                        "it is for phase {phase} of {}, and passed at once",
                        stale.mbarrier
                    ),
                    None => format!(
                        "it is for the phase before the first of {}, and passed at once",
                        stale.mbarrier
                    ),
                }],
                complete: Vec::new(),
                groups: None,
            });
        }
        let waited = race.last_wait.as_ref()?;
        // What several threads issue at once has one place.
        let mut seen = HashSet::new();
        let copies = waited.copies.iter().filter(|copy| seen.insert(**copy));
        let complete: Vec<Instance> = copies.map(|copy| self.instance(*copy)).collect();
        let details = match self.op(waited.at) {
            Op::Wait { .. } => self.of_groups(race, waited, &complete),
            Op::Await(_) if complete.is_empty() => vec!["it is for tokens of no copy".into()],
            op if op.is_wait_for_phase() && complete.is_empty() => {
                vec!["it is for arrivals, and no copy completes on its phase".into()]
            }
            _ if complete.is_empty() => Vec::new(),
            _ => vec![format!("it is for {}", listed(&complete))],
        };
        Some(LastWait {
            wait: self.instance(waited.at),
            details,
            complete,
            groups: waited.groups.map(|groups| (groups.committed, groups.complete)),
        })
    }

    /// How many groups a wait has completed, and where the copy is that it has not.
    fn of_groups(&self, race: &Race, waited: &Waited, youngest: &[Instance]) -> Vec<String> {
        let (Some(groups), Op::Wait { read, n, .. }) = (waited.groups, self.op(waited.at)) else {
            return Vec::new();
        };
        let does = if *read {
            "frees the sources of"
        } else {
            "completes"
        };
        let (complete, committed) = (groups.complete, groups.committed);
        let plural = if committed == 1 { "" } else { "s" };
        let mut first = format!("it {does} {complete} of {committed} group{plural} of this thread");
        match self.missed(race) {
            Some(Missed::Group(group)) if group >= committed && waited.is_after_copy => {
                first.push_str("; the copy came before it and was committed later");
            }
            Some(Missed::Group(group)) if group >= committed => {
                first.push_str("; the copy came later");
            }
            Some(Missed::Group(group)) if group >= complete => {
                let fits = committed - 1 - group;
                let nth = ordinal(group + 1);
                let _ = write!(
                    first,
                    "; the copy is in the {nth}: the count is {n} and has to be {fits}"
                );
            }
            Some(Missed::Uncommitted) if waited.is_after_copy => {
                first.push_str("; the copy came before it and was in none of them");
            }
            Some(Missed::Uncommitted) => first.push_str("; the copy came later, and was in none"),
            _ if self.is_elsewhere(race, waited) => first.push_str("; the copy is in another queue"),
            _ => {}
        }
        let youngest = match (complete, youngest) {
            (0, _) => None,
            (complete, []) => Some(format!("the {} of them is empty", ordinal(complete))),
            (complete, copies) => Some(format!("the {} of them: {}", ordinal(complete), listed(copies))),
        };
        [first].into_iter().chain(youngest).collect()
    }

    /// Where the copy is that the last wait has not completed, if it is one of the same queue.
    fn missed(&self, race: &Race) -> Option<Missed> {
        let waited = race.last_wait.as_ref()?;
        waited.missed.filter(|_| !self.is_elsewhere(race, waited))
    }

    /// Returns true if the last wait comes after the copy, which was in no group then.
    pub(super) fn is_uncommitted(&self, race: &Race) -> bool {
        let waited = race.last_wait.as_ref().filter(|waited| waited.is_after_copy);
        self.is_in_no_group(race) && waited.is_some()
    }

    /// Returns true if the copy comes after the last wait.
    pub(super) fn comes_after_wait(&self, race: &Race) -> bool {
        let waited = race.last_wait.as_ref().filter(|waited| waited.is_after_copy);
        self.is_in_no_group(race) && waited.is_none()
    }

    /// Returns true if the last wait is one for groups of the copy's queue, and the copy was in none of them.
    fn is_in_no_group(&self, race: &Race) -> bool {
        let groups = race.last_wait.as_ref().and_then(|waited| waited.groups);
        groups.is_some_and(|groups| match self.missed(race) {
            Some(Missed::Group(group)) => group >= groups.committed,
            Some(Missed::Uncommitted) => true,
            None => false,
        })
    }

    /// Returns true if the earlier copy is in another queue than that which is waited for.
    fn is_elsewhere(&self, race: &Race, waited: &Waited) -> bool {
        let copy = race.before.and_then(|before| queue(self.code, before));
        matches!(self.op(waited.at), Op::Wait { queue, .. } if copy.is_some_and(|copy| copy != *queue))
    }

    /// What to do about a copy that completes on a phase.
    pub(super) fn advice_on_phase(&self, race: &Race) -> Option<String> {
        let PhaseOf {
            buffer,
            offset,
            phase,
        } = race.phase?;
        let name = self.buffer(buffer).mbarrier(offset);
        let nobody = if race.unawaited {
            ": nobody waits for that mbarrier"
        } else {
            ""
        };
        Some(format!(
            "wait before this for phase {phase} of {name}, on which the copy completes{nobody}"
        ))
    }

    /// What to do about a copy that groups are waited for too early for, if more can be said than that.
    pub(super) fn advice_on_groups(&self, race: &Race) -> Option<String> {
        let groups = race.last_wait.as_ref()?.groups?;
        match self.missed(race)? {
            Missed::Group(group) if group < groups.committed && group >= groups.complete => Some(format!(
                "wait for the copy before this: let the wait there leave {} in flight, or commit a group each time that it \
                 counts on one",
                match groups.committed - 1 - group {
                    0 => "no group".to_owned(),
                    1 => "at most 1 group".to_owned(),
                    fits => format!("at most {fits} groups"),
                }
            )),
            _ => None,
        }
    }
}

/// The queue of a copy.
fn queue(code: &Code, copy: Spot) -> Option<Queue> {
    match &code.instrs[copy.instr as usize].op {
        Op::Copy(copy) => Some(copy.issued.queue),
        Op::Issue(issued) => Some(issued.queue),
        Op::Bulk(bulk) => match bulk.completion {
            Completion::Group(queue) => Some(queue),
            _ => None,
        },
        _ => None,
    }
}

fn listed(copies: &[Instance]) -> String {
    let mut text: Vec<String> = copies.iter().take(LISTED).map(Instance::what).collect();
    if copies.len() > LISTED {
        text.push(format!("{} more", copies.len() - LISTED));
    }
    text.join("; ")
}

/// `1st`, `2nd`, …
fn ordinal(number: u32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

impl LastWait {
    /// The lines of a report.
    pub(super) fn text(&self, text: &mut String) {
        let Instance { op, location, .. } = &self.wait;
        let _ = writeln!(
            text,
            "  waited:  last by {op} at {location}, {}",
            self.wait.text()
        );
        for line in &self.details {
            let _ = writeln!(text, "           {line}");
        }
    }

    /// The report for tools.
    pub(super) fn json(&self) -> Value {
        let mut object = self.wait.json();
        let complete: Vec<Value> = self.complete.iter().map(Instance::json).collect();
        object["complete"] = json!(complete);
        object["groups"] = json!(
            self.groups
                .map(|(committed, complete)| { json!({ "committed": committed, "complete": complete }) })
        );
        object
    }
}
