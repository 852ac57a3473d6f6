//! Puts together what was found in earlier and in later blocks.

use super::{Hazard, PhaseOf, Problem, Race, Reports, StaleWait};
use crate::value::BufferId;

impl Reports {
    /// Adds what was found in later blocks; entry `i` of their table of iterations is `entries[i]` here, and `buffer` says
    /// what each of their buffers is.
    pub fn adopt(&mut self, later: Self, entries: &[u32], buffer: &dyn Fn(BufferId) -> BufferId) {
        for race in later.races.into_values() {
            self.adopt_race(Race {
                now: race.now.in_iterations(entries),
                before: race.before.map(|before| before.in_iterations(entries)),
                last_wait: race.last_wait.map(|wait| wait.in_iterations(entries)),
                stale_wait: race.stale_wait.map(|wait| StaleWait {
                    at: wait.at.in_iterations(entries),
                    before: wait.before.map(|before| before.in_iterations(entries)),
                    ..wait
                }),
                iterations: race
                    .iterations
                    .iter()
                    .map(|&entry| entries[entry as usize])
                    .collect(),
                buffer: buffer(race.buffer),
                phase: race.phase.map(|of| PhaseOf {
                    buffer: buffer(of.buffer),
                    ..of
                }),
                ..race
            });
        }
        for problem in later.problems.into_values() {
            self.problem(Problem {
                at: problem.at.in_iterations(entries),
                other: problem.other.map(|other| other.in_iterations(entries)),
                ..problem
            });
        }
    }

    fn adopt_race(&mut self, race: Race) {
        let mut before = race.before;
        // The copy that comes nearest is looked for once.
        if race.hazard == Hazard::Unwritten
            && let Some(known) = self.unwritten(race.now)
        {
            before = known.before;
        }
        let key = (race.hazard, race.now.instr, before.map(|before| before.instr));
        let Some(known) = self.races.get_mut(&key) else {
            self.races.insert(key, race);
            return;
        };
        known.count += race.count;
        known.more |= race.more;
        for entry in race.iterations {
            known.seen_in(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Spot;

    fn spot(instr: u32) -> Spot {
        Spot {
            instr,
            thread: 0,
            iterations: 0,
        }
    }

    /// The copy that comes nearest to an unwritten byte is that of the first block that reads one.
    #[test]
    fn the_nearest_copy_of_an_earlier_block_stays() {
        let found = |copy: u32| {
            let mut reports = Reports::default();
            let bytes = &(0..4);
            reports.race(Hazard::Unwritten, spot(5), Some(spot(copy)), BufferId(0), bytes);
            reports
        };
        let mut all = found(1);
        all.adopt(found(2), &[0], &|id| id);
        let races: Vec<_> = all.races().map(|race| (race.before, race.count)).collect();
        assert_eq!(races, [(Some(spot(1)), 8)]);
    }
}
