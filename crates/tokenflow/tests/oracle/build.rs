//! Builds programs the way they read in the IR: copies, awaits, and structured control flow as closures.

mod control;

use tokenflow::{Await, Block, Edge, Graph, Item, Nested, Program, Queue, Slot, Target, Token};

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
        // The graph's first block takes the place of the one begun.
        if self.block.start.take().is_some() {
            self.program.slots -= 1;
        }
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
        self.issue(queue, Some(token), None);
        token
    }

    /// `%read, %done = gpux.bulk_store async`
    pub fn store_on(&mut self, queue: Queue) -> [Token; 2] {
        let (read, done) = (self.program.token(), self.program.token());
        self.issue(queue, Some(done), Some(read));
        [read, done]
    }

    /// A copy in counted form: no token, and committed by the program's own commits.
    pub fn counted_copy(&mut self, queue: Queue) {
        let site = self.program.site();
        self.block.items.push(Item::Issue {
            site,
            queue,
            token: None,
            read: None,
            slot: None,
        });
    }

    /// Commits may go here, too.
    fn point(&mut self) {
        let slot = self.slot();
        self.block.items.extend(slot.map(Item::Point));
    }

    fn issue(&mut self, queue: Queue, token: Option<Token>, read: Option<Token>) {
        let site = self.program.site();
        let slot = self.slot();
        self.block.items.push(Item::Issue {
            site,
            queue,
            token,
            read,
            slot,
        });
    }

    /// `gpux.commit_group`
    pub fn commit(&mut self, queue: Queue) {
        self.block.items.push(Item::Commit { queue, token: None });
        self.point();
    }

    /// `%t = nvgpu.device_async_create_group`
    pub fn group(&mut self, queue: Queue) -> Token {
        let token = self.program.token();
        self.block.items.push(Item::Commit {
            queue,
            token: Some(token),
        });
        self.point();
        token
    }

    /// `gpux.wait_group n`
    pub fn wait(&mut self, queue: Queue, n: u32) {
        self.block.items.push(Item::Wait {
            queue,
            n,
            read: false,
        });
        self.point();
    }

    /// `gpux.wait_group n read`
    pub fn wait_for_reads(&mut self, queue: Queue, n: u32) {
        self.block.items.push(Item::Wait { queue, n, read: true });
        self.point();
    }

    /// `async.await`
    pub fn await_all(&mut self, tokens: &[Token]) -> Await {
        let site = self.program.new_await();
        self.block.items.push(Item::Await {
            site,
            tokens: tokens.to_vec(),
            covered: false,
        });
        self.point();
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
        self.block.items.push(Item::from(Nested {
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
