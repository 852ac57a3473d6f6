//! Which tokens are used after the beginning of a block.

use crate::groups::code::{Block, BlockId, Code, Instr, Token};

/// The block of a token that no instruction or parameter defines.
const NONE: u32 = u32::MAX;

/// The live tokens of each block.
pub(in crate::groups) struct Liveness {
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
        let mut uses = Vec::new();
        for (block, b) in code.blocks.iter().zip(0..) {
            for_each_use(code, block, |token| {
                let (by, place) = defined[token.0 as usize];
                if by != b || place.is_some() {
                    uses.push((token, b));
                }
            });
        }
        uses.sort_unstable();
        uses.dedup();
        let live = follow(code, &defined, &uses);
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

/// The blocks where each token is live, in the order of tokens. `uses` are sorted.
fn follow(code: &Code, defined: &[(u32, Option<u32>)], uses: &[(Token, u32)]) -> Vec<(u32, Token)> {
    let predecessors = Predecessors::new(code);
    let mut live = Vec::new();
    let mut seen = vec![Token(u32::MAX); code.blocks.len()];
    let mut work = Vec::new();
    for uses in uses.chunk_by(|a, b| a.0 == b.0) {
        let token = uses[0].0;
        let (by, _) = defined[token.0 as usize];
        work.extend(uses.iter().map(|(_, b)| *b));
        while let Some(b) = work.pop() {
            if std::mem::replace(&mut seen[b as usize], token) == token {
                continue;
            }
            live.push((b, token));
            if by != b {
                // Where it is defined by an instruction, it is not live before.
                let is_param = defined[token.0 as usize].1.is_some();
                let before = predecessors.of(b).iter().copied();
                work.extend(before.filter(|before| is_param || *before != by));
            }
        }
    }
    live
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
