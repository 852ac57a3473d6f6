//! Types and attributes of our dialects.

use crate::ffi;
use async_mlir::types::{known_attribute, known_type};
use melior::Context;
use melior::ir::{Attribute, Type, TypeLike};

/// `!async.token`, in a context that has the dialect loaded.
#[must_use]
pub fn token(context: &Context) -> Type<'_> {
    known_type(context, "!async.token")
}

/// Returns true if `ty` is `!async.token`.
#[must_use]
pub fn is_token(ty: Type<'_>) -> bool {
    // SAFETY: a live type.
    unsafe { ffi::asyncOptTypeIsToken(ty.to_raw()) }
}

/// The attribute for the queue of the name `queue`, in a context that has `gpux` loaded.
#[must_use]
pub fn queue_attribute<'c>(context: &'c Context, queue: &str) -> Attribute<'c> {
    known_attribute(context, &format!("#gpux.queue<{queue}>"))
}
