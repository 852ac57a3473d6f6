//! Control flow between blocks and regions, read through MLIR's interfaces.
//!
//! Constants are honored: an edge that a constant condition or bound rules out is not possible, but it still binds
//! values.

use crate::{
    ffi,
    ir::{Block, Op, Value},
};
use melior::ir::{Type, TypeLike};
use mlir_sys::MlirValue;
use smallvec::SmallVec;
use std::{ffi::c_void, slice};

/// A transfer of control between the regions of an operation, or to a successor block.
#[derive(Clone, Debug)]
pub struct Edge<'c> {
    /// Where it leads.
    pub to: EdgeTarget,
    /// False if constants rule it out.
    pub possible: bool,
    /// The values handed over and what they are bound to: block arguments, or results.
    pub bindings: Bindings<'c>,
}

/// Values, and what they are bound to.
pub type Bindings<'c> = SmallVec<[(Value<'c>, Value<'c>); 2]>;

/// Edges, of which there are few.
pub type Edges<'c> = SmallVec<[Edge<'c>; 2]>;

/// Where an [`Edge`] leads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EdgeTarget {
    /// After the operation that has the regions.
    After,
    /// To the region (or the successor block) of this index.
    Index(usize),
}

/// The control flow of most operations with regions, which is sooner told than by their edges.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SimpleFlow {
    /// An `scf.for` that may run any number of times. The operation hands its last operands, and the terminator all of its own, to the
    /// last arguments of the one block, and to the results.
    Loop,
    /// An `scf.if` whose condition may be true or false. The terminator of each arm hands its operands to the results.
    Branch,
}

/// The control flow of `op`, if it is simple.
#[must_use]
pub fn simple_flow(op: Op<'_>) -> Option<SimpleFlow> {
    // SAFETY: a live operation.
    match unsafe { ffi::asyncOptGetSimpleFlow(op.to_raw()) } {
        ffi::ASYNC_OPT_SIMPLE_FLOW_LOOP => Some(SimpleFlow::Loop),
        ffi::ASYNC_OPT_SIMPLE_FLOW_BRANCH => Some(SimpleFlow::Branch),
        _ => None,
    }
}

/// The edges on which `op` is entered, or `None` if the control flow of its regions is not known.
#[must_use]
pub fn entry_edges(op: Op<'_>) -> Option<Edges<'_>> {
    let mut edges = Edges::new();
    // SAFETY: a live operation; the callback gets the pointer to `edges`.
    let known = unsafe { ffi::asyncOptForEachEntry(op.to_raw(), Some(collect), (&raw mut edges).cast()) };
    known.then_some(edges)
}

/// The edges from `terminator` to other regions and after the parent; `None` if they are not known, or control flow
/// through the parent's regions is not.
#[must_use]
pub fn region_exit_edges(terminator: Op<'_>) -> Option<Edges<'_>> {
    let mut edges = Edges::new();
    // SAFETY: a live operation; the callback gets the pointer to `edges`.
    let known = unsafe {
        ffi::asyncOptForEachRegionExit(terminator.to_raw(), Some(collect), (&raw mut edges).cast())
    };
    known.then_some(edges)
}

/// The edges from `terminator` to its successor blocks; `None` if it has successors whose edges are not known.
#[must_use]
pub fn branch_edges(terminator: Op<'_>) -> Option<Edges<'_>> {
    let mut edges = Edges::new();
    // SAFETY: a live operation; the callback gets the pointer to `edges`.
    let known =
        unsafe { ffi::asyncOptForEachBranch(terminator.to_raw(), Some(collect), (&raw mut edges).cast()) };
    known.then_some(edges)
}

/// Returns true if `block` may be run several times in one run of the function around it. Conservative: so may what is
/// inside of an operation whose control flow is not known.
#[must_use]
pub fn may_repeat(block: Block<'_>) -> bool {
    // SAFETY: a live block.
    unsafe { ffi::asyncOptBlockMayRepeat(block.to_raw()) }
}

/// How often the one region of `op` runs, if `op` is a loop and that is known.
#[must_use]
pub fn constant_trip_count(op: Op<'_>) -> Option<u64> {
    let mut trip = 0;
    // SAFETY: a live operation, and a place for the count.
    unsafe { ffi::asyncOptConstantTripCount(op.to_raw(), &raw mut trip).then_some(trip) }
}

/// Returns true if `op` is an `scf.for` of constant bounds whose variable wraps around after its last value. Nothing is known of how often it
/// runs: upstream counts its iterations as if it ended there, and lowers it to code that goes on.
#[must_use]
pub fn wraps_around(op: Op<'_>) -> bool {
    // SAFETY: a live operation.
    unsafe { ffi::asyncOptWrapsAround(op.to_raw()) }
}

/// The values that `op` may return, if all it does is to select one of two.
#[must_use]
pub fn selected_values(op: Op<'_>) -> Option<Vec<Value<'_>>> {
    let null = MlirValue {
        ptr: std::ptr::null_mut(),
    };
    let (mut if_true, mut if_false) = (null, null);
    // SAFETY: a live operation; values that are not null are its operands.
    unsafe {
        ffi::asyncOptSelectedValues(op.to_raw(), &raw mut if_true, &raw mut if_false).then(|| {
            let values = [if_true, if_false]
                .into_iter()
                .filter(|value| !value.ptr.is_null());
            values.map(|value| Value::from_raw(value)).collect()
        })
    }
}

unsafe extern "C" fn collect(
    target: isize,
    possible: bool,
    n: isize,
    from: *const MlirValue,
    to: *const MlirValue,
    data: *mut c_void,
) {
    let n = n.unsigned_abs();
    // SAFETY: the functions above pass a list of edges; the arrays hold `n` live values, and may be null if `n` is 0.
    let (edges, from, to) = unsafe {
        let values = |values: *const MlirValue| {
            if n == 0 {
                &[]
            } else {
                slice::from_raw_parts(values, n)
            }
        };
        (&mut *data.cast::<Edges>(), values(from), values(to))
    };
    // SAFETY: live values of the operation's context.
    let value = |raw: &MlirValue| unsafe { Value::from_raw(*raw) };
    edges.push(Edge {
        to: usize::try_from(target).map_or(EdgeTarget::After, EdgeTarget::Index),
        possible,
        bindings: from.iter().map(value).zip(to.iter().map(value)).collect(),
    });
}

/// Erases the operand at `index`; where the operation has several variadic operands, the segment is counted down.
pub fn erase_operand(op: Op<'_>, index: usize) {
    assert!(
        index < op.num_operands(),
        "`{}` has no operand {index}",
        op.name()
    );
    // SAFETY: a live operation that has this operand.
    unsafe { ffi::asyncOptOperationEraseOperand(op.to_raw(), index.cast_signed()) }
}

/// Replaces `op` by one without the results for which `erase` returns true, which must be unused; the regions move
/// over. Returns the new operation.
pub fn erase_results<'c>(op: Op<'c>, erase: impl Fn(Value<'c>) -> bool) -> Op<'c> {
    let erased: Vec<bool> = op.results().map(erase).collect();
    for (result, &erased) in op.results().zip(&erased) {
        assert!(
            !erased || !result.has_uses(),
            "a result of `{}` is erased while in use",
            op.name()
        );
    }
    // SAFETY: a live operation, one entry for each result, and erased results are unused.
    let new = unsafe { Op::from_raw(ffi::asyncOptOperationEraseResults(op.to_raw(), erased.as_ptr())) };
    op.erase();
    new
}

/// Replaces `op` with one that has `operands` appended to its operands (in its last operand segment, if it has segments)
/// and results of `types` appended to its results; the regions move over as they are. Returns the new operation.
#[must_use]
pub fn append<'c>(op: Op<'c>, operands: &[Value<'c>], types: &[Type<'c>]) -> Op<'c> {
    let operands: Vec<_> = operands.iter().map(|value| value.to_raw()).collect();
    let types: Vec<_> = types.iter().map(TypeLike::to_raw).collect();
    let (n, m) = (operands.len().cast_signed(), types.len().cast_signed());
    // SAFETY: a live operation, live values and types of its context, as many as are said.
    let new = unsafe {
        Op::from_raw(ffi::asyncOptOperationAppend(
            op.to_raw(),
            n,
            operands.as_ptr(),
            m,
            types.as_ptr(),
        ))
    };
    op.erase();
    new
}

/// Has `terminator`, whose [`branch_edges`] are known, hand `values` to the successor block at `index` as well.
pub fn append_to_branch<'c>(terminator: Op<'c>, index: usize, values: &[Value<'c>]) {
    assert!(
        index < terminator.successors().len() && branch_edges(terminator).is_some(),
        "`{}` has no successor {index} that takes values",
        terminator.name()
    );
    let values: Vec<_> = values.iter().map(|value| value.to_raw()).collect();
    let (index, n) = (index.cast_signed(), values.len().cast_signed());
    // SAFETY: a live operation with such a successor, and as many live values as are said.
    unsafe { ffi::asyncOptBranchAppend(terminator.to_raw(), index, n, values.as_ptr()) }
}
