//! Random programs.

use super::run::Rng;
use std::fmt::Write;
use tokenflow::Token;
use tokenflow::phases::{AccessKind, Block, Buffer, Edge, Load, Plan, Region, Step, Tree, Trips};

/// Makes a program.
pub fn generate(rng: &mut Rng) -> Tree {
    let mut new = Generator {
        tree: Tree {
            buffers: 3,
            ..Tree::default()
        },
        rng,
        budget: 28,
    };
    let body = new.new_block(None, Vec::new());
    let mut scope = Vec::new();
    new.fill(body, &mut scope, 0);
    // Most tokens are awaited in the end.
    if !scope.is_empty() && new.rng.chance(4, 5) {
        new.await_tokens(body, scope);
    }
    for region in &mut new.tree.regions {
        region.divergent = new.rng.chance(1, 4);
    }
    new.tree
}

struct Generator<'r> {
    tree: Tree,
    rng: &'r mut Rng,
    budget: u32,
}

impl Generator<'_> {
    fn new_block(&mut self, region: Option<usize>, params: Vec<Token>) -> usize {
        self.tree.blocks.push(Block {
            params,
            steps: Vec::new(),
            region,
        });
        self.tree.blocks.len() - 1
    }

    fn push(&mut self, block: usize, step: Step) {
        self.tree.blocks[block].steps.push(step);
    }

    fn tokens(&mut self, n: usize) -> Vec<Token> {
        (0..n).map(|_| self.tree.token()).collect()
    }

    fn pick(&mut self, block: usize, scope: &[Token]) -> Token {
        if scope.is_empty() || self.rng.chance(1, 12) {
            let token = self.tree.token();
            self.push(
                block,
                Step::Join {
                    token,
                    of: Vec::new(),
                },
            );
            return token;
        }
        // Mostly recent ones.
        let back = self.rng.below(scope.len().min(4) as u64) as usize;
        scope[scope.len() - 1 - back]
    }

    fn await_tokens(&mut self, block: usize, tokens: Vec<Token>) {
        let id = self.tree.awaits;
        self.tree.awaits += 1;
        self.push(block, Step::Await { id, tokens });
    }

    /// Fills a block; `scope` has the tokens that may be used, and gets those of the block.
    fn fill(&mut self, block: usize, scope: &mut Vec<Token>, depth: u32) {
        let steps = 2 + self.rng.below(5);
        for _ in 0..steps {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            match self.rng.below(if depth < 3 { 16 } else { 11 }) {
                0..=3 => self.load(block, scope),
                4..=6 => {
                    let n = 1 + self.rng.below(3);
                    let tokens = (0..n).map(|_| self.pick(block, scope)).collect();
                    self.await_tokens(block, tokens);
                }
                7 => {
                    let of = vec![self.pick(block, scope), self.pick(block, scope)];
                    let token = self.tree.token();
                    self.push(block, Step::Join { token, of });
                    scope.push(token);
                }
                8 => self.push(block, Step::Barrier),
                9 | 10 => {
                    let buffer = self.buffer();
                    let kind = [AccessKind::Read, AccessKind::Write][self.rng.below(2) as usize];
                    self.push(block, Step::Access { buffer, kind });
                }
                11 | 12 => self.branch(block, scope, depth),
                13 => self.rotation(block, scope, depth),
                14 => self.counted(block, scope, depth),
                _ => self.looped(block, scope, depth),
            }
        }
    }

    fn buffer(&mut self) -> Buffer {
        match self.rng.below(10) {
            0 => Buffer::Any,
            n => Buffer::Known((n % 3) as usize),
        }
    }

    fn load(&mut self, block: usize, scope: &mut Vec<Token>) {
        let buffer = self.buffer();
        let load = self.tree.loads.len();
        self.tree.loads.push(Load {
            bytes: 16 * (1 + self.rng.below(8)),
            buffer,
        });
        let token = self.tree.token();
        self.push(block, Step::Load { load, token });
        scope.push(token);
    }

    fn region(&mut self, parent: usize, trips: Trips, results: Vec<Token>) -> usize {
        self.tree.regions.push(Region {
            parent,
            trips,
            results,
            ..Region::default()
        });
        self.tree.regions.len() - 1
    }

    fn edge(&mut self, region: usize, from: Option<usize>, to: Option<usize>, args: &[Token]) {
        let it = &self.tree.regions[region];
        let targets = match to {
            Some(to) => self.tree.blocks[it.blocks[to]].params.clone(),
            None => it.results.clone(),
        };
        let bindings = args.iter().copied().zip(targets).collect();
        self.tree.regions[region].edges.push(Edge { from, to, bindings });
    }

    fn branch(&mut self, block: usize, scope: &mut Vec<Token>, depth: u32) {
        let n = self.rng.below(3) as usize;
        let results = self.tokens(n);
        let region = self.region(block, Trips::Free, results.clone());
        for place in 0..2 {
            let arm = self.new_block(Some(region), Vec::new());
            self.tree.regions[region].blocks.push(arm);
            let mut inner = scope.clone();
            if place == 0 || self.rng.chance(1, 2) {
                self.fill(arm, &mut inner, depth + 1);
            }
            let args: Vec<Token> = (0..n).map(|_| self.pick(arm, &inner)).collect();
            self.edge(region, None, Some(place), &[]);
            self.edge(region, Some(place), None, &args);
        }
        self.push(block, Step::Region(region));
        scope.extend(results);
    }

    fn trips(&mut self) -> Trips {
        if self.rng.chance(1, 3) {
            Trips::Constant(1 + self.rng.below(4))
        } else {
            Trips::Counted
        }
    }

    /// A loop that carries tokens around at random.
    fn counted(&mut self, block: usize, scope: &mut Vec<Token>, depth: u32) {
        let n = self.rng.below(3) as usize;
        let inits: Vec<Token> = (0..n).map(|_| self.pick(block, scope)).collect();
        self.for_loop(block, scope, &inits, |new, body, inner| {
            new.fill(body, inner, depth + 1);
            (0..n).map(|_| new.pick(body, inner)).collect()
        });
    }

    /// A pipeline: the oldest token is awaited, and a new one joins the others.
    fn rotation(&mut self, block: usize, scope: &mut Vec<Token>, depth: u32) {
        let n = 1 + self.rng.below(3) as usize;
        for _ in 0..n {
            self.load(block, scope);
        }
        let inits: Vec<Token> = scope[scope.len() - n..].to_vec();
        self.for_loop(block, scope, &inits, |new, body, inner| {
            let params = new.tree.blocks[body].params.clone();
            let early = new.rng.chance(1, 2);
            if early {
                new.await_tokens(body, vec![params[0]]);
            }
            if new.rng.chance(1, 4) {
                new.fill(body, inner, depth + 1);
            }
            new.load(body, inner);
            let token = *inner.last().expect("a load has a token");
            if !early {
                new.await_tokens(body, vec![params[0]]);
            }
            if new.rng.chance(1, 2) {
                new.push(body, Step::Barrier);
            }
            params[1..].iter().copied().chain([token]).collect()
        });
    }

    fn for_loop(
        &mut self,
        block: usize,
        scope: &mut Vec<Token>,
        inits: &[Token],
        fill: impl FnOnce(&mut Self, usize, &mut Vec<Token>) -> Vec<Token>,
    ) {
        let trips = self.trips();
        let results = self.tokens(inits.len());
        let params = self.tokens(inits.len());
        let region = self.region(block, trips, results.clone());
        let body = self.new_block(Some(region), params.clone());
        self.tree.regions[region].blocks.push(body);
        let mut inner = scope.clone();
        inner.extend(&params);
        let args = fill(self, body, &mut inner);
        self.edge(region, None, Some(0), inits);
        if trips == Trips::Counted {
            self.edge(region, None, None, inits);
        }
        if trips != Trips::Constant(1) {
            self.edge(region, Some(0), Some(0), &args);
        }
        self.edge(region, Some(0), None, &args);
        self.push(block, Step::Region(region));
        scope.extend(results);
    }

    /// A loop with a block before its condition and one behind it.
    fn looped(&mut self, block: usize, scope: &mut Vec<Token>, depth: u32) {
        let n = self.rng.below(3) as usize;
        let inits: Vec<Token> = (0..n).map(|_| self.pick(block, scope)).collect();
        let results = self.tokens(n);
        let region = self.region(block, Trips::Free, results.clone());
        let mut blocks = Vec::new();
        let mut handed = Vec::new();
        for place in 0..2 {
            let params = self.tokens(n);
            let inside = self.new_block(Some(region), params.clone());
            self.tree.regions[region].blocks.push(inside);
            let mut inner = scope.clone();
            inner.extend(params);
            if place == 1 || self.rng.chance(1, 2) {
                self.fill(inside, &mut inner, depth + 1);
            }
            handed.push((0..n).map(|_| self.pick(inside, &inner)).collect::<Vec<Token>>());
            blocks.push(inside);
        }
        self.edge(region, None, Some(0), &inits);
        self.edge(region, Some(0), Some(1), &handed[0]);
        self.edge(region, Some(0), None, &handed[0]);
        self.edge(region, Some(1), Some(0), &handed[1]);
        self.push(block, Step::Region(region));
        scope.extend(results);
    }
}

/// Awaits loads right behind where they are issued; their tokens are complete for everybody else.
pub fn await_at_once(tree: &mut Tree, loads: &[usize]) {
    for block in 0..tree.blocks.len() {
        let mut at = 0;
        while at < tree.blocks[block].steps.len() {
            if let Step::Load { load, token } = tree.blocks[block].steps[at].clone()
                && loads.contains(&load)
            {
                let own = tree.token();
                let id = tree.awaits;
                tree.awaits += 1;
                let steps = &mut tree.blocks[block].steps;
                steps[at] = Step::Load { load, token: own };
                steps.insert(
                    at + 1,
                    Step::Await {
                        id,
                        tokens: vec![own],
                    },
                );
                steps.insert(
                    at + 2,
                    Step::Join {
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
pub fn text(tree: &Tree, plan: &Plan) -> String {
    let mut out = String::new();
    block_text(tree, 0, 0, &mut out);
    let _ = writeln!(out, "{plan:#?}");
    out
}

fn block_text(tree: &Tree, block: usize, depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    let _ = writeln!(out, "{pad}block {block} {:?}", tree.blocks[block].params);
    for (i, step) in tree.blocks[block].steps.iter().enumerate() {
        let _ = writeln!(out, "{pad}{i}: {step:?}");
        if let Step::Region(region) = step {
            let it = &tree.regions[*region];
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
