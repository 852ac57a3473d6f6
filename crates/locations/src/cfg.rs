//! How control passes between the blocks and regions of an operation.
//!
//! It is read through MLIR's interfaces, so that every dialect that implements them is understood by the same code. An
//! operation with regions but without the interface is taken to run its regions in any order, any number of times, and to
//! bind their arguments to values that are not known.

use super::uniformity::runs_for_some_threads;
use async_mlir::control_flow::{
    self, Bindings, EdgeTarget, Edges, branch_edges, entry_edges, region_exit_edges,
};
use async_mlir::ir::{Block, Definition, Op, Region, Value};
use async_mlir::names::gpu;
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// Where an [`Edge`] leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'c> {
    /// To the start of a block.
    Block(Block<'c>),
    /// After the operation around the blocks.
    After,
}

/// A transfer of control.
#[derive(Clone, Debug)]
pub struct Edge<'c> {
    /// Where it leads.
    pub to: Target<'c>,
    /// False if constants rule it out.
    pub possible: bool,
    /// The values handed over and what they are bound to: block arguments, or results. Nothing is known of what others
    /// are bound to.
    pub bindings: Bindings<'c>,
}

/// The control flow of the regions of one operation.
#[derive(Clone, Debug)]
pub struct RegionFlow<'c> {
    op: Op<'c>,
    /// The edges on which the regions are entered, if they are known.
    entries: Option<Vec<Edge<'c>>>,
    is_function: bool,
}

impl<'c> RegionFlow<'c> {
    /// The control flow of the body of `function`; to leave it is to leave the program.
    #[must_use]
    pub fn of_function(function: Op<'c>) -> Self {
        Self {
            op: function,
            entries: None,
            is_function: true,
        }
    }

    /// The control flow of the regions of `op`, which is no function.
    #[must_use]
    pub fn new(op: Op<'c>) -> Self {
        let edges = entry_edges(op).filter(|_| !runs_for_some_threads(op));
        Self {
            op,
            entries: edges.map(|edges| to_blocks(op, edges)),
            is_function: false,
        }
    }

    /// The operation.
    #[must_use]
    pub fn op(&self) -> Op<'c> {
        self.op
    }

    /// Returns true if the control flow is that of a function's body.
    #[must_use]
    pub fn is_function(&self) -> bool {
        self.is_function
    }

    /// The edges on which the regions are entered; `None` if that is not known.
    #[must_use]
    pub fn known_entries(&self) -> Option<&[Edge<'c>]> {
        self.entries.as_deref()
    }

    /// The edges on which the regions may be entered.
    #[must_use]
    pub fn entries(&self) -> Cow<'_, [Edge<'c>]> {
        match &self.entries {
            Some(known) => Cow::Borrowed(known),
            None => Cow::Owned(self.anywhere()),
        }
    }

    /// The edges on which control may leave a block that ends with `terminator`.
    #[must_use]
    pub fn exits(&self, terminator: Option<Op<'c>>) -> Vec<Edge<'c>> {
        let Some(terminator) = terminator else {
            return self.anywhere();
        };
        let successors: Vec<Block> = terminator.successors().collect();
        if !successors.is_empty() {
            return match branch_edges(terminator) {
                Some(edges) => edges
                    .into_iter()
                    .map(|edge| edge_to(|i| successors.get(i).copied(), edge))
                    .collect(),
                None => successors
                    .into_iter()
                    .map(|to| blind(Target::Block(to)))
                    .collect(),
            };
        }
        if self.is_function {
            return vec![blind(Target::After)];
        }
        let known = self.entries.as_ref().and_then(|_| region_exit_edges(terminator));
        known.map_or_else(|| self.anywhere(), |edges| to_blocks(self.op, edges))
    }

    /// Edges to every region and after the operation.
    fn anywhere(&self) -> Vec<Edge<'c>> {
        let blocks = self.op.regions().filter_map(Region::first).map(Target::Block);
        blocks.chain([Target::After]).map(blind).collect()
    }
}

/// The values that control flow may bind `value` to, an argument of a block or a result of an operation with regions, each with what
/// hands it over; `None` if they are not known.
#[must_use]
pub fn sources(value: Value<'_>) -> Option<Vec<(Value<'_>, Op<'_>)>> {
    let (around, target) = match value.definition() {
        Definition::Result(op, _) => (op, Target::After),
        Definition::Argument(block, _) => (block.parent_op()?, Target::Block(block)),
    };
    if around.num_regions() == 0 {
        return None;
    }
    let flow = if around.is_function() {
        RegionFlow::of_function(around)
    } else {
        RegionFlow::new(around)
    };
    let is_first = |block| around.regions().any(|region| region.first() == Some(block));
    let mut edges: Vec<(Edge, Op)> = match target {
        // A branch within a region, which nothing enters here.
        Target::Block(block) if !is_first(block) => Vec::new(),
        _ => flow
            .known_entries()?
            .iter()
            .map(|edge| (edge.clone(), around))
            .collect(),
    };
    for block in around.regions().flat_map(Region::blocks) {
        let terminator = block.terminator()?;
        edges.extend(
            flow.exits(Some(terminator))
                .into_iter()
                .map(|edge| (edge, terminator)),
        );
    }
    let mut found = Vec::new();
    for (edge, by) in edges.into_iter().filter(|(edge, _)| edge.to == target) {
        let (from, _) = edge.bindings.into_iter().find(|(_, to)| *to == value)?;
        found.push((from, by));
    }
    Some(found)
}

/// The indices of the operands of `op` that none of `edges` hands over.
#[must_use]
pub fn unbound_operands<'c>(op: Op<'c>, edges: &[Edge<'c>]) -> Vec<usize> {
    let bound: FxHashSet<Value> = match edges {
        // The usual terminator hands on what it has, in order.
        [edge] if edge.bindings.iter().map(|(from, _)| *from).eq(op.operands()) => return Vec::new(),
        _ => {
            let bindings = edges.iter().flat_map(|edge| &edge.bindings);
            bindings.map(|(from, _)| *from).collect()
        }
    };
    let operands = op.operands().enumerate();
    operands
        .filter(|(_, value)| !bound.contains(value))
        .map(|(i, _)| i)
        .collect()
}

/// The values that are made inside of `op`, each with the block that it is made in.
#[must_use]
pub fn values_inside(op: Op<'_>) -> Vec<(Block<'_>, Value<'_>)> {
    let mut values = Vec::new();
    for inner in op.self_and_nested() {
        if let Some(block) = inner.block().filter(|_| inner != op) {
            values.extend(inner.results().map(|result| (block, result)));
        }
        for block in inner.regions().flat_map(Region::blocks) {
            values.extend(block.args().map(|arg| (block, arg)));
        }
    }
    values
}

/// Edges between the regions of `op`, which lead to their first blocks.
fn to_blocks<'c>(op: Op<'c>, edges: Edges<'c>) -> Vec<Edge<'c>> {
    let edges = edges.into_iter();
    edges
        .map(|edge| edge_to(|i| op.region(i).first(), edge))
        .collect()
}

fn edge_to<'c>(block: impl Fn(usize) -> Option<Block<'c>>, edge: control_flow::Edge<'c>) -> Edge<'c> {
    let to = match edge.to {
        EdgeTarget::Index(i) => block(i).map_or(Target::After, Target::Block),
        EdgeTarget::After => Target::After,
    };
    Edge {
        to,
        possible: edge.possible,
        bindings: edge.bindings,
    }
}

/// An edge of which nothing is known but where it may lead.
fn blind(to: Target) -> Edge {
    Edge {
        to,
        possible: true,
        bindings: Bindings::new(),
    }
}

/// How to make branches between blocks of `op` structured control flow.
#[must_use]
pub fn how_to_structure(op: Op<'_>) -> &'static str {
    if op.is(gpu::FUNC) || op.ancestors().any(|around| around.is(gpu::FUNC)) {
        "run --lift-cf-to-scf before kernels are outlined: it leaves a gpu.func as it is"
    } else {
        "run --lift-cf-to-scf first"
    }
}
