//! Splits operations with two completions into ones with a single completion.
//!
//! A queue whose operations have a token for their reads becomes two queues with the same commits: one that
//! completes what its name says, and one for the reads, on which every wait of the first counts as well. Nothing
//! else in the oracle but `execute` knows of reads; `the_oracle_agrees_with_itself` holds the two against each other.
//! There, a wait for reads alone is one that comes with an await.

use super::execute::Emitted;
use tokenflow::{Block, Graph, Item, Program, Queue, Site};

/// A program without reads, and what is emitted for it.
pub struct Split {
    pub program: Program,
    pub emitted: Vec<Emitted>,
    /// For each queue of the original, the one for its reads, if it has any.
    pub reads: Vec<Option<Queue>>,
}

/// Splits every queue that has reads.
pub fn split(program: &Program, emitted: &[Emitted]) -> Split {
    let mut new = Split {
        program: program.clone(),
        emitted: emitted.to_vec(),
        reads: vec![None; emitted.len()],
    };
    program.body.visit(&mut |item| match item {
        Item::Issue {
            queue, read: Some(_), ..
        }
        | Item::Wait {
            queue, read: true, ..
        } => {
            new.reads[queue.0 as usize].get_or_insert(Queue(0));
        }
        _ => {}
    });
    for (queue, reads) in new.reads.iter_mut().enumerate() {
        if let Some(reads) = reads {
            *reads = Queue(new.program.queues);
            new.program.queues += 1;
            new.emitted.push(Emitted {
                commits: emitted[queue].commits.clone(),
                waits: emitted[queue].reads.clone(),
                reads: Vec::new(),
            });
        }
    }
    let (reads, sites) = (new.reads.clone(), &mut new.program.sites);
    let mut splitter = Splitter {
        reads,
        emitted,
        sites,
    };
    let body = splitter.graph(&program.body);
    new.program.body = body;
    new
}

/// A split program in which waits that come with an await are waits like others, so that it can be executed.
pub fn executable(program: &Program) -> Program {
    let mut program = program.clone();
    make_executable(&mut program.body);
    program
}

fn make_executable(graph: &mut Graph) {
    for item in graph.blocks.iter_mut().flat_map(|block| &mut block.items) {
        match item {
            Item::Wait { read, .. } => *read = false,
            Item::Nested(nested) => make_executable(&mut nested.graph),
            Item::Repeat(repeat) => make_executable(&mut repeat.body),
            _ => {}
        }
    }
}

struct Splitter<'a> {
    reads: Vec<Option<Queue>>,
    emitted: &'a [Emitted],
    sites: &'a mut u32,
}

impl Splitter<'_> {
    fn graph(&mut self, graph: &Graph) -> Graph {
        let blocks = graph.blocks.iter().map(|block| {
            let items = block.items.iter().flat_map(|item| self.item(item));
            Block {
                items: items.collect(),
                ..block.clone()
            }
        });
        Graph {
            blocks: blocks.collect(),
        }
    }

    fn item(&mut self, item: &Item) -> Vec<Item> {
        let mut item = item.clone();
        let mut before = Vec::new();
        match &mut item {
            Item::Issue { queue, read, .. } => {
                if let Some(reads) = self.reads[queue.0 as usize] {
                    *self.sites += 1;
                    before.push(Item::Issue {
                        site: Site(*self.sites - 1),
                        queue: reads,
                        token: read.take(),
                        read: None,
                        slot: None,
                    });
                }
            }
            Item::Commit { queue, .. } => {
                let reads = self.reads[queue.0 as usize];
                before.extend(reads.map(|queue| Item::Commit { queue, token: None }));
            }
            Item::Wait { queue, n, read } => {
                if let Some(reads) = self.reads[queue.0 as usize] {
                    let wait = Item::Wait {
                        queue: reads,
                        n: *n,
                        read: false,
                    };
                    if *read {
                        return vec![wait];
                    }
                    before.push(wait);
                }
            }
            Item::Await { site, .. } => {
                for (emitted, reads) in self.emitted.iter().zip(&self.reads) {
                    if let (Some(n), Some(queue)) = (emitted.waits[site.0 as usize], *reads) {
                        before.push(Item::Wait { queue, n, read: true });
                    }
                }
            }
            Item::Join { .. } | Item::Point(_) => {}
            Item::Nested(nested) => nested.graph = self.graph(&nested.graph),
            Item::Repeat(repeat) => repeat.body = self.graph(&repeat.body),
        }
        before.push(item);
        before
    }
}
