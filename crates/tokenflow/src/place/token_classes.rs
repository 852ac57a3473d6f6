//! Computes classes of tokens that flow together, by union-find.

use crate::program::{Graph, Item, Program, Target, Token, ensure_sufficient_stack};

/// Tokens in classes (union-find).
pub(super) struct Classes {
    parents: Vec<u32>,
    /// Tokens that are complete from the start; what else they flow to is no tie.
    ready: Vec<bool>,
}

impl Classes {
    fn new(tokens: u32) -> Self {
        Self {
            parents: (0..tokens).collect(),
            ready: vec![false; tokens as usize],
        }
    }

    /// Returns the name of the class of `token`.
    pub fn find(&self, token: Token) -> u32 {
        self.parents[token.0 as usize]
    }

    fn root(&mut self, token: Token) -> u32 {
        let mut at = token.0;
        while self.parents[at as usize] != at {
            let up = self.parents[at as usize];
            self.parents[at as usize] = self.parents[up as usize];
            at = up;
        }
        at
    }

    fn join(&mut self, a: Token, b: Token) {
        if self.ready[a.0 as usize] || self.ready[b.0 as usize] {
            return;
        }
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// Has each token know its class.
    fn settle(&mut self) {
        // A parent has a smaller number.
        for i in 0..self.parents.len() {
            self.parents[i] = self.parents[self.parents[i] as usize];
        }
    }
}

/// Which tokens of a program flow together.
pub(super) struct TokenClasses {
    /// Connected by any flow.
    pub any: Classes,
    /// Connected by joins alone, that is within one instance.
    pub joined: Classes,
}

impl TokenClasses {
    /// Returns the classes of a program's tokens.
    pub fn of(program: &Program) -> Self {
        let mut token_classes = Self {
            any: Classes::new(program.tokens),
            joined: Classes::new(program.tokens),
        };
        token_classes.graph(&program.body);
        token_classes.any.settle();
        token_classes.joined.settle();
        token_classes
    }

    fn graph(&mut self, graph: &Graph) {
        ensure_sufficient_stack(|| {
            for block in &graph.blocks {
                for item in &block.items {
                    self.item(item);
                }
                for edge in &block.edges {
                    if let Target::Block(to) = edge.to {
                        self.all(&edge.args, &graph.blocks[to].params);
                    }
                }
            }
        });
    }

    fn all(&mut self, from: &[Token], to: &[Token]) {
        for (&from, &to) in from.iter().zip(to) {
            self.any.join(from, to);
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            // Either token says with which other operations this one must agree.
            Item::Issue {
                token: Some(token),
                read: Some(read),
                ..
            } => {
                self.any.join(*token, *read);
                self.joined.join(*token, *read);
            }
            Item::Join { token, of } => {
                let ready = of.iter().all(|from| self.any.ready[from.0 as usize]);
                for classes in [&mut self.any, &mut self.joined] {
                    classes.ready[token.0 as usize] = ready;
                }
                for &from in of {
                    self.any.join(from, *token);
                    self.joined.join(from, *token);
                }
            }
            Item::Nested(nested) => {
                if let Some(first) = nested.graph.blocks.first() {
                    self.all(&nested.inits, &first.params);
                }
                self.exits(&nested.graph, &nested.results);
                self.graph(&nested.graph);
            }
            Item::Repeat(repeat) => {
                self.all(&repeat.inits, &repeat.results);
                if let Some(first) = repeat.body.blocks.first() {
                    self.all(&repeat.inits, &first.params);
                }
                self.exits(&repeat.body, &repeat.results);
                self.graph(&repeat.body);
            }
            _ => {}
        }
    }

    fn exits(&mut self, graph: &Graph, results: &[Token]) {
        for edge in graph.blocks.iter().flat_map(|block| &block.edges) {
            if edge.to == Target::Exit {
                self.all(&edge.args, results);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::build::Build;

    #[test]
    fn joins_and_edges() {
        let mut b = Build::new();
        let (x, y, alone) = (b.copy(), b.copy(), b.copy());
        let joined = b.join(&[x, y]);
        let [carried] = b.for_([joined], |b, _| [b.copy()]);
        let ready = b.ready();
        let mixed = b.join(&[alone, ready]);
        let other = b.copy();
        let _ = b.join(&[other, ready]);
        let token_classes = TokenClasses::of(&b.finish());
        let same = |a, b| {
            (
                token_classes.any.find(a) == token_classes.any.find(b),
                token_classes.joined.find(a) == token_classes.joined.find(b),
            )
        };
        assert_eq!(same(x, y), (true, true));
        assert_eq!(same(x, joined), (true, true));
        // What a loop carries is of another instance.
        assert_eq!(same(joined, carried), (true, false));
        assert_eq!(same(x, alone), (false, false));
        // A token that is complete from the start is no tie.
        assert_eq!(same(alone, mixed), (true, true));
        assert_eq!(same(ready, mixed), (false, false));
        assert_eq!(same(alone, other), (false, false));
    }

    #[test]
    fn both_tokens_of_an_operation() {
        let mut b = Build::new();
        let [read, done] = b.store_on(crate::oracle::build::Q);
        let token_classes = TokenClasses::of(&b.finish());
        assert_eq!(token_classes.any.find(read), token_classes.any.find(done));
        assert_eq!(token_classes.joined.find(read), token_classes.joined.find(done));
    }
}
