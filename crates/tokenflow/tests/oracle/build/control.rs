//! Structured control flow. The `…_n` forms take any number of tokens, the others know theirs.

use super::{Build, edge, exactly, exit};
use tokenflow::{Block, Graph, Item, LoopId, Repeat, Token};

impl Build {
    /// `scf.if` without results and without `else`.
    pub fn if_(&mut self, then: impl FnOnce(&mut Self)) {
        let _: [Token; 0] = self.if_else(
            |b| {
                then(b);
                []
            },
            |_| [],
        );
    }

    /// `scf.if` with an `else`, whose arms yield tokens.
    pub fn if_else<const N: usize>(
        &mut self,
        then: impl FnOnce(&mut Self) -> [Token; N],
        otherwise: impl FnOnce(&mut Self) -> [Token; N],
    ) -> [Token; N] {
        let mut then = Some(then);
        let mut otherwise = Some(otherwise);
        let results = self.arms_n(2, N, |b, arm| {
            let yields = match arm {
                0 => then.take().expect("one call an arm")(b),
                _ => otherwise.take().expect("one call an arm")(b),
            };
            yields.to_vec()
        });
        exactly(&results)
    }

    /// A branch to one of several arms, each yielding `results` tokens (`scf.if`, `scf.index_switch`).
    pub fn arms_n(
        &mut self,
        arms: usize,
        results: usize,
        mut arm: impl FnMut(&mut Self, usize) -> Vec<Token>,
    ) -> Vec<Token> {
        let mut graph = Graph {
            blocks: vec![Block {
                edges: (1..=arms).map(|arm| edge(arm, Vec::new())).collect(),
                ..Block::default()
            }],
        };
        for index in 0..arms {
            graph.blocks.push(self.block(Vec::new(), |b, _| {
                let yields = arm(b, index);
                vec![exit(yields)]
            }));
        }
        self.nested(graph, Vec::new(), results)
    }

    /// `scf.for` with an unknown trip count, which may be zero.
    pub fn for_<const N: usize>(
        &mut self,
        inits: [Token; N],
        body: impl FnOnce(&mut Self, [Token; N]) -> [Token; N],
    ) -> [Token; N] {
        let results = self.for_n(inits.to_vec(), |b, carried| body(b, exactly(carried)).to_vec());
        exactly(&results)
    }

    /// Like [`Self::for_`].
    pub fn for_n(
        &mut self,
        inits: Vec<Token>,
        body: impl FnOnce(&mut Self, &[Token]) -> Vec<Token>,
    ) -> Vec<Token> {
        let count = inits.len();
        let entry = self.tokens(count);
        let mut graph = Graph {
            blocks: vec![Block {
                params: entry.clone(),
                edges: vec![edge(1, entry.clone()), exit(entry)],
                ..Block::default()
            }],
        };
        let carried = self.tokens(count);
        graph.blocks.push(self.block(carried, |b, carried| {
            let yields = body(b, carried);
            vec![edge(1, yields.clone()), exit(yields)]
        }));
        self.nested(graph, inits, count)
    }

    /// `scf.while`: `before` yields what the condition forwards to `after` and to the results.
    pub fn while_<const N: usize, const M: usize>(
        &mut self,
        inits: [Token; N],
        before: impl FnOnce(&mut Self, [Token; N]) -> [Token; M],
        after: impl FnOnce(&mut Self, [Token; M]) -> [Token; N],
    ) -> [Token; M] {
        let results = self.while_n(
            inits.to_vec(),
            M,
            |b, carried| before(b, exactly(carried)).to_vec(),
            |b, forwarded| after(b, exactly(forwarded)).to_vec(),
        );
        exactly(&results)
    }

    /// Like [`Self::while_`].
    pub fn while_n(
        &mut self,
        inits: Vec<Token>,
        forwarded: usize,
        before: impl FnOnce(&mut Self, &[Token]) -> Vec<Token>,
        after: impl FnOnce(&mut Self, &[Token]) -> Vec<Token>,
    ) -> Vec<Token> {
        let entry = self.tokens(inits.len());
        let carried = self.tokens(inits.len());
        let body = self.tokens(forwarded);
        let graph = Graph {
            blocks: vec![
                Block {
                    params: entry.clone(),
                    edges: vec![edge(1, entry)],
                    ..Block::default()
                },
                self.block(carried, |b, carried| {
                    let yields = before(b, carried);
                    vec![edge(2, yields.clone()), exit(yields)]
                }),
                self.block(body, |b, tokens| {
                    let yields = after(b, tokens);
                    vec![edge(1, yields)]
                }),
            ],
        };
        self.nested(graph, inits, forwarded)
    }

    /// `scf.for` with a constant trip count.
    pub fn repeat<const N: usize>(
        &mut self,
        trip: u64,
        inits: [Token; N],
        body: impl FnOnce(&mut Self, [Token; N]) -> [Token; N],
    ) -> [Token; N] {
        let results = self.repeat_n(trip, true, inits.to_vec(), |b, carried| {
            body(b, exactly(carried)).to_vec()
        });
        exactly(&results)
    }

    /// Like [`Self::repeat`].
    pub fn repeat_n(
        &mut self,
        trip: u64,
        peelable: bool,
        inits: Vec<Token>,
        body: impl FnOnce(&mut Self, &[Token]) -> Vec<Token>,
    ) -> Vec<Token> {
        let id: LoopId = self.program.new_loop();
        let carried = self.tokens(inits.len());
        let body = Graph {
            blocks: vec![self.block(carried, |b, carried| {
                let yields = body(b, carried);
                vec![exit(yields)]
            })],
        };
        let results = self.tokens(inits.len());
        let after = self.slot();
        self.block.items.push(Item::from(Repeat {
            id,
            trip,
            peelable,
            body,
            inits,
            results: results.clone(),
            after,
        }));
        results
    }
}
