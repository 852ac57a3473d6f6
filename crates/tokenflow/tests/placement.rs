//! Where commits are placed, against brute force over all places.
//!
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` make it more cases, or others.

mod oracle;

use oracle::blocks::text;
use oracle::build::{Build, Q};
use oracle::code::Code;
use oracle::explore::wasteful;
use oracle::generate::{Style, any_program, config};
use oracle::improve::branches;
use oracle::lower::lower;
use oracle::placements::{dominating, dominating_by_one, is_placement, points};
use oracle::unsound;
use proptest::prelude::*;
use tokenflow::{Item, Options, Program, Queue, Token};

/// As many points as brute force looks at.
const MOST: usize = 10;

fn options() -> impl Strategy<Value = Options> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(form_groups, balance, drop_implied)| Options {
        form_groups,
        balance,
        drop_implied,
        unroll_limit: 0,
        ..Options::default()
    })
}

/// Returns the queues that have operations and at most `most` points.
fn small_queues(program: &Program, most: usize) -> Vec<Queue> {
    let mut issued = vec![false; usize::from(program.queues)];
    program.body.visit(&mut |item| {
        if let Item::Issue { queue, .. } = item {
            issued[usize::from(queue.0)] = true;
        }
    });
    let queues = (0..program.queues).map(Queue);
    queues
        .filter(|&queue| issued[usize::from(queue.0)] && points(program, queue).len() <= most)
        .collect()
}

fn nothing_dominates(program: &Program, options: &Options, most: usize) -> Result<(), TestCaseError> {
    if branches(program).len() > 3 {
        return Ok(());
    }
    let lowered = lower(program, options);
    for queue in small_queues(program, most) {
        let shown = || text(&lowered.original.0, &lowered.original.1);
        prop_assert!(
            is_placement(program, &lowered, queue, options),
            "no placement: {options:?}\n{}",
            shown()
        );
        let better = dominating(program, &lowered, queue, options);
        prop_assert!(
            better.is_none(),
            "queue {} {options:?}\n{}\nis dominated by\n{}",
            queue.0,
            shown(),
            better.map_or_else(String::new, |b| text(&b.original.0, &b.original.1))
        );
    }
    Ok(())
}

/// No single commit added, removed or moved dominates what is chosen for larger programs.
fn no_single_change_dominates(program: &Program, options: &Options) -> Result<(), TestCaseError> {
    let lowered = lower(program, options);
    for queue in (0..program.queues).map(Queue) {
        let size = points(program, queue).len();
        if size <= MOST || size > 30 || lowered.spent {
            continue;
        }
        let better = dominating_by_one(program, &lowered, queue, options);
        prop_assert!(
            better.is_none(),
            "queue {} {options:?}\n{}\nis dominated by\n{}",
            queue.0,
            text(&lowered.original.0, &lowered.original.1),
            better.map_or_else(String::new, |b| text(&b.original.0, &b.original.1))
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn no_single_change_dominates_a_larger_placement(recipe in any_program(Style::Mixed), options in options()) {
        no_single_change_dominates(&recipe.program(), &options)?;
    }
}

proptest! {
    #![proptest_config(config(4000))]

    #[test]
    fn nothing_dominates_a_placement(recipe in any_program(Style::Tokens), options in options()) {
        nothing_dominates(&recipe.program(), &options, MOST)?;
    }

    #[test]
    fn nothing_dominates_among_counted_operations(recipe in any_program(Style::Mixed), options in options()) {
        nothing_dominates(&recipe.program(), &options, MOST)?;
    }

    #[test]
    fn nothing_dominates_for_two_completions(recipe in any_program(Style::Stores), options in options()) {
        nothing_dominates(&recipe.program(), &options, MOST)?;
    }
}

/// How a tile is staged.
#[derive(Clone, Copy, Debug)]
enum Staging {
    /// A loop of unknown trip count.
    Loop,
    /// A loop in a loop, both of unknown trip count.
    Nest,
    /// A loop of constant trip count.
    Constant,
    /// A loop of unknown trip count under a condition.
    GuardedLoop,
    /// A loop of constant trip count under a condition.
    GuardedConstant,
    /// A loop in a loop under a condition, both of unknown trip count.
    GuardedNest,
    /// A copy under a condition, in a loop.
    LoopOfGuarded,
}

const STAGINGS: [Staging; 7] = [
    Staging::Loop,
    Staging::Nest,
    Staging::Constant,
    Staging::GuardedLoop,
    Staging::GuardedConstant,
    Staging::GuardedNest,
    Staging::LoopOfGuarded,
];

/// Stages one tile; the token is that of all its copies.
fn stage(b: &mut Build, how: Staging) -> Token {
    let ready = b.ready();
    let more = |b: &mut Build, tile: Token| {
        let copy = b.copy();
        b.join(&[tile, copy])
    };
    let plain = |b: &mut Build| b.for_([ready], |b, [tile]| [more(b, tile)])[0];
    let nest = |b: &mut Build| b.for_([ready], |b, outer| b.for_(outer, |b, [tile]| [more(b, tile)]))[0];
    let constant = |b: &mut Build| b.repeat(5, [ready], |b, [tile]| [more(b, tile)])[0];
    match how {
        Staging::Loop => plain(b),
        Staging::Constant => constant(b),
        Staging::Nest => nest(b),
        Staging::GuardedLoop => b.if_else(|b| [plain(b)], |_| [ready])[0],
        Staging::GuardedConstant => b.if_else(|b| [constant(b)], |_| [ready])[0],
        Staging::GuardedNest => b.if_else(|b| [nest(b)], |_| [ready])[0],
        Staging::LoopOfGuarded => b.for_([ready], |b, [tile]| b.if_else(|b| [more(b, tile)], |_| [tile]))[0],
    }
}

/// Awaits tiles, each on its own or all together.
fn consume(b: &mut Build, tiles: &[Token], together: bool) {
    if together {
        b.await_all(tiles);
    } else {
        for tile in tiles {
            b.await_all(&[*tile]);
        }
    }
}

/// Stages the tiles of some operands, then awaits them.
fn straight(how: Staging, operands: usize, together: bool) -> Program {
    let mut b = Build::new();
    let tiles: Vec<Token> = (0..operands).map(|_| stage(&mut b, how)).collect();
    consume(&mut b, &tiles, together);
    b.finish()
}

/// Stages tiles `depth` iterations ahead of where they are awaited.
fn rotation(how: Staging, operands: usize, depth: usize, together: bool) -> Program {
    let mut b = Build::new();
    let inits: Vec<Token> = (0..operands * depth).map(|_| stage(&mut b, how)).collect();
    let left = b.for_n(inits, |b, carried| {
        let next: Vec<Token> = (0..operands).map(|_| stage(b, how)).collect();
        consume(b, &carried[..operands], together);
        carried[operands..].iter().copied().chain(next).collect()
    });
    for tiles in left.chunks(operands) {
        consume(&mut b, tiles, together);
    }
    b.finish()
}

/// Nothing dominates a placement whose waits complete nothing but what is awaited.
fn waits_for_nothing_else(program: &Program, what: &str) {
    let program = oracle::blocks::in_text_order(program.clone());
    for exhaustive_points in [0, MOST] {
        let options = Options {
            exhaustive_points,
            unroll_limit: 0,
            ..Options::default()
        };
        let lowered = lower(&program, &options);
        let shown = text(&program, &lowered.emitted);
        assert!(unsound(&program, &lowered.emitted).is_empty(), "{what}\n{shown}");
        let wasteful = wasteful(&Code::new(&program), Q, &lowered.emitted[0]);
        assert!(wasteful.is_empty(), "{what}: {wasteful:?}\n{shown}");
    }
}

/// Calls `check` with programs that stage `operands` tiles in loops, and what they are.
fn staging_loops(operands: usize, depths: std::ops::Range<usize>, check: &mut dyn FnMut(&Program, &str)) {
    for how in STAGINGS {
        for together in [false, true] {
            let what = format!("{how:?}, {operands} operands, together: {together}");
            check(&straight(how, operands, together), &what);
            for depth in depths.clone() {
                let what = format!("{what}, rotation of {depth}");
                check(&rotation(how, operands, depth, together), &what);
            }
        }
    }
}

#[test]
fn staging_loops_wait_for_nothing_else() {
    for operands in 1..4 {
        staging_loops(operands, 1..4, &mut waits_for_nothing_else);
    }
}

/// However large the program is: so none of it is left to the search that looks at all placements.
#[test]
fn staging_loops_need_no_exhaustive_search() {
    // `ASYNC_OPT_POINTS=15` takes minutes and covers two operands.
    let most = std::env::var("ASYNC_OPT_POINTS").map_or(12, |points| points.parse().expect("a number"));
    for operands in 1..3 {
        staging_loops(operands, 1..3, &mut |program, what| {
            let program = oracle::blocks::in_text_order(program.clone());
            for (form_groups, balance) in [(true, true), (true, false), (false, true), (false, false)] {
                let options = Options {
                    form_groups,
                    balance,
                    unroll_limit: 0,
                    exhaustive_points: 0,
                    ..Options::default()
                };
                let result = nothing_dominates(&program, &options, most);
                assert!(result.is_ok(), "{what}: {result:?}");
            }
        });
    }
}
