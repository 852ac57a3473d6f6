//! The algorithm against the oracle, on random programs.
//!
//! The programs are the same in every run. `PROPTEST_CASES` makes it more or fewer of them, and
//! `PROPTEST_RNG_SEED` others.

mod oracle;

use oracle::assign::exact_assignments;
use oracle::blocks::text;
use oracle::build::Q;
use oracle::compare::{Side, compare, same_meaning};
use oracle::execute::{Emitted, End, execute, executions};
use oracle::generate::{Recipe, Style, any_program, config, long, structured};
use oracle::improve::{missed_balance, missed_group, unrolled};
use oracle::lower::{Lowered, PLAIN, lower, lower_counted, lower_given, one_group_each};
use oracle::placements::{always_empty, is_better, may_be_empty, points};
use oracle::reads::{executable, split};
use oracle::{Fault, code::Code, inexact, not_distances, raised, unsound};
use proptest::prelude::*;
use tokenflow::{CommitRules, Commits, Graph, Item, Options, Program, Queue, Slot};

fn options() -> impl Strategy<Value = Options> {
    let limit = prop_oneof![Just(0_u64), Just(2), Just(8)];
    (any::<bool>(), any::<bool>(), any::<bool>(), limit).prop_map(
        |(form_groups, balance, drop_implied, unroll_limit)| Options {
            form_groups,
            balance,
            drop_implied,
            unroll_limit,
            ..Options::default()
        },
    )
}

/// Returns true if no waits at all are exact for the commits of a queue: with some conditional copies
/// in a ring, an await is implied by the one before it exactly if that one emits a wait (see
/// `some_programs_have_no_exact_numbers`).
fn has_none_exact(lowered: &Lowered, queue: Queue) -> bool {
    let commits = &lowered.emitted[queue.0 as usize].commits;
    exact_assignments(&lowered.program, queue, commits).is_some_and(|waits| waits.is_empty())
}

fn no_faults(lowered: &Lowered, faults: &[Fault]) -> Result<(), TestCaseError> {
    let text = text(&lowered.program, &lowered.emitted);
    prop_assert!(faults.is_empty(), "{faults:#?}\n{text}");
    Ok(())
}

/// With drop-implied, exact; without, the FIFO distance and sound.
fn right_waits(lowered: &Lowered, drop_implied: bool) -> Result<(), TestCaseError> {
    let mut faults = if drop_implied {
        inexact(&lowered.program, &lowered.emitted)
    } else {
        let mut faults = unsound(&lowered.program, &lowered.emitted);
        faults.extend(not_distances(&lowered.program, &lowered.emitted));
        faults
    };
    faults.retain(|fault| match fault {
        Fault::Loose { queue, .. } => !has_none_exact(lowered, *queue),
        _ => true,
    });
    // An await before the commit can't be covered; the algorithm has to know of each.
    for (queue, reads) in lowered.reads.iter().enumerate() {
        let known = &lowered.open[queue];
        let mut open = known.clone();
        let here = |q: Queue| q.0 as usize == queue || Some(q) == *reads;
        faults.retain(|fault| match fault {
            Fault::Unsound {
                queue: q,
                site,
                open: true,
                ..
            } if here(*q) && known.contains(site) => {
                open.retain(|other| other != site);
                false
            }
            // Nothing covers such an await, so no number for it is better than another.
            Fault::Loose { queue: q, site, .. } => !here(*q) || !known.contains(site),
            _ => true,
        });
        prop_assert!(
            open.is_empty(),
            "queue {queue}: no copy is uncommitted at {open:?}\n{}",
            text(&lowered.program, &lowered.emitted)
        );
    }
    no_faults(lowered, &faults)
}

/// Neither is better than the other anywhere.
fn forces_no_more(left: &Lowered, right: &Lowered) -> Result<(), TestCaseError> {
    let difference = compare(side(left), side(right)).map_err(TestCaseError::fail)?;
    prop_assert!(
        difference.left_forces_more.is_none(),
        "forces more: {difference:?}\n{}\nthan\n{}",
        text(&left.program, &left.emitted),
        text(&right.program, &right.emitted)
    );
    Ok(())
}

/// Groups force no more than one group an operation. Options build on one another, and peeling is the last: what it
/// improves is the program with groups.
fn groups_only_improve(program: &Program, options: &Options) -> Result<(), TestCaseError> {
    let on = Options {
        form_groups: true,
        drop_implied: true,
        unroll_limit: 0,
        ..*options
    };
    let off = Options {
        form_groups: false,
        ..on
    };
    forces_no_more(&lower(program, &on), &lower(program, &off))
}

/// Balance forces no more, and has commits that are always empty only on queues where something is forced less.
fn balance_improves(program: &Program) -> Result<(), TestCaseError> {
    let off = lower(program, &PLAIN);
    let on = lower(
        program,
        &Options {
            balance: true,
            ..PLAIN
        },
    );
    forces_no_more(&on, &off)?;
    for queue in (0..program.queues).map(Queue) {
        prop_assert!(
            !pads_in_vain(program, &on, &off, queue),
            "groups are added in vain:\n{}",
            text(&on.original.0, &on.original.1)
        );
    }
    Ok(())
}

/// Returns true if always-empty groups of `on` let no wait force less: than without `balance`, where all placements are
/// tried, and else than without one of these groups.
fn pads_in_vain(program: &Program, on: &Lowered, off: &Lowered, queue: Queue) -> bool {
    let solutions = &on.original.1;
    let padding = always_empty(program, queue, &solutions[usize::from(queue.0)].commits);
    if padding.iter().all(|&n| n == 0) || is_better(on, off, queue) {
        return false;
    }
    if points(program, queue).len() <= Options::default().exhaustive_points {
        return true;
    }
    for slot in (0..padding.len()).filter(|&slot| padding[slot] > 0) {
        let mut commits: Vec<Commits> = solutions
            .iter()
            .map(|solution| solution.commits.clone())
            .collect();
        commits[usize::from(queue.0)][slot] -= 1;
        if forces_no_more(&lower_given(program, &commits, true), on).is_ok() {
            return true;
        }
    }
    false
}

/// Exact waits, as other tests here check.
#[expect(clippy::unnecessary_wraps, reason = "a solver may find nothing")]
fn algorithm(program: &Program, commits: &[Commits]) -> Option<Vec<Emitted>> {
    Some(lower_given(program, commits, true).emitted)
}

fn side(lowered: &Lowered) -> Side<'_> {
    Side {
        program: &lowered.program,
        emitted: &lowered.emitted,
    }
}

proptest! {
    #![proptest_config(config(800))]

    #[test]
    fn one_group_a_copy_is_exact(recipe in any_program(Style::Tokens)) {
        let program = recipe.program();
        right_waits(&lower_given(&program, &one_group_each(&program), true), true)?;
    }

    #[test]
    fn without_drop_implied_a_wait_is_the_distance(recipe in any_program(Style::Mixed)) {
        let program = recipe.program();
        right_waits(&lower_given(&program, &one_group_each(&program), false), false)?;
    }

    #[test]
    fn given_commits_are_exact(recipe in any_program(Style::Given), drop_implied in any::<bool>()) {
        let program = recipe.program();
        right_waits(&lower_counted(&program, drop_implied), drop_implied)?;
    }
}

proptest! {
    #![proptest_config(config(800))]

    #[test]
    fn both_completions_are_exact(recipe in any_program(Style::Stores)) {
        let program = recipe.program();
        right_waits(&lower_given(&program, &one_group_each(&program), true), true)?;
    }

    #[test]
    fn both_distances_are_sound(recipe in any_program(Style::Stores)) {
        let program = recipe.program();
        let lowered = lower_given(&program, &one_group_each(&program), false);
        let faults = unsound(&lowered.program, &lowered.emitted);
        let open: Vec<_> = lowered.open.concat();
        no_faults(&lowered, &faults.into_iter().filter(|fault| !open.contains(&fault.site())).collect::<Vec<_>>())?;
    }
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn every_option_is_exact_for_both_completions(
        recipe in any_program(Style::Stores), options in options()
    ) {
        let options = Options { drop_implied: true, ..options };
        let lowered = lower(&recipe.program(), &options);
        prop_assert!(lowered.open.iter().all(Vec::is_empty), "everything is committed");
        right_waits(&lowered, true)?;
    }

    #[test]
    fn groups_force_no_more_of_either_completion(
        recipe in any_program(Style::Stores), options in options()
    ) {
        let program = recipe.program();
        groups_only_improve(&program, &options)?;
    }

    #[test]
    fn balance_only_improves_both_completions(recipe in any_program(Style::Stores)) {
        balance_improves(&recipe.program())?;
    }

    #[test]
    fn peeling_only_improves_both_completions(recipe in structured(Style::Stores), options in options()) {
        let program = recipe.program();
        let on = lower(&program, &Options { unroll_limit: 8, drop_implied: true, ..options });
        let off = lower(&program, &Options { unroll_limit: 0, drop_implied: true, ..options });
        let difference = compare(side(&on), side(&off)).map_err(TestCaseError::fail)?;
        prop_assert!(
            on.peels == 0 || difference.left_is_better(),
            "peeled in vain: {difference:?}\n{}\nwas\n{}",
            text(&on.program, &on.emitted),
            text(&off.program, &off.emitted)
        );
    }
}

/// What a queue of multiplications asks of commits: none that is always empty, and none where threads may diverge.
const WARPGROUP_RULES: CommitRules = CommitRules {
    empty_groups: false,
    divergent: false,
    all: false,
};

/// A program on three queues as the hardware has them: of copies, of stores, which have two completions, and of
/// multiplications. Threads may diverge in half of what has none of these.
fn three_queues(recipe: Recipe, seed: u64) -> Program {
    let mut program = Recipe { queues: 3, ..recipe }.program();
    program.commit_rules = vec![CommitRules::default(), CommitRules::default(), WARPGROUP_RULES];
    let mut number = 0;
    diverge(&mut program.body, seed, &mut number);
    program
}

fn diverge(graph: &mut Graph, seed: u64, number: &mut u32) {
    for item in graph.blocks.iter_mut().flat_map(|block| &mut block.items) {
        let inner = match item {
            Item::Nested(nested) => &mut nested.graph,
            Item::Repeat(repeat) => &mut repeat.body,
            _ => continue,
        };
        let mut multiplies = false;
        inner.visit(&mut |item| multiplies |= matches!(item, Item::Issue { queue: Queue(2), .. }));
        *number += 1;
        let diverges = !multiplies && seed.rotate_right(*number) & 1 == 1;
        inner
            .blocks
            .iter_mut()
            .for_each(|block| block.divergent |= diverges);
        diverge(inner, seed, number);
    }
}

/// The slots where threads may diverge.
fn divergent_slots(graph: &Graph, slots: &mut Vec<Slot>) {
    for block in &graph.blocks {
        if block.divergent {
            slots.extend(block.start);
            slots.extend(block.items.iter().filter_map(Item::after));
        }
        for inner in block.items.iter().filter_map(Item::graph) {
            divergent_slots(inner, slots);
        }
    }
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn three_queues_are_exact_and_get_what_they_ask_for(
        recipe in prop_oneof![any_program(Style::Stores), any_program(Style::Mixed), any_program(Style::Tokens)],
        options in options(), seed in any::<u64>()
    ) {
        let options = Options { drop_implied: true, ..options };
        let lowered = lower(&three_queues(recipe, seed), &options);
        prop_assert!(lowered.open.iter().all(Vec::is_empty), "everything is committed");
        right_waits(&lowered, true)?;
        let commits = &lowered.emitted[2].commits;
        let empty = may_be_empty(&lowered.program, Queue(2), commits);
        prop_assert!(empty.is_empty(), "a group may be empty at {empty:?}:\n{}", text(&lowered.program, &lowered.emitted));
        let mut slots = Vec::new();
        divergent_slots(&lowered.program.body, &mut slots);
        let alone = slots.iter().find(|slot| commits[slot.0 as usize] > 0);
        prop_assert!(alone.is_none(), "threads may diverge at {alone:?}:\n{}", text(&lowered.program, &lowered.emitted));
    }
}

// Each takes as long as many small programs.
proptest! {
    #![proptest_config(config(30))]

    /// What is solved around a change alone is checked against the whole, by assertions in the algorithm.
    #[test]
    fn long_programs_are_exact(recipe in long(Style::Tokens), options in options()) {
        let lowered = lower(&recipe.program(), &options);
        prop_assert!(lowered.open.iter().all(Vec::is_empty), "everything is committed");
        right_waits(&lowered, options.drop_implied)?;
    }
}

// Choosing commits takes longer than counting.
proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn every_option_is_exact(recipe in any_program(Style::Mixed), options in options()) {
        let lowered = lower(&recipe.program(), &options);
        prop_assert!(lowered.open.iter().all(Vec::is_empty), "everything is committed");
        right_waits(&lowered, options.drop_implied)?;
    }

    #[test]
    fn peeling_keeps_the_meaning(recipe in any_program(Style::Mixed), limit in 1..6_u64) {
        let program = recipe.program();
        same_meaning(&program, &unrolled(&program, limit)).map_err(TestCaseError::fail)?;
        let lowered = lower(&program, &Options::default());
        same_meaning(&program, &lowered.program).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn groups_force_no_more_than_copies(recipe in any_program(Style::Mixed), options in options()) {
        let program = recipe.program();
        groups_only_improve(&program, &options)?;
    }

    #[test]
    fn balance_only_improves(recipe in any_program(Style::Mixed)) {
        balance_improves(&recipe.program())?;
    }

    #[test]
    fn peeling_only_improves(recipe in structured(Style::Mixed), options in options()) {
        let program = recipe.program();
        let on = lower(&program, &Options { unroll_limit: 8, drop_implied: true, ..options });
        let off = lower(&program, &Options { unroll_limit: 0, drop_implied: true, ..options });
        let difference = compare(side(&on), side(&off)).map_err(TestCaseError::fail)?;
        prop_assert!(
            on.peels == 0 || difference.left_is_better(),
            "peeled in vain: {difference:?}\n{}\nwas\n{}",
            text(&on.program, &on.emitted),
            text(&off.program, &off.emitted)
        );
    }
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn no_balance_is_missed(recipe in structured(Style::Tokens)) {
        let program = recipe.program();
        let small = |queue| points(&program, queue).len() <= PLAIN.exhaustive_points;
        if !(0..program.queues).map(Queue).all(small) {
            return Ok(());
        }
        let off = lower(&program, &PLAIN);
        let on = lower(&program, &Options { balance: true, ..PLAIN });
        let missed = missed_balance(&algorithm, &program, &off.emitted, &on.emitted);
        prop_assert!(
            missed.is_none(),
            "better:\n{}\nthan\n{}",
            text(&program, missed.as_ref().expect("a better one")),
            text(&program, &on.emitted)
        );
    }

    #[test]
    fn no_group_is_missed(recipe in structured(Style::Tokens)) {
        let program = recipe.program();
        let on = lower(&program, &Options { form_groups: true, ..PLAIN });
        // A search whose budget is spent promises no more than that nothing is worse.
        if on.spent {
            return Ok(());
        }
        let missed = missed_group(&algorithm, &program, &on.emitted, &on.emitted);
        prop_assert!(
            missed.is_none(),
            "as good with fewer commits:\n{}\nthan\n{}",
            text(&program, missed.as_ref().expect("a better one")),
            text(&program, &on.emitted)
        );
    }

    #[test]
    fn no_peeling_is_missed(recipe in structured(Style::Tokens)) {
        let program = recipe.program();
        let on = lower(&program, &Options { unroll_limit: 8, ..PLAIN });
        // Peeling is for counts: where a copy of the loop alone would have its commits elsewhere, none is made.
        let unrolled = unrolled(&program, 8);
        let unrolled = lower_given(&unrolled, &one_group_each(&unrolled), true);
        let difference = compare(side(&unrolled), side(&on)).map_err(TestCaseError::fail)?;
        prop_assert!(
            !difference.left_is_better(),
            "unrolled is better: {difference:?}\n{}\nthan\n{}",
            text(&unrolled.program, &unrolled.emitted),
            text(&on.program, &on.emitted)
        );
    }
}

/// Replays executions of a lowering on concrete FIFOs.
fn replay(recipe: &Recipe) -> Result<(), TestCaseError> {
    let program: Program = recipe.program();
    let lowered = lower(&program, &PLAIN);
    // No execution shows what the exploration has not seen.
    let faults = unsound(&program, &lowered.emitted);
    let mut seen = None;
    executions(&program, &lowered.emitted, 300, |choices, execution| {
        for passed in &execution.passed {
            if !passed.awaited.is_subset(&passed.complete) && !faults.iter().any(|f| f.site() == passed.site)
            {
                seen = Some((choices.to_vec(), passed.clone()));
            }
        }
    });
    prop_assert!(seen.is_none(), "{seen:?}");
    // Every execution that the exploration has found shows what it says.
    let code = Code::new(&program);
    for site in 0..program.awaits {
        let site = tokenflow::Await(site);
        let Some(choices) = raised(&code, Q, &lowered.emitted[0], site) else {
            continue;
        };
        let mut loosened = lowered.emitted.clone();
        *loosened[0].waits[site.0 as usize]
            .as_mut()
            .expect("it was raised") += 1;
        let execution = execute(&program, &loosened, &choices);
        let bare = |passed: &&oracle::execute::Passed| {
            passed.site == site && !passed.awaited.is_disjoint(&passed.in_flight)
        };
        let shown = execution.passed.iter().any(|passed| bare(&passed));
        prop_assert!(shown || execution.end == End::Budget, "{choices:?}");
    }
    Ok(())
}

/// Replays executions of a program with reads, and of the same program with its queues split.
fn replay_reads(recipe: &Recipe) -> Result<(), TestCaseError> {
    let lowered = lower(&recipe.program(), &PLAIN);
    let (program, emitted) = &lowered.original;
    // One count more, so that some awaits pass too early.
    let mut loosened = emitted.clone();
    for emitted in &mut loosened {
        for wait in emitted.waits.iter_mut().chain(&mut emitted.reads) {
            *wait = wait.map(|n| n + 1);
        }
    }
    for emitted in [emitted, &loosened] {
        let split = split(program, emitted);
        let apart = executable(&split.program);
        let mut differs = None;
        executions(program, emitted, 100, |choices, execution| {
            let verdicts = |execution: &oracle::execute::Execution| -> Vec<_> {
                let passed = execution.passed.iter();
                passed
                    .map(|passed| (passed.site, passed.awaited.is_subset(&passed.complete)))
                    .collect()
            };
            let other = execute(&apart, &split.emitted, choices);
            if other.end != End::Budget && verdicts(execution) != verdicts(&other) {
                differs = Some(choices.to_vec());
            }
        });
        prop_assert!(differs.is_none(), "{differs:?}\n{}", text(program, emitted));
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn the_oracle_agrees_with_itself_on_reads(recipe in any_program(Style::Stores)) {
        replay_reads(&recipe)?;
    }

    #[test]
    fn the_oracle_agrees_with_itself(recipe in any_program(Style::Mixed)) {
        replay(&recipe)?;
    }
}
