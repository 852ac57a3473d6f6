//! The order of accesses: whether a schedule keeps what the plain loop does first where two may meet.
//!
//! An access of iteration `i` and one of iteration `i + d` are in the order of the plain loop if `d > 0`, or if `d = 0` and the first one is
//! earlier in the body. A schedule executes them in that order if the stage of the second one, plus `d`, is later than that of the first one,
//! or the same with a later place in the round. An asynchronous access is over where it is awaited; what comes after an await in the plain
//! loop comes after it in the schedule. Iterations with versions of a buffer meet where they have the same one: every so many iterations.

/// When something is executed: its stage, and its place in a round.
pub type When = (i64, usize);

/// An await of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// So many iterations after the access,
    pub later: u32,
    /// at this place of the body,
    pub place: usize,
    /// which is executed then,
    pub when: When,
    /// under conditions of this number, or always.
    pub conditions: Option<usize>,
}

/// An access of the body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// Where it is in the body.
    pub place: usize,
    /// When it is executed, or issued.
    pub when: When,
    /// Whether it writes.
    pub writes: bool,
    /// How many versions there are of its buffer.
    pub versions: Option<u32>,
    /// What awaits it. If nothing does, it is over where it begins, or nothing is known of when it is.
    pub ends: Vec<End>,
}

/// Two accesses of the plain loop that the schedule executes in another order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The number of the first one,
    pub first: usize,
    /// that of the second one,
    pub second: usize,
    /// and how many iterations later that is.
    pub distance: u32,
}

fn later(when: When, distance: u32) -> When {
    (when.0 + i64::from(distance), when.1)
}

impl Access {
    /// Returns true if it is over by `when`, as far as those of its awaits say that count: an await without conditions is enough, else it takes
    /// one under each of the conditions.
    fn is_over(&self, when: When, counts: impl Fn(&End) -> bool) -> bool {
        let is_awaited = |conditions: Option<usize>| {
            let mut ends = self.ends.iter().filter(|end| end.conditions == conditions);
            ends.any(|end| later(end.when, end.later) <= when)
        };
        let mut counting = self.ends.iter().filter(|end| counts(end));
        is_awaited(None) || counting.all(|end| end.conditions.is_some() && is_awaited(end.conditions))
    }

    /// Returns true if it is executed, and over, before `second`, so many iterations later.
    fn is_over_before(&self, second: &Self, distance: u32) -> bool {
        let when = later(second.when, distance);
        self.when < when && self.is_over(when, |_| true)
    }

    /// Returns true if `second`, so many iterations later, comes after what it comes after in the plain loop: this access, and its awaits.
    fn keeps_order(&self, second: &Self, distance: u32) -> bool {
        let when = later(second.when, distance);
        let is_before = |end: &End| (end.later, end.place) <= (distance, second.place);
        self.when < when && self.is_over(when, is_before)
    }
}

/// Returns true if there may be two iterations that are so far apart.
fn is_distance(distance: u32, trips: Option<i64>) -> bool {
    trips.is_none_or(|trips| i64::from(distance) < trips)
}

/// Finds two accesses of a buffer that are out of order. The loop has so many iterations, if that is known; `meets` says whether two accesses
/// may meet at a distance.
pub fn violation(
    accesses: &[Access],
    trips: Option<i64>,
    mut meets: impl FnMut(usize, usize, u32) -> bool,
) -> Option<Violation> {
    let stages = accesses.iter().flat_map(|access| {
        let ends = access.ends.iter().map(|end| end.when.0 + i64::from(end.later));
        ends.chain([access.when.0])
    });
    // At a greater distance, everything is in order.
    let most = u32::try_from(stages.max().unwrap_or(0) + 1).unwrap_or(u32::MAX);
    let exists = |distance: &u32| is_distance(*distance, trips);
    for (i, first) in accesses.iter().enumerate() {
        for (j, second) in accesses.iter().enumerate() {
            if !first.writes && !second.writes {
                continue;
            }
            let nearest = u32::from(first.place >= second.place);
            let violates = |distance: u32| Violation {
                first: i,
                second: j,
                distance,
            };
            if let (Some(versions), true) = (first.versions, first.versions == second.versions) {
                if nearest == 0 && exists(&0) && !first.keeps_order(second, 0) {
                    return Some(violates(0));
                }
                if exists(&versions) && second.writes && !first.is_over_before(second, versions) {
                    return Some(violates(versions));
                }
                continue;
            }
            for distance in (nearest..=most).take_while(exists) {
                if first.is_over_before(second, distance) {
                    break;
                }
                if !first.keeps_order(second, distance) && meets(i, j, distance) {
                    return Some(violates(distance));
                }
            }
        }
    }
    None
}

/// Finds something that crosses a fence: something of which it is not known what it accesses. All is in the order of the body; of each, whether
/// it is a fence. The loop has so many iterations, if that is known. What comes first, and what is executed before it, by their numbers.
#[must_use]
pub fn crossed_fence(all: &[(usize, When, bool)], trips: Option<i64>) -> Option<(usize, usize)> {
    // The latest so far: when, and its number.
    let mut fence: Option<(When, usize)> = None;
    let mut other: Option<(When, usize)> = None;
    // At a greater distance, everything is in order that is so here.
    for distance in (0..2).take_while(|distance| is_distance(*distance, trips)) {
        for (number, (_, when, is_fence)) in all.iter().enumerate() {
            let when = later(*when, distance);
            let before = fence.max(other.filter(|_| *is_fence));
            if let Some((earlier, first)) = before
                && earlier > when
            {
                return Some((first, number));
            }
            let latest = if *is_fence { &mut fence } else { &mut other };
            *latest = (*latest).max(Some((when, number)));
        }
    }
    None
}
