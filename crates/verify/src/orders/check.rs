//! Checks an order: one walk through the steps as they were, which compares where each is now with where the last of those is that came
//! before it and have to.
//!
//! Cost: the uses and accesses, and for each access the places that others accessed before and now access after it. So what does not move
//! costs nothing but to look at it.

use super::code::{Access, Fence, Step, Timing};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Two steps that have passed each other, and may not. It is the first such pair in the order that was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The one that was earlier.
    pub earlier: usize,
    /// The one that was later.
    pub later: usize,
}

/// Of some steps, the one that is last now: its position, and its number.
type Last = Option<(usize, usize)>;

/// Checks that no two of `steps` have passed each other that may not. They are in the order that they had; `now` is where each is. Two
/// places may be the same memory if `meets` says so, where each is given with whether its access is complete by then.
///
/// # Errors
///
/// Two steps that have.
pub fn check(steps: &[Step], now: &[usize], meets: &dyn Fn(Access, Access) -> bool) -> Result<(), Refusal> {
    let mut seen = Seen::default();
    for (number, step) in steps.iter().enumerate() {
        let is_later = |last: Last| last.is_some_and(|(position, _)| position > now[number]);
        let refused = |(_, earlier): (usize, usize)| Refusal {
            earlier,
            later: number,
        };
        let ordered = seen.ordered_before(step);
        if let Some(passed) = ordered.into_iter().find(|last| is_later(*last)).flatten() {
            return Err(refused(passed));
        }
        let used = step.uses.iter().map(|used| (now[*used], *used));
        // A value that is made later is used as it was.
        let is_wrong = |(position, used): &(usize, usize)| (*position > now[number]) != (*used > number);
        if let Some(passed) = used.into_iter().find(is_wrong) {
            return Err(refused(passed));
        }
        if let Some(passed) = seen.conflicting(step, now[number], meets) {
            return Err(refused(passed));
        }
        seen.add(step, (now[number], number));
    }
    Ok(())
}

/// What the steps so far have done.
#[derive(Default)]
struct Seen {
    /// Those that do anything, and of these what does not only start copies.
    all: Last,
    all_but_copies: Last,
    fences: Last,
    barriers: Last,
    classes: FxHashMap<u32, (usize, usize)>,
    /// Accesses that are over when their step is, without those that another one of the same place is last of.
    accesses: BTreeSet<(usize, usize, Key)>,
    last_of: FxHashMap<Key, (usize, usize)>,
}

/// A place, whether it is written, and whether what accessed it began in some earlier iteration.
type Key = (usize, bool, bool);

impl Seen {
    /// The last ones of those that `step` has to come after, whatever memory it accesses.
    fn ordered_before(&self, step: &Step) -> [Last; 4] {
        let among = match step.fence {
            Fence::None => None,
            Fence::Barrier => self.all_but_copies,
            Fence::All => self.all,
        };
        let after = |fence: Last| fence.filter(|_| step.does_anything());
        let class = step.class.and_then(|class| self.classes.get(&class).copied());
        [among, after(self.fences), after(self.barriers), class]
    }

    /// A step that `step`, which is at `position` now, conflicts with, and that comes after it now.
    fn conflicting(
        &self,
        step: &Step,
        position: usize,
        meets: &dyn Fn(Access, Access) -> bool,
    ) -> Option<(usize, usize)> {
        let begins_now = |access: &&Access| access.timing != Timing::Completed;
        let passed = || self.accesses.range((position + 1, 0, (0, false, false))..);
        step.accesses.iter().filter(begins_now).find_map(|access| {
            let conflicts = |(_, _, key): &&(usize, usize, Key)| {
                (access.writes || key.1) && meets(earlier_access(*key), *access)
            };
            passed()
                .find(conflicts)
                .map(|(position, number, _)| (*position, *number))
        })
    }

    fn add(&mut self, step: &Step, this: (usize, usize)) {
        if step.does_anything() {
            self.all = self.all.max(Some(this));
        }
        if step.does_anything() && !step.only_issues() {
            self.all_but_copies = self.all_but_copies.max(Some(this));
        }
        match step.fence {
            Fence::None => {}
            Fence::Barrier => self.barriers = self.barriers.max(Some(this)),
            Fence::All => self.fences = self.fences.max(Some(this)),
        }
        if let Some(class) = step.class {
            let last = self.classes.entry(class).or_insert(this);
            *last = (*last).max(this);
        }
        let is_over = |access: &&Access| access.timing != Timing::Issued;
        for access in step.accesses.iter().filter(is_over) {
            let key = (access.place, access.writes, access.timing == Timing::Completed);
            let last = self.last_of.get(&key).copied();
            if last.is_some_and(|last| last >= this) {
                continue;
            }
            if let Some((position, number)) = last {
                self.accesses.remove(&(position, number, key));
            }
            self.last_of.insert(key, this);
            self.accesses.insert((this.0, this.1, key));
        }
    }
}

fn earlier_access((place, writes, is_completed): Key) -> Access {
    let timing = if is_completed {
        Timing::Completed
    } else {
        Timing::Now
    };
    Access {
        place,
        writes,
        timing,
    }
}
