//! Collects what operations access of the workgroup's buffers, and of global memory.

use crate::escape::{is_captured, is_non_escaping, may_be_foreign};
use crate::footprints::{BufferKey, Footprints, Mask, is_of_workgroup};
use crate::memory::{BufferOrigin, Effect, buffer_origin};
use crate::views::base;
use async_mlir::gpu::{MemorySpace, is_workgroup};
use async_mlir::ir::{Op, Region, Value};
use async_mlir::llvm::{AddressSpace, is_pointer, pointer};
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::{gpu, memref};
use async_overlap::{BufferId, Footprint, Offset};
use rustc_hash::FxHashMap;

/// Which bytes of a buffer that is not the workgroup's are accessed.
#[derive(Clone, Debug)]
pub struct GlobalFootprint<'c> {
    /// The bytes.
    pub bytes: Footprint,
    /// The memref of unknown size that these are bytes of, as if its size were known; `None` if they are bytes of the buffer.
    pub by_indices_of: Option<Value<'c>>,
}

/// The buffers of a function.
pub struct Buffers<'c> {
    /// What is accessed of them.
    pub footprints: Footprints<'c>,
    /// All buffers that the function mentions.
    all: Vec<BufferId>,
    /// True if the function may be what threads of a block execute: it mentions buffers, or stands in a `gpu.module`.
    on_device: bool,
    /// The values that each buffer begins as.
    roots: FxHashMap<BufferId, Vec<Value<'c>>>,
    /// The buffers that others may know.
    escaped: Option<Vec<BufferId>>,
    /// The buffers that an address which is not known may lead to.
    captured: Option<Vec<BufferId>>,
}

/// Memory that other blocks can access, too.
#[derive(Clone, Copy, Default)]
pub enum GlobalBuffer<'c> {
    /// None of it.
    #[default]
    None,
    /// This buffer.
    This(Value<'c>),
    /// Perhaps any.
    Any,
}

/// What an operation touches.
#[derive(Default)]
pub struct Touched<'c> {
    /// Memory of the workgroup.
    pub workgroup: Vec<Footprint>,
    /// Memory that other blocks can access, too.
    pub global: GlobalBuffer<'c>,
}

impl<'c> Buffers<'c> {
    /// Those that `function` mentions.
    #[must_use]
    pub fn new(function: Op<'c>) -> Self {
        let mut footprints = Footprints::with_rotating_buffers(function);
        let arguments = function.regions().filter_map(Region::first);
        let arguments = arguments.flat_map(|block| block.args().collect::<Vec<Value>>());
        let results = function
            .self_and_nested()
            .into_iter()
            .flat_map(|op| op.results().collect::<Vec<Value>>());
        let mentioned: Vec<Value> = arguments
            .chain(results)
            .filter(|value| is_workgroup(value.ty()))
            .collect();
        let mut roots: FxHashMap<BufferId, Vec<Value>> = FxHashMap::default();
        for value in mentioned {
            if let Some(buffer) = footprints.buffer(value) {
                let known = roots.entry(buffer).or_default();
                known.extend(Some(value).filter(|value| base(*value) == *value));
            }
        }
        let mut all: Vec<BufferId> = roots.keys().copied().collect();
        all.sort_unstable();
        let on_device = !all.is_empty() || function.ancestors().any(|op| op.is(gpu::MODULE));
        Self {
            footprints,
            all,
            on_device,
            roots,
            escaped: None,
            captured: None,
        }
    }

    /// What `op` touches of `effect.memory`.
    pub fn of(&mut self, op: Op<'c>, effect: Effect<'c>, mask: &Mask) -> Touched<'c> {
        let memory = effect.memory;
        let base = base(memory);
        let mut touched = Touched::default();
        if is_of_workgroup(memory) {
            touched.workgroup = match self.footprints.buffer(memory) {
                Some(buffer) => vec![self.footprints.of(op, effect, buffer, mask)],
                // One of them, it is not known which.
                None => self.any_of(self.all.clone(), base),
            };
        } else if !base.ty().is_mem_ref() {
            // An address may lead to whatever is known outside.
            let escaped = self.escaped();
            touched.workgroup = if is_pointer_to_workgroup(memory) {
                self.any_of(escaped, base)
            } else {
                escaped.into_iter().map(anything).collect()
            };
            touched.global = GlobalBuffer::Any;
        } else if MemorySpace::of(base.ty()).is_none() && buffer_origin(base) == BufferOrigin::Unknown {
            // It may be one that the function has chosen from others, or one that others know and handed over.
            let reachable = if may_be_foreign(base) {
                self.escaped()
            } else {
                self.captured()
            };
            touched.workgroup = if self.on_device {
                self.any_of(reachable, base)
            } else {
                Vec::new()
            };
            touched.global = GlobalBuffer::Any;
        } else if MemorySpace::of(base.ty()) != Some(MemorySpace::Private)
            && !base.defining_op().is_some_and(|op| op.is(memref::ALLOCA))
        {
            touched.global = match buffer_origin(base) {
                BufferOrigin::Unknown => GlobalBuffer::Any,
                _ => GlobalBuffer::This(base),
            };
        }
        touched
    }

    /// Any byte of any of `buffers`, and of those that the function does not mention, if `base` may lead there.
    fn any_of(&mut self, mut buffers: Vec<BufferId>, base: Value<'c>) -> Vec<Footprint> {
        if may_be_foreign(base) {
            buffers.push(self.footprints.foreign());
        }
        buffers.into_iter().map(anything).collect()
    }

    /// What `op` touches of memory that is not the workgroup's, if that is known.
    pub fn global_footprint(
        &mut self,
        op: Op<'c>,
        effect: Effect<'c>,
        mask: &Mask,
    ) -> Option<GlobalFootprint<'c>> {
        let memory = effect.memory;
        let buffer = self.footprints.buffer(memory)?;
        let footprint = self.footprints.of(op, effect, buffer, mask);
        if footprint.bytes.is_some() {
            return Some(GlobalFootprint {
                bytes: footprint,
                by_indices_of: None,
            });
        }
        Some(GlobalFootprint {
            bytes: self.footprints.by_indices(op, memory, buffer, mask)?,
            by_indices_of: Some(memory),
        })
    }

    /// The buffers that `op`, of which nothing is known, can access.
    pub fn reachable(&mut self, op: Op<'c>) -> Vec<BufferId> {
        let mut reachable = self.escaped();
        let handed: Vec<Value> = op.operands().filter(|value| is_of_workgroup(*value)).collect();
        reachable.extend(
            handed
                .into_iter()
                .filter_map(|value| self.footprints.buffer(value)),
        );
        reachable.sort_unstable();
        reachable.dedup();
        reachable
    }

    /// The buffers that others may know.
    fn escaped(&mut self) -> Vec<BufferId> {
        if self.escaped.is_none() {
            // Of buffers that rotate, one is enough.
            let is_known = |buffer: BufferId| match self.footprints.keys[buffer] {
                BufferKey::Value(value) => {
                    !is_non_escaping(value) || self.roots[&buffer].iter().any(|root| !is_non_escaping(*root))
                }
                BufferKey::Global(_) | BufferKey::Dynamic | BufferKey::Foreign => true,
            };
            self.escaped = Some(
                self.all
                    .iter()
                    .copied()
                    .filter(|buffer| is_known(*buffer))
                    .collect(),
            );
        }
        self.escaped.clone().unwrap_or_default()
    }

    /// The buffers that an address which is not known may lead to.
    fn captured(&mut self) -> Vec<BufferId> {
        if self.captured.is_none() {
            let is_captured = |buffer: BufferId| self.roots[&buffer].iter().any(|root| is_captured(*root));
            self.captured = Some(
                self.all
                    .iter()
                    .copied()
                    .filter(|buffer| is_captured(*buffer))
                    .collect(),
            );
        }
        self.captured.clone().unwrap_or_default()
    }
}

fn is_pointer_to_workgroup(memory: Value<'_>) -> bool {
    is_pointer(memory.ty()) && memory.ty() == pointer(memory.context(), AddressSpace::Shared)
}

/// Any byte of a buffer.
pub fn anything(buffer: BufferId) -> Footprint {
    Footprint {
        buffer,
        bytes: None,
        offset: Offset::default(),
        within: Vec::new(),
        certain: false,
    }
}
