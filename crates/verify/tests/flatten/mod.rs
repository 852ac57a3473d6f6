//! Programs of `tokenflow`, with what is emitted for them, as the code that is checked.
#![allow(dead_code, reason = "each test uses its part")]

use crate::oracle::execute::Emitted;
use async_verify::groups::code::{Block, BlockId, Code, Edge, EdgeKind, Fifo, Instr, Loop, Span, Token};
use std::collections::BTreeMap;
use tokenflow::{Await, Graph, Item, Program, Queue, Slot, Target};

/// Flattens `program`.
pub fn flatten(program: &Program, emitted: &[Emitted]) -> Code {
    flatten_with_waits(program, emitted).0
}

/// The same, with the queue and the await of each wait that is emitted, by its place among all instructions.
pub fn flatten_with_waits(program: &Program, emitted: &[Emitted]) -> (Code, BTreeMap<usize, (Queue, Await)>) {
    let mut flat = Flat {
        emitted,
        blocks: Vec::new(),
        code: Code::default(),
        waits: Vec::new(),
    };
    flat.graph(&program.body, &Exit::Function);
    let waits = std::mem::take(&mut flat.waits);
    let code = flat.finish();
    let place = |(at, i, queue, site): (BlockId, usize, Queue, Await)| {
        (code.blocks[at.0 as usize].instrs.range().start + i, (queue, site))
    };
    let waits = waits.into_iter().map(place).collect();
    (code, waits)
}

/// What leaves a graph.
enum Exit {
    Function,
    /// To a block.
    After(BlockId),
    /// To the next iteration, which begins with the first block, or after the last one to the second.
    Iteration(Loop, BlockId, BlockId),
}

/// A block that grows.
#[derive(Default)]
struct Growing {
    params: Vec<Token>,
    instrs: Vec<Step>,
    edges: Vec<(EdgeKind, Option<BlockId>, Vec<Token>)>,
}

enum Step {
    Plain(Instr),
    Await(Vec<Token>),
    Join(Token, Vec<Token>),
}

struct Flat<'a> {
    emitted: &'a [Emitted],
    blocks: Vec<Growing>,
    code: Code,
    /// The block and place of each wait that is emitted.
    waits: Vec<(BlockId, usize, Queue, Await)>,
}

fn tokens(tokens: &[tokenflow::Token]) -> Vec<Token> {
    tokens.iter().map(|token| Token(token.0)).collect()
}

impl Flat<'_> {
    fn finish(self) -> Code {
        let mut code = self.code;
        let list = |code: &mut Code, tokens: Vec<Token>| {
            let start = code.tokens.len();
            code.tokens.extend(tokens);
            Span::since(start, &code.tokens)
        };
        for block in self.blocks {
            let params = list(&mut code, block.params);
            let (instrs, edges) = (code.instrs.len(), code.edges.len());
            for step in block.instrs {
                let instr = match step {
                    Step::Plain(instr) => instr,
                    Step::Await(of) => Instr::Await(list(&mut code, of)),
                    Step::Join(token, of) => Instr::Join(token, list(&mut code, of)),
                };
                code.instrs.push(instr);
            }
            for (kind, to, args) in block.edges {
                let args = list(&mut code, args);
                code.edges.push(Edge { kind, to, args });
            }
            code.blocks.push(Block {
                params,
                instrs: Span::since(instrs, &code.instrs),
                edges: Span::since(edges, &code.edges),
            });
        }
        code
    }

    fn new_block(&mut self, params: &[tokenflow::Token]) -> BlockId {
        self.blocks.push(Growing {
            params: tokens(params),
            ..Growing::default()
        });
        BlockId(u32::try_from(self.blocks.len() - 1).expect("few blocks"))
    }

    fn push(&mut self, at: BlockId, instr: Instr) {
        self.blocks[at.0 as usize].instrs.push(Step::Plain(instr));
    }

    fn connect(&mut self, at: BlockId, kind: EdgeKind, to: Option<BlockId>, args: Vec<Token>) {
        self.blocks[at.0 as usize].edges.push((kind, to, args));
    }

    /// Adds a graph; returns its first block.
    fn graph(&mut self, graph: &Graph, exit: &Exit) -> BlockId {
        let blocks: Vec<BlockId> = graph
            .blocks
            .iter()
            .map(|block| self.new_block(&block.params))
            .collect();
        for (block, &id) in graph.blocks.iter().zip(&blocks) {
            self.slot(id, block.start);
            let end = block.items.iter().fold(id, |at, item| self.item(at, item));
            for edge in &block.edges {
                let args = tokens(&edge.args);
                match (edge.to, exit) {
                    (Target::Block(to), _) => self.connect(end, EdgeKind::Plain, Some(blocks[to]), args),
                    (Target::Exit, Exit::Function) => self.connect(end, EdgeKind::Plain, None, Vec::new()),
                    (Target::Exit, Exit::After(after)) => {
                        self.connect(end, EdgeKind::Plain, Some(*after), args);
                    }
                    (Target::Exit, &Exit::Iteration(l, first, after)) => {
                        self.connect(end, EdgeKind::Back(l), Some(first), args.clone());
                        self.connect(end, EdgeKind::Exit(l), Some(after), args);
                    }
                }
            }
        }
        blocks[0]
    }

    fn slot(&mut self, at: BlockId, slot: Option<Slot>) {
        let Some(slot) = slot else { return };
        for (emitted, fifo) in self.emitted.iter().zip(0..) {
            for _ in 0..emitted.commits[slot.0 as usize] {
                self.push(at, Instr::Commit(Fifo(fifo)));
            }
        }
    }

    /// Adds an item to block `at`; returns the block that goes on after it.
    fn item(&mut self, at: BlockId, item: &Item) -> BlockId {
        let mut end = at;
        match item {
            Item::Issue {
                queue, token, read, ..
            } => {
                assert!(read.is_none(), "reads are queues of their own");
                if let Some(token) = token {
                    self.push(at, Instr::Issue(Fifo(queue.0), Token(token.0)));
                }
            }
            Item::Commit { queue, token } => {
                if let Some(token) = token {
                    self.push(at, Instr::Issue(Fifo(queue.0), Token(token.0)));
                }
                self.push(at, Instr::Commit(Fifo(queue.0)));
            }
            Item::Wait { queue, n, .. } => self.push(at, Instr::Wait(Fifo(queue.0), *n)),
            Item::Await { site, tokens: of, .. } => {
                for (emitted, fifo) in self.emitted.iter().zip(0..) {
                    if let Some(n) = emitted.waits[site.0 as usize] {
                        let place = self.blocks[at.0 as usize].instrs.len();
                        self.waits.push((at, place, Queue(fifo), *site));
                        self.push(at, Instr::Wait(Fifo(fifo), n));
                    }
                }
                self.blocks[at.0 as usize].instrs.push(Step::Await(tokens(of)));
            }
            Item::Join { token, of } => {
                let join = Step::Join(Token(token.0), tokens(of));
                self.blocks[at.0 as usize].instrs.push(join);
            }
            Item::Point(_) => {}
            Item::Nested(nested) => {
                end = self.new_block(&nested.results);
                let first = self.graph(&nested.graph, &Exit::After(end));
                self.connect(at, EdgeKind::Plain, Some(first), tokens(&nested.inits));
            }
            Item::Repeat(repeat) => {
                end = self.new_block(&repeat.results);
                let inits = tokens(&repeat.inits);
                if repeat.trip == 0 {
                    self.connect(at, EdgeKind::Plain, Some(end), inits);
                } else {
                    self.code.trips.push(repeat.trip);
                    let l = Loop(u32::try_from(self.code.trips.len() - 1).expect("few loops"));
                    let first = BlockId(u32::try_from(self.blocks.len()).expect("few blocks"));
                    self.graph(&repeat.body, &Exit::Iteration(l, first, end));
                    self.connect(at, EdgeKind::Enter(l), Some(first), inits);
                }
            }
        }
        self.slot(end, item.after());
        end
    }
}
