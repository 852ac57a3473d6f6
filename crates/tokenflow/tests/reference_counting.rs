//! Reference counts of random functions, executed on random paths.
//!
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` make it more cases, or others.
#![allow(missing_docs)]

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet};
use tokenflow::reference_counting::{Action, Block, Edge, Function, Op, Place, Var, place};

fn config() -> ProptestConfig {
    let from_env = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(2000, |_| from_env.cases),
        rng_seed: match from_env.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            seed @ RngSeed::Fixed(_) => seed,
        },
        failure_persistence: None,
        ..from_env
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn pick(&mut self, from: &[Var], most: usize) -> Vec<Var> {
        let n = if from.is_empty() { 0 } else { self.below(most + 1) };
        (0..n).map(|_| from[self.below(from.len())]).collect()
    }
}

/// A function of up to six blocks in which each use is dominated by its definition.
fn random_function(seed: u64) -> Function {
    let mut random = Random(seed);
    let mut function = Function::default();
    let blocks = 1 + random.below(6);
    let mut var = || {
        function.vars += 1;
        Var(function.vars - 1)
    };
    for index in 0..blocks {
        let mut block = Block::default();
        let is_entry = index == 0;
        block.args = (0..random.below(3)).map(|_| var()).collect();
        for _ in 0..=random.below(4) {
            let defines = (0..random.below(2)).map(|_| var()).collect();
            block.ops.push(Op {
                defines,
                ..Op::default()
            });
        }
        block.ops.push(Op::default());
        // Not back to the entry, which nothing branches to.
        if blocks > 1 {
            for _ in 0..random.below(3) {
                let to = 1 + random.below(blocks - 1);
                block.edges.push(Edge { to, passes: vec![] });
            }
        }
        if is_entry {
            function.borrowed = block
                .args
                .iter()
                .copied()
                .filter(|_| random.below(2) == 0)
                .collect();
        }
        function.blocks.push(block);
    }
    let args: Vec<usize> = function.blocks.iter().map(|block| block.args.len()).collect();
    for index in 0..blocks {
        let mut available: Vec<Var> = Vec::new();
        for other in (0..blocks).filter(|&other| other != index && dominates(&function, other, index)) {
            let block = &function.blocks[other];
            available.extend(
                block
                    .args
                    .iter()
                    .chain(block.ops.iter().flat_map(|op| &op.defines)),
            );
        }
        let block = &mut function.blocks[index];
        available.extend(&block.args);
        for op in &mut block.ops {
            op.borrows = random.pick(&available, 2);
            op.consumes = random.pick(&available, 2);
            available.extend(&op.defines);
        }
        let end = block.ops.last_mut().expect("a terminator");
        end.borrows.clear();
        if !block.edges.is_empty() {
            end.consumes.clear();
        }
        for edge in &mut block.edges {
            if available.is_empty() && args[edge.to] > 0 {
                // Nothing to pass: a definition for it.
                let var = Var(function.vars);
                function.vars += 1;
                block.ops[0].defines.push(var);
                available.push(var);
            }
            edge.passes = (0..args[edge.to])
                .map(|_| available[random.below(available.len())])
                .collect();
        }
    }
    function
}

/// Returns true if each path from the entry to `block` goes through `other`. Nothing dominates what can't be reached.
fn dominates(function: &Function, other: usize, block: usize) -> bool {
    let reached = |without: Option<usize>| {
        let (mut seen, mut work) = (BTreeSet::new(), vec![0]);
        while let Some(block) = work.pop() {
            if Some(block) != without && seen.insert(block) {
                work.extend(function.blocks[block].edges.iter().map(|edge| edge.to));
            }
        }
        seen.contains(&block)
    };
    reached(None) && !reached(Some(other))
}

/// Returns true if a path from before operation `op` of `block` uses `var` as it is there.
fn is_live(function: &Function, var: Var, block: usize, op: usize) -> bool {
    let (mut seen, mut work) = (BTreeSet::new(), vec![(block, op)]);
    'paths: while let Some((index, start)) = work.pop() {
        if !seen.insert((index, start)) {
            continue;
        }
        let block = &function.blocks[index];
        for op in &block.ops[start..] {
            if op.borrows.contains(&var) || op.consumes.contains(&var) {
                return true;
            }
            if op.defines.contains(&var) {
                continue 'paths;
            }
        }
        for edge in &block.edges {
            if edge.passes.contains(&var) {
                return true;
            }
            if !function.blocks[edge.to].args.contains(&var) {
                work.push((edge.to, 0));
            }
        }
    }
    false
}

/// One execution, with the counts of objects that variables refer to.
struct Execution<'a> {
    function: &'a Function,
    actions: BTreeMap<Place, BTreeSet<(Action, Var, usize)>>,
    objects: BTreeMap<Var, usize>,
    counts: Vec<usize>,
    /// References that the caller holds.
    callers: Vec<usize>,
}

impl Execution<'_> {
    fn define(&mut self, var: Var) {
        self.objects.insert(var, self.counts.len());
        self.counts.push(1);
        self.callers
            .push(usize::from(self.function.borrowed.contains(&var)));
    }

    fn act(&mut self, place: Place) {
        for (action, var, _) in self.actions.get(&place).cloned().unwrap_or_default() {
            let count = &mut self.counts[self.objects[&var]];
            assert!(*count > 0, "{action:?} of {var:?} at {place:?}, which is gone");
            match action {
                Action::Retain => *count += 1,
                Action::Release => *count -= 1,
            }
        }
    }

    /// Each object has one reference for each variable that is still used, and those of the caller.
    fn check(&self, block: usize, op: usize) {
        let mut needed = self.callers.clone();
        for (&var, &object) in &self.objects {
            if !self.function.borrowed.contains(&var) && is_live(self.function, var, block, op) {
                needed[object] += 1;
            }
        }
        assert_eq!(self.counts, needed, "before operation {op} of block {block}");
    }

    fn run(&mut self, random: &mut Random) {
        let mut block = 0;
        for &arg in &self.function.blocks[0].args {
            self.define(arg);
        }
        for _ in 0..12 {
            let code = &self.function.blocks[block];
            self.act(Place::Start(block));
            for (number, op) in code.ops.iter().enumerate() {
                self.check(block, number);
                self.act(Place::Before(block, number));
                for var in op.borrows.iter().chain(&op.consumes) {
                    assert!(
                        self.counts[self.objects[var]] > 0,
                        "{var:?} is used when it is gone"
                    );
                }
                for var in &op.consumes {
                    let count = &mut self.counts[self.objects[var]];
                    assert!(*count > 0, "{var:?} is consumed when it is gone");
                    *count -= 1;
                }
                for &var in &op.defines {
                    self.define(var);
                }
                self.act(Place::After(block, number));
            }
            if code.edges.is_empty() {
                assert_eq!(self.counts, self.callers, "at the end");
                return;
            }
            let number = random.below(code.edges.len());
            self.act(Place::Edge(block, number));
            let edge = &code.edges[number];
            let passed: Vec<usize> = edge.passes.iter().map(|var| self.objects[var]).collect();
            block = edge.to;
            for (&arg, object) in self.function.blocks[block].args.iter().zip(passed) {
                self.objects.insert(arg, object);
            }
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn each_object_has_a_reference_for_each_variable_that_is_still_used(seed in any::<u64>()) {
        let function = random_function(seed);
        let mut actions: BTreeMap<Place, BTreeSet<(Action, Var, usize)>> = BTreeMap::new();
        for (number, (place, action, var)) in place(&function).into_iter().enumerate() {
            actions.entry(place).or_default().insert((action, var, number));
        }
        let mut random = Random(seed ^ 1);
        for _ in 0..8 {
            let mut execution = Execution {
                function: &function,
                actions: actions.clone(),
                objects: BTreeMap::new(),
                counts: Vec::new(),
                callers: Vec::new(),
            };
            execution.run(&mut random);
        }
    }

    /// A place on an edge is used only where there is no other.
    #[test]
    fn only_critical_edges_are_split(seed in any::<u64>()) {
        let function = random_function(seed);
        for (place, ..) in place(&function) {
            if let Place::Edge(block, number) = place {
                let edges = &function.blocks[block].edges;
                let to = edges[number].to;
                let incoming = function.blocks.iter().flat_map(|block| &block.edges).filter(|edge| edge.to == to);
                prop_assert!(edges.len() > 1 && incoming.count() > 1);
            }
        }
    }
}

/// `a` goes into a frame, and is used after it; `b` is used on one way only.
#[test]
fn what_is_moved_is_not_retained() {
    let (a, b) = (Var(0), Var(1));
    let define = Op {
        defines: vec![a, b],
        ..Op::default()
    };
    let store = Op {
        consumes: vec![a],
        ..Op::default()
    };
    let use_a = Op {
        borrows: vec![a],
        ..Op::default()
    };
    let return_b = Op {
        consumes: vec![b],
        ..Op::default()
    };
    let edge = |to| Edge { to, passes: vec![] };
    let function = Function {
        blocks: vec![
            Block {
                ops: vec![define, store, use_a, Op::default()],
                edges: vec![edge(1), edge(2)],
                ..Block::default()
            },
            Block {
                ops: vec![return_b],
                ..Block::default()
            },
            Block {
                ops: vec![Op::default()],
                ..Block::default()
            },
        ],
        vars: 2,
        ..Function::default()
    };
    let expected = [
        (Place::Start(2), Action::Release, b),
        (Place::Before(0, 1), Action::Retain, a),
        (Place::After(0, 2), Action::Release, a),
    ];
    let mut actions = place(&function);
    actions.sort_unstable();
    assert_eq!(actions, expected);
}
