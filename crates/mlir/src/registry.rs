//! What registered dialects have.

use crate::ffi;
use melior::Context;
use mlir_sys::mlirContextIsRegisteredOperation;

/// Returns which of the full names `operations`, and of the inherent attributes `attributes` of operations that should have
/// them, nothing in a loaded dialect is called; for tests of lists such as those of [`names`](crate::names).
#[must_use]
pub fn unknown_names(context: &Context, operations: &[&str], attributes: &[(&str, &[&str])]) -> Vec<String> {
    let operations = operations.iter().filter(|name| !is_operation(context, name));
    let attributes = attributes.iter().flat_map(|(attribute, ops)| {
        let unknown = ops
            .iter()
            .filter(|op| !has_inherent_attribute(context, op, attribute));
        unknown.map(move |op| format!("{attribute} of {op}"))
    });
    operations
        .map(|&name| name.to_owned())
        .chain(attributes)
        .collect()
}

fn is_operation(context: &Context, name: &str) -> bool {
    // SAFETY: a live context; the name lives during the call.
    unsafe { mlirContextIsRegisteredOperation(context.to_raw(), ffi::string_ref(name)) }
}

fn has_inherent_attribute(context: &Context, op: &str, attribute: &str) -> bool {
    // SAFETY: a live context; the names live during the call.
    unsafe {
        ffi::asyncOptHasInherentAttribute(context.to_raw(), ffi::string_ref(op), ffi::string_ref(attribute))
    }
}
