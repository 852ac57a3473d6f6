//! Builds programs the way they read in the IR: copies, awaits, and structured control flow as closures.

use tokenflow::{
    Await, Block, Edge, Graph, Item, LoopId, Nested, Program, Queue, Repeat, Slot, Target, Token,
};

/// The only queue of most tests.
pub const Q: Queue = Queue(0);
/// A second queue.
pub const R: Queue = Queue(1);

/// A program under construction; every method appends to the current block.
pub struct Build {
    program: Program,
    block: Block,
    /// False where the program's own commits are the only ones.
    slots: bool,
}

impl Build {
    /// A program whose commits are to be chosen.
    pub fn new() -> Self {
        Self::with_queues(1)
    }

    /// A program on several queues, whose commits are to be chosen.
    pub fn with_queues(queues: u8) -> Self {
        let mut build = Self {
            program: Program::new(queues),
            block: Block::default(),
            slots: true,
        };
        build.block.start = build.slot();
        build
    }

    /// A program that is given with its commits.
    pub fn given(queues: u8) -> Self {
        Self {
            program: Program::new(queues),
            block: Block::default(),
            slots: false,
        }
    }

    /// Ends the program with a return.
    pub fn finish(mut self) -> Program {
        self.block.edges = vec![exit(Vec::new())];
        self.program.body = Graph {
            blocks: vec![self.block],
        };
        self.program
    }

    /// Ends the program with a graph of blocks as its body, see [`Self::unstructured`].
    pub fn finish_unstructured(
        mut self,
        params: &[usize],
        build: impl FnMut(&mut Self, usize, &[Token]) -> Vec<Edge>,
    ) -> Program {
        let graph = self.graph(params, build);
        self.finish_with(graph)
    }

    /// Ends the program with a graph as its body.
    pub fn finish_with(mut self, graph: Graph) -> Program {
        self.program.body = graph;
        self.program
    }

    fn slot(&mut self) -> Option<Slot> {
        self.slots.then(|| self.program.slot())
    }

    /// Makes tokens, for parameters and results.
    pub fn tokens(&mut self, count: usize) -> Vec<Token> {
        (0..count).map(|_| self.program.token()).collect()
    }

    // Straight-line items.

    /// `%t = gpux.copy async`
    pub fn copy(&mut self) -> Token {
        self.copy_on(Q)
    }

    /// A copy on the given queue.
    pub fn copy_on(&mut self, queue: Queue) -> Token {
        let token = self.program.token();
        self.issue(queue, Some(token));
        token
    }

    /// A copy in counted form: no token, and committed by the program's own commits.
    pub fn counted_copy(&mut self, queue: Queue) {
        let site = self.program.site();
        self.block.items.push(Item::Issue {
            site,
            queue,
            token: None,
            slot: None,
        });
    }

    fn issue(&mut self, queue: Queue, token: Option<Token>) {
        let site = self.program.site();
        let slot = self.slot();
        self.block.items.push(Item::Issue {
            site,
            queue,
            token,
            slot,
        });
    }

    /// `gpux.commit_group`
    pub fn commit(&mut self, queue: Queue) {
        self.block.items.push(Item::Commit { queue, token: None });
    }

    /// `%t = nvgpu.device_async_create_group`
    pub fn group(&mut self, queue: Queue) -> Token {
        let token = self.program.token();
        self.block.items.push(Item::Commit {
            queue,
            token: Some(token),
        });
        token
    }

    /// `gpux.wait_group n`
    pub fn wait(&mut self, queue: Queue, n: u32) {
        self.block.items.push(Item::Wait { queue, n });
    }

    /// `async.await`
    pub fn await_all(&mut self, tokens: &[Token]) -> Await {
        let site = self.program.new_await();
        self.block.items.push(Item::Await {
            site,
            tokens: tokens.to_vec(),
        });
        site
    }

    /// `async.ready` or `ub.poison`
    pub fn ready(&mut self) -> Token {
        self.join(&[])
    }

    /// `async.join` or `arith.select`
    pub fn join(&mut self, of: &[Token]) -> Token {
        let token = self.program.token();
        self.block.items.push(Item::Join {
            token,
            of: of.to_vec(),
        });
        token
    }

    // Control flow. The `…_n` forms take any number of tokens, the others know theirs.

    /// `scf.if` without results and without `else`.
    pub fn if_(&mut self, then: impl FnOnce(&mut Self)) {
        let _: [Token; 0] = self.if_else(
            |b| {
                then(b);
                []
            },
            |_| [],
        );
    }

    /// `scf.if` with an `else`, whose arms yield tokens.
    pub fn if_else<const N: usize>(
        &mut self,
        then: impl FnOnce(&mut Self) -> [Token; N],
        otherwise: impl FnOnce(&mut Self) -> [Token; N],
    ) -> [Token; N] {
        let mut then = Some(then);
        let mut otherwise = Some(otherwise);
        let results = self.arms_n(2, N, |b, arm| {
            let yields = match arm {
                0 => then.take().expect("one call an arm")(b),
                _ => otherwise.take().expect("one call an arm")(b),
            };
            yields.to_vec()
        });
        exactly(&results)
    }

    /// A branch to one of several arms, each yielding `results` tokens (`scf.if`, `scf.index_switch`).
    pub fn arms_n(
        &mut self,
        arms: usize,
        results: usize,
        mut arm: impl FnMut(&mut Self, usize) -> Vec<Token>,
    ) -> Vec<Token> {
        let mut graph = Graph {
            blocks: vec![Block {
                edges: (1..=arms).map(|arm| edge(arm, Vec::new())).collect(),
                ..Block::default()
            }],
        };
        for index in 0..arms {
            graph.blocks.push(self.block(Vec::new(), |b, _| {
                let yields = arm(b, index);
                vec![exit(yields)]
            }));
        }
        self.nested(graph, Vec::new(), results)
    }

    /// `scf.for` with an unknown trip count, which may be zero.
    pub fn for_<const N: usize>(
        &mut self,
        inits: [Token; N],
        body: impl FnOnce(&mut Self, [Token; N]) -> [Token; N],
    ) -> [Token; N] {
        let results = self.for_n(inits.to_vec(), |b, carried| {
            body(b, exactly(carried)).to_vec()
        });
        exactly(&results)
    }

    /// Like [`Self::for_`].
    pub fn for_n(
        &mut self,
        inits: Vec<Token>,
        body: impl FnOnce(&mut Self, &[Token]) -> Vec<Token>,
    ) -> Vec<Token> {
        let count = inits.len();
        let entry = self.tokens(count);
        let mut graph = Graph {
            blocks: vec![Block {
                params: entry.clone(),
                edges: vec![edge(1, entry.clone()), exit(entry)],
                ..Block::default()
            }],
        };
        let carried = self.tokens(count);
        graph.blocks.push(self.block(carried, |b, carried| {
            let yields = body(b, carried);
            vec![edge(1, yields.clone()), exit(yields)]
        }));
        self.nested(graph, inits, count)
    }

    /// `scf.while`: `before` yields what the condition forwards to `after` and to the results.
    pub fn while_<const N: usize, const M: usize>(
        &mut self,
        inits: [Token; N],
        before: impl FnOnce(&mut Self, [Token; N]) -> [Token; M],
        after: impl FnOnce(&mut Self, [Token; M]) -> [Token; N],
    ) -> [Token; M] {
        let results = self.while_n(
            inits.to_vec(),
            M,
            |b, carried| before(b, exactly(carried)).to_vec(),
            |b, forwarded| after(b, exactly(forwarded)).to_vec(),
        );
        exactly(&results)
    }

    /// Like [`Self::while_`].
    pub fn while_n(
        &mut self,
        inits: Vec<Token>,
        forwarded: usize,
        before: impl FnOnce(&mut Self, &[Token]) -> Vec<Token>,
        after: impl FnOnce(&mut Self, &[Token]) -> Vec<Token>,
    ) -> Vec<Token> {
        let entry = self.tokens(inits.len());
        let carried = self.tokens(inits.len());
        let body = self.tokens(forwarded);
        let graph = Graph {
            blocks: vec![
                Block {
                    params: entry.clone(),
                    edges: vec![edge(1, entry)],
                    ..Block::default()
                },
                self.block(carried, |b, carried| {
                    let yields = before(b, carried);
                    vec![edge(2, yields.clone()), exit(yields)]
                }),
                self.block(body, |b, tokens| {
                    let yields = after(b, tokens);
                    vec![edge(1, yields)]
                }),
            ],
        };
        self.nested(graph, inits, forwarded)
    }

    /// `scf.for` with a constant trip count.
    pub fn repeat<const N: usize>(
        &mut self,
        trip: u64,
        inits: [Token; N],
        body: impl FnOnce(&mut Self, [Token; N]) -> [Token; N],
    ) -> [Token; N] {
        let results = self.repeat_n(trip, true, inits.to_vec(), |b, carried| {
            body(b, exactly(carried)).to_vec()
        });
        exactly(&results)
    }

    /// Like [`Self::repeat`].
    pub fn repeat_n(
        &mut self,
        trip: u64,
        peelable: bool,
        inits: Vec<Token>,
        body: impl FnOnce(&mut Self, &[Token]) -> Vec<Token>,
    ) -> Vec<Token> {
        let id: LoopId = self.program.new_loop();
        let carried = self.tokens(inits.len());
        let body = Graph {
            blocks: vec![self.block(carried, |b, carried| {
                let yields = body(b, carried);
                vec![exit(yields)]
            })],
        };
        let results = self.tokens(inits.len());
        let after = self.slot();
        self.block.items.push(Item::Repeat(Repeat {
            id,
            trip,
            peelable,
            body,
            inits,
            results: results.clone(),
            after,
        }));
        results
    }

    /// A graph of blocks, entered at block 0; `build` fills one block at a time and returns its edges.
    /// `params` says how many tokens each block takes (block 0: none).
    pub fn unstructured(
        &mut self,
        params: &[usize],
        results: usize,
        build: impl FnMut(&mut Self, usize, &[Token]) -> Vec<Edge>,
    ) -> Vec<Token> {
        let graph = self.graph(params, build);
        self.nested(graph, Vec::new(), results)
    }

    fn graph(
        &mut self,
        params: &[usize],
        mut build: impl FnMut(&mut Self, usize, &[Token]) -> Vec<Edge>,
    ) -> Graph {
        let mut blocks = Vec::new();
        for (index, &count) in params.iter().enumerate() {
            let tokens = self.tokens(count);
            blocks.push(self.block(tokens, |b, tokens| build(b, index, tokens)));
        }
        Graph { blocks }
    }

    /// Fills one block, then goes on where it was.
    pub fn block(
        &mut self,
        params: Vec<Token>,
        fill: impl FnOnce(&mut Self, &[Token]) -> Vec<Edge>,
    ) -> Block {
        let start = self.slot();
        let fresh = Block {
            params: params.clone(),
            start,
            ..Block::default()
        };
        let outer = std::mem::replace(&mut self.block, fresh);
        let edges = fill(self, &params);
        let mut block = std::mem::replace(&mut self.block, outer);
        block.edges = edges;
        block
    }

    /// Appends an op with regions.
    pub fn nested(&mut self, graph: Graph, inits: Vec<Token>, results: usize) -> Vec<Token> {
        let results = self.tokens(results);
        let after = self.slot();
        self.block.items.push(Item::Nested(Nested {
            graph,
            inits,
            results: results.clone(),
            after,
        }));
        results
    }
}

/// An edge to a block.
pub fn edge(to: usize, args: Vec<Token>) -> Edge {
    Edge {
        to: Target::Block(to),
        args,
    }
}

/// An edge out of the graph.
pub fn exit(args: Vec<Token>) -> Edge {
    Edge {
        to: Target::Exit,
        args,
    }
}

fn exactly<const N: usize>(tokens: &[Token]) -> [Token; N] {
    tokens.try_into().expect("as many tokens as there are")
}
