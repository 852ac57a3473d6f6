//! `gpu.launch`: a kernel in the middle of host code.
//!
//! **Effect.** Its parameters are those of the host function. What the region takes from outside is computed again, by each
//! thread, if that is arithmetic, a view, or the descriptor of one; anything else, such as a buffer that the host allocates, is one more parameter.
//!
//! **Refusals.** Clusters. What the host does besides, such as filling a buffer, is not done.

use super::{Done, Reader, Unknown};
use crate::code::{Id, Op as Instruction, Param};
use async_mlir::ir::{Block, Definition, Op, Walk};
use async_mlir::names::{attr, gpu, nvgpu};
use std::collections::{HashSet, VecDeque};

/// The ids that the region starts with, each in three dimensions.
const IDS: [Id; 4] = [Id::Block, Id::Thread, Id::GridDim, Id::BlockDim];
const DIMS: usize = 3;

/// The launches in `function`, which is host code then.
#[must_use]
pub fn launches(function: Op<'_>) -> Vec<Op<'_>> {
    let mut found = Vec::new();
    function.walk(|op| {
        if op.is(gpu::LAUNCH) {
            found.push(op);
            return Walk::Skip;
        }
        if op != function && op.is_function() {
            return Walk::Skip;
        }
        Walk::Advance
    });
    found
}

/// The name of the kernel that upstream's `--gpu-kernel-outlining` makes of a launch.
#[must_use]
pub fn launch_name(launch: Op<'_>) -> String {
    let Some(host) = launch.ancestors().find(|outer| outer.is_function()) else {
        return "kernel".into();
    };
    let name = host.str_attr(attr::SYM_NAME).unwrap_or_default();
    match launches(host).iter().position(|&other| other == launch) {
        Some(number @ 1..) => format!("{name}_kernel_{}", number - 1),
        _ => format!("{name}_kernel"),
    }
}

impl<'c> Reader<'c> {
    pub(super) fn launch(&mut self, launch: Op<'c>) -> Done<'c> {
        self.code.name = launch_name(launch);
        let host = launch.ancestors().find(|outer| outer.is_function());
        let (Some(host), Some(entry)) = (host, launch.region(0).first()) else {
            return Err(Unknown::new(
                launch,
                "a launch that is in no function can't be run",
            ));
        };
        let sizes = super::ints(launch, attr::OPERAND_SEGMENT_SIZES).unwrap_or_default();
        // Asynchronous dependencies, sizes of grids and blocks, of clusters if there are any, of dynamic workgroup memory.
        let [dependencies, _, _, _, _, _, _, cluster, _, _, dynamic] = sizes[..] else {
            return Err(Unknown::operation(launch));
        };
        if cluster != 0 {
            return Err(Unknown::new(
                launch,
                "the interpreter knows no clusters: launch blocks that stand alone",
            ));
        }
        let first = usize::try_from(dependencies).unwrap_or(0);
        self.code.grid = constants(launch, first);
        self.code.block = constants(launch, first + DIMS);
        if dynamic != 0 {
            let bytes = launch.operand(first + 2 * DIMS).as_constant_int();
            self.code.dynamic_workgroup = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        }
        if let Some(host_entry) = host.region(0).first() {
            self.parameters(host, host_entry)?;
        }
        self.captured(launch, host)?;
        self.ids(launch, entry)?;
        self.region(launch.region(0), &mut |reader, terminator| {
            reader.emit(terminator, Instruction::Return);
            Ok(())
        })
    }

    /// The ids and buffers that the region starts with.
    fn ids(&mut self, launch: Op<'c>, entry: Block<'c>) -> Done<'c> {
        let workgroup = launch.int_attr(attr::WORKGROUP_ATTRIBUTIONS).unwrap_or(0);
        let workgroup = usize::try_from(workgroup).unwrap_or(0);
        for (i, arg) in entry.args().enumerate() {
            let buffer = i.checked_sub(DIMS * IDS.len());
            if let Some(buffer) = buffer {
                self.attribution(launch, arg, buffer < workgroup, None)?;
                continue;
            }
            let (to, id) = (self.reg(arg), IDS[i / DIMS]);
            let dim = u8::try_from(i % DIMS).unwrap_or(0);
            self.emit(launch, Instruction::Id { to, id, dim });
        }
        Ok(())
    }

    /// Makes what the region of `launch` uses of the host's values.
    fn captured(&mut self, launch: Op<'c>, host: Op<'c>) -> Done<'c> {
        let mut seen = HashSet::new();
        let mut queue = VecDeque::new();
        launch.walk(|op| {
            if op != launch {
                queue.extend(op.operands());
            }
            Walk::Advance
        });
        let mut computed = HashSet::new();
        while let Some(value) = queue.pop_front() {
            let owner = match value.definition() {
                Definition::Result(op, _) => Some(op),
                Definition::Argument(block, _) => block.parent_op(),
            };
            let is_inside = owner.is_some_and(|op| launch.is_ancestor_of(op));
            if is_inside || self.regs.contains_key(&value) || !seen.insert(value) {
                continue;
            }
            let again = |op: &Op| op.is_pure() || op.is(nvgpu::TMA_CREATE_DESCRIPTOR);
            match value
                .defining_op()
                .filter(|op| again(op) && op.num_regions() == 0)
            {
                Some(op) => {
                    computed.insert(op);
                    queue.extend(op.operands());
                }
                None => {
                    let at = owner.unwrap_or(launch);
                    let kind = Self::param_kind(at, value.ty())?;
                    let (to, made_by) = (self.reg(value), Some(self.place(at)));
                    self.code.params.push(Param { to, kind, made_by });
                }
            }
        }
        let mut ops = Vec::new();
        host.walk(|op| {
            if computed.contains(&op) {
                ops.push(op);
            }
            Walk::Advance
        });
        ops.into_iter().try_for_each(|op| self.op(op))
    }
}

/// Three operands of `op`, if they are constants that sizes can be.
fn constants(op: Op<'_>, first: usize) -> Option<[u32; 3]> {
    let size = |i| u32::try_from(op.operand(first + i).as_constant_int()?).ok();
    let sizes = (0..DIMS).map(|i| size(i).filter(|&size| size > 0));
    sizes.collect::<Option<Vec<u32>>>()?.try_into().ok()
}
