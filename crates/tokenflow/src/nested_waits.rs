//! Assumes that waits under conditions are executed.
//!
//! Conditions are opaque to a [`Program`], while in a real one what comes after a wait under a condition may be under the same. Who
//! looks for what is certainly too early takes each operation with regions to have executed the strongest wait in it.
//!
//! **Cost.** Linear.

use crate::program::{Graph, Item, Program, Queue, ensure_sufficient_stack};

/// Puts a wait after each operation of `program` with regions: the strongest of those of `queue` in it.
pub fn assume_nested_waits(program: &mut Program, queue: Queue) {
    strongest(&mut program.body, queue);
}

/// Does so in `graph`; returns the smallest count of a wait in it.
fn strongest(graph: &mut Graph, queue: Queue) -> Option<u32> {
    let mut least: Option<u32> = None;
    for block in &mut graph.blocks {
        let mut items = Vec::with_capacity(block.items.len());
        for mut item in std::mem::take(&mut block.items) {
            let nested = match &mut item {
                Item::Nested(nested) => ensure_sufficient_stack(|| strongest(&mut nested.graph, queue)),
                Item::Repeat(repeat) => ensure_sufficient_stack(|| strongest(&mut repeat.body, queue)),
                _ => None,
            };
            let own = match item {
                Item::Wait {
                    queue: of,
                    n,
                    read: false,
                } if of == queue => Some(n),
                _ => None,
            };
            least = least.into_iter().chain(nested).chain(own).min();
            items.push(item);
            items.extend(nested.map(|n| Item::Wait {
                queue,
                n,
                read: false,
            }));
        }
        block.items = items;
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Block, Nested};

    const Q: Queue = Queue(0);

    fn wait(queue: Queue, n: u32) -> Item {
        Item::Wait {
            queue,
            n,
            read: false,
        }
    }

    fn nested(items: Vec<Item>) -> Item {
        let block = Block {
            items,
            ..Block::default()
        };
        Item::from(Nested {
            graph: Graph { blocks: vec![block] },
            inits: Vec::new(),
            results: Vec::new(),
            after: None,
        })
    }

    #[test]
    fn the_strongest_wait_of_the_queue_comes_after_what_it_is_nested_in() {
        let mut program = Program::new(2);
        let inner = nested(vec![wait(Q, 3), wait(Queue(1), 0), wait(Q, 1), wait(Q, 2)]);
        program.body.blocks.push(Block {
            items: vec![nested(vec![inner]), nested(vec![wait(Queue(1), 0)])],
            ..Block::default()
        });
        assume_nested_waits(&mut program, Q);
        let items = &program.body.blocks[0].items;
        assert_eq!(items.len(), 3);
        assert_eq!(items[1], wait(Q, 1));
        let Item::Nested(outer) = &items[0] else {
            panic!("it stays where it is")
        };
        assert_eq!(outer.graph.blocks[0].items[1..], [wait(Q, 1)]);
    }
}
