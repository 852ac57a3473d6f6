//! Counted programs in token form, against the oracle: on all executions, what is complete after each await is what the
//! wait in its place completed; and counted again, no wait completes more.

mod apply;
#[path = "../oracle/mod.rs"]
mod oracle;
mod together;

use apply::{lifted, marked, shapes};
use oracle::blocks::{in_text_order, text};
use oracle::execute::{Emitted, End, execute, executions};
use oracle::generate::{Recipe, Style, any_program, config};
use oracle::lower::{Lowered, lower, lower_counted, lower_given, one_group_each};
use proptest::prelude::*;
use std::collections::BTreeSet;
use together::{Difference, compare};
use tokenflow::lift::{TokensOf, complete_no_more, lift, write};
use tokenflow::{Graph, Item, Options, Program, Queue};

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
            let read = |copy: &u32| [*copy, if reads && copy % 2 == 0 { copy - 1 } else { *copy }];
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

// Choosing commits takes longer than counting.
proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn counted_again_no_wait_completes_more(
        recipe in any_program(Style::CountedTogether), loops in any::<bool>()
    ) {
        let program = in_text_order(recipe.program());
        for queue in queues(&program) {
            let shapes = shapes(&program, loops);
            let lifted = lift(&program, queue, &shapes, TokensOf::Operations, None);
            if !complete_no_more(&program, queue, &shapes, &lifted) {
                continue;
            }
            let tokens = write(&program, queue, &shapes, &lifted);
            let lowered = lower(&tokens, &Options::default());
            let emitted = &lowered.emitted[usize::from(queue.0)];
            let counted = marked(&program, &[queue]);
            let found = compare(&counted, &lowered.program, queue, Some(emitted));
            let more = found.iter().find(|(difference, _)| *difference == Difference::Tokens);
            prop_assert!(more.is_none(), "{more:?}\n{}", text(&lowered.program, &lowered.emitted));
        }
    }
}
