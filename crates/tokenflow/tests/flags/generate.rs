//! Generates random programs.

use proptest::prelude::*;
use tokenflow::flags::{Block, BlockId, Dependence, EngineId, Node, Program};

/// A node of a block that is not yet in a program.
#[derive(Clone, Debug)]
enum Shape {
    Operation(usize),
    Branch(Vec<Vec<Shape>>),
    Loop(Vec<Shape>),
}

fn shapes(engines: usize, most: usize) -> impl Strategy<Value = Vec<Shape>> {
    let leaf = (0..engines).prop_map(Shape::Operation);
    let node = leaf.prop_recursive(3, 12, 4, |inner| {
        let block = || proptest::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            4 => inner.clone(),
            1 => proptest::collection::vec(block(), 1..3).prop_map(Shape::Branch),
            2 => block().prop_map(Shape::Loop),
        ]
    });
    proptest::collection::vec(node, 1..=most)
}

/// Numbers from a seed, for the dependences of however many blocks there are.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

struct Builder {
    program: Program,
    random: Random,
    percent: u64,
}

impl Builder {
    /// Adds a block and returns it with the engines that it uses.
    fn block(&mut self, shapes: &[Shape], is_body: bool) -> (BlockId, Vec<usize>) {
        let block = self.program.blocks.push(Block::default());
        let mut used: Vec<Vec<usize>> = Vec::new();
        for shape in shapes {
            let (node, engines) = match shape {
                Shape::Operation(engine) => (Node::Operation(EngineId(*engine)), vec![*engine]),
                Shape::Branch(arms) => {
                    let arms: Vec<_> = arms.iter().map(|arm| self.block(arm, false)).collect();
                    let engines = arms.iter().flat_map(|(_, engines)| engines.clone()).collect();
                    (
                        Node::Branch(arms.into_iter().map(|(arm, _)| arm).collect()),
                        engines,
                    )
                }
                Shape::Loop(body) => {
                    let (body, engines) = self.block(body, true);
                    (Node::Loop(body), engines)
                }
            };
            self.program.blocks[block].nodes.push(node);
            used.push(engines);
        }
        for (consumer, to) in used.iter().enumerate() {
            let dependences = self.dependences(&used[..consumer], consumer, to);
            self.program.blocks[block].dependences.extend(dependences);
            if is_body {
                let carried = self.dependences(&used, consumer, to);
                self.program.blocks[block].carried.extend(carried);
            }
        }
        let mut engines = used.concat();
        engines.sort_unstable();
        engines.dedup();
        (block, engines)
    }

    fn dependences(&mut self, producers: &[Vec<usize>], consumer: usize, to: &[usize]) -> Vec<Dependence> {
        let mut dependences = Vec::new();
        for (producer, from) in producers.iter().enumerate() {
            for (&from, &to) in from.iter().flat_map(|from| to.iter().map(move |to| (from, to))) {
                if from != to && self.random.below(100) < self.percent {
                    dependences.push(Dependence {
                        producer,
                        consumer,
                        from: EngineId(from),
                        to: EngineId(to),
                        is_of_all: false,
                    });
                }
            }
        }
        dependences
    }
}

/// Programs of two or three engines.
pub fn program(most: usize) -> impl Strategy<Value = Program> {
    (2..=3_usize).prop_flat_map(move |engines| {
        (shapes(engines, most), any::<u64>(), 10..60_u64).prop_map(move |(shapes, seed, percent)| {
            let mut builder = Builder {
                program: Program {
                    engines,
                    ..Program::default()
                },
                random: Random(seed),
                percent,
            };
            builder.block(&shapes, false);
            builder.program
        })
    })
}
