//! What can't be read.

use async_mlir::ir::Op;
use async_mlir::names::linalg;
use thiserror::Error;

/// What can't be read, and where it stands.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct Unknown<'c> {
    /// The operation.
    pub op: Op<'c>,
    /// What is not known about it.
    pub message: String,
}

impl<'c> Unknown<'c> {
    pub(super) fn new(op: Op<'c>, message: impl Into<String>) -> Self {
        Self {
            op,
            message: message.into(),
        }
    }

    pub(super) fn cluster(op: Op<'c>) -> Self {
        let message = format!(
            "the interpreter knows no clusters, and so not this '{}': run the kernel with blocks that stand alone",
            op.name()
        );
        Self::new(op, message)
    }

    pub(super) fn operation(op: Op<'c>) -> Self {
        let advice = match op.name().split_once('.') {
            Some((linalg::NAMESPACE, _)) => {
                ": lower it to loops or vectors, as --convert-linalg-to-loops does"
            }
            _ => "",
        };
        Self::new(
            op,
            format!("the interpreter does not know '{}'{advice}", op.name()),
        )
    }
}
