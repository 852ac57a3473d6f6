//! `--expand-vectors`: rewrites vector operations that LLVM lacks into those that it has.
//!
//! **Condition.** N-D transfers are expanded (`--convert-vector-to-scf`).
//!
//! **Effect.** Contractions, transposes, n-D slices, reductions over several dimensions, transfers and the like become
//! operations that every conversion to LLVM knows. The patterns are upstream's; upstream only has them inside of
//! `--convert-vector-to-llvm`, which can't handle GPU address spaces.

use async_mlir::ir::Op;
use async_mlir::pass::{Anchor, Dialect, Pass, PassContext, PassError, PassInfo};
use async_mlir::vectors;

/// The pass.
pub struct ExpandVectors;

impl Pass for ExpandVectors {
    const INFO: PassInfo = PassInfo {
        description: "Rewrites vector operations that have no counterpart in LLVM into ones that have, by the patterns of \
                      upstream's `--convert-vector-to-llvm`, but leaves loads and stores to a conversion that knows GPU \
                      address spaces.",
        anchor: Anchor::Any,
        dependent_dialects: &[
            Dialect::ARITH,
            Dialect::MEMREF,
            Dialect::SCF,
            Dialect::UB,
            Dialect::VECTOR,
        ],
        ..PassInfo::new(
            "expand-vectors",
            "rewrites vector operations that LLVM lacks into ones that it has",
        )
    };

    fn run<'c>(op: Op<'c>, _: &PassContext<'c>) -> Result<(), PassError<'c>> {
        if vectors::expand(op) {
            return Ok(());
        }
        Err(PassError::new(
            op,
            "has vector operations for which the rewriting does not end",
        ))
    }
}
