//! What operations of transform scripts do, in safe Rust.
//!
//! The operations are defined in C++ (`dialects/transform`), and do nothing there but to call what is registered here. As with
//! passes, the adapter between the two is in this file: it alone turns errors into failures, and panics into diagnostics.

use crate::diagnostic::Diagnostic;
use crate::ffi;
use crate::ir::{Op, erased::Keep};
use crate::options::{OptionInfo, OptionValue, Options, check_choices, find};
use crate::pass::{PassError, panic_message};
use mlir_sys::MlirOperation;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What an operation of transform scripts does.
pub trait Transform: 'static {
    /// What the operation is called.
    const NAME: &'static str;
    /// Its options, which are attributes: `base-alignment` is `base_alignment` there.
    const OPTIONS: &'static [OptionInfo];

    /// Applies `transform` to `payload`.
    ///
    /// # Errors
    ///
    /// If it fails in a way that no script can go on from: the IR may then be in any state that MLIR can print and destroy.
    fn apply<'c>(transform: &TransformOp<'c>, payload: &[Op<'c>]) -> Result<Outcome<'c>, PassError<'c>>;
}

/// What became of a transform.
#[derive(Default)]
pub struct Outcome<'c> {
    /// What the handle that it results in points to.
    pub results: Vec<Op<'c>>,
    /// What was left as it was, and why: a failure that a script can silence.
    pub refused: Vec<Diagnostic<'c>>,
}

/// An operation of a transform script.
#[derive(Clone, Copy)]
pub struct TransformOp<'c> {
    /// The operation.
    pub op: Op<'c>,
    options: &'static [OptionInfo],
}

impl<'c> TransformOp<'c> {
    /// The default of option `name`, and its value if one is given.
    fn option<T>(
        &self,
        name: &str,
        default: impl Fn(OptionValue) -> Option<T>,
        given: impl FnOnce(Op<'c>, &str) -> Option<T>,
    ) -> T {
        let index = find(self.options, name, |value| default(value).is_some());
        let option = self.options[index.unsigned_abs()].default;
        given(self.op, &name.replace('-', "_"))
            .or_else(|| default(option))
            .expect("found by its default")
    }
}

impl Options for TransformOp<'_> {
    fn bool(&self, name: &str) -> bool {
        let default = |value| match value {
            OptionValue::Bool(value) => Some(value),
            _ => None,
        };
        self.option(name, default, Op::bool_attr)
    }

    fn int(&self, name: &str) -> i64 {
        let default = |value| match value {
            OptionValue::Int(value) => Some(value),
            _ => None,
        };
        self.option(name, default, Op::int_attr)
    }

    fn str(&self, name: &str) -> &str {
        let default = |value| match value {
            OptionValue::String(value) | OptionValue::Choice { default: value, .. } => Some(value),
            _ => None,
        };
        self.option(name, default, Op::str_attr)
    }
}

/// Says what the operations called `T::NAME` do. Call it from one thread, before scripts are interpreted.
pub fn register_transform<T: Transform>() {
    // SAFETY: the name lives during the call, which copies it.
    unsafe { ffi::asyncOptRegisterTransform(ffi::string_ref(T::NAME), Some(apply::<T>)) }
}

/// What C++ calls to apply `T`. Returns false if it failed for good.
unsafe extern "C" fn apply<T: Transform>(
    transform: MlirOperation,
    payload: *const MlirOperation,
    number: isize,
    reply: ffi::AsyncOptTransformReply,
) -> bool {
    // SAFETY: live operations, whose context outlives this call; `apply` is generic in the lifetime, so no handle can leave it.
    let (transform, payload) = unsafe {
        let payload: Vec<Op> = (0..number).map(|i| Op::from_raw(*payload.offset(i))).collect();
        let op = Op::from_raw(transform);
        let options = T::OPTIONS;
        (TransformOp { op, options }, payload)
    };
    let location = transform.op.location();
    let value = |index: isize| transform.str(T::OPTIONS[index.unsigned_abs()].name);
    if let Err(message) = check_choices(T::OPTIONS, value) {
        Diagnostic::error(location, message.replace('-', "_")).emit();
        return false;
    }
    // Before it is dropped, handles forget what it keeps.
    let _kept = Keep::always();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let outcome = T::apply(&transform, &payload);
        let result = outcome.map_err(|error| error.into_diagnostic().map(Diagnostic::emit));
        result.map(|outcome| {
            for op in outcome.results {
                // SAFETY: the reply to this call, and a live operation.
                unsafe { ffi::asyncOptTransformAddResult(reply, op.to_raw()) }
            }
            outcome.refused.into_iter().for_each(|why| why.refuse(reply));
        })
    }));
    // SAFETY: the reply to this call; what was erased is still allocated.
    unsafe { ffi::asyncOptTransformForgetErased(reply) }
    match result {
        Ok(result) => result.is_ok(),
        Err(panic) => {
            let message = format!(
                "internal error in '{}': {} (this is a bug in async-opt)",
                T::NAME,
                panic_message(&*panic)
            );
            Diagnostic::error(location, message).emit();
            false
        }
    }
}
