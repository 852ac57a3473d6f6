//! Reads the queues of a function that are in counted form: their operations, commits and waits.

use super::Refusal;
use super::accesses::AccessKinds;
use crate::analysis::op_classifier::{NvgpuOpClassifier, OpClass, OpClassifier};
use crate::analysis::skeleton::{self, Skeleton};
use crate::utils::device::own_ops;
use crate::utils::region_values::{RegionOpKind, region_op_kind};
use async_dialects::completion::{Completion, GroupEffect, GroupQueue};
use async_dialects::types::is_token;
use async_mlir::calls::is_call;
use async_mlir::control_flow::branch_edges;
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::{attr, cf, llvm, nvgpu, nvvm};
use rustc_hash::FxHashSet;
use tokenflow::lift::{Accesses, LiftedQueue, RegionStructure};
use tokenflow::{Item, Program, Queue, Site};

/// Every operation as the hardware counts it: there are no tokens.
struct CountedOpClassifier<'a, 'c> {
    /// What may access memory that matters.
    kinds: Option<&'a AccessKinds<'c>>,
    /// Whether every branch is an edge: values are handed on by branches that are never taken, too.
    all_branches: bool,
}

impl<'c> OpClassifier<'c> for CountedOpClassifier<'_, 'c> {
    fn is_token(&self, _: Type<'c>) -> bool {
        false
    }

    fn classify(&self, op: Op<'c>) -> OpClass<'c> {
        let Some((completion, queue)) = Completion::of(op).and_then(|c| Some((c, c.queue?))) else {
            return OpClass::Other;
        };
        match completion.effect {
            GroupEffect::Issue => OpClass::Issue {
                queue,
                token: None,
                read: None,
                block_wide: false,
            },
            GroupEffect::Commit => OpClass::Commit { queue, token: None },
            GroupEffect::Wait => OpClass::Wait {
                queue,
                n: completion.pending,
                read: completion.waits_for_reads,
            },
            GroupEffect::None => OpClass::Other,
        }
    }

    fn implied_await(&self, op: Op<'c>) -> Option<Vec<Value<'c>>> {
        let counts =
            |completion: Completion| matches!(completion.effect, GroupEffect::Commit | GroupEffect::Wait);
        let is_marked =
            Completion::of(op).is_some_and(counts) || self.kinds.is_some_and(|kinds| kinds.matters(op));
        is_marked.then(Vec::new)
    }

    fn keeps_impossible_branches(&self) -> bool {
        self.all_branches
    }

    // So there are places to commit when tokens are counted again.
    const INSERTS_COMMITS: bool = true;
}

/// The queues of `code` on which something is counted.
pub(super) fn queues(code: Op<'_>) -> Vec<GroupQueue> {
    let mut queues = Vec::new();
    for op in own_ops(code) {
        if let Some(completion) = Completion::of(op)
            && let Some(queue) = completion.queue
            && completion.effect != GroupEffect::None
            && !has_token(&completion)
            && !queues.contains(&queue)
        {
            queues.push(queue);
        }
    }
    queues
}

/// Returns true if an operation is in token form.
pub(super) fn has_token(completion: &Completion) -> bool {
    let mut tokens = completion.done.into_iter().chain(completion.read);
    tokens.any(|token| is_token(token.ty()))
}

/// A function, with what happens on one of its queues.
pub(super) struct CountedQueue<'c> {
    pub skeleton: Skeleton<'c>,
    /// The program without branches that are never taken, if there are any.
    pub possible: Option<Program>,
    /// The number of the queue.
    pub number: Queue,
    /// The asynchronous operations.
    pub issues: Vec<(Site, Op<'c>)>,
    /// The commits and waits, in program order.
    pub commits: Vec<Op<'c>>,
    pub waits: Vec<Op<'c>>,
    /// How tokens go through each graph.
    pub shapes: Vec<RegionStructure>,
    /// What may access the memory of operations, if that is asked for and known.
    pub accesses: Option<Accesses>,
}

impl<'c> CountedQueue<'c> {
    /// Reads `code`; with `accesses`, also what accesses memory.
    pub fn read(code: Op<'c>, queue: GroupQueue, accesses: bool) -> Result<Self, Refusal<'c>> {
        let kinds = accesses.then(|| AccessKinds::of(code, queue)).flatten();
        let kinds = kinds.as_ref();
        let read = |all_branches| {
            let classifier = CountedOpClassifier { kinds, all_branches };
            skeleton::read(code, &classifier, &FxHashSet::default())
        };
        let possible = read(false);
        let (skeleton, possible) = if possible.lacks_branches {
            (read(true), Some(possible.program))
        } else {
            (possible, None)
        };
        let position = skeleton.queues.iter().position(|known| *known == queue);
        let number = position.and_then(|position| u8::try_from(position).ok());
        let shapes = skeleton.graphs.iter().map(|(op, regions)| RegionStructure {
            regions: regions.clone(),
            is_loop: *op != code && region_op_kind(*op) == Some(RegionOpKind::Loop),
        });
        let mut counted = Self {
            number: Queue(number.unwrap_or(u8::MAX)),
            issues: Vec::new(),
            commits: Vec::new(),
            waits: Vec::new(),
            shapes: shapes.collect(),
            accesses: kinds.map(|kinds| kinds.accesses(&skeleton)),
            skeleton,
            possible,
        };
        counted.collect();
        let first = counted.commits.iter().chain(&counted.waits).next();
        match first {
            Some(&first) if counted.issues.is_empty() => {
                Err(Refusal::new(first, "no operation is known that this is about"))
            }
            _ => Ok(counted),
        }
    }

    /// Finds the operations of the queue.
    fn collect(&mut self) {
        let skeleton = &self.skeleton;
        let mut marked = None;
        skeleton.program.body.visit(&mut |item| match item {
            // Stands before what it marks.
            Item::Await { site, .. } => marked = Some(skeleton.awaits[site.0 as usize]),
            Item::Commit { queue, .. } if *queue == self.number => self.commits.extend(marked),
            Item::Wait { queue, .. } if *queue == self.number => self.waits.extend(marked),
            Item::Issue { queue, site, .. } if *queue == self.number => {
                self.issues.push((*site, skeleton.sites[site.0 as usize]));
            }
            _ => {}
        });
    }

    /// The blocks of each graph; those that stand for no code have none.
    pub fn blocks(&self, graph: usize) -> Vec<Option<Block<'c>>> {
        let (op, regions) = &self.skeleton.graphs[graph];
        let mut blocks = op.regions().flat_map(Region::blocks);
        let blocks = regions.iter().map(|region| region.and_then(|_| blocks.next()));
        blocks.collect()
    }
}

/// Returns an error if something in `code` keeps `queue` in counted form.
pub(super) fn check<'c>(code: Op<'c>, queue: GroupQueue) -> Result<(), Refusal<'c>> {
    let mut around = FxHashSet::default();
    let ops = own_ops(code);
    for &op in &ops {
        check_op(op, code, queue, &mut around)?;
    }
    if ops
        .iter()
        .any(|op| op.is(nvgpu::DEVICE_ASYNC_COPY) || op.is(nvgpu::DEVICE_ASYNC_CREATE_GROUP))
    {
        let classifier = NvgpuOpClassifier::new(code.context());
        let skeleton = skeleton::read(code, &classifier, &FxHashSet::default());
        if let Some(&(op, _)) = skeleton.escapes.first() {
            return Err(Refusal::new(
                op,
                "a token of nvgpu goes where it can't be followed",
            ));
        }
    }
    Ok(())
}

/// Returns an error if `op`, which is in `code`, keeps `queue` in counted form. `around` has the operations that were looked at
/// because something is inside of them.
fn check_op<'c>(
    op: Op<'c>,
    code: Op<'c>,
    queue: GroupQueue,
    around: &mut FxHashSet<Op<'c>>,
) -> Result<(), Refusal<'c>> {
    if is_call(op) || is_asynchronous_text(op) {
        let why = format!("'{}' may use the queue; inline it first", op.name());
        return Err(Refusal::new(op, why));
    }
    let completion = Completion::of(op).filter(|completion| completion.queue == Some(queue));
    let Some(completion) = completion else {
        return Ok(());
    };
    if has_token(&completion) {
        return Err(Refusal::new(op, "this is in token form already"));
    }
    if completion.effect == GroupEffect::Wait && completion.pending > u32::from(queue.max_pending()) {
        let most = queue.max_pending();
        let why = format!("the count of this wait is not from 0 to {most}");
        return Err(Refusal::new(op, why));
    }
    for outer in op.ancestors() {
        if !around.insert(outer) {
            break;
        }
        if outer == code {
            return branches(code);
        }
        if region_op_kind(outer).is_none() {
            let why = format!("tokens can't be carried through '{}'", outer.name());
            return Err(Refusal::new(outer, why));
        }
        branches(outer)?;
    }
    Ok(())
}

/// Returns an error if a block of `op` ends with a branch that tokens can't be handed to.
fn branches(op: Op<'_>) -> Result<(), Refusal<'_>> {
    for terminator in op
        .regions()
        .flat_map(Region::blocks)
        .filter_map(Block::terminator)
    {
        if branch_edges(terminator).is_none() {
            let why = format!("tokens can't be handed on by '{}'", terminator.name());
            return Err(Refusal::new(terminator, why));
        }
    }
    Ok(())
}

/// Returns an error if `lifted` hands a token to a block by a branch that can't: those of other dialects than `cf` take the types of
/// their own dialect alone.
pub(super) fn branches_take_tokens<'c>(
    counted: &CountedQueue<'c>,
    lifted: &LiftedQueue,
) -> Result<(), Refusal<'c>> {
    for (number, (graph, shape)) in lifted.graphs.iter().zip(&counted.shapes).enumerate() {
        let blocks = counted.blocks(number);
        let takes_tokens = |index: &usize| {
            let block = graph.blocks.get(*index);
            !shape.starts_region(*index) && block.is_some_and(|block| !block.params.is_empty())
        };
        let targets = (0..blocks.len())
            .filter(takes_tokens)
            .filter_map(|index| blocks[index]);
        let targets: FxHashSet<Block> = targets.collect();
        let terminators = blocks.iter().flatten().filter_map(|block| block.terminator());
        for terminator in terminators.filter(|terminator| terminator.dialect() != cf::NAMESPACE) {
            if terminator.successors().any(|block| targets.contains(&block)) {
                let name = terminator.name();
                let why = format!(
                    "tokens can't be handed on by '{name}', which takes types of its dialect alone; run this pass before \
                     branches are lowered to that"
                );
                return Err(Refusal::new(terminator, why));
            }
        }
    }
    Ok(())
}

/// Returns true if `op` holds text in the language of the hardware, or names an intrinsic, that has to do with asynchronous
/// operations.
fn is_asynchronous_text(op: Op<'_>) -> bool {
    let text = match op.name() {
        llvm::INLINE_ASM => op.str_attr(attr::ASM_STRING),
        nvvm::INLINE_PTX => op.str_attr(attr::PTX_CODE),
        llvm::CALL_INTRINSIC => op.str_attr(attr::INTRINSIC),
        _ => return false,
    };
    text.is_none_or(|text| ["cp.async", "wgmma"].iter().any(|name| text.contains(name)))
}
