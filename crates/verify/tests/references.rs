//! The checker of references: of random code it refuses what an execution refutes, it accepts what `tokenflow` places, and refuses that with
//! any one action dropped, doubled or turned round.
//!
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` make it more cases, or others.
#![allow(missing_docs)]

use async_verify::references::code::{Block, Code, Edge, Instr, Token};
use async_verify::references::{Fault, check};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet};
use tokenflow::reference_counting as counting;

fn config(cases: u32) -> ProptestConfig {
    let from_env = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(cases, |_| from_env.cases),
        rng_seed: match from_env.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            seed @ RngSeed::Fixed(_) => seed,
        },
        failure_persistence: None,
        ..from_env
    }
}

const A: Token = Token(0);
const B: Token = Token(1);

fn one_block(instrs: &[Instr]) -> Code {
    Code {
        blocks: vec![Block {
            instrs: instrs.to_vec(),
            returns: true,
            ..Block::default()
        }],
        tokens: 3,
        borrowed: vec![Token(2)],
    }
}

fn fault(instrs: &[Instr]) -> Option<(usize, Fault)> {
    let refusal = check(&one_block(instrs)).err()?;
    Some((refusal.instr, refusal.fault))
}

#[test]
fn a_token_is_released_once() {
    let define = Instr::Define(A);
    let release = Instr::Release(A);
    assert_eq!(fault(&[define.clone(), release.clone()]), None);
    assert_eq!(fault(std::slice::from_ref(&define)), Some((1, Fault::Leaked)));
    let twice = [define.clone(), release.clone(), release.clone()];
    assert_eq!(fault(&twice), Some((2, Fault::Gone)));
    let used_later = [define, release, Instr::Use(A)];
    assert_eq!(fault(&used_later), Some((2, Fault::Gone)));
}

#[test]
fn what_is_borrowed_is_used_but_not_released() {
    let borrowed = Token(2);
    assert_eq!(fault(&[Instr::Use(borrowed)]), None);
    assert_eq!(fault(&[Instr::Release(borrowed)]), Some((0, Fault::Gone)));
    assert_eq!(fault(&[Instr::Retain(borrowed), Instr::Release(borrowed)]), None);
}

#[test]
fn a_selected_token_is_retained_while_those_that_it_may_be_are_held() {
    let select = || [Instr::Define(A), Instr::Select(B, vec![A, Token(2)])];
    let with = |rest: &[Instr]| fault(&[&select()[..], rest].concat());
    let (retain, release) = (Instr::Retain(B), Instr::Release(B));
    let good = [retain.clone(), Instr::Release(A), Instr::Use(B), release.clone()];
    assert_eq!(with(&good), None);
    assert_eq!(
        with(&[Instr::Release(A), retain, release]),
        Some((3, Fault::Gone))
    );
    assert_eq!(with(&[Instr::Use(B), Instr::Release(A)]), Some((2, Fault::Gone)));
}

#[test]
fn an_edge_hands_over_a_reference() {
    let code = |released: Token| Code {
        blocks: vec![
            Block {
                instrs: vec![Instr::Define(A)],
                edges: vec![
                    Edge {
                        to: 1,
                        args: vec![Some(A)]
                    };
                    2
                ],
                ..Block::default()
            },
            Block {
                params: vec![B],
                instrs: vec![Instr::Release(released)],
                returns: true,
                ..Block::default()
            },
        ],
        tokens: 2,
        borrowed: Vec::new(),
    };
    assert_eq!(check(&code(B)), Ok(()));
    assert_eq!(check(&code(A)).map_err(|refusal| refusal.fault), Err(Fault::Gone));
}

#[test]
fn a_parameter_that_gets_a_null_pointer_holds_a_reference_to_nothing() {
    let code = |edges: usize, released: &[Token]| Code {
        blocks: vec![
            Block {
                instrs: vec![Instr::Define(A)],
                edges: vec![
                    Edge {
                        to: 1,
                        args: vec![None, Some(A)],
                    };
                    edges
                ],
                ..Block::default()
            },
            Block {
                params: vec![B, Token(2)],
                instrs: released.iter().copied().map(Instr::Release).collect(),
                returns: true,
                ..Block::default()
            },
        ],
        tokens: 3,
        borrowed: Vec::new(),
    };
    for edges in [1, 2] {
        assert_eq!(check(&code(edges, &[B, Token(2)])), Ok(()));
        for released in [B, Token(2)] {
            let fault = check(&code(edges, &[released])).map_err(|refusal| refusal.fault);
            assert_eq!(fault, Err(Fault::Leaked));
        }
    }
}

/// A reference is of an object, and variables name objects.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Execution {
    objects: BTreeMap<Token, usize>,
    counts: Vec<u32>,
}

impl Execution {
    const MOST: u32 = 4;

    fn define(&mut self, token: Token) {
        let object = self
            .counts
            .iter()
            .enumerate()
            .position(|(i, count)| *count == 0 && self.objects.values().all(|object| *object != i));
        let object = object.unwrap_or_else(|| {
            self.counts.push(0);
            self.counts.len() - 1
        });
        self.objects.insert(token, object);
        self.counts[object] = 1;
    }

    /// Returns false if that goes wrong.
    fn run(&mut self, instr: &Instr) -> bool {
        let (Instr::Define(token)
        | Instr::Select(token, _)
        | Instr::Use(token)
        | Instr::Retain(token)
        | Instr::Release(token)) = instr;
        if let Instr::Define(token) = instr {
            self.define(*token);
            return true;
        }
        let count = self.objects.get(token).map(|object| &mut self.counts[*object]);
        let Some(count) = count.filter(|count| **count > 0) else {
            return false;
        };
        match instr {
            Instr::Retain(_) => *count += 1,
            Instr::Release(_) => *count -= 1,
            _ => {}
        }
        *count <= Self::MOST
    }
}

/// Executes code: all states that a path reaches, block by block. The caller's references are never dropped.
fn is_refuted(code: &Code) -> bool {
    let mut seen = BTreeSet::new();
    let mut start = Execution::default();
    code.borrowed.iter().for_each(|token| start.define(*token));
    let borrowed = start.counts.len();
    let mut work = vec![(0, start)];
    while let Some((b, mut execution)) = work.pop() {
        if !seen.insert((b, execution.clone())) {
            continue;
        }
        let block = &code.blocks[b];
        if !block.instrs.iter().all(|instr| execution.run(instr)) {
            return true;
        }
        let callers = execution.counts.iter().take(borrowed);
        if callers.clone().any(|count| *count == 0) {
            return true;
        }
        let own = execution.counts.iter().skip(borrowed);
        let is_exact = callers.clone().all(|count| *count == 1) && own.clone().all(|count| *count == 0);
        if block.returns && !is_exact {
            return true;
        }
        for edge in &block.edges {
            let mut after = execution.clone();
            for (param, arg) in code.blocks[edge.to].params.iter().zip(&edge.args) {
                let arg = arg.expect("nothing but tokens is passed");
                after.objects.insert(*param, execution.objects[&arg]);
            }
            work.push((edge.to, after));
        }
    }
    false
}

/// A function of up to five blocks, each of which leads to the last one, which returns. Uses are of any token.
fn random_function() -> impl Strategy<Value = counting::Function> {
    let op = (any::<u8>(), prop::collection::vec(0_usize..8, 0..3));
    let block = (
        prop::collection::vec(op, 1..4),
        0_usize..2,
        prop::collection::vec(1_usize..5, 0..2),
        prop::collection::vec(0_usize..8, 0..2),
    );
    (prop::collection::vec(block, 1..6), any::<bool>()).prop_map(|(drawn, borrows)| {
        let mut function = counting::Function::default();
        let n = drawn.len();
        let mut defined: Vec<counting::Var> = Vec::new();
        let mut var = || {
            function.vars += 1;
            counting::Var(function.vars - 1)
        };
        // What the entry defines dominates all uses.
        let first: Vec<counting::Var> = (0..3).map(|_| var()).collect();
        let args: Vec<Vec<counting::Var>> = drawn
            .iter()
            .map(|block| (0..block.1).map(|_| var()).collect())
            .collect();
        defined.extend(&first);
        for (b, (ops, _, edges, passes)) in drawn.into_iter().enumerate() {
            let mut here = defined.clone();
            here.extend(&args[b]);
            let pick = |i: usize| here[i % here.len()];
            let mut block = counting::Block {
                args: args[b].clone(),
                ..counting::Block::default()
            };
            if b == 0 {
                block.ops.push(counting::Op {
                    defines: first.clone(),
                    ..counting::Op::default()
                });
            }
            for (kind, uses) in ops {
                let uses: Vec<counting::Var> = uses.into_iter().map(pick).collect();
                let (borrows, consumes) = if kind % 2 == 0 {
                    (uses, vec![])
                } else {
                    (vec![], uses)
                };
                block.ops.push(counting::Op {
                    borrows,
                    consumes,
                    defines: vec![],
                });
            }
            block.ops.push(counting::Op::default());
            let targets = edges
                .into_iter()
                .map(|to| 1 + to % (n - 1).max(1))
                .filter(|_| b + 1 < n);
            let targets: Vec<usize> = (b + 1 < n).then_some(b + 1).into_iter().chain(targets).collect();
            for to in targets {
                let passes = passes
                    .iter()
                    .copied()
                    .chain(0..)
                    .map(pick)
                    .take(args[to].len())
                    .collect();
                block.edges.push(counting::Edge { to, passes });
            }
            function.blocks.push(block);
        }
        if borrows {
            function.borrowed.extend(args[0].iter().copied());
        }
        function
    })
}

/// `function` with `actions`.
fn code(
    function: &counting::Function,
    actions: &[(counting::Place, counting::Action, counting::Var)],
) -> Code {
    let token = |var: &counting::Var| Token(u32::try_from(var.0).expect("few"));
    let tokens = |vars: &[counting::Var]| vars.iter().map(token).collect::<Vec<_>>();
    let mut by_place: BTreeMap<counting::Place, Vec<Instr>> = BTreeMap::new();
    for (place, action, var) in actions {
        by_place.entry(*place).or_default().push(match action {
            counting::Action::Retain => Instr::Retain(token(var)),
            counting::Action::Release => Instr::Release(token(var)),
        });
    }
    let mut at = |place| by_place.remove(&place).unwrap_or_default();
    let mut code = Code {
        tokens: u32::try_from(function.vars).expect("few"),
        borrowed: function.borrowed.iter().map(token).collect(),
        ..Code::default()
    };
    let mut between = Vec::new();
    for (b, block) in function.blocks.iter().enumerate() {
        let args = tokens(&block.args);
        let is_borrowed = |arg: &&Token| code.borrowed.contains(arg);
        let mut instrs: Vec<Instr> = Vec::new();
        if b == 0 {
            instrs.extend(
                args.iter()
                    .filter(|arg| !is_borrowed(arg))
                    .copied()
                    .map(Instr::Define),
            );
        }
        instrs.extend(at(counting::Place::Start(b)));
        for (i, op) in block.ops.iter().enumerate() {
            instrs.extend(at(counting::Place::Before(b, i)));
            instrs.extend(tokens(&op.borrows).into_iter().map(Instr::Use));
            instrs.extend(tokens(&op.consumes).into_iter().map(Instr::Release));
            instrs.extend(tokens(&op.defines).into_iter().map(Instr::Define));
            instrs.extend(at(counting::Place::After(b, i)));
        }
        let mut edges = Vec::new();
        for (e, edge) in block.edges.iter().enumerate() {
            let direct = Edge {
                to: edge.to,
                args: edge.passes.iter().map(token).map(Some).collect(),
            };
            let split = at(counting::Place::Edge(b, e));
            if split.is_empty() {
                edges.push(direct);
            } else {
                edges.push(Edge {
                    to: function.blocks.len() + between.len(),
                    args: Vec::new(),
                });
                between.push(Block {
                    instrs: split,
                    edges: vec![direct],
                    ..Block::default()
                });
            }
        }
        code.blocks.push(Block {
            params: if b == 0 { Vec::new() } else { args },
            instrs,
            returns: edges.is_empty(),
            edges,
        });
    }
    code.blocks.extend(between);
    code
}

/// `code` with one change: an action dropped, doubled, or turned round.
fn spoiled(code: &Code) -> Vec<Code> {
    let mut all = Vec::new();
    for (b, block) in code.blocks.iter().enumerate() {
        for (i, instr) in block.instrs.iter().enumerate() {
            let other = match instr {
                Instr::Retain(token) => Instr::Release(*token),
                Instr::Release(token) => Instr::Retain(*token),
                _ => continue,
            };
            // Dropped, doubled, turned round.
            for instead in [vec![], vec![instr.clone(); 2], vec![other]] {
                let mut spoiled = code.clone();
                spoiled.blocks[b].instrs.splice(i..=i, instead);
                all.push(spoiled);
            }
        }
    }
    all
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn what_is_placed_is_accepted_and_any_change_of_it_refused(function in random_function()) {
        let good = code(&function, &counting::place(&function));
        prop_assert_eq!(check(&good), Ok(()));
        prop_assert!(!is_refuted(&good));
        for bad in spoiled(&good) {
            prop_assert!(check(&bad).is_err(), "{:?}", bad);
            prop_assert!(is_refuted(&bad), "{:?}", bad);
        }
    }

    #[test]
    fn what_an_execution_refutes_is_refused(function in random_function(), drop in prop::collection::vec(any::<bool>(), 40)) {
        let mut actions = counting::place(&function);
        let mut drop = drop.into_iter().cycle();
        // Mostly wrong, but not always.
        if drop.next() == Some(true) {
            actions.retain(|_| drop.next() == Some(false));
        }
        let code = code(&function, &actions);
        let is_refused = check(&code).is_err();
        let is_refuted = is_refuted(&code);
        prop_assert!(is_refused || !is_refuted, "{:?}", code);
        // What has been handed over at a branch has another name from then on, for the checker.
        let is_handed_over = code.blocks.iter().any(|block| !block.params.is_empty());
        prop_assert!(is_handed_over || is_refused == is_refuted, "{:?}", code);
    }
}
