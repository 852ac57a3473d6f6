//! Which tokens are used after the beginning of a block.

use crate::groups::code::{Block, BlockId, Code, Instr, Token};

/// The block of a token that no instruction or parameter defines.
const NONE: u32 = u32::MAX;

/// The live tokens of each block.
pub(crate) struct Liveness {
    /// By block, where its tokens begin.
    starts: Vec<u32>,
    tokens: Vec<Token>,
    /// By token of that list, its place among the parameters of the block.
    params: Vec<Option<u32>>,
}

impl Liveness {
    /// Follows each use backward to the definition. Cost: the number of pairs of a block and a token that is live there.
    pub fn new(code: &Code) -> Self {
        let tokens = code.num_tokens();
        // By token, the block that defines it, and its place among the parameters if it is one.
        let mut defined: Vec<(u32, Option<u32>)> = vec![(NONE, None); tokens];
        for (block, b) in code.blocks.iter().zip(0..) {
            for (param, place) in block.params.of(&code.tokens).iter().zip(0..) {
                defined[param.0 as usize] = (b, Some(place));
            }
            for instr in block.instrs.of(&code.instrs) {
                if let Instr::Issue(_, token) | Instr::Join(token, _) = instr {
                    defined[token.0 as usize] = (b, None);
                }
            }
        }
        let live = follow(code, &defined);
        let mut starts = vec![0; code.blocks.len() + 1];
        for (b, _) in &live {
            starts[*b as usize + 1] += 1;
        }
        for b in 0..code.blocks.len() {
            starts[b + 1] += starts[b];
        }
        let mut next = starts.clone();
        let mut all = vec![(Token(0), None); live.len()];
        for (b, token) in live {
            let (by, place) = defined[token.0 as usize];
            all[next[b as usize] as usize] = (token, place.filter(|_| by == b));
            next[b as usize] += 1;
        }
        let (tokens, params) = all.into_iter().unzip();
        Self {
            starts,
            tokens,
            params,
        }
    }

    /// The places of a block's live tokens in the list of those of all blocks.
    pub fn places(&self, block: BlockId) -> std::ops::Range<usize> {
        let b = block.0 as usize;
        self.starts[b] as usize..self.starts[b + 1] as usize
    }

    /// The number of pairs of a block and a token that is live there.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The token of a place, and which parameter of its block it is.
    pub fn token(&self, place: usize) -> (Token, Option<u32>) {
        (self.tokens[place], self.params[place])
    }
}

/// The blocks where each token is live, in the order of tokens. `defined` has the block of each token, and its place among the parameters.
fn follow(code: &Code, defined: &[(u32, Option<u32>)]) -> Vec<(u32, Token)> {
    let predecessors = Predecessors::new(code);
    let uses = Uses::new(code, defined);
    let mut live = Vec::new();
    let mut seen = vec![Token(u32::MAX); code.blocks.len()];
    let mut work = Vec::new();
    for (token, &(by, place)) in (0..).map(Token).zip(defined) {
        work.extend_from_slice(uses.of(token));
        while let Some(b) = work.pop() {
            if std::mem::replace(&mut seen[b as usize], token) == token {
                continue;
            }
            live.push((b, token));
            if by != b {
                // Where it is defined by an instruction, it is not live before.
                let before = predecessors.of(b).iter().copied();
                work.extend(before.filter(|before| place.is_some() || *before != by));
            }
        }
    }
    live
}

/// The blocks that use each token, but for the one whose instruction defines it.
struct Uses {
    starts: Vec<u32>,
    blocks: Vec<u32>,
}

impl Uses {
    fn new(code: &Code, defined: &[(u32, Option<u32>)]) -> Self {
        let for_each = |f: &mut dyn FnMut(Token, u32)| {
            for (block, b) in code.blocks.iter().zip(0..) {
                for_each_use(code, block, |token| {
                    let (by, place) = defined[token.0 as usize];
                    if by != b || place.is_some() {
                        f(token, b);
                    }
                });
            }
        };
        let mut starts = vec![0_u32; defined.len() + 1];
        for_each(&mut |token, _| starts[token.0 as usize + 1] += 1);
        for token in 0..defined.len() {
            starts[token + 1] += starts[token];
        }
        let mut next = starts.clone();
        let mut blocks = vec![0; starts[defined.len()] as usize];
        for_each(&mut |token, b| {
            let place = &mut next[token.0 as usize];
            blocks[*place as usize] = b;
            *place += 1;
        });
        Self { starts, blocks }
    }

    fn of(&self, token: Token) -> &[u32] {
        let [start, end] = [0, 1].map(|i| self.starts[token.0 as usize + i] as usize);
        &self.blocks[start..end]
    }
}

fn for_each_use(code: &Code, block: &Block, mut f: impl FnMut(Token)) {
    for instr in block.instrs.of(&code.instrs) {
        if let Instr::Await(of) | Instr::Join(_, of) = instr {
            of.of(&code.tokens).iter().copied().for_each(&mut f);
        }
    }
    for edge in block.edges.of(&code.edges) {
        edge.args.of(&code.tokens).iter().copied().for_each(&mut f);
    }
}

/// The blocks that edges come from.
struct Predecessors {
    starts: Vec<u32>,
    blocks: Vec<u32>,
}

impl Predecessors {
    fn new(code: &Code) -> Self {
        let edges = || {
            let blocks = code.blocks.iter().zip(0..);
            blocks.flat_map(|(block, b)| {
                block
                    .edges
                    .of(&code.edges)
                    .iter()
                    .filter_map(move |edge| Some((b, edge.to?.0)))
            })
        };
        let mut starts = vec![0_u32; code.blocks.len() + 1];
        for (_, to) in edges() {
            starts[to as usize + 1] += 1;
        }
        for b in 0..code.blocks.len() {
            starts[b + 1] += starts[b];
        }
        let mut next = starts.clone();
        let mut blocks = vec![0; starts[code.blocks.len()] as usize];
        for (b, to) in edges() {
            blocks[next[to as usize] as usize] = b;
            next[to as usize] += 1;
        }
        Self { starts, blocks }
    }

    fn of(&self, b: u32) -> &[u32] {
        &self.blocks[self.starts[b as usize] as usize..self.starts[b as usize + 1] as usize]
    }
}
