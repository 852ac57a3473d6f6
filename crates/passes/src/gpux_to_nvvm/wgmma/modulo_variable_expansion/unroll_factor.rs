//! Computes how often to unroll a loop so that no accumulator in flight changes its place among the
//! values that the loop carries.

/// Loops are unrolled no more than this: their code grows as much.
const MOST: usize = 8;

/// What a loop carries in one place, at the end of an iteration.
#[derive(Clone, Copy)]
pub(super) struct CarriedValue {
    /// The place that it was in before the iteration. `None` for what is made in the iteration.
    pub from: Option<usize>,
    pub update: Update,
}

/// What the iteration does to what it hands on in one place.
#[derive(Clone, Copy)]
pub(super) enum Update {
    /// It multiplies nothing into it.
    Unchanged,
    /// It multiplies, and awaits that.
    Complete,
    /// It multiplies, and commits so many groups after the last multiplication's (-1 if that is not committed).
    InFlight(i64),
}

/// What an iteration does to groups that were in flight before.
pub(super) struct OlderGroups {
    commits: i64,
    /// Complete are those that at least so many groups have been committed after, before the iteration.
    complete_from: i64,
}

impl Default for OlderGroups {
    fn default() -> Self {
        Self {
            commits: 0,
            complete_from: i64::MAX,
        }
    }
}

impl OlderGroups {
    pub fn commit(&mut self) {
        self.commits += 1;
    }

    /// Waits until `pending` groups are in flight at most.
    pub fn wait(&mut self, pending: i64) {
        self.complete_from = self.complete_from.min(pending - self.commits);
    }
}

/// The values that a loop carries, by place: their number among them.
pub(super) struct CarriedValues {
    pub values: Vec<CarriedValue>,
    pub older: OlderGroups,
}

impl CarriedValues {
    /// What changes places in flight: its new place and the one before.
    pub fn moved(&self) -> Vec<(usize, usize)> {
        let moves = self.in_flight().into_iter().zip(&self.values).enumerate();
        moves
            .filter_map(|(to, (in_flight, place))| {
                let from = place.from.filter(|from| *from != to)?;
                in_flight.then_some((to, from))
            })
            .collect()
    }

    /// How often to unroll the loop so that nothing is moved. `None` if nothing is, or if there is no such number up to [`MOST`].
    pub fn factor(&self) -> Option<u64> {
        let moved = self.moved();
        let works = |factor: &usize| moved.iter().all(|(to, _)| self.stays(*to, *factor));
        let factor = (2..=MOST).find(works).filter(|_| !moved.is_empty());
        factor.map(|factor| factor as u64)
    }

    /// `place`, the one that what is in it was in before, and so on, until an iteration makes it or it is in `place` again.
    pub fn chain(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let next = |at: &usize| self.values[*at].from;
        std::iter::successors(Some(place), next)
            .take(self.values.len())
            .enumerate()
            .take_while(move |(i, at)| *i == 0 || *at != place)
            .map(|(_, at)| at)
    }

    /// True if what is in `place` after `factor` iterations was in it before, or was made by them.
    fn stays(&self, place: usize, factor: usize) -> bool {
        let back = (0..factor).try_fold(place, |at, _| self.values[at].from);
        back.is_none_or(|back| back == place)
    }

    /// Which places have what is in flight at the end of an iteration.
    fn in_flight(&self) -> Vec<bool> {
        let mut found = vec![false; self.values.len()];
        // By place: how many groups are committed after that of what is in flight there.
        let mut younger: Vec<Option<i64>> = vec![None; self.values.len()];
        // Once for each place.
        for _ in 0..=self.values.len() {
            let carried = |from: usize| {
                let younger = younger[from].filter(|younger| *younger < self.older.complete_from)?;
                Some(younger + self.older.commits)
            };
            let after = |place: &CarriedValue| match place.update {
                Update::Unchanged => carried(place.from?),
                Update::Complete => None,
                Update::InFlight(younger) => Some(younger),
            };
            younger = self.values.iter().map(after).collect();
            for (found, younger) in found.iter_mut().zip(&younger) {
                *found |= younger.is_some();
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A multiplication that stays in flight when the iteration ends.
    const ADDED: Update = Update::InFlight(0);

    fn place(from: Option<usize>, update: Update) -> CarriedValue {
        CarriedValue { from, update }
    }

    fn carried(values: &[CarriedValue], pending: i64) -> CarriedValues {
        let mut older = OlderGroups::default();
        older.commit();
        older.wait(pending);
        CarriedValues {
            values: values.to_vec(),
            older,
        }
    }

    #[test]
    fn what_is_added_to_in_its_place_is_not_moved() {
        let values = carried(&[place(Some(0), ADDED), place(Some(1), Update::Unchanged)], 1);
        assert!(values.moved().is_empty());
        assert_eq!(values.factor(), None);
    }

    #[test]
    fn two_that_take_turns_are_in_their_places_after_two_iterations() {
        let values = carried(&[place(Some(1), Update::Unchanged), place(Some(0), ADDED)], 1);
        assert_eq!(values.moved(), [(1, 0)]);
        assert_eq!(values.factor(), Some(2));
    }

    #[test]
    fn what_is_older_is_moved_if_no_wait_completes_it() {
        let values = [place(Some(1), Update::Unchanged), place(Some(0), ADDED)];
        assert_eq!(carried(&values, 2).moved(), [(0, 1), (1, 0)]);
    }

    #[test]
    fn what_is_complete_may_be_moved() {
        let values = carried(
            &[
                place(Some(1), Update::Unchanged),
                place(Some(0), Update::Complete),
            ],
            0,
        );
        assert!(values.moved().is_empty());
    }

    #[test]
    fn a_queue_of_new_ones_is_unrolled_as_often_as_it_has_places() {
        let values = [
            place(None, ADDED),
            place(Some(0), Update::Unchanged),
            place(Some(1), Update::Unchanged),
        ];
        let values = carried(&values, 7);
        assert_eq!(values.moved(), [(1, 0), (2, 1)]);
        assert_eq!(values.factor(), Some(3));
        assert_eq!(values.chain(2).collect::<Vec<_>>(), [2, 1, 0]);
    }

    #[test]
    fn rotations_of_two_and_three_come_round_after_six() {
        let from = [1, 0, 3, 4, 2];
        let values = from.map(|from| place(Some(from), ADDED));
        assert_eq!(carried(&values, 7).factor(), Some(6));
    }

    #[test]
    fn a_rotation_of_many_is_left_alone() {
        let values: Vec<CarriedValue> = (0..9).map(|i| place(Some((i + 1) % 9), ADDED)).collect();
        assert_eq!(carried(&values, 7).factor(), None);
    }
}
