//! Random programs, for proptest.
//!
//! A [`Recipe`] is what is generated and shrunk; [`Recipe::program`] makes the program. Tokens are
//! picked by how recently they were defined, among those visible, so every recipe is a valid program.

use super::blocks;
use super::build::{Build, edge, exit};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tokenflow::{Program, Queue, Token};

/// So many cases, unless the environment says otherwise.
pub fn config(cases: u32) -> ProptestConfig {
    let from_env = ProptestConfig::default();
    let cases = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => from_env.cases,
        None => cases,
    };
    let rng_seed = match from_env.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        seed @ RngSeed::Fixed(_) => seed,
    };
    ProptestConfig {
        cases,
        // A fixed number would be too few for many cases.
        max_global_rejects: from_env.max_global_rejects.max(cases),
        rng_seed,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..from_env
    }
}

/// How programs say what is in which group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Tokens, and commits to be chosen.
    Tokens,
    /// Tokens, and code in counted form between them.
    Mixed,
    /// The same, with stores, which have a token for their reads.
    Stores,
    /// All commits are given.
    Given,
    /// Counted form alone, with waits for reads, too.
    Counted,
    /// The same, with awaits of nothing, which stand for accesses to memory.
    CountedWithAccesses,
    /// Counted form alone; each group is of copies in a row.
    CountedTogether,
    /// Counted form alone; each group is of one copy.
    CountedAlone,
}

/// A token: 0 is the one defined last.
pub type Pick = u8;

/// One statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    Copy(u8),
    CountedCopy(u8),
    Commit(u8),
    GroupOf(u8, u8),
    Group(u8),
    Wait(u8, u32),
    Store(u8),
    WaitForReads(u8, u32),
    Await(Vec<Pick>),
    Join(Vec<Pick>),
    Arms {
        arms: Vec<(Vec<Stmt>, Vec<Pick>)>,
        results: usize,
    },
    For {
        inits: Vec<Pick>,
        body: Vec<Stmt>,
        yields: Vec<Pick>,
    },
    While {
        inits: Vec<Pick>,
        before: Vec<Stmt>,
        forwards: Vec<Pick>,
        after: Vec<Stmt>,
        yields: Vec<Pick>,
    },
    Repeat {
        trip: u64,
        peelable: bool,
        inits: Vec<Pick>,
        body: Vec<Stmt>,
        yields: Vec<Pick>,
    },
    Blocks(Vec<BlockRecipe>, usize),
}

/// A block of an unstructured graph.
#[derive(Clone, Debug)]
pub struct BlockRecipe {
    pub params: usize,
    pub stmts: Vec<Stmt>,
    /// Where control may go (the number after the last block is the exit), and with what.
    pub edges: Vec<(u8, Vec<Pick>)>,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub style: Style,
    pub queues: u8,
    pub stmts: Vec<Stmt>,
    /// If there are any, they are the body, and `stmts` starts the first.
    pub blocks: Vec<BlockRecipe>,
}

impl Recipe {
    /// The program.
    pub fn program(&self) -> Program {
        let mut build = match self.style {
            Style::Given => Build::given(self.queues),
            _ => Build::with_queues(self.queues),
        };
        let mut cook = Cook {
            queues: self.queues,
            visible: Vec::new(),
        };
        if self.blocks.is_empty() {
            cook.stmts(&mut build, &self.stmts);
            blocks::in_text_order(build.finish())
        } else {
            let mut recipes = self.blocks.clone();
            recipes[0].stmts.splice(0..0, self.stmts.iter().cloned());
            let graph = cook.graph(&mut build, &recipes, 0);
            blocks::in_text_order(build.finish_with(graph))
        }
    }
}

/// What is visible while a recipe becomes a program.
struct Cook {
    queues: u8,
    visible: Vec<Token>,
}

impl Cook {
    fn pick(&self, build: &mut Build, pick: Pick) -> Token {
        match self.visible.len() {
            0 => build.ready(),
            n => self.visible[n - 1 - pick as usize % n],
        }
    }

    /// The first `count` picks; where there are fewer, they start again.
    fn picks(&self, build: &mut Build, picks: &[Pick], count: usize) -> Vec<Token> {
        let at = |index: usize| picks.get(index % picks.len().max(1)).copied().unwrap_or(0);
        (0..count).map(|index| self.pick(build, at(index))).collect()
    }

    /// Runs `f` in a scope of its own, with more tokens visible.
    fn scope<R>(&mut self, tokens: &[Token], f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.visible.len();
        self.visible.extend(tokens);
        let result = f(self);
        self.visible.truncate(outer);
        result
    }

    fn body(
        &mut self,
        build: &mut Build,
        params: &[Token],
        stmts: &[Stmt],
        yields: &[Pick],
        count: usize,
    ) -> Vec<Token> {
        self.scope(params, |cook| {
            cook.stmts(build, stmts);
            cook.picks(build, yields, count)
        })
    }

    fn stmts(&mut self, build: &mut Build, stmts: &[Stmt]) {
        for stmt in stmts {
            let defined = self.stmt(build, stmt);
            self.visible.extend(defined);
        }
    }

    fn stmt(&mut self, build: &mut Build, stmt: &Stmt) -> Vec<Token> {
        // Of three queues, stores have one of their own.
        let three = self.queues == 3;
        let queue = |queue: u8| Queue(if three { queue % 2 * 2 } else { queue % self.queues });
        let store_queue = |of: u8| if three { Queue(1) } else { queue(of) };
        match stmt {
            Stmt::Copy(q) => vec![build.copy_on(queue(*q))],
            Stmt::CountedCopy(q) => {
                build.counted_copy(queue(*q));
                Vec::new()
            }
            Stmt::Commit(q) => {
                build.commit(queue(*q));
                Vec::new()
            }
            Stmt::GroupOf(q, copies) => {
                (0..*copies).for_each(|_| build.counted_copy(queue(*q)));
                build.commit(queue(*q));
                Vec::new()
            }
            Stmt::Group(q) => vec![build.group(queue(*q))],
            Stmt::Wait(q, n) => {
                build.wait(queue(*q), *n);
                Vec::new()
            }
            Stmt::Store(q) => build.store_on(store_queue(*q)).to_vec(),
            Stmt::WaitForReads(q, n) => {
                build.wait_for_reads(store_queue(*q), *n);
                Vec::new()
            }
            Stmt::Await(picks) => {
                let tokens = self.picks(build, picks, picks.len());
                build.await_all(&tokens);
                Vec::new()
            }
            Stmt::Join(picks) => {
                let tokens = self.picks(build, picks, picks.len());
                vec![build.join(&tokens)]
            }
            Stmt::Arms { arms, results } => build.arms_n(arms.len(), *results, |b, arm| {
                let (stmts, yields) = &arms[arm];
                self.body(b, &[], stmts, yields, *results)
            }),
            Stmt::For { inits, body, yields } => {
                let inits = self.picks(build, inits, inits.len());
                let count = inits.len();
                build.for_n(inits, |b, carried| self.body(b, carried, body, yields, count))
            }
            Stmt::While {
                inits,
                before,
                forwards,
                after,
                yields,
            } => {
                let inits = self.picks(build, inits, inits.len());
                let carried = inits.len();
                // What `before` makes is not visible in `after`.
                let this = std::cell::RefCell::new(self);
                build.while_n(
                    inits,
                    forwards.len(),
                    |b, tokens| {
                        this.borrow_mut()
                            .body(b, tokens, before, forwards, forwards.len())
                    },
                    |b, tokens| this.borrow_mut().body(b, tokens, after, yields, carried),
                )
            }
            Stmt::Repeat {
                trip,
                peelable,
                inits,
                body,
                yields,
            } => {
                let inits = self.picks(build, inits, inits.len());
                let count = inits.len();
                build.repeat_n(*trip, *peelable, inits, |b, carried| {
                    self.body(b, carried, body, yields, count)
                })
            }
            Stmt::Blocks(recipes, results) => {
                let graph = self.graph(build, recipes, *results);
                build.nested(graph, Vec::new(), *results)
            }
        }
    }

    /// Blocks see what the blocks that dominate them define, so those are filled first.
    fn graph(&mut self, build: &mut Build, recipes: &[BlockRecipe], results: usize) -> tokenflow::Graph {
        let targets = |recipe: &BlockRecipe| -> Vec<usize> {
            let target = |edge: &(u8, Vec<Pick>)| 1 + edge.0 as usize % recipes.len();
            recipe.edges.iter().map(target).collect()
        };
        let edges: Vec<Vec<usize>> = recipes.iter().map(targets).collect();
        let dominators = blocks::dominators(&edges);
        let params: Vec<Vec<Token>> = recipes
            .iter()
            .enumerate()
            .map(|(index, recipe)| build.tokens(if index == 0 { 0 } else { recipe.params }))
            .collect();
        let mut order: Vec<usize> = (0..recipes.len()).collect();
        order.sort_by_key(|&block| dominators[block].len());
        let mut defined: Vec<Vec<Token>> = vec![Vec::new(); recipes.len()];
        let mut filled = vec![tokenflow::Block::default(); recipes.len()];
        for index in order {
            let above = dominators[index].iter().filter(|&&block| block != index);
            let mut visible: Vec<Token> = above.flat_map(|&block| defined[block].clone()).collect();
            visible.extend(&params[index]);
            let outer = self.visible.len();
            filled[index] = build.block(params[index].clone(), |b, _| {
                self.scope(&visible, |cook| {
                    cook.stmts(b, &recipes[index].stmts);
                    let above = outer + visible.len() - params[index].len();
                    defined[index] = cook.visible[above..].to_vec();
                    let edges = recipes[index].edges.iter().zip(&edges[index]);
                    edges
                        .map(|((_, picks), &to)| match params.get(to) {
                            Some(params) => edge(to, cook.picks(b, picks, params.len())),
                            None => exit(cook.picks(b, picks, results)),
                        })
                        .collect()
                })
            });
        }
        tokenflow::Graph { blocks: filled }
    }
}

fn picks(count: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<Pick>> + Clone {
    vec(0..7_u8, count)
}

fn stmt(style: Style) -> BoxedStrategy<Stmt> {
    let queue = || 0..2_u8;
    let tokens = prop_oneof![
        5 => queue().prop_map(Stmt::Copy),
        4 => picks(1..3).prop_map(Stmt::Await),
        1 => picks(0..3).prop_map(Stmt::Join),
    ];
    let wait = || (queue(), 0..4_u32).prop_map(|(queue, n)| Stmt::Wait(queue, n));
    let counted_group = |max: u8| (queue(), 1..max).prop_map(|(queue, copies)| Stmt::GroupOf(queue, copies));
    let leaf = match style {
        Style::Tokens => tokens.boxed(),
        Style::Mixed => prop_oneof![
            8 => tokens,
            1 => queue().prop_map(Stmt::CountedCopy),
            1 => queue().prop_map(Stmt::Commit),
            1 => wait(),
        ]
        .boxed(),
        Style::Stores => prop_oneof![
            8 => queue().prop_map(Stmt::Store),
            1 => queue().prop_map(Stmt::Copy),
            8 => picks(1..3).prop_map(Stmt::Await),
            1 => picks(0..3).prop_map(Stmt::Join),
            1 => queue().prop_map(Stmt::CountedCopy),
            1 => queue().prop_map(Stmt::Commit),
            1 => wait(),
            1 => (queue(), 0..4_u32).prop_map(|(queue, n)| Stmt::WaitForReads(queue, n)),
        ]
        .boxed(),
        Style::Given => prop_oneof![
            3 => queue().prop_map(Stmt::CountedCopy),
            1 => queue().prop_map(Stmt::Copy),
            4 => queue().prop_map(Stmt::Group),
            1 => queue().prop_map(Stmt::Commit),
            4 => picks(1..3).prop_map(Stmt::Await),
            1 => picks(0..3).prop_map(Stmt::Join),
            1 => wait(),
        ]
        .boxed(),
        Style::Counted => prop_oneof![
            3 => queue().prop_map(Stmt::CountedCopy),
            2 => queue().prop_map(Stmt::Commit),
            2 => counted_group(3),
            3 => wait(),
            1 => (queue(), 0..4_u32).prop_map(|(queue, n)| Stmt::WaitForReads(queue, n)),
        ]
        .boxed(),
        Style::CountedWithAccesses => prop_oneof![
            1 => queue().prop_map(Stmt::CountedCopy),
            1 => queue().prop_map(Stmt::Commit),
            3 => counted_group(3),
            3 => wait(),
            1 => (queue(), 0..4_u32).prop_map(|(queue, n)| Stmt::WaitForReads(queue, n)),
            3 => Just(Stmt::Await(Vec::new())),
        ]
        .boxed(),
        Style::CountedTogether => prop_oneof![1 => counted_group(4), 1 => wait()].boxed(),
        Style::CountedAlone => prop_oneof![1 => counted_group(2), 1 => wait()].boxed(),
    };
    leaf.prop_recursive(3, 20, 4, |inner| {
        let body = || vec(inner.clone(), 0..4);
        let arm = || (body(), picks(0..3));
        prop_oneof![
            3 => (vec(arm(), 2..4), 0..3_usize).prop_map(|(arms, results)| Stmt::Arms { arms, results }),
            3 => (picks(0..4), body(), picks(0..4))
                .prop_map(|(inits, body, yields)| Stmt::For { inits, body, yields }),
            2 => (picks(0..3), body(), picks(0..3), body(), picks(0..3)).prop_map(
                |(inits, before, forwards, after, yields)| Stmt::While { inits, before, forwards, after, yields }
            ),
            3 => (0..6_u64, prop::bool::weighted(0.8), picks(0..4), body(), picks(0..4)).prop_map(
                |(trip, peelable, inits, body, yields)| Stmt::Repeat { trip, peelable, inits, body, yields }
            ),
            1 => (blocks_of(body().boxed(), 2..4), 0..3_usize)
                .prop_map(|(blocks, results)| Stmt::Blocks(blocks, results)),
        ]
    })
    .boxed()
}

fn blocks_of(
    body: BoxedStrategy<Vec<Stmt>>,
    count: impl Into<proptest::collection::SizeRange>,
) -> impl Strategy<Value = Vec<BlockRecipe>> {
    let edges = prop_oneof![1 => Just(0_usize), 6 => Just(1), 8 => Just(2), 1 => Just(3)]
        .prop_flat_map(|edges| vec((0..8_u8, picks(0..3)), edges));
    let block =
        (0..3_usize, body, edges).prop_map(|(params, stmts, edges)| BlockRecipe { params, stmts, edges });
    vec(block, count)
}

/// Structured programs: what `scf` can say.
pub fn structured(style: Style) -> impl Strategy<Value = Recipe> {
    (1..3_u8, vec(stmt(style), 1..8)).prop_map(move |(queues, stmts)| Recipe {
        style,
        queues,
        stmts,
        blocks: Vec::new(),
    })
}

/// Structured programs of many statements in a row.
pub fn long(style: Style) -> impl Strategy<Value = Recipe> {
    (1..3_u8, vec(stmt(style), 20..40)).prop_map(move |(queues, stmts)| Recipe {
        style,
        queues,
        stmts,
        blocks: Vec::new(),
    })
}

/// Programs whose body is any graph of blocks: what `cf` can say.
pub fn unstructured(style: Style) -> impl Strategy<Value = Recipe> {
    let blocks = blocks_of(vec(stmt(style), 0..4).boxed(), 2..6);
    (1..3_u8, vec(stmt(style), 0..3), blocks).prop_map(move |(queues, stmts, blocks)| Recipe {
        style,
        queues,
        stmts,
        blocks,
    })
}

/// Programs of both kinds.
pub fn any_program(style: Style) -> impl Strategy<Value = Recipe> {
    prop_oneof![3 => structured(style), 2 => unstructured(style)]
}
