//! Summarizes the memory effects of operations, and which of them order accesses of several threads.
//!
//! An operation orders accesses (it is a **fence** here) unless it is known not to: barriers, atomic updates,
//! calls, waits.

use crate::analysis::alias::Root;
use crate::analysis::memory::{Access, Effects, effects};
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect};
use async_dialects::names::async_;
use async_mlir::ir::{Block, Op, Region};
use async_mlir::names::{affine, gpu, linalg, memref, nvgpu, scf, vector};
use async_mlir::types::is_unranked_memref;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// An access to a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch<'c> {
    pub root: Root<'c>,
    pub writes: bool,
    /// The operation that accesses it.
    pub op: Op<'c>,
}

/// What an operation does, with all that is nested in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary<'c> {
    /// What orders accesses of several threads.
    pub fence: Option<Op<'c>>,
    /// What may access anything; it is a fence, too.
    pub unknown: Option<Op<'c>>,
    /// The accesses, the first of each kind to each buffer.
    pub touches: Vec<Touch<'c>>,
}

/// More buffers than these are not told apart.
const MAX_TOUCHES: usize = 32;

/// Control flow, all of whose effects are those of the operations in it.
const CONTROL_FLOW: &[&str] = &[
    affine::FOR,
    affine::IF,
    async_::REGION,
    memref::ALLOCA_SCOPE,
    scf::EXECUTE_REGION,
    scf::FOR,
    scf::IF,
    scf::INDEX_SWITCH,
    scf::WHILE,
    vector::MASK,
];

/// Operations that do nothing but access the buffers that they are handed, in these dialects or of these names.
const ACCESSES: &[&str] = &[
    gpu::SUBGROUP_MMA_LOAD_MATRIX,
    gpu::SUBGROUP_MMA_STORE_MATRIX,
    nvgpu::LDMATRIX,
];
const ACCESS_DIALECTS: &[&str] = &[
    affine::NAMESPACE,
    linalg::NAMESPACE,
    memref::NAMESPACE,
    vector::NAMESPACE,
];

/// Operations on tokens: waiting for them orders nothing that other threads do.
const TOKENS: &[&str] = &[async_::AWAIT, async_::JOIN, async_::READY];

/// Summaries of operations. It remembers those with regions.
#[derive(Default)]
pub(super) struct Summaries<'c>(FxHashMap<Op<'c>, Rc<Summary<'c>>>);

impl<'c> Summaries<'c> {
    /// What `op` does.
    pub fn of(&mut self, op: Op<'c>) -> Rc<Summary<'c>> {
        let is_entered = op.is_function() || CONTROL_FLOW.contains(&op.name());
        if !is_entered {
            return Rc::new(summary(op));
        }
        if let Some(known) = self.0.get(&op) {
            return known.clone();
        }
        let mut all = Summary::default();
        for inner in op.regions().flat_map(Region::blocks).flat_map(Block::ops) {
            // Functions inside are not run where they stand.
            if !inner.is_function() {
                all.add(&self.of(inner));
            }
        }
        let all = Rc::new(all);
        self.0.insert(op, all.clone());
        all
    }
}

impl<'c> Summary<'c> {
    fn add(&mut self, other: &Self) {
        self.fence = self.fence.or(other.fence);
        self.unknown = self.unknown.or(other.unknown);
        for touch in &other.touches {
            let is_known = |known: &Touch| known.root == touch.root && known.writes >= touch.writes;
            if self.touches.iter().any(is_known) {
                continue;
            }
            if self.touches.len() == MAX_TOUCHES {
                self.unknown = self.unknown.or(Some(touch.op));
                self.fence = self.fence.or(self.unknown);
                break;
            }
            self.touches.push(*touch);
        }
    }
}

/// What `op`, which is no control flow, does.
fn summary(op: Op<'_>) -> Summary<'_> {
    let nothing = op.is_pure() || op.view_source().is_some() || op.is_terminator();
    if nothing || TOKENS.contains(&op.name()) {
        return Summary::default();
    }
    // Of memrefs of unknown rank, effects say nothing.
    let is_opaque = op.num_regions() > 0 && op.dialect() != linalg::NAMESPACE
        || op.operands().any(|operand| is_unranked_memref(operand.ty()));
    let Effects::Known(known) = (if is_opaque { Effects::Unknown } else { effects(op) }) else {
        return Summary {
            fence: Some(op),
            unknown: Some(op),
            touches: Vec::new(),
        };
    };
    let touches = known.into_iter().map(|effect| Touch {
        root: Root::of(effect.memory),
        writes: !matches!(effect.access, Access::Read | Access::AsyncRead),
        op,
    });
    Summary {
        fence: (!only_accesses(op)).then_some(op),
        unknown: None,
        touches: touches.collect(),
    }
}

/// Returns true if `op` does nothing but access memory, as one thread.
fn only_accesses(op: Op<'_>) -> bool {
    if let Some(completion) = Completion::of(op) {
        return completion.effect == GroupEffect::Issue && completion.scope == ExecutionScope::Thread;
    }
    let named = ACCESSES.contains(&op.name()) || ACCESS_DIALECTS.contains(&op.dialect());
    named && !op.is(memref::ATOMIC_RMW)
}
