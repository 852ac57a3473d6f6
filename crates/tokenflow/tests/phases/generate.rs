//! Generates random programs.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::fmt::Write;
use tokenflow::Token;
use tokenflow::phases::{
    AccessKind, AwaitId, Block, BlockId, Buffer, Edge, Inst, Load, LoadId, Plan, RegionOp, RegionOpId, Tree,
    Trips, plan,
};

/// Case counts are fixed, and programs the same in every run, unless the environment says otherwise.
pub fn config(cases: u32) -> ProptestConfig {
    let from_env = ProptestConfig::default();
    ProptestConfig {
        cases: match std::env::var_os("PROPTEST_CASES") {
            Some(_) => from_env.cases,
            None => cases,
        },
        rng_seed: match from_env.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            seed @ RngSeed::Fixed(_) => seed,
        },
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..from_env
    }
}

/// A program with its plan.
#[derive(Clone)]
pub struct Planned {
    pub tree: Tree,
    pub plan: Plan,
}

impl std::fmt::Debug for Planned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text(&self.tree, &self.plan))
    }
}

/// What a program is made from. Shrinking takes choices away, or makes them simpler.
///
/// The plan is made by whoever asks for it, inside of the property, so that a panic of the planner is shrunk like any failure.
#[derive(Clone)]
pub struct Recipe {
    choices: Vec<u64>,
    roles: bool,
}

impl Recipe {
    fn tree(&self) -> Tree {
        let values = self.choices.clone().into_iter();
        generate(&mut Choices { values }, self.roles)
    }

    /// The program, with its plan; loads that no ring can follow are awaited at once.
    pub fn planned(&self) -> Planned {
        let mut tree = self.tree();
        loop {
            let plan = plan(&tree, false);
            if plan.unallocated.is_empty() {
                return Planned { tree, plan };
            }
            await_at_once(&mut tree, &plan.unallocated);
        }
    }
}

impl std::fmt::Debug for Recipe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match std::panic::catch_unwind(|| self.planned()) {
            Ok(planned) => planned.fmt(f),
            Err(_) => f.write_str(&tree_text(&self.tree())),
        }
    }
}

/// Any program.
pub fn any_program() -> impl Strategy<Value = Recipe> {
    prop::collection::vec(any::<u64>(), 0..=CHOICES).prop_map(|choices| Recipe {
        choices,
        roles: false,
    })
}

/// Any program of threads with different roles.
pub fn any_program_with_roles() -> impl Strategy<Value = Recipe> {
    prop::collection::vec(any::<u64>(), 0..=CHOICES).prop_map(|choices| Recipe { choices, roles: true })
}

/// More choices than most programs take.
const CHOICES: usize = 400;

/// The choices that make a program; where they run out, the simplest one is taken.
pub struct Choices {
    values: std::vec::IntoIter<u64>,
}

impl Choices {
    /// A number less than `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.values.next().unwrap_or(0) % n
    }

    /// True `a` times out of `b`.
    pub fn chance(&mut self, a: u64, b: u64) -> bool {
        self.below(b) < a
    }
}

/// Makes a program.
fn generate(choices: &mut Choices, with_roles: bool) -> Tree {
    let roles = if with_roles {
        2 + choices.below(2) as u32
    } else {
        0
    };
    let mut new = Generator {
        tree: Tree {
            buffers: 3,
            roles,
            issuer: if with_roles {
                choices.below(u64::from(roles)) as u32
            } else {
                0
            },
            ..Tree::default()
        },
        choices,
        budget: 28,
    };
    let body = new.new_block(None, Vec::new());
    let mut scope = Vec::new();
    if with_roles {
        new.fill_with_roles(body, &mut scope, 0);
        return new.tree;
    }
    new.fill(body, &mut scope, 0);
    // Most tokens are awaited in the end.
    if !scope.is_empty() && new.choices.chance(4, 5) {
        new.await_tokens(body, scope);
    }
    for op in &mut new.tree.region_ops {
        op.divergent = new.choices.chance(1, 4);
    }
    new.tree
}

pub struct Generator<'r> {
    pub tree: Tree,
    pub choices: &'r mut Choices,
    pub budget: u32,
}

impl Generator<'_> {
    pub fn new_block(&mut self, parent_op: Option<RegionOpId>, params: Vec<Token>) -> BlockId {
        self.tree.blocks.push(Block {
            params,
            insts: Vec::new(),
            parent_op,
        })
    }

    pub fn push(&mut self, block: BlockId, inst: Inst) {
        self.tree.blocks[block].insts.push(inst);
    }

    fn tokens(&mut self, n: usize) -> Vec<Token> {
        (0..n).map(|_| self.tree.token()).collect()
    }

    pub fn pick(&mut self, block: BlockId, scope: &[Token]) -> Token {
        if scope.is_empty() || self.choices.chance(1, 12) {
            let token = self.tree.token();
            self.push(
                block,
                Inst::Join {
                    token,
                    of: Vec::new(),
                },
            );
            return token;
        }
        // Mostly recent ones.
        let back = self.choices.below(scope.len().min(4) as u64) as usize;
        scope[scope.len() - 1 - back]
    }

    pub fn await_tokens(&mut self, block: BlockId, tokens: Vec<Token>) {
        let id = AwaitId(self.tree.awaits);
        self.tree.awaits += 1;
        self.push(block, Inst::Await { id, tokens });
    }

    /// Fills a block; `scope` has the tokens that may be used, and gets those of the block.
    fn fill(&mut self, block: BlockId, scope: &mut Vec<Token>, depth: u32) {
        let insts = 2 + self.choices.below(5);
        for _ in 0..insts {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            match self.choices.below(if depth < 3 { 16 } else { 11 }) {
                0..=3 => self.load(block, scope),
                4..=6 => {
                    let n = 1 + self.choices.below(3);
                    let tokens = (0..n).map(|_| self.pick(block, scope)).collect();
                    self.await_tokens(block, tokens);
                }
                7 => {
                    let of = vec![self.pick(block, scope), self.pick(block, scope)];
                    let token = self.tree.token();
                    self.push(block, Inst::Join { token, of });
                    scope.push(token);
                }
                8 => self.push(block, Inst::Barrier),
                9 | 10 => {
                    let buffer = self.buffer();
                    let kind = [AccessKind::Read, AccessKind::Write][self.choices.below(2) as usize];
                    self.push(block, Inst::Access { buffer, kind });
                }
                11 | 12 => self.branch(block, scope, depth),
                13 => self.rotation(block, scope, depth),
                14 => self.counted(block, scope, depth),
                _ => self.looped(block, scope, depth),
            }
        }
    }

    pub fn buffer(&mut self) -> Buffer {
        match self.choices.below(10) {
            0 => Buffer::Any,
            n => Buffer::Known((n % 3) as usize),
        }
    }

    pub fn load(&mut self, block: BlockId, scope: &mut Vec<Token>) {
        let buffer = self.buffer();
        let load = self.tree.loads.push(Load {
            bytes: 16 * (1 + self.choices.below(8)),
            buffer,
        });
        let token = self.tree.token();
        self.push(block, Inst::Load { load, token });
        scope.push(token);
    }

    pub fn region_op(&mut self, parent: BlockId, trips: Trips, results: Vec<Token>) -> RegionOpId {
        self.tree.region_ops.push(RegionOp {
            parent,
            trips,
            results,
            ..RegionOp::default()
        })
    }

    pub fn edge(&mut self, op: RegionOpId, from: Option<usize>, to: Option<usize>, args: &[Token]) {
        let it = &self.tree.region_ops[op];
        let targets = match to {
            Some(to) => self.tree.blocks[it.blocks[to]].params.clone(),
            None => it.results.clone(),
        };
        let bindings = args.iter().copied().zip(targets).collect();
        self.tree.region_ops[op].edges.push(Edge { from, to, bindings });
    }

    fn branch(&mut self, block: BlockId, scope: &mut Vec<Token>, depth: u32) {
        let n = self.choices.below(3) as usize;
        let results = self.tokens(n);
        let op = self.region_op(block, Trips::FromEdges, results.clone());
        for place in 0..2 {
            let arm = self.new_block(Some(op), Vec::new());
            self.tree.region_ops[op].blocks.push(arm);
            let mut inner = scope.clone();
            if place == 0 || self.choices.chance(1, 2) {
                self.fill(arm, &mut inner, depth + 1);
            }
            let args: Vec<Token> = (0..n).map(|_| self.pick(arm, &inner)).collect();
            self.edge(op, None, Some(place), &[]);
            self.edge(op, Some(place), None, &args);
        }
        self.push(block, Inst::RegionOp(op));
        scope.extend(results);
    }

    fn trips(&mut self) -> Trips {
        if self.choices.chance(1, 3) {
            Trips::Constant(1 + self.choices.below(4))
        } else {
            Trips::Counted
        }
    }

    /// A loop that carries tokens around at random.
    fn counted(&mut self, block: BlockId, scope: &mut Vec<Token>, depth: u32) {
        let n = self.choices.below(3) as usize;
        let inits: Vec<Token> = (0..n).map(|_| self.pick(block, scope)).collect();
        self.for_loop(block, scope, &inits, |new, body, inner| {
            new.fill(body, inner, depth + 1);
            (0..n).map(|_| new.pick(body, inner)).collect()
        });
    }

    /// A pipeline: the oldest token is awaited, and a new one joins the others.
    fn rotation(&mut self, block: BlockId, scope: &mut Vec<Token>, depth: u32) {
        let n = 1 + self.choices.below(3) as usize;
        for _ in 0..n {
            self.load(block, scope);
        }
        let inits: Vec<Token> = scope[scope.len() - n..].to_vec();
        self.for_loop(block, scope, &inits, |new, body, inner| {
            let params = new.tree.blocks[body].params.clone();
            let early = new.choices.chance(1, 2);
            if early {
                new.await_tokens(body, vec![params[0]]);
            }
            if new.choices.chance(1, 4) {
                new.fill(body, inner, depth + 1);
            }
            new.load(body, inner);
            let token = *inner.last().expect("a load has a token");
            if !early {
                new.await_tokens(body, vec![params[0]]);
            }
            if new.choices.chance(1, 2) {
                new.push(body, Inst::Barrier);
            }
            params[1..].iter().copied().chain([token]).collect()
        });
    }

    pub fn for_loop(
        &mut self,
        block: BlockId,
        scope: &mut Vec<Token>,
        inits: &[Token],
        fill: impl FnOnce(&mut Self, BlockId, &mut Vec<Token>) -> Vec<Token>,
    ) {
        let trips = self.trips();
        let results = self.tokens(inits.len());
        let params = self.tokens(inits.len());
        let op = self.region_op(block, trips, results.clone());
        let body = self.new_block(Some(op), params.clone());
        self.tree.region_ops[op].blocks.push(body);
        let mut inner = scope.clone();
        inner.extend(&params);
        let args = fill(self, body, &mut inner);
        self.edge(op, None, Some(0), inits);
        if trips == Trips::Counted {
            self.edge(op, None, None, inits);
        }
        if trips != Trips::Constant(1) {
            self.edge(op, Some(0), Some(0), &args);
        }
        self.edge(op, Some(0), None, &args);
        self.push(block, Inst::RegionOp(op));
        scope.extend(results);
    }

    /// A loop with a block before its condition and one after it.
    fn looped(&mut self, block: BlockId, scope: &mut Vec<Token>, depth: u32) {
        let n = self.choices.below(3) as usize;
        let inits: Vec<Token> = (0..n).map(|_| self.pick(block, scope)).collect();
        let results = self.tokens(n);
        let op = self.region_op(block, Trips::FromEdges, results.clone());
        let mut blocks = Vec::new();
        let mut handed = Vec::new();
        for place in 0..2 {
            let params = self.tokens(n);
            let inside = self.new_block(Some(op), params.clone());
            self.tree.region_ops[op].blocks.push(inside);
            let mut inner = scope.clone();
            inner.extend(params);
            if place == 1 || self.choices.chance(1, 2) {
                self.fill(inside, &mut inner, depth + 1);
            }
            handed.push((0..n).map(|_| self.pick(inside, &inner)).collect::<Vec<Token>>());
            blocks.push(inside);
        }
        self.edge(op, None, Some(0), &inits);
        self.edge(op, Some(0), Some(1), &handed[0]);
        self.edge(op, Some(0), None, &handed[0]);
        self.edge(op, Some(1), Some(0), &handed[1]);
        self.push(block, Inst::RegionOp(op));
        scope.extend(results);
    }
}

/// Awaits loads right after where they are issued; their tokens are complete for everything else.
fn await_at_once(tree: &mut Tree, loads: &[LoadId]) {
    for block in tree.blocks.ids() {
        let mut at = 0;
        while at < tree.blocks[block].insts.len() {
            if let Inst::Load { load, token } = tree.blocks[block].insts[at].clone()
                && loads.contains(&load)
            {
                let own = tree.token();
                let id = AwaitId(tree.awaits);
                tree.awaits += 1;
                let insts = &mut tree.blocks[block].insts;
                insts[at] = Inst::Load { load, token: own };
                insts.insert(
                    at + 1,
                    Inst::Await {
                        id,
                        tokens: vec![own],
                    },
                );
                insts.insert(
                    at + 2,
                    Inst::Join {
                        token,
                        of: Vec::new(),
                    },
                );
                at += 2;
            }
            at += 1;
        }
    }
}

/// A program in words, with what was planned.
fn text(tree: &Tree, plan: &Plan) -> String {
    format!("{}{plan:#?}\n", tree_text(tree))
}

fn tree_text(tree: &Tree) -> String {
    let mut out = String::new();
    block_text(tree, BlockId(0), 0, &mut out);
    out
}

fn block_text(tree: &Tree, block: BlockId, depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    let _ = writeln!(out, "{pad}block {} {:?}", block.0, tree.blocks[block].params);
    for (i, inst) in tree.blocks[block].insts.iter().enumerate() {
        let _ = writeln!(out, "{pad}{i}: {inst:?}");
        if let Inst::RegionOp(op) = inst {
            let it = &tree.region_ops[*op];
            let _ = writeln!(out, "{pad}  {:?} results {:?}", it.trips, it.results);
            it.edges.iter().for_each(|edge| {
                let _ = writeln!(out, "{pad}  {edge:?}");
            });
            it.blocks
                .iter()
                .for_each(|&inner| block_text(tree, inner, depth + 2, out));
        }
    }
}
