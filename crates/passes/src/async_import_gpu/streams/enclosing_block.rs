//! Finds the innermost block around all definitions and uses of some values.

use async_mlir::ir::{Block, Definition, Op, Region, Value};

/// The innermost block around everything that defines or uses `values`, and false; or the first block of the innermost region, and
/// true, if that is in several of its blocks.
pub(super) fn enclosing_block<'c>(values: &[Value<'c>]) -> Option<(Block<'c>, bool)> {
    let mut places: Vec<Vec<Block>> = Vec::new();
    for value in values {
        let defined = match value.definition() {
            Definition::Result(op, _) => op.block(),
            Definition::Argument(block, _) => Some(block),
        };
        let used = value.uses().into_iter().map(|found| found.owner.block());
        places.extend(
            std::iter::once(defined)
                .chain(used)
                .flatten()
                .map(outermost_first),
        );
    }
    let first = places.first()?;
    let shared = |other: &Vec<Block<'c>>| {
        let pairs = first.iter().zip(other);
        pairs.take_while(|(a, b)| a.region() == b.region()).count()
    };
    let innermost = places.iter().map(shared).min()?.checked_sub(1)?;
    let block = first[innermost];
    if places.iter().all(|blocks| blocks[innermost] == block) {
        Some((block, false))
    } else {
        Some((block.region().and_then(Region::first)?, true))
    }
}

/// The blocks around what is in `block`, with it.
fn outermost_first(block: Block<'_>) -> Vec<Block<'_>> {
    let mut blocks = vec![block];
    while let Some(outer) = blocks
        .last()
        .and_then(|block| block.parent_op())
        .and_then(Op::block)
    {
        blocks.push(outer);
    }
    blocks.reverse();
    blocks
}
