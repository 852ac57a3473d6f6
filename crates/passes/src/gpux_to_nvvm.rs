//! `--gpux-to-nvvm`: lowers counted form to upstream's `nvgpu` and `nvvm` operations.
//!
//! **Condition.** Every operation of the dialect is in counted form: no token is left in device code.
//!
//! **Effect.** No `gpux` operation is left. A copy is what upstream makes of an `nvgpu.device_async_copy`,
//! with its treatment of strides, dynamic shapes and partial counts ([`copies`]); commits and waits are
//! `nvvm` operations of their queue. Block-wide loads and stores become `nvgpu`'s of tiles and `nvvm`'s of
//! contiguous memory ([`bulk_copies`]), which one thread issues ([`mod@elect`]); the descriptors that a
//! kernel takes become pointers ([`tensor_map_arguments`]). A multiplication of a warpgroup becomes
//! `nvvm.wgmma.mma_async`s ([`mod@wgmma`]). The buffers that all these touch are aligned
//! ([`buffer_alignment`]). Discardable attributes stay.
//!
//! **Refusals.** Tokens: how many groups a wait leaves in flight is decided by `--gpux-tokens-to-groups`. Operations
//! that the GPU named by `chip` doesn't have. Addresses that are known to be in another memory space than they are taken
//! for ([`memory_spaces`]). What no roles of warps can have ([`role_rules`]). Descriptors of matrices that functions hand
//! to each other. More workgroup memory than a block has ([`static_memory`]).

mod buffer_alignment;
mod bulk_copies;
mod copies;
mod elect;
mod memory_spaces;
mod static_memory;
mod tensor_map_arguments;
mod wgmma;

use crate::utils::chip::sm_of;
use crate::utils::device::device_code;
use crate::utils::launches::{is_launch_or_descriptor, lower_launch_or_check_descriptor};
use crate::utils::op_templates::OpTemplates;
use crate::utils::role_rules;
use crate::utils::warps::expand_subgroup_id;
use async_dialects::names::{async_, gpux, gpux_attr, upstream_async};
use async_dialects::registry::{GPUX, has_upstream_async};
use async_dialects::types::is_token;
use async_dialects::types::queue_attribute;
use async_mlir::calls::is_call;
use async_mlir::ir::{Block, Op, OpBuilder, Value, int_attr};
use async_mlir::melior::Context;
use async_mlir::melior::ir::Attribute;
use async_mlir::names::{attr, builtin, func, gpu, memref, nvvm};
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo, StatisticInfo};
use buffer_alignment::BufferAligner;
use bulk_copies::BulkCopies;
use copies::Copies;
use rustc_hash::FxHashSet;

/// The oldest GPU that has bulk and tensor copies.
const FIRST_BULK_SM: u32 = 90;
/// The GPU that has multiplications of warpgroups. (PTX ISA, wgmma.mma_async, Target ISA Notes.)
const WGMMA_CHIP: &str = "sm_90a";

/// The pass.
pub struct GpuxToNvvm;

impl Pass for GpuxToNvvm {
    const INFO: PassInfo = PassInfo {
        description: include_str!("gpux_to_nvvm/description.md"),
        // Not on functions: a buffer may be a global, which functions share.
        anchor: Anchor::Ops(&[builtin::MODULE, gpu::MODULE]),
        options: &[OptionInfo::string(
            "chip",
            "",
            "the GPU, whose operations alone are lowered; empty: any",
        )],
        dependent_dialects: &[
            Dialect::ARITH,
            Dialect::GPU,
            GPUX,
            Dialect::LLVM,
            Dialect::MEMREF,
            Dialect::NVGPU,
            Dialect::NVVM,
            Dialect::SCF,
            Dialect::VECTOR,
        ],
        statistics: &[
            StatisticInfo {
                name: "copies",
                description: "Number of copies lowered",
            },
            StatisticInfo {
                name: "transfers",
                description: "Number of block-wide loads and stores lowered",
            },
            StatisticInfo {
                name: "multiplications",
                description: "Number of multiplications of warpgroups lowered",
            },
            StatisticInfo {
                name: "unrolled",
                description: "Number of loops unrolled, in which accumulators in flight take turns",
            },
            StatisticInfo {
                name: "aligned",
                description: "Number of buffers whose alignment was raised",
            },
        ],
        ..PassInfo::new(
            "gpux-to-nvvm",
            "lowers the counted form of gpux to nvgpu and nvvm",
        )
    };

    fn run<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let device = check_counted(root)?;
        check_chip(root, &device, cx.str("chip"))?;
        memory_spaces::check(root)?;
        let mut functions = device.functions.iter().copied();
        functions.try_for_each(role_rules::check_function)?;
        if device.has_descriptors {
            wgmma::refuse_descriptors(root)?;
        }
        wgmma::check_convergence(&device.multiplications, &device.groups)?;
        static_memory::check(root, cx.str("chip"))?;
        let multiplications = by_function(&device.multiplications);
        let unrolled = multiplications
            .iter()
            .map(|(_, multiplications)| wgmma::unroll(multiplications));
        let unrolled: u64 = unrolled.sum();
        // It clones operations, and moves accumulators.
        let device = if multiplications.is_empty() {
            device
        } else {
            check_counted(root)?
        };
        let OpsToLower {
            copies,
            groups,
            bulk_copies,
            elects,
            warp_numbers,
            multiplications,
            functions,
            launches,
            has_descriptors: _,
        } = device;
        let mut aligner = BufferAligner::new(root.context());
        let mut lowering = Copies::new(root.context());
        for &copy in &copies {
            aligner.align_destination(copy);
            lowering.lower(copy)?;
        }
        let lowering = BulkCopies::new(root.context());
        for &op in &bulk_copies {
            lowering.lower(op, &mut aligner);
        }
        for (function, elects) in by_function(&elects) {
            elect::lower(function, &elects)?;
        }
        warp_numbers.into_iter().for_each(expand_subgroup_id);
        let multiplied = multiplications.iter().filter(|op| op.is(gpux::WGMMA)).count() as u64;
        for (function, multiplications) in by_function(&multiplications) {
            wgmma::lower(function, &multiplications, &mut aligner)?;
        }
        for function in functions {
            tensor_map_arguments::lower_arguments(function);
        }
        for op in launches {
            lower_launch_or_check_descriptor(op)?;
        }
        let mut lowering = Groups::new(root.context());
        for op in groups {
            lowering.lower(op);
        }
        cx.count("copies", copies.len() as u64);
        cx.count("transfers", bulk_copies.len() as u64);
        cx.count("multiplications", multiplied);
        cx.count("unrolled", unrolled);
        cx.count("aligned", aligner.raised());
        Ok(())
    }
}

/// The operations to lower, in program order.
#[derive(Default)]
struct OpsToLower<'c> {
    copies: Vec<Op<'c>>,
    /// Commits and waits.
    groups: Vec<Op<'c>>,
    /// Block-wide loads and stores.
    bulk_copies: Vec<Op<'c>>,
    elects: Vec<Op<'c>>,
    /// What asks for the number of a warp.
    warp_numbers: Vec<Op<'c>>,
    /// Multiplications of warpgroups, and what reads and writes the registers of their matrices.
    multiplications: Vec<Op<'c>>,
    /// Functions of device code, whose arguments are lowered as well.
    functions: Vec<Op<'c>>,
    /// Launches of such functions, and what makes descriptors for them.
    launches: Vec<Op<'c>>,
    /// True if something is a descriptor of a matrix.
    has_descriptors: bool,
}

/// What is wrong with an operation in token form.
const HAS_TOKEN: &str = "has a token, and the hardware has no tokens";

/// Returns true if an operation in `scope` has regions.
fn has_control_flow(scope: Op<'_>) -> bool {
    let blocks = scope.region(0).blocks().into_iter();
    blocks.flat_map(Block::ops).any(|op| op.num_regions() > 0)
}

/// Checks the condition: what is in `gpux` is in counted form, and device code has no tokens.
fn check_counted<'c>(root: Op<'c>) -> Result<OpsToLower<'c>, PassError<'c>> {
    let run_before = "run --gpux-tokens-to-groups before --gpux-to-nvvm";
    let mut found = OpsToLower::default();
    let (mut in_async, mut scopes) = (Vec::new(), Vec::new());
    for op in root.self_and_nested() {
        found.has_descriptors |= wgmma::defines_descriptor(op);
        if op.is(gpu::FUNC) {
            found.functions.push(op);
        } else if is_launch_or_descriptor(op) {
            found.launches.push(op);
        }
        match op.name() {
            gpux::COPY if op.num_results() == 0 => found.copies.push(op),
            gpux::COMMIT_GROUP if op.num_results() == 0 => found.groups.push(op),
            gpux::WAIT_GROUP => found.groups.push(op),
            gpux::TMA_LOAD | gpux::BULK_LOAD | gpux::TMA_STORE | gpux::BULK_STORE
                if op.num_results() == 0 =>
            {
                found.bulk_copies.push(op);
            }
            gpux::ELECT => found.elects.push(op),
            gpu::SUBGROUP_ID => found.warp_numbers.push(op),
            gpux::WGMMA if op.num_results() == 1 => found.multiplications.push(op),
            gpux::READ_FRAGMENT | gpux::WRITE_FRAGMENT => found.multiplications.push(op),
            gpux::TMA_LOAD | gpux::BULK_LOAD => {
                let help = "run --gpux-tokens-to-mbarriers before --gpux-to-nvvm";
                return Err(PassError::new(op, HAS_TOKEN).note(op, help));
            }
            gpux::COPY | gpux::COMMIT_GROUP | gpux::TMA_STORE | gpux::BULK_STORE | gpux::WGMMA => {
                return Err(PassError::new(op, HAS_TOKEN).note(op, run_before));
            }
            memref::ALLOCA_SCOPE if has_control_flow(op) => scopes.push(op),
            gpu::FUNC | func::FUNC
                if op.is(gpu::FUNC) || op.parent().is_some_and(|outer| outer.is(gpu::MODULE)) =>
            {
                let arguments = op.region(0).first().into_iter().flat_map(Block::args);
                if let Some(token) = arguments.into_iter().find(|argument| is_token(argument.ty())) {
                    let message =
                        "device function takes a token as an argument, and the hardware has no tokens";
                    let help = "await it in the caller, or run --gpux-inline-calls first";
                    return Err(PassError::new(token.location(), message).note(token.location(), help));
                }
            }
            _ if op.dialect() == gpux::NAMESPACE => {
                return Err(PassError::new(op, "has no lowering to NVVM"));
            }
            _ if op.dialect() == async_::NAMESPACE => in_async.push(op),
            _ => {}
        }
    }
    if in_async.is_empty() && scopes.is_empty() {
        return Ok(found);
    }
    let device: FxHashSet<Op> = device_code(root).into_iter().collect();
    let is_in_device =
        |op: &Op<'c>| device.contains(op) || op.ancestors().any(|outer| device.contains(&outer));
    // Upstream makes blocks of what is in a scope, which has one.
    if let Some(scope) = scopes.into_iter().find(is_in_device) {
        let message = "has control flow inside, and no lowering to NVVM";
        let help = "run --canonicalize first: it moves allocations out of the scope, which then goes";
        return Err(PassError::new(scope, message).note(scope, help));
    }
    for op in in_async {
        if is_in_device(&op) {
            let what_to_do = match op.name() {
                async_::FUNC | async_::CALL if has_upstream_async(op) => {
                    "make it a func.func that takes or returns tokens, and run --gpux-inline-calls first"
                }
                async_::FUNC | async_::CALL => {
                    "run --gpux-inline-calls first, or write its body where it is called"
                }
                _ if has_upstream_async(op) && !is_translated(op) => {
                    "it is for host code: in device code, upstream's dialect 'async' has execute, await and yield, and what \
                     async-opt adds is join and ready"
                }
                _ if op.operands().any(is_from_call) => {
                    "its token comes from a call: run --gpux-inline-calls before --gpux-tokens-to-groups"
                }
                _ => run_before,
            };
            let message = "is left in device code, and the hardware has no tokens";
            return Err(PassError::new(op, message).note(op, what_to_do));
        }
    }
    Ok(found)
}

/// Returns true if `op`, of upstream's dialect `async`, is one that `--gpux-tokens-to-groups` translates.
fn is_translated(op: Op<'_>) -> bool {
    matches!(
        op.name(),
        async_::AWAIT | async_::JOIN | async_::READY | upstream_async::EXECUTE | upstream_async::YIELD
    )
}

/// Returns true if `value` is what a call returns.
fn is_from_call(value: Value<'_>) -> bool {
    value.defining_op().is_some_and(is_call)
}

/// Returns an error if something in `device` is not for the GPU `chip`, which may be empty.
fn check_chip<'c>(root: Op<'c>, device: &OpsToLower<'c>, chip: &str) -> Result<(), PassError<'c>> {
    if chip.is_empty() {
        return Ok(());
    }
    if let Some(&op) = device.multiplications.first().filter(|_| chip != WGMMA_CHIP) {
        let message = format!("needs {WGMMA_CHIP}, the only GPU that has wgmma, but the chip is {chip}");
        return Err(PassError::new(op, message));
    }
    if sm_of(chip).map_err(|message| PassError::new(root.location(), message))? >= FIRST_BULK_SM {
        return Ok(());
    }
    let bulk = HardwareQueue::Bulk.attribute(root.context());
    let of_bulk = device
        .groups
        .iter()
        .filter(|op| op.attr(gpux_attr::QUEUE) == Some(bulk));
    let ops = device.bulk_copies.iter().chain(&device.elects).chain(of_bulk);
    match ops.into_iter().next() {
        None => Ok(()),
        Some(&op) => {
            let message = format!("needs sm_{FIRST_BULK_SM} or newer, but the chip is {chip}");
            Err(PassError::new(op, message))
        }
    }
}

/// Groups operations by the function that they are in.
fn by_function<'c>(ops: &[Op<'c>]) -> Vec<(Op<'c>, Vec<Op<'c>>)> {
    let mut functions: Vec<(Op, Vec<Op>)> = Vec::new();
    for &op in ops {
        let function = op
            .ancestors()
            .find(|outer| outer.is_function() || outer.is(gpu::LAUNCH));
        let Some(function) = function else { continue };
        match functions.last_mut() {
            Some((last, elects)) if *last == function => elects.push(op),
            _ => functions.push((function, vec![op])),
        }
    }
    functions
}

/// What `#gpux.queue` names.
#[derive(Clone, Copy)]
enum HardwareQueue {
    CpAsync,
    Bulk,
    Wgmma,
}

impl HardwareQueue {
    const ALL: [Self; 3] = [Self::CpAsync, Self::Bulk, Self::Wgmma];

    fn attribute(self, context: &Context) -> Attribute<'_> {
        let name = match self {
            Self::CpAsync => "cp_async",
            Self::Bulk => "bulk",
            Self::Wgmma => "wgmma",
        };
        queue_attribute(context, name)
    }
}

/// Lowers commits and waits.
struct Groups<'c> {
    queues: HardwareQueues<'c>,
    templates: OpTemplates<'c, GroupKind<'c>>,
}

/// What a commit or wait is built of: queue, count (of a wait) and whether it is `read`.
type GroupKind<'c> = (Option<Attribute<'c>>, Option<Attribute<'c>>, bool);

impl<'c> Groups<'c> {
    fn new(context: &'c Context) -> Self {
        Self {
            queues: HardwareQueues::new(context),
            templates: OpTemplates::default(),
        }
    }

    /// Puts the lowered commit or wait in the place of `op`. Discardable attributes are kept.
    fn lower(&mut self, op: Op<'c>) {
        let kind = (
            op.attr(gpux_attr::QUEUE),
            op.attr(gpux_attr::PENDING),
            op.has_attr(attr::READ),
        );
        let queues = &self.queues;
        let lowered = self.templates.clone_of(kind, op.location(), || queues.lower(op));
        lowered.copy_discardable_attrs(op);
        lowered.move_before(op);
        op.erase();
    }
}

/// The attributes of all queues.
struct HardwareQueues<'c> {
    context: &'c Context,
    attributes: [Attribute<'c>; 3],
}

impl<'c> HardwareQueues<'c> {
    fn new(context: &'c Context) -> Self {
        Self {
            context,
            attributes: HardwareQueue::ALL.map(|queue| queue.attribute(context)),
        }
    }

    /// Builds what a commit or wait becomes.
    fn lower(&self, op: Op<'c>) -> Op<'c> {
        let queue = self.queue(op);
        let Some(pending) = op.int_attr(gpux_attr::PENDING) else {
            let name = match queue {
                HardwareQueue::CpAsync => nvvm::CP_ASYNC_COMMIT_GROUP,
                HardwareQueue::Bulk => nvvm::CP_ASYNC_BULK_COMMIT_GROUP,
                HardwareQueue::Wgmma => nvvm::WGMMA_COMMIT_GROUP_SYNC_ALIGNED,
            };
            return OpBuilder::new(name, op.location()).detached();
        };
        let (name, attribute, bits) = match queue {
            HardwareQueue::CpAsync => (nvvm::CP_ASYNC_WAIT_GROUP, attr::N, 32),
            HardwareQueue::Bulk => (nvvm::CP_ASYNC_BULK_WAIT_GROUP, attr::GROUP, 32),
            HardwareQueue::Wgmma => (nvvm::WGMMA_WAIT_GROUP_SYNC_ALIGNED, attr::GROUP, 64),
        };
        let mut wait =
            OpBuilder::new(name, op.location()).attr(attribute, int_attr(self.context, bits, pending));
        if op.has_attr(attr::READ) {
            wait = wait.attr(attr::READ, Attribute::unit(self.context));
        }
        wait.detached()
    }

    fn queue(&self, op: Op<'c>) -> HardwareQueue {
        let queue = op.attr(gpux_attr::QUEUE);
        let index = self.attributes.iter().position(|&known| Some(known) == queue);
        HardwareQueue::ALL[index.expect("a verified commit or wait has a queue")]
    }
}
