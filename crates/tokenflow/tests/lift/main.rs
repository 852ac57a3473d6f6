//! Counted programs in token form, against the oracle: on all executions, what is complete after each await is what the
//! wait in its place completed; and counted again, no wait completes more.

mod apply;
mod lockstep;
#[path = "../oracle/mod.rs"]
mod oracle;

use apply::{lifted, marked, structures};
use lockstep::{At, Difference, compare};
use oracle::blocks::{in_text_order, text};
use oracle::execute::{Emitted, End, execute, executions};
use oracle::generate::{Recipe, Style, any_program, config};
use oracle::lower::{Lowered, lower_counted, lower_given, lowered, one_group_each};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};
use tokenflow::lift::{Accesses, TokensOf, counted_again, lift, rewrite, round_trip_completes_no_more};
use tokenflow::{Await, Graph, Item, Program, Queue, Token};

fn queues(program: &Program) -> Vec<Queue> {
    (0..program.queues).map(Queue).collect()
}

/// Awaits complete exactly what waits completed.
fn is_exact(program: &Program, loops: bool, of: TokensOf) -> Result<(), TestCaseError> {
    let mut counted = marked(program, &queues(program));
    if of == TokensOf::Groups {
        counted = with_tokens(counted, of);
    }
    let tokens = lifted(program, loops, of);
    for queue in queues(&counted) {
        let found = compare(&counted, &tokens, queue, None);
        prop_assert!(
            found.is_empty(),
            "{found:?}\n{}\n{}",
            text(&counted, &[]),
            text(&tokens, &[])
        );
    }
    Ok(())
}

/// The same, also for reads, on the executions of a few choices.
fn is_exact_for_reads(program: &Program, loops: bool) -> Result<(), TestCaseError> {
    let tokens = lifted(program, loops, TokensOf::Operations);
    let counted = with_tokens(marked(program, &queues(program)), TokensOf::Operations);
    let reads = apply::has_reads(&counted, Queue(0));
    let nothing = |program: &Program| {
        let nothing = Emitted {
            commits: vec![0; program.slots as usize],
            waits: vec![None; program.awaits as usize],
            reads: Vec::new(),
        };
        vec![nothing; usize::from(program.queues)]
    };
    let mut differs = None;
    executions(&counted, &nothing(&counted), 200, |choices, meant| {
        let is = execute(&tokens, &nothing(&tokens), choices);
        let mut complete = BTreeSet::new();
        for (meant, is) in meant.passed.iter().zip(&is.passed) {
            // With reads, every operation is two copies: first that of its reads, then itself.
            let read = |copy: &u32| {
                [
                    *copy,
                    if reads && copy.is_multiple_of(2) {
                        copy - 1
                    } else {
                        *copy
                    },
                ]
            };
            complete.extend(is.awaited.iter().flat_map(read));
            if complete != meant.complete {
                differs = Some((choices.to_vec(), meant.clone(), is.clone()));
            }
        }
        let ended = meant.end == End::Budget || is.end == End::Budget;
        assert!(ended || meant.passed.len() == is.passed.len(), "as many awaits");
    });
    prop_assert!(
        differs.is_none(),
        "{differs:?}\n{}\n{}",
        text(&counted, &[]),
        text(&tokens, &[])
    );
    Ok(())
}

/// The program with tokens of all operations or groups, which nothing uses.
fn with_tokens(mut program: Program, of: TokensOf) -> Program {
    let reads = apply::has_reads(&program, Queue(0));
    let mut body = std::mem::take(&mut program.body);
    edit(&mut body, &mut |item| match item {
        Item::Issue { token, read, .. } if of == TokensOf::Operations => {
            *token = Some(program.token());
            *read = reads.then(|| program.token());
        }
        Item::Commit { token, .. } if of == TokensOf::Groups => *token = Some(program.token()),
        _ => {}
    });
    program.body = body;
    program
}

/// The program with waits for all in the place of those for reads alone.
fn without_reads(mut program: Program) -> Program {
    edit(&mut program.body, &mut |item| {
        if let Item::Wait { read, .. } = item {
            *read = false;
        }
    });
    program
}

fn edit(graph: &mut Graph, f: &mut dyn FnMut(&mut Item)) {
    for item in graph.blocks.iter_mut().flat_map(|block| &mut block.items) {
        f(item);
        match item {
            Item::Nested(nested) => edit(&mut nested.graph, f),
            Item::Repeat(repeat) => edit(&mut repeat.body, f),
            _ => {}
        }
    }
}

/// The counts of a program's waits, by queue and await.
fn counts(program: &Program) -> Vec<Vec<Option<u32>>> {
    let mut counts = vec![Vec::new(); usize::from(program.queues)];
    program.body.visit(&mut |item| {
        if let Item::Wait { queue, n, .. } = item {
            for (q, counts) in counts.iter_mut().enumerate() {
                counts.push((q == usize::from(queue.0)).then_some(*n));
            }
        }
    });
    counts
}

/// Counting gives a program's counts back, or no wait where there was nothing to wait for.
fn has_its_counts(program: &Program, tokens: &Program, lowered: &Lowered) -> Result<(), TestCaseError> {
    for (emitted, meant) in lowered.original.1.iter().zip(counts(program)) {
        for (is, meant) in emitted.waits.iter().zip(&meant) {
            prop_assert!(
                is.is_none() || is == meant,
                "{is:?}, not {meant:?}\n{}",
                text(tokens, &[])
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn awaits_complete_what_waits_completed(recipe in any_program(Style::Counted), loops in any::<bool>()) {
        is_exact(&without_reads(recipe.program()), loops, TokensOf::Operations)?;
    }

    #[test]
    fn awaits_of_groups_complete_what_waits_completed(
        recipe in any_program(Style::Counted), loops in any::<bool>()
    ) {
        is_exact(&without_reads(recipe.program()), loops, TokensOf::Groups)?;
    }

    #[test]
    fn awaits_complete_what_waits_completed_of_both(
        recipe in any_program(Style::Counted), loops in any::<bool>()
    ) {
        is_exact_for_reads(&Recipe { queues: 1, ..recipe }.program(), loops)?;
    }

    #[test]
    fn what_is_left_to_later_waits_is_not_accessed_before(
        recipe in any_program(Style::CountedWithAccesses), loops in any::<bool>()
    ) {
        let program = in_text_order(without_reads(recipe.program()));
        leaves_what_is_not_accessed(&with_marked_accesses(program), loops)?;
    }

    #[test]
    fn counting_operations_gives_the_counts_back(
        recipe in any_program(Style::CountedAlone), loops in any::<bool>()
    ) {
        let program = recipe.program();
        let tokens = lifted(&program, loops, TokensOf::Operations);
        has_its_counts(&program, &tokens, &lower_given(&tokens, &one_group_each(&tokens), true))?;
    }

    #[test]
    fn counting_groups_gives_the_counts_back(recipe in any_program(Style::Counted), loops in any::<bool>()) {
        let program = without_reads(recipe.program());
        let tokens = lifted(&program, loops, TokensOf::Groups);
        has_its_counts(&program, &tokens, &lower_counted(&tokens, true))?;
    }
}

/// The program with its awaits marked, so that they can be told apart from those that were waits.
fn with_marked_accesses(mut program: Program) -> Program {
    edit(&mut program.body, &mut |item| {
        if let Item::Await { covered, .. } = item {
            *covered = true;
        }
    });
    program
}

/// Three kinds of memory: operations take turns in writing to them, and accesses are of one or two kinds.
fn accesses(program: &Program) -> Accesses {
    let sites = (0..program.sites)
        .map(|site| 1 << (site % 3))
        .collect::<Vec<u64>>();
    Accesses {
        at: (0..program.awaits)
            .map(|access| [1, 2, 4, 3][access as usize % 4])
            .collect(),
        at_end: 7,
        barriers: Vec::new(),
        read: sites.clone(),
        done: sites,
    }
}

/// What waits leave to later ones is not accessed before, and nothing is awaited that was not complete.
fn leaves_what_is_not_accessed(program: &Program, loops: bool) -> Result<(), TestCaseError> {
    let accesses = accesses(program);
    for queue in queues(program) {
        let structures = structures(program, loops);
        let lifted = lift(program, queue, &structures, TokensOf::Operations, Some(&accesses));
        let tokens = rewrite(program, queue, &structures, &lifted);
        let counted = marked(program, &[queue]);
        let kinds = kinds(&tokens, &accesses);
        for found in compare(&counted, &tokens, queue, None) {
            let (difference, at, operation, _) = &found;
            let own = operation
                .and_then(|token| kinds.0.get(&token))
                .copied()
                .unwrap_or(0);
            let accessed = match at {
                At::Await(site) => kinds.1.get(site).copied().unwrap_or(0),
                At::End => accesses.at_end,
            };
            let wrong = *difference == Difference::Tokens || own & accessed != 0;
            prop_assert!(
                !wrong,
                "{found:?}\n{}\n{}",
                text(&counted, &[]),
                text(&tokens, &[])
            );
        }
    }
    Ok(())
}

/// The kind of each operation by its token, and of each access.
fn kinds(tokens: &Program, accesses: &Accesses) -> (HashMap<Token, u64>, HashMap<Await, u64>) {
    let (mut operations, mut at) = (HashMap::new(), HashMap::new());
    let mut given = accesses.at.iter();
    tokens.body.visit(&mut |item| match item {
        Item::Issue {
            site,
            token: Some(token),
            ..
        } => {
            operations.insert(*token, accesses.done[site.0 as usize]);
        }
        // See `with_marked_accesses`.
        Item::Await { site, covered, .. } if *covered => {
            at.extend(given.next().map(|kind| (*site, *kind)));
        }
        _ => {}
    });
    (operations, at)
}

// Choosing commits takes longer than counting.
proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn counted_again_no_wait_completes_more(
        recipe in any_program(Style::CountedTogether), loops in any::<bool>()
    ) {
        let program = in_text_order(recipe.program());
        for queue in queues(&program) {
            let structures = structures(&program, loops);
            let lifted = lift(&program, queue, &structures, TokensOf::Operations, None);
            if !round_trip_completes_no_more(&program, queue, &structures, &lifted) {
                continue;
            }
            let (tokens, solutions) = counted_again(&program, queue, &structures, &lifted);
            let lowered = lowered(tokens, 0, &solutions);
            let emitted = &lowered.emitted[usize::from(queue.0)];
            let counted = marked(&program, &[queue]);
            let found = compare(&counted, &lowered.program, queue, Some(emitted));
            let more = found.iter().find(|found| found.0 == Difference::Tokens);
            prop_assert!(more.is_none(), "{more:?}\n{}", text(&lowered.program, &lowered.emitted));
        }
    }
}
