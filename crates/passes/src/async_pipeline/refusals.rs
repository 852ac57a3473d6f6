//! Reports why a loop can't be pipelined, and restores it as it was.

use super::annotations::remove;
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use async_mlir::pass::PassError;

/// Why a loop that asked for stages is not pipelined.
pub(super) enum Refusal<'c> {
    /// The pass fails.
    Error(PassError<'c>),
    /// The loop stays as it is.
    LeftAlone(PassError<'c>),
}

impl<'c> Refusal<'c> {
    pub fn into_error(self) -> PassError<'c> {
        let (Self::Error(error) | Self::LeftAlone(error)) = self;
        error
    }
}

/// A loop that can't be pipelined.
pub(super) struct Refused<'c> {
    pub around: Op<'c>,
    /// As it was, detached.
    pub original: Option<Op<'c>>,
    /// The allocations that were moved out of it.
    pub hoisted: Vec<Op<'c>>,
    pub refusal: Refusal<'c>,
}

impl<'c> Refused<'c> {
    /// Leaves a loop alone that only asked for stages, and says why; else, the error.
    pub fn leave_alone(self) -> Result<(), PassError<'c>> {
        let (original, error) = match (self.original, self.refusal) {
            (Some(original), Refusal::LeftAlone(error)) => (original, error),
            (original, refusal) => {
                original.into_iter().for_each(Op::erase);
                return Err(refusal.into_error());
            }
        };
        emit_because(Diagnostic::remark(self.around, "is not pipelined"), error);
        if let Some(block) = original.region(0).first() {
            remove(original, block);
        }
        put_back(original, self.around, self.hoisted);
        Ok(())
    }

    /// Leaves the loop as it was; returns it, and why.
    pub fn restore(self) -> (Op<'c>, Diagnostic<'c>) {
        let refused = Diagnostic::error(self.around, "is not pipelined");
        let only_asked = matches!(self.refusal, Refusal::LeftAlone(_));
        let why = match self.refusal.into_error().into_diagnostic() {
            Some(why) if only_asked => refused.because(why),
            Some(why) => why,
            None => refused,
        };
        let why = why.at_location();
        let Some(original) = self.original else {
            return (self.around, why);
        };
        put_back(original, self.around, self.hoisted);
        (original, why)
    }
}

/// Puts `original` back in the place of `around`, and erases what was moved out of that.
fn put_back<'c>(original: Op<'c>, around: Op<'c>, hoisted: Vec<Op<'c>>) {
    original.move_before(around);
    around.replace_with(&original.results().collect::<Vec<_>>());
    hoisted.into_iter().for_each(Op::erase);
}

/// Emits `remark`, with the reason that `error` gives.
pub(super) fn emit_because<'c>(remark: Diagnostic<'c>, error: PassError<'c>) {
    match error.into_diagnostic() {
        Some(why) => remark.because(why).emit(),
        None => remark.emit(),
    }
}
