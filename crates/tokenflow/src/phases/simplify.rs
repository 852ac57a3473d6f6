//! Step 1: copy propagation, and elimination of dead tokens.
//!
//! **In:** a tree. **Out:** a tree with the same awaits of the same loads, and fewer tokens bound.
//!
//! - A token that every edge binds to the same other one, or to itself, is a **copy** of that one: an `if` that yields one token
//!   in both arms, what a loop carries around as it is.
//! - A token is **dead** if neither it nor anything that it flows into is awaited: no edge binds it.
//!
//! What a loop passes on to its next iteration stays, dead or not, if the last iteration passes it out: that says that it is of
//! one iteration, and not of all.
//!
//! What is left is bound because a choice is made that some await depends on. Else such a token would hold mbarriers of loads
//! together, and be followed, for nothing.
//!
//! **Cost.** Linear in the number of bindings, times how deeply what is bound lies inside of what it is bound to.

use super::ids::{BlockId, RegionOpId};
use super::tree::{Inst, RegionOp, Tree};
use crate::program::Token;
use rustc_hash::FxHashMap;

/// A tree with the same awaits, of the same loads, with fewer tokens bound.
pub(super) fn simplify(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    let copies = Copies::find(&tree);
    for inst in tree.blocks.iter_mut().flat_map(|block| &mut block.insts) {
        if let Inst::Await { tokens, .. } | Inst::Join { of: tokens, .. } = inst {
            for token in tokens {
                *token = copies.of(*token);
            }
        }
    }
    for edge in tree.region_ops.iter_mut().flat_map(|op| &mut op.edges) {
        edge.bindings.retain(|(_, to)| copies.of(*to) == *to);
        for (from, _) in &mut edge.bindings {
            *from = copies.of(*from);
        }
    }
    let live = live(&tree);
    let is_kept = |token: &Token| live[token.0 as usize] && copies.of(*token) == *token;
    for block in &mut tree.blocks {
        block.params.retain(is_kept);
    }
    for op in &mut tree.region_ops {
        op.results.retain(is_kept);
        for edge in &mut op.edges {
            edge.bindings.retain(|(_, to)| is_kept(to));
        }
    }
    tree
}

/// For each token, whether it or anything that it flows into is awaited.
fn live(tree: &Tree) -> Vec<bool> {
    let mut from: Vec<Vec<Token>> = vec![Vec::new(); tree.tokens as usize];
    let mut work: Vec<Token> = Vec::new();
    for inst in tree.blocks.iter().flat_map(|block| &block.insts) {
        match inst {
            Inst::Await { tokens, .. } => work.extend(tokens),
            Inst::Join { token, of } => from[token.0 as usize].extend(of),
            _ => {}
        }
    }
    let edges = tree.region_ops.iter().flat_map(|op| &op.edges);
    for &(source, to) in edges.flat_map(|edge| &edge.bindings) {
        from[to.0 as usize].push(source);
    }
    for (result, param) in tree.region_ops.iter().flat_map(of_one_iteration) {
        from[result.0 as usize].push(param);
    }
    let mut live = vec![false; from.len()];
    while let Some(token) = work.pop() {
        if !std::mem::replace(&mut live[token.0 as usize], true) {
            work.extend(&from[token.0 as usize]);
        }
    }
    live
}

/// The results of a loop that are what an argument would be in the next iteration, with the arguments.
fn of_one_iteration(op: &RegionOp) -> Vec<(Token, Token)> {
    if op.results.is_empty() || !op.repeats() {
        return Vec::new();
    }
    let bindings = |out: bool| {
        let inside = op.edges.iter().filter(|edge| edge.from.is_some());
        let edges = inside.filter(move |edge| edge.to.is_none() == out);
        edges.flat_map(|edge| edge.bindings.iter().copied())
    };
    let mut around: FxHashMap<Token, Vec<Token>> = FxHashMap::default();
    for (from, param) in bindings(false) {
        around.entry(from).or_default().push(param);
    }
    let out = bindings(true);
    out.flat_map(|(from, result)| {
        let params = around.get(&from).into_iter().flatten();
        params.map(move |&param| (result, param)).collect::<Vec<_>>()
    })
    .collect()
}

/// Which tokens are others.
struct Copies {
    of: Vec<Token>,
}

impl Copies {
    fn find(tree: &Tree) -> Self {
        let tokens = tree.tokens as usize;
        let mut copies = Self {
            of: (0..tree.tokens).map(Token).collect(),
        };
        let def_block = def_blocks(tree);
        let mut incoming: FxHashMap<Token, (RegionOpId, Vec<Token>)> = FxHashMap::default();
        let mut next: Vec<Vec<Token>> = vec![Vec::new(); tokens];
        for (r, op) in tree.region_ops.with_ids() {
            for &(from, to) in op.edges.iter().flat_map(|edge| &edge.bindings) {
                incoming.entry(to).or_insert((r, Vec::new())).1.push(from);
                next[from.0 as usize].push(to);
            }
        }
        let mut work: Vec<Token> = incoming.keys().copied().collect();
        work.sort_unstable();
        while let Some(token) = work.pop() {
            let (op, from) = &incoming[&token];
            if copies.of(token) != token {
                continue;
            }
            let mut others = from
                .iter()
                .map(|&from| copies.of(from))
                .filter(|from| *from != token);
            let Some(other) = others.next().filter(|other| others.all(|next| next == *other)) else {
                continue;
            };
            // What is made inside is a new one each time.
            if def_block[other.0 as usize].is_some_and(|def_block| is_around(tree, def_block, *op)) {
                copies.of[token.0 as usize] = other;
                work.extend(&next[token.0 as usize]);
            }
        }
        copies
    }

    fn of(&self, mut token: Token) -> Token {
        while self.of[token.0 as usize] != token {
            token = self.of[token.0 as usize];
        }
        token
    }
}

/// The block that each token is defined in.
fn def_blocks(tree: &Tree) -> Vec<Option<BlockId>> {
    let mut def_block = vec![None; tree.tokens as usize];
    for (b, block) in tree.blocks.with_ids() {
        block
            .params
            .iter()
            .for_each(|param| def_block[param.0 as usize] = Some(b));
        for inst in &block.insts {
            match inst {
                Inst::Load { token, .. } | Inst::Join { token, .. } => def_block[token.0 as usize] = Some(b),
                Inst::RegionOp(op) => {
                    let results = tree.region_ops[*op].results.iter();
                    results.for_each(|result| def_block[result.0 as usize] = Some(b));
                }
                _ => {}
            }
        }
    }
    def_block
}

/// Returns true if `op` stands in `block`, or in a region op inside.
fn is_around(tree: &Tree, block: BlockId, op: RegionOpId) -> bool {
    let parent = tree.region_ops[op].parent;
    std::iter::successors(Some(parent), |&inner| tree.outer(inner)).any(|outer| outer == block)
}
