//! The remark that says why a transfer stays synchronous.

use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;

/// Why a transfer stays as it is.
#[derive(Clone, Debug)]
pub struct Reason<'c> {
    /// What is said of the transfer, after "it".
    pub message: String,
    /// Other operations, with what is said of them.
    pub notes: Vec<(Op<'c>, String)>,
    /// What to do.
    pub help: Option<&'static str>,
}

impl<'c> Reason<'c> {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// Says something of another operation.
    pub(super) fn note(mut self, op: Op<'c>, message: impl Into<String>) -> Self {
        self.notes.push((op, message.into()));
        self
    }

    /// Says what to do.
    pub(super) fn help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }

    /// The remark at `op`, the transfer.
    pub fn remark(&self, op: Op<'c>) -> Diagnostic<'c> {
        // At the location alone: to print an operation, MLIR numbers all values of the function around it.
        let message = format!("stays synchronous: it {}", self.message);
        let mut remark = Diagnostic::remark(op.location(), message);
        for (other, message) in &self.notes {
            remark = remark.note(*other, message);
        }
        match self.help {
            Some(help) => remark.note(op, help),
            None => remark,
        }
    }
}
