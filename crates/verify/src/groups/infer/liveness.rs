//! Which tokens are used after the beginning of a block.

use crate::groups::code::{BlockId, Code, Instr, Span, Token};
use crate::groups::lists::{filled, list_for};

/// No block, token or item.
const NONE: u32 = u32::MAX;

/// The live tokens of each block.
pub(crate) struct Liveness {
    /// By block, where its tokens begin.
    starts: Vec<u32>,
    tokens: Vec<Token>,
    /// By token of that list, its place among the parameters of the block; [`NONE`] if it is not one of them.
    params: Vec<u32>,
}

impl Liveness {
    /// Follows each use backward to the definition. Cost: the number of pairs of a block and a token that is live there.
    pub fn new(code: &Code) -> Self {
        let (tokens, _) = code.num_tokens_and_fifos();
        Self::of_tokens(code, tokens)
    }

    /// The same for code that has so many tokens.
    pub fn of_tokens(code: &Code, tokens: usize) -> Self {
        let defined = Definition::all(code, tokens);
        let live = follow(code, &defined);
        let mut starts = filled(0, code.blocks.len() + 1);
        for (b, _) in &live {
            starts[*b as usize + 1] += 1;
        }
        for b in 0..code.blocks.len() {
            starts[b + 1] += starts[b];
        }
        let mut next = list_for(starts.len());
        next.extend_from_slice(&starts);
        let mut tokens = filled(Token(0), live.len());
        let mut params = filled(NONE, live.len());
        for (b, token) in live {
            let next = &mut next[b as usize];
            let place = *next as usize;
            *next += 1;
            tokens[place] = token;
            let by = defined[token.0 as usize];
            if by.block == b {
                params[place] = by.param;
            }
        }
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

    /// The tokens that are live where `block` begins.
    pub fn tokens(&self, block: BlockId) -> &[Token] {
        &self.tokens[self.places(block)]
    }

    /// The tokens that are live where `block` begins, each with which of its parameters it is.
    pub fn sources(&self, block: BlockId) -> impl Iterator<Item = (Token, Option<u32>)> {
        let params = &self.params[self.places(block)];
        let params = params.iter().map(|param| (*param != NONE).then_some(*param));
        self.tokens(block).iter().copied().zip(params)
    }
}

/// The definition of a token.
#[derive(Clone, Copy)]
struct Definition {
    block: u32,
    /// Its place among the parameters of the block; [`NONE`] if an instruction defines it.
    param: u32,
}

impl Definition {
    fn is_param(self) -> bool {
        self.param != NONE
    }

    /// The definitions of all tokens, of which there are so many.
    fn all(code: &Code, tokens: usize) -> Vec<Self> {
        let nowhere = Self {
            block: NONE,
            param: NONE,
        };
        let mut defined = filled(nowhere, tokens);
        for (b, block) in (0..).zip(&code.blocks) {
            for (place, param) in (0..).zip(block.params.of(&code.tokens)) {
                defined[param.0 as usize] = Self {
                    block: b,
                    param: place,
                };
            }
            for instr in block.instrs.of(&code.instrs) {
                if let Instr::Issue(_, token) | Instr::Join(token, _) = instr {
                    defined[token.0 as usize] = Self {
                        block: b,
                        param: NONE,
                    };
                }
            }
        }
        defined
    }
}

/// The blocks where each token is live, in the order of tokens.
fn follow(code: &Code, defined: &[Definition]) -> Vec<(u32, Token)> {
    let uses = Uses::new(code, defined);
    let mut live = list_for(defined.len());
    let mut seen = filled(Token(NONE), code.blocks.len());
    let predecessors = uses.predecessors(code);
    let mut work = Vec::new();
    for (token, by) in (0..).map(Token).zip(defined) {
        if uses.of_params[token.0 as usize] {
            seen[by.block as usize] = token;
            live.push((by.block, token));
        }
        uses.elsewhere.for_each(token.0, |b| work.push(b));
        while let Some(b) = work.pop() {
            if std::mem::replace(&mut seen[b as usize], token) == token {
                continue;
            }
            live.push((b, token));
            if by.block == b {
                continue;
            }
            predecessors.for_each(b, |before| {
                // Where an instruction defines it, it is not live before.
                if before != by.block || by.is_param() {
                    work.push(before);
                }
            });
        }
    }
    live
}

/// A list for each of many keys.
struct Lists {
    /// By key, the first of its items.
    first: Vec<u32>,
    /// Each item, and the next one of the same key.
    items: Vec<(u32, u32)>,
}

impl Lists {
    fn new(keys: usize, capacity: usize) -> Self {
        Self {
            first: filled(NONE, keys),
            items: list_for(capacity),
        }
    }

    fn add(&mut self, key: u32, item: u32) {
        let place = u32::try_from(self.items.len()).unwrap_or(NONE);
        let next = std::mem::replace(&mut self.first[key as usize], place);
        self.items.push((item, next));
    }

    fn for_each(&self, key: u32, mut f: impl FnMut(u32)) {
        let mut place = self.first[key as usize];
        while let Some(&(item, next)) = self.items.get(place as usize) {
            f(item);
            place = next;
        }
    }
}

/// The uses of all tokens, but for those in the block whose instruction defines the token.
struct Uses {
    /// By token, whether it is a parameter that its own block uses: most uses are of this kind.
    of_params: Vec<bool>,
    /// By token, the other blocks that use it.
    elsewhere: Lists,
}

impl Uses {
    fn new(code: &Code, defined: &[Definition]) -> Self {
        let mut uses = Self {
            of_params: filled(false, defined.len()),
            elsewhere: Lists::new(defined.len(), defined.len()),
        };
        for (b, block) in (0..).zip(&code.blocks) {
            let mut add = |tokens: Span| {
                for token in tokens.of(&code.tokens) {
                    let by = defined[token.0 as usize];
                    if by.block != b {
                        uses.elsewhere.add(token.0, b);
                    } else if by.is_param() {
                        uses.of_params[token.0 as usize] = true;
                    }
                }
            };
            for instr in block.instrs.of(&code.instrs) {
                if let Instr::Await(of) | Instr::Join(_, of) = instr {
                    add(*of);
                }
            }
            for edge in block.edges.of(&code.edges) {
                add(edge.args);
            }
        }
        uses
    }

    /// The blocks that come before each block, if any token is followed there.
    fn predecessors(&self, code: &Code) -> Lists {
        if self.elsewhere.items.is_empty() {
            Lists::new(0, 0)
        } else {
            predecessors(code)
        }
    }
}

/// The blocks that edges to each block come from.
fn predecessors(code: &Code) -> Lists {
    let mut predecessors = Lists::new(code.blocks.len(), code.edges.len());
    for (b, block) in (0..).zip(&code.blocks) {
        for to in block.edges.of(&code.edges).iter().filter_map(|edge| edge.to) {
            predecessors.add(to.0, b);
        }
    }
    predecessors
}
