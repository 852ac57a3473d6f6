//! Bulk copies, which one thread issues, and the mbarriers that loads complete on.

use super::{Copy, Issued, Op, Queue, Reg, Warpgroup};
use crate::value::Tile;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A bulk copy between global and workgroup memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bulk {
    /// True if it goes to workgroup memory.
    pub load: bool,
    /// What is in global memory.
    pub global: GlobalSide,
    /// The memref in workgroup memory, or a pointer.
    pub local: Reg,
    /// How it is seen to be complete.
    pub completion: Completion,
    /// Whether it is issued at all.
    pub predicate: Option<Reg>,
    /// How many bytes it moves, if `local` and a line in global memory are pointers and no memrefs. A tile has the size of its
    /// box.
    pub bytes: Option<Reg>,
    /// The warp that issues it, of a load of the whole block that names one.
    pub issuer: Option<u32>,
}

/// Where a bulk copy is at home in global memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GlobalSide {
    /// A tile of a tensor.
    Tile {
        /// The descriptor.
        tensor: Reg,
        /// Where the tile starts, outermost dimension first.
        indices: Box<[Reg]>,
    },
    /// A memref without gaps.
    Line(Reg),
}

/// How a bulk copy is seen to be complete.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Completion {
    /// By a token: all threads of the block execute it, and one of them issues it.
    Token(Reg),
    /// The same, of a store: the source was read, all is done.
    Tokens {
        /// The source may be reused.
        read: Reg,
        /// The destination is written.
        done: Reg,
    },
    /// By the phase of an mbarrier.
    MBarrier(Slot),
    /// By a group of a queue of the thread.
    Group(Queue),
}

impl Completion {
    /// Returns true if all threads of the block execute it together.
    #[must_use]
    pub fn is_block_wide(self) -> bool {
        matches!(self, Self::Token(_) | Self::Tokens { .. })
    }
}

/// An mbarrier.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Slot {
    /// One of a group.
    Of {
        /// The group.
        group: Reg,
        /// Its number.
        index: Reg,
    },
    /// The one at an address.
    At(Reg),
}

/// What is done with an mbarrier.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum MBarrierOp {
    /// `nvgpu.mbarrier.init`, `nvvm.mbarrier.init`
    Init {
        /// How many arrivals make a phase.
        count: Reg,
        /// Whether it is done at all.
        predicate: Option<Reg>,
    },
    /// `mbarrier.arrive` of `nvgpu` and `nvvm`, and its variants
    Arrive(Arrival),
    /// `nvvm.cp.async.mbarrier.arrive`: an arrival as soon as all copies that the thread has issued are complete.
    ArriveAfterCopies {
        /// True if it is one of the arrivals that the mbarrier was initialized with; else it is one more.
        counted: bool,
    },
    /// `nvvm.mbarrier.expect_tx`
    ExpectTx {
        /// The bytes that the phase is to wait for.
        bytes: Reg,
    },
    /// `mbarrier.try_wait.parity` of `nvgpu` and `nvvm`
    Wait {
        /// The parity of the phase.
        parity: Reg,
    },
    /// `mbarrier.test.wait` of `nvgpu` and `nvvm`, `nvvm.mbarrier.try_wait`
    Test {
        /// Of which phase.
        phase: Phase,
        /// Where it goes whether the phase is complete.
        to: Reg,
    },
    /// `nvgpu.mbarrier.get`
    Get {
        /// Where the address goes.
        to: Reg,
    },
    /// `nvvm.mbarrier.inval`
    Inval,
}

/// How a thread arrives on an mbarrier.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Arrival {
    /// How many arrivals it is; one if there is no number.
    pub count: Option<Reg>,
    /// The bytes that the phase is to wait for: `mbarrier.arrive.expect_tx`
    pub bytes: Option<Reg>,
    /// Where the number of the phase goes.
    pub token: Option<Reg>,
    /// Whether it is done at all.
    pub predicate: Option<Reg>,
    /// True if as many arrivals less make a phase from now on: `nvvm.mbarrier.arrive_drop`
    pub drops: bool,
    /// True if it must not be the last arrival of the phase: `mbarrier.arrive.nocomplete`
    pub leaves_open: bool,
}

/// How a test names a phase.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Phase {
    /// By what an arrival on it has returned.
    Token(Reg),
    /// By its parity.
    Parity(Reg),
}

/// Which thread issues for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Elect {
    /// One of the block: `gpux.elect`
    Block,
    /// One of the warp with this number: `gpux.elect` of a warp
    OfWarp(u32),
    /// One of the warp, of all or of those in a mask: `nvvm.elect.sync`
    Warp(Option<Reg>),
}

/// Makes a descriptor: `nvgpu.tma.create.descriptor`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Describe {
    /// Where to.
    pub to: Reg,
    /// The tensor.
    pub view: Reg,
    /// The sizes of the box.
    pub sizes: Box<[Reg]>,
    /// What the type says of it.
    pub shape: Arc<Tile>,
}

impl Op {
    /// Returns true if what it issues goes through the asynchronous proxy.
    #[must_use]
    pub fn is_bulk(&self) -> bool {
        self.is_wgmma() || matches!(self, Self::Copy(Copy { bulk: true, .. }) | Self::Bulk(_))
    }

    /// Returns true if it waits for the phase of an mbarrier, or looks whether that is complete.
    #[must_use]
    pub fn is_wait_for_phase(&self) -> bool {
        let Self::MBarrier { does, .. } = self else {
            return false;
        };
        matches!(does, MBarrierOp::Wait { .. } | MBarrierOp::Test { .. })
    }

    /// Returns true if it is issued by one thread or warpgroup, and has a token that can be awaited.
    #[must_use]
    pub fn is_awaitable(&self) -> bool {
        matches!(
            self,
            Self::Copy(Copy {
                issued: Issued { awaitable: true, .. },
                ..
            }) | Self::Issue(Issued { awaitable: true, .. })
        ) || matches!(self, Self::Warpgroup(Warpgroup::Multiply(wgmma)) if wgmma.token.is_some())
    }

    /// Returns true if what it issues is complete with its group alone.
    #[must_use]
    pub fn is_grouped(&self) -> bool {
        match self {
            Self::Copy(Copy { issued, .. }) | Self::Issue(issued) => !issued.awaitable,
            _ => false,
        }
    }

    /// Returns true if all threads of the block execute it together.
    #[must_use]
    pub fn is_block_wide(&self) -> bool {
        match self {
            Self::Bulk(bulk) => bulk.completion.is_block_wide(),
            Self::Gather { .. } | Self::Share { .. } => true,
            _ => false,
        }
    }
}
