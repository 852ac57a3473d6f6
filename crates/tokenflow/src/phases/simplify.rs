//! Before all phases: takes out the tokens that make no difference.
//!
//! - A token that every edge binds to the same other one, or to itself, **is** that one: an `if` that yields one token in
//!   both arms, what a loop carries around as it is.
//! - A token that nobody awaits, nor anything that it flows into, is **dead**: no edge binds it.
//!
//! What a loop hands on to its next iteration stays, dead or not, if the last iteration hands it out: that says that it is of
//! one iteration, and not of all.
//!
//! What is left is bound because a choice is made that somebody waits for. Else such a token would hold mbarriers of loads
//! together, and be followed, for nothing.
//!
//! **Cost.** Linear in the number of bindings, times how deeply what is bound lies inside of what it is bound to.

use super::tree::{BlockId, Region, RegionId, Step, Tree};
use crate::program::Token;
use std::collections::HashMap;

/// A tree with the same awaits, of the same loads, with fewer tokens bound.
pub(super) fn simplify(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    let same = Same::find(&tree);
    for step in tree.blocks.iter_mut().flat_map(|block| &mut block.steps) {
        if let Step::Await { tokens, .. } | Step::Join { of: tokens, .. } = step {
            for token in tokens {
                *token = same.of(*token);
            }
        }
    }
    for edge in tree.regions.iter_mut().flat_map(|region| &mut region.edges) {
        edge.bindings.retain(|(_, to)| same.of(*to) == *to);
        for (from, _) in &mut edge.bindings {
            *from = same.of(*from);
        }
    }
    let live = live(&tree);
    let is_kept = |token: &Token| live[token.0 as usize] && same.of(*token) == *token;
    for block in &mut tree.blocks {
        block.params.retain(is_kept);
    }
    for region in &mut tree.regions {
        region.results.retain(is_kept);
        for edge in &mut region.edges {
            edge.bindings.retain(|(_, to)| is_kept(to));
        }
    }
    tree
}

/// For each token, whether it or anything that it flows into is awaited.
fn live(tree: &Tree) -> Vec<bool> {
    let mut from: Vec<Vec<Token>> = vec![Vec::new(); tree.tokens as usize];
    let mut work: Vec<Token> = Vec::new();
    for step in tree.blocks.iter().flat_map(|block| &block.steps) {
        match step {
            Step::Await { tokens, .. } => work.extend(tokens),
            Step::Join { token, of } => from[token.0 as usize].extend(of),
            _ => {}
        }
    }
    let edges = tree.regions.iter().flat_map(|region| &region.edges);
    for &(source, to) in edges.flat_map(|edge| &edge.bindings) {
        from[to.0 as usize].push(source);
    }
    for (result, param) in tree.regions.iter().flat_map(of_one_iteration) {
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
fn of_one_iteration(region: &Region) -> Vec<(Token, Token)> {
    if region.results.is_empty() || !region.repeats() {
        return Vec::new();
    }
    let bindings = |out: bool| {
        let inside = region.edges.iter().filter(|edge| edge.from.is_some());
        let edges = inside.filter(move |edge| edge.to.is_none() == out);
        edges.flat_map(|edge| edge.bindings.iter().copied())
    };
    let mut around: HashMap<Token, Vec<Token>> = HashMap::new();
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
struct Same {
    of: Vec<Token>,
}

impl Same {
    fn find(tree: &Tree) -> Self {
        let tokens = tree.tokens as usize;
        let mut same = Self {
            of: (0..tree.tokens).map(Token).collect(),
        };
        let home = blocks(tree);
        let mut bound: HashMap<Token, (RegionId, Vec<Token>)> = HashMap::new();
        let mut next: Vec<Vec<Token>> = vec![Vec::new(); tokens];
        for (r, region) in tree.regions.iter().enumerate() {
            for &(from, to) in region.edges.iter().flat_map(|edge| &edge.bindings) {
                bound.entry(to).or_insert((r, Vec::new())).1.push(from);
                next[from.0 as usize].push(to);
            }
        }
        let mut work: Vec<Token> = bound.keys().copied().collect();
        work.sort_unstable();
        while let Some(token) = work.pop() {
            let (region, from) = &bound[&token];
            if same.of(token) != token {
                continue;
            }
            let mut others = from
                .iter()
                .map(|&from| same.of(from))
                .filter(|from| *from != token);
            let Some(other) = others.next().filter(|other| others.all(|next| next == *other)) else {
                continue;
            };
            // What is made inside is a new one each time.
            if home[other.0 as usize].is_some_and(|home| is_around(tree, home, *region)) {
                same.of[token.0 as usize] = other;
                work.extend(&next[token.0 as usize]);
            }
        }
        same
    }

    fn of(&self, mut token: Token) -> Token {
        while self.of[token.0 as usize] != token {
            token = self.of[token.0 as usize];
        }
        token
    }
}

/// The block that each token is defined in.
fn blocks(tree: &Tree) -> Vec<Option<BlockId>> {
    let mut home = vec![None; tree.tokens as usize];
    for (b, block) in tree.blocks.iter().enumerate() {
        block
            .params
            .iter()
            .for_each(|param| home[param.0 as usize] = Some(b));
        for step in &block.steps {
            match step {
                Step::Load { token, .. } | Step::Join { token, .. } => home[token.0 as usize] = Some(b),
                Step::Region(region) => {
                    let results = tree.regions[*region].results.iter();
                    results.for_each(|result| home[result.0 as usize] = Some(b));
                }
                _ => {}
            }
        }
    }
    home
}

/// Returns true if `region` stands in `block`, or in a region inside.
fn is_around(tree: &Tree, block: BlockId, region: RegionId) -> bool {
    let parent = tree.regions[region].parent;
    std::iter::successors(Some(parent), |&inner| tree.outer(inner)).any(|outer| outer == block)
}
