//! Compares an operation with what it is said to be a copy of.

use async_mlir::ir::{Block, Op, Value};
use rustc_hash::FxHashMap;

/// Pairs of a value that an operation reads from outside of it, and what its copy reads there.
pub(super) type Inputs<'c> = Vec<(Value<'c>, Value<'c>)>;

/// What `copy` reads where `of` reads something, if they are the same but for that.
pub(super) fn inputs<'c>(of: Op<'c>, copy: Op<'c>) -> Option<Inputs<'c>> {
    let mut pairs = Pairs::default();
    pairs.add(of, copy)?;
    for (of, copy) in std::mem::take(&mut pairs.ops) {
        pairs.read(of, copy)?;
    }
    Some(pairs.inputs)
}

#[derive(Default)]
struct Pairs<'c> {
    ops: Vec<(Op<'c>, Op<'c>)>,
    values: FxHashMap<Value<'c>, Value<'c>>,
    blocks: FxHashMap<Block<'c>, Block<'c>>,
    inputs: Inputs<'c>,
}

impl<'c> Pairs<'c> {
    /// Compares all but operands and successors.
    fn add(&mut self, of: Op<'c>, copy: Op<'c>) -> Option<()> {
        let is_same = of.name() == copy.name()
            && of.attrs() == copy.attrs()
            && of.num_operands() == copy.num_operands()
            && of.num_regions() == copy.num_regions();
        self.add_values(of.results(), copy.results())
            .filter(|()| is_same)?;
        self.ops.push((of, copy));
        for (of, copy) in of.regions().zip(copy.regions()) {
            let (blocks, copies) = (of.blocks(), copy.blocks());
            for (of, copy) in same_length(blocks, copies)? {
                self.blocks.insert(of, copy);
                self.add_values(of.args(), copy.args())?;
                for (of, copy) in same_length(of.ops(), copy.ops())? {
                    self.add(of, copy)?;
                }
            }
        }
        Some(())
    }

    fn add_values(
        &mut self,
        of: impl ExactSizeIterator<Item = Value<'c>>,
        copy: impl ExactSizeIterator<Item = Value<'c>>,
    ) -> Option<()> {
        let is_same_length = of.len() == copy.len();
        for (of, copy) in of.zip(copy) {
            (of.ty() == copy.ty()).then_some(())?;
            self.values.insert(of, copy);
        }
        is_same_length.then_some(())
    }

    /// Compares what two operations read.
    fn read(&mut self, of: Op<'c>, copy: Op<'c>) -> Option<()> {
        for (value, read) in of.operands().zip(copy.operands()) {
            match self.values.get(&value) {
                Some(own) => (*own == read).then_some(())?,
                None => self.inputs.push((value, read)),
            }
        }
        let mut successors = of.successors().zip(copy.successors());
        successors
            .all(|(of, copy)| self.blocks.get(&of) == Some(&copy))
            .then_some(())
    }
}

fn same_length<T>(a: Vec<T>, b: Vec<T>) -> Option<impl Iterator<Item = (T, T)>> {
    (a.len() == b.len()).then(|| a.into_iter().zip(b))
}
