//! Uses of the mbarriers of a ring.

use super::Unreadable;
use super::index::Index;
use async_dialects::names::gpux;
use async_mlir::gpu::is_workgroup;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{llvm, nvgpu, nvvm};
use async_mlir::types::{bit_width, memref_shape};

/// A use of an mbarrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Use<'c> {
    /// `mbarrier.init` for a number of arrivals.
    Init { slot: Value<'c>, count: Value<'c> },
    /// `mbarrier.inval`.
    Inval { slot: Value<'c> },
    /// `mbarrier.expect_tx`.
    Expect { slot: Value<'c>, bytes: Value<'c> },
    /// `mbarrier.arrive.expect_tx`.
    ArriveExpect { slot: Value<'c>, bytes: Value<'c> },
    /// `mbarrier.arrive`.
    Arrive { slot: Value<'c> },
    /// A load of so many bytes.
    Load { slot: Value<'c>, bytes: i64 },
    /// A wait.
    Wait { slot: Value<'c>, parity: Value<'c> },
}

impl<'c> Use<'c> {
    /// The numbers that it takes.
    pub fn operands(self) -> impl Iterator<Item = Value<'c>> {
        let (slot, other) = match self {
            Self::Init { slot, count: other }
            | Self::Expect { slot, bytes: other }
            | Self::ArriveExpect { slot, bytes: other }
            | Self::Wait { slot, parity: other } => (slot, Some(other)),
            Self::Inval { slot } | Self::Arrive { slot } | Self::Load { slot, .. } => (slot, None),
        };
        [slot].into_iter().chain(other)
    }
}

/// What is done with the mbarriers that `create` makes.
pub(super) fn uses<'c>(index: &Index<'c>, create: Op<'c>) -> Result<Vec<(Op<'c>, Use<'c>)>, Unreadable<'c>> {
    let mut found = Vec::new();
    for op in index.users(create.result(0)) {
        if op.is(nvgpu::MBARRIER_GET) {
            by_address(index, op, &mut found)?;
            continue;
        }
        let is_for_one = index.is_by_issuer(op);
        let used = match op.name() {
            nvgpu::MBARRIER_INIT if index.is_elected(op) => Use::Init {
                slot: op.operand(2),
                count: op.operand(1),
            },
            nvgpu::MBARRIER_ARRIVE_EXPECT_TX if is_for_one && op.num_operands() == 3 => Use::ArriveExpect {
                slot: op.operand(2),
                bytes: op.operand(1),
            },
            nvgpu::MBARRIER_ARRIVE => Use::Arrive { slot: op.operand(1) },
            nvgpu::MBARRIER_TRY_WAIT_PARITY => Use::Wait {
                slot: op.operand(3),
                parity: op.operand(1),
            },
            gpux::BULK_LOAD | gpux::TMA_LOAD if is_for_one => Use::Load {
                slot: op.operand(op.num_operands() - 1),
                bytes: bytes(op)?,
            },
            _ => return Err(unknown(op)),
        };
        found.push((op, used));
    }
    Ok(found)
}

fn unknown(op: Op<'_>) -> Unreadable<'_> {
    let what = "uses an mbarrier in a way that is not known";
    Unreadable { op, what }
}

/// What is done with the address that `get` returns.
fn by_address<'c>(
    index: &Index<'c>,
    get: Op<'c>,
    found: &mut Vec<(Op<'c>, Use<'c>)>,
) -> Result<(), Unreadable<'c>> {
    let slot = get.operand(1);
    for cast in index.users(get.result(0)) {
        if !cast.is(llvm::INTTOPTR) {
            return Err(unknown(cast));
        }
        for op in index.users(cast.result(0)) {
            let used = match op.name() {
                nvvm::MBARRIER_EXPECT_TX => Use::Expect {
                    slot,
                    bytes: op.operand(1),
                },
                nvvm::MBARRIER_INVAL => Use::Inval { slot },
                _ => return Err(unknown(op)),
            };
            if !index.is_by_issuer(op) {
                return Err(unknown(op));
            }
            found.push((op, used));
        }
    }
    Ok(())
}

/// How many bytes a load completes on its mbarrier: those that it writes to the workgroup's memory.
fn bytes(load: Op<'_>) -> Result<i64, Unreadable<'_>> {
    let side = load.operands().rfind(|value| is_workgroup(value.ty()));
    let shape = side.and_then(|value| memref_shape(value.ty()));
    let bytes = shape.and_then(|shape| {
        let bits = i64::from(bit_width(shape.element)?);
        let mut sizes = shape.sizes.iter().copied();
        let elements = sizes.try_fold(1_i64, |all, size| all.checked_mul(size?))?;
        Some(elements.checked_mul(bits)? / 8)
    });
    bytes.ok_or(Unreadable {
        op: load,
        what: "loads a number of bytes that is not known",
    })
}
