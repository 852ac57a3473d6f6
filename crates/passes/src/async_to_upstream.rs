//! `--async-to-upstream`: rewrites awaits to the form of upstream's dialect `async`, with one token each.
//!
//! **Condition.** None.
//!
//! **Effect.** Every `async.await` has one token, a join where it had several, so that the generic form of the module is also
//! right where `async` is upstream's dialect with what the plugin adds to it.
//!
//! **Refusals.** `async.region`, `async.func` and `async.call`: upstream's dialect has no region that yields tokens, and its
//! functions return values of its own type.

use crate::utils::tokens::await_one;
use async_dialects::names::async_;
use async_dialects::registry::GPUX;
use async_mlir::ir::Op;
use async_mlir::pass::{Anchor, Pass, PassContext, PassError, PassInfo};

/// The pass.
pub struct AsyncToUpstream;

impl Pass for AsyncToUpstream {
    const INFO: PassInfo = PassInfo {
        description: "Gives every `async.await` one token, as upstream's dialect `async` has it. Printed with \
                      `--mlir-print-op-generic`, the result is read by `mlir-opt` with the plugin of async-opt. Refuses \
                      `async.region`, `async.func` and `async.call`, which upstream's dialect lacks.",
        anchor: Anchor::Any,
        dependent_dialects: &[GPUX],
        ..PassInfo::new(
            "async-to-upstream",
            "writes token form as upstream's dialect async has it",
        )
    };

    fn run<'c>(root: Op<'c>, _: &PassContext<'c>) -> Result<(), PassError<'c>> {
        for op in root.self_and_nested() {
            match op.name() {
                async_::AWAIT => await_one(op),
                async_::REGION | async_::FUNC | async_::CALL => {
                    let help = "in device code, run --gpux-inline-calls or --gpux-tokens-to-groups first";
                    return Err(
                        PassError::new(op, "has no counterpart in upstream's dialect 'async'").note(op, help),
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }
}
