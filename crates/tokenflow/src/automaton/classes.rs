//! Computes equivalence classes of the steps of a body: those that do the same, up to the names of what they
//! define and use.

use super::interner::Interner;
use crate::program::{Edge, Graph, Item, Program, Slot, Target, Token, ensure_sufficient_stack};
use crate::straight_line::StraightLine;

/// Returns the class of each step. Steps of one class have the same items, slots and awaits, and hand on the same ones of
/// the tokens that are live before them and defined in them.
pub(super) fn classes(program: &Program, line: &StraightLine) -> Vec<u32> {
    let items = &program.body.blocks[0].items;
    let mut known = Interner::new();
    let mut words = Vec::new();
    let steps = (0..line.len()).map(|step| {
        words.clear();
        let mut writer = Writer {
            live: line.live_in(step),
            first: None,
            first_site: line.first_site(step),
            words: &mut words,
        };
        match step.checked_sub(1) {
            None => writer.slot(program.body.blocks[0].start),
            Some(i) => writer.item(&items[i]),
        }
        if step + 1 < line.len() {
            writer.tokens(line.live_in(step + 1));
        }
        known.number(&words)
    });
    steps.collect()
}

/// Writes a step as words, none of which says where in the program it is.
struct Writer<'a> {
    /// The tokens that are live before the step.
    live: &'a [Token],
    /// The first token met that is not: it is defined in the step, and so are all others that are not live.
    first: Option<Token>,
    /// The number of its first operation.
    first_site: u32,
    words: &'a mut Vec<u32>,
}

impl Writer<'_> {
    fn number(&mut self, n: usize) {
        self.words.push(u32::try_from(n).unwrap_or(u32::MAX));
    }

    fn slot(&mut self, slot: Option<Slot>) {
        self.words.push(u32::from(slot.is_some()));
    }

    fn token(&mut self, token: Token) {
        if let Some(place) = self.live.iter().position(|live| *live == token) {
            self.number(2 * place);
        } else {
            let first = *self.first.get_or_insert(token);
            self.words
                .push(token.0.wrapping_sub(first.0).wrapping_mul(2).wrapping_add(1));
        }
    }

    fn tokens(&mut self, tokens: &[Token]) {
        self.number(tokens.len());
        for &token in tokens {
            self.token(token);
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Issue {
                site,
                queue,
                token,
                read,
                ..
            } => {
                let site = site.0.wrapping_sub(self.first_site);
                self.words.extend([0, site, u32::from(queue.0)]);
                self.tokens(token.as_slice());
                self.tokens(read.as_slice());
            }
            Item::Commit { queue, token } => {
                self.words.extend([1, u32::from(queue.0)]);
                self.tokens(token.as_slice());
            }
            Item::Wait { queue, n, read } => {
                self.words.extend([2, u32::from(queue.0), *n, u32::from(*read)]);
            }
            Item::Await { tokens, covered, .. } => {
                self.words.extend([3, u32::from(*covered)]);
                self.tokens(tokens);
            }
            Item::Join { token, of } => {
                self.words.push(4);
                self.token(*token);
                self.tokens(of);
            }
            Item::Point(_) => self.words.push(5),
            Item::Nested(nested) => {
                self.words.push(6);
                self.tokens(&nested.inits);
                self.tokens(&nested.results);
                self.graph(&nested.graph);
            }
            Item::Repeat(repeat) => {
                let [low, high] = [repeat.trip & u64::from(u32::MAX), repeat.trip >> 32];
                let trip = [low, high].map(|half| u32::try_from(half).unwrap_or(u32::MAX));
                self.words.push(7);
                self.words.extend(trip);
                self.tokens(&repeat.inits);
                self.tokens(&repeat.results);
                self.graph(&repeat.body);
            }
        }
        self.slot(item.after());
    }

    fn graph(&mut self, graph: &Graph) {
        self.number(graph.blocks.len());
        for block in &graph.blocks {
            self.tokens(&block.params);
            self.slot(block.start);
            self.number(block.items.len());
            ensure_sufficient_stack(|| block.items.iter().for_each(|item| self.item(item)));
            self.number(block.edges.len());
            block.edges.iter().for_each(|edge| self.edge(edge));
        }
    }

    fn edge(&mut self, edge: &Edge) {
        match edge.to {
            Target::Exit => self.number(0),
            Target::Block(to) => self.number(1 + to),
        }
        self.tokens(&edge.args);
    }
}
