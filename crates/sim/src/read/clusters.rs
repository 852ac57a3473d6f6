//! Clusters of blocks, which nothing here knows: what is about them is refused by name.

use super::Unknown;
use async_mlir::ir::Op;
use async_mlir::names::{gpu, nvvm};

/// What is about the blocks of a cluster.
const OPERATIONS: [&str; 23] = [
    gpu::CLUSTER_BLOCK_ID,
    gpu::CLUSTER_DIM,
    gpu::CLUSTER_DIM_BLOCKS,
    gpu::CLUSTER_ID,
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
];

/// Refuses `op` if it is about a cluster; returns false if it is not.
pub(super) fn is_refused(op: Op<'_>) -> Result<bool, Unknown<'_>> {
    if OPERATIONS.contains(&op.name()) {
        return Err(Unknown::cluster(op));
    }
    Ok(false)
}
