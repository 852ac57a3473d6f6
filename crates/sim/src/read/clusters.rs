//! Clusters of blocks, which nothing here knows, and what differs from machine to machine: refused by name.

use super::Unknown;
use async_mlir::ir::Op;
use async_mlir::names::{gpu, nvvm};

/// What is about the blocks of a cluster.
const OPERATIONS: [&str; 27] = [
    gpu::CLUSTER_BLOCK_ID,
    gpu::CLUSTER_DIM,
    gpu::CLUSTER_DIM_BLOCKS,
    gpu::CLUSTER_ID,
    nvvm::CLUSTERLAUNCHCONTROL_QUERY_CANCEL,
    nvvm::CLUSTERLAUNCHCONTROL_TRY_CANCEL,
    nvvm::CLUSTER_ARRIVE,
    nvvm::CLUSTER_ARRIVE_RELAXED,
    nvvm::CLUSTER_WAIT,
    nvvm::FENCE_PROXY_SYNC_RESTRICT,
    nvvm::FENCE_SC_CLUSTER,
    nvvm::FENCE_SYNC_RESTRICT,
    nvvm::MAPA,
    nvvm::READ_PTX_SREG_CLUSTERID_X,
    nvvm::READ_PTX_SREG_CLUSTERID_Y,
    nvvm::READ_PTX_SREG_CLUSTERID_Z,
    nvvm::READ_PTX_SREG_NCLUSTERID_X,
    nvvm::READ_PTX_SREG_NCLUSTERID_Y,
    nvvm::READ_PTX_SREG_NCLUSTERID_Z,
    nvvm::READ_PTX_SREG_CLUSTER_CTAID_X,
    nvvm::READ_PTX_SREG_CLUSTER_CTAID_Y,
    nvvm::READ_PTX_SREG_CLUSTER_CTAID_Z,
    nvvm::READ_PTX_SREG_CLUSTER_NCTAID_X,
    nvvm::READ_PTX_SREG_CLUSTER_NCTAID_Y,
    nvvm::READ_PTX_SREG_CLUSTER_NCTAID_Z,
    nvvm::READ_PTX_SREG_CLUSTER_CTARANK,
    nvvm::READ_PTX_SREG_CLUSTER_NCTARANK,
];

/// What tells of the machine, or of the time.
const OF_MACHINE: [&str; 7] = [
    nvvm::READ_PTX_SREG_CLOCK,
    nvvm::READ_PTX_SREG_CLOCK64,
    nvvm::READ_PTX_SREG_GLOBALTIMER,
    nvvm::READ_PTX_SREG_GLOBALTIMER_LO,
    nvvm::READ_PTX_SREG_GRIDID,
    nvvm::READ_PTX_SREG_NSMID,
    nvvm::READ_PTX_SREG_SMID,
];

/// Refuses `op` if it is about a cluster or the machine; returns false if it is not.
pub(super) fn is_refused(op: Op<'_>) -> Result<bool, Unknown<'_>> {
    if OPERATIONS.contains(&op.name()) {
        return Err(Unknown::cluster(op));
    }
    if OF_MACHINE.contains(&op.name()) {
        let message = format!(
            "what '{}' reads differs from run to run: take it out, since no result may depend on it",
            op.name()
        );
        return Err(Unknown::new(op, message));
    }
    Ok(false)
}
