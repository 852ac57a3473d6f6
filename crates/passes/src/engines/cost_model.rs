//! Cost model of a GPU: the unit, the latency and the occupancy of each operation of a thread.
//!
//! All figures are cycles as one warp sees them, while the warps of the other three partitions of the
//! multiprocessor do the same: what the four share takes four times as long. They are rounded; a schedule
//! needs what is longer than what, not what it is exactly.
//!
//! Sources:
//! - Throughput of arithmetic: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions". Of tensor cores: NVIDIA's
//!   white papers on the A100 and the H100 (1024 and 2048 dense fp16 multiply-adds a cycle and multiprocessor).
//! - `mma.sync` reaches about 62% of the latter on the H100; latencies of memory: Luo et al., "Benchmarking and Dissecting the
//!   Nvidia Hopper GPU Architecture through Microbenchmarking", 2024 (arXiv 2402.13499).
//! - Latencies of `mma.sync` and `ldmatrix` on the A100: Sun et al., "Dissecting Tensor Cores via Microbenchmarks", 2022 (arXiv
//!   2206.02874). On the H100 they are taken to be the same.
//! - 128 bytes a cycle between workgroup memory and the registers of a multiprocessor: the tuning guides of both.
//! - Estimates: latencies of arithmetic and of a barrier; that a copy takes the load/store unit for as long as a store of
//!   its bytes to workgroup memory.

use crate::analysis::alias::Root;
use crate::analysis::memory::{self, Effects};
use async_dialects::completion::{Completion, ExecutionScope, GroupEffect};
use async_dialects::names::{gpux, gpux_attr};
use async_mlir::gpu::{MemorySpace, is_barrier};
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::Type;
use async_mlir::names::{arith, attr, math, memref, nvgpu, vector};
use async_mlir::types::{array_numbers, bit_width, float, memref_shape, vector_shape};

/// The unit that moves data between registers and memory.
const LOAD_STORE: &str = "lsu";
/// The tensor core.
const TENSOR: &str = "tensor";
/// The unit for fused multiply-adds of 32 bits.
const FMA: &str = "fma";
/// The unit for roots, exponentials and the like.
const SPECIAL: &str = "sfu";

/// All units.
pub(super) const UNITS: &[&str] = &[LOAD_STORE, TENSOR, FMA, SPECIAL];

/// A generation of GPUs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CostModel {
    costs: &'static Costs,
}

/// What its operations cost.
#[derive(Debug)]
struct Costs {
    /// Cycles until what is in global memory, and in no cache, is there.
    global_latency: u64,
    /// The same of workgroup memory.
    workgroup_latency: u64,
    /// Multiply-adds a cycle of a tensor core, for numbers of 16 bits.
    tensor_rate: u64,
    /// The same for 64 bits, where it is not a quarter.
    tensor_rate_of_doubles: u64,
    /// Cycles from the last cycle that a tensor core is taken until the result is there.
    tensor_depth: u64,
    /// Cycles that a number of each lane takes the unit for multiply-adds.
    fma: u64,
}

const SM_80: Costs = Costs {
    global_latency: 466,
    workgroup_latency: 29,
    tensor_rate: 256,
    tensor_rate_of_doubles: 16,
    tensor_depth: 17,
    fma: 2,
};

const SM_90: Costs = Costs {
    global_latency: 479,
    workgroup_latency: 29,
    tensor_rate: 317,
    tensor_rate_of_doubles: 32,
    tensor_depth: 17,
    fma: 1,
};

/// Cycles that the load/store unit is taken at least.
const LEAST_ACCESS: u64 = 4;
/// Cycles from the start of an arithmetic instruction until its result is there, besides its occupancy.
const ARITHMETIC_LATENCY: u64 = 4;
/// The same of [`SPECIAL`], and how long a number of each lane takes it: it has 4 lanes.
const SPECIAL_LATENCY: u64 = 18;
const SPECIAL_OCCUPANCY: u64 = 8;
/// Cycles until the last of the warps that meet goes on.
const BARRIER_LATENCY: u64 = 20;

/// What an operation takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// The unit; nothing if it takes none.
    pub unit: Option<&'static str>,
    /// Cycles until its results are there.
    pub latency: u64,
    /// Cycles that it takes the unit.
    pub occupancy: u64,
}

impl CostModel {
    /// The cost model of the chip with number `sm`.
    pub fn new(sm: u32) -> Self {
        let costs = if sm < 90 { &SM_80 } else { &SM_90 };
        Self { costs }
    }

    /// What `op` takes; `None` if it takes next to no time.
    pub fn cost(self, op: Op<'_>) -> Option<Cost> {
        match op.name() {
            _ if is_barrier(op) => Some(Cost {
                latency: BARRIER_LATENCY,
                ..Cost::default()
            }),
            nvgpu::MMA_SYNC | nvgpu::MMA_SP_SYNC => self.multiplication(op),
            _ if is_copy(op) => {
                let occupancy = access_cycles(copied_bytes(op).unwrap_or(16));
                Some(Cost {
                    unit: Some(LOAD_STORE),
                    latency: self.costs.global_latency + occupancy,
                    occupancy,
                })
            }
            _ => self.arithmetic(op).or_else(|| self.access(op)),
        }
    }

    /// A multiplication of matrices of a warp.
    fn multiplication(self, op: Op<'_>) -> Option<Cost> {
        let shape = op.attr(attr::MMA_SHAPE).and_then(array_numbers)?;
        let sparse = if op.is(nvgpu::MMA_SP_SYNC) { 2 } else { 1 };
        let products = shape
            .iter()
            .filter_map(|size| u64::try_from(*size).ok())
            .product::<u64>()
            / sparse;
        let bits = vector_shape(op.operand(0).ty()).and_then(|shape| bit_width(shape.element));
        let rate = match bits? {
            64 => self.costs.tensor_rate_of_doubles,
            bits => self.costs.tensor_rate * 16 / u64::from(bits.max(1)),
        };
        let occupancy = products.div_ceil(rate.max(1)).max(1);
        Some(Cost {
            unit: Some(TENSOR),
            latency: self.costs.tensor_depth + occupancy,
            occupancy,
        })
    }

    /// Arithmetic on floating-point numbers. That on addresses is next to nothing beside it.
    fn arithmetic(self, op: Op<'_>) -> Option<Cost> {
        let is_arithmetic = match op.dialect() {
            arith::NAMESPACE => !op.is(arith::CONSTANT) && !op.is(arith::BITCAST),
            math::NAMESPACE => true,
            _ => op.is(vector::FMA),
        };
        if !is_arithmetic || op.num_results() != 1 {
            return None;
        }
        let (number, element) = numbers(op.result(0).ty());
        float(element)?;
        let special = op.dialect() == math::NAMESPACE && !op.is(math::FMA);
        let (unit, latency, each) = if special {
            (SPECIAL, SPECIAL_LATENCY, SPECIAL_OCCUPANCY)
        } else {
            (FMA, ARITHMETIC_LATENCY, self.costs.fma)
        };
        let occupancy = number.saturating_mul(each);
        Some(Cost {
            unit: Some(unit),
            latency: occupancy.saturating_add(latency),
            occupancy,
        })
    }

    /// An access to memory.
    fn access(self, op: Op<'_>) -> Option<Cost> {
        let is_access =
            matches!(op.dialect(), memref::NAMESPACE | vector::NAMESPACE) || op.is(nvgpu::LDMATRIX);
        let Effects::Known(effects) = memory::effects(op) else {
            return None;
        };
        let effect = effects.first().filter(|_| is_access)?;
        let value: Option<Value> = if op.num_results() > 0 {
            Some(op.result(0))
        } else {
            op.operands().next()
        };
        let (number, element) = numbers(value?.ty());
        let bits = u64::from(bit_width(element)?).saturating_mul(number);
        let occupancy = access_cycles(bits.div_ceil(8));
        let latency = match Root::of(effect.memory).space {
            // Nobody waits for a store.
            _ if effect.access.writes() => occupancy,
            Some(MemorySpace::Workgroup) => self.costs.workgroup_latency,
            Some(MemorySpace::Private) => return None,
            _ => self.costs.global_latency,
        };
        Some(Cost {
            unit: Some(LOAD_STORE),
            latency,
            occupancy,
        })
    }
}

/// Returns true if `op` issues an asynchronous copy of its thread that completes in a group.
pub(crate) fn is_copy(op: Op<'_>) -> bool {
    op.num_regions() == 0
        && Completion::of(op).is_some_and(|completion| {
            completion.effect == GroupEffect::Issue
                && completion.scope == ExecutionScope::Thread
                && completion.queue.is_some()
        })
}

/// How many bytes each thread copies, if a constant says so.
fn copied_bytes(op: Op<'_>) -> Option<u64> {
    let elements = match op.name() {
        gpux::COPY => op.int_attr(gpux_attr::ELEMENTS)?,
        nvgpu::DEVICE_ASYNC_COPY => op.int_attr(attr::NVGPU_ELEMENTS)?,
        _ => return None,
    };
    let written = Completion::of(op)?.destination?;
    let bits = bit_width(memref_shape(written.ty())?.element)?;
    Some(u64::try_from(elements).ok()?.saturating_mul(u64::from(bits)) / 8)
}

/// How long an access to so many bytes of each lane takes the load/store unit: 128 bytes a cycle, for 32 lanes and four partitions,
/// are one byte of each lane.
fn access_cycles(bytes: u64) -> u64 {
    bytes.max(LEAST_ACCESS)
}

/// How many numbers of which type a value of each lane has.
fn numbers(ty: Type<'_>) -> (u64, Type<'_>) {
    let Some(shape) = vector_shape(ty) else {
        return (1, ty);
    };
    let sizes = shape.sizes.iter().flatten();
    let sizes = sizes.filter_map(|size| u64::try_from(*size).ok());
    (sizes.fold(1, u64::saturating_mul), shape.element)
}
