//! Checks incrementally whether a placement of commits is legal that differs from a known one in few places.

use super::open_groups::{OpenGroups, OpenStates, Run};
use super::{Options, QueuePlacer};
use crate::automaton::Body;
use crate::program::Commits;
use crate::straight_line::Step;
use rustc_hash::FxHashMap;

/// What may be open at each step of a body, for commits that are known: where others differ, it is found out anew. This is an
/// automaton as well, which reads the letters of [`crate::automaton`].
pub(super) struct Legality<'a> {
    placer: &'a QueuePlacer<'a>,
    body: Body<'a>,
    options: Options,
    letters: Vec<u32>,
    /// What may be open before each step, and at the end.
    before: Vec<OpenStates>,
    /// How many slots before each step have commits that may not be there.
    illegal: Vec<u32>,
    /// For what is open before a step and its letter, what is after it, and where what is at its slots begins in `at_slots`.
    transitions: FxHashMap<(u8, u32), (OpenStates, usize)>,
    at_slots: Vec<OpenStates>,
    /// What graphs do to sets, and what is at each slot, reused from step to step.
    known: Vec<[Option<OpenStates>; OpenStates::SETS]>,
    out: OpenGroups,
}

impl<'a> Legality<'a> {
    /// Finds out what may be open for `commits`; as many at each slot as `padding` says may be empty.
    pub fn new(
        placer: &'a QueuePlacer<'a>,
        body: Body<'a>,
        (commits, padding): (&Commits, &Commits),
        options: &Options,
    ) -> Self {
        let line = body.line;
        let mut automaton = placer.automaton(body);
        let letters = (0..line.len()).map(|step| automaton.letter(body, step, commits));
        let mut new = Self {
            placer,
            body,
            options: *options,
            letters: letters.collect(),
            before: Vec::with_capacity(line.len() + 1),
            illegal: Vec::with_capacity(line.len() + 1),
            transitions: FxHashMap::default(),
            at_slots: Vec::new(),
            known: vec![[None; OpenStates::SETS]; placer.program_info.graphs],
            out: OpenGroups {
                at: vec![OpenStates::default(); commits.len()],
                given: OpenStates::default(),
                end: OpenStates::default(),
            },
        };
        let (mut open, mut illegal) = (OpenStates::NOTHING, 0);
        for step in 0..line.len() {
            new.before.push(open);
            new.illegal.push(illegal);
            let (after, first) = new.read(open, (step, new.letters[step]), commits);
            open = after;
            illegal += new.illegal_in(step, first, (commits, padding));
        }
        new.before.push(open);
        new.illegal.push(illegal);
        new
    }

    /// Reads the letter of a step with these commits.
    fn read(
        &mut self,
        open: OpenStates,
        (step, letter): (usize, u32),
        commits: &Commits,
    ) -> (OpenStates, usize) {
        if let Some(known) = self.transitions.get(&(open.0, letter)) {
            return *known;
        }
        let after = self.run_step(step, commits, open);
        let slots = self.body.line.slots(step..step + 1);
        let first = self.at_slots.len();
        self.at_slots.extend_from_slice(&self.out.at[slots]);
        self.transitions.insert((open.0, letter), (after, first));
        (after, first)
    }

    fn run_step(&mut self, step: usize, commits: &Commits, open: OpenStates) -> OpenStates {
        let line = self.body.line;
        self.out.at[line.slots(step..step + 1)].fill(OpenStates::default());
        self.known[line.graphs(step..step + 1)].fill([None; OpenStates::SETS]);
        let mut run = Run {
            placer: self.placer,
            commits,
            known: std::mem::take(&mut self.known),
            blocks: Vec::new(),
            out: std::mem::take(&mut self.out),
        };
        let open = match line.step(self.placer.program, &self.placer.program_info, step) {
            Step::Start(slot) => run.slot(slot, open),
            Step::Item(item, info) => run.item(item, &mut info.iter(), open),
        };
        (self.known, self.out) = (run.known, run.out);
        open
    }

    /// How many slots of a step, of which the first is at `first` in `at_slots`, have commits that may not be there.
    fn illegal_in(&self, step: usize, first: usize, commits: (&Commits, &Commits)) -> u32 {
        let slots = self.body.line.slots(step..step + 1).zip(&self.at_slots[first..]);
        let illegal = slots.filter(|&(slot, open)| !open.is_legal_at(slot, commits, &self.options));
        illegal.map(|_| 1).sum()
    }

    /// Does what [`QueuePlacer::is_legal`] does, for commits that differ from the known ones in some steps, and there alone
    /// in their `padding`, too.
    pub fn is_legal(&mut self, commits: &Commits, padding: &Commits, steps: &[usize]) -> bool {
        let end = self.before.len() - 1;
        let mut changes = steps.iter().copied().peekable();
        let (mut step, mut open) = (0, self.before[0]);
        let mut illegal = self.illegal[end];
        let was_legal = illegal == 0;
        loop {
            if open == self.before[step] {
                let Some(&next) = changes.peek() else { break };
                (step, open) = (next, self.before[next]);
            }
            if step == end {
                break;
            }
            let letter = match changes.next_if_eq(&step) {
                Some(_) => self.placer.automaton(self.body).letter(self.body, step, commits),
                None => self.letters[step],
            };
            let (after, first) = self.read(open, (step, letter), commits);
            illegal -= self.illegal[step + 1] - self.illegal[step];
            illegal += self.illegal_in(step, first, (commits, padding));
            if was_legal && illegal > 0 {
                return false;
            }
            (step, open) = (step + 1, after);
        }
        if step < end {
            open = self.before[end];
        }
        illegal == 0 && (self.options.form_groups || !open.may_hold_slotted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brute_force::{commits, queues};
    use crate::oracle::generate::{Style, config, long};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(config(400))]

        #[test]
        fn changes_are_legal_if_the_whole_is(
            recipe in long(Style::Tokens),
            (form_groups, balance) in any::<(bool, bool)>(),
            seed in any::<u64>(),
        ) {
            let program = recipe.program();
            let options = Options { form_groups, balance, ..Options::default() };
            for queue in queues(&program) {
                let placer = QueuePlacer::new(&program, queue, &options);
                let Some(body) = placer.body() else { continue };
                let (known, none) = (commits(&program, queue, 0), vec![0; program.slots as usize]);
                let mut legality = Legality::new(&placer, body, (&known, &none), &options);
                for i in 0..program.slots.min(20) {
                    let mut changed = known.clone();
                    let slot = seed.rotate_left(3 * i) % u64::from(program.slots);
                    let slot = usize::try_from(slot).expect("a slot");
                    changed[slot] = 1 - changed[slot];
                    let whole = placer.is_legal(&changed, &none, &options);
                    let steps = [body.line.step_of(slot)];
                    prop_assert_eq!(legality.is_legal(&changed, &none, &steps), whole);
                }
            }
        }
    }
}
