//! Applies what `lift` says: rewrites a program.

use crate::oracle::blocks::in_text_order;
use tokenflow::lift::{RegionStructure, TokensOf, lift, rewrite};
use tokenflow::{Graph, Item, Program, Queue};

/// The structures of all graphs: all blocks of one region, which branches lead to; or each block but the first a region, and all
/// of them loops.
pub fn structures(program: &Program, loops: bool) -> Vec<RegionStructure> {
    let mut structures = vec![structure(&program.body, false, false)];
    program.body.visit(&mut |item| {
        let is_iteration = matches!(item, Item::Repeat(_));
        structures.extend(item.graph().map(|graph| structure(graph, loops, is_iteration)));
    });
    structures
}

fn structure(graph: &Graph, is_loop: bool, is_iteration: bool) -> RegionStructure {
    let regions = (0..graph.blocks.len()).map(|block| match (is_loop, is_iteration) {
        (false, _) => Some(0),
        (true, true) => Some(block),
        (true, false) => block.checked_sub(1),
    });
    RegionStructure {
        regions: regions.collect(),
        is_loop,
    }
}

/// Returns true if some wait of the queue is for reads alone.
pub fn has_reads(program: &Program, queue: Queue) -> bool {
    let mut any = false;
    program.body.visit(&mut |item| {
        any |= matches!(item, Item::Wait { queue: q, read: true, .. } if *q == queue);
    });
    any
}

/// The program with an await of nothing after every wait of some queues.
pub fn marked(program: &Program, queues: &[Queue]) -> Program {
    let mut program = program.clone();
    let mut body = std::mem::take(&mut program.body);
    mark(&mut body, queues, &mut program);
    program.body = body;
    in_text_order(program)
}

fn mark(graph: &mut Graph, queues: &[Queue], program: &mut Program) {
    for block in &mut graph.blocks {
        for mut item in std::mem::take(&mut block.items) {
            if let Some(inner) = graph_of(&mut item) {
                mark(inner, queues, program);
            }
            let wait = matches!(item, Item::Wait { queue, .. } if queues.contains(&queue));
            block.items.push(item);
            if wait {
                block.items.push(Item::Await {
                    site: program.new_await(),
                    tokens: Vec::new(),
                    covered: false,
                });
            }
        }
    }
}

fn graph_of(item: &mut Item) -> Option<&mut Graph> {
    match item {
        Item::Nested(nested) => Some(&mut nested.graph),
        Item::Repeat(repeat) => Some(&mut repeat.body),
        _ => None,
    }
}

/// All queues of the program in token form, which has an await for each wait.
pub fn lifted(program: &Program, loops: bool, of: TokensOf) -> Program {
    let mut new = in_text_order(program.clone());
    for queue in (0..program.queues).map(Queue) {
        let structures = structures(&new, loops);
        let lifted = lift(&new, queue, &structures, of, None);
        new = rewrite(&new, queue, &structures, &lifted);
    }
    new
}
