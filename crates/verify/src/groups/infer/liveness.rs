//! Which tokens are used after the beginning of a block.

use crate::groups::code::{Block, BlockId, Code, Instr, Token};
use rustc_hash::FxHashSet;

/// The live tokens of each block.
pub(super) struct Liveness {
    live: Vec<Vec<Token>>,
}

impl Liveness {
    /// Follows each use backward to the definition. Cost: the number of pairs of a block and a token that is live there.
    pub fn new(code: &Code) -> Self {
        let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); code.blocks.len()];
        for (b, block) in code.blocks.iter().enumerate() {
            for to in block.edges.iter().filter_map(|edge| edge.to) {
                predecessors[to.0 as usize].push(b);
            }
        }
        let mut live: Vec<Vec<Token>> = vec![Vec::new(); code.blocks.len()];
        let mut used_at: Vec<(Token, usize)> = Vec::new();
        let mut defined_at: Vec<Vec<u32>> = vec![Vec::new(); code.num_tokens()];
        for (b, place) in code.blocks.iter().enumerate().zip(0..) {
            let (b, block) = b;
            let (uses, defs) = uses_and_defs(block);
            used_at.extend(uses.into_iter().map(|token| (token, b)));
            for token in defs {
                defined_at[token.0 as usize].push(place);
            }
        }
        used_at.sort_unstable();
        let mut work = Vec::new();
        for uses in used_at.chunk_by(|a, b| a.0 == b.0) {
            let token = uses[0].0;
            let mut mark = |b: usize, work: &mut Vec<usize>, is_param: bool| {
                // Tokens come in order: this one is live here already if it is the last.
                if live[b].last() != Some(&token) {
                    live[b].push(token);
                    if !is_param {
                        work.push(b);
                    }
                }
            };
            for &(_, b) in uses {
                mark(b, &mut work, code.blocks[b].params.contains(&token));
            }
            while let Some(b) = work.pop() {
                for &before in &predecessors[b] {
                    let is_defined = u32::try_from(before).is_ok_and(|before| defined_at[token.0 as usize].contains(&before));
                    if !is_defined {
                        mark(before, &mut work, code.blocks[before].params.contains(&token));
                    }
                }
            }
        }
        Self { live }
    }

    /// The tokens that are live at the beginning of a block, in the order of their numbers.
    pub fn at(&self, block: BlockId) -> &[Token] {
        &self.live[block.0 as usize]
    }
}

/// The tokens that a block uses before it defines them, and those that it defines by instructions.
fn uses_and_defs(block: &Block) -> (Vec<Token>, Vec<Token>) {
    let mut defs: FxHashSet<Token> = FxHashSet::default();
    let mut uses = FxHashSet::default();
    let mut use_ = |tokens: &[Token], defs: &FxHashSet<Token>| {
        uses.extend(tokens.iter().filter(|token| !defs.contains(token)).copied());
    };
    for instr in &block.instrs {
        match instr {
            Instr::Issue(_, token) => {
                defs.insert(*token);
            }
            Instr::Await(tokens) => use_(tokens, &defs),
            Instr::Join(token, of) => {
                use_(of, &defs);
                defs.insert(*token);
            }
            Instr::Commit(_) | Instr::Wait(..) => {}
        }
    }
    for edge in &block.edges {
        use_(&edge.args, &defs);
    }
    (uses.into_iter().collect(), defs.into_iter().collect())
}
