//! Helpers for graphs of blocks: dominators, numbering, and text that a person can read.

use super::execute::Emitted;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;
use tokenflow::{Await, Graph, Item, Program, Site, Slot, Target, Token};

/// The blocks on every path from block 0 to each block; a block that is not reached has none but itself.
pub fn dominators(edges: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
    let reached_without = |avoid: usize| {
        let mut reached = BTreeSet::new();
        let mut open = VecDeque::from([0]);
        while let Some(block) = open.pop_front() {
            if block != avoid && block < edges.len() && reached.insert(block) {
                open.extend(&edges[block]);
            }
        }
        reached
    };
    let reached = reached_without(usize::MAX);
    let mut dominators: Vec<BTreeSet<usize>> =
        (0..edges.len()).map(|block| BTreeSet::from([block])).collect();
    for above in 0..edges.len() {
        for below in reached.difference(&reached_without(above)) {
            dominators[*below].insert(above);
        }
    }
    dominators
}

/// Numbers sites, awaits, loops and slots in the order of the text.
pub fn in_text_order(mut program: Program) -> Program {
    let mut numbers = Program::default();
    let mut body = std::mem::take(&mut program.body);
    number(&mut body, &mut numbers);
    Program {
        body,
        tokens: program.tokens,
        queues: program.queues,
        ..numbers
    }
}

fn number(graph: &mut Graph, numbers: &mut Program) {
    let next = |slot: &mut Option<Slot>, numbers: &mut Program| {
        *slot = slot.map(|_| numbers.slot());
    };
    for block in &mut graph.blocks {
        next(&mut block.start, numbers);
        for item in &mut block.items {
            match item {
                Item::Issue { site, slot, .. } => {
                    *site = numbers.site();
                    next(slot, numbers);
                }
                Item::Await { site, .. } => *site = numbers.new_await(),
                Item::Nested(nested) => {
                    number(&mut nested.graph, numbers);
                    next(&mut nested.after, numbers);
                }
                Item::Repeat(repeat) => {
                    repeat.id = numbers.new_loop();
                    number(&mut repeat.body, numbers);
                    next(&mut repeat.after, numbers);
                }
                Item::Point(slot) => *slot = numbers.slot(),
                Item::Commit { .. } | Item::Wait { .. } | Item::Join { .. } => {}
            }
        }
    }
}

/// The program as text, with what is emitted for it.
pub fn text(program: &Program, emitted: &[Emitted]) -> String {
    let mut text = Text {
        out: String::new(),
        emitted,
        indent: 0,
    };
    text.graph(&program.body);
    text.out
}

struct Text<'a> {
    out: String,
    emitted: &'a [Emitted],
    indent: usize,
}

impl Text<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.out, "{:1$}{line}", "", 2 * self.indent);
    }

    fn slot(&mut self, slot: Option<Slot>) {
        let Some(slot) = slot else { return };
        for queue in 0..self.emitted.len() {
            match self.emitted[queue].commits[slot.0 as usize] {
                0 => {}
                count => self.line(&format!("commit q{queue} x{count}     // slot {}", slot.0)),
            }
        }
    }

    fn wait(&self, site: Await) -> String {
        let wait = |emitted: &Emitted| match emitted.waits[site.0 as usize] {
            Some(n) => n.to_string(),
            None => "-".into(),
        };
        self.emitted.iter().map(wait).collect::<Vec<_>>().join(" ")
    }

    fn graph(&mut self, graph: &Graph) {
        for (index, block) in graph.blocks.iter().enumerate() {
            if index > 0 || graph.blocks.len() > 1 || !block.params.is_empty() {
                self.line(&format!("^{index}({}):", list(&block.params)));
            }
            self.slot(block.start);
            block.items.iter().for_each(|item| self.item(item));
            let edge = |edge: &tokenflow::Edge| match edge.to {
                Target::Block(to) => format!("^{to}({})", list(&edge.args)),
                Target::Exit => format!("exit({})", list(&edge.args)),
            };
            let edges: Vec<String> = block.edges.iter().map(edge).collect();
            self.line(&format!(
                "-> {}",
                if edges.is_empty() {
                    "end".into()
                } else {
                    edges.join(" | ")
                }
            ));
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Issue {
                site,
                queue,
                token,
                read,
                slot,
            } => {
                let tokens: Vec<Token> = read.iter().chain(token).copied().collect();
                self.line(&format!(
                    "{} = copy q{}     // site {}",
                    list(&tokens),
                    queue.0,
                    Site(site.0).0
                ));
                self.slot(*slot);
            }
            Item::Commit { queue, token } => {
                self.line(&format!(
                    "{} = commit q{}     // given",
                    list(token.as_slice()),
                    queue.0
                ));
            }
            Item::Wait { queue, n, read } => {
                let read = if *read { " read" } else { "" };
                self.line(&format!("wait q{}, {n}{read}     // given", queue.0));
            }
            Item::Await { site, tokens, .. } => {
                self.line(&format!(
                    "await {}     // await {}: wait {}",
                    list(tokens),
                    site.0,
                    self.wait(*site)
                ));
            }
            Item::Point(slot) => self.slot(Some(*slot)),
            Item::Join { token, of } => self.line(&format!("{} = join {}", list(&[*token]), list(of))),
            Item::Nested(nested) => {
                self.line(&format!(
                    "{} = nested({}) {{",
                    list(&nested.results),
                    list(&nested.inits)
                ));
                self.inside(&nested.graph);
                self.slot(nested.after);
            }
            Item::Repeat(repeat) => {
                let peelable = if repeat.peelable { "" } else { " (not peelable)" };
                self.line(&format!(
                    "{} = repeat {}{peelable} ({}) {{",
                    list(&repeat.results),
                    repeat.trip,
                    list(&repeat.inits)
                ));
                self.inside(&repeat.body);
                self.slot(repeat.after);
            }
        }
    }

    fn inside(&mut self, graph: &Graph) {
        self.indent += 1;
        self.graph(graph);
        self.indent -= 1;
        self.line("}");
    }
}

fn list(tokens: &[Token]) -> String {
    let name = |token: &Token| format!("%{}", token.0);
    tokens.iter().map(name).collect::<Vec<_>>().join(", ")
}
