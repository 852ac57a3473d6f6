//! Which awaits are by some threads only.
//!
//! Who awaits a load knows that it has landed. Where threads take different ways, or have chosen between tokens, others don't
//! know, and the one that issues the next load to the same place may be among them: it has to meet the others first.
//!
//! **Cost.** Linear, but for the loads behind tokens of such awaits, which are looked up for each of them.

use super::tree::{Buffer, Step, Tree};
use crate::program::Token;

/// For each await that some threads may not come by, or not for the same loads, the buffers that its loads write.
pub(super) fn apart(tree: &Tree) -> Vec<Vec<Buffer>> {
    let divergent = divergent(tree);
    let mut out = vec![Vec::new(); tree.awaits];
    if !divergent.contains(&true) {
        return out;
    }
    let flow = Flow::new(tree, &divergent);
    let mut apart = vec![false; tree.blocks.len()];
    // Regions inside of others come after them, and so do their blocks.
    for (r, region) in tree.regions.iter().enumerate() {
        for &block in &region.blocks {
            apart[block] = divergent[r] || apart[region.parent];
        }
    }
    for (block, apart) in tree.blocks.iter().zip(apart) {
        for step in &block.steps {
            if let Step::Await { id, tokens } = step {
                let some = |token: &&Token| apart || flow.chosen[token.0 as usize];
                out[*id] = flow.buffers(tree, tokens.iter().filter(some));
            }
        }
    }
    out
}

/// The regions in which threads may differ.
fn divergent(tree: &Tree) -> Vec<bool> {
    let mut meet = vec![false; tree.regions.len()];
    for (r, region) in tree.regions.iter().enumerate().rev() {
        let mut steps = region.blocks.iter().flat_map(|&block| &tree.blocks[block].steps);
        meet[r] = steps.any(|step| match step {
            Step::Load { .. } | Step::Store { .. } | Step::Barrier => true,
            Step::Region(inner) => meet[*inner],
            _ => false,
        });
    }
    let regions = tree.regions.iter().zip(meet);
    regions.map(|(region, meet)| region.divergent && !meet).collect()
}

/// How tokens flow.
struct Flow {
    /// What each token is made of.
    from: Vec<Vec<Token>>,
    /// The buffer that a token's own load writes.
    loaded: Vec<Option<Buffer>>,
    /// True for tokens that may stand for different loads in different threads.
    chosen: Vec<bool>,
}

impl Flow {
    fn new(tree: &Tree, divergent: &[bool]) -> Self {
        let tokens = tree.tokens as usize;
        let mut flow = Self {
            from: vec![Vec::new(); tokens],
            loaded: vec![None; tokens],
            chosen: vec![false; tokens],
        };
        let mut next: Vec<Vec<Token>> = vec![Vec::new(); tokens];
        for step in tree.blocks.iter().flat_map(|block| &block.steps) {
            match step {
                Step::Load { load, token } => {
                    flow.loaded[token.0 as usize] = Some(tree.loads[*load].buffer);
                }
                Step::Join { token, of } => {
                    flow.from[token.0 as usize].extend(of);
                    for of in of {
                        next[of.0 as usize].push(*token);
                    }
                }
                _ => {}
            }
        }
        let mut work = Vec::new();
        for (region, &divergent) in tree.regions.iter().zip(divergent) {
            for &(from, to) in region.edges.iter().flat_map(|edge| &edge.bindings) {
                flow.from[to.0 as usize].push(from);
                next[from.0 as usize].push(to);
                work.extend(divergent.then_some(to));
            }
        }
        while let Some(token) = work.pop() {
            if !std::mem::replace(&mut flow.chosen[token.0 as usize], true) {
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
