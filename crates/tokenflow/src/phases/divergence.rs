//! Step 8: finds awaits that only some threads execute.
//!
//! **In:** where threads may take different paths. **Out:** for each await, the buffers whose loads only some threads know of.
//!
//! Who awaits a load knows that it has landed. Where threads take different paths, or have chosen between tokens, others don't
//! know, and the one that issues the next load to the same place may be among them: it has to meet the others first.
//!
//! **Cost.** Linear, but for the loads that tokens of such awaits stand for, which are looked up for each of them.

use super::ids::{AwaitId, IndexVec, RegionOpId};
use super::tree::{Buffer, Inst, Tree};
use crate::program::Token;

/// For each await that some threads may not reach, or not with the same loads, the buffers that its loads write.
pub(super) fn divergent_awaits(tree: &Tree) -> IndexVec<AwaitId, Vec<Buffer>> {
    let divergent = divergent_ops(tree);
    let mut out = IndexVec::filled(Vec::new(), tree.awaits);
    if !divergent.contains(&true) {
        return out;
    }
    let flow = TokenFlow::new(tree, &divergent);
    let mut in_divergent = IndexVec::filled(false, tree.blocks.len());
    // Regions inside of others come after them, and so do their blocks.
    for (r, op) in tree.region_ops.with_ids() {
        for &block in &op.blocks {
            in_divergent[block] = divergent[r] || in_divergent[op.parent];
        }
    }
    for (block, in_divergent) in tree.blocks.iter().zip(in_divergent) {
        for inst in &block.insts {
            if let Inst::Await { id, tokens } = inst {
                let some = |token: &&Token| in_divergent || flow.divergent[token.0 as usize];
                out[*id] = flow.buffers(tree, tokens.iter().filter(some));
            }
        }
    }
    out
}

/// The region ops in which threads may differ.
fn divergent_ops(tree: &Tree) -> IndexVec<RegionOpId, bool> {
    let mut meet = IndexVec::filled(false, tree.region_ops.len());
    for (r, op) in tree.region_ops.with_ids().rev() {
        let mut insts = op.blocks.iter().flat_map(|&block| &tree.blocks[block].insts);
        meet[r] = insts.any(|inst| match inst {
            Inst::Load { .. } | Inst::Store { .. } | Inst::Barrier => true,
            Inst::RegionOp(inner) => meet[*inner],
            _ => false,
        });
    }
    let regions = tree.region_ops.iter().zip(meet);
    regions.map(|(op, meet)| op.divergent && !meet).collect()
}

/// How tokens flow.
struct TokenFlow {
    /// What each token is made of.
    from: Vec<Vec<Token>>,
    /// The buffer that a token's own load writes.
    loaded: Vec<Option<Buffer>>,
    /// True for tokens that may stand for different loads in different threads.
    divergent: Vec<bool>,
}

impl TokenFlow {
    fn new(tree: &Tree, divergent: &IndexVec<RegionOpId, bool>) -> Self {
        let tokens = tree.tokens as usize;
        let mut flow = Self {
            from: vec![Vec::new(); tokens],
            loaded: vec![None; tokens],
            divergent: vec![false; tokens],
        };
        let mut next: Vec<Vec<Token>> = vec![Vec::new(); tokens];
        for inst in tree.blocks.iter().flat_map(|block| &block.insts) {
            match inst {
                Inst::Load { load, token } => {
                    flow.loaded[token.0 as usize] = Some(tree.loads[*load].buffer);
                }
                Inst::Join { token, of } => {
                    flow.from[token.0 as usize].extend(of);
                    for of in of {
                        next[of.0 as usize].push(*token);
                    }
                }
                _ => {}
            }
        }
        let mut work = Vec::new();
        for (op, &divergent) in tree.region_ops.iter().zip(divergent) {
            for &(from, to) in op.edges.iter().flat_map(|edge| &edge.bindings) {
                flow.from[to.0 as usize].push(from);
                next[from.0 as usize].push(to);
                work.extend(divergent.then_some(to));
            }
        }
        while let Some(token) = work.pop() {
            if !std::mem::replace(&mut flow.divergent[token.0 as usize], true) {
                work.extend(&next[token.0 as usize]);
            }
        }
        flow
    }

    /// What the loads write that tokens may stand for.
    fn buffers<'t>(&self, tree: &Tree, tokens: impl Iterator<Item = &'t Token>) -> Vec<Buffer> {
        let mut work: Vec<Token> = tokens.copied().collect();
        if work.is_empty() {
            return Vec::new();
        }
        let mut seen = vec![false; tree.tokens as usize];
        let mut buffers = Vec::new();
        while let Some(token) = work.pop() {
            if !std::mem::replace(&mut seen[token.0 as usize], true) {
                buffers.extend(self.loaded[token.0 as usize]);
                work.extend(&self.from[token.0 as usize]);
            }
        }
        buffers
    }
}
